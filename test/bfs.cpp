// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of bfs.hpp, on every policy: distances are those of a queue, parents make a tree of shortest
// paths, and the counts are right, on graphs of every shape, undirected and directed, with and without the transpose,
// from any source and from several at once, for 32- and 64-bit vertices, with loops and duplicates, whatever the tuning
// (so that each direction and each switch is taken); real networks have the levels that they are known to have; nothing
// around the outputs is written; bad input throws and touches nothing; a workspace is left as it was found. In the
// emulator also under other orders of blocks and threads; on a GPU also graphs.
#include <pmpp/bfs.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include <pmpp/io/edge_list.hpp>
#include <pmpp/io/matrix_market.hpp>

#include "support/captured_graph.hpp"
#include "support/graphs.hpp"
#include "support/matrices.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::bfs;
using pmpp::bfs_result;
using pmpp::bfs_tuning;
using pmpp::device;
using pmpp::directed;
using pmpp::undirected;

namespace {

constexpr bfs_tuning tiny{.threads = 64,
                          .min_blocks = 2,
                          .hub = 3,
                          .one_block = 5,
                          .low_latency_edges = 20,
                          .lane_edges = 2,
                          .alpha = 15,
                          .beta = 18};  // several blocks, hubs and helping warps in small graphs
constexpr bfs_tuning eager{.threads = 96,
                           .min_blocks = 1,
                           .hub = 40,
                           .one_block = 1,
                           .low_latency_edges = 1 << 20,
                           .lane_edges = 1,
                           .alpha = 1 << 20,
                           .beta = 1 << 20};  // bottom-up from the first level on
constexpr bfs_tuning fickle{.threads = 64,
                            .min_blocks = 3,
                            .hub = 7,
                            .one_block = 40,
                            .low_latency_edges = 10,
                            .lane_edges = 3,
                            .alpha = 1 << 20,
                            .beta = 1};  // back to top-down whenever the frontier shrinks

/// The textbook's queue, on a list of edges.
std::vector<std::int64_t> distances(std::int64_t n, const test::edges& list, std::int64_t source) {
  std::vector<std::vector<std::int64_t>> neighbours(static_cast<std::size_t>(n));
  for (const auto& [u, v] : list) neighbours[static_cast<std::size_t>(u)].push_back(v);
  std::vector<std::int64_t> result(static_cast<std::size_t>(n), -1), queue{source};
  result[static_cast<std::size_t>(source)] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const std::int64_t v : neighbours[static_cast<std::size_t>(queue[i])])
      if (result[static_cast<std::size_t>(v)] < 0) {
        result[static_cast<std::size_t>(v)] = result[static_cast<std::size_t>(queue[i])] + 1;
        queue.push_back(v);
      }
  return result;
}

template <class where, class I>
struct on_machine {
  decltype(where::put(std::vector<I>{})) offsets, columns;
  std::int64_t n;
  on_machine(std::int64_t vertices, const std::vector<I>& begin_of_edges, const std::vector<I>& ends)
      : offsets(where::put(begin_of_edges)), columns(where::put(ends)), n(vertices) {}
  explicit on_machine(const test::graph<I>& g) : on_machine(g.n, g.offsets, g.columns) {}
  pmpp::csr_view<void, const I> view() const { return {n, n, offsets.data(), columns.data()}; }
};

/// Everything that holds of a search, whatever found it.
template <class D>
void check_tree(std::int64_t n, const test::edges& list, std::int64_t source, const std::vector<D>& distance,
                const std::vector<D>& parent, const bfs_result& result) {
  const auto wanted = distances(n, list, source);
  std::int64_t wrong = 0, reached = 0, levels = 0;
  std::vector<char> confirmed(static_cast<std::size_t>(n));
  for (const auto& [u, v] : list)
    if (parent[static_cast<std::size_t>(v)] == static_cast<D>(u)) confirmed[static_cast<std::size_t>(v)] = 1;
  for (std::size_t v = 0; v < static_cast<std::size_t>(n); ++v) {
    wrong += static_cast<std::int64_t>(distance[v]) != wanted[v];
    reached += wanted[v] >= 0;
    levels = std::max(levels, wanted[v] + 1);
    if (static_cast<std::int64_t>(v) == source) {
      wrong += static_cast<std::int64_t>(parent[v]) != source;
    } else if (wanted[v] < 0) {
      wrong += parent[v] != D(-1);
    } else {
      const bool is_vertex = parent[v] >= 0 && static_cast<std::int64_t>(parent[v]) < n;
      wrong += !is_vertex || !confirmed[v] || wanted[static_cast<std::size_t>(parent[v])] + 1 != wanted[v];
    }
  }
  CHECK(wrong == 0);
  CHECK(result.vertices_reached == reached);
  CHECK(result.levels == levels);
}

