// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit floats on the tensor cores of sm_90a, by the pipeline of gemm/warp_specialised.hpp.
//
//   1. A k-tile is 128 bytes deep: 128 numbers of k, which is a block of scales.
//   2. Tensor cores keep about 14 bits of sums of such products, and cut off the others. So their sums go on over a k-tile only;
//      then each is multiplied by its scales and added to a float in registers, while the other consumer's products go on.
//      (DeepSeek-V3 technical report, 2024, 3.3.2; DeepGEMM.)
//   3. Scales that are the same all along k are taken at the end. Those of blocks come with the k-tiles: a warp beside the thread that
//      asks TMA brings them to shared memory.
//   4. Both operands are along k: one that is not is copied first (gemm/repack.hpp).
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cstdint>
#include <type_traits>

#include <pmpp/core/fp8.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/available.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/repack.hpp>
#include <pmpp/gemm/wgmma.hpp>
#include <pmpp/gemm_scaled/scales.hpp>
#include <pmpp/gemm_scaled/warps.hpp>
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

  /// Whether a kernel takes a scale for each column of B and each 128 numbers of k: beside tiles of 256 columns shared memory has no
  /// room for them.
  template <class Kernel>
  static constexpr bool has_cols = !Fast && Kernel::n < 256;

  /// The scales of a k-tile, of each stage.
  template <class Kernel>
  struct scales_in_shared {
    struct stage {
      float a[Kernel::m], b[has_cols<Kernel> ? Kernel::n : 2];
    } stages[Fast ? 1 : Kernel::stages];
  };

  PMPP_HOST_DEVICE bool along_k() const { return a.along_k() || b.along_k(); }
  /// Whether a k-tile has a scale for each column of B.
  PMPP_HOST_DEVICE bool each_col() const { return b.along_k() && b.by_row(); }
  /// Threads that fill each stage besides the one that asks TMA.
  PMPP_HOST_DEVICE int writers() const { return !Fast && along_k() ? 1 : 0; }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  /// What a warp of the producer's does where scales vary along k: it brings those of each k-tile. It loads those of four k-tiles at a
  /// time, lane 4 g + t those of row g of eight and k-tile t: so rows of scales are read in one piece, as columns are.
  template <class Kernel, class Block>
  __device__ void copy_scales(Block& block, typename Kernel::shared& memory,
                              const typename Kernel::arguments& x) const {
    if (Fast || !along_k()) return;
    constexpr int rows_a = Kernel::m / 8, rows_b = has_cols<Kernel> ? Kernel::n / 8 : 1;
    const int lane = block.lane(), line = lane / 4;
    // What is outside has the scale of the last one inside: its sums are not written.
    const int last_row = static_cast<int>(x.c.rows - 1), last_col = static_cast<int>(x.c.cols - 1);
    const bool a_varies = a.along_k(), b_varies = b.along_k(), cols = has_cols<Kernel> && each_col();
    const int col_of_line = cols ? line : line * scale_block;
    typename Kernel::position next;
    const auto fill = [&](auto write) {
      memory.ring.empty[next.stage].wait(next.odd ^ 1);
      write(memory.scales.stages[next.stage]);
      block.sync_warp();
      if (lane == 0) memory.ring.full[next.stage].arrive();
      next.advance();
    };
    Kernel::each_tile(block, x, [&](const typename Kernel::coord& at) {
      float of_a[rows_a], of_b[rows_b];
      for (int k_tile = 0; k_tile < at.k_tiles; ++k_tile) {
        if (k_tile % 4 == 0) {
          const int q = at.first_k_tile + min(k_tile + lane % 4, at.k_tiles - 1);
          int row = at.row + line, col = at.col + col_of_line;
          simt::keep_in_register(row);  // else all addresses were worked out before the loop, and kept
          simt::keep_in_register(col);
          if (a_varies)
#pragma unroll
            for (int i = 0; i < rows_a; ++i) of_a[i] = __ldg(a.of_row(min(row + i * 8, last_row)) + q * a.k_stride);
          if (b_varies)
#pragma unroll
            for (int j = 0; j < rows_b; ++j)
              if (j == 0 || cols) of_b[j] = __ldg(b.of_row(min(col + j * 8, last_col)) + q * b.k_stride);
        }
        fill([&](auto& to) {
          if (lane % 4 != k_tile % 4) return;
          if (a_varies)
#pragma unroll
            for (int i = 0; i < rows_a; ++i) to.a[i * 8 + line] = of_a[i];
          if (b_varies)
#pragma unroll
            for (int j = 0; j < rows_b; ++j)
              if (cols || (j == 0 && line < 2)) to.b[j * 8 + line] = of_b[j];
        });
      }
      if (Kernel::store::fetches(x, at))  // C comes through stages too
        for (int s = 0; s < Kernel::store::slices; s += Kernel::store::slices_in_stage) fill([](auto&) {});
    });
  }

  template <class Kernel, class Block>
  __device__ __forceinline__ void multiply(Block& block, typename Kernel::shared& memory,
                                           const typename Kernel::arguments& x, const typename Kernel::coord& at,
                                           typename Kernel::position& next, std::uint32_t (&sum)[Kernel::n / 2]) const {
    const auto add_up = [&]<bool EachCol>() __attribute__((always_inline)) {
      if constexpr (Kernel::n > 128)
        add_up_in_turns<Kernel, EachCol>(block, memory, at, next, sum);
      else
        this->template add_up<Kernel, EachCol>(block, memory, at, next, sum);
    };
    if constexpr (Fast)
      Kernel::multiply(block, memory, x, at.k_tiles, next, sum);
    else if (has_cols<Kernel> && each_col())
      add_up.template operator()<has_cols<Kernel>>();
    else
      add_up.template operator()<false>();
    multiply_by_constant<Kernel>(block, x, at, sum);
  }

