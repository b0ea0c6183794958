// SPDX-License-Identifier: Apache-2.0
//
// Products of complex doubles as one product of doubles, which tensor cores multiply: a row of C in memory is a row of real and imaginary
// parts, and so is one of A where it is along k. With each number of B as the matrix by which it multiplies such pairs,
//
//   (ar ai) | br  bi |  =  (cr ci)
//           |-bi  br |
//
// C is A, of 2 k columns, times B, of 2 k rows and 2 n columns: as many products as by the formula. A and C are taken where they lie, B
// (times alpha) is copied, and A too where its numbers along k are not in one piece. (Van Zee and Smith, 2017, call this 1m.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

template <class T>
inline constexpr bool is_complex_double = false;
template <complex_number T>
inline constexpr bool is_complex_double<T> = std::is_same_v<typename T::value_type, double>;

/// Copies an operand in lines of pairs: each number as a pair; or as two, in a line and in the next.
template <class T>
struct complex_copy_kernel {
  using real = typename T::value_type;
  using pair = packed<real, 2>;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, min_blocks = 4, items = 4;  ///< of a thread

  struct arguments {
    const T* from;
    pair* to;
    T factor;
    std::int64_t lines, length, line_stride, item_stride, batch_stride;  ///< of `from`
    std::int64_t pieces, units;                                          ///< of a line, of all
    bool doubled, along_k;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x) const {
    simt::previous_kernels_done();
    for (std::int64_t unit = block.index(); unit < x.units; unit += block.count()) {
      const std::int64_t line = unit / x.pieces, batch = line / x.lines,
                         first = (unit - line * x.pieces) * (threads * items) + block.thread();
      const T* const from = x.from + batch * x.batch_stride + (line - batch * x.lines) * x.line_stride;
      pair* const to = x.to + line * (x.doubled ? 2 : 1) * x.length;
      T value[items];
      for (int e = 0; e < items; ++e) {
        const std::int64_t i = first + e * threads;
        value[e] = i < x.length ? multiply(x.factor, from[i * x.item_stride]) : T{};
      }
      for (int e = 0; e < items; ++e) {
        const std::int64_t i = first + e * threads;
        if (i >= x.length) continue;
        const real re = value[e].real(), im = value[e].imag();
        to[i] = {re, x.along_k && x.doubled ? -im : im};
        if (x.doubled) to[x.length + i] = {x.along_k ? im : -im, re};
      }
    }
  }
};

/// Pairs of an operand's copy.
template <class T>
std::int64_t pairs_of_copy(const gemm_operand<T>& x, std::int64_t k, std::int64_t batch, bool doubled) {
  return (doubled ? 2 : 1) * (x.batch_stride == 0 ? 1 : batch) * x.extent * k;
}

/// The clocks that a product takes so, about, on an H100: of a call, of whole tiles, and of the copies. `never` where it has too few products
/// for what is copied: beside ordinary units at a quarter of their rate.
template <class T, class TC, class S, class Epilogue>
double clocks_of_real_parts(const gemm_problem<T, T, TC, S, Epilogue>& x, const machine& on) {
  const double of_element = 4.0 * double(x.k) * double(x.batch) / on.multiprocessors;
  const double products = of_element * double(x.c.rows) * double(x.c.cols),
               of_tiles = of_element * double(round_up(x.c.rows, std::int64_t(32))) *
                          double(round_up(x.c.cols, std::int64_t(32)));
  const double pairs = 2 * double(pairs_of_copy(x.b, x.k, x.batch, true)) +
                       (x.a.k_stride == 1 ? 0 : 2) * double(pairs_of_copy(x.a, x.k, x.batch, false));
  const double copies = on.clocks_of((x.a.k_stride == 1 ? 3e-6 : 6e-6)) + pairs * sizeof(T) / (0.7 * on.memory_rate());
  const double clocks = of_tiles / (0.85 * on.tensor_rate(sizeof(double))) + copies;
  return products / (0.25 * on.double_rate()) > clocks ? 4550 + clocks : never;
}

/// Calls multiply(problem of doubles); false, and nothing has happened, where C or beta do not allow it.
template <class P, class T, class TC, class S, class Epilogue, class F>
bool gemm_by_real_parts(const P& where, const gemm_problem<T, T, TC, S, Epilogue>& x, F multiply) {
  if constexpr (std::is_same_v<T, TC> && std::is_same_v<T, S> && std::is_same_v<Epilogue, no_epilogue>) {
    using real = typename T::value_type;
    using kernel = complex_copy_kernel<T>;
    if (x.k == 0 || x.c.col_stride != 1 || x.result.beta.imag() != 0) return false;
    const bool along_k = x.b.k_stride == 1, copies_a = x.a.k_stride != 1;
    const std::int64_t b_pairs = pairs_of_copy(x.b, x.k, x.batch, true),
                       a_pairs = copies_a ? pairs_of_copy(x.a, x.k, x.batch, false) : 0;
    scratch memory(
        where, scratch_bytes({checked_bytes(a_pairs, sizeof(T), "gemm"), checked_bytes(b_pairs, sizeof(T), "gemm")}),
        0);
    const auto copy = [&](const gemm_operand<T>& y, bool in_k, bool doubled, const T& factor) {
      auto* const to = memory.template take<typename kernel::pair>(pairs_of_copy(y, x.k, x.batch, doubled));
      const std::int64_t lines = in_k ? y.extent : x.k, length = in_k ? x.k : y.extent,
                         pieces = ceil_div(length, std::int64_t(kernel::threads * kernel::items)),
                         units = pieces * lines * (y.batch_stride == 0 ? 1 : x.batch);
      launch(where, min(units, std::int64_t(1) << 30), kernel{},
             typename kernel::arguments{y.data, to, factor, lines, length, in_k ? y.stride : y.k_stride,
                                        in_k ? y.k_stride : y.stride, y.batch_stride, pieces, units, doubled, in_k});
      return reinterpret_cast<const real*>(to);
    };
    const real* const a = copies_a ? copy(x.a, true, false, T(1)) : reinterpret_cast<const real*>(x.a.data);
    const real* const b = copy(x.b, along_k, true, x.result.alpha);
    const std::int64_t m = x.c.rows, n = x.c.cols, k = x.k;
    multiply(gemm_problem<real, real, real, real, no_epilogue>{
        {a, m, 2 * (copies_a ? k : x.a.stride), 1, 2 * (copies_a && x.a.batch_stride != 0 ? m * k : x.a.batch_stride)},
        {b, 2 * n, along_k ? 2 * k : 1, along_k ? 1 : 2 * n, x.b.batch_stride == 0 ? 0 : 4 * n * k},
        {reinterpret_cast<real*>(x.c.data), m, 2 * n, 2 * x.c.row_stride, 1, 2 * x.c.batch_stride},
        2 * k,
        x.batch,
        {real(1), x.result.beta.real(), {}, false}});
    return true;
  } else {
    return false;
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
