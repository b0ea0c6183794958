// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrices made on the device, by sorting: csr_from_triplets, transposed, the latter of graphs too.
//
//   row, column, value       ->  keys (row, column) in one number, sorted with their values
//                            ->  runs of equal keys, their values added
//                            ->  offsets: where the keys of each row begin
//
// To transpose, the columns are sorted, stably, with the row and the value of each.
// Work: one stable radix sort of the nonzeros and a few passes over them. What csr_matrix does on the host by counting.
// (PMPP ch. 14.)
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/csr_graph.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// How many bits the numbers below n have.
inline int bits_below(std::int64_t n) {
  int bits = 0;
  while (bits < 63 && (std::int64_t(1) << bits) < n) ++bits;
  return bits;
}

/// Row and column in one number that orders by rows.
struct place_keys {
  int column_bits = 0, bits = 0;

  place_keys() = default;
  place_keys(std::int64_t rows, std::int64_t cols)
      : column_bits(bits_below(cols)), bits(column_bits + bits_below(rows)) {
    if (bits > 64)
      throw std::length_error("pmpp::sparse: places in a matrix of " + std::to_string(rows) + " rows and " +
                              std::to_string(cols) + " columns do not fit 64 bits");
  }
  PMPP_HOST_DEVICE std::uint64_t operator()(std::int64_t row, std::int64_t column) const {
    return static_cast<std::uint64_t>(row) << column_bits | static_cast<std::uint64_t>(column);
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
template <class K>
struct keys_before_row {
  const K* keys;
  std::int64_t n;
  int column_bits;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t row) const {
    return detail::partition_point(
        std::int64_t(0), n, [&](std::int64_t i) { return static_cast<std::int64_t>(keys[i] >> column_bits) < row; });
  }
};
/// Writes the row of each of n nonzeros. A lane takes every 32nd of a stretch; from the row of one it looks for that of
/// the next in steps that double.
template <class I>
struct rows_of_nonzeros_kernel {
  static constexpr int threads = 256, items = 32;
  static constexpr std::int64_t tile = std::int64_t(threads) * items;

