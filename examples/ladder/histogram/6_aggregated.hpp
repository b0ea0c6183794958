// SPDX-License-Identifier: Apache-2.0
//
// Rung 6. A thread that meets the same bin again counts on in a register, and adds the run when it ends. Helps where
// equal bins follow each other; where they do not, it is one comparison more a letter. And the amount added varies,
// which costs the GPU its shortcut for lanes that add 1 to the same word.
#pragma once

#include "letters.hpp"

namespace ladder {

struct aggregated {
  static constexpr const char* name = "aggregated";
  static constexpr int threads = block_threads, factor = 64;
  static std::int64_t blocks(std::int64_t n, int) { return pmpp::ceil_div<std::int64_t>(n, threads * factor); }
  using shared = private_counts;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& own, const arguments& a) const {
    const auto text = pmpp::simt::watch(block, a.text, "text");
    own.clear(block);
    const std::int64_t first = block.index() * threads * factor + block.thread();
    int current = -1;
    unsigned run = 0;  // letters of bin `current` not yet added
    for (std::int64_t i = first; i < first + threads * factor && i < a.n; i += threads) {
      const int bin = bin_of(text[i]);
      if (bin != current) {
        if (current >= 0) pmpp::simt::atomic_add(own.count + current, run);
        current = bin;
        run = 0;
      }
      ++run;
    }
    if (current >= 0) pmpp::simt::atomic_add(own.count + current, run);
    own.add_to(block, a.counts);
  }
};

}  // namespace ladder
