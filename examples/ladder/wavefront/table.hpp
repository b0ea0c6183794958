// SPDX-License-Identifier: Apache-2.0
//
// What the rungs have in common: the distance of two texts as a table. Cell (i, j) is how many letters have to be inserted, deleted or
// replaced to make the first j + 1 letters of b of the first i + 1 letters of a; it follows from its left, its upper and its
// upper-left neighbour. (PMPP, 5th edition, ch. 16.)
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/transform.hpp>

namespace ladder {

struct texts {
  const char *a, *b;
  int rows, cols;
};
PMPP_HOST_DEVICE inline int cell(int left, int upper, int diagonal, bool is_same) {
  return pmpp::min(pmpp::min(left, upper) + 1, diagonal + (is_same ? 0 : 1));
}

/// What is known of a table that is made in tiles and not written: the last row made in each column, the last column in each row, and
/// the last cell of the tiles on each diagonal that goes down to the right.
struct borders {
  int *row, *column, *corner;
};

/// Borders in front of the table, in memory of their own.
class border_memory {
public:
  border_memory(int rows, int cols, int side)
      : row_(numbers(cols)),
        column_(numbers(rows)),
        corner_(corners(pmpp::ceil_div(rows, side), pmpp::ceil_div(cols, side), side)) {}
  borders view() { return {row_.data(), column_.data(), corner_.data()}; }
  int last() const { return pmpp::to_host(row_).back(); }

private:
  static std::vector<int> numbers(int n) {
    std::vector<int> v;
    for (int i = 1; i <= n; ++i) v.push_back(i);
    return v;
  }
  static std::vector<int> corners(int down, int across, int side) {
    std::vector<int> v;
    for (int k = 0; k <= down + across; ++k) v.push_back(std::abs(k - down) * side);
    return v;
  }
  pmpp::device_buffer<int> row_, column_, corner_;
};

}  // namespace ladder
