// SPDX-License-Identifier: Apache-2.0
//
// launch_together(policy, blocks, kernel, args...): a launch whose blocks all run at once, so that they may wait for each
// other (block/grid_barrier.hpp). What CUDA calls a cooperative launch.
#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// As launch(where, blocks, kernel, args...). The kernel names how many of its blocks a multiprocessor has room for
/// (`min_blocks`); more than that times the multiprocessors is a cuda_error, for nothing could ever run them.
template <kernel_execution P, class Kernel, class... Args>
requires std::is_class_v<Kernel>
void launch_together([[maybe_unused]] const P& where, std::int64_t blocks, const Kernel& kernel, const Args&... args) {
  static_assert(
      !gpu_execution<P> || has_cuda_compiler,
      "pmpp::device needs a CUDA compiler: make this a .cu file, or use pmpp::host, or PMPP_CUDA=OFF (the emulator)");
  constexpr std::string_view name = detail::type_name<Kernel>();
  constexpr std::size_t own = simt::detail::shared_bytes_of<Kernel>;
  const grid shape{blocks, Kernel::threads};
  if constexpr (gpu_execution<P>) {
#if defined(__CUDACC__) && PMPP_CUDA
    const int id = detail::device_limits::current();
    const auto limit = std::size_t(detail::device_limits::of(id).shared_per_block);
    if (!detail::has_blocks(shape, name, Kernel::threads, own, limit)) return;
    detail::require_stream_of(id, where.stream);
    constexpr bool is_dynamic = own > simt::detail::static_shared_limit;
    const auto* entry = reinterpret_cast<const void*>(&simt::detail::run_kernel<Kernel::threads, Kernel, Args...>);
    if constexpr (is_dynamic)
      detail::allow_shared_bytes_once<void(std::integral_constant<int, Kernel::threads>, Kernel, Args...)>(id, entry);
    auto config = detail::launch_config(shape, is_dynamic ? round_up(own, std::size_t(16)) : 0, where.stream);
    cudaLaunchAttribute together{};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    config.attrs = &together;
    config.numAttrs = 1;
    const void* values[] = {__builtin_addressof(kernel), __builtin_addressof(args)...};
    detail::after_launch(cudaLaunchKernelExC(&config, entry, const_cast<void**>(values)), name, where.stream,
                         std::source_location::current());
#endif
  } else {
#if PMPP_WITH_EMULATOR
    if (!detail::has_blocks(shape, name, Kernel::threads, own, detail::shared_limit(where))) return;
    simt::emulator_options options = simt::detail::options_of_this_launch();
    options.resident_blocks = static_cast<int>(blocks);
    const simt::scoped_emulator_options scope(options);
    simt::emulate(shape, name, kernel, args...);
#endif
  }
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
