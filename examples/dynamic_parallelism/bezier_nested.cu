// SPDX-License-Identifier: Apache-2.0
//
// Bezier curves with dynamic parallelism: a thread looks at a curve and launches a grid for its points. Launches wait in a queue on the
// device, of 2,048 unless asked for more; one too many is an error that only the launching thread sees. Compiled with -rdc=true.
#include <cstdio>

#include "../ladder/timing.hpp"
#include "bezier.hpp"

// [nested]
__global__ void draw_curve(const bezier::curve* k, int points, bezier::point* line) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < points) line[i] = k->at(i, points);
}

__global__ void draw_curves(const bezier::curve* curves, int n, bezier::point* lines, int* refused) {
  const int k = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= n) return;
  const int points = bezier::points_of{}(curves[k]);
  draw_curve<<<(points + 63) / 64, 64, 0, cudaStreamFireAndForget>>>(curves + k, points,
                                                                     lines + k * bezier::most_points);
  if (cudaGetLastError() != cudaSuccess) atomicAdd(refused, 1);
}
// [end]

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return 77;  // skipped: no GPU
  const int n = 2000;
  pmpp::check(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, n), "cudaDeviceSetLimit");
  const std::vector<bezier::curve> curves = bezier::some_curves(n);
  const pmpp::device_buffer<bezier::curve> there{curves};
  pmpp::device_buffer<int> first(n + 1), refused(1, 0);
  pmpp::device_buffer<bezier::point> flat(std::int64_t(n) * bezier::most_points), nested(flat.size());
  pmpp::synchronize(pmpp::device);

  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  const double without = microseconds(s, [&] { bezier::draw_flat(where, there.data(), n, first.data(), flat.data()); });
  const double with = microseconds(s, [&] {  // a grid ends when all that it launched have ended
    pmpp::launch(where, pmpp::grid{pmpp::ceil_div(n, 64), 64}, draw_curves, there.data(), n, nested.data(),
                 refused.data());
  });
  const int wrong = bezier::wrong_points(curves, pmpp::to_host(s, flat)) +
                    bezier::wrong_points(curves, pmpp::to_host(s, nested)) + pmpp::to_host(s, refused)[0];
  std::printf("%d curves: one launch for all points %.1f us, a launch a curve %.1f us; %d wrong\n", n, without, with,
              wrong);
  return wrong == 0 ? 0 : 1;
}
