// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of spmv.hpp, on every policy: y is right for every structure of rows (empty, even, one with
// everything, power laws), exactly where numbers are integers and within the bound of a sum elsewhere; for every type of
// values, vectors and indices, mixed ones too; for any tuning; alpha and beta do what they should and beta 0 never reads
// y; nothing around y is written; rows of a larger matrix; patterns; the same bits on every run; real matrices; bad input
// throws and touches nothing; a workspace is left as it was found. In the emulator also under other orders of blocks and
// threads; on a GPU also graphs and more than 2^31 nonzeros.
#include <pmpp/spmv.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include <pmpp/io/matrix_market.hpp>
#include <pmpp/transform.hpp>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/matrices.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::csr_matrix;
using pmpp::device;

namespace {

// Small enough that many blocks and tiles take part at a few thousand nonzeros.
constexpr pmpp::spmv_tuning tiny{
    .threads = 64, .items = 1, .min_blocks = 3, .stretches = 3, .serial = 2, .short_tiles = 1};
constexpr pmpp::spmv_tuning odd{
    .threads = 96, .items = 3, .min_blocks = 2, .stretches = 1, .serial = 5, .short_tiles = 1};
// Walks of a few hundred steps are cut into stretches, not into a piece for each warp; on a GPU those of 16384.
constexpr pmpp::spmv_tuning stretched{
    .threads = 64, .items = 1, .min_blocks = 1, .stretches = 3, .serial = 2, .short_tiles = 1};

/// A 2-byte number that adds up in float.
struct brain {
  std::uint16_t bits = 0;
  brain() = default;
  PMPP_HOST_DEVICE explicit brain(float x) {
    std::uint32_t word;
    memcpy(&word, &x, sizeof x);
    bits = static_cast<std::uint16_t>((word + 0x8000u) >> 16);
  }
  explicit brain(int x) : brain(static_cast<float>(x)) {}
  PMPP_HOST_DEVICE operator float() const {
    const std::uint32_t word = std::uint32_t(bits) << 16;
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
  }
};

/// A x in double.
template <class T, class I, class X>
std::vector<double> product(const csr_matrix<T, I>& matrix, const std::vector<X>& x) {
  std::vector<double> y(static_cast<std::size_t>(matrix.rows()));
  for (const auto& [row, column, value] : matrix.triplets())
    y[static_cast<std::size_t>(row)] += double(value) * double(x[static_cast<std::size_t>(column)]);
  return y;
}

/// y <- 2 A x - 3 y and y <- A x, with NaN in y and guards around it, are exact.
template <pmpp::spmv_tuning Tuning, class where, class X, class Y, class T, class I>
void check_exact(const csr_matrix<T, I>& matrix) {
  const typename where::policy policy{};
  const auto rows = static_cast<std::size_t>(matrix.rows());
  const auto x = test::integers<X>(matrix.cols());
  const auto before = test::integers<Y>(matrix.rows());
  const auto exact = product(matrix, x);
  const auto on_machine = test::put_matrix<where>(matrix);
  const auto in = where::put(x);
  const std::size_t guards = 5;
  std::vector<Y> around(rows + 2 * guards, Y(99));
  for (std::size_t i = 0; i < rows; ++i)
    around[i + guards] = std::numeric_limits<Y>::has_quiet_NaN ? std::numeric_limits<Y>::quiet_NaN() : Y(77);
  auto y = where::put(around);
  pmpp::spmv<test::tuned<where>(Tuning)>(policy, 1, on_machine, in, 0, y.begin() + guards);
  pmpp::synchronize(policy);
  std::vector<Y> wanted = around;
  for (std::size_t i = 0; i < rows; ++i) wanted[i + guards] = static_cast<Y>(static_cast<float>(exact[i]));
  const auto same = [&](const std::vector<Y>& got) {
    return std::memcmp(static_cast<const void*>(got.data()), static_cast<const void*>(wanted.data()),
                       got.size() * sizeof(Y)) == 0 ||
           std::equal(got.begin(), got.end(), wanted.begin(), [](Y a, Y b) { return a == b; });
  };
  CHECK(same(where::get(y)));
  for (std::size_t i = 0; i < rows; ++i) {
    around[i + guards] = before[i];
    wanted[i + guards] = static_cast<Y>(static_cast<float>(2 * exact[i] - 3 * double(before[i])));
  }
  y = where::put(around);
  pmpp::spmv<test::tuned<where>(Tuning)>(policy, 2, on_machine.view(), in.begin(), -3.0, y.begin() + guards);
  pmpp::synchronize(policy);
  CHECK(same(where::get(y)));
}

/// |y - A x| <= (nonzeros of the row + 1) eps |A| |x|, in a compensated reference.
template <class T, class X, class Y, class I>
void check_bound(const csr_matrix<T, I>& matrix, const std::vector<X>& x, const std::vector<Y>& y, double eps) {
  std::vector<long double> sum(y.size()), lost(y.size()), magnitude(y.size());
  for (const auto& [row, column, value] : matrix.triplets()) {
    const auto i = static_cast<std::size_t>(row);
    const long double p = static_cast<long double>(value) * static_cast<long double>(x[std::size_t(column)]);
    const long double next = sum[i] + (p - lost[i]);
    lost[i] = (next - sum[i]) - (p - lost[i]);
    sum[i] = next;
    magnitude[i] += std::abs(p);
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto count = double(matrix.offsets()[i + 1] - matrix.offsets()[i]);
    if (!(std::abs(y[i] - sum[i]) <= (count + 1) * eps * double(magnitude[i]))) ++wrong;
  }
  CHECK(wrong == 0);
}

template <class where, class T, class X, class Y, class I = int>
void check_types() {
  for (const auto& [name, matrix] : test::structures<T, I>(1500)) {
    CAPTURE(name);
    check_exact<pmpp::spmv_tuning{}, where, X, Y>(matrix);
  }
}

}  // namespace

TEST_ALL_PLACES("by hand") {
  const typename where::policy policy{};
  // [by_hand]
  //     1 0 2
  // A = 0 0 0     x = 1 2 3
  //     0 4 0
  const auto offsets = where::put(std::vector<int>{0, 2, 2, 3});
  const auto columns = where::put(std::vector<int>{0, 2, 1});
  const auto values = where::put(std::vector<float>{1, 2, 4});
  const auto x = where::put(std::vector<float>{1, 2, 3});
  auto y = where::put(std::vector<float>{10, 20, 30});
  const pmpp::csr_view A{3, 3, offsets.data(), columns.data(), values.data()};
  pmpp::spmv(policy, 1.0f, A, x, 0.0f, y);  // y <- A x
  pmpp::synchronize(policy);
  CHECK(where::get(y) == std::vector<float>{7, 0, 8});
  pmpp::spmv(policy, 2.0f, A, x, -1.0f, y);  // y <- 2 A x - y
  pmpp::synchronize(policy);
  CHECK(where::get(y) == std::vector<float>{7, 0, 8});
  // [end]
}

TEST_ALL_PLACES("every structure") {
  for (const std::int64_t n : {10, 300, PMPP_CUDA ? 5000 : 2000})
    for (const auto& [name, matrix] : test::structures<float>(n)) {
      CAPTURE(name);
      CAPTURE(n);
      CAPTURE(test::seed());
      check_exact<pmpp::spmv_tuning{}, where, float, float>(matrix);
      check_exact<tiny, where, float, float>(matrix);
      check_exact<odd, where, float, float>(matrix);
      check_exact<stretched, where, float, float>(matrix);
    }
}

TEST_ALL_PLACES("large structures") {
  for (const auto& [name, matrix] : test::structures<float>(PMPP_CUDA ? 3000000 : 12000)) {
    CAPTURE(name);
    check_exact<pmpp::spmv_tuning{}, where, float, float>(matrix);
    check_exact<stretched, where, float, float>(matrix);
  }
}

TEST_ALL_PLACES("types of values, vectors and indices") {
  check_types<where, double, double, double>();
  check_types<where, float, double, double>();
  check_types<where, double, float, float>();
  check_types<where, brain, brain, brain>();
  check_types<where, brain, float, float>();
  check_types<where, int, int, int>();
  check_types<where, std::int8_t, std::int8_t, std::int64_t>();
  check_types<where, float, float, float, std::int64_t>();
  check_types<where, double, double, double, std::int64_t>();
}

TEST_ALL_PLACES("sums that round stay within the bound") {
  const typename where::policy policy{};
  for (auto& [name, matrix] : test::structures<float>(20000)) {
    CAPTURE(name);
    const auto x = test::random_values<float>(matrix.cols());
    const auto values = test::random_values<float>(matrix.nonzeros());
    std::copy(values.begin(), values.end(), matrix.values().begin());
    auto y = where::put(std::vector<float>(std::size_t(matrix.rows())));
    pmpp::spmv(policy, 1, test::put_matrix<where>(matrix), where::put(x), 0, y);
    pmpp::synchronize(policy);
    check_bound(matrix, x, where::get(y), 0x1p-24);
  }
}

TEST_ALL_PLACES("patterns, and rows of a larger matrix") {
  const typename where::policy policy{};
  auto ones = test::matrix_of<double, int>(700, 300, [](std::int64_t i) { return i % 40; });
  std::fill(ones.values().begin(), ones.values().end(), 1.0);
  const auto x = test::integers<double>(300);
  const auto exact = product(ones, x);
  const auto on_machine = test::put_matrix<where>(ones);
  const auto in = where::put(x);
  auto y = where::put(std::vector<double>(700));
  const auto all = on_machine.view();
  pmpp::spmv(policy, 1, all.pattern(), in, 0, y);
  pmpp::synchronize(policy);
  CHECK(where::get(y) == exact);
  auto some = where::put(std::vector<double>(700, -1.0));
  const pmpp::csr_view<const double, const int> part{200, 300, all.offsets + 150, all.columns, all.values};
  pmpp::spmv(policy, 1, part, in, 0, some);
  pmpp::synchronize(policy);
  const auto got = where::get(some);
  CHECK(std::equal(got.begin(), got.begin() + 200, exact.begin() + 150));
  CHECK(got[200] == -1.0);
}

TEST_ALL_PLACES("indices of any size") {
  const typename where::policy policy{};
  const auto check = [&]<class I>(I) {
    std::vector<I> offsets{0}, columns;
    std::vector<int> wanted;
    for (int i = 0; i < 40; ++i) {
      wanted.push_back(0);
      for (int k = 0; k < i % 13; ++k) {
        columns.push_back(static_cast<I>((i * k) % 50));
        wanted.back() += 1 + (i * k) % 50;
      }
      offsets.push_back(static_cast<I>(columns.size()));
    }
    std::vector<int> x(50);
    for (int i = 0; i < 50; ++i) x[std::size_t(i)] = i + 1;
    const auto at = where::put(offsets), in = where::put(columns);
    const auto from = where::put(x);
    auto y = where::put(std::vector<int>(40, -1));
    pmpp::spmv(policy, 1, pmpp::csr_view<void, const I>{40, 50, at.data(), in.data()}, from, 0, y);
    pmpp::synchronize(policy);
    CHECK(where::get(y) == wanted);
  };
  check(std::uint8_t());
  check(std::int16_t());
  check(std::uint32_t());
  check(std::uint64_t());
}

TEST_ALL_PLACES("NaN and infinities: stored zeros count, absent entries do not") {
  const typename where::policy policy{};
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const csr_matrix<float> matrix(4, 3, {0, 1, 2, 3, 3}, {0, 1, 1}, {0, 1, 0});
  auto y = where::put(std::vector<float>(4, nan));
  pmpp::spmv(policy, 1, test::put_matrix<where>(matrix), where::put(std::vector<float>{1, inf, nan}), 0, y);
  pmpp::synchronize(policy);
  const auto got = where::get(y);
  CHECK(got[0] == 0);
  CHECK(got[1] == inf);
  CHECK(std::isnan(got[2]));
  CHECK(got[3] == 0);
}

