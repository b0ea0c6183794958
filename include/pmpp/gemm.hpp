// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: gemm, gemm_batched, and gemv for a vector.
//
//   pmpp::gemm(device, 1, A, B, 0, C);                      C = A B; all three are matrix_views
//   pmpp::gemm(device, 1, transposed(A), B, 0.5f, C);       C = A' B + C / 2
//   pmpp::gemm(host, 1, A, B, 0, C, gemm_options{relu{}});
//
// A matrix_view says where element (i, j) lies, by any two strides: row-major, column-major, transposed, a part of a
// larger matrix, all without a copy. The ways to the result, a file each:
//
//   gemm/simt.hpp     tiles in shared memory and in registers, for every type; k is split where C alone is too small to
//                     keep the machine busy
//   gemm/bulk.hpp     the same for large floats on an H100, where TMA brings A and B (compiled for sm_90a)
//   gemm/stream_k.hpp the same tiles, dealt out evenly to all multiprocessors: for a small C and a long k
//   gemm/mma.hpp      tiles multiplied by tensor cores: double, half, bfloat16, 8-bit integers, and float if asked for
//   gemm/wgmma.hpp    the same, where a program is compiled for sm_90a: twice as fast on an H100, doubles little
//   gemm/strips.hpp   C has up to 32 rows, or columns, of floats: memory is the limit
//   gemm/small.hpp    thousands of products of at most 32 x 32 elements: a warp multiplies one
//   gemm/vector.hpp   C has one column, or one row: memory is the limit
//   gemm/host.hpp     packed panels and the vectors of the processor at hand, on all cores
//   seq is the definition: three loops.
//
// Elements are multiplied and added up in the type that their product has in C++: float for floats (no tf32 unless
// asked for), int for 8- and 16-bit integers; half and bfloat16 become floats first.
// The same bits on every run: the order of additions depends on the shapes and strides, the alignment and the number of
// multiprocessors. (PMPP ch. 3, 5, 6; Goto and van de Geijn, 2008; Volkov and Demmel, 2008.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/bulk.hpp>
#include <pmpp/gemm/host.hpp>
#include <pmpp/gemm/mma.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/repack.hpp>
#include <pmpp/gemm/stream_k.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/gemm/small.hpp>
#include <pmpp/gemm/strips.hpp>
#include <pmpp/gemm/vector.hpp>
#include <pmpp/gemm/wgmma.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How floats are multiplied.
enum class gemm_precision {
  full,  ///< in the type of the elements
  tf32   ///< may be rounded, or cut off, to 11 significant bits where that is faster; added up in float
};

/// What a product may do besides: gemm_options{.epilogue = relu{}}, gemm_options{.precision = gemm_precision::tf32}.
template <class Epilogue = no_epilogue>
struct gemm_options {
  Epilogue epilogue{};  ///< applied to each alpha (AB) + beta C before it is stored: f(value) or f(value, row, column)
  gemm_precision precision = gemm_precision::full;
};

/// The tiles among which a product chooses by its shape.
struct gemm_tuning {
  gemm_tile large{}, small{};
  gemm_tile few_rows{};                        ///< for a few rows; for a few columns, exchanged
  gemm_tile each{};                            ///< for many small products
  mma_tile mma_large{}, mma_small{};           ///< for tensor cores; without them these are not used
  gemm_tile sliced{}, oblong{};                ///< for a small C: warps share a tile and divide k
  gemm_strip thin{}, strip{};                  ///< for a few rows or columns, and some more
  gemm_tile bulk{};                            ///< instead of `large` where TMA of sm_90a brings A and B
  stream_k_tile stream_k{}, small_stream_k{};  ///< for a small C and a long k

  friend constexpr bool operator==(const gemm_tuning&, const gemm_tuning&) = default;
};

// clang-format off
/// The tiles for sums of type A, measured on an H100 (docs/gemm.md). A machine that one does not fit goes without it; `each`,
/// and mma_small with fewer stages, fit into 48 KB.
template <class A>
constexpr gemm_tuning gemm_tuning_for() {
  if (sizeof(A) <= 4)
    return {
        // 128 products of 6 loads from shared memory.
        .large = {.m = 128, .n = 128, .k = 8, .stages = 6, .thread_m = 16, .thread_n = 8, .lanes_m = 4, .blocks = 2, .unrolled_k = 8},
        // A warp for each scheduler, so two multiply each half of a k-tile (896 x 896 x 896: 42 us, 50 by two warps and 8 k).
        .small = {.m = 64, .n = 64, .k = 16, .stages = 5, .thread_m = 8, .thread_n = 8, .lanes_m = 8, .blocks = 3, .unrolled_k = 8, .slices = 2},
        .few_rows = {.m = 16, .n = 256, .k = 8, .stages = 8, .thread_m = 8, .thread_n = 4, .lanes_m = 2, .blocks = 3, .unrolled_k = 8},
        .each = {.m = 32, .n = 32, .k = 8, .stages = 4, .thread_m = 4, .thread_n = 8, .lanes_m = 8, .blocks = 12, .unrolled_k = 8},
        .mma_large = {.m = 128, .n = 128, .warp_m = 64, .warp_n = 64, .stages = 3, .blocks = 2},
        .mma_small = {.m = 64, .n = 64, .warp_m = 32, .warp_n = 32, .stages = 6, .blocks = 2},
        .sliced = {.m = 32, .n = 32, .k = 32, .stages = 6, .thread_m = 8, .thread_n = 4, .lanes_m = 4, .blocks = 4, .unrolled_k = 8, .slices = 4},
        .oblong = {.m = 32, .n = 64, .k = 32, .stages = 5, .thread_m = 8, .thread_n = 8, .lanes_m = 4, .blocks = 3, .unrolled_k = 8, .slices = 4},
        // Two k-tiles on their way: 16 x 4096 x 4096 in 33 to 36 us, 30 to 32 for reading B alone.
        .thin = {.rows = 16, .k = 64, .stages = 3}, .strip = {.rows = 32, .k = 64, .stages = 3},
        // 4096 x 4096 x 4096: 54.0 TFLOP/s; 16 x 8 elements a thread 53.0, k-tiles of 16 k 53.1.
        .bulk = {.m = 128, .n = 128, .k = 32, .stages = 3, .thread_m = 8, .thread_n = 16, .lanes_m = 8, .blocks = 2, .unrolled_k = 16},
        // 128 x 128 x 65536: 59.5 us, by tiles 74.8.
        .stream_k = {.m = 128, .n = 128, .k = 16, .stages = 5}, .small_stream_k = {.m = 64, .n = 64, .k = 32, .stages = 5}};
  return {
      .large = {.m = 128, .n = 64, .k = 8, .stages = 6, .thread_m = 8, .thread_n = 8, .lanes_m = 8, .blocks = 2, .unrolled_k = 8},
      .small = {.m = 64, .n = 64, .k = 8, .stages = 6, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 2, .unrolled_k = 8},
      .few_rows = {.m = 16, .n = 128, .k = 8, .stages = 8, .thread_m = 8, .thread_n = 2, .lanes_m = 2, .blocks = 3, .unrolled_k = 8},
      .each = {.m = 32, .n = 32, .k = 8, .stages = 4, .thread_m = 4, .thread_n = 4, .lanes_m = 8, .blocks = 8, .unrolled_k = 8},
      .mma_large = detail::large_double_tile, .mma_small = detail::small_double_tile};
}
// clang-format on

