// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of 8-bit floats, with scales: gemm_scaled, and gemm without.
//
//   pmpp::gemm(device, alpha, A, B, 0, C);                            alpha: the scales of A and of B, multiplied
//   pmpp::gemm_scaled(device, 1, A, scales_of_a, B, scales_of_b, 0, C);
//
// Eight bits are little, so numbers are divided by a scale before they are rounded to them: one for all of a matrix, one for each
// row of A and column of B, or one for each block of 128 numbers of k (and of 128 rows, or columns). Scales are a matrix of floats
// whose shape says which of these it is:
//
//   of A, m x k      1 x 1     m x 1     m x k/128     m/128 x k/128     1 x k/128, m/128 x 1
//   of B, k x n      1 x 1     1 x n     k/128 x n     k/128 x n/128     ...
//
// where a division is rounded up. Any of them goes with any other.
//
//   1. On an H100 by its tensor cores, in the pipeline of gemm/warp_specialised.hpp; each 128 numbers of k are added up by them,
//      and these sums in float (gemm_scaled/wgmma.hpp). Where C has few elements, by warps that need no pipeline (gemm_scaled/warps.hpp).
//   2. Elsewhere as wider numbers, by what gemm has for those (gemm_scaled/elsewhere.hpp).
//
// e4m3 and e5m2 may be mixed: pmpp::fp8_e4m3 and pmpp::fp8_e5m2, or those of <cuda_fp8.h>. (PMPP appendix A; DeepSeek-V3 technical
// report, 2024; OCP 8-bit floating point specification.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/fp8.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/gemm_scaled/elsewhere.hpp>
#include <pmpp/gemm_scaled/scales.hpp>
#include <pmpp/gemm_scaled/wgmma.hpp>
#include <pmpp/memory/reachable.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Scales as the kernel sees them, of an operand of `extent` rows along m (n): `given` has as many rows as that, one, or one for each
/// 128. \throws std::invalid_argument otherwise.
template <class T, class TC>
operand_scales scales_of(const char* name, const char* lines, const matrix_view<T>& given, std::int64_t extent,
                         std::int64_t k, const matrix_view<TC>& c) {
  static_assert(std::is_same_v<std::remove_const_t<T>, float>, "pmpp::gemm_scaled: scales are floats");
  const auto require_length = [&](std::int64_t has, const char* what, std::int64_t wanted, bool one_each) {
    const std::int64_t blocks = ceil_div(wanted, std::int64_t(scale_block));
    require(has == 1 || has == blocks || (one_each && has == wanted), [&] {
      return text("pmpp::gemm_scaled: the scales of ") + name + " have " + text::of(has) + " " + what + ", for " +
             text::of(wanted) + " of " + name + " these are 1, " + text::of(blocks) +
             (one_each ? text(" or ") + text::of(wanted) : text(""));
    });
  };
  require_length(given.rows(), lines, extent, true);
  require_length(given.cols(), lines[0] == 'r' ? "columns" : "rows", k, false);
  require_matrix("gemm_scaled", "a matrix of scales", given, true);
  require(given.empty() || !memory_of_view(given).meets(memory_of_view(c)),
          [&] { return text("pmpp::gemm_scaled: C overlaps the scales of ") + name; });
  const bool one = given.rows() == 1;
  return {given.data(), one ? 0 : given.row_stride(), given.cols() == 1 ? 0 : given.col_stride(),
          !one && given.rows() != extent ? scale_block_log2 : 0};
}

/// The elements of a view as those of this library.
template <class T>
auto view_of_fp8(const matrix_view<T>& v) {
  using own = const own_fp8<T>;
  return matrix_view<own>(reinterpret_cast<own*>(v.data()), v.rows(), v.cols(), v.row_stride(), v.col_stride());
}

/// Both calls. scales(k): a pair of what A and B have.
template <class P, class Alpha, class TA, class TB, class Beta, class TC, class Epilogue, class Precision, class Scales>
void gemm_of_fp8(const char* function, const P& where, Alpha alpha, const matrix_view<TA>& a, const matrix_view<TB>& b,
                 Beta beta, const matrix_view<TC>& c, const gemm_options<Epilogue, Precision>& options, Scales scales) {
  static_assert(is_fp8<TA> && is_fp8<TB>, "pmpp::gemm_scaled: A and B are of fp8_e4m3 or fp8_e5m2, or of CUDA's types");
  static_assert(std::is_same_v<TC, float> || is_two_byte_float<TC>,
                "pmpp::gemm_scaled: C is of float, half or bfloat16");
  constexpr bool fast = std::is_same_v<Precision, fast_accumulation>;
  static_assert(fast || std::is_same_v<Precision, gemm_precision>);
  const auto multiply = [&](const auto& x) {
    const auto [of_a, of_b] = scales();
    const auto run = [&](const auto& y, const operand_scales& left, const operand_scales& right) {
      if constexpr (gpu_execution<P> && fast)
        if (!left.along_k() && !right.along_k() && gemm_scaled_by_wgmma<true>(where, y, left, right)) return;
      if constexpr (gpu_execution<P>)
        if (gemm_scaled_by_wgmma<false>(where, y, left, right)) return;
      gemm_scaled_elsewhere(where, y, left, right);
    };
    if constexpr (kernel_execution<P>)
      if (c.col_stride() != 1 && c.row_stride() == 1) return run(x.exchanged(), of_b, of_a);
    run(x, of_a, of_b);
  };
  gemm_checked(function, where, alpha, view_of_fp8(a), 0, view_of_fp8(b), 0, beta, c, 0, 1,
               gemm_options<Epilogue>{options.epilogue}, multiply);
}

}  // namespace detail

