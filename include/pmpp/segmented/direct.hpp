// SPDX-License-Identifier: Apache-2.0
//
// The kernel of segmented_reduce for short inputs, where latency counts, and for long segments.
//
//   1. Some threads fold one segment each together, as many as suit the average length: two loads that wait for each
//      other, and a tree. What is much longer than the average is left to the whole warp. Neighbours go to different
//      blocks, so that a few long ones side by side do no harm.
//   2. Who finds a segment longer than a chunk leaves it alone. The elements are also cut into chunks, one a block: two
//      searches tell the segments of a chunk's first and last element, and no other one in it can be longer than a
//      chunk. If they are, the block folds what the chunk has of them. The last block to do so for a segment joins them
//      in order.
//
// No thread folds more than a chunk, whatever the lengths are; no block waits for another. Work n + segments + searches;
// one launch. What is combined with what depends on lengths and places alone: the same bits on every run.
#pragma once

#include <cstdint>

#include <pmpp/block/reduce.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/segmented/tile.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class In, class Offsets, class Out, class Op, class A, segmented_tuning Tuning>
struct direct_reduce_kernel {
  static constexpr int lanes = simt::warp_size, threads = smaller(Tuning.threads, 128), warps = threads / lanes;
  /// Elements that a thread loads at a time.
  static constexpr int batch = larger(1, smaller(16, 64 / int(larger(sizeof(A), sizeof(value_of<In>)))));
  static constexpr bool any_order = operand_order<Op, A>::any;

  /// [begin, end)
  struct segment {
    std::int64_t index, begin, end;
  };
  struct shared {
    block::reduce_memory<A> reduced;
    segment at_edge[2];  ///< those of the first and the last element of a chunk
    bool last;
  };
  /// The first `chunks` tasks are chunks, the others segments.
  struct plan {
    std::int64_t n, segments, chunks = 0, tasks = 0;
    int chunk_bits = 0;
    int each = 1;  ///< threads that a segment gets: a part of a warp, or all

    PMPP_HOST_DEVICE plan(std::int64_t elements, std::int64_t segment_count) : n(elements), segments(segment_count) {
      while ((std::int64_t(1) << chunk_bits) < larger<std::int64_t>(threads * batch, n / most_chunks)) ++chunk_bits;
      set(n, segments);
    }
    /// The same chunks for other numbers, which are no larger.
    PMPP_HOST_DEVICE void set(std::int64_t elements, std::int64_t segment_count) {
      n = elements;
      segments = segment_count;
      chunks = ceil_div(n, chunk());
      if (chunks == 1) chunks = 0;  // nothing is longer
      each = 1;
      while (each < threads && std::int64_t(each) * larger(1, batch / 2) * segments < n) each *= 2;
      if (each > lanes) each = threads;
      tasks = ceil_div(segments, std::int64_t(threads / each));
    }
    PMPP_HOST_DEVICE std::int64_t chunk() const { return std::int64_t(1) << chunk_bits; }
  };
  static constexpr std::int64_t most_chunks = 8192;

  struct arguments {
    In in;
    item_count count;
    Offsets offsets;
    item_count offset_count;
    Out out;
    Op op;
    A init;
    plan known;         ///< for counts that the host knows; for their bounds where only the device does
    A* partials;        ///< of a chunk: what it has of the segment of its first element, and of one that begins in it
    unsigned* arrived;  ///< zero; how many chunks have left their share of the long segment that begins in a chunk
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    plan p = a.known;
    if (a.count.pointer != nullptr || a.offset_count.pointer != nullptr)
      p.set(a.count.get(), larger(std::int64_t(0), a.offset_count.get() - 1));
    for (std::int64_t task = block.index(); task < p.chunks + p.tasks; task += block.count())
      if (task < p.chunks)
        fold_chunk(block, memory, a, p, task);
      else if (p.each > lanes)
        fold_by_block(block, memory, a, p, task - p.chunks);
      else
        fold_by_groups(block, a, p, task - p.chunks);
  }

private:
  PMPP_HOST_DEVICE static segment find(const arguments& a, const plan& p, std::int64_t s) {
    if (s >= p.segments) return {s, 0, 0};
    return {s, static_cast<std::int64_t>(a.offsets[s]), static_cast<std::int64_t>(a.offsets[s + 1])};
  }
  PMPP_HOST_DEVICE static void write(const arguments& a, std::int64_t s, const A& value) {
    a.out[s] = static_cast<value_of<Out>>(value);
  }

  /// Calls one of `count` threads, for its share of get(0) ... get(n - 1): adjacent ones where the order of operands
  /// matters. Threads 0 ... busy(n, count) - 1 have a share.
  template <class Get>
  PMPP_HOST_DEVICE static A fold(const arguments& a, std::int64_t n, int rank, int count, Get get) {
    const std::int64_t share = any_order ? 0 : ceil_div(n, std::int64_t(count)), step = any_order ? count : 1;
    const std::int64_t first = any_order ? rank : rank * share, end = any_order ? n : smaller(n, first + share);
    A sum{};
    for (std::int64_t i = first; i < end; i += batch * step) {
      A x[batch]{};
      for (int k = 0; k < batch; ++k)
        if (i + k * step < end) x[k] = static_cast<A>(get(i + k * step));
      for (int k = 0; k < batch; ++k)
        if (i + k * step < end) sum = k == 0 && i == first ? x[k] : static_cast<A>(a.op(sum, x[k]));
    }
    return sum;
  }
  PMPP_HOST_DEVICE static int busy(std::int64_t n, int count) {
    if (n <= count) return static_cast<int>(n);
    return any_order ? count : static_cast<int>(ceil_div(n, ceil_div(n, std::int64_t(count))));
  }

