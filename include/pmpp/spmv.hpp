// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrix times vector: spmv, for matrices in compressed sparse rows.
//
//   csr_view A{rows, cols, offsets, columns, values};
//   spmv(device, 1.0f, A, x, 0.0f, y);                    // y <- A x
//
// One call: no handle, no analysis, no buffer to ask for. The kernel (spmv/kernel.hpp) cuts nonzeros and rows into equal
// pieces, so that time depends on nonzeros + rows alone, not on how nonzeros are spread over rows: empty rows, one row
// with everything, power laws. What it cannot even out is the reading of x: columns next to each other are read from
// the first cache; random ones cost a sector of 32 bytes each, from the second cache as long as x fits there (an H100:
// 137 billion a second).
//
// Work nnz + rows; traffic: offsets, columns and values once, x at least once, y once (twice if beta is not 0); one
// launch. The same bits on every run. (PMPP ch. 14; Merrill and Garland, Merge-based SpMV, 2016.)
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/block/tile_state.hpp>
#include <pmpp/check_each.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/spmv/kernel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The type that products of T and X add up in.
template <class T, class X>
struct product_sum {
  using type = decltype(accumulator_of<T>() * accumulator_of<X>());
};
template <class X>
struct product_sum<void, X> {
  using type = accumulator_of<X>;
};

/// The values of a matrix; a pattern has ones.
template <class A, class T, class I>
auto values_of(const csr_view<T, I>& matrix) {
  if constexpr (std::is_void_v<T>)
    return constant_iterator<A>(A(1));
  else
    return static_cast<const T*>(matrix.values);
}

/// Debug mode: rows do not end before they begin, and columns lie in the matrix.
template <class T, class I>
struct row_check {
  csr_view<T, I> matrix;
  PMPP_HOST_DEVICE void operator()(std::int64_t row) const {
    check_index(matrix.row_length(row), std::int64_t(0x7fffffffffffffff), "sparse matrix: length of a row");
    for (std::int64_t i = matrix.row_begin(row); i < matrix.row_end(row); ++i)
      check_index(static_cast<std::int64_t>(matrix.columns[i]), matrix.cols, "sparse matrix: column");
  }
};
template <class P, class T, class I>
void check_matrix(const P& where, const csr_view<T, I>& matrix) {
  detail::check_each(where, item_count{matrix.rows}, row_check<T, I>{matrix});
}

/// Enqueues on a GPU or runs in the emulator.
template <spmv_tuning Tuning, class P, class T, class I, class X, class Y, class A>
void spmv_on_blocks(const P& where, A alpha, const csr_view<T, I>& matrix, X x, A beta, Y y) {
  const auto values = values_of<A>(matrix);
  detail::check_reachable(
      where, "spmv",
      zip_iterator{zip_iterator{matrix.offsets, matrix.columns}, zip_iterator{values, zip_iterator{x, y}}});
  check_matrix(where, matrix);
  using kernel = spmv_kernel<std::remove_const_t<decltype(values)>, std::remove_const_t<I>, X, Y, A, Tuning>;
  using slots = block::tile_state<A>;
  constexpr std::size_t counter_bytes = 16;  // the stretches taken, in front of the slots
  const std::int64_t blocks = std::int64_t(kernel::min_blocks) * machine_of(where).multiprocessors;
  const std::int64_t stretches = blocks * Tuning.stretches, warps = blocks * kernel::warps;
  scratch memory(where, scratch_bytes({slots::payload_bytes(stretches), std::size_t(2 * warps) * sizeof(A)}),
                 counter_bytes + max(slots::state_bytes(stretches), std::size_t(warps) * sizeof(unsigned)));
  unsigned *const started = memory.state(), *const slot_state = started + counter_bytes / sizeof *started;
  unsigned char* const payload = memory.template take<unsigned char>(std::int64_t(slots::payload_bytes(stretches)));
  pmpp::launch(where, blocks, kernel{},
               typename kernel::arguments{matrix.rows, matrix.offsets, matrix.columns, values, x, y, alpha, beta,
                                          floor_log2(stretches), divisor(warps), started, slots(slot_state, payload),
                                          memory.template take<A>(2 * warps), slot_state});
}

/// alpha * sum + beta * y[row]; y is not read if beta is 0.
template <class A, class Y>
void store_row(const Y& y, std::int64_t row, A alpha, A sum, A beta) {
  using T = value_of<Y>;
  if (beta == A{})
    y[row] = static_cast<T>(multiply(alpha, sum));
  else
    y[row] = static_cast<T>(multiply_add(multiply(alpha, sum), beta, static_cast<A>(y[row])));
}

