// SPDX-License-Identifier: Apache-2.0
//
// A plain C++ file in a CUDA program: buffers, streams, copies and the algorithms on `seq` and `host` need no CUDA
// compiler. Kernels do; they are behind two functions of device_calls.hpp.
#include <cstdio>
#include <vector>

#include <pmpp/core/error.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#include "device_calls.hpp"

int main() try {
  std::vector<float> values(100'000);
  pmpp::iota(pmpp::host, values, 1.0f);

  const pmpp::stream s;
  pmpp::device_buffer<float> x{values, s};  // memory in the order of s, filled by a copy on s
  square(s, x);
  const double on_device = sum(s, x);

  const double on_host = pmpp::transform_reduce(pmpp::host, values, values, 0.0, pmpp::plus{}, pmpp::multiplies{});
  const std::vector<float> squares = pmpp::to_host(s, x);
  std::printf("sum of squares: device %.6e, host %.6e; the last square is %.0f\n", on_device, on_host, squares.back());

  const double exact = 100'000.0 * 100'001.0 * 200'001.0 / 6;
  const auto near = [exact](double sum) { return sum > exact * (1 - 1e-6) && sum < exact * (1 + 1e-6); };
  return near(on_device) && near(on_host) && squares.back() == 1e10f ? 0 : 1;
} catch (const pmpp::cuda_error& e) {
  std::printf("%s\n", e.what());  // no GPU, for example
  return 1;
}

// Output:
//   sum of squares: device 3.333383e+14, host 3.333383e+14; the last square is 10000000000
