// SPDX-License-Identifier: Apache-2.0
//
// main of a benchmark: what the machine is, the limits (a copy, an empty kernel), the cases, the table.
#pragma once

#include <cstring>
#include <exception>
#include <functional>
#include <string>

#include <pmpp/core/version.hpp>
#include <pmpp/host/parallel_for.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#if PMPP_CUDA
#include <thrust/version.h>
#else
#include <thread>
#endif

namespace bench {

inline std::string dotted(int a, int b, int c) {
  return std::to_string(a) + "." + std::to_string(b) + "." + std::to_string(c);
}

inline void describe(const std::string& key, const std::string& value) { benchmark::AddCustomContext(key, value); }

/// Names the machine and learns the size of its cache.
inline void describe_machine() {
  describe("pmpp", dotted(pmpp::version_major, pmpp::version_minor, pmpp::version_patch));
  describe("samples", here().quick ? "21 (quick)" : "201");
#if PMPP_CUDA
  int id = 0, driver = 0, runtime = 0;
  pmpp::check(cudaGetDevice(&id), "cudaGetDevice");
  cudaDeviceProp device{};
  pmpp::check(cudaGetDeviceProperties(&device, id), "cudaGetDeviceProperties");
  pmpp::check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  pmpp::check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    pmpp::check(cudaDeviceGetAttribute(&value, which, id), "cudaDeviceGetAttribute");
    return value;
  };
  here().cache = std::size_t(device.l2CacheSize);
  describe("device", std::string(device.name) + ", " + std::to_string(device.multiProcessorCount) + " SMs, L2 " +
                         std::to_string(here().cache >> 20) + " MiB, at most " +
                         std::to_string(attribute(cudaDevAttrClockRate) / 1000) + " MHz, memory " +
                         std::to_string(attribute(cudaDevAttrMemoryClockRate) / 1000) + " MHz");
  describe("CUDA driver, runtime", dotted(driver / 1000, driver % 1000 / 10, driver % 10) + ", " +
                                       dotted(runtime / 1000, runtime % 1000 / 10, runtime % 10));
  describe("CCCL", dotted(THRUST_MAJOR_VERSION, THRUST_MINOR_VERSION, THRUST_SUBMINOR_VERSION));
  describe("events", here().queued ? "on a busy stream: device time alone" : "on an idle stream: with the launch");
#else
  describe("threads", std::to_string(std::thread::hardware_concurrency()));
#endif
}

#ifdef __CUDACC__
static __global__ void do_nothing() {}
#endif

/// A copy as the system does it; on the host, by all cores.
inline void measure_limits() {
  const std::int64_t n = std::int64_t(PMPP_CUDA ? 1024 : 256) << 20;
  const auto limit = [](const std::string& name, std::int64_t items, double bytes, std::function<void(int)> call) {
    subject s;
    s.contenders = {{PMPP_CUDA ? "CUDA" : "memcpy", std::move(call)}};
    const auto result = measure(name, s, 1);
    note(name, items, bytes, s, result);
    return result[0].median;
  };
  const auto from = random_array<unsigned char>(n), to = array<unsigned char>(n);
  const double time = limit("limit/copy", n, 2.0 * double(n), [=](int) {
#if PMPP_CUDA
    pmpp::check(cudaMemcpyAsync(to->data(), from->data(), std::size_t(n), cudaMemcpyDeviceToDevice, here().stream),
                "cudaMemcpyAsync");
#else
    const std::int64_t threads = std::thread::hardware_concurrency(), part = pmpp::ceil_div(n, threads);
    pmpp::host_loop::parallel_for(pmpp::host, threads, [&](std::int64_t t) {
      const std::int64_t begin = std::min(n, t * part), end = std::min(n, begin + part);
      std::memcpy(to->data() + begin, from->data() + begin, std::size_t(end - begin));
    });
#endif
  });
  here().copy_rate = 2.0 * double(n) / time * 1e-3;
  describe("copy", std::to_string(here().copy_rate) + " GB/s");
#ifdef __CUDACC__
  limit("limit/empty kernel between events", 1, 0, [](int) { do_nothing<<<1, 32, 0, here().stream>>>(); });
#endif
}

inline std::string cell(const char* format, double value, bool present) {
  char text[64] = "";
  if (present) std::snprintf(text, sizeof text, format, value);
  return text;
}
inline std::string cell(const statistic& s) {
  return cell("%.2f", s.median, s.median > 0) + cell(" ±%.0f %%", s.spread / 2, s.median > 0);
}

inline void print_table() {
  std::printf("\n| case | n | pmpp µs | peer | peer µs | peer/pmpp | GB/s | %% of copy |\n");
  std::printf("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |\n");
  for (const row& r : here().rows) {
    const bool own = r.own.median > 0, both = own && r.peer.median > 0;
    const double rate = r.bytes / (own ? r.own : r.peer).median * 1e-3;
    std::printf("| %s | %lld | %s | %s | %s | %s | %s | %s |\n", r.name.c_str(), static_cast<long long>(r.n),
                cell(r.own).c_str(), r.contender.c_str(), cell(r.peer).c_str(),
                cell("%.2f", r.peer.median / r.own.median, both).c_str(), cell("%.1f", rate, r.bytes > 0).c_str(),
                cell("%.1f", 100 * rate / here().copy_rate, r.bytes > 0).c_str());
  }
}

/// Runs the cases that `add_cases` adds and that --benchmark_filter leaves.
template <class F>
int run(int argc, char** argv, F add_cases) {
  const bool only_lists = std::any_of(
      argv, argv + argc, [](const char* word) { return std::strstr(word, "--benchmark_list_tests") == word; });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  try {
    describe_machine();
    if (!only_lists) measure_limits();
    add_cases();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    if (!only_lists) print_table();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace bench
