// SPDX-License-Identifier: Apache-2.0
//
// The kernel of segmented_reduce for short inputs, where latency counts, and for long segments.
//
//   1. Some threads fold one segment each together, as many as suit the average length: two loads that wait for each
//      other, and a tree. What is longer than the average is left to the whole warp, or the block. All but the nearest
//      neighbours go to different blocks, so that long ones side by side do little harm. Whole warps load neighbours: vectors of
//      narrow elements and of values with their index, rows where the order of operands matters, which they fold by one tree
//      (block/reduce.hpp).
//   2. Who finds a segment longer than a chunk, or a few where chunks are short, leaves it. The elements are also cut into
//      chunks, one a block. Meanwhile another warp of the block searches for the segment that goes on into its chunk. If that is
//      one that was left, the block folds what the chunk has of it, by vectors where the order is free, together with its beginning
//      if that lies in the chunk before. The last block to do so for a segment joins its parts in order.
//
// No block folds more than three times the longest that it folds alone, whatever the lengths are; none waits for another. Work n + segments + searches;
// one launch. What is combined with what depends on lengths, places and the number of multiprocessors alone: the same bits on
// every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/reduce.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/equal_segments.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/segmented/few.hpp>
#include <pmpp/segmented/tuning.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Folders: threads of a block that fold. Items: elements of a vector, by which blocks load chunks, and some types whatever they load
/// together.
template <class In, class Offsets, class Out, class Op, class A, segmented_tuning Tuning, int Folders, int Items>
struct direct_reduce_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int lanes = simt::warp_size, folders = min(Tuning.threads, Folders), threads = folders + lanes,
                       min_blocks =
                           min((operand_order<Op, A>::any || sizeof(A) < 16 ? 1024 : 768) / Folders, 2048 / threads);
  /// Elements that a thread loads at a time.
  static constexpr int batch = max(1, min(16, 64 / int(max(sizeof(A), sizeof(value_of<In>)))));
  /// Where single elements would be too few bytes on their way: narrow ones, and values with their index.
  static constexpr bool always_vectors = Items > 1 && (sizeof(value_of<In>) < 4 || Items * sizeof(value_of<In>) > 16);
  /// And at most where whole warps load: vectors are on their way as they lie in memory, whatever elements are made of them.
  static constexpr int vectors_at_once = always_vectors ? 4 : 8,
                       in_flight = always_vectors ? max(batch, min(16, vectors_at_once*Items)) : batch;
  static constexpr int rows = 1 << floor_log2(min(batch, 8)),  ///< that a warp folds at a time where order matters,
      rows_of_block = min(8, 2 * rows);                        ///< and of what a block folds
  using order = operand_order<Op, A>;
  static constexpr bool any_order = order::any,
                        fills_up =  ///< a neutral value may stand where there is no element
                        any_order && std::is_same_v<decltype(order::in_order(std::declval<const Op&>())), const Op&>;
  static_assert(Items == 1 || any_order);

  using segment = numbered_segment;
  struct shared {
    block::reduce_memory<A> reduced;
    segment crossing;                            ///< the one that goes on into the chunk
    alignas(16) unsigned left[threads / lanes];  ///< of a warp: lanes that leave a segment to the whole block
    bool last;
  };
  /// Block b has task b, segments for all its threads, and chunk b.
  struct plan {
    std::int64_t n, segments, chunks = 0, tasks = 0;
    std::int64_t left_from = 0;  ///< elements of a segment that a warp leaves to the block
    int chunk_bits = 0;
    std::int64_t alone = 0;  ///< elements at most of a segment that no other block helps with
    int each = 1;            ///< threads that a segment gets: a part of a warp, or all
    int each_bits = 0;       ///< its logarithm: divisions take long
    int side_bits = 0;       ///< groups of threads that get neighbours, 2^so many
    int multiprocessors;

    /// Chunks of about 2 sqrt(n): a block folds one in the time in which hundreds of blocks fold all. But where there are few, or
    /// segments take a block each, it had better wait for a few loads more than for other blocks. Where order matters chunks take
    /// long: if the machine held nearly all at once, the rest would take as long again; then there are several times as many.
    PMPP_HOST_DEVICE plan(std::int64_t elements, std::int64_t segment_count, int multiprocessors_of_machine)
        : multiprocessors(multiprocessors_of_machine) {
      constexpr int loads = folders * in_flight, some = 6 * loads, of_warp = max(1, batch / 2) * lanes;
      while ((std::int64_t(1) << chunk_bits) < loads || (elements >> chunk_bits) > (1ll << chunk_bits) / 4)
        ++chunk_bits;
      const bool long_ones = elements > segment_count * of_warp && elements <= segment_count * some;
      alone = max(chunk(), std::int64_t(long_ones || (any_order && elements <= 8 * some) ? some : 0));
      const std::int64_t at_once = std::int64_t(min_blocks) * multiprocessors;
      while (!any_order && (elements >> chunk_bits) >= at_once && (elements >> chunk_bits) < 4 * at_once) --chunk_bits;
      set(elements, segment_count);
    }
    /// The same chunks for other numbers, which are no larger. Where long segments are many, warps fold them: four in a block.
    PMPP_HOST_DEVICE void set(std::int64_t elements, std::int64_t segment_count) {
      n = elements;
      segments = segment_count;
      chunks = n > alone ? ceil_div(n, chunk()) : 0;
      each_bits = 0;
      while ((1 << each_bits) < folders && (segments * max(1, batch / 2) << each_bits) < n) ++each_bits;
      if (segments >= 1024 && n <= segments * min(segments, std::int64_t(4096)))
        each_bits = min(each_bits, floor_log2(lanes));
      // Few: multiprocessors that would have none may as well share the work on those that are longer than the others.
      while ((2 << each_bits) <= lanes && segments * (2 << each_bits) <= std::int64_t(folders) * multiprocessors)
        ++each_bits;
      each = 1 << each_bits;
      if (each > lanes) each = folders;
      side_bits = max(0, detail::log_neighbours(segments) - each_bits);
      // Neighbours go to different blocks; an odd number of those keeps every 64th of them, say, from going to the same few.
      tasks = each < folders ? ceil_div(segments, std::int64_t(folders / each)) | 1 : segments;
      left_from = max(2 * lanes * std::int64_t(in_flight), 4 * n / max(std::int64_t(1), segments));
    }
    PMPP_HOST_DEVICE std::int64_t chunk() const { return std::int64_t(1) << chunk_bits; }
  };

  struct arguments {
    In in;
    item_count count;
    Offsets offsets;
    item_count offset_count;
    Out out;
    Op op;
    A init;
    std::int64_t lead;  ///< elements before the first vector
    plan known;         ///< for counts that the host knows; for their bounds where only the device does
    A* shares;          ///< of a chunk
    unsigned* arrived;  ///< zero; how many blocks have left their share of the segment that first goes on into a chunk
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    plan p = a.known;
    if (a.count.pointer != nullptr || a.offset_count.pointer != nullptr)
      p.set(a.count.get(), max(std::int64_t(0), a.offset_count.get() - 1));
    const bool finder = block.warp() == folders / lanes;
    for (std::int64_t task = block.index(); task < max(p.tasks, p.chunks); task += block.count()) {
      bool left = false;
      if (finder && task < p.chunks) {
        const segment found = detail::crossing_segment(block, a.offsets, p.segments, task << p.chunk_bits, p.alone);
        if (block.lane() == 0) memory.crossing = found;
      }
      if (p.each > lanes && task < p.tasks)
        fold_by_block(block, memory, a, p, task);
      else if (!finder && task < p.tasks)
        left = fold_by_groups(block, a, p, task);
      const unsigned of_warp = block.ballot(left);
      if (block.lane() == 0) memory.left[block.warp()] = of_warp;
      block.sync();
      unsigned of_block = 0;
      for (int w = 0; w < folders / lanes; ++w) of_block |= memory.left[w];
      if (of_block != 0) fold_left(block, memory, a, p, task);
      if (task < p.chunks) fold_chunk(block, memory, a, p, task);
      block.sync();
    }
  }

