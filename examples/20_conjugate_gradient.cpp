// SPDX-License-Identifier: Apache-2.0
//
// Solves A x = b for a symmetric positive definite sparse matrix by conjugate gradients. The vectors, the numbers and the loop
// stay on the device: the host enqueues it once and waits for the end.
// Without a file A is the five-point Laplacian of a 100 x 100 grid: the temperature of a plate that is heated everywhere
// and cold at its edges.
// usage: 20_conjugate_gradient [matrix.mtx]
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include <pmpp/control_flow.hpp>
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

/// f x + y, where the factor f is one number on the device over another.
struct axpy {
  double sign;
  const double *over, *under;
  PMPP_HOST_DEVICE double operator()(double x, double y) const { return sign * (*over / *under) * x + y; }
};
/// Whether a number is above 1e-20 of another one on the device.
struct is_too_large {
  const double* start;
  PMPP_HOST_DEVICE bool operator()(double x) const { return x > 1e-20 * *start; }
};

int main(int argc, char** argv) try {
  const auto matrix = argc > 1 ? pmpp::read_matrix_market<double>(argv[1]) : plate(100);
  const pmpp::device_csr_matrix A{matrix};
  const std::int64_t n = A.rows();

  // [solve]
  const pmpp::stream stream;
  pmpp::workspace scratch;
  const auto where = pmpp::device.on(stream).with(scratch);
  const vector b(n, 1.0);
  vector x(n, 0.0), residual = b.clone(), direction = b.clone(), image(n);
  vector start(1), rr(1), before(1), curvature(1);  // scalars, which stay on the device too
  pmpp::device_buffer<std::int64_t> steps(1);
  const auto dot = [](auto on, const vector& u, const vector& v, vector& result) {
    pmpp::transform_reduce_into(on, u, v, result, 0.0, pmpp::plus{}, pmpp::multiplies{});
  };
  dot(where, residual, residual, start);
  pmpp::copy(where, start, rr);
  const pmpp::transform_iterator goes_on{rr.data(), is_too_large{start.data()}};
  const auto step = [&](auto on) {  // called once: the device repeats what it enqueues
    pmpp::spmv(on, 1, A, direction, 0, image);
    dot(on, direction, image, curvature);
    pmpp::transform(on, direction, x, x, axpy{1, rr.data(), curvature.data()});
    pmpp::transform(on, image, residual, residual, axpy{-1, rr.data(), curvature.data()});
    pmpp::copy(on, rr, before);
    dot(on, residual, residual, rr);
    pmpp::transform(on, direction, residual, direction, axpy{1, rr.data(), before.data()});
  };
  pmpp::repeat_while(where, goes_on, step, {.most_turns = 5000, .turns = steps.data()});
  pmpp::copy(where, b, residual);
  pmpp::spmv(where, -1, A, x, 1, residual);  // b - A x, from the start
  dot(where, residual, residual, rr);
  // [end]
  const double error = std::sqrt(pmpp::to_host(where, rr)[0] / pmpp::to_host(where, start)[0]);
  std::printf("%lld steps, |b - A x| / |b| = %.1e\n", static_cast<long long>(pmpp::to_host(where, steps)[0]), error);
  return error < 1e-8 ? 0 : 1;
} catch (const std::exception& e) {
  std::printf("%s\n", e.what());
  return 1;
}
// Output ends, without a file (the last digits vary): 208 steps, |b - A x| / |b| = 7.5e-11
