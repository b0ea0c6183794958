// expect: device_count needs a pointer to a 4- or 8-byte integer
// nvcc
//
// Kernels read a count of 4 or 8 bytes.
#include <pmpp/reduce.hpp>

int main() {
  const int* in = nullptr;
  short n = 0;
  return pmpp::reduce(pmpp::device, in, pmpp::device_count<short>{&n, 4}, 0);
}
