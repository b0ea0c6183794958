// SPDX-License-Identifier: Apache-2.0
//
// What a selection (select.hpp) comes to.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// Where elements go that are not kept, if that is nowhere.
struct nowhere {};

/// How many elements there were, and how many of them were kept.
struct selection {
  std::int64_t kept, n;
};

}  // namespace pmpp::inline PMPP_BACKEND::detail
