// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: cells of one anti-diagonal do not need each other. A launch for each, a thread for each of its cells, the whole table in
// global memory: neighbours in a diagonal lie a row apart, and a launch ends before the next may begin.
#pragma once

#include "table.hpp"

namespace ladder {

struct one_diagonal {
  static constexpr int threads = 256;
  /// Cells (i, diagonal - i), from row `first` on.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, texts t, int* table, int diagonal, int first, int count) const {
    const auto place = static_cast<int>(block.index()) * threads + block.thread();
    if (place >= count) return;
    const int i = first + place, j = diagonal - i;
    const auto at = [&](int r, int c) -> int {
      return r < 0 || c < 0 ? pmpp::max(r, c) + 1 : table[std::int64_t(r) * t.cols + c];
    };
    table[std::int64_t(i) * t.cols + j] = cell(at(i, j - 1), at(i - 1, j), at(i - 1, j - 1), t.a[i] == t.b[j]);
  }
};

template <class Policy>
void distance_by_diagonals(const Policy& where, const texts& t, int* table) {
  for (int d = 0; d < t.rows + t.cols - 1; ++d) {
    const int first = pmpp::max(0, d - t.cols + 1), count = pmpp::min(d, t.rows - 1) - first + 1;
    pmpp::launch(where, pmpp::ceil_div(count, one_diagonal::threads), one_diagonal{}, t, table, d, first, count);
  }
}

}  // namespace ladder
