// SPDX-License-Identifier: Apache-2.0
//
// The k first of a sorted copy: of elements that are no numbers, or by a comparator of the program's own; and of one row of numbers
// where all of it, or k, is so short that a sort in one launch takes less time than a selection.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/top_keys/kernels.hpp>
#include <pmpp/top_keys/rows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Takes the first k elements of each row from a sorted copy of the array.
template <class T, class Places, class Rows, class Values, class Indices>
struct take_sorted_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256;
  struct arguments {
    Rows rows;
    const T* sorted;
    Places places;
    std::int64_t k;
    Values values;
    Indices indices;
  };
  PMPP_HOST_DEVICE void operator()(auto& block, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t all = a.rows.size() * a.k;
    for (std::int64_t i = block.index() * threads + block.thread(); i < all; i += block.count() * threads) {
      const std::int64_t row = all >> 32 == 0 ? std::uint32_t(i) / std::uint32_t(a.k) : i / a.k;
      const std::int64_t begin = a.rows.begin(row), from = begin + i - row * a.k;
      if (from >= a.rows.end(row)) continue;
      block::assign(a.values, i, a.sorted[from]);
      block::assign(a.indices, i, a.places[from] - begin);
    }
  }
};

template <class T, class P, class Rows, class Places, class Values, class Indices>
void take_sorted(const P& where, const Rows& rows, std::int64_t most_rows, const T* sorted, const Places& places,
                 std::int64_t k, const Values& values, const Indices& indices) {
  using kernel = take_sorted_kernel<T, Places, Rows, Values, Indices>;
  const std::int64_t blocks =
      min(ceil_div(most_rows * k, std::int64_t(kernel::threads)), std::int64_t(32) * machine_of(where).multiprocessors);
  pmpp::launch(where, blocks, kernel{}, typename kernel::arguments{rows, sorted, places, k, values, indices});
}

/// Sorts a copy of elements with their places, each row by itself, by `sort(from, to)`, and takes what comes first. False: it cannot.
template <class T, class Place, class P, class In, class Rows, class Values, class Indices, class Sort>
bool take_from_sorted(const P& where, const In& in, std::int64_t n, const Rows& rows, std::int64_t most_rows,
                      std::int64_t k, const Values& values, const Indices& indices, Sort sort) {
  scratch memory(where, scratch_bytes({checked_bytes(n, sizeof(T), "top_k"), checked_bytes(n, sizeof(Place), "top_k")}),
                 0);
  T* const sorted = memory.take<T>(n);
  Place* const places = memory.take<Place>(n);
  if (!sort(zip_iterator{in, counting_iterator<Place>(0)}, zip_iterator{sorted, places})) return false;
  detail::take_sorted(where, rows, most_rows, sorted, static_cast<const Place*>(places), k, values, indices);
  return true;
}

template <class T, class P, class In, class Values, class Indices, class Comp>
void top_k_by_sorting(const P& where, const input<In>& in, std::int64_t k, const Values& values, const Indices& indices,
                      const Comp& comp) {
  const std::int64_t n = in.count.bound;
  detail::take_from_sorted<T, std::int64_t>(where, in.first, n, equal_rows{in.count, n, 1}, 1, k, values, indices,
                                            [&](const auto& from, const auto& to) {
                                              detail::sort_elements<sort_tuning{}, pair<T, std::int64_t>>(
                                                  "top_k", where, from, to, in.count, by_first<Comp>{comp});
                                              return true;
                                            });
}

/// The same without places. Numbers, of which a selection of more than a block has room for would take longer.
template <class T, class P, class In, class Values, class Comp>
void take_from_sorted_keys(const char* function, const P& where, const input<In>& in, std::int64_t k,
                           const Values& values, const Comp& comp) {
  const std::int64_t n = in.count.bound;
  scratch memory(where, checked_bytes(n, sizeof(T), function), 0);
  T* const sorted = memory.take<T>(n);
  detail::sort_elements<sort_tuning{}, T>(function, where, in.first, sorted, in.count, comp);
  detail::take_sorted(where, equal_rows{in.count, n, 1}, 1, static_cast<const T*>(sorted),
                      counting_iterator<std::int64_t>(0), k, values, discard_iterator{});
}

/// Takes what a sort puts at the first k places, and lets the rest go.
template <class Values, class Indices>
struct write_first_places {
  std::int64_t k;
  Values values;
  Indices indices;
  PMPP_HOST_DEVICE void operator()(std::int64_t i, const auto& x) const {
    if (i >= k) return;
    block::assign(values, i, x.first);
    block::assign(indices, i, x.second);
  }
};

/// A row of numbers with this code that a sort in one launch takes less time for than a selection. False: it does not, or cannot.
template <top_k_tuning Tuning, class Code, class P, class In, class Values, class Indices>
bool top_k_by_one_sort(const P& where, const input<In>& in, std::int64_t k, const Values& values,
                       const Indices& indices) {
  using T = typename Code::key;
  using element = pair<T, std::int32_t>;
  constexpr sort_tuning tuning{.together = {.items = 12}};  // a third less to compile than with 26
  constexpr top_k_sorting sorting = Tuning.sorting;
  constexpr std::int64_t least = 64, longer = sorting.bytes / std::int64_t(sizeof(T));
  const std::int64_t n = in.count.bound, most = k <= sorting.few    ? sorting.row
                                                : k <= sorting.many ? longer
                                                                    : 2 * longer;
  if (k == 1 || n <= least || n > most) return false;
  const key_bits all{0, Code::width};
  const auto first_places = tabulate_output<element>(write_first_places<Values, Indices>{k, values, indices});
  if (detail::sort_by_comparing<element, tuning.compare_all_limit>(
          where, zip_iterator{in.first, counting_iterator<std::int32_t>(0)}, first_places, in.count,
          compare_codes<element, Code>{code_less<Code>(all).mask}))
    return true;
  return radix_sorts_together<tuning.together, T, std::int32_t>(machine_of(where), n) &&
         detail::take_from_sorted<T, std::int32_t>(
             where, in.first, n, equal_rows{in.count, n, 1}, 1, k, values, indices,
             [&](const auto& from, const auto& to) {
               return radix_sort_together<tuning.together, Code, std::int32_t, element>(where, from, to, in.count, all);
             });
}

template <class T, class P, class In, class Offsets, class Values, class Indices, class Comp>
void segmented_top_k_by_sorting(const P& where, const In& in, std::int64_t n, const input<Offsets>& offsets,
                                std::int64_t k, const Values& values, const Indices& indices, const Comp& comp) {
  const auto order = detail::merging_order<T>(comp);
  using Order = std::remove_const_t<decltype(order)>;
  detail::take_from_sorted<T, std::int64_t>(
      where, in, n, offset_rows<Offsets>{offsets.first, offsets.count}, offsets.count.bound - 1, k, values, indices,
      [&](const auto& from, const auto& to) {
        detail::segmented_sort_on_blocks<segmented_sort_tuning{}, pair<T, std::int64_t>>(
            where, from, to, item_count{n}, offsets, by_first<Order>{order});
        return true;
      });
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
