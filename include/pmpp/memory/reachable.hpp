// SPDX-License-Identifier: Apache-2.0
//
// Debug mode: is this pointer something that the policy's machine can reach? Passing host memory to a kernel is the
// most common mistake of all, and shows as an illegal access long after. Asks CUDA about every plain pointer behind an
// iterator; costs 0.1 us a pointer under PMPP_DEBUG and nothing otherwise.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/execution.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Throws std::invalid_argument if `p` is ordinary host memory and the current device cannot read such memory.
inline void require_device_pointer([[maybe_unused]] const char* function, [[maybe_unused]] const void* p) {
#if PMPP_CUDA
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, p), "cudaPointerGetAttributes");
  if (attributes.type != cudaMemoryTypeUnregistered) return;
  int device = 0, reads_host_memory = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&reads_host_memory, cudaDevAttrPageableMemoryAccess, device), "cudaDeviceGetAttribute");
  require(reads_host_memory != 0, [&] {
    return std::string("pmpp::") + function +
           ": a pointer to host memory was passed to pmpp::device; use device_buffer, pinned_buffer or managed_buffer";
  });
#endif
}

/// Whether `p` is in memory that kernels read and the host cannot, or should not: a GPU's, or managed.
template <class P>
bool lives_on_device([[maybe_unused]] const P& where, [[maybe_unused]] const void* p) {
#if PMPP_CUDA
  if constexpr (gpu_execution<P>) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, p), "cudaPointerGetAttributes");
    return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  }
#endif
  return false;
}

/// Applies require_device_pointer to the plain pointers that an iterator is made of. Only in debug mode, on a GPU.
template <class P, class It>
void check_reachable([[maybe_unused]] const P& where, [[maybe_unused]] const char* function,
                     [[maybe_unused]] const It& it) {
  if constexpr (debug_mode && gpu_execution<P>) {
    if constexpr (std::is_pointer_v<It>) {
      if (it != nullptr) require_device_pointer(function, it);
    } else if constexpr (requires { it.a, it.b; }) {
      check_reachable(where, function, it.a);
      check_reachable(where, function, it.b);
    } else if constexpr (requires { it.base, it.f; }) {
      check_reachable(where, function, it.base);
    }
  }
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
