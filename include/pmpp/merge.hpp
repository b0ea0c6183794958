// SPDX-License-Identifier: Apache-2.0
//
// Merging two sorted sequences into one: merge, merge_by_key.
//
//   1. The result is cut into tiles, one for each block. About where they begin in both inputs (core/co_rank.hpp) a small
//      kernel finds; in short merges each block by itself.
//   2. A block merges its tile in shared memory (block/merge_tiles.hpp).
//
// Work n, one search for each tile; traffic n elements read, n written; two launches and 8 bytes of scratch a tile, or
// one launch without scratch for short merges. Stable: of equal elements those of a come first, and both keep their
// order. The result is unique, so it is the same on every run. Inputs and output may begin at any address; a misaligned
// one moves in smaller words. (PMPP ch. 12; Odeh, Green, Mwassi, Shmueli and Birk, Merge Path, 2012.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge_tiles.hpp>
#include <pmpp/check_each.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/projected.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct merge_tuning {
  int threads =
      256;          ///< of a block; fewer for elements of more than 800 bytes. H200, 2 * 10^8 u32: 405 us, with 512 440
  int bytes = 132;  ///< of elements that a thread merges, at most: 33 of 4 bytes, 15 of 8, 11 of 12
  int resident = 1536;        ///< threads that merge on a multiprocessor at a time
  int waves = 2;              ///< up to this many of blocks find by themselves where their tiles begin
  int lanes = 8;              ///< that find where a tile of a long merge begins
  int pair_bytes = 100;       ///< as `bytes`, of keys with values of up to 8 bytes together, which move one by one: 11
  int wide_pair_bytes = 196;  ///< of up to 16: 11 of 16. H200, 1.5 * 10^8 u32 with u64: 1179 us, with 132 bytes 1229
  // Values of so many bytes or more, up to 64, follow when it is known where their keys go. Of these keys:
  int following = 8;
  int key_bytes = 100, most_keys = 15;  ///< as `bytes`, but no more than so many: 15 of 4 bytes, 11 of 8
  int key_resident = 1024;              ///< as `resident`
};

namespace detail {

/// Elements of a thread, an odd number.
template <merge_tuning Tuning>
constexpr int merge_items(int bytes) {
  return max(1, (Tuning.bytes / max(4, bytes) - 1) | 1);
}

/// Threads of a block: as many as a tile of such elements leaves room for.
template <merge_tuning Tuning>
constexpr int merge_threads(int bytes) {
  int threads = Tuning.threads;
  while (threads > simt::warp_size && threads * merge_items<Tuning>(bytes) * bytes > 200 * 1024) threads /= 2;
  return threads;
}

/// Shrinks: smaller blocks may be launched where the machine has no room for all threads.
template <class T, class Task, class Comp, merge_tuning Tuning, bool Shrinks>
struct merge_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int items = merge_items<Tuning>(sizeof(T)), threads = merge_threads<Tuning>(sizeof(T));
  using shared = block::merge_tile_memory<T, threads, items, Shrinks, Task::Values::exist>;
  // What fits into 227 KB, each with the kilobyte that the system takes.
  static constexpr int min_blocks =
      min(32, max(1, min(block::resident_threads(Tuning.resident, items* int(sizeof(T))) / threads,
                         227 * 1024 / int(sizeof(shared) + 1024))));

  static constexpr std::size_t shared_bytes(int block_threads) requires Shrinks {
    return shared::bytes_for(block_threads);
  }
  struct arguments {
    Task task;
    item_count count_a, count_b;
    const std::int64_t* cuts;  ///< about how many elements of a lie in front of each tile; null: blocks find out
    Comp comp;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    Task task = a.task;
    if (a.count_a.pointer != nullptr) task.a.count = a.count_a.get();
    if (a.count_b.pointer != nullptr) task.b.count = a.count_b.get();
    const std::int64_t tile = std::int64_t(block.threads()) * items, begin = block.index() * tile;
    if (begin < task.count())
      block::merge_tile(block, memory, task, begin, min(task.count(), begin + tile),
                        a.cuts == nullptr ? nullptr : a.cuts + block.index(), a.comp);
  }
};

