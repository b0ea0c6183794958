// SPDX-License-Identifier: Apache-2.0
//
// The ladder of filters (the fifth edition of Programming Massively Parallel Processors has a chapter on them): from an atomic
// addition a number to the library's own, rung by rung. Each rung is a short kernel in a file of its own. Every result is
// compared with a plain loop; on a GPU every rung is also timed, in the emulator the accesses of its warps are counted.
// README.md in this folder says what to look at.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/select.hpp>
#include <pmpp/transform.hpp>

#include "../timing.hpp"
#include "1_atomic.hpp"
#include "2_warps.hpp"
#include "3_blocks.hpp"
#include "4_stable.hpp"
#include "5_in_place.hpp"

struct by_three {
  PMPP_HOST_DEVICE bool operator()(unsigned x) const { return ladder::is_kept(x); }
};

struct rung {
  const char *name, *lesson;
  bool in_order;
  std::function<unsigned*(unsigned* in, std::int64_t n, unsigned* out)> filter;  // where the result is
};

int main() {
  using pmpp::ceil_div;
  const std::vector<std::int64_t> sizes = PMPP_CUDA ? std::vector<std::int64_t>{1, 1000, 2049, 1 << 20}
                                                    : std::vector<std::int64_t>{1, 1000, 2048, 2049, 4097, 20001};
  const std::int64_t most = PMPP_CUDA ? 1 << 26 : sizes.back();
  std::vector<unsigned> input(static_cast<std::size_t>(most));
  unsigned random = 1;
  for (unsigned& x : input) x = (random = random * 1664525u + 1013904223u) >> 8;

  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  pmpp::device_buffer<int> count(1), blocks(ceil_div(most, std::int64_t(ladder::block_threads)) + 1);
  const auto unordered = [&](auto kernel, const unsigned* in, std::int64_t n, unsigned* out) {
    pmpp::fill(where, count, 0);
    pmpp::launch(where, ceil_div(n, std::int64_t(ladder::block_threads)), kernel, in, n, out, count.data());
    return out;
  };
  const rung ladder[] = {
      {"atomics", "an atomic addition a number", false,
       [&](unsigned* x, std::int64_t n, unsigned* y) { return unordered(ladder::by_atomics{}, x, n, y); }},
      {"warps", "one a warp: ballot, population count, shuffle", false,
       [&](unsigned* x, std::int64_t n, unsigned* y) { return unordered(ladder::by_warps{}, x, n, y); }},
      {"blocks", "one a block, counts in shared memory", false,
       [&](unsigned* x, std::int64_t n, unsigned* y) { return unordered(ladder::by_blocks{}, x, n, y); }},
      {"in order", "count, scan, write: no atomics, read twice", true,
       [&](unsigned* x, std::int64_t n, unsigned* y) {
         ladder::filter_in_order(where, x, n, y, count.data(), blocks.data());
         return y;
       }},
      {"in place", "one launch, dominoes: read once", true,
       [&](unsigned* x, std::int64_t n, unsigned*) {
         const std::int64_t tiles = ceil_div(n, std::int64_t(ladder::in_place::tile));
         pmpp::fill(where, blocks.data(), blocks.data() + tiles + 1, 0);
         pmpp::launch(where, tiles, ladder::in_place{}, x, n, blocks.data(), count.data());
         return x;
       }},
      {"pmpp::copy_if_into", "blocks look back over many at once", true,
       [&](const unsigned* x, std::int64_t n, unsigned* y) {
         pmpp::copy_if_into(where, x, x + n, y, count, by_three{});
         return y;
       }},
  };

  int wrong = 0;
  std::printf("%-18s %-46s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %10s %7s %10s %7s", "2^20: us", "GB/s", "2^26: us", "GB/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const std::int64_t n : sizes) {
      pmpp::device_buffer<unsigned> numbers{std::vector<unsigned>(input.begin(), input.begin() + n)}, out(n);
      const unsigned* const at = r.filter(numbers.data(), n, out.data());
      const int kept = pmpp::to_host(s, count)[0];
      std::vector<unsigned> result = pmpp::to_host(s, at == out.data() ? out : numbers), wanted;
      std::copy_if(input.begin(), input.begin() + n, std::back_inserter(wanted), by_three{});
      result.resize(std::min(result.size(), static_cast<std::size_t>(kept)));
      if (!r.in_order) std::sort(result.begin(), result.end()), std::sort(wanted.begin(), wanted.end());
      right = right && result == wanted;
    }
    std::printf("\n%-18s %-46s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    for (const std::int64_t n : {1 << 20, 1 << 26}) {
      if (!PMPP_CUDA) break;
      // In place each call keeps more than the one before: those of the calls before stand in front.
      pmpp::device_buffer<unsigned> numbers{std::vector<unsigned>(input.begin(), input.begin() + n)}, out(n);
      pmpp::synchronize(pmpp::device);
      const double us = microseconds(s, [&] { r.filter(numbers.data(), n, out.data()); });
      std::printf("  %10.1f %7.1f", us, 4e-3 * 4 / 3 * double(n) / us);
    }
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\n4,096 numbers, counted in the emulator:\n");
  for (const rung& r : ladder) {
    pmpp::device_buffer<unsigned> numbers{std::vector<unsigned>(input.begin(), input.begin() + 4096)}, out(4096);
    pmpp::simt::access_counts counts;
    {
      const pmpp::simt::scoped_counting on(counts);
      r.filter(numbers.data(), 4096, out.data());
    }
    if (!counts.all().empty()) std::printf("%s\n%s", r.name, counts.table().c_str());
  }
#endif
  return wrong;
}
