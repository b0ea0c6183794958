// SPDX-License-Identifier: Apache-2.0
//
// Many pieces of memory moved in one call: segmented_copy, segmented_reverse, copy_batched.
//
//   r            a b c | d e f g h | | i          offsets 0 3 8 8 9
//   reverse      c b a | h g f e d | | i
//   copy         each segment to a place of its own in another array
//   copy_batched each piece from an address of its own to another, so many bytes of each
//
//   1. What is moved is numbered through all segments, element by element (of copy_batched byte by byte, by a scan of sizes), and
//      each segment's beginning counts as 16 bytes. Blocks take equal shares of that row, and cut them into tiles of up to 16 KB: so
//      a piece of a gigabyte is as good as a million of a kilobyte, and empty ones cost what their offsets take to read.
//   2. A block searches for the segment that its share begins in, of four tiles at most. Those of a tile come to shared memory with what has to be
//      known to move their elements, and windows of 16 bytes count how many segments begin up to them.
//   3. Where segments are short a thread moves an element, of the segment that its window and a step or two of a search tell.
//   4. Else it moves whole words of 16 bytes of the target: of a source that lies otherwise it reads the two words that cover them, and
//      shifts (block/load_of_run.hpp). Less than a word at either end of a segment goes by elements.
//
// Work: the items and the segments. (PMPP ch. 12, for the search; cub::DeviceMemcpy::Batched sorts pieces by size instead.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/block/load_of_run.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/block/search.hpp>
#include <pmpp/check_each.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Writes a word at a multiple of its size in one access, whatever its bytes are.
template <class Word>
PMPP_HOST_DEVICE void write_word(unsigned char* to, const Word& x) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<Word*>(to) = x;
#else
  memcpy(simt::detail::require_aligned(to, sizeof(Word)), &x, sizeof x);
#endif
}

/// Moves items [offsets[0], offsets[segments]). A Move tells of each segment a route, which a tile's blocks keep in shared memory;
/// load(route, item) and store(route, item, x); and where `words`, by from(route, item) and to(route, item), the addresses of items
/// whose copies lie as they do.
template <class Offsets, class Move>
struct move_items_kernel {
  using item = typename Move::item;
  using route = typename Move::route;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, each = Move::each, min_blocks = 4, size = sizeof(item);
  static constexpr int tile = size <= 16 ? 16384 / size : 1024;  ///< items; a segment's beginning counts as `cost`
  static constexpr int cost = ceil_div(16, size), segments = tile / cost + 2;
  static constexpr int window = max(16, size), windows = 1024, own = windows / threads, least = 64;

  struct shared {
    std::int64_t low, first, last;  ///< a share's first segment and first item; the item after a tile's last one
    int length;                     ///< segments of the tile
    int begins[segments + 1];       ///< counted in items from the tile's first one
    route routes[segments];
    alignas(16) int begun[windows];  ///< segments that begin in it; then also up to it
    int sums[threads / simt::warp_size];
  };
  struct arguments {
    Offsets offsets;
    item_count entries;  ///< of offsets, less `more`
    int more;
    Move move;
    divisor blocks;  ///< of the grid
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t count = a.entries.get() + a.more - 1;
    if (count < 1) return;
    const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(a.offsets[s]); };
    const std::int64_t origin = offset(0);
    // Beginnings and items in one row: that of segment s has this place.
    const auto place = [&](std::int64_t s, std::int64_t begin) { return begin - origin + s * cost; };
    const auto after = [&](std::int64_t s, std::int64_t begin, std::int64_t end, std::int64_t d) {
      return min(end, begin + max(std::int64_t(0), d - place(s, begin) - cost));
    };
    const auto clear = [&] {
      for (int w = 0; w < own; ++w) memory.begun[block.thread() * own + w] = 0;
    };
    // Equal shares of up to four tiles each, in eighths of a tile, as many for each block: what takes longer somewhere is shared out.
    constexpr std::uint32_t part = tile / 8, most = 32;
    const std::int64_t total = place(count, offset(count));
    const auto parts = static_cast<std::uint32_t>((static_cast<std::uint64_t>(total) + part - 1) / part);
    const std::uint32_t each_block = a.blocks.quotient(parts + a.blocks.value() - 1);
    const std::int64_t share =
        std::int64_t(part) * (each_block <= most ? each_block : ceil_div(each_block, ceil_div(each_block, most)));
    for (std::int64_t begin = block.index() * share; begin < total; begin += block.count() * share) {
      clear();
      if (block.warp() == 0) {
        const std::int64_t low =
            block::warp_search(block, 0, count, [&](std::int64_t s) { return place(s, offset(s)) <= begin; }) - 1;
        if (block.lane() == 0) memory.low = low, memory.first = after(low, offset(low), offset(low + 1), begin);
      }
      block.sync();
      std::int64_t low = memory.low, first = memory.first;
      const std::int64_t end = min(total, begin + share);
      for (std::int64_t d = begin; d < end; d += tile) {
        const std::int64_t limit = min(end, d + tile);
        if (d > begin) clear(), block.sync();
        for (int i = block.thread(); i < segments && low + i < count; i += threads) {
          const std::int64_t s = low + i, at = offset(s);
          if (place(s, at) >= limit) break;
          const std::int64_t next = offset(s + 1);
          memory.begins[i] = static_cast<int>(max(std::int64_t(0), at - first));
          memory.routes[i] = a.move.route_of(s);
          simt::atomic_add<simt::order::relaxed, simt::scope::block>(&memory.begun[memory.begins[i] * size / window],
                                                                     1);
          if (s + 1 < count && place(s + 1, next) < limit) continue;
          memory.length = i + 1;
          memory.last = after(s, at, next, limit);
          memory.begins[i + 1] = static_cast<int>(memory.last - first);
        }
        block.sync();
        sum_windows(block, memory);
        const int length = memory.length, items = memory.begins[length];
        const bool in_words = Move::words && length * least <= items;
        if constexpr (Move::words)
          if (in_words) move_words(block, memory, a.move, first, length, items);
        if (!in_words) move_each(block, memory, a.move, first, items);
        low += length - 1;
        first = memory.last;
        block.sync();  // before shared memory is written again
      }
    }
  }

private:
  /// Adds to each window those in front of it.
  template <class Block>
  PMPP_HOST_DEVICE static void sum_windows(Block& block, shared& memory) {
    int* const mine = memory.begun + block.thread() * own;
    int sum[own], before = 0;
    for (int w = 0; w < own; ++w) sum[w] = (w > 0 ? sum[w - 1] : 0) + mine[w];
    const int all = block::warp_inclusive_scan(block, sum[own - 1], plus{});
    if (block.lane() == simt::warp_size - 1) memory.sums[block.warp()] = all;
    block.sync();
    for (int w = 0; w < threads / simt::warp_size; ++w)
      if (w < block.warp()) before += memory.sums[w];
    for (int w = 0; w < own; ++w) mine[w] = sum[w] + before + all - sum[own - 1];
    block.sync();
  }
  /// The segment that item i lies in: the last of those that begin in its window, or before, that does not begin after it.
  PMPP_HOST_DEVICE static int segment_of(const shared& memory, int i) {
    const int w = static_cast<int>(unsigned(i) * unsigned(size) / unsigned(window));
    int base = w == 0 ? 0 : memory.begun[w - 1] - 1;
    for (int length = memory.begun[w] - 1 - base; length > 0; length /= 2) {
      const int half = (length + 1) / 2;
      if (memory.begins[base + half] <= i) base += half;
    }
    return base;
  }

  /// Short segments: a thread moves an item.
  template <class Block>
  PMPP_HOST_DEVICE static void move_each(Block& block, const shared& memory, const Move& move, std::int64_t first,
                                         int items) {
    for (int row = block.thread(); row < items; row += threads * each) {
      item x[each];
      int segment[each];
      for (int r = 0; r < each; ++r)
        if (const int i = row + r * threads; i < items) segment[r] = segment_of(memory, i);
      for (int r = 0; r < each; ++r)
        if (const int i = row + r * threads; i < items) x[r] = move.load(memory.routes[segment[r]], first + i);
      for (int r = 0; r < each; ++r)
        if (const int i = row + r * threads; i < items) move.store(memory.routes[segment[r]], first + i, x[r]);
    }
  }

  /// Long ones: a thread moves a whole word of 16 bytes of what is written. At most one begins in a window, of the segment that the
  /// window's last byte is of; what is left of each segment are fewer bytes than a word at either end.
  template <class Block>
  PMPP_HOST_DEVICE static void move_words(Block& block, const shared& memory, const Move& move, std::int64_t first,
                                          int length, int items) {
    constexpr int unit = min(16, int(alignof(item))), rounds = windows / threads;
    struct alignas(unit) word {
      unsigned char bytes[unit];
    };
    const auto past = [](const unsigned char* p) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % 16); };
    simt::quad x[rounds];
    unsigned char* target[rounds];
    for (int r = 0; r < rounds; ++r) {
      const int w = r * threads + block.thread();
      target[r] = nullptr;
      if (w * 16 >= items * size) continue;
      const int s = memory.begun[w] - 1, begin = memory.begins[s] * size, end = memory.begins[s + 1] * size;
      const unsigned char* const from = move.from(memory.routes[s], first);
      unsigned char* const to = move.to(memory.routes[s], first);
      const int at = w * 16 + (16 - past(to)) % 16;
      if (at < begin || at + 16 > end) continue;
      target[r] = to + at;
      x[r] = block::load_of_run<unit>(from + at, from + begin, from + end);
    }
    for (int r = 0; r < rounds; ++r)
      if (target[r] != nullptr) write_word(target[r], x[r]);

    constexpr int lanes = 32 / unit, together = 4;
    for (int row = block.thread(); row < length * lanes; row += threads * together) {
      word y[together];
      for (int r = 0; r < together; ++r) {
        target[r] = nullptr;
        const int i = row + r * threads, s = i / lanes, k = i % lanes * unit;
        if (s >= length) continue;
        const int begin = memory.begins[s] * size, end = memory.begins[s + 1] * size;
        const unsigned char* const from = move.from(memory.routes[s], first);
        unsigned char* const to = move.to(memory.routes[s], first);
        const int head = min(end, begin + (16 - past(to + begin)) % 16), tail = max(head, end - past(to + end));
        const int at = k < 16 ? begin + k : tail + k - 16;
        if (at >= (k < 16 ? head : end)) continue;
        target[r] = to + at;
        y[r] = block::read_word<word>(from + at);
      }
      for (int r = 0; r < together; ++r)
        if (target[r] != nullptr) write_word(target[r], y[r]);
    }
  }
};

