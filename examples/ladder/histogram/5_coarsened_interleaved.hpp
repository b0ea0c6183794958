// SPDX-License-Identifier: Apache-2.0
//
// Rung 5. As many letters a thread, but taken in turns: the threads of a block step over its part of the text together.
#pragma once

#include "letters.hpp"

namespace ladder {

struct coarsened_interleaved {
  static constexpr const char* name = "coarsened, interleaved";
  static constexpr int threads = block_threads, factor = 64;
  static std::int64_t blocks(std::int64_t n, int) { return pmpp::ceil_div<std::int64_t>(n, threads * factor); }
  using shared = private_counts;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& own, const arguments& a) const {
    const auto text = pmpp::simt::watch(block, a.text, "text");
    own.clear(block);
    const std::int64_t first = block.index() * threads * factor + block.thread();
    for (std::int64_t i = first; i < first + threads * factor && i < a.n; i += threads)
      if (const int bin = bin_of(text[i]); bin >= 0) pmpp::simt::atomic_add(own.count + bin, 1u);
    own.add_to(block, a.counts);
  }
};

}  // namespace ladder
