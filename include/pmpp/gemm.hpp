// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: gemm, gemm_batched, gemv.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/host.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How floats are multiplied.
enum class gemm_precision {
  full,  ///< in the type of the elements
  tf32   ///< rounded to 11 significant bits, where that is faster; sums are floats. Asked for by name, never chosen.
};

/// Leaves results as they are.
struct no_epilogue {
  template <class T>
  PMPP_HOST_DEVICE constexpr T operator()(const T& value) const {
    return value;
  }
};

/// What a product may do besides.
template <class Epilogue = no_epilogue>
struct gemm_options {
  gemm_precision precision = gemm_precision::full;
  Epilogue epilogue{};  ///< applied to each alpha (AB) + beta C before it is stored: f(value), or f(value, row, column)
};
template <class Epilogue>
gemm_options(gemm_precision, Epilogue) -> gemm_options<Epilogue>;

/// The tiles among which a product chooses.
struct gemm_tuning {
  gemm_tile large, small;
  gemm_tile wide;  ///< for a few rows, or, exchanged, a few columns
};

namespace detail {

/// The type that products of TA and TB add up in: float for half and bfloat16, int for 8- and 16-bit integers.
template <class TA, class TB>
using gemm_sum = decltype(std::conditional_t<is_two_byte_float<TA>, float, TA>{} *
                          std::conditional_t<is_two_byte_float<TB>, float, TB>{});

/// The type of alpha and beta: that of the sums, or wider where C is.
template <class A, class TC>
using gemm_scale = decltype(A{} * std::conditional_t<is_two_byte_float<TC>, float, TC>{});

}  // namespace detail

template <class A>
constexpr gemm_tuning gemm_tuning_for() {
  if (sizeof(A) <= 4)
    return {{128, 128, 16, 4, 8, 16, 8, 2}, {64, 64, 16, 4, 8, 4, 4, 3}, {16, 256, 16, 4, 8, 4, 2, 3}};
  return {{128, 64, 16, 4, 8, 8, 8, 2}, {64, 64, 16, 3, 4, 4, 4, 2}, {16, 128, 16, 4, 8, 2, 2, 3}};
}

namespace detail {

template <gemm_tuning Tuning, class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_on_blocks(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  check_reachable(where, "gemm", x.a.data);
  check_reachable(where, "gemm", x.b.data);
  check_reachable(where, "gemm", x.c.data);
  const auto plan = [&]<gemm_tile Tile>(std::integral_constant<gemm_tile, Tile>, bool exchanged) {
    const std::int64_t m = exchanged ? x.c.cols : x.c.rows, n = exchanged ? x.c.rows : x.c.cols;
    return plan_gemm<Tile, A>(m, n, x.k, x.batch, processor_count(where));
  };
  constexpr std::integral_constant<gemm_tile, Tuning.large> large;
  constexpr std::integral_constant<gemm_tile, Tuning.small> small;
  constexpr std::integral_constant<gemm_tile, Tuning.wide> wide;
  const auto by_large = plan(large, false), by_small = plan(small, false), by_wide = plan(wide, false),
             by_tall = plan(wide, true);
  const double least =
      smaller(smaller(by_large.clocks, by_small.clocks), smaller(by_wide.clocks, by_tall.clocks));
  if (by_large.clocks == least)
    gemm_by_tiles<Tuning.large, A>(where, x, by_large);
  else if (by_small.clocks == least)
    gemm_by_tiles<Tuning.small, A>(where, x, by_small);
  else if (by_wide.clocks == least)
    gemm_by_tiles<Tuning.wide, A>(where, x, by_wide);
  else
    gemm_by_tiles<Tuning.wide, A>(where, x.exchanged(), by_tall);
}

inline void require_equal(const char* function, const char* what, std::int64_t a, const char* other, std::int64_t b) {
  require(a == b, [&] {
    return std::string("pmpp::") + function + ": " + what + " (" + std::to_string(a) + ") is not " + other + " (" +
           std::to_string(b) + ")";
  });
}

template <class Tag, gemm_tuning Tuning, class A, class P, class S, class TA, class TB, class TC, class Epilogue>
void gemm_checked(const char* function, const P& where, S alpha, const matrix_view<TA>& a, std::int64_t a_stride,
                  const matrix_view<TB>& b, std::int64_t b_stride, S beta, const matrix_view<TC>& c,
                  std::int64_t c_stride, std::int64_t batch, const Epilogue& epilogue) {
  require_equal(function, "the number of columns of A", a.cols(), "that of rows of B", b.rows());
  require_equal(function, "the number of rows of C", c.rows(), "that of A", a.rows());
  require_equal(function, "the number of columns of C", c.cols(), "that of B", b.cols());
  if (c.empty() || batch == 0) return;
  const std::int64_t k = alpha == S{} ? 0 : a.cols();
  if (k == 0) alpha = S{};
  using EA = std::remove_const_t<TA>;
  using EB = std::remove_const_t<TB>;
  const gemm_problem<EA, EB, TC, S, Epilogue> x{
      {a.data(), a.rows(), a.row_stride(), a.col_stride(), a_stride},
      {b.data(), b.cols(), b.col_stride(), b.row_stride(), b_stride},
      {c.data(), c.rows(), c.cols(), c.row_stride(), c.col_stride(), c_stride},
      k,
      batch,
      {alpha, beta, epilogue, false}};
  if constexpr (std::is_same_v<P, seq_policy>)
    gemm_by_definition<A>(x);
  else if constexpr (std::is_same_v<P, host_policy>)
    gemm_on_cores<A>(where, x);
  else if (c.row_major() || !c.col_major())
    gemm_on_blocks<Tuning, A>(where, x);
  else
    gemm_on_blocks<Tuning, A>(where, x.exchanged());
}

}  // namespace detail

/// C = alpha A B + beta C.
template <gemm_tuning... Tuning, execution_policy P, class Alpha, class TA, class TB, class Beta, class TC,
          class Epilogue = no_epilogue>
void gemm(const P& where, Alpha alpha, const matrix_view<TA>& a, const matrix_view<TB>& b, Beta beta,
          const matrix_view<TC>& c, const gemm_options<Epilogue>& options = {}) {
  using A = detail::gemm_sum<std::remove_const_t<TA>, std::remove_const_t<TB>>;
  using S = detail::gemm_scale<A, TC>;
  constexpr gemm_tuning tuning[] = {Tuning..., gemm_tuning_for<A>()};
  detail::gemm_checked<void, tuning[0], A>("gemm", where, static_cast<S>(alpha), a, 0, b, 0, static_cast<S>(beta), c, 0, 1, options.epilogue);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
