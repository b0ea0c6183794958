// SPDX-License-Identifier: Apache-2.0
//
// Three dimensions. See convolution.cpp.
#include <pmpp/convolution.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/convolutions.hpp"
#include "support/data.hpp"

using namespace test::convolutions;

TEST_ALL_PLACES("three dimensions: masks that reach over planes, and masks of one plane, in either memory") {
  test::only_each some(5, 3);
  for (const shape& size : {shape{1, 1, 1}, {5, 7, 9}, {3, 20, 150}, {9, 3, 132}, {4, 2, 264}})
    for (const shape& taps : {shape{3, 3, 3}, {2, 3, 4}, {1, 3, 3}, {5, 1, 1}, {4, 9, 9}, {5, 5, 5}, {7, 7, 7}})
      for (const border::rule& outside : rules)
        if (!some.leaves_out()) check_volume<where, float, float>(size, taps, outside);
  for (const shape& taps : {shape{3, 5, 5}, {5, 4, 6}, {6, 7, 2}, {2, 1, 7}, {1, 1, 5}, {7, 7, 1}, {3, 8, 3}})
    for (const border::rule& outside : {border::zero, border::wrap})
      if (!some.leaves_out()) check_volume<where, float, float>({6, 37, 136}, taps, outside);
}
