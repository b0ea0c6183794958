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

namespace detail {

/// Launches, unless `blocks` blocks of the kernel do not run at once there: then says so and does nothing.
template <kernel_execution P, class Kernel, class... Args>
bool try_launch_together([[maybe_unused]] const P& where, std::int64_t blocks, const Kernel& kernel,
                         const Args&... args) {
  static_assert(
      !gpu_execution<P> || has_cuda_compiler,
      "pmpp::device needs a CUDA compiler: make this a .cu file, or use pmpp::host, or PMPP_CUDA=OFF (the emulator)");
  constexpr std::string_view name = type_name<Kernel>();
  constexpr std::size_t own = simt::detail::shared_bytes_of<Kernel>;
  const grid shape{blocks, Kernel::threads};
  if constexpr (gpu_execution<P>) {
#if defined(__CUDACC__) && PMPP_CUDA
    const int id = launch_device();
    if (!has_blocks(shape, name, Kernel::threads, own, std::size_t(machine_of_device(id).shared_per_block)))
      return true;
    require_stream_of(id, where.stream);
    constexpr bool is_dynamic = own > simt::detail::static_shared_limit;
    const auto* entry = reinterpret_cast<const void*>(&simt::detail::run_kernel<Kernel::threads, Kernel, Args...>);
    if constexpr (is_dynamic)
      allow_shared_bytes_once<void(std::integral_constant<int, Kernel::threads>, Kernel, Args...)>(id, entry);
    auto config = launch_config(shape, is_dynamic ? round_up(own, std::size_t(16)) : 0, where.stream);
    cudaLaunchAttribute together{};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    config.attrs = &together;
    config.numAttrs = 1;
    const void* values[] = {__builtin_addressof(kernel), __builtin_addressof(args)...};
    const cudaError_t status = cudaLaunchKernelExC(&config, entry, const_cast<void**>(values));
    if (status == cudaErrorCooperativeLaunchTooLarge) {
      (void)cudaGetLastError();
      return false;
    }
    after_launch(status, name, where.stream, std::source_location::current());
#endif
  } else {
#if PMPP_WITH_EMULATOR
    const machine& m = machine_of(where);
    if (!has_blocks(shape, name, Kernel::threads, own, std::size_t(m.shared_per_block))) return true;
    if (blocks > resident_blocks<Kernel>(m)) return false;
    simt::emulator_options options = simt::detail::options_of_this_launch();
    options.resident_blocks = static_cast<int>(blocks);
    const simt::scoped_emulator_options scope(options);
    simt::emulate(shape, name, kernel, args...);
#endif
  }
  return true;
}

[[noreturn]] inline void refuse_together(std::string_view kernel, std::int64_t blocks) {
  throw std::invalid_argument("pmpp::launch_together: " + std::string(kernel) + ": " + std::to_string(blocks) +
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
/// \throws as launch; std::invalid_argument if this many blocks do not run at once, for nothing could ever run them.
template <kernel_execution P, class Kernel, class... Args>
requires std::is_class_v<Kernel>
void launch_together(const P& where, std::int64_t blocks, const Kernel& kernel, const Args&... args) {
  if (!detail::try_launch_together(where, blocks, kernel, args...))
    detail::refuse_together(detail::type_name<Kernel>(), blocks);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