  struct arguments {
    const I* offsets;
    std::int64_t rows, n;
    I* row_of;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    // Numbers of the matrix fit its index type; steps that double may be past a narrow one.
    using U = std::make_unsigned_t<std::conditional_t<(sizeof(I) < 4), int, I>>;
    const std::int64_t first = block.index() * tile + block.warp() * simt::warp_size * items + block.lane();
    const auto rows = static_cast<U>(a.rows);
    U low = 0, high = rows;  // row `low` does not begin after the nonzero, row `high` does
    for (int k = 0; k < items; ++k) {
      if (first + k * simt::warp_size >= a.n) return;
      const auto i = static_cast<U>(first + k * simt::warp_size);
      for (U step = 1; k > 0; step *= 2) {
        high = min(step, rows - low) + low;
        if (high == rows || static_cast<U>(a.offsets[high]) > i) break;
        low = high;
      }
      while (high - low > 1) {
        const U row = low + (high - low) / 2;
        (static_cast<U>(a.offsets[row]) > i ? high : low) = row;
      }
      a.row_of[i] = static_cast<I>(low);
    }
  }
};

/// Sorts the n nonzeros of A by column, stably. `target()` says where their rows go, each with its value unless A is a
/// pattern; it is called while the GPU is at work, which hides part of an allocation.
template <class P, class T, class I, class Target>
void transpose_to(const P& where, const csr_view<T, const I>& A, std::int64_t n, device_buffer<I>& offsets,
                  const Target& target) {
  const std::size_t bytes = checked_bytes(n, sizeof(I), "transposed");
  scratch memory(where, scratch_bytes({bytes, bytes}), 0);
  I* const rows = memory.take<I>(n);
  I* const sorted = memory.take<I>(n);
  using expand = rows_of_nonzeros_kernel<I>;
  if (n > 0) launch(where, ceil_div(n, expand::tile), expand{}, typename expand::arguments{A.offsets, A.rows, n, rows});
  const auto sort_with = [&](const auto& in) {
    using V = value_of<std::remove_cvref_t<decltype(in)>>;
    sort_elements<sort_tuning{}, pair<I, V>>("transposed", where, zip_iterator{A.columns, in},
                                             zip_iterator{sorted, target()}, item_count{n}, by_first<less>{},
                                             key_bits{0, bits_below(A.cols)});
  };
  if constexpr (std::is_void_v<T>)
    sort_with(rows);
  else
    sort_with(zip_iterator{rows, A.values});
  const counting_iterator<std::int64_t> first(0);
  offsets = device_buffer<I>(A.cols + 1);
  transform(where, first, first + (A.cols + 1), offsets, keys_before_row<I>{sorted, n, 0});
}

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
  transform(where, first_row, first_row + rows + 1, offsets,
            keys_before_row<std::uint64_t>{places.data(), count, place.column_bits});
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
template <kernel_execution P, range_for<P> Rows, range_for<P> Columns, range_for<P> Values>
auto csr_from_triplets(const P& where, std::int64_t rows, std::int64_t cols, Rows&& row_of, Columns&& column_of,
                       Values&& values) {
  using I = element_value<Rows>;
  using T = element_value<Values>;
  const auto n = static_cast<std::int64_t>(std::end(values) - std::begin(values));
  csr_matrix<T, I>::require_extents(rows, cols, n);
  detail::check_room("csr_from_triplets", "row_of", row_of, n);
  detail::check_room("csr_from_triplets", "column_of", column_of, n);
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

/// The matrix with rows and columns exchanged; its columns ascend in each row, equal ones stay apart, in their order. With
/// it spmv and spmm multiply by the transpose: made once, it costs such products nothing, and they give the same bits on
/// every run, which sums by atomics would not.
/// Waits for the policy's stream; allocates the result. Scratch: four indices and a value a nonzero.
/// Cost: a search over the offsets for each nonzero and a radix sort by columns, which moves rows and values along.
/// \throws std::length_error if the index type cannot hold the extents; cuda_error, out_of_memory
template <kernel_execution P, class T, class I>
device_csr_matrix<T, I> transposed(const P& where, const device_csr_matrix<T, I>& matrix) {
  csr_matrix<T, I>::require_extents(matrix.cols(), matrix.rows(), matrix.nonzeros());
  device_buffer<I> offsets, columns;
  device_buffer<T> values;
  detail::transpose_to(where, matrix.view(), matrix.nonzeros(), offsets, [&] {
    columns = device_buffer<I>(matrix.nonzeros());
    values = device_buffer<T>(matrix.nonzeros());
    return zip_iterator{columns.data(), values.data()};
  });
  synchronize(where);  // before anybody uses it in another stream
  return {matrix.cols(), matrix.rows(), std::move(offsets), std::move(columns), std::move(values)};
}

/// The same for a matrix on the host. \throws std::bad_alloc
template <execution_policy P, class T, class I>
requires(!kernel_execution<P>) csr_matrix<T, I> transposed(const P&, const csr_matrix<T, I>& matrix) {
  return matrix.transposed();
}

/// The graph with each edge turned round; edges of a vertex ascend, duplicates stay. What bfs wants of a directed graph.
/// Waits for the policy's stream; allocates the graph. Scratch: four vertices an edge. Cost: as of a matrix.
/// \throws cuda_error, out_of_memory
template <kernel_execution P, class I>
device_csr_graph<I> transposed(const P& where, const device_csr_graph<I>& graph) {
  device_buffer<I> offsets, columns;
  detail::transpose_to(where, graph.view(), graph.edge_count(), offsets, [&] {
    columns = device_buffer<I>(graph.edge_count());
    return columns.data();
  });
  synchronize(where);
  return {std::move(offsets), std::move(columns)};
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
