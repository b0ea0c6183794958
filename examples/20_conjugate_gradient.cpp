// SPDX-License-Identifier: Apache-2.0
//
// Solves A x = b for a symmetric positive definite sparse matrix by conjugate gradients; the vectors stay on the device.
// Without a file A is the five-point Laplacian of a 100 x 100 grid: the temperature of a plate that is heated everywhere
// and cold at its edges.
// usage: 20_conjugate_gradient [matrix.mtx]
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include <pmpp/io/matrix_market.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/spmv.hpp>
#include <pmpp/transform.hpp>

using vector = pmpp::device_buffer<double>;

pmpp::csr_matrix<double> plate(int n) {
  std::vector<pmpp::triplet<double>> nonzeros;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const int here = i * n + j;
      nonzeros.push_back({here, here, 4});
      if (i > 0) nonzeros.push_back({here, here - n, -1});
      if (i < n - 1) nonzeros.push_back({here, here + n, -1});
      if (j > 0) nonzeros.push_back({here, here - 1, -1});
      if (j < n - 1) nonzeros.push_back({here, here + 1, -1});
    }
  return pmpp::csr_matrix<double>::from_triplets(n * n, n * n, nonzeros);
}

/// a x + y
struct axpy {
  double a;
  PMPP_HOST_DEVICE double operator()(double x, double y) const { return a * x + y; }
};

int main(int argc, char** argv) try {
  const auto matrix = argc > 1 ? pmpp::read_matrix_market<double>(argv[1]) : plate(100);
  const pmpp::device_csr_matrix A{matrix};
  const std::int64_t n = A.rows();
  std::printf("%lld equations, %lld nonzeros\n", static_cast<long long>(n), static_cast<long long>(A.nonzeros()));

  // [solve]
  pmpp::workspace scratch;
  const auto where = pmpp::device.with(scratch);
  const auto dot = [&](const vector& a, const vector& b) {
    return pmpp::transform_reduce(where, a, b, 0.0, pmpp::plus{}, pmpp::multiplies{});
  };
  const vector b(n, 1.0);
  vector x(n, 0.0), residual = b.clone(), direction = b.clone(), image(n);
  const double start = dot(residual, residual);
  double rr = start;
  int step = 0;
  for (; step < 5000 && rr > 1e-20 * start; ++step) {
    if (step % 50 == 0) std::printf("step %4d  |residual| / |b| = %.3e\n", step, std::sqrt(rr / start));
    pmpp::spmv(where, 1, A, direction, 0, image);
    const double alpha = rr / dot(direction, image);
    pmpp::transform(where, direction, x, x, axpy{alpha});
    pmpp::transform(where, image, residual, residual, axpy{-alpha});
    const double before = std::exchange(rr, dot(residual, residual));
    pmpp::transform(where, direction, residual, direction, axpy{rr / before});
  }
  pmpp::copy(where, b, residual);
  pmpp::spmv(where, -1, A, x, 1, residual);  // b - A x, from the start
  // [end]
  const double error = std::sqrt(dot(residual, residual) / start);
  std::printf("%d steps, |b - A x| / |b| = %.1e\n", step, error);
  return error < 1e-8 ? 0 : 1;
} catch (const std::exception& e) {
  std::printf("%s\n", e.what());
  return 1;
}
// Output ends, without a file (the last digits vary): 208 steps, |b - A x| / |b| = 7.5e-11
