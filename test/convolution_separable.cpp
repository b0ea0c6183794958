// SPDX-License-Identifier: Apache-2.0
//
// Separable masks. See convolution.cpp.
#include <pmpp/convolution.hpp>

#include <cstdint>
#include <utility>
#include <vector>
#if PMPP_CUDA
#include <cuda_fp16.h>
#endif

#include "support/convolutions.hpp"

using namespace test::convolutions;

TEST_ALL_PLACES("separable masks: the results of the whole mask, for every border and size") {
  test::only_each fourth(4);
  for (const border::rule& outside : rules) {
    for (const auto& [k, l] :
         {std::pair{1, 1}, {2, 2}, {3, 3}, {4, 7}, {5, 1}, {1, 6}, {9, 8}, {12, 11}, {16, 13}, {31, 31}, {33, 20}}) {
      if (fourth.leaves_out()) continue;
      check_separable<standard, where, float, float, float, float>(70, 140, k, l, outside);
      check_separable<standard, where, float, float, float, float>(5, 9, k, l, outside, {1, 2}, {3, 1});
      if constexpr (where::on_device)
        check_separable<tiny, where, float, float, float, float>(37, 150, k, l, outside, {4, 2}, {8, 2});
    }
    if (fourth.leaves_out()) continue;
    check_separable<standard, where, std::uint8_t, float, float, std::uint8_t>(40, 140, 3, 5, outside);
    check_separable<standard, where, std::uint8_t, float, float, std::uint8_t>(33, 131, 7, 4, outside, {1, 2}, {3, 0});
    check_separable<standard, where, std::uint8_t, float, float, std::uint8_t>(21, 1030, 15, 11, outside);
    check_separable<standard, where, std::uint8_t, float, float, std::uint8_t>(40, 600, 31, 20, outside);
    check_separable<standard, where, float, float, float, float>(21, 1030, 14, 16, outside);  // several strips
  }
  for (const border::rule& outside : {border::zero, border::mirror}) {
    check_separable<standard, where, float, float, float, float>(300, 270, 5, 5, outside);  // several sections
    check_separable<standard, where, double, double, double, double>(50, 140, 6, 9, outside);
    check_separable<standard, where, std::int16_t, std::int16_t, std::uint8_t, float>(20, 140, 5, 4, outside);
    check_separable<standard, where, std::int32_t, float, float, std::int32_t>(20, 50, 3, 3, outside);
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        check_separable<standard, where, float, float, float, float>(40, 135, 4, 7, outside, {0, 1, a}, {2, 3, b});
#if PMPP_CUDA
    check_separable<standard, where, __half, float, float, __half>(40, 280, 3, 9, outside);
#endif
  }
}

TEST_ALL_PLACES("separable masks of more taps than shared memory and parameters have room for") {
  for (const auto& [k, l] : {std::pair{500, 3}, {3, 500}, {600, 700}}) {
    if (test::only_small() && k == 600) continue;  // 400,000 taps an element
    check_separable<standard, where, float, float, float, float>(9, 20, k, l, border::reflect);
    if (k == 600) continue;
    check_separable<standard, where, float, float, float, float>(70, 5, k, l, border::wrap, {1, 0}, {1, 0});
  }
}
