// SPDX-License-Identifier: Apache-2.0
//
// Operators as function objects that run on both sides, and what the library knows of them.
//
// Every algorithm takes any callable; it needs to be associative where it combines elements, never commutative.
// identity_of<Op, T> exists for the operators below on arithmetic types; no algorithm needs an identity from a user.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

// clang-format off
struct plus        { template <class A, class B> requires requires(const A& a, const B& b) { a + b; } PMPP_HOST_DEVICE constexpr auto operator()(const A& a, const B& b) const { return a + b; } };
struct minus       { template <class A, class B> requires requires(const A& a, const B& b) { a - b; } PMPP_HOST_DEVICE constexpr auto operator()(const A& a, const B& b) const { return a - b; } };
struct multiplies  { template <class A, class B> requires requires(const A& a, const B& b) { a * b; } PMPP_HOST_DEVICE constexpr auto operator()(const A& a, const B& b) const { return a * b; } };
struct logical_and { template <class A, class B> requires requires(const A& a, const B& b) { a && b; } PMPP_HOST_DEVICE constexpr bool operator()(const A& a, const B& b) const { return a && b; } };
struct logical_or  { template <class A, class B> requires requires(const A& a, const B& b) { a || b; } PMPP_HOST_DEVICE constexpr bool operator()(const A& a, const B& b) const { return a || b; } };
struct bit_and     { template <class A, class B> requires requires(const A& a, const B& b) { a & b; } PMPP_HOST_DEVICE constexpr auto operator()(const A& a, const B& b) const { return a & b; } };
struct bit_or      { template <class A, class B> requires requires(const A& a, const B& b) { a | b; } PMPP_HOST_DEVICE constexpr auto operator()(const A& a, const B& b) const { return a | b; } };
struct bit_xor     { template <class A, class B> requires requires(const A& a, const B& b) { a ^ b; } PMPP_HOST_DEVICE constexpr auto operator()(const A& a, const B& b) const { return a ^ b; } };
struct less        { template <class A, class B> requires requires(const A& a, const B& b) { a < b; } PMPP_HOST_DEVICE constexpr bool operator()(const A& a, const B& b) const { return static_cast<bool>(a < b); } };
struct greater     { template <class A, class B> requires requires(const A& a, const B& b) { b < a; } PMPP_HOST_DEVICE constexpr bool operator()(const A& a, const B& b) const { return static_cast<bool>(b < a); } };
struct equal_to    { template <class A, class B> requires requires(const A& a, const B& b) { a == b; } PMPP_HOST_DEVICE constexpr bool operator()(const A& a, const B& b) const { return static_cast<bool>(a == b); } };
struct identity    { template <class T> PMPP_HOST_DEVICE constexpr T operator()(const T& x) const { return x; } };
// clang-format on

namespace detail {

// A two-byte number that is no integer: half, bfloat16, _Float16, without including their headers.
template <class T>
inline constexpr bool is_two_byte_float = sizeof(T) == 2 && !std::is_integral_v<T> &&
                                          !std::is_enum_v<T> && std::is_convertible_v<T, float>;

template <class T>
inline constexpr bool has_nan = std::is_floating_point_v<T> || is_two_byte_float<T>;

}  // namespace detail

/// The lesser of two, the first of equals. A floating-point NaN loses to any number (as C's fmin), so that the result
/// does not depend on the grouping; it is NaN only where all operands are.
struct minimum {
  template <class T>
  PMPP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    if constexpr (requires { minimum_of(a, b); })
      return minimum_of(a, b);  // of several numbers side by side (core/packed_pair.hpp)
    else if constexpr (detail::has_nan<T>)
      return (b < a || a != a) ? b : a;
    else
      return b < a ? b : a;
  }
};

/// The greater of two, the first of equals; NaN as in minimum.
struct maximum {
  template <class T>
  PMPP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    if constexpr (requires { maximum_of(a, b); })
      return maximum_of(a, b);
    else if constexpr (detail::has_nan<T>)
      return (a < b || a != a) ? b : a;
    else
      return a < b ? b : a;
  }
};

namespace detail {

template <class Op, class T>
struct identity_value {};  // no identity known

// clang-format off
template <class T> struct identity_value<plus, T>        { static constexpr T value = T(0); };
template <class T> struct identity_value<multiplies, T>  { static constexpr T value = T(1); };
template <class T> struct identity_value<logical_and, T> { static constexpr T value = T(true); };
template <class T> struct identity_value<logical_or, T>  { static constexpr T value = T(false); };
template <class T> struct identity_value<bit_and, T>     { static constexpr T value = T(~T(0)); };
template <class T> struct identity_value<bit_or, T>      { static constexpr T value = T(0); };
template <class T> struct identity_value<bit_xor, T>     { static constexpr T value = T(0); };
template <class T> struct identity_value<minimum, T>     { using limits = std::numeric_limits<T>;
  static constexpr T value = limits::has_infinity ? limits::infinity() : limits::max(); };
template <class T> struct identity_value<maximum, T>     { using limits = std::numeric_limits<T>;
  static constexpr T value = limits::has_infinity ? T(-limits::infinity()) : limits::lowest(); };
// clang-format on

}  // namespace detail

/// The x with op(x, y) == y for every y, for the operators above and arithmetic T.
template <class Op, class T>
requires std::is_arithmetic_v<T>
inline constexpr T identity_of = detail::identity_value<Op, T>::value;

/// True where the order of operands is known not to matter: the operators above on arithmetic types. Everything else
/// keeps its order.
template <class Op, class T>
inline constexpr bool is_known_commutative = false;
template <class Op, class T>
requires std::is_arithmetic_v<T>
inline constexpr bool is_known_commutative<Op, T> = requires { detail::identity_value<Op, T>::value; };

namespace detail {

template <class T>
inline constexpr bool is_small_integer = std::is_integral_v<T> && sizeof(T) <= 2;

}  // namespace detail

/// The type in which elements of type T add up when the caller names none: 64-bit integers for 8- and 16-bit ones
/// (and bool: a count), float for half and bfloat16, else T itself.
template <class T>
using accumulator_of = std::conditional_t<detail::is_small_integer<T>,
                                          std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>,
                                          std::conditional_t<detail::is_two_byte_float<T>, float, T>>;

namespace detail {

/// The type that the sums of a scan are kept in. Where 32 bits give the same results as 64 (they end up in 32 or fewer), 32 bits.
template <class T, class Out, class A, class Op>
using scan_accumulator =
    std::conditional_t<std::is_same_v<Op, plus> && std::is_integral_v<T> && std::is_integral_v<A> &&
                           std::is_integral_v<Out> && !std::is_same_v<Out, bool> && !std::is_same_v<A, bool> &&
                           (sizeof(A) >= 4) && (sizeof(Out) <= 4),
                       std::uint32_t, A>;

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
