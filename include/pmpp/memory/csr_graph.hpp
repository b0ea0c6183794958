// SPDX-License-Identifier: Apache-2.0
//
// Graphs that own their memory, as the pattern of a matrix in compressed sparse rows (core/csr_view.hpp).
//
//   auto g = csr_graph<>::from_edges(vertices, {{0, 1}, {1, 2}});
//   device_csr_graph<> d(g);                              // a copy on the device
//   bfs(device, d, 0, distance);
//
// csr_graph<I> lives on the host, device_csr_graph<I> on the device; view() gives the csr_view that algorithms take.
// I holds vertices and the number of edges: 2^31 edges and more need a 64-bit I. Loops and duplicates stay.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

namespace pmpp::inline PMPP_BACKEND {

template <class I = int>
struct edge {
  I from, to;
  friend bool operator==(const edge&, const edge&) = default;
};

/// What a list of edges stands for: the edges as they are, or those in the other direction too; or whether the graph is
/// undirected, as a bool.
class edges {
public:
  static const edges one_way, both_ways;
  constexpr edges(bool undirected) : both_ways_(undirected) {}
  friend constexpr bool operator==(edges, edges) = default;

private:
  bool both_ways_;
};
inline constexpr edges edges::one_way{false}, edges::both_ways{true};

/// A graph on the host. Copyable.
template <std::signed_integral I = int>
class csr_graph {
public:
  using index_type = I;

  /// No vertices.
  csr_graph() : offsets_(1) {}

  /// Takes the two arrays as they are: vertices + 1 offsets, and the end of each edge.
  csr_graph(std::vector<I> offsets, std::vector<I> columns)
      : offsets_(std::move(offsets)), columns_(std::move(columns)) {
    require(!offsets_.empty(), [] { return "pmpp::csr_graph: 0 offsets, not one more than vertices"; });
  }

  /// From edges in any order; those of a vertex stay in their order. both_ways: a loop still counts once.
  /// Cost: O(vertices + edges), one counting sort. \throws std::out_of_range for an edge outside of the graph, naming it;
  /// std::invalid_argument if `vertices` is negative; std::length_error if I cannot hold a count
  static csr_graph from_edges(std::int64_t vertices, std::span<const edge<I>> list, edges which = edges::one_way) {
    require(vertices >= 0, [&] { return "pmpp::csr_graph: " + detail::text::of(vertices) + " vertices"; });
    const bool both = which == edges::both_ways;
    const auto most = static_cast<std::uint64_t>(std::numeric_limits<I>::max());
    if (static_cast<std::uint64_t>(vertices) > most || list.size() > most / (both ? 2 : 1))
      detail::throw_length_error("pmpp::csr_graph: the index type holds numbers up to " + detail::text::of(most) +
                                 "; there are " + detail::text::of(vertices) + " vertices and " +
                                 detail::text::of(list.size()) + " edges" + (both ? ", both ways" : ""));
    csr_graph result;
    result.offsets_.resize(std::size_t(vertices) + 1);
    const auto each = [&](auto f) {
      for (const auto& [from, to] : list) {
        f(from, to);
        if (both && from != to) f(to, from);
      }
    };
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto [from, to] = list[i];
      if (from < 0 || from >= vertices || to < 0 || to >= vertices)
        detail::throw_out_of_range("pmpp::csr_graph: edge " + detail::text::of(i) + " is (" + detail::text::of(from) +
                                   ", " + detail::text::of(to) + "), the graph has " + detail::text::of(vertices) +
                                   " vertices");
    }
    each([&](I from, I) { ++result.offsets_[std::size_t(from) + 1]; });
    for (std::size_t v = 1; v < result.offsets_.size(); ++v)
      result.offsets_[v] = static_cast<I>(result.offsets_[v] + result.offsets_[v - 1]);
    result.columns_.resize(std::size_t(result.offsets_.back()));
    std::vector<I> next = result.offsets_;
    each([&](I from, I to) { result.columns_[std::size_t(next[std::size_t(from)]++)] = to; });
    return result;
  }
  static csr_graph from_edges(std::int64_t vertices, std::initializer_list<edge<I>> list,
                              edges which = edges::one_way) {
    return from_edges(vertices, std::span<const edge<I>>(list.begin(), list.size()), which);
  }
  /// From a list of other pairs, std::pair for one, with numbers that I can hold.
  template <class Pairs>
  requires(!std::convertible_to<const Pairs&, std::span<const edge<I>>>) static csr_graph
      from_edges(std::int64_t vertices, const Pairs& list, edges which = edges::one_way) {
    std::vector<edge<I>> same;
    for (const auto& [from, to] : list) {
      if (!std::in_range<I>(from) || !std::in_range<I>(to))
        detail::throw_out_of_range("pmpp::csr_graph: edge " + detail::text::of(same.size()) + " is (" +
                                   detail::text::of(from) + ", " + detail::text::of(to) +
                                   "), more than the index type holds");
      same.push_back({static_cast<I>(from), static_cast<I>(to)});
    }
    return from_edges(vertices, same, which);
  }

  std::int64_t vertices() const noexcept { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  /// Of a graph made both ways, each direction counts.
  std::int64_t edge_count() const noexcept { return static_cast<std::int64_t>(columns_.size()); }
  const std::vector<I>& offsets() const noexcept { return offsets_; }
  const std::vector<I>& columns() const noexcept { return columns_; }
  csr_view<void, const I> view() const noexcept { return {vertices(), vertices(), offsets_.data(), columns_.data()}; }

  /// An edge (v, u) for each edge (u, v); those of a vertex in ascending order.
  csr_graph transposed() const {
    std::vector<edge<I>> list;
    list.reserve(columns_.size());
    for (std::size_t v = 0; v + 1 < offsets_.size(); ++v)
      for (auto e = std::size_t(offsets_[v]); e < std::size_t(offsets_[v + 1]); ++e)
        list.push_back({columns_[e], static_cast<I>(v)});
    return from_edges(vertices(), list);
  }

  friend bool operator==(const csr_graph&, const csr_graph&) = default;

private:
  std::vector<I> offsets_, columns_;
};

/// A graph on the device. Move-only.
template <std::signed_integral I = int>
class device_csr_graph {
public:
  using index_type = I;

  /// A copy of a graph on the host; waits. \throws out_of_memory, cuda_error
  explicit device_csr_graph(const csr_graph<I>& graph) : offsets_(graph.offsets()), columns_(graph.columns()) {}
  /// Takes two arrays as they are.
  device_csr_graph(device_buffer<I> offsets, device_buffer<I> columns)
      : offsets_(std::move(offsets)), columns_(std::move(columns)) {
    require(offsets_.size() > 0, [] { return "pmpp::device_csr_graph: 0 offsets, not one more than vertices"; });
  }

  std::int64_t vertices() const noexcept { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  std::int64_t edge_count() const noexcept { return static_cast<std::int64_t>(columns_.size()); }
  csr_view<void, const I> view() const noexcept { return {vertices(), vertices(), offsets_.data(), columns_.data()}; }

  /// A copy on the host; waits. \throws std::bad_alloc, cuda_error
  csr_graph<I> to_host() const { return {pmpp::to_host(offsets_), pmpp::to_host(columns_)}; }

private:
  device_buffer<I> offsets_, columns_;
};
template <class I>
device_csr_graph(const csr_graph<I>&) -> device_csr_graph<I>;

}  // namespace pmpp::inline PMPP_BACKEND
