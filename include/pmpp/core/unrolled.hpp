// SPDX-License-Identifier: Apache-2.0
//
// Loops that are surely unrolled, whose counter is a constant: indices of registers have to be.
#pragma once

#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <int N>
using constant = std::integral_constant<int, N>;

template <class F, int... I>
PMPP_HOST_DEVICE void for_each_constant(const F& f, std::integer_sequence<int, I...>) {
  (f(constant<I>{}), ...);
}
/// Calls f with the constants 0 ... N - 1.
template <int N, class F>
PMPP_HOST_DEVICE void for_each_constant(const F& f) {
  for_each_constant(f, std::make_integer_sequence<int, N>{});
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
