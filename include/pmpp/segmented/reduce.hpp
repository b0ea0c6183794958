// SPDX-License-Identifier: Apache-2.0
//
// The kernel of segmented_reduce.
//
//   1. Merge path: walk over elements and ends of segments, each end right after its last element. The walk is cut
//      into as many equal pieces as there are blocks, so that work is even whatever the lengths are. Two searches over
//      the offsets give a block its elements and its ends.
//   2. The block streams its elements through shared memory, a tile at a time, the next ones on their way.
//      - No end lies in the tile: each thread adds its elements to an accumulator of its own (where the order of
//        operands matters: the block folds the tile). Long segments cost no more than a plain reduction.
//      - Its segments are short, of up to four elements on average: each thread folds whole segments and writes them, while
//        the next offsets are on their way. One that is long, or goes over an edge of the tile, is folded by a warp.
//      - Else threads mark where segments begin, one thread a segment; the tile is scanned from mark to mark
//        (block/segmented_scan.hpp), after what the block has of the segment that was open; each segment finds its value
//        at its last element. Values are written in the order of segments, whole lines at a time.
//   3. A segment that began in an earlier block ends with a value that lacks its beginning. Blocks leave such values,
//      and what their last segment has so far, to the block that started last, which joins them in order.
//
// Work n + segments; traffic: elements and offsets read, results written; one launch. No block waits for another, but
// for the last one at the end. The cut depends on the offsets, the alignment and the number of multiprocessors alone:
// the same bits on every run. (Merge path: Odeh, Green et al., 2012; Merrill and Garland, Merge-based SpMV, 2016.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/reduce.hpp>
#include <pmpp/block/search.hpp>
#include <pmpp/block/segmented_scan.hpp>
#include <pmpp/block/tile_state.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/segment_part.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/segmented/direct.hpp>
#include <pmpp/segmented/equal.hpp>
#include <pmpp/segmented/tuning.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// How a tile lies in shared memory. Each element takes ResultBytes there once it has been read.
template <class In, int Items, std::size_t ResultBytes, std::size_t ResultAlign, segmented_tuning Tuning>
struct tile_layout {
  using raw = block::raw_items<In, Items>;
  static constexpr std::size_t slot_align = max(alignof(raw), ResultAlign);
  static constexpr std::size_t slot_bytes = round_up(max(sizeof(raw), Items* ResultBytes), slot_align);
  static constexpr int threads = [] {
    int t = Tuning.threads;
    while (t > simt::warp_size && std::size_t(t) * slot_bytes > std::size_t(Tuning.row_bytes)) t /= 2;
    return t;
  }();
  static_assert(threads % simt::warp_size == 0, "pmpp: a block has whole warps");
  static_assert(slot_bytes <= 2048, "pmpp: elements have at most 2048 bytes");
  /// Vectors of a thread. Odd: then threads that read their vectors at once find them in different banks.
  static constexpr int vectors = (max(1, min(Tuning.bytes / static_cast<int>(slot_bytes), 32 / Items)) - 1) | 1;
  static constexpr int items = vectors * Items, elements = threads * items, all_vectors = threads * vectors;

  /// Blocks to make room for on a multiprocessor, by the registers that a thread's results take.
  static constexpr int min_blocks = ResultBytes > 16                                  ? 1
                                    : items* int(ResultBytes) > max(64, Tuning.bytes) ? min(2, Tuning.min_blocks)
                                    : ResultBytes > 8 || Items == 1                   ? min(3, Tuning.min_blocks)
                                                                                      : Tuning.min_blocks;

  struct alignas(max(slot_align, std::size_t(greatest_common_divisor(16, int(slot_bytes))))) slot {
    std::byte bytes[slot_bytes];
  };
  struct stage {
    alignas(max(std::size_t(128), alignof(slot))) slot of[all_vectors];

