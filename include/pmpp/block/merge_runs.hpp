// SPDX-License-Identifier: Apache-2.0
//
// How a block merges two or four sorted runs: one tile of the result.
//
//   1. The places where the tile begins and ends in each run come from elsewhere (a warp: `cut_two`, four lanes: `cut_four`).
//   2. The parts of the runs go to shared memory, side by side.
//   3. Each thread finds the co-rank of its first element there and merges `Items` elements into registers. Of four runs
//      neighbours merge in pairs first, half of the threads each pair, and all threads merge the two results.
//   4. Warps pass their results through shared memory and write whole rows.
//
// Stable; asks comp only about elements. (PMPP ch. 12, 13; Varman et al., Merging multiple lists on hierarchical-memory multiprocessors, 1991.)
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/block/merge.hpp>
#include <pmpp/block/sort.hpp>
#include <pmpp/block/stage.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Sorted runs of `run` elements, the last one shorter, `Ways` of which become one.
template <int Ways, class In>
struct sorted_runs {
  staged_input<In> source;
  std::int64_t run;

  PMPP_HOST_DEVICE std::int64_t first_of(std::int64_t group) const { return group * Ways * run; }
  PMPP_HOST_DEVICE std::int64_t count_of(std::int64_t group) const {
    return max(std::int64_t(0), min(Ways * run, source.count - first_of(group)));
  }
  /// Elements of run q of a group.
  PMPP_HOST_DEVICE std::int64_t length(std::int64_t group, int q) const {
    return max(std::int64_t(0), min(run, count_of(group) - q * run));
  }
};

/// Where parts of a group's result begin in its runs.
template <int Ways>
struct run_cut {
  std::int64_t place[Ways];
};

/// Finds how many of the first `diagonal` elements of the result are of which of two runs. A warp calls it. Index: as of cut_four.
template <class Index, class Block, class In, class Comp>
PMPP_HOST_DEVICE void cut_two(Block& block, const sorted_runs<2, In>& runs, std::int64_t group, std::int64_t diagonal,
                              const Comp& comp, run_cut<2>& cut) {
  const In a = runs.source.in + runs.first_of(group);
  const Index i = block::warp_co_rank(block, static_cast<Index>(diagonal), a, static_cast<Index>(runs.length(group, 0)),
                                      a + runs.run, static_cast<Index>(runs.length(group, 1)), comp);
  if (block.lane() == 0) {
    cut.place[0] = i;
    cut.place[1] = diagonal - i;
  }
}

/// The same for four runs: four neighbouring lanes call it, one for each run, with all others of their warp; each gets its run's place.
///
/// The middle elements of what is left of the runs are compared. Let h be the number of elements in front of them. If no
/// more than h elements are wanted, the largest middle is none of them; otherwise the smallest one is. Either way half of
/// a run is settled. Index: counts the elements of four runs.
template <class T, class Index, class Block, class In, class Comp>
PMPP_HOST_DEVICE Index cut_four(Block& block, const sorted_runs<4, In>& runs, std::int64_t group, std::int64_t diagonal,
                                const Comp& comp) {
  const int q = block.thread() % 4, first_lane = block.lane() - q;
  const In mine = runs.source.in + (runs.first_of(group) + q * runs.run);
  Index low = 0, left = static_cast<Index>(runs.length(group, q)), wanted = static_cast<Index>(diagonal);
  Index before = left / 2;  // of all four middles
  before += block.shuffle_xor(before, 1);
  before += block.shuffle_xor(before, 2);
  T middle{};
  if (left > 0) middle = block::element_as<T>(value_of<In>(mine[left / 2]));
  while (const unsigned alive_in_warp = block.ballot(left > 0)) {
    const unsigned alive = alive_in_warp >> first_lane & 15;
    const bool upper = wanted <= before;
    int smaller_middles = 0;
    for (int bit = 1; bit < 4; ++bit) {
      const T other = block.shuffle_xor(middle, bit);
      const int of = q ^ bit;
      if (left > 0 && (alive >> of & 1) != 0)  // equals are ordered by run
        smaller_middles += of < q ? !comp(middle, other) : static_cast<bool>(comp(other, middle));
    }
    const bool wins = left > 0 && smaller_middles == (upper ? simt::count_bits(alive) - 1 : 0);
    unsigned winners = block.ballot(wins) >> first_lane & 15;
    if (winners == 0) winners = alive;  // a comparator that contradicts itself
    const int winner = winners == 0 ? 0 : simt::trailing_zeros(winners);
    const Index left_of_winner = block.shuffle(left, first_lane + winner), half = left_of_winner / 2;
    if (winners == 0) continue;
    const Index rest = upper ? half : left_of_winner - half - 1;
    before += rest / 2 - half;
    if (!upper) wanted -= half + 1;
    if (winner == q) {
      if (!upper) low += half + 1;
      left = rest;
      if (left > 0) middle = block::element_as<T>(value_of<In>(mine[low + left / 2]));
    }
  }
  return low;
}