/// C <- epilogue(alpha (A . scales of A) (B . scales of B) + beta C): each element of A and B is multiplied by its scale.
///
/// \param alpha, beta  numbers; converted to float.
/// \param a, b  m x k and k x n, of 8-bit floats, e4m3 or e5m2, which may be mixed; any strides, any alignment; visible to `where`.
/// \param scales_of_a  floats, visible to `where`. As many rows as A, or 1, or one for each 128 rows of A; one column, or one for each
///                     128 columns of A. The last of 128 may be fewer. Any strides: transposed(...) where they lie otherwise.
/// \param scales_of_b  one row, or one for each 128 rows of B; as many columns as B, or 1, or one for each 128.
/// \param c  m x n, of float, half or bfloat16.
/// \param options  .epilogue as gemm. .precision: fast_accumulation{} where scales are the same all along k, below.
/// Products are exact. On an H100 tensor cores add up 128 numbers of k, and keep some 14 bits: of each 32 products and the sum so far
/// they cut off what is below 2^-13 of the largest. These sums are multiplied by their scales and added in float, in order. With
/// fast_accumulation such sums go on over all of k: what is cut off adds up, to a few hundredths of a sum of 8192 products of one
/// sign. Elsewhere all is added in float, or by tensor cores in float; scales of blocks are multiplied with the elements first.
/// NaN and infinity (of e5m2, or of sums) spread; what exceeds half is infinity: nothing saturates. alpha = 0 or k = 0: neither A, B
/// nor scales are read. beta = 0 does not read C. C shares no memory with what is read.
/// The same bits on every run. Asynchronous on a GPU; may be captured.
/// Scratch: on an H100 a copy of an operand that is not along k at multiples of 16 bytes, and what gemm takes where tiles are shared;
/// elsewhere copies of both, 2 bytes an element, 4 where scales vary along k.
/// Cost: 2 m n k operations; one launch, one more for each copy.
/// \throws std::invalid_argument as gemm, and for scales of another length; out_of_memory, cuda_error.
/// Source: PMPP appendix A. Example: test/gemm_scaled.cpp.
template <execution_policy P, class Alpha, class TA, class SA, class TB, class SB, class Beta, class TC,
          class Epilogue = no_epilogue, class Precision = gemm_precision>
void gemm_scaled(const P& where, Alpha alpha, const matrix_view<TA>& a, const matrix_view<SA>& scales_of_a,
                 const matrix_view<TB>& b, const matrix_view<SB>& scales_of_b, Beta beta, const matrix_view<TC>& c,
                 const gemm_options<Epilogue, Precision>& options = {}) {
  detail::check_reachable(where, "gemm_scaled", scales_of_a.data());
  detail::check_reachable(where, "gemm_scaled", scales_of_b.data());
  detail::gemm_of_fp8("gemm_scaled", where, alpha, a, b, beta, c, options, [&] {
    using detail::scales_of;
    return pair<detail::operand_scales, detail::operand_scales>{
        scales_of("A", "rows", scales_of_a, a.rows(), a.cols(), c),
        scales_of("B", "columns", transposed(scales_of_b), b.cols(), b.rows(), c)};
  });
}

/// gemm of 8-bit floats: C <- epilogue(alpha A B + beta C), summed as by gemm_scaled. One scale of A and one of B are factors of alpha.
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC, class Epilogue = no_epilogue, class Precision = gemm_precision>
requires(detail::is_fp8<TA>&& detail::is_fp8<TB>) void gemm(const P& where, Alpha alpha, const matrix_view<TA>& a,
                                                            const matrix_view<TB>& b, Beta beta,
                                                            const matrix_view<TC>& c,
                                                            const gemm_options<Epilogue, Precision>& options) {
  detail::gemm_of_fp8("gemm", where, alpha, a, b, beta, c, options,
                      [] { return pair<detail::operand_scales, detail::operand_scales>{}; });
}
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC>
requires(detail::is_fp8<TA>&& detail::is_fp8<TB>) void gemm(const P& where, Alpha alpha, const matrix_view<TA>& a,
                                                            const matrix_view<TB>& b, Beta beta,
                                                            const matrix_view<TC>& c) {
  gemm(where, alpha, a, b, beta, c, gemm_options<>{});
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