/// Searches from `source` with parents, guards around both outputs.
template <bfs_tuning Tuning, class where, class I, class D, class G>
void check_search(const G& graph, std::int64_t n, const test::edges& list, std::int64_t source) {
  const typename where::policy policy{};
  constexpr std::size_t guards = 3;
  const std::vector<D> before(static_cast<std::size_t>(n) + 2 * guards, D(77));
  auto distance = where::put(before), parent = where::put(before);
  const bfs_result result = bfs<Tuning>(policy, graph, source, distance.begin() + guards, parent.begin() + guards);
  const auto inner = [&](const std::vector<D>& all) {
    for (std::size_t i = 0; i < guards; ++i) CHECK((all[i] == D(77) && all[all.size() - 1 - i] == D(77)));
    return std::vector<D>(all.begin() + guards, all.end() - guards);
  };
  const auto found = inner(where::get(distance));
  check_tree(n, list, source, found, inner(where::get(parent)), result);
  std::int64_t edges_of_reached = 0;
  for (const auto& [u, v] : list) edges_of_reached += found[static_cast<std::size_t>(u)] >= 0;
  if constexpr (std::is_same_v<typename where::policy, pmpp::seq_policy>)
    CHECK(result.edges_examined == edges_of_reached);
  auto again = where::put(before);
  CHECK(bfs<Tuning>(policy, graph, source, again.begin() + guards).vertices_reached == result.vertices_reached);
  CHECK(inner(where::get(again)) == found);
}

template <bfs_tuning Tuning, class where, class I = int, class D = int>
void check_shapes(std::int64_t size) {
  test::only_each fifth(5);
  const bool every_source = PMPP_CUDA || !where::on_device;  // the emulator takes its time: one of each shape, in turns
  std::int64_t turn = size;
  for (const auto& [name, n, list] : test::shapes(size)) {
    ++turn;  // the next shape begins with another source
    CAPTURE(name);
    CAPTURE(n);
    const auto symmetric = test::both_ways(list);
    const on_machine<where, I> both(test::graph<I>(n, symmetric)), out(test::graph<I>(n, list)),
        in(test::graph<I>(n, test::reversed(list)));
    for (const std::int64_t source : {std::int64_t(0), n - 1, test::random_below(n)}) {
      if (test::only_small() ? fifth.leaves_out() : !every_source && turn++ % 3 != 0) continue;
      CAPTURE(source);
      check_search<Tuning, where, I, D>(undirected(both), n, symmetric, source);
      check_search<Tuning, where, I, D>(directed(out, in), n, list, source);
      check_search<Tuning, where, I, D>(out.view(), n, list, source);
    }
  }
}

}  // namespace

TEST_ALL_PLACES("by hand") {
  const typename where::policy policy{};
  // [by_hand]
  // 0 - 1 - 2   4
  //     |
  //     3
  const auto offsets = where::put(std::vector<int>{0, 1, 4, 5, 6, 6});
  const auto columns = where::put(std::vector<int>{1, 0, 2, 3, 1, 1});
  auto distance = where::put(std::vector<int>(5)), parent = where::put(std::vector<int>(5));
  const pmpp::csr_view graph{5, 5, offsets.data(), columns.data()};
  const bfs_result found = pmpp::bfs(policy, undirected(graph), 0, distance, parent);
  // distance: 0 1 2 2 -1   parent: 0 0 1 1 -1
  // [end]
  CHECK(where::get(distance) == std::vector<int>{0, 1, 2, 2, -1});
  CHECK(where::get(parent) == std::vector<int>{0, 0, 1, 1, -1});
  CHECK(found.levels == 3);
  CHECK(found.vertices_reached == 4);
}

