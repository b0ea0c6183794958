// SPDX-License-Identifier: Apache-2.0
//
// Stream compaction: keeps some elements of a range, in order. copy_if, remove_if, copy_flagged, unique_copy,
// partition_copy.
//
//   1. A block goes through tiles by ticket, two in shared memory at a time (block/tile_pipeline.hpp), and loads them in
//      rows of vectors (block/vector_rows.hpp). Each element is read once and judged once.
//   2. A lane counts what it keeps of some rows of vectors. The counts share a word, a byte or two each, so that one scan
//      of that word ranks all their elements (block/scan.hpp). What a warp keeps moves to the front of its part of the
//      tile, in shared memory.
//   3. One warp publishes how many the tile keeps, and collects how many those before have kept (block/look_back.hpp).
//   4. Each warp copies what it has kept to the output, in whole lines. The tile that is last writes the count.
//
//      tile      a b C d E F g h    kept: C E F      rank  0 1 2      output position = kept before the tile + rank
//
// Work n; traffic n * sizeof(T) read, the kept elements written; one barrier a tile; one launch. Stable. A tile writes
// only in front of its own end, and only after all tiles before it have read their elements: in place is allowed.
// (PMPP ch. 11, exercise on compaction; Merrill and Garland, 2016; Billeter, Olsson and Assarsson, 2009.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/look_back.hpp>
#include <pmpp/block/vector_rows.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/projected.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/selection.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/select.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/select/keep.hpp>
#include <pmpp/select/kernel.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Enqueues the selection on a GPU or runs it in the emulator.
template <select_tuning Tuning, class P, class In, class Out, class OutFalse, class Sink, class Select>
void select_on_blocks(const char* function, const P& where, const input<In>& in, Out out, OutFalse out_false, Sink sink,
                      const Select& select, const completion& done) {
  detail::check_reachable(where, function, zip_iterator{in.first, out});
  if constexpr (is_second_and_rest<OutFalse>)
    detail::check_reachable(where, function, zip_iterator{out_false.second, out_false.rest});
  else if constexpr (!std::is_same_v<OutFalse, nowhere>)
    detail::check_reachable(where, function, out_false);
  const auto enqueue = [&](auto tuning, auto items, std::int64_t lead) {
    using kernel = select_kernel<In, Select, Out, OutFalse, Sink, items, decltype(tuning)::value>;
    using look_back = block::look_back<typename kernel::count_of_tiles>;
    using found_type = typename kernel::counts_of::found;
    // Short inputs are cut into smaller tiles, one for each multiprocessor.
    const machine& on = machine_of(where);
    const std::int64_t most_blocks = std::int64_t(tuning().blocks) * on.multiprocessors;
    const auto room = std::int64_t(on.shared_per_block) - std::int64_t(sizeof(typename kernel::shared));
    const std::int64_t vectors = block::ordered_layout<items>(in.count.bound, lead).vectors;
    const std::int64_t share = max(std::int64_t(1), ceil_div(vectors, kernel::workers * most_blocks));
    const std::int64_t most_rows =
        max<std::int64_t>(1, min<std::int64_t>(kernel::most_rows, room / std::int64_t(kernel::plan::row_bytes)));
    const std::int64_t rows = ceil_div(share, ceil_div(share, most_rows));  // as many in each tile of a block
    const typename kernel::plan p(in.count.bound, lead, static_cast<int>(rows));
    const std::int64_t linked = p.tiles == 1 ? 0 : p.tiles;
    const std::size_t payload = linked == 0 ? 0 : scratch_bytes({look_back::payload_bytes(linked)});
    const bool waits = linked > 0 && in.count.pointer != nullptr;
    scratch memory(where, payload + (waits ? sizeof(found_type) : 0), linked == 0 ? 0 : look_back::state_bytes(linked));
    auto* const data = static_cast<std::byte*>(memory.data());
    auto* const found = waits ? reinterpret_cast<found_type*>(data + payload) : nullptr;
    launch_kernel<kernel::threads>(
        where, grid{min<std::int64_t>(p.tiles, most_blocks), kernel::threads, p.shared_bytes()}, kernel{},
        typename kernel::arguments{in.first, out, out_false, sink, in.count, p, lead, select,
                                   detail::may_overlap(in.first, out, in.count.bound), found,
                                   look_back(memory.state(), data, p.tiles), done});
  };
  block::with_rows(in.first, [&](auto items, std::int64_t lead) {
    // Computed elements may be much wider than what they are made of: such vectors would not fit shared memory.
    using single = std::integral_constant<int, 1>;
    // Two structs of 16 bytes took 14 % longer than one on an H200.
    constexpr bool fits = loads_by_rows<In> || (items * sizeof(value_of<In>) <= 128 &&
                                                !(items == 2 && sizeof(value_of<In>) == 16 && !is_zip<In>));
    // Of three kinds no more than four: a lane deals with one element after the other, and short inputs fill more blocks.
    constexpr int all = decltype(items)::value;
    using most = std::integral_constant<int, is_second_and_rest<OutFalse> ? min(all, 4) : all>;
    using width = std::conditional_t<fits, most, single>;
    constexpr auto bytes_of = [](auto tuning) {
      using kernel = select_kernel<In, Select, Out, OutFalse, Sink, width::value, decltype(tuning)::value>;
      return sizeof(typename kernel::shared) + kernel::plan::row_bytes;
    };
    with_fitting_tuning<select_tuning, Tuning, Tuning.least()>(
        function, sizeof(value_of<In>), where, bytes_of,
        [&](auto tuning) { enqueue(tuning, width{}, fits ? lead : 0); });
  });
}

