// SPDX-License-Identifier: Apache-2.0
//
// How far apart the members of a network are: a histogram of the distances from its best connected member, and how many
// parts the network has. Reads a list of edges, two numbers a line; without one it makes a ring of 20,000 members who know
// their neighbours and, one in ten, somebody far away (Watts and Strogatz, 1998).
// usage: 25_distances_in_a_network [edges.txt]
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <pmpp/bfs.hpp>
#include <pmpp/histogram.hpp>
#include <pmpp/io/edge_list.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/csr_graph.hpp>
#include <pmpp/memory/device_buffer.hpp>

pmpp::csr_graph<> small_world(int members) {
  std::vector<pmpp::edge<>> list;
  unsigned random = 1;
  for (int member = 0; member < members; ++member) {
    for (int next = 1; next <= 3; ++next) list.push_back({member, (member + next) % members});
    random = random * 1664525u + 1013904223u;
    if (member % 10 == 0) list.push_back({member, int((random >> 8) % unsigned(members))});
  }
  return pmpp::csr_graph<>::from_edges(members, list, pmpp::edges::both_ways);
}

int main(int argc, char** argv) try {
  const auto network = argc > 1 ? pmpp::read_edge_list(argv[1], pmpp::edges::both_ways) : small_world(20000);
  const std::int64_t members = network.vertices();
  std::int64_t best = 0;
  for (std::int64_t v = 0; v < members; ++v)
    if (network.view().row_length(v) > network.view().row_length(best)) best = v;
  std::printf("%lld members, the best connected one is %lld, who knows %lld\n", static_cast<long long>(members),
              static_cast<long long>(best), static_cast<long long>(network.view().row_length(best)));
  // [distances]
  const pmpp::device_csr_graph graph(network);
  pmpp::device_buffer<int> distance(members);
  const pmpp::bfs_result found = pmpp::bfs(pmpp::device, pmpp::undirected(graph), best, distance);
  pmpp::device_buffer<int> counts(found.levels);
  pmpp::histogram_even(pmpp::device, distance, counts, 0, int(found.levels));
  // [end]
  long long sum = 0, steps = 0;
  const std::vector<int> at = pmpp::to_host(counts);
  for (std::size_t d = 0; d < at.size(); ++d) {
    std::printf("%3zu steps %9d\n", d, at[d]);
    sum += at[d];
    steps += static_cast<long long>(d) * at[d];
  }
  // Whom no search has reached yet is in another part.
  std::vector<int> known = pmpp::to_host(distance), mine(known.size());
  int parts = 1;
  for (std::size_t v = 0; v < known.size(); ++v)
    if (known[v] < 0) {
      pmpp::bfs(pmpp::seq, network, std::int64_t(v), mine);
      for (std::size_t u = 0; u < known.size(); ++u)
        if (mine[u] >= 0) known[u] = mine[u];
      ++parts;
    }
  std::printf("%.2f steps on average; %d part%s\n", double(steps) / double(sum), parts, parts == 1 ? "" : "s");
  return sum == found.vertices_reached ? 0 : 1;
} catch (const std::exception& e) {
  std::printf("%s\n", e.what());
  return 1;
}
