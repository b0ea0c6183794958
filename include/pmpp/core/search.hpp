// SPDX-License-Identifier: Apache-2.0
//
// Binary search by one thread, of the host or the device. (By a warp: block/search.hpp.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// The first place of [low, high) that is not `before`, for a predicate that is true up to some place and false from there
/// on; `high` if it is true everywhere. Cost: log2(high - low) + 1 calls of `before`, one after the other.
#if defined(__NVCC__)
#pragma nv_exec_check_disable  // `before` may be the host's
#endif
template <class Index, class Before>
PMPP_HOST_DEVICE Index partition_point(Index low, std::type_identity_t<Index> high, Before before) {
  while (low < high) {
    const Index i = low + (high - low) / 2;
    if (before(i))
      low = i + 1;
    else
      high = i;
  }
  return low;
}

/// A walk over the elements and the ends of segments, each end right after its last element: how many ends lie on its
/// first `step` steps. For the host. (Merge path: Odeh, Green et al., 2012; Merrill and Garland, Merge-based SpMV, 2016.)
template <class Offsets>
std::int64_t ends_before(const Offsets& offsets, std::int64_t segments, std::int64_t step) {
  const auto origin = static_cast<std::int64_t>(offsets[0]);
  return detail::partition_point(std::int64_t(0), segments, [&](std::int64_t s) {
    return static_cast<std::int64_t>(offsets[s + 1]) - origin + s + 1 <= step;
  });
}

}  // namespace pmpp::inline PMPP_BACKEND::detail
