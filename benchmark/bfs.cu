// SPDX-License-Identifier: Apache-2.0
//
// Breadth-first search of undirected graphs, distances only, device time, the reset of the distances included: the median
// over calls from eight sources that have edges, in turn. There is no peer in the toolkit.
//
// kron18, kron22   R-MAT (0.57, 0.19, 0.19), 16 edges a vertex in both directions, vertices renamed at random
// urand22          16 edges a vertex between random ends, in both directions
// grid2048         2048 x 2048, 4 neighbours
//
// Duplicates stay, loops do not. Elements and declared bytes are those of the columns, each once; bottom-up reads fewer.
// The distances from the last source are compared with the host's.
#include <algorithm>
#include <memory>
#include <string>

#include <pmpp/bfs.hpp>
#include <pmpp/memory/csr_graph.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

using graph = pmpp::csr_graph<>;

/// `edge(e)` is {u, v}; loops are left out.
template <class Edge>
graph make_graph(std::int64_t n, std::int64_t edges, Edge edge) {
  std::vector<pmpp::edge<>> list(static_cast<std::size_t>(edges));
#pragma omp parallel for
  for (std::int64_t e = 0; e < edges; ++e) list[static_cast<std::size_t>(e)] = edge(e);
  std::erase_if(list, [](const pmpp::edge<>& e) { return e.from == e.to; });
  return graph::from_edges(n, list, pmpp::edges::both_ways);
}

graph make_graph(const std::string& shape) {
  if (shape == "grid2048") {
    constexpr int side = 2048;
    return make_graph(side * side, 2 * side * side, [=](std::int64_t e) {
      const int v = static_cast<int>(e / 2), x = v % side, y = v / side;
      const bool right = e % 2 == 0;
      return pmpp::edge<>{v, right ? (x + 1 < side ? v + 1 : v) : (y + 1 < side ? v + side : v)};
    });
  }
  const int scale = shape == "kron18" ? 18 : 22;
  const bool is_kron = shape != "urand22";
  const std::int64_t n = std::int64_t(1) << scale;
  const auto name = [=](std::int64_t v) {  // a permutation of the numbers below n: odd factors and shifts
    for (int k = 0; k < 3; ++k) v = ((v ^ v >> scale / 2) * 0x9e3779b1 + 12345) & (n - 1);
    return static_cast<int>(v);
  };
  return make_graph(n, 16 * n, [=](std::int64_t e) {
    std::int64_t u = 0, v = 0;
    if (!is_kron) {
      u = static_cast<std::int64_t>(bench::random_bits(2 * e) % std::uint64_t(n));
      v = static_cast<std::int64_t>(bench::random_bits(2 * e + 1) % std::uint64_t(n));
      return pmpp::edge<>{static_cast<int>(u), static_cast<int>(v)};
    }
    for (int bit = 0; bit < scale; ++bit) {
      const double r = double(bench::random_bits(e * scale + bit) >> 11) * 0x1p-53;
      u = 2 * u + (r >= 0.76);
      v = 2 * v + ((r >= 0.57 && r < 0.76) || r >= 0.95);
    }
    return pmpp::edge<>{name(u), name(v)};
  });
}

/// edges: with those that turn out to be loops.
void add_bfs(const std::string& shape, std::int64_t edges) {
  bench::add("bfs/" + shape, edges, 4.0 * double(edges), [=](int) {
    const graph g = make_graph(shape);
    const std::int64_t n = g.vertices();
    std::vector<std::int64_t> sources;
    for (std::int64_t i = 0; sources.size() < 8; ++i) {
      const auto v = static_cast<std::int64_t>(bench::random_bits(i) % std::uint64_t(n));
      if (g.view().row_length(v) > 0) sources.push_back(v);
    }
    auto wanted = std::make_shared<std::vector<int>>(std::size_t(n));
    pmpp::bfs(pmpp::seq, g, sources.back(), *wanted);
    auto on_device = std::make_shared<pmpp::device_csr_graph<int>>(g);
    auto distance = bench::array<int>(n);
    auto result = std::make_shared<pmpp::device_buffer<pmpp::bfs_result>>(1);
    auto call = std::make_shared<std::size_t>(0);
    subject s;
    s.contenders = {{"pmpp", [=](int) {
                       const std::int64_t source = sources[(*call)++ % sources.size()];
                       pmpp::bfs_into(bench::device(), pmpp::undirected(*on_device), source, *distance, *result);
                     }}};
    s.spoil = [=] {
      bench::spoil(distance);
      *call = sources.size() - 1;
    };
    s.fault = [=] { return pmpp::to_host(*distance) == *wanted ? std::string() : "distances are wrong"; };
    return s;
  });
}

void add_cases() {
  add_bfs("kron18", std::int64_t(32) << 18);
  add_bfs("kron22", std::int64_t(32) << 22);
  add_bfs("urand22", std::int64_t(32) << 22);
  add_bfs("grid2048", std::int64_t(4) * 2048 * 2047);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
