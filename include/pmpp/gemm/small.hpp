// SPDX-License-Identifier: Apache-2.0
//
// Many products of matrices so small that a warp holds one whole: up to 16 x 16 elements of C.
//
//   1. A warp goes through k sixteen at a time. It loads those columns of A and rows of B element by element, along
//      whichever way they lie in one piece, so that any strides and any alignment take the same time; zeros beyond the edges.
//   2. They pass through shared memory of the warp alone: no barriers of the block.
//   3. A lane owns half a column of C.
//
// Each matrix is read once; one launch. Memory is the limit up to k of a few hundred.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

template <class TA, class TB, class TC, class A, class S, class Epilogue>
struct gemm_small_kernel {
  static constexpr int threads = 256, min_blocks = 4, warps = threads / simt::warp_size;
  static constexpr int side = 16;  ///< of what a warp multiplies: rows, columns and k
  static constexpr int word = 16 / sizeof(A),
                       row = side + word;  ///< the word behind each row: other banks for the next
  static constexpr int halves = simt::warp_size / side, items = side / halves;  ///< rows at once; elements of a lane

  struct shared {
    alignas(16) A a[warps][side * row];  ///< (i, p) at i * row + p
    alignas(16) A b[warps][side * row];  ///< (p, j) at p * row + j
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
    const std::int64_t product = block.index() * warps + block.warp();
    if (product >= x.batch) return;
    A* const a = memory.a[block.warp()];
    A* const b = memory.b[block.warp()];
    const int col = block.lane() % side, first_row = block.lane() / side * items;
    A sum[items] = {};
    for (std::int64_t k = 0; k < x.k; k += side) {
      const int depth = static_cast<int>(smaller(std::int64_t(side), x.k - k));
      const operand_part<TA> from_a(block, x.a, product, k, depth, x.a.k_stride == 1);
      const operand_part<TB> from_b(block, x.b, product, k, depth, x.b.stride != 1);
      A next_a[items], next_b[items];
      from_a.load(next_a);
      from_b.load(next_b);
      block.sync_warp();  // the last k have been read
      from_a.store(next_a, a, row, 1);
      from_b.store(next_b, b, 1, row);
      block.sync_warp();
      for (int p = 0; p < side; p += word) {
        A y[word];
        for (int e = 0; e < word; ++e) y[e] = b[(p + e) * row + col];
        for (int i = 0; i < items; ++i) {
          const auto z = *reinterpret_cast<const item_group<A, word>*>(a + (first_row + i) * row + p);
          for (int e = 0; e < word; ++e) sum[i] += z.item[e] * y[e];
        }
      }
    }
    if (col >= x.c.cols) return;
    TC* to = x.c.data + product * x.c.batch_stride + first_row * x.c.row_stride + col * x.c.col_stride;
    for (int i = 0; i < items; ++i, to += x.c.row_stride)
      if (first_row + i < x.c.rows) *to = x.result(sum[i], to, first_row + i, col);
  }

private:
  /// What a lane copies of the next k of an operand: elements of consecutive k, or of one.
  template <class T>
  struct operand_part {
    const T* from;
    std::int64_t step;  ///< to the lane's next element
    int i, p, there;    ///< the first; how many there are
    bool along_k;

    template <class Block>
    PMPP_HOST_DEVICE operand_part(Block& block, const gemm_operand<T>& x, std::int64_t product, std::int64_t k,
                                  int depth, bool along)
        : along_k(along) {
      const int near = block.lane() % side, far = block.lane() / side, extent = static_cast<int>(x.extent);
      i = along ? far : near;
      p = along ? near : far;
      from = x.data + product * x.batch_stride + i * x.stride + (k + p) * x.k_stride;
      step = halves * (along ? x.stride : x.k_stride);
      there = (along ? p < depth : i < extent) ? (along ? extent : depth) - far : 0;
    }
    PMPP_HOST_DEVICE void load(A (&to)[items]) const {
      for (int q = 0; q < items; ++q) to[q] = q * halves < there ? static_cast<A>(from[q * step]) : A{};
    }
    PMPP_HOST_DEVICE void store(const A (&values)[items], A* to, int i_step, int p_step) const {
      for (int q = 0; q < items; ++q)
        to[(i + (along_k ? q * halves : 0)) * i_step + (p + (along_k ? 0 : q * halves)) * p_step] = values[q];
    }
  };
};

/// Whether products are so small, and so many, that warps multiply one each.
template <class TA, class TB, class TC, class S, class Epilogue>
bool fit_warps(const gemm_problem<TA, TB, TC, S, Epilogue>& x, int processors) {
  constexpr std::int64_t side = 16, enough = 16;  // rows, columns; warps of a multiprocessor that keep memory busy
  return x.c.rows <= side && x.c.cols <= side && x.batch >= enough * processors;
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
