// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gemm.hpp, on every policy: products are those of the definition within the rounding of their
// sums, for all layouts, leading dimensions, offsets, shapes from 0 on, and types; small integers exactly; what lies
// between and around the elements of C stays; beta = 0 does not read C, alpha = 0 and k = 0 do not read A or B; NaN and
// infinity spread; epilogues; batches; vectors; the same bits on every run, on host for any number of threads; bad input
// throws and touches nothing. In the emulator also: every tile, splits of k, any order of blocks, any seed.
#include <pmpp/gemm.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>
#if PMPP_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include <pmpp/memory/workspace.hpp>

#include "support/data.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using pmpp::device;
using pmpp::matrix_view;
using pmpp::transposed;
using test::check_product, test::layout, test::matrix, test::random_layout, test::random_of, test::try_product;

namespace {

// clang-format off
// Of one warp, so that small products have many tiles; all four shapes are tried by giving one shape to all.
constexpr pmpp::gemm_tile flat{.m = 16, .n = 32, .k = 8, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 1},
    high{.m = 32, .n = 16, .k = 8, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 8, .blocks = 1, .unrolled_k = 2},
    few{.m = 8, .n = 64, .k = 16, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 2, .blocks = 1},
    two_warps{.m = 32, .n = 32, .k = 8, .stages = 4, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 1, .unrolled_k = 8};
// A warp multiplies a half or a quarter of each slab.
constexpr pmpp::gemm_tile halves{.m = 16, .n = 32, .k = 16, .stages = 3, .thread_m = 4, .thread_n = 4, .lanes_m = 4, .blocks = 1, .unrolled_k = 4, .slices = 2},
    quarters{.m = 32, .n = 32, .k = 32, .stages = 3, .thread_m = 4, .thread_n = 8, .lanes_m = 8, .blocks = 1, .unrolled_k = 8, .slices = 4};
constexpr pmpp::gemm_tuning tiny{.large = flat, .small = high, .wide = few, .each = flat,
                                  .thin = {.rows = 4, .k = 64, .stages = 2}, .strip = {.rows = 8, .k = 32, .stages = 4}};
constexpr pmpp::gemm_tuning other{.large = two_warps, .small = two_warps, .wide = two_warps, .each = two_warps};
// clang-format on

}  // namespace

TEST_ALL_PLACES("gemm: all layouts, any shape") {
  for (int i = 0; i < 150; ++i) {
    const auto size = [] { return random_of<std::int64_t>({0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 65, 70, 100}); };
    const double alpha = random_of({1.0, -0.5, 2.0}), beta = random_of({0.0, 0.0, 1.0, -0.75});
    try_product<where, tiny, float, float, float>(size(), size(), size(), random_layout(), random_layout(),
                                                  random_layout(), alpha, beta);
    try_product<where, other, double, double, double>(size(), size(), size(), random_layout(), random_layout(),
                                                      random_layout(), alpha, beta);
  }
}

TEST_ALL_PLACES("gemm: the tiles that it is made with") {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(129, 131, 37, {ta}, {tb}, {});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(128, 256, 64, {ta, 4}, {tb, 4}, {ta != tb}, 2, 1);
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(200, 300, 100, {ta}, {tb}, {});  // words, edges
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(100, 120, 36, {ta}, {tb, 8}, {});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(130, 257, 100, {ta, 1, 1}, {tb, 3, 2}, {false, 1});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(128, 256, 72, {ta, 1}, {tb}, {});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(128, 256, 72, {ta}, {tb, 1}, {});
      try_product<where, pmpp::gemm_tuning{}, float, float, float>(128, 260, 50, {ta, 0, 0, 2}, {tb}, {});
      try_product<where, pmpp::gemm_tuning{}, double, double, double>(65, 70, 33, {ta, 1}, {tb}, {ta == tb, 1}, 1, -1);
    }
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{5, 300, 500}, {300, 4, 500}, {300, 5, 500}, {16, 16, 3000}, {300, 200, 40}})
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(m, n, k, {}, {}, {}, 1, 0);
}

TEST_ALL_PLACES("gemm: a few rows or columns, in strips") {
  for (int i = 0; i < 60; ++i) {
    const auto some = random_of<std::int64_t>({2, 3, 4, 5, 8, 9}),
               many = random_of<std::int64_t>({127, 128, 131, 256, 300});
    const auto k = random_of<std::int64_t>({0, 1, 31, 32, 33, 64, 67, 200, 260});
    const bool turned = i % 2 == 0;
    const auto way = [] {  // mostly rows or columns that begin at multiples of 16 bytes
      return random_of<layout>({{false}, {true}, {false, 4}, {true, 8}, {false, 0, 4}, {true, 1}, {false, 0, 1}});
    };
    // Whole words lie behind each other only where extents are multiples of four.
    const auto whole = [&](std::int64_t n) { return i % 3 == 0 ? n : (n + 3) / 4 * 4; };
    const double alpha = random_of({1.0, -0.5}), beta = random_of({0.0, 0.5});
    try_product<where, tiny, float, float, float>(turned ? whole(many) : some, turned ? some : whole(many), whole(k),
                                                  way(), way(), random_layout(), alpha, beta);
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(turned ? whole(many) : 4 * some,
                                                                 turned ? 4 * some : whole(many), whole(k), way(),
                                                                 way(), random_layout(), alpha, beta);
  }
  for (const bool b : {false, true}) {
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(15, 260, 3000, {b}, {b}, {});  // splits of k
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(517, 29, 900, {b}, {!b}, {b}, 1, 1);
    try_product<where, pmpp::gemm_tuning{}, std::int32_t, std::int32_t, std::int32_t>(7, 132, 500, {}, {b}, {}, 1, 1);
  }
}

