// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: a launch for each vertex k on the way, a thread for each pair (i, j). Row k and column k do not change in it, since
// d(k, k) is 0. All of the matrix passes through memory n times.
#pragma once

#include "paths.hpp"

namespace ladder {

struct one_pivot {
  static constexpr int across = 32, down = 8;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, int* matrix, std::int64_t n, std::int64_t k) const {
    const auto d = pmpp::simt::watch(block, matrix, "d");
    const std::int64_t j = std::int64_t(block.position().x) * across + block.thread_position().x;
    const std::int64_t i = std::int64_t(block.position().y) * down + block.thread_position().y;
    if (i >= n || j >= n) return;
    const int by_way = d[i * n + k] + d[k * n + j];
    if (by_way < d[i * n + j]) d[i * n + j] = by_way;
  }
};

template <class Policy>
void paths_by_pivots(const Policy& where, int* d, std::int64_t n) {
  const pmpp::grid shape{
      {pmpp::ceil_div(n, std::int64_t(one_pivot::across)), pmpp::ceil_div(n, std::int64_t(one_pivot::down))},
      {one_pivot::across, one_pivot::down}};
  for (std::int64_t k = 0; k < n; ++k) pmpp::launch(where, shape, one_pivot{}, d, n, k);
}

}  // namespace ladder
