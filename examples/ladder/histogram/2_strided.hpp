// SPDX-License-Identifier: Apache-2.0
//
// Rung 2. Neighbouring threads read neighbouring bytes, and all step over the text together: the loads of a warp are one
// piece of memory. The atomics are what they were.
#pragma once

#include "letters.hpp"

namespace ladder {

struct strided {
  static constexpr const char* name = "strided";
  static constexpr int threads = block_threads;
  static std::int64_t blocks(std::int64_t n, int processors) {
    return pmpp::min<std::int64_t>(8 * processors, pmpp::ceil_div<std::int64_t>(n, threads));
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    const auto text = pmpp::simt::watch(block, a.text, "text");
    const std::int64_t stride = block.count() * threads;
    for (std::int64_t i = block.index() * threads + block.thread(); i < a.n; i += stride)
      if (const int bin = bin_of(text[i]); bin >= 0) pmpp::simt::atomic_add(a.counts + bin, 1u);
  }
};

}  // namespace ladder
