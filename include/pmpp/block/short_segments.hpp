// SPDX-License-Identifier: Apache-2.0
//
// How warps sort segments of numbers that lie in shared memory, without comparators: short ones without barriers too.
//
//   1. A lane takes up to 16 neighbours of a segment as words: unsigned numbers in the order of the elements. Places past
//      the end hold the largest number.
//   2. It sorts them in registers by a network of minima and maxima.
//   3. Where segments are longer, 2, 4, ... 32 lanes share one. Two sorted runs become one by comparing the first with the
//      last, the second with the last but one, ..., and then elements at half the distance, a quarter, ...: between lanes
//      by shuffles, within a lane in registers.
//
//          lane 0   lane 1                    A lane keeps the smaller or the larger ones, so that
//          1 4 6 9  2 3 5 8    1-8 4-5 6-3 9-2    1 4 3 2 | 9 6 5 8    and so on
//
//   4. Segments that are too long for a warp are shared by 2, 4, 8, ... of them. Their words lie in shared memory then, where a
//      thread takes eight that meet in three steps.
//
// A network is not stable: words of equal elements must be equal, or say where their elements lay. (Batcher, Sorting
// networks and their applications, 1968; PMPP ch. 13.)
#pragma once

#include <cstdint>

#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

namespace detail {

template <class Word>
PMPP_HOST_DEVICE void put_in_order(Word& x, Word& y) {
  const Word first = x, second = y;
  if constexpr (sizeof(Word) <= 4) {  // an instruction each
    x = min(first, second);
    y = max(first, second);
  } else {
    const bool swap = second < first;
    x = swap ? second : first;
    y = swap ? first : second;
  }
}

/// The smaller or the larger of two words: the comparison takes the choice along.
template <class Word>
PMPP_HOST_DEVICE void keep_one(Word& mine, Word its, bool larger_one) {
  mine = (its < mine) != larger_one ? its : mine;
}

/// Merges runs of Run elements, within groups of 2 * Run: Batcher's odd-even merge sort.
template <int Items, int Run = 1, int Distance = Run, class Word>
PMPP_HOST_DEVICE void sort_by_network(Word (&x)[Items]) {
  for (int k = Distance % Run; k + Distance < Items; ++k)
    if ((k - Distance % Run) / Distance % 2 == 0 && k / (2 * Run) == (k + Distance) / (2 * Run))
      put_in_order(x[k], x[k + Distance]);
  if constexpr (Distance > 1)
    sort_by_network<Items, Run, Distance / 2>(x);
  else if constexpr (2 * Run < Items)
    sort_by_network<Items, 2 * Run, 2 * Run>(x);
}

/// Sorts words that rise up to some place and fall from there on, or the other way round.
template <int Items, class Word>
PMPP_HOST_DEVICE void sort_bitonic(Word (&x)[Items]) {
  for (int distance = Items / 2; distance > 0; distance /= 2)
    for (int k = 0; k < Items; ++k)
      if ((k & distance) == 0) put_in_order(x[k], x[k + distance]);
}

/// The lanes that share a segment: `lanes` neighbours from lane `first` on.
struct sharing_lanes {
  int first, lanes;
};

/// Merges the sorted runs of the lanes that share a segment, of up to `most` lanes. Lanes that a segment lacks to a power of
/// two would hold nothing but the largest word, and keep it: where one would be asked nothing changes.
template <class Block, int Items, class Word>
PMPP_HOST_DEVICE void merge_lanes(Block& block, Word (&x)[Items], const sharing_lanes& of, int most) {
  const int own = block.lane() - of.first;
  for (int width = 2; width < 2 * most; width *= 2) {
    const auto ask = [&](int other) { return of.first + (other < of.lanes ? other : own); };
    const int mirror = own ^ (width - 1), from = ask(mirror);
    const bool upper = mirror < own, alone = mirror >= of.lanes;  // a lane alone keeps its smaller and its larger ones
    for (int k = 0; k < Items / 2; ++k) {
      Word& last = x[Items - 1 - k];
      const Word to_first = block.shuffle(last, from), to_last = block.shuffle(x[k], from);
      keep_one(x[k], to_first, upper);
      keep_one(last, to_last, upper || alone);
    }
    for (int distance = width / 4; distance > 0; distance /= 2) {
      const int other = ask(own ^ distance);
      for (int k = 0; k < Items; ++k) keep_one(x[k], block.shuffle(x[k], other), (own & distance) != 0);
    }
    sort_bitonic(x);
  }
}

}  // namespace detail

