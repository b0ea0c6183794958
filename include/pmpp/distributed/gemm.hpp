// SPDX-License-Identifier: Apache-2.0
//
// Matrix products over several ranks: gemm, and gemv for a vector. Rows of all matrices lie in blocks by rank.
//
//   gemm   A and C stay where they are. The blocks of rows of B go round a ring of the ranks: while a rank multiplies with the block
//          that it has, it sends it on and receives the next one into a second buffer. After p steps each has been everywhere:
//
//            rank r, step s:   C_r += A_r[:, rows of B of rank (r + s) mod p] * B of rank (r + s) mod p
//
//   gemv   x is gathered on every rank, which multiplies its rows.
//
// The ring sends k n (p - 1) / p elements from each rank, for 2 m n k / p operations: it hides behind them where a rank has many rows.
// Memory: two blocks of B a rank, not B. C is written in each step; where sums are wider than C (half, bfloat16) they gather in a
// buffer of their type and are rounded once.
//
// The order of additions depends on the blocks of B: the same bits on every run with the same blocks. Many ranks, or few rows, move less
// with blocks of rows and columns (summa.hpp). (PMPP ch. 5, 6 and 20.)
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/matrix.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// multiply(i, where, owner, panel) for each rank here and each owner of a block of b, in p steps; the next block moves meanwhile.
template <class P, class C, class T, class F>
void for_each_panel(const devices<P, C>& gpus, const distributed_matrix<T>& b, F multiply) {
  const int p = gpus.size();
  std::int64_t most = 0;
  for (int r = 0; r < p; ++r) most = max(most, b.rows_of(r) * b.cols());
  const auto group = gpus.group();
  const std::vector<rank_array<T>> panels[2] = {
      detail::arrays_of<T>(*group, [&](int) { return p > 2 ? most : 0; }),   // of steps 2, 4, ...
      detail::arrays_of<T>(*group, [&](int) { return p > 1 ? most : 0; })};  // of steps 1, 3, ...
  for (int step = 0; step < p; ++step) {
    const auto owner = [&](int i, int s) { return (gpus.rank(i) + s) % p; };
    const auto panel = [&](int i) -> const T* {
      return step == 0 ? b.part(i).data() : panels[step % 2][std::size_t(i)].data();
    };
    const auto work = [&](int i, const P& where) {
      const int of = owner(i, step);
      multiply(i, where, of, matrix_view<const T>(panel(i), b.rows_of(of), b.cols()));
    };
    if (step + 1 == p) return gpus.each(work);
    const auto pass_on = [&](int i, C& link, stream_handle s) {
      const int self = gpus.rank(i);
      const auto bytes = [&](int of) { return std::size_t(b.rows_of(of) * b.cols()) * sizeof(T); };
      if (const std::size_t out = bytes(owner(i, step)); out != 0) link.send(panel(i), out, (self + p - 1) % p, s);
      if (const std::size_t in = bytes(owner(i, step + 1)); in != 0)
        link.receive(panels[(step + 1) % 2][std::size_t(i)].data(), in, (self + 1) % p, s);
    };
    gpus.beside(pass_on, work);
  }
}

/// sum + beta c, rounded to T; c counts for nothing if beta is 0.
template <class T, class S>
struct add_scaled {
  S beta;
  template <class A>
  PMPP_HOST_DEVICE T operator()(const A& sum, const T& c) const {
    return static_cast<T>(beta == S{} ? static_cast<S>(sum) : static_cast<S>(sum) + beta * static_cast<S>(c));
  }
};

/// \throws std::invalid_argument if the arguments of gemm lie on other devices, or do not fit
template <class P, class C, class A, class B, class M>
void check_product(const devices<P, C>& gpus, const A& a, const B& b, const M& c) {
  detail::require_on("gemm", "A", gpus, a.elements());
  detail::require_on("gemm", "B", gpus, b.elements());
  detail::require_on("gemm", "C", gpus, c.elements());
  require(a.cols() == b.rows() && a.rows() == c.rows() && b.cols() == c.cols(), [&] {
    return "pmpp::gemm: the shapes do not fit: A is " + a.shape() + ", B is " + b.shape() + ", C is " + c.shape();
  });
  const bool c_is_a = detail::same_object(a, c);
  require(!c_is_a && !detail::same_object(b, c), [&] {
    return "pmpp::gemm: C (" + c.shape() + ") is " + (c_is_a ? "A" : "B") + ", which is still read when C is written";
  });
  detail::require_same_call<A, B, M>(gpus, "gemm", {a.rows(), a.cols(), b.cols()});
}

