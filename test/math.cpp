// SPDX-License-Identifier: Apache-2.0
//
// Properties of core/math.hpp, over every small argument and at the ends of the types:
//   ceil_div and round_up are the least that satisfies their definition, and do not overflow
//   floor_log2 and ceil_log2 bracket their argument by powers of two
//   greatest_common_divisor divides both and is divided by every common divisor
#include <pmpp/core/math.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <numeric>

TEST_CASE("ceil_div is the least quotient that covers the dividend") {
  for (int dividend = 0; dividend <= 200; ++dividend)
    for (int divisor = 1; divisor <= 70; ++divisor) {
      const int quotient = pmpp::ceil_div(dividend, divisor);
      CHECK(quotient * divisor >= dividend);
      CHECK((quotient == 0 || (quotient - 1) * divisor < dividend));
    }
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  static_assert(pmpp::ceil_div(largest, std::int64_t{1}) == largest);
  static_assert(pmpp::ceil_div(largest, std::int64_t{2}) == largest / 2 + 1);
}

TEST_CASE("round_up is the least multiple that is not below the value") {
  for (int value = 0; value <= 200; ++value)
    for (int multiple = 1; multiple <= 70; ++multiple) {
      const int rounded = pmpp::round_up(value, multiple);
      CHECK(rounded % multiple == 0);
      CHECK((rounded >= value && rounded - value < multiple));
    }
}

TEST_CASE("logarithms bracket their argument by powers of two") {
  for (std::int64_t value = 1; value <= 5000; ++value) {
    const int below = pmpp::floor_log2(value), above = pmpp::ceil_log2(value);
    CHECK((std::int64_t{1} << below) <= value);
    CHECK((std::int64_t{1} << above) >= value);
    CHECK(above - below == (pmpp::is_power_of_two(value) ? 0 : 1));
  }
  static_assert(pmpp::floor_log2(std::numeric_limits<std::uint64_t>::max()) == 63);
}

TEST_CASE("greatest_common_divisor agrees with std::gcd") {
  for (int a = 0; a <= 90; ++a)
    for (int b = 0; b <= 90; ++b) CHECK(pmpp::greatest_common_divisor(a, b) == std::gcd(a, b));
}

TEST_CASE("smaller and larger return the first of equals") {
  static_assert(pmpp::min(1, 2) == 1 && pmpp::max(1, 2) == 2);
  static_assert(pmpp::min(2, 1) == 1 && pmpp::max(2, 1) == 2);
}
