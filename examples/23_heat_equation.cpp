// SPDX-License-Identifier: Apache-2.0
//
// Heat spreads in a cube whose faces are kept at zero: explicit time steps, each a stencil of seven points from one buffer
// to the other and the next one back. On a GPU two steps are captured as a graph, which is then replayed. The cube starts
// with a sine wave along each axis, which keeps its shape and fades by a factor that is known.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/stencil.hpp>

// [heat]
struct heat_step {
  float a;  // time step * conductivity / distance of the points squared, at most 1/6

  template <class N>
  PMPP_HOST_DEVICE float operator()(const N& n) const {
    const float around = n(-1, 0, 0) + n(1, 0, 0) + n(0, -1, 0) + n(0, 1, 0) + n(0, 0, -1) + n(0, 0, 1);
    return n(0, 0, 0) + a * (around - 6 * n(0, 0, 0));
  }
};
// [end]

int main() {
  const std::int64_t n = 32;
  const int pairs_of_steps = 20;
  const double pi = std::acos(-1.0);
  std::vector<float> start;
  for (std::int64_t i = 0; i < n * n * n; ++i) {
    const auto wave = [&](std::int64_t k) { return std::sin(pi * double(k + 1) / double(n + 1)); };
    start.push_back(static_cast<float>(wave(i / (n * n)) * wave(i / n % n) * wave(i % n)));
  }
  const pmpp::stream s;
  pmpp::device_buffer<float> now{start}, next(start.size());

  // [steps]
  const pmpp::volume_view<float> a(now.data(), n, n, n), b(next.data(), n, n, n);
  const heat_step f{0.15f};
  const auto two_steps = [&] {
    pmpp::stencil(pmpp::device.on(s), a, b, pmpp::radius<1>, f, pmpp::border::zero);
    pmpp::stencil(pmpp::device.on(s), b, a, pmpp::radius<1>, f, pmpp::border::zero);
  };
  // [end]
#if PMPP_CUDA
  // [capture]
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  pmpp::check(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  two_steps();
  pmpp::check(cudaStreamEndCapture(s, &graph), "cudaStreamEndCapture");
  pmpp::check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  for (int i = 0; i < pairs_of_steps; ++i) pmpp::check(cudaGraphLaunch(executable, s), "cudaGraphLaunch");
    // [end]
#else
  for (int i = 0; i < pairs_of_steps; ++i) two_steps();
#endif

  const std::vector<float> got = pmpp::to_host(s, now);
  const double factor = 1 + 3 * f.a * (2 * std::cos(pi / double(n + 1)) - 2),
               faded = std::pow(factor, 2 * pairs_of_steps);
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) worst = std::fmax(worst, std::abs(got[i] - faded * start[i]));
  std::printf("%d steps: the middle cooled from 1.00 to %.4f; the largest error is %.0e\n", 2 * pairs_of_steps,
              double(got[static_cast<std::size_t>((n / 2 * n + n / 2) * n + n / 2)]), worst);
#if PMPP_CUDA
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
#endif
  return worst < 1e-5 ? 0 : 1;
}
