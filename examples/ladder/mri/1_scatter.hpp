// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: scatter. The sequential loop over samples becomes the threads: a thread has a sample, which goes to every voxel. All
// threads write to all voxels, so that each addition is an atomic one, two a voxel.
#pragma once

#include <pmpp/simt/atomic.hpp>

#include "scan.hpp"

namespace ladder {

struct scatter {
  static constexpr int threads = block_threads;
  /// \pre image holds zeros
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const sample* samples, int n, voxels space, pair* image) const {
    const int m = int(block.index()) * threads + block.thread();
    if (m >= n) return;
    const sample s = samples[m];
    for (int v = 0; v < space.count(); ++v) {
      const float angle = full_turn * (s.kx * space.x(v) + s.ky * space.y(v));
      pair term{0, 0};
      add_turned(term, s.d, cosf(angle), sinf(angle));
      pmpp::simt::atomic_add(&image[v].re, term.re);
      pmpp::simt::atomic_add(&image[v].im, term.im);
    }
  }
};

}  // namespace ladder
