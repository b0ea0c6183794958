// SPDX-License-Identifier: Apache-2.0
//
// One result for each column of a matrix: reduce_columns, minmax_columns. All columns in one pass. (One for each row: segmented_reduce.)
//
//   1. Neighbouring threads have neighbouring columns, so that a warp reads whole lines. Where rows are short, threads that are left
//      have the rows after; and rows without gaps between them are read as a few long ones: 7 columns as rows of 511 = 73 * 7.
//   2. A block has a slab of rows. Each thread joins what it reads, eight elements on their way at a time, then the block joins
//      those of equal columns in shared memory, as a tree.
//   3. Where there are several slabs, a second launch joins their results, which are a matrix of as many rows.
//
// Work n; traffic the matrix read once, and a few KB; one launch or two. Elements of a column are joined in no order that a caller
// could name: the operator commutes. The same call gives the same bits on every run. (PMPP ch. 10.)
// It does not look for columns that lie contiguous: they are read as they lie, a line for each element. segmented_reduce is
// for these.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/raw_array.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Where the results of a slab go: to the slab's row of `partial`, or, where that is null, to the output.
template <class S, class Out>
struct column_results {
  S* partial;
  Out out;
  S init;
  bool has_init;

  template <class Op>
  PMPP_HOST_DEVICE void operator()(std::int64_t slab, std::int64_t columns, std::int64_t j, const S& x,
                                   const Op& op) const {
    if (partial != nullptr)
      partial[slab * columns + j] = x;
    else
      out[j] = static_cast<value_of<Out>>(value_of_stored(has_init ? static_cast<S>(op(init, x)) : x));
  }
};

/// T: elements; F: what is made of one; S: what that is joined as.
template <class T, class F, class S, class Op, class Results>
struct columns_kernel {
  static constexpr int threads = 512, min_blocks = 3, unroll = 8;
  static_assert(sizeof(S) <= 64, "pmpp: accumulators of columns have at most 64 bytes");
  struct shared {
    alignas(S) unsigned char slots[threads * sizeof(S)];
  };
  struct arguments {
    const T* data;
    std::int64_t rows, row_stride, col_stride;  ///< of the rows as they are read
    int width;                                  ///< threads side by side
    std::int64_t cols, last;                    ///< elements of a row, and of the last one
    std::int64_t columns;                       ///< of the matrix
    std::int64_t rows_of_slab;
    F f;
    Op op;
    Results results;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const std::int64_t chunks = ceil_div(a.cols, std::int64_t(a.width)), slab = block.index() / chunks,
                       first_col = block.index() % chunks * a.width, first_row = slab * a.rows_of_slab;
    const int side = static_cast<int>(min(std::int64_t(a.width), a.cols - first_col)), phases = threads / a.width;
    const int phase = block.thread() / a.width, x = block.thread() % a.width;
    const std::int64_t col = first_col + x;
    std::int64_t end = min(a.rows, first_row + a.rows_of_slab), row = first_row + phase;
    // The slots of the threads that have elements stand in front: of whole rows, and of the last one as far as it goes.
    const std::int64_t elements = (end - first_row) * side - (end == a.rows ? a.cols - a.last : 0);
    int full = static_cast<int>(min(elements, std::int64_t(phases) * side));
    if (end == a.rows && col >= a.last) --end;
    S* const slot = reinterpret_cast<S*>(memory.slots);
    if (phase < phases && x < side && row < end) {
      const T* in = a.data + row * a.row_stride + col * a.col_stride;
      const std::int64_t step = phases * a.row_stride;
      S sum = S(a.f(value_of_stored(*in)));
      for (row += phases, in += step; row + (unroll - 1) * phases < end; row += unroll * phases, in += unroll * step) {
        T y[unroll];
        for (int u = 0; u < unroll; ++u) y[u] = in[u * step];
        for (int u = 0; u < unroll; ++u) sum = static_cast<S>(a.op(sum, S(a.f(value_of_stored(y[u])))));
      }
      for (; row < end; row += phases, in += step) sum = static_cast<S>(a.op(sum, S(a.f(value_of_stored(*in)))));
      slot[phase * side + x] = sum;
    }
    const int columns = static_cast<int>(min(a.columns, std::int64_t(side)));  // slots of one column lie this far apart
    for (int groups = ceil_div(full, columns); groups > 1;) {
      groups = (groups + 1) / 2;
      block.sync();
      const int other = block.thread() + groups * columns;
      if (block.thread() < groups * columns && other < full)
        slot[block.thread()] = static_cast<S>(a.op(slot[block.thread()], slot[other]));
      full = min(full, groups * columns);
    }
    if (block.thread() < columns) a.results(slab, a.columns, first_col + block.thread(), slot[block.thread()], a.op);
  }
};

