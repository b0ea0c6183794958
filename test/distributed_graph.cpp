// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/spread_graph.hpp and bfs.hpp: on 1, 2, 3, 5, 7 and 8 ranks, with blocks of vertices that are
// balanced, random, empty or all on one rank, distances are those of a queue, parents make a tree of shortest paths, and counts are
// right, on graphs of every shape, undirected and directed, with and without the transpose, whether ranks push, pull or do both, and
// whether they write to each other's memory or send messages; lists that are cut into pieces are searched to their end; bad input throws and touches nothing.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/distributed/bfs.hpp>
#include <pmpp/distributed/spread_graph.hpp>
#include <pmpp/memory/csr_graph.hpp>

#include "support/distributed.hpp"
#include "support/graphs.hpp"

namespace {

using graph = pmpp::csr_graph<>;
using pmpp::spread_bfs_options;

constexpr spread_bfs_options pushes{.alpha = 0, .beta = 18};
constexpr spread_bfs_options pulls{.alpha = 1 << 20, .beta = 1 << 20};
constexpr spread_bfs_options changes{.alpha = 1 << 20, .beta = 1};

graph graph_of(std::int64_t n, const test::edges& list) { return graph::from_edges(n, list); }

std::vector<int> distances(const graph& g, int source) {
  std::vector<int> result(static_cast<std::size_t>(g.vertices()), -1), queue{source};
  result[std::size_t(source)] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto u = std::size_t(queue[i]);
    for (auto e = std::size_t(g.offsets()[u]); e < std::size_t(g.offsets()[u + 1]); ++e)
      if (int& d = result[std::size_t(g.columns()[e])]; d < 0) {
        d = result[u] + 1;
        queue.push_back(g.columns()[e]);
      }
  }
  return result;
}

/// Searches with and without parents, and checks all that holds of any search of g.
template <class G>
void check_search(const G& gpus, const graph& g, const pmpp::spread_graph<>& spread, int source,
                  const spread_bfs_options& options) {
  const auto n = static_cast<std::size_t>(g.vertices());
  const auto wanted = distances(g, source);
  auto distance = pmpp::distributed_buffer<int>::with_sizes(gpus, spread.sizes());
  auto parent = pmpp::distributed_buffer<std::int64_t>::with_sizes(gpus, spread.sizes());
  const auto result = pmpp::bfs(gpus, spread, source, distance, parent, options);
  CHECK(pmpp::to_host(gpus, distance) == wanted);
  std::int64_t reached = 0, levels = 0, wrong = 0;
  const auto parents = pmpp::to_host(gpus, parent);
  std::vector<char> confirmed(n);
  for (std::size_t u = 0; u < n; ++u)
    for (auto e = std::size_t(g.offsets()[u]); e < std::size_t(g.offsets()[u + 1]); ++e) {
      const auto v = std::size_t(g.columns()[e]);
      if (parents[v] == std::int64_t(u) && wanted[u] + 1 == wanted[v]) confirmed[v] = 1;
    }
  for (std::size_t v = 0; v < n; ++v) {
    reached += wanted[v] >= 0;
    levels = std::max<std::int64_t>(levels, wanted[v] + 1);
    wrong += wanted[v] < 0 ? parents[v] != -1 : wanted[v] == 0 ? parents[v] != source : !confirmed[v];
  }
  CHECK(wrong == 0);
  CHECK(result.vertices_reached == reached);
  CHECK(result.levels == levels);
  if (options.alpha == 0 || !spread.can_pull()) CHECK(result.levels_pulled == 0);
  if (options == pulls && spread.can_pull() && levels > 1) CHECK(result.levels_pulled > 0);
  distance.copy_from(std::vector<int>(n, 77));
  CHECK(pmpp::bfs(gpus, spread, source, distance, options).vertices_reached == reached);
  CHECK(pmpp::to_host(gpus, distance) == wanted);
}

template <class G>
void check_graph(const G& gpus, const test::named_graph& shape, std::mt19937_64& random) {
  const graph both = graph_of(shape.n, test::both_ways(shape.list)), out = graph_of(shape.n, shape.list);
  const graph in = out.transposed();
  const int source = static_cast<int>(random() % std::uint64_t(shape.n));
  const auto options = [&] {
    switch (random() % 4) {
      case 0:
        return pushes;
      case 1:
        return pulls;
      case 2:
        return changes;
      default:
        return spread_bfs_options{};
    }
  };
  for (const test::layout how : test::layouts) {
    CAPTURE(int(how));
    CAPTURE(source);
    const auto blocks = test::blocks(how, shape.n, gpus.size(), random);
    const pmpp::spread_graph<> a = how == test::layout::even
                                       ? pmpp::spread_graph<>{gpus, pmpp::undirected(both)}
                                       : pmpp::spread_graph<>{gpus, pmpp::undirected(both), blocks};
    check_search(gpus, both, a, source, options());
    check_search(gpus, out, pmpp::spread_graph<>{gpus, pmpp::directed(out, in), blocks}, source, options());
    check_search(gpus, out, pmpp::spread_graph<>{gpus, pmpp::directed(out), blocks}, 0, options());
  }
}

/// \param apart  ranks that do not read each other's memory: they send messages
auto host_ranks(int p, bool apart = false) {
  std::vector<int> ids(static_cast<std::size_t>(p));
  for (int r = 0; r < p && apart; ++r) ids[std::size_t(r)] = r;
  return pmpp::devices{pmpp::host, pmpp::emulated_communicator::all(ids), ids};
}

}  // namespace