private:
  __device__ static std::uint32_t bits(float y) { return __builtin_bit_cast(std::uint32_t, y); }
  __device__ __forceinline__ static void add(std::uint32_t& sum, float scale, std::uint32_t part) {
    sum = bits(__builtin_fmaf(scale, __builtin_bit_cast(float, part), __builtin_bit_cast(float, sum)));
  }
  /// The row of the tile that is the first of a lane's two.
  template <class Block>
  __device__ static int row_of(Block& block) {
    return (block.warp() - 4) * 16 + block.lane() / 4;
  }

  /// Multiplies sums by scales that are the same all along k. Lanes load those of different columns, and hand them round.
  template <class Kernel, class Block>
  __device__ __forceinline__ void multiply_by_constant(Block& block, const typename Kernel::arguments& x,
                                                       const typename Kernel::coord& at,
                                                       std::uint32_t (&sum)[Kernel::n / 2]) const {
    const bool by_a = a.data != nullptr && !a.along_k(), by_b = b.data != nullptr && !b.along_k();
    if (!by_a && !by_b) return;
    const int lane = block.lane(), row = at.row + row_of(block);
    const int last_row = static_cast<int>(x.c.rows - 1), last_col = static_cast<int>(x.c.cols - 1);
    float of_rows[2] = {1, 1}, of_cols[Kernel::n / 32];
#pragma unroll
    for (int i = 0; i < Kernel::n / 32; ++i)
      of_cols[i] = by_b ? __ldg(b.of_row(min(at.col + i * 32 + lane, last_col))) : 1.0f;
    if (by_a)
      for (int h = 0; h < 2; ++h) of_rows[h] = __ldg(a.of_row(min(row + h * 8, last_row)));
#pragma unroll
    for (int i = 0; i < Kernel::n / 2; i += 4)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float of_col = block.shuffle(of_cols[i / 16], i * 2 % 32 + lane % 4 * 2 + e);
#pragma unroll
        for (int h = 0; h < 2; ++h)
          sum[i + h * 2 + e] = bits(__builtin_bit_cast(float, sum[i + h * 2 + e]) * (of_rows[h] * of_col));
      }
  }

  /// What the products of a k-tile are multiplied by: those of a lane's two rows, with that of the columns, unless each has one.
  template <class Kernel, bool EachCol, class Block>
  __device__ __forceinline__ packed<float, 2> scales_of(Block& block, typename Kernel::shared& memory, int stage,
                                                        int first) const {
    const auto& given = memory.scales.stages[stage];
    const float of_b = !EachCol && b.along_k() ? given.b[first / scale_block] : 1.0f;
    packed<float, 2> scales{};
#pragma unroll
    for (int h = 0; h < 2; ++h) scales.item[h] = (a.along_k() ? given.a[row_of(block) + h * 8] : 1.0f) * of_b;
    return scales;
  }

  /// Adds the products of a k-tile, of columns from `first` on; the stage is read then, unless there are more.
  template <class Kernel, bool EachCol, class Block, int Items>
  __device__ __forceinline__ void take(Block& block, typename Kernel::shared& memory, int stage, int first,
                                       bool is_last, const packed<float, 2>& scales, std::uint32_t (&part)[Items],
                                       std::uint32_t (&sum)[Kernel::n / 2]) const {
    simt::fence_accumulators(part);
    if constexpr (EachCol) {
      const float* const of_cols = memory.scales.stages[stage].b + first + block.lane() % 4 * 2;
#pragma unroll
      for (int i = 0; i < Items; i += 4) {
        const auto pair = *reinterpret_cast<const packed<float, 2>*>(of_cols + i * 2);
#pragma unroll
        for (int e = 0; e < 4; ++e) add(sum[first / 2 + i + e], scales.item[e / 2] * pair.item[e % 2], part[i + e]);
      }
      if (is_last) release<Kernel>(block, memory, stage);
    } else {
      if (is_last) release<Kernel>(block, memory, stage);
#pragma unroll
      for (int i = 0; i < Items; ++i) add(sum[first / 2 + i], scales.item[i / 2 % 2], part[i]);
    }
  }

  /// Adds up k-tile by k-tile. Where registers have room for the products of two, one's are under way while the other's are added.
  template <class Kernel, bool EachCol, class Block>
  __device__ __forceinline__ void add_up(Block& block, typename Kernel::shared& memory,
                                         const typename Kernel::coord& at, typename Kernel::position& next,
                                         std::uint32_t (&sum)[Kernel::n / 2]) const {
    using products = std::uint32_t[Kernel::n / 2];
#pragma unroll
    for (int i = 0; i < Kernel::n / 2; ++i) sum[i] = 0;
    const factors<Kernel> from(block, memory);
    const auto start = [&](products & part) __attribute__((always_inline)) {
      memory.ring.wait(next);
      simt::products_begin();
#pragma unroll
      for (int p = 0; p < 4; ++p)
        simt::multiply_rows<T, false, false, Kernel::n>(part, from.a(next.stage, p), from.b(next.stage, p), p > 0);
      simt::products_end();
    };
    const auto finish = [&]<int Newer>(std::integral_constant<int, Newer>, int stage, products& part)
        __attribute__((always_inline)) {
      const auto scales = scales_of<Kernel, EachCol>(block, memory, stage, 0);
      simt::products_wait<Newer>();
      take<Kernel, EachCol>(block, memory, stage, 0, true, scales, part, sum);
    };
    constexpr std::integral_constant<int, 0> none;
    if constexpr (Kernel::n > 64) {
      products part;
      for (int k_tile = 0; k_tile < at.k_tiles; ++k_tile, next.advance()) {
        start(part);
        finish(none, next.stage, part);
      }
    } else {
      products even, odd;
      int last = 0;
      const auto start_next = [&](products & part) __attribute__((always_inline)) {
        last = next.stage;
        next.advance();
        start(part);
      };
      constexpr std::integral_constant<int, 1> one;
      start(even);
      int k_tile = 1;
      for (; k_tile + 1 < at.k_tiles; k_tile += 2) {
        start_next(odd);
        finish(one, last, even);
        start_next(even);
        finish(one, last, odd);
      }
      if (k_tile < at.k_tiles) {
        start_next(odd);
        finish(one, last, even);
        finish(none, next.stage, odd);
      } else {
        finish(none, next.stage, even);
      }
      next.advance();
    }
  }

  /// The same for more than 128 columns, half of them at a time; the consumers take turns: while one's products are under way, the other
  /// adds up. (Fewer are faster without: 4096 x 4096 x 4096 in 146 us by tiles of 128 columns, 154 in turns; H100.)
  template <class Kernel, bool EachCol, class Block>
  __device__ __forceinline__ void add_up_in_turns(Block& block, typename Kernel::shared& memory,
                                                  const typename Kernel::coord& at, typename Kernel::position& next,
                                                  std::uint32_t (&sum)[Kernel::n / 2]) const {
    constexpr int width = Kernel::n / 2;
    constexpr int threads = 128 * Kernel::consumers, turn = Kernel::consumers + 2;  // turn + group: of their barriers
    const int group = block.warp() / 4 - 1;
    std::uint32_t part[width / 2];
#pragma unroll
    for (int i = 0; i < Kernel::n / 2; ++i) sum[i] = 0;
    const factors<Kernel> from(block, memory);
    if (group == 1) simt::warpgroups_arrive(turn, threads);
    for (int k_tile = 0; k_tile < at.k_tiles; ++k_tile, next.advance()) {
      memory.ring.wait(next);
#pragma unroll
      for (int first = 0; first < Kernel::n; first += width) {
        const auto scales = scales_of<Kernel, EachCol>(block, memory, next.stage, first);
        simt::warpgroups_sync(turn + group, threads);
        simt::products_begin();
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          simt::multiply_rows<T, false, false, width>(part, from.a(next.stage, p), from.b(next.stage, p, first), p > 0);
          if (p >= 2) simt::products_end();
        }
        simt::products_wait<1>();  // the last of four goes on: the other's follow it without a gap
        simt::warpgroups_arrive(turn + 1 - group, threads);
        simt::products_wait<0>();
        take<Kernel, EachCol>(block, memory, next.stage, first, first + width == Kernel::n, scales, part, sum);
      }
    }
    if (group == 0) simt::warpgroups_sync(turn, threads);
  }

  /// Where the factors of a step of k lie, of a consumer.
  template <class Kernel>
  struct factors {
    std::uint64_t first_a, first_b;  ///< of the first stage

    template <class Block>
    __device__ factors(Block& block, typename Kernel::shared& memory)
        : first_a(simt::operand_in_shared(memory.stages[0].a + (block.warp() / 4 - 1) * 64 * Kernel::row_bytes, 16)),
          first_b(simt::operand_in_shared(memory.stages[0].b, 16)) {}
    __device__ static std::uint32_t begin(int stage, int step) {
      return static_cast<std::uint32_t>(stage * sizeof(typename Kernel::shared::stage)) + step * 32;
    }
    __device__ std::uint64_t a(int stage, int step) const { return simt::operand_after(first_a, begin(stage, step)); }
    __device__ std::uint64_t b(int stage, int step, int col = 0) const {
      return simt::operand_after(first_b, begin(stage, step) + col * Kernel::row_bytes);
    }
  };

  /// All lanes of a warp have read a k-tile, and its scales.
  template <class Kernel, class Block>
  __device__ __forceinline__ static void release(Block& block, typename Kernel::shared& memory, int stage) {
    block.sync_warp();
    Kernel::release(block, memory, stage);
  }
#endif
};

/// As for bfloat16, but for the room that scales take: of 256, 128 and 64 columns, in which blocks of 128 with one scale begin. (Of 192
/// takes 10 to 20 % longer than of 256 where k is short.)
inline constexpr wgmma_tile scaled_tiles[] = {
    wgmma_tiles[0], {.n = 128, .stages = 5, .slices = 2}, {}, {.n = 64, .stages = 7, .slices = 2}};

/// Bits of the tiles for scales of B: not of 256 columns where k-tiles have a scale for each of them. And of the one that may write C down
/// columns.
inline unsigned tiles_for_scales(const operand_scales& of_b) {
  return of_b.along_k() && of_b.by_row() ? 0b1010 : 0b1011;
}
inline constexpr unsigned scaled_tiles_down = 0b1000;

/// Starts a product as planned.
template <bool Fast, class T, class TC, class S, class Epilogue>
bool gemm_scaled_as_planned(const device_policy& where, const gemm_problem<T, T, TC, S, Epilogue>& x,
                            const wgmma_plan& plan, const operand_scales& of_a, const operand_scales& of_b) {
  const auto run = [&]<int Tile>(std::integral_constant<int, Tile>) {
    constexpr wgmma_tile tile = scaled_tiles[Tile];
    return in_way_of<(scaled_tiles_down >> Tile & 1) != 0, true>(plan, x, [&]<c_written C>(const auto& y) {
      using scales = scaled_products<T, Fast>;
      return gemm_by_wgmma_tile<tile, rows_along::k, rows_along::k, C>(
          where, y, plan, C == c_written::down ? scales{of_b, of_a} : scales{of_a, of_b});
    });
  };
  if (plan.tile == 0) return run(std::integral_constant<int, 0>{});
  return plan.tile == 1 ? run(std::integral_constant<int, 1>{}) : run(std::integral_constant<int, 3>{});
}