/// Joins the columns of a matrix, or the results of its slabs.
template <class P, class T, class F, class S, class Op, class Out>
void columns_on_blocks(const char* function, const P& where, const matrix_view<const T>& m, const F& f, const Op& op,
                       const column_results<S, Out>& results) {
  using kernel = columns_kernel<T, F, S, Op, column_results<S, Out>>;
  typename kernel::arguments a{m.data(), m.rows(), m.row_stride(), m.col_stride(), 0, m.cols(), m.cols(), m.cols(), 0,
                               f,        op,       results};
  if (const std::int64_t folds = min(m.rows(), kernel::threads / m.cols()); m.contiguous() && folds > 1) {
    const std::int64_t all = m.rows() * m.cols();
    a.cols = a.row_stride = folds * m.cols();
    a.rows = ceil_div(all, a.cols);
    a.last = all - (a.rows - 1) * a.cols;
  }
  a.width = static_cast<int>(min(a.cols, std::int64_t(kernel::threads)));
  const std::int64_t chunks = ceil_div(a.cols, std::int64_t(a.width)), phases = kernel::threads / a.width;
  const std::int64_t wanted = max(std::int64_t(1), 2 * resident_blocks<kernel>(machine_of(where)) / chunks);
  a.rows_of_slab = round_up(max(ceil_div(a.rows, wanted), 2 * kernel::unroll * phases), phases);
  const std::int64_t slabs = ceil_div(a.rows, a.rows_of_slab);
  if (slabs == 1) return pmpp::launch(where, chunks, kernel{}, a);
  scratch memory(where, checked_bytes(slabs * m.cols(), sizeof(S), function), 0);
  S* const partial = memory.template take<S>(slabs * m.cols());
  a.results.partial = partial;
  pmpp::launch(where, chunks * slabs, kernel{}, a);
  detail::columns_on_blocks(function, where, matrix_view<const S>(partial, slabs, m.cols()), identity{}, op, results);
}

/// Tasks of some rows and columns, whose number depends on the matrix alone; their results are joined in order.
template <class P, class T, class F, class S, class Op, class Out>
void columns_on_host(const P& where, const matrix_view<const T>& m, const F& f, const Op& op,
                     const column_results<S, Out>& results) {
  constexpr std::int64_t most_columns = 1024, most_slabs = 64;
  constexpr bool is_seq = std::is_same_v<P, seq_policy>;
  const std::int64_t width = min(m.cols(), most_columns), chunks = ceil_div(m.cols(), width),
                     rows = is_seq ? m.rows() : max(ceil_div(host_loop::grain, width), ceil_div(m.rows(), most_slabs)),
                     slabs = ceil_div(m.rows(), rows);
  raw_array<S> sum(slabs * m.cols());
  const auto task = [&](std::int64_t k) {
    const std::int64_t slab = k / chunks, first = k % chunks * width, end = min(m.cols(), first + width);
    S* const s = sum.data() + slab * m.cols();
    for (std::int64_t j = first; j < end; ++j)
      ::new (static_cast<void*>(s + j)) S(static_cast<S>(f(value_of_stored(m(slab * rows, j)))));
    for (std::int64_t i = slab * rows + 1; i < min(m.rows(), (slab + 1) * rows); ++i)
      for (std::int64_t j = first; j < end; ++j) s[j] = static_cast<S>(op(s[j], S(f(value_of_stored(m(i, j))))));
  };
  if constexpr (is_seq)
    for (std::int64_t k = 0; k < chunks; ++k) task(k);
  else
    host_loop::parallel_for(where, slabs * chunks, task);
  for (std::int64_t j = 0; j < m.cols(); ++j) {
    S all = sum.data()[j];
    for (std::int64_t slab = 1; slab < slabs; ++slab) all = static_cast<S>(op(all, sum.data()[slab * m.cols() + j]));
    results(0, m.cols(), j, all, op);
  }
}

