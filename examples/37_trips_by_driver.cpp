// SPDX-License-Identifier: Apache-2.0
//
// Orders by parts of elements: trips by their length, by driver and time, and the longest;
// the first start, the longest and the sum in one pass.
#include <cstdio>
#include <vector>

#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/sort.hpp>

// [trip]
struct trip {
  std::uint32_t driver;
  float start, length;
};
// [end]

// [parts]
struct start_length_sum {
  PMPP_HOST_DEVICE auto operator()(const trip& t) const { return pmpp::pairs(t.start, t.length, double(t.length)); }
};
// [end]

int main() {
  std::vector<trip> given;
  for (int i = 0; i < 10'000; ++i)
    given.push_back({std::uint32_t(i * 7 % 50), float(i * 31 % 977), float(i * 7919 % 10'007)});
  pmpp::device_buffer<trip> trips{given};

  // [orders]
  pmpp::sort(pmpp::device, trips, pmpp::greater{}, &trip::length);  // the longest first
  pmpp::sort(pmpp::device, trips, pmpp::less{},
             pmpp::members<&trip::driver, &trip::start>{});  // by driver, then by time
  const auto longest = pmpp::max_element(pmpp::device, trips, pmpp::less{}, &trip::length);
  // [end]
  // [columns]
  const auto figures =
      pmpp::transform_reduce(pmpp::device, trips, pmpp::pairs(1e9f, 0.0f, 0.0),
                             pmpp::columns(pmpp::minimum{}, pmpp::maximum{}, pmpp::plus{}), start_length_sum{});
  const float earliest = figures.first, farthest = figures.second.first;
  const double total = figures.second.second;
  // [end]
  const auto sorted = pmpp::to_host(trips);
  bool ok = true;
  for (std::size_t i = 1; i < sorted.size(); ++i)
    ok = ok && (sorted[i - 1].driver < sorted[i].driver ||
                (sorted[i - 1].driver == sorted[i].driver && sorted[i - 1].start <= sorted[i].start));
  const trip& most = sorted[std::size_t(longest - trips.begin())];
  double sum = 0;
  for (const trip& t : sorted) {
    ok = ok && t.length <= most.length && t.start >= earliest;
    sum += t.length;
  }
  ok = ok && farthest == most.length && total == sum;
  std::printf("the longest trip: %.0f, of driver %u\n", double(most.length), most.driver);
  return ok ? 0 : 1;
}
