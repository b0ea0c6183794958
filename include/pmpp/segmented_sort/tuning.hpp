// SPDX-License-Identifier: Apache-2.0
//
// segmented_sort_tuning. Figures are of an H100, in us; CUB's in brackets.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Tiles of windows.
struct sort_windows_tuning {
  int threads = 512;  ///< of a block, at most: half where that leaves tiles of 4096
  int bytes = 64;     ///< of a thread's elements: 17 of up to 8 bytes. 2^26 keys in segments of 4096: 884 (1470)
  int block_bytes = 96 * 1024;  ///< of all elements of a block, about, at most
  int network_threads = 512;    ///< of a block where networks sort all. 2^20 keys in segments of 4096: 28.2 (29.7)
};

/// Passes over the large segments of long inputs.
struct merge_segments_tuning {
  int threads = 128;            ///< of a block, at most
  int bytes = 100;              ///< of a thread's elements: as sort's passes of four. 2^26 keys of one segment: 2905
  int block_bytes = 96 * 1024;  ///< of all elements of a block, about, at most
  int resident = 1536;          ///< threads on a multiprocessor at a time
};

/// How segmented_sort goes about it.
struct segmented_sort_tuning {
  std::int64_t short_limit = std::int64_t(1) << 21;  ///< up to this many elements one launch sorts all
  int short_bytes =
      36;  ///< of a thread's elements there. 2^16 keys in segments of 1000: 14.4 (16.7), of 0 to 2000: 18.7 (17.0)
  sort_windows_tuning windows{};
  merge_segments_tuning merges{};

  /// The same for short inputs: threads have fewer elements and are done sooner.
  constexpr segmented_sort_tuning for_short() const {
    segmented_sort_tuning t = *this;
    t.windows.bytes = min(windows.bytes, short_bytes);
    return t;
  }
  /// The same where a block has 48 KB.
  constexpr segmented_sort_tuning least() const {
    segmented_sort_tuning t = *this;
    t.windows.block_bytes = min(windows.block_bytes, 40 * 1024);
    t.merges.block_bytes = min(merges.block_bytes, 40 * 1024);
    return t;
  }
};

}  // namespace pmpp::inline PMPP_BACKEND