/// Enqueues it on a GPU or runs it in the emulator; `most`: as many items as there can be, or -1.
template <class P, class Offsets, class Move>
void move_items(const P& where, const Offsets& offsets, const item_count& entries, int more, std::int64_t most,
                const Move& move) {
  using kernel = move_items_kernel<Offsets, Move>;
  const std::int64_t resident = resident_blocks<kernel>(machine_of(where)), total = most + entries.bound * kernel::cost;
  const std::int64_t blocks = most < 0 ? resident : min(resident, ceil_div(total, std::int64_t(kernel::tile / 8)));
  pmpp::launch(where, blocks, kernel{}, typename kernel::arguments{offsets, entries, more, move, divisor(blocks)});
}
/// The same on the host: each task has as many items.
template <class P, class Offsets, class Move>
void move_items_on_host([[maybe_unused]] const P& where, const Offsets& offsets, std::int64_t entries,
                        const Move& move) {
  if (entries < 2) return;
  const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(offsets[s]); };
  const std::int64_t origin = offset(0);
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    std::int64_t s =
        detail::partition_point(std::int64_t(0), entries, [&](std::int64_t e) { return offset(e) <= origin + begin; }) -
        1;
    for (std::int64_t i = origin + begin; i < origin + end; ++i) {
      while (offset(s + 1) <= i) ++s;
      const auto route = move.route_of(s);
      move.store(route, i, move.load(route, i));
    }
  };
  if constexpr (std::is_same_v<P, seq_policy>)
    part(0, offset(entries - 1) - origin);
  else
    host_loop::parallel_ranges(where, offset(entries - 1) - origin, part);
}

template <class T>
inline constexpr int items_in_flight = sizeof(T) <= 8    ? 8
                                       : sizeof(T) <= 16 ? 4
                                                         : 1;

