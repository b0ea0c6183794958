// expect: pmpp::gemm: float_from_tensor_cores is for A and B of floats
#include <pmpp/gemm.hpp>

void f(pmpp::matrix_view<const double> a, pmpp::matrix_view<double> c) {
  pmpp::gemm(pmpp::seq, 1, a, a, 0, c, pmpp::gemm_options{.precision = pmpp::float_from_tensor_cores{}});
}