namespace detail {

/// The type that products of TA and TB add up in.
template <class T>
using gemm_factor = std::conditional_t<is_two_byte_float<std::remove_const_t<T>>, float, std::remove_const_t<T>>;
template <class TA, class TB>
using gemm_sum = decltype(gemm_factor<TA>{} * gemm_factor<TB>{});

/// The type of alpha and beta: that of the sums, or wider where C is.
template <class A, class TC>
using gemm_scale = decltype(A{} * gemm_factor<TC>{});

/// Large and small tiles. Operands that cannot be read in words along m or n are copied first to where they can, if each
/// of their elements is used often enough. Where TMA can bring A and B, by tiles `Bulk`.
template <gemm_tile Tile, class A, gemm_tile Bulk = gemm_tile{}, class P, class TA, class TB, class TC, class S,
          class Epilogue>
void gemm_by_copies(const P& where, gemm_problem<TA, TB, TC, S, Epilogue> x, const gemm_plan& plan) {
  constexpr std::int64_t worth_a_copy = 2048;  // products of an element (H100)
  constexpr bool has_bulk = gpu_execution<P> && Bulk.m > 0 && std::is_same_v<TA, float> && std::is_same_v<TB, float>;
  const bool large = plan.splits == 1 || plan.whole > 0;
  bool bulk = false;
  if constexpr (has_bulk) bulk = large && copy_unit_available();
  const auto bytes = [&](const auto& y, std::int64_t products) {
    // Tiles at an edge that cuts words are slow, but for TMA: then elements one by one are faster.
    const bool copied = large && products >= worth_a_copy && y.copy != k_tile_copy::words &&
                        (bulk || y.extent % std::int64_t(16 / sizeof(A)) == 0);
    return copied ? repacked_bytes(y, false, x.k, x.batch) : 0;
  };
  const std::int64_t a_bytes = bytes(x.a, x.c.cols), b_bytes = bytes(x.b, x.c.rows);
  scratch memory(where, scratch_bytes({checked_bytes(a_bytes, 1, "gemm"), checked_bytes(b_bytes, 1, "gemm")}), 0);
  if (a_bytes > 0) repack(where, x.a, false, x.k, x.batch, memory.template take<std::byte>(a_bytes));
  if (b_bytes > 0) repack(where, x.b, false, x.k, x.batch, memory.template take<std::byte>(b_bytes));
  if constexpr (has_bulk)
    if (bulk && gemm_by_bulk<Bulk>(where, x)) return;
  gemm_by_tiles<Tile, A>(where, x, plan);
}

/// A few rows: strips, where B lies so that they can read it. Says whether it was.
template <gemm_tuning Tuning, class A, class P, class TA, class TB, class TC, class S, class Epilogue>
bool gemm_of_few_rows(const P& where, const machine& on, const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  if constexpr (Tuning.strip.rows > 0 && std::is_same_v<TA, A> && std::is_same_v<TB, A>) {
    if (!fits_strips(x)) return false;
    const auto multiply = [&]<gemm_strip Strip>(std::integral_constant<gemm_strip, Strip>) {
      if (x.c.rows > Strip.rows || !on.fits(Strip.shared_bytes(sizeof(A)))) return false;
      gemm_by_strips<Strip, A>(where, on, x);
      return true;
    };
    if (multiply(std::integral_constant<gemm_strip, Tuning.thin>{})) return true;
    if constexpr (Tuning.thin.shared_bytes(sizeof(A)) > least_shared_per_block<P>)  // 99 KB hold two k-tiles
      if (multiply(std::integral_constant<gemm_strip, gemm_strip{Tuning.thin.rows, Tuning.thin.k, 2}>{})) return true;
    return multiply(std::integral_constant<gemm_strip, Tuning.strip>{});
  }
  return false;
}

/// A small C and a long k: by stream-K, where that is expected to take less than `clocks`. Says whether it was taken.
template <gemm_tuning Tuning, class A, class P, class TA, class TB, class TC, class S, class Epilogue>
bool gemm_of_stream_k(const P& where, const machine& on, const gemm_problem<TA, TB, TC, S, Epilogue>& x,
                      double clocks) {
  if constexpr (Tuning.stream_k.m > 0 && std::is_same_v<TA, A> && std::is_same_v<TB, A>) {
    if (!fits_stream_k(x)) return false;
    const double large = clocks_of_stream_k<Tuning.stream_k>(x, on),
                 small = clocks_of_stream_k<Tuning.small_stream_k>(x, on);
    if (min(large, small) >= clocks) return false;
    if (large <= small)
      gemm_by_stream_k<Tuning.stream_k, A>(where, x, on.multiprocessors);
    else
      gemm_by_stream_k<Tuning.small_stream_k, A>(where, x, on.multiprocessors);
    return true;
  }
  return false;
}

/// Chooses among the tiles that fit the machine by what they are expected to cost.
template <gemm_tuning Tuning, bool Batched, class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_on_blocks(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  const machine& on = machine_of(where);
  if (gemm_of_few_rows<Tuning, A>(where, on, x) || gemm_of_few_rows<Tuning, A>(where, on, x.exchanged())) return;
  const bool few = min(x.c.rows, x.c.cols) <= 128;  // rows or columns: k is split all over, or the wide tile fits
  const auto cost = [&]<gemm_tile Tile>(std::integral_constant<gemm_tile, Tile>, bool exchanged) {
    const std::int64_t m = exchanged ? x.c.cols : x.c.rows, n = exchanged ? x.c.rows : x.c.cols;
    const gemm_cost tile = gemm_cost_of<Tile, A>(on);
    constexpr bool waves = Tile == Tuning.large || Tile == Tuning.small || Tile.slices > 1;
    return waves && !few ? plan_waves(tile, m, n, x.k, x.batch, on) : plan_gemm(tile, m, n, x.k, x.batch, on);
  };
  constexpr std::integral_constant<gemm_tile, Tuning.large> large_tile;
  constexpr std::integral_constant<gemm_tile, Tuning.small> small_tile;
  constexpr std::integral_constant<gemm_tile, Tuning.few_rows> few_rows_tile;
  const gemm_plan large = cost(large_tile, false), turned = cost(large_tile, true), small = cost(small_tile, false),
                  few_rows = cost(few_rows_tile, false), tall = cost(few_rows_tile, true);
  const double large_least = min(large.clocks, turned.clocks), few_rows_least = min(few_rows.clocks, tall.clocks);
  const double least = min(min(large_least, few_rows_least), small.clocks);
  if constexpr (Batched || (Tuning.each.m > 0 && Tuning.small.shared_bytes(sizeof(A)) > least_shared_per_block<P>)) {
    const gemm_plan each = cost(std::integral_constant<gemm_tile, Tuning.each>{}, false);
    if ((Batched || least == never) && each.clocks < least) return gemm_by_tiles<Tuning.each, A>(where, x, each);
  }
  if constexpr (Tuning.sliced.m > 0 && Tuning.oblong.m > 0) {
    const gemm_plan sliced = cost(std::integral_constant<gemm_tile, Tuning.sliced>{}, false),
                    oblong = cost(std::integral_constant<gemm_tile, Tuning.oblong>{}, false);
    const double sliced_least = few ? least : min(sliced.clocks, oblong.clocks);
    if (gemm_of_stream_k<Tuning, A>(where, on, x, min(least, sliced_least))) return;
    if (sliced_least < least)
      return sliced.clocks < oblong.clocks ? gemm_by_tiles<Tuning.sliced, A>(where, x, sliced)
                                           : gemm_by_tiles<Tuning.oblong, A>(where, x, oblong);
  }
  if (large.clocks == least)
    gemm_by_copies<Tuning.large, A, Tuning.bulk>(where, x, large);
  else if (small.clocks == least)
    gemm_by_copies<Tuning.small, A>(where, x, small);
  else if (few_rows.clocks == least)
    gemm_by_tiles<Tuning.few_rows, A>(where, x, few_rows);
  else if (tall.clocks == least)
    gemm_by_tiles<Tuning.few_rows, A>(where, x.exchanged(), tall);
  else
    gemm_by_copies<Tuning.large, A, Tuning.bulk>(where, x.exchanged(), turned);
}

/// The definition, on one thread.
template <class A, class TA, class TB, class TC, class S, class Epilogue>
void gemm_by_definition(const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  for (std::int64_t batch = 0; batch < x.batch; ++batch)
    for (std::int64_t i = 0; i < x.c.rows; ++i)
      for (std::int64_t j = 0; j < x.c.cols; ++j) {
        const TA* a = x.a.data + batch * x.a.batch_stride + i * x.a.stride;
        const TB* b = x.b.data + batch * x.b.batch_stride + j * x.b.stride;
        A sum{};
        for (std::int64_t p = 0; p < x.k; ++p)
          sum += static_cast<A>(a[p * x.a.k_stride]) * static_cast<A>(b[p * x.b.k_stride]);
        TC* to = x.c.data + batch * x.c.batch_stride + i * x.c.row_stride + j * x.c.col_stride;
        *to = x.result(sum, to, i, j);
      }
}

/// Takes the way that suits the policy and the shape. Only with MayRound are there kernels for tf32, which `rounds` asks for.
template <gemm_tuning Tuning, bool Batched, bool MayRound, class A, class P, class TA, class TB, class TC, class S,
          class Epilogue>
void gemm_dispatch(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, [[maybe_unused]] bool rounds) {
  constexpr bool on_blocks = kernel_execution<P>;
  const bool column = x.batch == 1 && x.c.cols == 1, row = x.batch == 1 && x.c.rows == 1 && !column;
  if constexpr (std::is_same_v<P, seq_policy>) {
    gemm_by_definition<A>(x);
  } else if (!on_blocks && x.batch * x.c.rows * x.c.cols <= 4 && x.k <= 16) {
    gemm_by_definition<A>(x);  // sooner than memory is taken
  } else if (column || row) {
    const auto run = [&](const auto& y) {
      if constexpr (on_blocks)
        gemv_on_blocks<A>(where, y);
      else
        gemv_on_cores<A>(where, y);
    };
    column ? run(x) : run(x.exchanged());
  } else if constexpr (!on_blocks) {
    gemm_on_cores<A>(where, x);
  } else {
    const machine& on = machine_of(where);
    constexpr bool tensor_cores = Tuning.mma_large.m > 0 && std::is_same_v<TA, TB>;
    const auto multiply = [&]<simt::mma_type Type>(const auto& y) {
      if constexpr (Batched)
        if (y.c.rows <= Tuning.each.m && y.c.cols <= Tuning.each.n)
          return gemm_by_tiles<Tuning.each, A>(
              where, y, plan_gemm(gemm_cost_of<Tuning.each, A>(on), y.c.rows, y.c.cols, y.k, y.batch, on));
      if (gemm_by_wgmma(where, y)) return;
      gemm_on_tensor_cores<Type, Tuning.mma_large, Tuning.mma_small>(where, y);
    };
    const auto run = [&](const auto& y) {
      if constexpr (Batched)
        if (fit_warps<A>(y, on)) return gemm_by_warps<A>(where, y);
      if constexpr (tensor_cores && MayRound && std::is_same_v<TA, float>)
        if (rounds) return multiply.template operator()<simt::mma_type::tf32>(y);
      if constexpr (tensor_cores && mma_type_of<TA> != simt::mma_type::none)
        multiply.template operator()<mma_type_of<TA>>(y);
      else
        gemm_on_blocks<Tuning, Batched, A>(where, y);
    };
    x.c.col_stride != 1 && x.c.row_stride == 1 ? run(x.exchanged()) : run(x);
  }
}

inline void require_equal(const char* function, const char* what, std::int64_t a, const char* other, std::int64_t b) {
  require(a == b, [&] {
    return std::string("pmpp::") + function + ": " + what + " is " + std::to_string(a) + ", " + other + " is " +
           std::to_string(b);
  });
}

template <class T>
void require_matrix(const char* function, const char* name, const matrix_view<T>& v, bool used) {
  require(v.rows() >= 0 && v.cols() >= 0, [&] {
    return std::string("pmpp::") + function + ": " + name + " has " + std::to_string(v.rows()) + " x " +
           std::to_string(v.cols()) + " elements";
  });
  require(!used || v.empty() || v.data() != nullptr, [&] {
    return std::string("pmpp::") + function + ": " + name + " is null, but has " + std::to_string(v.rows()) + " x " +
           std::to_string(v.cols()) + " elements";
  });
}

/// Checks the call, and makes one description of it for all ways.
template <gemm_tuning Tuning, bool Batched, bool MayRound, class P, class TA, class TB, class TC, class Alpha,
          class Beta, class Epilogue>
void gemm_checked(const char* function, const P& where, Alpha alpha_given, const matrix_view<TA>& a,
                  std::int64_t a_stride, const matrix_view<TB>& b, std::int64_t b_stride, Beta beta_given,
                  const matrix_view<TC>& c, std::int64_t c_stride, std::int64_t batch,
                  const gemm_options<Epilogue>& options) {
  static_assert(!std::is_const_v<TC>, "pmpp::gemm: the elements of C are const");
  using A = gemm_sum<TA, TB>;
  using S = gemm_scale<A, TC>;
  const S alpha = static_cast<S>(alpha_given), beta = static_cast<S>(beta_given);
  const bool multiplies = alpha != S{} && a.cols() > 0;
  require_matrix(function, "A", a, multiplies);
  require_matrix(function, "B", b, multiplies);
  require_matrix(function, "C", c, true);
  require_equal(function, "the number of columns of A", a.cols(), "that of rows of B", b.rows());
  require_equal(function, "the number of rows of C", c.rows(), "that of A", a.rows());
  require_equal(function, "the number of columns of C", c.cols(), "that of B", b.cols());
  require(batch >= 0, [&] { return std::string("pmpp::") + function + ": batch is " + std::to_string(batch); });
  if (c.empty() || batch == 0) return;
  require(
      (c.rows() == 1 || c.row_stride() != 0) && (c.cols() == 1 || c.col_stride() != 0) && (batch == 1 || c_stride != 0),
      [&] { return std::string("pmpp::") + function + ": elements of C share memory, a stride is 0"; });
  const auto meets_c = [&](const auto& v) { return batch == 1 && memory_of_view(v).meets(memory_of_view(c)); };
  require(!multiplies || !(meets_c(a) || meets_c(b)), [&] {
    return std::string("pmpp::") + function + ": C (" + std::to_string(c.rows()) + " x " + std::to_string(c.cols()) +
           ") overlaps " + (meets_c(a) ? "A" : "B") + ", which is still read when C is written";
  });
  check_reachable(where, function, a.data());
  check_reachable(where, function, b.data());
  check_reachable(where, function, c.data());
  const gemm_problem<std::remove_const_t<TA>, std::remove_const_t<TB>, TC, S, Epilogue> x{
      {a.data(), a.rows(), a.row_stride(), a.col_stride(), a_stride},
      {b.data(), b.cols(), b.col_stride(), b.row_stride(), b_stride},
      {c.data(), c.rows(), c.cols(), c.row_stride(), c.col_stride(), c_stride},
      multiplies ? a.cols() : 0,
      batch,
      {multiplies ? alpha : S{}, beta, options.epilogue, false}};
  gemm_dispatch<Tuning == gemm_tuning{} ? gemm_tuning_for<A>() : Tuning, Batched, MayRound, A>(
      where, x, options.precision == gemm_precision::tf32);
}

/// A vector as a matrix of one column. `length` is what it has to hold.
template <class V>
auto as_column(const char* argument, V&& v, std::int64_t length) {
  if constexpr (contiguous_data<V>) require_room("gemv", argument, std::int64_t(std::size(v)), length);
  const auto first = unwrap(begin_of(v));
  static_assert(
      std::is_pointer_v<std::remove_const_t<decltype(first)>>,
      "pmpp::gemv: x and y are contiguous ranges or pointers; for a strided vector use gemm on a view of one column");
  using element = std::remove_pointer_t<std::remove_const_t<decltype(first)>>;
  return matrix_view<element>(first, length, std::int64_t(1));
}

}  // namespace detail

/// C <- epilogue(alpha A B + beta C).
///
/// \param alpha, beta  numbers; converted to the type of the sums, or that of C if it is wider (float for half, bfloat16).
/// \param a, b, c  m x k, k x n and m x n; any strides, negative ones too, any alignment; visible to `where`. Their types
///                 may differ.
/// \param options  .epilogue: a callable for host and device, f(value) or f(value, i, j) for element (i, j) of C, called
///                 once an element, last of all: a bias, an activation. .precision: tf32 allows rounded factors.
/// As in BLAS: beta = 0 does not read C, whatever it holds; alpha = 0 or k = 0 does not read A or B. NaN and infinity
/// spread as the formula says otherwise. C shares no memory with A or B, nor its elements with each other.
/// Sums of half and bfloat16 are floats, rounded once at the end (what exceeds half is infinity); integers wrap.
/// The same bits on every run; on host also for any number of threads. Asynchronous on a GPU; may be captured.
/// Scratch: none, or one element of the sums' type for each element of C and each split of k where C is small, and for
/// those of the tiles that are split or shared where C is large (shared on an H100: at most two tiles for each place of a
/// block); and, where tensor cores multiply or A and B are large, a copy of an operand that cannot be read 16 bytes at a
/// time as it has to be, or on an H100 slowly, as its rows do not begin at multiples of 128 bytes.
/// Cost: 2 m n k operations; one launch, one more where k is split and for each copied operand, up to two more for a rest
/// of a large product of doubles on an H100. On ordinary units, rows of small A and B that do not begin at multiples of 16
/// bytes are read element by element, which takes a tenth longer.
/// \throws std::invalid_argument for shapes that do not fit, a null view, a C with stride 0, or one that overlaps A or B;
/// out_of_memory, cuda_error.
/// Source: PMPP ch. 5, 6. Example: test/gemm.cpp, the product of the definition.
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC, class Epilogue = no_epilogue>
void gemm(const P& where, Alpha alpha, const matrix_view<TA>& a, const matrix_view<TB>& b, Beta beta,
          const matrix_view<TC>& c, const gemm_options<Epilogue>& options) {
  detail::gemm_checked<Tuning, false, true>("gemm", where, alpha, a, 0, b, 0, beta, c, 0, 1, options);
}

/// C <- alpha A B + beta C: the same without options, and without the time to compile the kernels for tf32.
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC>
void gemm(const P& where, Alpha alpha, const matrix_view<TA>& a, const matrix_view<TB>& b, Beta beta,
          const matrix_view<TC>& c) {
  detail::gemm_checked<Tuning, false, false>("gemm", where, alpha, a, 0, b, 0, beta, c, 0, 1, gemm_options<>{});
}

/// The same for `batch` products: matrix number i begins i * stride elements after the first, which the view describes.
/// A stride of 0 for A or B uses one matrix for all products. One launch; small products share a multiprocessor.
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC, class Epilogue = no_epilogue>
void gemm_batched(const P& where, Alpha alpha, const matrix_view<TA>& a, std::int64_t a_stride,
                  const matrix_view<TB>& b, std::int64_t b_stride, Beta beta, const matrix_view<TC>& c,
                  std::int64_t c_stride, std::int64_t batch, const gemm_options<Epilogue>& options) {
  detail::gemm_checked<Tuning, true, true>("gemm_batched", where, alpha, a, a_stride, b, b_stride, beta, c, c_stride,
                                           batch, options);
}

/// The same without options.
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC>
void gemm_batched(const P& where, Alpha alpha, const matrix_view<TA>& a, std::int64_t a_stride,
                  const matrix_view<TB>& b, std::int64_t b_stride, Beta beta, const matrix_view<TC>& c,
                  std::int64_t c_stride, std::int64_t batch) {
  detail::gemm_checked<Tuning, true, false>("gemm_batched", where, alpha, a, a_stride, b, b_stride, beta, c, c_stride,
                                            batch, gemm_options<>{});
}

/// y <- epilogue(alpha A x + beta y), as gemm with vectors for B and C.
///
/// \param x, y  contiguous ranges with at least as many elements as A has columns and rows, or pointers.
/// Cost: A is read once; one launch, two where it has few rows. \throws std::length_error too if x or y is too short.
template <execution_policy P, class Alpha, class TA, reachable_by<P> X, class Beta, output_for<P> Y,
          class Epilogue = no_epilogue>
void gemv(const P& where, Alpha alpha, const matrix_view<TA>& a, X&& x, Beta beta, Y&& y,
          const gemm_options<Epilogue>& options = {}) {
  detail::gemm_checked<gemm_tuning{}, false, false>("gemv", where, alpha, a, 0, detail::as_column("x", x, a.cols()), 0,
                                                    beta, detail::as_column("y", y, a.rows()), 0, 1, options);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
