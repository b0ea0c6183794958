// SPDX-License-Identifier: Apache-2.0
//
// How one warp walks a strip of rows of a table whose cells depend on their left, upper and upper-left neighbours.
//
//   A lane owns a few adjacent rows (four), a warp the strip of all of them. At step s lane l makes the cells of column
//   s - l of its rows, so that all cells of a step lie on one anti-diagonal of pieces (the hyperplane transformation):
//
//        column   0   1   2   3   4
//        lane 0   s0  s1  s2  s3  s4      a lane's left neighbours stay in its registers
//        lane 1       s1  s2  s3  s4      its upper neighbour comes from the lane above by a shuffle
//        lane 2           s2  s3  s4      lane 0 gets it from the strip above, the last lane hands its row on
//
//   Where a strip gets the row above from and leaves its own last row is said by a hand (wavefront/kernel.hpp), what
//   becomes of the cells by a visitor (wavefront/outputs.hpp). Steps go in chunks of as many as a warp has lanes: one load of
//   the row above serves a chunk. Only chunks at the ends of a strip, and the last strip, ask whether a cell exists.
//   (PMPP, 5th edition, ch. 16.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// A function that asks for something once a row and once a column, and gets that in place of their numbers.
template <class F>
concept asks_ahead = requires(const F& f, std::int64_t i) {
  f.row(i);
  f.column(i);
};

/// Whether f makes a cell of three cells.
template <class T, class F>
PMPP_HOST_DEVICE constexpr bool makes_cells() {
  if constexpr (asks_ahead<F>) return requires(const F& f, const T& x, std::int64_t i) {
      static_cast<T>(f(x, x, x, f.row(i), f.column(i)));
    };
  else
    return requires(const F& f, const T& x, std::int64_t i) { static_cast<T>(f(x, x, x, i, i)); };
}

/// A table of rows x cols cells of type T.
template <class T, class F, class Outside>
struct wave {
  using value_type = T;

  std::int64_t rows, cols;
  F f;
  Outside outside;  ///< outside(i, j): the cell in front of row i (j = -1) or above column j (i = -1)

  PMPP_HOST_DEVICE bool empty() const { return rows == 0 || cols == 0; }
  PMPP_HOST_DEVICE auto row(std::int64_t i) const {
    if constexpr (asks_ahead<F>)
      return f.row(i);
    else
      return i;
  }
  PMPP_HOST_DEVICE auto column(std::int64_t j) const {
    if constexpr (asks_ahead<F>)
      return f.column(j);
    else
      return j;
  }
  using row_type = decltype(std::declval<const wave&>().row(0));
  using column_type = decltype(std::declval<const wave&>().column(0));

  PMPP_HOST_DEVICE T border(std::int64_t i, std::int64_t j) const { return static_cast<T>(outside(i, j)); }
  PMPP_HOST_DEVICE T cell(const T& left, const T& up, const T& diagonal, const row_type& row,
                          const column_type& column) const {
    if constexpr (makes_cells<T, F>())
      return static_cast<T>(f(left, up, diagonal, row, column));
    else
      return T{};  // a sentence has said so
  }
};

/// A lane's part of a strip.
template <int Rows, class Wave>
struct strip_of_lane {
  using T = typename Wave::value_type;
  static constexpr int lanes = simt::warp_size;

  const Wave& p;
  std::int64_t first;  ///< the first of its rows
  int count;           ///< of its rows that exist
  bool full;           ///< all rows of the strip exist
  T left[Rows]{};      ///< the cells made last
  T corner{};          ///< the cell above them
  T bottom{};          ///< the last of them, for the lane below
  typename Wave::row_type row[Rows]{};
  typename Wave::column_type ahead{};  ///< of the column that comes next

  template <class Block>
  PMPP_HOST_DEVICE strip_of_lane(Block& block, const Wave& problem, std::int64_t strip)
      : p(problem),
        first((strip * lanes + block.lane()) * Rows),
        count(static_cast<int>(max(std::int64_t(0), min(std::int64_t(Rows), p.rows - first)))),
        full((strip + 1) * lanes * Rows <= p.rows) {
    if (count == 0) return;
    corner = p.border(first - 1, -1);
    for (int k = 0; k < Rows; ++k)
      if (k < count) {
        left[k] = p.border(first + k, -1);
        row[k] = p.row(first + k);
      }
    ahead = p.column(0);
  }

  /// Steps chunk * lanes ... of the strip. `above`: the cell above column chunk * lanes + lane(). Whole: all cells of these
  /// steps exist.
  template <bool Whole, class Block, class Hand, class Visitor>
  PMPP_HOST_DEVICE void walk(Block& block, std::int64_t chunk, const T& above, const Hand& hand, Visitor& visitor) {
    std::int64_t j = chunk * lanes - block.lane();
    for (int s = 0; s < lanes; ++s, ++j) {
      T upper = block.shuffle_up(bottom, 1);
      const T entering = block.shuffle(above, s);
      if (block.lane() == 0) upper = entering;
      if (!Whole && (j < 0 || j >= p.cols || count == 0)) continue;
      const typename Wave::column_type column = ahead;
      ahead = p.column(min(j + 1, p.cols - 1));
      T diagonal = corner;
      corner = upper;
      for (int k = 0; k < Rows; ++k)
        if (Whole || k < count) {
          const T here = p.cell(left[k], upper, diagonal, row[k], column);
          diagonal = left[k];
          left[k] = here;
          upper = here;
        }
      bottom = left[Rows - 1];
      if (full && block.lane() == lanes - 1) hand.put(j, bottom);
      visitor.column(block, s, first, j, left, Whole ? Rows : count);
    }
  }
};

/// Makes all cells of a strip. One warp calls.
template <int Rows, class Block, class Wave, class Hand, class Visitor>
PMPP_HOST_DEVICE void walk_strip(Block& block, const Wave& p, std::int64_t strip, Hand& hand, Visitor& visitor) {
  constexpr int lanes = simt::warp_size;
  strip_of_lane<Rows, Wave> mine(block, p, strip);
  hand.ask(block.lane());
  const std::int64_t chunks = ceil_div(p.cols, std::int64_t(lanes));
  for (std::int64_t chunk = 0; chunk <= chunks; ++chunk) {  // one more than those of columns: the last lane is late
    const std::int64_t j = chunk * lanes + block.lane();
    const auto above = hand.take(block, j);
    hand.ask(j + lanes);
    block.sync_warp();  // the last lane writes what others have read
    if (mine.full && chunk > 0 && (chunk + 1) * lanes <= p.cols)
      mine.template walk<true>(block, chunk, above, hand, visitor);
    else
      mine.template walk<false>(block, chunk, above, hand, visitor);
    visitor.end_chunk(block, strip, chunk);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
