// SPDX-License-Identifier: Apache-2.0
//
// bfs on the CPU: the queue of the textbook for seq; for host both directions with bitmaps, as in the kernel.
//
// A level with few edges runs on the calling thread: starting the others takes longer.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <pmpp/bfs/kernel.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/memory/raw_array.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

template <class I, class D, class Parents>
bfs_result bfs_in_order(const csr_view<void, const I>& graph, const bfs_sources<I>& sources, const D& distance,
                        const Parents& parents) {
  using T = value_of<D>;
  for (std::int64_t v = 0; v < graph.rows; ++v) {
    distance[v] = T(-1);
    parents.set(v, -1);
  }
  raw_array<I> room(graph.rows, "bfs");
  I* const queue = room.data();
  std::int64_t queued = 0;
  for (std::int64_t i = 0; i < sources.count; ++i) {
    const std::int64_t v = sources[i];
    if (distance[v] == T(0)) continue;
    distance[v] = T(0);
    parents.set(v, v);
    queue[queued++] = static_cast<I>(v);
  }
  bfs_result result;
  for (std::int64_t i = 0; i < queued; ++i) {
    const I u = queue[i];
    for (std::int64_t e = graph.row_begin(u); e < graph.row_end(u); ++e) {
      const I v = graph.columns[e];
      check_index(static_cast<std::int64_t>(v), graph.rows, "bfs: column");
      ++result.edges_examined;
      if (distance[v] >= T(0) || queued == graph.rows) continue;  // a distance that does not fit T looks like none
      distance[v] = static_cast<T>(distance[u] + 1);
      parents.set(v, u);
      queue[queued++] = v;
    }
  }
  if (queued > 0) result.levels = static_cast<std::int64_t>(distance[queue[queued - 1]]) + 1;
  result.vertices_reached = queued;
  return result;
}

template <class I, class D, class Parents>
class host_search {
  using T = value_of<D>;
  using word = std::uint64_t;
  static constexpr std::int64_t word_bits = 64;
  static constexpr std::int64_t piece = 64;                  ///< vertices of the queue that a thread takes at a time
  static constexpr std::int64_t words_of_task = 16;          ///< words of a bitmap that it takes at a time
  static constexpr std::int64_t edges_of_one_thread = 8192;  ///< a level with fewer runs on the calling thread

  struct totals {
    std::int64_t reached = 0, edges = 0, examined = 0;
  };
  struct alignas(128) task_totals : totals {};

public:
  host_search(const host_policy& where, const csr_view<void, const I>& out, const csr_view<void, const I>& in,
              const D& distance, const Parents& parents, const bfs_tuning& tuning)
      : where_(where), out_(out), in_(in), distance_(distance), parents_(parents), tuning_(tuning) {}

  bfs_result run(const bfs_sources<I>& sources) {
    reset();
    std::int64_t frontier_edges = start_at(sources), awake = queued_, before = 0;
    const std::int64_t n = out_.rows;
    std::int64_t unexplored = out_.nonzeros() - static_cast<std::int64_t>(out_.offsets[0]);
    bool is_bitmap = false;
    bfs_result result;
    for (; awake > 0; ++result.levels) {
      result.vertices_reached += awake;
      if (!is_bitmap && in_.offsets != nullptr && frontier_edges > unexplored / tuning_.alpha) {
        queue_to_bitmap();
        is_bitmap = true;
      } else if (is_bitmap && awake < before && awake <= n / tuning_.beta) {
        bitmap_to_queue();
        frontier_edges = 1;  // it has just shrunk: no way back at once
        is_bitmap = false;
      }
      before = awake;
      level_ = static_cast<T>(result.levels + 1);
      totals sum;
      if (is_bitmap) {
        sum = bottom_up();
      } else {
        unexplored -= frontier_edges;
        enough_edges_ = max(unexplored / tuning_.alpha, edges_of_one_thread);
        sum = top_down(frontier_edges);
      }
      awake = sum.reached;
      frontier_edges = sum.edges;
      result.edges_examined += sum.examined;
    }
    return result;
  }

private:
  static word bit_of(std::int64_t v) { return word(1) << v % word_bits; }
  word& seen_word(std::int64_t v) { return seen_[v / word_bits]; }
  static bool has(const word* bitmap, I v) {
    return bitmap[static_cast<std::size_t>(v) / word_bits] >> static_cast<std::size_t>(v) % word_bits & 1;
  }

  /// Runs body(begin, end, totals) on the pieces of [0, n), which threads take one after the other.
  template <class Body>
  totals for_pieces(std::int64_t n, std::int64_t grain, bool alone, Body body) {
    const std::int64_t pieces = ceil_div(n, grain);
    const std::int64_t threads = alone ? 1 : min(host_loop::thread_count(where_), pieces);
    host_loop::task_results<task_totals> sums(max(threads, std::int64_t(1)));
    std::int64_t ticket = 0;
    host_loop::parallel_parts(where_, threads, [&](std::int64_t t) {
      totals sum;
      for (;;) {
        const std::int64_t i = __atomic_fetch_add(&ticket, 1, __ATOMIC_RELAXED);
        if (i >= pieces) break;
        body(i * grain, min(n, (i + 1) * grain), sum);
      }
      static_cast<totals&>(sums[t]) = sum;
    });
    totals all;
    for (std::int64_t t = 0; t < threads; ++t) {
      all.reached += sums[t].reached;
      all.edges += sums[t].edges;
      all.examined += sums[t].examined;
    }
    return all;
  }

  void reset() {
    std::memset(seen_, 0, static_cast<std::size_t>(3 * words_) * sizeof(word));
    host_loop::parallel_ranges(where_, out_.rows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t v = begin; v < end; ++v) {
        distance_[v] = T(-1);
        parents_.set(v, -1);
      }
    });
  }
  /// Returns how many edges start there.
  std::int64_t start_at(const bfs_sources<I>& sources) {
    std::int64_t edges = 0;
    for (std::int64_t i = 0; i < sources.count; ++i) {
      const std::int64_t v = sources[i];
      if (distance_[v] == T(0)) continue;
      distance_[v] = T(0);
      parents_.set(v, v);
      seen_word(v) |= bit_of(v);
      queue_[queued_++] = static_cast<I>(v);
      edges += out_.row_length(v);
    }
    return edges;
  }

  /// Edges that may lead to new vertices, gathered so that cache misses at their ends overlap.
  template <bool Alone>
  class local_edges {
  public:
    local_edges(host_search& search, totals& sum, std::int64_t& appended)
        : search_(search), sum_(sum), appended_(appended) {}
    ~local_edges() { follow(); }

    /// Takes the edges of u.
    void add(I u) {
      const auto& graph = search_.out_;
      const std::int64_t last = graph.row_end(u);
      sum_.examined += last - graph.row_begin(u);
      for (std::int64_t e = graph.row_begin(u); e < last;) {
        for (const std::int64_t end = min(last, e + most - count_); e < end; ++e) {
          const I v = graph.columns[e];
          check_index(static_cast<std::int64_t>(v), graph.rows, "bfs: column");
          vertex_[count_] = v;
          parent_[count_] = u;
          const word seen = __atomic_load_n(&search_.seen_word(v), __ATOMIC_RELAXED);
          count_ += (seen & bit_of(v)) == 0;  // no if: the processor would guess wrong too often
        }
        if (count_ == most) follow();
      }
    }

  private:
    static constexpr int most = 256;

    /// Atomics come first: each waits for all stores before it.
    void follow() {
      int first = 0;  // at their vertices
      for (int k = 0; k < count_; ++k) {
        const I v = vertex_[k];
        if (!see(v)) continue;
        vertex_[first] = v;
        parent_[first++] = parent_[k];
      }
      I* const queue = search_.next_ + __atomic_fetch_add(&appended_, first, __ATOMIC_RELAXED);
      for (int k = 0; k < first; ++k) {
        const I v = vertex_[k];
        search_.distance_[v] = search_.level_;
        search_.parents_.set(v, parent_[k]);
        if (sum_.edges <= search_.enough_edges_) sum_.edges += search_.out_.row_length(v);
        queue[k] = v;
      }
      sum_.reached += first;
      count_ = 0;
    }
    /// True the first time.
    bool see(I v) {
      word& seen = search_.seen_word(v);
      const word bit = bit_of(v);
      if constexpr (!Alone) return (__atomic_fetch_or(&seen, bit, __ATOMIC_RELAXED) & bit) == 0;
      const word old = seen;
      seen = old | bit;
      return (old & bit) == 0;
    }

    host_search& search_;
    totals& sum_;
    std::int64_t& appended_;  ///< to the next queue, by all threads
    int count_ = 0;
    I vertex_[most], parent_[most];
  };

  template <bool Alone>
  totals expand(std::int64_t& appended) {
    return for_pieces(queued_, Alone ? queued_ : piece, Alone, [&](std::int64_t begin, std::int64_t end, totals& sum) {
      local_edges<Alone> edges(*this, sum, appended);
      for (std::int64_t i = begin; i < end; ++i) {
        if (i + 4 < end) __builtin_prefetch(out_.columns + out_.row_begin(queue_[i + 4]));
        edges.add(queue_[i]);
      }
    });
  }

  totals top_down(std::int64_t edges) {
    std::int64_t appended = 0;
    const bool alone = edges < edges_of_one_thread || host_loop::thread_count(where_) == 1;
    const totals sum = alone ? expand<true>(appended) : expand<false>(appended);
    std::swap(queue_, next_);
    queued_ = appended;
    return sum;
  }

  /// The vertices of word w that are not seen yet.
  word open_in(std::int64_t w) const {
    const std::int64_t in_word = min(word_bits, out_.rows - w * word_bits);
    return ~seen_[w] & ~word(0) >> (word_bits - in_word);
  }

  totals bottom_up() {
    const totals sum =
        for_pieces(words_, words_of_task, false, [&](std::int64_t begin, std::int64_t end, totals& part) {
          for (std::int64_t w = begin; w < end; ++w) {
            for (word open = w + 1 < end ? open_in(w + 1) : 0; open != 0; open &= open - 1)
              __builtin_prefetch(in_.columns + in_.row_begin((w + 1) * word_bits + __builtin_ctzll(open)));
            word found = 0, settled = 0;
            for (word open = open_in(w); open != 0; open &= open - 1) {
              const std::int64_t v = w * word_bits + __builtin_ctzll(open);
              const std::int64_t first = in_.row_begin(v), last = in_.row_end(v);
              std::int64_t e = first;
              while (e < last && !has(frontier_, in_.columns[e])) ++e;
              part.examined += min(e + 1, last) - first;
              if (first == last) settled |= bit_of(v);  // no edge leads there
              if (e == last) continue;
              found |= bit_of(v);
              distance_[v] = level_;
              parents_.set(v, static_cast<std::int64_t>(in_.columns[e]));
              ++part.reached;
            }
            next_bits_[w] = found;
            seen_[w] |= found | settled;
          }
        });
    std::swap(frontier_, next_bits_);
    return sum;
  }

  void queue_to_bitmap() {
    std::memset(frontier_, 0, static_cast<std::size_t>(words_) * sizeof(word));
    for (std::int64_t i = 0; i < queued_; ++i) {
      const auto v = static_cast<std::int64_t>(queue_[i]);
      frontier_[v / word_bits] |= bit_of(v);
    }
  }
  void bitmap_to_queue() {
    queued_ = 0;
    for (std::int64_t w = 0; w < words_; ++w)
      for (word bits = frontier_[w]; bits != 0; bits &= bits - 1)
        queue_[queued_++] = static_cast<I>(w * word_bits + __builtin_ctzll(bits));
  }

  const host_policy& where_;
  const csr_view<void, const I> out_, in_;
  const D& distance_;
  const Parents& parents_;
  const bfs_tuning tuning_;
  const std::int64_t words_ = ceil_div(out_.rows, word_bits);  ///< of a bitmap
  raw_array<word> bitmaps_{3 * words_, "bfs"};
  word *const seen_ = bitmaps_.data(), *frontier_ = seen_ + words_, *next_bits_ = frontier_ + words_;
  raw_array<I> queues_{2 * out_.rows, "bfs"};
  I *queue_ = queues_.data(), *next_ = queue_ + out_.rows;
  std::int64_t queued_ = 0;
  std::int64_t enough_edges_ = 0;  ///< of a frontier: it does not matter how many more it has
  T level_{};
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
