// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of segmented.hpp share: a tile in shared memory, and its segmented scan.
//
// A tile has `items` consecutive elements for each thread of a block. They come in coalesced, by asynchronous copies of
// one vector each, and a thread reads its own ones from there. A head is an element that begins a segment; heads are
// one bit an element in a register. A thread scans its elements from head to head; then the threads scan what they end
// with. In front of a head nothing joins:
//
//     elements    1 2 3 4 | 5 6 7 8 | 9 1 2 3        three threads of four elements
//     heads       ^     ^                 ^
//     scanned     1 3 6 4 | 5 11 18 26 | 9 10 2 5    by each thread
//     joined              | 9 15 22 30 | 39 40
//
// (Segmented scan by pairs of flag and value: Schwartz, 1980; Blelloch, 1990. PMPP ch. 11.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct segmented_tuning {
  int threads = 256;   ///< of a block; fewer for large elements
  int bytes = 80;      ///< of elements a thread: a tile has threads * bytes
  int stages = 2;      ///< tiles of segmented_reduce in shared memory: one is worked on, the others are on their way
  int min_blocks = 4;  ///< that the compiler makes room for on a multiprocessor
  // segmented_reduce goes segment by segment (segmented/direct.hpp), with no tiles,
  std::int64_t short_input = 1 << 24;     ///< up to this many elements (0: never)
  std::int64_t short_segments = 1 << 18;  ///< in this many segments,
  std::int64_t long_average = 1 << 12;    ///< or where segments have this many elements on average (0: never)
  int row_bytes = 48 * 1024;              ///< of a vector of each thread, at most: else there are fewer threads

  /// Where blocks have too little shared memory for these tiles.
  constexpr segmented_tuning least() const {
    segmented_tuning tuning = *this;
    tuning.threads = min(threads, 64);
    tuning.bytes = min(bytes, 144);
    tuning.row_bytes = min(row_bytes, 12 * 1024);
    return tuning;
  }
};

/// Of the calls whose tiles wait for those before: a block of each multiprocessor has two tiles in shared memory.
inline constexpr segmented_tuning segmented_scan_tuning{.threads = 512, .bytes = 192, .stages = 2, .min_blocks = 1};
inline constexpr segmented_tuning run_tuning{.threads = 480, .bytes = 224, .stages = 2, .min_blocks = 1};
inline constexpr segmented_tuning run_length_tuning{.threads = 480, .bytes = 224, .stages = 2, .min_blocks = 1};

namespace detail {

/// Adjacent elements: how many heads they have, and what those from the last head on (all, without a head) combine to.
template <class A>
struct part {
  A value{};
  unsigned heads = 0;
  bool present = false;  ///< there is a value
};
template <class A, class Op>
struct join_parts {
  Op op;
  PMPP_HOST_DEVICE part<A> operator()(const part<A>& left, const part<A>& right) const {
    if (right.heads != 0 || !left.present) return {right.value, left.heads + right.heads, right.present};
    if (!right.present) return left;
    return {static_cast<A>(op(left.value, right.value)), left.heads, true};
  }
};

/// Shared memory of join_before. It may be reused after the next barrier.
template <class A>
struct parts_memory {
  part<A> warp[simt::warp_size];
};

/// What the lanes up to each one of a warp combine to. All lanes call. Whole: all have a value; then one ballot tells
/// how far each lane reaches, which takes half of the instructions, and whether there are heads, not how many.
template <bool Whole, class Block, class A, class Op>
PMPP_HOST_DEVICE part<A> scan_parts(Block& block, part<A> p, const join_parts<A, Op>& join) {
  if constexpr (Whole) {
    constexpr int lanes = simt::warp_size;
    const unsigned heads_up_to = block.ballot(p.heads != 0) << (lanes - 1 - block.lane());
    const int reach = min(block.lane(), simt::leading_zeros(heads_up_to));
    for (int d = 1; d < lanes; d *= 2) {
      const A left = block.shuffle_up(p.value, d);
      if (d <= reach) p.value = static_cast<A>(join.op(left, p.value));
    }
    p.heads = heads_up_to != 0;
    return p;
  } else {
    return block::warp_inclusive_scan(block, p, join);
  }
}

/// Joins `first` and the parts of all threads before this one. All threads call. One barrier. Whole: all threads have a
/// value.
template <bool Whole, class Block, class A, class Op>
PMPP_HOST_DEVICE part<A> join_before(Block& block, parts_memory<A>& memory, const part<A>& own, const part<A>& first,
                                     const join_parts<A, Op>& join) {
  constexpr int lanes = simt::warp_size;
  const part<A> scanned = scan_parts<Whole>(block, own, join);
  if (block.lane() == lanes - 1) memory.warp[block.warp()] = scanned;
  part<A> left = block.shuffle_up(scanned, 1);
  block.sync();
  part<A> before = first;
  for (int w = 0; w < block.warp(); ++w) {
    part<A> warp = memory.warp[w];
    if (Whole) warp.present = true;
    before = join(before, warp);
  }
  if (Whole) left.present = true;
  return block.lane() == 0 ? before : join(before, left);
}

/// The number of leading indices in [0, n) for which `holds` is true; it is true for none after the first for which it
/// is false. All lanes of a warp call and get it. Each round narrows the search to a 32nd.
template <class Block, class F>
PMPP_HOST_DEVICE std::int64_t count_leading(Block& block, std::int64_t n, F holds) {
  constexpr int lanes = simt::warp_size;
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t piece = ceil_div(high - low, std::int64_t(lanes));
    const std::int64_t last = low + (block.lane() + 1) * piece - 1;  // of the lane's piece
    const int pieces = block.warp_add(last < high && holds(last) ? 1 : 0);
    low = min(high, low + pieces * piece);
    high = min(high, low + piece - 1);
  }
  return low;
}

