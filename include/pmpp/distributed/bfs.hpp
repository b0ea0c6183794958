// SPDX-License-Identifier: Apache-2.0
//
// Breadth-first search over several ranks: bfs, on a spread_graph.
//
//   pmpp::spread_graph<> graph{gpus, undirected(g)};      a csr_graph of the host, the same on every process; or directed(g, transpose)
//   auto distance = pmpp::distributed_buffer<int>::with_sizes(gpus, graph.sizes());
//   pmpp::bfs(gpus, graph, source, distance);             -1 where no path leads
//   pmpp::bfs(gpus, graph, source, distance, parent);     and the vertex before, on a shortest path
//
// Each rank has the edges of its block of vertices. All ranks go the same way in each level, by Beamer's rule, as on one device:
//
//   push   while the frontier has few edges: each rank follows those of its part, and tells the owners of the vertices that it finds:
//          of each once in the whole search, by a bitmap of those it has told of
//   pull   while it has many: the ranks gather a bitmap of the frontier; vertices not yet reached look for an edge from there
//
// Ranks of one process that read each other's memory write distances and parents where they lie, and read bitmaps there. Others send
// messages: a push is one step more, and the host reads twice how many there are.
//
// The steps of a rank are in bfs_steps.hpp. A level takes two to four launches, and the host waits for one reduction. (PMPP
// ch. 15 and 20; Beamer, Buluc, Asanovic and Patterson, Distributed memory breadth-first search revisited, 2013.)
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <pmpp/bfs.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/distributed/bfs_steps.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/distributed/spread_graph.hpp>
#include <pmpp/reduce.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// When ranks change direction: as in bfs_tuning.
struct spread_bfs_options {
  int alpha = 15;  ///< pull when the frontier has more than 1/alpha of the edges not yet looked at; 0: never
  int beta = 18;   ///< push again when it shrinks and has at most 1/beta of the vertices
  friend bool operator==(const spread_bfs_options&, const spread_bfs_options&) = default;
};

/// What a search has found.
struct spread_bfs_result {
  std::int64_t levels = 0;            ///< the largest distance + 1
  std::int64_t vertices_reached = 0;  ///< the source too
  std::int64_t levels_pulled = 0;
  friend bool operator==(const spread_bfs_result&, const spread_bfs_result&) = default;
};

namespace detail {

/// A search under way. \tparam R  the type of parents
template <class P, class C, class I, class D, class R>
class spread_search {
public:
  spread_search(const devices<P, C>& gpus, const spread_graph<I>& graph, distributed_buffer<D>& distance,
                distributed_buffer<R>* parent, const spread_bfs_options& options)
      : gpus_(gpus), graph_(graph), distance_(distance), parent_(parent), options_(options) {
    const auto group = gpus.group();
    near_ = group->reads_all && gpus.size() <= most_near_ranks && !distance.refers() &&
            (parent == nullptr || !parent->refers());
    const std::int64_t all = graph.padded(gpus.size()), sent = near_ ? 0 : all, ranks = gpus.size();
    out_vertex_ = detail::arrays_of<I>(*group, [&](int) { return sent; });
    out_parent_ = detail::arrays_of<I>(*group, [&](int) { return sent; });
    frontier_ = detail::arrays_of<unsigned>(*group, [&](int) { return all / 32; });
    told_ = detail::arrays_of<unsigned>(*group, [&](int) { return all / 32; });
    counts_ = detail::arrays_of<spread_count>(*group, [&](int) { return ranks; });
    totals_ = detail::arrays_of<spread_totals>(*group, [](int) { return 1; });
  }