namespace detail {

/// Vectors of V elements that are several words of 16 bytes: neighbouring threads copy them, so that a warp asks for whole sectors.
template <class It, class T, int V>
inline constexpr bool spans_words = V > 1 &&
                                    V * sizeof(T) > 16 && std::is_pointer_v<It>&& std::is_same_v<value_of<It>, T>;

/// Starts copying elements [first, first + count) of `source`, and perhaps neighbours, to slots from `place` on: in vectors of V both lie alike.
template <int V, class Block, class It, class T>
PMPP_HOST_DEVICE void copy_part(Block& block, const staged_input<It>& source, std::int64_t first, int count, T* slots,
                                int place) {
  const std::int64_t origin = first - place;
  const int low = origin < 0 ? static_cast<int>(-origin) : 0,  // at these places lie elements
      high = static_cast<int>(min(source.count - origin, std::int64_t(place + count + V)));
  const auto inside = [&](int at) { return at >= low && at + V <= high; };
  const It from = source.in + origin;
  if constexpr (spans_words<It, T, V>) {
    constexpr int words = V * int(sizeof(T)) / 16;
    const int begin = place / V * V;
    for (int i = block.thread(); i < ceil_div(place + count - begin, V) * words; i += block.threads())
      if (const int at = begin + i / words * V; inside(at))
        simt::copy_async<16>(reinterpret_cast<char*>(slots + begin) + i * 16,
                             reinterpret_cast<const char*>(from + begin) + std::int64_t(i) * 16);
  }
  for (int at = place / V * V + block.thread() * V; at < place + count; at += block.threads() * V) {
    if constexpr (V == 1) {
      detail::copy_element(from, at, slots + at);
    } else if (inside(at)) {
      if constexpr (!spans_words<It, T, V>)
        access<It>::template load_async<V>(from, at, *reinterpret_cast<raw_items<It, V>*>(slots + at));
    } else {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (int k = max(0, place - at); k < V && at + k < place + count; ++k)
        detail::copy_element(from, at + k, slots + at + k);
    }
  }
}

/// A warp copies words, neighbouring lanes neighbouring ones.
template <class Word, int Words, class Block>
PMPP_HOST_DEVICE void copy_words(Block& block, const void* from, void* to) {
  for (int i = block.lane(); i < Words; i += simt::warp_size)
#if defined(__CUDA_ARCH__)
    static_cast<Word*>(to)[i] = static_cast<const Word*>(from)[i];
#else
    memcpy(static_cast<Word*>(to) + i, static_cast<const Word*>(from) + i, sizeof(Word));
#endif
}

/// The rows of a warp, from slot `row` on, to out[first + row] and so on, of `count` elements in all: as vectors or words where it can.
template <class Memory, int Items, class Block, class T, class Out>
PMPP_HOST_DEVICE void write_rows(Block& block, const T* slots, int row, int count, const Out& out, std::int64_t first) {
  if constexpr (Memory::dense && std::is_same_v<std::remove_const_t<Out>, T*> &&
                (alignof(T) % 4 == 0 || sizeof(T) == alignof(T))) {
    constexpr int bytes = simt::warp_size * Items * int(sizeof(T));
    const bool aligned = reinterpret_cast<std::uintptr_t>(out + first) % 16 == 0;
    if (row + simt::warp_size * Items <= count && aligned)
      return copy_words<simt::quad, bytes / 16>(block, slots + row, out + (first + row));
    if constexpr (sizeof(T) > 8)
      if (row + simt::warp_size * Items <= count)
        return copy_words<std::uint32_t, bytes / 4>(block, slots + row, out + (first + row));
    if constexpr (sizeof(T) < 4) {  // words of the output: what goes into one lies anywhere in shared memory
      constexpr int each = 4 / int(sizeof(T));
      T* const to = out + (first + row);
      const int before = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(T) % each),
                n = min(simt::warp_size * Items, count - row);
      for (int i = block.lane() * each - before; i < n; i += simt::warp_size * each) {
        if (i >= 0 && i + each <= n) {
          packed<T, each> word;
          for (int k = 0; k < each; ++k) word.item[k] = slots[row + i + k];
          *reinterpret_cast<packed<T, each>*>(to + i) = word;
        } else {
          for (int k = 0; k < each; ++k)
            if (i + k >= 0 && i + k < n) to[i + k] = slots[row + i + k];
        }
      }
      return;
    }
  }
  const auto write = [&](auto whole) {
    for (int k = 0; k < Items; ++k) {
      const int i = row + k * simt::warp_size + block.lane();
      if (decltype(whole)::value || i < count) assign(out, first + i, slots[Memory::slot(i)]);
    }
  };
  if (row + simt::warp_size * Items <= count)
    write(std::true_type{});
  else
    write(std::false_type{});
}

}  // namespace detail

