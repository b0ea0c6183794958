// SPDX-License-Identifier: Apache-2.0
//
// bfs.
#include <pmpp/bfs.hpp>

#include <cstdint>
#include <vector>

#include <pmpp/memory/csr_graph.hpp>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

/// The first n rows and columns of a matrix as a graph, with an edge both ways for each entry.
pmpp::csr_graph<> graph_of(const matrix& m, std::int64_t n) {
  std::vector<pmpp::edge<>> list;
  for (int row = 0; row < n; ++row)
    for (int i = m.offsets[std::size_t(row)]; i < m.offsets[std::size_t(row) + 1]; ++i)
      if (m.columns[std::size_t(i)] < n) list.push_back({row, m.columns[std::size_t(i)]});
  return pmpp::csr_graph<>::from_edges(n, list, pmpp::edges::both_ways);
}

/// Each vertex is one step from one that is a step nearer, and no edge leads farther than a step.
bool are_distances(const pmpp::csr_graph<>& graph, const std::vector<int>& distance) {
  for (std::size_t v = 0; v < distance.size(); ++v) {
    bool has_parent = distance[v] <= 0;
    for (auto e = std::size_t(graph.offsets()[v]); e < std::size_t(graph.offsets()[v + 1]); ++e) {
      const int other = distance[std::size_t(graph.columns()[e])];
      if ((other < 0) != (distance[v] < 0) || other > distance[v] + 1) return false;
      has_parent = has_parent || other + 1 == distance[v];
    }
    if (!has_parent || (v == 0 ? distance[v] != 0 : distance[v] == 0)) return false;
  }
  return true;
}

}  // namespace

void show_bfs(const inputs& in, table& out) {
  out.begin("bfs: breadth-first search, rows are vertices, entries edges both ways");
  for (const matrix& m : in.matrices) {
    if (m.rows != m.cols) continue;
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {
      const auto graph = graph_of(m, at.n);
      const place entries{at.where, graph.edge_count()};
      const place ends{at.where, at.n + 1};
      const auto offsets = ends.put(graph.offsets()), columns = entries.put(graph.columns());
      auto distance = at.template room<int>(at.n);
      // [search]
      const pmpp::csr_view view{at.n, at.n, offsets.data(), columns.data()};
      const auto search = [&] { pmpp::bfs(at.where, pmpp::undirected(view), 0, distance); };
      // [end]
      const double seconds = at.seconds(search);
      return outcome{seconds, 4.0 * double(graph.edge_count()) + 8.0 * double(at.n),
                     are_distances(graph, pmpp::to_host(distance))};
    });
  }
}

}  // namespace demo
