// SPDX-License-Identifier: Apache-2.0
//
// Dynamic programming over a table: each cell is a function of its left, upper and upper-left neighbours.
//
//   struct longest_common {
//     const char *a, *b;
//     PMPP_HOST_DEVICE int operator()(int left, int up, int diagonal, std::int64_t i, std::int64_t j) const {
//       return a[i] == b[j] ? diagonal + 1 : max(left, up);
//     }
//   };
//   wavefront(device, table, longest_common{a, b}, no_edge{});        // all cells; no_edge(i, j): what lies outside
//   wavefront_last(device, rows, cols, ...)                           // the last cell alone
//   wavefront_best(device, rows, cols, ...)                           // the greatest cell, and where it is
//   wavefront_last_row(device, rows, ..., out), wavefront_last_column(device, cols, ..., out)
//
//   1. The table is cut into strips of 128 rows, one a warp. A lane makes four cells of a column at each step, one column
//      behind the lane above (wavefront/walk.hpp).
//   2. Warps take strips from the top down and read the last row of the strip above as it grows (wavefront/kernel.hpp).
//   3. What is not asked for is not written: only one row of cells goes through memory for each strip.
//
// One launch; scratch for one row of cells. Cells are the same on every run and every policy, as each is made once, of the same
// neighbours. A table is fast where both sides are long: at most 32 lanes for each 128 rows are busy, and strip t begins 64
// steps after strip t - 1. Pairs of sequences: alignment.hpp. (PMPP, 5th edition, ch. 16.)
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/wavefront/host.hpp>
#include <pmpp/wavefront/kernel.hpp>
#include <pmpp/wavefront/outputs.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What is told of a cell: all of it.
struct tell_all {
  template <class T>
  PMPP_HOST_DEVICE T operator()(const T& x) const {
    return x;
  }
};

/// The table of a call. Throws for a negative size.
template <class T, class F, class Outside>
wave<T, F, Outside> wave_of(const char* function, std::int64_t rows, std::int64_t cols, const F& f,
                            const Outside& outside) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                "pmpp: cells of a wavefront are trivially copyable and can be made without arguments");
  static_assert(
      makes_cells<T, F>(),
      "pmpp: f(left, up, diagonal, i, j), or f(left, up, diagonal, f.row(i), f.column(j)), cannot be called with "
      "three cells, or its result does not convert to one");
  require(rows >= 0 && cols >= 0, [&] {
    return detail::text("pmpp::") + function + ": a table of " + detail::text::of(rows) + " rows and " +
           detail::text::of(cols) + " columns";
  });
  return {rows, cols, f, outside};
}

template <class Outside>
using cell_of = std::remove_cvref_t<decltype(std::declval<const Outside&>()(std::int64_t(0), std::int64_t(0)))>;

/// Writes what is told of the last cell to *out.
template <wavefront_tuning Tuning, class P, class Wave, class Out, class Told>
void write_last(const P& where, const Wave& wave, const Out& out, const Told& told, const completion& done) {
  using T = typename Wave::value_type;
  using output = last_cell_output<T, Out, Told>;
  const output last{out, wave.rows - 1, wave.cols - 1, told};
  if constexpr (kernel_execution<P>) {
    detail::wave_on_blocks<Tuning>(
        where, wave, [&](best_cell<T>*) { return last; }, done);
  } else {
    const auto nothing = [](std::int64_t, std::int64_t, std::int64_t, const T&) {};
    detail::wave_on_host(
        where, wave, detail::wavefront_host_tile(where, wave.rows, wave.cols), nothing, [&](const T* row, const T*) {
          last.write(last.row, last.col, wave.empty() ? wave.border(last.row, last.col) : row[wave.cols - 1]);
        });
  }
}

