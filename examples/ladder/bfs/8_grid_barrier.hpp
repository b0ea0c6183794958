// SPDX-License-Identifier: Apache-2.0
//
// One launch for all levels, of a grid: all blocks run at once, and a barrier of the grid stands between two levels, which takes a
// microsecond where a launch and a look of the host take ten. (PMPP, 5th edition, section 18.7.)
#pragma once

#include <pmpp/block/sync_grid.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/simt/atomic.hpp>

#include "levels.hpp"

namespace ladder {

struct all_levels {
  static constexpr int threads = ladder::threads, min_blocks = 1;
  /// counts: of the frontiers of levels 0, 3, 6 ..., of 1, 4 ... and of 2, 5 ...; words: of the barrier, 0.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, graph g, int* distance, int* even, int* odd, int* counts,
                                   unsigned* words) const {
    int* queue[2] = {even, odd};
    int count = 1;
    for (int level = 0; count > 0; ++level) {
      int* const found = counts + (level + 1) % 3;
      for (std::int64_t i = block.index() * threads + block.thread(); i < count; i += block.count() * threads) {
        const int v = queue[level % 2][i];
        for (std::int64_t e = g.rows.row_begin(v); e < g.rows.row_end(v); ++e) {
          const int end = g.rows.columns[e];
          if (pmpp::simt::atomic_compare_exchange(distance + end, -1, level + 1) == -1)
            queue[(level + 1) % 2][pmpp::simt::atomic_add(found, 1)] = end;
        }
      }
      // Nobody looks at the third count before the next barrier.
      if (block.index() == 0 && block.thread() == 0) pmpp::simt::store(counts + (level + 2) % 3, 0);
      pmpp::block::sync_grid(block, words + level % 2);
      count = pmpp::simt::load(found);
    }
  }
};

inline void search_with_barriers(const graph& g, std::span<int> distance, int source) {
  begin_search(distance, source);
  pmpp::device_buffer<int> even(distance.size()), odd(distance.size()), counts(std::vector<int>{1, 0, 0});
  pmpp::device_buffer<unsigned> words(2, 0u);
  pmpp::fill(pmpp::device, std::span<int>(even.data(), 1), source);
  pmpp::launch_together(pmpp::device, pmpp::machine_of(pmpp::device).multiprocessors, all_levels{}, g, distance.data(),
                        even.data(), odd.data(), counts.data(), words.data());
  pmpp::synchronize(pmpp::device);
}

}  // namespace ladder
