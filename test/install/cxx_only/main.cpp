// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/transform.hpp>

static_assert(PMPP_CUDA == 1);

int main() {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess) return 1;
  pmpp::device_buffer<float> nothing;
  std::vector<float> x{1, 2, 3}, y(3);
  pmpp::transform(pmpp::host, x, y, [](float v) { return 2 * v; });
  std::printf("CUDA runtime %d, %zu bytes on the device, y[2] = %g\n", version, nothing.size(), y[2]);
  return y[2] == 6 ? 0 : 1;
}