TEST_ALL_PLACES("real matrices") {
#if TEST_HAS_ZLIB
  const typename where::policy policy{};
  if (test::only_small()) return;
  auto files = test::files_in("matrices", ".mtx.gz");
  for (const std::string& path : test::files_in("small", ".mtx")) files.push_back(path);
  for (const std::string& path : files) {
    CAPTURE(path);
    const std::string text = test::text_of(path);
    if (text.find(" complex ") < 60 || text.find("nan") != std::string::npos || text.find("inf") < text.size())
      continue;
    if (!PMPP_CUDA && where::on_device && text.size() > 5000000) continue;  // the emulator takes its time
    const auto matrix = pmpp::parse_matrix_market<double>(text, path);
    const auto x = test::random_values<double>(matrix.cols());
    auto y = where::put(std::vector<double>(std::size_t(matrix.rows())));
    pmpp::spmv(policy, 1, test::put_matrix<where>(matrix), where::put(x), 0, y);
    pmpp::synchronize(policy);
    check_bound(matrix, x, where::get(y), 0x1p-53);
  }
#else
  MESSAGE("skipped: built without zlib, the matrices are compressed");
#endif
}

#if !PMPP_CUDA
TEST_CASE("blocks and threads in any order") {
  const auto cases = test::structures<float>(700);
  test::for_each_order(8, [&](std::uint64_t seed) {
    const auto& [name, matrix] = cases[seed * 5 % cases.size()];
    CAPTURE(name);
    check_exact<tiny, test::device_place, float, float>(matrix);
    check_exact<stretched, test::device_place, float, float>(matrix);
    check_exact<pmpp::spmv_tuning{}, test::device_place, float, float>(matrix);
  });
}
#endif

TEST_CASE("the same bits on every run and for any number of host threads") {
  for (auto& [name, matrix] : test::structures<float>(PMPP_CUDA ? 40000 : 12000)) {
    CAPTURE(name);
    const auto values = test::random_values<float>(matrix.nonzeros());
    std::copy(values.begin(), values.end(), matrix.values().begin());
    const auto x = test::random_values<float>(matrix.cols());
    std::vector<float> first, again(std::size_t(matrix.rows()));
    for (const int threads : {1, 2, 3, 4}) {
      pmpp::spmv(pmpp::host.threads(threads), 1, matrix, x, 0, again);
      if (threads == 1) first = again;
      CHECK(first == again);
    }
    const pmpp::device_csr_matrix on_device(matrix);
    const pmpp::device_buffer<float> in(x);
    for (int i = 0; i < 3; ++i) {
      pmpp::device_buffer<float> y(matrix.rows());
      pmpp::spmv(device, 1, on_device, in, 0, y);
      pmpp::synchronize(device);
      if (i == 0) first = pmpp::to_host(y);
      CHECK(pmpp::to_host(y) == first);
    }
  }
}

TEST_CASE("a workspace serves any number of calls, whatever their sizes") {
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  for (const std::int64_t n : test::some_of({5000, 3, 700, PMPP_CUDA ? 20000 : 7000, 50}))
    for (const auto& [name, matrix] : test::structures<float>(n)) {
      CAPTURE(name);
      const auto x = test::integers<float>(matrix.cols());
      const pmpp::device_csr_matrix on_device(matrix);
      pmpp::device_buffer<float> y(matrix.rows());
      pmpp::spmv<tiny>(policy, 1, on_device, pmpp::device_buffer<float>(x), 0, y);
      pmpp::synchronize(policy);
      const auto exact = product(matrix, x), got = product(matrix, x);
      const auto result = pmpp::to_host(y);
      CHECK(std::equal(result.begin(), result.end(), exact.begin(), [](float a, double b) { return a == b; }));
    }
}

#if PMPP_CUDA
TEST_CASE("a captured graph, replayed on another matrix, in another stream") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  const std::int64_t rows = 3000, cols = 900, most = 200000;
  pmpp::device_buffer<int> offsets(rows + 1), columns(most);
  pmpp::device_buffer<float> values(most), x(cols), y(rows);
  const pmpp::csr_view A{rows, cols, offsets.data(), columns.data(), values.data()};
  const auto enqueue = [&] { pmpp::spmv(policy, 1, A, x, 0, y); };
  pmpp::fill(policy, offsets, 0);
  enqueue();
  stream.synchronize();
  const test::captured_graph replayed(stream, enqueue);
  for (int round = 0; round < test::turns(20); ++round) {
    const auto matrix = test::matrix_of<float, int>(rows, cols, [&](std::int64_t i) {
      return i == 100 * round ? 50000 : static_cast<std::int64_t>(test::generator()() % (2 * round + 1));
    });
    const auto v = test::integers<float>(cols);
    const auto n = static_cast<std::size_t>(matrix.nonzeros());
    pmpp::copy(stream, matrix.offsets(), offsets);
    pmpp::copy(stream, matrix.columns(), std::span(columns.data(), n));
    pmpp::copy(stream,
               matrix.view().nonzeros() > 0 ? std::span<const float>(matrix.values()) : std::span<const float>(),
               std::span(values.data(), n));
    pmpp::copy(stream, v, x);
    replayed.replay();
    stream.synchronize();
    const auto exact = product(matrix, v);
    const auto got = pmpp::to_host(y);
    CHECK(std::equal(got.begin(), got.end(), exact.begin(), [](float a, double b) { return a == b; }));
  }
}

