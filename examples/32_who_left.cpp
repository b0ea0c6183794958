// SPDX-License-Identifier: Apache-2.0
//
// Two sorted lists of members, of this year and of the last: who stayed, who left, who is there in all?
#include <cstdio>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/sets.hpp>

int main() {
  const pmpp::device_buffer<int> before{std::vector<int>{2, 3, 5, 7, 11, 13}},
      after{std::vector<int>{1, 3, 5, 7, 9, 11}};
  pmpp::device_buffer<int> stayed{6}, left{6}, all{12};
  // [sets]
  const auto stayed_end = pmpp::set_intersection(pmpp::device, before, after, stayed);
  const auto left_end = pmpp::set_difference(pmpp::device, before, after, left);
  const auto all_end = pmpp::set_union(pmpp::device, before, after, all);
  // [end]
  std::printf("%ld stayed, %ld left, %ld in all\n", long(stayed_end - stayed.begin()), long(left_end - left.begin()),
              long(all_end - all.begin()));
  return stayed_end - stayed.begin() == 4 && pmpp::to_host(left)[1] == 13 && all_end - all.begin() == 8 ? 0 : 1;
}
// Output: 4 stayed, 2 left, 8 in all
