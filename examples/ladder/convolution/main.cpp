// SPDX-License-Identifier: Apache-2.0
//
// The ladder of convolutions, 5 x 5 taps: from the book's first kernel to the library's. Every result is compared with a
// plain loop; on a GPU every rung is also timed.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/convolution.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>

#include "../timing.hpp"
#include "1_basic.hpp"
#include "2_constant_memory.hpp"
#include "3_tiled_with_halo.hpp"
#include "4_cached_tile.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(const float* in, float* out, const picture_size& size)> convolve;
};

/// The result at (y, x), by the definition.
double wanted(const std::vector<float>& in, const mask_taps& mask, const picture_size& size, std::int64_t y,
              std::int64_t x) {
  double sum = 0;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      if (size.has(y + i - radius, x + j - radius))
        sum += double(mask.tap[i][j]) *
               double(in[static_cast<std::size_t>((y + i - radius) * size.cols + x + j - radius)]);
  return sum;
}

int main() {
  const picture_size sizes[] = {{1, 1}, {3, 100}, {64, 64}, {95, 129}};
  mask_taps mask;
  for (int i = 0; i < side * side; ++i) mask.tap[i / side][i % side] = 0.01f * float(i * i % 17 - 5);
  const pmpp::stream s;
  const auto where = pmpp::device.on(s);
  const pmpp::device_buffer<float> taps(std::vector<float>(&mask.tap[0][0], &mask.tap[0][0] + side * side));
  const rung ladder[] = {
      {"basic", "an element and a tap from memory for each product",
       [&](const float* a, float* b, const picture_size& n) { convolve_basically(where, a, taps.data(), b, n); }},
      {"constant memory", "taps from the constant cache, one for a warp",
       [&](const float* a, float* b, const picture_size& n) { convolve_with_constant_taps(where, a, mask, b, n); }},
      {"tiled with halo", "elements from shared memory, threads of the halo idle",
       [&](const float* a, float* b, const picture_size& n) { convolve_by_tiles(where, a, mask, b, n); }},
      {"cached tile", "no halo: the neighbours' elements are in the cache",
       [&](const float* a, float* b, const picture_size& n) { convolve_by_cached_tiles(where, a, mask, b, n); }},
      {"pmpp::convolve", "several results a thread: elements and taps in registers",
       [&](const float* a, float* b, const picture_size& n) {
         pmpp::convolve(where, pmpp::matrix_view<const float>(a, n.rows, n.cols),
                        pmpp::matrix_view<const float>(&mask.tap[0][0], side, side),
                        pmpp::matrix_view<float>(b, n.rows, n.cols));
       }},
  };

  int wrong = 0;
  std::printf("%-16s %-57s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %11s %7s", "8192^2: us", "GB/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const picture_size& size : sizes) {
      std::vector<float> in(static_cast<std::size_t>(size.rows * size.cols));
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 37 % 101);
      const pmpp::device_buffer<float> a{in};
      pmpp::device_buffer<float> b(in.size());
      r.convolve(a.data(), b.data(), size);
      const std::vector<float> got = pmpp::to_host(s, b);
      for (std::int64_t y = 0; y < size.rows; ++y)
        for (std::int64_t x = 0; x < size.cols; ++x)
          right = right && std::abs(double(got[static_cast<std::size_t>(y * size.cols + x)]) -
                                    wanted(in, mask, size, y, x)) < 1e-3;
    }
    std::printf("\n%-16s %-57s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    if (!PMPP_CUDA) continue;
    const std::int64_t n = 8192;
    const pmpp::device_buffer<float> a(n * n, 1.0f);
    pmpp::device_buffer<float> b(n * n);
    s.synchronize();
    const double us = microseconds(s, [&] { r.convolve(a.data(), b.data(), {n, n}); });
    std::printf("  %11.1f %7.1f", us, 8e-3 * double(n * n) / us);
  }
  std::printf("\n");
  return wrong;
}