/// Element i of a segment backwards: to a sum less i.
template <class In, class Out, class Offsets>
struct mirror_elements {
  using item = value_of<In>;
  using route = std::int64_t;
  static constexpr int each = items_in_flight<item>;
  static constexpr bool words = false;
  In in;
  Out out;
  Offsets offsets;
  PMPP_HOST_DEVICE route route_of(std::int64_t s) const {
    return static_cast<std::int64_t>(offsets[s]) + static_cast<std::int64_t>(offsets[s + 1]) - 1;
  }
  PMPP_HOST_DEVICE item load(route, std::int64_t i) const { return in[i]; }
  PMPP_HOST_DEVICE void store(route sum, std::int64_t i, const item& x) const {
    out[sum - i] = static_cast<value_of<Out>>(x);
  }
};
/// Element i of a segment to another place: so many after i.
template <class In, class Out, class Offsets, class Targets>
struct place_elements {
  using item = value_of<In>;
  using route = std::int64_t;
  static constexpr int each = items_in_flight<item>;
  static constexpr bool words = std::is_pointer_v<In> && std::is_same_v<Out, item*> && sizeof(item) <= 16;
  In in;
  Out out;
  Offsets offsets;
  Targets targets;
  PMPP_HOST_DEVICE route route_of(std::int64_t s) const {
    return static_cast<std::int64_t>(targets[s]) - static_cast<std::int64_t>(offsets[s]);
  }
  PMPP_HOST_DEVICE item load(route, std::int64_t i) const { return in[i]; }
  PMPP_HOST_DEVICE void store(route shift, std::int64_t i, const item& x) const {
    out[i + shift] = static_cast<value_of<Out>>(x);
  }
  PMPP_HOST_DEVICE const unsigned char* from(route, std::int64_t i) const {
    return reinterpret_cast<const unsigned char*>(in + i);
  }
  PMPP_HOST_DEVICE unsigned char* to(route shift, std::int64_t i) const {
    return reinterpret_cast<unsigned char*>(out + i + shift);
  }
};

/// Moves all elements of segments to their places.
template <class P, class In, class At, class Out, class Move>
void move_segments(const char* function, const P& where, const input<In>& in, const input<At>& offsets, const Out& out,
                   const Move& move) {
  static_assert(std::is_trivially_copyable_v<value_of<In>>, "pmpp: elements must be trivially copyable");
  detail::check_offsets(where, in, offsets);
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{zip_iterator{in.first, offsets.first}, out});
    detail::move_items(where, offsets.first, offsets.count, 0, in.count.bound, move);
  } else {
    detail::move_items_on_host(where, offsets.first, offsets.count.get(), move);
  }
}

struct bytes_of_piece {
  template <class Bytes>
  PMPP_HOST_DEVICE std::int64_t operator()(const Bytes& bytes) const {
    return max(std::int64_t(0), static_cast<std::int64_t>(bytes));
  }
};
/// Writes how many bytes there are up to each piece, behind a zero.
struct write_ends {
  std::int64_t* ends;
  PMPP_HOST_DEVICE void operator()(std::int64_t i, std::int64_t end) const {
    if (i == 0) ends[0] = 0;
    ends[i + 1] = end;
  }
};
/// Byte i of all is one of piece s, whose first one is that of number ends[s].
template <class Sources, class Targets>
struct place_bytes {
  using item = unsigned char;
  struct route {
    std::uintptr_t from, to;  ///< of byte 0, were it in the piece
  };
  static constexpr int each = 8;
  static constexpr bool words = true;
  Sources sources;
  Targets targets;
  const std::int64_t* ends;

  PMPP_HOST_DEVICE route route_of(std::int64_t s) const {
    const auto end = static_cast<std::uintptr_t>(ends[s]);
    return {reinterpret_cast<std::uintptr_t>(sources[s]) - end, reinterpret_cast<std::uintptr_t>(targets[s]) - end};
  }
  PMPP_HOST_DEVICE item load(const route& r, std::int64_t i) const { return *from(r, i); }
  PMPP_HOST_DEVICE void store(const route& r, std::int64_t i, item x) const { *to(r, i) = x; }
  PMPP_HOST_DEVICE const unsigned char* from(const route& r, std::int64_t i) const {
    return reinterpret_cast<const unsigned char*>(r.from + static_cast<std::uintptr_t>(i));
  }
  PMPP_HOST_DEVICE unsigned char* to(const route& r, std::int64_t i) const {
    return reinterpret_cast<unsigned char*>(r.to + static_cast<std::uintptr_t>(i));
  }
};

