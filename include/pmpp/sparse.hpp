// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrices made on the device, by sorting: csr_from_triplets, transposed, the latter of graphs too.
//
//   row, column, value       ->  keys (row, column) in one number, sorted with their values
//                            ->  runs of equal keys, their values added
//                            ->  offsets: where the keys of each row begin
//
// Work: one stable radix sort of the nonzeros and a few passes over them. What csr_matrix does on the host by counting.
// (PMPP ch. 14.)
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/csr_graph.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Row and column in one number that orders by rows.
struct place_keys {
  int column_bits = 0, bits = 0;

  place_keys() = default;
  place_keys(std::int64_t rows, std::int64_t cols) : column_bits(bits_of(cols)), bits(column_bits + bits_of(rows)) {
    if (bits > 64)
      throw std::length_error("pmpp::sparse: places in a matrix of " + std::to_string(rows) + " rows and " +
                              std::to_string(cols) + " columns do not fit 64 bits");
  }
  PMPP_HOST_DEVICE std::uint64_t operator()(std::int64_t row, std::int64_t column) const {
    return static_cast<std::uint64_t>(row) << column_bits | static_cast<std::uint64_t>(column);
  }

private:
  /// Of the numbers below n.
  static int bits_of(std::int64_t n) {
    int bits = 0;
    while (bits < 63 && (std::int64_t(1) << bits) < n) ++bits;
    return bits;
  }
};

/// 1 for a place outside of the matrix.
struct is_outside {
  std::int64_t rows, cols;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t row, std::int64_t column) const {
    return row < 0 || row >= rows || column < 0 || column >= cols;
  }
};
struct key_to_column {
  int column_bits;
  PMPP_HOST_DEVICE std::int64_t operator()(std::uint64_t key) const {
    return static_cast<std::int64_t>(key & ((std::uint64_t(1) << column_bits) - 1));
  }
};
/// How many of n ascending keys lie in front of row `row`.
struct keys_before_row {
  const std::uint64_t* keys;
  std::int64_t n;
  int column_bits;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t row) const {
    std::int64_t low = 0, high = n;
    while (low < high) {
      const std::int64_t i = low + (high - low) / 2;
      if (static_cast<std::int64_t>(keys[i] >> column_bits) < row)
        low = i + 1;
      else
        high = i;
    }
    return low;
  }
};
/// The key of nonzero i of a matrix, transposed.
template <class I>
struct transposed_key {
  const I* offsets;
  const I* columns;
  std::int64_t rows;
  place_keys keys;
  PMPP_HOST_DEVICE std::uint64_t operator()(std::int64_t i) const {
    std::int64_t low = 0, high = rows;  // the last row that begins at i or before
    while (high - low > 1) {
      const std::int64_t row = low + (high - low) / 2;
      if (static_cast<std::int64_t>(offsets[row]) <= i)
        low = row;
      else
        high = row;
    }
    return keys(static_cast<std::int64_t>(columns[i]), low);
  }
};

/// The matrix with these nonzeros; keys ascend.
template <class I, class P, class T>
device_csr_matrix<T, I> matrix_of_sorted(const P& where, std::int64_t rows, std::int64_t cols, const place_keys& place,
                                         const device_buffer<std::uint64_t>& keys, const device_buffer<T>& values) {
  device_buffer<std::uint64_t> places(keys.size());
  device_buffer<T> sums(keys.size());
  const std::int64_t count = reduce_by_key(where, keys, values, places, sums).first - places.begin();
  device_buffer<I> offsets(rows + 1), columns(count);
  device_buffer<T> kept(count);
  const counting_iterator<std::int64_t> first_row(0);
  transform(where, places.begin(), places.begin() + count, columns, key_to_column{place.column_bits});
  transform(where, sums.begin(), sums.begin() + count, kept, identity{});
  transform(where, first_row, first_row + rows + 1, offsets, keys_before_row{places.data(), count, place.column_bits});
  synchronize(where);  // before the memory of this function is freed
  return {rows, cols, std::move(offsets), std::move(columns), std::move(kept)};
}

}  // namespace detail

