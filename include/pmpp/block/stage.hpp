// SPDX-License-Identifier: Apache-2.0
//
// Elements on their way to shared memory: one, or as many as a warp copies.
//
// What lies in arrays is copied asynchronously, in words of 16 bytes where those of both sides lie alike:
//
//     memory   . . 2 3 | 4 5 6 7 | 8 . . .          elements 2 ... 8 go to slots from behind_word(2) = 2 on
//
// Whoever calls commits and waits (simt/memory.hpp).
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {
namespace detail {

/// Copies one element into shared memory; those of memory and pairs of them asynchronously.
template <class It, class T>
PMPP_HOST_DEVICE void copy_element(const It& in, std::int64_t i, T* slot) {
  *slot = pmpp::detail::element_as<T>(value_of<It>(in[i]));
}
template <class U, class T>
requires std::is_same_v<std::remove_const_t<U>, T> PMPP_HOST_DEVICE void copy_element(U* const& in, std::int64_t i,
                                                                                      T* slot) {
  access<U*>::template load_async<1>(in, i, *reinterpret_cast<raw_items<U*, 1>*>(slot));
}
template <class A, class B, class T>
PMPP_HOST_DEVICE void copy_element(const zip_iterator<A, B>& in, std::int64_t i, T* slot) {
  copy_element(in.a, i, __builtin_addressof(slot->first));
  copy_element(in.b, i, __builtin_addressof(slot->second));
}

}  // namespace detail

/// Elements of a word of 16 bytes, where those of `It` are copied to T in such; one otherwise.
template <class It, class T>
inline constexpr int staged_word = std::is_pointer_v<It>&& std::is_same_v<value_of<It>, T> && alignof(T) == sizeof(T)
                                       ? max(1, 16 / int(sizeof(T)))
                                       : 1;

/// How far behind a word's beginning element i lies.
template <int Word, class It>
PMPP_HOST_DEVICE int behind_word(const It& in, std::int64_t i) {
  if constexpr (Word == 1)
    return 0;
  else
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(in + i) / sizeof(value_of<It>) % Word);
}

/// Starts copying `count` elements from `first` on to the slots from `place` on, which lie alike in their words. A warp calls it.
template <int Word, class Block, class It, class T>
PMPP_HOST_DEVICE void stage_by_warp(Block& block, const It& in, std::int64_t first, int count, T* slot, int place) {
  for (int k = block.lane() * Word - place % Word; k < count; k += simt::warp_size * Word) {
    if constexpr (Word > 1)
      if (k >= 0 && k + Word <= count) {
        simt::copy_async<16>(slot + (place + k), in + (first + k));
        continue;
      }
    for (int r = 0; r < Word; ++r)
      if (k + r >= 0 && k + r < count) detail::copy_element(in, first + (k + r), slot + (place + k + r));
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
