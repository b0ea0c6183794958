// SPDX-License-Identifier: Apache-2.0
//
// The ladder of PMPP ch. 9: seven kernels that count letters, most one idea further than the one before, and the library's
// histogram; then one for more bins than one block has room for. All are checked against a plain loop; the tables show
// their times on random input and on one that is all the same.
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

#include "../counting.hpp"
#include "1_sectioned.hpp"
#include "2_strided.hpp"
#include "3_privatised.hpp"
#include "4_coarsened_contiguous.hpp"
#include "5_coarsened_interleaved.hpp"
#include "6_aggregated.hpp"
#include "7_distributed.hpp"
#include "8_own_counters.hpp"

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

struct own_bin {
  PMPP_HOST_DEVICE int operator()(std::uint16_t w) const { return w; }
};

bool all_right = true;

/// As `text`, of words of 16 bits.
struct words {
  std::vector<std::uint16_t> host;
  pmpp::device_buffer<std::uint16_t> device;
  std::vector<unsigned> exact;

  explicit words(std::vector<std::uint16_t> all) : host(std::move(all)), device(host), exact(ladder::word_bins) {
    for (const std::uint16_t w : host) ++exact[w];
  }
};

/// The least time of some calls in microseconds; `call(counts)` starts from zeros.
template <class Text, class Call>
double microseconds(const Text& t, Call call) {
  double best = 1e12;
  for (int i = 0; i < (PMPP_CUDA ? 10 : 1); ++i) {
    pmpp::device_buffer<unsigned> counts(t.exact.size(), 0u);
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

template <class Text, class Call>
void show(const char* name, const Text& random, const Text& alike, Call call) {
  const auto on = [&](const Text& t) {
    return microseconds(t, [&](pmpp::device_buffer<unsigned>& counts) { call(t, counts); });
  };
  const double us = on(random), alike_us = on(alike);
  const double kilobytes = double(random.host.size() * sizeof(random.host[0])) * 1e-3;
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

#if !PMPP_CUDA
template <class Kernel>
void count_rung(const text& t, int processors) {
  const auto n = static_cast<std::int64_t>(t.host.size());
  pmpp::device_buffer<unsigned> counts(t.exact.size(), 0u);
  print_counts(Kernel::name, [&] {
    pmpp::launch(pmpp::device, Kernel::blocks(n, processors), Kernel{},
                 ladder::arguments{t.device.data(), n, counts.data()});
  });
}
#endif

template <class Kernel>
void show_words_rung(const words& random, const words& alike, int processors) {
  show(Kernel::name, random, alike, [=](const words& w, pmpp::device_buffer<unsigned>& counts) {
    pmpp::launch(pmpp::device, Kernel::blocks(processors), Kernel{}, w.device.data(),
                 static_cast<std::int64_t>(w.host.size()), counts.data());
  });
}

void show_head(int power, const char* what) {
  std::printf("| %-22s | random, us |     GB/s | all alike, us |     GB/s |\n",
              ("2^" + std::to_string(power) + " " + what).c_str());
  std::printf("| ---------------------- | ---------: | -------: | ------------: | -------: |\n");
}

void show_words(int power, int processors) {
  std::vector<std::uint16_t> all(std::size_t(1) << power);
  std::uint32_t state = 1;
  for (std::uint16_t& w : all) w = static_cast<std::uint16_t>((state = state * 1664525u + 1013904223u) >> 16);
  const words random(all), alike(std::vector<std::uint16_t>(all.size(), 4711));
  std::printf("\n");
  show_head(power, "words, 65,536 bins");
  show_words_rung<ladder::words_global>(random, alike, processors);
  if (pmpp::machine_of(pmpp::device).most_blocks_of_cluster() >= ladder::words_distributed::cluster)
    show_words_rung<ladder::words_distributed>(random, alike, processors);
  show("pmpp::histogram", random, alike, [](const words& w, pmpp::device_buffer<unsigned>& counts) {
    pmpp::histogram(pmpp::device, w.device, counts, own_bin{});
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

  show_head(power, "letters");
  show_rung<ladder::sectioned>(random, alike, processors);
  show_rung<ladder::strided>(random, alike, processors);
  show_rung<ladder::privatised>(random, alike, processors);
  show_rung<ladder::coarsened_contiguous>(random, alike, processors);
  show_rung<ladder::coarsened_interleaved>(random, alike, processors);
  show_rung<ladder::aggregated>(random, alike, processors);
  show_rung<ladder::own_counters>(random, alike, processors);
  show("pmpp::histogram", random, alike, [](const text& t, pmpp::device_buffer<unsigned>& counts) {
    pmpp::histogram(pmpp::device, t.device, counts, chosen_bin{});
  });
  show_words(power, processors);
#if !PMPP_CUDA
  std::printf("\nThe letters, counted in the emulator:\n");
  count_rung<ladder::sectioned>(random, processors);
  count_rung<ladder::strided>(random, processors);
  count_rung<ladder::privatised>(random, processors);
  count_rung<ladder::coarsened_contiguous>(random, processors);
  count_rung<ladder::coarsened_interleaved>(random, processors);
  count_rung<ladder::aggregated>(random, processors);
  count_rung<ladder::own_counters>(random, processors);
#endif
  std::printf("%s\n", all_right ? "all counts are right" : "WRONG counts");
  return all_right ? 0 : 1;
}