/// The same of the best cell.
template <wavefront_tuning Tuning, class P, class Wave, class Out, class Comp, class Told>
void write_best(const P& where, const Wave& wave, const Out& out, const Comp& comp, const Told& told,
                const completion& done) {
  using T = typename Wave::value_type;
  using output = best_output<T, Out, Comp, Told>;
  if constexpr (kernel_execution<P>) {
    detail::wave_on_blocks<Tuning>(
        where, wave,
        [&](best_cell<T>* of_blocks) {
          return output{out, comp, told, of_blocks};
        },
        done);
  } else {
    const std::int64_t slots = detail::host_slots(where, wave.rows, wave.cols);
    host_loop::task_results<best_cell<T>> best(slots + 1);
    for (std::int64_t s = 0; s <= slots; ++s) best[s].row = -1;
    const auto take = [&](std::int64_t slot, const best_cell<T>& cell) {
      best_so_far<T, Comp> so_far(comp);
      so_far.cell = best[slot];
      so_far.take(cell);
      best[slot] = so_far.cell;
    };
    detail::wave_on_host(
        where, wave, detail::wavefront_host_tile(where, wave.rows, wave.cols),
        [&](std::int64_t slot, std::int64_t i, std::int64_t j, const T& cell) {
          take(slot, {cell, i, j});
        },
        [](const T*, const T*) {});
    for (std::int64_t s = 0; s < slots; ++s) take(slots, best[s]);
    if (wave.empty()) best[slots] = {wave.border(-1, -1), -1, -1};
    *out = static_cast<std::remove_cvref_t<decltype(*out)>>(told(best[slots]));
  }
}

/// Calls write(where, out, done) and waits for what it writes.
template <class R, class P, class Write>
R wait_for(const char* function, const P& where, const Write& write) {
  if constexpr (kernel_execution<P>) {
    reply<R, P> answer(function, where);
    write(answer.policy(), answer.target(), answer.done());
    return answer.wait();
  } else {
    R result{};
    write(where, __builtin_addressof(result), completion{});
    return result;
  }
}

}  // namespace detail

/// Fills a table: cell (i, j) becomes f(left, up, diagonal, i, j), where left is cell (i, j - 1), up (i - 1, j) and diagonal
/// (i - 1, j - 1).
///
/// \param table    rows x cols, any strides; visible to `where`. Cells are trivially copyable; the fastest have at most 12 bytes.
/// \param f        a function object, called once for each cell. It may hold pointers to data that i and j are places of. If it
///                 has members row(i) and column(j), these are called ahead of time, once for each row and once for each column of a
///                 strip, and f gets what they return in place of i and j: so what f needs of a row stays in registers.
/// \param outside  what lies in front of the table: outside(i, -1), outside(-1, j) and outside(-1, -1), converted to cells.
/// `table` is not read and must not overlap what f and outside read. The same cells on every run. Asynchronous on a GPU; may be
/// captured. Scratch: a row of cells. Cost: the table written once; one launch.
/// \throws cuda_error; std::invalid_argument if the table is null and not empty.
/// Source: PMPP, 5th edition, ch. 16. Example: test/wavefront.cpp.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, class T, class F, class Outside>
void wavefront(const P& where, const matrix_view<T>& table, const F& f, const Outside& outside) {
  static_assert(!std::is_const_v<T>, "pmpp: the table of a wavefront is written: its elements are const");
  const auto wave = detail::wave_of<T>("wavefront", table.rows(), table.cols(), f, outside);
  if (wave.empty()) return;
  require(table.data() != nullptr, [] { return detail::text("pmpp::wavefront: the table is null"); });
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, "wavefront", table.data());
    detail::wave_on_blocks<Tuning>(
        where, wave, [&](best_cell<T>*) { return detail::table_output<T>{table}; }, detail::completion{});
  } else {
    detail::wave_on_host(
        where, wave, detail::wavefront_host_tile(where, wave.rows, wave.cols),
        [&](std::int64_t, std::int64_t i, std::int64_t j, const T& cell) { table(i, j) = cell; },
        [](const T*, const T*) {});
  }
}

/// The last row alone of a table of `rows` rows, and as many columns as `out` has elements; nothing else is written.
/// Without rows it is outside(-1, j). All else as wavefront.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, class F, class Outside,
          contiguous_for<P> Out>
void wavefront_last_row(const P& where, std::int64_t rows, const F& f, const Outside& outside, Out&& out) {
  using T = std::remove_cvref_t<element_of<std::remove_reference_t<Out>>>;
  const auto to = detail::as_span(out);
  const auto wave = detail::wave_of<T>("wavefront_last_row", rows, static_cast<std::int64_t>(to.size()), f, outside);
  if (wave.cols == 0) return;
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, "wavefront_last_row", to.data());
    detail::wave_on_blocks<Tuning>(
        where, wave,
        [&](best_cell<T>*) {
          return detail::last_row_output<T>{to.data(), rows - 1};
        },
        detail::completion{});
  } else {
    detail::wave_on_host(
        where, wave, detail::wavefront_host_tile(where, wave.rows, wave.cols),
        [](std::int64_t, std::int64_t, std::int64_t, const T&) {},
        [&](const T* row, const T*) {
          for (std::int64_t j = 0; j < wave.cols; ++j) to.data()[j] = row[j];
        });
  }
}

