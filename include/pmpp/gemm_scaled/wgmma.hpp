// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit floats on the tensor cores of sm_90a, by the pipeline of gemm/warp_specialised.hpp.
//
//   1. A k-tile is 128 bytes deep: 128 numbers of k, which is a block of scales.
//   2. Tensor cores keep about 14 bits of sums of such products, and cut off the others. So their sums go on over a k-tile only;
//      then each is multiplied by its scales and added to a float in registers, while the other consumer's products go on.
//      (DeepSeek-V3 technical report, 2024, 3.3.2; DeepGEMM.)
//   3. Scales that are the same all along k are taken at the end. Those of blocks are read by who multiplies by them, while its
//      products are under way.
//   4. Both operands are along k: one that is not is copied first (gemm/repack.hpp).
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cstdint>
#include <type_traits>

#include <pmpp/core/fp8.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/available.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/repack.hpp>
#include <pmpp/gemm/wgmma.hpp>
#include <pmpp/gemm_scaled/scales.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/tensor_copy.hpp>
#include <pmpp/simt/wgmma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The bits of an element of A or of B, in a product of A's and B's.
template <class A, class B>
struct fp8_factor {
  std::uint8_t bits;
};

}  // namespace detail

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
namespace simt {

/// Tells those who wait in warpgroups_sync that the calling warpgroup has come.
__device__ inline void warpgroups_arrive(int group, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(group + 1), "r"(threads) : "memory");
}

namespace detail {

// clang-format off
template <> struct product_text<pmpp::detail::fp8_factor<fp8_e4m3, fp8_e4m3>> { static constexpr char type[] = "k32.f32.e4m3.e4m3"; };
template <> struct product_text<pmpp::detail::fp8_factor<fp8_e4m3, fp8_e5m2>> { static constexpr char type[] = "k32.f32.e4m3.e5m2"; };
template <> struct product_text<pmpp::detail::fp8_factor<fp8_e5m2, fp8_e4m3>> { static constexpr char type[] = "k32.f32.e5m2.e4m3"; };
template <> struct product_text<pmpp::detail::fp8_factor<fp8_e5m2, fp8_e5m2>> { static constexpr char type[] = "k32.f32.e5m2.e5m2"; };
template <class A, class B> struct major_text<pmpp::detail::fp8_factor<A, B>, false, false> { static constexpr char bits[] = ",1,1"; };
// clang-format on

}  // namespace detail
}  // namespace simt
#endif

namespace detail {

/// How the consumers of a kernel multiply factors of type T. Fast: sums of tensor cores go on over all of k; no scales of blocks then.
template <class T, bool Fast>
struct scaled_products {
  static constexpr bool multiplies = true;
  operand_scales a, b;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  __device__ static float scale_of(const operand_scales& of, int i, std::int64_t extent, int k_tile) {
    // What is outside has the scale of the last one inside: its sums are not written.
    return of.data == nullptr ? 1.0f : __ldg(of.of_row(min<std::int64_t>(i, extent - 1)) + k_tile * of.k_stride);
  }

  template <class Kernel, class Block>
  __device__ __forceinline__ void multiply(Block& block, typename Kernel::shared& memory,
                                           const typename Kernel::arguments& x, const typename Kernel::coord& at,
                                           typename Kernel::position& next, std::uint32_t (&sum)[Kernel::n / 2]) const {
    const int group = block.warp() / 4 - 1, lane = block.lane(),
              row = at.row + group * 64 + block.warp() % 4 * 16 + lane / 4, col = at.col + lane % 4 * 2;
    float of_rows[2] = {1.0f, 1.0f};
    const bool a_along_k = a.along_k();
    if (!a_along_k) {
      for (int h = 0; h < 2; ++h) of_rows[h] = scale_of(a, row + h * 8, x.c.rows, 0);
    }
    if constexpr (Fast)
      Kernel::multiply(block, memory, at.k_tiles, next, sum);
    else
      add_up<Kernel>(block, memory, x, at, next, sum, row, col, group);
    if (!b.along_k() || !a_along_k) {
      const bool b_too = !b.along_k();
#pragma unroll
      for (int i = 0; i < Kernel::n / 2; i += 4) {
        float of_cols[2] = {1.0f, 1.0f};
        if (b_too)
          for (int e = 0; e < 2; ++e) of_cols[e] = scale_of(b, col + i * 2 + e, x.c.cols, 0);
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sum[i + e] = bits(__builtin_bit_cast(float, sum[i + e]) * (of_rows[e / 2] * of_cols[e % 2]));
      }
    }
  }

private:
  __device__ static std::uint32_t bits(float y) { return __builtin_bit_cast(std::uint32_t, y); }

