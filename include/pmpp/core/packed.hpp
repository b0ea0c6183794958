// SPDX-License-Identifier: Apache-2.0
//
// packed<T, N>: N adjacent elements that move in one access. unrolled<N>(f): a loop that is unrolled for certain, so that
// arrays which it indexes can be registers.
//
//   using word = packed<float, 4>;                                   // 16 bytes, at multiples of 16
//   const word x = *reinterpret_cast<const word*>(from);             // one load
//   unrolled<4>([&](int i) { sum[i] += x.item[i]; });
//   for_each_constant<4>([&](auto i) { ... });                       // the same where i has to be a constant
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// What accesses of this many bytes have to be aligned to: the greatest power of two that divides them, at most 16.
constexpr std::size_t access_alignment(std::size_t bytes) { return (bytes & -bytes) < 16 ? bytes & -bytes : 16; }

/// N adjacent elements. By default they lie so that one access moves them (or, past 16 bytes, words of 16); a single one
/// lies as any T. May be read and written where memory holds other types.
template <class T, int N,
          std::size_t Alignment = N == 1 ? alignof(T) : max(alignof(T), access_alignment(N * sizeof(T)))>
struct [[gnu::may_alias]] alignas(Alignment) packed {
  T item[N];
};

/// Calls f(0) ... f(N - 1), one after the other in the text. f returns nothing.
template <int N, class F>
PMPP_HOST_DEVICE constexpr void unrolled(F f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(I), ...); }
  (std::make_integer_sequence<int, N>{});
}

namespace detail {

template <int N>
using constant = std::integral_constant<int, N>;

/// Calls f with the constants 0 ... N - 1.
template <int N, class F>
PMPP_HOST_DEVICE void for_each_constant(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(constant<I>{}), ...); }
  (std::make_integer_sequence<int, N>{});
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
