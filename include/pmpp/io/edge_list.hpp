// SPDX-License-Identifier: Apache-2.0
//
// Edge lists: the text format in which networks come (SNAP and others).
//
//   # FromNodeId  ToNodeId       comments begin with # or %
//   0 11342                      an edge from vertex 0 to vertex 11342; vertices count from 0
//   0,824020                     blanks, tabs, commas and semicolons separate
//
//   auto g = pmpp::read_edge_list("web.txt");                                   // csr_graph<int>
//   auto h = pmpp::read_edge_list("friends.txt", pmpp::edges::both_ways);       // each line is an edge both ways
//   auto k = pmpp::parse_edge_list<std::int64_t>(text, "web.txt");              // text that is in memory
//
// The graph has as many vertices as the largest number + 1. What is wrong with a file is a std::runtime_error
// "NAME:LINE: reason": a word that is no number, a vertex missing, negative or too large for the index type, more than two
// words in a line (weights, times).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/io/file.hpp>
#include <pmpp/io/lines.hpp>
#include <pmpp/memory/csr_graph.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// The graph that a list of edges describes.
///
/// \param text   the content of a file.
/// \param name   what error messages call it.
/// \param which  whether a line stands for one edge or for two, in both directions.
/// Cost: linear; memory about 20 bytes an edge and 8 a vertex. A vertex whose number exceeds both 2^22 and 64 times the
/// bytes of the text is refused, so that a short text cannot ask for all memory.
/// \throws std::runtime_error "NAME:LINE: reason"; std::bad_alloc
template <std::signed_integral I = int>
csr_graph<I> parse_edge_list(std::string_view text, const std::string& name = "edge list",
                             edges which = edges::one_way) {
  detail::line_reader in(text, name, "#%", " \t\r\f\v,;");
  const auto most = max<std::int64_t>(1 << 22, 64 * static_cast<std::int64_t>(text.size()));
  std::int64_t vertices = 0;
  const auto vertex = [&](const char* what) {
    const auto v = in.template number<std::int64_t>(what);
    if (v < 0) in.fail(std::string(what) + " is negative: " + std::to_string(v));
    if (v >= static_cast<std::int64_t>(std::numeric_limits<I>::max()))
      in.fail(std::string(what) + " does not fit the index type: " + std::to_string(v));
    if (v >= most) in.fail(std::string(what) + " is too large for a file this size: " + std::to_string(v));
    vertices = max(vertices, v + 1);
    return static_cast<I>(v);
  };
  std::vector<edge<I>> list;
  while (in.next_data_line()) {
    const I from = vertex("the first vertex"), to = vertex("the second vertex");
    in.end_of_line();
    if (list.size() == std::size_t(std::numeric_limits<I>::max()) / (which == edges::both_ways ? 2 : 1))
      in.fail("more edges than the index type holds");
    list.push_back({from, to});
  }
  return csr_graph<I>::from_edges(vertices, list, which);
}

/// The graph in a file. \throws as parse_edge_list; also if the file cannot be read
template <std::signed_integral I = int>
csr_graph<I> read_edge_list(const std::string& path, edges which = edges::one_way) {
  return parse_edge_list<I>(detail::file(path, "rb").read(), path, which);
}

}  // namespace pmpp::inline PMPP_BACKEND
