// SPDX-License-Identifier: Apache-2.0
//
// What becomes of sums: elements of C, made of neighbouring sums and written in one access where C allows it; or partial sums,
// which a reduction makes elements of later (gemm/schedule.hpp).
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/problem.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Whether results depend on where in C they are.
template <class Epilogue, class S>
inline constexpr bool epilogue_uses_index = requires(Epilogue f, S v) {
  f(v, std::int64_t{}, std::int64_t{});
};

/// Makes elements of C of N sums, from (row, col) on along the row. `matrix`: C of the batch. In words: C may be written N
/// elements at a time from there on. `own`: where it is negative, the first -own elements are another block's. `old`: what C holds,
/// if that has been read.
template <int N, class TC, class A, class Result>
PMPP_HOST_DEVICE void write_items(const gemm_target<TC>& c, const Result& result, bool in_words, TC* matrix,
                                  std::int64_t row, std::int64_t col, const A* sum, int own = 0,
                                  const TC* old = nullptr) {
  TC* const to = matrix + row * c.row_stride + col * c.col_stride;
  if (in_words && own >= 0 && col + N <= c.cols) {
    packed<TC, N> y{};
    if (old == nullptr && result.reads()) y = *reinterpret_cast<const packed<TC, N>*>(to);
    for (int e = 0; e < N; ++e) y.item[e] = result(sum[e], old != nullptr ? old + e : &y.item[e], row, col + e);
    *reinterpret_cast<packed<TC, N>*>(to) = y;
  } else {
    for (int e = 0; e < N; ++e)
      if (own + e >= 0 && col + e < c.cols)
        to[e * c.col_stride] = result(sum[e], old != nullptr ? old + e : to + e * c.col_stride, row, col + e);
  }
}

/// The sums of a thread (gemm/math_fma.hpp) whose tile begins `at` a place of C.
template <class Math, class Arguments, class Place>
PMPP_HOST_DEVICE void write_sums(const Arguments& x, const Place& at, const typename Math::sums& sum) {
  auto* const matrix = x.c.data + at.batch * x.c.batch_stride;
  unrolled<Math::thread_m>([&](int i) {
    const int own_row = at.thread_row + Math::row_of(i);
    const std::int64_t row = at.row + own_row;
    if (own_row < at.others_rows || row >= x.c.rows) return;
    for (int j = 0; j < Math::thread_n; j += Math::word) {
      const int own_col = at.thread_col + Math::col_of(j);
      write_items<Math::word>(x.c, x.result, x.c_in_words, matrix, row, at.col + own_col, &sum[i][j],
                              own_col - at.others_cols);
    }
  });
}

/// Calls f(row, col, word) for the words of sums of a thread, counted from its first. Each sum is multiplied by `one`, which is
/// 1: sums that are written as they are would be kept in the registers of the words in which they are written, in which three
/// operands of many products come from the same bank. An H100 multiplies a twentieth slower then.
template <class Math, class A, class F>
PMPP_HOST_DEVICE void each_word_of_sums(const typename Math::sums& sum, A one, F f) {
  unrolled<Math::thread_m>([&](int i) {
    for (int j = 0; j < Math::thread_n; j += Math::word) {
      typename Math::shared_word y;
      for (int e = 0; e < Math::word; ++e) y.item[e] = sum[i][j + e] * one;
      f(Math::row_of(i), Math::col_of(j), y);
    }
  });
}

/// Leaves the sums of a thread to a reduction that has them tile by tile: rows of `cols` sums from `tile` on.
template <class Math, int Cols, class A, class Place>
PMPP_HOST_DEVICE void write_part(A* tile, const Place& at, const typename Math::sums& sum, A one) {
  A* const to = tile + at.thread_row * Cols + at.thread_col;
  each_word_of_sums<Math>(sum, one, [&](int row, int col, const auto& y) {
    *reinterpret_cast<typename Math::shared_word*>(to + row * Cols + col) = y;
  });
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
