// SPDX-License-Identifier: Apache-2.0
//
// The kernels of spmm.
//
//   1. Merge path, as in spmv: the walk over nonzeros and ends of rows, each end right behind its row's last nonzero, is
//      cut into equal pieces, one for each warp. A search over the offsets gives the warp its nonzeros and its ends.
//   2. The warp takes columns and values tile by tile into shared memory. A row of B is read by as many lanes side by side
//      as it has vectors of 16 bytes (elements, where it cannot be read by vectors): a group. Groups that work on one row
//      are a team: one group each if many rows end in the tile, all groups of the warp if one does. A row that is much
//      longer than its neighbours gets the whole warp, and so does one that goes on in the next tile.
//   3. What a warp has of a row that began before its piece, and of the row that is open behind it, goes to memory. A
//      second kernel adds up such rows in the order of the pieces.
//
// The cut and the order of additions depend on the offsets and the number of multiprocessors alone: the same bits on
// every run. (Merge path: Merrill and Garland, Merge-based SpMV, 2016; Yang, Buluc and Owens, Design principles for
// sparse matrix multiplication on the GPU, 2018. PMPP ch. 14.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct spmm_tuning {
  int threads = 256;   ///< of a block
  int items = 8;       ///< nonzeros of a lane in a tile; fewer if one takes more than 16 bytes of shared memory
  int min_blocks = 4;  ///< of a multiprocessor
  int pieces = 128;    ///< that the walk is cut into for each multiprocessor
  int vector = 16;     ///< bytes of a row of B that a lane reads at once
  int batch = 4;       ///< elements or vectors of B that a lane waits for at once
  int serial = 32;     ///< nonzeros of a row that a group adds up one after the other; longer rows get the whole warp
};

namespace detail {

/// V elements that are read and written at once.
template <class T, int V>
struct [[gnu::may_alias]] alignas(V == 1 ? alignof(T) : sizeof(T) * V) element_vector {
  T item[V];
};

/// What both kernels get. Index: of the matrix; X, Y: the elements of B and C; A: what products add up in.
template <class Values, class Index, class X, class Y, class A>
struct spmm_arguments {
  std::int64_t rows;
  const Index* offsets;
  const Index* columns;
  Values values;
  const X* b;
  std::int64_t b_row_stride, b_col_stride;
  Y* c;
  std::int64_t c_row_stride, c_col_stride;
  A alpha, beta;
  int width;           ///< columns of B and C
  std::int64_t most;   ///< pieces
  std::int64_t* ends;  ///< the row that began before piece i and ends in it, or -1
  A* first;            ///< first[i * width + j]: what piece i has of that row
  A* last;             ///< the same of the row that is open behind piece i
};

/// The walk over nonzeros and ends of rows, cut into pieces of `each` steps.
struct spmm_walk {
  std::int64_t origin, steps, each;

  template <class Arguments>
  PMPP_HOST_DEVICE spmm_walk(const Arguments& a, std::int64_t least)
      : origin(static_cast<std::int64_t>(a.offsets[0])),
        steps(static_cast<std::int64_t>(a.offsets[a.rows]) - origin + a.rows),
        each(larger(least, ceil_div(steps, a.most))) {}

  PMPP_HOST_DEVICE std::int64_t pieces() const { return ceil_div(steps, each); }
  /// The step of nonzero `i`, or of the end behind it, of row `row`.
  PMPP_HOST_DEVICE std::int64_t step(std::int64_t i, std::int64_t row) const { return i - origin + row; }
};

/// c <- alpha sum + beta c, c at V columns from `column` on; c is not read if beta is 0.
template <int V, class Arguments, class A>
PMPP_HOST_DEVICE void write_products(const Arguments& a, std::int64_t row, int column, const A (&sum)[V]) {
  using Y = std::remove_pointer_t<decltype(a.c)>;
  using vector = element_vector<Y, V>;
  vector* const to = reinterpret_cast<vector*>(a.c + row * a.c_row_stride + column * a.c_col_stride);
  vector result{};
  if (a.beta != A{}) result = *to;
  for (int v = 0; v < V; ++v) {
    A value = a.alpha * sum[v];
    if (a.beta != A{}) value += a.beta * static_cast<A>(result.item[v]);
    result.item[v] = static_cast<Y>(value);
  }
  *to = result;
}

/// V: columns of B and C that a lane has, side by side in memory unless V is 1; width is a multiple.
template <class Values, class Index, class X, class Y, class A, int V, spmm_tuning Tuning>
struct spmm_kernel {
  using arguments = spmm_arguments<Values, Index, X, Y, A>;
  static constexpr bool has_values = std::is_pointer_v<Values>;  // a pattern has ones
  static constexpr int threads = Tuning.threads, lanes = simt::warp_size, warps = threads / lanes,
                       // A sum of 8 bytes takes two registers.
      min_blocks = sizeof(A) > 4 ? larger(1, Tuning.min_blocks * 3 / 4) : Tuning.min_blocks,
                       item_bytes = int(sizeof(Index) + sizeof(A)),
                       items = larger(1, Tuning.items * 16 / larger(16, item_bytes)), tile_size = items * lanes;
  /// Steps of the shortest piece.
  static constexpr std::int64_t least = tile_size;