template <class Source, class Target>
constexpr bool require_addresses() {
  constexpr bool pointers = std::is_pointer_v<Source> && std::is_pointer_v<Target>;
  constexpr bool written = !std::is_const_v<std::remove_pointer_t<Target>>;
  static_assert(pointers, "pmpp::copy_batched: sources and targets must be ranges of pointers");
  static_assert(written, "pmpp::copy_batched: what targets point to is written: it must not be const");
  return pointers && written;
}

}  // namespace detail

/// Writes each segment of r backwards to the same places of out; what lies in no segment is not written.
///
/// \param r, offsets  as of segmented_reduce: segment s is [offsets[s], offsets[s + 1]); elements are trivially copyable.
/// \param out         an iterator, or a range as long as r; visible to `where`; apart from r and offsets (not in place).
/// \return the iterator past the place of r's last element.
/// Asynchronous on a GPU; no allocation; may be captured. Cost: elements read and written once, however they are spread over
/// segments; one launch. \throws as segmented_reduce. Example: test/segmented_copy.cpp, reverse.
template <execution_policy P, range_for<P> R, range_for<P> Offsets, output_for<P> O>
auto segmented_reverse(const P& where, R&& r, Offsets&& offsets, O&& out) {
  const char* const function = "segmented_reverse";
  const auto in = detail::with_stored(detail::input_of(function, r));
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, in, at);
  detail::check_output(function, "out", out, in.count.bound, in, at);
  using offset_iterator = std::remove_const_t<decltype(at.first)>;
  const auto to = detail::with_stored(detail::unwrap(detail::begin_of(out)));
  using move = detail::mirror_elements<std::remove_const_t<decltype(in.first)>, std::remove_const_t<decltype(to)>,
                                       offset_iterator>;
  detail::move_segments(function, where, in, at, to, move{in.first, to, at.first});
  return detail::begin_of(out) + in.count.bound;
}

/// Copies segment s of r, [offsets[s], offsets[s + 1]), to out[out_offsets[s]] and the following: rows of one table to rows of
/// another, wherever they begin there.
///
/// \param r, offsets   as of segmented_reverse.
/// \param out          an iterator or a range; visible to `where`; apart from all inputs. \pre room for what the segments take:
///                     that is not checked; no two segments go to one place.
/// \param out_offsets  an integer for each segment: a range, or an iterator; visible to `where`. In any order.
/// Asynchronous on a GPU; no allocation; may be captured. Cost and \throws as segmented_reverse; std::length_error if
/// out_offsets are fewer than segments. Example: test/segmented_copy.cpp, copy.
template <execution_policy P, range_for<P> R, range_for<P> Offsets, output_for<P> O, output_for<P> OutOffsets>
void segmented_copy(const P& where, R&& r, Offsets&& offsets, O&& out, OutOffsets&& out_offsets) {
  const char* const function = "segmented_copy";
  const auto in = detail::with_stored(detail::input_of(function, r));
  const auto at = detail::input_of(function, offsets);
  detail::require_offsets(function, in, at);
  const std::int64_t segments = at.count.bound - 1;
  detail::check_room(function, "out_offsets", out_offsets, segments);
  const auto targets = detail::input_of(function, detail::unwrap(detail::begin_of(out_offsets)), segments);
  static_assert(std::is_integral_v<value_of<std::remove_const_t<decltype(targets.first)>>>,
                "pmpp: offsets must be integers");
  const auto to = detail::unwrap(detail::begin_of(out));
  detail::require_writable<std::remove_const_t<decltype(to)>>();
  detail::require_not_null(function, "out", to, in.count.bound);
  detail::check_apart(function, "out", to, min(std::int64_t(1), in.count.bound), in);
  const auto stored = detail::with_stored(to);
  using move =
      detail::place_elements<std::remove_const_t<decltype(in.first)>, std::remove_const_t<decltype(stored)>,
                             std::remove_const_t<decltype(at.first)>, std::remove_const_t<decltype(targets.first)>>;
  detail::move_segments(function, where, in, at, stored, move{in.first, stored, at.first, targets.first});
}

