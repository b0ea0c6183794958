// SPDX-License-Identifier: Apache-2.0
//
// spread_csr<T, I>: a sparse matrix in compressed sparse rows whose rows lie on the ranks of a devices, in blocks by rank.
//
//   pmpp::spread_csr<double> A{gpus, matrix};     a csr_matrix of the host, or a csr_view of its memory; each rank takes its rows
//   auto x = pmpp::distributed_buffer<double>::with_sizes(gpus, A.col_sizes());
//   auto y = pmpp::distributed_buffer<double>::with_sizes(gpus, A.row_sizes());
//   pmpp::spmv(gpus, 1, A, x, 0, y);              distributed/spmv.hpp
//
// Blocks are cut so that each rank has as many nonzeros and rows as any other. Of a square matrix columns lie in the blocks of the
// rows, so that y may be the next x; else in even blocks. What is found once, here, and used by each product:
//
//   inner    the nonzeros whose column lies in the block of their rank, with columns numbered in it
//   outer    the others, the rows alone that have any; columns are numbered in what arrives from other ranks
//   needed   which elements of x those are, each once, by rank: what each rank sends to each is a list of places
//
// So a product moves what is needed and nothing else: of a matrix with a band the two ends of each block. (PMPP ch. 14 and 20.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/memory/csr_matrix.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Rows 0, b[1], b[2], ... where p blocks begin that have as many nonzeros and rows as each other.
template <class I>
std::vector<std::int64_t> balanced_rows(const I* offsets, std::int64_t rows, int p) {
  const auto weight = [&](std::int64_t row) { return rows == 0 ? 0 : std::int64_t(offsets[row] - offsets[0]) + row; };
  std::vector<std::int64_t> sizes;
  for (std::int64_t r = 1, begin = 0; r <= p; ++r) {
    // weight * r / p, without a product that might not fit
    const std::int64_t all = weight(rows), target = all / p * r + all % p * r / p;
    std::int64_t low = begin, high = rows;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (weight(middle) < target)
        low = middle + 1;
      else
        high = middle;
    }
    sizes.push_back(low - begin);
    begin = low;
  }
  return sizes;
}

/// Where blocks of these sizes begin.
inline std::vector<std::int64_t> begins_of(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> begins{0};
  for (const std::int64_t size : sizes) begins.push_back(begins.back() + size);
  return begins;
}

/// Places in an array, in bytes.
inline std::vector<std::size_t> byte_offsets(const std::vector<std::int64_t>& places, std::size_t element_bytes) {
  std::vector<std::size_t> bytes;
  for (const std::int64_t place : places) bytes.push_back(static_cast<std::size_t>(place) * element_bytes);
  return bytes;
}

/// A copy of values of the host in a rank's memory. The host keeps them until the rank is waited for.
template <class T>
rank_array<T> array_on_rank(const rank_group::place& where, const std::vector<T>& values) {
  rank_array<T> array(where, static_cast<std::int64_t>(values.size()));
  detail::copy_on_rank(where, array.data(), values.data(), values.size() * sizeof(T));
  return array;
}

/// What a rank has of a spread matrix.
template <class T, class I>
struct spread_rows {
  /// In its memory.
  struct part {
    rank_array<I> offsets, columns;
    rank_array<T> values;
    std::int64_t rows = 0, cols = 0;
    csr_view<const T, const I> view() const {
      return {rows, cols, static_cast<const I*>(offsets.data()), static_cast<const I*>(columns.data()),
              static_cast<const T*>(values.data())};
    }
  };
  part inner, outer;
  rank_array<I> outer_rows;                        ///< that rows of `outer` are
  rank_array<I> sent;                              ///< places in its block of x, by the rank that they are sent to
  std::vector<std::int64_t> sent_at, received_at;  ///< where those of each rank begin in what is sent and received
};

/// The same on the host, while it is made.
template <class T, class I>
struct rows_in_making {
  struct part {
    std::vector<I> offsets{0}, columns;
    std::vector<T> values;
  };
  part inner, outer;
  std::vector<I> outer_rows, needed;  ///< needed: columns of other ranks, first of all, then by number

  /// \param rows  those of one rank, whose columns are `first` to `last` - 1
  rows_in_making(const csr_view<const T, const I>& rows, std::int64_t first, std::int64_t last) {
    const auto is_inner = [&](I column) { return column >= first && column < last; };
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      require(rows.row_begin(row) <= rows.row_end(row), [&] {
        return "pmpp::spread_csr: a row begins at " + text::of(rows.row_begin(row)) + " and ends at " +
               text::of(rows.row_end(row));
      });
      for (std::int64_t k = rows.row_begin(row); k < rows.row_end(row); ++k) {
        const I column = rows.columns[k];
        require(column >= 0 && column < rows.cols, [&] {
          return "pmpp::spread_csr: nonzero " + text::of(k) + ": column " + text::of(column) + " is outside of [0, " +
                 text::of(rows.cols) + ")";
        });
        if (!is_inner(column)) needed.push_back(column);
      }
    }
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      for (std::int64_t k = rows.row_begin(row); k < rows.row_end(row); ++k) {
        const I column = rows.columns[k];
        const bool in = is_inner(column);
        part& to = in ? inner : outer;
        to.columns.push_back(
            in ? static_cast<I>(column - first)
               : static_cast<I>(std::lower_bound(needed.begin(), needed.end(), column) - needed.begin()));
        to.values.push_back(rows.values[k]);
      }
      inner.offsets.push_back(static_cast<I>(inner.columns.size()));
      if (static_cast<I>(outer.columns.size()) == outer.offsets.back()) continue;
      outer.offsets.push_back(static_cast<I>(outer.columns.size()));
      outer_rows.push_back(static_cast<I>(row));
    }
  }
};

}  // namespace detail

/// A sparse matrix in blocks of rows by rank, owned by its processes. Movable; its structure and its values do not change.
template <class T, std::signed_integral I = int>
class spread_csr {
public:
  using value_type = T;
  using index_type = I;

  /// No rows, on no devices.
  spread_csr() = default;

  /// A copy of a matrix of the host, the same on every process; nonzeros and rows are evenly spread. Waits.
  /// Columns of a row in any order and more than once. Cost: each process reads the rows of its ranks, and sorts the columns of other
  /// ranks; one exchange of counts, one of places.
  /// \throws std::invalid_argument if processes differ in extents or nonzeros, for null offsets, offsets that decrease or columns
  /// outside of the matrix; communication_error; out_of_memory, cuda_error
  template <class P, class C>
  spread_csr(const devices<P, C>& gpus, const csr_view<const T, const I>& matrix)
      : spread_csr(with_rows(gpus, matrix, detail::balanced_rows(checked(matrix).offsets, matrix.rows, gpus.size()))) {}
  template <class P, class C>
  spread_csr(const devices<P, C>& gpus, const csr_matrix<T, I>& matrix) : spread_csr(gpus, matrix.view()) {}

  /// The same with rows[r] rows on each rank r, and cols[r] columns; without cols as above.
  /// \throws std::invalid_argument too if a list has not one number for each rank, or another sum than the matrix has rows or columns
  template <class P, class C>
  static spread_csr with_rows(const devices<P, C>& gpus, const csr_view<const T, const I>& matrix,
                              const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& cols = {}) {
    checked(matrix);
    detail::require_agreement(gpus, "spread_csr", "the number of rows", matrix.rows);
    detail::require_agreement(gpus, "spread_csr", "the number of columns", matrix.cols);
    const auto begins = detail::begins_of(rows);
    require(rows.size() == std::size_t(gpus.size()) && begins.back() == matrix.rows, [&] {
      return "pmpp::spread_csr: " + detail::text::of(begins.back()) + " rows on " + detail::text::of(rows.size()) +
             " ranks; there are " + detail::text::of(matrix.rows) + " on " + detail::text::of(gpus.size());
    });
    std::vector<csr_view<const T, const I>> mine;
    for (int i = 0; i < gpus.local_size(); ++i) {
      const auto r = std::size_t(gpus.rank(i));
      mine.push_back(
          {rows[r], matrix.cols, matrix.offsets + (rows[r] == 0 ? 0 : begins[r]), matrix.columns, matrix.values});
    }
    return spread_csr(gpus, mine, rows, matrix.cols, cols);
  }

  /// Of rows that lie where they are needed: rows[i], whose columns are those of the whole, is for rank number i of this process. No
  /// process has to hold more than its own. \throws std::invalid_argument if the numbers of columns differ
  template <class P, class C>
  static spread_csr from_rows(const devices<P, C>& gpus, const std::vector<csr_matrix<T, I>>& rows) {
    require(rows.size() == std::size_t(gpus.local_size()), [&] {
      return "pmpp::spread_csr::from_rows: " + detail::text::of(rows.size()) + " matrices, this process drives " +
             detail::text::of(gpus.local_size()) + " ranks";
    });
    std::vector<std::int64_t> counts;
    std::vector<csr_view<const T, const I>> mine;
    for (const csr_matrix<T, I>& matrix : rows) {
      require(matrix.cols() == rows[0].cols(), [&] {
        return "pmpp::spread_csr::from_rows: matrices with " + detail::text::of(rows[0].cols()) + " and " +
               detail::text::of(matrix.cols()) + " columns";
      });
      counts.push_back(matrix.rows());
      mine.push_back(matrix.view());
    }
    detail::require_agreement(gpus, "spread_csr", "the number of columns", rows[0].cols());
    return spread_csr(gpus, mine, detail::values_of_all(gpus, counts), rows[0].cols(), {});
  }

  std::int64_t rows() const { return row_begins_.back(); }
  std::int64_t cols() const { return col_begins_.back(); }
  /// Rows of each rank: what y is to have of elements on each.
  std::vector<std::int64_t> row_sizes() const { return sizes_of(row_begins_); }
  /// Columns of each rank: what x is to have.
  std::vector<std::int64_t> col_sizes() const { return sizes_of(col_begins_); }
  std::int64_t rows_of(int rank) const { return row_begins_[std::size_t(rank) + 1] - row_begins_[std::size_t(rank)]; }
  std::int64_t cols_of(int rank) const { return col_begins_[std::size_t(rank) + 1] - col_begins_[std::size_t(rank)]; }

  /// What rank number i of this process has, and the devices that all lies on: for products.
  const detail::spread_rows<T, I>& part(int i) const { return parts_[std::size_t(i)]; }
  const detail::rank_group* group() const { return group_.get(); }
  /// Elements of x that the ranks of this process receive in each product.
  std::int64_t received_here() const {
    std::int64_t sum = 0;
    for (const auto& part : parts_) sum += part.received_at.back();
    return sum;
  }

private:
  template <class P, class C>
  spread_csr(const devices<P, C>& gpus, const std::vector<csr_view<const T, const I>>& mine,
             const std::vector<std::int64_t>& rows, std::int64_t col_count, const std::vector<std::int64_t>& cols)
      : group_(gpus.group()), row_begins_(detail::begins_of(rows)) {
    const int p = gpus.size();
    const bool square = row_begins_.back() == col_count;
    col_begins_ = detail::begins_of(!cols.empty() ? cols : square ? rows : detail::even_sizes(col_count, p));
    require(col_begins_.size() == std::size_t(p) + 1 && col_begins_.back() == col_count, [&] {
      return "pmpp::spread_csr: " + detail::text::of(col_begins_.back()) + " columns on " +
             detail::text::of(cols.size()) + " ranks; there are " + detail::text::of(col_count) + " on " +
             detail::text::of(p);
    });

    // Split by column; how many elements each rank needs of each.
    std::vector<detail::rows_in_making<T, I>> made;
    std::vector<std::int64_t> counts;
    for (int i = 0; i < gpus.local_size(); ++i) {
      const auto r = std::size_t(gpus.rank(i));
      made.emplace_back(mine[std::size_t(i)], col_begins_[r], col_begins_[r + 1]);
      const std::vector<I>& needed = made.back().needed;
      for (int owner = 0; owner < p; ++owner)
        counts.push_back(place_of(needed, col_begins_[std::size_t(owner) + 1]) -
                         place_of(needed, col_begins_[std::size_t(owner)]));
    }
    const auto needs = detail::values_of_all(gpus, counts, p);
    const auto need = [&](int rank, int of) { return needs[std::size_t(rank) * std::size_t(p) + std::size_t(of)]; };

    // To the ranks; each one learns which places of its block others need.
    std::vector<std::vector<I>> places(made.size());
    std::vector<detail::rank_array<I>> places_there;
    for (int i = 0; i < gpus.local_size(); ++i) {
      const auto k = std::size_t(i);
      const auto& where = group_->places[k];
      const detail::rank_guard guard(where.device);
      detail::spread_rows<T, I> part;
      std::vector<std::int64_t> in, out;
      for (int other = 0; other < p; ++other) {
        in.push_back(need(where.rank, other));
        out.push_back(need(other, where.rank));
      }
      part.received_at = detail::begins_of(in);
      part.sent_at = detail::begins_of(out);
      for (int owner = 0; owner < p; ++owner)
        for (auto n = part.received_at[std::size_t(owner)]; n < part.received_at[std::size_t(owner) + 1]; ++n)
          places[k].push_back(static_cast<I>(made[k].needed[std::size_t(n)] - col_begins_[std::size_t(owner)]));
      places_there.push_back(detail::array_on_rank(where, places[k]));
      part.sent = detail::rank_array<I>(where, part.sent_at.back());
      part.inner = on_rank(where, made[k].inner, cols_of(where.rank));
      part.outer = on_rank(where, made[k].outer, part.received_at.back());
      part.outer_rows = detail::array_on_rank(where, made[k].outer_rows);
      parts_.push_back(std::move(part));
    }
    gpus.together([&](int i, C& link, stream_handle s) {
      const auto& part = parts_[std::size_t(i)];
      const auto asked = detail::byte_offsets(part.received_at, sizeof(I)),
                 told = detail::byte_offsets(part.sent_at, sizeof(I));
      pmpp::all_to_all_v(link, places_there[std::size_t(i)].data(), asked.data(), part.sent.data(), told.data(), s);
    });
    gpus.synchronize();  // what the host has made goes away
  }

  static const csr_view<const T, const I>& checked(const csr_view<const T, const I>& matrix) {
    require(matrix.rows >= 0 && matrix.cols >= 0 && (matrix.rows == 0 || matrix.offsets != nullptr), [&] {
      return "pmpp::spread_csr: the matrix has " + detail::text::of(matrix.rows) + " rows and " +
             detail::text::of(matrix.cols) + " columns" + (matrix.offsets == nullptr ? ", and no offsets" : "");
    });
    return matrix;
  }
  static std::int64_t place_of(const std::vector<I>& sorted, std::int64_t column) {
    return std::lower_bound(sorted.begin(), sorted.end(), column) - sorted.begin();
  }
  static typename detail::spread_rows<T, I>::part on_rank(const detail::rank_group::place& where,
                                                          const typename detail::rows_in_making<T, I>::part& made,
                                                          std::int64_t cols) {
    return {detail::array_on_rank(where, made.offsets), detail::array_on_rank(where, made.columns),
            detail::array_on_rank(where, made.values), static_cast<std::int64_t>(made.offsets.size()) - 1, cols};
  }
  static std::vector<std::int64_t> sizes_of(const std::vector<std::int64_t>& begins) {
    std::vector<std::int64_t> sizes;
    for (std::size_t r = 1; r < begins.size(); ++r) sizes.push_back(begins[r] - begins[r - 1]);
    return sizes;
  }

  std::shared_ptr<detail::rank_group> group_;  // outlives the parts, which are freed in the order of its streams
  std::vector<std::int64_t> row_begins_{0}, col_begins_{0};
  std::vector<detail::spread_rows<T, I>> parts_;
};

}  // namespace pmpp::inline PMPP_BACKEND
