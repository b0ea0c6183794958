// SPDX-License-Identifier: Apache-2.0
//
// What all rungs count: the letters of a text in seven bins, a-d, e-h, ... y-z, as in PMPP ch. 9.
#pragma once

#include <cstdint>

#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/counters.hpp>

namespace ladder {

inline constexpr int bins = 7;
inline constexpr int block_threads = 256;

/// The bin of a character, -1 if it is no small letter.
PMPP_HOST_DEVICE inline int bin_of(char c) { return c >= 'a' && c <= 'z' ? (c - 'a') / 4 : -1; }

struct arguments {
  const char* text;
  std::int64_t n;
  unsigned* counts;  ///< zero at first
};

/// A block's own copy of the counters, in shared memory, and what is done with it before and after the counting.
struct private_counts {
  unsigned count[bins];

  template <class Block>
  PMPP_HOST_DEVICE void clear(Block& block) {
    if (block.thread() < bins) count[block.thread()] = 0;
    block.sync();
  }
  template <class Block>
  PMPP_HOST_DEVICE void add_to(Block& block, unsigned* counts) const {
    block.sync();
    if (block.thread() < bins && count[block.thread()] > 0)
      pmpp::simt::atomic_add(counts + block.thread(), count[block.thread()]);
  }
};

}  // namespace ladder
