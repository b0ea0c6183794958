// SPDX-License-Identifier: Apache-2.0
//
// The kernel of segmented_reduce for segments of one length that are not long, as rows of a matrix (core/equal_segments.hpp).
//
//   1. Each warp goes by itself through tiles of whole rows, which are adjacent elements: one tile is folded while the next one is on
//      its way to shared memory, whole words of 16 bytes wherever rows begin (block/staged_run.hpp). No barrier of the block.
//   2. Some neighbouring lanes, a power of two, fold a row: each a share of adjacent elements from the left, then the lanes by a tree.
//      The other lanes have the next rows, so that what a warp writes is adjacent too.
//
//      lanes         0   1   2   3 | 4   5   6   7 | 8 ...          rows of 16 elements, by 4 lanes: shares of 5
//      begin at      0   5  10  15 |16  21  26  31 |32 ...
//
//      The host chooses lanes by the banks of shared memory: shares of an odd number of elements, or of few, meet in few of them.
//   3. Elements of one and two bytes are read by words of 16 bytes, shifted to where the share begins.
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
  int log_lanes = 0, share = 1;
};

/// Those that wait least for shared memory, where an element has `bytes` bytes there and a result so many words: a lane reads its share
/// word by word, and lanes that ask one bank for different words at a time wait for each other; then it sends results. Rows: of a
/// tile, at most, which are no fewer than those that a warp has at once.
inline row_lanes lanes_of_rows(int length, int bytes, int result_words, int rows) {
  constexpr int lanes = simt::warp_size, most = 16;  // elements of a lane, where there are more lanes
  constexpr float others = 16;  // clocks of a multiprocessor that the other 60 instructions of a warp take
  const int words = ceil_div(max(1, bytes), 4);
  row_lanes best;
  float least = 0;
  for (int log = 0; (1 << log) <= lanes; ++log) {
    int share = ceil_div(length, 1 << log);
    if ((1 << log) < lanes && (share > most || lanes >> log > rows)) continue;
    if (share > 2) share |= 1;
    unsigned banks = 0;
    int asking = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      const int place = (lane & ((1 << log) - 1)) * share;
      if (place >= length) continue;
      ++asking;
      banks |= 1u << (((lane >> log) * length + place) * bytes / 4 % lanes);
    }
    const float reading = float(share * words * asking) / float(simt::count_bits(banks)),
                clocks = (reading + float(log * result_words) + others) * float(1 << log);  // for each of the rows
    if (least == 0 || clocks < least) {
      least = clocks;
      best = {log, share};
    }
    if (share == 1) break;
  }
  return best;
}

template <class In, class Out, class Op, class A, segmented_tuning Tuning>
struct equal_reduce_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int lanes = simt::warp_size, threads = 128, warps = threads / lanes,
                       min_blocks = sizeof(A) <= 16 ? 6 : 3, stages = 2;
  static constexpr int known = 4;  ///< lengths up to this have code of their own
  /// Elements of a tile, at most.
  static constexpr int element_bytes = block::staged_run<In, 1>::element_bytes,
                       most = max(1, Tuning.equal_bytes / max(1, element_bytes));
  using run = block::staged_run<In, most>;
  using R = row_type<Op, value_of<In>, A>;  ///< in which a row adds up
  using order = operand_order<Op, A>;

  using elements = decltype(run::at(std::declval<const In&>(), std::int64_t(0), nullptr));
  using anywhere = block::access_anywhere<elements>;
  /// Elements that a lane reads at once: those of 16 bytes where one has one or two.
  static constexpr int at_once = [] {
    if constexpr (anywhere::possible && anywhere::pays)
      if (constexpr int items = block::access<elements>::items;
          items >= 8 && sizeof(block::raw_items<elements, items>) == 16)
        return items;
    return 1;
  }();

  static row_lanes lanes_of(int length, int rows) {
    if (length <= known) return {0, length};
    if constexpr (at_once > 1) {
      const int log =
          min(floor_log2(lanes), max(ceil_log2(ceil_div(length, at_once)), ceil_log2(ceil_div(lanes, rows))));
      return {log, ceil_div(length, 1 << log)};
    } else {
      return detail::lanes_of_rows(length, element_bytes, ceil_div(int(sizeof(R)), 4), rows);
    }
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
    if constexpr (at_once > 1) {
      for (int i = 0; i < n; i += at_once) {
        const auto x = anywhere::template load<at_once>(from, i);
        for (int k = 0; k < at_once; ++k)
          if (i + k < n) {
            const auto value = block::access<elements>::value(from, x, k);
            sum = i + k == 0 ? static_cast<R>(value) : add(a, sum, value);
          }
      }
    } else {
      sum = static_cast<R>(from[0]);
      for (int i = 1; i < n; ++i) sum = add(a, sum, from[i]);
    }
    return sum;
  }

  /// The rows of a tile, the first of which is `first`.
  PMPP_HOST_DEVICE static void fold_tile(auto& block, const arguments& a, const elements& tile, std::int64_t first,
                                         int rows) {
    if (a.length <= known) {
      for_each_constant<known>([&](auto before) {
        constexpr int length = decltype(before)::value + 1;
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
        if (place + d * a.by.share < a.length) sum = add(a, sum, right);
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
  if constexpr (std::is_same_v<Offsets, equal_offsets> && Tuning.equal_length > 0 &&
                block::staged_run<In, 1>::possible) {
    using kernel = equal_reduce_kernel<In, Out, Op, A, Tuning>;
    const std::int64_t segments = offsets.count.bound - 1, length = offsets.first.f.length;
    if (length < 1 || length > min(Tuning.equal_length, std::int64_t(kernel::most)) ||
        in.count.bound <= Tuning.few_to_reduce)
      return false;
    const int of_row = static_cast<int>(length), most_rows = kernel::most / of_row;
    const row_lanes by = kernel::lanes_of(of_row, most_rows);
    // As many rows a tile as all warps need to end at about the same time; all lanes have some at once.
    const int at_a_time = simt::warp_size >> by.log_lanes,
              full = most_rows < at_a_time ? most_rows : most_rows / at_a_time * at_a_time;
    const std::int64_t blocks = std::int64_t(kernel::min_blocks) * machine_of(where).multiprocessors,
                       warps = blocks * kernel::warps, rounds = ceil_div(segments, full * warps),
                       rows = min(std::int64_t(full),
                                  round_up(ceil_div(segments, rounds * warps), std::int64_t(at_a_time)));
    pmpp::launch(where, min(blocks, ceil_div(segments, rows * kernel::warps)), kernel{},
                 typename kernel::arguments{in.first, offsets.first[0], of_row, by, static_cast<int>(rows),
                                            offsets.count, out, op, init});
    return true;
  }
  return false;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
