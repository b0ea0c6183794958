// SPDX-License-Identifier: Apache-2.0
//
// How a block sorts a tile by merging.
//
//   1. Each thread sorts `Items` adjacent elements in registers by odd-even transposition: neighbours swap places, so
//      that equals keep their order.
//   2. Runs of two threads, four threads, ... merge: a thread finds the co-rank of its first element in shared memory,
//      merges `Items` elements into registers, and writes them back when all have read.
//
// An odd number of elements a thread puts the accesses of neighbouring threads into different banks; of an even number
// one slot after every `Items` stays empty. Two barriers a round, of a warp alone while its runs merge with each other.
// Stable; asks comp only about elements. (PMPP ch. 13.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Elements of a thread in a merge sort: an odd number. Wide elements may take up to 7/4 of the bytes: the search for where
/// a thread begins costs as much, however few elements it merges.
constexpr int odd_items(int bytes_of_thread, int bytes) {
  if (bytes <= 4) return (bytes_of_thread / 4) | 1;
  return max(1, ((bytes_of_thread * (bytes <= 8 ? 11 : 14) / 8 / bytes) - 1) | 1);
}
/// Threads that merge on a multiprocessor at a time: registers for this many bytes each.
constexpr int resident_threads(int threads, int bytes_of_thread) {
  return bytes_of_thread > 136 ? threads / 2 : bytes_of_thread > 100 ? threads * 2 / 3 : threads;
}

template <class T, int Threads, int Items, int Extra = 0>
struct sort_memory {
  using element = T;
  static constexpr int threads = Threads, items = Items, tile = Threads * Items;

  static constexpr bool dense = Items % 2 == 1;

  PMPP_HOST_DEVICE static constexpr int slot(int i) { return dense ? i : i + i / Items; }

  /// That a block of this many threads needs. A thread's elements more: merges read past the end.
  static constexpr std::size_t bytes_for(int block_threads) {
    return std::size_t(block_threads * Items + Items + Extra + (dense ? 0 : block_threads + 1)) * sizeof(T);
  }
  // Bytes, because types with constructors cannot lie in shared memory.
  alignas(max(16, int(alignof(T)))) unsigned char bytes[bytes_for(Threads)];

  PMPP_HOST_DEVICE T* slots() { return reinterpret_cast<T*>(bytes); }
};

