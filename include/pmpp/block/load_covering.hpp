// SPDX-License-Identifier: Apache-2.0
//
// Words from any address, by the aligned ones that cover them, shifted in registers.
#pragma once

#include <cstdint>
#include <cstring>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// The words that begin `shift` bytes, fewer than 16, after the first of `word`, which is lost. Bytes: what divides `shift`.
template <int Bytes, int Words>
PMPP_HOST_DEVICE void shift_words(std::uint32_t (&to)[Words], std::uint32_t (&word)[Words + 4], unsigned shift) {
  for (int j = 0; j < Words + 2; ++j) word[j] = (shift & 8) != 0 ? word[j + 2] : word[j];
  for (int j = 0; j < Words + 1; ++j) word[j] = (shift & 4) != 0 ? word[j + 1] : word[j];
  for (int j = 0; j < Words; ++j)
    to[j] = Bytes % 4 == 0 ? word[j]
                           : static_cast<std::uint32_t>((std::uint64_t(word[j + 1]) << 32 | word[j]) >> shift % 4 * 8);
}

/// Reads 4-byte words that begin anywhere, and up to 15 bytes on either side. Bytes: what divides where they begin.
template <int Bytes, int Words>
PMPP_HOST_DEVICE void load_covering(std::uint32_t (&to)[Words], const void* from) {
  const auto shift = Bytes % 16 == 0 ? 0u : static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % 16);
  const char* first = static_cast<const char*>(from) - shift;
  std::uint32_t word[Words + 4] = {};
  for (int k = 0; k < Words + 4; k += 4) {
    if (k == Words && shift == 0) break;
    simt::quad read;
#if defined(__CUDA_ARCH__)
    read = *reinterpret_cast<const simt::quad*>(first + 4 * k);
#else
    memcpy(&read, simt::detail::require_aligned(first + 4 * k, 16), sizeof(read));
#endif
    for (int j = 0; j < 4; ++j) word[k + j] = read.word[j];
  }
  shift_words<Bytes>(to, word, shift);
}

}  // namespace pmpp::inline PMPP_BACKEND::block
