// SPDX-License-Identifier: Apache-2.0
//
// Breadth-first search: bfs, distances from a vertex and the tree that they come from.
//
//   csr_view graph{n, n, offsets, columns};                          // vertex i has edges to columns[offsets[i] ...]
//   bfs(device, undirected(graph), source, distance);                // -1 where no path leads
//   bfs(device, undirected(graph), source, distance, parent);        // and the vertex before, on a shortest path
//   bfs(device, directed(graph, transposed_graph), source, distance);
//   bfs(device, graph, source, distance);                            // directed, without the transpose
//   bfs(device, undirected(graph), sources, distance);               // from the nearest of several
//
// The search goes from the frontier along its edges (top-down) or, while the frontier has many edges, from the vertices
// not yet seen back along theirs (bottom-up), where one edge that comes from the frontier is enough: on a social network
// that leaves a tenth of the edges to look at. Bottom-up needs the edges that lead to a vertex: the graph itself if it is
// undirected, or its transpose.
//
// One launch, whatever the number of levels (bfs/kernel.hpp, where the method is told). Distances are the same on every
// run; of several possible parents, any. (PMPP ch. 15.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/bfs/host.hpp>
#include <pmpp/bfs/kernel.hpp>
#include <pmpp/check_each.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// A graph for bfs: its edges by the vertex that they leave, and by the one that they lead to, unless in.offsets is null.
template <class I>
struct bfs_graph {
  csr_view<void, const I> out, in;
};

namespace detail {

template <class T, class I>
csr_view<void, const I> pattern_of(const csr_view<T, I>& graph) {
  return {graph.rows, graph.cols, graph.offsets, graph.columns};
}
template <class M>
requires requires(const M& m) { m.view(); }
auto pattern_of(const M& matrix) { return detail::pattern_of(matrix.view()); }

template <class I>
bfs_graph<I> graph_from(const csr_view<void, const I>& out, const csr_view<void, const I>& in) {
  return {out, in};
}

template <class I>
const bfs_graph<I>& graph_of(const bfs_graph<I>& graph) {
  return graph;
}

}  // namespace detail

/// A graph with an edge (v, u) for each edge (u, v): a csr_view, or a matrix that has one, of which the values count for
/// nothing. \pre it is symmetric; if it is not, distances are wrong (debug mode finds edges to vertices of up to 1024).
template <class G>
auto undirected(const G& graph) {
  const auto out = detail::pattern_of(graph);
  return detail::graph_from(out, out);
}
/// A graph of which only the edges that leave a vertex are known: every search is top-down.
template <class G>
auto directed(const G& graph) {
  auto out = detail::pattern_of(graph);
  return detail::graph_from(out, decltype(out){});
}
/// A graph and its transpose. \pre in has an edge (v, u) for each edge (u, v) of out, and no other
template <class G, class H>
auto directed(const G& out, const H& in) {
  return detail::graph_from(detail::pattern_of(out), detail::pattern_of(in));
}

