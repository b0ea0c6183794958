// SPDX-License-Identifier: Apache-2.0
//
// The currents in the loops of a circuit. Kirchhoff: around each loop the resistors take what the batteries give. A resistor
// between two loops carries the difference of their currents, so R i = v with a sparse, symmetric, positive definite
// matrix R: the sum of a loop's resistors on the diagonal, and beside it, negative, what it shares with another loop.
// Nonzeros in one place are added, so R is the list of resistors, in any order. Solved by conjugate gradients.
//
//     .--2--.--3--.--1--.
//   10 V    4     5    5 V        ohms; loops 0, 1, 2 from the left, all clockwise
//     '-----'-----'-----'
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/spmv.hpp>
#include <pmpp/transform.hpp>

using vector = pmpp::device_buffer<double>;

constexpr int no_loop = -1;
struct resistor {
  int loop, other;  ///< the loops on its sides
  double ohms;
};

/// a x + y
struct axpy {
  double a;
  PMPP_HOST_DEVICE double operator()(double x, double y) const { return a * x + y; }
};

int main() {
  const std::vector<resistor> circuit = {{0, no_loop, 2}, {0, 1, 4}, {1, no_loop, 3}, {1, 2, 5}, {2, no_loop, 1}};
  const std::vector<double> volts = {10, 0, -5};  // what batteries give to each loop
  const auto loops = static_cast<std::int64_t>(volts.size());

  // [assemble]
  std::vector<pmpp::triplet<double>> nonzeros;
  for (const auto& [loop, other, ohms] : circuit) {
    nonzeros.push_back({loop, loop, ohms});
    if (other == no_loop) continue;
    nonzeros.push_back({other, other, ohms});
    nonzeros.push_back({loop, other, -ohms});
    nonzeros.push_back({other, loop, -ohms});
  }
  const pmpp::device_csr_matrix R{pmpp::csr_matrix<double>::from_triplets(loops, loops, nonzeros)};
  // [end]

  const auto dot = [&](const vector& a, const vector& b) {
    return pmpp::transform_reduce(pmpp::device, a, b, 0.0, pmpp::plus{}, pmpp::multiplies{});
  };
  vector current(loops, 0.0), residual{volts}, direction{volts}, image(loops);
  double rr = dot(residual, residual);
  for (int step = 1; step <= 10 && rr > 1e-24; ++step) {
    pmpp::spmv(pmpp::device, 1, R, direction, 0, image);
    const double alpha = rr / dot(direction, image);
    pmpp::transform(pmpp::device, direction, current, current, axpy{alpha});
    pmpp::transform(pmpp::device, image, residual, residual, axpy{-alpha});
    const double before = std::exchange(rr, dot(residual, residual));
    pmpp::transform(pmpp::device, direction, residual, direction, axpy{rr / before});
    std::printf("step %d  |v - R i| = %.1e\n", step, std::sqrt(rr));
  }

  // What the batteries give is what the resistors turn into heat.
  const std::vector<double> i = pmpp::to_host(current);
  double given = 0, heat = 0;
  for (std::size_t loop = 0; loop < i.size(); ++loop) {
    given += volts[loop] * i[loop];
    std::printf("loop %zu: %7.4f A\n", loop, i[loop]);
  }
  for (const auto& [loop, other, ohms] : circuit) {
    const double through = i[std::size_t(loop)] - (other == no_loop ? 0 : i[std::size_t(other)]);
    heat += ohms * through * through;
  }
  std::printf("batteries give %.4f W, resistors take %.4f W\n", given, heat);
  return std::abs(given - heat) < 1e-9 && given > 0 ? 0 : 1;
}
