// SPDX-License-Identifier: Apache-2.0
//
// How the kernels of segmented.hpp use a GPU.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND {

struct segmented_tuning {
  int threads =
      256;  ///< of a block; fewer for large elements. 16 bytes each are what a warp holds of rows, twice (equal.hpp)
  int bytes = 80;      ///< of elements a thread: a tile has threads * bytes
  int stages = 2;      ///< tiles of segmented_reduce in shared memory: one is worked on, the others are on their way
  int min_blocks = 4;  ///< that the compiler makes room for on a multiprocessor
  /// Elements, and no more segments, that a warp for each segment folds (few.hpp; 0: never).
  std::int64_t few_to_reduce = 512;
  /// Up to so many elements, and some more in segments of suitable lengths, are scanned segment by segment (direct_scan.hpp; 0: never).
  std::int64_t scan_directly = 1 << 17;
  // segmented_reduce goes segment by segment (segmented/direct.hpp), with no tiles,
  std::int64_t short_input = 1 << 24;     ///< up to this many elements (0: never)
  std::int64_t short_segments = 1 << 18;  ///< in this many segments,
  std::int64_t long_average = 1 << 10;    ///< or where segments have about so many elements on average (0: never)
  int row_bytes = 48 * 1024;              ///< of a vector of each thread, at most: else there are fewer threads

  /// Where blocks have too little shared memory for these tiles.
  constexpr segmented_tuning least() const {
    segmented_tuning tuning = *this;
    tuning.threads = min(threads, 64);
    tuning.bytes = min(bytes, 144);
    tuning.row_bytes = min(row_bytes, 12 * 1024);
    return tuning;
  }
};

/// Of the calls whose tiles wait for those before: a block of each multiprocessor has two tiles in shared memory. Scans: an odd
/// number of vectors of 16 bytes, between which no room is lost (block/lane_vectors.hpp).
inline constexpr segmented_tuning segmented_scan_tuning{.threads = 512, .bytes = 208, .stages = 2, .min_blocks = 1};
inline constexpr segmented_tuning run_scan_tuning{.threads = 480, .bytes = 216, .stages = 2, .min_blocks = 1};
inline constexpr segmented_tuning run_tuning{.threads = 480, .bytes = 224, .stages = 2, .min_blocks = 1};
inline constexpr segmented_tuning run_length_tuning{.threads = 480, .bytes = 224, .stages = 2, .min_blocks = 1};

}  // namespace pmpp::inline PMPP_BACKEND
