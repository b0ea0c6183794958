// SPDX-License-Identifier: Apache-2.0
//
// Other formats of a sparse matrix, made from compressed sparse rows: to_coo, to_ell, to_hybrid, to_jds.
//
//   A = 1 2 .      CSR     offsets 0 2 3 6   columns 0 1 | 1 | 0 1 2   values 1 2 | 3 | 4 5 6
//       . 3 .      COO     rows 0 0 1 2 2 2  columns 0 1 1 0 1 2       a thread for each nonzero, sums by atomics
//       4 5 6      ELL     columns 0 1 0 | 1 . 1 | . . 2               all rows as long as the longest; the first nonzeros
//                                                                      of all rows, then the second ones ...
//                  hybrid  ELL of the first `width` nonzeros of each row, COO of the rest
//                  JDS     order 2 0 1  offsets 0 3 5 6  columns 0 0 1 | 1 1 | 2    rows by falling length, no holes:
//                                                                      diagonal k has the k-th nonzeros of those that long
//
// On a GPU ELL and JDS let threads of neighbouring rows read neighbouring nonzeros. What each is good for is shown by
// examples/ladder/spmv; spmv itself takes CSR and needs none of them. seq and host return std::vectors, device
// device_buffers. (PMPP ch. 14.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Coordinates: row, column and value of each nonzero, by rows.
template <class Indices, class Values>
struct coo_matrix {
  std::int64_t rows = 0, cols = 0;
  Indices row_of, columns;
  Values values;
};

/// ELLPACK: nonzero k of row i is element k * rows + i. A row with fewer than `width` nonzeros ends with columns -1 and
/// values 0.
template <class Indices, class Values>
struct ell_matrix {
  std::int64_t rows = 0, cols = 0, width = 0;
  Indices columns;
  Values values;
};

/// The first nonzeros of each row, and what is left.
template <class Indices, class Values>
struct hybrid_matrix {
  ell_matrix<Indices, Values> ell;
  coo_matrix<Indices, Values> coo;
};

/// Jagged diagonals: order[r] is the row with the r-th most nonzeros; its nonzero k, if it has one, is element
/// offsets[k] + r. There are `width` diagonals and one more offset; each diagonal is no longer than the one before.
template <class Indices, class Values>
struct jds_matrix {
  std::int64_t rows = 0, cols = 0, width = 0;
  Indices order, offsets, columns;
  Values values;
};

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Where a policy's algorithms keep what they return.
template <class P, class T>
using storage_of = std::conditional_t<kernel_execution<P>, device_buffer<T>, std::vector<T>>;

template <class P, class T>
storage_of<P, T> room_for(const P&, std::int64_t n) {
  return storage_of<P, T>(static_cast<std::size_t>(n));
}

/// How many of `count` numbers that never decrease (or, with Falling, never increase) stand in front of those past
/// `number`.
template <bool Falling, class I>
PMPP_HOST_DEVICE std::int64_t count_up_to(const I* numbers, std::int64_t count, std::int64_t number) {
  return detail::partition_point(std::int64_t(0), count, [&](std::int64_t i) {
    const auto here = static_cast<std::int64_t>(numbers[i]);
    return Falling ? here > number : here <= number;
  });
}

template <class I>
struct length_of_row {
  const I* offsets;
  PMPP_HOST_DEVICE I operator()(std::int64_t row) const { return static_cast<I>(offsets[row + 1] - offsets[row]); }
};
/// How many nonzeros a row has after the first `width`.
template <class I>
struct length_of_rest {
  const I* offsets;
  std::int64_t rows, width;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t row) const {
    if (row == rows) return 0;
    return max(std::int64_t(0), static_cast<std::int64_t>(offsets[row + 1] - offsets[row]) - width);
  }
};

