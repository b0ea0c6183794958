// SPDX-License-Identifier: Apache-2.0
//
// The ladder of convolutions, 5 x 5 taps: from the book's first kernel to the library's; then the same ideas in one and in
// three dimensions. Every result is compared with a plain loop; on a GPU every rung in two dimensions is also timed.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/convolution.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>

#include "../counting.hpp"
#include "../timing.hpp"
#include "1_basic.hpp"
#include "2_constant_memory.hpp"
#include "3_tiled_with_halo.hpp"
#include "4_cached_tile.hpp"
#include "one_dimension.hpp"
#include "three_dimensions.hpp"

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
        sum += double(mask[i * side + j]) *
               double(in[static_cast<std::size_t>((y + i - radius) * size.cols + x + j - radius)]);
  return sum;
}

/// Compares `got` with `exact`, and prints a line. \return the number of wrong ones
int judge(const char* name, const char* lesson, bool right) {
  std::printf("%-16s %-57s %s\n", name, lesson, right ? "right" : "WRONG");
  return !right;
}

bool close(const std::vector<float>& got, const std::vector<double>& exact) {
  for (std::size_t i = 0; i < exact.size(); ++i)
    if (!(std::abs(double(got[i]) - exact[i]) < 1e-3)) return false;
  return true;
}

template <class Policy>
int climb_in_one_dimension(const Policy& where) {
  std::printf("\none dimension, 9 taps\n");
  line_taps taps;
  for (int j = 0; j < line_side; ++j) taps[j] = 0.1f * float(j * j % 7 - 2);
  int wrong = 0;
  const auto rung = [&](const char* name, const char* lesson, auto kernel) {
    bool right = true;
    for (const std::int64_t n : {0, 1, 7, 256, 257, 1000, 5000}) {
      std::vector<float> in(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 37 % 101);
      std::vector<double> exact(in.size(), 0.0);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0, k = i - line_radius; j < line_side; ++j, ++k)
          if (k >= 0 && k < n) exact[std::size_t(i)] += double(taps[int(j)]) * double(in[std::size_t(k)]);
      const pmpp::device_buffer<float> a{in};
      pmpp::device_buffer<float> b(n);
      pmpp::launch(where, pmpp::ceil_div(n, std::int64_t(line_threads)), kernel, a.data(), taps, b.data(), n);
      pmpp::synchronize(where);
      right = right && close(pmpp::to_host(b), exact);
    }
    wrong += judge(name, lesson, right);
  };
  rung("constant memory", "an element from memory for each product", line_basic{});
  rung("left, right halo", "elements from shared memory, halos by a few threads", line_with_halo{});
  rung("cached halo", "no halo: the neighbours' elements are in the cache", line_cached{});
  return wrong;
}

template <class Policy>
int climb_in_three_dimensions(const Policy& where) {
  std::printf("\nthree dimensions, 3 x 3 x 3 taps\n");
  cube_taps taps;
  for (int j = 0; j < taps.size(); ++j) taps[j] = 0.1f * float(j * j % 7 - 2);
  int wrong = 0;
  const auto rung = [&](const char* name, const char* lesson, auto kernel) {
    bool right = true;
    for (const volume_size& n : {volume_size{1, 1, 1}, {3, 2, 40}, {8, 8, 8}, {9, 17, 33}}) {
      std::vector<float> in(static_cast<std::size_t>(n.volume()));
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 37 % 101);
      std::vector<double> exact(in.size(), 0.0);
      for (std::int64_t i = 0; i < n.volume(); ++i) {
        const std::int64_t z = i / (n.rows * n.cols), y = i / n.cols % n.rows, x = i % n.cols;
        for (int k = 0; k < 27; ++k)
          if (const std::int64_t w = z + k / 9 - 1, v = y + k / 3 % 3 - 1, u = x + k % 3 - 1; n.has(w, v, u))
            exact[std::size_t(i)] += double(taps[k]) * double(in[std::size_t(n.place(w, v, u))]);
      }
      const pmpp::device_buffer<float> a{in};
      pmpp::device_buffer<float> b(n.volume());
      pmpp::launch(where, pmpp::grid{kernel.blocks(n), kernel.shape}, kernel, a.data(), taps, b.data(), n);
      pmpp::synchronize(where);
      right = right && close(pmpp::to_host(b), exact);
    }
    wrong += judge(name, lesson, right);
  };
  rung("constant memory", "an element from memory for each product", cube_basic{});
  rung("tiled with halo", "of 10 x 10 x 10 elements a block makes 8 x 8 x 8", cube_tiled{});
  return wrong;
}

int main() {
  const picture_size sizes[] = {{1, 1}, {3, 100}, {64, 64}, {95, 129}};
  mask_taps mask;
  for (int i = 0; i < side * side; ++i) mask[i] = 0.01f * float(i * i % 17 - 5);
  const pmpp::stream s;
  const auto where = pmpp::device.on(s);
  const pmpp::device_buffer<float> taps(std::vector<float>(mask.begin(), mask.end()));
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
                        pmpp::matrix_view<const float>(mask.data(), side, side),
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
#if !PMPP_CUDA
  std::printf("\n112 x 112, counted in the emulator:\n");
  const pmpp::device_buffer<float> a(112 * 112, 1.0f);
  pmpp::device_buffer<float> b(112 * 112);
  for (const rung& r : ladder) print_counts(r.name, [&] { r.convolve(a.data(), b.data(), {112, 112}); });
#endif
  wrong += climb_in_one_dimension(where);
  wrong += climb_in_three_dimensions(where);
  return wrong;
}
