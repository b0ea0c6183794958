// SPDX-License-Identifier: Apache-2.0
//
// How the ladders measure their rungs.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include <pmpp/memory/stream.hpp>

/// The median of eleven calls on a stream, in microseconds, after one that does not count.
inline double microseconds(const pmpp::stream& s, const std::function<void()>& call) {
  std::vector<double> times;
  pmpp::event start, stop;
  call();
  for (int i = 0; i < 11; ++i) {
    start.record(s);
    call();
    stop.record(s);
    times.push_back(1000 * pmpp::event::elapsed_ms(start, stop));
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  return times[5];
}