#if PMPP_CUDA
TEST_CASE("gemm: large enough for many waves of blocks and every edge") {
  using where = test::device_place;
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{513, 1025, 257}, {1024, 1024, 512}, {64, 64, 20000}, {2051, 2050, 40}}) {
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(m, n, k, {false}, {false}, {false});
    try_product<where, pmpp::gemm_tuning{}, float, float, float>(m, n, k, {true, 1}, {true, 4}, {true, 3}, 0.5, 2);
    try_product<where, pmpp::gemm_tuning{}, double, double, double>(m, n, k, {false}, {true}, {false}, 0.5, 2);
  }
}
#endif

// C = 2 A B - C by multiply(problem). Small integers are exact.
template <class where, class F>
void try_problem(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool ta, bool tb, F multiply) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(batch);
  CAPTURE(ta);
  CAPTURE(tb);
  const auto values = [](std::int64_t size) {
    auto v = test::random_values<float>(size);
    for (float& x : v) x = std::round(4 * x);
    return v;
  };
  const auto a = values(m * k * batch), b = values(k * n * batch), c = values(m * n * batch);
  const auto a_there = where::put(a), b_there = where::put(b);
  auto c_there = where::put(c);
  const pmpp::detail::gemm_problem<float, float, float, float, pmpp::no_epilogue> x{
      {a_there.data(), m, ta ? 1 : k, ta ? m : 1, m * k},
      {b_there.data(), n, tb ? k : 1, tb ? 1 : n, k * n},
      {c_there.data(), m, n, n, 1, m * n},
      k,
      batch,
      {2, -1, {}, false}};
  multiply(x);
  const auto got = where::get(c_there);
  std::int64_t wrong = 0;
  for (std::int64_t t = 0; t < batch; ++t)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          const auto ip = static_cast<std::size_t>(t * m * k + (ta ? p * m + i : i * k + p));
          const auto pj = static_cast<std::size_t>(t * k * n + (tb ? j * k + p : p * n + j));
          sum += a[ip] * b[pj];
        }
        const auto ij = static_cast<std::size_t>(t * m * n + i * n + j);
        wrong += got[ij] != 2 * sum - c[ij];
      }
  CHECK(wrong == 0);
}

// By one tile and one way to cut it up.
template <class where, pmpp::gemm_tile Tile>
void try_plan(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool ta, bool tb, std::int64_t whole,
              std::int64_t splits) {
  CAPTURE(whole);
  CAPTURE(splits);
  try_problem<where>(m, n, k, batch, ta, tb, [&](const auto& x) {
    const std::int64_t split_k = pmpp::round_up(pmpp::ceil_div(k, splits), std::int64_t(Tile.k));
    const std::int64_t tiles_m = pmpp::ceil_div(m, std::int64_t(Tile.m)),
                       tiles_n = pmpp::ceil_div(n, std::int64_t(Tile.n));
    pmpp::detail::gemm_by_tiles<Tile, float>(typename where::policy{}, x,
                                             {tiles_m, tiles_n, pmpp::ceil_div(k, split_k), split_k, 0, whole});
  });
}

TEST_CASE("gemm: warps that share a tile; whole tiles beside tiles whose k is split") {
  using where = test::device_place;
  for (int i = 0; i < 60; ++i) {
    const auto size = [] { return random_of<std::int64_t>({15, 16, 32, 33, 48, 70, 100, 128}); };
    const std::int64_t m = size(), n = size(), k = random_of<std::int64_t>({1, 8, 33, 64, 100, 200}),
                       batch = 1 + i % 3 / 2;
    const bool ta = i & 1, tb = i & 2;
    const std::int64_t splits = i % 4 == 3 ? 1 : 1 + i % 5;
    const auto try_tile = [&]<pmpp::gemm_tile Tile>(std::integral_constant<pmpp::gemm_tile, Tile>) {
      const std::int64_t tiles =
          pmpp::ceil_div(m, std::int64_t(Tile.m)) * pmpp::ceil_div(n, std::int64_t(Tile.n)) * batch;
      try_plan<where, Tile>(m, n, k, batch, ta, tb, i * tiles / 60, splits);
    };
    try_tile(std::integral_constant<pmpp::gemm_tile, flat>{});
    try_tile(std::integral_constant<pmpp::gemm_tile, halves>{});
    try_tile(std::integral_constant<pmpp::gemm_tile, quarters>{});
    if (i % 6 > 0) continue;
    try_tile(std::integral_constant<pmpp::gemm_tile, pmpp::gemm_tuning_for<float>().small>{});
    constexpr pmpp::gemm_tile oblong = pmpp::gemm_tuning_for<float>().oblong;
    if (pmpp::machine_of(pmpp::device).fits(oblong.shared_bytes(sizeof(float))))
      try_tile(std::integral_constant<pmpp::gemm_tile, oblong>{});
  }
}

