// SPDX-License-Identifier: Apache-2.0
//
// A thread for each vertex. Those whose vertex was found in the last level look at its edges and mark the ends that are
// not seen yet. Several may mark the same one; all write the same. Most threads find nothing to do, level after level.
// (PMPP ch. 15.3.)
#pragma once

#include "levels.hpp"

namespace ladder {

struct vertex_push {
  static constexpr int threads = ladder::threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, graph g, int level, int* distance, int* found) const {
    const std::int64_t v = block.index() * threads + block.thread();
    if (v >= g.rows.rows || pmpp::simt::load(distance + v) != level) return;
    for (std::int64_t e = g.rows.row_begin(v); e < g.rows.row_end(v); ++e) {
      int* const end = distance + g.rows.columns[e];
      if (pmpp::simt::load(end) >= 0) continue;
      pmpp::simt::store(end, level + 1);
      pmpp::simt::store(found, 1);
    }
  }
};

}  // namespace ladder