    PMPP_HOST_DEVICE std::byte* vector(int v) { return of[v].bytes; }
    /// As it was loaded.
    PMPP_HOST_DEVICE raw& loaded(int v) { return *reinterpret_cast<raw*>(vector(v)); }
    /// Element p of the tile, as it was left by store().
    template <class A>
    PMPP_HOST_DEVICE const A& stored(int p) {
      return reinterpret_cast<const A*>(vector(p / Items))[p % Items];
    }
    template <class A>
    PMPP_HOST_DEVICE void store(int v, const A* values) {
      A* const to = reinterpret_cast<A*>(vector(v));
      if constexpr (is_power_of_two(Items * sizeof(A)) && Items * sizeof(A) <= 16 && sizeof(A) < 16) {
        struct alignas(Items * sizeof(A)) word {
          A item[Items];
        } w;
        for (int k = 0; k < Items; ++k) w.item[k] = values[k];
        *reinterpret_cast<word*>(to) = w;
      } else {
        for (int k = 0; k < Items; ++k) to[k] = values[k];
      }
    }
  };

  /// Starts to load the vectors from `first` on, but none from `end` on.
  PMPP_HOST_DEVICE static void load(auto& block, stage& to, const In& in, const block::ordered_layout<Items>& data,
                                    std::int64_t first, std::int64_t end) {
    const std::int64_t after = first + all_vectors;
    if (first > 0 && after <= end && data.element(after) <= data.n) {  // all there: no checks
      for (int r = 0; r < vectors; ++r) {
        const int v = r * threads + block.thread();
        block::access<In>::template load_async<Items>(in, data.element(first + v), to.loaded(v));
      }
      return;
    }
    for (int v = block.thread(); v < all_vectors && first + v < end; v += threads) {
      const int from = data.begin_of(first + v), until = data.end_of(first + v);
      if (until - from == Items)
        block::access<In>::template load_async<Items>(in, data.element(first + v), to.loaded(v));
      else
        to.loaded(v) = block::access<In>::template load_part<Items>(in, data.element(first + v), from, until);
    }
  }

  /// Calls visit(k, element) for items [begin, end) of a thread.
  PMPP_HOST_DEVICE static void for_items(const In& in, stage& from, int thread, int begin, int end, auto visit) {
    for (int r = 0; r < vectors; ++r) {
      const raw x = from.loaded(thread * vectors + r);
      for (int k = 0; k < Items; ++k)
        if (r * Items + k >= begin && r * Items + k < end) visit(r * Items + k, block::access<In>::value(in, x, k));
    }
  }
};

/// One byte an element: whether it is a head. Taken by one thread for its own elements, and cleared.
template <int N>
PMPP_HOST_DEVICE unsigned take_heads(std::uint8_t* marks) {
  unsigned heads = 0;
  if constexpr (N % 4 == 0) {
    auto* const words = reinterpret_cast<std::uint32_t*>(marks);
    for (int i = 0; i < N / 4; ++i) {
      heads |= (words[i] * 0x10204080u >> 28) << 4 * i;  // the lowest bits of four bytes
      words[i] = 0;
    }
  } else {
    for (int k = 0; k < N; ++k) {
      heads |= unsigned(marks[k]) << k;
      marks[k] = 0;
    }
  }
  return heads;
}

/// What a block leaves to the one that started last.
template <class A>
struct segment_carry {
  segment_part<A> first;  ///< its elements of a segment that began before it and ends in it
  segment_part<A> last;   ///< heads: a segment ends in it; value: what it has of the segment after the last end
  std::int64_t segment;   ///< the one of `first`, or -1
};

