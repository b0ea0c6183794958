// SPDX-License-Identifier: Apache-2.0
//
// Iterators that compute what they point at, and what the algorithms ask of any iterator.
//
//   counting_iterator{0}            0, 1, 2, ...
//   constant_iterator{x}            x, x, x, ...
//   transform_iterator{it, f}       f(it[0]), f(it[1]), ...    (value type given where f cannot be called on the host)
//   zip_iterator{a, b}              pair{a[0], b[0]}, pair{a[1], b[1]}, ...
//
// They cost nothing: kernels load through them with the same wide loads as from a plain pointer (block/load_store.hpp).
// Made like this from iterators over contiguous memory (std::vector's, Thrust's) they hold plain pointers.
//
// The length of a one-dimensional input may be known only on the device: device_count{pointer, upper_bound} stands
// where the end iterator would, and the kernels read *pointer when they run.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>  // for what std calls iterators: <iterator> brings streams along
#include <type_traits>

#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Two values, in order by the first, then by the second. An aggregate, because std::pair cannot be built in device code without
/// compiler flags.
template <class A, class B>
struct pair {
  A first;
  B second;
  friend bool operator==(const pair&, const pair&) = default;
  PMPP_HOST_DEVICE friend constexpr bool operator<(const pair& x, const pair& y) requires requires {
    x.first < y.first;
    x.second < y.second;
  }
  { return x.first < y.first || (!(y.first < x.first) && x.second < y.second); }
};

/// What an algorithm asks of an iterator: copies, offsets, distance, indexing.
template <class It>
concept random_access = std::copy_constructible<It> && requires(const It it, std::ptrdiff_t n) {
  it[n];
  it + n;
  { it - it } -> std::convertible_to<std::ptrdiff_t>;
};

template <random_access It>
using value_of = std::iter_value_t<It>;

/// A length that is known only on the device. The kernels use min(*pointer, upper_bound); grids and scratch are sized
/// by upper_bound, any integer. \pre pointer is readable by the device when the kernels run; Integer has 4 or 8 bytes.
template <class Integer>
struct device_count {
  static_assert(std::is_integral_v<Integer> && (sizeof(Integer) == 4 || sizeof(Integer) == 8),
                "pmpp: device_count needs a pointer to a 4- or 8-byte integer");
  const Integer* pointer = nullptr;
  std::int64_t upper_bound = 0;

  constexpr device_count() = default;
  /// \throws std::length_error for a bound of 2^63 or more
  template <std::integral Bound>
  constexpr device_count(const Integer* count, Bound bound)
      : pointer(count), upper_bound(detail::checked_count(bound)) {}
};
template <class Integer, class Bound>
device_count(Integer*, Bound) -> device_count<std::remove_const_t<Integer>>;

namespace detail {

/// What kernels receive as a length: a number, or where to find it.
struct item_count {
  std::int64_t bound = 0;
  const void* pointer = nullptr;
  bool eight_bytes = false;

  PMPP_HOST_DEVICE std::int64_t get() const {
    if (pointer == nullptr) return bound;
    // An unsigned 8-byte count past 2^63 reads as negative; both clamp to a sane range.
    const std::int64_t n = eight_bytes ? *static_cast<const std::int64_t*>(pointer)
                                       : std::int64_t(*static_cast<const std::uint32_t*>(pointer));
    return n < 0 ? 0 : n < bound ? n : bound;
  }
};

/// Moves on without an assignment, where that can be: what holds a lambda with captures has none.
template <class It>
PMPP_HOST_DEVICE constexpr void move_by(It& it, std::ptrdiff_t n) {
  if constexpr (requires { it += n; })
    it += n;
  else
    it = it + n;
}

/// The arithmetic shared by the iterators below: each holds a position and derives the rest from it.
template <class Self>
struct iterator_arithmetic {
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;

  PMPP_HOST_DEVICE friend constexpr Self operator+(Self it, std::ptrdiff_t n) { return it += n; }
  PMPP_HOST_DEVICE friend constexpr Self operator+(std::ptrdiff_t n, Self it) { return it += n; }
  PMPP_HOST_DEVICE friend constexpr Self operator-(Self it, std::ptrdiff_t n) { return it += -n; }
  PMPP_HOST_DEVICE friend constexpr Self& operator-=(Self& it, std::ptrdiff_t n) { return it += -n; }
  PMPP_HOST_DEVICE friend constexpr Self& operator++(Self& it) { return it += 1; }
  PMPP_HOST_DEVICE friend constexpr Self& operator--(Self& it) { return it += -1; }
  PMPP_HOST_DEVICE friend constexpr Self operator++(Self& it, int) {
    Self before = it;
    it += 1;
    return before;
  }
  PMPP_HOST_DEVICE friend constexpr Self operator--(Self& it, int) {
    Self before = it;
    it += -1;
    return before;
  }
  PMPP_HOST_DEVICE friend constexpr bool operator==(const Self& a, const Self& b) { return a - b == 0; }
  PMPP_HOST_DEVICE friend constexpr auto operator<=>(const Self& a, const Self& b) {
    return (a - b) <=> std::ptrdiff_t(0);
  }
};

}  // namespace detail

