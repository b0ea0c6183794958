// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of spmm.hpp, on every policy: C is right for every structure of rows, for 1 to 130 columns, for
// row-major, column-major and strided views, aligned or not; exactly where numbers are integers and within the bound of a
// sum elsewhere; mixed types; for any tuning; beta 0 never reads C; nothing between the rows of C is written; the same bits
// on every run; bad input throws and touches nothing. In the emulator also under other orders of blocks and threads; on a
// GPU also graphs.
#include <pmpp/spmm.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/matrices.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::csr_matrix;
using pmpp::device;
using pmpp::matrix_view;

namespace {

// Small enough that many pieces and tiles take part at a few thousand nonzeros.
constexpr pmpp::spmm_tuning tiny{
    .threads = 64, .items = 1, .min_blocks = 3, .pieces = 5, .vector = 16, .batch = 2, .serial = 3};

/// How a matrix lies in memory: `skip` elements in front of it, `pad` between its rows, or columns.
struct layout {
  bool by_rows;
  int skip, pad;

  std::int64_t room(std::int64_t rows, std::int64_t cols) const {
    return skip + (by_rows ? rows : cols) * ((by_rows ? cols : rows) + pad);
  }
  template <class T>
  matrix_view<T> view(T* data, std::int64_t rows, std::int64_t cols) const {
    if (by_rows) return {data + skip, rows, cols, cols + pad};
    return {data + skip, rows, cols, std::int64_t(1), rows + pad};
  }
};

/// C <- 2 A B - 3 C and C <- A B, with NaN in C, leave what they should in all of C's memory.
template <pmpp::spmm_tuning Tuning, class where, class X, class Y, class T, class I>
void check_exact(const csr_matrix<T, I>& matrix, std::int64_t cols, layout of_b, layout of_c) {
  CAPTURE(cols);
  CAPTURE(of_b.by_rows);
  CAPTURE(of_c.by_rows);
  const typename where::policy policy{};
  const auto b = test::integers<X>(of_b.room(matrix.cols(), cols));
  const auto before = test::integers<Y>(of_c.room(matrix.rows(), cols));
  const auto from = of_b.view(b.data(), matrix.cols(), cols);
  std::vector<double> product(std::size_t(matrix.rows() * cols));
  for (const auto& [row, column, value] : matrix.triplets())
    for (std::int64_t j = 0; j < cols; ++j)
      product[std::size_t(row * cols + j)] += double(value) * double(from(column, j));
  const auto on_machine = test::put_matrix<where>(matrix);
  const auto in = where::put(b);
  for (const bool overwrite : {true, false}) {
    auto start = before, wanted = before;
    const auto fresh = of_c.view(start.data(), matrix.rows(), cols),
               result = of_c.view(wanted.data(), matrix.rows(), cols);
    for (std::int64_t i = 0; i < matrix.rows(); ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        const double p = product[std::size_t(i * cols + j)];
        if (overwrite)
          fresh(i, j) = std::numeric_limits<Y>::has_quiet_NaN ? std::numeric_limits<Y>::quiet_NaN() : Y(77);
        result(i, j) = static_cast<Y>(overwrite ? p : 2 * p - 3 * double(result(i, j)));
      }
    auto out = where::put(start);
    const auto c = of_c.view(out.data(), matrix.rows(), cols);
    const auto b_view = of_b.view(in.data(), matrix.cols(), cols);
    if (overwrite)
      pmpp::spmm<test::tuned<where>(Tuning)>(policy, 1, on_machine, b_view, 0, c);
    else
      pmpp::spmm<test::tuned<where>(Tuning)>(policy, 2, on_machine.view(), b_view, -3.0, c);
    pmpp::synchronize(policy);
    CHECK(where::get(out) == wanted);
  }
}

constexpr layout rows{true, 0, 0}, padded{true, 4, 8}, odd{true, 1, 3}, columns{false, 1, 2};

}  // namespace

