// SPDX-License-Identifier: Apache-2.0
//
// The ladder of vector additions: chapter 2 of Programming Massively Parallel Processors, and what memory makes of it, up
// to the library's own. Every result is compared with a plain loop; on a GPU every rung is also timed, in the emulator
// the accesses of its warps are counted.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/core/operators.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/transform.hpp>

#include "../timing.hpp"
#include "1_one_thread.hpp"
#include "2_element_a_thread.hpp"
#include "3_coarsened.hpp"
#include "4_vectorised.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(const float* a, const float* b, float* c, std::int64_t n)> add;
};

int main() {
  using pmpp::ceil_div;
  const pmpp::stream s;
  const auto where = pmpp::device.on(s);
  const rung ladder[] = {
      {"one thread", "a thread waits for memory",
       [&](const float* a, const float* b, float* c, std::int64_t n) {
         pmpp::launch(where, 1, add_in_one_thread{}, a, b, c, n);
       }},
      {"an element a thread", "work for all, neighbours together",
       [&](const float* a, const float* b, float* c, std::int64_t n) {
         pmpp::launch(where, ceil_div<std::int64_t>(n, 256), add_an_element{}, a, b, c, n);
       }},
      {"eight in a row", "a thread's elements together: neighbours apart",
       [&](const float* a, const float* b, float* c, std::int64_t n) {
         pmpp::launch(where, ceil_div<std::int64_t>(n, 2048), add_eight<false>{}, a, b, c, n);
       }},
      {"eight, interleaved", "neighbours together again",
       [&](const float* a, const float* b, float* c, std::int64_t n) {
         pmpp::launch(where, ceil_div<std::int64_t>(n, 2048), add_eight<true>{}, a, b, c, n);
       }},
      {"vectorised", "16 bytes at a time",
       [&](const float* a, const float* b, float* c, std::int64_t n) {
         pmpp::launch(where, ceil_div<std::int64_t>(n, 1024), add_vectors{}, a, b, c, n);
       }},
      {"pmpp::transform", "any types, operators and pointers",
       [&](const float* a, const float* b, float* c, std::int64_t n) {
         pmpp::transform(where, a, a + n, b, c, pmpp::plus{});
       }},
  };

  int wrong = 0;
  std::printf("%-20s %-48s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %10s %7s %10s %7s", "2^18: us", "GB/s", "2^26: us", "GB/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const std::int64_t n : {0, 1, 255, 1000, 4096, 10007}) {
      std::vector<float> x(static_cast<std::size_t>(n)), y(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i), y[i] = 0.5f * static_cast<float>(i % 7);
      const pmpp::device_buffer<float> a{x}, b{y};
      pmpp::device_buffer<float> c(n + 100, -99.0f);
      pmpp::synchronize(pmpp::device);
      r.add(a.data(), b.data(), c.data(), n);
      const std::vector<float> got = pmpp::to_host(s, c);
      for (std::size_t i = 0; i < got.size(); ++i) right = right && got[i] == (i < x.size() ? x[i] + y[i] : -99.0f);
    }
    std::printf("\n%-20s %-48s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    for (const std::int64_t n : {1 << 18, 1 << 26}) {
      if (!PMPP_CUDA || (&r == ladder && n > 1 << 20)) break;  // one thread would take seconds
      const pmpp::device_buffer<float> a(n, 1.0f), b(n, 2.0f);
      pmpp::device_buffer<float> c(n);
      pmpp::synchronize(pmpp::device);
      const double us = microseconds(s, [&] { r.add(a.data(), b.data(), c.data(), n); });
      std::printf("  %10.1f %7.1f", us, 12e-3 * double(n) / us);
    }
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\n1,000 elements, counted in the emulator:\n");
  const pmpp::device_buffer<float> a(1000, 1.0f), b(1000, 2.0f);
  pmpp::device_buffer<float> c(1000);
  for (const rung& r : ladder) {
    pmpp::simt::access_counts counts;
    {
      const pmpp::simt::scoped_counting on(counts);
      r.add(a.data(), b.data(), c.data(), 1000);
    }
    if (!counts.all().empty()) std::printf("%s\n%s", r.name, counts.table().c_str());
  }
#endif
  return wrong;
}
