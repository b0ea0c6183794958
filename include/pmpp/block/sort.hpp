// SPDX-License-Identifier: Apache-2.0
//
// How a block sorts a tile by merging.
//
//   1. Each thread sorts `Items` adjacent elements in registers by odd-even transposition: neighbours swap places, so
//      that equals keep their order.
//   2. Runs of two threads, four threads, ... merge: a thread finds the co-rank of its first element in shared memory,
//      merges `Items` elements into registers, and writes them back when all have read.
//
// Elements lie in shared memory with one empty slot after every `Items`, so that the accesses of neighbouring threads
// fall into different banks. Two barriers a round. Stable; asks comp only about elements. (PMPP ch. 13.)
#pragma once

#include <cstdint>

#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

template <class T, int Threads, int Items>
struct sort_memory {
  static_assert(is_power_of_two(Items));
  using element = T;
  static constexpr int threads = Threads, items = Items, tile = Threads * Items;

  // Bytes, because types with constructors cannot lie in shared memory. One slot more: reading one past the end.
  alignas(larger(16, int(alignof(T)))) unsigned char bytes[(tile + Threads + 1) * sizeof(T)];

  PMPP_HOST_DEVICE T* slots() { return reinterpret_cast<T*>(bytes); }
  PMPP_HOST_DEVICE static int slot(int i) { return i + i / Items; }
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
      const bool swap = comp(high, low);
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

}  // namespace detail

/// Sorts the first `count` elements in memory.slots(); element i lies in memory.slot(i). All threads of the block call
/// it, after a barrier; it ends with one.
template <class Block, class Memory, class Comp>
PMPP_HOST_DEVICE void sort(Block& block, Memory& memory, int count, const Comp& comp) {
  using T = typename Memory::element;
  constexpr int items = Memory::items;
  T* const slots = memory.slots();
  const int from = block.thread() * items, have = smaller(items, count - from);  // have may be negative
  T* const own = slots + Memory::slot(from);
  T x[items]{};
  if (have == items) {
    for (int k = 0; k < items; ++k) x[k] = own[k];
    detail::sort_in_registers(x, comp);
    for (int k = 0; k < items; ++k) own[k] = x[k];
  } else if (have > 0) {
    detail::insertion_sort(own, have, comp);
  }
  block.sync();
  for (int run = items; run < count; run *= 2) {
    if (have > 0) {
      const int first = from / (2 * run) * (2 * run), diagonal = from - first;
      const int count_a = smaller(run, count - first), count_b = smaller(run, count - first - count_a);
      const detail::sort_window<Memory> a{slots, first}, b{slots, first + count_a};
      int i = co_rank(diagonal, a, count_a, b, count_b, comp), j = diagonal - i;
      T next_a = a[i], next_b = b[j];
      for (int k = 0; k < items; ++k) {
        const bool take_b = i >= count_a || (j < count_b && comp(next_b, next_a));
        x[k] = take_b ? next_b : next_a;
        if (k + 1 == items || k + 1 == have) break;
        const T loaded = take_b ? b[++j] : a[++i];
        (take_b ? next_b : next_a) = loaded;
      }
    }
    block.sync();
    for (int k = 0; k < items; ++k)
      if (k < have) own[k] = x[k];
    block.sync();
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