TEST_ALL_PLACES("by hand") {
  const typename where::policy policy{};
  // [by_hand]
  //     1 0 2       1 10
  // A = 0 0 0   B = 2 20
  //     0 4 0       3 30
  const auto offsets = where::put(std::vector<int>{0, 2, 2, 3});
  const auto columns_of = where::put(std::vector<int>{0, 2, 1});
  const auto values = where::put(std::vector<float>{1, 2, 4});
  const auto b = where::put(std::vector<float>{1, 10, 2, 20, 3, 30});
  auto c = where::put(std::vector<float>(6));
  const pmpp::csr_view A{3, 3, offsets.data(), columns_of.data(), values.data()};
  const pmpp::matrix_view B{b.data(), 3, 2};
  const pmpp::matrix_view C{c.data(), 3, 2};
  pmpp::spmm(policy, 1.0f, A, B, 0.0f, C);  // C <- A B
  pmpp::synchronize(policy);
  CHECK(where::get(c) == std::vector<float>{7, 70, 0, 0, 8, 80});
  // [end]
}

TEST_ALL_PLACES("every structure") {
  for (const std::int64_t n : {10, 300, 3000})
    for (const auto& [name, matrix] : test::structures<float>(n)) {
      CAPTURE(name);
      CAPTURE(n);
      CAPTURE(test::seed());
      check_exact<pmpp::spmm_tuning{}, where, float, float>(matrix, 8, rows, rows);
      check_exact<tiny, where, float, float>(matrix, 4, padded, rows);
      check_exact<tiny, where, float, float>(matrix, 3, odd, columns);
    }
}

TEST_ALL_PLACES("any number of columns, any layout") {
  const auto matrix = test::matrix_of<float, int>(150, 90, [](std::int64_t i) { return i == 70 ? 900 : i * 7 % 40; });
  test::only_each some(5, 5);
  for (const std::int64_t cols : test::some_of({0, 1, 2, 5, 8, 12, 16, 31, 32, 33, 64, 68, 130}))
    for (const layout of_b : {rows, padded, odd, columns})
      for (const layout of_c : {rows, padded, columns}) {
        if (some.leaves_out()) continue;
        check_exact<pmpp::spmm_tuning{}, where, float, float>(matrix, cols, of_b, of_c);
        check_exact<tiny, where, float, float>(matrix, cols, of_b, of_c);
      }
}

TEST_ALL_PLACES("large structures") {
  if ((!PMPP_CUDA && where::on_device) || test::only_small()) return;  // the emulator takes its time, so do sanitizers
  for (const auto& [name, matrix] : test::structures<float>(PMPP_CUDA ? 200000 : 60000)) {
    CAPTURE(name);
    check_exact<pmpp::spmm_tuning{}, where, float, float>(matrix, 4, rows, rows);
    check_exact<pmpp::spmm_tuning{}, where, float, float>(matrix, 3, rows, columns);
  }
}

TEST_ALL_PLACES("types of values, matrices and indices") {
  const auto check = []<class T, class X, class Y, class I>(T, X, Y, I) {
    for (const auto& [name, matrix] : test::structures<T, I>(900)) {
      CAPTURE(name);
      check_exact<pmpp::spmm_tuning{}, where, X, Y>(matrix, 4, rows, rows);
    }
  };
  check(double(), double(), double(), std::int64_t());
  check(float(), double(), float(), int());
  check(std::int8_t(), std::int8_t(), std::int64_t(), int());
}

TEST_ALL_PLACES("patterns, and rows of a larger matrix") {
  const typename where::policy policy{};
  auto ones = test::matrix_of<double, int>(300, 200, [](std::int64_t i) { return i % 40; });
  std::fill(ones.values().begin(), ones.values().end(), 1.0);
  const auto b = test::integers<double>(400);
  std::vector<double> wanted(600);
  for (const auto& [row, column, value] : ones.triplets())
    for (std::size_t j = 0; j < 2; ++j) wanted[2 * std::size_t(row) + j] += b[2 * std::size_t(column) + j];
  const auto on_machine = test::put_matrix<where>(ones);
  const auto in = where::put(b);
  const auto all = on_machine.view();
  auto c = where::put(std::vector<double>(600));
  pmpp::spmm(policy, 1, all.pattern(), matrix_view{in.data(), 200, 2}, 0, matrix_view{c.data(), 300, 2});
  pmpp::synchronize(policy);
  CHECK(where::get(c) == wanted);
  auto some = where::put(std::vector<double>(600, -1.0));
  const pmpp::csr_view<const double, const int> part{100, 200, all.offsets + 150, all.columns, all.values};
  pmpp::spmm(policy, 1, part, matrix_view{in.data(), 200, 2}, 0, matrix_view{some.data(), 100, 2});
  pmpp::synchronize(policy);
  const auto got = where::get(some);
  CHECK(std::equal(got.begin(), got.begin() + 200, wanted.begin() + 300));
  CHECK(got[200] == -1.0);
}