/// Copies bytes[i] bytes from sources[i] to targets[i], for each of many pieces: memcpy for all of them in one call.
///
/// \param sources  a range of pointers, or two iterators, or an iterator and a device_count; visible to `where`. (Numbered pieces of
///                 one array: a transform_iterator over a counting_iterator.)
/// \param targets, bytes  ranges as long, or iterators; visible to `where`: pointers, and integers; 0 for nothing.
/// \pre what the pointers say is visible to `where`, at any address; targets overlap neither each other nor a source.
/// Asynchronous on a GPU; may be captured. Scratch: 8 bytes a piece and inclusive_scan's, from the workspace or one allocation each
/// in stream order. Cost: bytes read and written once, however they are spread over pieces; two launches.
/// \throws std::invalid_argument for null or reversed inputs, std::length_error for fewer targets or sizes than sources; cuda_error,
/// out_of_memory. Example: test/segmented_copy.cpp, batches.
template <execution_policy P, range_for<P> Sources, output_for<P> Targets, output_for<P> Sizes>
void copy_batched(const P& where, Sources&& sources, Targets&& targets, Sizes&& bytes) {
  const char* const function = "copy_batched";
  const auto from = detail::input_of(function, sources);
  const std::int64_t n = from.count.bound;
  detail::check_room(function, "targets", targets, n);
  detail::check_room(function, "bytes", bytes, n);
  const auto to = detail::input_of(function, detail::unwrap(detail::begin_of(targets)), n);
  const auto sizes = detail::input_of(function, detail::unwrap(detail::begin_of(bytes)), n);
  using source_iterator = std::remove_const_t<decltype(from.first)>;
  using target_iterator = std::remove_const_t<decltype(to.first)>;
  using size_iterator = std::remove_const_t<decltype(sizes.first)>;
  static_assert(std::is_integral_v<value_of<size_iterator>>, "pmpp::copy_batched: bytes must be integers");
  if constexpr (detail::require_addresses<value_of<source_iterator>, value_of<target_iterator>>()) {
    if (n == 0) return;
    using move = detail::place_bytes<source_iterator, target_iterator>;
    if constexpr (kernel_execution<P>) {
      detail::check_reachable(where, function, zip_iterator{zip_iterator{from.first, to.first}, sizes.first});
      detail::scratch memory(where, detail::checked_bytes(n + 1, sizeof(std::int64_t), function), 0);
      auto* const ends = memory.template take<std::int64_t>(n + 1);
      const auto counted =
          detail::mapped<std::int64_t>(detail::input<size_iterator>{sizes.first, from.count}, detail::bytes_of_piece{});
      auto sink = tabulate_output<std::int64_t>(detail::write_ends{ends});
      detail::scan_input<tuned<scan_tuning>, detail::scan_kind::inclusive>(function, where, counted, sink,
                                                                           detail::scan_start<std::int64_t>{}, plus{});
      detail::move_items(where, static_cast<const std::int64_t*>(ends), from.count, 1, -1,
                         move{from.first, to.first, ends});
    } else {
      const auto part = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          if (const auto size = static_cast<std::int64_t>(sizes.first[i]); size > 0)
            std::memcpy(static_cast<void*>(to.first[i]), static_cast<const void*>(from.first[i]),
                        static_cast<std::size_t>(size));
      };
      if constexpr (std::is_same_v<P, seq_policy>)
        part(0, from.count.get());
      else
        host_loop::parallel_for(where, from.count.get(), [&](std::int64_t i) { part(i, i + 1); });
    }
  }
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output O> requires reachable_by<It, P>
auto segmented_reverse(const P& where, It first, End last, Offsets&& offsets, O&& out) { return segmented_reverse(where, subrange{first, last}, offsets, out); }
template <execution_policy P, random_access It, end_of<It> End, random_access_range Offsets, output O, output OutOffsets> requires reachable_by<It, P>
void segmented_copy(const P& where, It first, End last, Offsets&& offsets, O&& out, OutOffsets&& out_offsets) { segmented_copy(where, subrange{first, last}, offsets, out, out_offsets); }
template <execution_policy P, random_access It, end_of<It> End, output Targets, output Sizes> requires reachable_by<It, P>
void copy_batched(const P& where, It first, End last, Targets&& targets, Sizes&& bytes) { copy_batched(where, subrange{first, last}, targets, bytes); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
