// SPDX-License-Identifier: Apache-2.0
//
// The ladder of transpositions: from one thread an element to the library's. Every result is compared with a plain loop;
// on a GPU every rung is also timed, in the emulator the accesses of its warps are counted.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/simt/counters.hpp>
#include <pmpp/transpose.hpp>

#include "../timing.hpp"
#include "1_naive.hpp"
#include "2_shared.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(const float* a, float* b, std::int64_t rows, std::int64_t cols)> transpose;
};

int main() {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {{1, 1}, {3, 100}, {64, 64}, {129, 95}};
  const pmpp::stream s;
  const auto where = pmpp::device.on(s);
  const rung ladder[] = {
      {"naive", "writes scattered over memory",
       [&](const float* a, float* b, std::int64_t m, std::int64_t n) { transpose_naively(where, a, b, m, n); }},
      {"shared", "a tile turned in shared memory, columns in one bank",
       [&](const float* a, float* b, std::int64_t m, std::int64_t n) { transpose_by_tiles<0>(where, a, b, m, n); }},
      {"padded", "columns over all banks",
       [&](const float* a, float* b, std::int64_t m, std::int64_t n) { transpose_by_tiles<1>(where, a, b, m, n); }},
      {"pmpp::transpose", "16 bytes a thread, more of them in flight",
       [&](const float* a, float* b, std::int64_t m, std::int64_t n) {
         pmpp::transpose(where, pmpp::matrix_view<const float>(a, m, n), pmpp::matrix_view<float>(b, n, m));
       }},
  };

  int wrong = 0;
  std::printf("%-16s %-52s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %11s %7s %11s %7s", "1024^2: us", "GB/s", "8192^2: us", "GB/s");
  for (const rung& r : ladder) {
    bool right = true;
    for (const auto& [rows, cols] : shapes) {
      std::vector<float> in(static_cast<std::size_t>(rows * cols));
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
      const pmpp::device_buffer<float> a{in};
      pmpp::device_buffer<float> b(in.size());
      r.transpose(a.data(), b.data(), rows, cols);
      const std::vector<float> got = pmpp::to_host(s, b);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < cols; ++j)
          right = right && got[static_cast<std::size_t>(j * rows + i)] == in[static_cast<std::size_t>(i * cols + j)];
    }
    std::printf("\n%-16s %-52s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    for (const std::int64_t n : {1024, 8192}) {
      if (!PMPP_CUDA) break;
      const pmpp::device_buffer<float> a(n * n, 1.0f);
      pmpp::device_buffer<float> b(n * n);
      s.synchronize();
      const double us = microseconds(s, [&] { r.transpose(a.data(), b.data(), n, n); });
      std::printf("  %11.1f %7.1f", us, 8e-3 * double(n * n) / us);
    }
  }
  std::printf("\n");
#if !PMPP_CUDA
  // [counting]
  std::printf("\nA matrix of 128 x 96, counted in the emulator:\n");
  const pmpp::device_buffer<float> a(128 * 96, 1.0f);
  pmpp::device_buffer<float> b(128 * 96);
  for (const rung& r : ladder) {
    pmpp::simt::access_counts counts;
    {
      const pmpp::simt::scoped_counting on(counts);
      r.transpose(a.data(), b.data(), 128, 96);
    }
    if (!counts.all().empty()) std::printf("%s\n%s", r.name, counts.table().c_str());
  }
  // [end]
#endif
  return wrong;
}
