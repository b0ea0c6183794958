// SPDX-License-Identifier: Apache-2.0
//
// Many pieces of memory moved in one call: segmented_copy, segmented_reverse, copy_batched.
//
//   r            a b c | d e f g h | | i          offsets 0 3 8 8 9
//   reverse      c b a | h g f e d | | i
//   copy         each segment to a place of its own in another array
//   copy_batched each piece from an address of its own to another, so many bytes of each
//
//   1. What is moved is numbered through all segments, and cut into tiles: 2048 elements of up to 8 bytes, or for copy_batched 1024
//      of the words of 16 bytes that the pieces have in their targets, which a scan of their sizes numbers. So a piece of a gigabyte is as good as a
//      million of a kilobyte, and empty ones cost what their sizes take to read.
//   2. Two warps search for the segments of a tile's first and last item; the offsets between come to shared memory, and each
//      thread finds the segments of its items there, of all in step.
//   3. It loads its items, then it stores them. copy_batched stores whole words; the words at the ends of a piece, of which it
//      has a part, byte by byte. It loads as wide as the source's address allows.
//
// Work: the items and the segments. (PMPP ch. 12, for the search; cub::DeviceMemcpy::Batched sorts pieces by size instead.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/block/search.hpp>
#include <pmpp/check_each.hpp>
#include <pmpp/core/config.hpp>
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
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Moves items [offsets[0], offsets[segments]), each of which knows its segment: move.load(segment, item), move.store(...).
template <class Offsets, class Move>
struct move_items_kernel {
  using item = typename Move::item;
  static constexpr int threads = 256, each = Move::each, tile = threads * each, window = 1024, min_blocks = 4;

  struct shared {
    std::int64_t low, high;
    int begins[window];  ///< of segments that begin in the tile, counted from its first item
  };
  struct arguments {
    Offsets offsets;
    item_count entries;  ///< of offsets, less `more`
    int more;
    Move move;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const std::int64_t entries = a.entries.get() + a.more;
    if (entries < 2) return;
    const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(a.offsets[s]); };
    const std::int64_t begin = offset(0), end = offset(entries - 1);
    for (std::int64_t first = begin + block.index() * tile; first < end; first += block.count() * tile) {
      const int count = static_cast<int>(min(end - first, std::int64_t(tile)));
      // Segments [low, high) begin after the first item and not after the last one; that of the first item is low - 1.
      const auto begun = [&](std::int64_t place) {
        return block::warp_search(block, 0, entries, [&](std::int64_t s) { return offset(s) <= place; });
      };
      if (block.warp() == 0)
        if (const std::int64_t found = begun(first); block.lane() == 0) memory.low = found;
      if (block.warp() == 1)
        if (const std::int64_t found = begun(first + count - 1); block.lane() == 0) memory.high = found;
      block.sync();
      const std::int64_t low = memory.low, length = memory.high - low;
      std::int64_t segment[each];
      if (length <= window) {
        for (int i = block.thread(); i < int(length); i += threads)
          memory.begins[i] = static_cast<int>(offset(low + i) - first);
        block.sync();
        find_segments(
            block, int(length), low, [&](int s, int i) { return memory.begins[s] <= i; }, segment);
      } else {
        find_segments(
            block, length, low, [&](std::int64_t s, int i) { return offset(low + s) <= first + i; }, segment);
      }
      item x[each];
      for (int r = 0; r < each; ++r)
        if (const int i = r * threads + block.thread(); i < count) x[r] = a.move.load(segment[r], first + i);
      for (int r = 0; r < each; ++r)
        if (const int i = r * threads + block.thread(); i < count) a.move.store(segment[r], first + i, x[r]);
      block.sync();  // before shared memory is written again
    }
  }

private:
  /// The segments of a thread's items, of `length` that begin in the tile: the searches take the same steps.
  template <class Block, class Index, class Begins>
  PMPP_HOST_DEVICE static void find_segments(Block& block, Index length, std::int64_t low, const Begins& begins,
                                             std::int64_t (&segment)[each]) {
    Index base[each]{};
    for (; length > 0; length /= 2)
      for (int r = 0; r < each; ++r) {
        const Index half = (length + 1) / 2;
        if (begins(base[r] + half - 1, r * threads + block.thread())) base[r] += half;
      }
    for (int r = 0; r < each; ++r) segment[r] = low - 1 + base[r];
  }
};

