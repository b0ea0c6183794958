// SPDX-License-Identifier: Apache-2.0
//
// The heat in a square plate whose rim is kept cold, from five numbers a point: a system of linear equations with a sparse matrix, solved
// by conjugate gradients. Rows of the matrix, and with them the vectors, lie in blocks on several processes. Each product sends a
// neighbour one row of the plate, while the rest is multiplied; each dot product one number.
//
//   mpirun -np 4 example_distributed_conjugate_gradients_cpu
#include <pmpp/distributed/mpi_communicator.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/spmv.hpp>
#include <pmpp/distributed/spread_csr.hpp>

/// x + factor y
struct add_scaled {
  double factor;
  PMPP_HOST_DEVICE double operator()(double x, double y) const { return x + factor * y; }
};

/// -1 above, below, left and right, 4 at the point itself: side x side points.
pmpp::csr_matrix<double> plate(std::int64_t side) {
  std::vector<pmpp::triplet<double>> entries;
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      const auto point = static_cast<int>(y * side + x), row = static_cast<int>(side);
      entries.push_back({point, point, 4});
      if (x > 0) entries.push_back({point, point - 1, -1});
      if (x + 1 < side) entries.push_back({point, point + 1, -1});
      if (y > 0) entries.push_back({point, point - row, -1});
      if (y + 1 < side) entries.push_back({point, point + row, -1});
    }
  return pmpp::csr_matrix<double>::from_triplets(side * side, side * side, entries);
}

template <class G>
bool solve(const G& gpus) {
  const std::int64_t side = 128, most_steps = 1000;
  const auto host_matrix = plate(side);
  const std::vector<double> heat(std::size_t(side * side), 1);  // the same everywhere

  // [solve]
  const pmpp::spread_csr<double> A{gpus, host_matrix};
  const auto vector = [&] { return pmpp::distributed_buffer<double>::with_sizes(gpus, A.row_sizes()); };
  auto x = vector(), residual = vector(), direction = vector(), image = vector();
  pmpp::fill(gpus, x, 0);
  residual.copy_from(heat);
  direction.copy_from(heat);
  const auto dot = [&](const auto& a, const auto& b) {
    return pmpp::transform_reduce(gpus, a, b, 0.0, pmpp::plus{}, pmpp::multiplies{});
  };
  std::int64_t steps = 0;
  const double start = dot(residual, residual);
  for (double now = start; steps < most_steps && now > 1e-20 * start; ++steps) {
    pmpp::spmv(gpus, 1, A, direction, 0, image);
    const double along = now / dot(direction, image);
    pmpp::transform(gpus, x, direction, x, add_scaled{along});
    pmpp::transform(gpus, residual, image, residual, add_scaled{-along});
    const double next = dot(residual, residual);
    pmpp::transform(gpus, residual, direction, direction, add_scaled{next / now});
    now = next;
  }
  // [end]

  // Every process has the whole solution, and puts it into the equations.
  const auto solution = pmpp::to_host(gpus, x);
  double worst = 0;
  for (std::size_t i = 0; i < solution.size(); ++i) {
    double sum = -heat[i];
    for (auto k = std::size_t(host_matrix.offsets()[i]); k < std::size_t(host_matrix.offsets()[i + 1]); ++k)
      sum += host_matrix.values()[k] * solution[std::size_t(host_matrix.columns()[k])];
    worst = std::max(worst, std::abs(sum));
  }
  if (gpus.rank(0) == 0)
    std::printf("%d processes, %lld points: %lld steps, hottest %.2f, equations hold to %.1e\n", gpus.size(),
                static_cast<long long>(solution.size()), static_cast<long long>(steps),
                *std::max_element(solution.begin(), solution.end()), worst);
  return steps < most_steps && worst < 1e-7;
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  bool good = false;
  {
    pmpp::mpi_communicator link{MPI_COMM_WORLD};
#if PMPP_CUDA
    int gpus_here = 0;  // processes take them in turn
    if (cudaGetDeviceCount(&gpus_here) == cudaSuccess && gpus_here > 0) cudaSetDevice(link.rank() % gpus_here);
    good = solve(pmpp::devices{link});
#else
    good = solve(pmpp::devices{pmpp::host, link});  // the cores of each machine
#endif
  }
  MPI_Finalize();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
