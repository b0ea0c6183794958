// SPDX-License-Identifier: Apache-2.0
//
// The kernel of bfs: one launch whose blocks all run at once and meet at a barrier of the grid after each level.
//
//   0. All blocks clear the distances and the bitmaps.
//   1. Top-down, while the frontier has few edges: the frontier is a queue. A warp takes some of its vertices, scans
//      their degrees and walks over all their edges, a lane an edge. For each: a look at the bitmap of seen vertices; if
//      the bit is clear, an atomic or that says who was first. Winners write the distance and gather in the warp's shared
//      memory until there are 32, which are then appended to the next queue by one atomic add. Vertices with many
//      edges stand at the other end of the queue; all blocks share the edges of each.
//   2. Bottom-up, while it has many: the frontier is a bitmap. A warp takes a word of the bitmap of seen vertices, a lane
//      a vertex. Lanes whose vertex is unseen look through its edges for one that comes from the frontier: some alone,
//      the rest of a long list by the whole warp. No atomics: a warp owns its words.
//   3. At the barrier every block reads the counts of the level and draws the same conclusion: which way to go next, and
//      when to stop. Nothing goes to the host in between.
//
// (PMPP ch. 15; Beamer, Asanovic and Patterson, Direction-optimizing breadth-first search, 2012, whose rule for the
// switch this is; Merrill, Garland and Grimshaw, Scalable GPU graph traversal, 2012.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/grid_barrier.hpp>
#include <pmpp/block/reduce.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// What a search has found.
struct bfs_result {
  std::int64_t levels = 0;            ///< the largest distance + 1
  std::int64_t vertices_reached = 0;  ///< the source too
  std::int64_t edges_examined = 0;    ///< looked at, each time that one was
  friend bool operator==(const bfs_result&, const bfs_result&) = default;
};

struct bfs_tuning {
  int threads = 512;   ///< of a block
  int min_blocks = 2;  ///< of a multiprocessor
  int batch = 8;       ///< vertices of the queue that a warp takes at least
  int hub = 2048;      ///< edges; a vertex with more is shared by all blocks, in pieces of so many
  int alone = 8;       ///< edges that a lane looks at before the warp helps, bottom-up
  int alpha = 15;      ///< bottom-up when the frontier has more than 1/alpha of the edges not yet looked at
  int beta = 18;       ///< top-down again when it shrinks and has at most 1/beta of the vertices
};

namespace detail {

/// No parents are wanted.
struct no_parents {
  PMPP_HOST_DEVICE void set(std::int64_t, std::int64_t) const {}
};
/// Writes parents through an iterator.
template <class It>
struct parents_at {
  It first;
  PMPP_HOST_DEVICE void set(std::int64_t vertex, std::int64_t parent) const {
    first[vertex] = static_cast<std::remove_cvref_t<decltype(first[vertex])>>(parent);
  }
};

/// What the blocks count in one phase, between two barriers.
struct bfs_counts {
  unsigned long long vertices, hubs;  ///< appended to the next queue: at its front, at its back
  unsigned long long edges;           ///< that start at vertices of the next frontier
  unsigned long long reached;         ///< vertices of the next frontier
};

/// The state of a search; all zero before and after. A phase counts in the slot of its number modulo 3: while it does,
/// the last one is being read and the next one cleared.
struct bfs_state {
  bfs_counts phase[3];
  unsigned long long examined;
  unsigned arrived, left;
};

/// A queue of vertices with their edges, in three arrays of as many elements as there are vertices. Hubs fill it from
/// the back.
template <class I>
struct bfs_queue {
  I* vertex;
  I* begin;   ///< of its edges
  I* degree;  ///< how many
};

template <class I, class D, class Parents>
struct bfs_arguments {
  csr_view<void, const I> out, in;  ///< in.offsets is null: top-down only
  std::int64_t source;
  D distance;
  Parents parents;
  bfs_queue<I> queue[2];
  unsigned* seen;         ///< bitmap: visited, or without edges that lead there
  unsigned* frontier[2];  ///< bitmaps
  bfs_state* state;
  bfs_result* result;
  completion done;
};

template <class I, class D, class Parents, bfs_tuning Tuning>
struct bfs_kernel {
  static constexpr int threads = Tuning.threads;
  static constexpr int min_blocks = Tuning.min_blocks;
  static constexpr int warps = threads / simt::warp_size;
  static constexpr unsigned staging = 2 * simt::warp_size;
  static_assert(threads % simt::warp_size == 0 && Tuning.batch >= 1 && Tuning.hub >= 1 && Tuning.alpha >= 1 &&
                Tuning.beta >= 1);
  using arguments = bfs_arguments<I, D, Parents>;

  struct totals {
    std::int64_t reached, edges;
    friend PMPP_HOST_DEVICE totals operator+(totals a, totals b) { return {a.reached + b.reached, a.edges + b.edges}; }
  };
  struct shared {
    I staged[warps][staging];      ///< vertices on their way to the next queue, in a ring
    std::int64_t pieces[threads];  ///< of the hubs up to this one
    std::int64_t warp_pieces[warps];
    block::reduce_memory<totals> reduction;
  };

  /// One thread's part in a search.
  template <class Block>
  struct search {
    Block& block;
    shared& memory;
    const arguments& a;
    const std::int64_t n = a.out.rows;
    const std::int64_t words = ceil_div(n, std::int64_t(32));
    const std::int64_t warp = block.index() * warps + block.warp();  ///< of the grid
    const std::int64_t all_warps = block.count() * warps;
    block::grid_barrier barrier{&a.state->arrived, &a.state->left};
    unsigned phase = 0;
    std::int64_t level = 0;
    int current = 0;      ///< which of the two queues and bitmaps is the frontier
    unsigned oldest = 0;  ///< where the warp's staged vertices begin
    int staged = 0;       ///< how many there are
    totals sum{};
    std::int64_t examined = 0;

    PMPP_HOST_DEVICE bfs_counts* counts() const { return a.state->phase + phase % 3; }

    PMPP_HOST_DEVICE bfs_result run() {
      reset();
      end_phase();
      const std::int64_t edges =
          static_cast<std::int64_t>(a.out.offsets[n]) - static_cast<std::int64_t>(a.out.offsets[0]);
      std::int64_t unexplored = edges, frontier_edges = a.out.row_length(a.source), awake = 1, before = 0, reached = 0;
      const bool hub = frontier_edges > Tuning.hub;
      std::int64_t vertices = !hub, hubs = hub;
      bool is_bitmap = false;
      for (; awake > 0; ++level) {
        reached += awake;
        if (!is_bitmap && a.in.offsets != nullptr && frontier_edges > unexplored / Tuning.alpha) {
          queue_to_bitmap(vertices, hubs);
          end_phase();
          is_bitmap = true;
        } else if (is_bitmap && awake < before && awake <= n / Tuning.beta) {
          bitmap_to_queue();
          const bfs_counts queued = end_phase();
          vertices = static_cast<std::int64_t>(queued.vertices);
          hubs = static_cast<std::int64_t>(queued.hubs);
          frontier_edges = 1;  // it has just shrunk: no way back at once
          is_bitmap = false;
        }
        before = awake;
        if (is_bitmap) {
          bottom_up();
        } else {
          unexplored -= frontier_edges;
          top_down(vertices, hubs);
        }
        const bfs_counts next = end_phase();
        current ^= 1;
        awake = static_cast<std::int64_t>(next.reached);
        vertices = static_cast<std::int64_t>(next.vertices);
        hubs = static_cast<std::int64_t>(next.hubs);
        frontier_edges = static_cast<std::int64_t>(next.edges);
      }
      return {level, reached, 0};
    }

    /// Adds up, waits for all blocks, and returns what they have counted.
    PMPP_HOST_DEVICE bfs_counts end_phase() {
      const totals all = block::reduce(block, memory.reduction, sum, plus{});
      if (block.thread() == 0) {
        if (all.reached != 0) simt::add_global(&counts()->reached, static_cast<unsigned long long>(all.reached));
        if (all.edges != 0) simt::add_global(&counts()->edges, static_cast<unsigned long long>(all.edges));
      }
      if (block.index() == 0 && block.thread() == 0) {
        bfs_counts* const next = a.state->phase + (phase + 1) % 3;
        simt::store(&next->vertices, 0);
        simt::store(&next->hubs, 0);
        simt::store(&next->edges, 0);
        simt::store(&next->reached, 0);
      }
      sum = {};
      barrier.sync(block);
      const bfs_counts* const c = counts();
      ++phase;
      return {simt::load(&c->vertices), simt::load(&c->hubs), simt::load(&c->edges), simt::load(&c->reached)};
    }