/// Enqueues it on a GPU or runs it in the emulator; `most`: as many items as there can be, or -1.
template <class P, class Offsets, class Move>
void move_items(const P& where, const Offsets& offsets, const item_count& entries, int more, std::int64_t most,
                const Move& move) {
  using kernel = move_items_kernel<Offsets, Move>;
  const std::int64_t resident = resident_blocks<kernel>(machine_of(where));
  const std::int64_t blocks = most < 0 ? resident : min(resident, ceil_div(most, std::int64_t(kernel::tile)));
  pmpp::launch(where, blocks, kernel{}, typename kernel::arguments{offsets, entries, more, move});
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
      move.store(s, i, move.load(s, i));
    }
  };
  if constexpr (std::is_same_v<P, seq_policy>)
    part(0, offset(entries - 1) - origin);
  else
    host_loop::parallel_ranges(where, offset(entries - 1) - origin, part);
}

/// Element i of segment s goes to place(s, i).
template <class In, class Out, class Place>
struct move_elements {
  using item = value_of<In>;
  static constexpr int each = sizeof(item) <= 8 ? 8 : sizeof(item) <= 16 ? 4 : 1;
  In in;
  Out out;
  Place place;
  PMPP_HOST_DEVICE item load(std::int64_t, std::int64_t i) const { return in[i]; }
  PMPP_HOST_DEVICE void store(std::int64_t s, std::int64_t i, const item& x) const {
    out[place(s, i)] = static_cast<value_of<Out>>(x);
  }
};
template <class Offsets>
struct mirrored_place {
  Offsets offsets;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t s, std::int64_t i) const {
    return static_cast<std::int64_t>(offsets[s]) + static_cast<std::int64_t>(offsets[s + 1]) - 1 - i;
  }
};
template <class Offsets, class Targets>
struct place_in_target {
  Offsets offsets;
  Targets targets;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t s, std::int64_t i) const {
    return static_cast<std::int64_t>(targets[s]) + (i - static_cast<std::int64_t>(offsets[s]));
  }
};

/// Moves all elements of segments to their places.
template <class P, class In, class At, class Out, class Place>
void move_segments(const char* function, const P& where, const input<In>& in, const input<At>& offsets, const Out& out,
                   const Place& place) {
  static_assert(std::is_trivially_copyable_v<value_of<In>>, "pmpp: elements must be trivially copyable");
  detail::check_offsets(where, in, offsets);
  const move_elements<In, Out, Place> move{in.first, out, place};
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{zip_iterator{in.first, offsets.first}, out});
    detail::move_items(where, offsets.first, offsets.count, 0, in.count.bound, move);
  } else {
    detail::move_items_on_host(where, offsets.first, offsets.count.get(), move);
  }
}

// ---- Bytes ---------------------------------------------------------------------------------------------------------

/// Reads a word at a multiple of its size in one access, whatever its bytes are.
template <class Word>
PMPP_HOST_DEVICE Word read_word(const unsigned char* from) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const Word*>(from);
#else
  Word x;
  memcpy(&x, simt::detail::require_aligned(from, sizeof(Word)), sizeof x);
  return x;
#endif
}
template <class Word>
PMPP_HOST_DEVICE void write_word(unsigned char* to, const Word& x) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<Word*>(to) = x;
#else
  memcpy(simt::detail::require_aligned(to, sizeof(Word)), &x, sizeof x);
#endif
}
/// 16 bytes from any address; the words around them are read too.
PMPP_HOST_DEVICE inline simt::quad read_across(const unsigned char* from) {
  const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 4);
  std::uint32_t word[5];
  for (int w = 0; w < 5; ++w) word[w] = read_word<std::uint32_t>(from - past + 4 * w);
  simt::quad x;
  for (int w = 0; w < 4; ++w)
    x.word[w] = static_cast<std::uint32_t>((std::uint64_t(word[w + 1]) << 32 | word[w]) >> (8 * past));
  return x;
}

/// The words of 16 bytes that `bytes` bytes from `to` on have a part in.
struct words_of_piece {
  template <class To, class Bytes>
  PMPP_HOST_DEVICE std::int64_t operator()(const To& to, const Bytes& bytes) const {
    const auto n = static_cast<std::int64_t>(bytes);
    const auto past = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % 16);
    return n <= 0 ? 0 : ceil_div(past + n, std::int64_t(16));
  }
};
/// Writes how many words there are up to each piece, behind a zero.
struct write_ends {
  std::int64_t* ends;
  PMPP_HOST_DEVICE void operator()(std::int64_t i, std::int64_t end) const {
    if (i == 0) ends[0] = 0;
    ends[i + 1] = end;
  }
};
/// Item `i` of all is a word of piece s.
template <class Sources, class Targets, class Sizes>
struct move_words {
  using item = simt::quad;
  static constexpr int each = 4;
  Sources sources;
  Targets targets;
  Sizes sizes;
  const std::int64_t* ends;