namespace detail {

/// Elements from `first` on.
template <class Memory>
struct sort_window {
  const typename Memory::element* slots;
  int first;
  PMPP_HOST_DEVICE const typename Memory::element& operator[](int i) const { return slots[Memory::slot(first + i)]; }
};

template <class T, int Items, class Comp>
PMPP_HOST_DEVICE void sort_in_registers(T (&x)[Items], const Comp& comp) {
  for (int round = 0; round < Items; ++round)
    for (int k = 0; k + 1 < Items; ++k) {
      if (k % 2 != round % 2) continue;
      const T low = x[k], high = x[k + 1];
      const bool swap = static_cast<bool>(comp(high, low));
      x[k] = swap ? high : low;
      x[k + 1] = swap ? low : high;
    }
}

/// Fewer elements than `Items`: the last thread that has any.
template <class T, class Comp>
PMPP_HOST_DEVICE void insertion_sort(T* x, int count, const Comp& comp) {
  for (int i = 1; i < count; ++i) {
    const T inserted = x[i];
    int k = i;
    for (; k > 0 && comp(inserted, x[k - 1]); --k) x[k] = x[k - 1];
    x[k] = inserted;
  }
}

/// One of two elements, word by word: a choice between their addresses would put both into memory.
template <class T>
PMPP_HOST_DEVICE T one_of(bool second, const T& x, const T& y) {
  if constexpr (sizeof(T) % 4 == 0 && sizeof(T) <= 64 && !std::is_arithmetic_v<T>) {
    struct words {
      std::uint32_t word[sizeof(T) / 4];
    };
    words a = __builtin_bit_cast(words, x);
    const words b = __builtin_bit_cast(words, y);
    for (int w = 0; w < int(sizeof(T) / 4); ++w) a.word[w] = second ? b.word[w] : a.word[w];
    return __builtin_bit_cast(T, a);
  } else {
    return second ? y : x;
  }
}

/// Elements `diagonal` ... of the merge of places [a, end_a) and [b, end_b) into x. What x has past the end of the merge
/// means nothing. All lanes of a warp call it: all of them look out for the ends of runs, or none where none is near.
///
/// Places are counted in bytes where slots have no gaps, and the place in b is what all places so far have come to less
/// the one in a: nine instructions an element instead of twelve. taken(k, place): where x[k] is from.
template <class Memory, class Block, class T, int Items, class Comp, class Taken = std::nullptr_t>
PMPP_HOST_DEVICE void merge_places(Block& block, const T* slots, int a, int end_a, int b, int end_b, int diagonal,
                                   const Comp& comp, T (&x)[Items], const Taken& taken = nullptr) {
  constexpr int unit = Memory::dense ? int(sizeof(T)) : 1;
  const auto at = [&](int place) -> const T& {
    if constexpr (Memory::dense)
      return *reinterpret_cast<const T*>(reinterpret_cast<const unsigned char*>(slots) + place);
    else
      return slots[Memory::slot(place)];
  };
  const int from_a =
      pmpp::co_rank(diagonal, sort_window<Memory>{slots, a}, end_a - a, sort_window<Memory>{slots, b}, end_b - b, comp);
  a += from_a;
  b += diagonal - from_a;
  const auto merge = [&](auto both_last) {  // neither can end
    const int sum = (a + b) * unit, last_a = end_a * unit, last_b = end_b * unit;
    // A warp whose runs end does not look past the last place: another warp may be writing there.
    const auto inside = [&](int place) { return decltype(both_last)::value ? place : min(place, last_b - unit); };
    int next = a * unit;
    T next_a = at(inside(next)), next_b = at(inside(b * unit));
    // A loop: as calls of a function, || and && became branches (nvcc 13.0), at twice the instructions an element.
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < Items; ++k) {
      const int of_b = sum + k * unit - next;
      const bool take_b = decltype(both_last)::value
                              ? static_cast<bool>(comp(next_b, next_a))
                              : next >= last_a || (of_b < last_b && static_cast<bool>(comp(next_b, next_a)));
      x[k] = detail::one_of(take_b, next_a, next_b);
      if constexpr (!std::is_null_pointer_v<Taken>) taken(k, (take_b ? of_b : next) / unit);
      if (k + 1 < Items) {
        const T loaded = at(inside((take_b ? of_b : next) + unit));
        next += take_b ? 0 : unit;
        next_a = detail::one_of(take_b, loaded, next_a);
        next_b = detail::one_of(take_b, next_b, loaded);
      }
    }
  };
  if (block.any(end_a - a < Items || end_b - b < Items))
    merge(std::false_type{});
  else
    merge(std::true_type{});
}

}  // namespace detail

/// Sorts the first `count` elements in memory.slots(); element i lies in memory.slot(i). All threads of the block call
/// it, after a barrier; it ends with one.
template <class Block, class Memory, class Comp>
PMPP_HOST_DEVICE void sort(Block& block, Memory& memory, int count, const Comp& comp) {
  using T = typename Memory::element;
  constexpr int items = Memory::items;
  T* const slots = memory.slots();
  const int from = block.thread() * items, have = min(items, count - from);  // have may be negative
  T* const own = slots + Memory::slot(from);
  T x[items]{};
  if (have == items) {
    for (int k = 0; k < items; ++k) x[k] = own[k];
    detail::sort_in_registers(x, comp);
    for (int k = 0; k < items; ++k) own[k] = x[k];
  } else if (have > 0) {
    detail::insertion_sort(own, have, comp);
  }
  constexpr int of_warp = items * simt::warp_size;
  const auto sync = [&](int merged) {
    if (merged <= of_warp)
      block.sync_warp();
    else
      block.sync();
  };
  sync(2 * items);
  for (int run = items; run < count; run *= 2) {
    if (block.warp() * of_warp < count) {
      const int group = from / (2 * run) * (2 * run), first = min(group, count);
      const int border = min(first + run, count), end = min(first + 2 * run, count);
      detail::merge_places<Memory>(block, slots, first, border, border, end, min(from - group, end - first), comp, x);
    }
    sync(2 * run);
    if (have > 0)
      for (int k = 0; k < items; ++k) own[k] = x[k];  // past the end lies nothing that anybody asks about
    sync(4 * run);
  }
  block.sync();
}

}  // namespace pmpp::inline PMPP_BACKEND::block
