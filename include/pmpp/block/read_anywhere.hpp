// SPDX-License-Identifier: Apache-2.0
//
// Arrays that lie differently, for kernels that read by vectors (block/load_anywhere.hpp) and know how many elements to leave for the end.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_anywhere.hpp>
#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Arrays that lie differently, of which whole vectors are read all the same. The first and the last of them lie a vector away from the
/// ends, so that nothing outside of the arrays is read.
template <class It>
struct read_anywhere : It {};

template <class It>
struct access<read_anywhere<It>> : access<It> {
  static constexpr bool always = true;

  template <int Items>
  static std::int64_t lead(const read_anywhere<It>& it) {
    return Items + access_anywhere<It>::template lead<Items>(it);
  }
  template <int Items>
  PMPP_HOST_DEVICE static auto load(const read_anywhere<It>& it, std::int64_t i) {
    return access_anywhere<It>::template load<Items>(it, i);
  }
};

/// Elements that a kernel leaves behind its last vector, and reads one by one.
template <class It, int Items>
inline constexpr int least_tail = 0;
template <class It, int Items>
inline constexpr int least_tail<read_anywhere<It>, Items> = Items;

/// with_access for kernels that read vectors anywhere too, where it pays: calls f(iterator, items, lead). AnyOrder: threads fold
/// elements of their own, and wait for no others. (H200, 1.3 10^8 products of two arrays: bytes 120 -> 73 us, halves 166 -> 126, floats
/// 267 -> 248; doubles are read one by one as fast, floats in order faster.)
template <bool AnyOrder, class It, class F>
void with_access_anywhere(const It& it, F f) {
  using anywhere = access_anywhere<It>;
  constexpr bool pays = anywhere::possible && (AnyOrder ? anywhere::pays_in_any_order : anywhere::pays);
  if constexpr (pays && access<It>::items > 1 && std::is_class_v<It>) {
    with_access(it, [&](auto items, std::int64_t lead) {
      if constexpr (items > 1) {
        f(it, items, lead);
      } else {
        const read_anywhere<It> arrays{it};
        with_access(arrays, [&](auto more, std::int64_t to_first) { f(arrays, more, to_first); });
      }
    });
  } else {
    with_access(it, [&](auto items, std::int64_t lead) { f(it, items, lead); });
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
