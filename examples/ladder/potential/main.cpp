// SPDX-License-Identifier: Apache-2.0
//
// The ladder of potentials: chapter 18 of Programming Massively Parallel Processors, rung by rung, from scattering with atomic
// additions to bins, whose time grows with the atoms alone. Every result is compared with a plain loop in double precision; on a
// GPU every rung is also timed, in the emulator the accesses of its warps are counted. README.md says what to look at.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

#include "../timing.hpp"
#include "1_scatter.hpp"
#include "2_gather.hpp"
#include "3_coarsened.hpp"
#include "4_coalesced.hpp"
#include "5_cutoff.hpp"

using ladder::atom;

/// Atoms at random in a box of `side` x side x depth, with charges between -1 and 1.
std::vector<atom> atoms_in_box(int n, float side, float depth) {
  std::vector<atom> atoms(static_cast<std::size_t>(n));
  unsigned random = 1;
  const auto next = [&] { return float((random = random * 1664525u + 1013904223u) >> 8) / float(1 << 24); };
  for (atom& a : atoms) a = {side * next(), side * next(), depth * next(), 2 * next() - 1};
  return atoms;
}

int main() {
  using pmpp::ceil_div;
  const int width = PMPP_CUDA ? 1024 : 64;
  const ladder::slice s{width, width * 3 / 4, 0.5f, 3.3f};
  const float side = s.spacing * float(width), depth = 8, cutoff = 6;
  const int n = PMPP_CUDA ? 20000 : 500;
  const ladder::bins space{cutoff, int(side / cutoff) + 1, int(side / cutoff) + 1, 2};
  const std::vector<atom> in_box = atoms_in_box(n, side, depth);
  pmpp::device_buffer<atom> atoms{in_box};
  pmpp::device_buffer<float> potential(s.points());
  pmpp::device_buffer<int> bin_of(n), first(space.count() + 1);

  const pmpp::stream stream;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(stream).with(memory);
  struct rung {
    const char *name, *lesson;
    bool cut;
    std::function<void()> compute;
  };
  const auto launch = [&](auto kernel, std::int64_t items) {
    pmpp::launch(where, ceil_div(items, std::int64_t(ladder::block_threads)), kernel, atoms.data(), n, s,
                 potential.data());
  };
  const rung rungs[] = {
      {"scatter", "an atom a thread, atomic additions", false,
       [&] {
         pmpp::fill(where, potential, 0.0f);
         launch(ladder::scatter{}, n);
       }},
      {"gather", "a point a thread, no atomics", false, [&] { launch(ladder::gather{}, s.points()); }},
      {"coarsened", "four points a thread share what they can", false,
       [&] { launch(ladder::coarsened{}, s.points() / 4); }},
      {"coalesced", "the four are a quarter of a row apart", false,
       [&] { launch(ladder::coalesced{}, s.points() / 4); }},
      {"cutoff", "atoms sorted into bins, 27 of them a point", true,
       [&] {
         ladder::potential_by_bins(where, atoms.data(), n, space, s, bin_of.data(), first.data(), potential.data());
       }},
  };

  // A plain loop, for some points.
  const auto error = [&](const std::vector<float>& found, bool cut) {
    double worst = 0;
    for (std::int64_t point = 0; point < s.points(); point += s.points() / 97) {
      double sum = 0;
      for (const atom& a : in_box) {
        const double x = s.spacing * double(point % width) - a.x, y = s.spacing * double(point / width) - a.y,
                     z = s.z - a.z, square = x * x + y * y + z * z, left = 1 - square / (cutoff * cutoff);
        sum += a.charge / std::sqrt(square) * (!cut ? 1 : left > 0 ? left * left : 0);
      }
      worst = std::fmax(worst, std::fabs(found[std::size_t(point)] - sum) / (1 + std::fabs(sum)));
    }
    return worst;
  };

  int wrong = 0;
  std::printf("%d atoms, %d x %d points\n%-10s %-44s result", n, s.width, s.height, "rung", "what it teaches");
  if (PMPP_CUDA) std::printf(" %10s %18s", "us", "10^9 pairs a s");
  for (const rung& r : rungs) {
    r.compute();
    const bool right = error(pmpp::to_host(stream, potential), r.cut) < 1e-3;
    std::printf("\n%-10s %-44s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    if (!PMPP_CUDA) continue;
    const double us = microseconds(stream, r.compute);
    std::printf(" %10.1f %18.1f", us, 1e-3 * double(s.points()) * n / us);
  }
  std::printf("\n");
#if !PMPP_CUDA
  for (const rung& r : rungs) {
    pmpp::simt::access_counts counts;
    {
      const pmpp::simt::scoped_counting on(counts);
      r.compute();
    }
    if (!counts.all().empty()) std::printf("\n%s\n%s", r.name, counts.table().c_str());
  }
#endif
  // Four times the box, four times the atoms: pairs that a point looks at, of all and in its bins.
  std::printf("\n%-8s %16s %16s\n", "atoms", "pairs, gathered", "pairs, in bins");
  for (const int times : {1, 4, 16}) {
    const float wide = side * std::sqrt(float(times));
    const ladder::bins larger{cutoff, int(wide / cutoff) + 1, int(wide / cutoff) + 1, 2};
    std::vector<double> of_bin(std::size_t(larger.count()));
    for (const atom& a : atoms_in_box(n * times, wide, depth)) ++of_bin[std::size_t(larger(a))];
    double pairs = 0;  // a bin's points are as many as any other's
    for (int y = 0; y < larger.ny; ++y)
      for (int x = 0; x < larger.nx; ++x)
        for (int v = pmpp::max(y - 1, 0); v <= pmpp::min(y + 1, larger.ny - 1); ++v)
          for (int u = pmpp::max(x - 1, 0); u <= pmpp::min(x + 1, larger.nx - 1); ++u)
            for (int z = 0; z < 2; ++z) pairs += of_bin[std::size_t(larger.number(u, v, z))];
    const double points = double(s.points()) * times;
    std::printf("%-8d %16.3g %16.3g\n", n * times, points * n * times, points * pairs / (larger.nx * larger.ny));
  }
  return wrong;
}
