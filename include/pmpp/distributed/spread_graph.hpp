// SPDX-License-Identifier: Apache-2.0
//
// spread_graph<I>: a graph whose vertices lie on the ranks of a devices, in blocks by rank, each with its edges.
//
//   pmpp::spread_graph<> a{gpus, undirected(g)};             g is a csr_graph of the host, or a csr_view of its memory
//   pmpp::spread_graph<> b{gpus, directed(g, transposed)};   the same on every process
//   pmpp::spread_graph<> c{gpus, directed(g)};               every level of a search pushes
//   distributed_buffer<int>::with_sizes(gpus, a.sizes())     a number for each vertex
//
// Blocks are cut so that each rank has as many edges and vertices as any other. In the memory of ranks vertices have other numbers, in
// which the block of each rank begins at a multiple of 32: so each word of a bitmap belongs to one rank. (PMPP ch. 15 and 20.)
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <pmpp/bfs.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/distributed/bfs_steps.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/spread_csr.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// A thread for each: who follows edges is not alike.
template <class P, class F>
void for_each_of(const P& where, std::int64_t n, const F& f) {
  constexpr transform_tuning one_each{.vectors_per_thread = 1};
  if (n > 0) pmpp::for_each<one_each>(where, counting_iterator<std::int64_t>(0), counting_iterator<std::int64_t>(n), f);
}

/// Edges of the vertices of one rank, in its memory.
template <class I>
struct spread_lists {
  rank_array<I> offsets, columns, more_vertex, more_edge;
  std::int64_t pieces() const { return offsets.size() - 1 + more_vertex.size(); }
  spread_edges<I> view() const {
    return {offsets.data(), columns.data(), more_vertex.data(), more_edge.data(), offsets.size() - 1};
  }
};
/// What a rank has of a spread graph.
template <class I>
struct spread_block {
  spread_lists<I> out, in;       ///< in: none where it is out, or not known
  rank_array<I> padded, begins;  ///< where the vertices of each rank begin
};

}  // namespace detail

/// A graph in blocks of vertices by rank, owned by its processes. Movable; it does not change.
template <std::signed_integral I = int>
class spread_graph {
public:
  using index_type = I;

  /// No vertices, on no devices.
  spread_graph() = default;

  /// A copy of a graph of the host, the same on every process: undirected(g), directed(g, transpose) or directed(g). Waits.
  /// \throws std::invalid_argument for a graph that is not square, null offsets, offsets that decrease, edges to vertices that are none,
  /// or processes that differ in vertices; std::length_error if I cannot hold vertices + 32 for each rank; out_of_memory, cuda_error
  template <class P, class C>
  spread_graph(const devices<P, C>& gpus, const bfs_graph<I>& graph)
      : spread_graph(gpus, graph, detail::balanced_rows(checked(graph).out.offsets, graph.out.rows, gpus.size())) {}

  /// The same with vertices[r] vertices on each rank r.
  /// \throws std::invalid_argument too if there are not as many as the graph has, or not one number for each rank
  template <class P, class C>
  spread_graph(const devices<P, C>& gpus, const bfs_graph<I>& graph, const std::vector<std::int64_t>& vertices)
      : group_(gpus.group()), begins_(detail::begins_of(vertices)) {
    checked(graph);
    detail::require_agreement(gpus, "spread_graph", "the number of vertices", graph.out.rows);
    require(vertices.size() == std::size_t(gpus.size()) && begins_.back() == graph.out.rows, [&] {
      return "pmpp::spread_graph: " + detail::text::of(begins_.back()) + " vertices on " +
             detail::text::of(vertices.size()) + " ranks; there are " + detail::text::of(graph.out.rows) + " on " +
             detail::text::of(gpus.size());
    });
    for (const std::int64_t count : vertices)
      padded_.push_back(padded_.back() + ceil_div(count, std::int64_t(32)) * 32);
    if (padded_.back() > static_cast<std::int64_t>(std::numeric_limits<I>::max()))
      detail::throw_length_error("pmpp::spread_graph: the index type holds numbers up to " +
                                 detail::text::of(std::numeric_limits<I>::max()) + "; there are " +
                                 detail::text::of(graph.out.rows) + " vertices on " + detail::text::of(gpus.size()) +
                                 " ranks");
    edges_ = graph.out.rows == 0 ? 0 : graph.out.nonzeros() - std::int64_t(graph.out.offsets[0]);
    both_ways_ = graph.in.offsets == graph.out.offsets && graph.in.columns == graph.out.columns;
    can_pull_ = graph.in.offsets != nullptr;
    gpus.each([&](int i, const P& where) {
      const auto& place = group_->places[std::size_t(i)];
      detail::spread_block<I> block;
      block.padded = array_of(place, padded_);
      block.begins = array_of(place, begins_);
      const detail::spread_vertices<I> numbers{block.padded.data(), block.begins.data(), group_->size};
      block.out = lists(where, place, graph.out, graph.out, numbers);
      if (can_pull_ && !both_ways_) block.in = lists(where, place, graph.in, graph.out, numbers);
      blocks_.push_back(std::move(block));
    });
  }

