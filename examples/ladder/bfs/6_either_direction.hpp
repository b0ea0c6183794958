// SPDX-License-Identifier: Apache-2.0
//
// Push or pull, whichever looks at fewer edges in this level: pushing reads the edges of the frontier, all of them; pulling
// reads those of the vertices not yet found, until one leads to the frontier. So the kernel of a level also counts the edges of
// what it finds, and the host, which waits for the count of vertices anyway, chooses. In a network a few levels in the
// middle find nearly all vertices: these are pulled. (Beamer, Asanovic, Patterson: direction-optimizing BFS, 2012; its
// constants are 14 and 24.)
#pragma once

#include <pmpp/simt/atomic.hpp>

#include "2_vertex_pull.hpp"
#include "levels.hpp"

namespace ladder {

/// What a level has found.
struct level_result {
  int vertices;
  unsigned long long edges;  ///< that start at these
};

/// A thread for each vertex; `push`: those at distance `level` look for vertices not yet found, else the other way round.
struct either_direction {
  static constexpr int threads = ladder::threads;
  struct shared {
    int vertices;
    unsigned long long edges;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, graph g, int level, bool push, int* distance,
                                   level_result* found) const {
    if (block.thread() == 0) memory.vertices = 0, memory.edges = 0;
    block.sync();
    const auto note = [&](std::int64_t v) {
      pmpp::simt::atomic_add(&memory.vertices, 1);
      pmpp::simt::atomic_add(&memory.edges, static_cast<unsigned long long>(g.rows.row_end(v) - g.rows.row_begin(v)));
    };
    const std::int64_t v = block.index() * threads + block.thread();
    const int mine = v < g.rows.rows ? pmpp::simt::load(distance + v) : level + 1;
    if (push && mine == level) {
      for (std::int64_t e = g.rows.row_begin(v); e < g.rows.row_end(v); ++e) {
        const int end = g.rows.columns[e];
        if (pmpp::simt::atomic_compare_exchange(distance + end, -1, level + 1) == -1) note(end);
      }
    } else if (!push && mine < 0) {
      for (std::int64_t e = g.rows.row_begin(v); e < g.rows.row_end(v); ++e)
        if (pmpp::simt::load(distance + g.rows.columns[e]) == level) {
          pmpp::simt::store(distance + v, level + 1);
          note(v);
          break;
        }
    }
    block.sync();
    if (block.thread() == 0 && memory.vertices > 0) {
      pmpp::simt::atomic_add(&found->vertices, memory.vertices);
      pmpp::simt::atomic_add(&found->edges, memory.edges);
    }
  }
};

/// \return the number of levels that were pulled
inline int search_in_either_direction(const graph& g, std::span<int> distance, int source) {
  constexpr unsigned long long alpha = 14, beta = 24;
  begin_search(distance, source);
  pmpp::device_buffer<level_result> found(1);
  unsigned long long unseen = static_cast<unsigned long long>(g.edges);  // edges of vertices not yet found, at most
  level_result last{1, 0};
  bool push = true;
  int pulled = 0;
  for (int level = 0; last.vertices != 0; ++level) {
    pmpp::fill(pmpp::device, found, level_result{});
    pmpp::launch(pmpp::device, pmpp::ceil_div(g.rows.rows, std::int64_t(threads)), either_direction{}, g, level, push,
                 distance.data(), found.data());
    pulled += !push;
    last = pmpp::to_host(found)[0];
    unseen -= last.edges;
    push = push ? last.edges * alpha <= unseen
                : static_cast<unsigned long long>(last.vertices) * beta < static_cast<unsigned long long>(g.rows.rows);
  }
  return pulled;
}

}  // namespace ladder
