// SPDX-License-Identifier: Apache-2.0
//
// What every way to a matrix product gets: the operands with their strides, and what becomes of the sums.
//
// A kernel sees A and B alike: element (i, p) of A and element (p, j) of B lie i * stride + p * k_stride and
// j * stride + p * k_stride elements after the first. Transposed operands have their strides exchanged, nothing else.
// A column-major C becomes a row-major one by exchanging A and B: C' = B' A'.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Leaves results as they are.
struct no_epilogue {
  template <class T>
  PMPP_HOST_DEVICE constexpr T operator()(const T& value) const {
    return value;
  }
};

namespace detail {

/// Sums are those of the operands themselves. (Of parts of floats they may have to be worked out again: gemm/parts.hpp.)
struct no_originals {};

/// How an operand is copied to shared memory.
enum class k_tile_copy {
  words,    ///< 16 bytes at a time, along m or n
  along,    ///< element by element; those with consecutive i (along m or n) lie next to each other
  along_k,  ///< element by element; those with consecutive k lie next to each other
  any,      ///< element by element
  mixed     ///< a kernel for all of them
};

/// A or B as the kernel sees it: element (i, p) is data[i * stride + p * k_stride], i along m or n.
template <class T>
struct gemm_operand {
  const T* data;
  std::int64_t extent, stride, k_stride, batch_stride;
  k_tile_copy copy;

  gemm_operand() = default;
  /// What may be read in wider words: `batch` matrices, `batch_stride` apart.
  PMPP_HOST_DEVICE gemm_operand(const T* data_, std::int64_t extent_, std::int64_t stride_, std::int64_t k_stride_,
                                std::int64_t batch_stride_)
      : data(data_), extent(extent_), stride(stride_), k_stride(k_stride_), batch_stride(batch_stride_) {
    constexpr std::int64_t items = 16 / sizeof(T);
    const bool aligned = reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && 16 % sizeof(T) == 0 &&
                         k_stride % items == 0 && batch_stride % items == 0;
    copy = stride == 1     ? aligned ? k_tile_copy::words : k_tile_copy::along
           : k_stride == 1 ? k_tile_copy::along_k
                           : k_tile_copy::any;
  }
};

/// Whether results depend on where in C they are.
template <class Epilogue, class S>
inline constexpr bool epilogue_uses_index = requires(const Epilogue& f, const S& value, std::int64_t i) {
  f(value, i, i);
};

/// Makes an element of C of a sum of products.
template <class S, class Epilogue>
struct gemm_result {
  S alpha, beta;
  Epilogue epilogue;
  bool exchanged;  ///< rows of C are columns to the kernel

  /// Whether what C holds is asked for.
  PMPP_HOST_DEVICE bool reads() const { return beta != S{}; }
  /// The same of sums alone, which the compiler knows then: it need not ask at each element.
  PMPP_HOST_DEVICE gemm_result of_sums() const { return {alpha, S{}, epilogue, exchanged}; }

  template <class T, class A>
  PMPP_HOST_DEVICE T operator()(const A& sum, const T* old, std::int64_t i, std::int64_t j) const {
    S value = multiply(alpha, static_cast<S>(sum));
    if (beta != S{}) value = multiply_add(value, beta, static_cast<S>(*old));
    if constexpr (epilogue_uses_index<Epilogue, S>)
      return static_cast<T>(exchanged ? epilogue(value, j, i) : epilogue(value, i, j));
    else
      return static_cast<T>(epilogue(value));
  }
};

/// C as the kernel sees it.
template <class T>
struct gemm_target {
  T* data;
  std::int64_t rows, cols, row_stride, col_stride, batch_stride;

  /// Whether `items` elements of a row from a multiple of `items` on may be written at once.
  PMPP_HOST_DEVICE bool is_written_by(std::int64_t items) const {
    return col_stride == 1 && row_stride % items == 0 && batch_stride % items == 0 &&
           reinterpret_cast<std::uintptr_t>(data) % (static_cast<std::size_t>(items) * sizeof(T)) == 0;
  }
  /// Whether rows consist of such.
  PMPP_HOST_DEVICE bool is_made_of(std::int64_t items) const { return cols % items == 0 && is_written_by(items); }
  /// Whether columns are in one piece, and rows are not.
  PMPP_HOST_DEVICE bool is_column_major() const { return row_stride == 1 && col_stride != 1; }
};

/// A product as the kernel sees it.
template <class TA, class TB, class TC, class S, class Epilogue>
struct gemm_problem {
  using type_a = TA;
  using type_b = TB;
  using type_c = TC;
  using scale = S;

  gemm_operand<TA> a;
  gemm_operand<TB> b;
  gemm_target<TC> c;
  std::int64_t k, batch;
  gemm_result<S, Epilogue> result;

  /// The transposed product: C' = B' A'.
  gemm_problem<TB, TA, TC, S, Epilogue> exchanged() const {
    auto r = result;
    r.exchanged = !r.exchanged;
    return {b, a, {c.data, c.cols, c.rows, c.col_stride, c.row_stride, c.batch_stride}, k, batch, r};
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