    PMPP_HOST_DEVICE void reset() {
      const std::int64_t thread = block.index() * threads + block.thread(), step = block.count() * threads;
      using distance = std::remove_cvref_t<decltype(a.distance[0])>;
      for (std::int64_t v = thread; v < n; v += step) {
        a.distance[v] = static_cast<distance>(v == a.source ? 0 : -1);
        a.parents.set(v, v == a.source ? v : -1);
      }
      for (std::int64_t w = thread; w < words; w += step) {
        unsigned bits = w * 32 + 32 > n ? ~0u << n % 32 : 0;  // behind the last vertex there is nothing to see
        if (w == a.source / 32) bits |= 1u << a.source % 32;
        a.seen[w] = bits;
        a.frontier[0][w] = a.frontier[1][w] = 0;
      }
      if (thread == 0) {
        const std::int64_t degree = a.out.row_length(a.source);
        put(a.queue[0], degree > Tuning.hub ? n - 1 : 0, static_cast<I>(a.source), a.out.offsets[a.source],
            static_cast<I>(degree));
      }
    }

    PMPP_HOST_DEVICE static void put(const bfs_queue<I>& queue, std::int64_t i, I vertex, I begin, I degree) {
      queue.vertex[i] = vertex;
      queue.begin[i] = begin;
      queue.degree[i] = degree;
    }

    /// Appends the `count` oldest staged vertices of the warp to the next queue, at most 32. Lanes call together.
    PMPP_HOST_DEVICE void flush(const bfs_queue<I>& queue, int count) {
      const int lane = block.lane();
      const bool active = lane < count;
      I vertex{}, begin{}, degree{};
      block.sync_warp();
      if (active) vertex = memory.staged[block.warp()][(oldest + static_cast<unsigned>(lane)) % staging];
      block.sync_warp();
      oldest += static_cast<unsigned>(count);
      staged -= count;
      if (active) {
        begin = a.out.offsets[vertex];
        degree = static_cast<I>(a.out.offsets[vertex + 1] - begin);
        sum.edges += static_cast<std::int64_t>(degree);
      }
      const bool hub = active && degree > static_cast<I>(Tuning.hub);
      const unsigned hubs = block.ballot(hub), others = block.ballot(active && !hub), below = (1u << lane) - 1;
      unsigned long long place = 0, back = 0;
      if (lane == 0 && others != 0)
        place = simt::atomic_add(&counts()->vertices, static_cast<unsigned long long>(simt::count_bits(others)));
      if (hubs != 0) {
        if (lane == 0)
          back = simt::atomic_add(&counts()->hubs, static_cast<unsigned long long>(simt::count_bits(hubs)));
        back = block.shuffle(back, 0);
      }
      place = block.shuffle(place, 0);
      if (active)
        put(queue,
            hub ? n - 1 - static_cast<std::int64_t>(back) - simt::count_bits(hubs & below)
                : static_cast<std::int64_t>(place) + simt::count_bits(others & below),
            vertex, begin, degree);
    }

    /// Stages a vertex of each lane that has one; appends 32 when there are so many. Lanes call together.
    PMPP_HOST_DEVICE void append(const bfs_queue<I>& queue, bool has, I vertex) {
      const unsigned votes = block.ballot(has), below = (1u << block.lane()) - 1;
      if (has)
        memory.staged[block.warp()]
                     [(oldest + static_cast<unsigned>(staged + simt::count_bits(votes & below))) % staging] = vertex;
      staged += simt::count_bits(votes);
      if (staged >= simt::warp_size) flush(queue, simt::warp_size);
    }
    PMPP_HOST_DEVICE void append_rest(const bfs_queue<I>& queue) {
      if (staged != 0) flush(queue, staged);
    }