namespace {
struct column_of {
  std::int64_t cols;
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t i) const { return i % cols; }
};
}  // namespace

TEST_CASE("past 2^31 nonzeros") {
  std::size_t available = 0, total = 0;
  pmpp::check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  const std::int64_t n = (std::int64_t(1) << 31) + 1000003, rows = 1000, cols = 1 << 20;
  if (available < std::size_t(n) * 8 + (std::size_t(1) << 30)) {
    MESSAGE("skipped: needs 18 GB of device memory");
    return;
  }
  std::vector<std::int64_t> offsets(rows + 1);  // the longest row: 2^31 + 3
  for (std::int64_t i = 1; i <= rows; ++i) offsets[std::size_t(i)] = i <= 500 ? i * 1000 : n - (rows - i) * 1000;
  const pmpp::device_buffer<std::int64_t> at(offsets);
  pmpp::device_buffer<std::int64_t> columns(n);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(device, i, i + n, columns, column_of{cols});
  const pmpp::device_buffer<double> x(cols, 1.0);
  pmpp::device_buffer<double> y(rows, -1.0);
  pmpp::spmv(device, 1,
             pmpp::csr_view<void, std::int64_t>{rows, cols, const_cast<std::int64_t*>(at.data()), columns.data()}, x, 0,
             y);
  pmpp::synchronize(device);
  const auto got = pmpp::to_host(y);
  for (std::size_t row = 0; row < std::size_t(rows); ++row) {
    CAPTURE(row);
    CHECK(got[row] == double(offsets[row + 1] - offsets[row]));
  }
}
#endif

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const csr_matrix<float> matrix(3, 2, {0, 1, 1, 2}, {0, 1}, {1, 2});
  const auto on_machine = test::put_matrix<where>(matrix);
  const auto x = where::put(std::vector<float>(2, 1.0f)), short_x = where::put(std::vector<float>(1, 1.0f));
  auto y = where::put(std::vector<float>(3, 77.0f)), short_y = where::put(std::vector<float>(2, 77.0f));
  float* const null = nullptr;
  const int* const no_offsets = nullptr;
  const auto view = on_machine.view();
  const pmpp::csr_view<const float, const int> negative{-3, 2, view.offsets, view.columns, view.values};
  const pmpp::csr_view<const float, const int> without{3, 2, no_offsets, view.columns, view.values};
  CHECK_THROWS_AS(pmpp::spmv(policy, 1, on_machine, short_x, 0, y), std::length_error);
  CHECK_THROWS_AS(pmpp::spmv(policy, 1, on_machine, x, 0, short_y), std::length_error);
  CHECK_THROWS_AS(pmpp::spmv(policy, 1, on_machine, null, 0, y), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::spmv(policy, 1, on_machine, x, 0, null), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::spmv(policy, 1, negative, x, 0, y), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::spmv(policy, 1, without, x, 0, y), std::invalid_argument);
  CHECK_THROWS_WITH(pmpp::spmv(policy, 1, on_machine, y.data() + 2, 0, y.data()),
                    "pmpp::spmv: x (2 elements) and y (3) overlap");
  CHECK(where::get(y) == std::vector<float>(3, 77.0f));
  CHECK(where::get(short_y) == std::vector<float>(2, 77.0f));
  pmpp::spmv(policy, 1, pmpp::csr_view<const float, const int>{}, null, 0, null);  // no rows: nothing to do
}
