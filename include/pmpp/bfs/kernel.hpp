// SPDX-License-Identifier: Apache-2.0
//
// The kernel of bfs: one launch whose blocks all run at once and meet at a barrier of the grid after each level.
//
//   0. All blocks clear the distances and the bitmaps.
//   1. Top-down, while the frontier has few edges: the frontier is a queue. A warp takes some of its vertices, scans
//      their degrees and walks over all their edges, a lane an edge. For each: a look at the bitmap of seen vertices; if
//      the bit is clear, an atomic or that says who was first. Winners write the distance and gather in the warp's shared
//      memory until there are 32, which are then appended to the next queue by one atomic add. Vertices with many
//      edges stand at the other end of the queue; all warps share the edges of each.
//   2. While the frontier has few vertices, one block does that alone, level after level, with barriers of the block and
//      its queue in shared memory; the others wait at the barrier of the grid until the frontier has grown. What counts
//      there is how many loads wait for each other: the edges of a vertex are looked up while the atomic is under way,
//      and its list is asked for before the level ends.
//   3. Bottom-up, while it has many edges: the frontier is a bitmap. A warp takes a word of the bitmap of seen vertices,
//      a lane a vertex. Lanes whose vertex is unseen look through its edges for one that comes from the frontier: some
//      alone, the rest of a long list by the whole warp. No atomics: a warp owns its words.
//   4. At the barrier every block reads the counts of the level and draws the same conclusion: which way to go next, and
//      when to stop. Nothing goes to the host in between.
//
// (PMPP ch. 15; Beamer, Asanovic and Patterson, Direction-optimizing breadth-first search, 2012, whose rule for the
// switch this is; Merrill, Garland and Grimshaw, Scalable GPU graph traversal, 2012.)
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/reduce.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/block/sync_grid.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/search.hpp>
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

/// Measured on an H100, each pair in one run, with graphs of 2^18 and 2^22 vertices with hubs (kron), of 2^22 with random
/// edges (urand) and a grid of 2048 x 2048: one block a multiprocessor instead of two: kron18 70 -> 56 us, grid 17.8 ->
/// 14.0 ms, kron22 307 -> 350 us. hub 512 -> 128: kron18 92 -> 68 us. one_block 2048 -> 512: grid 26.9 -> 18.0 ms. low_latency_edges
/// 4096 -> 16384: grid 13.2 -> 12.0 ms. lane_edges 8 -> 16: urand22 527 -> 481 us.
struct bfs_tuning {
  int threads = 512;    ///< of a block
  int min_blocks = 1;   ///< of a multiprocessor
  int hub = 128;        ///< edges; a vertex with more is shared by all warps, in pieces of this many
  int one_block = 512;  ///< vertices; one block runs levels with no more, and with at most 8 times as many edges
  int low_latency_edges =
      16384;            ///< edges of a frontier; up to this many no load waits for another that could spare it
  int lane_edges = 16;  ///< edges that a lane looks at before the warp helps, bottom-up
  int alpha = 15;       ///< bottom-up when the frontier has more than 1/alpha of the edges not yet looked at
  int beta = 18;        ///< top-down again when it shrinks and has at most 1/beta of the vertices
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

/// Where a search starts: at one vertex, or at several in memory.
template <class I>
struct bfs_sources {
  std::int64_t count;
  I one;
  const I* many;  ///< null: one
  PMPP_HOST_DEVICE std::int64_t operator[](std::int64_t i) const {
    return static_cast<std::int64_t>(many == nullptr ? one : many[i]);
  }
};

/// What the blocks count in one phase, between two barriers.
struct bfs_counts {
  unsigned long long vertices, hubs;  ///< appended to the next queue: at its front, at its back
  unsigned long long edges;           ///< that start at vertices of the next frontier
  unsigned long long reached;         ///< vertices, where they are not appended to a queue, or before they were
  unsigned long long levels;          ///< that one block ran, but the last
  unsigned long long followed;        ///< edges of these levels, but for those of the first
};

/// The state of a search; all zero before and after. A phase counts in the slot of its number modulo 3: while it does,
/// the last one is being read and the next one cleared.
struct bfs_state {
  bfs_counts phase[3];
  unsigned long long examined;
  unsigned barrier[2];  ///< of phases in turn
  unsigned left;
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
  bfs_sources<I> sources;
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
  static constexpr int unroll = 4;  ///< edges that a lane follows at once
  static constexpr I most_edges = I(min(std::int64_t(Tuning.hub), std::int64_t(std::numeric_limits<I>::max())));
  static_assert(threads % simt::warp_size == 0 && Tuning.hub >= 1 && Tuning.one_block >= 1 && Tuning.lane_edges >= 0 &&
                Tuning.alpha >= 1 && Tuning.beta >= 1);
  using arguments = bfs_arguments<I, D, Parents>;
  using distance = value_of<D>;