/// Where an output starts, checked as far as it can be: how many elements will come is not known, but of some inputs, from
/// which it must be apart, at least one.
template <class O, class... Inputs>
auto unbounded_output(const char* function, const char* argument, O& out, std::int64_t n, const Inputs&... inputs) {
  auto first = detail::with_stored(detail::unwrap(begin_of(out)));
  detail::require_not_null(function, argument, first, n);
  (detail::check_apart(function, argument, first, 1, inputs), ...);
  return first;
}

template <select_tuning Tuning, class P, class In, class Out, class OutFalse, class Select>
selection select_and_wait(const char* function, const P& where, const input<In>& in, Out out, OutFalse out_false,
                          const Select& select) {
  if constexpr (!Select::template allowed<gpu_execution<P>, value_of<In>>()) {
    return {};
  } else if constexpr (kernel_execution<P>) {
    reply<selection, P> answer(function, where);
    select_on_blocks<Tuning>(function, answer.policy(), with_stored(in), out, out_false,
                             store_selection{answer.target()}, select, answer.done());
    return answer.wait();
  } else {
    return detail::select_on_host(where, with_stored(in), out, out_false, select);
  }
}

/// Leaves the number kept in *count_out, which is checked.
template <class P, class C>
auto count_sink(const char* function, [[maybe_unused]] const P& where, C& count_out) {
  check_output(function, "count_out", count_out, 1);
  const auto count = unwrap(begin_of(count_out));
  using sink = store_kept<std::remove_const_t<decltype(count)>>;
  static_assert(std::is_integral_v<value_of<decltype(sink::out)>>, "pmpp: count_out must take an integer");
  if constexpr (kernel_execution<P>) check_reachable(where, function, count);
  return sink{count};
}

/// Selects and leaves the number of elements kept in *count_out.
template <select_tuning Tuning, class P, class In, class Out, class OutFalse, class C, class Select>
void select_and_store(const char* function, const P& where, const input<In>& in, Out out, OutFalse out_false,
                      C& count_out, const Select& select) {
  [[maybe_unused]] const auto sink = count_sink(function, where, count_out);
  if constexpr (!Select::template allowed<gpu_execution<P>, value_of<In>>())
    return;
  else if constexpr (kernel_execution<P>)
    select_on_blocks<Tuning>(function, where, with_stored(in), out, out_false, sink, select, completion{});
  else
    sink(detail::select_on_host(where, with_stored(in), out, out_false, select));
}

template <select_tuning Tuning, class P, class In, class O, class Select>
auto select_to(const char* function, const P& where, const input<In>& in, O& out, const Select& select) {
  const auto target = unbounded_output(function, "out", out, in.count.bound);
  return begin_of(out) + select_and_wait<Tuning>(function, where, in, target, nowhere{}, select).kept;
}
template <select_tuning Tuning, class P, class In, class O, class C, class Select>
void select_into(const char* function, const P& where, const input<In>& in, O& out, C& count_out,
                 const Select& select) {
  const auto target = unbounded_output(function, "out", out, in.count.bound);
  select_and_store<Tuning>(function, where, in, target, nowhere{}, count_out, select);
}

}  // namespace detail

