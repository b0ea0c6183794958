// SPDX-License-Identifier: Apache-2.0
//
// How the ladders measure their rungs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include <pmpp/memory/stream.hpp>

/// The median of eleven calls on a stream, in microseconds, after one that does not count; of three where they are slow.
inline double microseconds(const pmpp::stream& s, const std::function<void()>& call) {
  std::vector<double> times;
  pmpp::event start, stop;
  call();
  double spent = 0;
  for (int i = 0; i < 11 && (i < 3 || spent < 0.5e6); ++i) {
    start.record(s);
    call();
    stop.record(s);
    times.push_back(1000 * pmpp::event::elapsed_ms(start, stop));
    spent += times.back();
  }
  const auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}
