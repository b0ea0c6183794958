// SPDX-License-Identifier: Apache-2.0
//
// tuned<scan_tuning>: what an algorithm uses where its caller passes no tuning. Sizes of blocks and tiles were
// measured on an H100 and an H200; `make tune` measures them on the GPU at hand and writes a header of specialisations:
//
//   #include <pmpp/pmpp.hpp>
//   #include "pmpp_tuning.hpp"    // after it, in every file of the program: the one-definition rule
#pragma once

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// The tuning of calls that name none.
template <class Tuning>
inline constexpr Tuning tuned{};

}  // namespace pmpp::inline PMPP_BACKEND
