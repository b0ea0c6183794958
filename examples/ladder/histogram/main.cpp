// SPDX-License-Identifier: Apache-2.0
//
// The ladder of PMPP ch. 9: six kernels that count letters, each one idea further than the one before, and the library's
// histogram. All are checked against a plain loop; the table shows their times on a text of random letters and on one
// that is all the same letter.
// usage: ladder_histogram [letters, as a power of two: 28, or 18 in the emulator]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <pmpp/histogram.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>

#include "1_sectioned.hpp"
#include "2_strided.hpp"
#include "3_privatised.hpp"
#include "4_coarsened_contiguous.hpp"
#include "5_coarsened_interleaved.hpp"
#include "6_aggregated.hpp"

namespace {

struct text {
  std::vector<char> host;
  pmpp::device_buffer<char> device;
  std::vector<unsigned> exact;

  explicit text(std::vector<char> letters) : host(std::move(letters)), device(host), exact(ladder::bins) {
    for (const char c : host)
      if (const int bin = ladder::bin_of(c); bin >= 0) ++exact[std::size_t(bin)];
  }
};

struct chosen_bin {
  PMPP_HOST_DEVICE int operator()(char c) const { return ladder::bin_of(c); }
};

bool all_right = true;

/// The least time of some calls in microseconds; `call(counts)` starts from zeros.
template <class Call>
double microseconds(const text& t, Call call) {
  double best = 1e12;
  for (int i = 0; i < (PMPP_CUDA ? 10 : 1); ++i) {
    pmpp::device_buffer<unsigned> counts(ladder::bins, 0u);
    pmpp::synchronize(pmpp::device);
    const auto start = std::chrono::steady_clock::now();
    call(counts);
    pmpp::synchronize(pmpp::device);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
    all_right = all_right && pmpp::to_host(counts) == t.exact;
  }
  return best;
}

template <class Call>
void show(const char* name, const text& random, const text& alike, Call call) {
  const auto on = [&](const text& t) {
    return microseconds(t, [&](pmpp::device_buffer<unsigned>& counts) { call(t, counts); });
  };
  const double us = on(random), alike_us = on(alike), kilobytes = double(random.host.size()) * 1e-3;
  std::printf("| %-22s | %10.1f | %8.1f | %13.1f | %8.1f |\n", name, us, kilobytes / us, alike_us,
              kilobytes / alike_us);
}

template <class Kernel>
void show_rung(const text& random, const text& alike, int processors) {
  show(Kernel::name, random, alike, [=](const text& t, pmpp::device_buffer<unsigned>& counts) {
    const auto n = static_cast<std::int64_t>(t.host.size());
    pmpp::launch(pmpp::device, Kernel::blocks(n, processors), Kernel{},
                 ladder::arguments{t.device.data(), n, counts.data()});
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int power = argc > 1 ? std::atoi(argv[1]) : PMPP_CUDA ? 28 : 18;
  if (power < 0 || power > 32) return std::printf("a power from 0 to 32, not %s\n", argv[1]), 1;
  int processors = 2;
#if PMPP_CUDA
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::printf("skipped: no CUDA device\n"), 77;
  pmpp::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
#endif
  std::vector<char> letters(std::size_t(1) << power);
  std::uint32_t state = 1;
  for (char& c : letters) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>('a' + (state >> 16) % 26);
  }
  const text random(letters), alike(std::vector<char>(letters.size(), 'p'));

  std::printf("| %-22s | random, us |     GB/s | all alike, us |     GB/s |\n",
              ("2^" + std::to_string(power) + " letters").c_str());
  std::printf("| ---------------------- | ---------: | -------: | ------------: | -------: |\n");
  show_rung<ladder::sectioned>(random, alike, processors);
  show_rung<ladder::strided>(random, alike, processors);
  show_rung<ladder::privatised>(random, alike, processors);
  show_rung<ladder::coarsened_contiguous>(random, alike, processors);
  show_rung<ladder::coarsened_interleaved>(random, alike, processors);
  show_rung<ladder::aggregated>(random, alike, processors);
  show("pmpp::histogram", random, alike, [](const text& t, pmpp::device_buffer<unsigned>& counts) {
    pmpp::histogram(pmpp::device, t.device, counts, chosen_bin{});
  });
  std::printf("%s\n", all_right ? "all counts are right" : "WRONG counts");
  return all_right ? 0 : 1;
}
