// SPDX-License-Identifier: Apache-2.0
//
// gemm of floats that may be rounded to tf32. See gemm_tensor_cores.cpp.
#include <pmpp/gemm.hpp>

#include "support/tensor_products.hpp"

TEST_CASE("gemm on tensor cores: tf32") { test::try_shapes<float, float>(test::many); }

TEST_CASE("gemm on tensor cores: tf32, what is not needed is not read; NaN and infinity spread") {
  test::try_special<float>(test::tf32);
}

#if PMPP_CUDA
TEST_CASE("gemm on tensor cores: tf32, at and beside the edges of tiles") { test::try_edges<float, float>(); }
#endif
