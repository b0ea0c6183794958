// SPDX-License-Identifier: Apache-2.0
//
// The ladder of convolution layers: chapter 16 of Programming Massively Parallel Processors (4th edition), rung by rung, up to
// the library's own. Every result is compared with a plain loop; on a GPU every rung is also timed, in the emulator its accesses are
// counted.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/convolution_layer.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

#include "../counting.hpp"
#include "../timing.hpp"
#include "1_direct.hpp"
#include "2_unrolled.hpp"
#include "3_implicit.hpp"

using ladder::layer;

struct rung {
  const char *name, *lesson;
  std::function<void(const layer&)> work;
};

/// A layer of small integers: every order of additions gives the same sums.
struct problem {
  layer shape;
  pmpp::device_buffer<float> in, filters, out, unrolled;
  explicit problem(const layer& s) : shape(s) {
    std::vector<float> x(std::size_t(s.images * s.channels * s.side * s.side)),
        w(std::size_t(s.of_filters * s.window()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u >> 28 & 7) - 3;
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 2246822519u >> 27 & 7) - 4;
    in = pmpp::device_buffer<float>{x};
    filters = pmpp::device_buffer<float>{w};
    out = pmpp::device_buffer<float>{s.images * s.of_filters * s.pixels()};
    unrolled = pmpp::device_buffer<float>{s.images * s.window() * s.pixels()};
    shape.in = in.data(), shape.filters = filters.data(), shape.out = out.data();
  }
};

/// Whether 1000 results are what the definition says.
bool right(const pmpp::stream& s, const problem& p) {
  const std::vector<float> in = pmpp::to_host(s, p.in), w = pmpp::to_host(s, p.filters), out = pmpp::to_host(s, p.out);
  const layer& x = p.shape;
  for (std::size_t i = 0; i < out.size(); i += 1 + out.size() / 1000) {
    const auto at = std::int64_t(i);
    const std::int64_t n = at / (x.of_filters * x.pixels()), f = at / x.pixels() % x.of_filters;
    float sum = 0;
    for (std::int64_t k = 0; k < x.window(); ++k)
      sum += w[std::size_t(f * x.window() + k)] * in[std::size_t(x.place(n, k, at % x.pixels()))];
    if (sum != out[i]) return false;
  }
  return true;
}

int main() {
  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  problem small({nullptr, nullptr, nullptr, 2, 3, 14, 20, 3});
  const layer large_shape{nullptr, nullptr, nullptr, 64, 64, 58, 64, 3};  // 7.4 * 10^9 products and sums
  problem large(PMPP_CUDA ? large_shape : small.shape);
  float* unrolled = nullptr;
  const rung ladder[] = {
      {"direct", "a result a thread", [&](const layer& x) { layer_directly(where, x); }},
      {"unrolled", "windows as columns of a matrix, then a product",
       [&](const layer& x) { layer_unrolled(where, x, unrolled); }},
      {"implicit", "a tiled product that looks windows up", [&](const layer& x) { layer_implicitly(where, x); }},
      {"pmpp::convolution_layer", "the same with a fast product",
       [&](const layer& x) {
         pmpp::convolution_layer(where, pmpp::nchw(x.in, x.images, x.channels, x.side, x.side),
                                 pmpp::nchw(x.filters, x.of_filters, x.channels, x.taps, x.taps),
                                 pmpp::nchw(x.out, x.images, x.of_filters, x.out_side(), x.out_side()));
       }},
  };
  int wrong = 0;
  std::printf("%-24s %-47s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  64 x 64 x 58 x 58, 64 filters of 3 x 3: us  TFLOP/s");
  for (const rung& r : ladder) {
    bool all_right = true;
    for (problem* p : {&small, &large}) {
      p->out = pmpp::device_buffer<float>{std::vector<float>(std::size_t(p->out.size()), -99.0f)};
      p->shape.out = p->out.data();
      unrolled = p->unrolled.data();
      r.work(p->shape);
      all_right = all_right && right(s, *p);
    }
    std::printf("\n%-24s %-47s %-6s", r.name, r.lesson, all_right ? "right" : "WRONG");
    wrong += !all_right;
    if (!PMPP_CUDA) continue;
    const layer& x = large.shape;
    const double us = microseconds(s, [&] { r.work(x); });
    std::printf("  %42.1f %8.2f", us, 2e-6 * double(x.images * x.of_filters * x.pixels() * x.window()) / us);
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\n2 images of 3 x 14 x 14, 20 filters of 3 x 3, counted in the emulator:\n");
  unrolled = small.unrolled.data();
  for (const rung& r : ladder) print_counts(r.name, [&] { r.work(small.shape); });
#endif
  return wrong;
}
