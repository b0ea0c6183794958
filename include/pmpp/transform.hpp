// SPDX-License-Identifier: Apache-2.0
//
// Elementwise algorithms: for_each, transform, fill, iota. Vector addition and saxpy are one call of transform.
//
//   1. The grid is cut into tiles, one a block; a thread moves a vector of 16 bytes, so that each warp reads and writes whole rows of 512,
//      or as many elements that do not lie in vectors, apart by the number of threads.
//   2. All loads of a thread are issued before the first result is stored. 16 bytes of each thread keep the memory busy; 32 and 64 took
//      2 to 6 % longer on an H200.
//   3. Where a thread's results are more than 16 bytes (float to double, structs of 12), a warp passes them through shared
//      memory, so that lanes store words that lie next to each other.
//   4. Arrays whose 16-byte boundaries lie at different elements: vectors are the output's. Of an input a thread reads the
//      words that cover its vector, one more than they are long, and shifts them.
//   5. The few elements before the first 16-byte boundary and after the last whole vector go one by one, and are asked for first.
//
// Work n; traffic: every input read once, the output written once; one launch, no barrier of a block. The result
// is the same on every policy if f is; f may not depend on the order of its calls. In place is allowed. (PMPP ch. 2, 3 and 6.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_anywhere.hpp>
#include <pmpp/block/load_store.hpp>
#include <pmpp/block/vector_range.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct transform_tuning {
  int threads = 256;           ///< of a block
  int vectors_per_thread = 0;  ///< in flight at once; 0: as many as have 16 bytes of an array
};

namespace detail {

/// How many pieces of so many bytes a thread asks for at once.
template <std::size_t Bytes>
inline constexpr int pieces_in_flight = max(1, min(8, 16 / int(Bytes)));

/// Results of more than 16 bytes a vector change places in shared memory, so that a warp still writes whole rows.
template <class Out, int Items>
struct transform_results {
  using vector = block::vector<value_of<Out>, Items>;
  static constexpr int words = block::words_of<Out, vector, Items>;
  static constexpr bool change_places = words > 1 && words <= 8;
};

/// How many vectors of a thread are in flight at once. Of 16 elements, which take long to work out, two; single ones where nothing is
/// read, or elements are written anywhere, four.
template <class In, class Out, int Items, transform_tuning Tuning>
inline constexpr int vectors_of = Tuning.vectors_per_thread > 0 ? Tuning.vectors_per_thread
                                  : block::access<In>::items == 0 || block::access<Out>::items == 0 ? 4
                                  : Items == 16                                                     ? 2
                                                : pieces_in_flight<Items * sizeof(value_of<Out>)>;

/// Anywhere: vectors of inputs may begin off boundaries; the first and the last, around which nothing may be read, go to the edges.
template <class In, class Out, int Items, bool Anywhere, transform_tuning Tuning>
struct transform_tile {
  static constexpr int threads = Tuning.threads;
  using results = transform_results<Out, Items>;
  static constexpr int vectors = vectors_of<In, Out, Items, Tuning>;
  using slot = block::vector_slot<typename results::vector, typename results::vector>;

  /// `rounds` of at most `vectors` vectors a thread; `lead` as in block/load_store.hpp.
  template <class Block>
  PMPP_HOST_DEVICE static void run(Block& block, [[maybe_unused]] slot* slots, const In& in, const item_count& count,
                                   const Out& out, std::int64_t lead, int rounds) {
    simt::previous_kernels_done();
    const std::int64_t n = count.get();
    const block::layout<Items> data = Anywhere ? layout_inside(n, lead) : block::layout<Items>(n, lead);
    // The lead, up to a line, and the tail: at most so many elements. They are asked for first, as a short input would wait for them last.
    constexpr int most = 128 + (Anywhere ? 4 : 2) * Items;
    const auto edge = [&](std::int64_t e) { return e < data.lead ? e : e + data.vectors * Items; };
    const std::int64_t own = block.index() == 0 ? edge(block.thread()) : n;
    block::raw_items<In, 1> at_edge{};  // g++ does not see that it is read only where it was loaded
    if (own < n) at_edge = block::access<In>::template load<1>(in, own);

    const std::int64_t tile = block.index() * rounds * threads;
    const std::int64_t first = tile + block.thread();
    const auto move = [&](const block::raw_items<In, Items>& x, std::int64_t vector) {
      if constexpr (results::change_places)
        store_row(block, slots, in, x, out, data, vector);
      else
        store(in, x, out, data.element(vector));
    };
    if (rounds == vectors && tile + rounds * threads <= data.vectors) {
      block::raw_items<In, Items> x[vectors];
      for (int r = 0; r < vectors; ++r) x[r] = load(in, data.element(first + r * threads));
      for (int r = 0; r < vectors; ++r) move(x[r], first + r * threads);
    } else if (results::change_places && rounds == 1 && tile + threads <= data.vectors) {
      move(load(in, data.element(first)), first);
    } else {
      for (int r = 0; r < rounds; ++r) {
        if (first + r * threads >= data.vectors) break;
        const std::int64_t i = data.element(first + r * threads);
        store(in, load(in, i), out, i);
      }
    }
    if (own < n) out[own] = block::access<In>::value(in, at_edge, 0);
    if constexpr (most > threads)
      for (std::int64_t e = threads + block.thread(); block.index() == 0 && edge(e) < n; e += threads)
        out[edge(e)] = in[edge(e)];
  }

private:
  PMPP_HOST_DEVICE static block::raw_items<In, Items> load(const In& in, std::int64_t i) {
    if constexpr (Anywhere)
      return block::access_anywhere<In>::template load<Items>(in, i);
    else
      return block::access<In>::template load<Items>(in, i);
  }
  PMPP_HOST_DEVICE static block::layout<Items> layout_inside(std::int64_t n, std::int64_t lead) {
    block::layout<Items> data(n, min(lead + Items, n));
    data.vectors = max(std::int64_t(0), data.vectors - 1);
    return data;
  }
  PMPP_HOST_DEVICE static auto results_of(const In& in, const block::raw_items<In, Items>& x) {
    typename results::vector y;
    for (int k = 0; k < Items; ++k) y.item[k] = block::access<In>::value(in, x, k);
    return y;
  }
  PMPP_HOST_DEVICE static void store(const In& in, const block::raw_items<In, Items>& x, const Out& out,
                                     std::int64_t i) {
    if constexpr (Items == 1)
      out[i] = block::access<In>::value(in, x, 0);
    else
      block::access<Out>::template store<Items>(out, i, results_of(in, x));
  }
  /// A warp stores the vectors that its lanes hold, word by word.
  template <class Block>
  PMPP_HOST_DEVICE static void store_row(Block& block, slot* slots, const In& in, const block::raw_items<In, Items>& x,
                                         const Out& out, const block::layout<Items>& data, std::int64_t vector) {
    slot* const row = slots + block.warp() * simt::warp_size;
    row[block.lane()].out = results_of(in, x);
    block.sync_warp();
    for (int r = 0; r < results::words; ++r) {
      const int word = r * simt::warp_size + block.lane(), v = word / results::words;
      block::store_word<Items>(out, data.element(vector - block.lane() + v), row[v].out, word % results::words);
    }
    block.sync_warp();
  }
};

template <class In, class Out, int Items, bool Anywhere, transform_tuning Tuning>
struct transform_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tuning.threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, In in, item_count count, Out out, std::int64_t lead,
                                   int rounds) const {
    transform_tile<In, Out, Items, Anywhere, Tuning>::run(block, nullptr, in, count, out, lead, rounds);
  }
};
template <class In, class Out, int Items, bool Anywhere, transform_tuning Tuning>
requires transform_results<Out, Items>::change_places struct transform_kernel<In, Out, Items, Anywhere, Tuning> {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tuning.threads;
  using tile = transform_tile<In, Out, Items, Anywhere, Tuning>;
  struct shared {
    typename tile::slot slots[threads];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, In in, item_count count, Out out, std::int64_t lead,
                                   int rounds) const {
    tile::run(block, memory.slots, in, count, out, lead, rounds);
  }
};

/// Rounds of each block where there is something to do for `tiles`: one wave of blocks makes as few as it can, more at most `most`.
template <class P>
int rounds_of(const P& where, std::int64_t tiles, int most) {
  return static_cast<int>(
      min(std::int64_t(most), ceil_div(tiles, std::int64_t(8) * machine_of(where).multiprocessors)));
}

/// Each thread calls f of elements `threads` apart, of whole tiles with nothing in between, so that the next ones are asked for before
/// f has written the first. `before`: elements that a line has in front of the first one. Warps begin at lines: two that shared one, and
/// wrote it by turns, took 1.3 times as long on an H200.
template <class It, class F, transform_tuning Tuning>
struct for_each_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tuning.threads;
  static constexpr int most_rounds = pieces_in_flight<sizeof(value_of<It>)>;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, It first, item_count count, std::int64_t before, int rounds,
                                   const F& f) const {
    simt::previous_kernels_done();
    const std::int64_t n = count.get(), tile = block.index() * threads * rounds - before;
    std::int64_t i = tile + block.thread();
    if (rounds == most_rounds && tile >= 0 && tile + threads * most_rounds <= n) {
      const It own = first + i;
      unrolled<most_rounds>([&](int r) { f(own[r * threads]); });
    } else {
      for (int r = 0; r < rounds && i < n; ++r, i += threads)
        if (i >= 0) f(first[i]);
    }
  }
};

/// Writes in[i] to out[i]: the one loop under transform, fill and iota.
template <transform_tuning Tuning, class P, class Given, class Target>
void copy_elements(const P& where, const input<Given>& given, const Target& given_out) {
  const auto in = with_stored(given);
  const auto out = with_stored(given_out);
  using In = std::remove_const_t<decltype(in.first)>;
  using Out = std::remove_const_t<decltype(out)>;
  const std::int64_t n = in.count.bound;
  if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t i = 0, end = in.count.get(); i < end; ++i) out[i] = in.first[i];
  } else if constexpr (std::is_same_v<P, host_policy>) {
    host_loop::parallel_ranges(where, in.count.get(), [&](std::int64_t begin, std::int64_t end) {
      const In source = in.first;  // copies of its own: a store of bytes might change the captured ones
      const Out target = out;
      for (std::int64_t i = begin; i < end; ++i) target[i] = source[i];
    });
  } else if (n > 0) {
    detail::check_reachable(where, "transform", zip_iterator{in.first, out});
    const auto run = [&](auto items, auto anywhere, std::int64_t lead) {
      if (const std::int64_t to_line = block::lead_to_line(out); to_line > lead && (to_line - lead) % items == 0)
        lead = to_line;
      constexpr int vectors = vectors_of<In, Out, items, Tuning>;
      const std::int64_t tiles = ceil_div(n, std::int64_t(items) * Tuning.threads);
      // Blocks of a multiprocessor: of wide vectors, where a thread has several in registers, there are few.
      constexpr int resident = sizeof(block::raw_items<In, decltype(items)::value>) <= 32 ? 8 : anywhere ? 2 : 3;
      const int rounds = tiles >= std::int64_t(vectors) * resident * machine_of(where).multiprocessors ? vectors : 1;
      pmpp::launch(where, ceil_div(tiles, std::int64_t(rounds)), transform_kernel<In, Out, items, anywhere, Tuning>{},
                   in.first, in.count, out, lead, rounds);
    };
    using both = block::access<zip_iterator<In, Out>>;
    // To an output that is written element by element lanes write neighbours: of vectors each store would be 32 places apart.
    constexpr bool one_by_one = both::items > 1 && block::access<Out>::items == 0;
    constexpr std::integral_constant<int, both::items == 0 ? 4 : one_by_one ? 1 : both::items> wide{};
    const std::int64_t lead = both::template lead<wide>(zip_iterator{in.first, out});
    if constexpr (!both::always && !one_by_one) {
      constexpr bool anywhere =
          block::access_anywhere<In>::possible && block::access_anywhere<zip_iterator<In, Out>>::pays;
      if constexpr (anywhere)
        if (const std::int64_t of_out = block::access<Out>::template lead<wide>(out); lead < 0 && of_out >= 0)
          return run(wide, std::true_type{}, of_out);
      if constexpr (!anywhere || !block::access<Out>::always)
        if (lead < 0) return run(std::integral_constant<int, 1>{}, std::false_type{}, 0);
    }
    run(wide, std::false_type{}, lead);
  }
}

template <transform_tuning Tuning, class P, class In, class Out, class F>
auto transform_input(const char* function, const P& where, const input<In>& in, Out&& out, F f) {
  check_output(function, "out", out, in.count.bound);
  const auto first = begin_of(out);
  auto target = unwrap(first);
  detail::check_overlap(function, in, target);
  using T = value_of<decltype(target)>;
  if constexpr (require_writable<decltype(target)>() && require_marked<gpu_execution<P>, F>() &&
                require_function<T, F, value_of<In>>())
    copy_elements<Tuning>(where, mapped<T>(in, f), target);
  return first + in.count.bound;
}

template <class T>
struct steps {
  T start, step;
  PMPP_HOST_DEVICE T operator()(std::int64_t i) const { return static_cast<T>(start + static_cast<T>(i) * step); }
};

}  // namespace detail

/// Calls f(r[i]) for every element, in no particular order; f may change the element.
///
/// \param first,last  two iterators, or an iterator and a device_count, or a range r in their place; visible to `where`.
/// \param f  callable on `where`'s machine; its result is ignored.
/// \return the iterator past the last element (past the upper bound for a device_count).
/// Asynchronous on a GPU; no allocation; may be captured. Cost: what f reads and writes; one launch.
/// \throws std::invalid_argument for a null or reversed input; cuda_error. Source: PMPP ch. 2. Example:
/// test/transform.cpp, for_each.
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, random_access It, end_of<It> End,
          class F>
It for_each(const P& where, It first, End last, F f) {
  const auto in = detail::input_of<true>("for_each", first, last);
  const std::int64_t n = in.count.bound;
  if constexpr (!(detail::require_marked<gpu_execution<P>, F>() && detail::require_function<void, F, value_of<It>>())) {
    return first;
  } else if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t i = 0, end = in.count.get(); i < end; ++i) f(in.first[i]);
  } else if constexpr (std::is_same_v<P, host_policy>) {
    host_loop::parallel_ranges(where, in.count.get(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) f(in.first[i]);
    });
  } else if (n > 0) {
    detail::check_reachable(where, "for_each", in.first);
    using iterator = std::remove_const_t<decltype(in.first)>;
    const std::int64_t lead = block::lead_to_line(in.first),
                       before = lead > 0 ? std::int64_t(128 / sizeof(value_of<iterator>)) - lead : 0,
                       tiles = ceil_div(n + before, std::int64_t(Tuning.threads));
    using kernel = detail::for_each_kernel<iterator, F, Tuning>;
    const int rounds = detail::rounds_of(where, tiles, kernel::most_rounds);
    pmpp::launch(where, ceil_div(tiles, std::int64_t(rounds)), kernel{}, in.first, in.count, before, rounds, f);
  }
  return first + n;
}
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, range_for<P> R, class F>
auto for_each(const P& where, R&& r, F f) {
  return for_each<Tuning>(where, std::begin(r), std::end(r), f);
}

/// Writes f(r[i]) to out[i], converted to out's element type.
///
/// \param first,last  two iterators, or an iterator and a device_count, or a range r in their place; visible to `where`.
/// \param out  an iterator, or a range with room for as many elements; visible to `where`.
/// \param f    callable on `where`'s machine.
/// \return the iterator past the last element written (past the upper bound for a device_count).
/// In place is allowed (out begins where r begins); other overlaps are not. Asynchronous on a GPU; no allocation; may
/// be captured. Cost: n elements read, n written; one launch. \throws std::invalid_argument for a null or reversed
/// input, std::length_error if out is too short; cuda_error. Source: PMPP ch. 2. Example: test/transform.cpp, saxpy.
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, random_access It, end_of<It> End,
          output O, class F>
auto transform(const P& where, It first, End last, O&& out, F f) {
  return detail::transform_input<Tuning>("transform", where, detail::input_of("transform", first, last), out, f);
}
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class F>
auto transform(const P& where, R&& r, O&& out, F f) {
  return detail::transform_input<Tuning>("transform", where, detail::input_of("transform", r), out, f);
}

/// Writes f(r1[i], r2[i]) to out[i]. As transform above; the second input is an iterator, or a range as long as the first.
/// Cost: n elements of each input read, n written; one launch.
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, range_for<P> R, output_for<P> R2,
          output_for<P> O, class F>
auto transform(const P& where, R&& r, R2&& r2, O&& out, F f) {
  return detail::transform_input<Tuning>("transform", where, detail::zipped("transform", r, r2), out,
                                         detail::apply_to_pair<F>{f});
}
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, random_access It, end_of<It> End,
          output_for<P> R2, output_for<P> O, class F>
requires reachable_by<It, P>
auto transform(const P& where, It first, End last, R2&& r2, O&& out, F f) {
  return transform<Tuning>(where, subrange{first, last}, r2, out, f);
}

/// Sets every element to `value`.
///
/// \param first,last  two iterators, or a range in their place; visible to `where`.
/// \return the iterator past the last element.
/// Asynchronous on a GPU; no allocation; may be captured. Cost: n elements written; one launch.
/// \throws as transform. Example: test/transform.cpp, fill and iota.
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, random_access It, end_of<It> End>
It fill(const P& where, It first, End last, const std::type_identity_t<value_of<It>>& value) {
  detail::require_writable<It>();
  const auto in = detail::input_of<true>("fill", first, last);
  using source = constant_iterator<value_of<It>>;
  detail::copy_elements<Tuning>(where, detail::input<source>{source(value), in.count}, in.first);
  return first + in.count.bound;
}
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, range_for<P> R>
auto fill(const P& where, R&& r, const std::type_identity_t<value_of<decltype(std::begin(r))>>& value) {
  return fill<Tuning>(where, std::begin(r), std::end(r), value);
}

/// Sets element i to start + i, or to start + i * step.
///
/// \param first,last  two iterators, or a range in their place; visible to `where`.
/// \return the iterator past the last element.
/// Asynchronous on a GPU; no allocation; may be captured. Cost: n elements written; one launch.
/// \throws as transform. Example: test/transform.cpp, fill and iota.
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, random_access It, end_of<It> End>
It iota(const P& where, It first, End last, std::type_identity_t<value_of<It>> start) {
  detail::require_writable<It>();
  const auto in = detail::input_of<true>("iota", first, last);
  using source = counting_iterator<value_of<It>>;
  detail::copy_elements<Tuning>(where, detail::input<source>{source(start), in.count}, in.first);
  return first + in.count.bound;
}
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, range_for<P> R>
auto iota(const P& where, R&& r, std::type_identity_t<value_of<decltype(std::begin(r))>> start) {
  return iota<Tuning>(where, std::begin(r), std::end(r), start);
}

template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, random_access It, end_of<It> End>
It iota(const P& where, It first, End last, std::type_identity_t<value_of<It>> start,
        std::type_identity_t<value_of<It>> step) {
  detail::require_writable<It>();
  using T = value_of<It>;
  using places = counting_iterator<std::int64_t>;
  const auto in = detail::input_of<true>("iota", first, last);
  detail::copy_elements<Tuning>(
      where, detail::mapped<T>(detail::input<places>{places(0), in.count}, detail::steps<T>{start, step}), in.first);
  return first + in.count.bound;
}
template <transform_tuning Tuning = tuned<transform_tuning>, execution_policy P, range_for<P> R>
auto iota(const P& where, R&& r, std::type_identity_t<value_of<decltype(std::begin(r))>> start,
          std::type_identity_t<value_of<decltype(std::begin(r))>> step) {
  return iota<Tuning>(where, std::begin(r), std::end(r), start, step);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
