// SPDX-License-Identifier: Apache-2.0
//
// Rung 8. Privatisation to its end: each thread has counters of its own, in shared memory, so that counting takes no atomic.
// Counter `bin` of all threads is a row: neighbours count in neighbouring banks, whatever their letters. What was saved
// in the counting is paid at the end, when 256 copies are added up; and shared memory grows with threads times bins, which
// few bins alone allow.
#pragma once

#include "letters.hpp"

namespace ladder {

struct own_counters {
  static constexpr const char* name = "own counters";
  static constexpr int threads = block_threads, factor = 64;
  static std::int64_t blocks(std::int64_t n, int) { return pmpp::ceil_div<std::int64_t>(n, threads * factor); }
  struct shared {
    unsigned count[bins][threads];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const auto text = pmpp::simt::watch(block, a.text, "text");
    const int t = block.thread();
    for (int bin = 0; bin < bins; ++bin) memory.count[bin][t] = 0;
    const std::int64_t first = block.index() * threads * factor + t;
    for (std::int64_t i = first; i < first + threads * factor && i < a.n; i += threads)
      if (const int bin = bin_of(text[i]); bin >= 0) ++memory.count[bin][t];
    block.sync();
    for (int bin = block.warp(); bin < bins; bin += block.warps()) {  // a warp adds up a row
      unsigned sum = 0;
      for (int i = block.lane(); i < threads; i += pmpp::simt::warp_size) sum += memory.count[bin][i];
      sum = block.warp_add(sum);
      if (block.lane() == 0 && sum > 0) pmpp::simt::atomic_add(a.counts + bin, sum);
    }
  }
};

}  // namespace ladder
