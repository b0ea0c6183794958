// SPDX-License-Identifier: Apache-2.0
//
// gemm of bfloat16 into float. See gemm_tensor_cores.cpp.
#include <pmpp/gemm.hpp>

#include <cuda_bf16.h>

#include "support/tensor_products.hpp"

TEST_CASE("gemm on tensor cores: bfloat16") { test::try_shapes<__nv_bfloat16, float>(test::many); }

TEST_CASE("gemm on tensor cores: bfloat16, at and beside the edges of tiles") {
  test::try_edges<__nv_bfloat16, float>();
}
