// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: the merge with circular buffers (PMPP, section 12.7). As the tiled merge, but what a tile has not used stays in
// shared memory; only as many elements are loaded as have been used. Element k of an input has its slot at k modulo the
// size of the buffer, a power of two, so nothing moves. Every element is read from global memory once.
//
//   slots   | loaded anew |  left from the tile before  | loaded anew |
//                         ^ next                        ^ next + what is left
#pragma once

#include "2_tiled.hpp"

/// A buffer, seen as the whole array of which it holds a part.
struct circular_buffer {
  static constexpr int size = tiled_merge::tile;
  const int* slots;
  PMPP_HOST_DEVICE int operator[](std::int64_t k) const { return slots[k & (size - 1)]; }
};
/// The same from element `first` on.
struct circular_window {
  circular_buffer buffer;
  std::int64_t first;
  PMPP_HOST_DEVICE int operator[](std::int64_t k) const { return buffer[first + k]; }
};

struct circular_merge {
  static constexpr int threads = tiled_merge::threads, stretch = tiled_merge::stretch, tile = tiled_merge::tile,
                       tiles = tiled_merge::tiles;
  using shared = tiled_merge::shared;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const merge_input& in, int* out) const {
    const std::int64_t first = block.index() * tiles * tile;
    const std::int64_t end = pmpp::min(in.count(), first + tiles * tile);
    if (block.thread() == 0) {
      memory.first_of_a = in.co_rank(first);
      memory.end_of_a = in.co_rank(end);
    }
    block.sync();
    std::int64_t i = memory.first_of_a, j = first - i;
    const std::int64_t i_end = memory.end_of_a, j_end = end - i_end;
    std::int64_t a_loaded = i, b_loaded = j;
    const circular_buffer a{memory.a}, b{memory.b};
    for (std::int64_t at = first; at < end;) {
      const std::int64_t a_stop = pmpp::min(i_end, i + tile), b_stop = pmpp::min(j_end, j + tile);
      for (std::int64_t k = a_loaded + block.thread(); k < a_stop; k += threads) memory.a[k & (tile - 1)] = in.a[k];
      for (std::int64_t k = b_loaded + block.thread(); k < b_stop; k += threads) memory.b[k & (tile - 1)] = in.b[k];
      a_loaded = a_stop;
      b_loaded = b_stop;
      block.sync();
      const std::int64_t count = pmpp::min(end - at, std::int64_t(tile));
      const auto co_rank = [&](std::int64_t k) {
        return pmpp::co_rank(k, circular_window{a, i}, a_stop - i, circular_window{b, j}, b_stop - j, pmpp::less{});
      };
      const std::int64_t begin = pmpp::min(count, std::int64_t(block.thread()) * stretch);
      const std::int64_t stop = pmpp::min(count, begin + stretch);
      const std::int64_t own = co_rank(begin), own_end = co_rank(stop);
      merge_sequentially(a, i + own, i + own_end, b, j + begin - own, j + stop - own_end, out + at + begin);
      const std::int64_t used = co_rank(count);
      i += used;
      j += count - used;
      at += count;
      block.sync();  // the next elements overwrite what the others may still read
    }
  }
};

template <class Policy>
void merge_circular(const Policy& where, const merge_input& in, int* out) {
  const std::int64_t section = circular_merge::tiles * circular_merge::tile;
  pmpp::launch(where, pmpp::ceil_div(in.count(), section), circular_merge{}, in, out);
}
