// SPDX-License-Identifier: Apache-2.0
//
// How the ladders count what the warps of their rungs do, in the emulator.
#pragma once

#include <cstdio>
#include <functional>

#include <pmpp/simt/counters.hpp>

#if !PMPP_CUDA
/// A table of the accesses that a rung's kernels watch.
inline void print_counts(const char* rung, const std::function<void()>& call) {
  pmpp::simt::access_counts counts;
  {
    const pmpp::simt::scoped_counting on(counts);
    call();
  }
  if (!counts.all().empty()) std::printf("%s\n%s", rung, counts.table().c_str());
}
#endif