/// start, start + 1, start + 2, ...
template <class T = std::int64_t>
struct counting_iterator : detail::iterator_arithmetic<counting_iterator<T>> {
  using value_type = T;
  using reference = T;
  using pointer = void;

  T value{};

  constexpr counting_iterator() = default;
  PMPP_HOST_DEVICE constexpr explicit counting_iterator(T start) : value(start) {}
  PMPP_HOST_DEVICE constexpr T operator*() const { return value; }
  PMPP_HOST_DEVICE constexpr T operator[](std::ptrdiff_t n) const { return static_cast<T>(value + static_cast<T>(n)); }
  PMPP_HOST_DEVICE constexpr counting_iterator& operator+=(std::ptrdiff_t n) {
    value = (*this)[n];
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const counting_iterator& a, const counting_iterator& b) {
    if constexpr (std::is_integral_v<T>)  // in 64 bits: what T holds may be narrower, or never negative
      return static_cast<std::ptrdiff_t>(static_cast<std::uint64_t>(a.value) - static_cast<std::uint64_t>(b.value));
    else
      return static_cast<std::ptrdiff_t>(a.value - b.value);
  }
};

/// The same value everywhere.
template <class T>
struct constant_iterator : detail::iterator_arithmetic<constant_iterator<T>> {
  using value_type = T;
  using reference = T;
  using pointer = void;

  T value{};
  std::ptrdiff_t index = 0;

  constexpr constant_iterator() = default;
  PMPP_HOST_DEVICE constexpr explicit constant_iterator(T v, std::ptrdiff_t at = 0) : value(v), index(at) {}
  PMPP_HOST_DEVICE constexpr T operator*() const { return value; }
  PMPP_HOST_DEVICE constexpr T operator[](std::ptrdiff_t) const { return value; }
  PMPP_HOST_DEVICE constexpr constant_iterator& operator+=(std::ptrdiff_t n) {
    index += n;
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const constant_iterator& a, const constant_iterator& b) {
    return a.index - b.index;
  }
};

/// f(base[0]), f(base[1]), ... as values of type T. T must be named where f can be called on the device only.
template <class It, class F, class T = std::remove_cvref_t<std::invoke_result_t<const F&, value_of<It>>>>
struct transform_iterator : detail::iterator_arithmetic<transform_iterator<It, F, T>> {
  using value_type = T;
  using reference = T;
  using pointer = void;

  It base{};
  F f{};

  constexpr transform_iterator() = default;
  PMPP_HOST_DEVICE constexpr transform_iterator(It it, F function) : base(it), f(function) {}
  template <class Wrapped>
  requires(!std::is_same_v<Wrapped, It> &&
           std::is_same_v<detail::unwrapped<Wrapped>, It>) constexpr transform_iterator(const Wrapped& it, F function)
      : base(detail::unwrap(it)), f(function) {}
  PMPP_HOST_DEVICE constexpr T operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE constexpr T operator[](std::ptrdiff_t n) const { return static_cast<T>(f(base[n])); }
  PMPP_HOST_DEVICE constexpr transform_iterator& operator+=(std::ptrdiff_t n) {
    detail::move_by(base, n);
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const transform_iterator& a, const transform_iterator& b) {
    return static_cast<std::ptrdiff_t>(a.base - b.base);
  }
};
template <class It, class F>
transform_iterator(It, F) -> transform_iterator<detail::unwrapped<It>, F>;

/// pair{a[0], b[0]}, pair{a[1], b[1]}, ... Nest for more than two.
template <class A, class B>
struct zip_iterator : detail::iterator_arithmetic<zip_iterator<A, B>> {
  using value_type = pair<value_of<A>, value_of<B>>;
  using reference = value_type;
  using pointer = void;

  A a{};
  B b{};

