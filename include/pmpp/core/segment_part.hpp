// SPDX-License-Identifier: Apache-2.0
//
// What adjacent elements of segments come to: how many heads they have, which are the first elements of segments, and what
// those from the last head on combine to. Joining two neighbours is associative if the operator is; operands stay in order.
// (Segmented scan by pairs of flag and value: Schwartz, 1980; Blelloch, 1990. PMPP ch. 11.)
#pragma once

#include <cstdint>
#include <cstring>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

template <class A>
struct segment_part {
  A value{};             ///< of the elements from the last head on; of all, without a head
  unsigned heads = 0;    ///< their number
  bool present = false;  ///< there is a value
};
template <class A, class Op>
struct join_parts {
  Op op;
#if defined(__NVCC__)
#pragma nv_exec_check_disable  // `op` may be the host's
#endif
  PMPP_HOST_DEVICE segment_part<A> operator()(const segment_part<A>& left, const segment_part<A>& right) const {
    if (right.heads != 0 || !left.present) return {right.value, left.heads + right.heads, right.present};
    if (!right.present) return left;
    return {static_cast<A>(op(left.value, right.value)), left.heads, true};
  }
};

/// A part that has a value, in words: so it fits 12 bytes where it can, which blocks publish in one access
/// (block/tile_state.hpp). Count: an unsigned type that holds the number of heads.
template <class A, class Count>
struct packed_part {
  std::uint32_t value_words[(sizeof(A) + 3) / 4], head_words[sizeof(Count) / 4];

  PMPP_HOST_DEVICE static packed_part of(const A& value, std::uint64_t heads) {
    packed_part p{};
    const auto count = static_cast<Count>(heads);
    memcpy(p.value_words, pmpp::bytes_of(value), sizeof(A));
    memcpy(p.head_words, &count, sizeof(Count));
    return p;
  }
  PMPP_HOST_DEVICE A value() const {
    A a;
    memcpy(pmpp::bytes_of(a), value_words, sizeof(A));
    return a;
  }
  PMPP_HOST_DEVICE std::uint64_t heads() const {
    Count c;
    memcpy(&c, head_words, sizeof(Count));
    return c;
  }
};
/// CountHeads: else only whether there are heads is kept.
template <class Packed, class Op, bool CountHeads>
struct join_packed {
  Op op;
  PMPP_HOST_DEVICE Packed operator()(const Packed& left, const Packed& right) const {
    const std::uint64_t l = left.heads(), r = right.heads();
    using A = decltype(left.value());
    return Packed::of(r != 0 ? right.value() : static_cast<A>(op(left.value(), right.value())),
                      CountHeads ? l + r : l | r);
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail
