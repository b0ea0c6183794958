// SPDX-License-Identifier: Apache-2.0
//
// What this file and its neighbours (see support/gemm_tunings.hpp) prove of gemm.hpp, on every policy: products are those of the definition within the rounding of their
// sums, for all layouts, leading dimensions, offsets, shapes from 0 on, and types; small integers exactly; what lies
// between and around the elements of C stays; beta = 0 does not read C, alpha = 0 and k = 0 do not read A or B; NaN and
// infinity spread; epilogues; batches; vectors; the same bits on every run, on host for any number of threads; bad input
// throws and touches nothing. In the emulator also: every tile, splits of k, any order of blocks, any seed.
#include <pmpp/gemm.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <pmpp/memory/workspace.hpp>

#include "support/data.hpp"
#include "support/gemm_tunings.hpp"
#include "support/matrix.hpp"
#include "support/policies.hpp"

using pmpp::device;
using pmpp::matrix_view;
using test::check_product, test::layout, test::matrix, test::random_layout, test::random_of, test::tiny,
    test::try_product;

TEST_ALL_PLACES("gemm: all layouts, any shape") {
  for (int i = 0; i < test::turns(150); ++i) {
    const auto size = [] { return random_of<std::int64_t>({0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 65, 70, 100}); };
    const double alpha = random_of({1.0, -0.5, 2.0}), beta = random_of({0.0, 0.0, 1.0, -0.75});
    try_product<where, tiny, float, float, float>(size(), size(), size(), random_layout(), random_layout(),
                                                  random_layout(), alpha, beta);
  }
}

TEST_ALL_PLACES("gemm: a few rows or columns, in strips") {
  for (int i = 0; i < test::turns(60); ++i) {
    const auto some = random_of<std::int64_t>({2, 3, 4, 5, 8, 9}),
               many = random_of<std::int64_t>({127, 128, 131, 256, 300});
    const auto k = random_of<std::int64_t>({0, 1, 31, 32, 33, 64, 67, 200, 260});
    const bool turned = i % 2 == 0;
    const auto way = [] {  // mostly rows or columns that begin at multiples of 16 bytes
      return random_of<layout>({{false}, {true}, {false, 4}, {true, 8}, {false, 0, 4}, {true, 1}, {false, 0, 1}});
    };
    // Whole words lie one after another only where extents are multiples of four.
    const auto whole = [&](std::int64_t n) { return i % 3 == 0 ? n : (n + 3) / 4 * 4; };
    const double alpha = random_of({1.0, -0.5}), beta = random_of({0.0, 0.5});
    try_product<where, tiny, float, float, float>(turned ? whole(many) : some, turned ? some : whole(many), whole(k),
                                                  way(), way(), random_layout(), alpha, beta);
  }
  for (const bool b : {false, true})
    try_product<where, tiny, std::int32_t, std::int32_t, std::int32_t>(7, 132, 500, {}, {b}, {}, 1, 1);
}

