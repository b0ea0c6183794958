// SPDX-License-Identifier: Apache-2.0
//
// Records that tests put in order, and their orders.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>

#include "support/monoids.hpp"

namespace test {

/// Sorted by `key` alone; `tag` tells equals apart.
struct tagged {
  std::int32_t key;
  std::uint32_t tag;
  friend bool operator==(const tagged&, const tagged&) = default;
};
struct by_key {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x, const T& y) const {
    return x.key < y.key;
  }
};

/// Twelve bytes.
struct triple {
  std::int32_t major, minor;
  std::uint32_t tag;
  friend bool operator==(const triple&, const triple&) = default;
};
struct by_both {
  PMPP_HOST_DEVICE bool operator()(const triple& x, const triple& y) const {
    return x.major != y.major ? x.major < y.major : x.minor < y.minor;
  }
};

struct by_last_part {
  PMPP_HOST_DEVICE bool operator()(const wide& x, const wide& y) const { return x.part[4] < y.part[4]; }
};

struct contradicting {
  PMPP_HOST_DEVICE bool operator()(std::uint32_t x, std::uint32_t y) const {
    return ((x * 0x9e3779b1u ^ y * 0x85ebca6bu) >> 15 & 1) != 0;
  }
};

}  // namespace test
