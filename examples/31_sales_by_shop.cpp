// SPDX-License-Identifier: Apache-2.0
//
// Sales in the order of shops: a running total that begins anew with each shop, the first sale and the best day of each.
#include <cstdio>
#include <vector>

#include <pmpp/by_key.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

int main() {
  const pmpp::device_buffer<int> shop{std::vector<int>{1, 1, 1, 4, 4, 9}}, sale{std::vector<int>{5, 9, 2, 3, 4, 8}};
  const pmpp::device_buffer<int> offsets{std::vector<int>{0, 3, 5, 6}};
  pmpp::device_buffer<int> total{6}, shops{6}, first_sale{6}, best{3};

  // [runs]
  pmpp::inclusive_scan_by_key(pmpp::device, shop, sale, total);
  const auto ends = pmpp::unique_by_key(pmpp::device, shop, sale, shops, first_sale);
  pmpp::segmented_max_element(pmpp::device, sale, offsets, best);  // the argmax of each row
  // [end]
  const std::vector<int> totals = pmpp::to_host(total);
  for (const int t : totals) std::printf("%d ", t);
  std::printf("\n%ld shops\n", long(ends.first - shops.begin()));
  return totals == std::vector<int>{5, 14, 16, 3, 7, 8} && ends.first - shops.begin() == 3 &&
                 pmpp::to_host(best) == std::vector<int>{1, 4, 5}
             ? 0
             : 1;
}
// Output: 5 14 16 3 7 8 and 3 shops
