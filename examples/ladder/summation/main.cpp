// SPDX-License-Identifier: Apache-2.0
//
// The ladder of roundings: how far sums of floats are off (numerical considerations of Programming Massively Parallel Processors,
// appendix A), from the loop to sums that lose nothing. Each error is compared with the bound of its rung, which docs/numbers.md
// tells; on a GPU every rung is also timed. README.md says what to look at.
// usage: summation [errors.svg]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/core/compensated.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#include "../timing.hpp"
#include "1_naive.hpp"
#include "2_kahan.hpp"
#include "3_pairwise.hpp"
#include "4_tree.hpp"
#include "chart.hpp"

using ladder::kind;

struct rung {
  const char *name, *lesson;
  bool sorted;                            // the numbers come by size
  std::function<double(double n)> bound;  // roundings
  std::function<void(const float* x, std::int64_t n, float* sum)> add_up;
};

int main(int argc, char** argv) {
  const int first = 4, last = PMPP_CUDA ? 20 : 17, blocks = PMPP_CUDA ? 264 : 4;
  const std::int64_t most = std::int64_t(1) << last;
  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  pmpp::device_buffer<float> sum(1), one(most / 2 + 1), other(most / 2 + 1), of_blocks(blocks);
  pmpp::device_buffer<pmpp::compensated<float>> wide(1);

  const rung rungs[] = {
      {"naive", "every addition rounds", false, [](double n) { return n; },
       [&](const float* x, std::int64_t n, float* y) { pmpp::launch(where, 1, ladder::naive{}, x, n, y); }},
      {"sorted, naive", "small numbers meet small sums", true, [](double n) { return n; },
       [&](const float* x, std::int64_t n, float* y) { pmpp::launch(where, 1, ladder::naive{}, x, n, y); }},
      {"Kahan", "what was lost is added later", false, [](double n) { return 2 + n * 0x1p-22; },
       [&](const float* x, std::int64_t n, float* y) { pmpp::launch(where, 1, ladder::kahan{}, x, n, y); }},
      {"pairwise", "log2 n additions for each number", false, [](double n) { return std::ceil(std::log2(n)); },
       [&](const float* x, std::int64_t n, float* y) { ladder::pairwise(where, x, n, one.data(), other.data(), y); }},
      {"tree", "a loop a thread, then pairwise", false,
       [=](double n) { return std::ceil(n / (256 * blocks)) + 8 + std::ceil(blocks / 256.0) + 8; },
       [&](const float* x, std::int64_t n, float* y) {
         pmpp::launch(where, blocks, ladder::tree{}, x, n, of_blocks.data());
         pmpp::launch(where, 1, ladder::tree{}, of_blocks.data(), std::int64_t(blocks), y);
       }},
      {"pmpp: same_bits", "one order on every machine", false, [](double) { return 3.0 * (16 + 5 + 4); },
       [&](const float* x, std::int64_t n, float* y) {
         pmpp::reduce_into(where, x, x + n, y, 0.0f, pmpp::same_bits{pmpp::plus{}});
       }},
      {"pmpp: compensated", "a tree of Kahan's sums", false, [](double n) { return 1 + n * 0x1p-22; },
       [&](const float* x, std::int64_t n, float* y) {
         pmpp::reduce_into(where, x, x + n, wide.data(), pmpp::compensated<float>{});
         pmpp::transform(where, wide.data(), wide.data() + 1, y,
                         [] PMPP_HOST_DEVICE(const pmpp::compensated<float>& c) { return c.value(); });
       }},
  };

  int wrong = 0;
  std::vector<ladder::curve> curves;
  std::printf("roundings of sums of 2^%d floats\n%-18s %-34s %12s %12s %12s", last, "rung", "what it teaches",
              "uniform", "of all sizes", "cancelling");
  if (PMPP_CUDA) std::printf(" %10s", "us");
  for (const rung& r : rungs) {
    const auto error = [&](kind what, std::int64_t n) {
      std::vector<float> x = ladder::numbers(what, n);
      if (r.sorted) std::sort(x.begin(), x.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
      const pmpp::device_buffer<float> there{x};
      r.add_up(there.data(), n, sum.data());
      const double found = ladder::roundings(double(pmpp::to_host(s, sum)[0]), x);
      wrong += !(found <= r.bound(double(n)));
      return found;
    };
    std::printf("\n%-18s %-34s", r.name, r.lesson);
    for (const kind what : {kind::uniform, kind::of_all_sizes, kind::cancelling})
      std::printf(" %12.4f", error(what, most));
    curves.push_back({r.name, {}});
    for (int power = first; power <= last; ++power)
      curves.back().roundings.push_back(error(kind::uniform, std::int64_t(1) << power));
    if (!PMPP_CUDA) continue;
    const pmpp::device_buffer<float> x{ladder::numbers(kind::uniform, most)};
    std::printf(" %10.1f", microseconds(s, [&] { r.add_up(x.data(), most, sum.data()); }));
  }
  std::printf("\n%s\n", wrong == 0 ? "all within their bounds" : "BEYOND A BOUND");
  if (argc > 1 && !ladder::draw(argv[1], curves, first)) return 1;
  return wrong;
}
