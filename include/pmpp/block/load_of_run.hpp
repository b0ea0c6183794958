// SPDX-License-Identifier: Apache-2.0
//
// A word of 16 bytes that begins anywhere in a run of bytes, of which nothing outside may be read.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/block/load_covering.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Reads a word at a multiple of its size in one access, whatever its bytes are.
template <class Word>
PMPP_HOST_DEVICE Word read_word(const unsigned char* from) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const Word*>(from);
#else
  Word x;
  memcpy(&x, simt::detail::require_aligned(from, sizeof(Word)), sizeof x);
  return x;
#endif
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
    for (int k = 0; k < 16; k += width) x.word[k / 4] |= std::uint32_t(read_word<unit>(from + k)) << k % 4 * 8;
  }
  return x;
}

}  // namespace pmpp::inline PMPP_BACKEND::block
