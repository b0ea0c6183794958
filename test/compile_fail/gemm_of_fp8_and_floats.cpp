// expect: pmpp::gemm_scaled: A and B are of fp8_e4m3 or fp8_e5m2, or of CUDA's types
#include <pmpp/gemm_scaled.hpp>

void f(pmpp::matrix_view<const float> a, pmpp::matrix_view<const pmpp::fp8_e4m3> b, pmpp::matrix_view<float> c) {
  pmpp::gemm_scaled(pmpp::seq, 1, a, a, b, a, 0, c);
}
