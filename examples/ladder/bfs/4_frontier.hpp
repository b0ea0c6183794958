// SPDX-License-Identifier: Apache-2.0
//
// A thread for each vertex of the frontier, which the last level has written to a queue: no thread starts in vain. Who
// finds a vertex first, as an atomic says, appends it to the next queue; all threads add to the same counter for that.
// (PMPP ch. 15.5.)
#pragma once

#include <pmpp/simt/atomic.hpp>

#include "levels.hpp"

namespace ladder {

struct frontier_push {
  static constexpr int threads = ladder::threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, graph g, int level, int* distance, const int* frontier, int count,
                                   int* next, int* next_count) const {
    const std::int64_t i = block.index() * threads + block.thread();
    if (i >= count) return;
    const int v = frontier[i];
    for (std::int64_t e = g.rows.row_begin(v); e < g.rows.row_end(v); ++e) {
      const int end = g.rows.columns[e];
      if (pmpp::simt::atomic_compare_exchange(distance + end, -1, level + 1) == -1)
        next[pmpp::simt::atomic_add(next_count, 1)] = end;
    }
  }
};

}  // namespace ladder
