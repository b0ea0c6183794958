// SPDX-License-Identifier: Apache-2.0
//
// Pixels, integers, double and half. See convolution.cpp.
#include <pmpp/convolution.hpp>

#include <cstdint>
#include <utility>
#include <vector>
#if PMPP_CUDA
#include <cuda_fp16.h>
#endif

#include "support/convolutions.hpp"

using namespace test::convolutions;

TEST_ALL_PLACES("pixels, doubles, integers: sums are rounded and saturate") {
  for (const border::rule& outside : {border::zero, border::reflect, border::constant(200), border::constant(-7.5)}) {
    for (const std::int64_t k : {3, 4, 5, 7}) {
      check_matrix<in_strips, where, std::uint8_t, float, std::uint8_t>(40, 280, k, k, outside);
      check_matrix<in_strips, where, std::uint8_t, float, std::uint8_t>(41, 149, k, k, outside, {1, 3}, {2, 5});
      check_matrix<in_strips, where, std::uint8_t, float, std::uint8_t>(41, 149, k, k, outside, {16, 11}, {32, 43});
      check_matrix<in_strips, where, std::int16_t, float, std::int16_t>(20, 140, k, k, outside);
      check_matrix<in_strips, where, double, double, double>(30, 140, k, k, outside);
    }
    check_matrix<in_strips, where, std::int16_t, float, std::int16_t>(20, 516, 13, 13, outside);  // in strips
    for (const std::int64_t n : test::some_of({1, 2, 15, 17, 33, 550}))  // pixels at addresses that vectors may have
      check_matrix<in_strips, where, std::uint8_t, float, std::uint8_t>(n, n, 3, 3, outside, {0, 16 - n % 16},
                                                                        {0, 64 - n % 16});
    check_matrix<in_strips, where, float, std::int16_t, std::uint8_t>(20, 140, 5, 5, outside);
    check_matrix<in_strips, where, std::int32_t, std::int32_t, std::int32_t>(20, 50, 3, 3, outside);
#if PMPP_CUDA
    check_matrix<in_strips, where, __half, float, __half>(40, 280, 3, 3, outside);
    check_matrix<in_strips, where, __half, __half, float>(40, 277, 6, 5, outside, {1, 2}, {0, 1});
#endif
  }
}
