// SPDX-License-Identifier: Apache-2.0
//
// Segmented scans of short inputs, where latency counts: segment by segment, without tiles.
//
//   1. Some lanes of a warp scan one segment each, as many as suit the average length, in rows that neighbours load; a longer
//      one takes the whole warp, which goes along it. All but the nearest neighbours go to different blocks. Where segments are of
//      several strips on average, a block has one each, a strip a warp.
//   2. What is longer than some chunks is left to other blocks, which have a chunk of the elements each, by ticket. They search for the
//      segments that cross the ends of the chunk, and are done if those are not long. Else they scan what the chunk has of them, and
//      publish what one that goes on comes to; they wait for the chunks before that have a part of the same segment, for no others.
//
// Two rounds of loads that wait for each other; work n + segments + searches; one launch. What is combined with what depends on
// lengths and places alone: the same bits on every run.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/reduce.hpp>
#include <pmpp/block/tile_state.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/segmented/few.hpp>
#include <pmpp/segmented/tuning.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

template <class In, class Offsets, class Out, class Op, class A, bool Exclusive>
struct direct_segmented_scan_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int lanes = simt::warp_size, warps = 8, threads = warps * lanes;
  static constexpr int rows = max(1, min(8, 32 / int(sizeof(A)))),
                       strip = rows * lanes;  ///< that a warp scans at a time
  static constexpr int chunk = warps * strip;
  using slots = block::tile_state<A>;
  /// [begin, end)
  struct segment_span {
    std::int64_t begin, end;
    PMPP_HOST_DEVICE std::int64_t length() const { return end - begin; }
  };

  struct shared {
    int chunk;                  ///< the block's
    bool last;                  ///< of the blocks that have chunks
    segment_span long_ones[2];  ///< that cross the chunk's begin, its end; or none
    A totals[2][warps];         ///< of each warp's strip, of two rounds
    A prefix;                   ///< of the segment that goes on into the chunk
  };
  struct plan {
    std::int64_t n, segments, tasks = 0;  ///< blocks that have segments; others have chunks
    int each_bits = 0;                    ///< the logarithm of the lanes that a segment gets
    int side_bits = 0;                    ///< and of the groups of lanes that get neighbours
    bool by_blocks = false;               ///< it gets a block
    int chunks = 0;

    PMPP_HOST_DEVICE plan(std::int64_t elements, std::int64_t segment_count, int multiprocessors)
        : n(elements), segments(segment_count), by_blocks(elements > segment_count * 2 * strip) {
      while ((1 << each_bits) < lanes && (segments * rows << each_bits) < n) ++each_bits;
      // Few: lanes that would have none may as well share those that are longer than the others.
      while ((1 << each_bits) < lanes && (segments << (each_bits + 1)) <= std::int64_t(threads) * multiprocessors)
        ++each_bits;
      side_bits = max(0, detail::log_neighbours(segment_count) - each_bits);
      set(elements, segment_count);
    }
    /// The same for other numbers, which are no larger.
    PMPP_HOST_DEVICE void set(std::int64_t elements, std::int64_t segment_count) {
      n = elements;
      segments = segment_count;
      tasks = by_blocks ? segments : ceil_div(segments, std::int64_t(threads >> each_bits)) | 1;
      chunks = n > alone() ? static_cast<int>(ceil_div(n, std::int64_t(chunk))) : 0;
    }
    PMPP_HOST_DEVICE int each() const { return 1 << each_bits; }
    /// Elements at most of a segment that no other block helps with.
    PMPP_HOST_DEVICE int alone() const { return by_blocks ? 4 * chunk : chunk; }
    PMPP_HOST_DEVICE std::int64_t blocks() const { return tasks + chunks; }
  };
  struct arguments {
    In in;
    item_count count;
    Offsets offsets;
    item_count offset_count;
    Out out;
    Op op;
    A init;                     ///< of an exclusive scan
    plan known;                 ///< for counts that the host knows; for their bounds where only the device does
    unsigned* state = nullptr;  ///< zero; tickets taken, and blocks that wait for no other any more,
    slots sums{};               ///< what chunks have that others wait for

    static constexpr std::size_t header_bytes = 256;
    static std::size_t state_bytes(int chunks) {
      return chunks == 0 ? 0 : round_up(header_bytes + slots::state_bytes(chunks), std::size_t(16));
    }
    /// Of a scratch of so many bytes of state.
    void use(const scratch& memory) {
      state = memory.state();
      sums = slots(reinterpret_cast<char*>(state) + header_bytes, memory.data());
    }
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    plan p = a.known;
    if (a.count.pointer != nullptr || a.offset_count.pointer != nullptr)
      p.set(a.count.get(), max(std::int64_t(0), a.offset_count.get() - 1));
    if (block.index() >= a.known.tasks) return help_with_long_ones(block, memory, a, p);
    if (block.index() >= p.tasks) return;
    if (!p.by_blocks) return scan_segments(block, a, p);
    const segment_span own = segment_at(a, block.index());
    if (own.length() <= p.alone()) scan_together(block, memory, a, own.begin, own.end, a.init, Exclusive);
  }

