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
//   gemm_batched.cpp   default tiles: float, batches
//   gemv.cpp           vectors: float, integers of one byte
#pragma once

#include <pmpp/gemm.hpp>

namespace test {

// clang-format off
// Of one warp, so that small products have many tiles; all four shapes are tried by giving one shape to all.
inline constexpr pmpp::gemm_tile flat{.m = 16, .n = 32, .k = 8, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 1},
    high{.m = 32, .n = 16, .k = 8, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 8, .blocks = 1, .unrolled_k = 2},
    few{.m = 8, .n = 64, .k = 16, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 2, .blocks = 1},
    two_warps{.m = 32, .n = 32, .k = 8, .stages = 4, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 1, .unrolled_k = 8};
// A warp multiplies a half or a quarter of each k-tile.
inline constexpr pmpp::gemm_tile halves{.m = 16, .n = 32, .k = 16, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 1, .unrolled_k = 4, .slices = 2},
    quarters{.m = 32, .n = 32, .k = 32, .stages = 3, .thread_m = 4, .thread_n = 8, .lanes_m = 8, .blocks = 1, .unrolled_k = 8, .slices = 4};
inline constexpr pmpp::gemm_tuning tiny{.large = flat, .small = high,
                                  .thin = {.rows = 8, .k = 32, .stages = 4}, .direct = false};
inline constexpr pmpp::gemm_tuning other{.large = two_warps, .small = two_warps};
// clang-format on

}  // namespace test