template <class A, class B, class TC, class S, class Epilogue>
gemm_problem<fp8_factor<A, B>, fp8_factor<A, B>, TC, S, Epilogue> as_factors(
    const gemm_problem<A, B, TC, S, Epilogue>& x) {
  const auto of = [](const auto& y) {
    return gemm_operand<fp8_factor<A, B>>(reinterpret_cast<const fp8_factor<A, B>*>(y.data), y.extent, y.stride,
                                          y.k_stride, y.batch_stride);
  };
  return {of(x.a), of(x.b), x.c, x.k, x.batch, x.result};
}

/// Enqueues a product where the device can do it so; says whether it has.
template <bool Fast, class A, class B, class TC, class S, class Epilogue>
bool gemm_scaled_by_wgmma(const device_policy& where, const gemm_problem<A, B, TC, S, Epilogue>& x,
                          const operand_scales& of_a, const operand_scales& of_b) {
  constexpr std::int64_t most = std::int64_t(1) << 31;
  if constexpr (std::is_same_v<A, B>)
    if (x.c.is_column_major()) return gemm_scaled_by_wgmma<Fast>(where, x.exchanged(), of_b, of_a);
  if (x.k == 0 || x.k >= most || x.c.rows >= most || x.c.cols >= most || !wgmma_available()) return false;
  const auto y = as_factors(x);
  const machine& on = machine_of(where);
  const std::int64_t k_tiles = ceil_div(x.k, std::int64_t(scale_block));
  constexpr wgmma_cost cost = wgmma_cost_of<A>();
  wgmma_plan best =
      plan_wgmma(cost, tiles_for_scales(of_b), x.c.rows, x.c.cols, k_tiles, x.batch, on, {.c = burden_of_c(x)});
  if (std::is_same_v<A, B> && may_be_exchanged(x)) {  // else factors of exchanged operands are of another type
    wgmma_plan down =
        plan_wgmma(cost, scaled_tiles_down, x.c.cols, x.c.rows, k_tiles, x.batch, on, {.c = burden_of_c_down});
    down.exchanged = true;
    if (down.clocks < best.clocks) best = down;
  }
  const bool a_ready = is_read_by_words(y.a, true, x.batch), b_ready = is_read_by_words(y.b, true, x.batch);
  if (a_ready && b_ready && gemm_scaled_by_warps(where, x, of_a, of_b, best.clocks)) return true;
  return multiply_copies(where, y, {!a_ready, true}, {!b_ready, true},
                         [&](const auto& z) { return gemm_scaled_as_planned<Fast>(where, z, best, of_a, of_b); });
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
