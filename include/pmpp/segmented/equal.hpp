// SPDX-License-Identifier: Apache-2.0
//
// The kernel of segmented_reduce for segments of one length that are not long, as rows of a matrix (core/equal_segments.hpp).
//
//   1. A warp has some tiles of whole rows, which are adjacent elements: one tile is folded while the next one is on its way to shared
//      memory, whole words of 16 bytes wherever rows begin (block/staged_run.hpp). No barrier of the block. Blocks have few tiles, and
//      whichever multiprocessor is done gets the next block: not all of them are equally fast at memory.
//   2. Some neighbouring lanes, a power of two, fold a row: each a share of adjacent elements from the left, then the lanes by a tree.
//      The other lanes have the next rows, so that what a warp writes is adjacent too.
//
//      lanes         0   1   2   3 | 4   5   6   7 | 8 ...          rows of 16 elements, by 4 lanes: shares of 5
//      begin at      0   5  10  15 |16  21  26  31 |32 ...
//
//   3. A share is read by words of 16 bytes where rows are made of whole ones, wherever in a word the first row begins, and where
//      elements have one or two bytes; else element by element. The host takes as few lanes as leave no long shares, and shares
//      that meet in few of the banks of shared memory.
//
// Work n + segments log2(lanes); traffic: elements read, results written; one launch, no scratch. Operands stay in order, no identity
// is needed. What is combined with what depends on the length alone: the same bits on every run, and on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/block/load_anywhere.hpp>
#include <pmpp/block/load_store.hpp>
#include <pmpp/block/staged_run.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/equal_segments.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/segmented/tuning.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Who folds a row: 2^log_lanes lanes, of which each has `share` elements, the last ones fewer or none.
struct row_lanes {
  int log_lanes, share;
  bool words, aligned;  ///< reads words of 16 bytes; they begin at multiples of that in shared memory
};

template <class In, class Out, class Op, class A, segmented_tuning Tuning>
struct equal_reduce_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int lanes = simt::warp_size, threads = 128, warps = threads / lanes,
                       min_blocks = sizeof(A) <= 16 ? 6 : 3, stages = 2;
  static constexpr int tiles = 2;  ///< of a warp, where blocks have to wait for others
  static constexpr int known = 4;  ///< lengths up to this have code of their own, where rows are not whole words
  /// Elements of a tile, at most.
  static constexpr int element_bytes = block::staged_run<In, 1>::element_bytes,
                       most = max(1, 16 * Tuning.threads / max(1, element_bytes)), longest = min(1023, most);  // row
  using run = block::staged_run<In, most>;
  using R = row_type<Op, value_of<In>, A>;  ///< in which a row adds up
  using order = operand_order<Op, A>;

  using elements = decltype(run::at(std::declval<const In&>(), std::int64_t(0), nullptr));
  using anywhere = block::access_anywhere<elements>;
  static constexpr int items = max(1, block::access<elements>::items);
  /// Elements that a lane reads at once, 16 bytes of each array; 0: it reads them one by one.
  static constexpr int at_once = !anywhere::possible                                  ? 0
                                 : element_bytes == 16 && std::is_pointer_v<elements> ? 1
                                 : items > 1 && items* element_bytes <= 32            ? items
                                                                                      : 0;

  /// Rows of this length, up to so many in a tile, the first of which is element `begin`.
  static row_lanes lanes_of(const In& in, std::int64_t begin, int length, int rows) {
    const bool whole = at_once > 0 && length % max(1, at_once) == 0;
    if (length <= known && !whole) return {0, length, false, false};
    const bool words = whole || at_once >= 8;
    const int unit = words ? at_once : 1, units = ceil_div(length, unit), most = words ? 7 : 16;  // units of a lane
    // Rows of 4 k units would begin in few of the banks of shared memory; no more than two units meet in any where shares are odd.
    const int log_banks = whole ? 2 : words || element_bytes < 4 ? 0 : 4;
    int log = 0;
    while ((1 << log) < lanes &&
           (units > most << log || lanes >> log > rows || (log < log_banks && (units >> log) % 4 == 0)))
      ++log;
    const int share = ceil_div(units, 1 << log);
    return {log, (share > 2 ? share | 1 : share) * unit, words,
            whole && block::access<elements>::template lead<items>(
                         run::at(in, begin, reinterpret_cast<std::byte*>(16))) == 0};
  }

  struct shared {
    struct alignas(16) stage {
      std::byte room[max(16, run::bytes)];
    };
    stage of[warps][stages];
  };
  struct arguments {
    In in;
    std::int64_t begin;  ///< of the first row
    int length;          ///< of a row
    row_lanes by;
    int rows;  ///< of a tile
    item_count offset_count;
    Out out;
    Op op;
    A init;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t rows = a.offset_count.get() - 1, step = block.count() * warps * a.rows;
    auto& stage = memory.of[block.warp()];
    const auto load = [&](std::int64_t row, int to) {
      if (row < rows)
        run::load(block, a.in, a.begin + row * a.length, rows_of_tile(a, rows, row) * a.length,
                  a.begin + rows * a.length, stage[to].room);
      simt::copy_async_commit();
    };
    int s = 0;
    for (std::int64_t row = (block.index() * warps + block.warp()) * a.rows - step; row < rows;
         row += step, s = 1 - s) {
      load(row + step, 1 - s);
      simt::copy_async_wait<1>();
      block.sync_warp();
      if (row >= 0)  // else there is nothing yet
        fold_tile(block, a, run::at(a.in, a.begin + row * a.length, stage[s].room), row, rows_of_tile(a, rows, row));
      block.sync_warp();
    }
  }

