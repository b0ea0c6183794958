// SPDX-License-Identifier: Apache-2.0
//
// The steps of a breadth-first search over several ranks (distributed/bfs.hpp), each for the vertices of one rank: what for_each
// calls. A level is a survey of its frontier and either a push or a pull:
//
//   survey_frontier   finds the frontier among the distances: a bitmap, a queue, how many vertices and edges
//   push_edges        follows the edges of the queue; vertices not told of before go to the outbox of their owner
//   take_in           what arrives gets its distance and parent, unless it has them
//   pull_edges        vertices without a distance look for an edge that comes from the frontier of all ranks
//
// Vertices have numbers in which the block of each rank begins at a multiple of 32: words of bitmaps belong to one rank. Lists of edges
// are cut into pieces, so that no thread follows a long one alone.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

using spread_count = unsigned long long;  ///< of what all threads of a rank count

/// Where each rank's vertices begin: in the numbers of bitmaps, and in those of the graph.
template <class I>
struct spread_vertices {
  const I* padded;
  const I* begins;
  int ranks;

  PMPP_HOST_DEVICE int owner(I vertex) const {
    int low = 0, high = ranks;  // the last rank that begins at or before it; none of the empty ones
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (padded[middle] <= vertex ? low : high) = middle;
    }
    return low;
  }
};

/// Edges of a piece that one thread pushes along: 16, more for vertices with more than 65536.
PMPP_HOST_DEVICE inline std::int64_t edges_of_push(std::int64_t degree) {
  return max(std::int64_t(16), (degree + 4095) / 4096);
}
/// Edges that one thread looks at when it pulls: most vertices find one that comes from the frontier among the first.
inline constexpr std::int64_t edges_of_pull = 256;

template <class I>
struct spread_edges {
  const I* offsets;
  const I* columns;
  PMPP_HOST_DEVICE std::int64_t begin(std::int64_t v) const { return static_cast<std::int64_t>(offsets[v]); }
  PMPP_HOST_DEVICE std::int64_t degree(std::int64_t v) const { return begin(v + 1) - begin(v); }
};
template <class I>
struct spread_queue {
  I* vertex;
  I* edge;  ///< the first of a piece
};

/// For word w of a rank's bitmap.
template <class I, class D>
struct survey_frontier {
  const D* distance;
  std::int64_t vertices;
  D level;
  spread_edges<I> edges;
  unsigned* frontier;
  spread_queue<I> queue;
  spread_count* counts;  ///< pieces in the queue, vertices, edges

  PMPP_HOST_DEVICE void operator()(std::int64_t w) const {
    unsigned bits = 0;
    spread_count pieces = 0, found = 0, followed = 0;
    const std::int64_t first = 32 * w, last = min(first + 32, vertices);
    for (std::int64_t v = first; v < last; ++v) {
      if (distance[v] != level) continue;
      const std::int64_t degree = edges.degree(v);
      bits |= 1u << (v - first);
      ++found;
      followed += static_cast<spread_count>(degree);
      pieces += static_cast<spread_count>(ceil_div(degree, edges_of_push(degree)));
    }
    frontier[w] = bits;
    if (bits == 0) return;
    simt::atomic_add(counts + 1, found);
    simt::atomic_add(counts + 2, followed);
    auto place = simt::atomic_add(counts, pieces);
    for (std::int64_t v = first; v < last; ++v) {
      if ((bits >> (v - first) & 1u) == 0) continue;
      const std::int64_t step = edges_of_push(edges.degree(v));
      for (std::int64_t e = edges.begin(v); e < edges.begin(v + 1); e += step) {
        queue.vertex[place] = static_cast<I>(v);
        queue.edge[place++] = static_cast<I>(e);
      }
    }
  }
};

