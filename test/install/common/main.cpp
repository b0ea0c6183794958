// SPDX-License-Identifier: Apache-2.0
#include "square.hpp"

#include <cstdio>
#include <vector>

int main() {
  const pmpp::device_buffer<float> x{std::vector<float>{1, 2, 3, 4}};
  const double sum = sum_of_squares(x);
  std::printf("PMPP_CUDA=%d, the sum of the squares is %g\n", PMPP_CUDA, sum);
  return sum == 30 ? 0 : 1;
}
