// SPDX-License-Identifier: Apache-2.0
//
// Wide loads that begin anywhere: where arrays of one kernel lie differently, vectors begin on boundaries of one of them alone.
// Of the others a thread reads the aligned words of 16 bytes that cover its vector, one more than it is long, and shifts them
// in registers. What two threads read comes from the first cache the second time.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_covering.hpp>
#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// access<It>::load from anywhere, and lead to the first boundary of the first array; `possible` where all that is read are arrays, or
/// nothing. What lies up to 15 bytes around the vector is read too, not where it is known to begin at multiples of Aligned = 16 bytes
/// in all arrays. It pays where an element is part of a word, or some; a warp reads whole ones at the memory's speed.
template <class It>
struct access_anywhere {
  static constexpr bool possible = access<It>::items == 0, pays = false, pays_in_any_order = false;
  template <int Items>
  static std::int64_t lead(const It&) {
    return 0;
  }
  template <int Items, int Aligned = 1>
  PMPP_HOST_DEVICE static auto load(const It& it, std::int64_t i) {
    return access<It>::template load<Items>(it, i);
  }
};
template <class T>
struct access_anywhere<T*> {
  using element = std::remove_cv_t<T>;
  static constexpr bool possible = true, pays = sizeof(T) < 4 || !is_power_of_two(sizeof(T)),
                        pays_in_any_order = pays || sizeof(T) == 4;
  template <int Items>
  static std::int64_t lead(T* p) {
    return max(std::int64_t(0), access<T*>::template lead<Items>(p));
  }
  template <int Items, int Aligned = 1>
  PMPP_HOST_DEVICE static auto load(T* p, std::int64_t i) {
    detail::vector_words<element, Items> raw;
    load_covering<max(Aligned, int(alignof(element)))>(raw.word, p + i);
    return raw;
  }
};
template <class It, class F, class T>
struct access_anywhere<transform_iterator<It, F, T>> {
  static constexpr bool possible = access_anywhere<It>::possible, pays = access_anywhere<It>::pays,
                        pays_in_any_order = access_anywhere<It>::pays_in_any_order;
  template <int Items>
  static std::int64_t lead(const transform_iterator<It, F, T>& it) {
    return access_anywhere<It>::template lead<Items>(it.base);
  }
  template <int Items, int Aligned = 1>
  PMPP_HOST_DEVICE static auto load(const transform_iterator<It, F, T>& it, std::int64_t i) {
    return access_anywhere<It>::template load<Items, Aligned>(it.base, i);
  }
};
template <class A, class B>
struct access_anywhere<zip_iterator<A, B>> {
  static constexpr bool possible = access_anywhere<A>::possible && access_anywhere<B>::possible;
  static constexpr bool pays = access_anywhere<A>::pays || access_anywhere<B>::pays,
                        pays_in_any_order =
                            access_anywhere<A>::pays_in_any_order || access_anywhere<B>::pays_in_any_order;
  template <int Items>
  static std::int64_t lead(const zip_iterator<A, B>& it) {
    return access<A>::items == 0 ? access_anywhere<B>::template lead<Items>(it.b)
                                 : access_anywhere<A>::template lead<Items>(it.a);
  }
  template <int Items, int Aligned = 1>
  PMPP_HOST_DEVICE static raw_items<zip_iterator<A, B>, Items> load(const zip_iterator<A, B>& it, std::int64_t i) {
    return {access_anywhere<A>::template load<Items, Aligned>(it.a, i),
            access_anywhere<B>::template load<Items, Aligned>(it.b, i)};
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::block
