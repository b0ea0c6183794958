// SPDX-License-Identifier: Apache-2.0
//
// Each block gathers what it finds in a queue of its own in shared memory, and reserves room in the next queue once for
// all of it. What does not fit goes the long way. (PMPP ch. 15.6.)
#pragma once

#include <pmpp/simt/atomic.hpp>

#include "levels.hpp"

namespace ladder {

struct privatised_frontier {
  static constexpr int threads = ladder::threads;
  static constexpr int room = 2048;
  struct shared {
    int queue[room];
    int count, place;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, graph g, int level, int* distance, const int* frontier,
                                   int count, int* next, int* next_count) const {
    if (block.thread() == 0) memory.count = 0;
    block.sync();
    const std::int64_t i = block.index() * threads + block.thread();
    if (i < count) {
      const int v = frontier[i];
      for (std::int64_t e = g.rows.row_begin(v); e < g.rows.row_end(v); ++e) {
        const int end = g.rows.columns[e];
        if (pmpp::simt::atomic_compare_exchange(distance + end, -1, level + 1) != -1) continue;
        const int place = pmpp::simt::atomic_add(&memory.count, 1);
        if (place < room)
          memory.queue[place] = end;
        else
          next[pmpp::simt::atomic_add(next_count, 1)] = end;
      }
    }
    block.sync();
    const int mine = memory.count < room ? memory.count : room;
    if (block.thread() == 0) memory.place = pmpp::simt::atomic_add(next_count, mine);
    block.sync();
    for (int k = block.thread(); k < mine; k += threads) next[memory.place + k] = memory.queue[k];
  }
};

}  // namespace ladder
