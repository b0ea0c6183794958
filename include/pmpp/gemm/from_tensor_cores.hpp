// SPDX-License-Identifier: Apache-2.0
//
// True fp32 from tensor cores (gemm/parts.hpp): A and B are split into parts in scratch memory, which kernels for bfloat16 multiply,
// that of sm_90a or mma.sync. What that is expected to cost, and the launches.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/mma.hpp>
#include <pmpp/gemm/parts.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/remembered.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/gemm/wgmma.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Of a product's parts. Without wgmma, by mma.sync as cut up there.
struct parts_plan {
  bool by_wgmma = false, large = false;
  wgmma_plan wgmma{};
  gemm_plan mma{};
  double clocks = never;  ///< with the splitting
};

/// A tile for parts: beside each sum of the tensor cores a thread has one of their sums, so that warps have fewer of them.
constexpr mma_tile mma_tile_of_parts(mma_tile tile, std::size_t shared_bytes) {
  while (tile.warp_m * tile.warp_n > 64 * 32) (tile.warp_n > 32 ? tile.warp_n : tile.warp_m) /= 2;
  if (tile.warp_m * tile.warp_n > 32 * 32) tile.blocks = 1;
  return tile.within(shared_bytes);
}

/// How a product of parts is cut up by mma.sync. Splits are whole k-tiles.
template <mma_tile Tile, class Problem>
gemm_plan plan_parts_by_mma(const Problem& x, const machine& on) {
  constexpr double besides = 1.3;  // adding up, and waits that factors of plan_mma stand for
  gemm_cost cost = mma_cost_of<simt::mma_type::bfloat16, bfloat16_part, Tile>(on);
  cost.clocks_of_k *= part_products * besides;
  cost.item_bytes *= part_products;
  return plan_gemm(cost, x.c.rows, x.c.cols, k_of_parts(x.k), x.batch, on);
}

/// What a product takes from tensor cores; `never` where they cannot do it, or where k is short: their sums, which are cut off at
/// each step of 64 k, are as good as those of floats from there on, and little is to be gained.
template <mma_tile Large, mma_tile Small, class P, class TC, class S, class Epilogue>
parts_plan plan_from_tensor_cores(const P& where, const gemm_problem<float, float, TC, S, Epilogue>& x) {
  constexpr std::int64_t shortest = 128;
  const machine& on = machine_of(where);
  if (x.k < shortest || x.k > std::int64_t(1) << 28) return {};
  constexpr mma_tile large = mma_tile_of_parts(Large, least_shared_per_block<P>),
                     small = mma_tile_of_parts(Small, least_shared_per_block<P>);
  return remembered(shape_of(x, on), [&] {
    parts_plan plan;
    plan.wgmma = plan_parts_by_wgmma(where, x);
    const gemm_plan of_large = plan_parts_by_mma<large>(x, on), of_small = plan_parts_by_mma<small>(x, on);
    plan.large = of_large.clocks <= of_small.clocks;
    plan.mma = plan.large ? of_large : of_small;
    plan.by_wgmma = plan.wgmma.clocks < plan.mma.clocks;
    plan.clocks = min(plan.wgmma.clocks, plan.mma.clocks) +
                  clocks_of_parts(elements_of_parts(x.a, x.k, x.batch) + elements_of_parts(x.b, x.k, x.batch), on);
    return plan;
  });
}

/// Enqueues a product as planned.
template <mma_tile Large, mma_tile Small, class P, class TC, class S, class Epilogue>
void gemm_from_tensor_cores(const P& where, const gemm_problem<float, float, TC, S, Epilogue>& x,
                            const parts_plan& plan) {
  constexpr mma_tile large = mma_tile_of_parts(Large, least_shared_per_block<P>),
                     small = mma_tile_of_parts(Small, least_shared_per_block<P>);
  const std::int64_t of_a = elements_of_parts(x.a, x.k, x.batch), of_b = elements_of_parts(x.b, x.k, x.batch);
  scratch memory(where,
                 scratch_bytes({checked_bytes(of_a, sizeof(bfloat16_part), "gemm"),
                                checked_bytes(of_b, sizeof(bfloat16_part), "gemm")}),
                 0);
  auto* const a = memory.template take<bfloat16_part>(of_a);
  auto* const b = memory.template take<bfloat16_part>(of_b);
  const auto parts = split_floats(where, x, a, b);
  const float_originals floats{x.a, x.b, x.k};
  if (plan.by_wgmma && gemm_of_parts_by_wgmma(where, parts, plan.wgmma, floats)) return;
  constexpr auto type = simt::mma_type::bfloat16;
  plan.large ? launch_mma<type, large, true, true>(where, parts, plan.mma, floats)
             : launch_mma<type, small, true, true>(where, parts, plan.mma, floats);
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