  constexpr zip_iterator() = default;
  PMPP_HOST_DEVICE constexpr zip_iterator(A first, B second) : a(first), b(second) {}
  template <class WrappedA, class WrappedB>
  requires(!(std::is_same_v<WrappedA, A> &&
             std::is_same_v<WrappedB, B>)&&std::is_same_v<detail::unwrapped<WrappedA>, A> &&
           std::is_same_v<detail::unwrapped<WrappedB>, B>) constexpr zip_iterator(const WrappedA& first,
                                                                                  const WrappedB& second)
      : a(detail::unwrap(first)), b(detail::unwrap(second)) {}
  PMPP_HOST_DEVICE constexpr value_type operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE constexpr value_type operator[](std::ptrdiff_t n) const { return value_type{a[n], b[n]}; }
  PMPP_HOST_DEVICE constexpr zip_iterator& operator+=(std::ptrdiff_t n) {
    detail::move_by(a, n);
    detail::move_by(b, n);
    return *this;
  }
  PMPP_HOST_DEVICE friend constexpr std::ptrdiff_t operator-(const zip_iterator& x, const zip_iterator& y) {
    return static_cast<std::ptrdiff_t>(x.a - y.a);
  }
};
template <class A, class B>
zip_iterator(A, B) -> zip_iterator<detail::unwrapped<A>, detail::unwrapped<B>>;

namespace detail {

template <class It>
inline constexpr bool is_zip = false;
template <class A, class B>
inline constexpr bool is_zip<zip_iterator<A, B>> = true;
template <class It>
inline constexpr bool is_zip_of_pointers = false;
template <class A, class B>
inline constexpr bool is_zip_of_pointers<zip_iterator<A*, B*>> = true;
template <class It>
inline constexpr bool is_transform = false;
template <class It, class F, class T>
inline constexpr bool is_transform<transform_iterator<It, F, T>> = true;

/// Calls a binary function with the two members of a pair.
template <class F>
struct apply_to_pair {
  F f;
  template <class A, class B>
  requires requires(const F& g, const pair<A, B>& p) { g(p.first, p.second); }
  PMPP_HOST_DEVICE constexpr auto operator()(const pair<A, B>& p) const { return f(p.first, p.second); }
};

/// Calls a function of several arguments with the values of zips in zips: pair{x, pair{y, z}} as f(x, y, z).
template <class F>
struct spread_function {
  F f;
  template <class A, class B>
  PMPP_HOST_DEVICE constexpr auto operator()(const pair<A, B>& p) const {
    return call(p.second, p.first);
  }

private:
  template <class A, class B, class... Known>
  PMPP_HOST_DEVICE constexpr auto call(const pair<A, B>& rest, const Known&... known) const {
    return call(rest.second, known..., rest.first);
  }
  template <class Last, class... Known>
  PMPP_HOST_DEVICE constexpr auto call(const Last& last, const Known&... known) const {
    return f(known..., last);
  }
};

/// Combines zips in zips with an operator for each part: pair{a, pair{b, c}} and pair{x, pair{y, z}} to
/// pair{first(a, x), pair{second(b, y), third(c, z)}}.
template <class Op, class Rest>
struct columns_operator {
  Op op;
  Rest rest;
  template <class A, class B>
  requires requires(const Op& f, const Rest& g, const A& a, const B& b) {
    static_cast<A>(f(a, a));
    static_cast<B>(g(b, b));
  }
  PMPP_HOST_DEVICE constexpr pair<A, B> operator()(const pair<A, B>& x, const pair<A, B>& y) const {
    return {static_cast<A>(op(x.first, y.first)), static_cast<B>(rest(x.second, y.second))};
  }
};

/// An element as a value of another type; pairs member by member.
template <class T, class U>
PMPP_HOST_DEVICE T element_as(const U& x) {
  if constexpr (std::is_same_v<T, U>)
    return x;
  else if constexpr (requires {
                       T{element_as<decltype(T::first)>(x.first), element_as<decltype(T::second)>(x.second)};
                     })
    return T{element_as<decltype(T::first)>(x.first), element_as<decltype(T::second)>(x.second)};
  else
    return static_cast<T>(x);
}
template <class T>
struct convert_to {
  template <class U>
  PMPP_HOST_DEVICE T operator()(const U& x) const {
    return element_as<T>(x);
  }
};

/// How many elements before out[i] rows of 32 begin that are whole lines of memory: sectors that two rows share are written in
/// two goes.
template <class Out>
PMPP_HOST_DEVICE int before_row(const Out& out, std::int64_t i) {
  if constexpr (std::is_pointer_v<Out>) i += std::int64_t(reinterpret_cast<std::uintptr_t>(out) / sizeof(*out));
  return static_cast<int>(i & 31);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
