// SPDX-License-Identifier: Apache-2.0
//
// Matrix products over several ranks: gemm, and gemv for a vector. Rows of all matrices lie in blocks by rank.
//
//   gemm   A and C stay where they are. B goes by in panels, of some columns and all rows: each rank sends its rows of a panel to all
//          others, and multiplies with the whole of it. While it does, the next panel is on its way to a second buffer:
//
//            C[:, columns of panel s] = A * B[:, columns of panel s]      on each rank, for its rows of A and C
//
//          So each element of C is written once, by one product, whatever the number of ranks.
//   gemv   x is gathered on every rank, which multiplies its rows.
//
// A rank receives k n (p - 1) / p elements, for 2 m n k / p operations: all but the first panel hide behind products. Where B is small
// there is one panel.
//
// Many ranks, or few rows, move less with blocks of rows and columns (summa.hpp). (PMPP ch. 5, 6 and 20.)
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
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

/// Vector i of rows that are packed one behind the other. \tparam V  what moves at once
template <class V>
struct packed_vector {
  const V* from;
  V* to;
  std::uint32_t width;  ///< of a row, in vectors
  std::int64_t step;    ///< from row to row where they come from
  PMPP_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto at = static_cast<std::uint32_t>(i);
    to[i] = from[at / width * step + at % width];
  }
};
struct alignas(16) packed_bytes {
  std::uint32_t word[4];
};
/// The same as vectors, where rows begin and end with them; in slices of rows whose vectors 32 bits count.
template <class V, class P, class T>
bool pack_as(const P& where, const T* from, std::int64_t step, T* to, std::int64_t rows, std::int64_t columns) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T)), vector = static_cast<std::int64_t>(sizeof(V));
  const auto address = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to);
  if (address % alignof(V) != 0 || step * bytes % vector != 0 || columns * bytes % vector != 0) return false;
  const std::int64_t width = columns * bytes / vector, slice = max(std::int64_t(1), (std::int64_t(1) << 31) / width);
  for (std::int64_t r = 0; r < rows; r += slice) {
    const counting_iterator<std::int64_t> zero(0);
    pmpp::for_each(where, zero, zero + min(slice, rows - r) * width,
                   packed_vector<V>{reinterpret_cast<const V*>(from + r * step), reinterpret_cast<V*>(to + r * columns),
                                    static_cast<std::uint32_t>(width), step * bytes / vector});
  }
  return true;
}
/// Rows of `columns` columns that are `step` elements apart, one behind the other at `to`.
template <class P, class T>
void pack(const P& where, const rank_group::place& place, const T* from, std::int64_t step, T* to, std::int64_t rows,
          std::int64_t columns) {
  if (rows == 0 || columns == 0) return;
  if (columns == step)
    detail::copy_on_rank(place, to, from, static_cast<std::size_t>(rows * columns) * sizeof(T));
  else if (!detail::pack_as<packed_bytes>(where, from, step, to, rows, columns))
    detail::pack_as<T>(where, from, step, to, rows, columns);
}

/// multiply(i, where, first, panel) for each rank here and each panel of b, all rows of the columns from `first` on; the next one moves
/// meanwhile. \param begins  the first column of each panel, and the number of columns
template <class P, class C, class T, class F>
void for_each_panel(const devices<P, C>& gpus, const distributed_matrix<T>& b, const std::vector<std::int64_t>& begins,
                    F multiply) {
  const auto group = gpus.group();
  const int count = static_cast<int>(begins.size()) - 1;
  const auto columns = [&](int s) { return begins[std::size_t(s) + 1] - begins[std::size_t(s)]; };
  std::int64_t most[2] = {};  // columns of panels 0, 2 ... and 1, 3 ...
  for (int s = 0; s < count; ++s) most[s % 2] = max(most[s % 2], columns(s));
  const std::vector<rank_array<T>> panels[2] = {detail::arrays_of<T>(*group, [&](int) { return b.rows() * most[0]; }),
                                                detail::arrays_of<T>(*group, [&](int) { return b.rows() * most[1]; })};
  const auto rows_of = [&](int rank, int i, int s) {  // in panel s of rank number i here
    return panels[s % 2][std::size_t(i)].data() + b.row_offset(rank) * columns(s);
  };
  const auto pack = [&](int i, const P& where, int s) {
    const matrix_view<const T> own = b.part(i);
    detail::pack(where, group->places[std::size_t(i)], own.data() + begins[std::size_t(s)], b.cols(),
                 rows_of(gpus.rank(i), i, s), own.rows(), columns(s));
  };
  const bool whole = count == 1;  // then rows are sent from where they are
  const auto move = [&](int s) {
    return [&, s](int i, C& link, stream_handle stream) {
      const int self = gpus.rank(i);
      const auto bytes = [&](int rank) { return std::size_t(b.rows_of(rank) * columns(s)) * sizeof(T); };
      const T* const own = whole ? b.part(i).data() : rows_of(self, i, s);
      for (int other = 0; other < gpus.size(); ++other) {
        if (other == self) continue;
        if (bytes(self) != 0) link.send(own, bytes(self), other, stream);
        if (bytes(other) != 0) link.receive(rows_of(other, i, s), bytes(other), other, stream);
      }
    };
  };
  // A panel is packed while the first one travels, and then between the products, where its buffer is free.
  if (!whole) gpus.each([&](int i, const P& where) { pack(i, where, 0); });
  for (int s = -1; s < count; ++s) {
    const auto work = [&](int i, const P& where) {
      if (s >= 0)
        multiply(i, where, begins[std::size_t(s)],
                 matrix_view<const T>(panels[s % 2][std::size_t(i)].data(), b.rows(), columns(s)));
      if (const int next = whole && s < 0 ? 0 : s + 2; next < count) pack(i, where, next);
    };
    if (s + 1 == count) return gpus.each(work);
    gpus.beside(move(s + 1), work);
  }
}

