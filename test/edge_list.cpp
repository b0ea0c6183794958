// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of io/edge_list.hpp and memory/csr_graph.hpp: lists of edges in every dialect give the right
// graph, one way and both ways; every malformed text is refused with its line and the reason, within bounds of memory; cut
// anywhere, or with any byte changed, a text is either read or refused; a graph survives the way to the device and back;
// edges outside of a graph are refused; a real network has the size that it is known to have.
#include <pmpp/io/edge_list.hpp>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "support/data.hpp"
#include "support/matrices.hpp"
#include "support/mutants.hpp"

using pmpp::csr_graph;
using pmpp::edges;
using pmpp::parse_edge_list;

namespace {

/// What a text is refused with; empty if it is read.
template <class I = int>
std::string refusal(const std::string& text, edges which = edges::one_way) {
  try {
    parse_edge_list<I>(text, "x", which);
  } catch (const std::runtime_error& e) {
    CHECK(test::fit_for_a_log(e.what()));
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every dialect") {
  const csr_graph<int> wanted({0, 2, 2, 3}, {2, 0, 1});
  CHECK(parse_edge_list("0 2\n0 0\n2 1\n") == wanted);
  CHECK(parse_edge_list("# FromNodeId\tToNodeId\r\n0\t2\r\n\r\n% and\r\n  0\t0 \r\n2\t1") == wanted);
  CHECK(parse_edge_list("0,2\n0, 0\n 2 ;1\n#end") == wanted);
  CHECK(parse_edge_list("+0 2\n0 000\n2 1\n") == wanted);
  CHECK(parse_edge_list<std::int64_t>("0 1\n").columns()[0] == 1);
  CHECK(parse_edge_list("") == csr_graph<int>());
  CHECK(parse_edge_list("# nothing\n\n").vertices() == 0);
}

TEST_CASE("both ways") {
  CHECK(parse_edge_list("0 2\n0 0\n2 1\n", "x", edges::both_ways) == csr_graph<int>({0, 2, 3, 5}, {2, 0, 2, 0, 1}));
}

TEST_CASE("what is refused, with its line") {
  CHECK(refusal("id_1,id_2\n0,1\n") == "x:1: the first vertex is not an integer: 'id_1'");
  CHECK(refusal("# a\n0 1\n2\n") == "x:3: the second vertex is missing");
  CHECK(refusal("0 1\n\n0 1.5\n") == "x:3: the second vertex is not an integer: '1.5'");
  CHECK(refusal("0 -1\n") == "x:1: the second vertex is negative: -1");
  CHECK(refusal("0 1 0.5\n") == "x:1: '0.5' is more than belongs here");
  CHECK(refusal("0 1 # a comment\n") == "x:1: '#' is more than belongs here");
  CHECK(refusal("0 2147483647\n") == "x:1: the second vertex does not fit the index type: 2147483647");
  CHECK(refusal("0 99999999999999999999\n") ==
        "x:1: the second vertex is not an integer that fits: '99999999999999999999'");
  CHECK(refusal("7 2000000000\n") == "x:1: the second vertex is too large for a file this size: 2000000000");
  CHECK(refusal<std::int64_t>("0 4611686018427387904\n") ==
        "x:1: the second vertex is too large for a file this size: 4611686018427387904");
  CHECK(refusal<signed char>("0 126\n0 127\n") == "x:2: the second vertex does not fit the index type: 127");
  std::string many;
  for (int i = 0; i < 64; ++i) many += "0 1\n";
  CHECK(refusal<signed char>(many, edges::both_ways) == "x:64: more edges than the index type holds");
  CHECK_THROWS_AS(pmpp::read_edge_list("/no/such/file"), std::runtime_error);
}

TEST_CASE("cut anywhere and changed anywhere, a text is read or refused") {
  const std::string text = "# c\n0 1\n1\t2\n10,3\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) refusal(text.substr(0, cut));
  for (std::size_t i = 0; i < text.size(); ++i)
    for (int c = 0; c < 256; ++c) {
      std::string changed = text;
      changed[i] = static_cast<char>(c);
      refusal(changed);
    }
  for (int round = 0; round < 300; ++round) {
    const std::string changed = test::mutant(text);
    refusal(changed, edges::both_ways);
    refusal<signed char>(changed);
    refusal<std::int64_t>(changed);
  }
  CHECK(!refusal("0 " + std::string(100000, '\x1b')).empty());
}

TEST_CASE("graphs") {
  const auto graph = csr_graph<int>::from_edges(4, {{0, 1}, {3, 1}, {0, 3}, {2, 2}});
  CHECK(graph == csr_graph<int>({0, 2, 2, 3, 4}, {1, 3, 2, 1}));
  CHECK(graph.transposed() == csr_graph<int>({0, 0, 2, 3, 4}, {0, 3, 2, 0}));
  const std::vector<std::pair<long, short>> pairs{{0, 1}, {3, 1}, {0, 3}, {2, 2}};
  CHECK(csr_graph<int>::from_edges(4, pairs) == graph);
  CHECK(csr_graph<int>::from_edges(4, pairs, true) == csr_graph<int>::from_edges(4, pairs, edges::both_ways));
  CHECK(csr_graph<int>::from_edges(4, pairs, true) == csr_graph<int>({0, 2, 4, 5, 7}, {1, 3, 0, 3, 2, 1, 0}));
  CHECK_THROWS_WITH_AS(csr_graph<int>::from_edges(2, std::vector<std::pair<long, long>>{{0, 1}, {1L << 40, 0}}),
                       "pmpp::csr_graph: edge 1 is (1099511627776, 0), more than the index type holds",
                       std::out_of_range);
  CHECK(graph.vertices() == 4);
  CHECK(graph.edge_count() == 4);
  CHECK(graph.view().row_length(0) == 2);
  CHECK(pmpp::device_csr_graph(graph).to_host() == graph);
  CHECK(pmpp::device_csr_graph<int>(csr_graph<int>()).vertices() == 0);
  CHECK_THROWS_WITH_AS(csr_graph<int>::from_edges(2, {{0, 1}, {0, 2}}),
                       "pmpp::csr_graph: edge 1 is (0, 2), the graph has 2 vertices", std::out_of_range);
  CHECK_THROWS_AS(csr_graph<int>::from_edges(2, {{-1, 1}}), std::out_of_range);
  CHECK_THROWS_AS(csr_graph<int>::from_edges(-1, {}), std::invalid_argument);
  CHECK_THROWS_AS(csr_graph<signed char>::from_edges(1000, {}), std::length_error);
  CHECK_THROWS_AS(csr_graph<int>(std::vector<int>(), std::vector<int>()), std::invalid_argument);
}

#if TEST_HAS_ZLIB
TEST_CASE("real networks") {
  const std::string folder = test::data_folder();
  if (folder.empty()) return;
  const auto votes = parse_edge_list(test::text_of(folder + "/matrices/wiki-Vote.txt.gz"), "wiki-Vote");
  CHECK(votes.vertices() == 8298);
  CHECK(votes.edge_count() == 103689);
  std::string text = test::text_of(folder + "/matrices/musae_git_edges.csv.gz");
  CHECK(refusal(text) == "x:1: the first vertex is not an integer: 'id_1'");
  text.erase(0, text.find('\n'));
  const auto developers = parse_edge_list(text, "musae", edges::both_ways);
  CHECK(developers.vertices() == 37700);
  CHECK(developers.edge_count() == 2 * 289003);
  CHECK(developers.transposed().transposed().edge_count() == developers.edge_count());
}
#endif
