// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: coarsened. A thread has four adjacent points of a row: an atom is read once for all of them, and its distance in y and
// z is computed once. But now the lanes of a warp write every fourth float: four times as many sectors a request.
#pragma once

#include "slice.hpp"

namespace ladder {

inline constexpr int points_of_thread = 4;

/// The sums of the points whose columns are `first`, `first + step` ... of a row.
template <class Atoms>
PMPP_HOST_DEVICE void gather_row(const Atoms& atoms, int n, const slice& s, int row, int first, int step,
                                 float (&sum)[points_of_thread]) {
  const float y = s.spacing * float(row);
  for (int i = 0; i < n; ++i) {
    const atom a = atoms[i];
    const float across = across_of(a, y, s.z);
    for (int p = 0; p < points_of_thread; ++p) sum[p] += from_atom(a, s.spacing * float(first + p * step), across);
  }
}

struct coarsened {
  static constexpr int threads = block_threads;
  /// \pre the slice's width is a multiple of 4
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const atom* atoms, int n, slice s, float* potential) const {
    const auto from = pmpp::simt::watch(block, atoms, "atoms");
    const auto to = pmpp::simt::watch(block, potential, "potential");
    const std::int64_t point = (block.index() * threads + block.thread()) * points_of_thread;
    if (point >= s.points()) return;
    float sum[points_of_thread] = {};
    gather_row(from, n, s, int(point / s.width), int(point % s.width), 1, sum);
    for (int p = 0; p < points_of_thread; ++p) to[point + p] = sum[p];
  }
};

}  // namespace ladder
