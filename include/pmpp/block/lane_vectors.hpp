// SPDX-License-Identifier: Apache-2.0
//
// Vectors of a warp in shared memory that lanes copy in rows and then work on thread by thread.
//
//   lane        0  0  0  -  1  1  1  -  2  2  2  -  ...   31 31 31  -     three vectors of a lane, then a gap
//
// Adjacent vectors of a lane lie one after the other and take an odd number of words with the gap: then lanes that read
// their own ones at once find them in different banks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Vectors of a thread in a tile, `most` at most, with which each block gets as many tiles of its `share` of them. Odd, or more than 4:
/// an odd number, which needs no gaps.
inline int vectors_of_tile(std::int64_t share, int most, bool odd = false) {
  const auto vectors = static_cast<int>(ceil_div(share, ceil_div(share, std::int64_t(most))));
  return odd || vectors > 4 ? min(most, vectors | 1) : vectors;
}

template <class T>
struct lane_vectors {
  using type = T;
  /// An odd number of vectors needs no gap.
  static constexpr bool narrow = sizeof(T) <= 16 && is_power_of_two(sizeof(T));
  std::byte* bytes;  ///< of lane 0
  int count;         ///< of a lane
  int after_32 = 0;  ///< bytes after each 32 lanes that are not theirs: lanes are counted through such groups
  unsigned reciprocal = reciprocal_of(count);

  /// A division takes as long as 20 additions: where the host knows the count it makes this, too.
  PMPP_HOST_DEVICE static constexpr unsigned reciprocal_of(int count) {
    return (1u << 20) / static_cast<unsigned>(count) + 1;
  }

  PMPP_HOST_DEVICE static constexpr int bytes_of_lane(int count) {
    constexpr int word = max(greatest_common_divisor(16, int(sizeof(T))), int(alignof(T)));
    return (count * int(sizeof(T)) / word | 1) * word;
  }
  /// All as one array of U, if they are: no gaps, and nothing beside a U in a T.
  template <class U>
  PMPP_HOST_DEVICE const U* adjacent() const {
    return narrow && sizeof(U) == sizeof(T) && count % 2 != 0 && after_32 == 0 ? reinterpret_cast<const U*>(bytes)
                                                                               : nullptr;
  }
  /// Vector j of a lane.
  PMPP_HOST_DEVICE T& at(int lane, int j) const {
    return *reinterpret_cast<T*>(bytes + lane * bytes_of_lane(count) + lane / simt::warp_size * after_32 +
                                 j * int(sizeof(T)));
  }
  /// Vector v of all: what load_async asks for.
  PMPP_HOST_DEVICE T& operator[](int v) const {
    if constexpr (narrow)
      if (count % 2 != 0 && after_32 == 0) return reinterpret_cast<T*>(bytes)[v];
    const auto lane = static_cast<int>(static_cast<unsigned>(v) * reciprocal >> 20);  // v / count below 2^20 / count
    const int gap = bytes_of_lane(count) - count * int(sizeof(T));                    // after a lane's
    return *reinterpret_cast<T*>(bytes + v * int(sizeof(T)) + lane * gap + lane / simt::warp_size * after_32);
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::block