private:
  PMPP_HOST_DEVICE static segment segment_at(const arguments& a, const plan& p, std::int64_t s) {
    if (s >= p.segments) return {s, 0, 0};
    return {s, static_cast<std::int64_t>(a.offsets[s]), static_cast<std::int64_t>(a.offsets[s + 1])};
  }
  PMPP_HOST_DEVICE static void write(const arguments& a, std::int64_t s, const A& value) {
    a.out[s] = static_cast<value_of<Out>>(value);
  }

  /// One of `count` threads, for its share of from[0] ... from[n - 1] in no order. The first n threads have a share.
  template <class From>
  PMPP_HOST_DEVICE static A fold(const arguments& a, const From& from, int n, int rank, int count) {
    constexpr int few = fills_up ? min(batch, 4) : batch;  // most segments have no more
    A sum{};
    for (int i = rank; i < n; i += batch * count) {
      A x[batch]{};
      const auto load = [&](int first, int last) {
        for (int k = first; k < last; ++k)
          if (i + k * count < n)
            x[k] = static_cast<A>(from[i + k * count]);
          else if constexpr (fills_up)
            x[k] = order::neutral;
      };
      const auto add = [&](A y, int first, int last) {
        for (int k = first; k < last; ++k)
          if (fills_up || i + k * count < n) y = static_cast<A>(order::in_order(a.op)(y, x[k]));
        return y;
      };
      load(0, few);
      A y = x[0];
      if (few < batch &&
          i + few * count < n) {  // and are added after all others: those are asked for before any is waited for
        load(few, batch);
        y = add(y, few, batch);
      }
      y = add(y, 1, few);
      sum = i == rank ? y : static_cast<A>(order::in_order(a.op)(sum, y));
    }
    return sum;
  }
  /// One of `count` threads, for its share of the elements [begin, begin + n) in no order, by vectors.
  PMPP_HOST_DEVICE static A fold_vectors(const arguments& a, std::int64_t begin, int n, int rank, int count) {
    using access = block::access<In>;
    const int past = static_cast<int>((begin + Items - a.lead) % Items), before = min(n, (Items - past) % Items),
              vectors = (n - before) / Items, tail = before + vectors * Items;
    A sum = order::neutral;
    for (int v = rank; v < vectors; v += vectors_at_once * count) {
      block::raw_items<In, Items> x[vectors_at_once]{};
      for (int u = 0; u < vectors_at_once; ++u)
        if (const int w = v + u * count; w < vectors)
          x[u] = access::template load<Items>(a.in, begin + before + w * Items);
      for (int u = 0; u < vectors_at_once && v + u * count < vectors; ++u) {
        A y = static_cast<A>(access::value(a.in, x[u], 0));
        for (int k = 1; k < Items; ++k)
          y = static_cast<A>(order::in_order(a.op)(y, static_cast<A>(access::value(a.in, x[u], k))));
        sum = static_cast<A>(a.op(sum, y));
      }
    }
    if (rank < before) sum = static_cast<A>(a.op(sum, static_cast<A>(a.in[begin + rank])));
    if (tail + rank < n) sum = static_cast<A>(a.op(sum, static_cast<A>(a.in[begin + tail + rank])));
    return sum;
  }

  /// Thread 0 gets the combination of from[0] ... from[n - 1], if n > 0. All threads call. One barrier.
  template <class From>
  PMPP_HOST_DEVICE static A fold_together(auto& block, shared& memory, const arguments& a, const From& from,
                                          std::int64_t n) {
    const auto count = static_cast<int>(n);
    constexpr int warps = folders / lanes;
    A sum{};
    if constexpr (any_order) {
      if (block.thread() < folders) sum = fold(a, from, count, block.thread(), folders);
      return block::reduce(block, memory.reduced, sum, a.op, max(1, min(count, folders)));
    } else {
      const auto get = [&](int i) { return from[i]; };
      if (block.warp() < warps) sum = detail::fold_rows<A, rows_of_block>(block, a.op, count, block.warp(), warps, get);
      return block::reduce_warps(block, memory.reduced, sum, a.op,
                                 max(1, ceil_div(count, detail::share_of_rows(count, warps))));
    }
  }
  /// The same of elements from `begin` on.
  template <bool Vectors>
  PMPP_HOST_DEVICE static A fold_elements(auto& block, shared& memory, const arguments& a, std::int64_t begin,
                                          std::int64_t n) {
    if constexpr (Vectors) {
      A sum = order::neutral;
      if (block.thread() < folders) sum = fold_vectors(a, begin, static_cast<int>(n), block.thread(), folders);
      return block::reduce(block, memory.reduced, sum, a.op, folders);
    } else {
      return fold_together(block, memory, a, In(a.in + begin), n);
    }
  }
  /// The same by a warp, for its lane 0.
  PMPP_HOST_DEVICE static A fold_by_warp(auto& block, const arguments& a, std::int64_t begin, int n) {
    if constexpr (always_vectors)
      return block::warp_reduce(block, fold_vectors(a, begin, n, block.lane(), lanes), a.op);
    else if constexpr (any_order)
      return block::warp_reduce(block, fold(a, In(a.in + begin), n, block.lane(), lanes), a.op, min(n, lanes));
    else
      return detail::fold_rows<A, rows>(block, a.op, n, 0, 1, [&](int i) { return a.in[begin + i]; });
  }

  /// One segment.
  PMPP_HOST_DEVICE static void fold_by_block(auto& block, shared& memory, const arguments& a, const plan& p,
                                             std::int64_t index) {
    const segment s = segment_at(a, p, index);
    const bool mine = s.length() <= p.alone;
    const A sum = fold_elements<always_vectors>(block, memory, a, s.begin, mine ? s.length() : 0);
    if (block.thread() == 0 && mine) write(a, index, s.length() > 0 ? static_cast<A>(a.op(a.init, sum)) : a.init);
  }

  /// The segment of a thread that folds it together with others.
  PMPP_HOST_DEVICE static std::int64_t index_of(const plan& p, int thread, std::int64_t task) {
    const int group = thread >> p.each_bits;
    return (((group >> p.side_bits) * p.tasks + task) << p.side_bits) + (group & ((1 << p.side_bits) - 1));
  }
  /// A segment for each `each` threads. Longer ones are folded by whole warps, or left to the block: then one thread gets true.
  PMPP_HOST_DEVICE static bool fold_by_groups(auto& block, const arguments& a, const plan& p, std::int64_t task) {
    const int rank = block.lane() & (p.each - 1);
    const segment s = segment_at(a, p, index_of(p, block.thread(), task));
    const bool together = s.length() > std::int64_t(p.each) * batch, left_to_block = s.length() > p.left_from;
    // Where order matters, each thread has some that are adjacent.
    const int n = together ? 0 : static_cast<int>(s.length()), share = any_order ? 1 : ceil_div(n, p.each),
              busy = any_order   ? min(n, p.each)
                     : share > 0 ? ceil_div(n, share)
                                 : 0;
    A sum{};
    if constexpr (any_order)
      sum = fold(a, In(a.in + s.begin), n, rank, p.each);
    else
      sum = fold(a, In(a.in + (s.begin + rank * share)), max(0, min(share, n - rank * share)), 0, 1);
    for (int d = 1; d < p.each; d *= 2) {
      const A right = block.shuffle_down(sum, d);
      if (rank + d < busy) sum = static_cast<A>(a.op(sum, right));
    }
    if (rank == 0 && s.index < p.segments && !together)
      write(a, s.index, n > 0 ? static_cast<A>(a.op(a.init, sum)) : a.init);

    const bool mine = rank == 0 && together && s.length() <= p.alone;
    for (unsigned long_ones = block.ballot(mine && !left_to_block); long_ones != 0; long_ones &= long_ones - 1) {
      const segment t = block.shuffle(s, simt::trailing_zeros(long_ones));
      sum = fold_by_warp(block, a, t.begin, static_cast<int>(t.length()));
      if (block.lane() == 0) write(a, t.index, static_cast<A>(a.op(a.init, sum)));
    }
    return mine && left_to_block;
  }
  /// The segments that threads have left to the block.
  PMPP_HOST_DEVICE static void fold_left(auto& block, shared& memory, const arguments& a, const plan& p,
                                         std::int64_t task) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // rare
