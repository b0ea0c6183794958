// SPDX-License-Identifier: Apache-2.0
//
// Wide loads that begin anywhere: where arrays of one kernel lie differently, vectors begin on boundaries of one of them alone.
// Of the others a thread reads the aligned words of 16 bytes that cover its vector, one more than it is long, and shifts them
// in registers. What two threads read comes from the first cache the second time.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Reads 4-byte words that begin anywhere, and up to 15 bytes on either side. Bytes: what divides where they begin.
template <int Bytes, int Words>
PMPP_HOST_DEVICE void load_covering(std::uint32_t (&to)[Words], const void* from) {
  struct alignas(16) quad {
    std::uint32_t item[4];
  };
  const auto shift = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16);
  const char* first = static_cast<const char*>(from) - shift;
  std::uint32_t word[Words + 4] = {};
  for (int k = 0; k < Words + 4; k += 4) {
    if (k == Words && shift == 0) break;
    quad read;
#if defined(__CUDA_ARCH__)
    read = *reinterpret_cast<const quad*>(first + 4 * k);
#else
    memcpy(&read, first + 4 * k, sizeof(read));
#endif
    for (int j = 0; j < 4; ++j) word[k + j] = read.item[j];
  }
  for (int j = 0; j < Words + 2; ++j) word[j] = (shift & 8) != 0 ? word[j + 2] : word[j];
  for (int j = 0; j < Words + 1; ++j) word[j] = (shift & 4) != 0 ? word[j + 1] : word[j];
  for (int j = 0; j < Words; ++j)
    to[j] = Bytes % 4 == 0 ? word[j]
                           : static_cast<std::uint32_t>((std::uint64_t(word[j + 1]) << 32 | word[j]) >> shift % 4 * 8);
}

/// 16 bytes of a run [first, last) from anywhere inside of it. Whole words are read only where the run has all of them: at its ends
/// units of Unit bytes, which divides where it begins and ends, so that nothing around the run is touched.
template <int Unit>
PMPP_HOST_DEVICE simt::quad load_of_run(const unsigned char* from, const unsigned char* first,
                                        const unsigned char* last) {
  constexpr int width = min(Unit, 4);
  using unit =
      std::conditional_t<width == 1, std::uint8_t, std::conditional_t<width == 2, std::uint16_t, std::uint32_t>>;
  const auto shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 16);
  simt::quad x{};
  if (from - first >= shift && (shift == 0 || last - from >= 32 - shift)) {
    load_covering<Unit>(x.word, from);
  } else {
    for (int k = 0; k < 16; k += width) {
      unit bits;
#if defined(__CUDA_ARCH__)
      bits = *reinterpret_cast<const unit*>(from + k);
#else
      memcpy(&bits, simt::detail::require_aligned(from + k, width), sizeof bits);
#endif
      x.word[k / 4] |= std::uint32_t(bits) << k % 4 * 8;
    }
  }
  return x;
}

/// access<It>::load from anywhere; `possible` where all that is read are arrays, or nothing. What lies up to 15 bytes around the
/// vector is read too. It pays where an element is part of a word, or some; a warp reads whole ones at the memory's speed.
template <class It>
struct access_anywhere {
  static constexpr bool possible = access<It>::items == 0, pays = false;
  template <int Items>
  PMPP_HOST_DEVICE static auto load(const It& it, std::int64_t i) {
    return access<It>::template load<Items>(it, i);
  }
};
template <class T>
struct access_anywhere<T*> {
  using element = std::remove_cv_t<T>;
  static constexpr bool possible = true, pays = sizeof(T) < 4 || !is_power_of_two(sizeof(T));
  template <int Items>
  PMPP_HOST_DEVICE static auto load(T* p, std::int64_t i) {
    detail::vector_words<element, Items> raw;
    load_covering<alignof(element)>(raw.word, p + i);
    return raw;
  }
};
template <class It, class F, class T>
struct access_anywhere<transform_iterator<It, F, T>> {
  static constexpr bool possible = access_anywhere<It>::possible, pays = access_anywhere<It>::pays;
  template <int Items>
  PMPP_HOST_DEVICE static auto load(const transform_iterator<It, F, T>& it, std::int64_t i) {
    return access_anywhere<It>::template load<Items>(it.base, i);
  }
};
template <class A, class B>
struct access_anywhere<zip_iterator<A, B>> {
  static constexpr bool possible = access_anywhere<A>::possible && access_anywhere<B>::possible;
  static constexpr bool pays = access_anywhere<A>::pays || access_anywhere<B>::pays;
  template <int Items>
  PMPP_HOST_DEVICE static raw_items<zip_iterator<A, B>, Items> load(const zip_iterator<A, B>& it, std::int64_t i) {
    return {access_anywhere<A>::template load<Items>(it.a, i), access_anywhere<B>::template load<Items>(it.b, i)};
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::block
