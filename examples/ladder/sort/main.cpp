// SPDX-License-Identifier: Apache-2.0
//
// The ladder of sorts: chapter 13 of Programming Massively Parallel Processors, rung by rung, up to the library's own. Each
// rung is a few short kernels in a file of its own. Every result is compared with std::sort; on a GPU every rung is also
// timed. README.md in this folder says what to look at.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include "0_transposition.hpp"
#include "1_one_bit.hpp"
#include "2_local_sort.hpp"
#include "4_coarsened.hpp"
#include "5_bitonic.hpp"
#include "6_merge.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(unsigned* keys, std::int64_t n)> sort;
  std::int64_t most = std::int64_t(1) << 62;  ///< keys, where more would take too long
};

/// As pmpp::less, which the library would recognise, and sort by digits.
struct precedes {
  PMPP_HOST_DEVICE bool operator()(unsigned x, unsigned y) const { return x < y; }
};

/// The median of several calls, in microseconds, without the time that `prepare` takes.
double microseconds(const pmpp::stream& s, const std::function<void()>& prepare, const std::function<void()>& call) {
  std::vector<double> times;
  pmpp::event start, stop;
  for (int i = 0; i < 8; ++i) {
    prepare();
    start.record(s);
    call();
    stop.record(s);
    const double time = 1000 * pmpp::event::elapsed_ms(start, stop);
    if (i > 0) times.push_back(time);
  }
  std::nth_element(times.begin(), times.begin() + 3, times.end());
  return times[3];
}

int main() {
  const std::vector<std::int64_t> sizes = PMPP_CUDA
                                              ? std::vector<std::int64_t>{0, 1, 1000, 2049, 3841, 1000003, 1 << 22}
                                              : std::vector<std::int64_t>{0, 1, 255, 2049, 3841, 10001};
  const std::int64_t most = PMPP_CUDA ? 1 << 26 : sizes.back();
  std::vector<unsigned> input(static_cast<std::size_t>(most));
  std::uint64_t random = 1;
  for (unsigned& x : input) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<unsigned>(random >> 32);
    if (x % 7 == 0) x = ~0u << x % 30;  // some keys are equal, some the largest there are
  }
  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  const pmpp::device_buffer<unsigned> in{input};
  pmpp::device_buffer<unsigned> keys(most + 100), other_keys(most), counts(most + 65536);
  const sort_buffers other{other_keys.data(), counts.data()};

  const rung ladder[] = {
      {"transposition", "neighbours change places, n times",
       [&](unsigned* x, std::int64_t n) { sort_by_transposition(where, x, n); }, 4096},
      {"one bit", "a scan of the bits tells each key its place",
       [&](unsigned* x, std::int64_t n) { sort_by_bits(where, x, n, other); }},
      {"local sort", "a block sorts first, and writes neighbours",
       [&](unsigned* x, std::int64_t n) { sort_by_tiles<1, sort_tile<1>>(where, x, n, other); }},
      {"four bits", "a quarter of the passes",
       [&](unsigned* x, std::int64_t n) { sort_by_tiles<4, sort_tile<4>>(where, x, n, other); }},
      {"coarsened", "15 keys a thread, counters of its own",
       [&](unsigned* x, std::int64_t n) { sort_by_tiles<4, sort_large_tile>(where, x, n, other); }},
      {"pmpp::sort", "eight bits, one read a pass, look-back",
       [&](unsigned* x, std::int64_t n) { pmpp::sort(where, x, x + n); }},
      {"bitonic", "a network: compare and exchange only",
       [&](unsigned* x, std::int64_t n) { sort_bitonic(where, x, n); }},
      {"merge", "tiles by the network, then runs in pairs",
       [&](unsigned* x, std::int64_t n) { sort_by_merging(where, x, n, other); }},
      {"pmpp::sort, comp", "a comparator of one's own: four runs at once",
       [&](unsigned* x, std::int64_t n) { pmpp::sort(where, x, x + n, precedes{}); }},
  };

  int wrong = 0;
  std::printf("%-17s %-45s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %10s %7s %10s %7s", "2^20: us", "Gkeys/s", "2^26: us", "Gkeys/s");
  std::vector<std::vector<unsigned>> wanted;  // of each size, and what stays after it
  for (const std::int64_t n : sizes) {
    wanted.emplace_back(input.begin(), input.begin() + n);
    std::sort(wanted.back().begin(), wanted.back().end());
    wanted.back().resize(static_cast<std::size_t>(n) + 100, 99u);
  }
  const auto prepare = [&](std::int64_t n) {
    pmpp::copy(s, in.span().first(static_cast<std::size_t>(n)), keys.span().first(static_cast<std::size_t>(n)));
  };
  for (const rung& r : ladder) {
    bool right = true;
    for (std::size_t i = 0; i < sizes.size() && sizes[i] <= r.most; ++i) {
      pmpp::fill(where, keys, 99u);
      prepare(sizes[i]);
      r.sort(keys.data(), sizes[i]);
      right = right && pmpp::to_host(s, keys.span().first(wanted[i].size())) == wanted[i];
    }
    std::printf("\n%-17s %-45s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    for (const std::int64_t n : {1 << 20, 1 << 26}) {
      if (!PMPP_CUDA || n > r.most) break;
      const double us = microseconds(
          s, [&] { prepare(n); }, [&] { r.sort(keys.data(), n); });
      std::printf("  %10.1f %7.2f", us, 1e-3 * double(n) / us);
    }
  }
  std::printf("\n");
  return wrong;
}
