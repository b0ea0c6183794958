// SPDX-License-Identifier: Apache-2.0
//
// Thousands of products of matrices that a warp holds whole: 9 to 16 rows and columns of C, any k, strides and type. (Smaller ones go by
// patches, larger ones by tiles.)
//
//   1. A warp goes through k sixteen at a time. It loads those columns of A and rows of B element by element, along
//      whichever way they lie in one piece, so that any strides and any alignment take the same time; zeros beyond the edges.
//   2. They pass through shared memory of the warp alone: no barriers of the block.
//   3. A lane owns half a column of C.
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
#include <pmpp/launch.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class TA, class TB, class TC, class A, class S, class Epilogue>
struct gemm_small_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, warps = threads / simt::warp_size,
                       min_blocks = sizeof(A) > 8   ? 2
                                    : sizeof(A) > 4 ? 3
                                                    : 4;
  static constexpr int side = 16;                         ///< of C, at most
  static constexpr int depth = 16;                        ///< k that a warp multiplies at a time
  static constexpr int halves = 2, rows = side / halves;  ///< of C; the last of a lane
  static constexpr int word = 16 / sizeof(A);
  static constexpr int row_a = depth + word,
                       row_b = side + word;  ///< the word after each row: other banks for the next

  static constexpr int part_a = side * row_a;  ///< (i, p) at i * row_a + p; then (p, j) at p * row_b + j

  struct shared {
    alignas(16) A memory[warps][part_a + depth * row_b];  ///< of A and B
  };

  struct arguments {
    gemm_operand<TA> a;
    gemm_operand<TB> b;
    gemm_target<TC> c;
    std::int64_t k, batch;
    gemm_result<S, Epilogue> result;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    simt::previous_kernels_done();
    const std::int64_t product = block.index() * warps + block.warp();
    if (product >= x.batch) return;
    A* const a = memory.memory[block.warp()];
    A* const b = a + part_a;
    const int col = block.lane() % 16, first_row = block.lane() / 16 * rows;
    A sum[rows] = {};
    for (std::int64_t k = 0; k < x.k; k += depth) {
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
        A y[word];
        for (int e = 0; e < word; ++e) y[e] = b[(p + e) * row_b + col];
        for (int i = 0; i < rows; ++i) {
          const auto z = *reinterpret_cast<const packed<A, word>*>(a + (first_row + i) * row_a + p);
          for (int e = 0; e < word; ++e) sum[i] = multiply_add(sum[i], z.item[e], y[e]);
        }
      }
    }
    TC* const to = x.c.data + product * x.c.batch_stride + first_row * x.c.row_stride + col * x.c.col_stride;
    for (int i = 0; i < rows; ++i) {
      TC* const element = to + i * x.c.row_stride;
      if (first_row + i < x.c.rows && col < x.c.cols) *element = x.result(sum[i], element, first_row + i, col);
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
        : across(simt::warp_size / (along ? depth : side)), along_k(along) {
      const int line = along ? depth : side, near = block.lane() % line, far = block.lane() / line;
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

/// Whether products nearly fill a warp each, and warps the machine, which has the shared memory.
template <class A, class TA, class TB, class TC, class S, class Epilogue>
bool fits_warps(const gemm_problem<TA, TB, TC, S, Epilogue>& x, const machine& on) {
  using kernel = gemm_small_kernel<TA, TB, TC, A, S, Epilogue>;
  // 10000 of 16 x 16 x 16 doubles: 19 us on an H200, by patches 32; 20000 of 8 x 8 x 8: 22, by patches 15.
  return min(x.c.rows, x.c.cols) > kernel::side / 2 && max(x.c.rows, x.c.cols) <= kernel::side &&
         x.batch >= std::int64_t(16) * on.multiprocessors && on.fits(sizeof(typename kernel::shared));
}

/// Enqueues products of at most 16 x 16 elements, or runs them in the emulator.
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_by_warps(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  using kernel = gemm_small_kernel<TA, TB, TC, A, S, Epilogue>;
  launch(where, ceil_div(x.batch, std::int64_t(kernel::warps)), kernel{},
         typename kernel::arguments{x.a, x.b, x.c, x.k, x.batch, x.result});
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
