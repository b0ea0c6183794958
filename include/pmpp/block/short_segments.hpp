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

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

namespace detail {

template <class Word>
PMPP_HOST_DEVICE void put_in_order(Word& x, Word& y) {
  const Word low = smaller(x, y);
  y = larger(x, y);
  x = low;
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

/// Merges the sorted runs of groups of `lanes` lanes, then of groups twice as large, up to `all` lanes.
template <class Block, int Items, class Word>
PMPP_HOST_DEVICE void merge_lanes(Block& block, Word (&x)[Items], int all) {
  for (int lanes = 2; lanes <= all; lanes *= 2) {
    bool upper = (block.lane() & lanes / 2) != 0;
    const auto keep = [&](Word& mine, Word other) { mine = upper ? larger(mine, other) : smaller(mine, other); };
    for (int k = 0; k < Items / 2; ++k) {
      Word& last = x[Items - 1 - k];
      const Word to_first = block.shuffle_xor(last, lanes - 1), to_last = block.shuffle_xor(x[k], lanes - 1);
      keep(x[k], to_first);
      keep(last, to_last);
    }
    for (int distance = lanes / 4; distance > 0; distance /= 2) {
      upper = (block.lane() & distance) != 0;
      for (int k = 0; k < Items; ++k) keep(x[k], block.shuffle_xor(x[k], distance));
    }
    sort_bitonic(x);
  }
}

}  // namespace detail

/// Elements of the longest segment that a warp sorts.
inline constexpr int short_segment = 16 * simt::warp_size;

/// Sorts a segment of `count` elements, at most Items for each of `lanes` neighbouring lanes, a power of two; place i of the
/// tile lies in memory.slot(i). All lanes of the warp call it.
///
/// Words: word(element, place in the segment), and element(word, at) where at(place) is what lay there.
template <class Words, int Items, class Block, class Memory>
PMPP_HOST_DEVICE void sort_short_segment(Block& block, Memory& memory, int begin, int count, int lanes) {
  using T = typename Memory::element;
  using word = decltype(Words::word(T{}, 0));
  const int own = (block.lane() & (lanes - 1)) * Items, have = count - own;  // have may be negative
  T* const slots = memory.slots();
  const auto at = [&](int place) -> T& { return slots[Memory::slot(begin + place)]; };
  word x[Items];
  for (int k = 0; k < Items; ++k) x[k] = k < have ? Words::word(at(own + k), own + k) : static_cast<word>(~word(0));
  detail::sort_by_network(x);
  if (Items == 16) detail::merge_lanes(block, x, lanes);
  T sorted[Items]{};
  for (int k = 0; k < Items; ++k)
    if (k < have) sorted[k] = Words::element(x[k], at);
  block.sync_warp();
  for (int k = 0; k < Items; ++k)
    if (k < have) at(own + k) = sorted[k];
}

/// Sorts the segments of a tile, of up to short_segment elements each: segment s is [begin_of(s), begin_of(s + 1)). All
/// threads of the block call it, after a barrier.
template <class Words, class Block, class Memory, class Begin>
PMPP_HOST_DEVICE void sort_short_segments(Block& block, Memory& memory, std::int64_t segments, Begin begin_of) {
  constexpr int warp_size = simt::warp_size;
  int batch = 1;  // segments of a warp at a time: few where they are long, so that all warps have some
  while (batch < warp_size && batch * block.warps() < segments) batch *= 2;
  for (std::int64_t first = block.warp() * batch; first < segments; first += block.warps() * batch) {
    const std::int64_t s = first + block.lane();
    const bool has_one = block.lane() < batch && s < segments;
    const int begin = has_one ? begin_of(s) : 0, count = has_one ? begin_of(s + 1) - begin : 0;
    const int most = block.warp_max(count);
    if (most <= 1) continue;
    if (most <= 4) {
      sort_short_segment<Words, 4>(block, memory, begin, count, 1);
    } else if (most <= 8) {
      sort_short_segment<Words, 8>(block, memory, begin, count, 1);
    } else {
      int lanes = 1;
      while (16 * lanes < most) lanes *= 2;
      for (int turn = 0; turn < batch; turn += warp_size / lanes) {
        const int of = turn + block.lane() / lanes;
        sort_short_segment<Words, 16>(block, memory, block.shuffle(begin, of), block.shuffle(count, of), lanes);
      }
    }
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