TEST_CASE("gemm: a plan in waves covers the product and leaves no multiprocessor with more than it has room for") {
  using pmpp::detail::gemm_cost_of, pmpp::gemm_tuning_for;
  for (int i = 0; i < 3000; ++i) {
    const auto size = [] { return 1 + test::random_values<std::uint32_t>(1)[0] % random_of({40u, 700u, 5000u}); };
    const std::int64_t m = size(), n = size(), k = i % 50 == 0 ? 0 : std::int64_t(size()), batch = 1 + i % 4 / 3 * 5;
    pmpp::machine on = pmpp::known_machines[i % 7].limits;  // all but the one that none of these tiles fits
    if (i % 4 == 0) on.multiprocessors = random_of({1, 7, 132});
    const int processors = on.multiprocessors;
    const auto tile = i % 3 == 0   ? gemm_cost_of<gemm_tuning_for<float>().large, float>(on)
                      : i % 3 == 1 ? gemm_cost_of<gemm_tuning_for<float>().small, float>(on)
                                   : gemm_cost_of<gemm_tuning_for<float>().oblong, float>(on);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(batch);
    CAPTURE(processors);
    const auto plan = pmpp::detail::plan_waves(tile, m, n, k, batch, on);
    const std::int64_t tiles = plan.tiles_m * plan.tiles_n * batch, wave = std::int64_t(tile.blocks) * processors;
    CHECK(plan.tiles_m * tile.m >= m);
    CHECK(plan.tiles_n * tile.n >= n);
    CHECK(plan.splits * plan.split_k >= k);
    CHECK((plan.splits == 1 || (plan.splits - 1) * plan.split_k < k));  // each split has some k
    CHECK((plan.splits == 1 || plan.split_k % tile.k == 0));
    CHECK(plan.whole % (tiles < wave ? processors : wave) == 0);
    CHECK((plan.whole == 0 || (plan.splits > 1 && plan.whole < tiles)));
    if (plan.whole % wave > 0) CHECK(plan.whole % wave + (tiles - plan.whole) * plan.splits <= wave);
  }
}

// Where the last tiles do not fill the machine they are split, beside whole ones or behind them.
TEST_CASE("gemm: what is left over of a wave is split") {
  constexpr pmpp::machine h100{};
  constexpr auto tile = pmpp::detail::gemm_cost_of<pmpp::gemm_tuning_for<float>().small, float>(h100);
  const auto plan = [&](std::int64_t n) { return pmpp::detail::plan_waves(tile, n, n, n, 1, h100); };
  CHECK(plan(1280).whole == 396);  // 400 tiles of 64 x 64, 396 at a time
  CHECK(plan(1280).splits > 8);
  CHECK(plan(1152).whole == 264);  // 324 tiles: two for each multiprocessor, and half of one
  CHECK(plan(1152).splits == 2);
  CHECK(plan(1024).splits == 1);  // 256 tiles, nearly two for each
}

TEST_CASE("gemm: shares of all tiles' slabs, which end anywhere") {
  using where = test::device_place;
#if PMPP_WITH_EMULATOR
  // So that many blocks run at once, whatever is played, and have the shared memory.
  constexpr pmpp::machine h100{};
  auto options = pmpp::simt::detail::options_of_this_launch();
  options.plays = &h100;
  const pmpp::simt::scoped_emulator_options scope(options);
#endif
  for (int i = 0; i < 32; ++i) {
    const auto size = [] { return 4 * random_of<std::int64_t>({1, 8, 15, 16, 17, 32, 33, 65}); };
    const std::int64_t m = size(), n = size(), k = 4 * random_of<std::int64_t>({1, 2, 3, 16, 25, 100});
    const std::int64_t blocks = random_of<std::int64_t>({1, 2, 3, 7, 20});
    CAPTURE(blocks);
    const auto multiply = [&](const auto& x) {
      if (i % 2 == 0)
        pmpp::detail::gemm_by_shares<pmpp::gemm_share{.m = 128, .n = 128, .k = 16, .stages = 3}, float>(
            typename where::policy{}, x, blocks);
      else
        pmpp::detail::gemm_by_shares<pmpp::gemm_share{.m = 64, .n = 64, .k = 32, .stages = 3}, float>(
            typename where::policy{}, x, blocks);
    };
    try_problem<where>(m, n, k, 1, i & 2, i & 4, multiply);
  }
}

TEST_ALL_PLACES("gemm: shares, at any size and in any layout") {
  constexpr pmpp::gemm_tuning tuning = [] {
    auto t = pmpp::gemm_tuning_for<float>();
    t.share = t.small_share;
    return t;
  }();
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{64, 64, 1500}, {100, 70, 900}, {33, 130, 700}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        try_product<where, pmpp::gemm_tuning{}, float, float, float>(m, n, k, {ta}, {tb}, {ta}, 0.5, 2);
        try_product<where, tuning, float, float, float>(m, n, k, {ta, 4}, {tb, 8}, random_layout());
      }
  try_product<where, pmpp::gemm_tuning{}, float, float, float>(64, 64, 1500, {}, {}, {}, 0, 2);  // not multiplied
}

