// SPDX-License-Identifier: Apache-2.0
//
// Rung 3: the tree in shared memory (PMPP, section 10.6). Each number is read from global memory once, and two are added on
// the way; the steps of the tree go to and fro in shared memory only. The data stay as they are.
#pragma once

#include "section.hpp"

namespace ladder {

struct in_shared_memory {
  static constexpr int threads = block_threads;
  struct shared {
    unsigned partial[threads];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const unsigned* numbers, std::int64_t n,
                                   unsigned* sum) const {
    const auto data = pmpp::simt::watch(block, numbers, "data");
    const auto partial = pmpp::simt::watch(block, memory.partial, "partial");
    unsigned total = 0;
    for (std::int64_t first = 0; first < n; first += section) {
      const std::int64_t i = first + block.thread(), j = i + threads;
      partial[block.thread()] = (i < n ? data[i] : 0) + (j < n ? data[j] : 0);
      total += add_up(block, partial);
      block.sync();  // the next section overwrites what others may still read
    }
    if (block.thread() == 0) *sum = total;
  }
};

}  // namespace ladder
