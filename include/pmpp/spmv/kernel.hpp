// SPDX-License-Identifier: Apache-2.0
//
// The kernel of spmv.
//
//   1. Merge path: walk over nonzeros and ends of rows, each end right behind its row's last nonzero. The walk is cut into
//      as many equal pieces as there are warps, so that work is even whatever the rows are. A search over the offsets
//      gives a warp its nonzeros and its ends; from then on it works alone, without a barrier.
//   2. A warp goes through its nonzeros tile by tile, `items` a lane. Columns and values come in whole lines, past the
//      first cache, which is x's; the next tile's are on their way while this one's elements of x are fetched.
//      - No row ends in the tile: each lane adds its products to a sum of its own. Long rows cost no more than that.
//      - Else the products go to shared memory, and 1, 2, 4 ... 32 lanes add up a row: the fewer rows end in the tile, the
//        more lanes for each. A row that is much longer than its neighbours gets the whole warp.
//   3. What a row has in several pieces is joined in their order: by one thread for the warps of a block, by the block
//      that started last for the blocks.
//
// The cut and the order of additions depend on the offsets and the number of multiprocessors alone: the same bits on
// every run. (Merge path: Merrill and Garland, Merge-based SpMV, 2016. Products staged in shared memory: Greathouse and
// Daga, CSR-Adaptive, 2014. PMPP ch. 14.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/tile_state.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/segmented/reduce.hpp>
#include <pmpp/segmented/tile.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct spmv_tuning {
  int threads = 256;   ///< of a block
  int items = 8;       ///< nonzeros of a lane in a tile
  int min_blocks = 4;  ///< of a multiprocessor
  int serial = 16;     ///< nonzeros that a lane adds up one after the other; rows with more get the whole warp
};

namespace detail {

/// y <- alpha A x + beta y. Index, X, Y: pointers or iterators, as Values.
template <class Values, class Index, class X, class Y, class A, spmv_tuning Tuning>
struct spmv_kernel {
  static constexpr int threads = Tuning.threads, lanes = simt::warp_size, warps = threads / lanes,
                       min_blocks = Tuning.min_blocks, items = Tuning.items, tile_size = items * lanes;
  /// One word in so many stays unused, so that lanes whose rows are as long as a power of two find different banks.
  static constexpr int gap = sizeof(A) > 4 ? 16 : 32;
  using carry = segment_carry<A>;
  using join = join_parts<A, plus>;

  struct shared {
    A products[warps][tile_size + tile_size / gap];
    carry carries[warps];
    parts_memory<A> parts;
    bool started_last;
  };
  struct arguments {
    std::int64_t rows, cols;
    const Index* offsets;
    const Index* columns;
    Values values;
    X x;
    Y y;
    A alpha, beta;
    unsigned* started;  ///< zero; counts the blocks that have started
    block::tile_state<carry> carries;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const auto origin = static_cast<std::int64_t>(a.offsets[0]);
    const std::int64_t steps = static_cast<std::int64_t>(a.offsets[a.rows]) - origin + a.rows;
    const std::int64_t each =
        larger(std::int64_t(tile_size), ceil_div(steps, block.count() * warps));  // steps of a warp
    const auto blocks = static_cast<int>(ceil_div(steps, each * warps));          // that find work
    if (block.index() >= blocks) return;
    unsigned ticket = 0;
    if (block.thread() == 0 && blocks > 1) ticket = simt::atomic_add(a.started, 1u);

    const std::int64_t first = (block.index() * warps + block.warp()) * each;
    const carry c = add_up(block, memory.products[block.warp()], a,
                             find_piece(block, a, origin, smaller(steps, first), smaller(steps, first + each)));
    if (block.lane() == 0) memory.carries[block.warp()] = c;
    if (block.thread() == 0) memory.started_last = ticket == unsigned(blocks) - 1;
    block.sync();
    if (block.thread() == 0) join_warps(memory, a, block.index(), blocks);
    if (blocks > 1 && memory.started_last) join_blocks(block, memory, a, blocks);
  }

private:
  /// The nonzeros [begin, end) and the ends of the rows [row, end_row) are a warp's.
  struct piece {
    std::int64_t begin, end, row, end_row;
    bool goes_on;  ///< row `row` has nonzeros in front of `begin`
  };

