// SPDX-License-Identifier: Apache-2.0
//
// Layers of doubles, and of floats into doubles. See convolution_layer.cpp.
#include <pmpp/convolution_layer.hpp>

#include "support/layers.hpp"

using test::order;
using test::setting;
using test::settings;
using test::tiny;
using test::try_layer;

TEST_ALL_PLACES("layers of doubles") {
  for (const setting& s : settings()) try_layer<where, double, tiny>(s, order::nhwc, order::nhwc, order::nhwc, 1e-15);
}

#if PMPP_CUDA
TEST_CASE("TMA looks up windows of floats") { test::try_windows<test::device_place, float, double>(); }
#endif
