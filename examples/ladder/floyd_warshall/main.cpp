// SPDX-License-Identifier: Apache-2.0
//
// The ladder of shortest paths between all pairs of vertices: chapter 16 of Programming Massively Parallel Processors (5th edition),
// rung by rung, up to the library's own. Every result is compared with three plain loops; on a GPU every rung is also timed, in the
// emulator its accesses are counted.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/floyd_warshall.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>

#include "../counting.hpp"
#include "../timing.hpp"
#include "1_pivots.hpp"
#include "2_blocked.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(int* d, std::int64_t n)> work;
};

/// Each vertex has edges to some eight others, and none to most.
std::vector<int> network(std::int64_t n) {
  std::vector<int> d(std::size_t(n * n), ladder::no_edge);
  std::uint32_t random = 1;
  for (std::int64_t e = 0; e < 8 * n; ++e) {
    random = random * 1664525 + 1013904223;
    const std::int64_t to = random % std::uint32_t(n);
    d[std::size_t(e / 8 * n + to)] = 1 + int(random >> 24);
  }
  for (std::int64_t i = 0; i < n; ++i) d[std::size_t(i * n + i)] = 0;
  return d;
}

int main() {
  const pmpp::stream s;
  const auto where = pmpp::device.on(s);
  const rung ladder[] = {
      {"pivots", "a launch for each vertex on the way",
       [&](int* d, std::int64_t n) { ladder::paths_by_pivots(where, d, n); }},
      {"blocked", "32 at a time, in shared memory",
       [&](int* d, std::int64_t n) { ladder::paths_by_blocks(where, d, n); }},
      {"pmpp::floyd_warshall", "64 or 128, 8 x 8 results a thread",
       [&](int* d, std::int64_t n) { pmpp::floyd_warshall(where, pmpp::matrix_view(d, n, n)); }},
  };
  int wrong = 0;
  std::printf("%-21s %-36s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %11s %11s %16s", "1024: us", "4096: us", "4096: 10^9 / s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const std::int64_t n : {1, 31, 100}) {
      std::vector<int> wanted = network(n);
      pmpp::device_buffer<int> d{wanted};
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            int& ij = wanted[std::size_t(i * n + j)];
            ij = pmpp::min(ij, wanted[std::size_t(i * n + k)] + wanted[std::size_t(k * n + j)]);
          }
      r.work(d.data(), n);
      const std::vector<int> got = pmpp::to_host(s, d);
      for (std::size_t i = 0; i < got.size(); ++i)
        right = right && (got[i] == wanted[i] || (got[i] >= ladder::no_edge && wanted[i] >= ladder::no_edge));
    }
    std::printf("\n%-21s %-36s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    double us = 0;
    for (const std::int64_t n : {1024, 4096}) {
      if (!PMPP_CUDA) break;
      pmpp::device_buffer<int> d{network(n)};
      us = microseconds(s, [&] { r.work(d.data(), n); });
      std::printf("  %11.1f", us);
    }
    if (PMPP_CUDA) std::printf(" %16.1f", 4096e-3 * 4096 * 4096 / us);
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\n128 vertices, counted in the emulator:\n");
  for (const rung& r : ladder) {
    pmpp::device_buffer<int> d{network(128)};
    print_counts(r.name, [&] { r.work(d.data(), 128); });
  }
#endif
  return wrong;
}