template <class In, class Offsets, class Out, class Op, class A, int Items, segmented_tuning Tuning>
struct segmented_reduce_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  using layout = tile_layout<In, Items, sizeof(A), alignof(A), Tuning>;
  static constexpr int threads = layout::threads, warps = threads / simt::warp_size, items = layout::items,
                       stages = Tuning.stages, min_blocks = layout::min_blocks;
  static_assert(stages >= 2, "pmpp: one tile is worked on while another one is loaded");
  /// Segments that a thread looks at together.
  static constexpr int each = 4, batch = threads * each;
  /// Segments are short where they have so many elements on average; a thread folds one of so many by itself.
  static constexpr int short_average = 4, few = 16;
  using order = operand_order<Op, A>;
  using join = join_parts<A, Op>;

  /// The elements [begin, end) and the ends of the segments [first_segment, end_segment) are a block's.
  struct piece {
    std::int64_t begin, end, first_segment, end_segment, segments;
    std::int64_t n, first;         ///< elements in all, and in the first vector
    std::int64_t vector, vectors;  ///< the first one of the block, and the end of all it has
    int tiles;
    bool has_short;  ///< its segments are short, on average

    /// The first element of a tile, which may lie in front of `begin`.
    PMPP_HOST_DEVICE std::int64_t begin_of(int tile) const {
      return first + (vector + std::int64_t(tile) * layout::all_vectors) * Items;
    }
  };
  struct shared {
    typename layout::stage stage[stages];
    alignas(16) std::uint8_t marks[layout::elements];
    block::parts_memory<A> parts;
    block::reduce_memory<A> reduced;
    std::int64_t split[2];  ///< how many ends lie before the block, and before the next one
    piece mine;
    segment_part<A> carry;  ///< what the block has of the open segment, but for accumulators of the threads
    segment_part<A> open;   ///< the next carry, while this one is read
    segment_part<A> first;  ///< as in segment_carry
    std::int64_t stop;      ///< the first segment that does not end in the tile; it ends at:
    std::int64_t next_end;
    bool stop_is_empty;  ///< it has no elements so far
    bool began_before;   ///< its first segment, which ends in it
    bool started_last;
  };
  struct arguments {
    In in;
    item_count count;
    Offsets offsets;
    item_count offset_count;
    Out out;
    Op op;
    A init;
    std::int64_t lead;
    divisor blocks;     ///< of the grid
    unsigned* started;  ///< zero; counts the blocks that have started
    block::tile_state<segment_carry<A>> carries;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    if (!find_piece(block, memory, a)) return;
    const auto last_ticket = static_cast<unsigned>(block.count() - 1);
    unsigned ticket = 0;
    if (block.thread() == 0 && last_ticket > 0) ticket = simt::take_ticket(a.started, last_ticket);
    const piece& p = memory.mine;
    for (int k = 0; k < items; ++k) memory.marks[block.thread() * items + k] = 0;
    for (int tile = 0; tile < stages - 1; ++tile) load(block, memory, a, tile);
    std::int64_t segment = p.first_segment, next_end = -1;  // the next one to end; it ends at (-1: look)
    std::int64_t from = segment;                            // of the segments at hand
    ends at_hand = load_ends(block, memory, a, from);
    if (block.thread() == 0) {
      memory.started_last = ticket == last_ticket;
      memory.began_before = p.first_segment < p.end_segment && static_cast<std::int64_t>(at_hand.begin[0]) < p.begin &&
                            at_hand.begin[0] < at_hand.end[0];
    }
    A accumulated{};
    bool has_accumulated = false;
    for (int tile = 0; tile < p.tiles; ++tile) {
      simt::copy_async_wait<stages - 2>();
      block.sync();
      load(block, memory, a, tile + stages - 1);
      typename layout::stage& stage = memory.stage[tile % stages];
      const std::int64_t begin = p.begin_of(tile), end = min(p.end, begin + layout::elements);
      if (next_end > end && begin >= p.begin && end - begin == layout::elements) {
        add_tile(block, memory, a, stage, accumulated, has_accumulated);
        has_accumulated = order::any;
        continue;
      }
      if (has_accumulated) flush(block, memory, a, accumulated, has_accumulated);

      if (p.has_short && block.sync_or(are_short(block, memory, at_hand, from, segment, begin, end))) {
        for (;;) {
          const ends next = load_ends(block, memory, a, from + batch);
          if (block.sync_or(fold_short(block, memory, a, stage, at_hand, from, segment, begin, end))) break;
          from += batch;
          at_hand = next;
        }
        if (block.thread() == 0) memory.carry = memory.open;
        segment = memory.stop;
        next_end = memory.next_end;
        continue;
      }
      while (!block.sync_or(mark(block, memory, at_hand, from, begin, end))) {
        from += batch;
        at_hand = load_ends(block, memory, a, from);
      }
      next_end = memory.next_end;
      if (begin >= p.begin && end - begin == layout::elements)
        scan<true>(block, memory, a, stage, begin, end);
      else
        scan<false>(block, memory, a, stage, begin, end);
      for (const std::int64_t stop = memory.stop; segment < stop; segment += batch)
        write(block, memory, a, stage, load_ends(block, memory, a, segment), segment, stop, begin);
      from = segment = memory.stop;
      at_hand = load_ends(block, memory, a, from);
    }
    if (block.count() == 1) return;
    if (has_accumulated) flush(block, memory, a, accumulated, has_accumulated);
    block.sync();
    if (block.thread() == 0) a.carries.publish(block.index(), carry_of(memory));
    if (memory.started_last) join_carries(block, memory, a);
  }

