// SPDX-License-Identifier: Apache-2.0
//
// Products whose k is a few: sums of that many outer products. Far more bytes of C are written than of A and B are read, so that
// memory is the limit and nothing has to be staged. A lane owns a word of some rows of C, of which several are on their way at a time;
// what it reads of B serves all its rows, and what it reads of A most lanes of its warp want too.
//
// Words lie at multiples of their size in memory, wherever rows of C begin: the columns of a word depend on the row. Rows of a lane lie
// so far apart that their words have the same columns, and that lanes write next to each other in a C of few columns too. Only the first
// and the last word of a row may reach beyond C, and are written element by element. Sums are added up in the order of k; one launch.
// C written once, read too where beta is not 0. (PMPP ch. 6.)
#pragma once

#include <cstdint>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
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

namespace pmpp::inline PMPP_BACKEND::detail {

/// The greatest k that goes this way; for elements of C of four bytes, which direct tiles write slowly, where rows of B are rows in
/// memory: 13128 x 120 x 8 with B along k took three times as long as direct tiles.
inline constexpr int most_outer_products = 4, most_of_words = 8;

/// Items: elements of a row of C that a lane writes at once. Most: the greatest k.
template <class TA, class TB, class TC, class A, class S, class Epilogue, int Items, int Most>
struct gemm_outer_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, min_blocks = Most > most_outer_products ? 2 : 3;
  static constexpr int on_way =
      sizeof(TC) == 4 && Most <= most_outer_products ? 3 : max(1, int(16 / sizeof(A)));  ///< rows of a lane

  struct arguments {
    gemm_operand<TA> a;
    gemm_operand<TB> b;
    gemm_target<TC> c;
    int k;
    gemm_result<S, Epilogue> result;
    divisor words, groups;  ///< of a row; every so many rows are a lane's
    std::uint32_t units;    ///< words of groups of all products
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x) const {
    simt::previous_kernels_done();
    const auto step = static_cast<std::uint32_t>(block.count()) * threads;
    for (auto u = static_cast<std::uint32_t>(block.index() * threads + block.thread()); u < x.units; u += step)
      multiply(x, u);
  }

private:
  PMPP_HOST_DEVICE static void multiply(const arguments& x, std::uint32_t unit) {
    const std::uint32_t line = x.words.quotient(unit), product = x.groups.quotient(line), groups = x.groups.value();
    const std::int64_t first_row = line - product * groups;
    TC* c = x.c.data + product * x.c.batch_stride + first_row * x.c.row_stride;
    const auto shift = int(reinterpret_cast<std::uintptr_t>(c) / sizeof(TC) % Items);  // where the row begins in a word
    const std::int64_t col = std::int64_t(unit - line * x.words.value()) * Items - shift;
    const int begin = col < 0 ? shift : 0, end = static_cast<int>(min(std::int64_t(Items), x.c.cols - col));
    const bool is_whole = begin == 0 && end == Items;
    c += col;
    // What a k does not have is not asked for; numbers of type A are made when all is on its way.
    const auto each_k = [&](auto f) {
      unrolled<Most>([&](int p) {
        if (p < x.k) f(p);
      });
    };
    TB of_b[Most][Items] = {};
    const TB* const b = x.b.data + product * x.b.batch_stride + col * x.b.stride;
    each_k([&](int p) {
      for (int e = 0; e < Items; ++e)
        if (e >= begin && e < end) of_b[p][e] = b[e * x.b.stride + p * x.b.k_stride];
    });
    const TA* a = x.a.data + product * x.a.batch_stride + first_row * x.a.stride;
    const std::int64_t next_in_c = groups * x.c.row_stride, next_in_a = groups * x.a.stride;
    for (std::int64_t row = first_row; row < x.c.rows; row += on_way * groups) {
      TA of_a[on_way][Most] = {};
      packed<TC, Items> y[on_way] = {};
      each_k([&](int p) {
        for (int r = 0; r < on_way; ++r)
          if (row + r * groups < x.c.rows) of_a[r][p] = a[r * next_in_a + p * x.a.k_stride];
      });
      if (x.result.reads() && is_whole)
        for (int r = 0; r < on_way; ++r)
          if (row + r * groups < x.c.rows) y[r] = *reinterpret_cast<const packed<TC, Items>*>(c + r * next_in_c);
      for (int r = 0; r < on_way; ++r) {
        const std::int64_t own = row + r * groups;
        if (own >= x.c.rows) break;
        A sum[Items] = {};
        each_k([&](int p) {
          for (int e = 0; e < Items; ++e)
            sum[e] = multiply_add(sum[e], static_cast<A>(of_a[r][p]), static_cast<A>(of_b[p][e]));
        });
        TC* const to = c + r * next_in_c;
        if (is_whole) {
          for (int e = 0; e < Items; ++e) y[r].item[e] = x.result(sum[e], &y[r].item[e], own, col + e);
          *reinterpret_cast<packed<TC, Items>*>(to) = y[r];
        } else {
          for (int e = 0; e < Items; ++e)
            if (e >= begin && e < end) to[e] = x.result(sum[e], to + e, own, col + e);
        }
      }
      a += on_way * next_in_a;
      c += on_way * next_in_c;
    }
  }
};

