// SPDX-License-Identifier: Apache-2.0
//
// Properties of the views:
//   element (i, j) is where the strides say, on the host and in kernels; extents beyond 32 bits stay exact
//   transposing and taking parts copy nothing and commute with indexing
//   const is added, never dropped; mdspan-like types convert; csr_view<void, I> is what is left without values
//   outside debug mode a bad index costs no check (views_debug.cpp has the other half)
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/memory/device_buffer.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

using pmpp::csr_view;
using pmpp::matrix_view;
using pmpp::volume_view;

static_assert(!pmpp::debug_mode, "this file tests the views without checks");

static_assert(std::is_trivially_copyable_v<matrix_view<float>>);
static_assert(std::is_trivially_copyable_v<volume_view<float>>);
static_assert(std::is_trivially_copyable_v<csr_view<float, int>> && std::is_trivially_copyable_v<csr_view<void, int>>);
static_assert(std::is_convertible_v<matrix_view<float>, matrix_view<const float>>);
static_assert(!std::is_convertible_v<matrix_view<const float>, matrix_view<float>>, "const is never dropped");
static_assert(!std::is_convertible_v<matrix_view<float>, matrix_view<const double>>);
static_assert(std::is_convertible_v<volume_view<float>, volume_view<const float>>);
static_assert(!std::is_convertible_v<volume_view<const float>, volume_view<float>>);
static_assert(std::is_convertible_v<csr_view<float, int>, csr_view<const float, const int>>);
static_assert(std::is_convertible_v<csr_view<float, int>, csr_view<void, const int>>);
static_assert(std::is_convertible_v<csr_view<void, int>, csr_view<void, const int>>);
static_assert(!std::is_convertible_v<csr_view<const float, const int>, csr_view<float, const int>>);
static_assert(!std::is_convertible_v<csr_view<void, const int>, csr_view<void, int>>);
static_assert(!std::is_convertible_v<csr_view<float, int>, csr_view<const float, const long>>);
static_assert(!pmpp::contiguous_data<matrix_view<float>>, "a view with strides is no contiguous range");

namespace {

/// What std::mdspan offers, without C++23.
template <class T, bool ColumnMajor, std::size_t Rank = 2>
struct mdspan_like {
  T* p;
  std::array<int, Rank> extents;
  static constexpr std::size_t rank() { return Rank; }
  T* data_handle() const { return p; }
  int extent(std::size_t r) const { return extents[r]; }
  int stride(std::size_t r) const { return (r == 0) == ColumnMajor ? 1 : extents[ColumnMajor ? 0 : 1]; }
};
static_assert(std::is_convertible_v<mdspan_like<float, false>, matrix_view<const float>>);
static_assert(!std::is_convertible_v<mdspan_like<const float, false>, matrix_view<float>>);
static_assert(!std::is_convertible_v<mdspan_like<float, false, 3>, matrix_view<float>>);

std::vector<int> counted(std::size_t n) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), 0);
  return v;
}

constexpr std::array<int, 6> two_by_three{1, 2, 3, 4, 5, 6};
constexpr matrix_view<const int> constant(two_by_three.data(), 2, 3);
static_assert(constant(1, 2) == 6 && transposed(constant)(2, 1) == 6 && constant.subview(1, 1, 1, 2)(0, 1) == 6);

}  // namespace

TEST_CASE("a matrix is row-major, and its extents may be of any integer type") {
  std::vector<int> v = counted(12);
  const int rows = 3;
  const std::size_t cols = 4;
  const matrix_view<int> a{v.data(), rows, cols};
  CHECK(a.rows() == 3);
  CHECK(a.cols() == 4);
  CHECK(a.row_stride() == 4);
  CHECK(a.col_stride() == 1);
  CHECK(a.contiguous());
  CHECK(a.row_major());
  CHECK_FALSE(a.col_major());
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) CHECK(&a(i, j) == &v[static_cast<std::size_t>(4 * i + j)]);
  a(2, 3) = -1;
  CHECK(v[11] == -1);

  const matrix_view padded{v.data(), std::int64_t{3}, 3, 4u};
  CHECK(padded(1, 0) == 4);
  CHECK(padded.cols() == 3);
  CHECK_FALSE(padded.contiguous());
  CHECK(padded.row_major());
  CHECK(matrix_view<int>{}.empty());
  CHECK(matrix_view<int>{v.data(), 0, 5}.empty());
  CHECK_FALSE(a.empty());
}

TEST_CASE("transposing exchanges indices, twice is the identity, and shares the elements") {
  std::vector<int> v = counted(15);
  const matrix_view<int> a{v.data(), 3, 4, 5};
  const auto t = transposed(a);
  const auto tt = pmpp::transposed(t);
  CHECK(t.rows() == 4);
  CHECK(t.cols() == 3);
  CHECK(t.col_major());
  CHECK_FALSE(t.row_major());
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) {
      CHECK(&t(j, i) == &a(i, j));
      CHECK(&tt(i, j) == &a(i, j));
    }
  CHECK(tt.row_stride() == 5);
  CHECK(tt.row_major());
}

TEST_CASE("parts of matrices, transposed or not") {
  std::vector<int> v = counted(30);
  const matrix_view<int> a{v.data(), 5, 6};
  const auto part = a.subview(1, 2, 3, 4);
  CHECK(part.rows() == 3);
  CHECK(part.cols() == 4);
  const auto turned = transposed(a).subview(2, 1, 4, 3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) {
      CHECK(&part(i, j) == &a(i + 1, j + 2));
      CHECK(&turned(j, i) == &part(i, j));
    }
  CHECK(a.subview(5, 6, 0, 0).empty());
  CHECK(a.row(2).size() == 6);
  CHECK(a.row(2).data() == &a(2, 0));
  CHECK(part.row(2).data() == &a(3, 2));
  CHECK(part.row(2).size() == 4);
  CHECK_THROWS_AS(transposed(a).row(0), std::invalid_argument);
  CHECK(transposed(a.subview(0, 0, 1, 6)).row(3)[0] == 3);  // one column: its rows are contiguous
}

TEST_CASE("mdspan-like types convert, whatever their layout") {
  std::vector<int> v = counted(12);
  const matrix_view<const int> right = mdspan_like<int, false>{v.data(), {3, 4}};
  const matrix_view<int> left = mdspan_like<int, true>{v.data(), {3, 4}};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) {
      CHECK(right(i, j) == 4 * i + j);
      CHECK(left(i, j) == 3 * j + i);
    }
  CHECK(left.rows() == 3);
  CHECK(left.cols() == 4);
}

TEST_CASE("extents and offsets beyond 32 bits are exact") {
  // Addresses only: nothing is read. The base lies in the middle of nowhere, far from overflow.
  const auto base = reinterpret_cast<char*>(std::uintptr_t{1} << 40);
  const std::int64_t large = (std::int64_t{1} << 32) + 5;
  const matrix_view<char> a{base, 3, large};
  CHECK(&a(2, large - 1) - base == 3 * large - 1);
  CHECK(&transposed(a)(large - 1, 2) - base == 3 * large - 1);
  const volume_view<char> b{base, 3, 70000, 70000};
  CHECK(&b(2, 69999, 69999) - base == std::int64_t{3} * 70000 * 70000 - 1);
}

TEST_CASE("a volume is x fastest, and its slices are matrices") {
  std::vector<int> v = counted(2 * 3 * 4);
  const volume_view<int> a{v.data(), 2, 3u, std::size_t{4}};
  CHECK(a.contiguous());
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x) {
        CHECK(a(z, y, x) == (z * 3 + y) * 4 + x);
        CHECK(&a.slice(z)(y, x) == &a(z, y, x));
      }
  const volume_view<const int> padded{v.data(), 2, 3, 2, 4, 12};
  CHECK_FALSE(padded.contiguous());
  CHECK(padded(1, 2, 1) == 12 + 8 + 1);
  const volume_view<const int> c = a;
  CHECK(c.depth() == 2);
  CHECK(c.height() == 3);
  CHECK(c.width() == 4);
  CHECK(volume_view<int>{}.empty());
  CHECK_FALSE(a.empty());
}

