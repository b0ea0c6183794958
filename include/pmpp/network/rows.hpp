// SPDX-License-Identifier: Apache-2.0
//
// Softmax and its kin on rows of a matrix (network.hpp).
//
//   1. A warp has a row of up to 1024 elements (512 of double), a block a longer one. Threads read it once, up to 32 elements each at
//      a time, and keep two numbers: the largest element m so far, and the sum of exp(x - m). Where a larger one comes the sum is
//      scaled, so no exp overflows (the online softmax of Milakov and Gimelshein, 2018).
//   2. Shuffles join the numbers of the threads: the largest first, then the sums.
//   3. The row is written from registers. One of more than 16384 elements is read again, from a cache: a multiprocessor has two rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// What sums of elements are made in.
template <class T>
using network_sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// The largest element of a part of a row, and the sum of exp(x - largest).
template <class A>
struct row_weight {
  A largest = -std::numeric_limits<A>::infinity(), sum = 0;

  PMPP_HOST_DEVICE void take(A x) {
    if (x > largest) {
      sum = sum * std::exp(largest - x) + 1;
      largest = x;
    } else {
      sum += x == largest ? A(1) : std::exp(x - largest);
    }
  }
  PMPP_HOST_DEVICE A log_of_sum() const { return largest + std::log(sum); }
};

// What is written of a row: by row(i, weight) once, or by what of_row(i, weight) gives, called with each place and element.

template <class T>
struct write_softmax {
  matrix_view<T> out;
  template <class A>
  PMPP_HOST_DEVICE auto of_row(std::int64_t i, const row_weight<A>& w) const {
    return [to = out.data() + i * out.row_stride(), step = out.col_stride(), largest = w.largest, share = 1 / w.sum](
               std::int64_t j, A x) { to[j * step] = static_cast<T>(std::exp(x - largest) * share); };
  }
};
template <class T>
struct write_log_softmax {
  matrix_view<T> out;
  template <class A>
  PMPP_HOST_DEVICE auto of_row(std::int64_t i, const row_weight<A>& w) const {
    return [to = out.data() + i * out.row_stride(), step = out.col_stride(), largest = w.largest,
            log = std::log(w.sum)](std::int64_t j, A x) { to[j * step] = static_cast<T>(x - largest - log); };
  }
};
template <class T, class L>
struct write_loss {
  matrix_view<const T> in;
  const L* labels;
  network_sum<T>* out;
  template <class A>
  PMPP_HOST_DEVICE void row(std::int64_t i, const row_weight<A>& w) const {
    const auto label = static_cast<std::int64_t>(labels[i]);
    out[i] = label < 0 || label >= in.cols() ? A(0) : w.log_of_sum() - static_cast<A>(in(i, label));
  }
};
template <class T, class L>
struct write_loss_gradient {
  const L* labels;
  matrix_view<T> out;
  network_sum<T> scale;
  template <class A>
  PMPP_HOST_DEVICE auto of_row(std::int64_t i, const row_weight<A>& w) const {
    const auto label = static_cast<std::int64_t>(labels[i]);
    const bool is_left_out = label < 0 || label >= out.cols();
    return [to = out.data() + i * out.row_stride(), step = out.col_stride(), largest = w.largest, share = 1 / w.sum,
            label, is_left_out, by = scale](std::int64_t j, A x) {
      const A gradient = std::exp(x - largest) * share - (j == label ? A(1) : A(0));
      to[j * step] = static_cast<T>(is_left_out ? A(0) : gradient * by);
    };
  }
};

/// Width threads have a row: a warp, or a block.
template <class T, class Writer, int Width>
struct rows_kernel {
  using A = network_sum<T>;
  static constexpr bool by_warp = Width == simt::warp_size;
  static constexpr int threads = by_warp ? 256 : Width, min_blocks = by_warp ? 3 : 2;
  static constexpr int rows = threads / Width, warps = threads / simt::warp_size;  // of a block
  static constexpr int held = 128 / sizeof(A);                                     // elements in registers of a thread
  static constexpr std::int64_t at_once = std::int64_t(Width) * held;

  struct shared {
    A largest[warps], sum[warps];
  };

