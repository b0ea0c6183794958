// SPDX-License-Identifier: Apache-2.0
//
// What CUDA says of a kernel that is a function object: its registers, its memory, how many blocks a multiprocessor holds.
//
//   const auto function = pmpp::function_of(my_kernel{}, in, out);        as launch(device, blocks, my_kernel{}, in, out) starts it
//   pmpp::resources_of(function, my_kernel::threads)                      registers, shared memory, spilled bytes (occupancy.hpp)
//   pmpp::measured_occupancy(function, my_kernel::threads)
#pragma once

#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/launch.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

#if defined(__CUDACC__) && PMPP_CUDA
/// The __global__ function that launch(device, blocks, kernel, args...) starts. Shared memory of a kernel that has more than 48 KB is
/// dynamic there, and not counted.
template <class Kernel, class... Args>
requires std::is_class_v<Kernel>
auto function_of(const Kernel&, const Args&...) {
  const auto* entry = [] {
    if constexpr (requires { Kernel::threads; })
      return reinterpret_cast<const void*>(&simt::detail::run_kernel<Kernel::threads, Kernel, Args...>);
    else
      return reinterpret_cast<const void*>(&simt::detail::run_kernel<0, Kernel, Args...>);
  }();
  return reinterpret_cast<void (*)(Kernel, Args...)>(const_cast<void*>(entry));
}
#endif

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
