// SPDX-License-Identifier: Apache-2.0
//
// Many products of matrices so small that a warp holds one whole: up to 32 x 32 elements of C. Where there are fewer than keep the
// machine busy, warps of a block share the k of each.
//
//   1. A warp goes through k sixteen at a time. It loads those columns of A and rows of B element by element, along
//      whichever way they lie in one piece, so that any strides and any alignment take the same time; zeros beyond the edges.
//   2. They pass through shared memory of the warp alone: no barriers of the block.
//   3. A lane owns half a column of C, or of two. Warps that share a product add up their sums in shared memory, in order.
//
// Each matrix is read once; one launch. Memory is the limit up to k of a few hundred.
#pragma once

#include <cstdint>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Side: of C, at most; 16 or 32.
template <int Side, class TA, class TB, class TC, class A, class S, class Epilogue>
struct gemm_small_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256,
                       min_blocks = Side > 16       ? 2
                                    : sizeof(A) > 4 ? 3
                                                    : 4,
                       warps = threads / simt::warp_size;
  static constexpr int depth = 16;                                             ///< k that a warp multiplies at a time
  static constexpr int halves = 2, columns = Side / 16, rows = Side / halves;  ///< of C; the last two of a lane
  static constexpr int word = 16 / sizeof(A);
  static constexpr int row_a = depth + word,
                       row_b = Side + word;  ///< the word after each row: other banks for the next

  static constexpr int part_a = Side * row_a;  ///< (i, p) at i * row_a + p; then (p, j) at p * row_b + j

  struct shared {
    alignas(16) A memory[warps][part_a + depth * row_b];  ///< of A and B; at the end the sums
  };
  static_assert(part_a + depth * row_b >= Side * Side);

  struct arguments {
    gemm_operand<TA> a;
    gemm_operand<TB> b;
    gemm_target<TC> c;
    std::int64_t k, batch;
    gemm_result<S, Epilogue> result;
    int sharing;  ///< warps of a product, a power of two
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    simt::previous_kernels_done();
    const int sharing = Side == 16 ? x.sharing : 1, share = block.warp() % sharing;
    const std::int64_t product = block.index() * (warps / sharing) + block.warp() / sharing;
    const bool exists = product < x.batch;
    if (sharing == 1 && !exists) return;
    A* const a = memory.memory[block.warp()];
    A* const b = a + part_a;
    const int col = block.lane() % 16, first_row = block.lane() / 16 * rows;
    A sum[rows][columns] = {};
    for (std::int64_t k = exists ? share * depth : x.k; k < x.k; k += sharing * depth) {
      const int there = static_cast<int>(min(std::int64_t(depth), x.k - k));
      const operand_part<TA> from_a(block, x.a, product, k, there, x.a.k_stride == 1);
      const operand_part<TB> from_b(block, x.b, product, k, there, x.b.stride != 1);
      A next_a[rows], next_b[rows];
      from_a.load(next_a);
      from_b.load(next_b);
      block.sync_warp();  // the last k have been read
      from_a.store(next_a, a, row_a, 1);
      from_b.store(next_b, b, 1, row_b);
      block.sync_warp();
      for (int p = 0; p < there && first_row < x.c.rows; p += word) {
        A y[word][columns];
        for (int e = 0; e < word; ++e)
          for (int c = 0; c < columns; ++c) y[e][c] = b[(p + e) * row_b + col + c * 16];
        for (int i = 0; i < rows; ++i) {
          const auto z = *reinterpret_cast<const packed<A, word>*>(a + (first_row + i) * row_a + p);
          for (int e = 0; e < word; ++e)
            for (int c = 0; c < columns; ++c) sum[i][c] = multiply_add(sum[i][c], z.item[e], y[e][c]);
        }
      }
    }
    TC* const to = x.c.data + product * x.c.batch_stride + first_row * x.c.row_stride + col * x.c.col_stride;
    const auto write = [&](const A& y, int i, int c) {
      TC* const element = to + i * x.c.row_stride + c * 16 * x.c.col_stride;
      if (exists && first_row + i < x.c.rows && col + c * 16 < x.c.cols)
        *element = x.result(y, element, first_row + i, col + c * 16);
    };
    if (sharing == 1) {
      for (int i = 0; i < rows; ++i)
        for (int c = 0; c < columns; ++c) write(sum[i][c], i, c);
      return;
    }
    const int place = first_row * Side + col;
    block.sync_warp();  // the last k have been read
    for (int i = 0; i < rows; ++i) a[place + i * Side] = sum[i][0];
    block.sync();
    for (int i = share; i < rows; i += sharing) {
      A y{};
      for (int s = 0; s < sharing; ++s) y += memory.memory[block.warp() - share + s][place + i * Side];
      write(y, i, 0);
    }
  }