/// Copies the elements for which pred is true, in their order.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`. On kernels and host
///              elements are trivially copyable.
/// \param out   an iterator or a range; visible to `where`. \pre room for the kept elements: that is not checked, and
///              nothing after them is touched.
/// \param pred  callable on `where`'s machine; called once for each element, in no particular order.
/// \return the iterator past the last element written.
/// In place is allowed (out begins where r begins); other overlaps are not. The same result on every run. Waits for the
/// policy's stream; copy_if_into does not. No allocation once warm. Cost: n elements read, the kept ones written; one
/// launch. \throws std::invalid_argument for a null or reversed input, a null output, or when the stream is being
/// captured; cuda_error. Source: PMPP ch. 11. Example: test/select.cpp, copy_if.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
auto copy_if(const P& where, R&& r, O&& out, Pred pred) {
  return detail::select_to<Tuning>("copy_if", where, detail::input_of("copy_if", r), out,
                                   detail::keep_where<Pred, true>{pred});
}

/// As copy_if, but leaves the number of elements kept in *count_out and does not wait.
///
/// \param count_out  an iterator, or a range with room for one, of any integer type; visible to `where`. 0 for an empty
///                   range. It may be the pointer of a device_count, of r's own too.
/// Asynchronous on a GPU; may be captured. Scratch: 16 bytes of state a tile of 100 KB, from the workspace or one
/// allocation in stream order. \throws as copy_if; std::length_error if count_out is an empty range.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> C, class Pred>
void copy_if_into(const P& where, R&& r, O&& out, C&& count_out, Pred pred) {
  detail::select_into<Tuning>("copy_if_into", where, detail::input_of("copy_if_into", r), out, count_out,
                              detail::keep_where<Pred, true>{pred});
}

/// Copies the elements for which pred is false; as copy_if.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
auto remove_if(const P& where, R&& r, O&& out, Pred pred) {
  return detail::select_to<Tuning>("remove_if", where, detail::input_of("remove_if", r), out,
                                   detail::keep_where<Pred, false>{pred});
}
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> C, class Pred>
void remove_if_into(const P& where, R&& r, O&& out, C&& count_out, Pred pred) {
  detail::select_into<Tuning>("remove_if_into", where, detail::input_of("remove_if_into", r), out, count_out,
                              detail::keep_where<Pred, false>{pred});
}

/// Copies the elements whose flag is true; as copy_if.
///
/// \param flags  a range as long as r, or an iterator, over anything that converts to bool; visible to `where`.
/// \throws as copy_if; std::length_error if flags are a range that is shorter than r.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> F,
          output_for<P> O>
auto copy_flagged(const P& where, R&& r, F&& flags, O&& out) {
  return detail::select_to<Tuning>("copy_flagged", where, detail::zipped("copy_flagged", r, flags, "flags"), out,
                                   detail::keep_flagged{});
}
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> F,
          output_for<P> O, output_for<P> C>
void copy_flagged_into(const P& where, R&& r, F&& flags, O&& out, C&& count_out) {
  detail::select_into<Tuning>("copy_flagged_into", where, detail::zipped("copy_flagged_into", r, flags, "flags"), out,
                              count_out, detail::keep_flagged{});
}

/// Copies the first element of each run of equals; as copy_if.
///
/// \param eq  compares an element with the one in front of it: an equivalence. Called once for each element but the
///            first. A NaN equals nothing, so each one is kept.
/// \param proj  a projection (core/projected.hpp), as &T::member: eq compares what it gives.
/// In place is allowed, as for copy_if.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class Eq = equal_to, class Proj = identity>
auto unique_copy(const P& where, R&& r, O&& out, Eq eq = {}, Proj proj = {}) {
  const auto same = detail::order_by<element_value<R>>(eq, proj);
  return detail::select_to<Tuning>("unique_copy", where, detail::input_of("unique_copy", r), out,
                                   detail::keep_first<std::remove_const_t<decltype(same)>>{same});
}
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> C, class Eq = equal_to, class Proj = identity>
void unique_copy_into(const P& where, R&& r, O&& out, C&& count_out, Eq eq = {}, Proj proj = {}) {
  const auto same = detail::order_by<element_value<R>>(eq, proj);
  detail::select_into<Tuning>("unique_copy_into", where, detail::input_of("unique_copy_into", r), out, count_out,
                              detail::keep_first<std::remove_const_t<decltype(same)>>{same});
}

