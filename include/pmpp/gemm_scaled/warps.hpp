// SPDX-License-Identifier: Apache-2.0
//
// Small products of 8-bit floats on the tensor cores of sm_90a: those that are over before the pipeline of gemm/warp_specialised.hpp
// has begun, and those with a long k and few elements of C.
//
//   1. A block has 32 x 32 elements of C, of which each of its eight warps adds up a share of k; perhaps blocks of a cluster share k too.
//   2. Lanes load their parts of A and B from memory straight to the registers of a product, 16 bytes at a time: which numbers of k a
//      lane has does not matter, as long as they are the same of A and of B.
//   3. Sums meet in shared memory, and are added up in order; rows of C are written in one piece.
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cstdint>
#include <type_traits>

#include <pmpp/core/divisor.hpp>
#include <pmpp/core/fp8.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm_scaled/scales.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
// clang-format off
template <class A, class B> struct warp_product_text;
template <> struct warp_product_text<fp8_e4m3, fp8_e4m3> { static constexpr char types[] = "e4m3.e4m3"; };
template <> struct warp_product_text<fp8_e4m3, fp8_e5m2> { static constexpr char types[] = "e4m3.e5m2"; };
template <> struct warp_product_text<fp8_e5m2, fp8_e4m3> { static constexpr char types[] = "e5m2.e4m3"; };
template <> struct warp_product_text<fp8_e5m2, fp8_e5m2> { static constexpr char types[] = "e5m2.e5m2"; };
// clang-format on

/// sum += A B of 16 x 8 elements and 32 numbers of k, by a warp.
template <class A, class B>
__device__ __forceinline__ void multiply_add(float (&sum)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.%10.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "C"(warp_product_text<A, B>::types));
}
#endif

template <class A, class B, class TC, class S, class Epilogue>
struct gemm_scaled_by_warps_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int warps = 8, threads = warps * simt::warp_size, side = 32, step = 64;  ///< of C, of k at a time
  static constexpr int items = side * side / threads;  ///< elements of C of a thread
  static constexpr int most_blocks = 8;                ///< that share k
  struct shared {
    float sums[warps][side][side + 4];
  };

  struct arguments {
    gemm_operand<A> a;
    gemm_operand<B> b;
    gemm_target<TC> c;
    std::int64_t k;
    divisor tiles_n;
    int part_bits;  ///< binary logarithm of the blocks that share k
    gemm_result<S, Epilogue> result;
    operand_scales of_a, of_b;  ///< the same all along k
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()([[maybe_unused]] Block& block, [[maybe_unused]] shared& memory,
                                   [[maybe_unused]] const arguments& x) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
    simt::previous_kernels_done();
    const auto cluster = block.cluster();
    const auto index = static_cast<std::uint32_t>(block.index());
    const std::uint32_t tile = index >> x.part_bits, line = x.tiles_n.quotient(tile);
    const int parts = 1 << x.part_bits, part = static_cast<int>(index) & (parts - 1), warp = block.warp();
    const std::int64_t row = std::int64_t(line) * side, col = std::int64_t(tile - line * x.tiles_n.value()) * side;
    add_up(block, x, row, col, part * warps + warp, parts * warps, memory.sums[warp]);
    block.sync();
    // Neighbouring threads have elements that are neighbours in memory.
    const bool down = x.c.col_stride != 1 && x.c.row_stride == 1;
    const auto place = [&](int e, int w = 0) -> float& {
      return down ? memory.sums[w][e % side][e / side] : memory.sums[w][e / side][e % side];
    };
    const auto write = [&](int e, float sum) {
      const std::int64_t i = row + (down ? e % side : e / side), j = col + (down ? e / side : e % side);
      if (i >= x.c.rows || j >= x.c.cols) return;
      TC* const to = x.c.data + i * x.c.row_stride + j * x.c.col_stride;
      *to = x.result(sum * (x.of_a.at(i, 0) * x.of_b.at(j, 0)), to, i, j);
    };
    float sum[items];
    unrolled<items>([&](int q) {
      const int e = q * threads + block.thread();
      sum[q] = place(e);
      for (int w = 1; w < warps; ++w) sum[q] += place(e, w);
    });
    if (parts == 1) return unrolled<items>([&](int q) { write(q * threads + block.thread(), sum[q]); });
    unrolled<items>([&](int q) { place(q * threads + block.thread()) = sum[q]; });
    cluster.sync();
    const int share = side * side >> x.part_bits;  // half of all elements, or less
    for (int e = block.thread(); e < share; e += threads) {
      float total = 0;
      for (int other = 0; other < parts; ++other) total += *cluster.map_shared(&place(share * part + e), other);
      write(share * part + e, total);
    }
    cluster.sync();  // no block ends while others read its sums
#endif
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
private:
  /// The share `own` of `shares` of k, of a tile; 64 numbers of k by each share in turn.
  template <class Block>
  __device__ __forceinline__ static void add_up(Block& block, const arguments& x, std::int64_t row, std::int64_t col,
                                                int own, int shares, float (&to)[side][side + 4]) {
    const int line = block.lane() / 4, place = block.lane() % 4;
    float sum[2][4][4] = {};
    // What is outside C is that of the last row or column inside: it is not written.
    const A* from_a[4];
    const B* from_b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      from_a[i] = x.a.data + min(row + i * 8 + line, x.c.rows - 1) * x.a.stride + place * 16;
      from_b[i] = x.b.data + min(col + i * 8 + line, x.c.cols - 1) * x.b.stride + place * 16;
    }
    const auto load = [&](std::int64_t p, uint4(&a)[4], uint4(&b)[4]) __attribute__((always_inline)) {
      const bool there = p + place * 16 < x.k;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = there ? __ldg(reinterpret_cast<const uint4*>(from_a[i] + p)) : uint4{};
        b[i] = there ? __ldg(reinterpret_cast<const uint4*>(from_b[i] + p)) : uint4{};
      }
    };
    const auto multiply = [&](const uint4(&a)[4], const uint4(&b)[4]) __attribute__((always_inline)) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const uint4 &low = a[2 * i], &high = a[2 * i + 1];
          multiply_add<A, B>(sum[i][j], {low.x, high.x, low.y, high.y}, b[j].x, b[j].y);
          multiply_add<A, B>(sum[i][j], {low.z, high.z, low.w, high.w}, b[j].z, b[j].w);
        }
    };
    const std::int64_t stride = std::int64_t(shares) * step;
    std::int64_t p = std::int64_t(own) * step;
    uint4 a[2][4], b[2][4];  // one is multiplied while the other is on its way
    load(p, a[0], b[0]);
    while (p < x.k) {
      load(p += stride, a[1], b[1]);
      multiply(a[0], b[0]);
      if (p >= x.k) break;
      load(p += stride, a[0], b[0]);
      multiply(a[1], b[1]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) to[i * 16 + e / 2 * 8 + line][j * 8 + place * 2 + e % 2] = sum[i][j][e];
  }
