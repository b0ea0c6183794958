// SPDX-License-Identifier: Apache-2.0
//
// What this file proves: arrays of a sparse matrix and what goes with them may begin any number of elements after a 16-byte
// boundary, each its own: transposed_into, csr_from_triplets(_into), spmv and spmm give what plain loops give, with values of
// 1 to 16 bytes and indices of 4 and 8. The emulator reports a wide access that a GPU would not do (simt/memory.hpp), the
// address sanitizer one past an array.
#include <pmpp/sparse.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include <pmpp/core/matrix_view.hpp>
#include <pmpp/spmm.hpp>
#include <pmpp/spmv.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

struct two_doubles {
  double a, b;
  friend bool operator==(const two_doubles&, const two_doubles&) = default;
};
template <class T>
T value_of_place(std::int64_t i) {
  if constexpr (std::is_same_v<T, two_doubles>)
    return {double(i), double(-i)};
  else
    return static_cast<T>(i % 7);
}

/// An array on the device that begins `shift` elements after a boundary and ends with the allocation.
template <class T>
class shifted {
public:
  shifted(const std::vector<T>& data, int shift) : all_(with_front(data, shift)), shift_(shift), count_(data.size()) {}
  T* data() { return all_.data() + shift_; }
  const T* read() const { return all_.data() + shift_; }
  std::span<const T> span() const { return {read(), count_}; }
  std::vector<T> get() const {
    const std::vector<T> all = pmpp::to_host(all_);
    CHECK(std::equal(all.begin(), all.begin() + shift_, with_front({}, shift_).begin()));
    return {all.begin() + shift_, all.end()};
  }

private:
  static std::vector<T> with_front(const std::vector<T>& data, int shift) {
    std::vector<T> all(static_cast<std::size_t>(shift), value_of_place<T>(5));
    all.insert(all.end(), data.begin(), data.end());
    return all;
  }
  pmpp::device_buffer<T> all_;
  int shift_;
  std::size_t count_;
};

/// A matrix by plain loops.
template <class T, class I>
struct rows_of {
  std::vector<I> offsets, row_of, columns;
  std::vector<T> values;

  rows_of(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros) {
    for (std::int64_t i = 0; i < nonzeros; ++i)
      row_of.push_back(static_cast<I>(test::generator()() % std::uint64_t(rows)));
    std::sort(row_of.begin(), row_of.end());
    for (std::int64_t i = 0; i < nonzeros; ++i) {
      columns.push_back(static_cast<I>(test::generator()() % std::uint64_t(cols)));
      values.push_back(value_of_place<T>(i));
    }
    offsets = offsets_of(row_of, rows);
  }
  static std::vector<I> offsets_of(const std::vector<I>& sorted, std::int64_t lines) {
    std::vector<I> result(static_cast<std::size_t>(lines) + 1);
    for (const I line : sorted) ++result[static_cast<std::size_t>(line) + 1];
    std::partial_sum(result.begin(), result.end(), result.begin());
    return result;
  }
};

// For each T: turns has rows, columns and nonzeros; the second is the case that a sweep of the benchmarks ended with.
template <class T, class I>
void check_transposed(int shift) {
  struct extents {
    std::int64_t rows, cols, nonzeros;
  };
  for (const auto& [rows, cols, nonzeros] : {extents{3, 5, 7}, {10, 146, 1453}, {700, 300, 20001}}) {
    CAPTURE(nonzeros);
    CAPTURE(shift);
    const rows_of<T, I> a(rows, cols, nonzeros);
    std::vector<std::int64_t> order(static_cast<std::size_t>(nonzeros));
    std::iota(order.begin(), order.end(), 0);
    const auto at = [](const auto& array, std::int64_t i) { return array[static_cast<std::size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t i, std::int64_t j) { return at(a.columns, i) < at(a.columns, j); });
    std::vector<I> columns, rows_wanted;
    std::vector<T> values;
    for (const std::int64_t i : order) {
      columns.push_back(at(a.columns, i));
      rows_wanted.push_back(at(a.row_of, i));
      values.push_back(at(a.values, i));
    }
    const shifted<I> offsets_in(a.offsets, shift % 4), columns_in(a.columns, (shift + 1) % 4);
    const shifted<T> values_in(a.values, (shift + 2) % 4);
    shifted<I> offsets_out(std::vector<I>(static_cast<std::size_t>(cols) + 1), (shift + 3) % 4),
        columns_out(std::vector<I>(order.size()), shift % 4);
    shifted<T> values_out(std::vector<T>(order.size()), (shift + 1) % 4);
    pmpp::transposed_into(
        device, pmpp::csr_view<const T, const I>(rows, cols, offsets_in.read(), columns_in.read(), values_in.read()),
        nonzeros, pmpp::csr_view<T, I>(cols, rows, offsets_out.data(), columns_out.data(), values_out.data()));
    CHECK(offsets_out.get() == rows_of<T, I>::offsets_of(columns, cols));
    CHECK(columns_out.get() == rows_wanted);
    CHECK(values_out.get() == values);
  }
}

