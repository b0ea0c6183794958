// SPDX-License-Identifier: Apache-2.0
//
// The first program: saxpy and a sum, on the GPU, or in the emulator where the program is built without CUDA.
// [saxpy]
#include <cstdio>

#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

struct saxpy {  // a function object that runs on both sides
  float a;
  PMPP_HOST_DEVICE float operator()(float x, float y) const { return a * x + y; }
};

int main() {
  pmpp::device_buffer<float> x{1'000'000}, y{1'000'000, 1.0f};  // y: ones
  pmpp::iota(pmpp::device, x, 0.0f);                            // x: 0, 1, 2, ...
  pmpp::transform(pmpp::device, x, y, y, saxpy{2.0f});          // y = 2 x + y, in place
  const double sum = pmpp::reduce(pmpp::device, y, 0.0);        // added up in double
  std::printf("sum = %.0f\n", sum);
  return sum == 1e12 ? 0 : 1;
}
// [end]

// Output:
//   sum = 1000000000000
