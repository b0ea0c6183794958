// SPDX-License-Identifier: Apache-2.0
//
// The kernel of spmv.
//
//   1. Merge path: walk over nonzeros and ends of rows, each end right after its row's last nonzero. The walk is cut into
//      stretches, some for each block that the GPU has room for, shorter and shorter towards the end; blocks take one after
//      the other by ticket, so that none waits for a slower one. Each warp of a block has an equal piece of the stretch. A
//      search over the offsets (spmv/cut.hpp) gives it its nonzeros and its ends; from then on it works alone, without a
//      barrier. A shorter walk is cut into one piece for each warp of the grid, without tickets; rows of up to
//      96 nonzeros (64 of doubles) are not cut.
//   2. A warp goes through its nonzeros tile by tile, `items` a lane. Columns and values come in whole lines, past the
//      first cache, which is x's; the next tile's are on their way while this one's rows are added up.
//      - No row ends in the tile: each lane adds its products to a sum of its own. Long rows cost no more than that.
//      - Else the products go to shared memory, and 1, 2, 4 ... 32 lanes add up a row: the fewer rows end in the tile, the
//        more lanes for each. A row that is much longer than its neighbours gets the whole warp.
//   3. What a row has in several warps of a block is joined by one of them. Where a row goes on in the next stretch, a
//      block leaves its sum in a word; the block where such a row ends knows from the offsets where it began, and adds up
//      the words from there on. It does so one stretch later, when those before have most likely ended; they have
//      started in any case. In a short walk the warps that have a part of a row leave it in memory, and the one that
//      comes last adds the parts up.
//   4. Shared memory takes from the first cache: no more of it than the blocks need, and six doubles a lane, not eight.
//
// The cut and the order of additions depend on the offsets and the number of multiprocessors alone: the same bits on
// every run. (Merge path: Merrill and Garland, Merge-based SpMV, 2016. Shrinking
// stretches: Tzen and Ni, Trapezoid self-scheduling, 1993. Products staged in shared memory: Greathouse and
// Daga, CSR-Adaptive, 2014. PMPP ch. 14.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/tile_state.hpp>
#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/spmv/cut.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct spmv_tuning {
  int threads = 256;    ///< of a block
  int items = 8;        ///< nonzeros of a lane in a tile; fewer if one takes more than 16 bytes of registers
  int min_blocks = 4;   ///< of a multiprocessor
  int stretches = 4;    ///< that a block gets, on average; rounded down so that all are a power of two
  int serial = 16;      ///< nonzeros that a lane adds up one after the other; rows with more get the whole warp
  int short_tiles = 5;  ///< of a warp for each of those stretches: a walk of no more is not cut into them. H100, random
                        ///< matrices of 1 to 1.5 such tiles: 0.86 of the time; of 3 to 4: 0.95; of 5 to 6: 1.00
};

namespace detail {

/// y <- alpha A x + beta y. Index, X, Y: pointers or iterators, as Values.
template <class Values, class Index, class X, class Y, class A, spmv_tuning Tuning>
struct spmv_kernel {
  static constexpr int threads = Tuning.threads, lanes = simt::warp_size, warps = threads / lanes,
                       min_blocks = Tuning.min_blocks,
                       item_bytes = int(sizeof(Index) + sizeof(value_of<Values>) + max(sizeof(value_of<X>), sizeof(A))),
                       items = max(1, Tuning.items * 16 / max(16, item_bytes)), tile_size = items * lanes,
                       whole = max(1, tile_size / 2 - lanes);
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr bool leaves_first_cache = true;  ///< to x
  /// One word in this many stays unused, so that lanes whose rows are as long as a power of two find different banks.
  static constexpr int gap = sizeof(A) > 4 ? 16 : 32;

  struct arguments {
    std::int64_t rows;
    const Index* offsets;
    const Index* columns;
    Values values;
    X x;
    Y y;
    A alpha, beta;
    int log;            ///< of the stretches of a walk that is not short
    divisor pieces;     ///< of a short walk: warps of the grid
    unsigned* started;  ///< zero; counts the stretches that blocks have taken
    block::tile_state<A> carries;
    A* parts;          ///< of a short walk: what a warp has of the row that ends in it and began before it, and of the
                       ///< one that is open after it
    unsigned* joined;  ///< zero; how many warps have left their part of the row that ends in a warp
  };
  /// The walk over nonzeros and ends of rows, cut into 2^log stretches. Each takes one tile a warp and its part of the
  /// rest: the first one twice the average, the last one next to nothing. A short walk is cut into one piece for each
  /// warp of the grid.
  struct walk {
    std::int64_t origin, steps, rest;
    int log;

