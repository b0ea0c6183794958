// SPDX-License-Identifier: Apache-2.0
//
// The ladder of a stencil of seven points in a cube: from one thread a point to the library's. Points on the faces stay as
// they are. Every result is compared with a plain loop; on a GPU every rung is also timed.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/stencil.hpp>

#include "../counting.hpp"
#include "../timing.hpp"
#include "1_basic.hpp"
#include "2_tiled.hpp"
#include "3_coarsened.hpp"
#include "4_register_tiled.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(const float* in, float* out, const seven_points& s)> step;
};

int main() {
  const pmpp::stream s;
  const auto where = pmpp::device.on(s);
  const rung ladder[] = {
      {"basic", "seven loads a point, caches do what they can",
       [&](const float* in, float* out, const seven_points& p) { basic(where, in, out, p); }},
      {"tiled", "a cube of 8 with its halo in shared memory",
       [&](const float* in, float* out, const seven_points& p) { tiled(where, in, out, p); }},
      {"coarsened", "walks along z, three planes in shared memory",
       [&](const float* in, float* out, const seven_points& p) { coarsened(where, in, out, p); }},
      {"register tiled", "planes above and below in registers",
       [&](const float* in, float* out, const seven_points& p) { register_tiled(where, in, out, p); }},
      {"pmpp::stencil", "16 bytes a thread, the next plane on its way",
       [&](const float* in, float* out, const seven_points& p) {
         // It makes points on the faces too, with zeros outside; the inner ones are compared.
         const pmpp::volume_view<const float> from(in, p.n, p.n, p.n);
         const pmpp::volume_view<float> to(out, p.n, p.n, p.n);
         pmpp::stencil(where, from, to, pmpp::radius<1>, pmpp::stencil_7<float>{{p.own, p.next}});
       }},
  };

  int wrong = 0;
  std::printf("%-16s %-48s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %11s %7s %11s %7s", "256^3: us", "GB/s", "512^3: us", "GB/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const std::int64_t n : {1, 3, 8, 35}) {
      const seven_points p{0.4f, 0.1f, n};
      std::vector<float> in(static_cast<std::size_t>(n * n * n));
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 7919 % 1000) / 1000;
      const pmpp::device_buffer<float> a{in};
      pmpp::device_buffer<float> b(in.size());
      r.step(a.data(), b.data(), p);
      const std::vector<float> got = pmpp::to_host(s, b);
      for (std::int64_t i = 0; i < n * n * n; ++i) {
        if (!p.inside(i / (n * n)) || !p.inside(i / n % n) || !p.inside(i % n)) continue;
        const auto at = [&](std::int64_t place) { return in[static_cast<std::size_t>(place)]; };
        const float wanted =
            p.own * at(i) + p.next * (at(i - 1) + at(i + 1) + at(i - n) + at(i + n) + at(i - n * n) + at(i + n * n));
        right = right && std::fabs(got[static_cast<std::size_t>(i)] - wanted) < 1e-6f;
      }
    }
    std::printf("\n%-16s %-48s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    for (const std::int64_t n : {256, 512}) {
      if (!PMPP_CUDA) break;
      const pmpp::device_buffer<float> a(n * n * n, 1.0f);
      pmpp::device_buffer<float> b(n * n * n);
      s.synchronize();
      const double us = microseconds(s, [&] { r.step(a.data(), b.data(), {0.4f, 0.1f, n}); });
      std::printf("  %11.1f %7.1f", us, 8e-3 * double(n * n * n) / us);
    }
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\n62 x 62 x 62, counted in the emulator:\n");
  const std::int64_t n = 62;
  const pmpp::device_buffer<float> a(n * n * n, 1.0f);
  pmpp::device_buffer<float> b(n * n * n);
  for (const rung& r : ladder) print_counts(r.name, [&] { r.step(a.data(), b.data(), {0.4f, 0.1f, n}); });
#endif
  return wrong;
}