TEST_CASE("a sparse matrix, its pattern, and const") {
  // 1 . 2
  // . . .
  // . 3 .
  std::vector<int> offsets{0, 2, 2, 3}, columns{0, 2, 1};
  std::vector<float> values{1, 2, 3};
  const csr_view<float, int> a{3, 3, offsets.data(), columns.data(), values.data()};
  const csr_view<const float, const int> c = a;
  const csr_view<void, const int> p = a, q = c, r = a.pattern();
  const csr_view deduced{3, 3, offsets.data(), columns.data(), values.data()};
  const csr_view graph{3, 3, offsets.data(), columns.data()};
  static_assert(std::is_same_v<decltype(deduced), const csr_view<float, int>>);
  static_assert(std::is_same_v<decltype(graph), const csr_view<void, int>>);
  CHECK(a.nonzeros() == 3);
  CHECK(c.row_length(0) == 2);
  CHECK(c.row_length(1) == 0);
  for (const auto& view : {p, q, r, csr_view<void, const int>(graph)}) {
    CHECK(view.rows == 3);
    CHECK(view.cols == 3);
    CHECK(view.nonzeros() == 3);
    CHECK(view.row_begin(2) == 2);
    CHECK(view.row_end(2) == 3);
    CHECK(view.columns == columns.data());
  }
  a.values[a.row_begin(2)] = 7;
  CHECK(c.values[2] == 7);
  CHECK(csr_view<float, int>{}.nonzeros() == 0);
  const std::vector<std::int64_t> large{0, (std::int64_t{1} << 32) + 5};
  const csr_view<void, const std::int64_t> one{1, 1, large.data(), nullptr};
  CHECK(one.nonzeros() == (std::int64_t{1} << 32) + 5);
}

namespace {

/// out(j, i) = in(i, j) + the slice's (i, j) + the length of row i of the pattern.
struct index_kernel {
  static constexpr int threads = 32;
  struct shared {};
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared&, matrix_view<const int> in, volume_view<const int> volume,
                                   csr_view<void, const int> pattern, matrix_view<int> out) const {
    for (std::int64_t k = block.thread(); k < in.rows() * in.cols(); k += block.threads()) {
      const std::int64_t i = k / in.cols(), j = k % in.cols();
      transposed(out)(i, j) = in(i, j) + volume.slice(1)(i, j) + static_cast<int>(pattern.row_length(i));
    }
  }
};

}  // namespace

TEST_CASE("kernels index views") {
  const std::vector<int> m = counted(5 * 7);
  const pmpp::device_buffer<int> in{m}, volume{counted(2 * 5 * 7)}, offsets{std::array{0, 1, 3, 6, 10, 15}};
  pmpp::device_buffer<int> out{7 * 5, -1};
  pmpp::launch(pmpp::device, 1, index_kernel{}, matrix_view<const int>{in.data(), 5, 7},
               volume_view<const int>{volume.data(), 2, 5, 7},
               csr_view<void, const int>{5, 15, offsets.data(), nullptr}, matrix_view<int>{out.data(), 7, 5});
  const std::vector<int> result = pmpp::to_host(out);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j) CHECK(result[static_cast<std::size_t>(j * 5 + i)] == 2 * (i * 7 + j) + 35 + (i + 1));
}

TEST_CASE("extents of any integer type") {
  std::vector<int> v(12, 1);
  const std::size_t six = v.size() / 2;
  const unsigned two = 2;
  const std::uint8_t one = 1;
  const matrix_view<int> a{v.data(), six, two}, b{v.data(), six, two, two}, c{v.data(), six, two, one, six};
  CHECK((a.rows() == 6 && b.row_stride() == 2 && c.col_stride() == 6));
  const pmpp::volume_view<int> w{v.data(), two, one, six}, u{v.data(), two, one, two, six, six};
  CHECK((w.slice_stride() == 6 && u.depth() == 2));
  CHECK(csr_view<void, int>{six, two, v.data(), v.data()}.rows == 6);
  CHECK(csr_view<int, int>{six, two, v.data(), v.data(), v.data()}.cols == 2);
  CHECK(pmpp::csr_matrix<int>{one, two, {0, 1}, {1}, {5}}.cols() == 2);
  CHECK(pmpp::device_count{v.data(), v.size()}.upper_bound == 12);
  const pmpp::grid shape{six, two, two};
  CHECK((shape.blocks.x == 6 && shape.dynamic_shared == 2));

  const std::size_t many = std::size_t(1) << 63;
  CHECK_THROWS_WITH_AS((matrix_view<int>{v.data(), many, two}),
                       "pmpp: a count of 9223372036854775808, the limit is 2^63 - 1", std::length_error);
  CHECK_THROWS_AS((pmpp::volume_view<int>{v.data(), two, many, two}), std::length_error);
  CHECK_THROWS_AS((csr_view<void, int>{many, two, v.data(), v.data()}), std::length_error);
  CHECK_THROWS_AS((pmpp::device_count{v.data(), many}), std::length_error);
}
