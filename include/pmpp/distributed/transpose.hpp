// SPDX-License-Identifier: Apache-2.0
//
// transpose over several ranks: rows in blocks by rank become rows in blocks by rank of the transposed matrix.
//
//   1. Each rank transposes its rows. What rank q is to have of them are rows of the result, next to each other: a piece.
//   2. One exchange: each rank sends each other one its piece.
//   3. Each rank puts the pieces side by side.
//
// Memory 4 m n e / p bytes of a rank and those of the exchange, (p - 1) / p of its elements sent. One rank: transpose alone.
// (PMPP ch. 5, 6 and 20.)
#pragma once

#include <cstdint>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/matrix.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/transpose.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Writes the transpose of A to B: B(j, i) = A(i, j).
///
/// \param b  a.cols() x a.rows(), in any blocks of rows; another matrix than a.
/// Asynchronous. Cost: each element read and written twice and moved once; one launch, one exchange, p launches a rank. Allocates
/// twice the elements of each rank until the work is done. \throws std::invalid_argument if a matrix lies on other devices, or the shapes
/// do not fit, or b is a; communication_error; out_of_memory, cuda_error. Example: test/distributed_algebra.cpp, transpose.
template <class P, class C, class T>
void transpose(const devices<P, C>& gpus, const distributed_matrix<T>& a, distributed_matrix<T>& b) {
  detail::require_on("transpose", "A", gpus, a);
  detail::require_on("transpose", "B", gpus, b);
  require(a.rows() == b.cols() && a.cols() == b.rows(), [&] {
    return "pmpp::transpose: A is " + a.shape() + ", so B must be " + detail::text::of(a.cols()) + " x " +
           detail::text::of(a.rows()) + ", but is " + b.shape();
  });
  require(!detail::same_object(a, b),
          [&] { return "pmpp::transpose: A (" + a.shape() + ") is B: several ranks do not transpose in place"; });
  detail::require_same_call<T>(gpus, "transpose", {a.rows(), a.cols()});
  const int p = gpus.size();
  if (p == 1) return gpus.each([&](int i, const P& where) { pmpp::transpose(where, a.part(i), b.part(i)); });

  const auto group = gpus.group();
  const auto turned = detail::arrays_of<T>(*group, [&](int i) { return a.rows_of(gpus.rank(i)) * a.cols(); });
  const auto pieces = detail::arrays_of<T>(*group, [&](int i) { return b.rows_of(gpus.rank(i)) * b.cols(); });
  gpus.each([&](int i, const P& where) {
    pmpp::transpose(where, a.part(i), matrix_view<T>(turned[std::size_t(i)].data(), a.cols(), a.rows_of(gpus.rank(i))));
  });
  gpus.together([&](int i, C& link, stream_handle s) {
    const int self = gpus.rank(i);
    std::vector<std::size_t> sent, received;
    for (int r = 0; r <= p; ++r) {
      sent.push_back(std::size_t(b.row_offset(r) * a.rows_of(self)) * sizeof(T));
      received.push_back(std::size_t(a.row_offset(r) * b.rows_of(self)) * sizeof(T));
    }
    pmpp::all_to_all_v(link, turned[std::size_t(i)].data(), sent.data(), pieces[std::size_t(i)].data(), received.data(),
                       s);
  });
  gpus.each([&](int i, const P& where) {
    const std::int64_t height = b.rows_of(gpus.rank(i));
    for (int r = 0; r < p; ++r) {
      const matrix_view<const T> piece(pieces[std::size_t(i)].data() + height * a.row_offset(r), height, a.rows_of(r));
      pmpp::transpose(where, transposed(piece), b.part(i).subview(0, a.row_offset(r), height, a.rows_of(r)));
    }
  });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
