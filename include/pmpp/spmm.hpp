// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrix times a few dense columns: spmm, for matrices in compressed sparse rows.
//
//   csr_view A{rows, cols, offsets, columns, values};
//   matrix_view B{b, cols, 8}, C{c, rows, 8};             // any strides
//   spmm(device, 1.0f, A, B, 0.0f, C);                    // C <- A B
//
// Why not spmv for each column: it would read A as many times, and a scattered element of x costs 32 bytes of traffic.
// Eight floats of a row of B next to each other cost the same 32 bytes. So B and C are best row-major, with rows of 16
// bytes or a multiple at multiples of 16; any other view works too, element by element.
//
// One call, no analysis; the cut into equal pieces is that of spmv (spmm/kernel.hpp): no structure of rows is slow.
// Work nnz * columns + rows; traffic for up to 64 columns (32, where B is read element by element): offsets, columns and
// values once, B at least once, C once (twice if beta is not 0); one launch. More columns are taken this many at a time.
// The same bits on every run. (PMPP ch. 14; Yang, Buluc and Owens, Design principles for sparse matrix multiplication on
// the GPU, 2018.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/spmm.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/spmm/kernel.hpp>
#include <pmpp/spmv.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Enqueues the product with all columns of B, V of them a lane.
template <spmm_tuning Tuning, int V, class P, class T, class I, class X, class Y, class A>
void spmm_on_blocks(const P& where, A alpha, const csr_view<T, I>& matrix, const matrix_view<const X>& b, A beta,
                    const matrix_view<Y>& c) {
  const auto values = values_of<A>(matrix);
  using kernel = spmm_kernel<std::remove_const_t<decltype(values)>, std::remove_const_t<I>, X, Y, A, V, Tuning>;
  using arguments = typename kernel::arguments;
  constexpr std::int64_t panel = kernel::most_columns;  // of a launch
  const std::int64_t blocks =
      ceil_div(std::int64_t(Tuning.pieces) * machine_of(where).multiprocessors, std::int64_t(kernel::warps));
  const std::int64_t most = blocks * min(panel, c.cols());
  scratch memory(where, scratch_bytes({std::size_t(most) * sizeof(A), std::size_t(most) * sizeof(A)}),
                 std::size_t(blocks) * sizeof(unsigned));
  arguments a{matrix.rows,
              matrix.offsets,
              matrix.columns,
              values,
              b.data(),
              b.row_stride(),
              b.col_stride(),
              c.data(),
              c.row_stride(),
              c.col_stride(),
              alpha,
              beta,
              0,
              memory.template take<A>(most),
              memory.template take<A>(most),
              memory.state()};
  for (std::int64_t column = 0; column < c.cols(); column += panel) {
    a.b = b.data() + column * b.col_stride();
    a.c = c.data() + column * c.col_stride();
    a.width = static_cast<int>(min(panel, c.cols() - column));
    pmpp::launch(where, blocks, kernel{}, a);
  }
}

/// True if `v` may be read and written V elements of a row at a time.
template <int V, class T>
bool has_vectors(const matrix_view<T>& v) {
  return v.col_stride() == 1 && v.cols() % V == 0 && (v.row_stride() % V == 0 || v.rows() == 1) &&
         reinterpret_cast<std::uintptr_t>(v.data()) % (V * sizeof(T)) == 0;
}

template <class T, class I, class X, class Y>
void check_spmm(const csr_view<T, I>& a, const matrix_view<const X>& b, const matrix_view<Y>& c) {
  const auto shape = [](std::int64_t rows, std::int64_t cols) {
    return detail::text::of(rows) + " x " + detail::text::of(cols);
  };
  const auto all_shapes = [&] {
    return "A is " + shape(a.rows, a.cols) + ", B is " + shape(b.rows(), b.cols()) + ", C is " +
           shape(c.rows(), c.cols());
  };
  require(
      a.rows >= 0 && a.cols >= 0 && b.rows() == a.cols && c.rows() == a.rows && b.cols() == c.cols() && b.cols() >= 0,
      [&] { return "pmpp::spmm: the shapes do not fit: " + all_shapes(); });
  if (c.empty()) return;
  require(a.offsets != nullptr, [&] { return "pmpp::spmm: the offsets are null; " + all_shapes(); });
  require(c.data() != nullptr && (b.data() != nullptr || b.empty()), [&] {
    return detail::text("pmpp::spmm: ") + (c.data() == nullptr ? "C" : "B") + " is null; " + all_shapes();
  });
  require((c.row_stride() != 0 || c.rows() == 1) && (c.col_stride() != 0 || c.cols() == 1),
          [&] { return "pmpp::spmm: several elements of C are the same, a stride is 0; " + all_shapes(); });
  require(b.empty() || !memory_of_view(b).may_meet(memory_of_view(c)),
          [&] { return "pmpp::spmm: B and C overlap; " + all_shapes(); });
}

}  // namespace detail

