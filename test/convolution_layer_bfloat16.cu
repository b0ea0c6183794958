// SPDX-License-Identifier: Apache-2.0
//
// Layers of bfloat16: sums in float, rounded once. See convolution_layer.cpp.
#include <pmpp/convolution_layer.hpp>

#include <cuda_bf16.h>

#include "support/layers.hpp"

TEST_CASE("bfloat16 adds up in float and is rounded once") {
  test::try_two_bytes<test::device_place, __nv_bfloat16, __nv_bfloat16>(8e-3);
}

TEST_CASE("TMA looks up windows of bfloat16") { test::try_windows<test::device_place, __nv_bfloat16, float>(); }