/// Where a part that begins with element `first` may begin in shared memory, from `place` on.
template <class It>
PMPP_HOST_DEVICE int place_of_part(const staged_input<It>& source, std::int64_t first, int place) {
  constexpr int items = staged_input<It>::items;
  if (items == 1 || !source.in_words) return place;
  return round_up(place, items) + static_cast<int>((first + source.shift) % items);
}

/// Starts copying elements [first, first + count) of `source` to where place_of_part says.
template <class Block, class It, class T>
PMPP_HOST_DEVICE void copy_part(Block& block, const staged_input<It>& source, std::int64_t first, int count, T* slots,
                                int place) {
  if constexpr (staged_input<It>::items > 1)
    if (source.in_words) return detail::copy_part<staged_input<It>::items>(block, source, first, count, slots, place);
  detail::copy_part<1>(block, source, first, count, slots, place);
}

/// Shared memory of a tile whose parts, `Ways` of them, lie side by side.
template <class T, int Threads, int Items, int Ways>
using merge_places_of = sort_memory<T, Threads, Items, 2 * Ways*(max(1, access<T*>::items) - 1)>;

template <class T, int Threads, int Items, int Ways>
struct merge_runs_memory {
  using element = T;
  static constexpr int threads = Threads, items = Items, ways = Ways;
  using places = merge_places_of<T, Threads, Items, Ways>;
  /// Elements of a tile. Of four runs a thread fewer: no thread deals with both pairs.
  static constexpr int tile = (Threads - (Ways == 4 ? 1 : 0)) * Items;

  places of_tile;
  run_cut<Ways> begin, end;
};

/// Merges the part of a group between memory.begin and memory.end, `count` elements, to out[first] and the following. All
/// threads of the block call it, after a barrier.
template <class Block, class Memory, class In, class Out, class Comp>
PMPP_HOST_DEVICE void merge_runs(Block& block, Memory& memory, const sorted_runs<Memory::ways, In>& runs,
                                 std::int64_t group, int count, const Out& out, std::int64_t first, const Comp& comp) {
  using T = typename Memory::element;
  using places = typename Memory::places;
  constexpr int items = Memory::items, ways = Memory::ways;
  T* const slots = memory.of_tile.slots();
  int begin[ways], end[ways], all[ways];  // of the parts in shared memory; elements up to the end of a part
  for (int q = 0; q < ways; ++q) {
    const std::int64_t in = runs.first_of(group) + q * runs.run + memory.begin.place[q];
    // Under a comparator that contradicts itself the cuts may not be in order.
    const std::int64_t length = max(std::int64_t(0), memory.end.place[q] - memory.begin.place[q]);
    const int before = q == 0 ? 0 : all[q - 1], part = static_cast<int>(min(length, std::int64_t(count - before)));
    begin[q] = place_of_part(runs.source, in, q == 0 ? 0 : end[q - 1]);
    end[q] = begin[q] + part;
    all[q] = before + part;
    copy_part(block, runs.source, in, part, slots, begin[q]);
  }
  simt::copy_async_commit();
  simt::copy_async_wait<0>();
  block.sync();
  const int from = block.thread() * items;
  T* const own = slots + places::slot(from);
  T x[items]{};
  const auto keep = [&] {
    block.sync();
    for (int k = 0; k < items; ++k) own[k] = x[k];  // past the end lies nothing that anybody asks about
  };
  if constexpr (ways == 4) {
    const int second = round_up(all[1], items);  // the second pair begins with a thread of its own
    const bool is_first = from < second;
    const int part = is_first ? all[1] : all[3] - all[1];
    detail::merge_places<places>(block, slots, is_first ? begin[0] : begin[2], is_first ? end[0] : end[2],
                                 is_first ? begin[1] : begin[3], is_first ? end[1] : end[3],
                                 min(is_first ? from : from - second, part), comp, x);
    keep();
    block.sync();
    begin[0] = 0;
    end[0] = all[1];
    begin[1] = second;
    end[1] = second + all[3] - all[1];
  }
  detail::merge_places<places>(block, slots, begin[0], end[0], begin[1], end[1], min(from, count), comp, x);
  keep();
  block.sync_warp();
  detail::write_rows<places, items>(block, slots, block.warp() * simt::warp_size * items, count, out, first);
}

}  // namespace pmpp::inline PMPP_BACKEND::block
