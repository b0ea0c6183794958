// SPDX-License-Identifier: Apache-2.0
//
// Rung 3. Each block counts in shared memory and adds its counts to the result once, at the end. A thread still looks at
// one letter only, so that there are many blocks, and as many copies to add up.
#pragma once

#include "letters.hpp"

namespace ladder {

struct privatised {
  static constexpr const char* name = "privatised";
  static constexpr int threads = block_threads;
  static std::int64_t blocks(std::int64_t n, int) { return pmpp::ceil_div<std::int64_t>(n, threads); }
  using shared = private_counts;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& own, const arguments& a) const {
    const auto text = pmpp::simt::watch(block, a.text, "text");
    own.clear(block);
    const std::int64_t i = block.index() * threads + block.thread();
    if (i < a.n)
      if (const int bin = bin_of(text[i]); bin >= 0) pmpp::simt::atomic_add(own.count + bin, 1u);
    own.add_to(block, a.counts);
  }
};

}  // namespace ladder