// Where element `e` of a format stands in the arrays of a csr_view; -1: nowhere.
template <class I>
struct place_in_ell {
  const I* offsets;
  std::int64_t rows;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t e) const {
    const std::int64_t k = e / rows, row = e - k * rows, place = static_cast<std::int64_t>(offsets[row]) + k;
    return place < static_cast<std::int64_t>(offsets[row + 1]) ? place : -1;
  }
};
/// rest[row]: how many nonzeros rows in front of it have after their first `width`.
template <class I>
struct place_in_rest {
  const I* offsets;
  const std::int64_t* rest;
  std::int64_t rows, width;
  PMPP_HOST_DEVICE std::int64_t row(std::int64_t e) const { return count_up_to<false>(rest, rows + 1, e) - 1; }
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t e) const {
    const std::int64_t r = row(e);
    return static_cast<std::int64_t>(offsets[r]) + width + e - rest[r];
  }
};
template <class I>
struct row_in_rest {
  place_in_rest<I> place;
  PMPP_HOST_DEVICE I operator()(std::int64_t e) const { return static_cast<I>(place.row(e)); }
};
template <class I>
struct place_in_jds {
  const I* offsets;
  const I* order;
  const I* diagonals;
  std::int64_t width;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t e) const {
    const std::int64_t k = count_up_to<false>(diagonals, width, e) - 1;
    const auto row = static_cast<std::int64_t>(order[e - static_cast<std::int64_t>(diagonals[k])]);
    return static_cast<std::int64_t>(offsets[row]) + k;
  }
};

/// The length of diagonal k: how many rows have more than k nonzeros.
template <class I>
struct length_of_diagonal {
  const I* lengths;  ///< of the rows, falling
  std::int64_t rows;
  PMPP_HOST_DEVICE I operator()(std::int64_t k) const { return static_cast<I>(count_up_to<true>(lengths, rows, k)); }
};

/// elements[place], or `otherwise` if place is -1.
template <class T>
struct element_at {
  const T* elements;
  T otherwise;
  PMPP_HOST_DEVICE T operator()(std::int64_t place) const { return place < 0 ? otherwise : elements[place]; }
};

/// Element e of columns and values is the nonzero at place(e) of the matrix.
template <class P, class T, class I, class Place, class Indices, class Values>
void gather(const P& where, const csr_view<const T, const I>& matrix, std::int64_t n, const Place& place,
            Indices& columns, Values& values) {
  auto places = room_for<P, std::int64_t>(where, n);
  const counting_iterator<std::int64_t> first(0);
  transform(where, first, first + n, places, place);
  transform(where, places, columns, element_at<I>{matrix.columns, I(-1)});
  transform(where, places, values, element_at<T>{matrix.values, T{}});
  synchronize(where);  // before the memory of this function is freed
}

/// The nonzeros of each row after the first `width`.
template <class P, class T, class I>
auto coo_of_rest(const P& where, const csr_view<const T, const I>& matrix, std::int64_t width) {
  auto rest = room_for<P, std::int64_t>(where, matrix.rows + 1);
  const counting_iterator<std::int64_t> first(0);
  transform(where, first, first + matrix.rows + 1, rest, length_of_rest<I>{matrix.offsets, matrix.rows, width});
  const std::int64_t count = reduce(where, rest, std::int64_t(0));
  exclusive_scan(where, rest, rest);
  coo_matrix<storage_of<P, I>, storage_of<P, T>> result{matrix.rows, matrix.cols, room_for<P, I>(where, count),
                                                        room_for<P, I>(where, count), room_for<P, T>(where, count)};
  const place_in_rest<I> place{matrix.offsets, rest.data(), matrix.rows, width};
  transform(where, first, first + count, result.row_of, row_in_rest<I>{place});
  gather(where, matrix, count, place, result.columns, result.values);
  return result;
}

template <class P, class T, class I>
auto ell_of_width(const P& where, const csr_view<const T, const I>& matrix, std::int64_t width) {
  require(width >= 0, [&] { return "pmpp::to_ell: the width is " + detail::text::of(width); });
  if (width > 0 && matrix.rows > std::numeric_limits<std::int64_t>::max() / 16 / width)
    detail::throw_length_error("pmpp::to_ell: " + detail::text::of(matrix.rows) + " rows of " +
                               detail::text::of(width) + " elements do not fit the address space");
  const std::int64_t n = matrix.rows * width;
  ell_matrix<storage_of<P, I>, storage_of<P, T>> result{matrix.rows, matrix.cols, width, room_for<P, I>(where, n),
                                                        room_for<P, T>(where, n)};
  detail::gather(where, matrix, n, place_in_ell<I>{matrix.offsets, matrix.rows}, result.columns, result.values);
  return result;
}