template <class P, class T, class O, class A, class Op, class F>
auto join_columns(const char* function, const P& where, const matrix_view<const T>& m, O& out, const A& init,
                  bool has_init, const Op& combine, const F& f) {
  const bool any = !m.empty();
  require(!any || m.data() != nullptr, [&] { return detail::text("pmpp::") + function + ": the matrix is null"; });
  const auto elements = detail::with_stored(static_cast<const T*>(m.data()));
  using U = std::remove_cvref_t<decltype(*elements)>;
  using S = stored_as<A>;
  const std::int64_t span = any ? (m.rows() - 1) * m.row_stride() + (m.cols() - 1) * m.col_stride() + 1 : 0;
  detail::check_output(function, "out", out, m.cols(), input<const T*>{m.data(), {span}});
  const auto to = detail::with_stored(detail::unwrap(detail::begin_of(out)));
  using Out = std::remove_const_t<decltype(to)>;
  const auto op =
      detail::folding<gpu_execution<P>, S, std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>>(combine);
  const column_results<S, Out> results{nullptr, to, S(init), has_init};
  const matrix_view<const U> x(elements, m.rows(), m.cols(), m.row_stride(), m.col_stride());
  if (!any) {
    const auto first = detail::unwrap(detail::begin_of(out));
    if (m.cols() > 0)
      pmpp::fill(where, first, first + m.cols(), static_cast<value_of<std::remove_const_t<decltype(first)>>>(init));
  } else if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, zip_iterator{elements, to});
    detail::columns_on_blocks(function, where, x, f, op, results);
  } else {
    detail::columns_on_host(where, x, f, op, results);
  }
  return detail::begin_of(out) + m.cols();
}

struct both_of {
  template <class T>
  PMPP_HOST_DEVICE pair<T, T> operator()(const T& x) const {
    return {x, x};
  }
};
struct join_extremes {
  template <class T>
  PMPP_HOST_DEVICE pair<T, T> operator()(const pair<T, T>& a, const pair<T, T>& b) const {
    return {minimum{}(a.first, b.first), maximum{}(a.second, b.second)};
  }
};

}  // namespace detail

/// out[j] = init op f(m(0, j)) op f(m(1, j)) op ..., in any order and grouping.
///
/// \param m     visible to `where`; rows x columns, elements of a row next to each other (others are right, but read slowly).
/// \param out   an iterator, or a range with room for a value a column; visible to `where`; apart from m.
/// \param init  joins once; its type is that of the sums, of at most 64 bytes: as in reduce. All that there is where m has no rows.
/// \param op    associative and commutative.
/// \param f     what is joined of an element.
/// \return the iterator past the last result.
/// The same bits on every run. Asynchronous on a GPU; may be captured. Scratch: at most four rows of sums for each multiprocessor (of
/// short rows; sixteen blocks' in all of long ones). Cost: the matrix read once; two launches, of a few thousand elements one.
/// \throws std::invalid_argument for a null matrix; std::length_error for too little room; cuda_error.
/// Source: PMPP ch. 10. Example: test/reduce_columns.cpp, sums.
template <execution_policy P, class T, output_for<P> O, class A = accumulator_of<std::remove_const_t<T>>,
          class Op = plus, class F = identity>
auto reduce_columns(const P& where, const matrix_view<T>& m, O&& out, A init = {}, Op op = {}, F f = {}) {
  return detail::join_columns<P, std::remove_const_t<T>>("reduce_columns", where, m, out, init, true, op, f);
}

/// The least and the greatest number of each column, as a pair<T, T>; NaN loses to every number. As reduce_columns.
/// \throws also std::invalid_argument for columns without elements. Example: test/reduce_columns.cpp, extremes.
template <execution_policy P, class T, output_for<P> O>
auto minmax_columns(const P& where, const matrix_view<T>& m, O&& out) {
  using U = std::remove_const_t<T>;
  require(m.rows() > 0 || m.cols() == 0,
          [] { return detail::text("pmpp::minmax_columns: the columns have no elements"); });
  return detail::join_columns<P, U>("minmax_columns", where, m, out, pair<U, U>{}, false, detail::join_extremes{},
                                    detail::both_of{});
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