/// Elements of C in a word: of two bytes four, as their columns of B are read one by one.
template <class TC>
inline constexpr int outer_word = 16 % sizeof(TC) == 0 ? min(4, int(16 / sizeof(TC))) : 1;

/// How C is cut up: words of a row, of which every so many rows are a lane's; words of groups of all products; and what that takes.
struct outer_plan {
  std::int64_t words = 0, groups = 0, units = 0;
  double clocks = never;
};

/// Clocks of an H200: of a call; of each element of A, or row, that a warp waits for; of each line that it reads of B; how much longer
/// memory takes than for a copy, and lanes where rows do not begin with words. Fitted to times of random shapes (benchmark/gemm_sweep).
struct outer_cost {
  double start, of_load, line, memory, parts;
};
/// Of elements of A, and of C, of so many bytes.
constexpr outer_cost outer_cost_of(std::size_t a, std::size_t c) {
  if (c == 2) return {9230, 123, 2.21, 2.65, 0.855};
  if (c == 4) return a == 1 ? outer_cost{10200, 101, 1.11, 1.14, 1.3} : outer_cost{7030, 66.1, 1.31, 1.34, 1.27};
  return {4510, 45, 2.2, 1.5, 1.3};
}

/// The plan where k is short and rows of C are in one piece: as many rows of a lane, 16 at most, as leave no round of blocks half empty.
template <class TA, class TB, class TC, class S, class Epilogue>
outer_plan plan_outer_products(const gemm_problem<TA, TB, TC, S, Epilogue>& x, const machine& on) {
  constexpr std::int64_t items = outer_word<TC>, most_rows = 16, threads = 256;
  const bool fits = 16 % sizeof(TC) == 0 && x.k > 0 && x.c.col_stride == 1 && min(x.c.rows, x.c.cols) > 1 &&
                    x.k <= (sizeof(TC) == 4 && x.b.stride == 1 ? most_of_words : most_outer_products) &&
                    reinterpret_cast<std::uintptr_t>(x.c.data) % sizeof(TC) == 0;
  const bool in_words = x.c.is_written_by(items);  // otherwise for long rows, but of floats of a large C
  const bool is_long =
      x.c.cols >= 12 * items && (sizeof(TC) == 4 || x.c.cols * x.batch > (std::int64_t(1) << 23) / x.c.rows);
  if (!fits || !(in_words || is_long)) return {};
  const std::int64_t lanes = threads * (x.k > most_outer_products ? 2 : 3) * on.multiprocessors;
  const std::int64_t words = ceil_div(x.c.cols + (in_words ? 0 : items - 1), items), all = words * x.c.rows * x.batch;
  const std::int64_t same_columns = items / greatest_common_divisor(items, (x.c.row_stride % items + items) % items);
  const std::int64_t rounds = ceil_div(all, most_rows * lanes), rows = ceil_div(all, rounds * lanes),
                     groups = round_up(ceil_div(x.c.rows, rows), same_columns), units = words * groups * x.batch;
  if (units >= std::int64_t(1) << 31) return {};
  constexpr outer_cost cost = outer_cost_of(sizeof(TA), sizeof(TC));
  const double stride = double(x.b.stride < 0 ? -x.b.stride : x.b.stride);
  const double lines = 1 + min(31.0, stride * items * sizeof(TB) / 4), warps = double(units) / 32 / on.multiprocessors;
  // Elements of words that rows do not begin with are written one by one, in a branch of its own.
  const double own = double(rounds * rows) * double(5 + x.k) * cost.of_load * (in_words ? 1 : cost.parts) +
                     warps * double(x.k * items) * lines * cost.line;
  return {words, groups, units, cost.start + max(own, cost.memory * clocks_of_memory(x, on))};
}

/// Enqueues products, or runs them in the emulator.
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_by_outer_products(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const outer_plan& plan) {
  const auto run = [&]<int Most>(std::integral_constant<int, Most>) {
    using kernel = gemm_outer_kernel<TA, TB, TC, A, S, Epilogue, outer_word<TC>, Most>;
    const std::int64_t most = 5 * kernel::min_blocks * std::int64_t(machine_of(where).multiprocessors);
    pmpp::launch(where, min(ceil_div(plan.units, std::int64_t(kernel::threads)), most), kernel{},
                 typename kernel::arguments{x.a, x.b, x.c, static_cast<int>(x.k), x.result, divisor(plan.words),
                                            divisor(plan.groups), static_cast<std::uint32_t>(plan.units)});
  };
  if constexpr (sizeof(TC) == 4)
    if (x.k > most_outer_products) return run(std::integral_constant<int, most_of_words>{});
  run(std::integral_constant<int, most_outer_products>{});
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
