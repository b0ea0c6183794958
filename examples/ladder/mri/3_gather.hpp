// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: gather in registers. The sum and the voxel's place stay in registers; the image is written once. (A compiler may not do so
// by itself in rung 2: the image could overlap the samples.)
#pragma once

#include "scan.hpp"

namespace ladder {

struct gather {
  static constexpr int threads = block_threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const sample* samples, int n, voxels space, pair* image) const {
    const auto from = pmpp::simt::watch(block, samples, "samples");
    const auto to = pmpp::simt::watch(block, image, "image");
    const int v = int(block.index()) * threads + block.thread();
    if (v >= space.count()) return;
    const float x = space.x(v), y = space.y(v);
    pair sum{0, 0};
    for (int m = 0; m < n; ++m) {
      const sample s = from[m];
      const float angle = full_turn * (s.kx * x + s.ky * y);
      add_turned(sum, s.d, cosf(angle), sinf(angle));
    }
    to[v] = sum;
  }
};

}  // namespace ladder