  /// A vertex in the queue.
  struct entry {
    I vertex, begin, degree;
  };
  struct block_counts {
    int vertices, hubs;
    int edges;  ///< of vertices that are no hubs
    unsigned long long hub_edges;
  };
  struct shared {
    bfs_counts counted;              ///< by all blocks in the last phase
    entry staged[warps][staging];    ///< on their way to the next queue, in a ring
    entry own[2][Tuning.one_block];  ///< the queues of levels that this block runs alone
    block_counts own_counts[3];
    std::int64_t pieces[threads];  ///< of the hubs up to this one
    std::int64_t warp_pieces[warps];
    unsigned long long reached;
    block::reduce_memory<std::int64_t> reduction;
  };

  /// One thread's part in a search.
  template <class Block>
  struct search {
    Block& block;
    shared& memory;
    const arguments& a;
    const std::int64_t n = a.out.rows;
    const std::int64_t words = ceil_div(n, std::int64_t(32));
    /// Of the grid. Neighbours are in different blocks, so that little work spreads over all multiprocessors.
    const std::int64_t warp = block.warp() * block.count() + block.index();
    const std::int64_t all_warps = block.count() * warps;
    unsigned phase = 0;
    std::int64_t level = 0;
    int current = 0;           ///< which of the two queues and bitmaps is the frontier
    bool low_latency = false;  ///< the frontier has few edges: loads should not wait for each other
    unsigned own_slot = 0;     ///< of own_counts, in this level
    unsigned oldest = 0;       ///< where the warp's staged vertices begin
    int staged = 0;            ///< how many there are
    std::int64_t found = 0;    ///< by the warp, bottom-up; the same in all lanes
    std::int64_t examined = 0;

    PMPP_HOST_DEVICE bfs_counts* counts() const { return a.state->phase + phase % 3; }

    PMPP_HOST_DEVICE bfs_result run() {
      reset();
      bfs_counts start = end_phase();
      if (a.sources.many == nullptr) {
        start.edges = static_cast<unsigned long long>(a.out.row_length(a.sources[0]));
        start.hubs = start.edges > Tuning.hub;
        start.vertices = 1 - start.hubs;
      } else {
        add_sources();
        start = end_phase();
      }
      std::int64_t unexplored =
          static_cast<std::int64_t>(a.out.offsets[n]) - static_cast<std::int64_t>(a.out.offsets[0]);
      auto vertices = static_cast<std::int64_t>(start.vertices), hubs = static_cast<std::int64_t>(start.hubs);
      auto edges = static_cast<std::int64_t>(start.edges);
      std::int64_t awake = vertices + hubs, before = 0, reached = awake;
      bool is_bitmap = false;
      while (awake > 0) {
        if (!is_bitmap && goes_bottom_up(edges, unexplored)) {
          queue_to_bitmap(vertices, hubs);
          end_phase();
          is_bitmap = true;
        } else if (is_bitmap && awake < before && awake <= n / Tuning.beta) {
          bitmap_to_queue();
          const bfs_counts queued = end_phase();
          vertices = static_cast<std::int64_t>(queued.vertices);
          hubs = static_cast<std::int64_t>(queued.hubs);
          edges = static_cast<std::int64_t>(queued.edges);
          is_bitmap = false;
        }
        before = awake;
        if (is_bitmap) {
          bottom_up();
        } else {
          unexplored -= edges;
          if (hubs == 0 && is_for_one_block(vertices, edges)) {
            if (block.index() == 0) run_in_one_block(vertices, edges, unexplored);
          } else {
            top_down(vertices, hubs, edges);
          }
        }
        const bfs_counts next = end_phase();
        vertices = static_cast<std::int64_t>(next.vertices);
        hubs = static_cast<std::int64_t>(next.hubs);
        edges = static_cast<std::int64_t>(next.edges);
        awake = is_bitmap ? static_cast<std::int64_t>(next.reached) : vertices + hubs;
        reached += static_cast<std::int64_t>(next.reached) + vertices + hubs;
        unexplored -= static_cast<std::int64_t>(next.followed);
        const auto levels = static_cast<std::int64_t>(next.levels) + 1;
        level += levels;
        current = static_cast<int>((current + levels) % 2);
      }
      return {level, reached, 0};
    }

