// SPDX-License-Identifier: Apache-2.0
//
// histogram_even over several ranks: each rank counts its block, the counts of all ranks are gathered and added up. (PMPP ch. 9.)
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

}  // namespace detail

/// Counts the elements of x in bins of equal width between lower and upper, as histogram_even on one device; on every process.
///
/// \param counts  a range of the host of 4- or 8-byte integers, as many as there are bins; overwritten.
/// Waits. Cost: n elements read; each rank sends its counts to all others (all in one process: to one rank).
/// \throws as histogram_even on one device; std::invalid_argument if x lies on other devices; communication_error.
/// Example: test/distributed.cpp, histogram.
template <class P, class C, class T, contiguous_data Counts, class L>
void histogram_even(const devices<P, C>& gpus, const distributed_buffer<T>& x, Counts&& counts, L lower,
                    std::type_identity_t<L> upper) {
  detail::require_on("histogram_even", "x", gpus, x);
  using K = element_of<std::remove_reference_t<Counts>>;
  const auto bins = static_cast<std::int64_t>(std::size(counts));
  const auto group = gpus.group();
  // Row r of each array is for the counts of rank r, its own first where only one rank gets all of them.
  const auto rows = detail::arrays_of<K>(*group, [&](int) { return gpus.size() * bins; });
  const auto own = [&](int i) { return rows[std::size_t(i)].data() + gpus.rank(i) * bins; };
  gpus.each([&](int i, const P& where) {
    pmpp::histogram_even(where, x.part(i), std::span<K>(own(i), static_cast<std::size_t>(bins)), lower, upper);
  });
  const std::size_t bytes = static_cast<std::size_t>(bins) * sizeof(K);
  gpus.together([&](int i, C& link, stream_handle s) {
    if (!gpus.all_here()) return pmpp::all_gather(link, own(i), rows[std::size_t(i)].data(), bytes, s);
    if (i != 0) return link.send(own(i), bytes, 0, s);
    for (int r = 1; r < gpus.size(); ++r) link.receive(rows[0].data() + r * bins, bytes, r, s);
  });
  gpus.each([&](int i, const P& where) {
    if (i != 0) return;
    pmpp::for_each(where, counting_iterator<std::int64_t>(0), counting_iterator<std::int64_t>(bins),
                   detail::add_rows<K>{rows[0].data(), bins, gpus.size()});
    detail::copy_on_rank(group->places[0], std::data(counts), rows[0].data(), bytes);
  });
  gpus.synchronize(0);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
