// SPDX-License-Identifier: Apache-2.0
//
// The ladder of sums: chapter 10 of Programming Massively Parallel Processors, rung by rung, up to the library's own.
// Each rung is a short kernel in a file of its own. Every result is compared with a plain loop; on a GPU every rung is
// also timed, in the emulator the accesses of its warps are counted. README.md in this folder says what to look at.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#include "../timing.hpp"
#include "0_atomic.hpp"
#include "1_divergent.hpp"
#include "2_convergent.hpp"
#include "3_shared.hpp"
#include "4_segmented.hpp"
#include "5_coarsened.hpp"
#include "6_warps.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(unsigned* numbers, std::int64_t n, unsigned* sum)> add_up;  // may overwrite the numbers
};

int main() {
  using pmpp::ceil_div;
  const std::vector<std::int64_t> sizes = PMPP_CUDA ? std::vector<std::int64_t>{0, 1, 1000, 2049, 1 << 20, 1 << 26}
                                                    : std::vector<std::int64_t>{0, 1, 1000, 2048, 2049, 4097, 40001};
  std::vector<unsigned> input(static_cast<std::size_t>(sizes.back()));
  unsigned random = 1;
  for (unsigned& x : input) x = random = random * 1664525u + 1013904223u;

  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  pmpp::device_buffer<unsigned> sum(1);
  const auto blocks_with_atomics = [&](auto kernel, std::int64_t blocks, const unsigned* x, std::int64_t n,
                                       unsigned* y) {
    pmpp::fill(where, sum, 0u);
    pmpp::launch(where, blocks, kernel, x, n, y);
  };
  const rung ladder[] = {
      {"an atomic each", "all additions wait for each other at one word",
       [&](const unsigned* x, std::int64_t n, unsigned* y) {
         blocks_with_atomics(ladder::an_atomic_each{}, ceil_div(n, std::int64_t(ladder::block_threads)), x, n, y);
       }},
      {"divergent", "a tree; one block, lanes idle everywhere",
       [&](unsigned* x, std::int64_t n, unsigned* y) { pmpp::launch(where, 1, ladder::divergent{}, x, n, y); }},
      {"convergent", "the same additions in as few warps as can be",
       [&](unsigned* x, std::int64_t n, unsigned* y) { pmpp::launch(where, 1, ladder::convergent{}, x, n, y); }},
      {"shared memory", "global memory read once, and not written",
       [&](const unsigned* x, std::int64_t n, unsigned* y) {
         pmpp::launch(where, 1, ladder::in_shared_memory{}, x, n, y);
       }},
      {"segmented", "all multiprocessors; blocks meet in an atomic",
       [&](const unsigned* x, std::int64_t n, unsigned* y) {
         blocks_with_atomics(ladder::segmented{}, ceil_div(n, ladder::section), x, n, y);
       }},
      {"coarsened", "16 numbers a thread before the tree begins",
       [&](const unsigned* x, std::int64_t n, unsigned* y) {
         blocks_with_atomics(ladder::coarsened{}, ceil_div(n, ladder::coarsened::tile), x, n, y);
       }},
      {"by warps", "shuffles instead of barriers",
       [&](const unsigned* x, std::int64_t n, unsigned* y) {
         blocks_with_atomics(ladder::by_warps{}, ceil_div(n, ladder::by_warps::tile), x, n, y);
       }},
      {"pmpp::reduce_into", "16 bytes a load, one launch, no atomics on sums",
       [&](const unsigned* x, std::int64_t n, unsigned* y) { pmpp::reduce_into(where, x, x + n, y, 0u); }},
  };

  int wrong = 0;
  std::printf("%-18s %-48s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %10s %7s %10s %7s", "2^20: us", "GB/s", "2^26: us", "GB/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const std::int64_t n : sizes) {
      pmpp::device_buffer<unsigned> numbers{std::vector<unsigned>(input.begin(), input.begin() + n)};
      r.add_up(numbers.data(), n, sum.data());
      unsigned wanted = 0;
      for (std::int64_t i = 0; i < n; ++i) wanted += input[std::size_t(i)];
      right = right && pmpp::to_host(s, sum)[0] == wanted;
    }
    std::printf("\n%-18s %-48s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    for (const std::int64_t n : {1 << 20, 1 << 26}) {
      if (!PMPP_CUDA) break;
      pmpp::device_buffer<unsigned> numbers(n, 1u);
      pmpp::synchronize(pmpp::device);
      const double us = microseconds(s, [&] { r.add_up(numbers.data(), n, sum.data()); });
      std::printf("  %10.1f %7.1f", us, 4e-3 * double(n) / us);
    }
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\n4,096 numbers, counted in the emulator:\n");
  for (const rung& r : ladder) {
    pmpp::device_buffer<unsigned> numbers(4096, 1u);
    pmpp::simt::access_counts counts;
    {
      const pmpp::simt::scoped_counting on(counts);
      r.add_up(numbers.data(), 4096, sum.data());
    }
    if (!counts.all().empty()) std::printf("%s\n%s", r.name, counts.table().c_str());
  }
#endif
  return wrong;
}