  PMPP_HOST_DEVICE item load(std::int64_t s, std::int64_t i) const {
    const part p(*this, s, i);
    item x{};
    const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(p.from) % 16);
    const bool whole = p.first == 0 && p.last == 16;
    if (!whole || (past % 4 != 0 && (p.begin < 3 || p.begin + 19 > p.size)))
      for (int k = 0; k < 16; ++k) {
        if (k >= p.first && k < p.last) x.word[k / 4] |= std::uint32_t(p.from[k]) << k % 4 * 8;
      }
    else if (past == 0)
      x = read_word<simt::quad>(p.from);
    else if (past % 4 == 0)
      for (int w = 0; w < 4; ++w) x.word[w] = read_word<std::uint32_t>(p.from + 4 * w);
    else
      x = read_across(p.from);
    return x;
  }
  PMPP_HOST_DEVICE void store(std::int64_t s, std::int64_t i, const item& x) const {
    const part p(*this, s, i);
    if (p.first == 0 && p.last == 16) return write_word(p.to, x);
    for (int k = 0; k < 16; ++k)
      if (k >= p.first && k < p.last) p.to[k] = static_cast<unsigned char>(x.word[k / 4] >> k % 4 * 8);
  }

private:
  /// The word's place; of its 16 bytes, the piece has [first, last).
  struct part {
    const unsigned char* from;
    unsigned char* to;
    std::int64_t begin, size;  ///< where the word begins in the piece, and how long that is
    int first, last;

    PMPP_HOST_DEVICE part(const move_words& m, std::int64_t s, std::int64_t i) {
      auto* const target = static_cast<unsigned char*>(static_cast<void*>(m.targets[s]));
      size = static_cast<std::int64_t>(m.sizes[s]);
      begin = (i - m.ends[s]) * 16 - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(target) % 16);
      first = static_cast<int>(max(std::int64_t(0), -begin));
      last = static_cast<int>(min(std::int64_t(16), size - begin));
      from = static_cast<const unsigned char*>(static_cast<const void*>(m.sources[s])) + begin;
      to = target + begin;
    }
  };
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
  detail::require_offsets(function, at);
  detail::check_output(function, "out", out, in.count.bound, in, at);
  using offset_iterator = std::remove_const_t<decltype(at.first)>;
  detail::move_segments(function, where, in, at, detail::with_stored(detail::unwrap(detail::begin_of(out))),
                        detail::mirrored_place<offset_iterator>{at.first});
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
  detail::require_offsets(function, at);
  const std::int64_t segments = at.count.bound - 1;
  detail::check_room(function, "out_offsets", out_offsets, segments);
  const auto targets = detail::input_of(function, detail::unwrap(detail::begin_of(out_offsets)), segments);
  static_assert(std::is_integral_v<value_of<std::remove_const_t<decltype(targets.first)>>>,
                "pmpp: offsets must be integers");
  const auto to = detail::unwrap(detail::begin_of(out));
  detail::require_writable<std::remove_const_t<decltype(to)>>();
  detail::require_not_null(function, "out", to, in.count.bound);
  detail::check_apart(function, "out", to, min(std::int64_t(1), in.count.bound), in);
  using place =
      detail::place_in_target<std::remove_const_t<decltype(at.first)>, std::remove_const_t<decltype(targets.first)>>;
  detail::move_segments(function, where, in, at, detail::with_stored(to), place{at.first, targets.first});
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
    using words = detail::move_words<source_iterator, target_iterator, size_iterator>;
    if constexpr (kernel_execution<P>) {
      detail::check_reachable(where, function, zip_iterator{zip_iterator{from.first, to.first}, sizes.first});
      detail::scratch memory(where, detail::checked_bytes(n + 1, sizeof(std::int64_t), function), 0);
      auto* const ends = memory.template take<std::int64_t>(n + 1);
      using ends_of = zip_iterator<target_iterator, size_iterator>;
      const auto counted =
          detail::mapped<std::int64_t>(detail::input<ends_of>{ends_of(to.first, sizes.first), from.count},
                                       detail::apply_to_pair<detail::words_of_piece>{});
      auto sink = tabulate_output<std::int64_t>(detail::write_ends{ends});
      detail::scan_input<tuned<scan_tuning>, detail::scan_kind::inclusive>(function, where, counted, sink,
                                                                           detail::scan_start<std::int64_t>{}, plus{});
      detail::move_items(where, static_cast<const std::int64_t*>(ends), from.count, 1, -1,
                         words{from.first, to.first, sizes.first, ends});
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