private:
  PMPP_HOST_DEVICE static int rows_of_tile(const arguments& a, std::int64_t rows, std::int64_t row) {
    return static_cast<int>(min(std::int64_t(a.rows), rows - row));
  }

  template <class X>
  PMPP_HOST_DEVICE static R add(const arguments& a, const R& sum, const X& x) {
    return static_cast<R>(order::in_order(a.op)(sum, static_cast<R>(x)));
  }
  PMPP_HOST_DEVICE static value_of<Out> result(const arguments& a, const R& sum) {
    return static_cast<value_of<Out>>(static_cast<A>(a.op(a.init, static_cast<A>(sum))));
  }

  /// Elements [0, n) from the left; n > 0.
  PMPP_HOST_DEVICE static R fold(const arguments& a, const elements& from, int n) {
    R sum{};
    int i = 0;
    if constexpr (at_once > 0)
      if (a.by.words) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // there are few
#endif
        for (; i + at_once <= n; i += at_once) {
          const auto word =
              a.by.aligned ? anywhere::template load<at_once, 16>(from, i) : anywhere::template load<at_once>(from, i);
          for (int k = 0; k < at_once; ++k) {
            const auto value = block::access<elements>::value(from, word, k);
            sum = i + k == 0 ? static_cast<R>(value) : add(a, sum, value);
          }
        }
      }
    if (i == 0) sum = static_cast<R>(from[i++]);
    for (; i < n; ++i) sum = add(a, sum, from[i]);
    return sum;
  }

  /// The rows of a tile, the first of which is `first`.
  PMPP_HOST_DEVICE static void fold_tile(auto& block, const arguments& a, const elements& tile, std::int64_t first,
                                         int rows) {
    if (a.length <= known && !a.by.words) {
      for_each_constant<known>([&](auto before) {
        constexpr int length = decltype(before)::value + 1;
        if constexpr (at_once == 0 || length % max(1, at_once) != 0)
          if (a.length == length) fold_known<length>(block, a, tile, first, rows);
      });
      return;
    }
    const int side = 1 << a.by.log_lanes, lane = block.lane() & (side - 1), at_a_time = lanes >> a.by.log_lanes;
    const int place = lane * a.by.share, n = min(a.by.share, a.length - place);
    int row = block.lane() >> a.by.log_lanes;
    elements from = tile + (row * a.length + place);
    for (int done = 0; done < rows; done += at_a_time) {
      R sum{};
      if (row < rows && n > 0) sum = fold(a, from, n);
      for (int d = 1; d < side; d *= 2) {
        const R right = block.shuffle_down(sum, d);
        if (a.length > place + d * a.by.share) sum = add(a, sum, right);
      }
      if (row < rows && lane == 0) a.out[first + row] = result(a, sum);
      row += at_a_time;
      from += at_a_time * a.length;
    }
  }
  /// The same where the compiler knows the length: a row for each lane, and nothing else to be done for it.
  template <int Length>
  PMPP_HOST_DEVICE static void fold_known(auto& block, const arguments& a, const elements& tile, std::int64_t first,
                                          int rows) {
    const elements from = tile + block.lane() * Length;
    const std::int64_t place = first + block.lane();
#if defined(__CUDA_ARCH__)
#pragma unroll 2  // a tile has few more for a lane
#endif
    for (int row = 0; row < rows - block.lane(); row += lanes) {
      R sum = static_cast<R>(from[row * Length]);
      for (int i = 1; i < Length; ++i) sum = add(a, sum, from[row * Length + i]);
      a.out[place + row] = result(a, sum);
    }
  }
};

/// Segments of one length, of which a warp holds one or more. False, and nothing is done, for others, and where there are few elements.
template <segmented_tuning Tuning, class P, class In, class Offsets, class Out, class A, class Op>
bool segmented_reduce_equal(const P& where, const input<In>& in, const input<Offsets>& offsets, Out out, A init,
                            Op op) {
  if constexpr (std::is_same_v<Offsets, equal_offsets> && block::staged_run<In, 1>::possible) {
    using kernel = equal_reduce_kernel<In, Out, Op, A, Tuning>;
    const std::int64_t segments = offsets.count.bound - 1, length = offsets.first.f.length;
    if (length < 1 || length > kernel::longest || in.count.bound <= Tuning.few_to_reduce) return false;
    const int of_row = static_cast<int>(length), most_rows = kernel::most / of_row;
    const row_lanes by = kernel::lanes_of(in.first, offsets.first[0], of_row, most_rows);
    // As many rows a tile as all warps need to end at about the same time; all lanes have some at once.
    const int at_a_time = simt::warp_size >> by.log_lanes,
              full = most_rows < at_a_time ? most_rows : most_rows / at_a_time * at_a_time;
    const std::int64_t wave = std::int64_t(kernel::min_blocks) * machine_of(where).multiprocessors,
                       warps = wave * kernel::warps, rounds = ceil_div(segments, full * warps),
                       rows = min(std::int64_t(full),
                                  round_up(ceil_div(segments, rounds * warps), std::int64_t(at_a_time))),
                       of_block = rows * kernel::warps;
    pmpp::launch(where, min(ceil_div(segments, of_block), max(wave, ceil_div(segments, of_block * kernel::tiles))),
                 kernel{},
                 typename kernel::arguments{in.first, offsets.first[0], of_row, by, static_cast<int>(rows),
                                            offsets.count, out, op, init});
    return true;
  }
  return false;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