TEST_ALL_PLACES("gemm: small integers are exact, whatever the types") {
  for (int i = 0; i < 12; ++i) {
    const auto size = [] { return random_of<std::int64_t>({1, 5, 16, 33, 80}); };
    const auto m = size(), n = size(), k = size();
    try_product<where, tiny, std::int8_t, std::int8_t, std::int32_t>(m, n, k, random_layout(), random_layout(),
                                                                     random_layout(), 3, 1);
    try_product<where, tiny, std::uint8_t, std::int8_t, std::int32_t>(m, n, k, random_layout(), random_layout(),
                                                                      random_layout(), 1, 0);
    try_product<where, tiny, std::int32_t, std::int32_t, std::int32_t>(m, n, k, random_layout(), random_layout(),
                                                                       random_layout(), -1, 2);
    try_product<where, tiny, std::int16_t, std::int32_t, std::int64_t>(m, n, k, random_layout(), random_layout(),
                                                                       random_layout(), 1, -1);
    try_product<where, tiny, std::int8_t, std::int8_t, float>(m, n, k, random_layout(), random_layout(),
                                                              random_layout(), 0.5, 0.25);
    try_product<where, tiny, float, double, double>(m, n, k, random_layout(), random_layout(), random_layout(), 2, 1);
  }
}

#if PMPP_CUDA
TEST_CASE("gemm: half and bfloat16 add up in float; what exceeds half is infinity") {
  using where = test::device_place;
  const auto values = [](auto type, std::int64_t n) {
    std::vector<decltype(type)> v;
    for (const int x : test::random_values<int>(n)) v.push_back(decltype(type)(static_cast<float>(x % 8)));
    return v;
  };
  const auto check = [&](auto type, double largest) {
    using T = decltype(type);
    for (const auto& [m, n, k] :
         {std::array<std::int64_t, 3>{65, 130, 40}, {16, 300, 260}, {130, 1, 33}, {200, 200, 7}}) {
      const matrix<where, T> a(m, k, {}, values(type, m * k + 3)), b(k, n, {}, values(type, k * n + 3));
      matrix<where, float> c(m, n);
      pmpp::gemm(device, 1, a.input(), b.input(), 0, c.view());
      check_product<float>(a, b, c, 1, 0, 0);  // integers: exact
      matrix<where, T> rounded(m, n, {}, values(type, m * n + 3));
      pmpp::gemm(device, largest, a.input(), b.input(), 0, rounded.view());
      const auto sums = where::get(c.memory);
      const auto got = where::get(rounded.memory);
      for (std::int64_t i = 0; i < m * n; ++i)
        CHECK(static_cast<float>(got[i]) == static_cast<float>(T(sums[i] * static_cast<float>(largest))));
    }
  };
  check(__half{}, 300.0);
  check(__nv_bfloat16{}, 1.5);
}
#else
TEST_CASE("gemm: _Float16 adds up in float") {
  const auto try_place = [](auto place) {
    using where = decltype(place);
    std::vector<_Float16> x(33 * 40 + 3, _Float16(255));
    const matrix<where, _Float16> a(33, 40, {}, x), b(40, 33, {}, x);
    matrix<where, float> c(33, 33, {}, std::vector<float>(33 * 36));
    pmpp::gemm<tiny>(typename where::policy{}, 1, a.input(), b.input(), 0, c.view());
    check_product<float>(a, b, c, 1, 0, 0);
    matrix<where, _Float16> d(33, 33, {}, x);
    pmpp::gemm<tiny>(typename where::policy{}, 1, a.input(), b.input(), 0, d.view());
    const auto sums = where::get(d.memory);
    CHECK(std::isinf(static_cast<float>(sums[0])));
  };
  try_place(test::seq_place{});
  try_place(test::host_place{});
  try_place(test::device_place{});
}
#endif

