// SPDX-License-Identifier: Apache-2.0
//
// How long do requests take? The measurements lie in blocks on several processes. The text is that of one GPU: a devices is the
// policy, a distributed_buffer the array; which process has what is the library's business.
//
//   mpirun -np 4 example_distributed_cpu
#include <pmpp/distributed/mpi_communicator.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/histogram.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/sort.hpp>

/// Number i of a sequence that looks random: microseconds, most below a thousand.
struct measurement {
  PMPP_HOST_DEVICE std::uint32_t operator()(std::uint32_t i) const {
    i = (i ^ 61 ^ (i >> 16)) * 9;
    i = (i ^ (i >> 4)) * 0x27d4eb2d;
    i ^= i >> 15;
    return 100 + i % 900 + (i % 64 == 0 ? i % 100000 : 0);
  }
};

template <class G>
bool report(const G& gpus) {
  // [calls]
  const std::int64_t n = 1000000;
  pmpp::distributed_buffer<std::uint32_t> x{gpus, n};
  pmpp::iota(gpus, x, 0);
  pmpp::transform(gpus, x, x, measurement{});

  const double mean = pmpp::reduce(gpus, x, 0.0) / double(n);
  std::vector<std::int64_t> counts(5);
  pmpp::histogram_even(gpus, x, counts, std::uint32_t(0), std::uint32_t(1000));
  pmpp::sort(gpus, x);
  // [end]

  const auto sorted = pmpp::to_host(gpus, x);  // on every process: small enough here
  double sum = 0;
  for (const std::uint32_t t : sorted) sum += t;
  bool good = pmpp::is_sorted(gpus, x) && sum / double(n) == mean;
  for (std::size_t i = 1; i < sorted.size(); ++i) good = good && sorted[i - 1] <= sorted[i];
  if (gpus.rank(0) == 0) {
    std::printf("%d processes, %lld requests: mean %.1f us, median %u, 99 %% below %u\n", gpus.size(),
                static_cast<long long>(n), mean, sorted[n / 2], sorted[n * 99 / 100]);
    for (std::size_t b = 0; b < counts.size(); ++b)
      std::printf("  %4zu to %4zu us: %lld\n", 200 * b, 200 * (b + 1), static_cast<long long>(counts[b]));
  }
  return good;
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
    good = report(pmpp::devices{link});
  }
  MPI_Finalize();
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
