// SPDX-License-Identifier: Apache-2.0
//
// The ladder of merges: chapter 12 of Programming Massively Parallel Processors, rung by rung, up to the library's own.
// Each rung is a short kernel in a file of its own. Every result is compared with std::merge; on a GPU every rung is also
// timed. README.md in this folder says what to look at.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/merge.hpp>

#include "../timing.hpp"
#include "1_basic.hpp"
#include "2_tiled.hpp"
#include "3_circular_buffer.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(const merge_input&, int* out)> merge;
};

std::vector<int> sorted_numbers(std::int64_t n, int range, std::uint32_t random) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (int& x : v) x = static_cast<int>((random = random * 1664525 + 1013904223) >> 1) % range;
  std::sort(v.begin(), v.end());
  return v;
}

/// Numbers that rise by up to 63, without sorting.
std::vector<int> rising_numbers(std::int64_t n, std::uint32_t random) {
  std::vector<int> v(static_cast<std::size_t>(n));
  int last = 0;
  for (int& x : v) x = last += static_cast<int>((random = random * 1664525 + 1013904223) >> 26);
  return v;
}

int main() {
  const pmpp::stream s;
  const auto where = pmpp::device.on(s);
  const rung ladder[] = {
      {"basic", "co-rank: each thread merges on its own",
       [&](const auto& in, int* out) { merge_basic(where, in, out); }},
      {"tiled", "tiles in shared memory, half of them used",
       [&](const auto& in, int* out) { merge_tiled(where, in, out); }},
      {"circular buffers", "every element is loaded once",
       [&](const auto& in, int* out) { merge_circular(where, in, out); }},
      {"pmpp::merge", "asynchronous copies, results in whole rows",
       [&](const merge_input& in, int* out) {
         pmpp::merge(where, in.a, in.a + in.a_count, in.b, in.b + in.b_count, out);
       }},
  };
  struct test {
    std::int64_t a, b;
    int range;
  };
  const std::int64_t large = PMPP_CUDA ? 1 << 22 : 40000;
  const test tests[] = {{0, 0, 1},
                        {1, 0, 9},
                        {0, 777, 9},
                        {5000, 3, 99},
                        {1000, 999, 1},
                        {4096, 4096, 3},
                        {large, large + 7, 1 << 30},
                        {100, large, 1000}};
  int wrong = 0;
  std::printf("%-17s %-43s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %10s %7s %10s %7s", "2 x 2^19: us", "GB/s", "2 x 2^25: us", "GB/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const test& t : tests) {
      const auto a = sorted_numbers(t.a, t.range, 1), b = sorted_numbers(t.b, t.range, 2);
      std::vector<int> wanted(a.size() + b.size());
      std::merge(a.begin(), a.end(), b.begin(), b.end(), wanted.begin());
      wanted.resize(wanted.size() + 100, -99);
      const pmpp::device_buffer<int> x{a}, y{b};
      pmpp::device_buffer<int> out(wanted.size(), -99);
      r.merge({x.data(), y.data(), t.a, t.b}, out.data());
      right = right && pmpp::to_host(s, out) == wanted;
    }
    std::printf("\n%-17s %-43s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    for (const std::int64_t n : {1 << 19, 1 << 25}) {
      if (!PMPP_CUDA) break;
      const pmpp::device_buffer<int> x{rising_numbers(n, 3)}, y{rising_numbers(n, 4)};
      pmpp::device_buffer<int> out(2 * n);
      const double us = microseconds(s, [&] { r.merge({x.data(), y.data(), n, n}, out.data()); });
      std::printf("  %12.1f %7.1f", us, 16e-3 * double(n) / us);
    }
  }
  std::printf("\n");
  return wrong;
}
