// expect: pmpp::gemm: for products of 8-bit floats include <pmpp/gemm_scaled.hpp>
#include <pmpp/gemm.hpp>

void f(pmpp::matrix_view<const pmpp::fp8_e4m3> a, pmpp::matrix_view<float> c) { pmpp::gemm(pmpp::seq, 1, a, a, 0, c); }