TEST_ALL_PLACES("gemm: what is not needed is not read; NaN and infinity spread") {
  const typename where::policy policy{};
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> ones(40 * 44, 1.0f), nans(40 * 44, nan);
  const auto all = [&](const matrix<where, float>& c, float wanted) {
    const auto got = where::get(c.memory);
    const auto v = c.view_of(got.data());
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t j = 0; j < c.cols; ++j)
        if (!(v(i, j) == wanted)) return false;
    return true;
  };
  const matrix<where, float> one(40, 40, {}, ones), bad(40, 40, {}, nans);
  {
    matrix<where, float> c(40, 40, {}, nans);  // beta = 0 does not read C
    pmpp::gemm<tiny>(policy, 1, one.input(), one.input(), 0, c.view());
    CHECK(all(c, 40));
  }
  {
    matrix<where, float> c(40, 40, {}, ones);  // alpha = 0 does not read A or B, not even to check their pointers
    pmpp::gemm<tiny>(policy, 0, bad.input(), bad.input(), 3, c.view());
    CHECK(all(c, 3));
    pmpp::gemm<tiny>(policy, 0, matrix_view<const float>(nullptr, 40, 9), matrix_view<const float>(nullptr, 9, 40), 2,
                     c.view());
    CHECK(all(c, 6));
    pmpp::gemm<tiny>(policy, inf, matrix_view<const float>(nullptr, 40, 0), matrix_view<const float>(nullptr, 0, 40), 1,
                     c.view());  // k = 0
    CHECK(all(c, 6));
    pmpp::gemm<tiny>(policy, 0, one.input(), one.input(), 0, c.view());
    CHECK(all(c, 0));
  }
  auto some = ones;
  some[3 * 40 + 5] = nan;
  some[7 * 40 + 0] = inf;
  const matrix<where, float> a(40, 40, {}, some);
  matrix<where, float> c(40, 40, {}, ones);
  pmpp::gemm<tiny>(policy, 1, a.input(), one.input(), 0, c.view());
  const auto got = where::get(c.memory);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 40; ++j) {
      const float x = got[static_cast<std::size_t>(i * 40 + j)];
      CHECK((i == 3 ? std::isnan(x) : i == 7 ? x == inf : x == 40));
    }
}

namespace {
struct relu_of_bias {
  const float* bias;  ///< of a column
  PMPP_HOST_DEVICE float operator()(float value, std::int64_t, std::int64_t j) const {
    const float x = value + bias[j];
    return x > 0 ? x : 0;
  }
};
struct place_of {  // tells rows from columns
  PMPP_HOST_DEVICE double operator()(double, std::int64_t i, std::int64_t j) const { return double(1000 * i + j); }
};
struct half_of {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T value) const {
    return value / 2;
  }
};
}  // namespace

TEST_ALL_PLACES("gemm: an epilogue sees each element once, with its place") {
  const typename where::policy policy{};
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{40, 70, 20}, {70, 3, 200}, {3, 140, 200}, {140, 3, 200}, {1, 50, 9}, {50, 1, 9}})
    for (const bool column_major : {false, true}) {
      const matrix<where, float> a(m, k), b(k, n);
      matrix<where, float> c(m, n, {column_major}), plain(m, n, {column_major}, c.initial);
      const auto bias_values = test::random_values<float>(n);
      const auto bias = where::put(bias_values);
      pmpp::gemm<tiny>(policy, 1, a.input(), b.input(), 1, plain.view());
      pmpp::gemm<tiny>(policy, 1, a.input(), b.input(), 1, c.view(), pmpp::gemm_options{relu_of_bias{bias.data()}});
      const auto got = where::get(c.memory), sums = where::get(plain.memory);
      const auto x = c.view_of(got.data()), y = plain.view_of(sums.data());
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          CHECK(x(i, j) == std::max(0.0f, y(i, j) + bias_values[static_cast<std::size_t>(j)]));

      matrix<where, double> d(m, n, {column_major});
      pmpp::gemm<tiny>(policy, 1, a.input(), b.input(), 0, d.view(), pmpp::gemm_options{place_of{}});
      const auto places = where::get(d.memory);
      const auto z = d.view_of(places.data());
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) CHECK(z(i, j) == double(1000 * i + j));
    }
  const matrix<where, int> a(4, 4), b(4, 4);
  matrix<where, int> c(4, 4);
  pmpp::gemm(policy, 2, a.input(), b.input(), 0, c.view(),
             pmpp::gemm_options{.epilogue = half_of{}, .precision = pmpp::gemm_precision::tf32});
  check_product<int>(a, b, c, 1, 0, 0);
}

TEST_CASE("options are made by name, each alone too") {
  CHECK((std::is_same_v<decltype(pmpp::gemm_options{}), pmpp::gemm_options<>>));
  CHECK((std::is_same_v<decltype(pmpp::gemm_options{half_of{}}), pmpp::gemm_options<half_of>>));
  CHECK((std::is_same_v<decltype(pmpp::gemm_options{.epilogue = half_of{}}), pmpp::gemm_options<half_of>>));
  constexpr pmpp::gemm_options rounding{.precision = pmpp::gemm_precision::tf32};
  CHECK((std::is_same_v<decltype(rounding), const pmpp::gemm_options<>>));
  CHECK(rounding.precision == pmpp::gemm_precision::tf32);
}

