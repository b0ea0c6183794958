// SPDX-License-Identifier: Apache-2.0
//
// The kernel of spmm.
//
//   1. Merge path, as in spmv: the walk over nonzeros and ends of rows, each end right after its row's last nonzero, is
//      cut into equal pieces, one for each warp. A search over the offsets gives the warp its nonzeros and its ends.
//   2. The warp takes columns and values tile by tile into shared memory. A row of B is read by as many lanes side by side
//      as it has vectors of 16 bytes (elements, where it cannot be read by vectors): a group. Groups that work on one row
//      are a team: one group each if many rows end in the tile, all groups of the warp if one does. A row that is much
//      longer than its neighbours gets the whole warp, and so does one that goes on in the next tile.
//   3. What the warps of a block have of one row is joined by one of them. What a block has of a row that began before it,
//      and of the row that is open after it, goes to memory; of the blocks that have a part of a row, the one that comes
//      last adds the parts up, in the order of the blocks. No block waits.
//
// The cut and the order of additions depend on the offsets and the number of multiprocessors alone: the same bits on
// every run. (Merge path: Merrill and Garland, Merge-based SpMV, 2016; Yang, Buluc and Owens, Design principles for
// sparse matrix multiplication on the GPU, 2018. PMPP ch. 14.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/spmv/cut.hpp>

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

/// Index: of the matrix; X, Y: the elements of B and C; A: what products add up in.
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
  int width;         ///< columns of B and C
  A* first;          ///< first[i * width + j]: what block i has of the row that began before it and ends in it
  A* last;           ///< the same of the row that is open after block i
  unsigned* joined;  ///< zero; how many blocks have left their part of the row that ends in block i and began before it
};

/// The walk over nonzeros and ends of rows, cut into pieces of `each` steps.
struct spmm_walk {
  std::int64_t origin, steps, each;

  spmm_walk() = default;
  template <class Arguments>
  PMPP_HOST_DEVICE spmm_walk(const Arguments& a, std::int64_t pieces, std::int64_t tile)
      : origin(static_cast<std::int64_t>(a.offsets[0])),
        steps(static_cast<std::int64_t>(a.offsets[a.rows]) - origin + a.rows),
        each(ceil_div(steps, pieces)) {
    // A short walk: a quarter of the pieces, as this many are under way at once; each no longer than that or a tile.
    each = max(each, min(tile, max(std::int64_t(2 * simt::warp_size), 4 * each)));
  }

  /// The step of nonzero `i`, or of the end after it, of row `row`.
  PMPP_HOST_DEVICE std::int64_t step(std::int64_t i, std::int64_t row) const { return i - origin + row; }
};

/// c <- alpha sum + beta c, c at V columns from `column` on; c is not read if beta is 0.
template <int V, class Arguments, class A>
PMPP_HOST_DEVICE void write_products(const Arguments& a, std::int64_t row, int column, const A (&sum)[V]) {
  using Y = std::remove_pointer_t<decltype(a.c)>;
  using vector = packed<Y, V>;
  vector* const to = reinterpret_cast<vector*>(a.c + row * a.c_row_stride + column * a.c_col_stride);
  vector result{};
  if (a.beta != A{}) result = *to;
  for (int v = 0; v < V; ++v) {
    A value = multiply(a.alpha, sum[v]);
    if (a.beta != A{}) value = multiply_add(value, a.beta, static_cast<A>(result.item[v]));
    result.item[v] = static_cast<Y>(value);
  }
  *to = result;
}

/// V: columns of B and C that a lane has, side by side in memory unless V is 1; width is a multiple.
template <class Values, class Index, class X, class Y, class A, int V, spmm_tuning Tuning>
struct spmm_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  using arguments = spmm_arguments<Values, Index, X, Y, A>;
  static constexpr bool has_values = std::is_pointer_v<Values>;  // a pattern has ones
  static constexpr int threads = Tuning.threads, lanes = simt::warp_size, warps = threads / lanes,
                       // A sum of 8 bytes takes two registers.
      min_blocks = sizeof(A) > 4 ? max(1, Tuning.min_blocks * 3 / 4) : Tuning.min_blocks,
                       item_bytes = int(sizeof(Index) + sizeof(A)),
                       items = max(1, Tuning.items * 16 / max(16, item_bytes)), tile_size = items * lanes;
  static constexpr std::int64_t whole = max(lanes, tile_size / 4);  ///< rows of no more nonzeros are not cut
  static constexpr int most_columns = V == 1 ? lanes : 64;          ///< of B

  /// One word in 33 stays unused, so that teams whose rows are as long as a power of two find different banks.
  PMPP_HOST_DEVICE static constexpr int place_of(int i) { return i + static_cast<int>(unsigned(i) / 32); }

  struct tile {
    Index column[tile_size + tile_size / 32];
    A value[has_values ? tile_size + tile_size / 32 : 1];
  };
  /// What a warp has of rows that are not its own alone.
  struct part {
    A first[most_columns];  ///< of the row that began before it and ends in it
    A last[most_columns];   ///< of the row that is open after it
    std::int64_t row;       ///< that of `first`, or -1
    std::int64_t begin;     ///< its first nonzero
    std::int64_t end;       ///< the nonzero after the piece
    std::int64_t open;      ///< the row of `last`
    bool ends;              ///< a row ends in the piece
    bool goes_on;           ///< the row of `last` has nonzeros in the piece or before it
  };
  /// A row that lies in several blocks.
  struct far_row {
    std::int64_t row, from, to;  ///< -1: there is none; the blocks where it begins and where it ends
    bool is_whole;               ///< this is the last one to leave its part
  };
  struct shared {
    tile tiles[warps];
    part parts[warps];
    spmm_walk walk;
    far_row far[2];  ///< that which ends in the block, that which goes on after it
    A sums[warps][lanes];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const spmm_walk w(a, block.count() * warps, tile_size);
    const std::int64_t begin = block.index() * warps * w.each, from = begin + block.warp() * w.each;
    if (begin >= w.steps) return;
    if (block.thread() == 0) memory.walk = w;  // registers are wanted for sums
    const std::int64_t to = min(w.steps, from + w.each);
    const walk_piece p = w.steps < 1 << 30
                             ? cut_walk<int>(block, a.offsets, a.rows, w, min(from, to), to, int(whole))
                             : cut_walk<std::int64_t>(block, a.offsets, a.rows, w, min(from, to), to, int(whole));
    multiply(block, memory.tiles[block.warp()], memory.parts[block.warp()], a, p);
    block.sync();
    if (block.warp() == 0) join_parts(block, memory, a);
    block.sync();
    for (const far_row& row : memory.far)
      if (row.is_whole) join_blocks(block, memory, a, row);
  }