TEST_ALL_PLACES("graphs of every shape and size") {
  for (const std::int64_t n : test::some_of({1, 2, 3, 32, 33, 65, 200})) check_shapes<tiny, where>(n);
  constexpr std::int64_t large = PMPP_CUDA || !where::on_device ? 200 : 100;  // the emulator takes its time
  check_shapes<eager, where>(large);
  check_shapes<fickle, where>(large);
  check_shapes<bfs_tuning{}, where>(2 * large);
}

TEST_ALL_PLACES("64-bit vertices, other distances") {
  check_shapes<tiny, where, std::int64_t, std::int64_t>(70);
  check_shapes<bfs_tuning{}, where, std::int64_t, std::int64_t>(100);  // more than 48 KB of shared memory
  check_shapes<tiny, where, int, short>(70);
  check_shapes<tiny, where, std::int64_t, int>(70);
}

TEST_ALL_PLACES("loops, duplicates and vertices without edges") {
  test::edges list;
  for (std::int64_t v = 0; v < 100; v += 2)
    for (int k = 0; k < 3; ++k) {
      list.push_back({v, v});
      list.push_back({v, (v + 2) % 100});
    }
  const auto symmetric = test::both_ways(list);
  const on_machine<where, int> graph(test::graph<int>(101, symmetric));
  for (const std::int64_t source : {0, 50, 1, 100})
    check_search<tiny, where, int, int>(undirected(graph), 101, symmetric, source);
  for (const std::int64_t source : {0, 50, 1, 100})
    check_search<eager, where, int, int>(undirected(graph), 101, symmetric, source);
}

TEST_ALL_PLACES("bfs_into") {
  const typename where::policy policy{};
  const auto list = test::both_ways(test::power_law(8, 1000));
  const on_machine<where, int> graph(test::graph<int>(256, list));
  auto distance = where::put(std::vector<int>(256)), parent = where::put(std::vector<int>(256));
  auto result = where::put(std::vector<bfs_result>(2));
  pmpp::bfs_into(policy, undirected(graph), 0, distance, parent, result);
  pmpp::bfs_into(policy, undirected(graph), 0, distance, result.begin() + 1);
  pmpp::synchronize(policy);
  const auto got = where::get(result);
  check_tree(256, list, 0, where::get(distance), where::get(parent), got[0]);
  CHECK(got[1].vertices_reached == got[0].vertices_reached);
}

TEST_ALL_PLACES("several sources") {
  const typename where::policy policy{};
  const auto check = [&](std::int64_t n, const test::edges& list, const std::vector<int>& sources) {
    // As from one more vertex, with an edge to each source.
    test::edges more = list;
    for (const int s : sources) more.push_back({n, s});
    auto wanted = distances(n + 1, more, n);
    wanted.pop_back();
    for (std::int64_t& d : wanted) d -= d > 0;
    const on_machine<where, int> graph(test::graph<int>(n, list));
    const auto from = where::put(sources);
    auto distance = where::put(std::vector<std::int64_t>(static_cast<std::size_t>(n)));
    auto parent = where::put(std::vector<int>(static_cast<std::size_t>(n)));
    const auto found = bfs<tiny>(policy, undirected(graph), from, distance, parent);
    CHECK(where::get(distance) == wanted);
    CHECK(found.vertices_reached == std::count_if(wanted.begin(), wanted.end(), [](auto d) { return d >= 0; }));
    CHECK(found.levels == (sources.empty() ? 0 : *std::max_element(wanted.begin(), wanted.end()) + 1));
    const auto up = where::get(parent);
    for (std::size_t v = 0; v < up.size(); ++v) {
      if (wanted[v] < 0) CHECK(up[v] == -1);
      if (wanted[v] == 0) CHECK(up[v] == static_cast<int>(v));
      if (wanted[v] > 0) CHECK(wanted[static_cast<std::size_t>(up[v])] + 1 == wanted[v]);
    }
  };
  test::only_each fourth(4);
  for (const auto& [name, n, list] : test::shapes(150)) {
    if (fourth.leaves_out()) continue;
    CAPTURE(name);
    std::vector<int> sources;
    for (std::int64_t i = 0; i < 40; ++i) {
      if (i < 3 || i == 39) check(n, test::both_ways(list), sources);
      sources.push_back(static_cast<int>(test::random_below(n)));
    }
  }
}

