// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of reduce_columns.hpp, on every policy: each column has the result of a loop, for every number of columns around
// a warp, a block and several, rows from none to many slabs, rows with gaps, columns that lie contiguous, columns of another matrix;
// the order of operands does not matter and the same call gives the same bits; sums of another type than elements; functions of elements;
// least and greatest with NaN; user types; another stream, a graph; bad input throws and touches nothing.
#include <pmpp/reduce_columns.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

std::vector<int> some_ints(std::int64_t n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (auto& x : v) x = static_cast<int>(test::generator()() % 2001) - 1000;
  return v;
}

/// Checks the sums of rows x cols elements whose rows begin `stride` apart, the first of them `shift` elements into the array.
template <class where>
void check_sums(std::int64_t rows, std::int64_t cols, std::int64_t stride, std::int64_t shift) {
  const typename where::policy policy{};
  CAPTURE(rows);
  CAPTURE(cols);
  CAPTURE(stride);
  const auto v = some_ints(rows * stride + shift + 1);
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(cols) + 2, 77);
  for (std::int64_t j = 0; j < cols; ++j) {
    wanted[std::size_t(j)] = 5;
    for (std::int64_t i = 0; i < rows; ++i) wanted[std::size_t(j)] += v[std::size_t(shift + i * stride + j)];
  }
  const auto x = where::input(v);
  auto out = where::put(std::vector<std::int64_t>(wanted.size(), 77));
  const pmpp::matrix_view m(x.data() + shift, rows, cols, stride);
  CHECK(pmpp::reduce_columns(policy, m, out, std::int64_t(5)) == out.begin() + cols);
  pmpp::synchronize(policy);
  CHECK(where::get(out) == wanted);
}

struct complex_of {
  PMPP_HOST_DEVICE pmpp::pair<double, double> operator()(float x) const { return {x, double(x) * x}; }
};
struct add_both {
  PMPP_HOST_DEVICE pmpp::pair<double, double> operator()(const pmpp::pair<double, double>& a,
                                                         const pmpp::pair<double, double>& b) const {
    return {a.first + b.first, a.second + b.second};
  }
};

}  // namespace

TEST_ALL_PLACES("sums: every number of columns and rows") {
  for (const std::int64_t cols : test::some_of<std::int64_t>(
           {1, 2, 3, 5, 7, 31, 32, 33, 127, 170, 171, 255, 256, 257, 511, 512, 513, 1025, 2600}))
    for (const std::int64_t rows : test::some_of<std::int64_t>({0, 1, 2, 3, 17, 64, 333, 4000})) {
      if (rows * cols > 2'000'000) continue;
      check_sums<where>(rows, cols, cols, 0);
      check_sums<where>(rows, cols, cols + 3, 1);
    }
  check_sums<where>(100'003, 3, 3, 1);
  check_sums<where>(70'001, 10, 10, 0);
}

TEST_ALL_PLACES("sums: floats, columns that lie contiguous, the same bits again") {
  const typename where::policy policy{};
  const std::int64_t rows = 5003, cols = 37;
  std::vector<float> v(std::size_t(rows * cols));
  for (auto& x : v) x = float(test::generator()() % 1000) / 7;
  const auto x = where::input(v);
  for (const bool turned : {false, true}) {
    const auto m =
        turned ? pmpp::transposed(pmpp::matrix_view(x.data(), cols, rows)) : pmpp::matrix_view(x.data(), rows, cols);
    auto out = where::put(std::vector<float>(std::size_t(cols))),
         again = where::put(std::vector<float>(std::size_t(cols)));
    pmpp::reduce_columns(policy, m, out);
    pmpp::reduce_columns(policy, m, again);
    pmpp::synchronize(policy);
    const auto got = where::get(out);
    CHECK(got == where::get(again));
    for (std::int64_t j = 0; j < cols; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < rows; ++i) sum += v[std::size_t(turned ? j * rows + i : i * cols + j)];
      CHECK(std::abs(got[std::size_t(j)] - sum) <= 1e-5 * sum);
    }
    auto moments = where::put(std::vector<pmpp::pair<double, double>>(std::size_t(cols)));
    pmpp::reduce_columns(policy, m, moments, pmpp::pair<double, double>{}, add_both{}, complex_of{});
    pmpp::synchronize(policy);
    const auto both = where::get(moments);
    for (std::int64_t j = 0; j < cols; ++j) {
      double squares = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const double y = v[std::size_t(turned ? j * rows + i : i * cols + j)];
        squares += y * y;
      }
      CHECK(std::abs(both[std::size_t(j)].second - squares) <= 1e-9 * squares);
    }
  }
}