/// The sum of products [begin, end).
template <class A, class Values, class I, class X>
A sum_of_products(const Values values, const I* const columns, const X x, std::int64_t begin, std::int64_t end) {
  A sum{};
  for (std::int64_t i = begin; i < end; ++i)
    sum = multiply_add(sum, static_cast<A>(values[i]), static_cast<A>(x[static_cast<std::int64_t>(columns[i])]));
  return sum;
}
/// The same, four sums at a time: fewer additions wait for each other. A function of its own, called for long rows: its
/// code would slow down the loop over short ones.
template <class A, class Values, class I, class X>
[[gnu::noinline]] A sum_of_many_products(const Values values, const I* const columns, const X x, std::int64_t begin,
                                         std::int64_t end) {
  A sums[4]{};
  std::int64_t i = begin;
  for (; end - i >= 4; i += 4)
    for (int k = 0; k < 4; ++k)
      sums[k] = multiply_add(sums[k], static_cast<A>(values[i + k]),
                             static_cast<A>(x[static_cast<std::int64_t>(columns[i + k])]));
  return (sums[0] + sums[1]) + (sums[2] + sums[3]) + sum_of_products<A>(values, columns, x, i, end);
}

/// Writes y at the rows [row, last).
/// (Everything by value: the compiler need not ask whether y is part of it.)
template <class A, class Values, class I, class X, class Y>
void multiply_rows(A alpha, const Values values, const I* const offsets, const I* const columns, const X x, A beta,
                   const Y y, std::int64_t row, const std::int64_t last) {
  for (; row < last; ++row) {
    const auto begin = static_cast<std::int64_t>(offsets[row]), end = static_cast<std::int64_t>(offsets[row + 1]);
    const A sum = end - begin < 32 ? sum_of_products<A>(values, columns, x, begin, end)
                                   : sum_of_many_products<A>(values, columns, x, begin, end);
    store_row(y, row, alpha, sum, beta);
  }
}
/// The same for short rows and beta 0: for so few nonzeros a row each branch counts.
template <class A, class Values, class I, class X, class Y>
[[gnu::noinline]] void multiply_short_rows(A alpha, const Values values, const I* const offsets, const I* const columns,
                                           const X x, const Y y, std::int64_t row, const std::int64_t last) {
  for (; row < last; ++row)
    y[row] = static_cast<value_of<Y>>(
        multiply(alpha, sum_of_products<A>(values, columns, x, static_cast<std::int64_t>(offsets[row]),
                                           static_cast<std::int64_t>(offsets[row + 1]))));
}

/// seq: two loops. host: tasks of equal numbers of nonzeros and rows; the result does not depend on the number of
/// threads.
template <class P, class T, class I, class X, class Y, class A>
void spmv_on_host([[maybe_unused]] const P& where, A alpha, const csr_view<T, I>& matrix, const X& x, A beta,
                  const Y& y) {
  check_matrix(where, matrix);
  const auto values = values_of<A>(matrix);
  const auto offset = [&](std::int64_t row) { return static_cast<std::int64_t>(matrix.offsets[row]); };
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      A sum{};
      for (std::int64_t i = offset(row); i < offset(row + 1); ++i)
        sum = multiply_add(sum, static_cast<A>(values[i]),
                           static_cast<A>(x[static_cast<std::int64_t>(matrix.columns[i])]));
      store_row(y, row, alpha, sum, beta);
    }
  } else {
    const std::int64_t origin = offset(0), steps = offset(matrix.rows) - origin + matrix.rows;
    // A task begins with two searches and cold streams: large matrices have larger tasks.
    const std::int64_t grain = max(host_loop::grain, min(64 * host_loop::grain, steps / 128));
    const std::int64_t tasks = ceil_div(steps, grain);
    struct carry {
      A first{}, last{};      ///< of the row that the task goes on with, if that ends in it, and of the open one
      std::int64_t row = -1;  ///< of `first`
      bool ends = false;      ///< a row ends in the task
    };
    host_loop::task_results<carry> carries(tasks);
    host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
      const std::int64_t from = t * grain, to = min(steps, from + grain);
      std::int64_t row = detail::ends_before(matrix.offsets, matrix.rows, from);
      const std::int64_t last = detail::ends_before(matrix.offsets, matrix.rows, to);
      std::int64_t i = origin + from - row;
      const auto sum = [&](std::int64_t end) { return sum_of_many_products<A>(values, matrix.columns, x, i, end); };
      carry c{};
      c.ends = row < last;
      if (c.ends && offset(row) < i) {
        c.first = sum(offset(row + 1));
        c.row = row;
        ++row;
      }
      if (beta == A{} && offset(last) - offset(row) < 32 * (last - row))
        multiply_short_rows(alpha, values, matrix.offsets, matrix.columns, x, y, row, last);
      else
        multiply_rows(alpha, values, matrix.offsets, matrix.columns, x, beta, y, row, last);
      if (c.ends) i = offset(last);
      c.last = sum(origin + to - last);
      carries[t] = c;
    });
    A open{};
    for (std::int64_t t = 0; t < tasks; ++t) {
      const carry& c = carries[t];
      if (c.row >= 0) store_row(y, c.row, alpha, static_cast<A>(open + c.first), beta);
      open = c.ends ? c.last : static_cast<A>(open + c.last);
    }
  }
}

}  // namespace detail