#if TEST_HAS_ZLIB
TEST_ALL_PLACES("real networks") {
  const std::string folder = test::data_folder();
  if (folder.empty() || test::only_small()) return;
  const typename where::policy policy{};
  const auto votes = pmpp::parse_edge_list(test::text_of(folder + "/matrices/wiki-Vote.txt.gz"), "wiki-Vote");
  const auto check = [&](const auto& graph, std::int64_t n, std::int64_t source, std::int64_t reached,
                         std::int64_t levels) {
    auto distance = where::put(std::vector<int>(static_cast<std::size_t>(n)));
    const auto found = bfs(policy, graph, source, distance);
    CHECK(found.vertices_reached == reached);
    CHECK(found.levels == levels);
    return where::get(distance);
  };
  const auto on = [](const auto& graph) {
    return on_machine<where, int>(graph.vertices(), graph.offsets(), graph.columns());
  };
  const auto out = on(votes), in = on(votes.transposed());
  CHECK(check(out, 8298, 2565, 2316, 5) == check(directed(out, in), 8298, 2565, 2316, 5));
  if (where::on_device && !PMPP_CUDA) return;  // the emulator takes its time
  const auto roads = pmpp::parse_matrix_market<float>(test::text_of(folder + "/matrices/luxembourg_osm.mtx.gz"));
  const on_machine<where, int> map(roads.rows(), roads.offsets(), roads.columns());
  check(undirected(map), roads.rows(), 6397, 114599, 952);
}
#endif

TEST_ALL_PLACES("bad input") {
  const typename where::policy policy{};
  const on_machine<where, int> graph(test::graph<int>(3, {{0, 1}, {1, 2}})), other(test::graph<int>(2, {{0, 1}}));
  const std::vector<int> before(3, 5);
  auto distance = where::put(before), parent = where::put(before);
  auto small = where::put(std::vector<int>(2));
  const int* none = nullptr;
  CHECK_THROWS_WITH_AS(bfs(policy, graph, 3, distance), "pmpp::bfs: the source is 3, the graph has 3 vertices",
                       std::invalid_argument);
  CHECK_THROWS_AS(bfs(policy, graph, -1, distance), std::invalid_argument);
  if constexpr (!where::on_device) {
    CHECK_THROWS_AS(bfs(policy, graph, std::vector<int>{0, 3}, distance), std::invalid_argument);
    CHECK_THROWS_AS(bfs(policy, graph, std::vector<int>{-1}, distance), std::invalid_argument);
  }
  CHECK_THROWS_AS(bfs(policy, pmpp::csr_view{0, 0, none, none}, 0, distance), std::invalid_argument);
  CHECK_THROWS_AS(bfs(policy, pmpp::csr_view{3, 3, none, none}, 0, distance), std::invalid_argument);
  CHECK_THROWS_AS(bfs(policy, pmpp::csr_view{3, 2, graph.view().offsets, graph.view().columns}, 0, distance),
                  std::invalid_argument);
  CHECK_THROWS_AS(bfs(policy, directed(graph, other), 0, distance), std::invalid_argument);
  CHECK_THROWS_AS(bfs(policy, graph, 0, small), std::length_error);
  CHECK_THROWS_AS(bfs(policy, graph, 0, distance, small), std::length_error);
  CHECK(where::get(distance) == before);
  CHECK(where::get(parent) == before);
}

TEST_CASE("one workspace for many searches") {
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  for (int round = 0; round < test::turns(30); ++round) {
    const std::int64_t n = 1 + test::random_below(300);
    test::edges list;
    for (std::int64_t e = test::random_below(3 * n); e > 0; --e)
      list.push_back({test::random_below(n), test::random_below(n)});
    const auto symmetric = test::both_ways(list);
    const on_machine<test::device_place, int> graph(test::graph<int>(n, symmetric));
    pmpp::device_buffer<int> distance(n), parent(n);
    const bfs_result result = bfs<tiny>(policy, undirected(graph), 0, distance, parent);
    check_tree(n, symmetric, 0, pmpp::to_host(distance), pmpp::to_host(parent), result);
  }
}