/// For piece k of the queue. The outbox for a rank begins where the vertices of this rank do, and has room for all of them.
template <class I>
struct push_edges {
  spread_queue<I> queue;
  spread_edges<I> edges;
  spread_vertices<I> numbers;
  I first;         ///< number of the rank's first vertex
  unsigned* told;  ///< bitmap of all vertices: who was in an outbox, or in a frontier that was pulled from
  I* vertex;
  I* parent;
  spread_count* counts;  ///< of the outbox for each rank

  PMPP_HOST_DEVICE void operator()(std::int64_t k) const {
    const auto u = static_cast<std::int64_t>(queue.vertex[k]), begin = static_cast<std::int64_t>(queue.edge[k]);
    const std::int64_t end = min(begin + edges_of_push(edges.degree(u)), edges.begin(u + 1));
    for (std::int64_t e = begin; e < end; ++e) {
      const I v = edges.columns[e];
      unsigned* const word = told + v / 32;
      const unsigned bit = 1u << v % 32;
      if ((simt::load(word) & bit) != 0 || (simt::atomic_or(word, bit) & bit) != 0) continue;
      const int owner = numbers.owner(v);
      const auto place = static_cast<std::int64_t>(numbers.padded[owner]) +
                         static_cast<std::int64_t>(simt::atomic_add(counts + owner, 1));
      vertex[place] = v;
      parent[place] = static_cast<I>(first + static_cast<I>(u));
    }
  }
};

/// A vertex that gets a distance for the first time gets a parent.
template <class D, class R>
struct spread_tree {
  D* distance;
  R* parent;  ///< null: not wanted
  D level;    ///< of what is found
  PMPP_HOST_DEVICE bool has(std::int64_t v) const { return simt::load(distance + v) != D(-1); }
  template <class I>
  PMPP_HOST_DEVICE void set(std::int64_t v, I from) const {
    if (simt::atomic_compare_exchange(distance + v, D(-1), level) == D(-1) && parent != nullptr)
      parent[v] = static_cast<R>(from);
  }
};

/// For message k that has arrived.
template <class I, class D, class R>
struct take_in {
  const I* vertex;
  const I* from;  ///< null: parents are not wanted
  I first;        ///< number of the rank's first vertex
  spread_tree<D, R> tree;
  PMPP_HOST_DEVICE void operator()(std::int64_t k) const {
    tree.set(static_cast<std::int64_t>(vertex[k] - first), from == nullptr ? I(0) : from[k]);
  }
};

/// For vertex k, or beyond them for further pieces of those with many edges.
template <class I, class D, class R>
struct pull_edges {
  spread_edges<I> edges;  ///< that lead to the vertices
  std::int64_t vertices;
  spread_queue<const I> more;
  const unsigned* frontier;  ///< of all ranks
  spread_tree<D, R> tree;
  PMPP_HOST_DEVICE void operator()(std::int64_t k) const {
    const std::int64_t v = k < vertices ? k : static_cast<std::int64_t>(more.vertex[k - vertices]);
    if (tree.has(v)) return;
    const std::int64_t begin = k < vertices ? edges.begin(v) : static_cast<std::int64_t>(more.edge[k - vertices]);
    const std::int64_t end = min(begin + edges_of_pull, edges.begin(v + 1));
    for (std::int64_t e = begin; e < end; ++e) {
      const I u = edges.columns[e];
      if ((frontier[u / 32] >> u % 32 & 1u) != 0) return tree.set(v, u);
    }
  }
};

/// Of word w of all: who is in a frontier that ranks have told each other of need not be told again.
struct tell_frontier {
  const unsigned* frontier;
  unsigned* told;
  PMPP_HOST_DEVICE void operator()(std::int64_t w) const { told[w] |= frontier[w]; }
};

/// Parents get the numbers of the graph.
template <class I, class R>
struct name_parents {
  spread_vertices<I> numbers;
  R* parent;
  PMPP_HOST_DEVICE void operator()(std::int64_t v) const {
    if (parent[v] < 0) return;
    const auto from = static_cast<I>(parent[v]);
    const int owner = numbers.owner(from);
    parent[v] = static_cast<R>(from - numbers.padded[owner] + numbers.begins[owner]);
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
