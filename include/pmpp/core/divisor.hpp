// SPDX-License-Identifier: Apache-2.0
//
// Division by a number that the host knows before a launch. A kernel's first loads wait for the coordinates of its block; a division of 32
// bits takes a warp 20 instructions, one of 64 bits up to 80, this one three.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Divides numbers below 2^31 by one that was given before. (Granlund and Montgomery, 1994.)
class divisor {
public:
  divisor() = default;
  /// \pre 0 < value < 2^31
  template <class T>
  PMPP_HOST_DEVICE explicit constexpr divisor(T value)
      : value_(static_cast<std::uint32_t>(value)),
        shift_(static_cast<std::uint32_t>(ceil_log2(value_))),
        factor_(static_cast<std::uint32_t>(((std::uint64_t(1) << (31 + shift_)) + value_ - 1) / value_)) {}

  PMPP_HOST_DEVICE constexpr std::uint32_t value() const { return value_; }

  /// floor(n / value), for n < 2^31. With s = ceil(log2(value)), factor exceeds 2^(31 + s) / value by less than 1, so that
  /// n * factor / 2^(31 + s) exceeds n / value by less than 2^-s, and 2^-s is at most 1 / value.
  PMPP_HOST_DEVICE constexpr std::uint32_t quotient(std::uint32_t n) const {
    return static_cast<std::uint32_t>(std::uint64_t(n * 2) * factor_ >> 32) >> shift_;
  }

private:
  std::uint32_t value_ = 1, shift_ = 0, factor_ = std::uint32_t(1) << 31;
};

}  // namespace pmpp::inline PMPP_BACKEND
