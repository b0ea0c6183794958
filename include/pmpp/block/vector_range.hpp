// SPDX-License-Identifier: Apache-2.0
//
// A warp's share of a tile: consecutive vectors, the first and the last of which may lie partly outside of the data.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Consecutive vectors of an array: a warp's share of a tile. Inside: all their items exist, so nothing needs a check.
template <int Items, bool Inside>
struct vector_range {
  std::int64_t first;      ///< element that the first item of the first vector is
  int count;               ///< of vectors
  int begin = 0, end = 0;  ///< the items that exist

  PMPP_HOST_DEVICE vector_range(const ordered_layout<Items>& data, std::int64_t first_vector, int vectors)
      : first(data.element(first_vector)), count(vectors), end(vectors * Items) {
    if (Inside) return;
    begin = static_cast<int>(max(std::int64_t(0), -first));
    end = static_cast<int>(max(std::int64_t(0), min(data.n - first, std::int64_t(end))));
  }
  PMPP_HOST_DEVICE std::int64_t element(int v) const { return first + v * Items; }
  PMPP_HOST_DEVICE bool has(int v) const { return Inside || v * Items < end; }
  PMPP_HOST_DEVICE bool whole(int v) const { return Inside || (v * Items >= begin && (v + 1) * Items <= end); }
  PMPP_HOST_DEVICE int begin_of(int v) const { return max(0, begin - v * Items); }
  PMPP_HOST_DEVICE int end_of(int v) const { return min(Items, end - v * Items); }
  /// Calls f(k) for the items of vector v that exist.
  template <class F>
  PMPP_HOST_DEVICE void for_each_item(int v, F f) const {
    if (whole(v)) {
      for (int k = 0; k < Items; ++k) f(k);
    } else {
      for (int k = 0; k < Items; ++k)
        if (k >= begin_of(v) && k < end_of(v)) f(k);
    }
  }
};

/// A vector in shared memory: first of the input, then of what became of it. Wide ones have an odd number of 16-byte
/// words, so that lanes find theirs in different banks.
template <class Raw, class Results>
union vector_slot {
  static constexpr int bytes = max(sizeof(Raw), sizeof(Results)), words = bytes / 16 | 1;
  PMPP_HOST_DEVICE vector_slot() {}
  Raw in;
  Results out;
  unsigned char room[bytes < 16 ? bytes : words * 16];
};

/// The 16-byte words of a vector that is stored. Single elements, and vectors for an output that computes, are stored at once.
template <class Out, class Vector, int Items>
inline constexpr int words_of =
    Items == 1 || !std::is_pointer_v<Out> || sizeof(Vector) % 16 != 0 ? 1 : int(sizeof(Vector)) / 16;

/// Stores one 16-byte word of a vector that lies in shared memory: lanes may store words that lie next to each other.
template <int Items, class Out, class Vector>
PMPP_HOST_DEVICE void store_word(const Out& out, std::int64_t i, const Vector& v, [[maybe_unused]] int word) {
  if constexpr (std::is_pointer_v<Out> && sizeof(Vector) % 16 == 0) {
    using bytes = packed<unsigned char, 16, 16>;
    reinterpret_cast<bytes*>(out + i)[word] = reinterpret_cast<const bytes*>(__builtin_addressof(v))[word];
  } else {
    access<Out>::template store<Items>(out, i, v);
  }
}

/// Starts copying vector v of a warp's share to slots[v].in, in shared memory. All lanes of the warp call; complete for
/// a lane after simt::copy_async_wait, for all after a barrier of the warp after that. Of arrays lanes copy adjacent words: then
/// whole sectors of memory move, however wide a vector is. \pre Inside: count is a multiple of 32.
/// Unroll: rows at a time. One by one they need the least code, which short inputs wait for.
template <int Unroll = 1, class Block, class In, int Items, bool Inside, class Slots>
PMPP_HOST_DEVICE void load_async(Block& block, const In& in, const vector_range<Items, Inside>& mine,
                                 const Slots& slots) {
  constexpr int words = std::is_pointer_v<In> && Items > 1 ? max(1, Items * int(sizeof(value_of<In>)) / 16) : 1;
#if defined(__CUDA_ARCH__)
#pragma unroll Unroll
#endif
  for (int row = 0; row < mine.count * words; row += simt::warp_size) {
    const int w = row + block.lane(), v = w / words;
    if ((!Inside && w >= mine.count * words) || !mine.has(v)) break;
    if (!mine.whole(v)) {
      if (w % words == 0 && mine.begin_of(v) < Items)  // else it lies in front of the data
        slots[v].in = access<In>::template load_part<Items>(in, mine.element(v), mine.begin_of(v), mine.end_of(v));
    } else if constexpr (words > 1) {
      const int byte = w % words * 16;
      simt::copy_async<16>(static_cast<char*>(pmpp::bytes_of(slots[v].in)) + byte,
                           reinterpret_cast<const char*>(in + mine.element(v)) + byte);
    } else {
      access<In>::template load_async<Items>(in, mine.element(v), slots[v].in);
    }
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
