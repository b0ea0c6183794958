// SPDX-License-Identifier: Apache-2.0
//
// Bezier curves without dynamic parallelism (bezier.hpp), on a GPU or in the emulator.
#include "bezier.hpp"

int main() {
  const int n = PMPP_CUDA ? 2000 : 60;
  const std::vector<bezier::curve> curves = bezier::some_curves(n);
  const pmpp::device_buffer<bezier::curve> there{curves};
  pmpp::device_buffer<int> first(n + 1);
  pmpp::device_buffer<bezier::point> lines(std::int64_t(n) * bezier::most_points);
  bezier::draw_flat(pmpp::device, there.data(), n, first.data(), lines.data());
  const int wrong = bezier::wrong_points(curves, pmpp::to_host(lines));
  std::printf("%d curves, %d points, %d of them wrong\n", n, pmpp::to_host(first).back(), wrong);
  return wrong == 0 ? 0 : 1;
}