  /// One word in 33 stays unused, so that teams whose rows are as long as a power of two find different banks.
  PMPP_HOST_DEVICE static constexpr int place_of(int i) { return i + static_cast<int>(unsigned(i) / 32); }

  struct tile {
    Index column[tile_size + tile_size / 32];
    A value[has_values ? tile_size + tile_size / 32 : 1];
  };
  struct shared {
    tile tiles[warps];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const std::int64_t index = block.index() * warps + block.warp();
    const spmm_walk w(a, least);
    if (index >= w.pieces()) return;
    const piece p = find_piece(block, a, w, index * w.each, smaller(w.steps, (index + 1) * w.each));
    multiply(block, memory.tiles[block.warp()], a, index, p);
  }

private:
  /// The nonzeros [begin, end) and the ends of the rows [row, end_row) are a warp's.
  struct piece {
    std::int64_t begin, end, row, end_row;
  };
  /// What a lane is: its columns of B and C, and which of the groups of the warp it belongs to.
  struct role {
    int log_lanes;      ///< of a group
    int group, groups;  ///< of the warp
    int column;         ///< the first of the lane
    bool has_columns;   ///< some lanes have none
    const X* b;         ///< the lane's columns in the first row of B
  };

  /// Cuts the walk at two steps. Each round narrows both searches to a 32nd.
  template <class Block>
  PMPP_HOST_DEVICE static piece find_piece(Block& block, const arguments& a, const spmm_walk& w, std::int64_t from,
                                           std::int64_t to) {
    const std::int64_t step[2] = {from, to};
    std::int64_t low[2] = {0, 0}, high[2] = {a.rows, a.rows};  // so many rows end before the step
    while (low[0] < high[0] || low[1] < high[1]) {
      bool before[2];
      for (int k = 0; k < 2; ++k) {
        const std::int64_t row = low[k] + (block.lane() + 1) * ceil_div(high[k] - low[k], std::int64_t(lanes)) - 1;
        before[k] =
            row < high[k] && row >= low[k] && w.step(static_cast<std::int64_t>(a.offsets[row + 1]), row) < step[k];
      }
      for (int k = 0; k < 2; ++k) {
        const std::int64_t each = ceil_div(high[k] - low[k], std::int64_t(lanes));
        low[k] += simt::count_bits(block.ballot(before[k])) * each;
        high[k] = smaller(high[k], low[k] + larger(each, std::int64_t(1)) - 1);
      }
    }
    return {w.origin + from - low[0], w.origin + to - low[1], low[0], low[1]};
  }

  /// Adds the products of the nonzeros from, from + step ... below `to` of the tile.
  PMPP_HOST_DEVICE static void add(const tile& t, const arguments& a, const role& me, int from, int to, int step,
                                   A (&sum)[V]) {
    constexpr int batch = Tuning.batch;
    using vector = element_vector<X, V>;
    for (int i = from; i < to; i += batch * step) {
      A value[batch];
      vector x[batch];
      for (int u = 0; u < batch; ++u) {  // those behind the end read the last one
        const int at = place_of(smaller(i + u * step, to - 1));
        value[u] = has_values ? t.value[has_values ? at : 0] : A(1);
        x[u] = *reinterpret_cast<const vector*>(me.b + static_cast<std::int64_t>(t.column[at]) * a.b_row_stride);
      }
      for (int u = 0; u < batch; ++u)
        if (i + u * step < to)
          for (int v = 0; v < V; ++v) sum[v] += value[u] * static_cast<A>(x[u].item[v]);
    }
  }

