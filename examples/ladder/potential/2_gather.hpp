// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: gather. A thread has a point and reads every atom; the sum stays in a register and is written once, without
// atomics. All lanes of a warp read the same atom at the same time: one request, one sector.
#pragma once

#include "slice.hpp"

namespace ladder {

struct gather {
  static constexpr int threads = block_threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const atom* atoms, int n, slice s, float* potential) const {
    const auto from = pmpp::simt::watch(block, atoms, "atoms");
    const auto to = pmpp::simt::watch(block, potential, "potential");
    const std::int64_t point = block.index() * threads + block.thread();
    if (point >= s.points()) return;
    const float x = s.spacing * float(point % s.width), y = s.spacing * float(point / s.width);
    float sum = 0;
    for (int i = 0; i < n; ++i) {
      const atom a = from[i];
      sum += from_atom(a, x, across_of(a, y, s.z));
    }
    to[point] = sum;
  }
};

}  // namespace ladder
