// SPDX-License-Identifier: Apache-2.0
//
// A thread for each edge: no thread waits for a neighbour with a long list, and there is more to do at once. But all
// edges are read in every level, and each edge needs both of its ends. (PMPP ch. 15.4.)
#pragma once

#include "levels.hpp"

namespace ladder {

struct edge_centric {
  static constexpr int threads = ladder::threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, graph g, int level, int* distance, int* found) const {
    const std::int64_t e = block.index() * threads + block.thread();
    if (e >= g.edges || pmpp::simt::load(distance + g.from[e]) != level) return;
    int* const end = distance + g.rows.columns[e];
    if (pmpp::simt::load(end) >= 0) return;
    pmpp::simt::store(end, level + 1);
    pmpp::simt::store(found, 1);
  }
};

}  // namespace ladder
