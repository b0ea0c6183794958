// SPDX-License-Identifier: Apache-2.0
//
// Graphs for tests of searches, as patterns in compressed rows, and the edges that they are made of.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <pmpp/core/csr_view.hpp>

#include "support/data.hpp"

namespace test {

using edges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Vertices 0 ... n - 1; edges in the order in which they were given, loops and duplicates too.
template <class I = int>
struct graph {
  std::int64_t n = 0;
  std::vector<I> offsets, columns;

  graph(std::int64_t vertices, const edges& list)
      : n(vertices), offsets(std::size_t(vertices) + 1), columns(list.size()) {
    for (const auto& [u, v] : list) ++offsets[std::size_t(u) + 1];
    for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] = static_cast<I>(offsets[i] + offsets[i - 1]);
    std::vector<I> next(offsets);
    for (const auto& [u, v] : list) columns[std::size_t(next[std::size_t(u)]++)] = static_cast<I>(v);
  }
  pmpp::csr_view<void, const I> view() const { return {n, n, offsets.data(), columns.data()}; }
};

inline edges reversed(const edges& list) {
  edges result;
  for (const auto& [u, v] : list) result.push_back({v, u});
  return result;
}
/// Each edge in both directions.
inline edges both_ways(edges list) {
  const edges back = reversed(list);
  list.insert(list.end(), back.begin(), back.end());
  return list;
}

struct named_graph {
  std::string name;
  std::int64_t n;
  edges list;  ///< one direction
};

inline std::int64_t random_below(std::int64_t bound) {
  return static_cast<std::int64_t>(generator()() % static_cast<std::uint64_t>(bound));
}

/// Recursive matrix: vertex numbers bit by bit, quadrants with probabilities 0.57, 0.19, 0.19 and 0.05.
inline edges power_law(int scale, std::int64_t count) {
  edges list;
  for (std::int64_t e = 0; e < count; ++e) {
    std::int64_t u = 0, v = 0;
    for (int bit = 0; bit < scale; ++bit) {
      const std::int64_t roll = random_below(100);
      u = 2 * u + (roll >= 76);
      v = 2 * v + ((roll >= 57 && roll < 76) || roll >= 95);
    }
    list.push_back({u, v});
  }
  return list;
}

/// Every kind of shape, of about n vertices.
inline std::vector<named_graph> shapes(std::int64_t n) {
  n = up_to(n, 40);
  std::vector<named_graph> all;
  edges path, star, tree, two, random, grid, clique;
  for (std::int64_t v = 1; v < n; ++v) {
    path.push_back({v - 1, v});
    star.push_back({0, v});
    tree.push_back({(v - 1) / 2, v});
    if (v != n / 2) two.push_back({v - 1, v});
  }
  for (std::int64_t e = 0; e < 4 * n; ++e) random.push_back({random_below(n), random_below(n)});
  std::int64_t side = 1, corners = 2;
  while (side * side < n) ++side;
  while (corners * corners < 8 * n) ++corners;
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      if (x + 1 < side) grid.push_back({y * side + x, y * side + x + 1});
      if (y + 1 < side) grid.push_back({y * side + x, y * side + x + side});
    }
  for (std::int64_t u = 0; u < corners; ++u)
    for (std::int64_t v = 0; v < u; ++v) clique.push_back({u, v});
  int scale = 1;
  while ((std::int64_t(1) << scale) < n) ++scale;
  all.push_back({"path", n, path});
  all.push_back({"star", n, star});
  all.push_back({"binary tree", n, tree});
  all.push_back({"two paths", n, two});
  all.push_back({"no edges", n, {}});
  all.push_back({"random", n, random});
  all.push_back({"grid", side * side, grid});
  all.push_back({"clique", corners, clique});
  all.push_back({"power law", std::int64_t(1) << scale, power_law(scale, 8 * n)});
  return all;
}

}  // namespace test
