// SPDX-License-Identifier: Apache-2.0
//
// The version of the headers; CMake reads it from here. Semantic versioning: a program that compiles with 0.y.z compiles
// with every later 0.y; from 1.0 on, one that compiles with x.y.z does so with every later x. CHANGELOG.md has the details.
#pragma once

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

}  // namespace pmpp::inline PMPP_BACKEND
