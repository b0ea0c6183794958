// SPDX-License-Identifier: Apache-2.0
//
// What a selection (select.hpp) comes to.
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

}  // namespace pmpp::inline PMPP_BACKEND::detail