    PMPP_HOST_DEVICE bool goes_bottom_up(std::int64_t edges, std::int64_t unexplored) const {
      return a.in.offsets != nullptr && edges > unexplored / Tuning.alpha;
    }
    PMPP_HOST_DEVICE static bool is_for_one_block(std::int64_t vertices, std::int64_t edges) {
      return vertices <= Tuning.one_block && edges <= 8 * Tuning.one_block;
    }

    /// Waits for all blocks, and returns what they have counted.
    PMPP_HOST_DEVICE bfs_counts end_phase() {
      if (block.lane() == 0 && found != 0) simt::atomic_add(&memory.reached, static_cast<unsigned long long>(found));
      found = 0;
      bfs_counts* const c = counts();
      block::sync_grid(
          block, a.state->barrier + phase % 2, block.count(),
          [&] {
            if (memory.reached != 0) simt::add_global(&c->reached, memory.reached);
            memory.reached = 0;
            if (block.index() == 0) clear(a.state->phase[(phase + 1) % 3]);
          },
          [&] {
            memory.counted = {simt::load(&c->vertices), simt::load(&c->hubs),   simt::load(&c->edges),
                              simt::load(&c->reached),  simt::load(&c->levels), simt::load(&c->followed)};
          });
      ++phase;
      return memory.counted;
    }
    PMPP_HOST_DEVICE static void clear(bfs_counts& c) {
      for (unsigned long long* p : {&c.vertices, &c.hubs, &c.edges, &c.reached, &c.levels, &c.followed})
        simt::store(p, 0);
    }

    PMPP_HOST_DEVICE void reset() {
      const std::int64_t thread = block.index() * threads + block.thread(), step = block.count() * threads;
      const std::int64_t source = a.sources.many == nullptr ? a.sources[0] : n;
      for (std::int64_t v = thread; v < n; v += step) {
        a.distance[v] = static_cast<distance>(v == source ? 0 : -1);
        a.parents.set(v, v == source ? v : -1);
      }
      for (std::int64_t w = thread; w < words; w += step) {
        unsigned bits = w * 32 + 32 > n ? ~0u << n % 32 : 0;  // after the last vertex there is nothing to see
        if (w == source / 32) bits |= 1u << source % 32;
        a.seen[w] = bits;
        a.frontier[0][w] = a.frontier[1][w] = 0;
      }
      if (thread == 0 && source < n) {
        const entry e = with_edges(static_cast<I>(source));
        put(a.queue[0], e.degree > most_edges ? n - 1 : 0, e);
      }
      if (block.thread() == 0) memory.reached = 0;
    }

