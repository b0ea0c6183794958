// SPDX-License-Identifier: Apache-2.0
//
// The merge path: where a merge can be cut. The stable merge of two sorted sequences is a path through a grid, one step
// right for an element of a, one step down for an element of b; the first d elements of the result end where the path
// meets diagonal d. Its co-rank i says how many of them come from a; d - i come from b. Whoever knows the co-ranks of
// both ends of a part of the result can merge that part alone.
// (PMPP ch. 12; Odeh, Green, Mwassi, Shmueli and Birk, Merge Path, 2012.)
#pragma once

#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// How many of the first `diagonal` elements of the merge of a and b are elements of a.
///
/// \param diagonal  0 ... a_count + b_count, of any signed integer type, which also counts the elements.
/// \param a, b      anything that can be indexed; sorted by comp. For elements that are equal those of a come first.
/// \param comp      a strict weak order: comp(x, y) says that x must precede y. Called as comp(element of b, element of
///                  a). One that contradicts itself gives some number in [diagonal - b_count, a_count].
/// Runs on host and device. Cost: log2(min(diagonal, a_count, b_count)) + 1 comparisons. Source: PMPP ch. 12.
/// Example: test/merge.cpp, co_rank.
template <class Index, class A, class B, class Comp>
PMPP_HOST_DEVICE constexpr Index co_rank(Index diagonal, const A& a, std::type_identity_t<Index> a_count, const B& b,
                                         std::type_identity_t<Index> b_count, const Comp& comp) {
  static_assert(std::is_signed_v<Index>, "pmpp::co_rank: count in a signed integer type");
  Index low = diagonal > b_count ? diagonal - b_count : 0;
  Index high = min(diagonal, a_count);
  while (low < high) {
    const Index middle = low + static_cast<Index>(static_cast<std::make_unsigned_t<Index>>(high - low) / 2);
    if (comp(b[diagonal - 1 - middle], a[middle]))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace pmpp::inline PMPP_BACKEND
