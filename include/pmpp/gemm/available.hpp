// SPDX-License-Identifier: Apache-2.0
//
// Whether products of warpgroups (simt/wgmma.hpp) and the copy unit (simt/tensor_copy.hpp) can be had, which programs of several
// architectures only know when they run.
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <pmpp/launch.hpp>
#include <pmpp/simt/tensor_copy.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Whether the current device is one of sm_90a and runs code that was compiled for it. Asks CUDA once per device. (A template, so
/// that who multiplies nothing gets no code.)
template <class Probe = simt::wgmma_probe>
bool wgmma_available() {
  enum : char { unknown, no, yes };
  static char known[most_devices];
  const int device = launch_device();
  char answer = __atomic_load_n(&known[device], __ATOMIC_RELAXED);
  if (answer == unknown) {
    void (*const probe)(Probe) = simt::detail::run_kernel<Probe::threads, Probe>;
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(probe)), "cudaFuncGetAttributes");
    answer = attributes.sharedSizeBytes > 0 ? yes : no;
    __atomic_store_n(&known[device], answer, __ATOMIC_RELAXED);
  }
  return answer == yes;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop

#else

namespace pmpp::inline PMPP_BACKEND::detail {

inline bool wgmma_available() { return false; }

}  // namespace pmpp::inline PMPP_BACKEND::detail

#endif
