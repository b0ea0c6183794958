// SPDX-License-Identifier: Apache-2.0
//
// In debug mode an output that overlaps an input, other than by beginning where it begins, is a std::invalid_argument
// before anything is written; so are inputs of merge that are not sorted, and graphs that are not what the search was told
// (on a GPU a trap, which is not tried here). A program of its own: PMPP_DEBUG belongs to a whole program.
#define PMPP_DEBUG 1
#include <pmpp/bfs.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/transform.hpp>

#include <numeric>
#include <stdexcept>
#include <vector>

#include "support/policies.hpp"

static_assert(pmpp::debug_mode);

TEST_ALL_PLACES("outputs that overlap inputs") {
  const typename where::policy policy{};
  std::vector<int> start(100);
  std::iota(start.begin(), start.end(), 0);
  auto memory = where::put(start);
  const auto other = where::put(start);
  int* const p = memory.data();
  const int* const q = other.data();
  const pmpp::plus plus;
  const pmpp::identity same;

  for (const int shift : {-9, -1, 1, 9}) {
    CAPTURE(shift);
    int* const in = p + 40;
    int* const out = in + shift;
    CHECK_THROWS_AS(pmpp::inclusive_scan(policy, in, in + 10, out), std::invalid_argument);
    CHECK_THROWS_AS(pmpp::exclusive_scan(policy, in, in + 10, out), std::invalid_argument);
    CHECK_THROWS_AS(pmpp::transform(policy, in, in + 10, out, same), std::invalid_argument);
    CHECK_THROWS_AS(pmpp::transform(policy, in, in + 10, q, out, plus), std::invalid_argument);
    CHECK_THROWS_AS(pmpp::transform(policy, q, q + 10, in, out, plus), std::invalid_argument);
    CHECK_THROWS_AS(
        pmpp::transform(policy, pmpp::transform_iterator{in, same}, pmpp::transform_iterator{in + 10, same}, out, same),
        std::invalid_argument);
  }
  CHECK_THROWS_WITH(pmpp::transform(policy, p + 40, p + 50, p + 42, same),
                    "pmpp::transform: out overlaps an input: 10 elements, which begin 8 bytes after the first of 10");
  CHECK(where::get(memory) == start);

  pmpp::inclusive_scan(policy, p, p + 10, p);  // in place
  pmpp::transform(policy, p + 10, p + 20, q, p + 10, plus);
  pmpp::transform(policy, q, q + 10, p + 20, p + 20, plus);
  pmpp::exclusive_scan(policy, p + 40, p + 50, p + 30);  // next to each other
  pmpp::transform(policy, p + 50, p + 60, p + 60, same);
  pmpp::transform(policy, p + 70, p + 70, p + 70, same);
  const auto got = where::get(memory);
  CHECK(got[9] == 45);
  CHECK(got[19] == 28);
  CHECK(got[29] == 38);
  CHECK(got[39] == 396);
  CHECK(got[69] == 59);
}

#if PMPP_CUDA
#define TEST_CPU_PLACES(name) TEST_CASE_TEMPLATE(name, where, test::seq_place, test::host_place)
#else
#define TEST_CPU_PLACES(name) TEST_ALL_PLACES(name)
#endif

TEST_CPU_PLACES("inputs of merge that are not sorted") {
  const typename where::policy policy{};
  const auto sorted = where::put(std::vector<int>{1, 3, 3, 7});
  const auto unsorted = where::put(std::vector<int>{1, 3, 2, 7});
  auto out = where::put(std::vector<int>(8, 77));
  CHECK_THROWS_WITH(pmpp::merge(policy, unsorted, sorted, out),
                    "pmpp::merge: the first input: element 1 is not below or equal to the next one");
  CHECK_THROWS_AS(pmpp::merge(policy, sorted, unsorted, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::merge(policy, sorted, sorted, out, pmpp::greater{}), std::invalid_argument);
  CHECK(where::get(out) == std::vector<int>(8, 77));
  pmpp::merge(policy, sorted, sorted, out);
  CHECK(where::get(out) == std::vector<int>{1, 1, 3, 3, 3, 3, 7, 7});
}

TEST_CPU_PLACES("a graph that is not symmetric, and a transpose that is none") {
  const typename where::policy policy{};
  const auto offsets = where::put(std::vector<int>{0, 1, 3, 3});  // 0 to 1, 1 to 0, 1 to 2
  const auto columns = where::put(std::vector<int>{1, 0, 2});
  const auto back = where::put(std::vector<int>{0, 1, 2, 3});
  const auto sources = where::put(std::vector<int>{1, 0, 1});
  const pmpp::csr_view<void, const int> graph{3, 3, offsets.data(), columns.data()},
      transpose{3, 3, back.data(), sources.data()};
  auto distance = where::put(std::vector<int>(3, 77));
  CHECK_THROWS_WITH(pmpp::bfs(policy, pmpp::undirected(graph), 0, distance),
                    "pmpp::bfs: edge (1, 2) of the graph has no edge (2, 1) in its transpose; undirected(g) is for "
                    "graphs that are symmetric");
  CHECK_THROWS_AS(pmpp::bfs(policy, pmpp::directed(graph, graph), 0, distance), std::invalid_argument);
  CHECK(where::get(distance) == std::vector<int>(3, 77));
  pmpp::bfs(policy, pmpp::directed(graph, transpose), 0, distance);
  CHECK(where::get(distance) == std::vector<int>{0, 1, 2});
}
