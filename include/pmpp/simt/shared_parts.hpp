// SPDX-License-Identifier: Apache-2.0
//
// Dynamic shared memory cut into arrays of several types, whose sizes are known only at the launch.
//
//   launch(device, grid{blocks, threads, simt::bytes_of_parts<short, double>(n, m)}, kernel{}, n, m);
//   std::byte* next = block.dynamic_shared();                 // in the kernel
//   short* a = simt::take_part<short>(next, n);
//   double* b = simt::take_part<double>(next, m);             // begins at a multiple of 8 bytes
//
// Sizes that are known when compiling belong in the kernel's `shared`, which the compiler lays out.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND::simt {

/// The next `count` elements of dynamic shared memory from `next` on, which moves behind them.
template <class T>
PMPP_HOST_DEVICE T* take_part(std::byte*& next, std::int64_t count) {
  static_assert(alignof(T) <= 16, "pmpp: dynamic shared memory begins at a multiple of 16 bytes");
  const auto address = reinterpret_cast<std::uintptr_t>(next);
  std::byte* const part = next + (alignof(T) - address % alignof(T)) % alignof(T);
  next = part + static_cast<std::size_t>(count) * sizeof(T);
  return reinterpret_cast<T*>(part);
}

/// The bytes of parts of `counts` elements each, in that order, with the gaps between them.
template <class... T, std::integral... N>
requires(sizeof...(T) == sizeof...(N)) constexpr std::size_t bytes_of_parts(N... counts) {
  std::size_t bytes = 0;
  ((bytes = round_up(bytes, alignof(T)) + static_cast<std::size_t>(counts) * sizeof(T)), ...);
  return bytes;
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
