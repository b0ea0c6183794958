// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the cells of a table (wavefront.hpp). Each output has, on kernels, a visitor, which one lane of a warp has
// in its registers and which sees its cells column by column:
//
//   visitor.column(block, s, first, j, cells, count)   step s made cells (first, j) ... (first + count - 1, j)
//   visitor.end_chunk(block, strip, chunk)             all lanes have made a chunk of steps
//
//   table_output         all cells. Lanes make them askew; they go through shared memory, so that rows are written as rows.
//   last_row_output, last_column_output, last_cell_output
//   best_output          the greatest cell and its place: a fold of lanes, warps and blocks, the same whoever is first.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// A cell of a table and its place.
template <class T>
struct best_cell {
  T value;
  std::int64_t row, col;  ///< -1 where the table has no cells

  friend constexpr bool operator==(const best_cell&, const best_cell&) = default;
};

namespace detail {

struct no_staging {};

template <class T>
struct table_output {
  /// Larger elements fill sectors of 32 bytes anyhow, and would take more shared memory than some GPUs have.
  static constexpr bool staged = sizeof(T) <= 8;
  template <int Rows>
  struct staging_of {
    T cells[Rows][simt::warp_size][simt::warp_size + 1];  ///< by row of a lane, lane, step
  };
  template <int Rows>
  using staging = std::conditional_t<staged, staging_of<Rows>, no_staging>;

  matrix_view<T> out;

  template <int Rows>
  struct visitor {
    matrix_view<T> out;
    staging<Rows>& memory;

    PMPP_HOST_DEVICE visitor(const table_output& o, staging<Rows>& m) : out(o.out), memory(m) {}

    template <class Block>
    PMPP_HOST_DEVICE void column(Block& block, int s, std::int64_t first, std::int64_t j, const T (&cells)[Rows],
                                 int count) {
      for (int k = 0; k < Rows; ++k)
        if (k < count) {
          if constexpr (staged)
            memory.cells[k][block.lane()][s] = cells[k];
          else
            out(first + k, j) = cells[k];
        }
    }
    template <class Block>
    PMPP_HOST_DEVICE void end_chunk(Block& block, std::int64_t strip, std::int64_t chunk) {
      if constexpr (staged) {
        constexpr int lanes = simt::warp_size;
        block.sync_warp();
        std::int64_t i = strip * lanes * Rows;
        for (int owner = 0; owner < lanes; ++owner) {
          const std::int64_t j = chunk * lanes + block.lane() - owner;
          for (int k = 0; k < Rows; ++k, ++i)
            if (i < out.rows() && j >= 0 && j < out.cols()) out(i, j) = memory.cells[k][owner][block.lane()];
        }
        block.sync_warp();
      }
    }
  };

  /// For the block that is the last to end.
  template <class Block, class Wave>
  PMPP_HOST_DEVICE void finish(Block&, const Wave&) const {}
};

/// A visitor that keeps nothing and asks what each column of cells is.
template <class Out, int Rows>
struct plain_visitor {
  Out out;

  PMPP_HOST_DEVICE plain_visitor(const Out& o, no_staging&) : out(o) {}
  template <class Block, class T>
  PMPP_HOST_DEVICE void column(Block&, int, std::int64_t first, std::int64_t j, const T (&cells)[Rows], int count) {
    for (int k = 0; k < Rows; ++k)
      if (k < count && out.wants(first + k, j)) out.write(first + k, j, cells[k]);
  }
  template <class Block>
  PMPP_HOST_DEVICE void end_chunk(Block&, std::int64_t, std::int64_t) {}
};

template <class T>
struct last_row_output {
  template <int Rows>
  using staging = no_staging;
  template <int Rows>
  using visitor = plain_visitor<last_row_output, Rows>;

  T* out;
  std::int64_t row;  ///< the last one

  PMPP_HOST_DEVICE bool wants(std::int64_t i, std::int64_t) const { return i == row; }
  PMPP_HOST_DEVICE void write(std::int64_t, std::int64_t j, const T& cell) const { out[j] = cell; }

  template <class Block, class Wave>
  PMPP_HOST_DEVICE void finish(Block& block, const Wave& p) const {
    if (p.rows == 0)
      for (std::int64_t j = block.lane(); j < p.cols; j += simt::warp_size) out[j] = p.border(-1, j);
  }
};

template <class T>
struct last_column_output {
  template <int Rows>
  using staging = no_staging;
  template <int Rows>
  using visitor = plain_visitor<last_column_output, Rows>;