private:
  PMPP_HOST_DEVICE static segment_span segment_at(const arguments& a, std::int64_t s) {
    return {static_cast<std::int64_t>(a.offsets[s]), static_cast<std::int64_t>(a.offsets[s + 1])};
  }
  /// The segments of a block, as many lanes for each as the plan says.
  PMPP_HOST_DEVICE static void scan_segments(auto& block, const arguments& a, const plan& p) {
    const int group = block.thread() >> p.each_bits;
    const std::int64_t s =
        (((group >> p.side_bits) * p.tasks + block.index()) << p.side_bits) + (group & ((1 << p.side_bits) - 1));
    segment_span own{};
    if (s < p.segments) own = segment_at(a, s);
    const bool is_long = own.length() > p.alone(),
               together = !is_long && own.length() > (p.each() < lanes ? p.each() * rows : 0);
    if (p.each() < lanes)
      scan_along(block, a, own.begin, is_long || together ? 0 : static_cast<int>(own.length()), p.each());
    const unsigned firsts = block.ballot(together && (block.lane() & (p.each() - 1)) == 0);
    for (unsigned rest = firsts; rest != 0; rest &= rest - 1) {
      const segment_span t = block.shuffle(own, simt::trailing_zeros(rest));
      scan_along(block, a, t.begin, static_cast<int>(t.length()), lanes);
    }
  }

  /// A segment of n elements, by `each` lanes: of more than they scan at a time by all lanes of the warp.
  PMPP_HOST_DEVICE static void scan_along(auto& block, const arguments& a, std::int64_t begin, int n, int each) {
    A carry = a.init, next[rows]{};
    bool has_carry = Exclusive;
    load(block, a, begin, n, each, next);
    for (int first = 0;; first += each * rows) {
      A y[rows];
      for (int k = 0; k < rows; ++k) y[k] = next[k];
      const bool goes_on = n - first > each * rows;
      if (goes_on) load(block, a, begin + first + each * rows, n - first - each * rows, each, next);
      const A total = scan_strip(block, a, y, n - first, each);
      write(block, a, begin + first, n - first, each, y, carry, has_carry);
      if (!goes_on) return;
      append(a, carry, has_carry, total);
    }
  }

  /// Rows of `each` elements, an element of each row for a lane.
  PMPP_HOST_DEVICE static void load(auto& block, const arguments& a, std::int64_t begin, int n, int each,
                                    A (&y)[rows]) {
    const int rank = block.lane() & (each - 1);
    for (int k = 0; k < rows; ++k)
      if (k * each + rank < n) y[k] = static_cast<A>(a.in[begin + (k * each + rank)]);
  }
  /// Each element becomes what the strip comes to up to it. \return what its first n elements come to, if n > 0
  PMPP_HOST_DEVICE static A scan_strip(auto& block, const arguments& a, A (&y)[rows], int n, int each) {
    const int rank = block.lane() & (each - 1);
    for (int d = 1; d < each; d *= 2)
      for (int k = 0; k < rows; ++k) {
        const A left = block.shuffle_up(y[k], d);
        if (rank >= d && k * each + rank < n) y[k] = static_cast<A>(a.op(left, y[k]));
      }
    A total{};
    for (int k = 0; k < rows; ++k) {
      const int there = min(n - k * each, each);
      const A of_row = block.shuffle(y[k], block.lane() - rank + max(0, there - 1));
      if (k > 0 && rank < there) y[k] = static_cast<A>(a.op(total, y[k]));
      if (there > 0) total = k == 0 ? of_row : static_cast<A>(a.op(total, of_row));
    }
    return total;
  }
  /// Writes results: what scan_strip has left, after `before` if there is any.
  PMPP_HOST_DEVICE static void write(auto& block, const arguments& a, std::int64_t begin, int n, int each,
                                     const A (&y)[rows], const A& before, bool has_before) {
    const int rank = block.lane() & (each - 1);
    for (int k = 0; k < rows; ++k) {
      A result = y[k];
      bool has_own = true;
      if constexpr (Exclusive) {
        const A left = block.shuffle_up(y[k], 1), above = block.shuffle(y[max(0, k - 1)], block.lane() | (each - 1));
        result = rank > 0 ? left : above;
        has_own = rank + k > 0;
      }
      if (k * each + rank >= n) continue;
      if (!has_own)
        result = before;
      else if (has_before)
        result = static_cast<A>(a.op(before, result));
      a.out[begin + (k * each + rank)] = static_cast<value_of<Out>>(result);
    }
  }

  /// Elements [from, to) by the whole block, a chunk at a time, after `carry` if there is one.
  PMPP_HOST_DEVICE static void scan_together(auto& block, shared& memory, const arguments& a, std::int64_t from,
                                             std::int64_t to, A carry, bool has_carry) {
    for (int round = 0; from < to; from += chunk, round ^= 1) {
      A y[rows]{};
      const int n = static_cast<int>(min(to - from, std::int64_t(chunk)));
      scan_own_strip(block, memory, a, from, n, round, y);
      write_own_strip(block, memory, a, from, n, round, y, carry, has_carry);
      for (int w = 0; w < warps && from + chunk < to; ++w) append(a, carry, has_carry, memory.totals[round][w]);
    }
  }
  /// Of n elements of a chunk, what the warp has of them, a strip; what all strips come to is known then. One barrier.
  PMPP_HOST_DEVICE static void scan_own_strip(auto& block, shared& memory, const arguments& a, std::int64_t from, int n,
                                              int round, A (&y)[rows]) {
    const int mine = max(0, min(n - block.warp() * strip, strip));
    load(block, a, from + block.warp() * strip, mine, lanes, y);
    const A total = scan_strip(block, a, y, mine, lanes);
    if (block.lane() == 0) memory.totals[round][block.warp()] = total;
    block.sync();
  }
  PMPP_HOST_DEVICE static void write_own_strip(auto& block, const shared& memory, const arguments& a, std::int64_t from,
                                               int n, int round, const A (&y)[rows], A before, bool has_before) {
    const int mine = max(0, min(n - block.warp() * strip, strip));
    for (int w = 0; w < block.warp() && w * strip < n; ++w) append(a, before, has_before, memory.totals[round][w]);
    write(block, a, from + block.warp() * strip, mine, lanes, y, before, has_before);
  }
  PMPP_HOST_DEVICE static void append(const arguments& a, A& to, bool& any, const A& x) {
    to = any ? static_cast<A>(a.op(to, x)) : x;
    any = true;
  }

  /// Of a block that has a chunk: what that has of long segments; first what others wait for.
  PMPP_HOST_DEVICE static void help_with_long_ones(auto& block, shared& memory, const arguments& a, const plan& p) {
    if (block.thread() == 0) memory.chunk = static_cast<int>(simt::take_ticket(a.state));
    block.sync();
    const int own = memory.chunk;
    const std::int64_t begin = std::int64_t(own) * chunk, end = min(begin + chunk, p.n);
    if (block.warp() < 2) {
      segment_span s{};
      if (const std::int64_t place = begin + block.warp() * chunk; own < p.chunks && place < p.n) {
        const numbered_segment found = detail::crossing_segment(block, a.offsets, p.segments, place, p.alone());
        s = {found.begin, found.end};
      }
      // One that goes on into the chunk has begun at its begin or before; one that crosses the end, after that.
      const bool counts = block.warp() == 0 ? s.begin <= begin : s.begin > begin && s.begin < end;
      if (!counts) s = {};
      if (block.lane() == 0) memory.long_ones[block.warp()] = s;
    }
    block.sync();
    const segment_span before = memory.long_ones[0], begins = memory.long_ones[1];
    if (begins.length() > 0) scan_part(block, memory, a, begins, begins.begin, end, own, 0);
    if (before.length() > 0) scan_part(block, memory, a, before, begin, min(before.end, end), own, 1);
    // The last one leaves the state as it was found.
    if (block.thread() == 0) memory.last = block::comes_last<simt::order::relaxed>(a.state + 1, a.known.chunks);
    block.sync();
    if (!memory.last) return;
    if (block.thread() == 0) simt::store(a.state, 0u);
    for (int i = block.thread(); i < a.known.chunks; i += threads) a.sums.clear(i);
  }
  /// Elements [from, to) of a long segment, which lie in chunk `own`.
  PMPP_HOST_DEVICE static void scan_part(auto& block, shared& memory, const arguments& a, const segment_span& s,
                                         std::int64_t from, std::int64_t to, int own, int round) {
    const int n = static_cast<int>(to - from);
    A y[rows]{}, before = a.init;
    bool has_before = Exclusive;
    scan_own_strip(block, memory, a, from, n, round, y);
    if (block.thread() == 0 && s.end > to) {
      A all = memory.totals[round][0];
      for (int w = 1; w * strip < n; ++w) all = static_cast<A>(a.op(all, memory.totals[round][w]));
      a.sums.publish(own, all);
    }
    if (s.begin < from) {
      if (block.warp() == 0) {
        const A prefix = wait_for(block, a, static_cast<int>(s.begin / chunk), own);
        if (block.lane() == 0) memory.prefix = prefix;
      }
      block.sync();
      append(a, before, has_before, memory.prefix);
    }
    write_own_strip(block, memory, a, from, n, round, y, before, has_before);
  }
  /// Lane 0 gets what chunks [from, to) combine to, which have parts of one segment.
  PMPP_HOST_DEVICE static A wait_for(auto& block, const arguments& a, int from, int to) {
    A all{};
    for (int first = from; first < to; first += lanes) {
      const int count = min(lanes, to - first);
      A part{};
      if (block.lane() < count)
        while (!a.sums.peek(first + block.lane(), part)) block.spin();
      block.sync_warp();
      part = block::warp_reduce(block, part, a.op, count);
      all = first == from ? part : static_cast<A>(a.op(all, part));
    }
    return all;
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