/// C <- alpha A B + beta C.
///
/// \param alpha, beta  numbers; they are converted to the type that products add up in: accumulator_of<T> *
///                     accumulator_of<X>, as in spmv.
/// \param A            a csr_view (or anything whose view() is one), visible to `where`. As in spmv: columns of a row in any
///                     order and more than once, csr_view<void, I> has ones, offsets may begin above 0. \pre offsets
///                     never decrease, columns lie in [0, cols); checked in debug mode.
/// \param B            A.cols rows, any strides; visible to `where`.
/// \param C            A.rows rows, as many columns as B, any strides; visible to `where`; not B. It is not read if beta is
///                     0. What lies between its rows stays untouched.
/// Faster if rows of B and C are contiguous, of a multiple of 16 bytes, at such addresses, and elements of B and C are of
/// one size: then they move 16 bytes at a time.
/// The same bits on every run; on host also for any number of threads. Asynchronous on a GPU; may be captured. Scratch:
/// 32 * sizeof(accumulator) * min(columns, 64) bytes a multiprocessor, from the workspace or one allocation in
/// stream order.
/// Cost: one launch for up to 64 columns (32 element by element), in which A is read once; another for each further 64.
/// \throws std::invalid_argument for shapes that do not fit, null arrays, a C with stride 0, overlap; cuda_error,
/// out_of_memory. Source: PMPP ch. 14; Yang, Buluc and Owens, 2018. Example: test/spmm.cpp, by hand.
template <spmm_tuning Tuning = tuned<spmm_tuning>, execution_policy P, class Alpha, class T, class I, class X,
          class Beta, class Y>
void spmm(const P& where, Alpha alpha, const csr_view<T, I>& A, const matrix_view<X>& B, Beta beta,
          const matrix_view<Y>& C) {
  using element = std::remove_const_t<X>;
  using S = typename detail::product_sum<std::remove_cv_t<T>, element>::type;
  static_assert(std::is_arithmetic_v<S> || detail::complex_number<S>, "pmpp: spmm adds up numbers");
  static_assert(!std::is_const_v<Y>, "pmpp: C of spmm is written: its elements are not const");
  const matrix_view<const element> b(B);
  detail::check_spmm(A, b, C);
  if (C.empty()) return;
  const auto a = static_cast<S>(alpha), s = static_cast<S>(beta);
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, "spmm",
                            zip_iterator{zip_iterator{A.offsets, A.columns},
                                         zip_iterator{detail::values_of<S>(A), zip_iterator{b.data(), C.data()}}});
    detail::check_matrix(where, A);
    if constexpr (sizeof(element) == sizeof(Y) && sizeof(Y) < Tuning.vector && Tuning.vector % sizeof(Y) == 0) {
      constexpr int vector = Tuning.vector / int(sizeof(Y));
      if (detail::has_vectors<vector>(b) && detail::has_vectors<vector>(C))
        return detail::spmm_on_blocks<Tuning, vector>(where, a, A, b, s, C);
    }
    detail::spmm_on_blocks<Tuning, 1>(where, a, A, b, s, C);
  } else {
    detail::check_matrix(where, A);
    detail::spmm_on_host(where, a, A, detail::values_of<S>(A), b, s, C);
  }
}

/// The same for a matrix that owns its memory, such as csr_matrix.
template <spmm_tuning Tuning = tuned<spmm_tuning>, execution_policy P, class Alpha, reachable_by<P> M, class X,
          class Beta, class Y>
requires requires(const M& m) { m.view(); }
void spmm(const P& where, Alpha alpha, const M& A, const matrix_view<X>& B, Beta beta, const matrix_view<Y>& C) {
  spmm<Tuning>(where, alpha, A.view(), B, beta, C);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
