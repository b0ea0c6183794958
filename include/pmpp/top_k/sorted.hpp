// SPDX-License-Identifier: Apache-2.0
//
// The k first of elements that are no numbers, or by a comparator of the program's own: a sorted copy, and what comes first in it.
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
#include <pmpp/sort.hpp>
#include <pmpp/top_keys/rows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Takes the first k elements of each row from a sorted copy of the array.
template <class T, class Rows, class Values, class Indices>
struct take_sorted_kernel {
  static constexpr int threads = 256;
  struct arguments {
    Rows rows;
    const T* sorted;
    const std::int64_t* places;
    std::int64_t k;
    Values values;
    Indices indices;
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    const std::int64_t all = a.rows.size() * a.k;
    for (std::int64_t i = block.index() * threads + block.thread(); i < all; i += block.count() * threads) {
      const std::int64_t row = i / a.k, begin = a.rows.begin(row), from = begin + i % a.k;
      if (from >= a.rows.end(row)) continue;
      block::assign(a.values, i, a.sorted[from]);
      block::assign(a.indices, i, a.places[from] - begin);
    }
  }
};

/// Sorts a copy of elements with their places, each row by itself, with `sort(from, to)`, and takes what comes first.
template <class T, class P, class In, class Rows, class Values, class Indices, class Sort>
void take_from_sorted(const P& where, const In& in, std::int64_t n, const Rows& rows, std::int64_t most_rows,
                      std::int64_t k, const Values& values, const Indices& indices, Sort sort) {
  scratch memory(
      where, scratch_bytes({checked_bytes(n, sizeof(T), "top_k"), checked_bytes(n, sizeof(std::int64_t), "top_k")}), 0);
  T* const sorted = memory.take<T>(n);
  std::int64_t* const places = memory.take<std::int64_t>(n);
  sort(zip_iterator{in, counting_iterator<std::int64_t>(0)}, zip_iterator{sorted, places});
  using kernel = take_sorted_kernel<T, Rows, Values, Indices>;
  const std::int64_t blocks =
      min(ceil_div(most_rows * k, std::int64_t(kernel::threads)), std::int64_t(32) * machine_of(where).multiprocessors);
  pmpp::launch(where, blocks, kernel{}, typename kernel::arguments{rows, sorted, places, k, values, indices});
}

template <class T, class P, class In, class Values, class Indices, class Comp>
void top_k_by_sorting(const P& where, const input<In>& in, std::int64_t k, const Values& values, const Indices& indices,
                      const Comp& comp) {
  const std::int64_t n = in.count.bound;
  detail::take_from_sorted<T>(where, in.first, n, equal_rows{in.count, n, 1}, 1, k, values, indices,
                              [&](const auto& from, const auto& to) {
                                detail::sort_elements<sort_tuning{}, pair<T, std::int64_t>>(
                                    "top_k", where, from, to, in.count, by_first<Comp>{comp});
                              });
}

template <class T, class P, class In, class Offsets, class Values, class Indices, class Comp>
void segmented_top_k_by_sorting(const P& where, const In& in, std::int64_t n, const input<Offsets>& offsets,
                                std::int64_t k, const Values& values, const Indices& indices, const Comp& comp) {
  const auto order = detail::merging_order<T>(comp);
  using Order = std::remove_const_t<decltype(order)>;
  detail::take_from_sorted<T>(where, in, n, offset_rows<Offsets>{offsets.first, offsets.count}, offsets.count.bound - 1,
                              k, values, indices, [&](const auto& from, const auto& to) {
                                detail::segmented_sort_on_blocks<segmented_sort_tuning{}, pair<T, std::int64_t>>(
                                    where, from, to, item_count{n}, offsets, by_first<Order>{order});
                              });
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