#endif
    for (int w = 0; w < folders / lanes; ++w)
      for (unsigned rest = memory.left[w]; rest != 0; rest &= rest - 1) {
        fold_by_block(block, memory, a, p, index_of(p, w * lanes + simt::trailing_zeros(rest), task));
        block.sync();
      }
  }

  /// The share of a chunk in the segment that goes on into it, if that is too long for a block alone.
  PMPP_HOST_DEVICE static void fold_chunk(auto& block, shared& memory, const arguments& a, const plan& p,
                                          std::int64_t chunk) {
    const segment s = memory.crossing;
    const std::int64_t place = chunk << p.chunk_bits;
    if (s.length() <= p.alone || s.begin > place) return;
    // The first and the last chunk that it goes on into.
    const std::int64_t first = (s.begin + p.chunk() - 1) >> p.chunk_bits, last = (s.end - 1) >> p.chunk_bits;
    const std::int64_t from = chunk == first ? s.begin : place, to = min(s.end, place + p.chunk());
    const A share = fold_elements<(Items > 1)>(block, memory, a, from, to - from);
    if (block.thread() == 0) {
      a.shares[chunk] = share;
      memory.last = simt::atomic_add<simt::order::acq_rel>(a.arrived + first, 1u) == unsigned(last - first);
    }
    block.sync();
    if (!memory.last) return;
    const A sum = fold_together(block, memory, a, a.shares + first, last - first + 1);
    if (block.thread() == 0) {
      write(a, s.index, static_cast<A>(a.op(a.init, sum)));
      a.arrived[first] = 0;  // for the next launch
    }
  }
};

