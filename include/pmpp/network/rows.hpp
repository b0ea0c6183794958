// SPDX-License-Identifier: Apache-2.0
//
// Softmax and its kin on rows of a matrix (network.hpp).
//
//   1. A warp has a row of up to 2048 elements, a block a longer one. Threads read it once and keep two numbers: the largest
//      element m so far, and the sum of exp(x - m). Where a larger one comes the sum is scaled, so no exp overflows (the online
//      softmax of Milakov and Gimelshein, 2018).
//   2. A tree of shuffles joins the numbers of the threads.
//   3. The row is read again, from a cache, and written: rows are small beside caches.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/block/reduce.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
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
struct join_weights {
  template <class A>
  PMPP_HOST_DEVICE row_weight<A> operator()(const row_weight<A>& a, const row_weight<A>& b) const {
    if (b.sum == 0) return a;
    if (a.sum == 0) return b;
    row_weight<A> all;
    all.largest = pmpp::max(a.largest, b.largest);
    all.sum = (a.largest == all.largest ? a.sum : a.sum * std::exp(a.largest - all.largest)) +
              (b.largest == all.largest ? b.sum : b.sum * std::exp(b.largest - all.largest));
    return all;
  }
};

// What is written of a row: element(i, j, x, weight) of each, or row(i, weight) once.

template <class T>
struct write_softmax {
  matrix_view<T> out;
  template <class A>
  PMPP_HOST_DEVICE void element(std::int64_t i, std::int64_t j, A x, const row_weight<A>& w) const {
    out(i, j) = static_cast<T>(std::exp(x - w.largest) / w.sum);
  }
};
template <class T>
struct write_log_softmax {
  matrix_view<T> out;
  template <class A>
  PMPP_HOST_DEVICE void element(std::int64_t i, std::int64_t j, A x, const row_weight<A>& w) const {
    out(i, j) = static_cast<T>(x - w.largest - std::log(w.sum));
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
  PMPP_HOST_DEVICE void element(std::int64_t i, std::int64_t j, A x, const row_weight<A>& w) const {
    const auto label = static_cast<std::int64_t>(labels[i]);
    const bool is_left_out = label < 0 || label >= out.cols();
    out(i, j) =
        static_cast<T>(is_left_out ? A(0) : (std::exp(x - w.largest) / w.sum - (j == label ? A(1) : A(0))) * scale);
  }
};

/// Rows longer than `of_warp` elements take a block each.
template <class T, class Writer>
struct rows_kernel {
  static constexpr int threads = 256, warps = threads / simt::warp_size;
  static constexpr std::int64_t of_warp = 2048;
  using A = network_sum<T>;

  struct shared {
    block::reduce_memory<row_weight<A>> reduce;
    row_weight<A> all;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const matrix_view<const T>& in,
                                   const Writer& writer) const {
    const bool by_warp = in.cols() <= of_warp;
    const std::int64_t rows = in.rows(), step = by_warp ? block.count() * warps : block.count();
    const int rank = by_warp ? block.lane() : block.thread(), width = by_warp ? int(simt::warp_size) : threads;
    for (std::int64_t i = by_warp ? block.index() * warps + block.warp() : block.index(); i < rows; i += step) {
      row_weight<A> weight;
      for (std::int64_t j = rank; j < in.cols(); j += width) weight.take(static_cast<A>(in(i, j)));
      if (by_warp) {
        weight = block.shuffle(block::warp_reduce(block, weight, join_weights{}), 0);
      } else {
        weight = block::reduce(block, memory.reduce, weight, join_weights{});
        if (block.thread() == 0) memory.all = weight;
        block.sync();
        weight = memory.all;
      }
      if constexpr (requires { writer.row(i, weight); }) {
        if (rank == 0) writer.row(i, weight);
      } else {
        for (std::int64_t j = rank; j < in.cols(); j += width) writer.element(i, j, static_cast<A>(in(i, j)), weight);
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
  if constexpr (requires { writer.row(i, weight); })
    writer.row(i, weight);
  else
    for (std::int64_t j = 0; j < in.cols(); ++j) writer.element(i, j, static_cast<A>(in(i, j)), weight);
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