  /// The sum over the 2^shift groups of a team; all of them get it.
  template <class Block>
  PMPP_HOST_DEVICE static void join(Block& block, const role& me, int shift, A (&sum)[V]) {
    for (int d = 0; d < shift; ++d)
      for (int v = 0; v < V; ++v) sum[v] += block.shuffle_xor(sum[v], 1 << (me.log_lanes + d));
  }

  /// Writes C at the rows that end in the piece and began in it, and leaves the rest to the second kernel.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, tile& t, const arguments& a, std::int64_t index, const piece& p) {
    role me;
    me.log_lanes = ceil_log2(ceil_div(a.width, V));
    me.group = block.lane() >> me.log_lanes;
    me.groups = lanes >> me.log_lanes;
    me.column = (block.lane() & ((1 << me.log_lanes) - 1)) * V;
    me.has_columns = me.column < a.width;
    me.b = a.b + smaller(me.column, a.width - V) * a.b_col_stride;
    const int all = 5 - me.log_lanes;  // the shift of a team of all groups

    std::int64_t row = p.row;
    const bool began_before = row < p.end_row && static_cast<std::int64_t>(a.offsets[row]) < p.begin;
    if (block.lane() == 0) a.ends[index] = began_before ? row : -1;
    bool is_cut = began_before, is_open = began_before;
    A open[V]{};  // what the lane has of row `row`; not added up yet over the groups
    for (std::int64_t begin = p.begin;; begin += tile_size) {
      const int here = static_cast<int>(smaller(p.end - begin, std::int64_t(tile_size)));
      load(block, t, a, begin, here);
      // The ends of 32 rows, as places in the tile; those that lie behind it come last.
      const auto load_ends = [&] {
        if (row + block.lane() >= p.end_row) return here + 1;
        const std::int64_t end = static_cast<std::int64_t>(a.offsets[row + block.lane() + 1]) - begin;
        return static_cast<int>(smaller(end, std::int64_t(here + 1)));
      };
      int end = load_ends(), from = 0;
      block.sync_warp();
      for (;;) {
        const int count = simt::count_bits(block.ballot(end <= here));  // rows that end here
        int begin_of_row = block.shuffle_up(end, 1);
        if (block.lane() == 0) begin_of_row = from;
        int done = 0;
        if (count > 0 && is_open) {  // the whole warp goes on with the open row
          add(t, a, me, from + me.group, block.shuffle(end, 0), me.groups, open);
          join(block, me, all, open);
          if (me.group == 0 && me.has_columns) {
            if (is_cut)
              for (int v = 0; v < V; ++v) a.first[index * a.width + me.column + v] = open[v];
            else
              write_products(a, row, me.column, open);
          }
          for (int v = 0; v < V; ++v) open[v] = A{};
          is_cut = is_open = false;
          done = 1;
        }
        if (done < count) multiply_rows(block, t, a, me, row, done, count, begin_of_row, end);
        if (count > 0) from = block.shuffle(end, count - 1);
        row += count;
        if (count < lanes) break;
        end = load_ends();
      }
      if (from < here) {
        add(t, a, me, from + me.group, here, me.groups, open);
        is_open = true;
      }
      block.sync_warp();
      if (p.end - begin <= tile_size) break;
    }
    join(block, me, all, open);
    if (me.group == 0 && me.has_columns)
      for (int v = 0; v < V; ++v) a.last[index * a.width + me.column + v] = open[v];
  }

  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, tile& t, const arguments& a, std::int64_t begin, int count) {
    constexpr int at_once = smaller(items, 4);  // more take registers that are wanted for sums
    for (int first = 0; first < items; first += at_once) {
      Index column[at_once]{};
      A value[at_once]{};
      for (int k = 0; k < at_once; ++k) {
        const int i = (first + k) * lanes + block.lane();
        if (first + k >= items || i >= count) continue;
        column[k] = simt::load_once(a.columns + begin + i);
        if constexpr (has_values) value[k] = static_cast<A>(simt::load_once(a.values + begin + i));
      }
      for (int k = 0; k < at_once; ++k) {
        const int i = (first + k) * lanes + block.lane();
        if (first + k >= items || i >= count) continue;
        t.column[place_of(i)] = column[k];
        if constexpr (has_values) t.value[place_of(i)] = value[k];
      }
    }
  }

  /// Rows row + [first, count), which lie in the tile; lane l knows where row l begins and ends.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply_rows(Block& block, const tile& t, const arguments& a, const role& me,
                                             std::int64_t row, int first, int count, int begin, int end) {
    int shift = 0;  // 2^shift groups are a team: fewer teams than there are rows, where that is possible
    while (me.groups >> shift > count - first) ++shift;
    const int team = me.group >> shift, teams = me.groups >> shift, member = me.group & ((1 << shift) - 1);
    const unsigned is_long =
        block.ballot(end - begin > Tuning.serial << shift && block.lane() >= first && block.lane() < count);
    for (int next = first; next < count; next += teams) {
      const int r = smaller(next + team, count - 1);
      const int from = block.shuffle(begin, r), to = block.shuffle(end, r);
      const bool is_mine = next + team < count && (is_long >> r & 1) == 0;
      A sum[V]{};
      if (is_mine) add(t, a, me, from + member, to, 1 << shift, sum);
      join(block, me, shift, sum);
      if (is_mine && member == 0 && me.has_columns) write_products(a, row + r, me.column, sum);
    }
    for (unsigned left = is_long; left != 0; left &= left - 1) {
      const int r = simt::trailing_zeros(left);
      const int from = block.shuffle(begin, r), to = block.shuffle(end, r);
      A sum[V]{};
      add(t, a, me, from + me.group, to, me.groups, sum);
      join(block, me, 5 - me.log_lanes, sum);
      if (me.group == 0 && me.has_columns) write_products(a, row + r, me.column, sum);
    }
  }
};

