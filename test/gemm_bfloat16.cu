// SPDX-License-Identifier: Apache-2.0
//
// gemm of bfloat16: sums in float, rounded once. See gemm.cpp.
#include <pmpp/gemm.hpp>

#include <cuda_bf16.h>

#include "support/rounded_products.hpp"

TEST_CASE("gemm: bfloat16 adds up in float") { test::check_rounded<test::device_place, __nv_bfloat16>(1.5f); }