/// A tile of segments. One slot after every 16 stays empty: lanes with 16 neighbours each meet different banks.
template <class T, int Threads, int Items>
struct short_segments_memory {
  using element = T;
  static constexpr int threads = Threads, items = Items, tile = Threads * Items;

  PMPP_HOST_DEVICE static constexpr int slot(int i) { return i + static_cast<int>(static_cast<unsigned>(i) / 16); }

  // Bytes, because types with constructors cannot lie in shared memory.
  alignas(max(16, int(alignof(T)))) unsigned char bytes[slot(tile) * sizeof(T)];

  PMPP_HOST_DEVICE T* slots() { return reinterpret_cast<T*>(bytes); }
};

/// Elements of the longest segment that a warp sorts.
inline constexpr int short_segment = 16 * simt::warp_size;

namespace detail {

/// Sorts one segment of each lane, of up to `most` elements, or as many of them as the warp has lanes for: from the first
/// on, as many lanes share one as it has elements for, Items each. All lanes of the warp call it. Returns how many
/// segments are sorted.
///
/// Words: word(element, place in the segment), and element(word, exists, at) where at(place) is what lay there.
template <class Words, int Items, class Block, class Memory>
PMPP_HOST_DEVICE int sort_turn(Block& block, Memory& memory, int begin, int count, int most) {
  using T = typename Memory::element;
  using word = decltype(Words::word(T{}, 0));
  constexpr int warp_size = simt::warp_size;
  int sorted_segments = warp_size;
  sharing_lanes of{block.lane(), 1};
  if (most > Items) {
    of.lanes = count > 1 ? ceil_div(count, Items) : 0;
    const int end = warp_inclusive_scan(block, of.lanes, plus{});
    of.first = end - of.lanes;
    sorted_segments = simt::count_bits(block.ballot(end <= warp_size));
    int s = 0;  // the segment that this lane works for
    for (int step = warp_size / 2; step > 0; step /= 2)
      if (block.shuffle(end, s + step - 1) <= block.lane()) s += step;
    const bool works = (block.shuffle(end, s) > block.lane()) & (s < sorted_segments);
    begin = block.shuffle(begin, s);
    count = block.shuffle(count, s);
    of = {block.shuffle(of.first, s), block.shuffle(of.lanes, s)};
    if (!works) {
      of = {block.lane(), 1};
      count = 0;
    }
  }
  const int own = (block.lane() - of.first) * Items, have = count - own;  // have may be negative
  T* const slots = memory.slots();
  const auto at = [&](int place) -> T& { return slots[Memory::slot(begin + place)]; };
  word x[Items];
  for (int k = 0; k < Items; ++k) {
    x[k] = static_cast<word>(~word(0));
    if (k < have) x[k] = Words::word(at(own + k), own + k);
  }
  sort_by_network(x);
  if (most > Items) merge_lanes(block, x, of, ceil_div(most, Items));
  T sorted[Items];
  for (int k = 0; k < Items; ++k) sorted[k] = Words::element(x[k], k < have, at);
  block.sync_warp();
  for (int k = 0; k < Items; ++k)
    if (k < have) at(own + k) = sorted[k];
  return sorted_segments;
}

}  // namespace detail

