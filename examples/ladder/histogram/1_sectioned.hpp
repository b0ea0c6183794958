// SPDX-License-Identifier: Apache-2.0
//
// Rung 1. The text is cut into sections, one a thread. Neighbouring threads read bytes that lie far apart, so each load
// of a warp fetches 32 lines of memory; and every letter is an atomic on one of seven words.
#pragma once

#include "letters.hpp"

namespace ladder {

struct sectioned {
  static constexpr const char* name = "sectioned";
  static constexpr int threads = block_threads;
  static std::int64_t blocks(std::int64_t n, int processors) {
    return pmpp::min<std::int64_t>(8 * processors, pmpp::ceil_div<std::int64_t>(n, threads));
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    const auto text = pmpp::simt::watch(block, a.text, "text");
    const std::int64_t length = pmpp::ceil_div(a.n, block.count() * threads);
    const std::int64_t first = (block.index() * threads + block.thread()) * length;
    for (std::int64_t i = first; i < first + length && i < a.n; ++i)
      if (const int bin = bin_of(text[i]); bin >= 0) pmpp::simt::atomic_add(a.counts + bin, 1u);
  }
};

}  // namespace ladder
