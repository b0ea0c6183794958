// SPDX-License-Identifier: Apache-2.0
//
// Mixed calls into both libraries, each result checked.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <vector>

float sum_of_squares_one(const std::vector<float>& x);
float sum_of_squares_two(const std::vector<float>& x);

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device on this machine\n");
    return 77;
  }
  constexpr int rounds = 5000;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<float> x(1 + round % 257, 2.0f);
    const float wanted = 4.0f * static_cast<float>(x.size());
    const float one = sum_of_squares_one(x), two = sum_of_squares_two(x);
    if (one != wanted || two != wanted) {
      std::printf("round %d: %g and %g, wanted %g\n", round, one, two, wanted);
      return 1;
    }
  }
  std::printf("%d mixed calls\n", 2 * rounds);
}