    /// Follows edge e from `parent`, if the lane has one. Lanes call together.
    PMPP_HOST_DEVICE void follow(bool has, std::int64_t e, I parent) {
      bool first = false;
      I vertex{};
      if (has) {
        vertex = a.out.columns[e];
        check_index(static_cast<std::int64_t>(vertex), n, "bfs: column");
        unsigned* const word = a.seen + vertex / 32;
        const unsigned bit = 1u << vertex % 32;
        // The look may be out of date; the atomic is not.
        first = (simt::load(word) & bit) == 0 && (simt::atomic_or(word, bit) & bit) == 0;
        ++examined;
      }
      if (first) visit(vertex, parent);
      append(a.queue[current ^ 1], first, vertex);
    }
    PMPP_HOST_DEVICE void visit(std::int64_t vertex, std::int64_t parent) {
      a.distance[vertex] = static_cast<std::remove_cvref_t<decltype(a.distance[0])>>(level + 1);
      a.parents.set(vertex, parent);
      ++sum.reached;
    }

    PMPP_HOST_DEVICE void top_down(std::int64_t vertices, std::int64_t hubs) {
      const std::int64_t batch =
          smaller(std::int64_t(simt::warp_size), larger(std::int64_t(Tuning.batch), vertices / (4 * all_warps)));
      for (std::int64_t first = warp * batch; first < vertices; first += all_warps * batch)
        expand(first, static_cast<int>(smaller(batch, vertices - first)));
      for (std::int64_t first = 0; first < hubs; first += threads)
        expand_hubs(first, static_cast<int>(smaller(std::int64_t(threads), hubs - first)));
      append_rest(a.queue[current ^ 1]);
    }

    /// Follows the edges of `count` vertices of the queue, at most 32, a lane an edge.
    PMPP_HOST_DEVICE void expand(std::int64_t first, int count) {
      const bfs_queue<I>& queue = a.queue[current];
      const int lane = block.lane();
      I vertex{}, begin{};
      int degree = 0;
      if (lane < count) {
        vertex = queue.vertex[first + lane];
        begin = queue.begin[first + lane];
        degree = static_cast<int>(queue.degree[first + lane]);
      }
      const int end = block::warp_inclusive_scan(block, degree, plus{});
      const int total = block.shuffle(end, simt::warp_size - 1);
      for (int i = lane; i - lane < total; i += simt::warp_size) {
        int owner = 0;  // the first lane whose edges end behind i
        for (int step = simt::warp_size / 2; step > 0; step /= 2)
          if (block.shuffle(end, owner + step - 1) <= i) owner += step;
        const int in_list = i - block.shuffle(end - degree, owner);
        const I list = block.shuffle(begin, owner), parent = block.shuffle(vertex, owner);
        follow(i < total, static_cast<std::int64_t>(list) + in_list, parent);
      }
    }

    /// Follows the block's share of the edges of `count` hubs, at most one a thread. Threads call together.
    PMPP_HOST_DEVICE void expand_hubs(std::int64_t first, int count) {
      const bfs_queue<I>& queue = a.queue[current];
      const std::int64_t back = n - 1 - first;
      const int thread = block.thread(), lane = block.lane();
      std::int64_t pieces = 0;
      if (thread < count)
        pieces = ceil_div(static_cast<std::int64_t>(queue.degree[back - thread]), std::int64_t(Tuning.hub));
      pieces = block::warp_inclusive_scan(block, pieces, plus{});
      block.sync();  // the last call's reads of shared memory
      if (lane == simt::warp_size - 1) memory.warp_pieces[block.warp()] = pieces;
      block.sync();
      for (int w = 0; w < block.warp(); ++w) pieces += memory.warp_pieces[w];
      memory.pieces[thread] = pieces;
      block.sync();
      const std::int64_t total = memory.pieces[threads - 1];
      for (std::int64_t piece = block.index(); piece < total; piece += block.count()) {
        int low = 0, high = count - 1;  // the first hub whose pieces end behind this one
        while (low < high) {
          const int middle = (low + high) / 2;
          if (memory.pieces[middle] <= piece)
            low = middle + 1;
          else
            high = middle;
        }
        const std::int64_t in_hub = piece - (low == 0 ? 0 : memory.pieces[low - 1]);
        const std::int64_t begin = in_hub * Tuning.hub, list = static_cast<std::int64_t>(queue.begin[back - low]);
        const std::int64_t end = smaller(begin + Tuning.hub, static_cast<std::int64_t>(queue.degree[back - low]));
        const I parent = queue.vertex[back - low];
        for (std::int64_t i = begin + thread; i - lane < end; i += threads) follow(i < end, list + i, parent);
      }
    }

