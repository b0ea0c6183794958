// SPDX-License-Identifier: Apache-2.0
//
// Function objects of std, cuda::std and Thrust that mean what those of pmpp do: std::less<int>, std::ranges::greater,
// cuda::std::plus<>, thrust::maximum<float>. They are told by their names, so that none of their headers is read; one that is
// not known is a function object as any other, and a call that is slower by what the library does not know of it.
#pragma once

#include <cstddef>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/operators.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// Whether `type` is a type of that name, or an instance of such a template, of these three.
constexpr bool is_named(const characters& type, const char* name) {
  std::size_t first = 0, begin = 0, end = 0;
  while (end < type.count && type.first[end] != '<') {
    if (type.first[end] == ':') {
      if (first == 0) first = end;
      begin = end + 1;
    }
    ++end;
  }
  const characters space{type.first, first}, last{type.first + begin, end - begin};
  return (space == "std" || space == "cuda" || space == "thrust") && last == name;
}

/// What a functor says that it takes.
template <class F>
struct functor_argument {
  using type = void;
};
template <template <class> class F, class T>
struct functor_argument<F<T>> {
  using type = T;
};

/// Whether F is the functor of that name, for values of type T or for any.
template <class F, class T>
constexpr bool is_named_functor(const char* name) {
  using argument = typename functor_argument<F>::type;
  return (std::is_void_v<argument> || std::is_same_v<argument, T>)&&is_named(type_name<F>(), name);
}

/// pmpp's operator in place of one that is known and means the same of numbers of type A. (Of floating-point numbers the extremes do not:
/// those of others do not look for NaN.)
template <class A, class Op>
constexpr auto own_operator(const Op& op) {
  if constexpr (!std::is_arithmetic_v<A>)
    return op;
  else if constexpr (is_named_functor<Op, A>("plus"))
    return plus{};
  else if constexpr (is_named_functor<Op, A>("multiplies"))
    return multiplies{};
  else if constexpr (is_named_functor<Op, A>("logical_and"))
    return logical_and{};
  else if constexpr (is_named_functor<Op, A>("logical_or"))
    return logical_or{};
  else if constexpr (!std::is_integral_v<A>)
    return op;
  else if constexpr (is_named_functor<Op, A>("bit_and"))
    return bit_and{};
  else if constexpr (is_named_functor<Op, A>("bit_or"))
    return bit_or{};
  else if constexpr (is_named_functor<Op, A>("bit_xor"))
    return bit_xor{};
  else if constexpr (is_named_functor<Op, A>("minimum"))
    return minimum{};
  else if constexpr (is_named_functor<Op, A>("maximum"))
    return maximum{};
  else
    return op;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail
