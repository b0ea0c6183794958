// SPDX-License-Identifier: Apache-2.0
//
// A thread for each vertex. Those whose vertex is not seen yet look for one neighbour that was found in the last level,
// and stop there: in the levels in which most vertices are found that saves most of the edges, in the others it costs
// all of them. (PMPP ch. 15.3.)
#pragma once

#include "levels.hpp"

namespace ladder {

struct vertex_pull {
  static constexpr int threads = ladder::threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, graph g, int level, int* distance, int* found) const {
    const std::int64_t v = block.index() * threads + block.thread();
    if (v >= g.rows.rows || pmpp::simt::load(distance + v) >= 0) return;
    for (std::int64_t e = g.rows.row_begin(v); e < g.rows.row_end(v); ++e)
      if (pmpp::simt::load(distance + g.rows.columns[e]) == level) {
        pmpp::simt::store(distance + v, level + 1);
        pmpp::simt::store(found, 1);
        return;
      }
  }
};

}  // namespace ladder