  /// 128 columns at a time, and k-tile by k-tile. The consumers take turns: while one's products are under way, the other adds up.
  template <class Kernel, class Block>
  __device__ __forceinline__ void add_up(Block& block, typename Kernel::shared& memory,
                                         const typename Kernel::arguments& x, const typename Kernel::coord& at,
                                         typename Kernel::position& next, std::uint32_t (&sum)[Kernel::n / 2], int row,
                                         int col, int group) const {
    constexpr int width = min(Kernel::n, 128), threads = 128 * Kernel::consumers, turn = Kernel::consumers + 2;
    constexpr int row_bytes = Kernel::row_bytes;
    const bool a_varies = a.along_k(), b_varies = b.along_k(), b_by_col = b_varies && b.by_row();
    std::uint32_t part[width / 2];
#pragma unroll
    for (int i = 0; i < Kernel::n / 2; ++i) sum[i] = 0;
    if (group == 1) simt::warpgroups_arrive(turn, threads);
    for (int k_tile = 0; k_tile < at.k_tiles; ++k_tile, next.advance()) {
      const int q = at.first_k_tile + k_tile;
      memory.ring.wait(next);
      const auto& stage = memory.stages[next.stage];
      const std::uint64_t in_a = simt::operand_in_shared(stage.a + group * 64 * row_bytes, 16),
                          in_b = simt::operand_in_shared(stage.b, 16);
#pragma unroll
      for (int first = 0; first < Kernel::n; first += width) {
        simt::warpgroups_sync(turn + group, threads);
        simt::products_begin();
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          simt::multiply_rows<T, false, false, width>(part, in_a + p * 2, in_b + first * (row_bytes / 16) + p * 2,
                                                      p > 0);
          if (p >= 2) simt::products_end();
        }
        float scale[2];
        const float of_b = b_varies && !b_by_col ? scale_of(b, at.col + first, x.c.cols, q) : 1.0f;
#pragma unroll
        for (int h = 0; h < 2; ++h) scale[h] = a_varies ? of_b * scale_of(a, row + h * 8, x.c.rows, q) : of_b;
        simt::products_wait<1>();  // the last of four goes on: the other's follow it without a gap
        simt::warpgroups_arrive(turn + 1 - group, threads);
        simt::products_wait<0>();
        simt::fence_accumulators(part);
        if (first + width == Kernel::n) Kernel::release(block, memory, next.stage);
        if (b_by_col) {
#pragma unroll
          for (int i = 0; i < width / 2; i += 4)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              const float of_col = scale_of(b, col + first + i * 2 + e, x.c.cols, q);
#pragma unroll
              for (int h = 0; h < 2; ++h) add(sum[first / 2 + i + h * 2 + e], scale[h] * of_col, part[i + h * 2 + e]);
            }
        } else {
#pragma unroll
          for (int i = 0; i < width / 2; ++i) add(sum[first / 2 + i], scale[i / 2 % 2], part[i]);
        }
      }
    }
    if (group == 0) simt::warpgroups_sync(turn, threads);
  }
  __device__ __forceinline__ static void add(std::uint32_t& sum, float scale, std::uint32_t part) {
    sum = bits(__builtin_fmaf(scale, __builtin_bit_cast(float, part), __builtin_bit_cast(float, sum)));
  }
#endif
};

/// Enqueues a product where the device can do it so; says whether it has.
template <bool Fast, int Tile = -1, class A, class B, class TC, class S, class Epilogue>
bool gemm_scaled_by_wgmma(const device_policy& where, const gemm_problem<A, B, TC, S, Epilogue>& x,
                          const operand_scales& of_a, const operand_scales& of_b) {
  using factor = fp8_factor<A, B>;
  constexpr std::int64_t most = std::int64_t(1) << 31;
  if (x.k == 0 || x.k >= most || x.c.rows >= most || x.c.cols >= most ||
      !wgmma_available<simt::wgmma_probe>(launch_device()))
    return false;
  const auto as_factors = [](const auto& y) {
    return gemm_operand<factor>(reinterpret_cast<const factor*>(y.data), y.extent, y.stride, y.k_stride,
                                y.batch_stride);
  };
  gemm_problem<factor, factor, TC, S, Epilogue> y{as_factors(x.a), as_factors(x.b), x.c, x.k, x.batch, x.result};
  const auto bytes = [&](const gemm_operand<factor>& of) {
    return is_read_by_words(of, true, x.batch) ? 0 : repacked_bytes(of, true, x.k, x.batch);
  };
  const std::int64_t a_bytes = bytes(y.a), b_bytes = bytes(y.b);
  scratch memory(where, scratch_bytes({checked_bytes(a_bytes, 1, "gemm"), checked_bytes(b_bytes, 1, "gemm")}), 0);
  if (a_bytes > 0) repack(where, y.a, true, x.k, x.batch, memory.template take<std::byte>(a_bytes));
  if (b_bytes > 0) repack(where, y.b, true, x.k, x.batch, memory.template take<std::byte>(b_bytes));
  wgmma_plan plan =
      plan_wgmma(2, x.c.rows, x.c.cols, ceil_div(x.k, std::int64_t(scale_block)), x.batch, machine_of(where));
  if (Tile >= 0) plan = {.tile = Tile};
  const scaled_products<factor, Fast> products{of_a, of_b};
  return plan.tile == 0 ? gemm_by_wgmma_tile<wgmma_tiles[0], false, false>(where, y, plan, products)
                        : gemm_by_wgmma_tile<wgmma_tiles[1], false, false>(where, y, plan, products);
}

}  // namespace detail

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop

#else

namespace pmpp::inline PMPP_BACKEND::detail {

template <bool Fast, class P, class Problem, class Scales>
bool gemm_scaled_by_wgmma(const P&, const Problem&, const Scales&, const Scales&) {
  return false;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#endif
