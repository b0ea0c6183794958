// SPDX-License-Identifier: Apache-2.0
//
// The version of the headers; CMake reads it from here. Semantic versioning: a program that compiles with x.y
// compiles with every later x.z.
#pragma once

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

}  // namespace pmpp::inline PMPP_BACKEND
