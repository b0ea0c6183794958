// SPDX-License-Identifier: Apache-2.0
//
// Parts of an order: the median of a hundred thousand readings, and the thousand least in order, without sorting them all.
#include <cstdio>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/nth_element.hpp>
#include <pmpp/top_k.hpp>

int main() {
  const int n = 100'001;
  std::vector<int> given(n);
  for (int i = 0; i < n; ++i) given[std::size_t(i)] = int(i * 7919ll % n);  // each number once
  const pmpp::device_buffer<int> readings{given};
  pmpp::device_buffer<int> work{given}, least(1000);

  // [parts]
  pmpp::nth_element(pmpp::device, work, work.begin() + n / 2);  // the median comes to the middle
  pmpp::partial_sort(pmpp::device, work, work.begin() + 1000);  // the least 1000 to the front, in order
  pmpp::partial_sort_copy(pmpp::device, readings, least);       // the same; the readings stay as they are
  // [end]
  pmpp::device_buffer<int> again{given};
  pmpp::nth_element(pmpp::device, again, again.begin() + n / 2);
  const int median = pmpp::to_host(again)[n / 2];
  const auto first = pmpp::to_host(least), front = pmpp::to_host(work);
  std::printf("median %d, least %d to %d\n", median, first[0], first[999]);
  return median == n / 2 && first[999] == 999 && front[999] == 999 ? 0 : 1;
}
// Output: median 50000, least 0 to 999
