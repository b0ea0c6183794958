// SPDX-License-Identifier: Apache-2.0
//
// How a tile of sums becomes rows of C that begin anywhere: by way of shared memory.
//
//      C         ..|....abcd|efghijkl|mnop....|..     words of 16 bytes, and where a row of the tile begins in one
//      shared      |....abcd|efghijkl|mnop            sums lie as far from a word's beginning as their elements in C
//
// So a thread takes the sums of a whole word of C from whole words of shared memory, whatever the row, and neighbouring threads
// neighbouring words. Its next word is some rows further, as far from the beginning of a row: what it has to know of a word it
// knows of all. The few elements of a row before its first whole word and after the last are written one by one. Where C is read,
// several words of a thread are on their way at once. Where columns of C are in one piece, they are what is called lines here.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/problem.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// A: of sums; TC: of elements of C. Rows, Cols: of the tile, which so many threads write.
template <class A, class TC, int Rows, int Cols, int Threads>
class rows_of_c {
  static constexpr int items = is_power_of_two(sizeof(TC)) ? max(1, int(16 / sizeof(TC))) : 1;  // elements of a word
  PMPP_HOST_DEVICE static constexpr int pitch_of(int length) {
    return round_up(length + items, max(4, int(16 / sizeof(A))));
  }
  static_assert(is_power_of_two(Rows) && is_power_of_two(Cols) && Rows % items == 0 && Cols % items == 0);
  static_assert(Threads % Rows == 0 && Threads % Cols == 0, "lines of a thread begin alike");

public:
  /// Of shared memory, at a multiple of 16.
  static constexpr std::size_t bytes = sizeof(A) * std::size_t(max(Rows * pitch_of(Cols), Cols* pitch_of(Rows)));

  /// The tile of matrix `batch` that begins at (row, col), which lies in C.
  PMPP_HOST_DEVICE rows_of_c(std::byte* shared, const gemm_target<TC>& c, std::int64_t batch, std::int64_t row,
                             std::int64_t col)
      : sums_(reinterpret_cast<A*>(shared)), row_(row), col_(col), down_(c.is_column_major()) {
    first_ = c.data + batch * c.batch_stride + row * c.row_stride + col * c.col_stride;
    const auto rows = static_cast<int>(min<std::int64_t>(c.rows - row, Rows)),
               cols = static_cast<int>(min<std::int64_t>(c.cols - col, Cols));
    lines_ = down_ ? cols : rows;
    length_ = down_ ? rows : cols;
    stride_ = down_ ? c.col_stride : c.row_stride;
    item_stride_ = down_ ? c.row_stride : c.col_stride;
    pitch_ = down_ ? pitch_of(Rows) : pitch_of(Cols);
    log_length_ = down_ ? floor_log2(Rows) : floor_log2(Cols);
    in_words_ = items > 1 && item_stride_ == 1 && reinterpret_cast<std::uintptr_t>(first_) % sizeof(TC) == 0;
    phase_ = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(first_) / sizeof(TC));
  }

  /// Takes sums: take(place) calls place(row, col) for where that of an element of the tile goes.
  template <class F>
  PMPP_HOST_DEVICE void put(F take) const {
    // Code of its own for either direction: places are constants from each other.
    if (down_)
      take([&](int row, int col) -> A& { return sums_[col * pitch_of(Rows) + phase_of(col) + row]; });
    else
      take([&](int row, int col) -> A& { return sums_[row * pitch_of(Cols) + phase_of(row) + col]; });
  }

  /// Writes C. \pre all threads have left their sums, and met.
  template <class Block, class S, class Epilogue>
  PMPP_HOST_DEVICE void write(Block& block, const gemm_result<S, Epilogue>& result) const {
    const auto thread = static_cast<unsigned>(block.thread());
    if (!in_words_) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (unsigned n = thread; n < unsigned(lines_) << log_length_; n += Threads)
        write_element(result, int(n >> log_length_), int(n & ((1u << log_length_) - 1)));
      return;
    }
    if constexpr (items > 1) {
      result.reads() ? write_words<true>(thread, result) : write_words<false>(thread, result.of_sums());
      // What is around the words.
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (int i = int(thread / items); i < lines_; i += Threads / items) {
        const int phase = phase_of(i), front = phase > 0 ? items - phase : 0,
                  end = max(front, int(unsigned(length_ + phase) / items * items) - phase);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
        for (int e = int(thread % items); e < front + length_ - end; e += items)
          write_element(result, i, e < front ? e : e - front + end);
      }
    }
  }

private:
  A* sums_;
  TC* first_;
  std::int64_t row_, col_, stride_, item_stride_;
  int lines_, length_, pitch_, log_length_;  // of C that are there; of lines in shared memory
  unsigned phase_;                           // of the first line
  bool down_, in_words_;

  /// Elements from the beginning of a word to that of a line.
  PMPP_HOST_DEVICE int phase_of(int i) const {
    return in_words_ ? int((phase_ + unsigned(i) * unsigned(stride_)) & unsigned(items - 1)) : 0;
  }
  template <class Result>
  PMPP_HOST_DEVICE TC make(const Result& result, const A& sum, const TC* old, int i, int j) const {
    return result(sum, old, row_ + (down_ ? j : i), col_ + (down_ ? i : j));
  }
  template <class Result>
  PMPP_HOST_DEVICE void write_element(const Result& result, int i, int j) const {
    if (j >= length_) return;
    TC* const to = first_ + i * stride_ + j * item_stride_;
    *to = make(result, sums_[i * pitch_ + phase_of(i) + j], to, i, j);
  }

  template <bool Reads, class Result>
  PMPP_HOST_DEVICE void write_words(unsigned thread, const Result& result) const {
    using word = packed<TC, items>;
    constexpr int at_once = Reads ? max(1, min(8, Rows * Cols / items / Threads)) : 1;
    const int log_words = log_length_ - floor_log2(items), step = Threads >> log_words;
    int i = int(thread >> log_words);
    const int w = int(thread & ((1u << log_words) - 1)) * items, j = w - phase_of(i);
    if (j < 0 || j + items > length_) return;
    const A* from = sums_ + i * pitch_ + w;
    TC* to = first_ + i * stride_ + j;
    const std::int64_t stride = step * stride_;
    const int pitch = step * pitch_;
#if defined(__CUDA_ARCH__)
#pragma unroll(Reads ? 1 : 4)
#endif
    for (; i < lines_; i += at_once * step, from += at_once * pitch, to += at_once * stride) {
      word y[at_once];
      if (Reads)
        unrolled<at_once>([&](int q) {
          if (i + q * step < lines_) y[q] = *reinterpret_cast<const word*>(to + q * stride);
        });
      unrolled<at_once>([&](int q) {
        if (i + q * step >= lines_) return;
        const auto sum = *reinterpret_cast<const packed<A, items>*>(from + q * pitch);
        unrolled<items>([&](int e) { y[q].item[e] = make(result, sum.item[e], &y[q].item[e], i + q * step, j + e); });
        *reinterpret_cast<word*>(to + q * stride) = y[q];
      });
    }
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
