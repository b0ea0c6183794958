// SPDX-License-Identifier: Apache-2.0
//
// The tiles of gemm by themselves: warps that share one, whole ones beside those whose k is split, shares of k-tiles; and the
// plans that choose among them. See gemm.cpp.
#include <pmpp/gemm.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "support/data.hpp"
#include "support/gemm_tunings.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using test::flat, test::halves, test::quarters, test::random_of;

/// The emulator takes its time: half of the turns.
constexpr int turns_here(int on_a_gpu) { return PMPP_CUDA ? on_a_gpu : on_a_gpu / 2; }

// C = 2 A B - C by multiply(problem). Small integers are exact.
template <class where, class T = float, class TC = pmpp::detail::gemm_sum<T, T>, class F>
void try_problem(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool ta, bool tb, F multiply) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(batch);
  CAPTURE(ta);
  CAPTURE(tb);
  const auto values = [](std::int64_t size) {
    std::vector<T> v;
    for (const float x : test::random_values<float>(size)) v.push_back(T(std::round(4 * x)));
    return v;
  };
  using sum_type = pmpp::detail::gemm_sum<T, T>;
  const auto a = values(m * k * batch), b = values(k * n * batch), old = values(m * n * batch);
  const std::vector<TC> c(old.begin(), old.end());
  const auto a_there = where::put(a), b_there = where::put(b);
  auto c_there = where::put(c);
  const pmpp::detail::gemm_problem<T, T, TC, sum_type, pmpp::no_epilogue> x{
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
        sum_type sum = 0;
        const T* row = a.data() + t * m * k + (ta ? i : i * k);
        const T* column = b.data() + t * k * n + (tb ? j * k : j);
        for (std::int64_t p = 0; p < k; ++p, row += ta ? m : 1, column += tb ? 1 : n)
          sum += sum_type(*row) * sum_type(*column);
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
  for (int i = 0; i < test::turns(turns_here(60)); ++i) {
    const auto size = [] { return random_of<std::int64_t>({15, 16, 32, 33, 48, 70, 100, 128}); };
    const std::int64_t m = size(), n = size(), k = random_of<std::int64_t>({1, 8, 33, 64, 100, 200}),
                       batch = 1 + i % 3 / 2;
    const bool ta = i & 1, tb = i & 2;
    const std::int64_t splits = i % 4 == 3 ? 1 : 1 + i % 5;
    const auto try_tile = [&]<pmpp::gemm_tile Tile>(std::integral_constant<pmpp::gemm_tile, Tile>) {
      const std::int64_t tiles =
          pmpp::ceil_div(m, std::int64_t(Tile.m)) * pmpp::ceil_div(n, std::int64_t(Tile.n)) * batch;
      try_plan<where, Tile>(m, n, k, batch, ta, tb, i * tiles / turns_here(60), splits);
    };
    try_tile(std::integral_constant<pmpp::gemm_tile, flat>{});
    try_tile(std::integral_constant<pmpp::gemm_tile, halves>{});
    try_tile(std::integral_constant<pmpp::gemm_tile, quarters>{});
    if (i % 6 > 0) continue;
    try_tile(std::integral_constant<pmpp::gemm_tile, pmpp::gemm_tuning_for<float>().small>{});
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
    const auto tile = i % 2 == 0 ? gemm_cost_of<gemm_tuning_for<float>().large, float>(on)
                                 : gemm_cost_of<gemm_tuning_for<float>().small, float>(on);
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

// Where the last tiles do not fill the machine they are split, beside whole ones or after them.
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

// What is remembered of a problem is not taken for one that differs in anything a plan may look at, and is for one that does not.
TEST_CASE("gemm: a plan is remembered for its shape alone") {
  using problem = pmpp::detail::gemm_problem<float, float, float, float, pmpp::no_epilogue>;
  using pmpp::detail::remembered, pmpp::detail::shape_of;
  static float a[64], b[64], c[64];
  const problem x{{a, 4, 1, 4, 16}, {b, 4, 1, 4, 16}, {c, 4, 4, 4, 1, 16}, 4, 2, {1, 0, {}, false}};
  pmpp::machine on{};
  int asked = 0;
  const auto ask = [&](const problem& y) { return remembered(shape_of(y, on), [&] { return ++asked; }); };
  const auto is_new = [&](auto change) {
    problem y = x;
    change(y);
    const int kept = ask(x), before = asked;
    const int got = ask(y);
    CHECK(asked == before + 1);
    CHECK(got != kept);
    CHECK(ask(y) == got);  // until another one is at its place
  };
  for (auto operand : {+[](problem& y) -> auto& { return y.a;
}
, +[](problem& y) -> auto& { return y.b; }
}) {
  is_new([&](problem& y) { operand(y).data += 1; });
  is_new([&](problem& y) { operand(y).extent += 1; });
  is_new([&](problem& y) { operand(y).stride += 1; });
  is_new([&](problem& y) { operand(y).k_stride += 1; });
  is_new([&](problem& y) { operand(y).batch_stride = 0; });
}
is_new([](problem& y) { y.c.data += 16; });  // 64 bytes: half a line
is_new([](problem& y) { y.c.rows += 1; });
is_new([](problem& y) { y.c.cols += 1; });
is_new([](problem& y) { y.c.row_stride += 1; });
is_new([](problem& y) { y.c.col_stride += 1; });
is_new([](problem& y) { y.c.batch_stride += 1; });
is_new([](problem& y) { y.k += 1; });
is_new([](problem& y) { y.batch += 1; });
is_new([](problem& y) { y.result.beta = 1; });
problem same = x;
same.a.data += 32, same.result.alpha = 2, same.result.exchanged = true;
CHECK(ask(same) == ask(x));
const int before = ask(x);
on.multiprocessors = 7;  // another machine
CHECK(ask(x) != before);
}

TEST_CASE("gemm: by plain loads, of any shape, with k in one piece or several") {
  using where = test::device_place;
  for (int i = 0; i < test::turns(turns_here(40)); ++i) {
    const auto size = [] { return random_of<std::int64_t>({1, 2, 3, 4, 5, 15, 16, 17, 33, 64, 65, 130, 136}); };
    const std::int64_t m = size(), n = size(), k = random_of<std::int64_t>({1, 2, 7, 8, 9, 31, 32, 33, 100, 136, 300}),
                       batch = 1 + i % 3;
    const std::int64_t wanted = 1 + i % 4;
    const auto try_tile = [&]<pmpp::direct_tile Tile, class T = float>(std::integral_constant<pmpp::direct_tile, Tile>,
                                                                       T = {}) {
      try_problem<where, T>(m, n, k, batch, i & 2, i & 4, [&](const auto& x) {
        const std::int64_t split_k = pmpp::round_up(pmpp::ceil_div(k, wanted), std::int64_t(Tile.k));
        const pmpp::detail::direct_plan plan{pmpp::ceil_div(k, split_k), split_k};
        const auto policy = typename where::policy{};
        if (i % 2 == 0)
          pmpp::detail::gemm_directly<Tile, pmpp::detail::gemm_sum<T, T>>(policy, x, plan);
        else
          pmpp::detail::gemm_directly<Tile, pmpp::detail::gemm_sum<T, T>>(policy, x.exchanged(), plan);
      });
    };
    using pmpp::detail::direct_tiles;
    try_tile(std::integral_constant<pmpp::direct_tile, direct_tiles[0]>{});
    try_tile(std::integral_constant<pmpp::direct_tile, direct_tiles[1]>{});
    try_tile(std::integral_constant<pmpp::direct_tile, direct_tiles[2]>{});
    try_tile(std::integral_constant<pmpp::direct_tile, direct_tiles[3]>{});
    using pmpp::detail::direct_word_tiles;
    constexpr int word_tiles = sizeof(direct_word_tiles) / sizeof(direct_word_tiles[0]);
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (try_tile(std::integral_constant<pmpp::direct_tile, direct_word_tiles[I + 4]>{}), ...);
    }
    (std::make_integer_sequence<int, word_tiles - 4>{});
    using pmpp::detail::direct_mma_tiles;
    const auto try_type = [&](auto type) {
      try_tile(std::integral_constant<pmpp::direct_tile, direct_mma_tiles[3]>{}, type);
      try_tile(std::integral_constant<pmpp::direct_tile, direct_mma_tiles[4]>{}, type);
    };
    try_type(std::int8_t{});
#if !PMPP_CUDA
    try_type(pmpp::detail::half_type{});
#endif
  }
}

TEST_CASE("gemm on tensor cores: rows that begin anywhere, warps of 16 rows, k in one piece or several") {
  using where = test::device_place;
  constexpr pmpp::mma_tile tile{.m = 32, .n = 64, .warp_m = 16, .warp_n = 32, .stages = 3, .blocks = 1};
  for (int i = 0; i < test::turns(turns_here(80)); ++i) {
    const auto size = [] { return random_of<std::int64_t>({1, 2, 15, 16, 31, 33, 64, 65, 130}); };
    const std::int64_t m = size(), n = size(), k = random_of<std::int64_t>({1, 7, 16, 31, 32, 33, 100, 136, 300});
    try_problem<where, double>(m, n, k, 1 + i % 3, i & 2, i & 4, [&](const auto& x) {
      const std::int64_t split_k = pmpp::round_up(pmpp::ceil_div(k, std::int64_t(1 + i % 4)), std::int64_t(16));
      const auto run = [&](const auto& y) {
        pmpp::detail::gemm_by_mma<pmpp::simt::mma_type::float64, tile>(
            typename where::policy{}, y,
            {pmpp::ceil_div(y.c.rows, std::int64_t(tile.m)), pmpp::ceil_div(y.c.cols, std::int64_t(tile.n)),
             pmpp::ceil_div(k, split_k), split_k, 0});
      };
      i % 5 == 0 ? run(x.exchanged()) : run(x);
    });
  }
}

TEST_CASE("gemm: small products, a warp for each") {
  using where = test::device_place;
  for (int i = 0; i < test::turns(turns_here(40)); ++i) {
    const auto size = [] { return random_of<std::int64_t>({1, 7, 8, 9, 15, 16}); };
    const std::int64_t m = size(), n = size(), k = random_of<std::int64_t>({1, 15, 16, 17, 64, 200});
    const auto try_type = [&]<class T>(T) {
      try_problem<where, T>(m, n, k, 1 + i % 19, i & 2, i & 4,
                            [&](const auto& x) { pmpp::detail::gemm_by_warps<T>(typename where::policy{}, x); });
    };
    try_type(float{});
    try_type(double{});
  }
}

TEST_CASE("gemm: patches of a lane, or of lanes that share k") {
  using where = test::device_place;
  for (int i = 0; i < test::turns(turns_here(120)); ++i) {
    const auto size = [] { return random_of<std::int64_t>({1, 2, 3, 4, 5, 8, 15, 16, 33, 64, 130}); };
    const std::int64_t m = size(), n = size(), k = random_of<std::int64_t>({0, 1, 3, 4, 5, 8, 16, 17, 64, 200});
    const auto try_type = [&]<class T>(T) {
      try_problem<where, T>(m, n, k, 1 + i % 19, i & 2, i & 4, [&](const auto& x) {
        pmpp::detail::gemm_by_patches<pmpp::detail::gemm_sum<T, T>>(typename where::policy{}, x,
                                                                    {.sharing = i % 6, .along_m = i % 4 == 3});
      });
    };
    try_type(float{});
    try_type(double{});
    try_type(std::int8_t{});
  }
}

TEST_CASE("gemm: outer products, whose words of C begin at multiples of their size") {
  using where = test::device_place;
  for (int i = 0; i < test::turns(turns_here(60)); ++i) {
    const auto size = [] { return random_of<std::int64_t>({1, 2, 3, 7, 8, 9, 16, 31, 64, 65, 130, 257, 260}); };
    const std::int64_t m = size(), n = size(), k = 1 + i % 8, batch = 1 + i % 3 * (PMPP_CUDA ? 200 : 30);
    const auto try_type = [&]<class T, class TC>(T, TC) {
      try_problem<where, T, TC>(m, n, k, batch, i & 8, i & 16, [&](const auto& x) {
        const typename where::policy policy{};
        const pmpp::machine& on = pmpp::machine_of(policy);
        const auto plan = pmpp::detail::plan_outer_products(x, on);
        if (plan.clocks < pmpp::detail::never)
          pmpp::detail::gemm_by_outer_products<pmpp::detail::gemm_sum<T, T>>(policy, x, plan);
        else
          pmpp::detail::gemm_by_patches<pmpp::detail::gemm_sum<T, T>>(policy, x, {});
      });
    };
    try_type(float{}, float{});
    try_type(double{}, double{});
    try_type(std::int8_t{}, std::int16_t{});
  }
}
