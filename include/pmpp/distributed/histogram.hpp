// SPDX-License-Identifier: Apache-2.0
//
// histogram_even and histogram_range over several ranks: each rank counts its block, the counts of all ranks are gathered and added
// up. (PMPP ch. 9.)
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/same_call.hpp>
#include <pmpp/histogram.hpp>
#include <pmpp/transform.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Adds row r of counts to row 0.
template <class T>
struct add_rows {
  T* counts;
  std::int64_t bins;
  int rows;
  PMPP_HOST_DEVICE void operator()(std::int64_t bin) const {
    T sum = counts[bin];
    for (int r = 1; r < rows; ++r) sum = static_cast<T>(sum + counts[r * bins + bin]);
    counts[bin] = sum;
  }
};

/// count(where, number of a rank here, its counts) for each rank; the sums to `counts`, on every process. Waits.
template <class P, class C, class Counts, class Count>
void histogram_of_ranks(const devices<P, C>& gpus, Counts& counts, Count count) {
  using K = element_of<std::remove_reference_t<Counts>>;
  const auto bins = static_cast<std::int64_t>(std::size(counts));
  const auto group = gpus.group();
  // Row r of each array is for the counts of rank r, its own first where only one rank gets all of them.
  const auto rows = detail::arrays_of<K>(*group, [&](int) { return gpus.size() * bins; });
  const auto own = [&](int i) { return rows[std::size_t(i)].data() + gpus.rank(i) * bins; };
  gpus.each([&](int i, const P& where) { count(where, i, std::span<K>(own(i), static_cast<std::size_t>(bins))); });
  const std::size_t bytes = static_cast<std::size_t>(bins) * sizeof(K);
  if (constexpr std::int64_t few = 1 << 16;
      gpus.all_here() && gpus.size() * bins <= few) {  // the host adds them up sooner
    std::vector<K> all(static_cast<std::size_t>(gpus.size() * bins));
    for (int i = 0; i < gpus.size(); ++i)
      detail::copy_on_rank(group->places[std::size_t(i)], all.data() + gpus.rank(i) * bins, own(i), bytes);
    gpus.synchronize();
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      add_rows<K>{all.data(), bins, gpus.size()}(bin);
      std::data(counts)[bin] = all[static_cast<std::size_t>(bin)];
    }
    return;
  }
  gpus.together([&](int i, C& link, stream_handle s) {
    if (!gpus.all_here()) return pmpp::all_gather(link, own(i), rows[std::size_t(i)].data(), bytes, s);
    if (i != 0) return link.send(own(i), bytes, 0, s);
    for (int r = 1; r < gpus.size(); ++r) link.receive(rows[0].data() + r * bins, bytes, r, s);
  });
  gpus.each([&](int i, const P& where) {
    if (i != 0) return;
    pmpp::for_each(where, counting_iterator<std::int64_t>(0), counting_iterator<std::int64_t>(bins),
                   add_rows<K>{rows[0].data(), bins, gpus.size()});
    detail::copy_to_host(gpus, 0, std::data(counts), rows[0].data(), bytes);
  });
  gpus.synchronize(0);
}

}  // namespace detail

/// Counts the elements of x in bins of equal width between lower and upper, as histogram_even on one device; on every process.
///
/// \param counts  a range of the host of 4- or 8-byte integers, as many as there are bins; overwritten.
/// Waits. Cost: n elements read; each rank sends its counts to all others (all in one process: to the host, of many bins to one rank).
/// \throws as histogram_even on one device; std::invalid_argument if x lies on other devices; communication_error.
/// Example: test/distributed.cpp, histogram.
template <class P, class C, class T, contiguous_data Counts, class L>
void histogram_even(const devices<P, C>& gpus, const distributed_buffer<T>& x, Counts&& counts, L lower,
                    std::type_identity_t<L> upper) {
  detail::require_on("histogram_even", "x", gpus, x);
  detail::require_same_call<T, L>(gpus, "histogram_even", {x.size(), std::int64_t(std::size(counts))});
  detail::histogram_of_ranks(gpus, counts, [&](const P& where, int i, auto mine) {
    pmpp::histogram_even(where, x.part(i), mine, lower, upper);
  });
}

/// Counts the elements of x in bins between levels, as histogram_range on one device; on every process.
///
/// \param levels  a range of the host, of one more element than counts has; ascending; the same on every process.
/// As histogram_even otherwise; each rank gets a copy of the levels. \throws also std::length_error for another number of levels.
/// Example: test/distributed_verbs.cpp, bins between levels.
template <class P, class C, class T, contiguous_data Counts, contiguous_data Levels>
void histogram_range(const devices<P, C>& gpus, const distributed_buffer<T>& x, Counts&& counts, const Levels& levels) {
  detail::require_on("histogram_range", "x", gpus, x);
  const auto source = detail::as_span(levels);
  using L = std::remove_cv_t<typename decltype(source)::element_type>;
  if (source.size() != std::size_t(std::size(counts)) + 1)
    detail::throw_length_error("pmpp::histogram_range: levels has " + detail::text::of(source.size()) +
                               " elements, must have one more than counts, which has " +
                               detail::text::of(std::size(counts)));
  detail::require_same_call<T, L>(gpus, "histogram_range", {x.size(), std::int64_t(std::size(counts))});
  const auto group = gpus.group();
  const auto copies = detail::arrays_of<L>(*group, [&](int) { return source.size(); });
  detail::histogram_of_ranks(gpus, counts, [&](const P& where, int i, auto mine) {
    const auto on_rank = copies[std::size_t(i)].span();
    detail::copy_on_rank(group->places[std::size_t(i)], on_rank.data(), source.data(), source.size_bytes());
    pmpp::histogram_range(where, x.part(i), mine, on_rank);
  });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