TEST_CASE("bfs") {
  std::mt19937_64 random(test::seed());
  for (const int p : test::rank_counts) {
    const auto gpus = test::ranks(p);
    for (const auto& shape : test::shapes(p == 3 ? 300 : 70)) {
      CAPTURE(p);
      CAPTURE(shape.name);
      check_graph(gpus, shape, random);
    }
  }
}

TEST_CASE("bfs: the second call allocates nothing, and hardly any that starts elsewhere") {
  std::mt19937_64 random(test::seed());
  const auto gpus = test::ranks(3);
  test::edges all;
  for (int e = 0; e < 3000; ++e) all.push_back({std::int64_t(random() % 500), std::int64_t(random() % 500)});
  const graph g = graph_of(500, all);
  const pmpp::spread_graph<> a{gpus, pmpp::directed(g)};
  auto distance = pmpp::distributed_buffer<int>::with_sizes(gpus, a.sizes());
  auto parent = pmpp::distributed_buffer<int>::with_sizes(gpus, a.sizes());
  CHECK(test::second_allocates_nothing(gpus, [&] { pmpp::bfs(gpus, a, 0, distance, parent); }));
  const std::int64_t before = gpus.memory(1).allocations;
  for (int source = 0; source < 500; source += 50) pmpp::bfs(gpus, a, source, distance, parent);
  CHECK(gpus.memory(1).allocations <= before + 4);
}

TEST_CASE("bfs: lists of edges that are cut into pieces") {
  std::mt19937_64 random(test::seed());
  test::edges hubs;  // 0 to 999 reach each other by way of 1000 alone; 70000 edges of 1 are one piece longer
  for (std::int64_t v = 0; v < 1000; ++v) hubs.push_back({v, 1000});
  for (std::int64_t v = 0; v < 70000; ++v) hubs.push_back({1, 1 + v % 900});
  const graph both = graph_of(1001, test::both_ways(hubs));
  for (const bool apart : {false, true}) {
    const auto gpus = host_ranks(3, apart);
    const pmpp::spread_graph<> spread{gpus, pmpp::undirected(both)};
    for (const auto& options : {pushes, pulls, changes})
      for (const int source : {999, 1000, 1}) check_search(gpus, both, spread, source, options);
  }
}

TEST_CASE("bfs on ranks of the host") {
  std::mt19937_64 random(test::seed());
  struct group {
    int ranks;
    bool apart;
    std::int64_t vertices;
  };
  for (const group& g : {group{1, false, 2000}, group{4, false, 300}, group{4, true, 2000}, group{9, false, 70}})
    for (const auto& shape : test::shapes(g.vertices)) {
      CAPTURE(g.ranks);
      CAPTURE(g.apart);
      CAPTURE(shape.name);
      check_graph(host_ranks(g.ranks, g.apart), shape, random);
    }
}

TEST_CASE("bad input of graphs") {
  const auto gpus = host_ranks(3), others = host_ranks(3);
  const graph g = graph::from_edges(5, {{0, 1}, {1, 2}});
  const pmpp::spread_graph<> spread{gpus, pmpp::directed(g), {2, 2, 1}}, elsewhere{others, pmpp::directed(g)}, nowhere;
  auto distance = pmpp::distributed_buffer<int>::with_sizes(gpus, {2, 2, 1});
  distance.copy_from(std::vector<int>(5, 7));
  pmpp::distributed_buffer<int> longer{gpus, 9}, foreign{others, 5};
  CHECK_THROWS_WITH_AS(pmpp::bfs(gpus, spread, 5, distance), "pmpp::bfs: the source is 5, the graph has 5 vertices",
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::bfs(gpus, spread, -1, distance), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::bfs(gpus, elsewhere, 0, distance),
                       "pmpp::bfs: the graph lies on other devices than those of the call", std::invalid_argument);
  CHECK_THROWS_AS(pmpp::bfs(gpus, nowhere, 0, distance), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::bfs(gpus, spread, 0, foreign), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::bfs(gpus, spread, 0, longer),
                       "pmpp::bfs: on rank 0 the graph has 2 vertices, distance has 3 elements", std::length_error);
  CHECK_THROWS_AS(pmpp::bfs(gpus, spread, 0, distance, longer), std::length_error);
  CHECK_THROWS_AS(pmpp::bfs(gpus, spread, 0, distance, distance), std::invalid_argument);
  CHECK_THROWS_WITH_AS((pmpp::spread_graph<>{gpus, pmpp::directed(graph({0, 1}, {3}))}),
                       "pmpp::spread_graph: an edge of vertex 0 leads to 3, there are 1", std::invalid_argument);
  CHECK_THROWS_AS((pmpp::spread_graph<>{gpus, pmpp::directed(graph({0, 1, 0}, {0}))}), std::invalid_argument);
  CHECK_THROWS_AS((pmpp::spread_graph<>{gpus, pmpp::directed(g), {2, 2, 2}}), std::invalid_argument);
  CHECK_THROWS_AS((pmpp::spread_graph<>{gpus, pmpp::directed(g, graph::from_edges(4, {{0, 1}}))}),
                  std::invalid_argument);
  CHECK(pmpp::to_host(gpus, distance) == std::vector<int>(5, 7));
}
