// SPDX-License-Identifier: Apache-2.0
//
// Copies an operand whose elements cannot be read 16 bytes at a time to memory where they can: each line (a row, or a
// column) lies in whole words of 16 bytes, with zeros behind its end. Reads and writes the operand once, which takes
// less time than products of its elements one by one would lose.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/block.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Whether an operand's words of 16 bytes may be read; along k, or along m or n.
template <class T>
bool is_read_by_words(const gemm_operand<T>& x, bool along_k, std::int64_t batch) {
  constexpr std::int64_t items = 16 / sizeof(T);
  const std::int64_t unit = along_k ? x.k_stride : x.stride, pitch = along_k ? x.stride : x.k_stride;
  return unit == 1 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && pitch % items == 0 &&
         (batch == 1 || x.batch_stride % items == 0);
}

/// One word a thread.
template <class T>
struct repack_kernel {
  static constexpr int threads = 256, min_blocks = 4, items = 16 / sizeof(T);
  struct alignas(16) word {
    T item[items];
  };

  struct arguments {
    const T* from;
    word* to;
    std::int64_t lines, length, line_words;               ///< of a matrix; of a line: elements and words
    std::int64_t line_stride, item_stride, batch_stride;  ///< of `from`
    std::int64_t words;                                   ///< of all matrices
    bool across;                                          ///< neighbours read neighbouring lines, else words of a line
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x) const {
    if (x.words < (std::int64_t(1) << 31))
      copy<std::uint32_t>(block, x);  // dividing 64-bit numbers takes longer than all the rest
    else
      copy<std::uint64_t>(block, x);
  }

private:
  template <class Index, class Block>
  PMPP_HOST_DEVICE static void copy(Block& block, const arguments& x) {
    const Index matrix = static_cast<Index>(x.lines * x.line_words), step = static_cast<Index>(block.count() * threads);
    const Index fast = static_cast<Index>(x.across ? x.lines : x.line_words);
    for (Index n = static_cast<Index>(block.index() * threads + block.thread()); n < static_cast<Index>(x.words);
         n += step) {
      const Index batch = n / matrix, rest = n % matrix;
      const std::int64_t line = x.across ? rest % fast : rest / fast, w = x.across ? rest / fast : rest % fast;
      const T* from = x.from + batch * x.batch_stride + line * x.line_stride + w * items * x.item_stride;
      word y;
      for (int e = 0; e < items; ++e) y.item[e] = w * items + e < x.length ? from[e * x.item_stride] : T{};
      x.to[batch * x.lines * x.line_words + line * x.line_words + w] = y;
    }
  }
};

/// Bytes that the copy of an operand takes, of `batch` matrices with k columns. along_k: lines run along k.
template <class T>
std::int64_t repacked_bytes(const gemm_operand<T>& x, bool along_k, std::int64_t k, std::int64_t batch) {
  constexpr std::int64_t items = 16 / sizeof(T);
  const std::int64_t lines = along_k ? x.extent : k, length = along_k ? k : x.extent;
  return (x.batch_stride == 0 ? 1 : batch) * lines * ceil_div(length, items) * 16;
}

/// Enqueues the copy; x is the copy then.
template <class P, class T>
void repack(const P& where, gemm_operand<T>& x, bool along_k, std::int64_t k, std::int64_t batch, void* to) {
  using kernel = repack_kernel<T>;
  const std::int64_t lines = along_k ? x.extent : k, length = along_k ? k : x.extent;
  const std::int64_t line_words = ceil_div(length, std::int64_t(kernel::items)), pitch = line_words * kernel::items;
  const std::int64_t words = repacked_bytes(x, along_k, k, batch) / 16;
  const std::int64_t line_stride = along_k ? x.stride : x.k_stride, item_stride = along_k ? x.k_stride : x.stride;
  launch(where, smaller(ceil_div(words, std::int64_t(kernel::threads)), std::int64_t(processor_count(where)) * 32),
         kernel{},
         typename kernel::arguments{x.data, static_cast<typename kernel::word*>(to), lines, length, line_words,
                                    line_stride, item_stride, x.batch_stride, words,
                                    line_stride == 1 && item_stride != 1});
  x = gemm_operand<T>(static_cast<const T*>(to), x.extent, along_k ? pitch : 1, along_k ? 1 : pitch,
                      x.batch_stride == 0 ? 0 : lines * pitch);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