/// Copies the elements for which pred is true to out_true and the others to out_false, both in their order; as copy_if.
///
/// \return the iterators past the last elements written, as a pair.
/// out_true may begin where r begins; other overlaps are not allowed. Cost: n elements read, n written; one launch.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> OFalse, class Pred>
auto partition_copy(const P& where, R&& r, O&& out_true, OFalse&& out_false, Pred pred) {
  const auto in = detail::input_of("partition_copy", r);
  const auto yes = detail::unbounded_output("partition_copy", "out_true", out_true, in.count.bound);
  const auto no = detail::unbounded_output("partition_copy", "out_false", out_false, in.count.bound, in);
  const auto [kept, n] =
      detail::select_and_wait<Tuning>("partition_copy", where, in, yes, no, detail::keep_where<Pred, true>{pred});
  const auto end_true = detail::begin_of(out_true) + kept;
  const auto end_false = detail::begin_of(out_false) + (n - kept);
  return pair<std::remove_const_t<decltype(end_true)>, std::remove_const_t<decltype(end_false)>>{end_true, end_false};
}
/// count_out: the number of elements for which pred is true.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> OFalse, output_for<P> C, class Pred>
void partition_copy_into(const P& where, R&& r, O&& out_true, OFalse&& out_false, C&& count_out, Pred pred) {
  const char* const function = "partition_copy_into";
  const auto in = detail::input_of(function, r);
  const auto yes = detail::unbounded_output(function, "out_true", out_true, in.count.bound);
  const auto no = detail::unbounded_output(function, "out_false", out_false, in.count.bound, in);
  detail::select_and_store<Tuning>(function, where, in, yes, no, count_out, detail::keep_where<Pred, true>{pred});
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Pred>
auto copy_if(const P& where, It first, End last, O&& out, Pred pred) { return copy_if<Tuning>(where, subrange{first, last}, out, pred); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output C, class Pred>
void copy_if_into(const P& where, It first, End last, O&& out, C&& count_out, Pred pred) { copy_if_into<Tuning>(where, subrange{first, last}, out, count_out, pred); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Pred>
auto remove_if(const P& where, It first, End last, O&& out, Pred pred) { return remove_if<Tuning>(where, subrange{first, last}, out, pred); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output C, class Pred>
void remove_if_into(const P& where, It first, End last, O&& out, C&& count_out, Pred pred) { remove_if_into<Tuning>(where, subrange{first, last}, out, count_out, pred); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output F, output O>
auto copy_flagged(const P& where, It first, End last, F&& flags, O&& out) { return copy_flagged<Tuning>(where, subrange{first, last}, flags, out); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output F, output O, output C>
void copy_flagged_into(const P& where, It first, End last, F&& flags, O&& out, C&& count_out) { copy_flagged_into<Tuning>(where, subrange{first, last}, flags, out, count_out); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Eq = equal_to, class Proj = identity>
auto unique_copy(const P& where, It first, End last, O&& out, Eq eq = {}, Proj proj = {}) { return unique_copy<Tuning>(where, subrange{first, last}, out, eq, proj); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output C, class Eq = equal_to, class Proj = identity>
void unique_copy_into(const P& where, It first, End last, O&& out, C&& count_out, Eq eq = {}, Proj proj = {}) { unique_copy_into<Tuning>(where, subrange{first, last}, out, count_out, eq, proj); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output OFalse, class Pred>
auto partition_copy(const P& where, It first, End last, O&& out_true, OFalse&& out_false, Pred pred) { return partition_copy<Tuning>(where, subrange{first, last}, out_true, out_false, pred); }
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output OFalse, output C, class Pred>
void partition_copy_into(const P& where, It first, End last, O&& out_true, OFalse&& out_false, C&& count_out, Pred pred) { partition_copy_into<Tuning>(where, subrange{first, last}, out_true, out_false, count_out, pred); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