    /// Several sources, maybe one more than once.
    PMPP_HOST_DEVICE void add_sources() {
      for (std::int64_t first = warp * 32; first < a.sources.count; first += all_warps * 32) {
        bool is_new = false;
        entry e{};
        if (first + block.lane() < a.sources.count) {
          const std::int64_t v = a.sources[first + block.lane()];
          check_index(v, n, "bfs: source");
          e = with_edges(static_cast<I>(v));
          is_new = (simt::atomic_or(a.seen + v / 32, 1u << v % 32) >> v % 32 & 1u) == 0;
          if (is_new) visit(v, v, 0);
        }
        append(a.queue[0], is_new, e);
      }
      append_rest(a.queue[0]);
    }

    PMPP_HOST_DEVICE static void put(const bfs_queue<I>& queue, std::int64_t i, const entry& e) {
      queue.vertex[i] = e.vertex;
      queue.begin[i] = e.begin;
      queue.degree[i] = e.degree;
    }
    PMPP_HOST_DEVICE static entry get(const bfs_queue<I>& queue, std::int64_t i) {
      return {queue.vertex[i], queue.begin[i], queue.degree[i]};
    }
    PMPP_HOST_DEVICE entry with_edges(I vertex) const {
      const I begin = a.out.offsets[vertex];
      return {vertex, begin, static_cast<I>(a.out.offsets[vertex + 1] - begin)};
    }

    // ---- What goes into the next queue

    /// Appends the `count` oldest staged vertices of the warp to `queue`, at most 32. Lanes call together.
    PMPP_HOST_DEVICE void flush(const bfs_queue<I>& queue, int count) {
      const int lane = block.lane();
      const bool active = lane < count;
      entry e{};
      block.sync_warp();
      if (active) e = memory.staged[block.warp()][(oldest + static_cast<unsigned>(lane)) % staging];
      block.sync_warp();
      oldest += static_cast<unsigned>(count);
      staged -= count;
      const bool hub = active && e.degree > most_edges;
      const unsigned hubs = block.ballot(hub), others = block.ballot(active && !hub), below = (1u << lane) - 1;
      const int edges = block.warp_add(active && !hub ? static_cast<int>(e.degree) : 0);
      unsigned long long place = 0, back = 0;
      if (lane == 0 && others != 0) {
        place = simt::atomic_add(&counts()->vertices, static_cast<unsigned long long>(simt::count_bits(others)));
        simt::add_global(&counts()->edges, static_cast<unsigned long long>(edges));
      }
      if (hubs != 0) {
        if (lane == 0)
          back = simt::atomic_add(&counts()->hubs, static_cast<unsigned long long>(simt::count_bits(hubs)));
        if (hub) simt::add_global(&counts()->edges, static_cast<unsigned long long>(e.degree));
        back = block.shuffle(back, 0);
      }
      place = block.shuffle(place, 0);
      if (active)
        put(queue,
            hub ? n - 1 - static_cast<std::int64_t>(back) - simt::count_bits(hubs & below)
                : static_cast<std::int64_t>(place) + simt::count_bits(others & below),
            e);
    }

    /// Stages a vertex of each lane that has one; appends 32 when there are so many. Lanes call together.
    PMPP_HOST_DEVICE void append(const bfs_queue<I>& queue, bool has, const entry& e) {
      const unsigned votes = block.ballot(has), below = (1u << block.lane()) - 1;
      if (has)
        memory.staged[block.warp()]
                     [(oldest + static_cast<unsigned>(staged + simt::count_bits(votes & below))) % staging] = e;
      staged += simt::count_bits(votes);
      if (staged >= simt::warp_size) flush(queue, simt::warp_size);
    }
    PMPP_HOST_DEVICE void append_rest(const bfs_queue<I>& queue) {
      if (staged != 0) flush(queue, staged);
    }