TEST_ALL_PLACES("gemm_batched: products side by side, or of one shared matrix") {
  const typename where::policy policy{};
  for (const auto& [m, n, k, batch] : {std::array<std::int64_t, 4>{5, 7, 9, 20},
                                       {32, 32, 32, 6},
                                       {16, 40, 8, 3},
                                       {1, 1, 1, 300},
                                       {3, 65, 130, 2},
                                       {4, 4, 4, 0}}) {
    CAPTURE(m);
    CAPTURE(batch);
    const std::int64_t a_stride = m * k + 2, c_stride = m * n + 1;
    const auto a = test::random_values<int>(a_stride * batch + 1), b = test::random_values<int>(k * n);
    const auto c = test::random_values<int>(c_stride * batch + 1);
    const auto a_there = where::put(a), b_there = where::put(b);
    auto c_there = where::put(c);
    pmpp::gemm_batched<tiny>(policy, 2, matrix_view(a_there.data(), m, k), a_stride,
                             matrix_view<const int>(b_there.data(), k, n), 0, -1, matrix_view(c_there.data(), m, n),
                             c_stride, batch);
    auto wanted = c;
    for (std::int64_t t = 0; t < batch; ++t)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          int sum = 0;
          for (std::int64_t p = 0; p < k; ++p)
            sum += a[static_cast<std::size_t>(t * a_stride + i * k + p)] * b[static_cast<std::size_t>(p * n + j)];
          int& to = wanted[static_cast<std::size_t>(t * c_stride + i * n + j)];
          to = 2 * sum - to;
        }
    CHECK(where::get(c_there) == wanted);
    c_there = where::put(c);
    pmpp::gemm_batched(policy, 2, matrix_view(a_there.data(), m, k), a_stride,
                       matrix_view<const int>(b_there.data(), k, n), 0, -1, matrix_view(c_there.data(), m, n), c_stride,
                       batch);
    CHECK(where::get(c_there) == wanted);
  }
}

TEST_ALL_PLACES("gemm_batched: very many products of at most 32 x 32, any layout") {
  const std::int64_t batch = PMPP_CUDA ? 3001 : 43;  // enough for a warp each; the last block has warps to spare
  for (int round = 0; round < 24; ++round) {
    const bool small = round < 12;
    const auto side = [&] {
      return small ? random_of<std::int64_t>({1, 2, 7, 15, 16}) : random_of<std::int64_t>({3, 16, 17, 24, 31, 32});
    };
    const std::int64_t m = side(), n = side(), k = random_of<std::int64_t>({0, 1, 5, 15, 16, 17, 50});
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const auto values = [&](std::int64_t size) {
      auto v = test::random_values<float>(size * batch);
      for (float& x : v) x = std::round(4 * x);  // exact sums
      return v;
    };
    const auto view = [](auto* data, std::int64_t rows, std::int64_t cols, bool turned) {
      return turned ? transposed(matrix_view(data, cols, rows)) : matrix_view(data, rows, cols);
    };
    const bool ta = round & 1, tb = round & 2, tc = round & 4;
    const auto a = values(m * k + 3), b = values(k * n + 1), c = values(m * n + 2);
    const auto a_there = where::put(a), b_there = where::put(b);
    auto c_there = where::put(c);
    pmpp::gemm_batched(typename where::policy{}, 2, view(a_there.data(), m, k, ta), m * k + 3,
                       view(b_there.data(), k, n, tb), k * n + 1, -1, view(c_there.data(), m, n, tc), m * n + 2, batch);
    auto wanted = c;
    for (std::int64_t t = 0; t < batch; ++t) {
      const auto x = view(a.data() + t * (m * k + 3), m, k, ta), y = view(b.data() + t * (k * n + 1), k, n, tb);
      const auto z = view(wanted.data() + t * (m * n + 2), m, n, tc);
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (std::int64_t p = 0; p < k; ++p) sum += x(i, p) * y(p, j);
          z(i, j) = 2 * sum - z(i, j);
        }
    }
    CHECK(where::get(c_there) == wanted);
  }
}

TEST_ALL_PLACES("gemv: rows, columns and neither, short and long, split or not") {
  const typename where::policy policy{};
  for (int i = 0; i < 60; ++i) {
    const auto size = [] { return random_of<std::int64_t>({0, 1, 2, 3, 5, 31, 33, 64, 129, 300, 5000}); };
    const std::int64_t m = size(), n = m > 1000 ? size() % 400 : size();
    const layout way = random_layout();
    const double alpha = random_of({1.0, 0.5}), beta = random_of({0.0, 2.0});
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(way.column_major);
    CAPTURE(way.gap);
    CAPTURE(way.offset);
    const matrix<where, float> a(m, n, way), x(n, 1);
    matrix<where, float> y(m, 1);
    pmpp::gemv(policy, alpha, a.input(), x.memory, beta, y.memory.data());
    check_product<float>(a, x, y, alpha, beta, double(std::numeric_limits<float>::epsilon()));
    const matrix<where, std::int8_t> b(m, n, way), u(n, 1);
    matrix<where, int> v(m, 1);
    pmpp::gemv(policy, 1, b.input(), u.memory, 1, v.memory);
    check_product<int>(b, u, v, 1, 1, 0);
    const matrix<where, double> row(1, m, {}), c(m, n, way);  // a row times a matrix
    matrix<where, double> out(1, n, {false, 0, 0, 2});
    pmpp::gemm(policy, alpha, row.input(), c.input(), beta, out.view());
    check_product<double>(row, c, out, alpha, beta, double(std::numeric_limits<double>::epsilon()));
  }
}

