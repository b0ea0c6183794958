// SPDX-License-Identifier: Apache-2.0
//
// Many levels with few vertices each, as on a grid, are launches that wait for each other. A single block can go from
// level to level by itself, with a barrier in place of a launch, as long as the frontier fits its shared memory; when it
// no longer does, it hands the frontier back to the host, and a grid makes the next level. (PMPP, section 15.7.)
#pragma once

#include <pmpp/simt/atomic.hpp>

#include "5_privatised_frontier.hpp"
#include "levels.hpp"

namespace ladder {

struct single_block {
  static constexpr int threads = 1024, room = 4096;
  struct shared {
    int queue[2][room];
    int count;
  };
  /// From `level` on; state is {level, vertices of the frontier} before and after. Stops when a frontier is empty or too large.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, graph g, int* distance, int* frontier, int* next,
                                   int* state) const {
    int level = state[0], count = state[1];
    for (int i = block.thread(); i < count; i += threads) memory.queue[0][i] = frontier[i];
    for (int side = 0; count > 0 && count <= room; side ^= 1, ++level) {
      block.sync();  // the queue is there, and all have read the last count
      if (block.thread() == 0) memory.count = 0;
      block.sync();
      for (int i = block.thread(); i < count; i += threads) {
        const int v = memory.queue[side][i];
        for (std::int64_t e = g.rows.row_begin(v); e < g.rows.row_end(v); ++e) {
          const int end = g.rows.columns[e];
          if (pmpp::simt::atomic_compare_exchange(distance + end, -1, level + 1) != -1) continue;
          const int place = pmpp::simt::atomic_add(&memory.count, 1);
          next[place] = end;  // all of it, in case it is too large
          if (place < room) memory.queue[side ^ 1][place] = end;
        }
      }
      block.sync();
      count = memory.count;
    }
    if (block.thread() == 0) state[0] = level, state[1] = count;
  }
};

/// Levels by a single block while they are small, by grids while they are large. \return the number of launches
inline int search_by_single_blocks(const graph& g, std::span<int> distance, int source) {
  begin_search(distance, source);
  pmpp::device_buffer<int> frontier(distance.size()), next(distance.size());
  pmpp::device_buffer<int> state(std::vector<int>{0, 1});
  pmpp::fill(pmpp::device, std::span<int>(frontier.data(), 1), source);
  int launches = 0, level = 0, count = 1;
  while (count != 0) {
    if (count <= single_block::room) {
      pmpp::launch(pmpp::device, 1, single_block{}, g, distance.data(), frontier.data(), next.data(), state.data());
    } else {
      pmpp::fill(pmpp::device, std::span<int>(state.data() + 1, 1), 0);
      pmpp::launch(pmpp::device, pmpp::ceil_div(count, threads), privatised_frontier{}, g, level, distance.data(),
                   static_cast<const int*>(frontier.data()), count, next.data(), state.data() + 1);
      pmpp::fill(pmpp::device, std::span<int>(state.data(), 1), level + 1);
    }
    ++launches;
    const std::vector<int> now = pmpp::to_host(state);
    level = now[0], count = now[1];
    std::swap(frontier, next);
  }
  return launches;
}

}  // namespace ladder