    /// The same for a block that runs alone: to its own queue, and to the one that the others would see. Lanes call
    /// together.
    PMPP_HOST_DEVICE void append_to_own(bool has, const entry& e) {
      const unsigned votes = block.ballot(has), below = (1u << block.lane()) - 1;
      if (votes == 0) return;
      const bool hub = has && e.degree > most_edges;
      const unsigned others = block.ballot(has && !hub);
      const int edges = block.warp_add(has && !hub ? static_cast<int>(e.degree) : 0);
      block_counts& c = memory.own_counts[own_slot];
      int place = 0;
      if (block.lane() == 0 && others != 0) {
        place = simt::atomic_add(&c.vertices, simt::count_bits(others));
        simt::atomic_add(&c.edges, edges);
      }
      place = block.shuffle(place, 0) + simt::count_bits(others & below);
      if (hub) {
        simt::atomic_add(&c.hub_edges, static_cast<unsigned long long>(e.degree));
        put(a.queue[current ^ 1], n - 1 - simt::atomic_add(&c.hubs, 1), e);
      } else if (has) {
        put(a.queue[current ^ 1], place, e);
        if (place < Tuning.one_block) memory.own[current ^ 1][place] = e;
      }
    }

    // ---- Top-down

    /// Follows edges from parent[k] to vertex[k], if the lane has them. Lanes call together.
    template <bool InOneBlock, int N>
    PMPP_HOST_DEVICE void follow(const bool (&has)[N], const I (&vertex)[N], const I (&parent)[N]) {
      entry e[N]{};
      unsigned bit[N], old[N];
      for (int k = 0; k < N; ++k) {
        e[k].vertex = vertex[k];
        examined += has[k];
      }
      for (int k = 0; k < N; ++k) {
        check_index(static_cast<std::int64_t>(e[k].vertex), n, "bfs: column");
        bit[k] = 1u << e[k].vertex % 32;
        old[k] = has[k] ? 0u : ~0u;
        if (has[k] && !low_latency)
          old[k] = simt::load(a.seen + e[k].vertex / 32);  // may be out of date: the atomic is not
      }
      for (int k = 0; k < N; ++k)
        if ((old[k] & bit[k]) == 0) {
          old[k] = simt::atomic_or(a.seen + e[k].vertex / 32, bit[k]);
          if (low_latency) e[k] = with_edges(e[k].vertex);
        }
      for (int k = 0; k < N; ++k) {
        const bool first = (old[k] & bit[k]) == 0;
        if (first) {
          visit(static_cast<std::int64_t>(e[k].vertex), static_cast<std::int64_t>(parent[k]), level + 1);
          if (!low_latency) e[k] = with_edges(e[k].vertex);
          if (low_latency) simt::prefetch(a.out.columns + e[k].begin);
        }
        if constexpr (InOneBlock)
          append_to_own(first, e[k]);
        else
          append(a.queue[current ^ 1], first, e[k]);
      }
    }
    PMPP_HOST_DEVICE void visit(std::int64_t vertex, std::int64_t parent, std::int64_t how_far) {
      a.distance[vertex] = static_cast<distance>(how_far);
      a.parents.set(vertex, parent);
    }

    /// Follows the edges of the lanes' vertices, of which none is a hub, a lane an edge. Lanes call together.
    template <bool InOneBlock>
    PMPP_HOST_DEVICE void expand(const entry& mine) {
      const int degree = static_cast<int>(mine.degree);
      const int end = block::warp_inclusive_scan(block, degree, plus{});
      const int total = block.shuffle(end, simt::warp_size - 1);
      int first = 0;
      for (; total - first > simt::warp_size; first += unroll * simt::warp_size)
        expand_edges<InOneBlock, unroll>(mine, first, end, total);
      if (first < total) expand_edges<InOneBlock, 1>(mine, first, end, total);
    }
    template <bool InOneBlock, int N>
    PMPP_HOST_DEVICE void expand_edges(const entry& mine, int first, int end, int total) {
      bool has[N];
      I vertex[N], parent[N];
      for (int k = 0; k < N; ++k) {
        const int i = first + k * simt::warp_size + block.lane();
        int owner = 0;  // the first lane whose edges end after i
        for (int step = simt::warp_size / 2; step > 0; step /= 2)
          if (block.shuffle(end, owner + step - 1) <= i) owner += step;
        const int in_list = i - block.shuffle(end - static_cast<int>(mine.degree), owner);
        has[k] = i < total;
        const std::int64_t edge = static_cast<std::int64_t>(block.shuffle(mine.begin, owner)) + in_list;
        parent[k] = block.shuffle(mine.vertex, owner);
        vertex[k] = has[k] ? a.out.columns[edge] : I{};
      }
      follow<InOneBlock, N>(has, vertex, parent);
    }

