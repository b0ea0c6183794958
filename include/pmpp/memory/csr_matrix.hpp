// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrices that own their memory, in compressed sparse rows (core/csr_view.hpp says what that is).
//
//   auto A = csr_matrix<float>::from_triplets(rows, cols, {{0, 0, 2.0f}, {2, 1, 1.5f}});
//   device_csr_matrix<float> B(A);                        // a copy on the device
//   spmv(device, 1, B, x, 0, y);
//   csr_matrix<float> back = B.to_host();
//
// csr_matrix<T, I> lives on the host, device_csr_matrix<T, I> on the device; view() gives the csr_view that algorithms
// take. I holds offsets and columns: more than 2^31 - 1 nonzeros need a 64-bit I. Matrices made here have the columns of
// each row in ascending order, each at most once.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/raw.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// One nonzero.
template <class T, class I = int>
struct triplet {
  I row, column;
  T value;
  friend bool operator==(const triplet&, const triplet&) = default;
};

/// A sparse matrix on the host. Copyable; T is trivially copyable.
template <class T, std::signed_integral I = int>
class csr_matrix {
public:
  using value_type = T;
  using index_type = I;

  /// No rows, no columns.
  csr_matrix() : offsets_(1) {}

  /// Takes the three arrays as they are: rows + 1 offsets, and a column and a value for each nonzero; columns of a row in
  /// any order. validate() checks them.
  template <std::integral Rows, std::integral Cols>
  csr_matrix(Rows rows, Cols cols, std::vector<I> offsets, std::vector<I> columns, std::vector<T> values)
      : rows_(detail::checked_count(rows)),
        cols_(detail::checked_count(cols)),
        offsets_(std::move(offsets)),
        columns_(std::move(columns)),
        values_(std::move(values)) {}

  /// \throws std::invalid_argument for negative extents, std::length_error if I cannot hold one of the numbers
  static void require_extents(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros) {
    require(rows >= 0 && cols >= 0, [&] {
      return "pmpp::csr_matrix: " + detail::text::of(rows) + " rows and " + detail::text::of(cols) + " columns";
    });
    const auto most = static_cast<std::int64_t>(std::numeric_limits<I>::max());
    if (rows > most || cols > most || nonzeros > most)
      detail::throw_length_error("pmpp::csr_matrix: the index type holds numbers up to " + detail::text::of(most) +
                                 "; there are " + detail::text::of(rows) + " rows, " + detail::text::of(cols) +
                                 " columns and " + detail::text::of(nonzeros) + " nonzeros");
  }

  /// From nonzeros in any order. Those in the same place are added, in their order.
  /// Cost: O(nonzeros + rows + cols), two counting sorts. \throws std::out_of_range for a nonzero outside of the matrix,
  /// naming it; std::invalid_argument for negative extents; std::length_error if I cannot hold extents or the
  /// count; std::overflow_error for a sum of integers that T cannot hold
  static csr_matrix from_triplets(std::int64_t rows, std::int64_t cols, std::span<const triplet<T, I>> nonzeros) {
    require_extents(rows, cols, static_cast<std::int64_t>(nonzeros.size()));
    // By columns first, then by rows: the second sort leaves the columns of each row in order.
    csr_matrix by_column(cols, rows, std::vector<I>(std::size_t(cols) + 1), std::vector<I>(nonzeros.size()),
                         std::vector<T>(nonzeros.size()));
    for (std::size_t n = 0; n < nonzeros.size(); ++n) {
      const auto& [row, column, value] = nonzeros[n];
      if (row < 0 || row >= rows || column < 0 || column >= cols)
        detail::throw_out_of_range("pmpp::csr_matrix: nonzero " + detail::text::of(n) + " is at (" +
                                   detail::text::of(row) + ", " + detail::text::of(column) + "), the matrix has " +
                                   detail::text::of(rows) + " rows and " + detail::text::of(cols) + " columns");
      ++by_column.offsets_[std::size_t(column) + 1];
    }
    std::vector<I> next = by_column.begin_of_rows();
    for (const auto& [row, column, value] : nonzeros) {
      const auto place = static_cast<std::size_t>(next[std::size_t(column)]++);
      by_column.columns_[place] = row;
      by_column.values_[place] = value;
    }
    csr_matrix result = by_column.transposed();
    result.add_duplicates();
    return result;
  }
  static csr_matrix from_triplets(std::int64_t rows, std::int64_t cols, std::initializer_list<triplet<T, I>> nonzeros) {
    return from_triplets(rows, cols, std::span<const triplet<T, I>>(nonzeros.begin(), nonzeros.size()));
  }

  /// The elements of a matrix on the host that are not zero (NaN is not). \throws std::length_error as from_triplets
  static csr_matrix from_dense(matrix_view<const T> dense) {
    require_extents(dense.rows(), dense.cols(), 0);
    csr_matrix result;
    result.rows_ = dense.rows();
    result.cols_ = dense.cols();
    for (std::int64_t i = 0; i < dense.rows(); ++i) {
      for (std::int64_t j = 0; j < dense.cols(); ++j) {
        const T value = dense(i, j);
        if (value == T{}) continue;
        result.columns_.push_back(static_cast<I>(j));
        result.values_.push_back(value);
      }
      require_extents(dense.rows(), dense.cols(), result.nonzeros());
      result.offsets_.push_back(static_cast<I>(result.columns_.size()));
    }
    return result;
  }

  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t cols() const noexcept { return cols_; }
  std::int64_t nonzeros() const noexcept { return static_cast<std::int64_t>(columns_.size()); }

  const std::vector<I>& offsets() const noexcept { return offsets_; }
  const std::vector<I>& columns() const noexcept { return columns_; }
  const std::vector<T>& values() const noexcept { return values_; }
  /// Values may be changed in place; the structure may not.
  std::span<T> values() noexcept { return values_; }

  csr_view<const T, const I> view() const noexcept {
    return {rows_, cols_, offsets_.data(), columns_.data(), values_.data()};
  }

  /// The nonzeros, row by row.
  std::vector<triplet<T, I>> triplets() const {
    std::vector<triplet<T, I>> result;
    result.reserve(columns_.size());
    for (std::int64_t row = 0; row < rows_; ++row)
      for (auto n = std::size_t(offsets_[std::size_t(row)]); n < std::size_t(offsets_[std::size_t(row) + 1]); ++n)
        result.push_back({static_cast<I>(row), columns_[n], values_[n]});
    return result;
  }

  /// Rows become columns. A counting sort: O(nonzeros + rows + cols); the columns of each row of the result ascend.
  csr_matrix transposed() const {
    csr_matrix result(cols_, rows_, std::vector<I>(std::size_t(cols_) + 1), std::vector<I>(columns_.size()),
                      std::vector<T>(values_.size()));
    for (const I column : columns_) ++result.offsets_[std::size_t(column) + 1];
    std::vector<I> next = result.begin_of_rows();
    for (std::int64_t row = 0; row < rows_; ++row)
      for (auto n = std::size_t(offsets_[std::size_t(row)]); n < std::size_t(offsets_[std::size_t(row) + 1]); ++n) {
        const auto place = static_cast<std::size_t>(next[std::size_t(columns_[n])]++);
        result.columns_[place] = static_cast<I>(row);
        result.values_[place] = values_[n];
      }
    return result;
  }

  /// Checks every invariant of the format. \throws std::invalid_argument naming the first one that does not hold, its
  /// row or entry, and the values
  void validate() const {
    const auto check = [](bool holds, auto&&... words) {
      require(holds, [&] { return "pmpp::csr_matrix: " + (... + words_of(words)); });
    };
    check(rows_ >= 0 && cols_ >= 0, "the matrix has ", rows_, " rows and ", cols_, " columns");
    check(std::int64_t(offsets_.size()) == rows_ + 1, "there are ", offsets_.size(), " offsets, ", rows_,
          " rows need one more than rows");
    check(columns_.size() == values_.size(), "there are ", columns_.size(), " columns and ", values_.size(), " values");
    check(offsets_[0] == 0, "the first offset is ", offsets_[0], ", not 0");
    for (std::size_t row = 0; row < std::size_t(rows_); ++row) {
      const I begin = offsets_[row], end = offsets_[row + 1];
      check(begin <= end, "row ", row, " begins at ", begin, " and ends at ", end);
      check(end <= nonzeros(), "row ", row, " ends at ", end, ", there are ", nonzeros(), " nonzeros");
      for (auto n = std::size_t(begin); n < std::size_t(end); ++n)
        check(columns_[n] >= 0 && columns_[n] < cols_, "row ", row, ", nonzero ", n, ": column ", columns_[n],
              " is outside of [0, ", cols_, ")");
    }
    check(std::int64_t(offsets_.back()) == nonzeros(), "the last offset is ", offsets_.back(), ", there are ",
          nonzeros(), " nonzeros");
  }

  friend bool operator==(const csr_matrix&, const csr_matrix&) = default;

private:
  static detail::text words_of(const char* words) { return words; }
  static detail::text words_of(std::integral auto number) { return detail::text::of(number); }

  /// Makes offsets of counts (that of row i at i + 1) and returns where each row begins.
  std::vector<I> begin_of_rows() {
    for (std::size_t i = 1; i < offsets_.size(); ++i) offsets_[i] = static_cast<I>(offsets_[i] + offsets_[i - 1]);
    return offsets_;
  }

  /// Adds up neighbours in a row that have the same column.
  void add_duplicates() {
    std::size_t kept = 0, n = 0;
    for (std::size_t row = 0; row < std::size_t(rows_); ++row) {
      const std::size_t begin = kept;
      for (const auto end = std::size_t(offsets_[row + 1]); n < end; ++n) {
        if (kept > begin && columns_[kept - 1] == columns_[n]) {
          if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            if (__builtin_add_overflow(values_[kept - 1], values_[n], &values_[kept - 1]))
              detail::throw_overflow_error("the sum of the values at row " + detail::text::of(row) + ", column " +
                                           detail::text::of(columns_[n]) + ", both from 0, does not fit the type");
          } else {
            values_[kept - 1] = static_cast<T>(values_[kept - 1] + values_[n]);
          }
        } else {
          columns_[kept] = columns_[n];
          values_[kept++] = values_[n];
        }
      }
      offsets_[row + 1] = static_cast<I>(kept);
    }
    columns_.resize(kept);
    values_.resize(kept);
  }

  std::int64_t rows_ = 0, cols_ = 0;
  std::vector<I> offsets_, columns_;
  std::vector<T> values_;
};

/// A sparse matrix on the device. Move-only; one moved from may be destroyed, assigned to, and nothing else.
template <class T, std::signed_integral I = int>
class device_csr_matrix {
public:
  using value_type = T;
  using index_type = I;

  /// No rows, no columns.
  device_csr_matrix() : device_csr_matrix(0, 0, device_buffer<I>(1, I{}), device_buffer<I>(), device_buffer<T>()) {}

  /// A copy of a matrix on the host; waits. \throws out_of_memory, cuda_error
  explicit device_csr_matrix(const csr_matrix<T, I>& matrix)
      : device_csr_matrix(matrix.rows(), matrix.cols(), device_buffer<I>(matrix.offsets()),
                          device_buffer<I>(matrix.columns()), device_buffer<T>(matrix.values())) {}

  /// Takes three arrays as they are.
  template <std::integral Rows, std::integral Cols>
  device_csr_matrix(Rows rows, Cols cols, device_buffer<I> offsets, device_buffer<I> columns, device_buffer<T> values)
      : offsets_(std::move(offsets)),
        columns_(std::move(columns)),
        values_(std::move(values)),
        arrays_(rows, cols, offsets_.data(), columns_.data(), values_.data()),
        nonzeros_(static_cast<std::int64_t>(columns_.size())) {}

  /// Uninitialised arrays for so many nonzeros in one allocation, to be written by way of arrays().
  /// \throws as csr_matrix::require_extents; out_of_memory
  device_csr_matrix(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros) : nonzeros_(nonzeros) {
    csr_matrix<T, I>::require_extents(rows, cols, nonzeros);
    const auto bytes_of = [](std::int64_t count, std::size_t element) {
      return round_up(detail::checked_bytes(count, element, "device_csr_matrix"), detail::allocation_alignment);
    };
    const std::size_t columns_at = bytes_of(rows + 1, sizeof(I)),
                      values_at = columns_at + bytes_of(nonzeros, sizeof(I));
    all_ = device_buffer<std::byte>(values_at + bytes_of(nonzeros, sizeof(T)));
    std::byte* const first = all_.data();
    arrays_ = {rows, cols, reinterpret_cast<I*>(first), reinterpret_cast<I*>(first + columns_at),
               reinterpret_cast<T*>(first + values_at)};
  }

  std::int64_t rows() const noexcept { return arrays_.rows; }
  std::int64_t cols() const noexcept { return arrays_.cols; }
  std::int64_t nonzeros() const noexcept { return nonzeros_; }

  csr_view<const T, const I> view() const noexcept { return arrays_; }
  /// The same, to be written.
  csr_view<T, I> arrays() noexcept { return arrays_; }

  /// Makes the number of nonzeros `count`, at most nonzeros(): the first ones stay, and all of the memory.
  void truncate(std::int64_t count) {
    require(0 <= count && count <= nonzeros_, [&] {
      return "pmpp::device_csr_matrix: " + detail::text::of(nonzeros_) + " nonzeros cannot be truncated to " +
             detail::text::of(count);
    });
    nonzeros_ = count;
  }

  /// A copy on the host; waits. \throws std::bad_alloc, cuda_error
  csr_matrix<T, I> to_host() const {
    const auto copy_of = [](const auto* first, std::int64_t count) {
      return pmpp::to_host(std::span(first, static_cast<std::size_t>(count)));
    };
    return {rows(), cols(), copy_of(arrays_.offsets, rows() + 1), copy_of(arrays_.columns, nonzeros_),
            copy_of(arrays_.values, nonzeros_)};
  }

private:
  device_buffer<I> offsets_, columns_;  // three arrays,
  device_buffer<T> values_;
  device_buffer<std::byte> all_;  // or all in one
  csr_view<T, I> arrays_;
  std::int64_t nonzeros_ = 0;
};
template <class T, class I>
device_csr_matrix(const csr_matrix<T, I>&) -> device_csr_matrix<T, I>;

}  // namespace pmpp::inline PMPP_BACKEND
