// SPDX-License-Identifier: Apache-2.0
//
// A range of NVTX around a launch, from its checks to its return, by the name of the kernel: on a profiler's time line the kernel stands
// below it. With PMPP_NVTX=1; else nothing. (docs/profiling.md)
#pragma once

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#if PMPP_NVTX && defined(__CUDACC__)
#include <nvtx3/nvToolsExt.h>
#endif

namespace pmpp::inline PMPP_BACKEND::simt {

#if PMPP_NVTX && defined(__CUDACC__)
class named_range {
public:
  named_range(pmpp::detail::characters kernel) { nvtxRangePushA(kernel.to_text().c_str()); }
  named_range(const named_range&) = delete;
  ~named_range() { nvtxRangePop(); }
};
#else
struct named_range {
  named_range(pmpp::detail::characters) {}
};
#endif

}  // namespace pmpp::inline PMPP_BACKEND::simt