private:
  /// Segments that a thread looks at: every threads-th one.
  struct ends {
    value_of<Offsets> begin[each], end[each];
  };

  /// False if there is nothing to do, for all blocks.
  PMPP_HOST_DEVICE static bool find_piece(auto& block, shared& memory, const arguments& a) {
    const std::int64_t segments = a.offset_count.get() - 1;
    if (segments <= 0) return false;
    // The first round of both searches asks the same questions, before it is known where the walk begins and ends.
    const std::int64_t range = ceil_div(segments, std::int64_t(simt::warp_size)), asked = (block.lane() + 1) * range;
    value_of<Offsets> answer{};
    if (block.warp() < 2 && asked <= segments) answer = a.offsets[asked];
    const auto origin = static_cast<std::int64_t>(a.offsets[0]);
    const std::int64_t steps = static_cast<std::int64_t>(a.offsets[segments]) - origin + segments;
    const std::int64_t each_block = steps >> 30 == 0
                                        ? a.blocks.quotient(static_cast<std::uint32_t>(steps + block.count() - 1))
                                        : ceil_div(steps, block.count());
    const auto step = [&](int i) { return min(steps, (block.index() + i) * each_block); };
    for (int i = block.warp(); i < 2; i += warps) {
      const auto before = [&](std::int64_t end, std::int64_t s) { return end - origin + s + 1 <= step(i); };
      const bool holds = asked <= segments && before(static_cast<std::int64_t>(answer), asked - 1);
      const std::int64_t low = min(segments, block.warp_add(holds ? 1 : 0) * range);
      const std::int64_t split = block::warp_search(block, low, min(segments, low + range - 1), [&](std::int64_t s) {
        return before(static_cast<std::int64_t>(a.offsets[s + 1]), s);
      });
      if (block.lane() == 0) memory.split[i] = split;
    }
    block.sync();
    if (block.thread() == 0) {
      piece& p = memory.mine;
      const block::ordered_layout<Items> data(a.count.get(), a.lead);
      p.n = data.n;
      p.first = data.first;
      p.segments = segments;
      p.first_segment = memory.split[0];
      p.end_segment = memory.split[1];
      p.begin = origin + step(0) - p.first_segment;
      p.end = origin + step(1) - p.end_segment;
      // From a multiple of 32 vectors on: rows of a warp that begin in the middle of a line cost a quarter more requests.
      p.vector = (p.begin - p.first) / Items / simt::warp_size * simt::warp_size;
      p.vectors = ceil_div(p.end - p.first, std::int64_t(Items));
      p.tiles = static_cast<int>(ceil_div(p.end - p.begin_of(0), std::int64_t(layout::elements)));
      if (p.tiles == 0) p.tiles = 1;  // of no elements: there may be ends
      p.has_short = p.end - p.begin <= short_average * (p.end_segment - p.first_segment);
      memory.carry = segment_part<A>{};
      memory.first = segment_part<A>{};
    }
    block.sync();
    return true;
  }

  /// Starts to load a tile, if it exists.
  PMPP_HOST_DEVICE static void load(auto& block, shared& memory, const arguments& a, int tile) {
    const piece& p = memory.mine;
    if (tile < p.tiles)
      layout::load(block, memory.stage[tile % stages], a.in, block::ordered_layout<Items>(p.n, a.lead),
                   p.vector + std::int64_t(tile) * layout::all_vectors, p.vectors);
    simt::copy_async_commit();
  }

  PMPP_HOST_DEVICE static ends load_ends(auto& block, const shared& memory, const arguments& a, std::int64_t from) {
    ends e{};
    const std::int64_t s = from + block.thread();
    const auto exist = [&](std::int64_t last) { return static_cast<int>(min(last - s, std::int64_t(batch))); };
    const int begins = exist(memory.mine.end_segment), ends = exist(memory.mine.segments - 1);
    for (int i = 0; i < each; ++i) {
      if (i * threads <= begins) e.begin[i] = a.offsets[s + i * threads];
      if (i * threads <= begins && i * threads <= ends) e.end[i] = a.offsets[s + i * threads + 1];
    }
    return e;
  }

  /// Adds a tile that lies inside of one segment.
  PMPP_HOST_DEVICE static void add_tile(auto& block, shared& memory, const arguments& a, typename layout::stage& stage,
                                        A& accumulated, bool has_accumulated) {
    A y{};
    layout::for_items(a.in, stage, block.thread(), 0, items, [&](int k, const value_of<In>& x) {
      y = k == 0 ? static_cast<A>(x) : static_cast<A>(order::in_order(a.op)(y, static_cast<A>(x)));
    });
    if constexpr (order::any) {
      accumulated = has_accumulated ? static_cast<A>(order::in_order(a.op)(accumulated, y)) : y;
    } else {
      y = block::reduce(block, memory.reduced, y, a.op);
      if (block.thread() == 0) memory.carry = join{a.op}(memory.carry, segment_part<A>{y, 0, true});
    }
  }

  /// Adds the accumulators of the threads to the open segment.
  PMPP_HOST_DEVICE static void flush(auto& block, shared& memory, const arguments& a, A& accumulated,
                                     bool& has_accumulated) {
    const A y = block::reduce(block, memory.reduced, accumulated, a.op);
    if (block.thread() == 0) memory.carry = join{a.op}(memory.carry, segment_part<A>{y, 0, true});
    block.sync();
    has_accumulated = false;
  }

  /// Whether the segments at hand from `segment` on are short as far as they lie in the tile: the thread that has the last of
  /// them knows.
  PMPP_HOST_DEVICE static bool are_short(auto& block, const shared& memory, const ends& e, std::int64_t from,
                                         std::int64_t segment, std::int64_t begin, std::int64_t end) {
    const piece& p = memory.mine;
    const std::int64_t last = min(p.end_segment, from + batch - 1);
    std::int64_t until = end_of_time;  // of the thread that has it: where it begins
    for (int i = 0; i < each; ++i)
      if (from + i * threads + block.thread() == last)
        until = last == p.end_segment ? end : min(end, static_cast<std::int64_t>(e.begin[i]));
    return until - max(begin, p.begin) <= short_average * (last - segment);
  }

  /// Elements [first, end) of a tile, from the left; any value if there are none.
  PMPP_HOST_DEVICE static A fold_elements(const arguments& a, typename layout::stage& stage, unsigned first,
                                          unsigned end) {
    const auto element = [&](unsigned i) {
      return static_cast<A>(block::access<In>::value(a.in, stage.loaded(i / Items), i % Items));
    };
    if (first >= end) return A{};
    A sum = element(first);
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // nearly all have few
#endif
    for (unsigned i = first + 1; i < end; ++i) sum = static_cast<A>(order::in_order(a.op)(sum, element(i)));
    return sum;
  }

  /// Folds the segments at hand from `segment` on that end in the tile, and writes their values. One thread finds the first
  /// that does not, if it is among them: true.
  PMPP_HOST_DEVICE static bool fold_short(auto& block, shared& memory, const arguments& a,
                                          typename layout::stage& stage, const ends& e, std::int64_t from,
                                          std::int64_t segment, std::int64_t begin, std::int64_t end) {
    const piece& p = memory.mine;
    using place = std::conditional_t<sizeof(value_of<Offsets>) <= 4, std::uint32_t, std::uint64_t>;
    const auto size = static_cast<unsigned>(end - begin);
    // From where the tile begins; size + 1 for all that is not in it.
    const auto in_tile = [&](value_of<Offsets> offset) {
      return static_cast<unsigned>(
          min(static_cast<place>(offset) - static_cast<place>(begin), static_cast<place>(size + 1)));
    };
    const int first = static_cast<int>(segment - from),
              ends_before = static_cast<int>(min(p.end_segment - from, std::int64_t(batch)));
    unsigned left = 0;  // to the warp; bit i
    for (int i = 0; i < each; ++i) {
      const int s = i * threads + block.thread();
      const unsigned s_begin = in_tile(e.begin[i]), s_end = in_tile(e.end[i]);
      if (s > first && s < ends_before && s_end <= size && s_end - s_begin <= few) {
        A value = a.init;
        if (s_begin < s_end) value = static_cast<A>(a.op(a.init, fold_elements(a, stage, s_begin, s_end)));
        a.out[from + s] = static_cast<value_of<Out>>(value);
      } else if (s == first || (s > first && s <= ends_before && s_begin <= size)) {
        left |= 1u << i;
      }
    }
    bool found = false;
    while (const unsigned lanes_left = block.ballot(left != 0)) {
      const int lane = simt::trailing_zeros(lanes_left), i = simt::trailing_zeros(block.shuffle(left, lane));
      if (block.lane() == lane) left &= left - 1;
      const std::int64_t s = from + i * threads + (block.thread() - block.lane() + lane);
      found |= fold_by_warp(block, memory, a, stage, s, segment, begin, end);
    }
    return found;
  }

  /// The same for one segment.
  PMPP_HOST_DEVICE static bool fold_by_warp(auto& block, shared& memory, const arguments& a,
                                            typename layout::stage& stage, std::int64_t s, std::int64_t segment,
                                            std::int64_t begin, std::int64_t end) {
    const piece& p = memory.mine;
    const auto s_begin = static_cast<std::int64_t>(a.offsets[s]);
    const bool last = s == p.end_segment;
    const std::int64_t s_end = last ? end_of_time : static_cast<std::int64_t>(a.offsets[s + 1]);
    const auto first = static_cast<int>(max(s_begin, max(begin, p.begin)) - begin);
    const int n = static_cast<int>(min(s_end, end) - begin) - first, share = ceil_div(n, simt::warp_size) | 1;
    const auto of_lane = [&](int lane) { return first + min(n, lane * share); };
    const A sum = block::warp_reduce(block, fold_elements(a, stage, of_lane(block.lane()), of_lane(block.lane() + 1)),
                                     a.op, max(1, ceil_div(n, share)));
    if (block.lane() != 0) return false;
    segment_part<A> part{sum, 0, n > 0};
    if (s == segment) part = join{a.op}(memory.carry, part);
    if (s_end > end) {
      memory.stop = s;
      memory.next_end = s_end;
      memory.open = part;
    } else if (s_begin < p.begin) {
      memory.first = part;
    } else {
      a.out[s] = static_cast<value_of<Out>>(part.present ? static_cast<A>(a.op(a.init, part.value)) : a.init);
    }
    return s_end > end;
  }

  /// Marks the heads in the tile [begin, end) of those segments that are at hand. One thread finds the first that does
  /// not end in the tile, if it is among them: true.
  PMPP_HOST_DEVICE static bool mark(auto& block, shared& memory, const ends& e, std::int64_t from, std::int64_t begin,
                                    std::int64_t end) {
    const piece& p = memory.mine;
    bool found = false;
    for (int i = 0; i < each; ++i) {
      const std::int64_t s = from + i * threads + block.thread();
      const auto s_begin = static_cast<std::int64_t>(e.begin[i]);
      if (s > p.end_segment || s_begin > end) break;
      const bool last = s == p.end_segment;
      const std::int64_t s_end = s < p.segments ? static_cast<std::int64_t>(e.end[i]) : s_begin;
      if (s_begin < s_end && s_begin >= max(begin, p.begin) && s_begin < end) memory.marks[s_begin - begin] = 1;
      if (last || s_end > end) {
        memory.stop = s;
        memory.next_end = last ? end_of_time : s_end;
        memory.stop_is_empty = s_begin == end;
        found = true;
      }
    }
    return found;
  }

  /// Scans the tile, after the carry if its first element is no head, and leaves the results in it. Two barriers.
  /// Whole: all threads have all of their items.
  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static void scan(Block& block, shared& memory, const arguments& a, typename layout::stage& stage,
                                    std::int64_t begin, std::int64_t end) {
    const int first = block.thread() * items;
    int from = 0, to = items;
    if constexpr (!Whole) {
      const auto item = [&](std::int64_t i) {
        return static_cast<int>(min(max(i - begin - first, std::int64_t(0)), std::int64_t(items)));
      };
      from = item(memory.mine.begin);
      to = item(end);
    }
    const unsigned heads = take_heads<items>(memory.marks + first);
    A y[items]{};
    layout::for_items(a.in, stage, block.thread(), from, to,
                      [&](int k, const value_of<In>& x) { y[k] = static_cast<A>(x); });
    const segment_part<A> own = block::scan_items(y, heads, from, to, a.op);
    const segment_part<A> carry = memory.carry;  // which is written after the next barrier
    const segment_part<A> before = block::join_before<Whole>(block, memory.parts, own, carry, join{a.op});
    block::join_items(y, before, heads, from, to, a.op);
    for (int v = 0; v < layout::vectors; ++v) stage.store(first / Items + v, y + v * Items);
    if (block.thread() == threads - 1) {
      segment_part<A> all = join{a.op}(before, own);
      all.present = all.present && !memory.stop_is_empty;
      memory.carry = all;
    }
    block.sync();
  }

  /// Writes the values of segments before `stop`.
  PMPP_HOST_DEVICE static void write(auto& block, shared& memory, const arguments& a, typename layout::stage& stage,
                                     const ends& e, std::int64_t from, std::int64_t stop, std::int64_t begin) {
    for (int i = 0; i < each; ++i) {
      const std::int64_t s = from + i * threads + block.thread();
      if (s >= stop) break;
      const auto s_begin = static_cast<std::int64_t>(e.begin[i]), s_end = static_cast<std::int64_t>(e.end[i]);
      A value = a.init;
      if (s_begin < s_end) {
        const bool here = s_end > memory.mine.begin;  // else its last element was the last one of an earlier block
        A sum{};
        if (here) sum = stage.template stored<A>(static_cast<int>(s_end - 1 - begin));
        if (s_begin < memory.mine.begin) {
          memory.first = {sum, 0, here};
          continue;
        }
        value = static_cast<A>(a.op(a.init, sum));
      }
      a.out[s] = static_cast<value_of<Out>>(value);
    }
  }

  PMPP_HOST_DEVICE static segment_carry<A> carry_of(const shared& memory) {
    segment_part<A> last = memory.carry;
    last.heads = memory.mine.first_segment < memory.mine.end_segment;
    return {memory.first, last, memory.began_before ? memory.mine.first_segment : -1};
  }

  /// The block that started last: joins what the blocks have left, in their order.
  PMPP_HOST_DEVICE static void join_carries(auto& block, shared& memory, const arguments& a) {
    const auto blocks = static_cast<int>(block.count());
    const int each_thread = ceil_div(blocks, threads), first = min(blocks, block.thread() * each_thread);
    const int end = min(blocks, first + each_thread);
    const join join_with{a.op};
    segment_part<A> own{};
    segment_carry<A> c{};
    for (int i = first; i < end; ++i) {
      while (!a.carries.peek(i, c)) block.spin();
      own = join_with(own, c.last);
    }
    segment_part<A> before = block::join_before<false>(block, memory.parts, own, segment_part<A>{}, join_with);
    for (int i = first; i < end; ++i) {
      if (each_thread > 1) c = a.carries.take(block, i);  // else it is still at hand
      if (each_thread == 1) a.carries.clear(i);
      if (c.segment >= 0)
        a.out[c.segment] = static_cast<value_of<Out>>(static_cast<A>(a.op(a.init, join_with(before, c.first).value)));
      before = join_with(before, c.last);
    }
  }

  static constexpr std::int64_t end_of_time = std::int64_t(1) << 62;
};