/// The last column alone of a table of `cols` columns, and as many rows as `out` has elements. Without columns it is
/// outside(i, -1). All else as wavefront.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, class F, class Outside,
          contiguous_for<P> Out>
void wavefront_last_column(const P& where, std::int64_t cols, const F& f, const Outside& outside, Out&& out) {
  using T = std::remove_cvref_t<element_of<std::remove_reference_t<Out>>>;
  const auto to = detail::as_span(out);
  const auto wave = detail::wave_of<T>("wavefront_last_column", static_cast<std::int64_t>(to.size()), cols, f, outside);
  if (wave.rows == 0) return;
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, "wavefront_last_column", to.data());
    detail::wave_on_blocks<Tuning>(
        where, wave,
        [&](best_cell<T>*) {
          return detail::last_column_output<T>{to.data(), cols - 1};
        },
        detail::completion{});
  } else {
    detail::wave_on_host(
        where, wave, detail::wavefront_host_tile(where, wave.rows, wave.cols),
        [](std::int64_t, std::int64_t, std::int64_t, const T&) {},
        [&](const T*, const T* column) {
          for (std::int64_t i = 0; i < wave.rows; ++i) to.data()[i] = column[i];
        });
  }
}

/// The last cell of a table of rows x cols cells, of the type that `outside` returns; outside(rows - 1, cols - 1) if the table is
/// empty. Waits for the policy's stream; wavefront_last_into leaves the cell in *out and does not. All else as wavefront.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, class F, class Outside>
[[nodiscard]] detail::cell_of<Outside> wavefront_last(const P& where, std::int64_t rows, std::int64_t cols, const F& f,
                                                      const Outside& outside) {
  using T = detail::cell_of<Outside>;
  const auto wave = detail::wave_of<T>("wavefront_last", rows, cols, f, outside);
  return detail::wait_for<T>("wavefront_last", where, [&](const auto& on, T* out, const detail::completion& done) {
    detail::write_last<Tuning>(on, wave, out, detail::tell_all{}, done);
  });
}
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, class F, class Outside,
          output_for<P> O>
void wavefront_last_into(const P& where, std::int64_t rows, std::int64_t cols, const F& f, const Outside& outside,
                         O&& out) {
  const auto wave = detail::wave_of<detail::cell_of<Outside>>("wavefront_last_into", rows, cols, f, outside);
  detail::check_output("wavefront_last_into", "out", out, 1);
  detail::write_last<Tuning>(where, wave, detail::unwrap(detail::begin_of(out)), detail::tell_all{},
                             detail::completion{});
}

/// The greatest cell of a table and its place: best_cell{value, row, col}; the lesser column, then the lesser row, of equal
/// ones. {outside(-1, -1), -1, -1} if the table is empty.
///
/// \param comp  comp(x, y): y is better than x; a strict weak order of cells.
/// Waits for the policy's stream; wavefront_best_into leaves the result in *out and does not. All else as wavefront.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, class F, class Outside,
          class Comp = less>
[[nodiscard]] best_cell<detail::cell_of<Outside>> wavefront_best(const P& where, std::int64_t rows, std::int64_t cols,
                                                                 const F& f, const Outside& outside, Comp comp = {}) {
  using T = detail::cell_of<Outside>;
  detail::require_order<Comp, T>();
  const auto wave = detail::wave_of<T>("wavefront_best", rows, cols, f, outside);
  return detail::wait_for<best_cell<T>>("wavefront_best", where,
                                        [&](const auto& on, best_cell<T>* out, const detail::completion& done) {
                                          detail::write_best<Tuning>(on, wave, out, comp, detail::tell_all{}, done);
                                        });
}
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, class F, class Outside,
          output_for<P> O, class Comp = less>
void wavefront_best_into(const P& where, std::int64_t rows, std::int64_t cols, const F& f, const Outside& outside,
                         O&& out, Comp comp = {}) {
  using T = detail::cell_of<Outside>;
  detail::require_order<Comp, T>();
  const auto wave = detail::wave_of<T>("wavefront_best_into", rows, cols, f, outside);
  detail::check_output("wavefront_best_into", "out", out, 1);
  detail::write_best<Tuning>(where, wave, detail::unwrap(detail::begin_of(out)), comp, detail::tell_all{},
                             detail::completion{});
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