    walk() = default;
    PMPP_HOST_DEVICE explicit walk(const arguments& a)
        : origin(static_cast<std::int64_t>(a.offsets[0])),
          steps(static_cast<std::int64_t>(a.offsets[a.rows]) - origin + a.rows),
          rest(steps - (least << a.log)),
          log(a.log) {}
    static constexpr std::int64_t least = std::int64_t(warps) * tile_size;

    PMPP_HOST_DEVICE bool is_short() const { return steps <= Tuning.short_tiles * least << log; }
    /// A short walk: the number of a warp's piece, so that few lie on all multiprocessors.
    template <class Block>
    PMPP_HOST_DEVICE static std::int64_t piece_of(Block& block) {
      return block.warp() * block.count() + block.index();
    }
    PMPP_HOST_DEVICE std::int64_t stretches() const { return std::int64_t(1) << log; }
    /// The step at which stretch i begins: i * least + rest * (1 - (1 - i / 2^log)^2).
    PMPP_HOST_DEVICE std::int64_t begin(std::int64_t i) const {
      const std::int64_t part = i * ((std::int64_t(2) << log) - i), low = rest & ((std::int64_t(1) << 2 * log) - 1);
      return min(steps, i * least + (rest >> 2 * log) * part + (low * part >> 2 * log));
    }
    /// The stretch that a step belongs to: number `last` or one before it, most likely one of the last two.
    PMPP_HOST_DEVICE std::int64_t stretch_of(std::int64_t step, std::int64_t last) const {
      if (step >= begin(last)) return last;
      if (last > 0 && step >= begin(last - 1)) return last - 1;
      std::int64_t low = 0, high = last;
      while (high - low > 1) {
        const std::int64_t i = (low + high) / 2;
        if (begin(i) <= step)
          low = i;
        else
          high = i;
      }
      return low;
    }
    /// The step of nonzero `i`, or of the end after it, of row `row`.
    PMPP_HOST_DEVICE std::int64_t step(std::int64_t i, std::int64_t row) const { return i - origin + row; }
  };
  /// What a warp has of rows that are not its own alone.
  struct carry {
    A first, last;           ///< of a row that began before it and ends in it; of the row after its last end
    std::int64_t row;        ///< that of `first`, or -1
    std::int64_t row_begin;  ///< its first nonzero
    std::int64_t open;       ///< the row of `last`
    bool ends;               ///< a row ends in it
    bool goes_on;            ///< the row of `last` ends in a later one
  };
  /// A row that ends in a stretch and began in an earlier one.
  struct far_row {
    std::int64_t stretch, first;  ///< where it ends (-1: there is none) and where it begins
    std::int64_t row;
    A sum;  ///< what it has where it ends
  };
  struct shared {
    A products[warps][tile_size + tile_size / gap];
    carry carries[warps];
    walk cut;
    unsigned index, next;  ///< of the stretch, and of the one after
    far_row far[2];        ///< of this stretch, far[turn], and of the one before
    int turn;
    A sums[warps];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const walk all(a);
    const bool is_short = all.is_short();
    // Of a short walk: the steps of a piece. Of others: each block takes a ticket when there is no stretch left.
    const auto rounded = static_cast<std::uint32_t>(all.steps) + a.pieces.value() - 1;
    const int each = max(whole, static_cast<int>(a.pieces.quotient(rounded)));
    const auto last_ticket = static_cast<unsigned>(all.stretches() + block.count() - 1);
    if (!is_short) {
      if (block.thread() == 0) {
        memory.index = simt::take_ticket(a.started, last_ticket);
        memory.cut = all;
        memory.far[0].stretch = memory.far[1].stretch = -1;
        memory.turn = 0;
      }
      block.sync();
    }
    for (;;) {
      std::int64_t from, to;
      unsigned next = 0;
      if (is_short) {
        from = all.piece_of(block) * each;
        to = min(from + each, all.steps);
        if (from >= all.steps) return;
      } else {
        const walk& w = memory.cut;
        const std::int64_t index = memory.index;
        if (index >= w.stretches()) return;
        const std::int64_t begin = w.begin(index), end = w.begin(index + 1);
        const std::int64_t of_warp = ceil_div(end - begin, std::int64_t(warps));
        from = min(end, begin + block.warp() * of_warp);
        to = min(end, from + of_warp);
        if (block.thread() == 0) next = simt::take_ticket(a.started, last_ticket);
      }
      const walk_piece p = is_short ? cut_walk<int>(block, a.offsets, a.rows, all, from, to, whole)
                                    : cut_walk<std::int64_t>(block, a.offsets, a.rows, memory.cut, from, to, 0);
      if (!is_short && block.thread() == 0) memory.next = next;
      add_up(block, memory.products[block.warp()], memory.carries[block.warp()], a, p);
      if (is_short) {
        block.sync_warp();
        join_pieces(block, memory.carries[block.warp()], a, all, static_cast<std::uint32_t>(each));
        return;
      }
      block.sync();
      if (block.warp() == 0) join_carries(block, memory, a);
      if (block.thread() == 0) {
        memory.index = memory.next;
        memory.turn ^= 1;
      }
      block.sync();
      const bool is_last = memory.index >= memory.cut.stretches();
      look_back(block, memory, a,
                memory.far[memory.turn]);  // of the stretch before: those in front of it are done by now
      if (is_last) look_back(block, memory, a, memory.far[memory.turn ^ 1]);
    }
  }

private:
  /// A short walk: leaves what the warp has of rows that are not its own alone. Of the warps that have a part of a row,
  /// the one that comes last adds the parts up, in their order. No warp waits, not even for a barrier.
  template <class Block>
  PMPP_HOST_DEVICE static void join_pieces(Block& block, const carry& mine, const arguments& a, const walk& w,
                                           std::uint32_t each) {
    if (mine.row < 0 && !mine.goes_on) return;
    const std::int64_t index = w.piece_of(block);
    // Lane 0 has the row that ends here, lane 1 the one that goes on.
    std::int64_t row = -1;
    std::uint32_t first = 0, last = 0;  // pieces
    if (block.lane() == 0) row = mine.row;
    if (block.lane() == 1 && mine.goes_on) row = mine.open;
    bool is_last = false;
    if (row >= 0) {
      first = static_cast<std::uint32_t>(w.step(static_cast<std::int64_t>(a.offsets[row]), row)) / each;
      last = static_cast<std::uint32_t>(w.step(static_cast<std::int64_t>(a.offsets[row + 1]), row)) / each;
      a.parts[2 * index + block.lane()] = block.lane() == 0 ? mine.first : mine.last;
      is_last = simt::take_ticket<simt::order::acq_rel>(a.joined + last, last - first) == last - first;
    }
    for (unsigned left = block.ballot(is_last); left != 0; left &= left - 1) {
      block.sync_warp();  // the parts that one lane has acquired are read by all
      const int lane = simt::trailing_zeros(left);
      const std::uint32_t begin = block.shuffle(first, lane), end = block.shuffle(last, lane);
      A sum{};
      for (std::uint32_t i = begin + block.lane(); i < end; i += lanes) sum += a.parts[2 * i + 1];
      sum = warp_sum(block, sum);
      if (block.lane() != lane) continue;
      write(a, row, sum + a.parts[2 * end]);
    }
  }

