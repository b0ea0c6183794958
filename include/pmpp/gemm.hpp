// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: gemm, gemm_batched, and gemv for a vector.
//
//   pmpp::gemm(device, 1, A, B, 0, C);                      C = A B; all three are matrix_views
//   pmpp::gemm(device, 1, transposed(A), B, 0.5f, C);       C = A' B + C / 2
//   pmpp::gemm(host, 1, A, B, 0, C, gemm_options{relu{}});
//
// A matrix_view says where element (i, j) lies, by any two strides: row-major, column-major, transposed, a part of a
// larger matrix, all without a copy. The ways to the result, a file of gemm/ each:
//
//   multistage        tiles in shared memory and in registers, for every type; k is split where C alone is too small to
//                     keep the machine busy
//   direct            the same by plain loads: whatever is small in some direction, or lies askew
//   bulk              the same for large floats on an H100, where TMA brings A and B (compiled for sm_90a)
//   mma               tiles multiplied by tensor cores: double, complex double, half, bfloat16, 8-bit integers, and float if asked for
//   from_tensor_cores floats as three bfloat16s each (parts), whose products are those of floats: if asked for
//   warp_specialised  the same, where a program is compiled for sm_90a: twice as fast on an H100, doubles little
//   strips            C has 9 to 16 rows, or columns, of floats, and k is long: memory is the limit
//   patches           many small products, and single ones: a lane multiplies 4 x 4 elements, straight from global memory
//   small             thousands of products of about 16 x 16 elements: a warp multiplies one
//   vector            C has one column, or one row: memory is the limit, mostly
//   outer             k is at most 4, of large floats 8: writing C is the limit
//   host/gemm         packed panels and the vectors of the processor at hand, on all cores
//   seq is the definition: three loops.
//
// What they share: how stages of k-tiles are filled and freed (block/pipeline.hpp), how k-tiles arrive (operand), which tile and
// which part of k a block has, and how parts are added up (schedule), which elements a thread multiplies (math_fma), what becomes
// of sums (problem, sums_by_rows). What each is expected to cost stands beside its launch (simt, direct, wgmma, mma); what was chosen
// for a shape is remembered (remembered).
//
// Elements are multiplied and added up in the type that their product has in C++: float for floats (no tf32 unless
// asked for), int for 8- and 16-bit integers; half and bfloat16 become floats first.
// The same bits on every run: the order of additions depends on the shapes and strides, the alignment and the number of
// multiprocessors. (PMPP ch. 3, 5, 6; Goto and van de Geijn, 2008; Volkov and Demmel, 2008.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/fp8.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/overlap.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/available.hpp>
#include <pmpp/gemm/bulk.hpp>
#include <pmpp/gemm/complex_numbers.hpp>
#include <pmpp/gemm/direct.hpp>
#include <pmpp/gemm/from_tensor_cores.hpp>
#include <pmpp/gemm/mma.hpp>
#include <pmpp/gemm/outer.hpp>
#include <pmpp/gemm/patches.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/remembered.hpp>
#include <pmpp/gemm/repack.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/gemm/small.hpp>
#include <pmpp/gemm/strips.hpp>
#include <pmpp/gemm/vector.hpp>
#include <pmpp/gemm/wgmma.hpp>
#include <pmpp/host/gemm.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How floats are multiplied.
enum class gemm_precision {
  full,  ///< in the type of the elements
  tf32   ///< may be rounded, or cut off, to 11 significant bits where that is faster; added up in float
};

/// Floats multiplied by tensor cores where that is faster, to the accuracy of `full`: gemm_options{.precision =
/// float_from_tensor_cores{}}. A type of its own, so that those calls alone that ask for it compile its kernels.
struct float_from_tensor_cores {};

/// What a product may do besides: gemm_options{.epilogue = relu{}}, gemm_options{.precision = gemm_precision::tf32}.
template <class Epilogue = no_epilogue, class Precision = gemm_precision>
struct gemm_options {
  static_assert(std::is_same_v<Precision, gemm_precision> || std::is_same_v<Precision, float_from_tensor_cores> ||
                    std::is_same_v<Precision, fast_accumulation>,
                "pmpp::gemm: .precision is a gemm_precision, float_from_tensor_cores{} or fast_accumulation{}");
  Epilogue epilogue{};  ///< applied to each alpha (AB) + beta C before it is stored: f(value) or f(value, row, column)
  Precision precision{};
};

/// The tiles among which a product chooses by its shape.
struct gemm_tuning {
  gemm_tile large{}, small{};
  mma_tile mma_large{}, mma_small{};  ///< for tensor cores; without them these are not used
  gemm_strip thin{};                  ///< for a few rows or columns
  gemm_tile bulk{}, bulk_flat{};      ///< instead of `large` where TMA of sm_90a brings A and B

  bool direct = true;  ///< by plain loads too (gemm/direct.hpp)

  friend constexpr bool operator==(const gemm_tuning&, const gemm_tuning&) = default;
};

// clang-format off
/// The tiles for sums of type A, measured on an H100 (docs/gemm.md). A machine that one does not fit goes without it; direct
/// tiles, and mma_small with fewer stages, fit into 48 KB.
template <class A>
constexpr gemm_tuning gemm_tuning_for() {
  if (detail::is_complex_double<A>)
    return {.mma_large = detail::large_complex_tile, .mma_small = detail::small_complex_tile};
  if (detail::complex_number<A>) return {};  // direct tiles alone
  if (sizeof(A) <= 4)
    return {
        // 128 products of 6 loads from shared memory.
        .large = {.m = 128, .n = 128, .k = 8, .stages = 6, .thread_m = 16, .thread_n = 8, .lanes_m = 4, .blocks = 2, .unrolled_k = 8},
        // A warp for each scheduler, so two multiply each half of a k-tile (896 x 896 x 896: 42 us, 50 by two warps and 8 k).
        .small = {.m = 64, .n = 64, .k = 16, .stages = 5, .thread_m = 8, .thread_n = 8, .lanes_m = 8, .blocks = 3, .unrolled_k = 8, .slices = 2},
        .mma_large = {.m = 128, .n = 128, .warp_m = 64, .warp_n = 64, .stages = 3, .blocks = 2},
        // For a short k above all: three blocks, of which one or two load or write while another multiplies.
        .mma_small = {.m = 64, .n = 128, .warp_m = 32, .warp_n = 32, .stages = 2, .blocks = 3},
        // Two k-tiles on their way: 16 x 4096 x 4096 in 33 to 36 us, 30 to 32 for reading B alone.
        .thin = {.rows = 16, .k = 64, .stages = 3},
        // 4096 x 4096 x 4096: 54.0 TFLOP/s; 16 x 8 elements a thread 53.0, k-tiles of 16 k 53.1.
        .bulk = {.m = 128, .n = 128, .k = 32, .stages = 3, .thread_m = 8, .thread_n = 16, .lanes_m = 8, .blocks = 2, .unrolled_k = 16},
        .bulk_flat = {.m = 64, .n = 128, .k = 32, .stages = 3, .thread_m = 8, .thread_n = 8, .lanes_m = 4, .blocks = 3, .unrolled_k = 16}};
  return {
      .large = {.m = 128, .n = 64, .k = 8, .stages = 6, .thread_m = 8, .thread_n = 8, .lanes_m = 8, .blocks = 2, .unrolled_k = 8},
      .small = {.m = 64, .n = 64, .k = 8, .stages = 6, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 2, .unrolled_k = 8},
      .mma_large = detail::large_double_tile, .mma_small = detail::small_double_tile};
}
// clang-format on

namespace detail {

/// The type that products of TA and TB add up in.
template <class T>
using gemm_factor =
    std::conditional_t<is_two_byte_float<std::remove_const_t<T>> || is_fp8<T>, float, std::remove_const_t<T>>;
template <class TA, class TB>
using gemm_sum = decltype(gemm_factor<TA>{} * gemm_factor<TB>{});

/// The type of alpha and beta: that of the sums, or wider where C is.
template <class A, class TC>
using gemm_scale = decltype(A{} * gemm_factor<TC>{});

/// Whether an operand is copied first where threads copy k-tiles: its elements are used often enough (H100), and whole words.
template <class A, class Operand>
bool is_worth_a_copy(const Operand& y, std::int64_t products) {
  return products >= 2048 && y.copy != k_tile_copy::words && y.extent % std::int64_t(16 / sizeof(A)) == 0;
}

/// Clocks that reading C adds to writing it.
template <class Problem>
double clocks_of_reading_c(const Problem& x, const machine& on) {
  return x.result.reads() ? 0.23 * double(x.c.rows) * double(x.c.cols) * double(x.batch) / on.multiprocessors : 0;
}

/// A way to a product: the clocks that it is expected to take, `never` where it is none, and the call.
template <class F>
struct gemm_way {
  double clocks;
  F take;
};
/// Takes the way of fewest clocks, of equals the first.
template <class... F>
void take_best(const gemm_way<F>&... ways) {
  double least = never;
  ((least = min(least, ways.clocks)), ...);
  bool taken = false;
  ((!taken && ways.clocks == least ? (ways.take(), void(taken = true)) : void()), ...);
}

/// What the models of tiles leave out (gemm/simt.hpp): clocks of a call; factors of their clocks where operands are copied in words or
/// along k, and one by one; and of those that memory takes.
struct tile_factors {
  double call, words, elements, memory;
};
inline constexpr tile_factors factors_of_large{6610, 0.798, 0.841, 1.36}, factors_of_small{4040, 0.788, 0.899, 0};

/// Chooses among the ways that fit the machine by what they are expected to cost. The factors are fitted to random shapes of
/// floats on an H100 (benchmark/gemm_sweep).
/// `others`: ways besides.
template <gemm_tuning Tuning, class A, class P, class TA, class TB, class TC, class S, class Epilogue, class... Others>
void gemm_on_blocks(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const Others&... others) {
  const machine& on = machine_of(where);
  constexpr bool same_types = std::is_same_v<TA, A> && std::is_same_v<TB, A>;
  const auto none = gemm_way{never, [] {}};
  const auto directly = [&] {
    if constexpr (Tuning.direct) {
      const direct_plan plan = plan_directly<A>(x, on);
      return gemm_way{plan.clocks, [&where, &x, plan] { gemm_directly<A>(where, x, plan); }};
    } else {
      return none;
    }
  };
  const patch_plan patches = Tuning.direct ? plan_by_patches<A>(x, on) : patch_plan{};
  const auto by_patches = gemm_way{patches.clocks, [&] { gemm_by_patches<A>(where, x, patches); }};
  const outer_plan outer = Tuning.direct ? plan_outer_products(x, on) : outer_plan{};
  const auto by_outer_products = gemm_way{outer.clocks, [&] { gemm_by_outer_products<A>(where, x, outer); }};
  // Elements that are copied one by one, and not along k, take longer.
  const auto by_elements = [](k_tile_copy copy) { return copy != k_tile_copy::words && copy != k_tile_copy::along_k; };
  const bool elements = by_elements(x.a.copy) || by_elements(x.b.copy);
  constexpr bool is_float = gpu_execution<P> && same_types && std::is_same_v<A, float>;
  const auto tiles = [&]<gemm_tile Tile>(std::integral_constant<gemm_tile, Tile>, const auto& y, bool is_a_way) {
    if constexpr (Tile.m > 0) {
      // Where TMA brings A and B, large tiles are never best.
      constexpr bool elsewhere = is_float && Tuning.bulk.m > 0 && Tile == Tuning.large && Tile != Tuning.small;
      is_a_way = is_a_way && !(elsewhere && wgmma_available());
      const gemm_cost cost = gemm_cost_of<Tile, A>(on);
      gemm_plan plan{0, 0, 1, 0, never};
      if (is_a_way)
        plan = remembered(shape_of(y, on), [&] { return plan_waves(cost, y.c.rows, y.c.cols, y.k, y.batch, on); });
      constexpr bool is_large = Tile == Tuning.large;
      const tile_factors factors = is_large ? factors_of_large : factors_of_small;
      const bool is_whole = is_large && (plan.splits == 1 || plan.whole > 0);
      const bool copies_a = is_whole && is_worth_a_copy<A>(y.a, y.c.cols),
                 copies_b = is_whole && is_worth_a_copy<A>(y.b, y.c.rows);
      const double clocks = factors.call + (elements ? factors.elements : factors.words) * plan.clocks +
                            factors.memory * clocks_of_memory(y, on) + clocks_of_reading_c(y, on) +
                            (copies_a ? clocks_of_repack(y.a, false, y.k, y.batch, on) : 0) +
                            (copies_b ? clocks_of_repack(y.b, false, y.k, y.batch, on) : 0);
      return gemm_way{is_a_way ? clocks : never, [&where, &y, plan, copies_a, copies_b] {
                        multiply_copies(where, y, {copies_a}, {copies_b},
                                        [&](const auto& z) { gemm_by_tiles<Tile, A, elsewhere>(where, z, plan); });
                      }};
    } else {
      return none;
    }
  };
  // Large floats that TMA brings, by copies of what it cannot.
  const auto bulk = [&]<gemm_tile Tile>(std::integral_constant<gemm_tile, Tile>) {
    if constexpr (is_float && Tile.m > 0) {
      const bool copies_a = x.a.copy != k_tile_copy::words, copies_b = x.b.copy != k_tile_copy::words;
      double clocks = clocks_of_bulk<Tile>(x, on);
      if (copies_a || copies_b)
        clocks += on.clocks_of(1.5e-6) + 1.55 / on.memory_rate() *
                                             double((copies_a ? repacked_bytes(x.a, false, x.k, x.batch) : 0) +
                                                    (copies_b ? repacked_bytes(x.b, false, x.k, x.batch) : 0));
      return gemm_way{clocks, [&where, &x, &on, of_a = copy_wish{copies_a}, of_b = copy_wish{copies_b}] {
                        multiply_copies(where, x, of_a, of_b, [&](const auto& y) {
                          if (gemm_by_bulk<Tile>(where, y)) return;
                          const auto cost = gemm_cost_of<Tuning.small, A>(on);  // longer than TMA can describe
                          gemm_by_tiles<Tuning.small, A>(where, y,
                                                         plan_waves(cost, y.c.rows, y.c.cols, y.k, y.batch, on));
                        });
                      }};
    } else {
      return none;
    }
  };
  // A few rows and a long k are for strips, where B lies so that they can read it; fewer for direct tiles.
  const auto strips = [&]<gemm_strip Strip>(std::integral_constant<gemm_strip, Strip>, const auto& y) {
    if constexpr (Strip.rows > 0 && same_types) {
      const bool fits = y.c.rows <= Strip.rows && ((y.k >= 1024 && y.c.rows > 8) || !Tuning.direct) && fits_strips(y) &&
                        on.fits(Strip.shared_bytes(sizeof(A)));
      return gemm_way{fits ? 0 : never, [&where, &on, &y] { gemm_by_strips<Strip, A>(where, on, y); }};
    } else {
      return none;
    }
  };
  const auto turned = x.exchanged();
  constexpr bool is_square = Tuning.large.m == Tuning.large.n;  // both ways round cost the same: the first is taken
  constexpr std::integral_constant<gemm_tile, Tuning.large> large;
  constexpr std::integral_constant<gemm_strip, Tuning.thin> thin;
  constexpr bool thin_may_not_fit = Tuning.thin.shared_bytes(sizeof(A)) > least_shared_per_block<P>;
  constexpr gemm_strip two_stages{Tuning.thin.rows, Tuning.thin.k, 2};  // which 99 KB hold
  constexpr std::integral_constant<gemm_strip, thin_may_not_fit ? two_stages : gemm_strip{}> thinner;
  take_best(directly(), by_patches, by_outer_products, bulk(std::integral_constant<gemm_tile, Tuning.bulk>{}),
            bulk(std::integral_constant<gemm_tile, Tuning.bulk_flat>{}), tiles(large, x, true),
            tiles(std::integral_constant<gemm_tile, Tuning.small>{}, x, true), tiles(large, turned, !is_square),
            strips(thin, x), strips(thinner, x), strips(thin, turned), strips(thinner, turned), others...);
}

/// What a call without options asks for.
struct unrounded {};

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

/// Whether the definition is the way: always on seq, on host where a product is over sooner than memory is taken.
template <class P, class Problem>
constexpr bool is_by_definition(const Problem& x) {
  return std::is_same_v<P, seq_policy> || (x.batch * x.c.rows * x.c.cols <= 4 && x.k <= 16);
}

/// A product whose C has one column.
template <class A, bool Batched = false, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemv_dispatch(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  if constexpr (kernel_execution<P>)
    gemv_on_blocks<A, Batched>(where, x);
  else if (is_by_definition<P>(x))
    gemm_by_definition<A>(x);
  else if constexpr (std::is_same_v<P, host_policy>)
    gemv_on_cores<A>(where, x);
}

/// A product whose C has one column, or one row, as matrix times vector.
template <class A, bool Batched, class P, class Problem>
auto gemm_as_vector(const P& where, const Problem& x) {
  const double clocks = x.c.cols == 1   ? gemv_on_blocks<A, Batched>(where, x, true)
                        : x.c.rows == 1 ? gemv_on_blocks<A, Batched>(where, x.exchanged(), true)
                                        : never;
  return gemm_way{clocks, [&where, &x] {
                    x.c.cols == 1 ? gemv_on_blocks<A, Batched>(where, x)
                                  : gemv_on_blocks<A, Batched>(where, x.exchanged());
                  }};
}

/// Products that share B and whose A, and C, follow each other as rows of one matrix are one product; likewise those that share A.
template <class TA, class TB, class TC, class S, class Epilogue>
bool fold_batch(gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  if constexpr (requires(S value) { x.result.epilogue(value, x.k, x.k); }) {
    return false;  // it is told rows and columns of each product
  } else {
    const auto fold = [&](const auto& shared, auto& own, std::int64_t& extent, std::int64_t& c_stride) {
      const std::int64_t stride = extent == 1 ? own.batch_stride : own.stride,
                         stride_in_c = extent == 1 ? x.c.batch_stride : c_stride, all = extent * x.batch;
      if (x.batch == 1 || shared.batch_stride != 0 || all >= (std::int64_t(1) << 31) ||
          own.batch_stride != extent * stride || x.c.batch_stride != extent * stride_in_c)
        return false;
      own = {own.data, all, stride, own.k_stride, 0};
      extent = all, c_stride = stride_in_c;
      x.batch = 1, x.c.batch_stride = 0;
      return true;
    };
    return fold(x.b, x.a, x.c.rows, x.c.row_stride) || fold(x.a, x.b, x.c.cols, x.c.col_stride);
  }
}

/// How many products of a batch kernels multiply in one call, which count their blocks in 32 bits: no tile has fewer than 4 x 4 elements.
template <class Problem>
std::int64_t most_products(const Problem& x) {
  const double tiles = double(ceil_div(x.c.rows, std::int64_t(4))) * double(ceil_div(x.c.cols, std::int64_t(4)));
  return max(std::int64_t(1), static_cast<std::int64_t>(0x1p30 / tiles));
}
/// Calls f with so many products at a time.
template <class Problem, class F>
void each_part_of_batch(const Problem& x, std::int64_t most, F f) {
  Problem part = x;
  for (std::int64_t left = x.batch; left > 0; left -= most) {
    part.batch = min(left, most);
    f(part);
    part.a.data += most * x.a.batch_stride;
    part.b.data += most * x.b.batch_stride;
    part.c.data += most * x.c.batch_stride;
  }
}

/// Takes the way that suits the policy and the shape. Precision: what the call may ask for, a gemm_precision or
/// float_from_tensor_cores: only then are there kernels for it; `unrounded` without options.
template <gemm_tuning Tuning, bool Batched, class Precision, class A, class P, class TA, class TB, class TC, class S,
          class Epilogue>
void gemm_dispatch(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x,
                   [[maybe_unused]] Precision precision) {
  if constexpr (!kernel_execution<P>)
    if (is_by_definition<P>(x)) return gemm_by_definition<A>(x);
  if constexpr (Batched && kernel_execution<P>)
    if (auto one = x; fold_batch(one)) return gemm_dispatch<Tuning, Batched, Precision, A>(where, one, precision);
  if constexpr (Batched && kernel_execution<P>)
    if (const std::int64_t most = most_products(x); x.batch > most)
      return each_part_of_batch(
          x, most, [&](const auto& part) { gemm_dispatch<Tuning, Batched, Precision, A>(where, part, precision); });
  if constexpr (std::is_same_v<P, host_policy>) {
    if (x.batch == 1 && x.c.cols == 1) return gemv_dispatch<A, Batched>(where, x);
    if (x.batch == 1 && x.c.rows == 1) return gemv_dispatch<A, Batched>(where, x.exchanged());
    gemm_on_cores<A>(where, x);
  } else if constexpr (kernel_execution<P>) {
    const machine& on = machine_of(where);
    constexpr bool tensor_cores = Tuning.mma_large.m > 0 && std::is_same_v<TA, TB>;
    const auto multiply = [&]<simt::mma_type Type>(const auto& y) {
      constexpr bool directly = Tuning.direct || is_complex_double<TA>;  // which begin at any address
      const direct_plan direct = directly ? plan_directly<A>(y, on) : direct_plan{.clocks = 2 * never};
      constexpr mma_tile small = Type == simt::mma_type::tf32 ? small_tf32_tile : Tuning.mma_small;
      const mma_plan mma = plan_mma<Type, Tuning.mma_large, small>(y, on);
      const patch_plan patches = Tuning.direct ? plan_by_patches<A>(y, on) : patch_plan{};
      const outer_plan outer = Tuning.direct ? plan_outer_products(y, on) : outer_plan{};
      const auto by_vector = gemm_as_vector<A, Batched>(where, y);
      if (gemm_by_wgmma(where, y,
                        min(min(direct.clocks, mma.clocks), min(min(patches.clocks, outer.clocks), by_vector.clocks))))
        return;
      take_best(gemm_way{mma.clocks, [&] { gemm_on_tensor_cores<Type, Tuning.mma_large, small>(where, y, mma); }},
                gemm_way{direct.clocks, [&] { gemm_directly<A>(where, y, direct); }},
                gemm_way{patches.clocks, [&] { gemm_by_patches<A>(where, y, patches); }},
                gemm_way{outer.clocks, [&] { gemm_by_outer_products<A>(where, y, outer); }}, by_vector);
    };
    const auto run = [&](const auto& y) {
      if constexpr (Batched) {
        constexpr bool by_mma = is_direct_by_mma<TA, TB>;
        if ((y.k < 256 || !by_mma) && fits_warps<A>(y, on)) return gemm_by_warps<A>(where, y);
      }
      if constexpr (tensor_cores && std::is_same_v<Precision, gemm_precision> && std::is_same_v<TA, float>)
        if (precision == gemm_precision::tf32) return multiply.template operator()<simt::mma_type::tf32>(y);
      if constexpr (tensor_cores && mma_type_of<TA> != simt::mma_type::none) {
        multiply.template operator()<mma_type_of<TA>>(y);
      } else if constexpr (tensor_cores && std::is_same_v<Precision, float_from_tensor_cores>) {
        constexpr mma_tile large = Tuning.mma_large, small = Tuning.mma_small;
        const parts_plan plan = plan_from_tensor_cores<large, small>(where, y);
        const auto take = [&] { gemm_from_tensor_cores<large, small>(where, y, plan); };
        gemm_on_blocks<Tuning, A>(where, y, gemm_way{plan.clocks, take}, gemm_as_vector<A, Batched>(where, y));
      } else {
        gemm_on_blocks<Tuning, A>(where, y, gemm_as_vector<A, Batched>(where, y));
      }
    };
    x.c.col_stride != 1 && x.c.row_stride == 1 ? run(x.exchanged()) : run(x);
  }
}

inline void require_equal(const char* function, const char* what, std::int64_t a, const char* other, std::int64_t b) {
  require(a == b, [&] {
    return detail::text("pmpp::") + function + ": " + what + " is " + detail::text::of(a) + ", " + other + " is " +
           detail::text::of(b);
  });
}

template <class T>
void require_matrix(const char* function, const char* name, const matrix_view<T>& v, bool used) {
  require(v.rows() >= 0 && v.cols() >= 0, [&] {
    return detail::text("pmpp::") + function + ": " + name + " has " + detail::text::of(v.rows()) + " x " +
           detail::text::of(v.cols()) + " elements";
  });
  require(!used || v.empty() || v.data() != nullptr, [&] {
    return detail::text("pmpp::") + function + ": " + name + " is null, but has " + detail::text::of(v.rows()) + " x " +
           detail::text::of(v.cols()) + " elements";
  });
}

/// Checks the call, makes one description of it for all ways, and has it multiplied: multiply(problem).
template <class P, class TA, class TB, class TC, class Alpha, class Beta, class Epilogue, class Precision,
          class Multiply>
void gemm_checked(const char* function, const P& where, Alpha alpha_given, const matrix_view<TA>& a,
                  std::int64_t a_stride, const matrix_view<TB>& b, std::int64_t b_stride, Beta beta_given,
                  const matrix_view<TC>& c, std::int64_t c_stride, std::int64_t batch,
                  const gemm_options<Epilogue, Precision>& options, Multiply multiply) {
  static_assert(!std::is_const_v<TC>, "pmpp::gemm: the elements of C are const");
  static_assert(std::is_same_v<Precision, gemm_precision> ||
                    (std::is_same_v<std::remove_const_t<TA>, float> && std::is_same_v<std::remove_const_t<TB>, float>),
                "pmpp::gemm: float_from_tensor_cores is for A and B of floats");
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
  require(batch >= 0, [&] { return detail::text("pmpp::") + function + ": batch is " + detail::text::of(batch); });
  if (c.empty() || batch == 0) return;
  require(
      (c.rows() == 1 || c.row_stride() != 0) && (c.cols() == 1 || c.col_stride() != 0) && (batch == 1 || c_stride != 0),
      [&] { return detail::text("pmpp::") + function + ": elements of C share memory, a stride is 0"; });
  const auto meets_c = [&](const auto& v) { return batch == 1 && memory_of_view(v).meets(memory_of_view(c)); };
  require(!multiplies || !(meets_c(a) || meets_c(b)), [&] {
    return detail::text("pmpp::") + function + ": C (" + detail::text::of(c.rows()) + " x " +
           detail::text::of(c.cols()) + ") overlaps " + (meets_c(a) ? "A" : "B") +
           ", which is still read when C is written";
  });
  check_reachable(where, function, a.data());
  check_reachable(where, function, b.data());
  check_reachable(where, function, c.data());
  multiply(gemm_problem<std::remove_const_t<TA>, std::remove_const_t<TB>, TC, S, Epilogue>{
      {a.data(), a.rows(), a.row_stride(), a.col_stride(), a_stride},
      {b.data(), b.cols(), b.col_stride(), b.row_stride(), b_stride},
      {c.data(), c.rows(), c.cols(), c.row_stride(), c.col_stride(), c_stride},
      multiplies ? a.cols() : 0,
      batch,
      {multiplies ? alpha : S{}, beta, options.epilogue, false}});
}

/// gemm and gemm_batched. Asked: Precision of the options, or unrounded where the call has none.
template <gemm_tuning Tuning, bool Batched, class Asked, class P, class TA, class TB, class TC, class Alpha, class Beta,
          class Epilogue, class Precision>
void gemm_of_matrices(const char* function, const P& where, Alpha alpha, const matrix_view<TA>& a,
                      std::int64_t a_stride, const matrix_view<TB>& b, std::int64_t b_stride, Beta beta,
                      const matrix_view<TC>& c, std::int64_t c_stride, std::int64_t batch,
                      const gemm_options<Epilogue, Precision>& options) {
  static_assert(!is_fp8<TA> || Batched, "pmpp::gemm: for products of 8-bit floats include <pmpp/gemm_scaled.hpp>");
  using A = gemm_sum<TA, TB>;
  constexpr gemm_tuning tuning = Tuning == gemm_tuning{} ? gemm_tuning_for<A>() : Tuning;
  gemm_checked(function, where, alpha, a, a_stride, b, b_stride, beta, c, c_stride, batch, options, [&](const auto& x) {
    if constexpr (std::is_same_v<Asked, Precision>)
      gemm_dispatch<tuning, Batched, Asked, A>(where, x, options.precision);
    else
      gemm_dispatch<tuning, Batched, Asked, A>(where, x, Asked{});
  });
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
///                 once an element, last of all: a bias, an activation. .precision: tf32 allows rounded factors;
///                 float_from_tensor_cores{} has floats multiplied by tensor cores where that is faster, and no less exactly.
/// As in BLAS: beta = 0 does not read C, whatever it holds; alpha = 0 or k = 0 does not read A or B. NaN and infinity
/// spread as the formula says otherwise. C shares no memory with A or B, nor its elements with each other.
/// Sums of half and bfloat16 are floats, rounded once at the end (what exceeds half is infinity); integers wrap.
/// The same bits on every run; on host also for any number of threads. Asynchronous on a GPU; may be captured.
/// Scratch: none, or one element of the sums' type for each element of C and each split of k where C is small, and for
/// those of the tiles that are split or shared where C is large (shared on an H100: a tile for each place of a block); for float_from_tensor_cores 6 bytes for each element of A and B; and, where tensor cores multiply or A and B are large, a copy of an operand that cannot be read 16 bytes at a
/// time as it has to be, or on an H100 slowly, as its rows do not begin at multiples of 128 bytes.
/// Cost: 2 m n k operations; one launch, one more where k is split and for operands that are copied, up to two more for a rest
/// of a large product of doubles on an H100. On ordinary units, rows of small A and B that do not begin at multiples of 16
/// bytes are read element by element, which takes a tenth longer.
/// \throws std::invalid_argument for shapes that do not fit, a null view, a C with stride 0, or one that overlaps A or B;
/// out_of_memory, cuda_error.
/// Source: PMPP ch. 5, 6. Example: test/gemm.cpp, the product of the definition.
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC, class Epilogue = no_epilogue, class Precision = gemm_precision>
void gemm(const P& where, Alpha alpha, const matrix_view<TA>& a, const matrix_view<TB>& b, Beta beta,
          const matrix_view<TC>& c, const gemm_options<Epilogue, Precision>& options) {
  detail::gemm_of_matrices<Tuning, false, Precision>("gemm", where, alpha, a, 0, b, 0, beta, c, 0, 1, options);
}

/// C <- alpha A B + beta C: the same without options, and without the time to compile the kernels for tf32.
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC>
void gemm(const P& where, Alpha alpha, const matrix_view<TA>& a, const matrix_view<TB>& b, Beta beta,
          const matrix_view<TC>& c) {
  detail::gemm_of_matrices<Tuning, false, detail::unrounded>("gemm", where, alpha, a, 0, b, 0, beta, c, 0, 1,
                                                             gemm_options<>{});
}

/// The same for `batch` products: matrix number i begins i * stride elements after the first, which the view describes.
/// A stride of 0 for A or B uses one matrix for all products. One launch; small products share a multiprocessor.
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC, class Epilogue = no_epilogue, class Precision = gemm_precision>
void gemm_batched(const P& where, Alpha alpha, const matrix_view<TA>& a, std::int64_t a_stride,
                  const matrix_view<TB>& b, std::int64_t b_stride, Beta beta, const matrix_view<TC>& c,
                  std::int64_t c_stride, std::int64_t batch, const gemm_options<Epilogue, Precision>& options) {
  detail::gemm_of_matrices<Tuning, true, Precision>("gemm_batched", where, alpha, a, a_stride, b, b_stride, beta, c,
                                                    c_stride, batch, options);
}

/// The same without options.
template <gemm_tuning Tuning = tuned<gemm_tuning>, execution_policy P, class Alpha, class TA, class TB, class Beta,
          class TC>
void gemm_batched(const P& where, Alpha alpha, const matrix_view<TA>& a, std::int64_t a_stride,
                  const matrix_view<TB>& b, std::int64_t b_stride, Beta beta, const matrix_view<TC>& c,
                  std::int64_t c_stride, std::int64_t batch) {
  detail::gemm_of_matrices<Tuning, true, detail::unrounded>("gemm_batched", where, alpha, a, a_stride, b, b_stride,
                                                            beta, c, c_stride, batch, gemm_options<>{});
}

/// y <- epilogue(alpha A x + beta y), as gemm with vectors for B and C.
///
/// \param x, y  contiguous ranges with at least as many elements as A has columns and rows, or pointers.
/// Cost: A is read once; one launch. \throws std::length_error too if x or y is too short.
template <execution_policy P, class Alpha, class TA, reachable_by<P> X, class Beta, output_for<P> Y,
          class Epilogue = no_epilogue, class Precision = gemm_precision>
void gemv(const P& where, Alpha alpha, const matrix_view<TA>& a, X&& x, Beta beta, Y&& y,
          const gemm_options<Epilogue, Precision>& options = {}) {
  const auto x_column = detail::as_column("x", x, a.cols());
  using A = detail::gemm_sum<TA, typename decltype(x_column)::value_type>;
  detail::gemm_checked("gemv", where, alpha, a, 0, x_column, 0, beta, detail::as_column("y", y, a.rows()), 0, 1,
                       options, [&](const auto& problem) { detail::gemv_dispatch<A>(where, problem); });
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
