// SPDX-License-Identifier: Apache-2.0
//
// Heat spreads in a plate that several processes share in slabs of rows. Each step is a stencil of five points; the library exchanges the
// rows that neighbours need while each process computes its interior. The first process writes a picture.
//
//   mpirun -np 4 example_distributed_heat_cpu [heat.pgm]
#include <pmpp/distributed/mpi_communicator.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <pmpp/core/matrix_view.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/stencil.hpp>
#include <pmpp/io/image.hpp>

// [step]
struct heat_step {
  float a;  // time step * conductivity / distance of the points squared, at most 1/4

  template <class N>
  PMPP_HOST_DEVICE float operator()(const N& n) const {
    return n(0, 0) + a * (n(-1, 0) + n(1, 0) + n(0, -1) + n(0, 1) - 4 * n(0, 0));
  }
};
// [end]

/// Three hot discs on a cold plate.
float at_first(std::int64_t y, std::int64_t x, std::int64_t n) {
  const std::int64_t discs[3][3] = {{n / 4, n / 3, n / 8}, {n / 2, 3 * n / 4, n / 6}, {4 * n / 5, n / 4, n / 10}};
  for (const auto& d : discs)
    if ((y - d[0]) * (y - d[0]) + (x - d[1]) * (x - d[1]) <= d[2] * d[2]) return 250;
  return 0;
}

template <class G>
bool spread(const G& gpus, const char* path) {
  const std::int64_t n = 120;
  const int pairs_of_steps = 100;
  std::vector<float> start;
  for (std::int64_t i = 0; i < n * n; ++i) start.push_back(at_first(i / n, i % n, n));

  // [slabs]
  pmpp::slabs<float, 2> now{gpus, {n, n}, 1}, next{gpus, {n, n}, 1};  // a halo of one row
  now.copy_from(start);
  const heat_step f{0.2f};
  for (int i = 0; i < pairs_of_steps; ++i) {
    pmpp::stencil(gpus, now, next, pmpp::radius<1>, f, pmpp::border::reflect);  // no heat leaves the plate
    pmpp::stencil(gpus, next, now, pmpp::radius<1>, f, pmpp::border::reflect);
  }
  const double heat = pmpp::reduce(gpus, now.elements(), 0.0);
  // [end]

  // The same on one CPU, and a picture of it.
  const std::vector<float> got = pmpp::to_host(gpus, now);
  std::vector<float> a = start, b(start.size());
  const pmpp::matrix_view<float> va(a.data(), n, n), vb(b.data(), n, n);
  for (int i = 0; i < pairs_of_steps; ++i) {
    pmpp::stencil(pmpp::seq, va, vb, pmpp::radius<1>, f, pmpp::border::reflect);
    pmpp::stencil(pmpp::seq, vb, va, pmpp::radius<1>, f, pmpp::border::reflect);
  }
  double before = 0, worst = 0;
  std::vector<std::uint8_t> pixels;
  for (std::size_t i = 0; i < got.size(); ++i) {
    before += double(start[i]);
    worst = std::fmax(worst, std::abs(double(got[i]) - double(a[i])));
    pixels.push_back(static_cast<std::uint8_t>(std::clamp(got[i], 0.0f, 255.0f)));
  }
  if (gpus.rank(0) == 0) {
    std::printf(
        "%d processes, %d steps: the mean is %.3f, at first %.3f; the largest difference from one CPU is %.0e\n",
        gpus.size(), 2 * pairs_of_steps, heat / double(n * n), before / double(n * n), worst);
    if (path != nullptr) pmpp::write_image(path, pmpp::matrix_view<const std::uint8_t>(pixels.data(), n, n));
  }
  return worst < 1e-3 && std::abs(heat - before) < 1e-4 * before;
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  bool good = false;
  {
    pmpp::mpi_communicator link{MPI_COMM_WORLD};
#if PMPP_CUDA
    int gpus_here = 0;  // processes take them in turn
    if (cudaGetDeviceCount(&gpus_here) == cudaSuccess && gpus_here > 0) cudaSetDevice(link.rank() % gpus_here);
#endif
    good = spread(pmpp::devices{link}, count > 1 ? arguments[1] : nullptr);
  }
  MPI_Finalize();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
