// SPDX-License-Identifier: Apache-2.0
//
// Arrays of numbers of several kinds, made on the device.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/transform.hpp>

#include "support/data.hpp"

namespace bench {

/// Numbers over all of their type, floating-point ones between -1 and 1; T::of_bits(bits, i) where T has it.
struct any_bits {
  template <class T>
  PMPP_HOST_DEVICE static T at(std::int64_t i) {
    const std::uint64_t bits = random_bits(i);
    if constexpr (requires { T::of_bits(bits, i); })
      return T::of_bits(bits, i);
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(bits);
    else
      return static_cast<T>(static_cast<float>(static_cast<std::int64_t>(bits)) * 0x1p-63f);
  }
};
struct rising {
  template <class T>
  PMPP_HOST_DEVICE static T at(std::int64_t i) {
    return static_cast<T>(i);
  }
};
struct few_values {
  template <class T>
  PMPP_HOST_DEVICE static T at(std::int64_t i) {
    return static_cast<T>(random_bits(i) % 8);
  }
};

template <class T, class Kind>
struct number {
  PMPP_HOST_DEVICE T operator()(std::int64_t i) const { return Kind::template at<T>(i); }
};

/// n numbers of a kind.
template <class T, class Kind>
shared_array<T> numbers(std::int64_t n) {
  auto a = array<T>(n);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(device(), i, i + n, a->data(), number<T, Kind>{});
  return a;
}

}  // namespace bench