/// y <- alpha A x + beta y.
///
/// \param alpha, beta  numbers; they are converted to the type that products add up in: accumulator_of<T> *
///                     accumulator_of<X>, so float for half and bfloat16, double for a float matrix and double vectors.
/// \param A            a csr_view (or anything whose view() is one), visible to `where`. Columns of a row may come in any
///                     order and more than once. csr_view<void, I>: all values are 1. Offsets may begin above 0: some
///                     rows of a larger matrix are a matrix. \pre offsets never decrease, columns lie in [0, cols);
///                     the latter is checked in debug mode.
/// \param x            cols elements: a range or an iterator; visible to `where`.
/// \param y            rows elements: a range or an iterator; visible to `where`; not x. It is not read if beta is 0: what
///                     it holds, NaN too, does not matter then.
/// A zero that is stored times a NaN or an infinity in x is NaN; one that is not stored counts for nothing.
/// The same bits on every run; on host also for any number of threads. Asynchronous on a GPU; may be captured. Scratch:
/// under 200 bytes a block of the grid (numbers of up to 8 bytes), from the workspace or one allocation in stream order.
/// Cost: offsets, columns and values read once, y written; one launch, whatever the matrix.
/// \throws std::invalid_argument for negative extents, null arrays, or y that overlaps x; std::length_error if x or y is
/// too short; cuda_error. Source: PMPP ch. 14; Merrill and Garland, Merge-based SpMV, 2016. Example: test/spmv.cpp, by hand.
template <spmv_tuning Tuning = tuned<spmv_tuning>, execution_policy P, class Alpha, class T, class I, reachable_by<P> R,
          class Beta, output_for<P> O>
void spmv(const P& where, Alpha alpha, const csr_view<T, I>& A, R&& x, Beta beta, O&& y) {
  const char* const function = "spmv";
  require(A.rows >= 0 && A.cols >= 0, [&] {
    return detail::text("pmpp::spmv: the matrix has ") + detail::text::of(A.rows) + " rows and " +
           detail::text::of(A.cols) + " columns";
  });
  require(A.rows == 0 || A.offsets != nullptr,
          [&] { return "pmpp::spmv: offsets are null, but there are " + detail::text::of(A.rows) + " rows"; });
  detail::check_room(function, "x", x, A.cols);
  detail::check_output(function, "y", y, A.rows);
  if (A.rows == 0) return;
  const auto source = detail::unwrap(detail::begin_of(x));
  const auto target = detail::unwrap(detail::begin_of(y));
  using X = std::remove_const_t<decltype(source)>;
  using Y = std::remove_const_t<decltype(target)>;
  using S = typename detail::product_sum<std::remove_cv_t<T>, value_of<X>>::type;
  static_assert(std::is_arithmetic_v<S> || detail::complex_number<S>, "pmpp: spmv adds up numbers");
  if constexpr (std::is_pointer_v<X> && std::is_pointer_v<Y>)
    require(A.cols == 0 || !detail::memory_of_view(matrix_view(source, A.cols, 1))
                                .may_meet(detail::memory_of_view(matrix_view(target, A.rows, 1))),
            [&] {
              return "pmpp::spmv: x (" + detail::text::of(A.cols) + " elements) and y (" + detail::text::of(A.rows) +
                     ") overlap";
            });
  if constexpr (kernel_execution<P>)
    detail::spmv_on_blocks<Tuning, P, T, I, X, Y, S>(where, static_cast<S>(alpha), A, source, static_cast<S>(beta),
                                                     target);
  else
    detail::spmv_on_host<P, T, I, X, Y, S>(where, static_cast<S>(alpha), A, source, static_cast<S>(beta), target);
}

/// The same for a matrix that owns its memory, such as csr_matrix.
template <spmv_tuning Tuning = tuned<spmv_tuning>, execution_policy P, class Alpha, reachable_by<P> M,
          reachable_by<P> R, class Beta, output_for<P> O>
requires requires(const M& m) { m.view(); }
void spmv(const P& where, Alpha alpha, const M& A, R&& x, Beta beta, O&& y) {
  spmv<Tuning>(where, alpha, A.view(), x, beta, y);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
