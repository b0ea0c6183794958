// SPDX-License-Identifier: Apache-2.0
//
// Products whose k is a few: sums of that many outer products. Far more bytes of C are written than of A and B are read, so that
// memory is the limit and nothing has to be staged. A lane owns a word of some rows of C; what it reads of B serves all its rows, and
// what it reads of A most lanes of its warp want too.
//
// Words lie at multiples of their size in memory, wherever rows of C begin: the columns of a word depend on the row. Rows of a lane lie
// so far apart that their words have the same columns, and that lanes write next to each other in a C of few columns too. Only the first
// and the last word of a row may reach beyond C, and are written element by element. Sums are added up in the order of k; one launch.
// C written once, read too where beta is not 0. (PMPP ch. 6.)
#pragma once

#include <cstdint>

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
    int k;
    gemm_result<S, Epilogue> result;
    std::int64_t words, groups, units;  ///< of a row; every so many rows are a lane's; words of groups of all products
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x) const {
    const std::int64_t step = block.count() * threads, first = block.index() * threads + block.thread();
    simt::previous_kernels_done();
    if (x.units + step <= std::int64_t(0xffffffff))  // dividing 64-bit numbers takes longer than all the rest
      for (auto u = static_cast<std::uint32_t>(first); u < x.units; u += static_cast<std::uint32_t>(step))
        multiply(x, u);
    else
      for (std::int64_t u = first; u < x.units; u += step) multiply(x, u);
  }

private:
  template <class Index>
  PMPP_HOST_DEVICE static void multiply(const arguments& x, Index unit) {
    const auto words = static_cast<Index>(x.words), groups = static_cast<Index>(x.groups);
    const Index line = unit / words, product = line / groups;
    const std::int64_t first_row = line - product * groups;
    TC* c = x.c.data + std::int64_t(product) * x.c.batch_stride + first_row * x.c.row_stride;
    const auto shift = int(reinterpret_cast<std::uintptr_t>(c) / sizeof(TC) % Items);  // where the row begins in a word
    const std::int64_t col = std::int64_t(unit - line * words) * Items - shift;
    const int begin = col < 0 ? shift : 0, end = static_cast<int>(min(std::int64_t(Items), x.c.cols - col));
    const bool is_whole = begin == 0 && end == Items;
    c += col;
    A of_b[most_outer_products][Items];
    const TB* b = x.b.data + std::int64_t(product) * x.b.batch_stride + col * x.b.stride;
    for (int p = 0; p < most_outer_products; ++p, b += x.b.k_stride)
      for (int e = 0; e < Items; ++e)
        of_b[p][e] = p < x.k && e >= begin && e < end ? static_cast<A>(b[e * x.b.stride]) : A{};
    const TA* a = x.a.data + std::int64_t(product) * x.a.batch_stride + first_row * x.a.stride;
    packed<A, most_outer_products> next = {};
    const auto load_next = [&](std::int64_t row) {
      for (int p = 0; p < most_outer_products; ++p)
        if (p < x.k && row < x.c.rows) next.item[p] = static_cast<A>(a[p * x.a.k_stride]);
      a += groups * x.a.stride;
    };
    load_next(first_row);
    for (std::int64_t row = first_row; row < x.c.rows; row += groups, c += groups * x.c.row_stride) {
      packed<TC, Items> y = {};
      if (x.result.reads() && is_whole) y = *reinterpret_cast<const packed<TC, Items>*>(c);
      A sum[Items] = {};
      const auto of_a = next;
      load_next(row + groups);  // on its way while this row is written
      for (int p = 0; p < most_outer_products; ++p)
        if (p < x.k)
          for (int e = 0; e < Items; ++e) sum[e] = multiply_add(sum[e], of_a.item[p], of_b[p][e]);
      if (is_whole) {
        for (int e = 0; e < Items; ++e) y.item[e] = x.result(sum[e], &y.item[e], row, col + e);
        *reinterpret_cast<packed<TC, Items>*>(c) = y;
      } else {
        for (int e = 0; e < Items; ++e)
          if (e >= begin && e < end) c[e] = x.result(sum[e], c + e, row, col + e);
      }
    }
  }
};

/// Elements of C in a word: of two bytes four, as their columns of B are read one by one.
template <class TC>
inline constexpr int outer_word = 16 % sizeof(TC) == 0 ? min(4, int(16 / sizeof(TC))) : 1;

/// Whether k is short and rows of C in one piece; where words do not fit them, long ones, but for floats of a large C.
template <class TA, class TB, class TC, class S, class Epilogue>
bool fits_outer_products(const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  constexpr int items = outer_word<TC>;
  return 16 % sizeof(TC) == 0 && x.k > 0 && x.k <= most_outer_products && x.c.col_stride == 1 &&
         reinterpret_cast<std::uintptr_t>(x.c.data) % sizeof(TC) == 0 &&
         (x.c.is_written_by(items) ||
          (x.c.cols >= 12 * items && (sizeof(TC) == 4 || x.c.cols * x.batch > (std::int64_t(1) << 23) / x.c.rows)));
}

/// Enqueues products, or runs them in the emulator. \pre fits_outer_products(x)
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_by_outer_products(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  constexpr std::int64_t items = outer_word<TC>;
  using kernel = gemm_outer_kernel<TA, TB, TC, A, S, Epilogue, outer_word<TC>>;
  const std::int64_t lanes = std::int64_t(machine_of(where).multiprocessors) * 1024;
  const std::int64_t words = ceil_div(x.c.cols + (x.c.is_written_by(items) ? 0 : items - 1), items);
  const std::int64_t same_columns = items / greatest_common_divisor(items, (x.c.row_stride % items + items) % items);
  const std::int64_t rows = max(std::int64_t(1), min(std::int64_t(16), words * x.c.rows * x.batch / lanes)),
                     groups = round_up(ceil_div(x.c.rows, rows), same_columns), units = words * groups * x.batch;
  pmpp::launch(where, min(ceil_div(units, std::int64_t(kernel::threads)), lanes / 64), kernel{},
               typename kernel::arguments{x.a, x.b, x.c, static_cast<int>(x.k), x.result, words, groups, units});
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