/// Short inputs, and long segments. False, and nothing is done, if neither is to be expected.
template <segmented_tuning Tuning, class P, class In, class Offsets, class Out, class A, class Op>
bool segmented_reduce_directly(const P& where, const input<In>& in, const input<Offsets>& offsets, Out out, A init,
                               Op op) {
  constexpr int bytes = sizeof(value_of<In>);
  constexpr bool possible = bytes <= 16 && sizeof(A) <= 16 && (Tuning.short_input > 0 || Tuning.long_average > 0),
                 any_order = operand_order<Op, A>::any,
                 // As values and indices: tiles of them cost several times as much as of what they are made of.
      widened = any_order && block::access<In>::always && block::access<In>::items * bytes > 16;
  const std::int64_t segments = offsets.count.bound - 1;
  [[maybe_unused]] const auto run_with = [&](auto folders, auto items, std::int64_t lead) {
    using kernel = direct_reduce_kernel<In, Offsets, Out, Op, A, Tuning, folders, items>;
    const typename kernel::plan p(in.count.bound, segments, machine_of(where).multiprocessors);
    scratch memory(where, std::size_t(p.chunks) * sizeof(A), std::size_t(p.chunks) * sizeof(unsigned));
    pmpp::launch(where, max(p.tasks, p.chunks), kernel{},
                 typename kernel::arguments{in.first, in.count, offsets.first, offsets.count, out, op, init, lead, p,
                                            static_cast<A*>(memory.data()), memory.state()});
  };
  if constexpr (possible) {
    if (max(in.count.bound, segments) <= Tuning.few_to_reduce) {
      using few = few_segmented_reduce_kernel<In, Offsets, Out, Op, A>;
      pmpp::launch(where, ceil_div(segments, std::int64_t(few::warps)), few{},
                   typename few::arguments{in.first, offsets.first, offsets.count, out, op, init});
      return true;
    }
    using usual = std::integral_constant<int, 128>;
    using one = std::integral_constant<int, 1>;
    constexpr std::int64_t long_average = widened       ? Tuning.long_average / 8
                                          : any_order   ? Tuning.long_average / (bytes < 4 ? 2 : 1)
                                          : bytes >= 16 ? Tuning.long_average / 8
                                                        : 4 * Tuning.long_average;
    const std::int64_t n = in.count.bound, average = n / segments,
                       share =
                           any_order && bytes >= 4 && (n <= 1 << 26 || std::is_same_v<Offsets, equal_offsets>) ? 2 : 1;
    const bool is_short = n <= Tuning.short_input && segments <= Tuning.short_segments,
               is_long = (any_order || bytes >= 4) && long_average > 0 && average >= long_average / share;
    if (!is_short && !is_long) return false;
    if constexpr (any_order)
      block::with_access(in.first, [&](auto items, std::int64_t lead) { run_with(usual{}, items, lead); });
    else
      run_with(usual{}, one{}, 0);
    return true;
  }
  return false;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
