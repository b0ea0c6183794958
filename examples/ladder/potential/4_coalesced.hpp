// SPDX-License-Identifier: Apache-2.0
//
// Rung 4: coalesced. The four points of a thread are a quarter of the row apart, so that neighbouring lanes have neighbouring
// points: rung 3's arithmetic, rung 2's writes.
#pragma once

#include "3_coarsened.hpp"

namespace ladder {

struct coalesced {
  static constexpr int threads = block_threads;
  /// \pre the slice's width is a multiple of 4
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const atom* atoms, int n, slice s, float* potential) const {
    const auto from = pmpp::simt::watch(block, atoms, "atoms");
    const auto to = pmpp::simt::watch(block, potential, "potential");
    const int quarter = s.width / points_of_thread;
    const std::int64_t i = block.index() * threads + block.thread();
    if (i >= std::int64_t(quarter) * s.height) return;
    const int row = int(i / quarter), column = int(i % quarter);
    float sum[points_of_thread] = {};
    gather_row(from, n, s, row, column, quarter, sum);
    for (int p = 0; p < points_of_thread; ++p) to[std::int64_t(row) * s.width + column + p * quarter] = sum[p];
  }
};

}  // namespace ladder