/// Sorts the segments of a tile that have up to `longest` elements: segment s is [begin_of(s), begin_of(s + 1)). All threads of
/// the block call it, after a barrier; warps from `first_warp` on share the work.
template <class Words, class Block, class Memory, class Begin>
PMPP_HOST_DEVICE void sort_short_segments(Block& block, Memory& memory, int segments, Begin begin_of,
                                          int longest = short_segment, int first_warp = 0) {
  const int of_warp = static_cast<int>(ceil_div(unsigned(segments), unsigned(block.warps() - first_warp)));
  const int first = (block.warp() - first_warp) * of_warp, last = min(first + of_warp, segments);
  for (int next = first; next < last;) {
    const int s = next + block.lane();
    const int begin = s < last ? begin_of(s) : 0, all = s < last ? begin_of(s + 1) - begin : 0;
    const int count = all > longest ? 0 : all, most = block.warp_max(count);
    if (most <= 1)
      next += simt::warp_size;
    else if (most <= 4)
      next += detail::sort_turn<Words, 4>(block, memory, begin, count, most);
    else if (most <= 8 || (most > 16 && most <= 256))
      next += detail::sort_turn<Words, 8>(block, memory, begin, count, most);
    else
      next += detail::sort_turn<Words, 16>(block, memory, begin, count, most);
  }
}

/// What it takes to sort long segments beside their tile: which there are, and room for words on their way between warps.
template <class Word, int Threads, int Items>
struct long_segments_memory {
  static constexpr int items = Items;
  static constexpr int longest_short = Items * simt::warp_size;  ///< elements that a warp sorts
  static constexpr int most = max(1, Threads* Items / longest_short);

  int count;  ///< of long segments; the caller sets it to 0, and notes them
  int begin[most], length[most];
  Word words[Threads * (items + 1)];  ///< an odd number for each thread: lanes meet different banks

  PMPP_HOST_DEVICE void note(int first, int elements) {
    const int i = simt::atomic_add(&count, 1);
    begin[i] = first;
    length[i] = elements;
  }
};

