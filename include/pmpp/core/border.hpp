// SPDX-License-Identifier: Apache-2.0
//
// What is read where a mask or a stencil reaches over the edge. Of the elements a b c d:
//
//   border::zero          0 0 0 a b c d 0 0 0         border::reflect   c b a a b c d d c b
//   border::constant(v)   v v v a b c d v v v         border::mirror    d c b a b c d c b a
//   border::clamp         a a a a b c d d d d         border::wrap      b c d a b c d a b c
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND {

namespace border {

enum class kind { constant, clamp, reflect, mirror, wrap };

struct rule {
  kind what;
  double value;  ///< of kind::constant
};

inline constexpr rule zero{kind::constant, 0};
inline constexpr rule clamp{kind::clamp, 0};      ///< the nearest element
inline constexpr rule reflect{kind::reflect, 0};  ///< the edge elements twice
inline constexpr rule mirror{kind::mirror, 0};    ///< the edge elements once
inline constexpr rule wrap{kind::wrap, 0};
constexpr rule constant(double v) { return {kind::constant, v}; }

}  // namespace border

namespace detail {

/// Where position i of an axis of n > 0 elements is read; -1: nowhere, the constant stands there.
PMPP_HOST_DEVICE inline std::int64_t position_in(std::int64_t i, std::int64_t n, border::kind outside) {
  if (i >= 0 && i < n) return i;
  if (outside == border::kind::constant) return -1;
  if (outside == border::kind::clamp) return i < 0 ? 0 : n - 1;
  const bool mirrors = outside == border::kind::mirror;
  const std::int64_t period = outside == border::kind::wrap ? n : mirrors ? max(std::int64_t(1), 2 * n - 2) : 2 * n;
  std::int64_t r = i < 0 ? i + period : i;
  if (static_cast<std::uint64_t>(r) >= static_cast<std::uint64_t>(period)) r = (i % period + period) % period;
  return r < n ? r : mirrors ? period - r : period - 1 - r;
}

/// The same for positions at most `Reach` past an axis of n elements: -1 - k is read at before[k], n + k at after[k].
/// Found out before the launch, since it takes divisions.
template <int Reach>
struct border_rim {
  std::int64_t before[Reach], after[Reach];

  border_rim(std::int64_t n, border::kind outside) {
    for (int k = 0; k < Reach; ++k) {
      before[k] = position_in(-1 - k, n, outside);
      after[k] = position_in(n + k, n, outside);
    }
  }
  PMPP_HOST_DEVICE std::int64_t position(std::int64_t i, std::int64_t n) const {
    return i < 0 ? before[-1 - i] : i < n ? i : after[i - n];
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