private:
  /// What a lane copies of the next k of an operand: elements of consecutive k, or of one.
  template <class T>
  struct operand_part {
    const T* from;
    std::int64_t step;  ///< to the lane's next element
    int i, p, there;    ///< the first; how many there are
    int across;         ///< elements from one to the next
    bool along_k;

    template <class Block>
    PMPP_HOST_DEVICE operand_part(Block& block, const gemm_operand<T>& x, std::int64_t product, std::int64_t k,
                                  int k_there, bool along)
        : across(simt::warp_size / (along ? depth : Side)), along_k(along) {
      const int line = along ? depth : Side, near = block.lane() % line, far = block.lane() / line;
      const int extent = static_cast<int>(x.extent);
      i = along ? far : near;
      p = along ? near : far;
      from = x.data + product * x.batch_stride + i * x.stride + (k + p) * x.k_stride;
      step = across * (along ? x.stride : x.k_stride);
      there = (along ? p < k_there : i < extent) ? (along ? extent : k_there) - far : 0;
    }
    PMPP_HOST_DEVICE void load(A (&to)[rows]) const {
      for (int q = 0; q < rows; ++q) to[q] = q * across < there ? static_cast<A>(from[q * step]) : A{};
    }
    PMPP_HOST_DEVICE void store(const A (&values)[rows], A* to, int i_step, int p_step) const {
      to += i * i_step + p * p_step;
      for (int q = 0; q < rows; ++q) to[q * across * (along_k ? i_step : p_step)] = values[q];
    }
  };
};

/// How many warps share a product where products are so small, and so many, that warps multiply them, and have the shared memory; else
/// 0. Of up to 16 x 16 elements and a long k it may be several.
template <class A, class TA, class TB, class TC, class S, class Epilogue>
int fit_warps(const gemm_problem<TA, TB, TC, S, Epilogue>& x, const machine& on) {
  const std::int64_t enough = std::int64_t(16) * on.multiprocessors;  // warps that keep memory busy
  // 24 x 24 x 24: 91 us for 20000, by tiles 127 (H100); 32 x 32 x 32: 104, by tiles, which read words, 94.
  const bool better_as_tiles =
      x.c.rows * x.c.cols > 24 * 24 && (x.a.copy == k_tile_copy::words || x.b.copy == k_tile_copy::words);
  const std::int64_t side = max(x.c.rows, x.c.cols);
  const auto bytes = [&]<int Side>() {
    return sizeof(typename gemm_small_kernel<Side, TA, TB, TC, A, S, Epilogue>::shared);
  };
  if (side > 32 || better_as_tiles ||
      !on.fits(side <= 16 ? bytes.template operator()<16>() : bytes.template operator()<32>()))
    return 0;
  int sharing = 1;
  while (side <= 16 && sharing < 8 && x.batch * sharing < enough && x.k >= 64 * sharing) sharing *= 2;
  return x.batch * sharing >= enough ? sharing : 0;
}

/// Enqueues products of at most 32 x 32 elements, or runs them in the emulator.
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_by_warps(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, int sharing = 1) {
  const auto run = [&]<int Side>() {
    using kernel = gemm_small_kernel<Side, TA, TB, TC, A, S, Epilogue>;
    launch(where, ceil_div(x.batch * sharing, std::int64_t(kernel::warps)), kernel{},
           typename kernel::arguments{x.a, x.b, x.c, x.k, x.batch, x.result, sharing});
  };
  max(x.c.rows, x.c.cols) <= 16 ? run.template operator()<16>() : run.template operator()<32>();
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