  /// Cuts the walk at the steps `from` and `to`. Half of the warp looks for either end; each round narrows the search to
  /// a sixteenth.
  template <class Block>
  PMPP_HOST_DEVICE static piece find_piece(Block& block, const arguments& a, std::int64_t origin, std::int64_t from,
                                           std::int64_t to) {
    constexpr int half = lanes / 2;
    const int part = block.lane() / half;
    const std::int64_t step = part == 0 ? from : to;
    std::int64_t low = 0, high = a.rows;  // how many rows end on the first `step` steps
    while (block.any(low < high)) {
      const std::int64_t each = larger(std::int64_t(1), ceil_div(high - low, std::int64_t(half)));
      const std::int64_t s = low + (block.lane() % half + 1) * each - 1;
      const bool before = s < high && static_cast<std::int64_t>(a.offsets[s + 1]) - origin + s + 1 <= step;
      const int count = simt::count_bits(block.ballot(before) >> (part * half) & 0xffffu);
      low = smaller(high, low + count * each);
      high = smaller(high, low + each - 1);
    }
    const std::int64_t begin = origin + step - low;
    const piece p{block.shuffle(begin, 0), block.shuffle(begin, half), block.shuffle(low, 0), block.shuffle(low, half),
                  false};
    const bool goes_on = p.row < a.rows && static_cast<std::int64_t>(a.offsets[p.row]) < p.begin;
    return {p.begin, p.end, p.row, p.end_row, goes_on};
  }

  /// Columns and values of a tile, on their way.
  struct nonzeros {
    Index column[items];
    value_of<Values> value[items];
  };

  /// The lane's item k in the tile; one of the nonzeros [from, to) instead if it is none of them.
  template <class Block>
  PMPP_HOST_DEVICE static int item(Block& block, int k, int from, int to) {
    return larger(from, smaller(to - 1, k * lanes + block.lane()));
  }

  /// Starts to load the nonzeros [from, to) of the tile that begins at `tile`.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, std::int64_t tile, int from, int to,
                                    nonzeros& loaded) {
    if (from >= to) return;
    for (int k = 0; k < items; ++k) {
      const std::int64_t i = tile + item(block, k, from, to);
      loaded.column[k] = simt::load_once(a.columns + i);
      if constexpr (std::is_pointer_v<Values>)
        loaded.value[k] = simt::load_once(a.values + i);
      else
        loaded.value[k] = a.values[i];
    }
  }

