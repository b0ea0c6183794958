// SPDX-License-Identifier: Apache-2.0
//
// distributed_matrix<T>: a matrix whose rows lie on the ranks of a devices, in blocks by rank; each block row-major, without gaps.
//
//   pmpp::distributed_matrix<float> A{gpus, rows, cols};          uninitialised; the first rows % p ranks have one row more
//   pmpp::distributed_matrix<float> B{gpus, view};                a copy of a matrix of the host, of which each rank takes its rows
//   auto C = pmpp::distributed_matrix<float>::with_rows(gpus, {5, 0, 3}, cols);   blocks of so many rows
//   A.part(i)                                                     a matrix_view of the rows of rank number i of this process
//   std::vector<float> all = pmpp::to_host(gpus, A);              all elements, row by row, on every process
//
// Why rows alone: an operation of one GPU takes a block as it is, and what has to move is a few whole blocks. Products of many ranks move
// less in blocks of rows and columns (block_matrix.hpp). (PMPP ch. 20.)
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// A matrix in blocks of rows by rank, owned by its processes, each of which has the blocks of its ranks. Movable.
template <class T>
class distributed_matrix {
public:
  using value_type = T;

  /// No rows, on no devices.
  distributed_matrix() = default;

  /// `rows` x `cols` uninitialised elements, blocks that differ by one row at most. A collective call: every process asks for the same.
  /// \throws std::invalid_argument if processes differ; std::length_error for negative extents; out_of_memory
  template <class P, class C>
  distributed_matrix(const devices<P, C>& gpus, std::int64_t rows, std::int64_t cols)
      : distributed_matrix(with_rows(gpus, detail::even_sizes(checked_rows(rows, cols), gpus.size()), cols)) {}

  /// A copy of `values` on the host, the same on every process; each rank takes its rows. Waits. \throws as above
  template <class P, class C>
  distributed_matrix(const devices<P, C>& gpus, const matrix_view<const T>& values)
      : distributed_matrix(gpus, values.rows(), values.cols()) {
    copy_from(gpus, values);
  }

  /// rows[r] rows on each rank r; the same list on every process.
  /// \throws std::invalid_argument if processes differ, or it has not one number for each rank; std::length_error; out_of_memory
  template <class P, class C>
  static distributed_matrix with_rows(const devices<P, C>& gpus, const std::vector<std::int64_t>& rows,
                                      std::int64_t cols) {
    detail::require_agreement(gpus, "distributed_matrix", "the number of columns", cols);
    distributed_matrix a;
    a.cols_ = cols;
    std::vector<std::int64_t> elements;
    for (const std::int64_t count : rows) {
      a.row_offsets_.push_back(a.row_offsets_.back() + checked_rows(count, cols));
      elements.push_back(count * cols);
    }
    if (cols == 0) detail::require_agreement(gpus, "distributed_matrix", "the number of rows", a.rows());
    a.elements_ = distributed_buffer<T>::with_sizes(gpus, elements);
    return a;
  }

  std::int64_t rows() const { return row_offsets_.back(); }
  std::int64_t cols() const { return cols_; }
  /// The first row of `rank`; of size() ranks: rows().
  std::int64_t row_offset(int rank) const { return row_offsets_[std::size_t(rank)]; }
  std::int64_t rows_of(int rank) const { return row_offset(rank + 1) - row_offset(rank); }
  /// rows_of of each rank.
  std::vector<std::int64_t> row_sizes() const {
    std::vector<std::int64_t> sizes;
    for (std::size_t r = 1; r < row_offsets_.size(); ++r) sizes.push_back(row_offsets_[r] - row_offsets_[r - 1]);
    return sizes;
  }

  /// The rows of rank number i of this process, in that rank's memory; as distributed_buffer::part.
  matrix_view<T> part(int i) { return view_of(elements_.part(i).data(), i); }
  matrix_view<const T> part(int i) const { return view_of(elements_.part(i).data(), i); }

  /// Takes the values of a matrix of the host, of the same shape. Waits. \throws std::invalid_argument if the shapes differ
  template <class P, class C>
  void copy_from(const devices<P, C>& gpus, const matrix_view<const T>& values) {
    require(values.rows() == rows() && values.cols() == cols_, [&] {
      return "pmpp::distributed_matrix::copy_from: the values are " + shape(values.rows(), values.cols()) +
             ", the matrix is " + shape(rows(), cols_);
    });
    std::vector<T> all;
    all.reserve(std::size_t(rows() * cols_));
    for (std::int64_t i = 0; i < values.rows(); ++i)
      for (std::int64_t j = 0; j < values.cols(); ++j) all.push_back(values(i, j));
    elements_.copy_from(all);
    gpus.synchronize();
  }

  /// The elements row by row, as a buffer whose blocks are those of the rows.
  const distributed_buffer<T>& elements() const { return elements_; }
  distributed_buffer<T>& elements() { return elements_; }

  /// "3 x 4"
  detail::text shape() const { return shape(rows(), cols_); }

private:
  static detail::text shape(std::int64_t rows, std::int64_t cols) {
    return detail::text::of(rows) + " x " + detail::text::of(cols);
  }
  static std::int64_t checked_rows(std::int64_t rows, std::int64_t cols) {
    const std::size_t row = detail::checked_bytes(cols, sizeof(T), "distributed_matrix");
    static_cast<void>(detail::checked_bytes(rows, max(row, sizeof(T)), "distributed_matrix"));
    return rows;
  }
  template <class U>
  matrix_view<U> view_of(U* data, int i) const {
    return {data, rows_of(elements_.group()->places[std::size_t(i)].rank), cols_};
  }

  std::vector<std::int64_t> row_offsets_{0};
  std::int64_t cols_ = 0;
  distributed_buffer<T> elements_;
};

namespace detail {

/// \throws std::invalid_argument if a lies on other devices
template <class P, class C, class T>
void require_on(const char* function, const char* argument, const devices<P, C>& gpus, const distributed_matrix<T>& a) {
  detail::require_on(function, argument, gpus, a.elements());
}
template <class A, class B>
bool same_object(const A& a, const B& b) {
  return static_cast<const void*>(std::addressof(a)) == static_cast<const void*>(std::addressof(b));
}
/// Blocks on p ranks have the sizes that are needed. \throws std::length_error
template <class A, class B>
void require_blocks(const char* function, int p, const char* argument, const A& size_of, const char* of_what,
                    const B& wanted) {
  for (int r = 0; r < p; ++r)
    if (size_of(r) != wanted(r))
      detail::throw_length_error(text("pmpp::") + function + ": on rank " + text::of(r) + " " + argument + " has " +
                                 text::of(size_of(r)) + " " + of_what + ", " + text::of(wanted(r)) + " are needed");
}

}  // namespace detail

/// All elements of a, row by row, on every process. Waits; as to_host of a buffer.
template <class P, class C, class T>
std::vector<T> to_host(const devices<P, C>& gpus, const distributed_matrix<T>& a) {
  detail::require_on("to_host", "a", gpus, a);
  return pmpp::to_host(gpus, a.elements());
}

}  // namespace pmpp::inline PMPP_BACKEND
