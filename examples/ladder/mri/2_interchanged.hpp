// SPDX-License-Identifier: Apache-2.0
//
// Rung 2: loops interchanged. A thread has a voxel, and the loop is over samples: nobody else writes to the voxel, the atomics are
// gone. But the sum still lies in memory: 16 bytes read and 16 written for every term, beside the sample's 16.
#pragma once

#include "scan.hpp"

namespace ladder {

struct interchanged {
  static constexpr int threads = block_threads;
  /// \pre image holds zeros
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const sample* samples, int n, voxels space, pair* image) const {
    const auto from = pmpp::simt::watch(block, samples, "samples");
    const auto to = pmpp::simt::watch(block, image, "image");
    const int v = int(block.index()) * threads + block.thread();
    if (v >= space.count()) return;
    for (int m = 0; m < n; ++m) {
      const sample s = from[m];
      const float angle = full_turn * (s.kx * space.x(v) + s.ky * space.y(v));
      pair sum = to[v];
      add_turned(sum, s.d, cosf(angle), sinf(angle));
      to[v] = sum;
    }
  }
};

}  // namespace ladder
