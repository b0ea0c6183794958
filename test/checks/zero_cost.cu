// SPDX-License-Identifier: Apache-2.0
//
// One kernel twice: as a function object on simt::cuda_block, and written by hand in CUDA's own words. zero_cost.py
// compares what the compiler makes of them.
#include <pmpp/launch.hpp>

struct sum_blocks {
  static constexpr int threads = 256;
  struct shared {
    float warp[8];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* in, int n, float* out) const {
    const int i = static_cast<int>(block.index()) * threads + block.thread();
    float x = i < n ? in[i] : 0.0f;
    for (int d = 16; d > 0; d /= 2) x += block.shuffle_down(x, d);
    if (block.lane() == 0) memory.warp[block.warp()] = x;
    block.sync();
    if (block.thread() == 0) {
      for (int w = 1; w < 8; ++w) x += memory.warp[w];
      out[block.index()] = x;
    }
  }
};

__global__ void __launch_bounds__(256, 1) by_hand(const float* in, int n, float* out) {
  __shared__ float warp[8];
  const int i = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  float x = i < n ? in[i] : 0.0f;
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffffu, x, d);
  if (threadIdx.x % 32 == 0) warp[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) x += warp[w];
    out[blockIdx.x] = x;
  }
}

void use(const float* in, int n, float* out) { pmpp::launch(pmpp::device, 4, sum_blocks{}, in, n, out); }