TEST_ALL_PLACES("extremes: of every column, NaN loses") {
  const typename where::policy policy{};
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t cols : {1, 3, 40, 700}) {
    CAPTURE(cols);
    const std::int64_t rows = 3001;
    std::vector<float> v(std::size_t(rows * cols));
    for (auto& x : v) x = float(test::generator()() % 100'000) - 50'000;
    std::vector<pmpp::pair<float, float>> wanted(static_cast<std::size_t>(cols));
    for (std::int64_t j = 0; j < cols; ++j) {
      auto& [least, most] = wanted[std::size_t(j)] = {v[std::size_t(j)], v[std::size_t(j)]};
      for (std::int64_t i = 0; i < rows; ++i) {
        least = std::min(least, v[std::size_t(i * cols + j)]);
        most = std::max(most, v[std::size_t(i * cols + j)]);
      }
    }
    for (std::int64_t j = 0; j < cols; ++j) {
      // A NaN stands where neither the least nor the greatest is.
      auto& x = v[std::size_t((rows - 1 - j % 5) * cols + j)];
      if (x != wanted[std::size_t(j)].first && x != wanted[std::size_t(j)].second) x = nan;
    }
    const auto x = where::input(v);
    auto out = where::put(std::vector<pmpp::pair<float, float>>(std::size_t(cols)));
    CHECK(pmpp::minmax_columns(policy, pmpp::matrix_view(x.data(), rows, cols), out) == out.end());
    pmpp::synchronize(policy);
    CHECK(where::get(out) == wanted);
  }
}

TEST_ALL_PLACES("bad input throws, and touches nothing") {
  const typename where::policy policy{};
  const auto x = where::input(std::vector<int>(12, 1));
  auto out = where::put(std::vector<int>(3, -1));
  CHECK_THROWS_AS(pmpp::reduce_columns(policy, pmpp::matrix_view(x.data(), 3, 4), out, 0), std::length_error);
  CHECK_THROWS_AS(pmpp::reduce_columns(policy, pmpp::matrix_view<const int>(nullptr, 3, 3), out, 0),
                  std::invalid_argument);
  auto pairs = where::put(std::vector<pmpp::pair<int, int>>(3));
  CHECK_THROWS_AS(pmpp::minmax_columns(policy, pmpp::matrix_view(x.data(), 0, 3), pairs), std::invalid_argument);
  CHECK(where::get(out) == std::vector<int>(3, -1));
  CHECK(pmpp::minmax_columns(policy, pmpp::matrix_view(x.data(), 0, 0), pairs) == pairs.begin());
}

#if PMPP_CUDA
TEST_CASE("in a graph, on another stream, scratch from a workspace") {
  const std::int64_t rows = 200'000, cols = 7;
  const auto v = some_ints(rows * cols);
  const pmpp::device_buffer<int> x(v);
  pmpp::device_buffer<std::int64_t> out(std::vector<std::int64_t>(7, 0));
  pmpp::stream stream;
  pmpp::workspace memory(1 << 20);
  const pmpp::matrix_view m(x.data(), rows, cols);
  const test::captured_graph graph(
      stream, [&] { pmpp::reduce_columns(device.on(stream).with(memory), m, out, std::int64_t(0)); });
  graph.replay();
  stream.synchronize();
  std::vector<std::int64_t> wanted(7);
  for (std::size_t i = 0; i < v.size(); ++i) wanted[i % 7] += v[i];
  CHECK(pmpp::to_host(out) == wanted);
}
#endif
