// SPDX-License-Identifier: Apache-2.0
//
// block_matrix<T>: a matrix cut along rows and columns into q x q blocks, one for each of p = q q ranks; each block row-major, without gaps.
//
//   pmpp::block_matrix<float> A{gpus, rows, cols};     uninitialised; rows and columns in q parts that differ by one at most
//   pmpp::block_matrix<float> B{gpus, view};           a copy of a matrix of the host, of which each rank takes its block
//   A.part(i)                                          a matrix_view of the block of rank number i of this process
//   std::vector<float> all = pmpp::to_host(gpus, A);   all elements, row by row, on every process
//
// Rank r has block (r / q, r % q): ranks that follow each other, which are neighbours of one host, form a row. This is the shape for
// products (summa.hpp): a rank meets 2 / q of a matrix there, in place of all of B as with rows alone (matrix.hpp). (PMPP ch. 20.)
#pragma once

#include <cstdint>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// A matrix in a square of blocks, owned by its processes, each of which has the blocks of its ranks. Movable.
template <class T>
class block_matrix {
public:
  using value_type = T;

  /// No rows, on no devices.
  block_matrix() = default;

  /// `rows` x `cols` uninitialised elements. A collective call: every process asks for the same.
  /// \throws std::invalid_argument if the number of ranks is no square, or processes differ; std::length_error for negative extents, or
  /// more elements than the address space has; out_of_memory
  template <class P, class C>
  block_matrix(const devices<P, C>& gpus, std::int64_t rows, std::int64_t cols) {
    while ((side_ + 1) * (side_ + 1) <= gpus.size()) ++side_;
    require(side_ * side_ == gpus.size(), [&] {
      return "pmpp::block_matrix: " + detail::text::of(gpus.size()) + " ranks form no square of blocks; " +
             detail::text::of(side_ * side_) + " would, and " + detail::text::of((side_ + 1) * (side_ + 1));
    });
    const std::size_t row = detail::checked_bytes(cols, sizeof(T), "block_matrix");
    static_cast<void>(detail::checked_bytes(rows, max(row, sizeof(T)), "block_matrix"));
    detail::require_agreement(gpus, "block_matrix", "the number of rows", rows);
    detail::require_agreement(gpus, "block_matrix", "the number of columns", cols);
    row_begins_ = begins(rows);
    col_begins_ = begins(cols);
    std::vector<std::int64_t> elements;
    for (int r = 0; r < gpus.size(); ++r) elements.push_back(rows_of(row_of(r)) * cols_of(col_of(r)));
    elements_ = distributed_buffer<T>::with_sizes(gpus, elements);
  }

  /// A copy of `values` on the host, the same on every process; each rank takes its block. Waits. \throws as above
  template <class P, class C>
  block_matrix(const devices<P, C>& gpus, const matrix_view<const T>& values)
      : block_matrix(gpus, values.rows(), values.cols()) {
    copy_from(gpus, values);
  }

  std::int64_t rows() const { return row_begins_.back(); }
  std::int64_t cols() const { return col_begins_.back(); }
  /// q: blocks in a row, and in a column.
  int side() const { return side_; }
  /// Where the block of `rank` stands.
  int row_of(int rank) const { return rank / side_; }
  int col_of(int rank) const { return rank % side_; }
  /// Rows of the blocks of row i, and the first of them; columns of those of column j.
  std::int64_t rows_of(int i) const { return row_begin(i + 1) - row_begin(i); }
  std::int64_t row_begin(int i) const { return row_begins_[std::size_t(i)]; }
  std::int64_t cols_of(int j) const { return col_begin(j + 1) - col_begin(j); }
  std::int64_t col_begin(int j) const { return col_begins_[std::size_t(j)]; }

  /// The block of rank number i of this process, in that rank's memory; as distributed_buffer::part.
  matrix_view<T> part(int i) { return view_of(elements_.part(i).data(), i); }
  matrix_view<const T> part(int i) const { return view_of(elements_.part(i).data(), i); }

  /// Takes the values of a matrix of the host, of the same shape. Waits. \throws std::invalid_argument if the shapes differ
  template <class P, class C>
  void copy_from(const devices<P, C>& gpus, const matrix_view<const T>& values) {
    require(values.rows() == rows() && values.cols() == cols(), [&] {
      return "pmpp::block_matrix::copy_from: the values are " + detail::text::of(values.rows()) + " x " +
             detail::text::of(values.cols()) + ", the matrix is " + shape();
    });
    std::vector<T> all;
    all.reserve(std::size_t(rows() * cols()));
    for_each_element([&](std::int64_t i, std::int64_t j) { all.push_back(values(i, j)); });
    elements_.copy_from(all);
    gpus.synchronize();
  }

  /// The blocks as a buffer: that of each rank row by row.
  const distributed_buffer<T>& elements() const { return elements_; }
  distributed_buffer<T>& elements() { return elements_; }

  /// "3 x 4"
  detail::text shape() const { return detail::text::of(rows()) + " x " + detail::text::of(cols()); }

  /// f(row, column) for each element in the order of elements(): rank by rank, and row by row in a block.
  template <class F>
  void for_each_element(F f) const {
    for (int bi = 0; bi < side_; ++bi)
      for (int bj = 0; bj < side_; ++bj)
        for (std::int64_t i = row_begin(bi); i < row_begin(bi + 1); ++i)
          for (std::int64_t j = col_begin(bj); j < col_begin(bj + 1); ++j) f(i, j);
  }

private:
  std::vector<std::int64_t> begins(std::int64_t extent) const {
    std::vector<std::int64_t> at{0};
    for (const std::int64_t size : detail::even_sizes(extent, side_)) at.push_back(at.back() + size);
    return at;
  }
  template <class U>
  matrix_view<U> view_of(U* data, int i) const {
    const int rank = elements_.group()->places[std::size_t(i)].rank;
    return {data, rows_of(row_of(rank)), cols_of(col_of(rank))};
  }

  int side_ = 0;
  std::vector<std::int64_t> row_begins_{0}, col_begins_{0};
  distributed_buffer<T> elements_;
};

/// All elements of a, row by row, on every process. Waits; as to_host of a buffer.
template <class P, class C, class T>
std::vector<T> to_host(const devices<P, C>& gpus, const block_matrix<T>& a) {
  const std::vector<T> blocks = pmpp::to_host(gpus, a.elements());
  std::vector<T> all(blocks.size());
  std::size_t n = 0;
  a.for_each_element([&](std::int64_t i, std::int64_t j) { all[std::size_t(i * a.cols() + j)] = blocks[n++]; });
  return all;
}

}  // namespace pmpp::inline PMPP_BACKEND
