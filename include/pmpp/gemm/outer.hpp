// SPDX-License-Identifier: Apache-2.0
//
// Products whose k is a few: sums of that many outer products. Far more bytes of C are written than of A and B are read, so that
// memory is the limit and nothing has to be staged. A lane owns a word of some rows of C; what it reads of B serves all its rows, and
// what it reads of A most lanes of its warp want too.
//
// Rows of a lane lie far apart, so that lanes write next to each other in a C of few columns too. Sums are added up in the order of k.
// C written once, read too where beta is not 0; one launch. For a C that can be written in words: element by element, it takes more
// instructions than memory takes time (8709 x 3566 x 1 floats: 128 us, cuBLAS 64). (PMPP ch. 6.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// The greatest k that goes this way. With 8, and B along k, 13128 x 120 x 8 took three times as long as direct tiles.
inline constexpr int most_outer_products = 4;

/// Items: elements of a row of C that a lane writes at once.
template <class TA, class TB, class TC, class A, class S, class Epilogue, int Items>
struct gemm_outer_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, min_blocks = 3;

  struct arguments {
    gemm_operand<TA> a;
    gemm_operand<TB> b;
    gemm_target<TC> c;
    std::int64_t k, batch;
    gemm_result<S, Epilogue> result;
    int rows;  ///< of a lane

    PMPP_HOST_DEVICE std::int64_t words_of_row() const { return ceil_div(c.cols, std::int64_t(Items)); }
    PMPP_HOST_DEVICE std::int64_t row_groups() const { return ceil_div(c.rows, std::int64_t(rows)); }
    PMPP_HOST_DEVICE std::int64_t units() const { return words_of_row() * row_groups() * batch; }
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x) const {
    simt::previous_kernels_done();
    const std::int64_t units = x.units(), step = block.count() * threads;
    const std::int64_t first = block.index() * threads + block.thread();
    if (units + step <= std::int64_t(0xffffffff))  // dividing 64-bit numbers takes longer than all the rest
      for (auto u = static_cast<std::uint32_t>(first); u < units; u += static_cast<std::uint32_t>(step)) multiply(x, u);
    else
      for (std::int64_t u = first; u < units; u += step) multiply(x, u);
  }

private:
  template <class Index>
  PMPP_HOST_DEVICE static void multiply(const arguments& x, Index unit) {
    const auto words = static_cast<Index>(x.words_of_row()), groups = static_cast<Index>(x.row_groups());
    const Index line = unit / words, product = line / groups;
    const std::int64_t col = std::int64_t(unit - line * words) * Items, first_row = line - product * groups;
    const int cols = static_cast<int>(min(std::int64_t(Items), x.c.cols - col));  // that there are
    const auto k = static_cast<int>(x.k);

    A of_b[most_outer_products][Items];
    const TB* b = x.b.data + std::int64_t(product) * x.b.batch_stride + col * x.b.stride;
    for (int p = 0; p < most_outer_products; ++p, b += x.b.k_stride)
      for (int e = 0; e < Items; ++e)
        if (p < k && e < cols)
          of_b[p][e] = static_cast<A>(b[e * x.b.stride]);
        else
          of_b[p][e] = A{};

    const std::int64_t a_step = groups * x.a.stride, c_step = groups * x.c.row_stride;
    const TA* a = x.a.data + std::int64_t(product) * x.a.batch_stride + first_row * x.a.stride;
    TC* c = x.c.data + std::int64_t(product) * x.c.batch_stride + first_row * x.c.row_stride + col;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (std::int64_t row = first_row; row < x.c.rows; row += groups, a += a_step, c += c_step) {
      packed<TC, Items> y = {};
      if (x.result.reads()) {
        if (cols == Items)
          y = *reinterpret_cast<const packed<TC, Items>*>(c);
        else
          for (int e = 0; e < Items; ++e)
            if (e < cols) y.item[e] = c[e];
      }
      A of_a[most_outer_products], sum[Items] = {};
      for (int p = 0; p < most_outer_products; ++p)
        if (p < k) of_a[p] = static_cast<A>(a[p * x.a.k_stride]);
      for (int p = 0; p < most_outer_products; ++p)
        if (p < k)
          for (int e = 0; e < Items; ++e) sum[e] = multiply_add(sum[e], of_a[p], of_b[p][e]);
      for (int e = 0; e < Items; ++e)
        if (e < cols) y.item[e] = x.result(sum[e], &y.item[e], row, col + e);
      if (cols == Items)
        *reinterpret_cast<packed<TC, Items>*>(c) = y;
      else
        for (int e = 0; e < Items; ++e)
          if (e < cols) c[e] = y.item[e];
    }
  }
};

/// Elements of C in a word: of two bytes four, for which there are registers.
template <class TC>
inline constexpr int outer_word = 16 % sizeof(TC) == 0 ? min(4, int(16 / sizeof(TC))) : 1;

template <class TA, class TB, class TC, class S, class Epilogue>
bool fits_outer_products(const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  return outer_word<TC> > 1 && x.k > 0 && x.k <= most_outer_products && x.c.is_written_by(outer_word<TC>);
}

/// Enqueues products, or runs them in the emulator. \pre fits_outer_products(x)
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_by_outer_products(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  using kernel = gemm_outer_kernel<TA, TB, TC, A, S, Epilogue, outer_word<TC>>;
  const std::int64_t lanes = std::int64_t(machine_of(where).multiprocessors) * 1024;
  typename kernel::arguments y{x.a, x.b, x.c, x.k, x.batch, x.result, 1};
  y.rows = static_cast<int>(max(std::int64_t(1), min(std::int64_t(16), y.units() / lanes)));
  pmpp::launch(where, min(ceil_div(y.units(), std::int64_t(kernel::threads)), lanes / 64), kernel{}, y);
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