namespace detail {

/// Which part of a long segment a thread has: it is shared by a power of two of warps, from a multiple of that on.
struct sharing_threads {
  int own = 0, threads = 0;  ///< the thread's number among those that share it
  int begin = 0, count = 0;  ///< where the segment lies in the tile
};

/// Keeps the smaller or the larger words of this lane's and those of a lane `flips` away. Mirrored: the first with the last, and so
/// on. All lanes of a warp call it.
template <class Block, class Word, int Items>
PMPP_HOST_DEVICE void keep_some_of_lane(Block& block, Word (&x)[Items], int flips, bool mirrored, bool upper) {
  Word its[Items];
  for (int k = 0; k < Items; ++k) its[k] = block.shuffle_xor(x[k], flips);
  for (int k = 0; k < Items; ++k) keep_one(x[k], mirrored ? its[Items - 1 - k] : its[k], upper);
}

/// Merges two sorted runs of width / 2 threads each, if it `merges`: three steps at a time, of eight words that a thread has to
/// itself meanwhile. Own: the thread's number in its segment. All threads of the block call it.
template <class Block, class Word, int Items>
PMPP_HOST_DEVICE void merge_warps(Block& block, Word* words, Word (&x)[Items], bool merges, int own, int width) {
  static_assert(Items == 8);
  const int t = own & (width - 1);
  Word* const of_runs = words + (block.thread() - t) * (Items + 1);
  const auto at = [&](int i) -> Word& { return of_runs[i + static_cast<int>(static_cast<unsigned>(i) / Items)]; };
  const auto each = [&](const auto& place, const auto& step) {
    if (!merges) return;
    Word y[Items];
    for (int k = 0; k < Items; ++k) y[k] = at(place(k));
    step(y);
    for (int k = 0; k < Items; ++k) at(place(k)) = y[k];
  };
  block.sync();  // words are free again
  if (merges)
    for (int k = 0; k < Items; ++k) at(t * Items + k) = x[k];
  block.sync();
  each([&](int k) { return k < Items / 2 ? t + k * width : (k + 1) * width - 1 - t; },
       [](Word(&y)[Items]) {
         for (int k = 0; k < Items / 2; ++k) put_in_order(y[k], y[Items - 1 - k]);
         for (int distance = Items / 4; distance > 0; distance /= 2)
           for (int k = 0; k < Items; ++k)
             if ((k & distance) == 0) put_in_order(y[k], y[k + distance]);
       });
  int apart = width;
  do {
    apart /= Items;
    block.sync();
    each([&](int k) { return (t & -apart) * Items + (t & (apart - 1)) + k * apart; },
         [](Word(&y)[Items]) { sort_bitonic(y); });
  } while (apart / Items >= Items);
  block.sync_warp();  // by which all words of its lanes were written
  if (!merges) return;
  for (int k = 0; k < Items; ++k) x[k] = at(t * Items + k);
  for (int flips = apart / Items / 2; flips > 0; flips /= 2)
    keep_some_of_lane(block, x, flips, false, (t & flips) != 0);
  sort_bitonic(x);
}

/// Sorts long segments, each shared by up to `most` threads.
template <class Words, class Block, class Memory, class LongMemory>
PMPP_HOST_DEVICE void sort_long_turn(Block& block, Memory& memory, LongMemory& of_long, const sharing_threads& of,
                                     int most) {
  using T = typename Memory::element;
  using word = decltype(Words::word(T{}, 0));
  constexpr int items = LongMemory::items, warp_size = simt::warp_size;
  const int own = of.own, first = own * items, have = of.count - first;  // have may be negative
  T* const slots = memory.slots();
  const auto at = [&](int place) -> T& { return slots[Memory::slot(of.begin + place)]; };
  word x[items];
  for (int k = 0; k < items; ++k) {
    x[k] = static_cast<word>(~word(0));
    if (k < have) x[k] = Words::word(at(first + k), first + k);
  }
  sort_by_network(x);
  if (of.threads > 0)
    for (int width = 2; width <= warp_size; width *= 2) {  // lanes that merge
      keep_some_of_lane(block, x, width - 1, true, (own & width / 2) != 0);
      for (int distance = width / 4; distance > 0; distance /= 2)
        keep_some_of_lane(block, x, distance, false, (own & distance) != 0);
      sort_bitonic(x);
    }
  for (int width = 2 * warp_size; width <= most; width *= 2)
    merge_warps(block, of_long.words, x, width <= of.threads, own, width);
  T sorted[items];
  for (int k = 0; k < items; ++k) sorted[k] = Words::element(x[k], k < have, at);
  block.sync();  // all have what they need
  for (int k = 0; k < items; ++k)
    if (k < have) at(first + k) = sorted[k];
}

}  // namespace detail

/// Sorts all segments of a tile. Of the long ones, with more elements than longest_short, of_long must have noted which they
/// are: 2, 4, 8, ... warps share one, and merge as lanes do, by way of shared memory; meanwhile others sort short ones. All
/// threads of the block call it, after a barrier.
template <class Words, class Block, class Memory, class LongMemory, class Begin>
PMPP_HOST_DEVICE void sort_all_segments(Block& block, Memory& memory, LongMemory& of_long, int segments,
                                        Begin begin_of) {
  int next = 0;
  do {
    const int before = next;
    detail::sharing_threads own;
    int most = 1, taken = 0;  // threads
    for (; next < of_long.count; ++next) {
      const int length = of_long.length[next];
      int threads = 2 * simt::warp_size;
      while (threads * LongMemory::items < length) threads *= 2;
      const int first = (taken + threads - 1) & -threads;
      if (first + threads > block.threads()) break;
      taken = first + threads;
      most = max(most, threads);
      if (block.thread() >= first && block.thread() < taken)
        own = {block.thread() - first, threads, of_long.begin[next], length};
    }
    const int free_warp = taken < block.threads() ? taken / simt::warp_size : 0;
    if (before == 0 && block.warp() >= free_warp)
      sort_short_segments<Words>(block, memory, segments, begin_of, LongMemory::longest_short, free_warp);
    if (taken > 0) detail::sort_long_turn<Words>(block, memory, of_long, own, most);
  } while (next < of_long.count);
}

}  // namespace pmpp::inline PMPP_BACKEND::block