  spread_bfs_result run(std::int64_t source) {
    start_at(source);
    spread_bfs_result result;
    std::int64_t unexplored = graph_.edges(), before = 0;
    for (bool pulls = false;; ++result.levels) {
      const spread_totals now = count(static_cast<D>(result.levels));
      if (now.vertices == 0) break;
      require(result.levels < static_cast<std::int64_t>(std::numeric_limits<D>::max()), [&] {
        return "pmpp::bfs: a distance of " + text::of(result.levels + 1) + " does not fit the type of distances";
      });
      result.vertices_reached += now.vertices;
      if (!pulls)
        pulls = graph_.can_pull() && options_.alpha > 0 && now.edges > unexplored / options_.alpha;
      else if (now.vertices < before && now.vertices <= graph_.vertices() / max(options_.beta, 1))
        pulls = false;
      before = now.vertices;
      unexplored -= now.edges;
      if (pulls) {
        pull(static_cast<D>(result.levels + 1));
        ++result.levels_pulled;
      } else {
        near_ ? push_near(static_cast<D>(result.levels + 1)) : push(static_cast<D>(result.levels + 1));
      }
    }
    if (parent_ != nullptr)
      gpus_.each([&](int i, const P& where) {
        detail::for_each_of(where, vertices(i), name_parents<I, R>{graph_.numbers(i), parents(i)});
      });
    return result;
  }

private:
  std::int64_t vertices(int i) const { return graph_.vertices_of(gpus_.rank(i)); }
  I first(int i) const { return static_cast<I>(graph_.padded(gpus_.rank(i))); }
  R* parents(int i) const { return parent_ == nullptr ? nullptr : parent_->part(i).data(); }
  spread_tree<D, R> tree(int i, D level) const { return {distance_.part(i).data(), parents(i), level}; }
  spread_count* counts(int i) const { return counts_[std::size_t(i)].data(); }

  void start_at(std::int64_t source) {
    gpus_.each([&](int i, const P& where) {
      const auto block = distance_.part(i);
      pmpp::fill(where, block, D(-1));
      if (parent_ != nullptr) pmpp::fill(where, parent_->part(i), R(-1));
      pmpp::fill(where, told_[std::size_t(i)].span(), 0u);
      const std::int64_t place = source - graph_.begin(gpus_.rank(i));
      if (place < 0 || place >= vertices(i)) return;
      pmpp::fill(where, block.subspan(std::size_t(place), 1), D(0));
      if (parent_ != nullptr)
        pmpp::fill(where, parent_->part(i).subspan(std::size_t(place), 1),
                   static_cast<R>(first(i) + static_cast<I>(place)));
    });
  }

  spread_totals count(D level) {
    const counting_iterator<std::int64_t> zero(0);
    const auto counts_of = [&](int i) {
      return count_frontier<I, D>{distance_.part(i).data(), level, graph_.part(i).out.view()};
    };
    std::vector<spread_totals> all;
    if constexpr (kernel_execution<P>)
      if (gpus_.all_here())
        all = detail::folds_of_ranks<spread_totals>(
            "bfs", gpus_,
            [&](int i) {
              return detail::mapped<spread_totals>(detail::input_of("bfs", zero, zero + vertices(i)), counts_of(i));
            },
            add_totals{}, spread_totals{});
    if (all.empty()) {
      gpus_.each([&](int i, const P& where) {
        pmpp::transform_reduce_into(where, subrange{zero, zero + vertices(i)}, totals_[std::size_t(i)].data(),
                                    spread_totals{}, add_totals{}, counts_of(i));
      });
      all = detail::firsts_of_all(gpus_, totals_);
    }
    spread_totals now;
    for (const spread_totals& of : all) now = add_totals{}(now, of);
    return now;
  }

  template <class T, class Get>
  near_pointers<T> pointers(Get get) const {
    near_pointers<T> all;
    for (int i = 0; i < gpus_.local_size(); ++i) all.of[gpus_.rank(i)] = get(i);
    return all;
  }
  void push_near(D level) {
    const auto distances = pointers<D>([&](int i) { return distance_.part(i).data(); });
    const auto parents_of = pointers<R>([&](int i) { return parents(i); });
    gpus_.each([&](int i, const P& where) {
      const auto& out = graph_.part(i).out;
      detail::for_each_of(where, out.pieces(),
                          push_to_all<I, D, R>{out.view(), level, graph_.numbers(i), first(i),
                                               told_[std::size_t(i)].data(), distances, parents_of, gpus_.rank(i)});
    });
    gpus_.join();
  }

