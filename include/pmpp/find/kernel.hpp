// SPDX-License-Identifier: Apache-2.0
//
// The first place of an input for which a predicate is true: what every question of find.hpp comes down to.
//
//   1. All blocks that run at once sweep the input together, tile by tile. A warp has eight rows of 512 bytes in flight, or fewer, down to
//      one, where the input is so short that some warps would have none: a test may take long.
//   2. Whoever finds a place writes it to one word of global memory, unless an earlier one is there (an atomic maximum of what
//      lies after it, as zero is what the word begins with).
//   3. Each warp reads that word along with its elements, and stops before the first tile that lies after the place in it.
//      So a place near the front costs what is in flight at once, about 17 MB on an H200, and a miss costs one read of the input.
//   4. The block that ends last turns the place into an answer, writes it, and empties the word for the next launch.
//
// The first place is unique, so the answer is the same on every run. One launch, none where there is nothing to search and the host
// waits for the answer; one barrier in a block.
//
// Two kinds of tests know a faster way than element by element: one that tells of all elements of a vector together whether any is sought
// (find_first_of), and one by which a warp searches its tile in its own way, with room in shared memory (includes). See questions.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/load_store.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct find_tuning {
  int threads = 256;             ///< of a block
  int rows_in_flight = 8;        ///< loads of 16 bytes that a thread issues before it uses the first
  int blocks_per_processor = 4;  ///< of the grid, at most
};

namespace detail {

/// What is known after a search of min(n, m) places: the first place that was sought, or min(n, m) if there is none.
struct found_place {
  std::int64_t place, n, m;
  PMPP_HOST_DEVICE bool found() const { return place < min(n, m); }
};

/// The lengths of one or two inputs.
struct two_counts {
  item_count n, m{std::numeric_limits<std::int64_t>::max()};
  PMPP_HOST_DEVICE std::int64_t get() const { return min(n.get(), m.get()); }
  std::int64_t bound() const { return min(n.bound, m.bound); }
  bool known() const { return n.pointer == nullptr && m.pointer == nullptr; }
};

/// In fewer places than these nothing is found: an element and the one in front of it are two.
template <class In>
inline constexpr std::int64_t fewest_places = 1;
template <class It>
inline constexpr std::int64_t fewest_places<neighbours_iterator<It>> = 2;

/// A test by which a warp searches its tile in its own way, with a room of shared memory.
template <class Test>
concept searches_tiles = requires {
  typename Test::room;
};

/// Test: test(x) says whether x is sought. Sink: takes a found_place.
template <class In, class Test, class Sink, int Items, find_tuning Tuning>
struct find_sweep {
  static constexpr int threads = Tuning.threads, warps = threads / simt::warp_size, lanes = simt::warp_size;
  static constexpr int row_bytes = int(sizeof(block::raw_items<In, Items>));
  static constexpr int rows = max(1, min(16, Tuning.rows_in_flight * 16 / max(row_bytes, 8)));
  static constexpr int min_blocks = row_bytes <= 32 ? Tuning.blocks_per_processor : 1;  // that run at once

  struct arguments {
    In in;
    two_counts count;
    std::int64_t lead;
    int rows;  ///< that a warp searches at a time, at most `rows`
    Test test;
    Sink sink;
    std::uint64_t* best;  ///< zero, or `after_all` less the first place so far
    unsigned* ended;      ///< zero; counts the blocks that have ended
    completion done;
  };
  static constexpr std::uint64_t after_all = std::uint64_t(1) << 63;

  /// `rooms`: of the warps, for a test that searches tiles.
  template <class Block, class Rooms>
  PMPP_HOST_DEVICE static void run(Block& block, Rooms rooms, const arguments& a) {
    const std::int64_t n = a.count.get();
    const block::layout<Items> data(n, a.lead);
    if (block.index() == 0) {  // the few elements outside of whole vectors, one a thread
      static_assert(threads >= 2 * Items);
      const std::int64_t i = block.thread() < data.lead ? block.thread() : data.tail() + block.thread() - data.lead;
      if (i < n && a.test(a.in[i])) simt::atomic_max(a.best, after_all - static_cast<std::uint64_t>(i));
    }
    const std::int64_t of_warp = std::int64_t(a.rows) * lanes, step = block.count() * warps * of_warp;
    std::int64_t first = (block.index() * warps + block.warp()) * of_warp;
    for (; first < data.vectors; first += step)
      if (search_rows(block, rooms, a, data, first)) break;
    block.sync();
    if (block.thread() != 0 || !block::comes_last(a.ended, block.count())) return;
    const std::uint64_t best = simt::load(a.best);
    simt::store(a.best, std::uint64_t(0));
    a.sink(found_place{best == 0 ? n : static_cast<std::int64_t>(after_all - best), a.count.n.get(), a.count.m.get()});
    a.done.signal();
  }

private:
  static constexpr int nowhere = rows * lanes * Items;  // after all elements of a warp's rows
  static constexpr bool tests_vectors = requires(const arguments& a, const block::raw_items<In, Items>& x) {
    a.test.template any_of<In, Items>(a.in, x);
  };

  /// Searches a warp's rows. Returns whether a place in front of them was known before.
  template <class Block, class Rooms>
  PMPP_HOST_DEVICE static bool search_rows(Block& block, [[maybe_unused]] Rooms rooms, const arguments& a,
                                           const block::layout<Items>& data, std::int64_t first) {
    const std::int64_t end = min(first + std::int64_t(a.rows) * lanes, data.vectors);
    const std::uint64_t mine = after_all - static_cast<std::uint64_t>(data.element(first));
    std::uint64_t before = 0;
    int place = nowhere;
    if constexpr (searches_tiles<Test>) {
      before = simt::load(a.best);
      if (!block.any(before >= mine))
        place = a.test.first_in_tile(block, rooms[block.warp()], data.element(first), data.element(end));
    } else {
      block::raw_items<In, Items> x[rows]{};
      const bool all = end - first == rows * lanes;
      const auto vector = [&](int r) { return first + r * lanes + block.lane(); };
      for (int r = 0; r < rows; ++r)
        if (all || vector(r) < end) x[r] = block::access<In>::template load<Items>(a.in, data.element(vector(r)));
      before = simt::load(a.best);
      for (int r = rows - 1; r >= 0; --r) {
        if (!all && vector(r) >= end) continue;
        const int begin = (r * lanes + block.lane()) * Items;
        if constexpr (tests_vectors) {
          if (a.test.template any_of<In, Items>(a.in, x[r])) place = begin;
        } else {
          for (int k = Items - 1; k >= 0; --k)
            if (a.test(block::access<In>::value(a.in, x[r], k))) place = begin + k;
        }
      }
      if constexpr (tests_vectors)
        if (place < nowhere)  // seldom, and so from memory
          while (!a.test(a.in[data.element(first) + place])) ++place;
    }
    if (block.any(place < nowhere)) {
      place = block.warp_min(place);
      if (block.lane() == 0) simt::atomic_max(a.best, mine - static_cast<std::uint64_t>(place));
    }
    return block.any(before >= mine);
  }
};
template <class In, class Test, class Sink, int Items, find_tuning Tuning>
struct find_kernel : find_sweep<In, Test, Sink, Items, Tuning> {
  using sweep = find_sweep<In, Test, Sink, Items, Tuning>;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const typename sweep::arguments& a) const {
    sweep::run(block, nullptr, a);
  }
};
template <class In, searches_tiles Test, class Sink, int Items, find_tuning Tuning>
struct find_kernel<In, Test, Sink, Items, Tuning> : find_sweep<In, Test, Sink, Items, Tuning> {
  using sweep = find_sweep<In, Test, Sink, Items, Tuning>;
  struct shared {
    typename Test::room rooms[sweep::warps];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const typename sweep::arguments& a) const {
    sweep::run(block, memory.rooms, a);
  }
};

/// Enqueues the search on a GPU or runs it in the emulator.
template <find_tuning Tuning, class P, class In, class Test, class Sink>
void find_on_blocks(const char* function, const P& where, const In& in, const two_counts& count, const Test& test,
                    const Sink& sink, const completion& done) {
  detail::check_reachable(where, function, in);
  block::with_access(in, [&](auto items, std::int64_t lead) {
    using kernel = find_kernel<In, Test, Sink, items, Tuning>;
    const std::int64_t most = std::int64_t(Tuning.blocks_per_processor) * machine_of(where).multiprocessors;
    const std::int64_t rows = ceil_div(count.bound(), std::int64_t(items) * kernel::lanes);
    const std::int64_t of_warp = max(std::int64_t(1), min(std::int64_t(kernel::rows), rows / (most * kernel::warps)));
    const std::int64_t blocks = max(std::int64_t(1), min(most, ceil_div(rows, of_warp * kernel::warps)));
    scratch memory(where, 0, 16);
    unsigned* const state = memory.state();
    pmpp::launch(where, blocks, kernel{},
                 typename kernel::arguments{in, count, lead, static_cast<int>(of_warp), test, sink,
                                            reinterpret_cast<std::uint64_t*>(state), state + 2, done});
  });
}

/// seq: one loop up to the place. host: tasks in order; those after a place that has been found are left out.
template <class P, class In, class Test>
std::int64_t find_on_host(const P& where, const In& in, std::int64_t n, const Test& test) {
  const auto first_in = [&](std::int64_t begin, std::int64_t end) {
    while (begin < end && !test(in[begin])) ++begin;
    return begin;
  };
  if constexpr (std::is_same_v<P, seq_policy>) {
    return first_in(0, n);
  } else {
    std::int64_t best = n;
    host_loop::parallel_ranges(where, n, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t known = __atomic_load_n(&best, __ATOMIC_RELAXED);
      if (begin >= known) return;
      const std::int64_t place = first_in(begin, end);
      while (place < end && place < known &&
             !__atomic_compare_exchange_n(&best, &known, place, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    });
    return best;
  }
}

/// Writes the answer through an output iterator.
template <class Answer, class Out>
struct answer_to {
  Answer answer;
  Out out;
  PMPP_HOST_DEVICE void operator()(const found_place& f) const { *out = static_cast<value_of<Out>>(answer(f)); }
};

/// Searches `in` and gives answer(found_place), evaluated where the policy runs.
template <class R, find_tuning Tuning, class P, class In, class Test, class Answer>
R find_and_wait(const char* function, const P& where, const In& in, const two_counts& count, const Test& test,
                const Answer& answer) {
  if (count.known() && count.bound() < fewest_places<In>)
    return answer(found_place{count.bound(), count.n.bound, count.m.bound});
  if constexpr (kernel_execution<P>) {
    reply<R, P> told(function, where);
    detail::find_on_blocks<Tuning>(function, told.policy(), in, count, test,
                                   answer_to<Answer, R*>{answer, told.target()}, told.done());
    return told.wait();
  } else {
    return answer(found_place{detail::find_on_host(where, in, count.get(), test), count.n.get(), count.m.get()});
  }
}

/// The same, but leaves the answer in *out and does not wait.
template <find_tuning Tuning, class P, class In, class Test, class Answer, class O>
void find_and_store(const char* function, const P& where, const In& in, const two_counts& count, const Test& test,
                    const Answer& answer, O& out) {
  detail::check_output(function, "out", out, 1);
  const auto target = detail::unwrap(detail::begin_of(out));
  const answer_to<Answer, std::remove_const_t<decltype(target)>> sink{answer, target};
  if constexpr (kernel_execution<P>)
    detail::find_on_blocks<Tuning>(function, where, in, count, test, sink, completion{});
  else
    sink(found_place{detail::find_on_host(where, in, count.get(), test), count.n.get(), count.m.get()});
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