TEST_ALL_PLACES("sums that round stay within the bound; NaN counts where a nonzero is stored") {
  const typename where::policy policy{};
  for (auto& [name, matrix] : test::structures<float>(5000)) {
    CAPTURE(name);
    const auto b = test::random_values<float>(matrix.cols() * 4);
    const auto values = test::random_values<float>(matrix.nonzeros());
    std::copy(values.begin(), values.end(), matrix.values().begin());
    std::vector<double> exact(std::size_t(matrix.rows() * 4)), magnitude = exact;
    for (const auto& [row, column, value] : matrix.triplets())
      for (std::size_t j = 0; j < 4; ++j) {
        const double p = double(value) * double(b[4 * std::size_t(column) + j]);
        exact[4 * std::size_t(row) + j] += p;
        magnitude[4 * std::size_t(row) + j] += std::abs(p);
      }
    const auto in = where::put(b);
    auto c = where::put(std::vector<float>(exact.size()));
    pmpp::spmm(policy, 1, test::put_matrix<where>(matrix), matrix_view{in.data(), matrix.cols(), 4}, 0,
               matrix_view{c.data(), matrix.rows(), 4});
    pmpp::synchronize(policy);
    const auto got = where::get(c);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto count = double(matrix.offsets()[i / 4 + 1] - matrix.offsets()[i / 4]);
      if (!(std::abs(double(got[i]) - exact[i]) <= (count + 1) * 0x1p-24 * magnitude[i])) ++wrong;
    }
    CHECK(wrong == 0);
  }
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const csr_matrix<float> matrix(4, 3, {0, 1, 2, 3, 3}, {0, 1, 1}, {0, 1, 0});
  const auto in = where::put(std::vector<float>{1, inf, nan});
  auto c = where::put(std::vector<float>(4, nan));
  pmpp::spmm(policy, 1, test::put_matrix<where>(matrix), matrix_view{in.data(), 3, 1}, 0, matrix_view{c.data(), 4, 1});
  pmpp::synchronize(policy);
  const auto got = where::get(c);
  CHECK(got[0] == 0);
  CHECK(got[1] == inf);
  CHECK(std::isnan(got[2]));
  CHECK(got[3] == 0);
}

#if !PMPP_CUDA
TEST_CASE("blocks and threads in any order") {
  const auto cases = test::structures<float>(400);
  test::for_each_order(15, [&](std::uint64_t seed) {
    const auto& [name, matrix] = cases[seed % cases.size()];
    CAPTURE(name);
    check_exact<tiny, test::device_place, float, float>(matrix, 4, rows, rows);
  });
}
#endif

TEST_CASE("the same bits on every run and for any number of host threads") {
  for (auto& [name, matrix] : test::structures<float>(PMPP_CUDA ? 400000 : 9000)) {
    CAPTURE(name);
    const auto values = test::random_values<float>(matrix.nonzeros());
    std::copy(values.begin(), values.end(), matrix.values().begin());
    const auto b = test::random_values<float>(matrix.cols() * 4);
    std::vector<float> first, again(std::size_t(matrix.rows() * 4));
    for (const int threads : {1, 2, 3}) {
      pmpp::spmm(pmpp::host.threads(threads), 1, matrix, matrix_view{b.data(), matrix.cols(), 4}, 0,
                 matrix_view{again.data(), matrix.rows(), 4});
      if (threads == 1) first = again;
      CHECK(first == again);
    }
    const pmpp::device_csr_matrix on_device(matrix);
    const pmpp::device_buffer<float> in(b);
    pmpp::workspace scratch;
    for (int i = 0; i < 3; ++i) {
      pmpp::device_buffer<float> c(matrix.rows() * 4);
      pmpp::spmm(device.with(scratch), 1, on_device, matrix_view{in.data(), matrix.cols(), 4}, 0,
                 matrix_view{c.data(), matrix.rows(), 4});
      pmpp::synchronize(device);
      if (i == 0) first = pmpp::to_host(c);
      CHECK(pmpp::to_host(c) == first);
    }
  }
}

