// SPDX-License-Identifier: Apache-2.0
//
// The ladder of scans: chapter 11 of Programming Massively Parallel Processors, rung by rung, up to the library's own.
// Each rung is a short kernel in a file of its own. Every result is compared with a plain loop; on a GPU every rung is
// also timed, in the emulator its accesses to shared memory are counted. README.md in this folder says what to look at.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/simt/counters.hpp>

#include "../timing.hpp"
#include "1_kogge_stone.hpp"
#include "2_brent_kung.hpp"
#include "3_coarsened.hpp"
#include "4_warps.hpp"
#include "5_registers.hpp"
#include "6_three_kernels.hpp"
#include "7_domino.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(const int* in, int* out, std::int64_t n)> scan;
};

int main() {
  const std::vector<std::int64_t> sizes = PMPP_CUDA ? std::vector<std::int64_t>{0, 1, 1000, 3841, 1 << 20, 1 << 26}
                                                    : std::vector<std::int64_t>{0, 1, 1000, 1025, 3840, 3841, 40001};
  const std::int64_t most = sizes.back();
  std::vector<int> input(static_cast<std::size_t>(most)), wanted(input.size());
  std::uint32_t random = 1;
  for (int& x : input) x = static_cast<int>((random = random * 1664525 + 1013904223) >> 28) - 7;
  for (std::size_t i = 0; i < input.size(); ++i) wanted[i] = input[i] + (i > 0 ? wanted[i - 1] : 0);

  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  const std::int64_t sections = pmpp::ceil_div(most, std::int64_t(coarsened_section::size));
  const pmpp::device_buffer<int> in{input};
  pmpp::device_buffer<int> out{most}, sums{sections}, flags{sections + 1};

  const rung ladder[] = {
      {"Kogge-Stone", "one block, few steps, many additions",
       [&](const int* x, int* y, std::int64_t n) { scan_by_kogge_stone(where, x, y, n); }},
      {"Brent-Kung", "a tree: fewer additions, more steps",
       [&](const int* x, int* y, std::int64_t n) { scan_by_brent_kung(where, x, y, n); }},
      {"three phases", "threads that own several elements",
       [&](const int* x, int* y, std::int64_t n) { scan_coarsened(where, x, y, n); }},
      {"warps", "shuffles in place of barriers",
       [&](const int* x, int* y, std::int64_t n) { scan_by_warps(where, x, y, n); }},
      {"registers", "own elements in registers",
       [&](const int* x, int* y, std::int64_t n) { scan_in_registers(where, x, y, n); }},
      {"three kernels", "all multiprocessors, memory passed twice",
       [&](const int* x, int* y, std::int64_t n) { scan_by_three_kernels(where, x, y, n, sums.data()); }},
      {"dominoes", "one pass: blocks wait for each other",
       [&](const int* x, int* y, std::int64_t n) { scan_by_dominoes(where, x, y, n, sums.data(), flags.data()); }},
      {"pmpp::inclusive_scan", "blocks look back, loads 16 bytes wide",
       [&](const int* x, int* y, std::int64_t n) { pmpp::inclusive_scan(where, x, x + n, y); }},
  };

  int wrong = 0;
  std::printf("%-21s %-41s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %10s %7s %10s %7s", "2^20: us", "GB/s", "2^26: us", "GB/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const std::int64_t n : sizes) {
      pmpp::device_buffer<int> result{std::vector<int>(static_cast<std::size_t>(n + 100), -99)};
      r.scan(in.data(), result.data(), n);
      const std::vector<int> got = pmpp::to_host(s, result);
      right = right && std::equal(got.begin(), got.begin() + n, wanted.begin()) &&
              std::all_of(got.begin() + n, got.end(), [](int x) { return x == -99; });
    }
    std::printf("\n%-21s %-41s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    for (const std::int64_t n : {1 << 20, 1 << 26}) {
      if (!PMPP_CUDA) break;
      const double us = microseconds(s, [&] { r.scan(in.data(), out.data(), n); });
      std::printf("  %10.1f %7.1f", us, 8e-3 * double(n) / us);
    }
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\n15,360 elements, counted in the emulator:\n");
  for (const rung& r : ladder) {
    pmpp::simt::access_counts counts;
    {
      const pmpp::simt::scoped_counting on(counts);
      r.scan(in.data(), out.data(), 15360);
    }
    std::int64_t requests = 0, turns = 0;
    for (const pmpp::simt::access_count& a : counts.all())
      if (a.shared) requests += a.requests, turns += a.passes;
    if (requests > 0)
      std::printf("%-21s shared memory: %6lld requests of warps, %6lld turns of the banks\n", r.name,
                  static_cast<long long>(requests), static_cast<long long>(turns));
  }
#endif
  return wrong;
}
