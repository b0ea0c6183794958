// SPDX-License-Identifier: Apache-2.0
//
// Matrices and slabs on several ranks: stencil, transpose, gemm, spmv.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <pmpp/distributed/gemm.hpp>
#include <pmpp/distributed/matrix.hpp>
#include <pmpp/distributed/spmv.hpp>
#include <pmpp/distributed/spread_csr.hpp>
#include <pmpp/distributed/stencil.hpp>
#include <pmpp/distributed/transpose.hpp>

#include "four_ranks.hpp"
#include "primitives.hpp"

namespace demo {
namespace {

using ranks = pmpp::devices<>;

/// The rows of a picture that n samples have, as floats.
struct plate {
  std::int64_t rows, cols;
  std::vector<float> values;

  plate(const picture& p, std::int64_t n) : cols(std::int64_t(p.width) * p.channels), values() {
    rows = n / cols;
    values.assign(p.samples.begin(), p.samples.begin() + rows * cols);
  }
  /// The element at a place, 0 outside.
  double operator()(std::int64_t y, std::int64_t x) const {
    return y < 0 || y >= rows || x < 0 || x >= cols ? 0.0 : double(values[std::size_t(y * cols + x)]);
  }
};

/// Whether a hundred of the results are near to what exact(y, x) says.
template <class Exact>
bool are_near(const std::vector<float>& got, const plate& p, double most, Exact exact) {
  bool ok = true;
  for (std::int64_t place = 0; place < 100 && p.rows > 0; ++place) {
    const std::int64_t i = p.rows * p.cols * place / 100;
    ok = ok && std::abs(double(got[std::size_t(i)]) - exact(i / p.cols, i % p.cols)) <= most;
  }
  return ok;
}

/// Five points.
outcome smoothed(const ranks& gpus, const plate& p) {
  if (p.rows == 0) return {0, 0, true};
  pmpp::slabs<float, 2> a{gpus, {p.rows, p.cols}, 1}, b{gpus, {p.rows, p.cols}, 1};
  a.copy_from(p.values);
  const pmpp::star<float, 1> points{{0.4f, 0.15f}};
  const double seconds = seconds_on(gpus, [&] { pmpp::stencil(gpus, a, b, pmpp::radius<1>, points); });
  const bool ok = are_near(pmpp::to_host(gpus, b), p, 1e-3, [&](std::int64_t y, std::int64_t x) {
    return 0.4 * p(y, x) + 0.15 * (p(y - 1, x) + p(y + 1, x) + p(y, x - 1) + p(y, x + 1));
  });
  return {seconds, 8.0 * double(p.rows * p.cols), ok};
}

outcome turned(const ranks& gpus, const plate& p) {
  const pmpp::matrix_view<const float> values(p.values.data(), p.rows, p.cols);
  const pmpp::distributed_matrix<float> a{gpus, values};
  pmpp::distributed_matrix<float> b{gpus, p.cols, p.rows};
  const double seconds = seconds_on(gpus, [&] { pmpp::transpose(gpus, a, b); });
  const auto got = pmpp::to_host(gpus, b);
  bool ok = true;
  for (std::int64_t i = 0; i < p.rows * p.cols; ++i)
    ok = ok && got[std::size_t(i % p.cols * p.rows + i / p.cols)] == p.values[std::size_t(i)];
  return {seconds, 8.0 * double(p.rows * p.cols), ok};
}

/// A picture times a mixture of its columns.
outcome mixed(const ranks& gpus, const plate& p) {
  const std::int64_t n = 24;
  std::vector<float> weights(std::size_t(p.cols * n));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = float(i * 7 % 5) - 2;
  const pmpp::distributed_matrix<float> a{gpus, pmpp::matrix_view<const float>(p.values.data(), p.rows, p.cols)};
  const pmpp::distributed_matrix<float> b{gpus, pmpp::matrix_view<const float>(weights.data(), p.cols, n)};
  pmpp::distributed_matrix<float> c{gpus, p.rows, n};
  const double seconds = seconds_on(gpus, [&] { pmpp::gemm(gpus, 1, a, b, 0, c); });
  const auto got = pmpp::to_host(gpus, c);
  bool ok = true;
  for (std::int64_t place = 0; place < 100 && p.rows > 0; ++place) {
    const std::int64_t i = p.rows * n * place / 100, y = i / n;
    double exact = 0, magnitudes = 0;
    for (std::int64_t k = 0; k < p.cols; ++k) {
      const double product = p(y, k) * double(weights[std::size_t(k * n + i % n)]);
      exact += product;
      magnitudes += std::abs(product);
    }
    ok = ok && std::abs(double(got[std::size_t(i)]) - exact) <= double(p.cols) * 6e-8 * magnitudes;
  }
  return {seconds, 4.0 * double(p.rows * p.cols + p.cols * n + p.rows * n), ok};
}

outcome multiplied(const ranks& gpus, const matrix& m, std::int64_t rows) {
  const pmpp::csr_view<const double, const int> view{rows, m.cols, m.offsets.data(), m.columns.data(), m.values.data()};
  const pmpp::spread_csr<double, int> A{gpus, view};
  std::vector<double> vector(std::size_t(m.cols));
  for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = 1 + double(i % 7);
  auto x = pmpp::distributed_buffer<double>::with_sizes(gpus, A.col_sizes());
  auto y = pmpp::distributed_buffer<double>::with_sizes(gpus, A.row_sizes());
  x.copy_from(vector);
  const double seconds = seconds_on(gpus, [&] { pmpp::spmv(gpus, 1, A, x, 0, y); });
  const auto got = pmpp::to_host(gpus, y);
  bool ok = true;
  for (std::size_t row = 0; row < got.size(); ++row) {
    long double exact = 0, magnitudes = 0;
    for (int i = m.offsets[row]; i < m.offsets[row + 1]; ++i) {
      const double p = m.values[std::size_t(i)] * vector[std::size_t(m.columns[std::size_t(i)])];
      exact += p;
      magnitudes += std::abs(p);
    }
    ok = ok && std::abs(got[row] - exact) <= (m.offsets[row + 1] - m.offsets[row] + 2) * 2.3e-16L * magnitudes;
  }
  return {seconds, 12.0 * double(m.offsets[std::size_t(rows)]) + 12.0 * double(rows) + 8.0 * double(m.cols), ok};
}

}  // namespace

void show_distributed_arrays(const inputs& in, table& out) {
  const auto pictures = [&](const char* name, auto task) {
    out.begin(name);
    for (const picture& p : in.pictures)
      on_several_ranks(out, p.name, std::int64_t(p.samples.size()),
                       [&](const ranks& gpus, std::int64_t n) { return task(gpus, plate(p, n)); });
  };
  pictures("several ranks: stencil", smoothed);
  pictures("several ranks: transpose", turned);
  pictures("several ranks: gemm", mixed);
  out.begin("several ranks: spmv");
  for (const matrix& m : in.matrices)
    on_several_ranks(out, m.name, m.rows, [&](const ranks& gpus, std::int64_t n) { return multiplied(gpus, m, n); });
}

}  // namespace demo