  /// Columns and values of a tile, on their way.
  struct nonzeros {
    Index column[items];
    value_of<Values> value[items];
  };

  /// Starts to load the nonzeros [from, to) of the tile that begins at `tile`. Unless the tile is whole, a lane that has
  /// none for an item takes one of the others.
  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, std::int64_t tile, int from, int to,
                                    nonzeros& loaded) {
    const std::int64_t first = tile + (Whole ? block.lane() : 0);
    const auto values = a.values + first;
    const Index* const columns = a.columns + first;
    for (int k = 0; k < items; ++k) {
      const int i = Whole ? k * lanes : max(from, min(to - 1, k * lanes + block.lane()));
      loaded.column[k] = simt::load_once(columns + i);
      if constexpr (std::is_pointer_v<Values>)
        loaded.value[k] = simt::load_once(values + i);
      else
        loaded.value[k] = values[i];
    }
  }
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, std::int64_t tile, int from, int to,
                                    nonzeros& loaded) {
    if (from == 0 && to == tile_size)
      load<true>(block, a, tile, from, to, loaded);
    else if (from < to)
      load<false>(block, a, tile, from, to, loaded);
  }

  /// The products of the nonzeros [from, to), and zeros around them.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, const arguments& a, int from, int to, const nonzeros& loaded,
                                        A (&products)[items]) {
    value_of<X> x[items]{};
    if (from < to)
      for (int k = 0; k < items; ++k) x[k] = a.x[static_cast<std::int64_t>(loaded.column[k])];
    for (int k = 0; k < items; ++k)
      products[k] = pmpp::detail::multiply(static_cast<A>(loaded.value[k]), static_cast<A>(x[k]));
    if (from == 0 && to == tile_size) return;
    for (int k = 0; k < items; ++k) {
      const int i = k * lanes + block.lane();
      if (i < from || i >= to) products[k] = A{};
    }
  }

  PMPP_HOST_DEVICE static int place_of(int i) { return i + static_cast<int>(unsigned(i) / gap); }

  /// The sum over a warp; all lanes get it.
  template <class Block>
  PMPP_HOST_DEVICE static A warp_sum(Block& block, A sum, int width = lanes) {
    for (int d = width / 2; d > 0; d /= 2) sum += block.shuffle_xor(sum, d);
    return sum;
  }

  /// The sum of every step-th product of [from, to); two at a time, so that less is spent on counting.
  PMPP_HOST_DEVICE static A sum_steps(const A* products, int from, int to, int step) {
    A sum{};
    int i = from;
    for (; i + step < to; i += 2 * step) sum += products[place_of(i)] + products[place_of(i + step)];
    if (i < to) sum += products[place_of(i)];
    return sum;
  }

  /// Lane l < count gets the sum of products [begin, end); those of other lanes are empty. \pre 1 <= count
  template <class Block>
  PMPP_HOST_DEVICE static A sum_rows(Block& block, const A* products, int count, int begin, int end) {
    const int shift = simt::leading_zeros(unsigned(count) - 1) - (32 - 5);  // at least: 27 leading zeros
    const int width = 1 << shift;                                           // lanes of a row
    const unsigned long_rows = block.ballot(end - begin > Tuning.serial * width);
    A sum{};
    if (width == 1) {
      if ((long_rows >> block.lane() & 1) == 0) sum = sum_steps(products, begin, end, 1);
    } else {
      const int row = block.lane() >> shift;
      const int first = block.shuffle(begin, row) + (block.lane() & (width - 1)), last = block.shuffle(end, row);
      if ((long_rows >> row & 1) == 0) sum = sum_steps(products, first, last, width);
      sum = block.shuffle(warp_sum(block, sum, width), block.lane() << shift & (lanes - 1));
    }
    for (unsigned left = long_rows; left != 0; left &= left - 1) {
      const int row = simt::trailing_zeros(left);
      const int first = block.shuffle(begin, row) + block.lane();
      const A whole = warp_sum(block, sum_steps(products, first, block.shuffle(end, row), lanes));
      if (block.lane() == row) sum = whole;
    }
    return sum;
  }

  /// Writes y at the rows that end in the piece and began in it, and leaves the rest to others.
  template <class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, A* products, carry& rest, const arguments& a, const walk_piece& p) {
    if (block.lane() == 0) {
      rest.row = -1;
      rest.row_begin = p.row_begin;
      rest.open = p.end_row;
      rest.ends = p.row < p.end_row;
      rest.goes_on = p.goes_on;
    }
    bool is_cut = p.began_before, is_spread = false;
    std::int64_t row = p.row, tile = p.begin / lanes * lanes;
    int rows = static_cast<int>(p.end_row - row), nonzeros_left = static_cast<int>(p.end - tile);  // from here on
    int from = static_cast<int>(p.begin - tile), to = min(nonzeros_left, tile_size);
    A open{}, spread{};  // what the warp has of row `row`, but for what lanes have of it if is_spread
    nonzeros loaded{};
    load(block, a, tile, from, to, loaded);
    // The ends of 32 rows, and as places in the tile [tile, tile + here); those that do not lie in it come last.
    const auto load_ends = [&](int ahead) { return a.offsets[row + min(ahead + block.lane() + 1, rows)]; };
    const auto place = [&](Index end) {
      using word = std::conditional_t<sizeof(Index) <= 4, std::uint32_t, std::uint64_t>;  // it may wrap
      return static_cast<int>(min(static_cast<word>(end) - static_cast<word>(tile), word(tile_size + 1)));
    };
    const auto count_ended = [&](int end, int here) {
      return simt::count_bits(block.ballot(end <= here && block.lane() < rows));
    };
    Index ends = load_ends(0);
    for (;;) {
      A y[items];
      multiply(block, a, from, to, loaded, y);
      const int here = to;
      int end = place(ends), count = count_ended(end, here);
      if (count == 0) {
        for (int k = 0; k < items; ++k) spread += y[k];
        is_spread = true;
      } else {
        A* const mine = products + place_of(block.lane());
        for (int k = 0; k < items; ++k) mine[k * place_of(lanes)] = y[k];
      }
      to = min(nonzeros_left - tile_size, tile_size);
      load(block, a, tile + tile_size, 0, to, loaded);
      if (count > 0) {
        block.sync_warp();
        if (is_spread) {
          open += warp_sum(block, spread);
          spread = A{};
          is_spread = false;
        }
        for (;;) {  // `count` rows end; what lies after the last one is as good as a row
          if (count == lanes) ends = load_ends(lanes);
          if (end > here || block.lane() >= rows) end = here;
          const int before = block.shuffle_up(end, 1);
          const int begin = block.lane() == 0 ? from : before;
          if (count > 0) from = block.shuffle(end, count - 1);
          const int sums = count + (count < lanes && from < here ? 1 : 0);
          A sum{};
          if (sums > 0) sum = sum_rows(block, products, sums, begin, end);
          if (block.lane() == 0) sum += open;
          if (is_cut && count > 0 && block.lane() == 0) {
            rest.first = sum;
            rest.row = row;
          } else if (block.lane() < count) {
            write(a, row + block.lane(), sum);
          }
          open = sums > count ? block.shuffle(sum, count) : A{};
          if (count > 0) is_cut = false;
          row += count;
          rows -= count;
          if (count < lanes) break;
          end = place(ends);
          count = count_ended(end, here);
        }
        ends = load_ends(0);
        block.sync_warp();
      }
      if (nonzeros_left <= tile_size) break;
      nonzeros_left -= tile_size;
      tile += tile_size;
      from = 0;
    }
    if (is_spread) open += warp_sum(block, spread);
    if (block.lane() == 0) rest.last = open;
  }

  PMPP_HOST_DEVICE static void write(const arguments& a, std::int64_t row, A sum) {
    using T = value_of<Y>;
    if (a.beta == A{})
      a.y[row] = static_cast<T>(pmpp::detail::multiply(a.alpha, sum));
    else
      a.y[row] = static_cast<T>(multiply_add(pmpp::detail::multiply(a.alpha, sum), a.beta, static_cast<A>(a.y[row])));
  }

  /// What the warps up to `warp` have of the row that is open after it.
  PMPP_HOST_DEVICE static A sum_back(const shared& memory, int warp) {
    int w = warp;
    while (w > 0 && !memory.carries[w].ends) --w;
    A sum = memory.carries[w].last;
    while (++w <= warp) sum += memory.carries[w].last;
    return sum;
  }

  /// One warp writes the rows that lie in several warps of the block, and notes the one that began in an earlier stretch.
  template <class Block>
  PMPP_HOST_DEVICE static void join_carries(Block& block, shared& memory, const arguments& a) {
    const std::int64_t index = memory.index;
    far_row& far = memory.far[memory.turn];
    if (block.lane() == 0 && memory.carries[warps - 1].goes_on) a.carries.publish(index, sum_back(memory, warps - 1));
    const int warp = block.lane();  // a lane for each warp
    std::int64_t row = -1;
    if (warp < warps) row = memory.carries[warp].row;
    A sum{};
    std::int64_t first = index;  // the stretch where the row begins
    if (row >= 0) {
      sum = memory.carries[warp].first;
      if (warp > 0) sum = sum_back(memory, warp - 1) + sum;
      first = memory.cut.stretch_of(memory.cut.step(memory.carries[warp].row_begin, row), index);
    }
    if (row >= 0 && first == index) write(a, row, sum);
    if (first < index) far = {index, first, row, sum};  // in at most one lane
    const bool any_far = block.any(first < index);
    if (block.lane() == 0 && !any_far) far.stretch = -1;
    block.sync_warp();  // all have read what thread 0 writes next
  }

  /// Adds what earlier stretches have of a row, and writes it: one warp, or for a long row all.
  template <class Block>
  PMPP_HOST_DEVICE static void look_back(Block& block, shared& memory, const arguments& a, far_row& far) {
    const std::int64_t end = far.stretch, first = far.first;
    if (end < 0) return;
    const bool is_long = end - first > lanes;
    if (!is_long && block.warp() > 0) return;
    A sum{};
    for (std::int64_t i = first + block.thread(); i < end; i += is_long ? threads : lanes)
      sum += a.carries.take(block, i);
    sum = warp_sum(block, sum);
    if (is_long) {
      if (block.lane() == 0) memory.sums[block.warp()] = sum;
      block.sync();
      sum = A{};
      for (int w = 0; w < warps; ++w) sum += memory.sums[w];
    }
    if (block.thread() == 0) write(a, far.row, sum + far.sum);
    if (is_long) block.sync();  // the memory is free again
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
