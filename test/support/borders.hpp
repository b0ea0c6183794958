// SPDX-License-Identifier: Apache-2.0
//
// Borders, as a reference finds its way beyond the edges: step by step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <pmpp/core/border.hpp>

namespace test {

/// The element of an axis of n that stands at i, beyond the edges found by walking; -1: the constant.
inline std::int64_t walked(std::int64_t i, std::int64_t n, const pmpp::border::rule& outside) {
  namespace border = pmpp::border;
  if (0 <= i && i < n) return i;
  std::int64_t place = 0, direction = 1;
  if (outside.what == border::kind::constant) return -1;
  if (outside.what == border::kind::clamp) return std::clamp(i, std::int64_t(0), n - 1);
  for (std::int64_t step = 0; step < std::abs(i); ++step) {
    if (i < 0 && step == 0) {  // to the left of the first element
      if (outside.what == border::kind::wrap) place = n - 1, direction = -1;
      if (outside.what == border::kind::mirror) place = n > 1 ? 1 : 0;
      continue;
    }
    const std::int64_t next = place + direction;
    if (next >= 0 && next < n) {
      place = next;
    } else if (outside.what == border::kind::wrap) {
      place = direction > 0 ? 0 : n - 1;
    } else {
      direction = -direction;
      if (outside.what == border::kind::mirror && n > 1) place += direction;
    }
  }
  return place;
}

inline const pmpp::border::rule border_rules[] = {pmpp::border::zero,    pmpp::border::clamp,
                                                  pmpp::border::reflect, pmpp::border::mirror,
                                                  pmpp::border::wrap,    pmpp::border::constant(0.75)};

}  // namespace test
