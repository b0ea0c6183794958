// SPDX-License-Identifier: Apache-2.0
//
// Products of numbers, complex ones among them: std::complex, and cuda::std::complex, which device code can use. C++ has their
// operator* look for infinities among the results (C's Annex G), which takes ten times the instructions; these products are the
// formula alone, as in BLAS, so that an infinite factor may give NaN.
#pragma once

#include <type_traits>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

template <class T>
concept complex_number = requires(const T& x) {
  requires std::is_floating_point_v<typename T::value_type>;
  T(x.real(), x.imag());
};

/// sum + a b.
template <class T>
PMPP_HOST_DEVICE constexpr T multiply_add(const T& sum, const T& a, const T& b) {
  if constexpr (complex_number<T>)
    return T(sum.real() + a.real() * b.real() - a.imag() * b.imag(),
             sum.imag() + a.real() * b.imag() + a.imag() * b.real());
  else
    return static_cast<T>(sum + a * b);
}
/// a b.
template <class T>
PMPP_HOST_DEVICE constexpr T multiply(const T& a, const T& b) {
  if constexpr (complex_number<T>)
    return multiply_add(T{}, a, b);
  else
    return static_cast<T>(a * b);
}

}  // namespace pmpp::inline PMPP_BACKEND::detail
