// SPDX-License-Identifier: Apache-2.0
//
// What all rungs add up, and how far they are off. The numbers are floats that are multiples of 2^-40 and below 2, so that a sum of
// 64-bit integers is exact; errors are told in units of u * (|x[0]| + ... + |x[n - 1]|), u = 2^-24: as many roundings as a number
// seems to have gone through, whatever n and the numbers are.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <pmpp/launch.hpp>

namespace ladder {

enum class kind { uniform, of_all_sizes, cancelling };

/// n numbers: in [0, 1); of sizes from 1 down to 2^-16; or such, each followed somewhere by its negative, but for a few.
inline std::vector<float> numbers(kind what, std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  std::uint64_t random = 1;
  for (std::int64_t i = 0; i < n; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const float digits = float(random >> 40) / float(1 << 24);
    x[std::size_t(i)] = what == kind::uniform
                            ? digits
                            : std::ldexp(1 + std::floor(digits * 0x1p23f) * 0x1p-23f, -int(random >> 36 & 15) - 1);
  }
  if (what == kind::cancelling)
    for (std::int64_t i = n / 64; i < n / 2; ++i) x[std::size_t(n - 1 - i)] = -x[std::size_t(i)];
  return x;
}

inline double exact_sum(const std::vector<float>& x) {
  std::int64_t sum = 0;
  for (const float v : x) sum += std::int64_t(std::ldexp(double(v), 40));
  return std::ldexp(double(sum), -40);
}

/// |found - exact|, in roundings: see above.
inline double roundings(double found, const std::vector<float>& x) {
  double sizes = 0;
  for (const float v : x) sizes += std::fabs(double(v));
  return std::fabs(found - exact_sum(x)) / (0x1p-24 * sizes);
}

}  // namespace ladder