    PMPP_HOST_DEVICE void top_down(std::int64_t vertices, std::int64_t hubs, std::int64_t edges) {
      low_latency = edges <= Tuning.low_latency_edges;
      // A warp takes vertices with about 32 edges; more if there are so many vertices that it will come back. Without a
      // division, for which a short level would have to wait.
      std::int64_t batch = 1;
      while (batch < simt::warp_size &&
             (2 * batch * edges <= simt::warp_size * vertices || 4 * all_warps * batch < vertices))
        batch *= 2;
      for (std::int64_t first = warp * batch; first < vertices; first += all_warps * batch) {
        entry e{};
        if (block.lane() < min(batch, vertices - first)) e = get(a.queue[current], first + block.lane());
        expand<false>(e);
      }
      for (std::int64_t first = 0; first < hubs; first += threads)
        expand_hubs(first, static_cast<int>(min(std::int64_t(threads), hubs - first)));
      append_rest(a.queue[current ^ 1]);
    }

    /// Follows the warp's share of the edges of `count` hubs, at most one a thread. Threads call together.
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
      for (std::int64_t piece = warp; piece < total; piece += all_warps) {
        // The first hub whose pieces end after this one.
        const int h = detail::partition_point(0, count - 1, [&](int i) { return memory.pieces[i] <= piece; });
        const entry hub = get(queue, back - h);
        const std::int64_t in_hub = (piece - (h == 0 ? 0 : memory.pieces[h - 1])) * Tuning.hub;
        const std::int64_t list = static_cast<std::int64_t>(hub.begin);
        const std::int64_t end = list + min(in_hub + Tuning.hub, static_cast<std::int64_t>(hub.degree));
        for (std::int64_t e = list + in_hub; e < end; e += unroll * simt::warp_size) {
          bool has[unroll];
          I vertex[unroll], parent[unroll];
          for (int k = 0; k < unroll; ++k) {
            const std::int64_t edge = e + k * simt::warp_size + lane;
            has[k] = edge < end;
            vertex[k] = has[k] ? a.out.columns[edge] : I{};
            parent[k] = hub.vertex;
          }
          follow<false, unroll>(has, vertex, parent);
        }
      }
    }

    /// Levels from this one on, while one block is enough for them: barriers of the block take the place of the grid's.
    /// Leaves the next frontier in the queue and its counts where end_phase will find them. Threads of one block call.
    PMPP_HOST_DEVICE void run_in_one_block(std::int64_t vertices, std::int64_t edges, std::int64_t unexplored) {
      const std::int64_t first_level = level;
      const int first_queue = current, lane = block.lane();
      std::int64_t reached = 0, followed = 0, hubs = 0;
      for (std::int64_t i = block.thread(); i < vertices; i += threads)
        memory.own[current][i] = get(a.queue[current], i);
      if (block.thread() == 0) memory.own_counts[own_slot] = {};
      block.sync();
      for (;;) {
        low_latency = edges <= Tuning.low_latency_edges;
        const int count = static_cast<int>(vertices), batch = min(simt::warp_size, ceil_div(count, warps));
        if (block.thread() == 0) memory.own_counts[(own_slot + 1) % 3] = {};
        for (int first = block.warp() * batch; first < count; first += warps * batch) {
          entry e{};
          if (lane < min(batch, count - first)) e = memory.own[current][first + lane];
          expand<true>(e);
        }
        block.sync();
        const block_counts& next = memory.own_counts[own_slot];
        vertices = next.vertices;
        hubs = next.hubs;
        edges = next.edges + static_cast<std::int64_t>(next.hub_edges);
        own_slot = (own_slot + 1) % 3;
        if (vertices == 0 || hubs != 0 || !is_for_one_block(vertices, edges) || goes_bottom_up(edges, unexplored))
          break;
        unexplored -= edges;
        followed += edges;
        reached += vertices;
        ++level;
        current ^= 1;
      }
      if (block.thread() == 0) {
        bfs_counts* const c = counts();
        simt::store(&c->vertices, static_cast<unsigned long long>(vertices));
        simt::store(&c->hubs, static_cast<unsigned long long>(hubs));
        simt::store(&c->edges, static_cast<unsigned long long>(edges));
        simt::store(&c->reached, static_cast<unsigned long long>(reached));
        simt::store(&c->levels, static_cast<unsigned long long>(level - first_level));
        simt::store(&c->followed, static_cast<unsigned long long>(followed));
      }
      level = first_level;
      current = first_queue;
    }

