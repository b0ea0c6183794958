// SPDX-License-Identifier: Apache-2.0
//
// Rungs 4 and 5: samples in constant memory, and sine and cosine by the special function units. All lanes want the same sample, which
// the cache of constants gives to a whole warp at once. A table of constants is small, so samples come in chunks, a launch each, and the
// image is read and written once a chunk. The four numbers of a sample lie together: one line of the cache has them, where four
// arrays would want four.
//
// What is left is sine and cosine, some 20 instructions each, more where an angle is large. The special function units have both in
// one, with an error of 2^-21 for angles within half a turn: whole turns are taken off first, which is exact.
#pragma once

#include <algorithm>
#include <vector>

#include <pmpp/core/constant_table.hpp>

#include "scan.hpp"

namespace ladder {

inline constexpr int samples_in_chunk = 1024;  // of 16 bytes; a kernel's arguments have 32 KB
using chunk = pmpp::constant_table<sample, samples_in_chunk>;

/// \tparam Fast by the special function units, where there are any
template <bool Fast>
struct from_constants {
  static constexpr int threads = block_threads;
  /// Adds to the image.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const chunk& samples, int n, voxels space, pair* image) const {
    const auto to = pmpp::simt::watch(block, image, "image");
    const int v = int(block.index()) * threads + block.thread();
    if (v >= space.count()) return;
    const float x = space.x(v), y = space.y(v);
    pair sum = to[v];
    for (int m = 0; m < n; ++m) {
      const sample& s = samples[m];
      const float turns = s.kx * x + s.ky * y;
      float sine, cosine;
      if constexpr (Fast) {
        const float angle = full_turn * (turns - rintf(turns));
#if defined(__CUDA_ARCH__)
        __sincosf(angle, &sine, &cosine);
#else
        sine = sinf(angle), cosine = cosf(angle);
#endif
      } else {
        sine = sinf(full_turn * turns), cosine = cosf(full_turn * turns);
      }
      add_turned(sum, s.d, cosine, sine);
    }
    to[v] = sum;
  }
};

/// \pre image holds zeros
template <bool Fast, class Policy>
void by_chunks(const Policy& where, const std::vector<sample>& samples, voxels space, pair* image) {
  for (std::size_t first = 0; first < samples.size(); first += samples_in_chunk) {
    const int n = int(std::min<std::size_t>(samples_in_chunk, samples.size() - first));
    chunk part;
    for (int m = 0; m < n; ++m) part[m] = samples[first + std::size_t(m)];
    pmpp::launch(where, pmpp::ceil_div<std::int64_t>(space.count(), block_threads), from_constants<Fast>{}, part, n,
                 space, image);
  }
}

}  // namespace ladder
