// SPDX-License-Identifier: Apache-2.0
//
// Elements that a kernel can hold. Registers and shared memory are arrays that begin without values and are assigned to.
// A trivially copyable type that has no default constructor, or none in constant expressions, or no assignment (const
// members) cannot be held like this; its bytes can. So algorithms that keep elements turn their inputs, outputs and
// functions over to stored_bytes<T> where T is of this kind, and leave every other type as it is:
//
//   with_stored(it)       an iterator, or an input, whose elements can be held: over T it is one over stored_bytes<T>
//   stored_as<T>          what it holds in T's place; pairs member by member
//   on_values<T...>(f)    f for such elements: it gets T where a kernel has stored_bytes<T>
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/named_functors.hpp>
#include <pmpp/core/range.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The bytes of a T.
template <class T>
struct stored_bytes {
  alignas(T) unsigned char bytes[sizeof(T)];

  stored_bytes() = default;
  template <class U>
  requires(!std::is_same_v<U, stored_bytes>) PMPP_HOST_DEVICE stored_bytes(const U& x) {
    if constexpr (std::is_same_v<U, T>) {
      memcpy(bytes, reinterpret_cast<const unsigned char*>(__builtin_addressof(x)), sizeof(T));
    } else {
      const T value = static_cast<T>(x);
      memcpy(bytes, reinterpret_cast<const unsigned char*>(__builtin_addressof(value)), sizeof(T));
    }
  }
  PMPP_HOST_DEVICE const T& value() const { return *reinterpret_cast<const T*>(bytes); }
  PMPP_HOST_DEVICE operator const T&() const { return value(); }
};

/// Whether a T can begin without arguments where nothing may run. A function, for nvcc's two compilers disagree on `T{}` inside a
/// requirement: the kernel that the host launches would not be among those of the device. It is asked only of a T that can begin
/// without arguments at all: of others its body is no program.
template <class T>
constexpr bool can_begin() {
  [[maybe_unused]] const T value{};
  return true;
}
template <class T, bool = std::is_default_constructible_v<T>>
inline constexpr bool begins_as_constant = false;
template <class T>
inline constexpr bool begins_as_constant<T, true> = requires {
  typename std::bool_constant<can_begin<T>()>;
};

/// Whether kernels hold a T as its bytes alone.
template <class T>
inline constexpr bool is_stored_as_bytes =
    std::is_trivially_copyable_v<T> && !(std::is_copy_assignable_v<T> && begins_as_constant<T>);

template <class T>
struct stored_type {
  using type = std::conditional_t<is_stored_as_bytes<T>, stored_bytes<T>, T>;
};
template <class A, class B>
struct stored_type<pair<A, B>> {
  using type = pair<typename stored_type<A>::type, typename stored_type<B>::type>;
};
template <class T>
using stored_as = typename stored_type<std::remove_cv_t<T>>::type;

template <class T>
struct value_type_of {
  using type = T;
};
template <class T>
struct value_type_of<stored_bytes<T>> {
  using type = T;
};
/// The T that is held as stored_bytes<T>.
template <class T>
using value_held = typename value_type_of<T>::type;

/// Whether kernels can hold a T. Of stored_bytes<T> that is so, but functions are not called with it.
template <class T>
inline constexpr bool is_held = std::is_same_v<stored_as<T>, std::remove_cv_t<T>>;
template <class T>
inline constexpr bool is_value = is_held<T>;
template <class T>
inline constexpr bool is_value<stored_bytes<T>> = false;
template <class A, class B>
inline constexpr bool is_value<pair<A, B>> = is_value<A>&& is_value<B>;

/// What a function sees of an element that a kernel holds.
template <class T>
PMPP_HOST_DEVICE const T& value_of_stored(const T& x) {
  return x;
}
template <class T>
PMPP_HOST_DEVICE const T& value_of_stored(const stored_bytes<T>& x) {
  return x.value();
}
template <class A, class B>
requires(!is_value<pair<A, B>>) PMPP_HOST_DEVICE auto value_of_stored(const pair<A, B>& x) {
  using first = std::remove_cvref_t<decltype(value_of_stored(x.first))>;
  using second = std::remove_cvref_t<decltype(value_of_stored(x.second))>;
  return pair<first, second>{value_of_stored(x.first), value_of_stored(x.second)};
}

template <class F>
struct on_values_of_stored {
  F f;
  template <class... X>
  PMPP_HOST_DEVICE constexpr auto operator()(const X&... x) const {
    return f(value_of_stored(x)...);
  }
};
template <class... T, class F>
auto on_values(const F& f) {
  if constexpr ((is_value<T> && ...))
    return f;
  else
    return on_values_of_stored<F>{f};
}

