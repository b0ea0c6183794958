// SPDX-License-Identifier: Apache-2.0
//
// "Transposition" of a view that is itself transposed: rows of A go to rows of B, without shared memory, in the widest words
// that divide where all of them begin.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/transpose/problem.hpp>
#include <pmpp/transpose/tiling.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Copies rows of words. Pitches and steps are in bytes; the last word of a row may be cut off.
template <class Word, transpose_tuning Tuning>
struct copy_rows_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = Tuning.threads, items = Tuning.vectors;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const plane<const unsigned char>& a, const plane<unsigned char>& b,
                                   const tiling& cut, divisor across, std::int64_t row_bytes) const {
    simt::previous_kernels_done();
    constexpr std::int64_t size = sizeof(Word);
    const auto i = static_cast<std::uint32_t>(block.index());
    const tile_position at{across.quotient(i), i - across.quotient(i) * across.value()};
    Word value[items];
    for (int r = 0; r < items; ++r) {
      const tile_position p = element(block, cut, at, r);
      if (p.y < cut.height && (std::int64_t(p.x) + 1) * size <= row_bytes)
        value[r] = *reinterpret_cast<const Word*>(a.at(p.y, p.x));
    }
    for (int r = 0; r < items; ++r) {
      const tile_position p = element(block, cut, at, r);
      if (p.y >= cut.height) break;
      if ((std::int64_t(p.x) + 1) * size <= row_bytes)
        *reinterpret_cast<Word*>(b.at(p.y, p.x)) = value[r];
      else
        for (std::int64_t k = 0; k < row_bytes - p.x * size; ++k) b.at(p.y, p.x)[k] = a.at(p.y, p.x)[k];
    }
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static tile_position element(Block& block, const tiling& cut, tile_position at, int r) {
    const unsigned i = static_cast<unsigned>(block.thread() + r * threads);
    return {cut.first_y(at.y) + (i >> cut.log_width), cut.first_x(at.x) + (i & ((1u << cut.log_width) - 1))};
  }
};

/// Calls f(bytes_of<W>) with the widest word that all these numbers of bytes, multiples of Least, are multiples of.
template <int Least, int Bytes = 16, class F>
void with_widest_word(std::uintptr_t numbers, F f) {
  if constexpr (Bytes <= Least) {
    f(bytes_of<Bytes>{});
  } else {
    if (numbers % Bytes == 0) return f(bytes_of<Bytes>{});
    with_widest_word<Least, Bytes / 2>(numbers, f);
  }
}

template <class Word, transpose_tuning Tuning, class P, class T>
void launch_copy(const P& where, const transposition<T>& t, std::int64_t step_a, std::int64_t step_b,
                 std::int64_t row_bytes) {
  constexpr std::int64_t size = sizeof(T);
  using kernel = copy_rows_kernel<Word, Tuning>;
  const tiling cut(t.height, ceil_div(row_bytes, std::int64_t(sizeof(Word))),
                   floor_log2(kernel::threads * kernel::items), 0);
  launch(where, cut.tiles(), kernel{},
         plane<const unsigned char>{reinterpret_cast<const unsigned char*>(t.a.data), t.a.pitch * size, step_a},
         plane<unsigned char>{reinterpret_cast<unsigned char*>(t.b.data), t.b.pitch * size, step_b}, cut,
         divisor(cut.tiles_x), row_bytes);
}

/// Copies rows that are adjacent in A and in B, or less so.
template <transpose_tuning Tuning, class P, class T>
void copy_on_device(const P& where, const transposition<T>& t) {
  constexpr std::int64_t size = sizeof(T);
  if (t.copies_rows())
    with_widest_word<alignof(T)>(
        reinterpret_cast<std::uintptr_t>(t.a.data) | reinterpret_cast<std::uintptr_t>(t.b.data) |
            static_cast<std::uintptr_t>((t.a.pitch | t.b.pitch) * size),
        [&](auto word) { launch_copy<decltype(word), Tuning>(where, t, sizeof word, sizeof word, t.width * size); });
  else
    launch_copy<bytes_of<size, alignof(T)>, Tuning>(where, t, t.a.step * size, t.b.step * size, t.width * size);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
