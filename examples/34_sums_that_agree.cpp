// SPDX-License-Identifier: Apache-2.0
//
// Numbers: a sum with the same bits on this machine's processor and on its GPU; a sum of floats that loses nothing on the way.
#include <cmath>
#include <cstdio>
#include <vector>

#include <pmpp/core/compensated.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>

int main() {
  const int n = 50000;
  std::vector<float> payments;
  for (int i = 0; i < n; ++i) payments.push_back(float(i * 7919 % 100000) / 100);
  payments[0] = 1e9f;  // paid in, and out again
  payments[n - 1] = -1e9f;
  const pmpp::device_buffer<float> x{payments};

  // [sums]
  const float here = pmpp::reduce(pmpp::seq, payments, 0.0f, pmpp::same_bits{pmpp::plus{}});
  const float there = pmpp::reduce(pmpp::device, x, 0.0f, pmpp::same_bits{pmpp::plus{}});  // here == there
  const float kept = pmpp::reduce(pmpp::device, x, pmpp::compensated<float>{}).value();
  const double wide = pmpp::reduce(pmpp::device, x, 0.0);  // the elements are floats, the sum is a double
  // [end]
  std::printf("float %.0f, compensated %.0f, double %.0f\n", double(here), double(kept), wide);
  return here == there && std::abs(kept - wide) < 1e-6 * wide ? 0 : 1;
}
