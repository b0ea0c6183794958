// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of block_matrix on p = q q ranks: gemm, by SUMMA. C stays where it is. In step s of q the ranks of column s send their
// block of A along their row, those of row s their block of B along their column, and each rank adds the product of the two that it has:
//
//   rank (i, j), step s:   C_ij += A_is * B_sj
//
// The panels of step s + 1 move while those of step s are multiplied: two of A and two of B a rank. A rank receives (q - 1) / q of a row
// of blocks of A and as much of a column of B: for matrices of n x n 2 n n / q elements about, where a rank of gemm.hpp receives n n.
// With 4 ranks that is two thirds of it, with 9 half, with 64 a quarter. The order of additions is that of the steps: the same
// bits on every run. (van de Geijn and Watts, SUMMA: scalable universal matrix multiplication algorithm, 1997; PMPP ch. 5, 6 and 20.)
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/distributed/block_matrix.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/gemm.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Blocks of others that a rank needs, in two arrays in turn: those of a step, and of the next. The owner of a
/// step's block sends it to all ranks of its row (of A), or of its column (of B).
template <class T>
class passing_blocks {
public:
  enum class direction { row, column };

  passing_blocks(const block_matrix<T>& a, direction along) : a_(a), along_(along) {
    const auto group = a.elements().group();
    std::int64_t most = 0;
    for (int r = 0; r < group->size; ++r) most = max(most, a.elements().size_of(r));
    for (auto& arrays : arrays_) arrays = detail::arrays_of<T>(*group, [&](int) { return a.side() > 1 ? most : 0; });
  }

  /// The block of step s for `rank`, and whose it is.
  int owner(int rank, int s) const {
    return along_ == direction::row ? a_.row_of(rank) * a_.side() + s : s * a_.side() + a_.col_of(rank);
  }
  /// Rank number i here asks for the block of step s, or sends its own.
  template <class C>
  void pass(int i, int s, C& link, stream_handle stream) const {
    const int self = link.rank(), from = owner(self, s);
    const std::size_t bytes = std::size_t(a_.elements().size_of(from)) * sizeof(T);
    if (bytes == 0) return;
    if (from != self) return link.receive(arrays_[s % 2][std::size_t(i)].data(), bytes, from, stream);
    for (int other = 0; other < a_.side(); ++other)
      if (const int to = owner(self, other); to != self) link.send(a_.part(i).data(), bytes, to, stream);
  }
  matrix_view<const T> at(int i, int rank, int s) const {
    const int from = owner(rank, s);
    const T* const data = from == rank ? a_.part(i).data() : arrays_[s % 2][std::size_t(i)].data();
    return {data, a_.rows_of(a_.row_of(from)), a_.cols_of(a_.col_of(from))};
  }

private:
  const block_matrix<T>& a_;
  direction along_;
  std::vector<rank_array<T>> arrays_[2];
};

/// sum + beta c, rounded to T; c counts for nothing if beta is 0.
template <class T, class S>
struct add_scaled {
  S beta;
  template <class A>
  PMPP_HOST_DEVICE T operator()(const A& sum, const T& c) const {
    return static_cast<T>(beta == S{} ? static_cast<S>(sum) : static_cast<S>(sum) + beta * static_cast<S>(c));
  }
};

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
/// \param a, b, c  m x k, k x n and m x n, in blocks; C is another matrix than A and B.
/// As on one device: beta = 0 does not read C, alpha = 0 or k = 0 does not read A or B; sums of half and bfloat16 are rounded once.
/// The same bits on every run. Asynchronous where messages are (not over MPI, whose exchanges the host waits for).
/// Cost: 2 m n k / p operations a rank, in sqrt(p) products, which read and write C; a rank receives (q - 1) / q (m k + k n) / q elements,
/// q = sqrt(p), in 2 (q - 1) messages, which move while panels are multiplied, but for the first. Takes two blocks of A and of B a rank, and
/// m n / p sums where these are wider than C, of the rank's memory: a repeated call allocates nothing.
/// \throws std::invalid_argument if a matrix lies on other devices, shapes do not fit or C is A or B; communication_error; out_of_memory,
/// cuda_error. Source: van de Geijn and Watts, 1997. Example: test/distributed_blocks.cpp.
template <class P, class C, class Alpha, class TA, class TB, class Beta, class TC>
void gemm(const devices<P, C>& gpus, Alpha alpha, const block_matrix<TA>& a, const block_matrix<TB>& b, Beta beta,
          block_matrix<TC>& c) {
  detail::check_product(gpus, a, b, c);
  if (alpha == Alpha{})
    return gpus.each([&](int i, const P& where) {
      const auto block = c.part(i);
      pmpp::gemm(where, alpha, matrix_view<const TA>(nullptr, block.rows(), 0),
                 matrix_view<const TB>(nullptr, 0, block.cols()), beta, block);
    });

  const detail::passing_blocks<TA> from_a(a, detail::passing_blocks<TA>::direction::row);
  const detail::passing_blocks<TB> from_b(b, detail::passing_blocks<TB>::direction::column);
  detail::round_once<detail::gemm_sum<TA, TB>>(gpus, beta, c, [&](auto target, auto first_beta) {
    const auto pass = [&](int s) {
      return [&, s](int i, C& link, stream_handle stream) {
        from_a.pass(i, s, link, stream);
        from_b.pass(i, s, link, stream);
      };
    };
    gpus.together(pass(0));
    for (int s = 0; s < c.side(); ++s) {
      const auto multiply = [&](int i, const P& where) {
        const auto panel = from_b.at(i, gpus.rank(i), s);
        if (s != 0 && panel.rows() == 0) return;
        pmpp::gemm(where, alpha, from_a.at(i, gpus.rank(i), s), panel, s == 0 ? first_beta : decltype(first_beta)(1),
                   target(i));
      };
      if (s + 1 == c.side()) return gpus.each(multiply);
      gpus.beside(pass(s + 1), multiply);
    }
  });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
