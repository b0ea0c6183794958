// SPDX-License-Identifier: Apache-2.0
//
// Questions about a log of readings: is it in order, where is the first bad one, how many are there?
#include <cstdio>
#include <vector>

#include <pmpp/find.hpp>
#include <pmpp/memory/device_buffer.hpp>

// [predicate]
struct is_bad {
  float limit;
  PMPP_HOST_DEVICE bool operator()(float x) const { return !(x <= limit); }  // NaN too
};
// [end]

int main() {
  std::vector<float> log(1'000'000, 20.0f);
  std::vector<int> times(log.size());
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = int(i) / 2;
  log[123'456] = 99.0f;
  log[654'321] = 98.0f;
  times[500'000] = 7;
  const pmpp::device_buffer<float> readings{log};
  const pmpp::device_buffer<int> seconds{times};

  // [questions]
  const auto first_bad = pmpp::find_if(pmpp::device, readings, is_bad{40}) - readings.begin();
  const auto bad = pmpp::count_if(pmpp::device, readings, is_bad{40});
  const bool all_positive = pmpp::none_of(pmpp::device, readings, is_bad{1000});
  const auto out_of_order = pmpp::is_sorted_until(pmpp::device, seconds) - seconds.begin();
  // [end]
  std::printf("%ld bad, the first is number %ld; time goes back at %ld\n", long(bad), long(first_bad),
              long(out_of_order));
  return first_bad == 123'456 && bad == 2 && all_positive && out_of_order == 500'000 ? 0 : 1;
}
// Output: 2 bad, the first is number 123456; time goes back at 500000
