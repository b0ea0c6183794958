// SPDX-License-Identifier: Apache-2.0
//
// Which band does each price belong to? A search for many values in a sorted table.
#include <cstdio>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/search.hpp>

int main() {
  const pmpp::device_buffer<float> limits{std::vector<float>{10, 50, 100, 500}};
  const pmpp::device_buffer<float> prices{std::vector<float>{3, 10, 75, 1000, 499, 50}};
  pmpp::device_buffer<int> band{prices.size()};
  pmpp::device_buffer<char> is_limit{prices.size()};

  // [bounds]
  pmpp::upper_bound(pmpp::device, limits, prices, band);        // how many limits are at most the price
  pmpp::binary_search(pmpp::device, limits, prices, is_limit);  // is the price a limit itself?
  // [end]
  const std::vector<int> bands = pmpp::to_host(band);
  for (const int b : bands) std::printf("%d ", b);
  std::printf("\n");
  return bands == std::vector<int>{0, 1, 2, 4, 3, 2} && pmpp::to_host(is_limit)[5] == 1 ? 0 : 1;
}
// Output: 0 1 2 4 3 2
