// SPDX-License-Identifier: Apache-2.0
//
// A quadtree with dynamic parallelism: a block cuts a square, and launches four blocks for its quarters. What the block has written
// before its thread launches, the new grid sees. Compiled with -rdc=true.
#include <cstdio>

#include "../ladder/timing.hpp"
#include "quadtree.hpp"

// [nested]
/// Block b has node first + b.
__global__ void cut_nested(quadtree::tree all, int first, int* refused) {
  __shared__ quadtree::cut::shared memory;
  const int i = first + int(blockIdx.x);
  if (!all.nodes[i].is_cut()) return;
  pmpp::simt::cuda_block<quadtree::cut::threads> block(nullptr);
  quadtree::cut{}(block, memory, all, i);
  if (threadIdx.x != 0) return;
  cut_nested<<<4, quadtree::cut::threads, 0, cudaStreamFireAndForget>>>(all, 4 * i + 1, refused);
  if (cudaGetLastError() != cudaSuccess) atomicAdd(refused, 1);
}
// [end]

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return 77;  // skipped: no GPU
  const int n = 100000;
  const std::vector<quadtree::point> points = quadtree::some_points(n);
  const pmpp::device_buffer<quadtree::node> root(quadtree::most_nodes, quadtree::node{0, 0, 1, 0, n, 0});
  const pmpp::device_buffer<quadtree::point> given{points};
  pmpp::device_buffer<quadtree::point> even(n), odd(n);
  pmpp::device_buffer<quadtree::node> nodes(quadtree::most_nodes);
  const pmpp::device_buffer<quadtree::queues> start{std::vector<quadtree::queues>(1, quadtree::queues{1, 0, 0, {}})};
  pmpp::device_buffer<quadtree::queues> q(1);
  pmpp::device_buffer<int> refused(1, 0);
  pmpp::check(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, quadtree::most_nodes), "cudaDeviceSetLimit");
  pmpp::synchronize(pmpp::device);

  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  const quadtree::tree all{{even.data(), odd.data()}, nodes.data()};
  const auto begin = [&] {  // in both times
    pmpp::copy(where, given, even);
    pmpp::copy(where, root, nodes);
    pmpp::copy(where, start, q);
  };
  int wrong = 0;
  std::vector<int> leaves[2];
  const auto judge = [&](std::vector<int>& leaf_of) {
    wrong += quadtree::mistakes(pmpp::to_host(s, nodes), {pmpp::to_host(s, even), pmpp::to_host(s, odd)}, leaf_of);
  };
  const double without = microseconds(s, [&] { begin(), quadtree::build_by_levels(where, all, q.data(), 264); });
  judge(leaves[0]);
  const double with = microseconds(s, [&] {
    begin();
    pmpp::launch(where, pmpp::grid{1, quadtree::cut::threads}, cut_nested, all, 0, refused.data());
  });
  judge(leaves[1]);
  wrong += pmpp::to_host(s, refused)[0] + (leaves[0] != leaves[1]);
  std::printf("%d points: a queue %.1f us, nested launches %.1f us; %d wrong\n", n, without, with, wrong);
  return wrong == 0 ? 0 : 1;
}
