// SPDX-License-Identifier: Apache-2.0
//
// What a selection (select.hpp) counts, and what it comes to.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// Where elements go that are not kept, if that is nowhere.
struct nowhere {};

/// Where they go if they are of two kinds.
template <class Second, class Rest>
struct second_and_rest {
  Second second;
  Rest rest;
};
template <class T>
inline constexpr bool is_second_and_rest = false;
template <class Second, class Rest>
inline constexpr bool is_second_and_rest<second_and_rest<Second, Rest>> = true;

/// How many elements there were, and how many of them were kept.
struct selection {
  std::int64_t kept, n;
};
/// The same of three kinds: those of the first are kept.
struct three_way_selection {
  std::int64_t kept, second, n;
};

/// Two counts of less than 2^48, in 12 bytes: what blocks exchange in one access (block/tile_state.hpp).
struct pair_of_counts {
  std::uint32_t low[2];
  std::uint16_t high[2];

  pair_of_counts() = default;
  PMPP_HOST_DEVICE pair_of_counts(std::int64_t first, std::int64_t second)
      : low{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second)},
        high{static_cast<std::uint16_t>(first >> 32), static_cast<std::uint16_t>(second >> 32)} {}
  PMPP_HOST_DEVICE std::int64_t operator[](int k) const { return std::int64_t(high[k]) << 32 | low[k]; }
  PMPP_HOST_DEVICE friend pair_of_counts operator+(const pair_of_counts& a, const pair_of_counts& b) {
    return {a[0] + b[0], a[1] + b[1]};
  }
};

/// What a warp counts, what all tiles count, and the result. `one` stands for an element of each kind; a word may count several rows, in
/// fields side by side.
template <bool ThreeWays>
struct selection_counts {
  using of_warp = unsigned;
  using of_tiles = std::int64_t;
  using found = selection;
  static constexpr of_warp one = 1;
  PMPP_HOST_DEVICE static int first(of_warp x) { return static_cast<int>(x); }
  PMPP_HOST_DEVICE static int second(of_warp) { return 0; }
  PMPP_HOST_DEVICE static of_tiles wide(of_warp x) { return x; }
  PMPP_HOST_DEVICE static found result(of_tiles x, std::int64_t n) { return {x, n}; }
};
/// Of three kinds the second is counted in the upper half of a word.
template <>
struct selection_counts<true> {
  using of_warp = std::uint64_t;
  using of_tiles = pair_of_counts;
  using found = three_way_selection;
  static constexpr of_warp one = of_warp(1) << 32 | 1;
  PMPP_HOST_DEVICE static int first(of_warp x) { return static_cast<int>(x & 0xffffffff); }
  PMPP_HOST_DEVICE static int second(of_warp x) { return static_cast<int>(x >> 32); }
  PMPP_HOST_DEVICE static of_tiles wide(of_warp x) { return {first(x), second(x)}; }
  PMPP_HOST_DEVICE static found result(const of_tiles& x, std::int64_t n) { return {x[0], x[1], n}; }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail
