// SPDX-License-Identifier: Apache-2.0
//
// The ladder of attention: chapter 20 of Programming Massively Parallel Processors (5th edition), rung by rung, up to the library's
// own. Every result is compared with plain loops in double precision; on a GPU every rung is also timed, in the emulator its accesses
// are counted.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/attention.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

#include "../counting.hpp"
#include "../timing.hpp"
#include "1_stored.hpp"
#include "2_online.hpp"

using ladder::heads;
using ladder::size;

struct rung {
  const char *name, *lesson;
  std::function<void(const heads&)> attend;
};

struct problem {
  std::vector<float> in[3];
  pmpp::device_buffer<float> q, k, v, out, scores;
  heads view;

  problem(std::int64_t count, std::int64_t length) {
    std::uint32_t random = 1;
    for (std::vector<float>& x : in)
      for (std::int64_t i = 0; i < count * length * size; ++i)
        x.push_back(static_cast<float>((random = random * 1664525 + 1013904223) >> 8) / 0x1p23f - 1);
    q = pmpp::device_buffer<float>{in[0]};
    k = pmpp::device_buffer<float>{in[1]};
    v = pmpp::device_buffer<float>{in[2]};
    out = pmpp::device_buffer<float>{count * length * size};
    scores = pmpp::device_buffer<float>{count * length * length};
    view = {q.data(), k.data(), v.data(), out.data(), count, length};
  }
  /// Of some queries.
  bool is_right(const pmpp::stream& s) const {
    const std::vector<float> got = pmpp::to_host(s, out);
    const std::int64_t n = view.length;
    for (std::int64_t row = 0; row < view.count * n; row += 1 + n / 5) {
      double sum = 0, wanted[size] = {};
      for (std::int64_t key = row / n * n; key < (row / n + 1) * n; ++key) {
        double score = 0;
        for (int d = 0; d < size; ++d) score += double(in[0][at(row, d)]) * double(in[1][at(key, d)]);
        const double weight = std::exp(score / 8);
        sum += weight;
        for (int d = 0; d < size; ++d) wanted[d] += weight * double(in[2][at(key, d)]);
      }
      for (int d = 0; d < size; ++d)
        if (!(std::abs(double(got[at(row, d)]) - wanted[d] / sum) < 1e-4)) return false;
    }
    return true;
  }
  static std::size_t at(std::int64_t row, int d) { return std::size_t(row * size + d); }
};

int main() {
  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  problem small(2, 70), large(PMPP_CUDA ? 16 : 1, PMPP_CUDA ? 4096 : 1);
  float* scores = nullptr;
  constexpr pmpp::attention_tuning of_64{.head_size = size};
  const rung ladder[] = {
      {"stored", "three launches, scores in memory",
       [&](const heads& h) { attend_by_stored_scores(where, h, scores); }},
      {"online", "a query a thread, the softmax as scores come", [&](const heads& h) { attend_online(where, h); }},
      {"pmpp::attention", "tensor cores; floats as two of tf32",
       [&](const heads& h) {
         const auto of = [&](auto* x) { return pmpp::bhsd(x, 1, h.count, h.length, size); };
         pmpp::attention<of_64>(where, of(h.q), of(h.k), of(h.v), of(h.out));
       }},
  };
  int wrong = 0;
  std::printf("%-16s %-45s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  16 heads, 4096 x 4096: us  TFLOP/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (problem* p : {&small, &large}) {
      p->out = pmpp::device_buffer<float>{std::vector<float>(std::size_t(p->out.size()), -99.0f)};
      p->view.out = p->out.data();
      scores = p->scores.data();
      r.attend(p->view);
      right = right && p->is_right(s);
    }
    std::printf("\n%-16s %-45s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    if (!PMPP_CUDA) continue;
    const heads& h = large.view;
    const double us = microseconds(s, [&] { r.attend(h); });
    std::printf("  %25.1f %8.2f", us, 4e-6 * double(h.count * h.length * h.length * size) / us);
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\n2 heads of 70 queries and keys, counted in the emulator:\n");
  scores = small.scores.data();
  for (const rung& r : ladder) print_counts(r.name, [&] { r.attend(small.view); });
#endif
  return wrong;
}