private:
  /// What a lane is: its columns of B and C, and which of the groups of the warp it belongs to.
  struct role {
    int log_lanes;      ///< of a group
    int group, groups;  ///< of the warp
    int column;         ///< the first of the lane
    bool has_columns;   ///< some lanes have none
    const X* b;         ///< the lane's columns in the first row of B
  };

  /// Adds the products of the nonzeros from, from + step ... below `to` of the tile.
  PMPP_HOST_DEVICE static void add(const tile& t, const arguments& a, const role& me, int from, int to, int step,
                                   A (&sum)[V]) {
    constexpr int batch = Tuning.batch;
    using vector = packed<X, V>;
    for (int i = from; i < to; i += batch * step) {
      A value[batch];
      vector x[batch];
      for (int u = 0; u < batch; ++u) {  // those after the end read the last one
        const int at = place_of(min(i + u * step, to - 1));
        value[u] = has_values ? t.value[has_values ? at : 0] : A(1);
        x[u] = *reinterpret_cast<const vector*>(me.b + static_cast<std::int64_t>(t.column[at]) * a.b_row_stride);
      }
      for (int u = 0; u < batch; ++u)
        if (i + u * step < to)
          for (int v = 0; v < V; ++v) sum[v] = multiply_add(sum[v], value[u], static_cast<A>(x[u].item[v]));
    }
  }

  /// The sum over the 2^shift groups of a team; all of them get it.
  template <class Block>
  PMPP_HOST_DEVICE static void join(Block& block, const role& me, int shift, A (&sum)[V]) {
    for (int d = 0; d < shift; ++d)
      for (int v = 0; v < V; ++v) sum[v] += block.shuffle_xor(sum[v], 1 << (me.log_lanes + d));
  }

  /// Writes C at the rows that end in the piece and began in it; the rest is left in `mine`.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, tile& t, part& mine, const arguments& a, const walk_piece& p) {
    role me;
    me.log_lanes = ceil_log2(ceil_div(a.width, V));
    me.group = block.lane() >> me.log_lanes;
    me.groups = lanes >> me.log_lanes;
    me.column = (block.lane() & ((1 << me.log_lanes) - 1)) * V;
    me.has_columns = me.column < a.width;
    me.b = a.b + min(me.column, a.width - V) * a.b_col_stride;
    const int all = 5 - me.log_lanes;  // the shift of a team of all groups

    std::int64_t row = p.row;
    if (block.lane() == 0) {
      mine.row = p.began_before && row < p.end_row ? row : -1;
      mine.begin = p.row_begin;
      mine.end = p.end;
      mine.open = p.end_row;
      mine.ends = row < p.end_row;
      mine.goes_on = p.goes_on;
    }
    block.sync_warp();  // from here on `end` and `end_row` are read there: registers are wanted for sums
    bool is_open = p.began_before;
    A open[V]{};  // what the lane has of row `row`; not added up yet over the groups
    for (std::int64_t begin = p.begin;; begin += tile_size) {
      const int here = static_cast<int>(min(mine.end - begin, std::int64_t(tile_size)));
      load(block, t, a, begin, here);
      // The ends of 32 rows, as places in the tile; those that lie after it come last.
      const auto load_ends = [&] {
        if (row + block.lane() >= mine.open) return here + 1;
        const std::int64_t end = static_cast<std::int64_t>(a.offsets[row + block.lane() + 1]) - begin;
        return static_cast<int>(min(end, std::int64_t(here + 1)));
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
            if (row == mine.row)
              for (int v = 0; v < V; ++v) mine.first[me.column + v] = open[v];
            else
              detail::write_products(a, row, me.column, open);
          }
          for (int v = 0; v < V; ++v) open[v] = A{};
          is_open = false;
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
      if (mine.end - begin <= tile_size) break;
    }
    if (!mine.goes_on) return;
    join(block, me, all, open);
    if (me.group == 0 && me.has_columns)
      for (int v = 0; v < V; ++v) mine.last[me.column + v] = open[v];
  }

  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, tile& t, const arguments& a, std::int64_t begin, int count) {
    constexpr int at_once = min(items, 4);  // more take registers that are wanted for sums
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
      const int r = min(next + team, count - 1);
      const int from = block.shuffle(begin, r), to = block.shuffle(end, r);
      const bool is_mine = next + team < count && (is_long >> r & 1) == 0;
      A sum[V]{};
      if (is_mine) add(t, a, me, from + member, to, 1 << shift, sum);
      join(block, me, shift, sum);
      if (is_mine && member == 0 && me.has_columns) detail::write_products(a, row + r, me.column, sum);
    }
    for (unsigned left = is_long; left != 0; left &= left - 1) {
      const int r = simt::trailing_zeros(left);
      const int from = block.shuffle(begin, r), to = block.shuffle(end, r);
      A sum[V]{};
      add(t, a, me, from + me.group, to, me.groups, sum);
      join(block, me, 5 - me.log_lanes, sum);
      if (me.group == 0 && me.has_columns) detail::write_products(a, row + r, me.column, sum);
    }
  }

  /// Joins what the warps have of one row; what lies in several blocks goes to memory. One warp calls.
  template <class Block>
  PMPP_HOST_DEVICE static void join_parts(Block& block, shared& memory, const arguments& a) {
    const part& lanes_part = memory.parts[min(block.lane(), warps - 1)];
    if (!block.any(lanes_part.row >= 0 || lanes_part.goes_on)) {  // most often: few rows are long
      if (block.lane() < 2) memory.far[block.lane()].is_whole = false;
      return;
    }
    const spmm_walk w = memory.walk;
    const std::int64_t index = block.index(), before = index * warps * w.each;  // this many steps lie before the block
    far_row far[2] = {{-1, 0, 0, false}, {-1, 0, 0, false}};
    for (const part& p : memory.parts)
      if (p.row >= 0 && w.step(p.begin, p.row) < before) far[0].row = p.row;
    for (int column = block.lane(); column < a.width; column += lanes) {
      A open{};
      for (const part& p : memory.parts) {
        const A whole[1] = {open + p.first[column]};
        if (p.row >= 0 && p.row == far[0].row)
          a.first[index * a.width + column] = whole[0];
        else if (p.row >= 0)
          write_products(a, p.row, column, whole);
        if (p.ends) open = A{};
        if (p.goes_on) open += p.last[column];
      }
      a.last[index * a.width + column] = open;
    }
    block.sync_warp();
    if (block.lane() > 1) return;
    // Lane 0 has the row that ends here, lane 1 the one that goes on.
    far_row mine = far[0];
    mine.to = index;
    if (block.lane() == 1) {
      const part& last = memory.parts[warps - 1];
      mine.row = last.goes_on ? last.open : -1;
      if (mine.row >= 0)
        mine.to = w.step(static_cast<std::int64_t>(a.offsets[mine.row + 1]), mine.row) / (warps * w.each);
    }
    if (mine.row >= 0) {
      mine.from = w.step(static_cast<std::int64_t>(a.offsets[mine.row]), mine.row) / (warps * w.each);
      const unsigned others = simt::atomic_add<simt::order::acq_rel>(a.joined + mine.to, 1u);
      mine.is_whole = others == static_cast<unsigned>(mine.to - mine.from);
      if (mine.is_whole) simt::store(a.joined + mine.to, 0u);
    }
    memory.far[block.lane()] = mine;
  }

  /// Adds up what the blocks have of a row. Threads call together.
  template <class Block>
  PMPP_HOST_DEVICE static void join_blocks(Block& block, shared& memory, const arguments& a, const far_row& far) {
    for (int column = 0; column < a.width; column += lanes) {
      const int log_lanes = ceil_log2(min(lanes, a.width - column)), groups = lanes >> log_lanes;
      const int mine = column + (block.lane() & ((1 << log_lanes) - 1)), group = block.lane() >> log_lanes;
      A sum{};
      if (mine < a.width)
        for (std::int64_t i = far.from + block.warp() * groups + group; i < far.to; i += warps * groups)
          sum += a.last[i * a.width + mine];
      for (int d = 1 << log_lanes; d < lanes; d *= 2) sum += block.shuffle_xor(sum, d);
      block.sync();  // the reads of the last round
      memory.sums[block.warp()][block.lane()] = sum;
      block.sync();
      if (block.warp() > 0 || group > 0 || mine >= a.width) continue;
      A whole[1] = {a.first[far.to * a.width + mine]};
      for (const auto& part : memory.sums) whole[0] += part[block.lane()];
      detail::write_products(a, far.row, mine, whole);
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