  T* out;
  std::int64_t col;

  PMPP_HOST_DEVICE bool wants(std::int64_t, std::int64_t j) const { return j == col; }
  PMPP_HOST_DEVICE void write(std::int64_t i, std::int64_t, const T& cell) const { out[i] = cell; }

  template <class Block, class Wave>
  PMPP_HOST_DEVICE void finish(Block& block, const Wave& p) const {
    if (p.cols == 0)
      for (std::int64_t i = block.lane(); i < p.rows; i += simt::warp_size) out[i] = p.border(i, -1);
  }
};

/// Told: what is written of the cell.
template <class T, class Out, class Told>
struct last_cell_output {
  template <int Rows>
  using staging = no_staging;
  template <int Rows>
  using visitor = plain_visitor<last_cell_output, Rows>;

  Out out;
  std::int64_t row, col;
  Told told;

  PMPP_HOST_DEVICE bool wants(std::int64_t i, std::int64_t j) const { return j == col && i == row; }
  PMPP_HOST_DEVICE void write(std::int64_t, std::int64_t, const T& cell) const {
    *out = static_cast<std::remove_cvref_t<decltype(*out)>>(told(cell));
  }

  template <class Block, class Wave>
  PMPP_HOST_DEVICE void finish(Block& block, const Wave& p) const {
    if (p.empty() && block.lane() == 0) write(row, col, p.border(row, col));
  }
};

/// The best of some cells, of which equals follow each other by column, then by row.
template <class T, class Comp>
struct best_so_far {
  best_cell<T> cell{{}, -1, -1};
  Comp comp;

  PMPP_HOST_DEVICE explicit best_so_far(const Comp& c) : comp(c) {}

  PMPP_HOST_DEVICE void take(const best_cell<T>& other) {
    if (other.row < 0) return;
    bool wins = cell.row < 0 || static_cast<bool>(comp(cell.value, other.value));
    if (!wins && !static_cast<bool>(comp(other.value, cell.value)))
      wins = other.col < cell.col || (other.col == cell.col && other.row < cell.row);
    if (wins) cell = other;
  }
};

template <class T, class Out, class Comp, class Told>
struct best_output {
  template <int Rows>
  using staging = no_staging;

  Out out;
  Comp comp;
  Told told;
  best_cell<T>* of_blocks;  ///< the best of each block, until the last one folds them

  template <int Rows>
  struct visitor {
    best_so_far<T, Comp> best;

    PMPP_HOST_DEVICE visitor(const best_output& o, no_staging&) : best(o.comp) {}

    template <class Block>
    PMPP_HOST_DEVICE void column(Block&, int, std::int64_t first, std::int64_t j, const T (&cells)[Rows], int count) {
      T most = cells[0];
      for (int k = 1; k < Rows; ++k)
        if (k < count && static_cast<bool>(best.comp(most, cells[k]))) most = cells[k];
      // Rarely true: where it is, `take` finds out the rest. Columns of a strip come in order, strips do not matter.
      if (best.cell.row < 0 || !static_cast<bool>(best.comp(most, best.cell.value)))
        for (int k = 0; k < Rows; ++k)
          if (k < count) best.take({cells[k], first + k, j});
    }
    template <class Block>
    PMPP_HOST_DEVICE void end_chunk(Block&, std::int64_t, std::int64_t) {}
  };

  /// The best of a warp's lanes, for all of them.
  template <class Block>
  PMPP_HOST_DEVICE static void fold(Block& block, best_so_far<T, Comp>& best) {
    for (int distance = simt::warp_size / 2; distance > 0; distance /= 2)
      best.take(block.shuffle_xor(best.cell, distance));
  }
  template <class Block, class Wave>
  PMPP_HOST_DEVICE void finish(Block& block, const Wave& p) const {
    best_so_far<T, Comp> best(comp);
    if (!p.empty())
      for (std::int64_t b = block.lane(); b < block.count(); b += simt::warp_size) best.take(of_blocks[b]);
    fold(block, best);
    if (p.empty()) best.cell.value = p.border(-1, -1);
    if (block.lane() == 0) *out = static_cast<std::remove_cvref_t<decltype(*out)>>(told(best.cell));
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