/// The number of nonzeros of the longest row.
template <class P, class T, class I>
std::int64_t longest_row(const P& where, const csr_view<const T, const I>& matrix) {
  const counting_iterator<std::int64_t> first(0);
  return transform_reduce(where, first, first + matrix.rows, std::int64_t(0), maximum{},
                          length_of_row<I>{matrix.offsets});
}

/// csr_matrix, device_csr_matrix.
template <class M>
concept owns_csr = requires(const M& m) {
  m.view();
  m.nonzeros();
  typename M::index_type;
};

}  // namespace detail

/// Coordinates of the nonzeros of a csr_matrix (seq, host) or device_csr_matrix (device), in their order.
/// Waits for the policy's stream; allocates the result, 8 bytes a nonzero and 8 a row. Cost: a search over the offsets for
/// each nonzero. \throws cuda_error, out_of_memory. Source: PMPP ch. 14. Example: test/sparse_formats.cpp, by hand.
template <execution_policy P, detail::owns_csr M>
requires reachable_by<M, P>
auto to_coo(const P& where, const M& matrix) { return detail::coo_of_rest(where, matrix.view(), 0); }

/// ELLPACK, as wide as the longest row: rows * width elements, however few nonzeros there are (one long row is enough to
/// make that too many: to_hybrid). Otherwise as to_coo, with 8 bytes an element. \throws std::length_error if they do not
/// fit the address space; out_of_memory
template <execution_policy P, detail::owns_csr M>
requires reachable_by<M, P>
auto to_ell(const P& where, const M& matrix) {
  return detail::ell_of_width(where, matrix.view(), detail::longest_row(where, matrix.view()));
}

/// ELLPACK of the first `width` nonzeros of each row, and coordinates of the rest. A width that most rows have, such as
/// the average length, leaves few holes and few coordinates. \throws std::invalid_argument for a negative width; as to_ell
template <execution_policy P, detail::owns_csr M>
requires reachable_by<M, P>
auto to_hybrid(const P& where, const M& matrix, std::int64_t width) {
  auto ell = detail::ell_of_width(where, matrix.view(), width);
  auto coo = detail::coo_of_rest(where, matrix.view(), width);
  return hybrid_matrix<decltype(coo.columns), decltype(coo.values)>{std::move(ell), std::move(coo)};
}

/// Jagged diagonals; rows of one length keep their order. Otherwise as to_coo, with a radix sort of the rows by length.
template <execution_policy P, detail::owns_csr M>
requires reachable_by<M, P>
auto to_jds(const P& where, const M& matrix) {
  using I = typename M::index_type;
  using T = typename M::value_type;
  const auto A = matrix.view();
  const std::int64_t n = matrix.nonzeros(), width = detail::longest_row(where, A);
  jds_matrix<detail::storage_of<P, I>, detail::storage_of<P, T>> result{A.rows,
                                                                        A.cols,
                                                                        width,
                                                                        detail::room_for<P, I>(where, A.rows),
                                                                        detail::room_for<P, I>(where, width + 1),
                                                                        detail::room_for<P, I>(where, n),
                                                                        detail::room_for<P, T>(where, n)};
  auto lengths = detail::room_for<P, I>(where, A.rows);
  const counting_iterator<std::int64_t> first(0);
  transform(where, first, first + A.rows, lengths, detail::length_of_row<I>{A.offsets});
  iota(where, result.order, I(0));
  sort_by_key(where, lengths, result.order, greater{});
  transform(where, first, first + width + 1, result.offsets, detail::length_of_diagonal<I>{lengths.data(), A.rows});
  exclusive_scan(where, result.offsets, result.offsets, I(0));
  detail::gather(where, A, n, detail::place_in_jds<I>{A.offsets, result.order.data(), result.offsets.data(), width},
                 result.columns, result.values);
  return result;
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