/// Adds up the rows that lie in several pieces, a warp for each, or for a long row a block. Least: steps of the shortest
/// piece of the first kernel.
template <class Arguments, class A, int Threads, std::int64_t Least>
struct spmm_join_kernel {
  static constexpr int threads = Threads, lanes = simt::warp_size, warps = threads / lanes;

  struct shared {
    std::int64_t row[warps], from[warps];
    A sum[warps][lanes];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const Arguments& a) const {
    const spmm_walk w(a, Least);
    const std::int64_t first_index = block.index() * warps, index = first_index + block.warp();
    if (first_index >= w.pieces()) return;
    const std::int64_t row = index < w.pieces() ? a.ends[index] : -1;
    const std::int64_t from =
        row < 0 ? index : w.step(static_cast<std::int64_t>(a.offsets[row]), row) / w.each;  // the piece it begins in
    const bool is_long = index - from > lanes;
    if (block.lane() == 0) {
      memory.row[block.warp()] = is_long ? row : -1;
      memory.from[block.warp()] = from;
    }
    for (int column = 0; row >= 0 && !is_long && column < a.width; column += lanes)
      finish(block, a, index, row, column, sum_of(block, a, column, from, index, 0, 1));
    block.sync();
    for (int k = 0; k < warps; ++k) {
      if (memory.row[k] < 0) continue;
      for (int column = 0; column < a.width; column += lanes) {
        const A part = sum_of(block, a, column, memory.from[k], first_index + k, block.warp(), warps);
        memory.sum[block.warp()][block.lane()] = part;
        block.sync();
        A sum{};
        for (int i = 0; i < warps; ++i) sum += memory.sum[i][block.lane()];
        if (block.warp() == 0) finish(block, a, first_index + k, memory.row[k], column, sum);
        block.sync();
      }
    }
  }

private:
  /// Lane l gets the sum of what the pieces [from, to) have in column `column` + l; every parts-th of them.
  template <class Block>
  PMPP_HOST_DEVICE static A sum_of(Block& block, const Arguments& a, int column, std::int64_t from, std::int64_t to,
                                   int part, int parts) {
    const int log_lanes = ceil_log2(smaller(lanes, a.width - column)), groups = lanes >> log_lanes;
    const int mine = column + (block.lane() & ((1 << log_lanes) - 1)), group = block.lane() >> log_lanes;
    A sum{};
    if (mine < a.width)
      for (std::int64_t i = from + part * groups + group; i < to; i += parts * groups)
        sum += a.last[i * a.width + mine];
    for (int d = 1 << log_lanes; d < lanes; d *= 2) sum += block.shuffle_xor(sum, d);
    return sum;
  }

  template <class Block>
  PMPP_HOST_DEVICE static void finish(Block& block, const Arguments& a, std::int64_t index, std::int64_t row,
                                      int column, const A& sum) {
    const int mine = column + block.lane();
    if (mine >= a.width) return;
    const A whole[1] = {sum + a.first[index * a.width + mine]};
    write_products(a, row, mine, whole);
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
