// expect: pmpp::gemm_scaled: C is of float, half or bfloat16
#include <pmpp/gemm_scaled.hpp>

void f(pmpp::matrix_view<const pmpp::fp8_e4m3> a, pmpp::matrix_view<double> c) { pmpp::gemm(pmpp::seq, 1, a, a, 0, c); }
