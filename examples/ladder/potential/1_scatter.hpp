// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: scatter. A thread has an atom and adds what it gives to every point. All threads write to all points, so each
// addition is an atomic one, and the sums differ in their last bits from run to run.
#pragma once

#include <pmpp/simt/atomic.hpp>

#include "slice.hpp"

namespace ladder {

struct scatter {
  static constexpr int threads = block_threads;
  /// \pre potential holds zeros
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const atom* atoms, int n, slice s, float* potential) const {
    const auto from = pmpp::simt::watch(block, atoms, "atoms");
    const std::int64_t i = block.index() * threads + block.thread();
    if (i >= n) return;
    const atom a = from[i];
    for (int row = 0; row < s.height; ++row) {
      const float across = across_of(a, s.spacing * float(row), s.z);
      for (int column = 0; column < s.width; ++column)
        pmpp::simt::atomic_add(potential + std::int64_t(row) * s.width + column,
                               from_atom(a, s.spacing * float(column), across));
    }
  }
};

}  // namespace ladder
