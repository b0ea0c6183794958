// SPDX-License-Identifier: Apache-2.0
//
// tuned<scan_tuning>: what an algorithm uses where its caller passes no tuning. Sizes of blocks and tiles were
// measured on an H100 and an H200; `make tune` measures them on the GPU at hand and writes a header of specialisations:
//
//   #include "pmpp_tuning.hpp"    // in front of all of pmpp, in every file of the program: the one-definition rule
//   #include <pmpp/pmpp.hpp>
#pragma once

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// The values of a tuning. Specialisations know it by its name alone: compilers fix tuned<scan_tuning> where scan.hpp first names
/// it, so that values have to be there before, and its fields are not.
template <class Tuning>
struct tuning_values {
  template <class T>
  static constexpr T make() {
    return {};
  }
};

/// The tuning of calls that name none.
template <class Tuning>
inline constexpr Tuning tuned = tuning_values<Tuning>::template make<Tuning>();

}  // namespace pmpp::inline PMPP_BACKEND
