// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit floats where no unit multiplies them: they become wider numbers first.
//
//   seq        the definition
//   host       floats, times their scales, which gemm multiplies
//   kernels    scales that are the same all along k: bfloat16, which holds each 8-bit float exactly, on tensor cores (gemm/mma.hpp);
//              the sums are multiplied by them. Blocks of k: floats, times their scales, by plain loads (gemm/direct.hpp)
//
// Sums are floats in scratch memory, of which a last pass makes elements of C: so the kernels are the same for any type of C and any
// epilogue.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/gemm_scaled/scales.hpp>
#include <pmpp/memory/room.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// The definition, on one thread.
template <class A, class B, class TC, class S, class Epilogue>
void gemm_scaled_by_definition(const gemm_problem<A, B, TC, S, Epilogue>& x, const operand_scales& of_a,
                               const operand_scales& of_b) {
  for (std::int64_t i = 0; i < x.c.rows; ++i)
    for (std::int64_t j = 0; j < x.c.cols; ++j) {
      float sum = 0;
      for (std::int64_t first = 0; first < x.k; first += scale_block) {
        float part = 0;
        for (std::int64_t p = first; p < min(first + scale_block, x.k); ++p)
          part += static_cast<float>(x.a.data[i * x.a.stride + p * x.a.k_stride]) *
                  static_cast<float>(x.b.data[j * x.b.stride + p * x.b.k_stride]);
        sum += of_a.at(i, first) * of_b.at(j, first) * part;
      }
      TC* to = x.c.data + i * x.c.row_stride + j * x.c.col_stride;
      *to = x.result(sum, to, i, j);
    }
}

/// The bits of a bfloat16 that was an 8-bit float.
struct widened_fp8 {
  std::uint16_t bits;
  PMPP_HOST_DEVICE static widened_fp8 of(float x) { return {bfloat16_of(x)}; }
};

/// Element number `at` of a copy whose lines are along k, with zeros after their ends.
template <class Wide, class T>
struct widened_element {
  gemm_operand<T> from;
  operand_scales scales;
  std::int64_t k, pitch;

  PMPP_HOST_DEVICE Wide operator()(std::int64_t at) const {
    const std::int64_t i = at / pitch, p = at - i * pitch;
    const float x = p < k ? static_cast<float>(from.data[i * from.stride + p * from.k_stride]) : 0.0f;
    if constexpr (std::is_same_v<Wide, float>)
      return p < k ? x * scales.at(i, p) : x;
    else
      return Wide::of(x);
  }
};

/// Copies both operands, and multiplies the copies into floats: multiply(problem).
template <class Wide, class P, class A, class B, class F>
void multiply_widened(const P& where, const gemm_operand<A>& a, const operand_scales& of_a, const gemm_operand<B>& b,
                      const operand_scales& of_b, std::int64_t k, float* sums, F multiply) {
  const std::int64_t pitch = round_up(k, std::int64_t(16 / sizeof(Wide))), a_items = a.extent * pitch,
                     b_items = b.extent * pitch;
  const auto copy = [&]<class T>(const gemm_operand<T>& from, const operand_scales& of, Wide* to) {
    transform(where, counting_iterator<std::int64_t>(0), counting_iterator<std::int64_t>(from.extent * pitch), to,
              widened_element<Wide, T>{from, of, k, pitch});
    return gemm_operand<Wide>(to, from.extent, pitch, 1, 0);
  };
  with_room<Wide>("gemm_scaled", where, a_items + b_items, [&](Wide* to) {
    multiply(gemm_problem<Wide, Wide, float, float, no_epilogue>{copy(a, of_a, to),
                                                                 copy(b, of_b, to + a_items),
                                                                 {sums, a.extent, b.extent, b.extent, 1, 0},
                                                                 k,
                                                                 1,
                                                                 {1, 0, {}, false}});
  });
}

/// Makes element number `at` of C of its sum; where there is none, of 0.
template <class TC, class S, class Epilogue>
struct finish_scaled {
  const float* sums;
  gemm_target<TC> c;
  gemm_result<S, Epilogue> result;
  operand_scales of_a, of_b;

  PMPP_HOST_DEVICE void operator()(std::int64_t at) const {
    const std::int64_t i = at / c.cols, j = at - i * c.cols;
    TC* const to = c.data + i * c.row_stride + j * c.col_stride;
    *to = result(sums == nullptr ? 0.0f : of_a.at(i, 0) * of_b.at(j, 0) * sums[at], to, i, j);
  }
};

template <class P, class A, class B, class TC, class S, class Epilogue>
void gemm_scaled_elsewhere(const P& where, const gemm_problem<A, B, TC, S, Epilogue>& x, operand_scales of_a,
                           operand_scales of_b) {
  if constexpr (std::is_same_v<P, seq_policy>) {
    gemm_scaled_by_definition(x, of_a, of_b);
  } else {
    const auto finish = [&](const float* sums) {
      for_each(where, counting_iterator<std::int64_t>(0), counting_iterator<std::int64_t>(x.c.rows * x.c.cols),
               finish_scaled<TC, S, Epilogue>{sums, x.c, x.result, of_a, of_b});
    };
    if (x.k == 0) return finish(nullptr);
    checked_bytes(checked_bytes(x.c.rows, x.c.cols, "gemm_scaled"), sizeof(float), "gemm_scaled");
    with_room<float>("gemm_scaled", where, x.c.rows * x.c.cols, [&](float* sums) {
      if (kernel_execution<P> && !of_a.along_k() && !of_b.along_k()) {
        if constexpr (kernel_execution<P>)
          multiply_widened<widened_fp8>(where, x.a, {}, x.b, {}, x.k, sums, [&](const auto& y) {
            constexpr mma_tile large = gemm_tuning_for<float>().mma_large,
                               small = gemm_tuning_for<float>().mma_small.within(least_shared_per_block<P>);
            const auto plan = [&]<mma_tile Tile>() {
              const machine& on = machine_of(where);
              return plan_gemm(mma_cost_of<simt::mma_type::bfloat16, widened_fp8, Tile>(on), y.c.rows, y.c.cols, y.k, 1,
                               on);
            };
            const gemm_plan of_large = plan.template operator()<large>(), of_small = plan.template operator()<small>();
            if (of_large.clocks < of_small.clocks && !wgmma_available())
              launch_mma<simt::mma_type::bfloat16, large, true, true, true>(where, y, of_large);
            else
              launch_mma<simt::mma_type::bfloat16, small, true, true>(where, y, of_small);
          });
      } else {
        multiply_widened<float>(where, x.a, of_a, x.b, of_b, x.k, sums, [&](const auto& y) {
          if constexpr (kernel_execution<P>)
            gemm_directly<float>(where, y, plan_directly<float>(y, machine_of(where)));
          else
            gemm_dispatch<gemm_tuning_for<float>(), false, unrounded, float>(where, y, unrounded{});
        });
        of_a = of_b = {};  // are in the sums
      }
      finish(sums);
    });
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
