// SPDX-License-Identifier: Apache-2.0
//
// What a sweep draws cases with: the same numbers from the same seed, on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include <pmpp/core/config.hpp>

namespace sweep {

/// 64 random bits, a function of i (splitmix64).
PMPP_HOST_DEVICE inline std::uint64_t bits_of(std::uint64_t i) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class dice {
public:
  explicit dice(std::uint64_t seed) : state_(bits_of(seed)) {}

  std::uint64_t bits() { return bits_of(state_++); }
  /// In [0, 1).
  double unit() { return double(bits() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  std::int64_t below(std::int64_t n) { return std::min(n - 1, std::int64_t(unit() * double(n))); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + below(std::int64_t(values.size())));
  }
  /// In [least, most]; each factor of two is as likely as any other.
  std::int64_t log_uniform(std::int64_t least, std::int64_t most) {
    const double x = double(least) * std::exp(unit() * std::log(double(most + 1) / double(least)));
    return std::clamp(std::int64_t(x), least, std::max(least, most));
  }

private:
  std::uint64_t state_;
};

}  // namespace sweep
