// SPDX-License-Identifier: Apache-2.0
//
// spmm on the CPU, by one thread or by all.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// seq: three loops. host: tasks of equal numbers of nonzeros and rows, a few columns at a time; the result does not depend
/// on the number of threads.
/// Values: those of the matrix, or ones.
template <class P, class T, class I, class Values, class X, class Y, class A>
void spmm_on_host([[maybe_unused]] const P& where, A alpha, const csr_view<T, I>& matrix, const Values values,
                  const matrix_view<const X>& b, A beta, const matrix_view<Y>& c) {
  const auto offset = [&](std::int64_t row) { return static_cast<std::int64_t>(matrix.offsets[row]); };
  const auto store = [&](std::int64_t row, std::int64_t column, A sum) {
    Y& to = c.data()[row * c.row_stride() + column * c.col_stride()];
    to = static_cast<Y>(beta == A{} ? alpha * sum : alpha * sum + beta * static_cast<A>(to));
  };
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t row = 0; row < matrix.rows; ++row)
      for (std::int64_t column = 0; column < c.cols(); ++column) {
        A sum{};
        for (std::int64_t i = offset(row); i < offset(row + 1); ++i)
          sum += static_cast<A>(values[i]) * static_cast<A>(b(static_cast<std::int64_t>(matrix.columns[i]), column));
        store(row, column, sum);
      }
  } else {
    constexpr int panel = 16;
    struct sums {
      A of[panel]{};
    };
    struct carry {
      sums first, last;       ///< of the row that the task goes on with, if that ends in it, and of the open one
      std::int64_t row = -1;  ///< of `first`
      bool ends = false;      ///< a row ends in the task
    };
    const std::int64_t origin = offset(0), steps = offset(matrix.rows) - origin + matrix.rows;
    const std::int64_t grain = max(host_loop::grain, steps / 512), tasks = ceil_div(steps, grain);
    host_loop::task_results<carry> carries(tasks);
    for (std::int64_t column = 0; column < c.cols(); column += panel) {
      const int width = static_cast<int>(min(std::int64_t(panel), c.cols() - column));
      const X* const first = b.data() + column * b.col_stride();
      // Rows of B next to each other in memory are what the compiler makes vector instructions of.
      const auto add_all = [&](sums& sum, std::int64_t begin, std::int64_t end, auto fixed_width, auto fixed_stride) {
        const int count = fixed_width > 0 ? int(fixed_width) : width;
        const std::int64_t stride = fixed_stride > 0 ? std::int64_t(fixed_stride) : b.col_stride();
        sums s = sum;
        for (std::int64_t i = begin; i < end; ++i) {
          const X* const x = first + static_cast<std::int64_t>(matrix.columns[i]) * b.row_stride();
          const A value = static_cast<A>(values[i]);
          for (int j = 0; j < count; ++j) s.of[j] += value * static_cast<A>(x[j * stride]);
        }
        sum = s;
      };
      using std::integral_constant;
      const auto add = [&](sums& sum, std::int64_t begin, std::int64_t end) {
        const bool adjacent = b.col_stride() == 1;
        if (adjacent && width == 16)
          add_all(sum, begin, end, integral_constant<int, 16>(), integral_constant<int, 1>());
        else if (adjacent && width == 8)
          add_all(sum, begin, end, integral_constant<int, 8>(), integral_constant<int, 1>());
        else
          add_all(sum, begin, end, integral_constant<int, 0>(), integral_constant<int, 0>());
      };
      const auto store_all = [&](std::int64_t row, const sums& sum) {
        for (int j = 0; j < width; ++j) store(row, column + j, sum.of[j]);
      };
      host_loop::parallel_for(where, tasks, [&](std::int64_t t) {
        const std::int64_t from = t * grain, to = min(steps, from + grain);
        std::int64_t row = ends_before(matrix.offsets, matrix.rows, from);
        const std::int64_t last = ends_before(matrix.offsets, matrix.rows, to);
        std::int64_t i = origin + from - row;
        carry r{};
        r.ends = row < last;
        if (r.ends && offset(row) < i) {
          add(r.first, i, offset(row + 1));
          r.row = row++;
        }
        for (; row < last; ++row) {
          sums sum;
          add(sum, offset(row), offset(row + 1));
          store_all(row, sum);
        }
        if (r.ends) i = offset(last);
        add(r.last, i, origin + to - last);
        carries[t] = r;
      });
      sums open;
      for (std::int64_t t = 0; t < tasks; ++t) {
        const carry& r = carries[t];
        if (r.row >= 0) {
          for (int j = 0; j < width; ++j) open.of[j] += r.first.of[j];
          store_all(r.row, open);
        }
        if (r.ends) open = sums{};
        for (int j = 0; j < width; ++j) open.of[j] += r.last.of[j];
      }
    }
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
