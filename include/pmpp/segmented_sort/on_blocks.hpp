// SPDX-License-Identifier: Apache-2.0
//
// segmented_sort on a GPU: how windows are cut, and which kernels run.
#pragma once

#include <cstdint>

#include <pmpp/block/merge.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/segmented_sort/merge_segments.hpp>
#include <pmpp/segmented_sort/passes.hpp>
#include <pmpp/segmented_sort/sort_windows.hpp>
#include <pmpp/segmented_sort/tuning.hpp>
#include <pmpp/segmented_sort/windows.hpp>
#include <pmpp/sort/homes.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// The window of a short input: as many as there are multiprocessors, or twice as many, ..., until those that have to do with
/// one at a time have half of a tile each or a multiprocessor has room for no more. Then they may fill the tile almost.
inline std::int64_t short_window(std::int64_t n, std::int64_t tile, int processors, int of_processor) {
  for (int blocks = 1;; ++blocks) {
    const std::int64_t window = ceil_div(n, std::int64_t(blocks) * processors);
    if (window <= (blocks < of_processor ? tile / 2 : tile - tile / 64)) return max(window, tile / 8);
  }
}

/// Enqueues the sort on a GPU or runs it in the emulator: from `in` to `data`, which may be the same. Of a short input each
/// block finds out what it sorts, and all wait for each other between passes: one launch. False: blocks have too little memory.
template <segmented_sort_tuning Tuning, bool Short, class T, class P, class In, class Data, class Offsets, class Comp>
bool sort_windows(const P& where, const In& in, const Data& data, std::int64_t n, const input<Offsets>& offsets,
                  const Comp& comp) {
  using home = second_home<T>;
  using Other = typename home::iterator;
  using sort_kernel = sort_windows_kernel<T, In, Data, Other, Offsets, Comp, Tuning.windows, Short>;
  using merge_kernel = merge_segments_kernel<T, Data, Other, Comp, Tuning.merges, sort_kernel::tile>;
  static_assert(
      sizeof(typename sort_kernel::shared) <= 227 * 1024 && sizeof(typename merge_kernel::shared) <= 227 * 1024,
      "pmpp: elements of more than about 450 bytes cannot be sorted");
  const machine& m = machine_of(where);
  if (!all_fit<sort_kernel>(m) || (!Short && !all_fit<merge_kernel>(m))) return false;
  segment_cut cut{sort_kernel::tile, sort_kernel::tile - sort_kernel::tile / 8, Short ? 2 : 4};
  const std::int64_t resident = resident_blocks<sort_kernel>(m);
  if constexpr (Short)
    cut.window = short_window(n, cut.tile, m.multiprocessors, static_cast<int>(resident / m.multiprocessors));
  const bool passes = cut.passes(n) > 0;
  const std::int64_t windows = ceil_div(n, cut.window), others = passes ? n : 0;
  const std::int64_t plans = Short && !passes ? 0 : windows,
                     slots = Short || !passes ? 0 : ceil_div(n, merge_kernel::slot);
  scratch memory(where,
                 scratch_bytes({home::bytes(others), checked_bytes(plans, sizeof(window_plan), "segmented_sort"),
                                checked_bytes(Short ? 0 : windows, sizeof(segment_place), "segmented_sort"),
                                checked_bytes(slots, sizeof(typename merge_kernel::slot_content), "segmented_sort")}),
                 passes ? checked_bytes(Short ? windows : 3, sizeof(unsigned), "segmented_sort") : 0);
  const Other other = home::of(memory, others);
  window_plan* const planned = memory.take<window_plan>(plans);
  const merge_arguments<Data, Other, Comp> merging{block::staged_input<Data>(data, n),
                                                   block::staged_input<Other>(other, n),
                                                   cut,
                                                   memory.take<segment_place>(Short ? 0 : windows),
                                                   memory.state(),
                                                   comp};
  const typename sort_kernel::arguments sorting{in, {offsets.first, offsets.count, cut}, windows, planned, merging};
  if constexpr (Short) {
    if (passes)
      detail::launch_together_at_most(where, min(windows, resident), sort_kernel{}, sorting);
    else
      pmpp::launch(where, windows, sort_kernel{}, sorting);
  } else {
    using plan_kernel = plan_windows_kernel<Offsets>;
    launch(where, ceil_div(windows, std::int64_t(plan_kernel::windows)), plan_kernel{},
           typename plan_kernel::arguments{sorting.planner, windows, planned, merging.large});
    pmpp::launch(where, windows, sort_kernel{}, sorting);
    if (passes)
      detail::launch_together_at_most(
          where, min(slots, resident_blocks<merge_kernel>(m)), merge_kernel{},
          typename merge_kernel::arguments{merging, slots, memory.take<typename merge_kernel::slot_content>(slots)});
  }
  return true;
}

template <segmented_sort_tuning Tuning, class T, class P, class In, class Data, class Offsets, class Comp>
void segmented_sort_on_blocks(const P& where, const In& in, const Data& data, std::int64_t n,
                              const input<Offsets>& offsets, const Comp& comp) {
  if (n <= Tuning.short_limit && sort_windows<Tuning.for_short(), true, T>(where, in, data, n, offsets, comp)) return;
  if (sort_windows<Tuning, false, T>(where, in, data, n, offsets, comp)) return;
  using Other = typename second_home<T>::iterator;
  using kernel = sort_windows_kernel<T, In, Data, Other, Offsets, Comp, Tuning.windows, false>;
  if constexpr (!fit_everywhere<P, kernel>)
    if (sort_windows<Tuning.least(), false, T>(where, in, data, n, offsets, comp)) return;
  refuse_elements("segmented_sort", sizeof(T), sizeof(typename kernel::shared), machine_of(where));
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
