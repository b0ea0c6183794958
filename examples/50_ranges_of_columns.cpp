// SPDX-License-Identifier: Apache-2.0
//
// A table of measurements is scaled to 0 ... 1 column by column: the range and the mean of every column in one pass each.
#include <cmath>
#include <cstdio>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce_columns.hpp>
#include <pmpp/transform.hpp>

struct scaled {
  const float* table;
  const pmpp::pair<float, float>* range;
  std::int64_t cols;
  PMPP_HOST_DEVICE float operator()(std::int64_t i) const {
    const auto [least, most] = range[i % cols];
    return most > least ? (table[i] - least) / (most - least) : 0.0f;
  }
};

int main() {
  const std::int64_t rows = 100'000, cols = 5;
  std::vector<float> measured;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      measured.push_back(float(std::sin(double(i * (j + 1)))) * float(j + 1) + 10);
  pmpp::device_buffer<float> table(measured);
  // [columns]
  const pmpp::matrix_view<const float> m(table.data(), rows, cols);
  pmpp::device_buffer<pmpp::pair<float, float>> range{cols};
  pmpp::device_buffer<double> sum{cols};
  pmpp::minmax_columns(pmpp::device, m, range);     // the least and the greatest of each column
  pmpp::reduce_columns(pmpp::device, m, sum, 0.0);  // added up in double
  // [end]
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(pmpp::device, i, i + rows * cols, table, scaled{table.data(), range.data(), cols});

  const auto ranges = pmpp::to_host(range);
  const auto sums = pmpp::to_host(sum);
  bool right = true;
  for (std::int64_t j = 0; j < cols; ++j) {
    const auto [least, most] = ranges[std::size_t(j)];
    const double mean = sums[std::size_t(j)] / double(rows);
    std::printf("column %d: %.3f to %.3f, %.3f in the mean\n", int(j), double(least), double(most), mean);
    right = right && std::abs(double(most - least) - 2 * double(j + 1)) < 1e-3 && std::abs(mean - 10) < 1e-2;
  }
  for (const float x : pmpp::to_host(table)) right = right && x >= 0 && x <= 1;
  return right ? 0 : 1;
}
