// SPDX-License-Identifier: Apache-2.0
//
// The tunings that gemm is tested with.
//
// One gemm of default tiles is up to a minute of compile time, for a GPU with tensor cores more; so each file has one, or
// small tiles alone:
//
//   gemm.cpp           small tiles: float, all layouts and shapes; epilogues, bad input
//   gemm_types.cpp     small tiles: integers of 1 to 8 bytes, double, types that differ
//   gemm_plans.cpp     tiles by themselves: warps that share one, splits of k, shares
//   gemm_default.cpp   default tiles: float
//   gemm_double.cpp    default tiles: double
//   gemm_half.cpp      default tiles: half;  gemm_bfloat16.cu: bfloat16
//   gemm_batched.cpp   batches, vectors
#pragma once

#include <pmpp/gemm.hpp>

namespace test {

// Of one warp, so that small products have many tiles; all four shapes are tried by giving one shape to all.
inline constexpr pmpp::gemm_tile flat{16, 32, 8, 3, 4, 4, 4, 1}, high{32, 16, 8, 3, 4, 4, 8, 1, 2},
    few{8, 64, 16, 3, 4, 4, 2, 1}, two_warps{32, 32, 8, 4, 4, 4, 4, 1, 8};
// A warp multiplies a half or a quarter of each slab.
inline constexpr pmpp::gemm_tile halves{16, 32, 16, 3, 4, 4, 4, 1, 4, 2}, quarters{32, 32, 32, 3, 4, 8, 8, 1, 8, 4};
inline constexpr pmpp::gemm_tuning tiny{flat, high, few, flat, {}, {}, {}, {4, 64, 2}, {8, 32, 4}};
inline constexpr pmpp::gemm_tuning other{two_warps, two_warps, two_warps, two_warps};

}  // namespace test
