// SPDX-License-Identifier: Apache-2.0
//
// How warps sort short segments of numbers that lie in shared memory, without comparators and barriers.
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
// A network is not stable: words of equal elements must be equal, or say where their elements lay. (Batcher, Sorting
// networks and their applications, 1968; PMPP ch. 13.)
#pragma once

#include <cstdint>

#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

namespace detail {

template <class Word>
PMPP_HOST_DEVICE void put_in_order(Word& x, Word& y) {
  const Word first = x, second = y;
  if constexpr (sizeof(Word) <= 4) {  // an instruction each
    x = smaller(first, second);
    y = larger(first, second);
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
  alignas(larger(16, int(alignof(T)))) unsigned char bytes[slot(tile) * sizeof(T)];

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

/// Sorts the segments of a tile, of up to short_segment elements each: segment s is [begin_of(s), begin_of(s + 1)). All
/// threads of the block call it, after a barrier.
template <class Words, class Block, class Memory, class Begin>
PMPP_HOST_DEVICE void sort_short_segments(Block& block, Memory& memory, std::int64_t segments, Begin begin_of) {
  const std::int64_t of_warp = ceil_div(segments, std::int64_t(block.warps())), first = block.warp() * of_warp;
  const std::int64_t last = smaller(first + of_warp, segments);
  for (std::int64_t next = first; next < last;) {
    const std::int64_t s = next + block.lane();
    const int begin = s < last ? begin_of(s) : 0, count = s < last ? begin_of(s + 1) - begin : 0;
    const int most = block.warp_max(count);
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

}  // namespace pmpp::inline PMPP_BACKEND::block
