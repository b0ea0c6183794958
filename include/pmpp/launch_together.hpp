// SPDX-License-Identifier: Apache-2.0
//
// launch_together(policy, blocks, kernel, args...): a launch whose blocks all run at once, so that they may wait for each
// other (block/sync_grid.hpp). What CUDA calls a cooperative launch.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

namespace detail {

/// Launches, unless `blocks` blocks of the kernel do not run at once there: then says so and does nothing.
template <kernel_execution P, class Kernel, class... Args>
bool try_launch_together(const P& where, std::int64_t blocks, const Kernel& kernel, const Args&... args) {
  return detail::launch_kernel<Kernel::threads, true>(where, grid{blocks, Kernel::threads}, kernel, args...);
}

[[noreturn]] inline void refuse_together(characters kernel, std::int64_t blocks) {
  detail::throw_invalid_argument("pmpp::launch_together: " + kernel.to_text() + ": " + detail::text::of(blocks) +
                                 " blocks do not run at once on this device, or on the part of it that is to be had");
}

/// The same with as many blocks as run at once, at most `blocks`, for kernels that work with any number of them: a green
/// context, or another process beside this one, may leave fewer multiprocessors than the device has.
template <kernel_execution P, class Kernel, class... Args>
void launch_together_at_most(const P& where, std::int64_t blocks, const Kernel& kernel, const Args&... args) {
  while (!try_launch_together(where, blocks, kernel, args...)) {
    if (blocks == 1) refuse_together(type_name<Kernel>(), blocks);
    blocks = ceil_div(blocks, std::int64_t(2));
  }
}

}  // namespace detail

/// As launch(where, blocks, kernel, args...). The kernel names how many of its blocks a multiprocessor has room for
/// (`min_blocks`); machine_of(where).resident_blocks(...) says how many that are on the machine at hand.
/// \throws as launch; std::invalid_argument if this many blocks do not run at once, as nothing could ever run them, or if the
/// machine has no such launches.
template <kernel_execution P, class Kernel, class... Args>
requires std::is_class_v<Kernel>
void launch_together(const P& where, std::int64_t blocks, const Kernel& kernel, const Args&... args) {
  if (!detail::try_launch_together(where, blocks, kernel, args...))
    detail::refuse_together(detail::type_name<Kernel>(), blocks);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