template <class T, class I>
void check_triplets(int shift) {
  for (const std::int64_t n : {5, 1453, 20001}) {
    CAPTURE(n);
    CAPTURE(shift);
    const std::int64_t rows = 50, cols = 60;
    std::vector<I> row_of, column_of;
    std::vector<T> values, dense(3000);
    std::vector<bool> there(3000);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t place = test::generator()() % 3000;
      row_of.push_back(static_cast<I>(place / 60));
      column_of.push_back(static_cast<I>(place % 60));
      values.push_back(value_of_place<T>(i));
      dense[place] = static_cast<T>(dense[place] + values.back());
      there[place] = true;
    }
    std::vector<I> offsets{0}, columns;
    std::vector<T> sums;
    for (std::size_t place = 0; place < 3000; ++place) {
      if (there[place]) columns.push_back(static_cast<I>(place % 60)), sums.push_back(dense[place]);
      if (place % 60 == 59) offsets.push_back(static_cast<I>(columns.size()));
    }
    const shifted<I> rows_in(row_of, (shift + 1) % 4), columns_in(column_of, (shift + 2) % 4);
    const shifted<T> values_in(values, shift % 4);
    shifted<I> offsets_out(std::vector<I>(51), (shift + 3) % 4), columns_out(row_of, shift % 4);
    shifted<T> values_out(values, (shift + 1) % 4);
    shifted<std::int64_t> count({0}, shift % 2);
    pmpp::csr_from_triplets_into(
        device, rows_in.span(), columns_in.span(), values_in.span(),
        pmpp::csr_view<T, I>(rows, cols, offsets_out.data(), columns_out.data(), values_out.data()), count.data());
    CHECK(count.get() == std::vector<std::int64_t>{std::int64_t(columns.size())});
    CHECK(offsets_out.get() == offsets);
    const auto got_columns = columns_out.get();
    const auto got_values = values_out.get();
    CHECK(std::equal(columns.begin(), columns.end(), got_columns.begin()));
    CHECK(std::equal(sums.begin(), sums.end(), got_values.begin()));
    const auto made =
        pmpp::csr_from_triplets(device, rows, cols, rows_in.span(), columns_in.span(), values_in.span()).to_host();
    CHECK(made.offsets() == offsets);
    CHECK(made.columns() == columns);
    CHECK(made.values() == sums);
  }
}

template <class T, class I>
void check_products(int shift) {
  const std::int64_t rows = 300, cols = 90, width = 8;
  CAPTURE(shift);
  const rows_of<T, I> a(rows, cols, 5000);
  std::vector<T> x, wanted(2400);
  for (std::int64_t i = 0; i < cols * width; ++i) x.push_back(static_cast<T>(i % 3));
  for (std::size_t i = 0; i < a.values.size(); ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      T& to = wanted[static_cast<std::size_t>(a.row_of[i]) * 8 + j];
      to = static_cast<T>(to + a.values[i] * x[static_cast<std::size_t>(a.columns[i]) * 8 + j]);
    }
  const shifted<I> offsets(a.offsets, shift % 4), columns(a.columns, (shift + 1) % 4);
  const shifted<T> values(a.values, (shift + 2) % 4), b(x, (shift + 3) % 4);
  shifted<T> c(std::vector<T>(2400), shift % 4);
  const pmpp::csr_view<const T, const I> A(rows, cols, offsets.read(), columns.read(), values.read());
  pmpp::spmm(device, T(1), A, pmpp::matrix_view<const T>(b.read(), cols, width), T(0),
             pmpp::matrix_view<T>(c.data(), rows, width));
  CHECK(c.get() == wanted);
  std::vector<T> first_of_b, first_wanted;
  for (std::size_t i = 0; i < x.size(); i += 8) first_of_b.push_back(x[i]);
  for (std::size_t i = 0; i < wanted.size(); i += 8) first_wanted.push_back(wanted[i]);
  const shifted<T> vector(first_of_b, (shift + 1) % 4);
  shifted<T> y(std::vector<T>(300), (shift + 3) % 4);
  pmpp::spmv(device, T(1), A, vector.span(), T(0), std::span<T>(y.data(), 300));
  CHECK(y.get() == first_wanted);
}

}  // namespace

TEST_CASE("transposed_into, each array at its own distance from a boundary") {
  for (int shift = 0; shift < 4; ++shift) {
    check_transposed<std::int8_t, std::int64_t>(shift);
    check_transposed<float, int>(shift);
    check_transposed<two_doubles, int>(shift);
  }
}

TEST_CASE("csr_from_triplets and its twin") {
  for (int shift = 0; shift < 4; ++shift) {
    check_triplets<float, std::int64_t>(shift);
  }
}

TEST_CASE("spmv and spmm") {
  for (int shift = 0; shift < 4; ++shift) {
    check_products<int, int>(shift);
    check_products<double, int>(shift);
  }
}