namespace detail {

template <class G>
auto graph_of(const G& graph) {
  return directed(graph);
}

/// Enqueues on a GPU or runs in the emulator.
template <bfs_tuning Tuning, class P, class I, class D, class Parents>
void bfs_on_blocks(const P& where, const bfs_graph<I>& graph, const bfs_sources<I>& source, D distance, Parents parents,
                   bfs_result* result, completion done) {
  detail::check_reachable(where, "bfs", zip_iterator{zip_iterator{graph.out.offsets, graph.out.columns}, distance});
  using kernel = bfs_kernel<I, D, Parents, Tuning>;
  const machine& m = machine_of(where);
  if constexpr (!fit_everywhere<P, kernel> && Tuning.one_block > 64)
    if (!all_fit<kernel>(m)) {
      constexpr bfs_tuning least = [] {
        bfs_tuning tuning = Tuning;
        tuning.one_block = Tuning.one_block / 4;
        return tuning;
      }();
      return bfs_on_blocks<least>(where, graph, source, distance, parents, result, done);
    }
  const std::int64_t n = graph.out.rows, words = ceil_div(n, std::int64_t(32));
  const auto array = static_cast<std::size_t>(n) * sizeof(I);
  const auto bitmap = static_cast<std::size_t>(words) * sizeof(unsigned);
  scratch memory(where, scratch_bytes({array, array, array, array, array, array, bitmap, bitmap, bitmap}),
                 sizeof(bfs_state));
  bfs_arguments<I, D, Parents> a{graph.out, graph.in, source, distance, parents, {}, {}, {}, {}, result, done};
  for (bfs_queue<I>& queue : a.queue) {
    queue.vertex = memory.take<I>(n);
    queue.begin = memory.take<I>(n);
    queue.degree = memory.take<I>(n);
  }
  for (unsigned*& bits : a.frontier) bits = memory.take<unsigned>(words);
  a.seen = memory.take<unsigned>(words);
  a.state = reinterpret_cast<bfs_state*>(memory.state());
  detail::launch_together_at_most(where, resident_blocks<kernel>(m), kernel{}, a);
}

template <bfs_tuning Tuning, class P, class I, class D, class Parents>
bfs_result bfs_on_host([[maybe_unused]] const P& where, const bfs_graph<I>& graph, const bfs_sources<I>& source,
                       const D& distance, const Parents& parents) {
  if constexpr (std::is_same_v<P, seq_policy>)
    return bfs_in_order<I>(graph.out, source, distance, parents);
  else
    return host_search<I, D, Parents>(where, graph.out, graph.in, distance, parents, Tuning).run(source);
}

inline text bfs_message(const char* function, const char* what, std::int64_t a, const char* middle, std::int64_t b,
                        const char* end) {
  return detail::text("pmpp::") + function + ": " + what + detail::text::of(a) + middle + detail::text::of(b) + end;
}

/// Throws unless the graph is square and has its arrays.
template <class P, class I>
void check_graph(const char* function, const P& where, const bfs_graph<I>& graph) {
  const auto is_square = [&](const csr_view<void, const I>& view, const char* what) {
    require(view.rows >= 0 && view.rows == view.cols,
            [&] { return bfs_message(function, what, view.rows, " rows and ", view.cols, " columns: not a graph"); });
  };
  is_square(graph.out, "the graph has ");
  const std::int64_t n = graph.out.rows;
  require(n > 0 && graph.out.offsets != nullptr,
          [&] { return bfs_message(function, "the graph has ", n, " vertices and ", 0, " offsets"); });
  if (graph.in.offsets == nullptr) return;
  is_square(graph.in, "the transpose has ");
  require(graph.in.rows == n,
          [&] { return bfs_message(function, "the transpose has ", graph.in.rows, " vertices, the graph ", n, ""); });
  check_each(where, item_count{n}, transpose_check<I>{graph.out, graph.in});
}

/// Wants a vertex, or a range of vertices; gives what a kernel reads. Throws for a vertex that is none, where the host can
/// see it.
template <class P, class I, class S>
bfs_sources<I> sources_of(const char* function, [[maybe_unused]] const P& where, const bfs_graph<I>& graph,
                          const S& source) {
  const std::int64_t n = graph.out.rows;
  const auto check_vertex = [&](std::int64_t v) {
    require(v >= 0 && v < n,
            [&] { return bfs_message(function, "the source is ", v, ", the graph has ", n, " vertices"); });
  };
  if constexpr (std::is_integral_v<S>) {
    check_vertex(static_cast<std::int64_t>(source));
    return {1, static_cast<I>(source), nullptr};
  } else {
    const I* const first = unwrap(begin_of(source));
    const auto count = static_cast<std::int64_t>(std::end(source) - std::begin(source));
    static const I none{};
    if constexpr (kernel_execution<P>) {
      if (count > 0) check_reachable(where, function, first);
    } else {
      for (std::int64_t i = 0; i < count; ++i) check_vertex(static_cast<std::int64_t>(first[i]));
    }
    return {count, I{}, count == 0 ? &none : first};
  }
}

/// Wants a range or iterator; gives what a kernel writes through.
template <class O>
auto distances_of(const char* function, O&& distance, std::int64_t n) {
  check_output(function, "distance", distance, n);
  const auto first = detail::unwrap(begin_of(distance));
  using T = value_of<std::remove_const_t<decltype(first)>>;
  static_assert(std::is_integral_v<T> && std::is_signed_v<T>, "pmpp: distances are signed integers");
  return first;
}
template <class O>
auto parents_of(const char* function, O&& parent, std::int64_t n) {
  check_output(function, "parent", parent, n);
  const auto first = detail::unwrap(begin_of(parent));
  using It = std::remove_const_t<decltype(first)>;
  static_assert(std::is_integral_v<value_of<It>> && std::is_signed_v<value_of<It>>,
                "pmpp: parents are signed integers");
  return parents_at<It>{first};
}

template <bfs_tuning Tuning, class P, class I, class D, class Parents>
bfs_result bfs_and_wait(const P& where, const bfs_graph<I>& graph, const bfs_sources<I>& source, D distance,
                        Parents parents) {
  if constexpr (kernel_execution<P>) {
    reply<bfs_result, P> answer("bfs", where);
    bfs_on_blocks<Tuning, P, I, D, Parents>(answer.policy(), graph, source, distance, parents, answer.target(),
                                            answer.done());
    return answer.wait();
  } else {
    return bfs_on_host<Tuning>(where, graph, source, distance, parents);
  }
}
template <bfs_tuning Tuning, class P, class I, class D, class Parents, class O>
void bfs_to_output(const P& where, const bfs_graph<I>& graph, const bfs_sources<I>& source, D distance, Parents parents,
                   O&& result) {
  detail::check_output("bfs_into", "result", result, 1);
  bfs_result* const target = unwrap(begin_of(result));
  if constexpr (kernel_execution<P>)
    bfs_on_blocks<Tuning, P, I, D, Parents>(where, graph, source, distance, parents, target, {});
  else
    *target = bfs_on_host<Tuning>(where, graph, source, distance, parents);
}

}  // namespace detail

/// Distances from `source`, or from the nearest of several, in edges; -1 where no path leads.
///
/// \param graph     undirected(g), directed(g, transpose), or g itself, which is directed: a csr_view with as many rows as
///                  columns, or a matrix that has one, visible to `where`; values count for nothing. Edges in any order,
///                  more than once, and from a vertex to itself are fine. \pre offsets never decrease, columns lie in
///                  [0, n); the latter is checked in debug mode.
/// \param source    a vertex, or several: a contiguous range of the graph's index type, visible to `where`; distances
///                  are then those from the nearest. One may stand there twice. \pre they are vertices; checked on seq and
///                  host, in debug mode on the device.
/// \param distance  n signed integers, wide enough for the largest distance: a range or an iterator; visible to `where`.
///                  What it holds before does not matter.
/// `parent`, where given: n signed integers; likewise. Gets the vertex before on a shortest path, source for source, -1
///                  where no path leads.
/// \return how many levels there are (the largest distance + 1), how many vertices were reached and how many times an
///         edge was looked at; the latter depends on the policy and may differ from run to run.
/// Distances are the same on every run; parents need not be. Waits for the policy's stream; bfs_into does not. No
/// allocation once warm. Scratch: 6 indices and 3 bits a vertex. All blocks of the grid must run at once: no other
/// kernel that never ends may keep multiprocessors busy.
/// Cost: at most all edges read once and a bitmap that is looked at for each; one launch; a few memory latencies and
/// a barrier per level. host: as the GPU, levels with few edges on one thread; seq: a queue.
/// \throws std::invalid_argument for a graph that is not square, null arrays, a source outside of it, or when the stream
/// is being captured; std::length_error if distance or parent is too short; cuda_error, out_of_memory.
/// Source: PMPP ch. 15; Beamer et al., Direction-optimizing breadth-first search, 2012. Example: test/bfs.cpp, by hand.
template <bfs_tuning Tuning = tuned<bfs_tuning>, execution_policy P, reachable_by<P> G, reachable_by<P> S,
          output_for<P> D>
bfs_result bfs(const P& where, const G& graph, const S& source, D&& distance) {
  const auto g = detail::graph_of(graph);
  detail::check_graph("bfs", where, g);
  const auto sources = detail::sources_of("bfs", where, g, source);
  return detail::bfs_and_wait<Tuning>(where, g, sources, detail::distances_of("bfs", distance, g.out.rows),
                                      detail::no_parents{});
}
template <bfs_tuning Tuning = tuned<bfs_tuning>, execution_policy P, reachable_by<P> G, reachable_by<P> S,
          output_for<P> D, output_for<P> Parent>
bfs_result bfs(const P& where, const G& graph, const S& source, D&& distance, Parent&& parent) {
  const auto g = detail::graph_of(graph);
  detail::check_graph("bfs", where, g);
  const auto sources = detail::sources_of("bfs", where, g, source);
  return detail::bfs_and_wait<Tuning>(where, g, sources, detail::distances_of("bfs", distance, g.out.rows),
                                      detail::parents_of("bfs", parent, g.out.rows));
}

/// As bfs, but writes the bfs_result to *result and does not wait; may be captured.
///
/// \param result  an iterator to contiguous memory, or a range with room for one; visible to `where`.
/// Asynchronous on a GPU. Scratch from the workspace, or one allocation in stream order. \throws as bfs; std::length_error
/// if result is an empty range. Example: test/bfs.cpp, bfs_into.
template <bfs_tuning Tuning = tuned<bfs_tuning>, execution_policy P, reachable_by<P> G, reachable_by<P> S,
          output_for<P> D, output_for<P> O>
void bfs_into(const P& where, const G& graph, const S& source, D&& distance, O&& result) {
  const auto g = detail::graph_of(graph);
  detail::check_graph("bfs_into", where, g);
  const auto sources = detail::sources_of("bfs_into", where, g, source);
  detail::bfs_to_output<Tuning>(where, g, sources, detail::distances_of("bfs_into", distance, g.out.rows),
                                detail::no_parents{}, result);
}
template <bfs_tuning Tuning = tuned<bfs_tuning>, execution_policy P, reachable_by<P> G, reachable_by<P> S,
          output_for<P> D, output_for<P> Parent, output_for<P> O>
void bfs_into(const P& where, const G& graph, const S& source, D&& distance, Parent&& parent, O&& result) {
  const auto g = detail::graph_of(graph);
  detail::check_graph("bfs_into", where, g);
  const auto sources = detail::sources_of("bfs_into", where, g, source);
  detail::bfs_to_output<Tuning>(where, g, sources, detail::distances_of("bfs_into", distance, g.out.rows),
                                detail::parents_of("bfs_into", parent, g.out.rows), result);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