/// Enqueues on a GPU or runs in the emulator.
template <segmented_tuning Tuning, class P, class In, class Offsets, class Out, class A, class Op>
void segmented_reduce_on_blocks(const P& where, const input<In>& in, const input<Offsets>& offsets, Out out, A init,
                                Op op) {
  detail::check_reachable(where, "segmented_reduce", zip_iterator{in.first, zip_iterator{offsets.first, out}});
  if (segmented_reduce_equal<Tuning>(where, in, offsets, out, init, op)) return;
  if (segmented_reduce_directly<Tuning>(where, in, offsets, out, init, op)) return;
  const auto enqueue = [&](auto tuning, auto items, std::int64_t lead) {
    using kernel = segmented_reduce_kernel<In, Offsets, Out, Op, A, items, decltype(tuning)::value>;
    using slots = block::tile_state<segment_carry<A>>;
    constexpr std::size_t counter_bytes = 16;  // the started blocks, in front of the slots
    const std::int64_t steps = in.count.bound + offsets.count.bound;
    const std::int64_t blocks = min(std::int64_t(kernel::min_blocks) * machine_of(where).multiprocessors,
                                    ceil_div(steps, std::int64_t(kernel::layout::elements)));
    const std::int64_t slot_count = blocks == 1 ? 0 : blocks;
    scratch memory(where, slots::payload_bytes(slot_count),
                   slot_count == 0 ? 0 : counter_bytes + slots::state_bytes(slot_count));
    unsigned* const started = memory.state();
    void* const state = started == nullptr ? nullptr : started + counter_bytes / sizeof *started;
    pmpp::launch(where, blocks, kernel{},
                 typename kernel::arguments{in.first, in.count, offsets.first, offsets.count, out, op, init, lead,
                                            divisor(blocks), started, slots(state, memory.data())});
  };
  block::with_access(in.first, [&](auto wide, std::int64_t lead) {
    // Computed elements may be much wider than what they are made of: such vectors would not fit shared memory.
    constexpr bool fits = decltype(wide)::value * max(sizeof(value_of<In>), sizeof(A)) <= 256;
    using items = std::integral_constant<int, fits ? int(decltype(wide)::value) : 1>;
    const std::int64_t items_lead = fits ? lead : 0;
    constexpr auto bytes_of = [](auto tuning) {
      using kernel = segmented_reduce_kernel<In, Offsets, Out, Op, A, items::value, decltype(tuning)::value>;
      return sizeof(typename kernel::shared);
    };
    with_fitting_tuning<segmented_tuning, Tuning, Tuning.least()>(
        "segmented_reduce", sizeof(A), where, bytes_of, [&](auto tuning) { enqueue(tuning, items{}, items_lead); });
  });
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
