// SPDX-License-Identifier: Apache-2.0
//
// The ladder of an MRI reconstruction: chapter 17 of Programming Massively Parallel Processors (4th edition), rung by rung, from
// scattering with atomic additions to constant memory and the special function units; then the image that fits the samples best, by
// conjugate gradients. Every F^H d is compared with a plain loop in double precision, the last image with the one that was scanned.
// On a GPU every rung is also timed, in the emulator the accesses of its warps are counted. README.md says what to look at.
// usage: mri [image.pgm: scanned, F^H d, reconstructed]
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <numbers>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

#include "../timing.hpp"
#include "1_scatter.hpp"
#include "2_interchanged.hpp"
#include "3_gather.hpp"
#include "4_constant.hpp"
#include "6_iterative.hpp"

using ladder::pair;
using ladder::sample;

/// A head of three ellipses.
std::vector<float> head(ladder::voxels space) {
  std::vector<float> image;
  for (int v = 0; v < space.count(); ++v) {
    const auto in = [&](float x, float y, float a, float b) {
      return std::hypot((space.x(v) - x) / a, (space.y(v) - y) / b) < 1;
    };
    image.push_back(float(in(0, 0, 0.35f, 0.45f)) - 0.6f * float(in(-0.12f, 0.05f, 0.08f, 0.16f)) +
                    0.8f * float(in(0.14f, -0.1f, 0.1f, 0.1f)));
  }
  return image;
}

/// Samples along spokes through the centre of k-space, close together there and apart further out.
std::vector<sample> scan(const std::vector<float>& image, ladder::voxels space) {
  const int spokes = space.side * 5 / 2, along = 2 * space.side;
  std::vector<sample> samples;
  for (int i = 0; i < spokes; ++i)
    for (int j = 0; j < along; ++j) {
      const double k = (j + 0.5 - along / 2) * std::numbers::sqrt2 / 2, turn = std::numbers::pi * (i + 0.3) / spokes;
      const float kx = float(k * std::cos(turn)), ky = float(k * std::sin(turn));
      std::complex<double> d = 0;
      for (int v = 0; v < space.count(); ++v)
        if (image[std::size_t(v)] != 0)
          d += std::polar(double(image[std::size_t(v)]),
                          -2 * std::numbers::pi * (double(kx) * double(space.x(v)) + double(ky) * double(space.y(v))));
      samples.push_back({kx, ky, {float(d.real()), float(d.imag())}});
    }
  return samples;
}

/// The distance to the image that was scanned, as a part of its size, at the brightness that is closest.
double distance(const std::vector<pair>& found, const std::vector<float>& wanted, double* brightness) {
  double cross = 0, size = 0, square = 0, off = 0;
  for (std::size_t v = 0; v < wanted.size(); ++v)
    cross += double(found[v].re) * double(wanted[v]), size += std::pow(double(found[v].re), 2);
  *brightness = cross / size;
  for (std::size_t v = 0; v < wanted.size(); ++v)
    off += std::pow(*brightness * double(found[v].re) - double(wanted[v]), 2), square += std::pow(double(wanted[v]), 2);
  return std::sqrt(off / square);
}

int main(int argc, char** argv) {
  const ladder::voxels space{PMPP_CUDA ? 96 : 24};
  const std::vector<float> scanned = head(space);
  const std::vector<sample> samples = scan(scanned, space);
  const int n = int(samples.size());
  const pmpp::device_buffer<sample> there{samples};
  pmpp::device_buffer<pair> image(space.count());
  const pmpp::stream stream;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(stream).with(memory);
  pmpp::synchronize(pmpp::device);

  const auto launch = [&](auto kernel, int items) {
    pmpp::launch(where, pmpp::ceil_div<std::int64_t>(items, ladder::block_threads), kernel, there.data(), n, space,
                 image.data());
  };
  const auto clear = [&] { pmpp::fill(where, image, pair{0, 0}); };
  struct rung {
    const char *name, *lesson;
    std::function<void()> compute;
  };
  const rung rungs[] = {
      {"scatter", "a sample a thread, atomic additions", [&] { clear(), launch(ladder::scatter{}, n); }},
      {"interchanged", "a voxel a thread, its sum in memory",
       [&] { clear(), launch(ladder::interchanged{}, space.count()); }},
      {"gather", "a voxel a thread, its sum in registers", [&] { launch(ladder::gather{}, space.count()); }},
      {"constant", "samples from constant memory, in chunks",
       [&] { clear(), ladder::by_chunks<false>(where, samples, space, image.data()); }},
      {"fast sine", "sine and cosine by the special function units",
       [&] { clear(), ladder::by_chunks<true>(where, samples, space, image.data()); }},
  };

  std::vector<std::complex<double>> exact;  // of some voxels
  const int some = space.count() / 37;
  double largest = 0;
  for (int v = 0; v < space.count(); v += some) {
    std::complex<double> sum = 0;
    for (const sample& s : samples)
      sum += std::complex<double>(double(s.d.re), double(s.d.im)) *
             std::polar(1.0,
                        2 * std::numbers::pi * (double(s.kx) * double(space.x(v)) + double(s.ky) * double(space.y(v))));
    exact.push_back(sum), largest = std::fmax(largest, std::abs(sum));
  }
  int wrong = 0;
  std::printf("%d samples, %d x %d voxels\n%-14s %-46s %10s", n, space.side, space.side, "rung", "what it teaches",
              "error");
  if (PMPP_CUDA) std::printf(" %10s %18s", "us", "10^9 terms a s");
  std::vector<pair> blurred;
  for (const rung& r : rungs) {
    r.compute();
    blurred = pmpp::to_host(stream, image);
    double error = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const pair p = blurred[i * std::size_t(some)];
      error = std::fmax(error, std::abs(std::complex<double>(double(p.re), double(p.im)) - exact[i]) / largest);
    }
    std::printf("\n%-14s %-46s %10.1e", r.name, r.lesson, error);
    wrong += !(error < 1e-4);
    if (!PMPP_CUDA) continue;
    const double us = microseconds(stream, r.compute);
    std::printf(" %10.1f %18.1f", us, 1e-3 * double(space.count()) * n / us);
  }
  pmpp::device_buffer<pair> best(space.count());
  pmpp::synchronize(pmpp::device);
  const int steps = ladder::reconstruct(where, there.data(), n, space, 1e-3f * float(n), image.data(), 60, best.data());
  const std::vector<pair> sharp = pmpp::to_host(stream, best);
  double bright, right;
  const double before = distance(blurred, scanned, &bright), after = distance(sharp, scanned, &right);
  std::printf("\nF^H d is %.1f %% from what was scanned, after %d steps of conjugate gradients %.2g %%\n", 100 * before,
              steps, 100 * after);
  wrong += !(after < 0.05 && before > 0.2);
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
  if (argc > 1) {
    std::ofstream file(argv[1], std::ios::binary);
    file << "P5\n" << 3 * space.side << ' ' << space.side << "\n255\n";
    for (int row = 0; row < space.side; ++row)
      for (int picture = 0; picture < 3; ++picture)
        for (int v = row * space.side; v < (row + 1) * space.side; ++v) {
          const std::size_t i = std::size_t(v);
          const double value = picture == 0   ? double(scanned[i])
                               : picture == 1 ? bright * double(blurred[i].re)
                                              : right * double(sharp[i].re);
          file.put(char(std::fmin(std::fmax(140 * value, 0), 255)));
        }
    if (!file) return 1;
  }
  return wrong;
}