    // ---- Bottom-up

    PMPP_HOST_DEVICE bool in_frontier(I vertex) const {
      check_index(static_cast<std::int64_t>(vertex), n, "bfs: column");
      return a.frontier[current][vertex / 32] >> vertex % 32 & 1u;
    }

    PMPP_HOST_DEVICE void bottom_up() {
      // The warps of a block take words beside each other: their vertices' edges are neighbours in memory.
      for (std::int64_t w = block.index() * warps + block.warp(); w < words; w += all_warps) {
        // Read by the lane that writes it: votes do not order the others' reads before that.
        const unsigned seen = block.shuffle(block.lane() == 0 ? a.seen[w] : 0u, 0);
        const unsigned bits = seen == ~0u ? 0 : find_parents(w, seen);
        if (block.lane() == 0) a.frontier[current ^ 1][w] = bits;
        found += simt::count_bits(bits);
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
      const std::int64_t last = min(end, begin + Tuning.lane_edges);
      bool is_found = false;
      I parent{};
      while (!is_found && begin < last) {  // some at once: loads should not wait for each other
        I candidate[unroll];
        bool hit[unroll];
        const int count = static_cast<int>(min(std::int64_t(unroll), last - begin));
        for (int k = 0; k < unroll; ++k) candidate[k] = a.in.columns[k < count ? begin + k : begin];
        for (int k = 0; k < unroll; ++k) hit[k] = in_frontier(candidate[k]);
        for (int k = unroll - 1; k >= 0; --k)
          if (hit[k]) {
            is_found = true;
            parent = candidate[k];
          }
        begin += count;
        examined += count;
      }
      for (unsigned rest = block.ballot(!is_found && begin < end); rest != 0; rest &= rest - 1) {
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
            is_found = true;
            parent = candidate;
          }
          break;
        }
      }
      if (is_found) visit(vertex, static_cast<std::int64_t>(parent), level + 1);
      const unsigned all_found = block.ballot(is_found), settled = all_found | block.ballot(unreachable);
      if (lane == 0 && settled != 0) a.seen[w] = seen | settled;
      return all_found;
    }

    // ---- From one to the other

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
          entry e{};
          if (bits != 0) e = with_edges(static_cast<I>(w * 32 + simt::trailing_zeros(bits)));
          append(a.queue[current], bits != 0, e);
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
    const std::int64_t examined = block::reduce(block, memory.reduction, s.examined, plus{});
    if (block.thread() != 0) return;
    simt::add_global(&a.state->examined, static_cast<unsigned long long>(examined));
    if (!block::comes_last(&a.state->left, block.count())) return;
    result.edges_examined = static_cast<std::int64_t>(simt::load(&a.state->examined));
    for (bfs_counts& c : a.state->phase) c = {};
    a.state->examined = 0;
    *a.result = result;
    a.done.signal();
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
