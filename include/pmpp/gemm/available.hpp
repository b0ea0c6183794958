// SPDX-License-Identifier: Apache-2.0
//
// Whether products of warpgroups (simt/wgmma.hpp) can be had, which programs of several architectures only know when they run.
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <pmpp/launch.hpp>
#include <pmpp/simt/tensor_copy.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Whether `device` is one of sm_90a and runs code that was compiled for it. Asks CUDA once per device. (A template, so that
/// who multiplies nothing gets no code.)
template <class Probe>
bool wgmma_available(int device) {
  enum : char { unknown, no, yes };
  static char known[most_devices];
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

#endif
