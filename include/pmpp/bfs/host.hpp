// SPDX-License-Identifier: Apache-2.0
//
// bfs on the CPU: the queue of the textbook for seq; for host both directions with bitmaps, as in the kernel.
//
// A level with few edges runs on the calling thread: starting the others takes longer.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/bfs/kernel.hpp>
#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/csr_view.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>

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
  std::vector<I> queue;
  for (std::int64_t i = 0; i < sources.count; ++i) {
    const std::int64_t v = sources[i];
    if (distance[v] == T(0)) continue;
    distance[v] = T(0);
    parents.set(v, v);
    queue.push_back(static_cast<I>(v));
  }
  bfs_result result;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const I u = queue[i];
    for (std::int64_t e = graph.row_begin(u); e < graph.row_end(u); ++e) {
      const I v = graph.columns[e];
      check_index(static_cast<std::int64_t>(v), graph.rows, "bfs: column");
      ++result.edges_examined;
      if (distance[v] >= T(0)) continue;
      distance[v] = static_cast<T>(distance[u] + 1);
      parents.set(v, u);
      queue.push_back(v);
    }
  }
  if (!queue.empty()) result.levels = static_cast<std::int64_t>(distance[queue.back()]) + 1;
  result.vertices_reached = static_cast<std::int64_t>(queue.size());
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
  static bool has(const std::vector<word>& bitmap, I v) {
    return bitmap[static_cast<std::size_t>(v) / word_bits] >> static_cast<std::size_t>(v) % word_bits & 1;
  }

  /// Runs body(begin, end, totals) on the pieces of [0, n), which threads take one after the other.
  template <class Body>
  totals for_pieces(std::int64_t n, std::int64_t grain, bool alone, Body body) {
    const std::int64_t pieces = ceil_div(n, grain);
    const std::int64_t threads = alone ? 1 : smaller(host_loop::thread_count(where_), pieces);
    host_loop::task_results<task_totals> sums(larger(threads, std::int64_t(1)));
    std::int64_t ticket = 0;
    host_loop::parallel_for(where_, threads, [&](std::int64_t t) {
      totals sum;
      for (;;) {
        const std::int64_t i = __atomic_fetch_add(&ticket, 1, __ATOMIC_RELAXED);
        if (i >= pieces) break;
        body(i * grain, smaller(n, (i + 1) * grain), sum);
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
    const auto words = static_cast<std::size_t>(ceil_div(out_.rows, word_bits));
    seen_.assign(words, 0);
    frontier_.assign(words, 0);
    next_bits_.assign(words, 0);
    queue_.resize(static_cast<std::size_t>(out_.rows));
    next_.resize(static_cast<std::size_t>(out_.rows));
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
      seen_[static_cast<std::size_t>(v / word_bits)] |= bit_of(v);
      queue_[static_cast<std::size_t>(queued_++)] = static_cast<I>(v);
      edges += out_.row_length(v);
    }
    return edges;
  }

  /// The calling thread's vertices on their way to the queue.
  class local_queue {
  public:
    local_queue(std::vector<I>& queue, std::int64_t& size) : queue_(queue), size_(size) {}
    ~local_queue() { flush(); }
    void push(I v) {
      buffer_[count_++] = v;
      if (count_ == most) flush();
    }

  private:
    static constexpr std::int64_t most = 512;
    void flush() {
      if (count_ == 0) return;
      const std::int64_t at = __atomic_fetch_add(&size_, count_, __ATOMIC_RELAXED);
      for (std::int64_t i = 0; i < count_; ++i) queue_[static_cast<std::size_t>(at + i)] = buffer_[i];
      count_ = 0;
    }
    std::vector<I>& queue_;
    std::int64_t& size_;
    std::int64_t count_ = 0;
    I buffer_[most];
  };

  template <bool Alone>
  totals expand(std::int64_t& appended) {
    return for_pieces(queued_, Alone ? queued_ : piece, Alone, [&](std::int64_t begin, std::int64_t end, totals& sum) {
      local_queue queue(next_, appended);
      for (std::int64_t i = begin; i < end; ++i) {
        const I u = queue_[static_cast<std::size_t>(i)];
        const std::int64_t last = out_.row_end(u);
        sum.examined += last - out_.row_begin(u);
        for (std::int64_t e = out_.row_begin(u); e < last; ++e) {
          const I v = out_.columns[e];
          check_index(static_cast<std::int64_t>(v), out_.rows, "bfs: column");
          word* const at = seen_.data() + static_cast<std::size_t>(v) / word_bits;
          const word bit = bit_of(static_cast<std::int64_t>(v));
          if constexpr (Alone) {
            if (*at & bit) continue;
            *at |= bit;
          } else {
            if (__atomic_load_n(at, __ATOMIC_RELAXED) & bit) continue;
            if (__atomic_fetch_or(at, bit, __ATOMIC_RELAXED) & bit) continue;
          }
          distance_[v] = level_;
          parents_.set(v, u);
          ++sum.reached;
          sum.edges += out_.row_length(v);
          queue.push(v);
        }
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

  totals bottom_up() {
    const auto words = static_cast<std::int64_t>(seen_.size());
    const totals sum = for_pieces(words, words_of_task, false, [&](std::int64_t begin, std::int64_t end, totals& part) {
      for (std::int64_t w = begin; w < end; ++w) {
        const auto at = static_cast<std::size_t>(w);
        const std::int64_t in_word = smaller(word_bits, out_.rows - w * word_bits);
        word open = ~seen_[at], found = 0;
        if (in_word < word_bits) open &= (word(1) << in_word) - 1;
        for (; open != 0; open &= open - 1) {
          const std::int64_t v = w * word_bits + __builtin_ctzll(open);
          const std::int64_t first = in_.row_begin(v), last = in_.row_end(v);
          std::int64_t e = first;
          while (e < last && !has(frontier_, in_.columns[e])) ++e;
          part.examined += smaller(e + 1, last) - first;
          if (e == last) continue;
          found |= bit_of(v);
          distance_[v] = level_;
          parents_.set(v, static_cast<std::int64_t>(in_.columns[e]));
          ++part.reached;
        }
        next_bits_[at] = found;
        seen_[at] |= found;
      }
    });
    std::swap(frontier_, next_bits_);
    return sum;
  }

  void queue_to_bitmap() {
    frontier_.assign(frontier_.size(), 0);
    for (std::int64_t i = 0; i < queued_; ++i) {
      const auto v = static_cast<std::int64_t>(queue_[static_cast<std::size_t>(i)]);
      frontier_[static_cast<std::size_t>(v / word_bits)] |= bit_of(v);
    }
  }
  void bitmap_to_queue() {
    queued_ = 0;
    for (std::size_t w = 0; w < frontier_.size(); ++w)
      for (word bits = frontier_[w]; bits != 0; bits &= bits - 1)
        queue_[static_cast<std::size_t>(queued_++)] =
            static_cast<I>(static_cast<std::int64_t>(w) * word_bits + __builtin_ctzll(bits));
  }

  const host_policy& where_;
  const csr_view<void, const I> out_, in_;
  const D& distance_;
  const Parents& parents_;
  const bfs_tuning tuning_;
  std::vector<word> seen_, frontier_, next_bits_;
  std::vector<I> queue_, next_;
  std::int64_t queued_ = 0;
  T level_{};
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