TEST_ALL_PLACES("gemm: bad input throws and touches nothing") {
  const typename where::policy policy{};
  const std::vector<float> seven(100, 7.0f);
  auto memory = where::put(seven);
  const auto out = where::put(std::vector<float>(100, 1.0f));
  const auto view = [&](std::int64_t r, std::int64_t c) { return matrix_view<const float>(out.data(), r, c); };
  const auto c = [&](std::int64_t rows, std::int64_t cols) { return matrix_view<float>(memory.data(), rows, cols); };
  const float* null = nullptr;
  CHECK_THROWS_AS(pmpp::gemm(policy, 1, view(3, 4), view(5, 6), 0, c(3, 6)), std::invalid_argument);
  CHECK_THROWS_WITH(pmpp::gemm(policy, 1, view(3, 4), view(5, 6), 0, c(3, 6)),
                    "pmpp::gemm: the number of columns of A is 4, that of rows of B is 5");
  CHECK_THROWS_AS(pmpp::gemm(policy, 1, view(3, 4), view(4, 6), 0, c(4, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm(policy, 1, view(3, 4), view(4, 6), 0, c(3, 5)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm(policy, 1, view(-1, 4), view(4, 6), 0, c(-1, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm(policy, 1, matrix_view(null, 3, 4), view(4, 6), 0, c(3, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm(policy, 1, view(3, 4), matrix_view(null, 4, 6), 0, c(3, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm(policy, 1, view(3, 4), view(4, 6), 0, matrix_view<float>(nullptr, 3, 6)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm(policy, 1, view(3, 4), view(4, 6), 0, matrix_view<float>(memory.data(), 3, 6, 0)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm_batched(policy, 1, view(3, 4), 0, view(4, 6), 0, 0, c(3, 6), 0, 2), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm_batched(policy, 1, view(3, 4), 0, view(4, 6), 0, 0, c(3, 6), 18, -1),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemv(policy, 1, view(3, 101), out, 0, memory), std::length_error);
  CHECK_THROWS_AS(pmpp::gemv(policy, 1, view(101, 3), out, 0, memory), std::length_error);
  CHECK_THROWS_AS(pmpp::gemv(policy, 1, view(3, 4), null, 0, memory), std::invalid_argument);
  // C reaches into A or B: by one element, as a column, as the vector itself.
  const auto part = [&](std::int64_t first, std::int64_t r, std::int64_t n) {
    return matrix_view<const float>(memory.data() + first, r, n, 10);
  };
  CHECK_THROWS_WITH(
      pmpp::gemm(policy, 1, part(0, 4, 4), view(4, 4), 0, matrix_view<float>(memory.data() + 33, 4, 4, 10)),
      "pmpp::gemm: C (4 x 4) overlaps A, which is still read when C is written");
  CHECK_THROWS_WITH(
      pmpp::gemm(policy, 1, view(4, 4), part(0, 4, 4), 0, matrix_view<float>(memory.data() + 3, 4, 4, 10)),
      "pmpp::gemm: C (4 x 4) overlaps B, which is still read when C is written");
  CHECK_THROWS_WITH(pmpp::gemv(policy, 1, view(4, 4), memory, 1, memory),
                    "pmpp::gemv: C (4 x 1) overlaps B, which is still read when C is written");
  CHECK(where::get(memory) == seven);
  // Side by side in one matrix, and between each other's elements, they do not.
  pmpp::gemm(policy, 0.25f, part(0, 4, 4), part(40, 4, 4), 0, matrix_view<float>(memory.data() + 4, 4, 4, 10));
  CHECK(where::get(memory)[4] == 49.0f);
  pmpp::gemm(policy, 1, matrix_view<const float>(memory.data() + 80, 1, 4, 8, 2), view(4, 4), 0,
             matrix_view<float>(memory.data() + 81, 1, 4, 8, 2));
  CHECK(where::get(memory)[81] == 28.0f);
  auto again = where::put(seven);
  pmpp::gemm(policy, 0, matrix_view<const float>(again.data(), 3, 3), view(3, 3), 2,
             matrix_view<float>(again.data(), 3, 3));
  CHECK(where::get(again)[8] == 14.0f);                                                 // alpha = 0: A is not read
  pmpp::gemm(policy, 1, view(0, 4), view(4, 6), 0, matrix_view<float>(nullptr, 0, 6));  // nothing may be null
}

TEST_ALL_PLACES("gemm: the same bits again") {
  const typename where::policy policy{};
  const matrix<where, float> a(70, 900), b(900, 50);
  matrix<where, float> c(70, 50);
  pmpp::gemm<tiny>(policy, 1, a.input(), b.input(), 0, c.view());
  const auto first = where::get(c.memory);
  for (int i = 0; i < 3; ++i) {
    pmpp::gemm<tiny>(policy, 1, a.input(), b.input(), 0, c.view());
    CHECK(where::get(c.memory) == first);
  }
}

TEST_CASE("gemm: on host the same bits for any number of threads") {
  using where = test::host_place;
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{300, 200, 500}, {7, 3000, 400}, {2000, 1, 700}, {130, 1100, 90}}) {
    const matrix<where, float> a(m, k), b(k, n);
    matrix<where, float> c(m, n), d(m, n, {}, c.initial);
    pmpp::gemm(pmpp::host.threads(1), 1, a.input(), b.input(), 2, c.view());
    check_product<float>(a, b, c, 1, 2, double(std::numeric_limits<float>::epsilon()));
    for (const int threads : {2, 3, 7}) {
      d.memory = d.initial;
      pmpp::gemm(pmpp::host.threads(threads), 1, a.input(), b.input(), 2, d.view());
      CHECK(d.memory == c.memory);
    }
  }
}

TEST_CASE("gemm: a workspace serves any number of calls") {
  using where = test::device_place;
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  for (int i = 0; i < 10; ++i) {
    const auto size = [] { return static_cast<std::int64_t>(test::generator()() % 60 + 1); };
    const std::int64_t m = size(), n = size(), k = 10 * size();
    const matrix<where, float> a(m, k), b(k, n);
    matrix<where, float> c(m, n);
    pmpp::gemm<tiny>(policy, 1, a.input(), b.input(), 0, c.view());
    check_product<float>(a, b, c, 1, 0, double(std::numeric_limits<float>::epsilon()));
  }
}

#if PMPP_CUDA
TEST_CASE("gemm in a graph, replayed on changed data, in another stream") {
  using where = test::device_place;
  const std::int64_t m = 40, n = 50, k = 3000;  // k is split
  matrix<where, float> a(m, k), b(k, n), c(m, n), x(k, 1), y(m, 1);
  pmpp::stream s;
  pmpp::workspace scratch;
  const auto policy = device.on(s).with(scratch);
  const auto calls = [&] {
    pmpp::gemm(policy, 1, a.input(), b.input(), 0, c.view());
    pmpp::gemv(policy, 1, a.input(), x.memory, 0, y.memory);
  };
  calls();
  s.synchronize();
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) == cudaSuccess);
  calls();
  REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  for (int i = 0; i < 3; ++i) {
    a.initial = test::random_values<float>(std::int64_t(a.initial.size()));
    pmpp::copy(a.initial, a.memory);
    REQUIRE(cudaGraphLaunch(executable, s) == cudaSuccess);
    s.synchronize();
    check_product<float>(a, b, c, 1, 0, double(std::numeric_limits<float>::epsilon()));
    check_product<float>(a, x, y, 1, 0, double(std::numeric_limits<float>::epsilon()));
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

TEST_CASE("gemm: elements past 2^32 of a matrix") {
  using where = test::device_place;
  const std::int64_t pitch = std::int64_t(1) << 28, rows = 17;  // 17 GiB apart in all
  std::size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  if (free_bytes < (std::size_t(20) << 30)) {
    MESSAGE("skipped: less than 20 GiB of memory are free");
    return;
  }
  pmpp::device_buffer<float> memory(rows * pitch);
  const matrix<where, float> a(rows, 8), b(8, 64);
  matrix<where, float> small(rows, 64), back(rows, rows);
  const matrix_view<float> wide(memory.data() + 5, rows, 64, pitch);
  pmpp::gemm(device, 1, a.input(), b.input(), 0, wide);
  pmpp::gemm(device, 1, a.input(), b.input(), 0, small.view());
  pmpp::gemm(device, 1, wide, transposed(wide), 0, back.view());
  for (std::int64_t i = 0; i < rows; ++i) {
    std::vector<float> row(64), wanted(64);
    pmpp::copy(std::span<const float>(&wide(i, 0), 64), row);
    pmpp::copy(std::span<const float>(small.memory.data() + i * 64, 64), wanted);
    CHECK(row == wanted);
  }
  small.initial = where::get(small.memory);
  const matrix<where, float> turned(64, rows, {true}, small.initial);
  check_product<float>(small, turned, back, 1, 0, double(std::numeric_limits<float>::epsilon()));
}
#else
#include <pmpp/simt/emulator.hpp>

TEST_CASE("gemm: any order of blocks, any seed, one worker or several") {
  using where = test::device_place;
  using order = pmpp::simt::block_order;
  const matrix<where, std::int32_t> a(40, 120), b(120, 70);
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    for (const order o : {order::ascending, order::descending, order::shuffled}) {
      pmpp::simt::emulator_options options;
      options.threads = seed % 2 == 0 ? 1 : 2;
      options.order = o;
      options.seed = seed;
      const pmpp::simt::scoped_emulator_options scope(options);
      CAPTURE(seed);
      matrix<where, std::int32_t> c(40, 70);
      pmpp::gemm<other>(device, 1, a.input(), b.input(), 0, c.view());
      check_product<std::int32_t>(a, b, c, 1, 0, 0);
      const matrix<where, std::int32_t> wide(40, 132), part(7, 40);
      matrix<where, std::int32_t> few_rows(7, 132);
      pmpp::gemm<tiny>(device, 1, part.input(), wide.input(), 0, few_rows.view());
      check_product<std::int32_t>(part, wide, few_rows, 1, 0, 0);
      const matrix<where, std::int32_t> x(120, 1);
      matrix<where, std::int32_t> y(40, 1);
      pmpp::gemv(device, 1, a.input(), x.memory, 0, y.memory);
      check_product<std::int32_t>(a, x, y, 1, 0, 0);
    }
}
#endif