  void push(D level) {
    const int p = gpus_.size();
    gpus_.each([&](int i, const P& where) {
      const auto k = std::size_t(i);
      const auto& out = graph_.part(i).out;
      pmpp::fill(where, counts_[k].span(), spread_count(0));
      detail::for_each_of(
          where, out.pieces(),
          push_edges<I, D>{out.view(), distance_.part(i).data(), static_cast<D>(level - 1), graph_.numbers(i), first(i),
                           told_[k].data(), out_vertex_[k].data(), out_parent_[k].data(), counts(i)});
    });
    const auto all = detail::firsts_of_all(gpus_, counts_, p);
    const auto sent = [&](int from, int to) { return static_cast<std::size_t>(all[std::size_t(from * p + to)]); };
    const auto arriving = [&](int i) {
      std::size_t sum = 0;
      for (int r = 0; r < p; ++r) sum += sent(r, gpus_.rank(i));
      return static_cast<std::int64_t>(sum);
    };
    const bool with_parents = parent_ != nullptr;
    make_room(in_vertex_, arriving);
    if (with_parents) make_room(in_parent_, arriving);
    const auto move = [&](const std::vector<rank_array<I>>& out, const std::vector<rank_array<I>>& in, int i, C& link,
                          stream_handle s) {
      I* place = in[std::size_t(i)].data();
      for (int r = 0; r < p; ++r) {
        const std::size_t leaves = sent(gpus_.rank(i), r), arrives = sent(r, gpus_.rank(i));
        if (leaves != 0) link.send(out[std::size_t(i)].data() + graph_.padded(r), leaves * sizeof(I), r, s);
        if (arrives != 0) link.receive(place, arrives * sizeof(I), r, s);
        place += arrives;
      }
    };
    gpus_.together([&](int i, C& link, stream_handle s) {
      move(out_vertex_, in_vertex_, i, link, s);
      if (with_parents) move(out_parent_, in_parent_, i, link, s);
    });
    gpus_.each([&](int i, const P& where) {
      const I* const from = with_parents ? in_parent_[std::size_t(i)].data() : nullptr;
      detail::for_each_of(where, arriving(i),
                          take_in<I, D, R>{in_vertex_[std::size_t(i)].data(), from, first(i), tree(i, level)});
    });
  }

  /// Arrays for at least so many numbers on each rank here. Of powers of two, not below a quarter of its vertices: few sizes, so that
  /// other searches find them again.
  template <class Count>
  void make_room(std::vector<rank_array<I>>& arrays, Count count) {
    const auto& places = gpus_.group()->places;
    arrays.resize(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto wanted = static_cast<std::uint64_t>(count(static_cast<int>(i)));
      if (static_cast<std::uint64_t>(arrays[i].size()) >= wanted) continue;
      const rank_guard guard(places[i].device);
      const auto usual = static_cast<std::uint64_t>(vertices(static_cast<int>(i))) / 4;
      arrays[i] = {};
      arrays[i] = rank_array<I>(places[i], static_cast<std::int64_t>(std::bit_ceil(max(wanted, usual))));
    }
  }

  void pull(D level) {
    const auto bitmap = [&](int i) { return frontier_[std::size_t(i)].data(); };
    const std::int64_t words = graph_.padded(gpus_.size()) / 32;
    gpus_.each([&](int i, const P& where) {
      detail::for_each_of(where, ceil_div(vertices(i), std::int64_t(32)),
                          mark_frontier<D>{distance_.part(i).data(), static_cast<D>(level - 1), vertices(i),
                                           bitmap(i) + first(i) / 32});
    });
    if (near_) {
      gpus_.join();
      const auto of_ranks = pointers<unsigned>(bitmap);
      gpus_.each([&](int i, const P& where) {
        detail::for_each_of(where, words,
                            gather_frontier<I>{graph_.numbers(i), of_ranks, bitmap(i), told_[std::size_t(i)].data()});
      });
    } else {
      gpus_.together([&](int i, C& link, stream_handle s) {
        for (int r = 0; r < gpus_.size(); ++r) {
          if (r == gpus_.rank(i)) continue;
          const auto bytes = [&](int of) { return std::size_t(graph_.padded(of + 1) - graph_.padded(of)) / 8; };
          if (bytes(gpus_.rank(i)) != 0) link.send(bitmap(i) + first(i) / 32, bytes(gpus_.rank(i)), r, s);
          if (bytes(r) != 0) link.receive(bitmap(i) + graph_.padded(r) / 32, bytes(r), r, s);
        }
      });
      gpus_.each([&](int i, const P& where) {
        detail::for_each_of(where, words, tell_frontier{bitmap(i), told_[std::size_t(i)].data()});
      });
    }
    gpus_.each([&](int i, const P& where) {
      const auto& in = graph_.edges_to(i);
      detail::for_each_of(where, in.pieces(), pull_edges<I, D, R>{in.view(), bitmap(i), tree(i, level)});
    });
  }

