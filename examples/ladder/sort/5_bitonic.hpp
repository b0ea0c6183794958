// SPDX-License-Identifier: Apache-2.0
//
// Rung 5: a sorting network (PMPP, section 13.8; Batcher, 1968). Which keys are compared does not depend on the keys: no
// counters, no scans, nothing but compare and exchange. Two sorted runs, one after the other, become one:
//
//   1 4 6 7 | 2 3 5 8     the first with the last, the second with the last but one ...  ->  1 3 4 2 | 7 6 ... all smaller
//                         ones are in front; then each half likewise, with partners at half the distance, down to 1.
//
// Comparisons over less than a tile are done in shared memory, each further one is a kernel that reads and writes all.
// n log^2 n comparisons. Keys that are missing after n would be the largest and never move: they are not looked at.
#pragma once

#include <cstdint>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>

/// Comparison number c of a step: keys `distance` apart, or mirrored in stretches of twice that distance.
PMPP_HOST_DEVICE inline void compare_exchange(unsigned* key, std::int64_t n, std::int64_t c, std::int64_t distance,
                                              bool mirrored) {
  const std::int64_t offset = c & (distance - 1), first = 2 * (c - offset);  // distance is a power of two
  const std::int64_t i = first + offset, j = mirrored ? first + 2 * distance - 1 - offset : i + distance;
  if (j >= n || key[i] <= key[j]) return;
  const unsigned smaller = key[j];
  key[j] = key[i];
  key[i] = smaller;
}

/// Sorts tiles; or, of larger runs, makes the steps whose distances are less than a tile.
struct bitonic_tile {
  static constexpr int threads = 1024, tile = 2 * threads;
  struct shared {
    unsigned key[tile];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* in, unsigned* out, std::int64_t n,
                                   bool from_scratch) const {
    const std::int64_t first = block.index() * tile, count = pmpp::min(n - first, std::int64_t(tile));
    for (int k = block.thread(); k < count; k += threads) memory.key[k] = in[first + k];
    block.sync();
    for (int run = from_scratch ? 1 : tile / 2; run < tile; run *= 2)
      for (int distance = run; distance > 0; distance /= 2) {
        compare_exchange(memory.key, count, block.thread(), distance, from_scratch && distance == run);
        block.sync();
      }
    for (int k = block.thread(); k < count; k += threads) out[first + k] = memory.key[k];
  }
};

struct bitonic_step {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, unsigned* keys, std::int64_t n, std::int64_t distance,
                                   bool mirrored) const {
    compare_exchange(keys, n, block.index() * threads + block.thread(), distance, mirrored);
  }
};

template <class Policy>
void sort_bitonic(const Policy& where, unsigned* keys, std::int64_t n) {
  const std::int64_t tile = bitonic_tile::tile, tiles = pmpp::ceil_div(n, tile);
  pmpp::launch(where, tiles, bitonic_tile{}, keys, keys, n, true);
  for (std::int64_t run = tile; run < n; run *= 2) {
    const std::int64_t comparisons = pmpp::round_up(n, 2 * run) / 2;
    for (std::int64_t distance = run; distance >= tile; distance /= 2)
      pmpp::launch(where, comparisons / bitonic_step::threads, bitonic_step{}, keys, n, distance, distance == run);
    pmpp::launch(where, tiles, bitonic_tile{}, keys, keys, n, false);
  }
}