  /// Thread 0 gets the combination of get(0) ... get(n - 1); n > 0. All threads call. One barrier.
  template <class Block, class Get>
  PMPP_HOST_DEVICE static A fold_together(Block& block, shared& memory, const arguments& a, std::int64_t n, Get get) {
    return block::reduce(block, memory.reduced, fold(a, n, block.thread(), threads, get), a.op, busy(n, threads));
  }

  /// One segment.
  template <class Block>
  PMPP_HOST_DEVICE static void fold_by_block(Block& block, shared& memory, const arguments& a, const plan& p,
                                             std::int64_t task) {
    const segment s = find(a, p, task);
    if (s.end - s.begin > p.chunk()) return;
    A value = a.init;
    if (s.begin < s.end) {
      const A sum = fold_together(block, memory, a, s.end - s.begin, [&](std::int64_t i) { return a.in[s.begin + i]; });
      value = static_cast<A>(a.op(a.init, sum));
    }
    if (block.thread() == 0) write(a, task, value);
    block.sync();
  }

  /// A segment for each `each` threads.
  template <class Block>
  PMPP_HOST_DEVICE static void fold_by_groups(Block& block, const arguments& a, const plan& p, std::int64_t task) {
    const int rank = block.lane() % p.each;
    const segment s = find(a, p, block.thread() / p.each * p.tasks + task);
    const std::int64_t n = s.end - s.begin;
    const bool together = n > std::int64_t(p.each) * batch;
    const int mine = together ? 0 : static_cast<int>(n);
    A sum = fold(a, mine, rank, p.each, [&](std::int64_t i) { return a.in[s.begin + i]; });
    const int with_share = busy(mine, p.each);
    for (int d = 1; d < p.each; d *= 2) {
      const A right = block.shuffle_down(sum, d);
      if (rank + d < with_share) sum = static_cast<A>(a.op(sum, right));
    }
    if (rank == 0 && s.index < p.segments && !together)
      write(a, s.index, n > 0 ? static_cast<A>(a.op(a.init, sum)) : a.init);

    for (unsigned left = block.ballot(rank == 0 && together && n <= p.chunk()); left != 0; left &= left - 1) {
      const segment t = block.shuffle(s, simt::trailing_zeros(left));
      const std::int64_t length = t.end - t.begin;
      sum = fold(a, length, block.lane(), lanes, [&](std::int64_t i) { return a.in[t.begin + i]; });
      sum = block::warp_reduce(block, sum, a.op, busy(length, lanes));
      if (block.lane() == 0) write(a, t.index, static_cast<A>(a.op(a.init, sum)));
    }
  }

  /// The share of one chunk in segments that are longer than a chunk.
  template <class Block>
  PMPP_HOST_DEVICE static void fold_chunk(Block& block, shared& memory, const arguments& a, const plan& p,
                                          std::int64_t chunk) {
    const std::int64_t begin = chunk << p.chunk_bits, end = smaller(p.n, begin + p.chunk());
    for (int i = block.warp(); i < 2; i += warps) {
      const std::int64_t element = i == 0 ? begin : end - 1;
      const std::int64_t s = count_leading(block, p.segments, [&](std::int64_t t) {
        return static_cast<std::int64_t>(a.offsets[t + 1]) <= element;
      });
      if (block.lane() == 0) memory.at_edge[i] = find(a, p, s);
    }
    block.sync();
    for (int i = 0; i < 2; ++i) {
      const segment s = memory.at_edge[i];
      const std::int64_t from = larger(begin, s.begin), to = smaller(end, s.end);
      if (s.end - s.begin <= p.chunk() || from >= to || (i == 1 && s.index == memory.at_edge[0].index)) continue;
      const A share = fold_together(block, memory, a, to - from, [&](std::int64_t k) { return a.in[from + k]; });
      const std::int64_t first = s.begin >> p.chunk_bits, shares = ((s.end - 1) >> p.chunk_bits) - first + 1;
      if (block.thread() == 0) {
        a.partials[2 * chunk + (chunk == first ? 1 : 0)] = share;
        memory.last = simt::atomic_add<simt::order::acq_rel>(a.arrived + first, 1u) == unsigned(shares) - 1;
      }
      block.sync();
      if (memory.last) {
        const A sum = fold_together(block, memory, a, shares, [&](std::int64_t k) {
          return a.partials[2 * (first + k) + (k == 0 ? 1 : 0)];
        });
        if (block.thread() == 0) {
          write(a, s.index, static_cast<A>(a.op(a.init, sum)));
          a.arrived[first] = 0;  // for the next launch
        }
      }
      block.sync();
    }
    block.sync();
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