    PMPP_HOST_DEVICE bool in_frontier(I vertex) const {
      check_index(static_cast<std::int64_t>(vertex), n, "bfs: column");
      return a.frontier[current][vertex / 32] >> vertex % 32 & 1u;
    }

    PMPP_HOST_DEVICE void bottom_up() {
      for (std::int64_t w = warp; w < words; w += all_warps) {
        // Read by the lane that writes it: votes do not order the others' reads before that.
        const unsigned seen = block.shuffle(block.lane() == 0 ? a.seen[w] : 0u, 0);
        const unsigned found = seen == ~0u ? 0 : find_parents(w, seen);
        if (block.lane() == 0) a.frontier[current ^ 1][w] = found;
      }
    }

    /// The vertices of word w that have an edge from the frontier and are not seen yet.
    PMPP_HOST_DEVICE unsigned find_parents(std::int64_t w, unsigned seen) {
      const int lane = block.lane();
      const std::int64_t vertex = w * 32 + lane;
      const bool open = (seen >> lane & 1u) == 0;
      std::int64_t begin = 0, end = 0;
      if (open) {
        begin = static_cast<std::int64_t>(a.in.offsets[vertex]);
        end = static_cast<std::int64_t>(a.in.offsets[vertex + 1]);
      }
      const bool unreachable = open && begin == end;
      const std::int64_t last = smaller(end, begin + Tuning.alone);
      bool found = false;
      I parent{};
      while (!found && begin < last) {
        parent = a.in.columns[begin++];
        found = in_frontier(parent);
        ++examined;
      }
      for (unsigned rest = block.ballot(!found && begin < end); rest != 0; rest &= rest - 1) {
        const int owner = simt::trailing_zeros(rest);
        const std::int64_t list_end = block.shuffle(end, owner);
        for (std::int64_t i = block.shuffle(begin, owner); i < list_end; i += simt::warp_size) {
          I candidate{};
          bool hit = false;
          if (i + lane < list_end) {
            candidate = a.in.columns[i + lane];
            hit = in_frontier(candidate);
            ++examined;
          }
          const unsigned hits = block.ballot(hit);
          if (hits == 0) continue;
          candidate = block.shuffle(candidate, simt::trailing_zeros(hits));
          if (lane == owner) {
            found = true;
            parent = candidate;
          }
          break;
        }
      }
      if (found) visit(vertex, static_cast<std::int64_t>(parent));
      const unsigned all_found = block.ballot(found), settled = all_found | block.ballot(unreachable);
      if (lane == 0 && settled != 0) a.seen[w] = seen | settled;
      return all_found;
    }

    /// \pre the bitmap is clear
    PMPP_HOST_DEVICE void queue_to_bitmap(std::int64_t vertices, std::int64_t hubs) {
      const std::int64_t thread = block.index() * threads + block.thread(), step = block.count() * threads;
      for (std::int64_t i = thread; i < vertices + hubs; i += step) {
        const I vertex = a.queue[current].vertex[i < vertices ? i : n - 1 - (i - vertices)];
        simt::atomic_or(a.frontier[current] + vertex / 32, 1u << vertex % 32);
      }
    }

    /// Leaves both bitmaps clear.
    PMPP_HOST_DEVICE void bitmap_to_queue() {
      for (std::int64_t first = warp * 32; first < words; first += all_warps * 32) {
        const std::int64_t w = first + block.lane();
        unsigned bits = 0;
        if (w < words) {
          bits = a.frontier[current][w];
          a.frontier[0][w] = a.frontier[1][w] = 0;
        }
        while (block.any(bits != 0)) {
          append(a.queue[current], bits != 0, static_cast<I>(w * 32 + simt::trailing_zeros(bits)));
          bits &= bits - 1;
        }
      }
      append_rest(a.queue[current]);
    }
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    search<Block> s{block, memory, a};
    bfs_result result = s.run();
    const totals all = block::reduce(block, memory.reduction, totals{0, s.examined}, plus{});
    if (block.thread() != 0) return;
    simt::add_global(&a.state->examined, static_cast<unsigned long long>(all.edges));
    if (!s.barrier.leave(block)) return;
    result.edges_examined = static_cast<std::int64_t>(simt::load(&a.state->examined));
    for (bfs_counts& c : a.state->phase) c = {};
    a.state->examined = 0;
    a.state->arrived = 0;
    *a.result = result;
    a.done.signal();
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
