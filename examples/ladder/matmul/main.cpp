// SPDX-License-Identifier: Apache-2.0
//
// The ladder of matrix products: chapters 3, 5 and 6 of Programming Massively Parallel Processors, rung by rung, up to
// the library's own. Each rung is a short kernel in a file of its own. Every result is compared with a plain loop; on a
// GPU every rung is also timed, in the emulator the accesses of the warps of the first five are counted.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/gemm.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/counters.hpp>

#include "../timing.hpp"
#include "1_rows_columns.hpp"
#include "2_elements.hpp"
#include "3_tiled.hpp"
#include "4_corner_turning.hpp"
#include "5_register_blocked.hpp"
#include "6_vectorised.hpp"
#include "7_pipelined.hpp"
#include "8_asynchronous.hpp"
#include "9_tensor_cores.hpp"
#include "10_warpgroups.hpp"

struct rung {
  const char *name, *lesson;
  std::int64_t multiple;  ///< of which the sides have to be
  std::function<void(const product&)> multiply;
};

/// A product, and what it should be. All numbers are small integers: every order of additions gives the same sums.
struct problem {
  std::int64_t m, n, k;
  std::vector<float> a, b, b_by_column, wanted;

  problem(std::int64_t rows, std::int64_t columns, std::int64_t depth) : m(rows), n(columns), k(depth) {
    const auto size = [](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * j); };
    for (std::size_t i = 0; i < size(m, k); ++i) a.push_back(static_cast<float>(i * 2654435761u >> 28 & 7) - 3);
    for (std::size_t i = 0; i < size(k, n); ++i) b.push_back(static_cast<float>(i * 2246822519u >> 27 & 7) - 4);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t p = 0; p < k; ++p) b_by_column.push_back(b[size(p, n) + static_cast<std::size_t>(j)]);
    wanted.resize(size(m, n));
    pmpp::gemm(pmpp::seq, 1, pmpp::matrix_view(a.data(), m, k), pmpp::matrix_view(b.data(), k, n), 0,
               pmpp::matrix_view(wanted.data(), m, n));
  }
};

int main() {
  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  const rung ladder[] = {
      {"a row a thread", "few threads, scattered accesses", 1, [&](const product& x) { multiply_by_rows(where, x); }},
      {"a column a thread", "few threads, neighbours together", 1,
       [&](const product& x) { multiply_by_columns(where, x); }},
      {"an element a thread", "work for all", 1, [&](const product& x) { multiply_by_elements(where, x); }},
      {"tiled", "shared memory: each element read once a tile", 16,
       [&](const product& x) { multiply_tiled<false>(where, x); }},
      {"tiled, any sides", "zeros outside, no branch in the loop", 1,
       [&](const product& x) { multiply_tiled<true>(where, x); }},
      {"B by columns", "neighbours read places a column apart", 1,
       [&](const product& x) { multiply_turning<false>(where, x); }},
      {"corner turning", "B by columns: read along, turn, store", 1,
       [&](const product& x) { multiply_turning<true>(where, x); }},
      {"register-blocked", "8 x 8 elements a thread", 1,
       [&](const product& x) { multiply_register_blocked(where, x); }},
      {"vectorised", "16 bytes at a time", 128, [&](const product& x) { multiply_vectorised<false>(where, x); }},
      {"unrolled", "eight turns of the loop along k without a jump", 128,
       [&](const product& x) { multiply_vectorised<true>(where, x); }},
      {"pipelined", "the next tile comes while this is multiplied", 128,
       [&](const product& x) { multiply_pipelined(where, x); }},
      {"asynchronous", "copies overlapped with products", 128,
       [&](const product& x) { multiply_asynchronously(where, x); }},
      {"tensor cores", "a warp multiplies at once; factors of 11 bits", 128,
       [&](const product& x) { multiply_on_tensor_cores(where, x); }},
      {"warpgroups", "four warps at once, from shared memory (wgmma)", 128,
       [&](const product& x) { multiply_by_warpgroups(where, x); }},
      {"pmpp::gemm", "any sides and strides", 1,
       [&](const product& x) {
         pmpp::gemm(where, 1, pmpp::matrix_view(x.a, x.m, x.k), pmpp::matrix_view(x.b, x.k, x.n), 0,
                    pmpp::matrix_view(x.c, x.m, x.n));
       }},
  };
  std::vector<problem> problems;
  problems.emplace_back(1, 1, 1);
  problems.emplace_back(35, 50, 17);
  problems.emplace_back(32, 48, 64);
  problems.emplace_back(128, 256, 128);
  if (PMPP_CUDA) problems.emplace_back(300, 517, 131);
  const std::int64_t side = PMPP_CUDA ? 2048 : 0;
  pmpp::device_buffer<float> a{std::vector<float>(std::size_t(side * side), 0.5f)}, b{a.clone()}, c{side * side};

  int wrong = 0;
  std::printf("%-21s %-45s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %11s %8s", "2048^3: us", "TFLOP/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const problem& p : problems) {
      if (p.m % r.multiple != 0 || p.n % r.multiple != 0 || p.k % r.multiple != 0) continue;
      const pmpp::device_buffer<float> x{p.a}, y{p.b}, y_by_column{p.b_by_column};
      pmpp::device_buffer<float> z{std::vector<float>(p.wanted.size() + 100, -99.0f)};
      r.multiply({x.data(), y.data(), y_by_column.data(), z.data(), p.m, p.n, p.k});
      const std::vector<float> got = pmpp::to_host(s, z);
      const auto end = got.begin() + p.m * p.n;
      right = right && std::equal(got.begin(), end, p.wanted.begin()) &&
              std::all_of(end, got.end(), [](float v) { return v == -99.0f; });
    }
    std::printf("\n%-21s %-45s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    if (!PMPP_CUDA) continue;
    const double us = microseconds(s, [&] { r.multiply({a.data(), b.data(), b.data(), c.data(), side, side, side}); });
    std::printf("  %11.1f %8.2f", us, 2e-6 * double(side * side * side) / us);
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\nA product of 128 x 128 by 128 x 128, counted in the emulator:\n");
  const problem p(128, 128, 128);
  const pmpp::device_buffer<float> x{p.a}, y{p.b}, y_by_column{p.b_by_column};
  pmpp::device_buffer<float> z{128 * 128};
  for (const rung& r : ladder) {
    pmpp::simt::access_counts counts;
    {
      const pmpp::simt::scoped_counting on(counts);
      r.multiply({x.data(), y.data(), y_by_column.data(), z.data(), p.m, p.n, p.k});
    }
    if (!counts.all().empty()) std::printf("%s\n%s", r.name, counts.table().c_str());
  }
#endif
  return wrong;
}