TEST_CASE("large graphs on several threads") {
  const std::int64_t n = 1 << 15;
  for (const auto& list : {test::both_ways(test::power_law(15, 8 * n)), test::both_ways(test::power_law(15, n))}) {
    const test::graph<int> graph(n, list);
    for (const int threads : {1, 2, 5}) {
      const auto policy = pmpp::host.threads(threads);
      std::vector<int> distance(n), parent(n);
      const bfs_result a = bfs(policy, undirected(graph), 0, distance, parent);
      check_tree(n, list, 0, distance, parent, a);
      const bfs_result b = bfs(policy, graph, 0, distance, parent);
      check_tree(n, list, 0, distance, parent, b);
    }
  }
}

#if PMPP_WITH_EMULATOR
TEST_CASE("any order of blocks and threads") {
  const auto list = test::both_ways(test::power_law(7, 500));
  const test::graph<int> graph(128, list);
  test::for_each_order(4, [&](std::uint64_t) {
    std::vector<int> distance(128), parent(128);
    const std::span to(distance), from(parent);
    const bfs_result a = bfs<tiny>(pmpp::emulated, undirected(graph), 0, to, from);
    check_tree(128, list, 0, distance, parent, a);
    const bfs_result b = bfs<fickle>(pmpp::emulated, undirected(graph), 0, to, from);
    check_tree(128, list, 0, distance, parent, b);
  });
}
#endif

#if PMPP_CUDA
TEST_CASE("a captured graph, replayed on other edges, in another stream") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  const std::int64_t n = test::up_to(5000, 300), most = 80 * n;
  pmpp::device_buffer<int> offsets(n + 1, 0), columns(most), distance(n), parent(n);
  pmpp::device_buffer<bfs_result> result(1);
  const pmpp::csr_view<void, const int> view{n, n, offsets.data(), columns.data()};
  const auto enqueue = [&] { pmpp::bfs_into(policy, undirected(view), 7, distance, parent, result); };
  enqueue();
  stream.synchronize();
  const test::captured_graph replayed(stream, enqueue);
  for (int round = 0; round < test::turns(20); ++round) {
    test::edges list;
    for (std::int64_t e = 0; e < n * round; ++e) list.push_back({test::random_below(n), test::random_below(n)});
    const auto symmetric = test::both_ways(list);
    const test::graph<int> graph(n, symmetric);
    pmpp::copy(stream, graph.offsets, offsets);
    pmpp::copy(stream, graph.columns, std::span(columns.data(), graph.columns.size()));
    replayed.replay();
    stream.synchronize();
    check_tree(n, symmetric, 7, pmpp::to_host(distance), pmpp::to_host(parent), pmpp::to_host(result)[0]);
  }
}

TEST_CASE("large graphs, two at once in two streams") {
  const pmpp::stream first, second;
  const int scale = test::only_small() ? 8 : 17;
  const std::int64_t n = 1 << scale;
  const auto list = test::both_ways(test::power_law(scale, 12 * n));
  const on_machine<test::device_place, int> graph(test::graph<int>(n, list));
  pmpp::device_buffer<int> d1(n), d2(n), p1(n), p2(n);
  pmpp::device_buffer<bfs_result> r1(1), r2(1);
  const int rounds = test::only_small() ? 2 : 10;
  for (int round = 0; round < rounds; ++round) {
    pmpp::bfs_into(device.on(first), undirected(graph), round, d1, p1, r1);
    pmpp::bfs_into<fickle>(device.on(second), graph, 3, d2, p2, r2);
  }
  first.synchronize();
  second.synchronize();
  check_tree(n, list, rounds - 1, pmpp::to_host(d1), pmpp::to_host(p1), pmpp::to_host(r1)[0]);
  check_tree(n, list, 3, pmpp::to_host(d2), pmpp::to_host(p2), pmpp::to_host(r2)[0]);
}
#endif

TEST_ALL_PLACES("vertices that are numbers of one byte") {
  const typename where::policy policy{};
  const auto offsets = where::put(std::vector<signed char>{0, 2, 4, 5, 6, 7, 8});  // a tree of two levels, both ways
  const auto columns = where::put(std::vector<signed char>{1, 2, 3, 0, 0, 1, 5, 4});
  const pmpp::csr_view<void, const signed char> graph{6, 6, offsets.data(), columns.data()};
  auto distance = where::put(std::vector<int>(6, 77));
  bfs(policy, undirected(graph), 0, distance);
  CHECK(where::get(distance) == std::vector<int>{0, 1, 1, 2, -1, -1});
}