  std::int64_t vertices() const { return begins_.back(); }
  std::int64_t edges() const { return edges_; }
  bool can_pull() const { return can_pull_; }
  /// The first vertex of `rank`; of size() ranks: vertices().
  std::int64_t begin(int rank) const { return begins_[std::size_t(rank)]; }
  std::int64_t vertices_of(int rank) const { return begin(rank + 1) - begin(rank); }
  /// vertices_of of each rank.
  std::vector<std::int64_t> sizes() const {
    std::vector<std::int64_t> sizes;
    for (std::size_t r = 1; r < begins_.size(); ++r) sizes.push_back(begins_[r] - begins_[r - 1]);
    return sizes;
  }

  /// For searches: the number in bitmaps of the first vertex of `rank`, what rank number i of this process has, and the devices.
  std::int64_t padded(int rank) const { return padded_[std::size_t(rank)]; }
  const detail::spread_block<I>& part(int i) const { return blocks_[std::size_t(i)]; }
  const detail::spread_lists<I>& edges_to(int i) const { return both_ways_ ? part(i).out : part(i).in; }
  detail::spread_vertices<I> numbers(int i) const {
    return {part(i).padded.data(), part(i).begins.data(), group_->size};
  }
  const detail::rank_group* group() const { return group_.get(); }

private:
  static const bfs_graph<I>& checked(const bfs_graph<I>& graph) {
    for (const auto* view : {&graph.out, &graph.in}) {
      if (view == &graph.in && view->offsets == nullptr) continue;
      require(view->rows >= 0 && view->rows == view->cols && view->rows == graph.out.rows &&
                  (view->rows == 0 || view->offsets != nullptr),
              [&] {
                return "pmpp::spread_graph: a graph of " + detail::text::of(graph.out.rows) + " vertices, with " +
                       detail::text::of(view->rows) + " rows and " + detail::text::of(view->cols) + " columns" +
                       (view->offsets == nullptr ? ", and no offsets" : "");
              });
    }
    return graph;
  }

  static detail::rank_array<I> array_of(const detail::rank_group::place& where,
                                        const std::vector<std::int64_t>& values) {
    std::vector<I> narrow;
    for (const std::int64_t value : values) narrow.push_back(static_cast<I>(value));
    return arrive(where, narrow);
  }
  /// Waits, so that the values may go.
  static detail::rank_array<I> arrive(const detail::rank_group::place& where, const std::vector<I>& values) {
    auto array = detail::array_on_rank(where, values);
    if (where.device != detail::rank_group::on_host) pmpp::synchronize(where.stream);
    return array;
  }

  /// The lists of one rank; the rank itself arranges what lies in them.
  template <class P>
  detail::spread_lists<I> lists(const P& where, const detail::rank_group::place& place,
                                const csr_view<void, const I>& graph, const csr_view<void, const I>& out,
                                const detail::spread_vertices<I>& numbers) const {
    const std::int64_t first = begin(place.rank), last = begin(place.rank + 1);
    const std::int64_t begin_of_all = first < last ? graph.row_begin(first) : 0;
    std::vector<I> offsets{0}, more_vertex, more_edge;
    for (std::int64_t v = first; v < last; ++v) {
      require(graph.row_begin(v) <= graph.row_end(v), [&] {
        return "pmpp::spread_graph: edges of vertex " + detail::text::of(v) + " begin at " +
               detail::text::of(graph.row_begin(v)) + " and end at " + detail::text::of(graph.row_end(v));
      });
      for (std::int64_t e = graph.row_begin(v); e < graph.row_end(v); ++e)
        require(graph.columns[e] >= 0 && graph.columns[e] < graph.rows, [&] {
          return "pmpp::spread_graph: an edge of vertex " + detail::text::of(v) + " leads to " +
                 detail::text::of(graph.columns[e]) + ", there are " + detail::text::of(graph.rows);
        });
      const std::int64_t end = graph.row_end(v) - begin_of_all;
      for (std::int64_t e = offsets.back() + detail::edges_of_piece; e < end; e += detail::edges_of_piece) {
        more_vertex.push_back(static_cast<I>(v - first));
        more_edge.push_back(static_cast<I>(e));
      }
      offsets.push_back(static_cast<I>(end));
    }
    detail::rank_array<I> columns(place, offsets.back()), leaving(place, out.rows + 1);
    detail::copy_on_rank(place, columns.data(), graph.columns + begin_of_all, std::size_t(offsets.back()) * sizeof(I));
    if (first < last) detail::copy_on_rank(place, leaving.data(), out.offsets, std::size_t(out.rows + 1) * sizeof(I));
    auto arrived = arrive(place, offsets);
    detail::for_each_of(where, last - first,
                        detail::arrange_list<I>{arrived.data(), leaving.data(), numbers, columns.data()});
    return {std::move(arrived), std::move(columns), arrive(place, more_vertex), arrive(place, more_edge)};
  }

  std::shared_ptr<detail::rank_group> group_;  // outlives the blocks, which are freed in the order of its streams
  std::vector<std::int64_t> begins_{0}, padded_{0};
  std::int64_t edges_ = 0;
  bool both_ways_ = false, can_pull_ = false;
  std::vector<detail::spread_block<I>> blocks_;
};

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
