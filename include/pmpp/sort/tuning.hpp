// SPDX-License-Identifier: Apache-2.0
//
// sort_tuning: one part for each way of sorting. Figures are of an H100, in us, of calls of sort; CUB's in brackets.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Numbers in one launch (sort/radix_together.hpp).
struct radix_together_tuning {
  int threads = 512;  ///< of a block
  int items = 26;     ///< elements of a thread, at most: 0 for never. 2^20 keys of 4 bytes: 34.6 (82.7)
  int rows = 6;       ///< the same where that needs no more than 32 blocks. 2^16 keys: 15.9 (53.3)
};

/// Numbers in a launch for each digit (sort/radix.hpp).
struct radix_tuning {
  int threads = 512;     ///< of a block
  int items = 52;        ///< elements of a thread, at most. 2^28 keys of 4 bytes: 4384 (5556)
  int short_items = 32;  ///< the same where inputs are short. 2^21 keys: 73.2 (113.9), 2^22: 108 (174)
  int long_from = 4;     ///< long inputs: from this many tiles of `items` a multiprocessor on. 2^24 keys: 369 (429)
  int min_tiles =
      64;  ///< short inputs have as many, even if that makes them smaller: matters where few multiprocessors are
  int value_bytes = 16;  ///< of the largest values that go along with their keys in each pass; no figures were kept
  std::int64_t wide_from = std::int64_t(1) << 30;  ///< elements from which look-back words have 64 bits: counts have 30
};

/// Tiles of a merge sort, in which comparators other than less and greater are asked.
struct sort_tiles_tuning {
  int threads = 512;            ///< of a block, at most
  int bytes = 64;               ///< of a thread's elements, more for wide ones: 17 of 4 bytes, 11 of 8, 9 of 12
  int block_bytes = 96 * 1024;  ///< of all elements of a block, about, at most
  int resident = 1536;          ///< threads on a multiprocessor at a time: three blocks of 40 registers a thread
};

/// Passes of a merge sort.
struct merge_runs_tuning {
  int threads = 128;            ///< of a block, at most
  int bytes = 64;               ///< of a thread's elements, more for wide ones
  int four_bytes = 100;         ///< the same of four runs: with 64 the pipe of shared memory was busy for 86 %
  int block_bytes = 96 * 1024;  ///< of all elements of a block, about, at most
  int resident = 1536;          ///< threads on a multiprocessor at a time
  std::int64_t four_way_from = std::int64_t(1) << 24;  ///< elements: by fours 2^24 take 737 (872), 2^27 4725 (7038)
};

/// Two launches of a merge sort where inputs are short: small tiles, and all their elements ranked at once.
struct rank_runs_tuning {
  int threads = 512;  ///< of a block that sorts a tile
  int bytes = 44;     ///< of a thread's elements there
  std::int64_t rank_limit = std::int64_t(1)
                            << 16;  ///< elements, at most: 2^16 take 29.9 (45.6); 2^17, by passes, 48.7 (55.6)
};

/// How sort goes about it.
struct sort_tuning {
  int compare_all_limit =
      8192;  ///< up to this many elements are compared, all with all. 2^13: 15.1 (54.0), 15.7 merged (22.7)
  radix_together_tuning together{};
  radix_tuning radix{};
  sort_tiles_tuning tiles{};
  merge_runs_tuning merges{};
  rank_runs_tuning ranks{};

  /// The same where a block has 48 KB.
  constexpr sort_tuning least() const {
    sort_tuning t = *this;
    t.tiles.block_bytes = min(tiles.block_bytes, 40 * 1024);
    t.merges.block_bytes = min(merges.block_bytes, 40 * 1024);
    return t;
  }
};

}  // namespace pmpp::inline PMPP_BACKEND