#endif
};

/// The same with k shared by `parts` blocks, up to 8, a power of two. Operands lie along k, in words of 16 bytes; so many is k.
template <class A, class B, class TC, class S, class Epilogue>
void gemm_scaled_by_warps(const device_policy& where, const gemm_problem<A, B, TC, S, Epilogue>& x,
                          const operand_scales& of_a, const operand_scales& of_b, int parts) {
  using kernel = gemm_scaled_by_warps_kernel<A, B, TC, S, Epilogue>;
  const std::int64_t tiles_n = ceil_div(x.c.cols, std::int64_t(kernel::side)),
                     tiles = ceil_div(x.c.rows, std::int64_t(kernel::side)) * tiles_n;
  const auto blocks = static_cast<unsigned>(parts);
  launch(where, grid{static_cast<unsigned>(tiles) * blocks, kernel::threads, 0, blocks}, kernel{},
         typename kernel::arguments{x.a, x.b, x.c, x.k, divisor(tiles_n), floor_log2(parts), x.result, of_a, of_b});
}

/// Enqueues a product where that takes fewer than `clocks_of_others`; says whether it has. Operands lie along k, in words of 16 bytes.
template <class A, class B, class TC, class S, class Epilogue>
bool gemm_scaled_by_warps(const device_policy& where, const gemm_problem<A, B, TC, S, Epilogue>& x,
                          const operand_scales& of_a, const operand_scales& of_b, double clocks_of_others) {
  using kernel = gemm_scaled_by_warps_kernel<A, B, TC, S, Epilogue>;
  const std::int64_t tiles =
      ceil_div(x.c.rows, std::int64_t(kernel::side)) * ceil_div(x.c.cols, std::int64_t(kernel::side));
  const std::int64_t processors = machine_of(where).multiprocessors;  // a block fills one
  if (x.k % 16 != 0 || of_a.along_k() || of_b.along_k() || tiles > 4 * processors) return false;
  // Clocks of an H200, fitted to times of 5600 random shapes: of a call, a block, 64 numbers of k of each warp, a cluster.
  constexpr double call = 4040, of_block = 4230, of_step = 1380, meeting = 3110;
  double least = clocks_of_others;
  int best = 0;
  for (int parts = 1; parts <= kernel::most_blocks; parts *= 2) {
    const std::int64_t share = std::int64_t(kernel::warps) * kernel::step * parts;
    const double clocks = call + double(ceil_div(tiles * parts, processors)) *
                                     (of_block + of_step * double(ceil_div(x.k, share)) + (parts > 1 ? meeting : 0));
    if (clocks < least) least = clocks, best = parts;
    if (share >= x.k) break;
  }
  if (best > 0) gemm_scaled_by_warps(where, x, of_a, of_b, best);
  return best > 0;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop

#endif
