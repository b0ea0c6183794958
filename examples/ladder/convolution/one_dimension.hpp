// SPDX-License-Identifier: Apache-2.0
//
// The rungs in one dimension, as the book's first edition and many courses have them: out[i] is the sum of the 9 elements
// around in[i], times their taps; zeros lie outside. The taps are constant memory in all of them.
#pragma once

#include <cstdint>

#include <pmpp/core/constant_table.hpp>
#include <pmpp/launch.hpp>

inline constexpr int line_radius = 4, line_side = 2 * line_radius + 1, line_threads = 256;
using line_taps = pmpp::constant_table<float, line_side>;

/// Each thread reads its 9 elements from global memory.
struct line_basic {
  static constexpr int threads = line_threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* in, const line_taps& taps, float* out,
                                   std::int64_t n) const {
    const std::int64_t i = block.index() * threads + block.thread();
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < line_side; ++j)
      if (const std::int64_t k = i + j - line_radius; k >= 0 && k < n) sum += taps[j] * in[k];
    out[i] = sum;
  }
};

/// A tile of the input in shared memory, and its halos: the last threads of a block load what lies left of it, of the tile
/// before; the first ones what lies right of it.
struct line_with_halo {
  static constexpr int threads = line_threads;
  struct shared {
    float tile[threads + 2 * line_radius];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* in, const line_taps& taps, float* out,
                                   std::int64_t n) const {
    const int t = block.thread();
    const std::int64_t i = block.index() * threads + t, left = i - threads, right = i + threads;
    if (t >= threads - line_radius) memory.tile[t - (threads - line_radius)] = left >= 0 ? in[left] : 0;
    memory.tile[line_radius + t] = i < n ? in[i] : 0;
    if (t < line_radius) memory.tile[line_radius + threads + t] = right < n ? in[right] : 0;
    block.sync();
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < line_side; ++j) sum += taps[j] * memory.tile[t + j];
    out[i] = sum;
  }
};

/// The tile alone: elements of a neighbour's tile are read from global memory, where that neighbour has brought them into
/// the cache.
struct line_cached {
  static constexpr int threads = line_threads;
  struct shared {
    float tile[threads];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* in, const line_taps& taps, float* out,
                                   std::int64_t n) const {
    const int t = block.thread();
    const std::int64_t i = block.index() * threads + t;
    memory.tile[t] = i < n ? in[i] : 0;
    block.sync();
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < line_side; ++j) {
      const int of_tile = t + j - line_radius;
      const std::int64_t k = i + j - line_radius;
      if (k >= 0 && k < n) sum += taps[j] * (of_tile >= 0 && of_tile < threads ? memory.tile[of_tile] : in[k]);
    }
    out[i] = sum;
  }
};