#if PMPP_CUDA
TEST_CASE("a captured graph, replayed on another matrix, in another stream") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  const std::int64_t m = 3000, n = 900, most = 200000;
  pmpp::device_buffer<int> offsets(m + 1), columns_of(most);
  pmpp::device_buffer<float> values(most), b(n * 4), c(m * 4);
  const pmpp::csr_view A{m, n, offsets.data(), columns_of.data(), values.data()};
  const auto enqueue = [&] { pmpp::spmm(policy, 1, A, matrix_view{b.data(), n, 4}, 0, matrix_view{c.data(), m, 4}); };
  pmpp::copy(stream, std::vector<int>(m + 1), offsets);
  enqueue();
  stream.synchronize();
  const test::captured_graph replayed(stream, enqueue);
  for (int round = 0; round < test::turns(10); ++round) {
    const auto matrix = test::matrix_of<float, int>(m, n, [&](std::int64_t i) {
      return i == 100 * round ? 50000 : static_cast<std::int64_t>(test::generator()() % (2 * round + 1));
    });
    const auto v = test::integers<float>(n * 4);
    const auto count = static_cast<std::size_t>(matrix.nonzeros());
    pmpp::copy(stream, matrix.offsets(), offsets);
    pmpp::copy(stream, matrix.columns(), std::span(columns_of.data(), count));
    pmpp::copy(stream, std::span<const float>(matrix.values()), std::span(values.data(), count));
    pmpp::copy(stream, v, b);
    replayed.replay();
    stream.synchronize();
    std::vector<float> wanted(std::size_t(m * 4));
    pmpp::spmm(pmpp::seq, 1, matrix, matrix_view{v.data(), n, 4}, 0, matrix_view{wanted.data(), m, 4});
    CHECK(pmpp::to_host(c) == wanted);
  }
}
#endif

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const auto on_machine = test::put_matrix<where>(csr_matrix<float>(3, 2, {0, 1, 1, 2}, {0, 1}, {1, 2}));
  const auto b = where::put(std::vector<float>(8, 1.0f));
  auto c = where::put(std::vector<float>(12, 77.0f));
  const float* const from = b.data();
  float* const to = c.data();
  float* const null = nullptr;
  const auto refuses = [&](matrix_view<const float> B, matrix_view<float> C) {
    CHECK_THROWS_AS(pmpp::spmm(policy, 1, on_machine, B, 0, C), std::invalid_argument);
  };
  refuses({from, 3, 2}, {to, 3, 2});
  refuses({from, 2, 2}, {to, 2, 2});
  refuses({from, 2, 3}, {to, 3, 2});
  refuses({null, 2, 2}, {to, 3, 2});
  refuses({from, 2, 2}, {null, 3, 2});
  refuses({from, 2, 2}, {to, 3, 2, 0});
  refuses({to, 2, 2}, {to + 2, 3, 2});
  const auto v = on_machine.view();
  const pmpp::csr_view<const float, const int> negative{-3, 2, v.offsets, v.columns, v.values};
  CHECK_THROWS_AS(pmpp::spmm(policy, 1, negative, matrix_view{from, 2, 2}, 0, matrix_view{to, 3, 2}),
                  std::invalid_argument);
  CHECK(where::get(c) == std::vector<float>(12, 77.0f));
  pmpp::spmm(policy, 1, on_machine, matrix_view{from, 2, 0}, 0, matrix_view{null, 3, 0});  // no columns: nothing to do
}
