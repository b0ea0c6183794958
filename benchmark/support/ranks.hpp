// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of several GPUs of one process have in common: options, the host's clock around all of them, checks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#ifdef PMPP_BENCH_HAS_NCCL
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/nccl_communicator.hpp>
#endif

namespace bench {

/// --quick, --gpus=P, --samples=S, and one of the program's own: a number from least to most.
struct rank_options {
  const char* name;  ///< of that one: "--elements"
  long long value, quick_value, least, most;
  int gpus = 0, samples = 11;
  bool quick = false;

  /// Ends the program where there is no GPU, with status 0, and where it is asked for what there is not, with 1.
  void read(int count, char** arguments) {
    int visible = 0;
    if (cudaGetDeviceCount(&visible) != cudaSuccess || visible == 0) {
      std::printf("no GPU\n");
      std::exit(EXIT_SUCCESS);
    }
    gpus = visible;
    for (int a = 1; a < count; ++a) {
      const std::string option = arguments[a];
      const auto value_of = [&](const char* wanted) -> const char* {
        const std::string start = std::string(wanted) + "=";
        return option.compare(0, start.size(), start) == 0 ? option.c_str() + start.size() : nullptr;
      };
      if (option == "--quick") {
        quick = true;
        value = quick_value;
        samples = 5;
      } else if (const char* ranks = value_of("--gpus")) {
        gpus = std::atoi(ranks);
      } else if (const char* times = value_of("--samples")) {
        samples = std::atoi(times);
      } else if (const char* number = value_of(name)) {
        value = std::atoll(number);
      } else {
        std::printf("usage: %s [--quick] [--gpus=P] [--samples=S] [%s=N]\n", arguments[0], name);
        std::exit(EXIT_FAILURE);
      }
    }
    if (gpus >= 1 && gpus <= visible && samples >= 1 && value >= least && value <= most) return;
    std::printf("--gpus=%d of %d, --samples=%d, %s=%lld: not possible\n", gpus, visible, samples, name, value);
    std::exit(EXIT_FAILURE);
  }
};

/// GPUs 0 to ranks - 1.
inline std::vector<int> first_gpus(int ranks) {
  std::vector<int> ids(static_cast<std::size_t>(ranks));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

#ifdef PMPP_BENCH_HAS_NCCL
/// GPUs of this process that NCCL connects and that do not reach into each other's memory: what several processes do, in one.
inline auto by_messages(int ranks) {
  pmpp::devices gpus{pmpp::device, pmpp::nccl_communicator::all(first_gpus(ranks)), first_gpus(ranks)};
  gpus.group()->reads_all = false;
  return gpus;
}
#endif

/// The median of the seconds that f takes, with what it has enqueued; prepare() before each, not timed. Twice to warm up.
template <class G, class Prepare, class F>
double seconds(int samples, const G& gpus, Prepare prepare, F f) {
  std::vector<double> times;
  for (int s = -2; s < samples; ++s) {
    prepare();
    gpus.synchronize();
    const auto start = std::chrono::steady_clock::now();
    f();
    gpus.synchronize();
    if (s >= 0) times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Whether all results were right until now.
inline bool all_right = true;
inline void check(bool right, const char* what) {
  if (right) return;
  std::printf("WRONG: %s\n", what);
  all_right = false;
}

}  // namespace bench