  const devices<P, C>& gpus_;
  const spread_graph<I>& graph_;
  distributed_buffer<D>& distance_;
  distributed_buffer<R>* const parent_;
  const spread_bfs_options options_;
  bool near_;  ///< ranks read and write each other's memory
  std::vector<rank_array<I>> out_vertex_, out_parent_, in_vertex_, in_parent_;
  std::vector<rank_array<unsigned>> frontier_, told_;
  std::vector<rank_array<spread_count>> counts_;
  std::vector<rank_array<spread_totals>> totals_;
};

template <class P, class C, class I, class D, class R>
spread_bfs_result search_spread(const devices<P, C>& gpus, const spread_graph<I>& graph, std::int64_t source,
                                distributed_buffer<D>& distance, distributed_buffer<R>* parent,
                                const spread_bfs_options& options) {
  static_assert(std::signed_integral<D> && sizeof(D) >= 4,
                "pmpp: distances on several ranks are signed integers of 4 or 8 bytes");
  static_assert(std::signed_integral<R> && sizeof(R) >= sizeof(I), "pmpp: parents hold the vertices of the graph");
  require(graph.group() == gpus.group().get(), [&] {
    return text("pmpp::bfs: the graph lies on other devices than those of the call") +
           (graph.group() == nullptr ? ", on none" : "");
  });
  const auto check_output = [&](const char* argument, const auto& out) {
    detail::require_on("bfs", argument, gpus, out);
    for (int r = 0; r < gpus.size(); ++r)
      if (out.size_of(r) != graph.vertices_of(r))
        detail::throw_length_error(text("pmpp::bfs: on rank ") + text::of(r) + " the graph has " +
                                   text::of(graph.vertices_of(r)) + " vertices, " + argument + " has " +
                                   text::of(out.size_of(r)) + " elements");
  };
  check_output("distance", distance);
  if (parent != nullptr) check_output("parent", *parent);
  require(parent == nullptr || static_cast<const void*>(parent) != static_cast<const void*>(std::addressof(distance)),
          [] { return "pmpp::bfs: parent is distance"; });
  require(source >= 0 && source < graph.vertices(), [&] {
    return "pmpp::bfs: the source is " + text::of(source) + ", the graph has " + text::of(graph.vertices()) +
           " vertices";
  });
  detail::require_same_call<I, D, R>(gpus, "bfs", {graph.vertices(), source, parent != nullptr});
  return spread_search<P, C, I, D, R>(gpus, graph, distance, parent, options).run(source);
}

}  // namespace detail

/// Distances from `source` in edges; -1 where no path leads.
///
/// \param source    a vertex, the same on every process.
/// \param distance  a buffer of signed integers of 4 or 8 bytes in the blocks of graph.sizes(); what it holds does not matter.
/// \param parent    where given: likewise, at least as wide as the graph's numbers. Gets the vertex before on a shortest path, source
///                  for source, -1 where no path leads: of several possible ones, that of the first message or edge to come.
/// \return how many levels there are (the largest distance + 1), how many vertices were reached, and in how many levels ranks pulled.
/// Distances are those of one device for any blocks, the same on every run; parents need not be the same. Waits for counts in each
/// level, the last step is enqueued. Cost: at most all edges read once; each rank sends a vertex at most once, and in a level that pulls a
/// bitmap of its vertices to all others. Scratch of a rank: two numbers and two bits for each vertex of the graph, two numbers for each
/// vertex that arrives in a level, and up to as many again. A second search allocates nothing.
/// \throws std::invalid_argument if an argument lies on other devices, or for a source outside of the graph; std::length_error if blocks
/// differ; communication_error; out_of_memory, cuda_error. Source: PMPP ch. 15, 20. Example: test/distributed_graph.cpp, bfs.
template <class P, class C, class I, class D>
spread_bfs_result bfs(const devices<P, C>& gpus, const spread_graph<I>& graph, std::int64_t source,
                      distributed_buffer<D>& distance, const spread_bfs_options& options = {}) {
  return detail::search_spread(gpus, graph, source, distance, static_cast<distributed_buffer<I>*>(nullptr), options);
}
template <class P, class C, class I, class D, class R>
spread_bfs_result bfs(const devices<P, C>& gpus, const spread_graph<I>& graph, std::int64_t source,
                      distributed_buffer<D>& distance, distributed_buffer<R>& parent,
                      const spread_bfs_options& options = {}) {
  return detail::search_spread(gpus, graph, source, distance, std::addressof(parent), options);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
