// SPDX-License-Identifier: Apache-2.0
//
// The steps of a breadth-first search over several ranks (distributed/bfs.hpp), each for the vertices of one rank: what for_each
// calls. A level is a look at its frontier and either a push or a pull:
//
//   count_frontier    how many vertices and edges the frontier has among the distances
//   push_edges        follows its edges; vertices not told of before go to the outbox of their owner
//   take_in           what arrives gets its distance and parent, unless it has them
//   push_to_all       in place of both, where each rank writes to the memory of all others
//   mark_frontier     the frontier as a bitmap, in which
//   gather_frontier   ranks that read each other's memory take the words of others, and
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

  PMPP_HOST_DEVICE int owner(I vertex) const { return last_at(padded, vertex); }
  /// The number in bitmaps of a vertex of the graph.
  PMPP_HOST_DEVICE I padded_number(I vertex) const {
    const int rank = last_at(begins, vertex);
    return static_cast<I>(vertex - begins[rank] + padded[rank]);
  }

private:
  /// The last rank that begins at or before a vertex; none of the empty ones.
  PMPP_HOST_DEVICE int last_at(const I* first, I vertex) const {
    int low = 0, high = ranks;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (first[middle] <= vertex ? low : high) = middle;
    }
    return low;
  }
};

/// Gives the ends of edges their numbers in bitmaps. In front of the list of each vertex comes the one that most edges leave, as `leaving`
/// has them: who pulls will find it in the frontier early.
template <class I>
struct arrange_list {
  const I* offsets;
  const I* leaving;  ///< offsets of the whole graph
  spread_vertices<I> numbers;
  I* columns;

  PMPP_HOST_DEVICE void operator()(std::int64_t v) const {
    const I begin = offsets[v], end = offsets[v + 1];
    I hub = begin, most = -1;
    for (I e = begin; e < end; ++e) {
      const I u = columns[e], edges = static_cast<I>(leaving[std::int64_t(u) + 1] - leaving[u]);
      if (edges > most) {
        most = edges;
        hub = e;
      }
      columns[e] = numbers.padded_number(u);
    }
    if (begin == end) return;
    const I first = columns[begin];
    columns[begin] = columns[hub];
    columns[hub] = first;
  }
};

/// Edges that one thread follows. Longer lists are cut into pieces of so many; further pieces are listed with the graph.
inline constexpr std::int64_t edges_of_piece = 64;
/// Edges whose memory is asked for at once, since each costs the latency of two loads.
inline constexpr int edges_at_once = 4;

/// Edges of the vertices of one rank. Piece k begins the list of vertex k; from `vertices` on come the further pieces.
template <class I>
struct spread_edges {
  const I* offsets;
  const I* columns;
  const I* more_vertex;
  const I* more_edge;  ///< the first of a piece
  std::int64_t vertices;

  PMPP_HOST_DEVICE std::int64_t vertex(std::int64_t k) const {
    return k < vertices ? k : static_cast<std::int64_t>(more_vertex[k - vertices]);
  }
  PMPP_HOST_DEVICE std::int64_t degree(std::int64_t v) const {
    return static_cast<std::int64_t>(offsets[v + 1]) - static_cast<std::int64_t>(offsets[v]);
  }
  /// For edges of piece k, of vertex v, that lead where this rank has not been: f(u). `told` knows of all vertices.
  template <class F>
  PMPP_HOST_DEVICE void each_untold(std::int64_t k, std::int64_t v, unsigned* told, const F& f) const {
    each(k, v, told, [&](I u, unsigned seen) {
      const unsigned bit = 1u << u % 32;
      if ((seen & bit) == 0 && (simt::atomic_or(told + u / 32, bit) & bit) == 0) f(u);
      return false;
    });
  }
  /// For edges of piece k, of vertex v: f(u, word), with the word of `bitmap` that has u; until f returns true.
  /// \tparam Promising  the first edge will often be the last: it is looked at alone
  template <bool Promising = false, class F>
  PMPP_HOST_DEVICE void each(std::int64_t k, std::int64_t v, const unsigned* bitmap, const F& f) const {
    auto begin = static_cast<std::int64_t>(k < vertices ? offsets[v] : more_edge[k - vertices]);
    const std::int64_t end = min(begin + edges_of_piece, static_cast<std::int64_t>(offsets[v + 1]));
    if (Promising && begin < end) {
      const I u = columns[begin++];
      if (f(u, simt::load(bitmap + u / 32))) return;
    }
    for (std::int64_t e = begin; e < end; e += edges_at_once) {
      I u[edges_at_once];
      unsigned words[edges_at_once];
      for (int j = 0; j < edges_at_once; ++j) u[j] = columns[min(e + j, end - 1)];
      for (int j = 0; j < edges_at_once; ++j) words[j] = simt::load(bitmap + u[j] / 32);
      for (int j = 0; j < edges_at_once; ++j)
        if (e + j < end && f(u[j], words[j])) return;
    }
  }
};

/// Pointers of all ranks of a process that read and write each other's memory: of so many at most.
inline constexpr int most_near_ranks = 8;
template <class T>
struct near_pointers {
  T* of[most_near_ranks] = {};
};

/// What a frontier has.
struct spread_totals {
  std::int64_t vertices = 0, edges = 0;
};
struct add_totals {
  PMPP_HOST_DEVICE spread_totals operator()(const spread_totals& a, const spread_totals& b) const {
    return {a.vertices + b.vertices, a.edges + b.edges};
  }
};

/// Whether vertex v of a rank is in the frontier, and with how many edges.
template <class I, class D>
struct count_frontier {
  const D* distance;
  D level;
  spread_edges<I> edges;

  PMPP_HOST_DEVICE spread_totals operator()(std::int64_t v) const {
    if (distance[v] != level) return {};
    return {1, edges.degree(v)};
  }
};
/// Writes word w of a rank's bitmap.
template <class D>
struct mark_frontier {
  const D* distance;
  D level;
  std::int64_t vertices;
  unsigned* frontier;

  PMPP_HOST_DEVICE void operator()(std::int64_t w) const {
    unsigned bits = 0;
    const std::int64_t first = 32 * w, last = min(first + 32, vertices);
    for (std::int64_t v = first; v < last; ++v)
      if (distance[v] == level) bits |= 1u << (v - first);
    frontier[w] = bits;
  }
};
/// Of word w of all: copies it from the rank that has it. Who is in it need not be told of again.
template <class I>
struct gather_frontier {
  spread_vertices<I> numbers;
  near_pointers<unsigned> of_ranks;
  unsigned* frontier;  ///< one of these
  unsigned* told;

  PMPP_HOST_DEVICE void operator()(std::int64_t w) const {
    const unsigned* const from = of_ranks.of[numbers.owner(static_cast<I>(32 * w))];
    const unsigned bits = from[w];
    if (from != frontier) frontier[w] = bits;
    told[w] |= bits;
  }
};

/// For piece k. The outbox for a rank begins where the vertices of this rank do, and has room for all of them.
template <class I, class D>
struct push_edges {
  spread_edges<I> edges;
  const D* distance;
  D level;  ///< of the frontier
  spread_vertices<I> numbers;
  I first;         ///< number of the rank's first vertex
  unsigned* told;  ///< bitmap of all vertices: who was in an outbox, or in a frontier that was pulled from
  I* vertex;
  I* parent;
  spread_count* counts;  ///< of the outbox for each rank

  PMPP_HOST_DEVICE void operator()(std::int64_t k) const {
    const std::int64_t u = edges.vertex(k);
    if (distance[u] != level) return;
    edges.each_untold(k, u, told, [&](I v) {
      const int owner = numbers.owner(v);
      const auto place = static_cast<std::int64_t>(numbers.padded[owner]) +
                         static_cast<std::int64_t>(simt::atomic_add(counts + owner, 1));
      vertex[place] = v;
      parent[place] = static_cast<I>(first + static_cast<I>(u));
    });
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

/// For piece k: distances and parents of all ranks.
template <class I, class D, class R>
struct push_to_all {
  spread_edges<I> edges;
  D level;  ///< of what is found
  spread_vertices<I> numbers;
  I first;         ///< number of the rank's first vertex
  unsigned* told;  ///< as in push_edges
  near_pointers<D> distances;
  near_pointers<R> parents;  ///< null: not wanted
  int self;

  PMPP_HOST_DEVICE void operator()(std::int64_t k) const {
    const std::int64_t u = edges.vertex(k);
    if (simt::load(distances.of[self] + u) != level - 1) return;
    edges.each_untold(k, u, told, [&](I v) {
      const int owner = numbers.owner(v);
      const auto place = static_cast<std::int64_t>(v - numbers.padded[owner]);
      D* const distance = distances.of[owner] + place;
      if (simt::atomic_compare_exchange<simt::order::relaxed, simt::scope::system>(distance, D(-1), level) == D(-1) &&
          parents.of[owner] != nullptr)
        parents.of[owner][place] = static_cast<R>(first + static_cast<I>(u));
    });
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

/// For piece k.
template <class I, class D, class R>
struct pull_edges {
  spread_edges<I> edges;     ///< that lead to the vertices
  const unsigned* frontier;  ///< of all ranks
  spread_tree<D, R> tree;
  PMPP_HOST_DEVICE void operator()(std::int64_t k) const {
    const std::int64_t v = edges.vertex(k);
    if (tree.has(v)) return;
    edges.template each<true>(k, v, frontier, [&](I u, unsigned word) {
      const bool found = (word >> u % 32 & 1u) != 0;
      if (found) tree.set(v, u);
      return found;
    });
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