  template <class Block>
  PMPP_HOST_DEVICE static A largest_of(Block& block, A x) {
    for (int d = simt::warp_size / 2; d > 0; d /= 2) x = pmpp::max(x, block.shuffle_xor(x, d));
    return x;
  }
  template <class Block>
  PMPP_HOST_DEVICE static A sum_of(Block& block, A x) {
    for (int d = simt::warp_size / 2; d > 0; d /= 2) x += block.shuffle_xor(x, d);
    return x;
  }
  /// That of the whole row, for all its threads. No barrier at the end: the other array lies between this row and the next.
  template <class Block>
  PMPP_HOST_DEVICE static row_weight<A> join(Block& block, shared& memory, const row_weight<A>& own) {
    row_weight<A> all;
    all.largest = largest_of(block, own.largest);
    const int lane = block.lane();
    if constexpr (!by_warp) {
      if (lane == 0) memory.largest[block.warp()] = all.largest;
      block.sync();
      all.largest = largest_of(block, memory.largest[lane % warps]);
    }
    all.sum = sum_of(block, own.largest == all.largest ? own.sum : own.sum * std::exp(own.largest - all.largest));
    if constexpr (!by_warp) {
      if (lane == 0) memory.sum[block.warp()] = all.sum;
      block.sync();
      all.sum = sum_of(block, lane < warps ? memory.sum[lane] : A(0));
    }
    return all;
  }
  /// f(k) for each k that some thread has an element for: of `left` elements the thread of `rank` has rank + k * Width.
  template <class F>
  PMPP_HOST_DEVICE static void each(int left, const F& f) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < held; ++k) {
      if (k % 4 == 0 && k * Width >= left) break;
      f(k);
    }
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const matrix_view<const T>& in,
                                   const Writer& writer) const {
    const A nothing = row_weight<A>().largest;
    const int rank = by_warp ? block.lane() : block.thread();
    const std::int64_t cols = in.cols(), step = in.col_stride();
    for (std::int64_t i = block.index() * rows + (by_warp ? block.warp() : 0); i < in.rows();
         i += block.count() * rows) {
      const T* const row = in.data() + i * in.row_stride();
      row_weight<A> weight;
      A x[held];
      for (std::int64_t first = 0; first < cols; first += at_once) {
        const int left = static_cast<int>(min(cols - first, at_once));
        const T* const own = row + (first + rank) * step;
        each(left, [&](int k) { x[k] = rank + k * Width < left ? static_cast<A>(own[k * Width * step]) : nothing; });
        A largest = weight.largest;  // apart from the loads, so that all are on their way before one is waited for
        each(left, [&](int k) { largest = x[k] > largest ? x[k] : largest; });
        if (largest > weight.largest) weight.sum *= std::exp(weight.largest - largest);
        weight.largest = largest;
        each(left, [&](int k) {
          const A part = std::exp(x[k] - largest);
          weight.sum += x[k] == largest ? A(1) : part;  // of infinities
        });
      }
      weight = join(block, memory, weight);
      if constexpr (requires { writer.row(i, weight); }) {
        if (rank == 0) writer.row(i, weight);
      } else {
        const auto write = writer.of_row(i, weight);
        const int left = static_cast<int>(min(cols, at_once));
        if (cols <= at_once)
          each(left, [&](int k) {
            if (rank + k * Width < left) write(rank + k * Width, x[k]);
          });
        else
          for (std::int64_t j = rank; j < cols; j += Width) write(j, static_cast<A>(row[j * step]));
      }
    }
  }
};

/// One row on the calling thread.
template <class T, class Writer>
void write_row(const matrix_view<const T>& in, const Writer& writer, std::int64_t i) {
  using A = network_sum<T>;
  row_weight<A> weight;
  for (std::int64_t j = 0; j < in.cols(); ++j) weight.take(static_cast<A>(in(i, j)));
  if constexpr (requires { writer.row(i, weight); }) {
    writer.row(i, weight);
  } else {
    const auto write = writer.of_row(i, weight);
    for (std::int64_t j = 0; j < in.cols(); ++j) write(j, static_cast<A>(in(i, j)));
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
