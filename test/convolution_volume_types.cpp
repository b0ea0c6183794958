// SPDX-License-Identifier: Apache-2.0
//
// Three dimensions, elements that are no floats. See convolution.cpp.
#include <pmpp/convolution.hpp>

#include <cstdint>
#include <utility>
#include <vector>
#if PMPP_CUDA
#include <cuda_fp16.h>
#endif

#include "support/convolutions.hpp"

using namespace test::convolutions;

TEST_ALL_PLACES("three dimensions: elements that are no floats, constants that they hold or not") {
  for (const shape& taps : {shape{3, 3, 3}, {5, 5, 5}, {3, 4, 7}})
    for (const border::rule& outside : {border::zero, border::mirror, border::constant(200), border::constant(-7.5)}) {
      check_volume<where, std::uint8_t, std::uint8_t>({5, 9, 76}, taps, outside);
      check_volume<where, float, std::uint8_t>({4, 5, 66}, taps, outside);
      check_volume<where, double, double>({4, 5, 66}, taps, outside);
#if PMPP_CUDA
      check_volume<where, __half, __half>({5, 9, 76}, taps, outside);
#endif
    }
}
