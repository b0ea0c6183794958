// SPDX-License-Identifier: Apache-2.0
//
// Algebras that show a wrong grouping, a wrong order or an invented operand.
#pragma once

#include <cstdint>
#include <cstdlib>

#include <pmpp/core/config.hpp>

namespace test {

/// A range of positions. Joining two that are not adjacent poisons the result for good: an algorithm that combines
/// elements out of order, twice, or together with anything that is no element is caught.
struct interval {
  std::int64_t lo = 0, hi = 0;
  friend bool operator==(const interval&, const interval&) = default;
  static constexpr std::int64_t poison = -1;
};
struct join {
  PMPP_HOST_DEVICE interval operator()(const interval& a, const interval& b) const {
    if (a.lo == interval::poison || b.lo == interval::poison || a.hi != b.lo)
      return {interval::poison, interval::poison};
    return {a.lo, b.hi};
  }
};

/// The bicyclic monoid: strings of closing and opening brackets, reduced. Associative, not commutative.
struct brackets {
  std::uint32_t closing = 0, opening = 0;
  friend bool operator==(const brackets&, const brackets&) = default;
};
struct concatenate {
  PMPP_HOST_DEVICE brackets operator()(const brackets& a, const brackets& b) const {
    const std::uint32_t matched = a.opening < b.closing ? a.opening : b.closing;
    return {a.closing + b.closing - matched, a.opening - matched + b.opening};
  }
};

/// x -> scale * x + shift modulo 2^32, composed: twelve bytes with the tag, no default identity worth the name.
struct affine {
  std::uint32_t scale = 0, shift = 0, length = 0;
  friend bool operator==(const affine&, const affine&) = default;
};
struct compose {
  PMPP_HOST_DEVICE affine operator()(const affine& a, const affine& b) const {
    return {a.scale * b.scale, a.shift * b.scale + b.shift, a.length + b.length};
  }
};

/// Forty bytes, summed: larger than any message word.
struct wide {
  std::int64_t part[5] = {};
  friend bool operator==(const wide&, const wide&) = default;
};
struct add_wide {
  PMPP_HOST_DEVICE wide operator()(const wide& a, const wide& b) const {
    wide c;
    for (int i = 0; i < 5; ++i) c.part[i] = a.part[i] + b.part[i];
    return c;
  }
};

}  // namespace test