/// Finds about where tiles begin, some lanes each. What such searches cost is what they read that is in no cache.
template <int Grain, int Lanes, class A, class B, class Comp>
struct cut_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 128, cuts_of_block = threads / Lanes;

  struct arguments {
    A a;
    B b;
    item_count count_a, count_b;
    std::int64_t tile, tiles;
    Comp comp;
    std::int64_t* cuts;  ///< of tiles 0 ... tiles
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t count_a = a.count_a.get(), count_b = a.count_b.get();
    const std::int64_t tile = block.index() * cuts_of_block + block.thread() / Lanes;
    const std::int64_t cut = block::rough_co_rank<Grain, Lanes>(block, min(tile * a.tile, count_a + count_b), a.a,
                                                                count_a, a.b, count_b, a.comp);
    if (block.thread() % Lanes == 0 && tile <= a.tiles) a.cuts[tile] = cut;
  }
};

/// The tuning of keys with values.
template <merge_tuning Tuning>
constexpr merge_tuning pair_tuning(int bytes) {
  merge_tuning tuning = Tuning;
  if (bytes <= 8)
    tuning.bytes = min(Tuning.bytes, Tuning.pair_bytes);
  else if (bytes <= 16)
    tuning.bytes = Tuning.wide_pair_bytes;
  return tuning;
}

/// The tuning of keys whose values follow them.
template <merge_tuning Tuning>
constexpr merge_tuning following_tuning(int key_bytes) {
  merge_tuning tuning = Tuning;
  tuning.bytes = min(min(Tuning.bytes, Tuning.key_bytes), Tuning.most_keys * max(4, key_bytes));
  tuning.resident = min(Tuning.resident, Tuning.key_resident);
  return tuning;
}
/// Compares pairs by what comes first.
template <class Comp>
struct by_first {
  Comp comp;
  template <class Pair>
  requires requires(const Comp& c, const Pair& x) { c(x.first, x.first); }
  PMPP_HOST_DEVICE bool operator()(const Pair& x, const Pair& y) const {
    return static_cast<bool>(comp(x.first, y.first));
  }
};
template <class Comp>
inline constexpr bool is_opaque<by_first<Comp>> = is_opaque<Comp>;
template <class Comp>
inline constexpr bool is_unmarked_lambda<by_first<Comp>> = is_unmarked_lambda<Comp>;

/// Whether values follow their keys: they are wide, and both inputs arrays of keys and of values.
template <merge_tuning Tuning, class A, class B, class Out, class Comp>
inline constexpr bool values_follow = false;
template <merge_tuning Tuning, class KA, class VA, class KB, class VB, class KOut, class VOut, class Comp>
inline constexpr bool
    values_follow<Tuning, zip_iterator<KA*, VA*>, zip_iterator<KB*, VB*>, zip_iterator<KOut, VOut>, by_first<Comp>> =
        std::is_same_v<const VA, const VB>&& int(sizeof(VA)) >= Tuning.following &&
        sizeof(VA) <= 64 && is_held<value_of<zip_iterator<KA*, VA*>>>&& std::is_trivially_copyable_v<VA>;

/// Enqueues the merge on a GPU or runs it in the emulator.
template <merge_tuning Tuning, class P, class A, class B, class Out, class Comp, class Values = block::no_values>
void merge_on_blocks(const char* function, const P& where, const input<A>& a, const input<B>& b, const Out& out,
                     const Comp& comp, const Values& values = {}) {
  using T = value_of<A>;
  using task = block::merge_task<A, B, Out, Values>;
  constexpr bool shrinks = !fit_everywhere<P, merge_kernel<T, task, Comp, Tuning, false>>;
  using kernel = merge_kernel<T, task, Comp, Tuning, shrinks>;
  static_assert(std::is_trivially_copyable_v<T>, "pmpp: merged elements must be trivially copyable");
  static_assert(sizeof(typename kernel::shared) <= 227 * 1024,
                "pmpp: elements of more than about 1 KB cannot be merged");
  if (a.count.bound + b.count.bound == 0) return;
  detail::check_reachable(where, function, zip_iterator{a.first, zip_iterator{b.first, out}});
  const std::int64_t n = a.count.bound + b.count.bound;
  const task merged{block::staged_input<A>(a.first, a.count.bound), block::staged_input<B>(b.first, b.count.bound), out,
                    values};
  // A few waves of blocks find by themselves where their tiles begin, at the cost of a wait.
  const machine& m = machine_of(where);
  const std::int64_t wave = std::int64_t(kernel::min_blocks) * m.multiprocessors * kernel::threads * kernel::items;
  const bool is_short = all_fit<kernel>(m) && n <= min(std::int64_t(1) << 30, Tuning.waves * wave);
  const int threads = threads_that_fit<kernel>(function, sizeof(T), m, kernel::threads);
  const std::int64_t tile = std::int64_t(threads) * kernel::items, tiles = ceil_div(n, tile);
  scratch memory(where, is_short ? 0 : checked_bytes(tiles + 1, sizeof(std::int64_t), function), 0);
  std::int64_t* const cuts = is_short ? nullptr : memory.take<std::int64_t>(tiles + 1);
  using cut = cut_kernel<kernel::shared::grain, Tuning.lanes, A, B, Comp>;
  if (!is_short)
    pmpp::launch(where, ceil_div(tiles + 1, std::int64_t(cut::cuts_of_block)), cut{},
                 typename cut::arguments{a.first, b.first, a.count, b.count, tile, tiles, comp, cuts});
  pmpp::launch(where, tiles, threads, kernel{}, typename kernel::arguments{merged, a.count, b.count, cuts, comp});
}

/// One of two elements without a branch, which would be mispredicted half of the time.
template <class T>
T chosen(bool second, const T& x, const T& y) {
  if constexpr (std::is_arithmetic_v<T>) {
    return second ? y : x;
  } else {
    const auto a = std::uintptr_t(pmpp::bytes_of(x)), b = std::uintptr_t(pmpp::bytes_of(y));
    return *reinterpret_cast<const T*>(a ^ ((a ^ b) & (std::uintptr_t(0) - std::uintptr_t(second))));
  }
}

/// Writes elements [begin, end) of the merge. Without end checks and branches as long as neither input can end.
template <class A, class B, class Out, class Comp>
void merge_elements(const A& a, std::int64_t count_a, const B& b, std::int64_t count_b, std::int64_t begin,
                    std::int64_t end, const Out& out, const Comp& comp) {
  using T = value_of<A>;
  std::int64_t i = co_rank(begin, a, count_a, b, count_b, comp), j = begin - i, at = begin;
  while (at < end && i < count_a && j < count_b) {
    const std::int64_t safe = min(end - at, min(count_a - i, count_b - j)), sum = i + j;
    for (std::int64_t k = 0; k < safe; ++k) {
      const auto& x = a[sum + k - j];
      const auto& y = b[j];
      const bool take_b = static_cast<bool>(comp(y, x));
      if constexpr (std::is_same_v<decltype(x), decltype(y)>)
        block::assign(out, at + k, chosen(take_b, x, y));
      else
        block::assign(out, at + k, take_b ? T(y) : T(x));
      j += std::int64_t(take_b);
    }
    at += safe;
    i = sum + safe - j;
  }
  for (; at < end && i < count_a; ++at) block::assign(out, at, T(a[i++]));
  for (; at < end; ++at) block::assign(out, at, T(b[j++]));
}

/// seq: one loop. host: tasks of a fixed number of results.
template <class P, class A, class B, class Out, class Comp>
void merge_on_host(const P& where, const input<A>& a, const input<B>& b, const Out& out, const Comp& comp) {
  const std::int64_t count_a = a.count.get(), count_b = b.count.get();
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    merge_elements(a.first, count_a, b.first, count_b, begin, end, out, comp);
  };
  if constexpr (std::is_same_v<P, seq_policy>)
    part(0, count_a + count_b);
  else
    host_loop::parallel_ranges(where, count_a + count_b, part);
}

template <merge_tuning Tuning, class P, class A, class B, class Out, class Comp>
void merge_inputs(const char* function, const P& where, const input<A>& a, const input<B>& b, const Out& out,
                  const Comp& given) {
  const auto comp = ordered_by<gpu_execution<P>, value_of<A>>(given);
  check_sorted(where, a, b, comp);
  if constexpr (kernel_execution<P> && values_follow<Tuning, A, B, Out, std::remove_const_t<decltype(comp)>>) {
    const auto keys = with_stored(out.a);
    const auto values = with_stored(out.b);
    detail::check_reachable(where, function, zip_iterator{a.first.b, zip_iterator{b.first.b, values}});
    constexpr merge_tuning tuning = following_tuning<Tuning>(sizeof(*a.first.a));
    merge_on_blocks<tuning>(
        function, where, input<std::remove_const_t<decltype(a.first.a)>>{a.first.a, a.count},
        input<std::remove_const_t<decltype(b.first.a)>>{b.first.a, b.count}, keys, comp.comp,
        block::following_values<value_of<decltype(a.first.b)>, std::remove_const_t<decltype(values)>>{
            a.first.b, b.first.b, values});
  } else if constexpr (kernel_execution<P>)
    merge_on_blocks<Tuning>(function, where, with_stored(a), with_stored(b), with_stored(out), comp);
  else
    detail::merge_on_host(where, with_stored(a), with_stored(b), with_stored(out), comp);
}

/// Keys with their values: a range that is long enough, or an iterator.
template <bool Written = false, class Keys, class Values>
auto pairs_of(const char* function, Keys& keys, Values& values) {
  const auto k = detail::input_of<Written>(function, keys);
  detail::check_room(function, "the values", values, k.count.bound);
  const auto v = detail::input_of<Written>(function, detail::begin_of(values), k.count.bound);
  using iterator = zip_iterator<std::remove_const_t<decltype(k.first)>, std::remove_const_t<decltype(v.first)>>;
  return input<iterator>{iterator(k.first, v.first), k.count};
}

}  // namespace detail

/// Merges two sorted sequences into one: out has all elements of a and b, sorted.
///
/// \param a, b  ranges (or two iterators each, or an iterator and a device_count each); visible to `where`; b's elements
///              become elements of a's type before they are compared. \pre sorted by comp, b as it is then; checked in debug
///              mode.
/// \param out   an iterator, or a range with room for all elements; visible to `where`.
/// \param comp  a strict weak order; called as comp(element of b, element of a). Where it contradicts itself (NaN under
///              less) elements may be missing or come twice, but nothing else is read or written.
/// \param proj  a projection (core/projected.hpp), as &T::member: elements are in the order of what it gives.
/// \return the iterator past the last element written (past the upper bounds for a device_count).
/// Stable: of equal elements those of a come first. out must not overlap a or b. Elements are trivially copyable, up to about
/// 1 KB. Asynchronous on a GPU; may be captured. Scratch: 8 bytes a tile (8,448 elements of 4 bytes) of a long merge, from
/// the workspace or one allocation in stream order; none for a short one.
/// Cost: both inputs read once, the output written once; one or two launches.
/// \throws std::invalid_argument for a null or reversed input or overlap, std::length_error if out is too short; cuda_error.
/// Source: PMPP ch. 12; Odeh, Green, Mwassi, Shmueli and Birk, Merge Path, 2012. Example: test/merge.cpp, merge.
template <merge_tuning Tuning = tuned<merge_tuning>, execution_policy P, range_for<P> A, range_for<P> B,
          output_for<P> O, class Comp = less, class Proj = identity>
auto merge(const P& where, A&& a, B&& b, O&& out, Comp comp = {}, Proj proj = {}) {
  const auto in_a = detail::input_of("merge", a);
  const auto in_b = detail::converted<element_value<A>>(detail::input_of("merge", b));
  const std::int64_t n = in_a.count.bound + in_b.count.bound;
  detail::check_output("merge", "out", out, n, in_a, in_b);
  const auto first = detail::begin_of(out);
  detail::merge_inputs<Tuning>("merge", where, in_a, in_b, detail::unwrap(first),
                               detail::order_by<element_value<A>>(comp, proj));
  return first + n;
}

/// Merges keys as merge does, and moves the value of each key along with it.
///
/// \param keys_a, keys_b      as a and b of merge.
/// \param values_a, values_b  iterators, or ranges as long as their keys; visible to `where`.
/// \param keys_out, values_out  iterators, or ranges with room for all; visible to `where`; none may overlap an input.
/// \return the iterators past the last key and value written, as a pair.
/// \throws as merge; std::length_error if values are fewer than their keys. Example: test/merge.cpp, merge_by_key.
template <merge_tuning Tuning = tuned<merge_tuning>, execution_policy P, range_for<P> KA, output_for<P> VA,
          range_for<P> KB, output_for<P> VB, output_for<P> KOut, output_for<P> VOut, class Comp = less,
          class Proj = identity>
auto merge_by_key(const P& where, KA&& keys_a, VA&& values_a, KB&& keys_b, VB&& values_b, KOut&& keys_out,
                  VOut&& values_out, Comp comp = {}, Proj proj = {}) {
  const char* const function = "merge_by_key";
  const auto a = detail::pairs_of(function, keys_a, values_a);
  using T = value_of<std::remove_const_t<decltype(a.first)>>;
  const auto b = detail::converted<T>(detail::pairs_of(function, keys_b, values_b));
  const std::int64_t n = a.count.bound + b.count.bound;
  detail::check_output(function, "keys_out", keys_out, n, a, b);
  detail::check_output(function, "values_out", values_out, n, a, b);
  const auto first_key = detail::begin_of(keys_out);
  const auto first_value = detail::begin_of(values_out);
  constexpr merge_tuning tuning = detail::pair_tuning<Tuning>(sizeof(T));
  const auto order = detail::order_by<element_value<KA>>(comp, proj);
  detail::merge_inputs<tuning>(function, where, a, b,
                               zip_iterator{detail::unwrap(first_key), detail::unwrap(first_value)},
                               detail::by_first<std::remove_const_t<decltype(order)>>{order});
  return pair<std::remove_const_t<decltype(first_key)>, std::remove_const_t<decltype(first_value)>>{first_key + n,
                                                                                                    first_value + n};
}

// The same for two iterators, or an iterator and a device_count, for each input.
// clang-format off
template <merge_tuning Tuning = tuned<merge_tuning>, execution_policy P, random_access A, end_of<A> EndA, random_access B, end_of<B> EndB, output O, class Comp = less, class Proj = identity>
auto merge(const P& where, A a, EndA end_a, B b, EndB end_b, O&& out, Comp comp = {}, Proj proj = {}) { return merge<Tuning>(where, subrange{a, end_a}, subrange{b, end_b}, out, comp, proj); }

template <merge_tuning Tuning = tuned<merge_tuning>, execution_policy P, random_access KA, end_of<KA> EndA, output VA, random_access KB, end_of<KB> EndB, output VB, output KOut, output VOut, class Comp = less, class Proj = identity>
auto merge_by_key(const P& where, KA keys_a, EndA end_a, VA&& values_a, KB keys_b, EndB end_b, VB&& values_b, KOut&& keys_out, VOut&& values_out, Comp comp = {}, Proj proj = {}) { return merge_by_key<Tuning>(where, subrange{keys_a, end_a}, values_a, subrange{keys_b, end_b}, values_b, keys_out, values_out, comp, proj); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
