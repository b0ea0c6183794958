// SPDX-License-Identifier: Apache-2.0
//
// spmv on pmpp::host beside a plain OpenMP loop over rows (schedule static) and one with schedule(dynamic, 64). Wall time
// of the whole call.
//
// band       27 nonzeros a row next to the diagonal
// short      0, 1, 2 or 3 a row next to the diagonal
// power law  row i has about n / 20 / (i + 1) nonzeros in random columns, and 4 more
// one long   rows of 4, but for one with three quarters of all
#include <memory>
#include <string>

#include <pmpp/spmv.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

struct matrix {
  std::int64_t rows = 0;
  std::vector<int> offsets{0}, columns;
  std::vector<float> values;
};

template <class Length, class Column>
matrix matrix_of(std::int64_t rows, Length length, Column column) {
  matrix m;
  m.rows = rows;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < length(i); ++k) {
      m.columns.push_back(static_cast<int>(column(i, k)));
      m.values.push_back(bench::random_element<float>{}(std::int64_t(m.values.size())));
    }
    m.offsets.push_back(static_cast<int>(m.columns.size()));
  }
  return m;
}

matrix make_matrix(const std::string& shape, std::int64_t n) {
  const auto near = [](std::int64_t rows, std::int64_t width) {
    return [=](std::int64_t i, std::int64_t k) { return std::clamp<std::int64_t>(i - width / 2, 0, rows - width) + k; };
  };
  const auto random = [](std::int64_t rows) {
    return [=](std::int64_t i, std::int64_t k) {
      return static_cast<std::int64_t>(bench::random_bits(i * 1000003 + k) % static_cast<std::uint64_t>(rows));
    };
  };
  if (shape == "band")
    return matrix_of(
        n / 27, [](std::int64_t) { return 27; }, near(n / 27, 27));
  if (shape == "short")
    return matrix_of(
        2 * n / 3, [](std::int64_t i) { return i % 4; }, near(2 * n / 3, 3));
  if (shape == "power law")
    return matrix_of(
        n / 8, [=](std::int64_t i) { return n / 20 / (i + 1) + 4; }, random(n / 8));
  return matrix_of(
      n / 16, [=](std::int64_t i) { return i == n / 32 ? n * 3 / 4 : 4; }, near(n / 16, 4));
}

float row_sum(const matrix& m, const std::vector<float>& x, std::int64_t row) {
  float sum = 0;
  for (int i = m.offsets[std::size_t(row)]; i < m.offsets[std::size_t(row) + 1]; ++i)
    sum += m.values[std::size_t(i)] * x[std::size_t(m.columns[std::size_t(i)])];
  return sum;
}

void add_spmv(const std::string& shape, std::int64_t n) {
  bench::add("host spmv/f32/" + shape, n, 8.0 * double(n), [=](int) {
    const auto m = std::make_shared<matrix>(make_matrix(shape, n));
    const auto x = std::make_shared<std::vector<float>>();
    // One long row repeats the columns of the matrix.
    for (int& column : m->columns) column = static_cast<int>(column % m->rows);
    for (std::int64_t i = 0; i < m->rows; ++i) x->push_back(bench::random_element<float>{}(bench::second + i));
    const auto y = std::make_shared<std::vector<float>>(std::size_t(m->rows));
    subject s;
    s.clock = bench::timer::host;
    s.contenders = {{"pmpp",
                     [=](int) {
                       const pmpp::csr_view A{m->rows, m->rows, m->offsets.data(), m->columns.data(), m->values.data()};
                       pmpp::spmv(pmpp::host, 1, A, *x, 0, *y);
                     }},
                    {"omp rows",
                     [=](int) {
#pragma omp parallel for schedule(static)
                       for (std::int64_t row = 0; row < m->rows; ++row) (*y)[std::size_t(row)] = row_sum(*m, *x, row);
                     }},
                    {"omp rows dynamic", [=](int) {
#pragma omp parallel for schedule(dynamic, 64)
                       for (std::int64_t row = 0; row < m->rows; ++row) (*y)[std::size_t(row)] = row_sum(*m, *x, row);
                     }}};
    s.spoil = [=] { std::fill(y->begin(), y->end(), 1e30f); };
    s.fault = [=] {
      for (std::int64_t row = 0; row < m->rows; ++row) {
        double wanted = 0, magnitude = 0;
        for (int i = m->offsets[std::size_t(row)]; i < m->offsets[std::size_t(row) + 1]; ++i) {
          const double p = double(m->values[std::size_t(i)]) * double((*x)[std::size_t(m->columns[std::size_t(i)])]);
          wanted += p;
          magnitude += std::abs(p);
        }
        if (!(std::abs(wanted - double((*y)[std::size_t(row)])) <= 1e-3 * magnitude))
          return "row " + std::to_string(row);
      }
      return std::string();
    };
    return s;
  });
}

void add_cases() {
  for (const char* const shape : {"band", "short", "power law", "one long"}) add_spmv(shape, 1 << 24);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