/// multiply_into(target, first_beta) adds several products to target(i), for each rank number i here, the first one to first_beta times
/// what is there: to C or, where sums S are wider, to sums beside it, which are rounded once.
template <class S, class P, class C, class Beta, class M, class F>
void round_once(const devices<P, C>& gpus, Beta beta, M& c, F multiply_into) {
  using T = typename M::value_type;
  if constexpr (sizeof(T) < sizeof(S)) {
    if (gpus.size() > 1) {
      const auto sums = detail::arrays_of<S>(*gpus.group(), [&](int i) { return c.part(i).rows() * c.part(i).cols(); });
      multiply_into(
          [&](int i) { return matrix_view<S>(sums[std::size_t(i)].data(), c.part(i).rows(), c.part(i).cols()); }, S(0));
      using scale = gemm_scale<S, T>;
      return gpus.each([&](int i, const P& where) {
        const std::span<T> block = c.elements().part(i);
        pmpp::transform(where, sums[std::size_t(i)].span(), block, block,
                        add_scaled<T, scale>{static_cast<scale>(beta)});
      });
    }
  }
  multiply_into([&](int i) { return c.part(i); }, beta);
}

}  // namespace detail

/// C <- alpha A B + beta C.
///
/// \param alpha, beta  numbers, converted as in gemm on one device.
/// \param a, b, c  m x k, k x n and m x n. C has its rows where A has them, B in any blocks; C is another matrix than A and B.
/// As on one device: beta = 0 does not read C, alpha = 0 or k = 0 does not read A or B; sums of half and bfloat16 are rounded once.
/// The same bits on every run with the same blocks. Asynchronous where messages are (not over MPI, whose exchanges the host waits for).
/// Cost: 2 m n k / p operations a rank; p - 1 messages a rank, each of a block of B, which move while blocks are multiplied; p products
/// a rank, which read and write C. Takes two blocks of B a rank, and m n / p sums where these are wider
/// than C, of the rank's memory.
/// \throws std::invalid_argument if a matrix lies on other devices, shapes do not fit or C is A or B; std::length_error if the blocks
/// of C are not those of A; communication_error; out_of_memory, cuda_error. Source: PMPP ch. 5, 6, 20.
/// Example: test/distributed_algebra.cpp, gemm.
template <class P, class C, class Alpha, class TA, class TB, class Beta, class TC>
void gemm(const devices<P, C>& gpus, Alpha alpha, const distributed_matrix<TA>& a, const distributed_matrix<TB>& b,
          Beta beta, distributed_matrix<TC>& c) {
  detail::check_product(gpus, a, b, c);
  detail::require_blocks(
      "gemm", gpus.size(), "C", [&](int r) { return c.rows_of(r); }, "rows", [&](int r) { return a.rows_of(r); });
  if (alpha == Alpha{})
    return gpus.each([&](int i, const P& where) {
      const auto none = a.part(i).subview(0, 0, a.rows_of(gpus.rank(i)), 0);
      pmpp::gemm(where, alpha, none, matrix_view<const TB>(nullptr, 0, b.cols()), beta, c.part(i));
    });

  detail::round_once<detail::gemm_sum<TA, TB>>(gpus, beta, c, [&](auto target, auto first_beta) {
    detail::for_each_panel(gpus, b, [&](int i, const P& where, int owner, const matrix_view<const TB>& panel) {
      const bool first = owner == gpus.rank(i);  // also where it is empty: C has to be scaled
      if (!first && panel.rows() == 0) return;
      const auto columns = a.part(i).subview(0, b.row_offset(owner), a.rows_of(gpus.rank(i)), panel.rows());
      pmpp::gemm(where, alpha, columns, panel, first ? first_beta : decltype(first_beta)(1), target(i));
    });
  });
}

/// y <- alpha A x + beta y.
///
/// \param a  m x k, rows in blocks. \param x  k elements in any blocks. \param y  m elements, in the blocks of the rows; not x.
/// Asynchronous as gemm. Cost: A read once; k elements to each rank. Allocates k elements a rank.
/// \throws as gemm; std::length_error if x has not k elements or the blocks of y are not those of the rows.
/// Example: test/distributed_algebra.cpp, gemv.
template <class P, class C, class Alpha, class TA, class TX, class Beta, class TY>
void gemv(const devices<P, C>& gpus, Alpha alpha, const distributed_matrix<TA>& a, const distributed_buffer<TX>& x,
          Beta beta, distributed_buffer<TY>& y) {
  detail::require_on("gemv", "A", gpus, a);
  detail::require_on("gemv", "x", gpus, x);
  detail::require_on("gemv", "y", gpus, y);
  if (x.size() != a.cols())
    detail::throw_length_error("pmpp::gemv: A is " + a.shape() + ", x has " + detail::text::of(x.size()) + " elements");
  detail::require_blocks(
      "gemv", gpus.size(), "y", [&](int r) { return y.size_of(r); }, "elements", [&](int r) { return a.rows_of(r); });
  require(!detail::same_object(x, y),
          [&] { return "pmpp::gemv: x (" + detail::text::of(x.size()) + " elements) is y"; });
  if (gpus.size() == 1)
    return gpus.each([&](int i, const P& where) { pmpp::gemv(where, alpha, a.part(i), x.part(i), beta, y.part(i)); });
  const auto all = detail::whole_on_each_rank(gpus, x);
  gpus.each([&](int i, const P& where) {
    pmpp::gemv(where, alpha, a.part(i), std::span<const TX>(all[std::size_t(i)].span()), beta, y.part(i));
  });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