TEST_ALL_PLACES("gemm: a row times a matrix") {
  for (int i = 0; i < test::turns(60); ++i) {
    const auto size = [] { return random_of<std::int64_t>({0, 1, 2, 3, 5, 31, 33, 64, 129, 300, 5000}); };
    const std::int64_t k = size(), n = k > 1000 ? size() % 400 : size();
    try_product<where, tiny, float, float, float>(1, n, k, {}, random_layout(), {false, 0, 0, 2}, random_of({1.0, 0.5}),
                                                  random_of({0.0, 2.0}));
  }
}

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
  pmpp::gemm<tiny>(policy, 2, a.input(), b.input(), 0, c.view(),
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

TEST_ALL_PLACES("gemm: bad input throws and touches nothing") {
  const typename where::policy policy{};
  const std::vector<float> seven(100, 7.0f);
  auto memory = where::put(seven);
  const auto out = where::put(std::vector<float>(100, 1.0f));
  const auto view = [&](std::int64_t r, std::int64_t c) { return matrix_view<const float>(out.data(), r, c); };
  const auto c = [&](std::int64_t rows, std::int64_t cols) { return matrix_view<float>(memory.data(), rows, cols); };
  const float* null = nullptr;
  CHECK_THROWS_AS(pmpp::gemm<tiny>(policy, 1, view(3, 4), view(5, 6), 0, c(3, 6)), std::invalid_argument);
  CHECK_THROWS_WITH(pmpp::gemm<tiny>(policy, 1, view(3, 4), view(5, 6), 0, c(3, 6)),
                    "pmpp::gemm: the number of columns of A is 4, that of rows of B is 5");
  CHECK_THROWS_AS(pmpp::gemm<tiny>(policy, 1, view(3, 4), view(4, 6), 0, c(4, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm<tiny>(policy, 1, view(3, 4), view(4, 6), 0, c(3, 5)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm<tiny>(policy, 1, view(-1, 4), view(4, 6), 0, c(-1, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm<tiny>(policy, 1, matrix_view(null, 3, 4), view(4, 6), 0, c(3, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm<tiny>(policy, 1, view(3, 4), matrix_view(null, 4, 6), 0, c(3, 6)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm<tiny>(policy, 1, view(3, 4), view(4, 6), 0, matrix_view<float>(nullptr, 3, 6)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm<tiny>(policy, 1, view(3, 4), view(4, 6), 0, matrix_view<float>(memory.data(), 3, 6, 0)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm_batched<tiny>(policy, 1, view(3, 4), 0, view(4, 6), 0, 0, c(3, 6), 0, 2),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::gemm_batched<tiny>(policy, 1, view(3, 4), 0, view(4, 6), 0, 0, c(3, 6), 18, -1),
                  std::invalid_argument);
  // C reaches into A or B: by one element, as a column.
  const auto part = [&](std::int64_t first, std::int64_t r, std::int64_t n) {
    return matrix_view<const float>(memory.data() + first, r, n, 10);
  };
  CHECK_THROWS_WITH(
      pmpp::gemm<tiny>(policy, 1, part(0, 4, 4), view(4, 4), 0, matrix_view<float>(memory.data() + 33, 4, 4, 10)),
      "pmpp::gemm: C (4 x 4) overlaps A, which is still read when C is written");
  CHECK_THROWS_WITH(
      pmpp::gemm<tiny>(policy, 1, view(4, 4), part(0, 4, 4), 0, matrix_view<float>(memory.data() + 3, 4, 4, 10)),
      "pmpp::gemm: C (4 x 4) overlaps B, which is still read when C is written");
  CHECK(where::get(memory) == seven);
  // Side by side in one matrix, and between each other's elements, they do not.
  pmpp::gemm<tiny>(policy, 0.25f, part(0, 4, 4), part(40, 4, 4), 0, matrix_view<float>(memory.data() + 4, 4, 4, 10));
  CHECK(where::get(memory)[4] == 49.0f);
  pmpp::gemm<tiny>(policy, 1, matrix_view<const float>(memory.data() + 80, 1, 4, 8, 2), view(4, 4), 0,
                   matrix_view<float>(memory.data() + 81, 1, 4, 8, 2));
  CHECK(where::get(memory)[81] == 28.0f);
  auto again = where::put(seven);
  pmpp::gemm<tiny>(policy, 0, matrix_view<const float>(again.data(), 3, 3), view(3, 3), 2,
                   matrix_view<float>(again.data(), 3, 3));
  CHECK(where::get(again)[8] == 14.0f);  // alpha = 0: A is not read
  pmpp::gemm<tiny>(policy, 1, view(0, 4), view(4, 6), 0, matrix_view<float>(nullptr, 0, 6));  // nothing may be null
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
  if (test::only_small()) return;  // of no kernel
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
  for (int i = 0; i < test::turns(10); ++i) {
    const auto size = [] { return static_cast<std::int64_t>(test::generator()() % 60 + 1); };
    const std::int64_t m = size(), n = size(), k = 10 * size();
    const matrix<where, float> a(m, k), b(k, n);
    matrix<where, float> c(m, n);
    pmpp::gemm<tiny>(policy, 1, a.input(), b.input(), 0, c.view());
    check_product<float>(a, b, c, 1, 0, double(std::numeric_limits<float>::epsilon()));
  }
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
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
      pmpp::gemm<test::other>(device, 1, a.input(), b.input(), 0, c.view());
      check_product<std::int32_t>(a, b, c, 1, 0, 0);
      const matrix<where, std::int32_t> wide(40, 132), part(7, 40);
      matrix<where, std::int32_t> few_rows(7, 132);
      pmpp::gemm<tiny>(device, 1, part.input(), wide.input(), 0, few_rows.view());
      check_product<std::int32_t>(part, wide, few_rows, 1, 0, 0);
    }
}
#endif
