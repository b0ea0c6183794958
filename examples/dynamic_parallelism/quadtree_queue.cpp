// SPDX-License-Identifier: Apache-2.0
//
// A quadtree without dynamic parallelism (quadtree.hpp), on a GPU or in the emulator.
#include "quadtree.hpp"

int main() {
  const int n = PMPP_CUDA ? 100000 : 3000;
  const std::vector<quadtree::point> points = quadtree::some_points(n);
  pmpp::device_buffer<quadtree::point> even{points}, odd(n);
  pmpp::device_buffer<quadtree::node> nodes(quadtree::most_nodes, quadtree::node{0, 0, 1, 0, n, 0});
  pmpp::device_buffer<quadtree::queues> q{std::vector<quadtree::queues>(1, quadtree::queues{1, 0, 0, {}})};

  quadtree::build_by_levels(pmpp::device, {{even.data(), odd.data()}, nodes.data()}, q.data(), PMPP_CUDA ? 264 : 4);

  std::vector<int> leaf_of;
  const int wrong = quadtree::mistakes(pmpp::to_host(nodes), {pmpp::to_host(even), pmpp::to_host(odd)}, leaf_of);
  std::printf("%d points, %d levels, %d mistakes\n", n, pmpp::to_host(q)[0].level, wrong);
  return wrong == 0 ? 0 : 1;
}
