// SPDX-License-Identifier: Apache-2.0
//
// The ladder of PMPP ch. 15: kernels for a level of a breadth-first search, each launched once a level by the host but for
// the last two, which make many levels in one launch; and the library's search, which launches once and changes its
// direction. All are checked against a queue; the table
// shows their times on a network with hubs and few levels, and on a grid with many.
// usage: ladder_bfs [vertices, as a power of two: 20, or 10 in the emulator]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <pmpp/bfs.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/memory/csr_graph.hpp>

#include "1_vertex_push.hpp"
#include "2_vertex_pull.hpp"
#include "3_edge_centric.hpp"
#include "4_frontier.hpp"
#include "5_privatised_frontier.hpp"
#include "6_either_direction.hpp"
#include "7_single_block.hpp"
#include "8_grid_barrier.hpp"

namespace {

/// Ends are chosen bit by bit, mostly 0: few vertices have most of the edges.
pmpp::csr_graph<> network(int scale) {
  std::vector<pmpp::edge<>> list;
  std::uint64_t random = 1;
  for (int e = 0; e < 16 << scale; ++e) {
    int u = 0, v = 0;
    for (int bit = 0; bit < scale; ++bit) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const auto roll = (random >> 33) % 100;
      u = 2 * u + (roll >= 76);
      v = 2 * v + ((roll >= 57 && roll < 76) || roll >= 95);
    }
    list.push_back({u, v});
  }
  return pmpp::csr_graph<>::from_edges(1 << scale, list, pmpp::edges::both_ways);
}

pmpp::csr_graph<> grid(int scale) {
  const int width = 1 << scale / 2, n = 1 << scale;
  std::vector<pmpp::edge<>> list;
  for (int v = 0; v < n; ++v) {
    if ((v + 1) % width != 0) list.push_back({v, v + 1});
    if (v + width < n) list.push_back({v, v + width});
  }
  return pmpp::csr_graph<>::from_edges(n, list, pmpp::edges::both_ways);
}

bool all_right = true;

void climb(const char* name, const pmpp::csr_graph<>& host) {
  std::vector<int> from, wanted(std::size_t(host.vertices()));
  for (int v = 0; v < host.vertices(); ++v) from.insert(from.end(), std::size_t(host.view().row_length(v)), v);
  const pmpp::bfs_result found = pmpp::bfs(pmpp::seq, host, 0, wanted);
  std::printf("%s: %lld vertices, %lld edges, %lld levels\n", name, static_cast<long long>(host.vertices()),
              static_cast<long long>(host.edge_count()), static_cast<long long>(found.levels));
  const pmpp::device_csr_graph device(host);
  const pmpp::device_buffer<int> starts(from);
  const ladder::graph g{device.view(), starts.data(), host.edge_count()};
  pmpp::device_buffer<int> buffer(host.vertices());
  const std::span<int> distance(buffer.data(), buffer.size());

  const auto rung = [&](const char* rung_name, auto search) {
    double best = 1e12;
    for (int i = 0; i < (PMPP_CUDA ? 5 : 1); ++i) {
      pmpp::synchronize(pmpp::device);
      const auto start = std::chrono::steady_clock::now();
      search();
      pmpp::synchronize(pmpp::device);
      const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
      best = std::min(best, time.count());
    }
    const bool right = pmpp::to_host(buffer) == wanted;
    all_right = all_right && right;
    std::printf("  %-22s %12.1f us  %s\n", rung_name, best, right ? "right" : "WRONG");
  };
  const auto by_levels = [&](auto kernel, std::int64_t items) {
    ladder::run_levels(distance, 0, [&](int level, int* any) {
      pmpp::launch(pmpp::device, pmpp::ceil_div(items, std::int64_t(ladder::threads)), kernel, g, level,
                   distance.data(), any);
    });
  };
  const auto by_frontiers = [&](auto kernel) {
    ladder::run_frontiers(distance, 0, [&](int level, const int* frontier, int count, int* next, int* next_count) {
      pmpp::launch(pmpp::device, pmpp::ceil_div(count, ladder::threads), kernel, g, level, distance.data(), frontier,
                   count, next, next_count);
    });
  };
  rung("vertex push", [&] { by_levels(ladder::vertex_push{}, host.vertices()); });
  rung("vertex pull", [&] { by_levels(ladder::vertex_pull{}, host.vertices()); });
  rung("edge-centric", [&] { by_levels(ladder::edge_centric{}, host.edge_count()); });
  rung("frontier", [&] { by_frontiers(ladder::frontier_push{}); });
  rung("privatised frontier", [&] { by_frontiers(ladder::privatised_frontier{}); });
  int pulled = 0, launches = 0;
  rung("either direction", [&] { pulled = ladder::search_in_either_direction(g, distance, 0); });
  rung("single block", [&] { launches = ladder::search_by_single_blocks(g, distance, 0); });
  rung("grid barrier", [&] { ladder::search_with_barriers(g, distance, 0); });
  std::printf("    levels pulled by \"either direction\": %d; launches of \"single block\": %d\n", pulled, launches);
  rung("pmpp::bfs", [&] { pmpp::bfs(pmpp::device, pmpp::undirected(device), 0, distance); });
}

}  // namespace

int main(int argc, char** argv) {
  const int scale = argc > 1 ? std::atoi(argv[1]) : PMPP_CUDA ? 20 : 10;
  if (scale < 2 || scale > 26) return std::printf("the number of vertices is a power of two from 2 to 26\n"), 1;
  climb("network", network(scale));
  climb("grid", grid(scale));
  return all_right ? 0 : 1;
}
