// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gemm/mma.hpp, in the emulator and on a GPU: products of doubles, halves, bfloat16, 8-bit
// integers, and of floats in tf32 are those of the definition, for all layouts, leading dimensions, offsets and shapes;
// integers exactly; what lies around C stays; NaN, infinity, alpha, beta, epilogues, batches and splits of k as with
// ordinary units (test/gemm.cpp); the same bits on every run and for any order of blocks.
#include <pmpp/gemm.hpp>

#include <cstdint>
#if PMPP_CUDA
#include <cuda_fp16.h>
#else
#include <pmpp/simt/emulator.hpp>
#endif

#include "support/tensor_products.hpp"

using pmpp::device;
using test::check_product, test::made, test::tensor;

namespace {

#if PMPP_CUDA
using half = __half;
#else
using half = _Float16;
#endif

}  // namespace

TEST_CASE("gemm on tensor cores: half") { test::try_shapes<half, float>(test::many); }

#if PMPP_CUDA
TEST_CASE("gemm on tensor cores: the tiles that it is made with, at and beside their edges") {
  test::try_edges<half, float>();
}
#else
TEST_CASE("gemm on tensor cores: the tiles that it is made with") {
  test::try_shape<pmpp::gemm_tuning{}, half, float>(130, 260, 70, {false, 1}, {true}, {}, 1, 0);
  test::try_shape<pmpp::gemm_tuning{}, half, float>(40, 50, 70, {}, {}, {}, 1, 0);
}

TEST_CASE("gemm on tensor cores: any order of blocks, any seed, one worker or several") {
  using order = pmpp::simt::block_order;
  const auto a = made<half>(40, 1200, {}, true), b = made<half>(1200, 70, {}, true);
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const order o : {order::ascending, order::descending, order::shuffled}) {
      pmpp::simt::emulator_options options;
      options.threads = seed % 2 == 0 ? 1 : 2;
      options.order = o;
      options.seed = seed;
      const pmpp::simt::scoped_emulator_options scope(options);
      CAPTURE(seed);
      auto c = made<float>(40, 70, {}, true);
      pmpp::gemm<tensor>(device, 1, a.input(), b.input(), 0, c.view());
      check_product<float>(a, b, c, 1, 0, 0);
    }
}
#endif

TEST_CASE("gemm on tensor cores: what is not needed is not read; NaN and infinity spread; half overflows") {
  test::try_special<half>();
}