/// Where the panels of b begin, on p ranks: one of a quarter of the columns, which hides behind nothing, and the rest. Two H100, 8192 rows
/// a rank, k and n 8192, bfloat16: one panel 1.52 ms, a quarter first 1.40, half first 1.46, an eighth and two more 1.43, a sixteenth and
/// two more 1.50. On more ranks they are more and narrower, so that two take no more memory than four blocks of B. A small b is one.
template <class T>
std::vector<std::int64_t> panels_of(const distributed_matrix<T>& b, int p) {
  constexpr std::int64_t small_bytes = std::int64_t{1} << 23, tile = 256;  // of products
  const std::int64_t n = b.cols(), wide = max(1, p / 2);
  std::vector<std::int64_t> begins{0};
  if (b.rows() * n * std::int64_t(sizeof(T)) >= small_bytes) {
    const auto in_tiles = [&](std::int64_t columns) { return ceil_div(columns, tile) * tile; };
    const std::int64_t first = in_tiles(ceil_div(n, 4 * wide)), width = max(in_tiles(ceil_div(n - first, wide)), tile);
    for (std::int64_t at = first; at < n; at += width) begins.push_back(at);
  }
  begins.push_back(n);
  return begins;
}

/// gemm, for shapes that fit and an alpha that is not 0, by panels that begin there.
template <class P, class C, class Alpha, class TA, class TB, class Beta, class TC>
void multiply_by_panels(const devices<P, C>& gpus, Alpha alpha, const distributed_matrix<TA>& a,
                        const distributed_matrix<TB>& b, Beta beta, distributed_matrix<TC>& c,
                        const std::vector<std::int64_t>& begins) {
  if (b.cols() == 0) return;
  detail::for_each_panel(
      gpus, b, begins, [&](int i, const P& where, std::int64_t first, const matrix_view<const TB>& panel) {
        const auto block = c.part(i);
        pmpp::gemm(where, alpha, a.part(i), panel, beta, block.subview(0, first, block.rows(), panel.cols()));
      });
}

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

}  // namespace detail

/// C <- alpha A B + beta C.
///
/// \param alpha, beta  numbers, converted as in gemm on one device.
/// \param a, b, c  m x k, k x n and m x n. C has its rows where A has them, B in any blocks; C is another matrix than A and B.
/// As on one device: beta = 0 does not read C, alpha = 0 or k = 0 does not read A or B; sums of half and bfloat16 are rounded once.
/// The same bits on every run with the same blocks. Asynchronous where messages are (not over MPI, whose exchanges the host waits for).
/// Cost: 2 m n k / p operations a rank; each rank sends its rows of B to all others, in panels of columns, which move while others are
/// multiplied, but for the first. Takes k n or, on many ranks, about 4 k n / p elements of each rank's memory.
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

  if (gpus.size() == 1)
    return gpus.each([&](int i, const P& where) { pmpp::gemm(where, alpha, a.part(i), b.part(i), beta, c.part(i)); });
  detail::multiply_by_panels(gpus, alpha, a, b, beta, c, detail::panels_of(b, gpus.size()));
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
