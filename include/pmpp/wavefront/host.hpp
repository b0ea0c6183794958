// SPDX-License-Identifier: Apache-2.0
//
// wavefront.hpp on seq and host: tiles of the table, anti-diagonal by anti-diagonal. What lies above a tile and to its left is
// kept in one row and one column of cells, which tiles replace by their own last ones.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/wavefront/walk.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// The rows and columns of a tile: [first, last).
struct wave_tile {
  std::int64_t first_row, last_row, first_col, last_col;
};

/// Makes the cells of a tile, in order of rows. Before: above[j] and left[i] are the cells around it, corner the one in front of
/// both. After: its own last row and column, and the last cell of both.
template <class Wave, class T, class Visit>
void make_tile(const Wave& p, const wave_tile& t, T* above, T* left, T& corner, Visit&& visit) {
  T before = corner;
  for (std::int64_t i = t.first_row; i < t.last_row; ++i) {
    T west = left[i], diagonal = before;
    before = west;
    const auto row = p.row(i);
    for (std::int64_t j = t.first_col; j < t.last_col; ++j) {
      const T north = above[j];
      west = p.cell(west, north, diagonal, row, p.column(j));
      diagonal = north;
      above[j] = west;
      visit(i, j, west);
    }
    left[i] = west;
  }
  corner = above[t.last_col - 1];
}

/// Makes all cells. visit(slot, i, j, cell) sees each once; calls with one slot are never at the same time. `ends(row, column)`
/// gets the last row and the last column at the end.
template <class P, class Wave, class Visit, class Ends>
void wave_on_host([[maybe_unused]] const P& where, const Wave& p, std::int64_t tile, const Visit& visit,
                  const Ends& ends) {
  using T = typename Wave::value_type;
  host_loop::task_results<T> above(max(std::int64_t(1), p.cols)), left(max(std::int64_t(1), p.rows));
  for (std::int64_t j = 0; j < p.cols; ++j) above[j] = p.border(-1, j);
  for (std::int64_t i = 0; i < p.rows; ++i) left[i] = p.border(i, -1);
  if (p.empty()) return ends(above.data(), left.data());
  const std::int64_t down = ceil_div(p.rows, tile), across = ceil_div(p.cols, tile);
  host_loop::task_results<T> corners(down + across);  // by the diagonal of tiles that goes down to the right
  for (std::int64_t k = 0; k < down; ++k) corners[across + k] = p.border(k * tile - 1, -1);
  for (std::int64_t k = 1; k < across; ++k) corners[across - k] = p.border(-1, k * tile - 1);
  for (std::int64_t d = 0; d < down + across - 1; ++d) {
    const std::int64_t first = max(std::int64_t(0), d - across + 1), last = min(d, down - 1);
    const auto make = [&](std::int64_t task) {
      const std::int64_t i = first + task, j = d - i, slot = across + i - j;
      detail::make_tile(p, {i * tile, min(p.rows, (i + 1) * tile), j * tile, min(p.cols, (j + 1) * tile)}, above.data(),
                        left.data(), corners[slot],
                        [&](std::int64_t row, std::int64_t col, const T& cell) { visit(slot, row, col, cell); });
    };
    if constexpr (std::is_same_v<P, seq_policy>)
      for (std::int64_t task = 0; task <= last - first; ++task) make(task);
    else
      host_loop::parallel_parts(where, last - first + 1, make);
  }
  ends(above.data(), left.data());
}

/// Tiles that the first caches hold; seq has one.
template <class P>
std::int64_t wavefront_host_tile(const P&, std::int64_t rows, std::int64_t cols) {
  return std::is_same_v<P, seq_policy> ? max(std::int64_t(1), max(rows, cols)) : 512;
}
/// Slots that wave_on_host uses, at most.
template <class P>
std::int64_t host_slots(const P& where, std::int64_t rows, std::int64_t cols) {
  const std::int64_t tile = detail::wavefront_host_tile(where, rows, cols);
  return ceil_div(rows, tile) + ceil_div(cols, tile);
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
