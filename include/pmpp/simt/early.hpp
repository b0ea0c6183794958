// SPDX-License-Identifier: Apache-2.0
//
// For kernels that begin early: the next kernel in a stream may be started while the one before it still ends, which saves most
// of the time between two short ones. Such a kernel says `static constexpr bool begins_early = can_begin_early`
// (simt/block.hpp) and waits itself, before it touches global memory. (PTX ISA: griddepcontrol.)
#pragma once

#include <initializer_list>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND::simt {

/// Whether all of a program is compiled for sm_90 or later, where kernels can wait.
constexpr bool all_can_begin_early() {
#if defined(__CUDA_ARCH_LIST__)
  for (const int architecture : {__CUDA_ARCH_LIST__})
    if (architecture < 900) return false;
  return true;
#else
  return false;
#endif
}
inline constexpr bool can_begin_early = all_can_begin_early();

/// Waits until all kernels before this one in the stream have ended, and sees what they wrote.
PMPP_HOST_DEVICE inline void previous_kernels_done() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
