// expect: or csr_matrix: copy it to a device_buffer or device_csr_matrix
// nvcc
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/spmv.hpp>

int main() {
  const auto A = pmpp::csr_matrix<float>::from_triplets(1, 1, {{0, 0, 2.0f}});
  const pmpp::device_buffer<float> x(1, 1.0f);
  pmpp::device_buffer<float> y(1);
  pmpp::spmv(pmpp::device, 1, A, x, 0, y);
}
