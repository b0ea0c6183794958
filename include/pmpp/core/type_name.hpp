// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <pmpp/core/config.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// The name of a type, as the compiler spells it.
template <class T>
constexpr std::string_view type_name() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t from = text.find("T = ") + 4;
  const std::size_t to = text.find(';', from);
  return text.substr(from, (to == std::string_view::npos ? text.rfind(']') : to) - from);
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
