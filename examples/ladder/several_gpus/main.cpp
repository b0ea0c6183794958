// SPDX-License-Identifier: Apache-2.0
//
// The ladder of a stencil on several GPUs, the book's example of programs with MPI: from waiting for each exchange to the library's
// call. Runs on all GPUs of the machine; where there is one, on four ranks that share it; without a GPU on four emulated ones. Every rung's
// two steps are compared with a plain loop; on GPUs they are also timed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/stencil.hpp>

#include "1_blocking.hpp"
#include "2_overlapped.hpp"
#include "4_peers.hpp"

using slabs = pmpp::slabs<float>;

struct rung {
  const char *name, *lesson;
  std::function<void(slabs& in, slabs& out, const star_points& s)> step;
};

/// Whether every GPU can read the memory of those beside it.
bool are_peers([[maybe_unused]] int count) {
#if PMPP_CUDA
  for (int i = 0; i + 1 < count; ++i)
    for (const int back : {0, 1}) {
      int can = 0;
      cudaDeviceCanAccessPeer(&can, i + back, i + 1 - back);
      if (can == 0) return false;
    }
#endif
  return true;
}

std::vector<float> plain_step(const std::vector<float>& in, const star_points& s) {
  std::vector<float> out(in.size());
  for (std::int64_t z = 0; z < s.depth; ++z)
    for (std::int64_t y = 0; y < s.height; ++y)
      for (std::int64_t x = 0; x < s.width; ++x) {
        const auto at = [&](std::int64_t dz, std::int64_t dy, std::int64_t dx) {
          const std::int64_t a = z + dz, b = y + dy, c = x + dx;
          const bool inside = a >= 0 && a < s.depth && b >= 0 && b < s.height && c >= 0 && c < s.width;
          return inside ? double(in[std::size_t((a * s.height + b) * s.width + c)]) : 0.0;
        };
        double sum = double(s.weight[0]) * at(0, 0, 0);
        for (int k = 1; k <= reach; ++k)
          sum += double(s.weight[k]) *
                 (at(-k, 0, 0) + at(k, 0, 0) + at(0, -k, 0) + at(0, k, 0) + at(0, 0, -k) + at(0, 0, k));
        out[std::size_t((z * s.height + y) * s.width + x)] = float(sum);
      }
  return out;
}

template <class Devices>
int climb(const Devices& gpus, bool peers_can) {
  pmpp::distributed_buffer<char> tokens{gpus, 4 * gpus.size()};
  pmpp::fill(gpus, tokens, 0);
  const rung ladder[] = {
      {"blocking", "exchange, wait, compute",
       [&](slabs& in, slabs& out, const star_points& s) { blocking(gpus, in, out, s); }},
      {"overlapped", "the exchange beside the interior",
       [&](slabs& in, slabs& out, const star_points& s) { overlapped(gpus, in, out, s); }},
      {"pmpp::stencil", "the same, for slabs of any heights",
       [&](slabs& in, slabs& out, const star_points& s) {
         pmpp::stencil_25<float> star{};
         std::copy_n(s.weight, reach + 1, star.weight);
         pmpp::stencil(gpus, in, out, pmpp::radius<reach>, star);
       }},
      {"peers", "planes are read where they lie",
       [&](slabs& in, slabs& out, const star_points& s) { peers(gpus, in, out, tokens, s); }},
  };

  int wrong = 0;
  std::printf("%d ranks\n%-14s %-36s result", gpus.size(), "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %18s", "512^3 a rank: us");
  for (const rung& r : ladder) {
    if (!peers_can && r.name == ladder[3].name) continue;
    const star_points small{11 * gpus.size() + 1, 9, 20, {0.4f, 0.05f, 0.03f, 0.02f, 0.01f}};
    slabs a{gpus, {small.depth, small.height, small.width}, reach}, b{gpus, a.extents(), reach};
    std::vector<float> start(static_cast<std::size_t>(small.depth * small.height * small.width));
    for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<float>(i * 7919 % 1000) / 1000;
    a.copy_from(start);
    gpus.synchronize();
    r.step(a, b, small);
    r.step(b, a, small);
    const auto got = pmpp::to_host(gpus, a), wanted = plain_step(plain_step(start, small), small);
    bool right = true;
    for (std::size_t i = 0; i < got.size(); ++i) right = right && std::fabs(got[i] - wanted[i]) < 1e-5f;
    std::printf("\n%-14s %-36s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    if (!PMPP_CUDA) continue;
    const star_points large{512 * gpus.size(), 512, 512, {0.4f, 0.05f, 0.03f, 0.02f, 0.01f}};
    slabs c{gpus, {large.depth, large.height, large.width}, reach}, d{gpus, c.extents(), reach};
    pmpp::fill(gpus, c.elements(), 1.0f);
    double best = 1e9;
    for (int i = 0; i < 6; ++i) {  // ten steps each, the first does not count
      gpus.synchronize();
      const auto begin = std::chrono::steady_clock::now();
      for (int step = 0; step < 5; ++step) {
        r.step(c, d, large);
        r.step(d, c, large);
      }
      gpus.synchronize();
      const double us = 1e5 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (i > 0) best = std::min(best, us);
    }
    std::printf("  %18.1f", best);
  }
  std::printf("\n");
  return wrong;
}

int main() {
  const pmpp::devices<> all;
  if (all.size() > 1) return climb(all, are_peers(all.size()));
  return climb(pmpp::ranks_on_one_device(4), true);
}
