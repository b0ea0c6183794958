// SPDX-License-Identifier: Apache-2.0
//
// The ladder of pictures: chapter 3 of Programming Massively Parallel Processors. A picture doubled on a
// grid of two dimensions; two ways to turn colours into greys, three to blur them. Every result is compared with a plain loop; on a GPU every rung is also timed, in the emulator the
// accesses of its warps are counted.
// usage: example_ladder_image_cpu [blurred.pgm]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>

#include "../timing.hpp"
#include "0_scale.hpp"
#include "1_gray.hpp"
#include "2_blur.hpp"

/// A picture on the machine that runs the kernels, and what the rungs should make of it.
struct picture {
  int width, height;
  std::vector<std::uint8_t> grey, scaled, blurred;
  pmpp::device_buffer<std::uint8_t> rgb, grey_in, out;

  std::int64_t pixels() const { return std::int64_t(width) * height; }
  picture(int columns, int rows, const gray_weights& weights) : width(columns), height(rows) {
    std::vector<std::uint8_t> colours;
    for (int i = 0; i < width * height; ++i) {
      const double x = i % width, y = i / width, ring = std::hypot(x - width / 2, y - height / 3);
      for (const double speed : {0.11, 0.13, 0.17})
        colours.push_back(static_cast<std::uint8_t>(127.5 + 127.5 * std::sin(speed * ring) * std::cos(0.01 * y)));
      grey.push_back(weights(colours[std::size_t(3 * i)], colours[std::size_t(3 * i + 1)], colours.back()));
    }
    for (const std::uint8_t g : grey) scaled.push_back(static_cast<std::uint8_t>(2 * g));
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        unsigned sum = 0, count = 0;
        for (int v = std::max(0, y - 3); v <= std::min(height - 1, y + 3); ++v)
          for (int u = std::max(0, x - 3); u <= std::min(width - 1, x + 3); ++u, ++count)
            sum += grey[std::size_t(v * width + u)];
        blurred.push_back(static_cast<std::uint8_t>((sum + count / 2) / count));
      }
    rgb = pmpp::device_buffer<std::uint8_t>{colours};
    grey_in = pmpp::device_buffer<std::uint8_t>{grey};
    out = pmpp::device_buffer<std::uint8_t>(pixels() + 100, std::uint8_t(7));
    pmpp::synchronize(pmpp::device);
  }
};

enum class task { scale, grey, blur };

struct rung {
  const char *name, *lesson;
  task makes;
  std::function<void(picture&)> run;
};

int main(int argc, char** argv) {
  using pmpp::ceil_div;
  const pmpp::stream s;
  const auto where = pmpp::device.on(s);
  const auto blur = [&](auto kernel, picture& p) {
    pmpp::launch(where, pmpp::grid{{ceil_div(p.width, 32), ceil_div(p.height, 8)}, {32, 8}}, kernel,
                 blur_arguments{p.grey_in.data(), p.out.data(), p.width, p.height});
  };
  const gray_weights weights{};  // or {30, 59, 11}
  const rung ladder[] = {
      {"scale, a plane", "a grid of two dimensions, borders without work", task::scale,
       [&](picture& p) {
         pmpp::launch(where, scale_on_a_plane::shape(p.width, p.height), scale_on_a_plane{}, p.grey_in.data(),
                      p.out.data(), p.width, p.height);
       }},
      {"grey, a pixel", "bytes in threes: three reads of the same sectors", task::grey,
       [&](picture& p) {
         pmpp::launch(where, ceil_div<std::int64_t>(p.pixels(), 256), gray_a_pixel{}, p.rgb.data(), p.out.data(),
                      p.pixels(), weights);
       }},
      {"grey, four pixels", "whole words: a quarter of the requests", task::grey,
       [&](picture& p) {
         pmpp::launch(where, ceil_div<std::int64_t>(p.pixels(), 1024), gray_four_pixels{}, p.rgb.data(), p.out.data(),
                      p.pixels(), weights);
       }},
      {"blur, a pixel", "49 reads, a condition at each", task::blur, [&](picture& p) { blur(blur_a_pixel{}, p); }},
      {"blur, tiled", "two reads from memory, 49 from shared memory", task::blur,
       [&](picture& p) { blur(blur_tiled<false>{}, p); }},
      {"blur, separable", "rows, then columns: 14 additions for 49", task::blur,
       [&](picture& p) { blur(blur_tiled<true>{}, p); }},
  };

  int wrong = 0;
  std::printf("%-18s %-50s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %14s", "4096 x 3072: us");
  std::vector<picture> pictures;
  for (const auto& [width, height] : {std::pair(1, 1), {5, 3}, {100, 75}, {64, 64}})
    pictures.emplace_back(width, height, weights);
  if (PMPP_CUDA) pictures.emplace_back(4096, 3072, weights);
  for (const rung& r : ladder) {
    bool right = true;
    for (picture& p : pictures) {
      r.run(p);
      const std::vector<std::uint8_t>& wanted = r.makes == task::blur   ? p.blurred
                                                : r.makes == task::grey ? p.grey
                                                                        : p.scaled;
      const std::vector<std::uint8_t> got = pmpp::to_host(s, p.out);
      right = right && std::equal(wanted.begin(), wanted.end(), got.begin()) &&
              std::all_of(got.begin() + p.pixels(), got.end(), [](std::uint8_t v) { return v == 7; });
    }
    std::printf("\n%-18s %-50s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    if (PMPP_CUDA) std::printf("  %14.1f", microseconds(s, [&] { r.run(pictures.back()); }));
  }
  std::printf("\n");
  if (argc > 1) {
    const picture& p = pictures[2];
    const std::vector<std::uint8_t> got = pmpp::to_host(s, p.out);
    std::ofstream file(argv[1], std::ios::binary);
    file << "P5\n" << p.width << ' ' << p.height << "\n255\n";
    file.write(reinterpret_cast<const char*>(got.data()), std::streamsize(p.pixels()));
    wrong += !file;
  }
#if !PMPP_CUDA
  std::printf("\n64 x 64 pixels, counted in the emulator:\n");
  for (const rung& r : ladder) {
    pmpp::simt::access_counts counts;
    {
      const pmpp::simt::scoped_counting on(counts);
      r.run(pictures[3]);
    }
    std::printf("%s\n%s", r.name, counts.table().c_str());
  }
#endif
  return wrong;
}
