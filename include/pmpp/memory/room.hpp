// SPDX-License-Identifier: Apache-2.0
//
// Room for elements while an algorithm runs, on any policy.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/raw_array.hpp>
#include <pmpp/memory/workspace.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// Calls f with room for n elements that last as long as what f enqueues.
template <class T, class P, class F>
auto with_room(const char* function, const P& where, std::int64_t n, const F& f) {
  if constexpr (kernel_execution<P>) {
    scratch memory(where, checked_bytes(n, sizeof(T), function) + allocation_alignment, 0);
    return f(memory.template take<T>(n));
  } else {
    raw_array<T> memory(n);
    return f(memory.data());
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail
