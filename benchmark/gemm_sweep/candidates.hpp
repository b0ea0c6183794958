// SPDX-License-Identifier: Apache-2.0
//
// Every way that gemm has to a product, called by itself: what the rates and the choice of its plan are fitted to. The kernels
// are those that a call of gemm has anyway.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/gemm.hpp>
#include <pmpp/gemm_scaled.hpp>

namespace sweep {

struct candidate {
  std::string name;
  double expected;  ///< microseconds, by the model; 0: it says nothing
  std::function<void()> call;
};

template <class P, class Problem>
struct candidates_of {
  const P& where;
  Problem x;
  std::vector<candidate>& out;

  void add(const std::string& name, double clocks, std::function<void()> call) const {
    if (clocks >= pmpp::detail::never) return;
    out.push_back({name, clocks / pmpp::machine_of(where).clocks_of(1e-6), std::move(call)});
  }

  // Floats on ordinary units.

  template <pmpp::gemm_tile Tile, class A, class Y>
  void tile(const std::string& name, const Y& y) const {
    using namespace pmpp::detail;
    const pmpp::machine& on = pmpp::machine_of(where);
    const gemm_cost cost = gemm_cost_of<Tile, A>(on);
    const gemm_plan plain = plan_gemm(cost, y.c.rows, y.c.cols, y.k, y.batch, on),
                    waves = plan_waves(cost, y.c.rows, y.c.cols, y.k, y.batch, on);
    const auto run = [=, &where = where](const gemm_plan& plan) {
      return [=, &where] { gemm_by_tiles<Tile, A>(where, y, plan); };
    };
    gemm_plan whole = plain;
    whole.splits = 1, whole.split_k = y.k, whole.clocks = 0;
    add(name + "/1", 0, run(whole));
    const auto text = [&](const gemm_plan& plan) {
      return name + "/" + std::to_string(plan.splits) + (plan.whole > 0 ? "w" : "");
    };
    if (plain.splits > 1) add(text(plain), plain.clocks, run(plain));
    if (waves.splits > 1 && (waves.splits != plain.splits || waves.whole > 0))
      add(text(waves), waves.clocks, run(waves));
  }

  template <pmpp::gemm_tuning Tuning, class A>
  void ordinary() const {
    using namespace pmpp::detail;
    const auto y = x.exchanged();
    const auto bulk = [&]<pmpp::gemm_tile Tile>(const std::string& name,
                                                std::integral_constant<pmpp::gemm_tile, Tile>) {
      add(name, clocks_of_bulk<Tile>(x, pmpp::machine_of(where)), [=, *this] {
        multiply_copies(where, x, {x.a.copy != k_tile_copy::words}, {x.b.copy != k_tile_copy::words},
                        [&](const auto& z) { gemm_by_bulk<Tile>(where, z); });
      });
    };
    bulk("bulk", std::integral_constant<pmpp::gemm_tile, Tuning.bulk>{});
    bulk("flat", std::integral_constant<pmpp::gemm_tile, Tuning.bulk_flat>{});
    tile<Tuning.small, A>("small", x);
    const auto strips = [&]<pmpp::gemm_strip Strip>(const std::string& name, const auto& z,
                                                    std::integral_constant<pmpp::gemm_strip, Strip>) {
      if (fits_strips(z) && z.c.rows <= Strip.rows)
        add(name, 0, [=, &where = where] { gemm_by_strips<Strip, A>(where, pmpp::machine_of(where), z); });
    };
    strips("thin", x, std::integral_constant<pmpp::gemm_strip, Tuning.thin>{});
    strips("thin'", y, std::integral_constant<pmpp::gemm_strip, Tuning.thin>{});
    if (std::max(x.c.rows, x.c.cols) <= 16 && x.batch > 32) add("warps", 0, [=, *this] { gemm_by_warps<A>(where, x); });
  }

  /// By patches, each way to deal them out.
  template <class A>
  void patches() const {
    using namespace pmpp::detail;
    const patch_plan best = plan_by_patches<A>(x, pmpp::machine_of(where));
    for (const bool along_m : {false, true})
      for (int sharing = 0; sharing <= 5; ++sharing)
        add((along_m ? "pm" : "pn") + std::to_string(sharing),
            best.sharing == sharing && best.along_m == along_m ? best.clocks : 0, [=, *this] {
              gemm_by_patches<A>(where, x, {sharing, along_m});
            });
  }

  /// By outer products, or as matrix times vector, where that is possible.
  template <class A>
  void outer_products_and_vectors() const {
    using namespace pmpp::detail;
    const outer_plan plan = plan_outer_products(x, pmpp::machine_of(where));
    add("outer", plan.clocks, [=, *this] { gemm_by_outer_products<A>(where, x, plan); });
    add("vector", gemm_as_vector<A, true>(where, x).clocks, [=, *this] { gemm_as_vector<A, true>(where, x).take(); });
  }

  /// By plain loads, with k in one piece and in as many as fill the machine once and twice.
  template <pmpp::direct_tile Tile, class A, class Y>
  void directly(const std::string& name, const Y& y) const {
    using namespace pmpp::detail;
    const std::int64_t tiles =
        pmpp::ceil_div(y.c.rows, std::int64_t(Tile.m())) * pmpp::ceil_div(y.c.cols, std::int64_t(Tile.n())) * y.batch;
    std::int64_t last = 0;
    const std::int64_t k_tiles = pmpp::ceil_div(y.k, std::int64_t(Tile.k)),
                       places = Tile.blocks * pmpp::machine_of(where).multiprocessors;
    for (const std::int64_t wanted :
         {std::int64_t(1), (k_tiles + 15) / 16, (k_tiles + 7) / 8, (k_tiles + 3) / 4, (k_tiles + 1) / 2, k_tiles,
          places / 2 / tiles, places / tiles, 2 * places / tiles}) {
      if (Tile.mma_m > 0 ? wanted > 128 || (wanted > 1 && wanted * tiles > 5 * places)
                         : wanted > 1 && (wanted * tiles * 3 < places || wanted * tiles > 2 * places))
        continue;
      const std::int64_t split_k = pmpp::round_up(
          pmpp::ceil_div(std::max<std::int64_t>(1, y.k), std::max<std::int64_t>(1, wanted)), std::int64_t(Tile.k));
      const std::int64_t splits = std::max<std::int64_t>(1, pmpp::ceil_div(y.k, split_k));
      if (splits == last) continue;
      last = splits;
      add(name + "/" + std::to_string(splits), 0,
          [=, &where = where] { gemm_directly<Tile, A>(where, y, {.splits = splits, .split_k = split_k}); });
    }
  }
  template <class A, class T>
  void directly() const {
    using pmpp::detail::direct_tiles;
    const auto y = x.exchanged();
    using pmpp::detail::direct_mma_tiles;
    if constexpr (pmpp::detail::is_direct_by_mma<T, T>) {
      directly<direct_mma_tiles[3], A>("t64", x);
      directly<direct_mma_tiles[4], A>("u16", x);
      if (x.c.cols <= 64) directly<direct_mma_tiles[4], A>("u16'", y);
    }
    if constexpr (sizeof(T) == 4) {
      using pmpp::detail::direct_word_tiles;
      directly<direct_word_tiles[4], A>("w32x32", x);
      directly<direct_word_tiles[5], A>("w64x64", x);
      directly<direct_word_tiles[6], A>("w128x32", x);
      directly<direct_word_tiles[7], A>("w128x64", x);
      directly<direct_word_tiles[6], A>("w128x32'", y);
    }
    directly<direct_tiles[0], A>("d32", x);
    directly<direct_tiles[1], A>("d64", x);
    if (x.c.rows <= 64) directly<direct_tiles[2], A>("d8", x);
    if (x.c.rows <= 32) directly<direct_tiles[3], A>("d4", x);
    if (x.c.cols <= 256) directly<direct_tiles[0], A>("d32'", y);
    if (x.c.cols <= 64) directly<direct_tiles[2], A>("d8'", y);
    if (x.c.cols <= 32) directly<direct_tiles[3], A>("d4'", y);
  }

  // Tensor cores.

  /// With k in one piece and in as many as make one to six blocks of a multiprocessor.
  template <pmpp::simt::mma_type Type, pmpp::mma_tile Tile, class T, class Y>
  void mma(const std::string& name, const Y& y) const {
    using namespace pmpp::detail;
    constexpr std::int64_t depth = 128 / sizeof(T);
    const std::int64_t tiles_m = pmpp::ceil_div(y.c.rows, std::int64_t(Tile.m)),
                       tiles_n = pmpp::ceil_div(y.c.cols, std::int64_t(Tile.n)),
                       places = pmpp::machine_of(where).multiprocessors, k_tiles = pmpp::ceil_div(y.k, depth);
    std::int64_t last = 0;
    for (const std::int64_t each : {0, 1, 2, 3, 4, 6}) {
      const std::int64_t wanted = each == 0 ? 1 : std::min(k_tiles, each * places / (tiles_m * tiles_n * y.batch));
      if (wanted < 1 || (each > 0 && wanted == 1)) continue;
      const std::int64_t split_k = pmpp::round_up(pmpp::ceil_div(y.k, wanted), depth),
                         splits = std::max<std::int64_t>(1, pmpp::ceil_div(y.k, split_k));
      if (splits == std::exchange(last, splits)) continue;
      add(name + "/" + std::to_string(splits), 0, [=, &where = where] {
        gemm_by_mma<Type, Tile>(where, y, {tiles_m, tiles_n, splits, split_k, 0});
      });
    }
  }
  template <pmpp::simt::mma_type Type, pmpp::gemm_tuning Tuning, class T>
  void mma() const {
    constexpr pmpp::mma_tile small = std::is_same_v<T, float> ? pmpp::detail::small_tf32_tile : Tuning.mma_small;
    constexpr bool large = !pmpp::detail::large_is_elsewhere<T, typename Problem::type_c>;
    if constexpr (large) mma<Type, Tuning.mma_large, T>("large", x);
    mma<Type, small, T>("small", x);
    if constexpr (large) mma<Type, Tuning.mma_large, T>("large'", x.exchanged());
    mma<Type, small, T>("small'", x.exchanged());
    if (sizeof(T) == 4 || sizeof(T) == 8) add("wgmma", 0, [*this] { pmpp::detail::gemm_by_wgmma(where, x); });
  }

  /// Half and bfloat16 by whole tiles: `copies` says which operands are copied first although TMA could read them.
  template <class T>
  void wgmma() const {
    using namespace pmpp::detail;
    if (x.k == 0 || !wgmma_available()) return;
    bool a_along_k = is_read_by_words(x.a, true, x.batch), b_along_k = is_read_by_words(x.b, true, x.batch);
    const bool a_ready = a_along_k || is_read_by_words(x.a, false, x.batch),
               b_ready = b_along_k || is_read_by_words(x.b, false, x.batch);
    if (!a_ready) a_along_k = x.a.stride != 1;
    if (!b_ready) b_along_k = x.b.stride != 1;
    const bool a_straddles = a_ready && straddles_lines(x.a, a_along_k, x.k),
               b_straddles = b_ready && straddles_lines(x.b, b_along_k, x.k);
    const std::int64_t k_tiles = pmpp::ceil_div(x.k, std::int64_t(128 / sizeof(T)));
    for (const bool copy_a : {false, true})
      for (const bool copy_b : {false, true}) {
        if ((copy_a && !a_straddles) || (copy_b && !b_straddles)) continue;
        const bool copies_a = copy_a || !a_ready, copies_b = copy_b || !b_ready;
        for (const bool exchanged : {false, may_be_exchanged(x)})
          each_plan(exchanged, exchanged ? tiles_down | (a_along_k ? tiles_only_down : 0) : 0b1111, k_tiles,
                    [&](const std::string& name, const wgmma_plan& plan) {
                      add(name + (copies_a ? "a" : "") + (copies_b ? "b" : ""), 0, [=, *this] {
                        multiply_copies(where, x, {copies_a, a_along_k}, {copies_b, b_along_k},
                                        [&](const auto& y) { gemm_as_planned(where, y, a_along_k, b_along_k, plan); });
                      });
                    });
      }
  }

  /// Calls f(name, plan) for each of these tiles, with k in one piece and in some.
  template <class F>
  void each_plan(bool exchanged, unsigned tiles, std::int64_t k_tiles, F f) const {
    using namespace pmpp::detail;
    const std::int64_t m = exchanged ? x.c.cols : x.c.rows, n = exchanged ? x.c.rows : x.c.cols;
    for (int i = 0; tiles >> i != 0; ++i) {
      if ((tiles >> i & 1) == 0) continue;
      const auto consider = [&](int splits) {
        f((exchanged ? "v" : "w") + std::to_string(wgmma_tiles[i].n) +
              (splits > 1 ? "/" + std::to_string(splits) : std::string()),
          {.tile = i, .splits = splits, .exchanged = exchanged});
      };
      consider(1);
      const std::int64_t all =
          pmpp::ceil_div(m, std::int64_t(128)) * pmpp::ceil_div(n, std::int64_t(wgmma_tiles[i].n)) * x.batch;
      const std::int64_t most = 2 * pmpp::machine_of(where).multiprocessors / all;
      std::int64_t last = 1;
      for (const std::int64_t splits : {std::int64_t(2), std::int64_t(3), most / 4, most / 2, most})
        if (i > 0 && splits > last && splits <= k_tiles && splits <= most) consider(int(last = splits));
    }
  }

  /// 8-bit floats without scales: by whole tiles, and by warps.
  template <bool Fast>
  void scaled() const {
    using namespace pmpp::detail;
    if (!is_read_by_words(x.a, true, x.batch) || !is_read_by_words(x.b, true, x.batch)) return;
    const auto y = as_factors(x);
    const std::int64_t k_tiles = pmpp::ceil_div(x.k, std::int64_t(scale_block));
    for (const bool exchanged : {false, may_be_exchanged(y)})
      each_plan(exchanged, exchanged ? scaled_tiles_down : 0b1011, k_tiles,
                [&](const std::string& name, const wgmma_plan& plan) {
                  add(name, 0, [=, &where = where] { gemm_scaled_as_planned<Fast>(where, y, plan, {}, {}); });
                });
    const std::int64_t tiles = pmpp::ceil_div(x.c.rows, std::int64_t(32)) * pmpp::ceil_div(x.c.cols, std::int64_t(32));
    for (int parts = 1; parts <= 8 && tiles * parts < 4000 && x.k % 16 == 0; parts *= 2)
      add("warps/" + std::to_string(parts), 0,
          [=, *this] { gemm_scaled_by_warps(where, x, operand_scales{}, operand_scales{}, parts); });
  }
};

}  // namespace sweep
