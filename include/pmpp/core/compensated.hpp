// SPDX-License-Identifier: Apache-2.0
//
// compensated<T>: a sum with what its roundings lost, as one number of twice the precision for sums. An accumulator:
//
//   reduce(where, r, compensated<float>{}).value()
//
// Each addition finds its own rounding error exactly (Knuth's two-sum) and carries it along, as Neumaier's improvement of
// Kahan's summation does (1974); because two such sums can be added, trees and scans may use it too. The result is as if summed
// with twice the digits, then rounded (Ogita, Rump and Oishi, 2005): docs/numbers.md has the bounds.
#pragma once

#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/exact.hpp>

namespace pmpp::inline PMPP_BACKEND {

template <class T>
struct compensated {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "pmpp: compensated sums are of float or double");

  T sum, error;  ///< error: what `sum` lacks

  PMPP_HOST_DEVICE constexpr compensated() : sum(0), error(0) {}
  PMPP_HOST_DEVICE compensated(T x) : sum(detail::settled(x)), error(0) {}

  PMPP_HOST_DEVICE T value() const { return sum + error; }
  PMPP_HOST_DEVICE explicit operator T() const { return value(); }

  PMPP_HOST_DEVICE friend compensated operator+(const compensated& a, const compensated& b) {
    compensated r;
    r.sum = detail::rounded_sum(a.sum, b.sum);
    const T of_b = detail::rounded_sum(r.sum, -a.sum), of_a = detail::rounded_sum(r.sum, -of_b);
    const T lost = detail::rounded_sum(detail::rounded_sum(a.sum, -of_a), detail::rounded_sum(b.sum, -of_b));
    r.error = detail::rounded_sum(detail::rounded_sum(a.error, b.error), lost);
    return r;
  }
};

}  // namespace pmpp::inline PMPP_BACKEND
