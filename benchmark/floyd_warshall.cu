// SPDX-License-Identifier: Apache-2.0
//
// Shortest paths between all pairs: n is the number of sums and minima, vertices^3. Beside it stand as many sums and minima in
// registers, the most that the machine has.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <pmpp/floyd_warshall.hpp>
#include <pmpp/memory/copy.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

template <class T>
__global__ void sums_and_minima(T* out, T a, int steps) {
  constexpr int chains = 32;
  T c[chains];
  for (int i = 0; i < chains; ++i) c[i] = T(threadIdx.x + i);
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int i = 0; i < chains; ++i) c[i] = pmpp::simt::add_min(c[i], a, T(1000 + i));
  T least = c[0];
  for (int i = 1; i < chains; ++i) least = pmpp::min(least, c[i]);
  out[blockIdx.x * blockDim.x + threadIdx.x] = least;
}

template <class T>
void add_paths(const std::string& name, std::int64_t n) {
  bench::add(name, n * n * n, 0, [=](int) {
    std::vector<T> edges(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n * n; ++i)  // a ring of edges of 1; all others are longer than any path
      edges[static_cast<std::size_t>(i)] = i % (n + 1) == 0                         ? T(0)
                                           : i / n + 1 == i % n || i == (n - 1) * n ? T(1)
                                                                                    : T(1 << 20);
    const auto from = std::make_shared<pmpp::device_buffer<T>>(edges);
    const auto d = std::make_shared<pmpp::device_buffer<T>>(edges);
    const auto rate = bench::array<T>(132 * 8 * 256);
    subject s;
    s.contenders = {{"pmpp",
                     [=](int) {
                       pmpp::copy(bench::here().stream, std::span<const T>(*from), *d);
                       pmpp::floyd_warshall(bench::device(), pmpp::matrix_view<T>(d->data(), n, n));
                     }},
                    {"registers", [=](int) {
                       const int threads = 132 * 8 * 256;
                       sums_and_minima<T><<<132 * 8, 256, 0, bench::here().stream>>>(rate->data(), T(1),
                                                                                     int(n * n * n / threads / 32));
                     }}};
    s.fault = [=]() -> std::string {
      const auto got = pmpp::to_host(*d);
      for (std::int64_t i = 0; i < n * n; i += 997)
        if (got[static_cast<std::size_t>(i)] != T((i % n - i / n + n) % n)) return "at " + std::to_string(i);
      return "";
    };
    return s;
  });
}

void add_cases() {
  for (const std::int64_t n : {512, 1024, 2048, 4096}) {
    add_paths<float>("floyd_warshall f32", n);
    add_paths<int>("floyd_warshall i32", n);
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
