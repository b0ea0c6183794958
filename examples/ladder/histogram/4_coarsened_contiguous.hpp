// SPDX-License-Identifier: Apache-2.0
//
// Rung 4. A thread looks at 64 letters, so that there are fewer copies. They lie side by side: good for the cache of a
// CPU, where a thread comes back to its line; bad for a GPU, where a warp wants one line at a time.
#pragma once

#include "letters.hpp"

namespace ladder {

struct coarsened_contiguous {
  static constexpr const char* name = "coarsened, contiguous";
  static constexpr int threads = block_threads, factor = 64;
  static std::int64_t blocks(std::int64_t n, int) { return pmpp::ceil_div<std::int64_t>(n, threads * factor); }
  using shared = private_counts;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& own, const arguments& a) const {
    const auto text = pmpp::simt::watch(block, a.text, "text");
    own.clear(block);
    const std::int64_t first = (block.index() * threads + block.thread()) * factor;
    for (std::int64_t i = first; i < first + factor && i < a.n; ++i)
      if (const int bin = bin_of(text[i]); bin >= 0) pmpp::simt::atomic_add(own.count + bin, 1u);
    own.add_to(block, a.counts);
  }
};

}  // namespace ladder