/// The same, near `guess`: 16 questions at growing distances to it come first.
template <class Block, class F>
PMPP_HOST_DEVICE std::int64_t count_leading_near(Block& block, std::int64_t n, std::int64_t guess, F holds) {
  guess = min(max(guess, std::int64_t(0)), n);
  const auto place = [&](int l) {
    return l < 8 ? guess - (std::int64_t(1) << 3 * (7 - l)) : guess - 1 + (std::int64_t(1) << 3 * (l - 8));
  };
  const std::int64_t mine = place(min(block.lane(), 15));
  const int held = block.warp_add(block.lane() < 16 && (mine < 0 || (mine < n && holds(mine))) ? 1 : 0);
  const std::int64_t low = held == 0 ? 0 : max(std::int64_t(0), place(held - 1) + 1);
  const std::int64_t high = held == 16 ? n : min(n, place(held));
  return low + count_leading(block, high - low, [&](std::int64_t i) { return holds(low + i); });
}

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
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, stage& to, const In& in, const block::ordered_layout<Items>& data,
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
      const int from = data.begin_of(first + v), behind_last = data.end_of(first + v);
      if (behind_last - from == Items)
        block::access<In>::template load_async<Items>(in, data.element(first + v), to.loaded(v));
      else
        to.loaded(v) = block::access<In>::template load_part<Items>(in, data.element(first + v), from, behind_last);
    }
  }

  /// Calls visit(k, element) for items [begin, end) of a thread.
  template <class Visit>
  PMPP_HOST_DEVICE static void for_items(const In& in, stage& from, int thread, int begin, int end, Visit visit) {
    for (int r = 0; r < vectors; ++r) {
      const raw x = from.loaded(thread * vectors + r);
      for (int k = 0; k < Items; ++k)
        if (r * Items + k >= begin && r * Items + k < end) visit(r * Items + k, block::access<In>::value(in, x, k));
    }
  }
};

/// Scans items [begin, end) of a thread from head to head; bit k of `heads`: item k is one. Item k of `y` becomes the
/// combination of the items from the last head on (from `begin` on, without one).
template <class A, int N, class Op>
PMPP_HOST_DEVICE part<A> scan_items(A (&y)[N], unsigned heads, int begin, int end, Op op) {
  part<A> last{};
  for (int k = 0; k < N; ++k) {
    if (k < begin || k >= end) continue;
    if (last.present && (heads >> k & 1) == 0) y[k] = static_cast<A>(op(last.value, y[k]));
    last.value = y[k];
    last.present = true;
  }
  last.heads = static_cast<unsigned>(simt::count_bits(heads));
  return last;
}

/// Puts what precedes the thread in front of the items before its first head.
template <class A, int N, class Op>
PMPP_HOST_DEVICE void join_items(A (&y)[N], const part<A>& before, unsigned heads, int begin, int end, Op op) {
  if (!before.present) return;
  end = min(end, simt::trailing_zeros(heads));
  for (int k = 0; k < N; ++k)
    if (k >= begin && k < end) y[k] = static_cast<A>(op(before.value, y[k]));
}

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

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