/// A matrix on the device from nonzeros in any order, given as three arrays; those in one place are added, in their order.
///
/// \param row_of, column_of  ranges of integers as long as `values`; visible to `where`, as `values`. Their type is the
///                           index type of the matrix.
/// Waits for the policy's stream; allocates the matrix and room for three copies of the nonzeros.
/// Cost: a radix sort of 8-byte keys, as many bits as row and column numbers take, with values.
/// \throws std::out_of_range for a nonzero outside of the matrix, std::length_error if the arrays differ in length or the
/// matrix does not fit the index type, std::invalid_argument for negative extents; cuda_error, out_of_memory
template <kernel_execution P, random_access_range Rows, random_access_range Columns, random_access_range Values>
auto csr_from_triplets(const P& where, std::int64_t rows, std::int64_t cols, Rows&& row_of, Columns&& column_of,
                       Values&& values) {
  using I = element_value<Rows>;
  using T = element_value<Values>;
  const auto n = static_cast<std::int64_t>(std::end(values) - std::begin(values));
  csr_matrix<T, I>::require_extents(rows, cols, n);
  detail::check_output("csr_from_triplets", "row_of", row_of, n);
  detail::check_output("csr_from_triplets", "column_of", column_of, n);
  const std::int64_t outside =
      transform_reduce(where, row_of, column_of, std::int64_t(0), plus{}, detail::is_outside{rows, cols});
  if (outside > 0)
    throw std::out_of_range("pmpp::csr_from_triplets: " + std::to_string(outside) + " nonzeros lie outside of " +
                            std::to_string(rows) + " rows and " + std::to_string(cols) + " columns");
  const detail::place_keys place(rows, cols);
  device_buffer<std::uint64_t> keys(n);
  device_buffer<T> sorted(n);
  transform(where, row_of, column_of, keys, place);
  transform(where, values, sorted, identity{});
  sort_by_key(where, keys, sorted, less{}, key_bits{0, place.bits});
  return detail::matrix_of_sorted<I>(where, rows, cols, place, keys, sorted);
}

/// The matrix with rows and columns exchanged; its columns ascend in each row, and equal ones are added. With it spmv and
/// spmm multiply by the transpose: made once, it costs such products nothing, and they give the same bits on every run,
/// which sums by atomics would not.
/// Waits, allocates and costs as csr_from_triplets, but for a sort by columns alone. \throws std::length_error if the
/// index type cannot hold the extents; cuda_error, out_of_memory
template <kernel_execution P, class T, class I>
device_csr_matrix<T, I> transposed(const P& where, const device_csr_matrix<T, I>& matrix) {
  const detail::place_keys place(matrix.cols(), matrix.rows());
  csr_matrix<T, I>::require_extents(matrix.cols(), matrix.rows(), matrix.nonzeros());
  const auto A = matrix.view();
  device_buffer<std::uint64_t> keys(matrix.nonzeros());
  device_buffer<T> values(matrix.nonzeros());
  const counting_iterator<std::int64_t> first(0);
  transform(where, first, first + matrix.nonzeros(), keys,
            detail::transposed_key<I>{A.offsets, A.columns, A.rows, place});
  transform(where, A.values, A.values + matrix.nonzeros(), values, identity{});
  sort_by_key(where, keys, values, less{}, key_bits{place.column_bits, place.bits});
  return detail::matrix_of_sorted<I>(where, matrix.cols(), matrix.rows(), place, keys, values);
}

/// The same for a matrix on the host; equal columns stay apart. \throws std::bad_alloc
template <execution_policy P, class T, class I>
requires(!kernel_execution<P>) csr_matrix<T, I> transposed(const P&, const csr_matrix<T, I>& matrix) {
  return matrix.transposed();
}

/// The graph with each edge turned round; edges of a vertex ascend, duplicates stay. What bfs wants of a directed graph.
/// Waits for the policy's stream; allocates the graph and room for two 8-byte keys an edge. Cost: a radix sort of the keys,
/// as many bits as vertex numbers take. \throws cuda_error, out_of_memory
template <kernel_execution P, class I>
device_csr_graph<I> transposed(const P& where, const device_csr_graph<I>& graph) {
  const auto A = graph.view();
  const std::int64_t edges = graph.edge_count();
  const detail::place_keys place(A.rows, A.rows);
  device_buffer<std::uint64_t> keys(edges);
  device_buffer<I> offsets(A.rows + 1), columns(edges);
  const counting_iterator<std::int64_t> first(0);
  transform(where, first, first + edges, keys, detail::transposed_key<I>{A.offsets, A.columns, A.rows, place});
  sort(where, keys, less{}, key_bits{place.column_bits, place.bits});
  transform(where, keys, columns, detail::key_to_column{place.column_bits});
  transform(where, first, first + (A.rows + 1), offsets,
            detail::keys_before_row{keys.data(), edges, place.column_bits});
  synchronize(where);  // before the memory of this function is freed
  return {std::move(offsets), std::move(columns)};
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
