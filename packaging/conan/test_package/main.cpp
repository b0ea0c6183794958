// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>

int main() {
  const pmpp::device_buffer<int> x{1000, 2};
  const int sum = pmpp::reduce(pmpp::device, x);
  std::printf("sum = %d\n", sum);
  return sum == 2000 ? 0 : 1;
}