  /// The products of the nonzeros [from, to), and zeros around them.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, const arguments& a, int from, int to, const nonzeros& loaded,
                                        A (&products)[items]) {
    value_of<X> x[items]{};
    if (from < to)
      for (int k = 0; k < items; ++k) {
        const auto column = static_cast<std::int64_t>(loaded.column[k]);
        check_index(column, a.cols, "spmv: column");
        x[k] = a.x[column];
      }
    for (int k = 0; k < items; ++k) {
      const int i = k * lanes + block.lane();
      products[k] = A{};
      if (i >= from && i < to) products[k] = static_cast<A>(loaded.value[k]) * static_cast<A>(x[k]);
    }
  }

  PMPP_HOST_DEVICE static int place_of(int i) { return i + static_cast<int>(unsigned(i) / gap); }

  /// A lane's share of the sum of products [from, to).
  template <class Block>
  PMPP_HOST_DEVICE static A share_of(Block& block, const A* products, int from, int to) {
    A sum{};
    for (int i = from + block.lane(); i < to; i += lanes) sum += products[place_of(i)];
    return sum;
  }
  /// The sum over a warp; all lanes get it.
  template <class Block>
  PMPP_HOST_DEVICE static A warp_sum(Block& block, A sum, int width = lanes) {
    for (int d = width / 2; d > 0; d /= 2) sum += block.shuffle_xor(sum, d);
    return sum;
  }

  /// Lane l < count gets the sum of products [begin, end).
  template <class Block>
  PMPP_HOST_DEVICE static A sum_rows(Block& block, const A* products, int count, int begin, int end) {
    const int shift = simt::leading_zeros(unsigned(count) - 1) - (32 - 5);  // at least: 27 leading zeros
    const int width = 1 << shift;                                           // lanes of a row
    const unsigned long_rows = block.ballot(block.lane() < count && end - begin > Tuning.serial * width);
    A sum{};
    if (width == 1) {
      if (block.lane() < count && (long_rows >> block.lane() & 1) == 0)
        for (int i = begin; i < end; ++i) sum += products[place_of(i)];
    } else {
      const int row = block.lane() >> shift;
      const int first = block.shuffle(begin, row) + (block.lane() & (width - 1)), last = block.shuffle(end, row);
      if (row < count && (long_rows >> row & 1) == 0)
        for (int i = first; i < last; i += width) sum += products[place_of(i)];
      sum = block.shuffle(warp_sum(block, sum, width), block.lane() << shift & (lanes - 1));
    }
    for (unsigned left = long_rows; left != 0; left &= left - 1) {
      const int row = simt::trailing_zeros(left);
      const A whole = warp_sum(block, share_of(block, products, block.shuffle(begin, row), block.shuffle(end, row)));
      if (block.lane() == row) sum = whole;
    }
    return sum;
  }

  /// Writes y at the rows that end in the piece and began in it, and returns the rest.
  template <class Block>
  PMPP_HOST_DEVICE static carry add_up(Block& block, A* products, const arguments& a, const piece& p) {
    const auto load_ends = [&](std::int64_t row) {  // of 32 rows
      return a.offsets[smaller(row + block.lane() + 1, a.rows)];
    };
    carry c{{}, {}, -1};
    std::int64_t row = p.row, tile = p.begin / tile_size * tile_size;
    int from = static_cast<int>(p.begin - tile), to = static_cast<int>(smaller(p.end - tile, std::int64_t(tile_size)));
    A open{};  // what the lane has of row `row`
    nonzeros loaded{};
    load(block, a, tile, from, to, loaded);
    Index ends = load_ends(row);
    for (;;) {
      A y[items];
      multiply(block, a, from, to, loaded, y);
      const int here = to;
      const std::int64_t next = tile + tile_size;
      const bool is_last = next >= p.end;
      to = static_cast<int>(smaller(p.end - next, std::int64_t(tile_size)));
      load(block, a, next, 0, to, loaded);

      // The ends of 32 rows as places in the tile; those that do not lie in it come last.
      const auto place = [&](Index end) {
        return static_cast<int>(smaller(static_cast<std::int64_t>(end) - tile, std::int64_t(tile_size) + 1));
      };
      const auto count_ended = [&](int end) {
        return simt::count_bits(block.ballot(end <= here && row + block.lane() < p.end_row));
      };
      int end = place(ends), count = count_ended(end);
      if (count == 0) {
        for (int k = 0; k < items; ++k) open += y[k];
      } else {
        for (int k = 0; k < items; ++k) products[place_of(k * lanes + block.lane())] = y[k];
        block.sync_warp();
        bool is_open = true;  // the first row may have begun in an earlier tile
        while (count > 0) {
          const Index next_ends = load_ends(row + lanes);
          const int before = block.shuffle_up(end, 1);
          int begin = block.lane() == 0 ? from : before;
          A whole{};
          if (is_open) {
            whole = warp_sum(block, open + share_of(block, products, from, block.shuffle(end, 0)));
            if (block.lane() == 0) begin = end;
          }
          A sum = sum_rows(block, products, count, begin, end);
          if (is_open && block.lane() == 0) sum = whole;
          if (is_open && row == p.row && p.goes_on) {
            c.first = {block.shuffle(sum, 0), 0, true};
            c.segment = row;
            if (block.lane() > 0 && block.lane() < count) write(a, row + block.lane(), sum);
          } else if (block.lane() < count) {
            write(a, row + block.lane(), sum);
          }
          is_open = false;
          from = block.shuffle(end, count - 1);
          row += count;
          if (count < lanes) break;
          ends = next_ends;
          end = place(ends);
          count = count_ended(end);
        }
        open = share_of(block, products, from, here);
        ends = load_ends(row);
        block.sync_warp();
      }
      if (is_last) break;
      tile = next;
      from = 0;
    }
    c.last = {warp_sum(block, open), p.row < p.end_row ? 1u : 0u, true};
    return c;
  }

  PMPP_HOST_DEVICE static void write(const arguments& a, std::int64_t row, A sum) {
    using T = value_of<Y>;
    if (a.beta == A{})
      a.y[row] = static_cast<T>(a.alpha * sum);
    else
      a.y[row] = static_cast<T>(a.alpha * sum + a.beta * static_cast<A>(a.y[row]));
  }

  /// One thread joins what the warps of a block have left.
  PMPP_HOST_DEVICE static void join_warps(shared& memory, const arguments& a, std::int64_t index, int blocks) {
    carry all{{}, {}, -1};
    for (int w = 0; w < warps; ++w) {
      const carry& c = memory.carries[w];
      if (c.segment >= 0) {
        const part<A> sum = join{}(all.last, c.first);
        if (all.last.heads == 0 && blocks > 1) {
          all.first = sum;
          all.segment = c.segment;
        } else {
          write(a, c.segment, sum.value);
        }
      }
      all.last = join{}(all.last, c.last);
    }
    if (blocks > 1) a.carries.publish(index, all);
  }

  /// The block that started last joins what the blocks have left, in their order.
  template <class Block>
  PMPP_HOST_DEVICE static void join_blocks(Block& block, shared& memory, const arguments& a, int blocks) {
    const int each = ceil_div(blocks, threads), first = smaller(blocks, block.thread() * each);
    const int end = smaller(blocks, first + each);
    if (block.thread() == 0) simt::store(a.started, 0u);  // for the next launch
    part<A> own{};
    for (int i = first; i < end; ++i) {
      carry c;
      while (!a.carries.peek(i, c)) block.spin();
      own = join{}(own, c.last);
    }
    part<A> before = join_before<false>(block, memory.parts, own, part<A>{}, join{});
    for (int i = first; i < end; ++i) {
      const carry c = a.carries.take(block, i);
      if (c.segment >= 0) write(a, c.segment, join{}(before, c.first).value);
      before = join{}(before, c.last);
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