/// A predicate, an equivalence, a comparator of T for such elements; refused, when it compiles, where it is none.
template <bool OnGpu, class T, class Pred>
auto judged_by(const Pred& pred) {
  if constexpr (require_marked<OnGpu, Pred>() && require_predicate<Pred, T>())
    return on_values<T>(pred);
  else
    return refused{};
}
template <bool OnGpu, class T, class Eq>
auto equated_by(const Eq& eq) {
  if constexpr (require_marked<OnGpu, Eq>() && require_equivalence<Eq, T>())
    return on_values<T>(eq);
  else
    return refused{};
}
template <bool OnGpu, class T, class Comp>
auto ordered_by(const Comp& comp) {
  if constexpr (require_marked<OnGpu, Comp>() && require_order<Comp, T>())
    return on_values<T>(comp);
  else
    return refused{};
}

/// The same for the elements of a range.
template <bool OnGpu, class R, class Comp>
auto ordered_in(const Comp& comp) {
  return ordered_by<OnGpu, element_value<R>>(comp);
}

/// An operator for an accumulator of type A, stored or not, and elements of type T; refused where they do not fit.
/// `InitFirst`: how the caller writes it.
template <bool OnGpu, class A, class T, bool InitFirst = true, class Op>
auto folding(const Op& op) {
  if constexpr (require_marked<OnGpu, Op>() && require_fold<value_held<A>, T, Op, InitFirst>())
    return on_values<A>(own_operator<A>(op));
  else
    return refused{};
}

/// Reads elements of an iterator of any kind as stored ones.
template <class It>
struct stored_iterator : iterator_arithmetic<stored_iterator<It>> {
  using value_type = stored_as<value_of<It>>;
  using reference = value_type;
  using pointer = void;

  It base;

  PMPP_HOST_DEVICE explicit stored_iterator(const It& it) : base(it) {}
  PMPP_HOST_DEVICE value_type operator*() const { return (*this)[0]; }
  PMPP_HOST_DEVICE value_type operator[](std::ptrdiff_t n) const { return value_type(base[n]); }
  PMPP_HOST_DEVICE stored_iterator& operator+=(std::ptrdiff_t n) {
    move_by(base, n);
    return *this;
  }
  PMPP_HOST_DEVICE friend std::ptrdiff_t operator-(const stored_iterator& a, const stored_iterator& b) {
    return a.base - b.base;
  }
};

template <class It>
auto with_stored(const It& it) {
  using T = value_of<It>;
  if constexpr (is_held<T>)
    return it;
  else if constexpr (std::is_pointer_v<It>)
    return reinterpret_cast<
        std::conditional_t<std::is_const_v<std::remove_pointer_t<It>>, const stored_as<T>*, stored_as<T>*>>(it);
  else
    return stored_iterator<It>(it);
}
template <class T>
auto with_stored(const constant_iterator<T>& it) {
  return constant_iterator<stored_as<T>>(stored_as<T>(it.value), it.index);
}
template <class It, class F, class T>
auto with_stored(const transform_iterator<It, F, T>& it) {
  auto base = with_stored(it.base);
  if constexpr (is_held<T> && std::is_same_v<decltype(base), It>)
    return it;
  else
    return transform_iterator<decltype(base), on_values_of_stored<F>, stored_as<T>>(base, {it.f});
}
template <class A, class B>
auto with_stored(const zip_iterator<A, B>& it) {
  auto a = with_stored(it.a);
  auto b = with_stored(it.b);
  return zip_iterator<decltype(a), decltype(b)>(a, b);
}
template <class It>
auto with_stored(const input<It>& in) {
  auto first = with_stored(in.first);
  return input<decltype(first)>{first, in.count};
}

/// Whether an element becomes an A by its members.
template <class A, class T>
inline constexpr bool is_converted = false;
template <class A, class B, class C, class D>
inline constexpr bool is_converted<pair<A, B>, pair<C, D>> = true;

/// The elements of `in` for an accumulator of type A, which they are converted to.
template <class A, class It>
auto stored_for(const input<It>& in) {
  if constexpr (!requires(const value_of<It>& x) { static_cast<A>(x); } && !is_converted<A, value_of<It>>)
    return mapped<A>(in, refused{});  // init and operator have been taken for each other
  else if constexpr (is_value<value_of<It>>)
    return with_stored(in);
  else
    return with_stored(converted<A>(in));
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
