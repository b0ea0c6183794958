// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/slabs.hpp, halo.hpp and stencil.hpp: on 1, 2, 3, 5, 7 and 8 ranks, with slabs of all heights, also
// none and fewer planes than a halo, halos have the planes that are next to a slab in the whole; stencil gives the bits of one device
// for every border, in one, two and three dimensions; halos that are read before their exchange has finished are an exception;
// bad input throws and touches nothing.
#include <stdexcept>
#include <utility>

#include <doctest/doctest.h>

#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/halo.hpp>
#include <pmpp/distributed/stencil.hpp>

#include "support/slabs.hpp"

namespace {

using test::everywhere;
using test::fractions;

/// Corners, so that halos of whole planes matter, and a product, so that nothing is symmetric.
struct skewed {
  static constexpr bool corners = true;
  template <class N>
  PMPP_HOST_DEVICE float operator()(const N& n) const {
    if constexpr (N::dimensions == 3)
      return n(0, 0, 0) + 0.7f * n(-1, 1, 0) - 0.3f * n(1, 0, -1) + 0.11f * n(1, 1, 1) * n(-1, -1, -1);
    else
      return n(0, 0) + 0.7f * n(-1, 1) - 0.3f * n(1, 0) + 0.11f * n(1, 1) * n(-1, -1);
  }
};

}  // namespace

TEST_CASE("slabs") {
  const auto gpus = test::ranks(3);
  pmpp::slabs<int, 2> a{gpus, {7, 5}, 2};
  std::vector<int> v(35);
  for (int i = 0; i < 35; ++i) v[std::size_t(i)] = i;
  a.copy_from(v);
  CHECK(pmpp::to_host(gpus, a) == v);
  CHECK(a.planes() == 7);
  CHECK(a.plane_size() == 5);
  CHECK(a.size_of(0) == 3);
  CHECK(a.offset(1) == 3);
  CHECK(a.part(1).rows() == 2);
  CHECK(a.with_halo(1).rows() == 6);
  CHECK(a.with_halo(1).data() == a.part(1).data() - 10);
  CHECK(reinterpret_cast<std::uintptr_t>(a.part(1).data()) % 256 == 0);
  pmpp::fill(gpus, a.elements(), 4);  // the halos are none of them
  auto moved = std::move(a);
  CHECK(pmpp::to_host(gpus, moved) == std::vector<int>(35, 4));
}

TEST_CASE("halos") {
  everywhere({0, 1, 2, 7, 40}, [](const auto& gpus, std::int64_t planes, const auto& sizes, const auto&, auto& random) {
    for (const bool wraps : {false, true})
      for (const std::int64_t width : {0, 1, 3, 11}) {
        auto a = pmpp::slabs<int, 1>::with_sizes(gpus, {planes}, width, sizes);
        std::vector<int> v(static_cast<std::size_t>(planes));
        for (int& x : v) x = static_cast<int>(random());
        a.copy_from(v);
        gpus.synchronize();
        int ranks = 0;
        pmpp::exchange_halos(
            gpus, a, [&](int, const auto&) { ++ranks; }, wraps);
        CHECK(ranks == gpus.local_size());
        gpus.synchronize();
        bool right = true;
        for (int i = 0; i < gpus.local_size(); ++i) {
          const auto seen = a.with_halo(i);
          std::vector<int> got(seen.size());
          pmpp::detail::copy_on_rank(gpus.group()->places[std::size_t(i)], got.data(), seen.data(), seen.size_bytes());
          gpus.synchronize();
          for (std::size_t k = 0; k < got.size(); ++k) {
            const std::int64_t at = a.offset(i) + std::int64_t(k) - width;
            if (wraps || (at >= 0 && at < planes))
              right = right && got[k] == v[std::size_t(((at % planes) + planes) % planes)];
          }
        }
        CHECK(right);
      }
  });
}

TEST_CASE("stencil") {
  everywhere({1, 2, 9, 30},
             [](const auto& gpus, std::int64_t planes, const auto& sizes, const auto& outside, auto& random) {
               const auto check = [&](const auto& extents, auto reach, const auto& f) {
                 constexpr int dimensions = int(std::tuple_size_v<std::remove_cvref_t<decltype(extents)>>);
                 std::int64_t count = 1;
                 for (const std::int64_t n : extents) count *= n;
                 const auto v = fractions(count, random);
                 auto a = pmpp::slabs<float, dimensions>::with_sizes(gpus, extents, 4, sizes);
                 auto b = pmpp::slabs<float, dimensions>::with_sizes(gpus, extents, 5, sizes);
                 a.copy_from(v);
                 gpus.synchronize();
                 auto expected = v;
                 pmpp::slabs<float, dimensions>*from = &a, *to = &b;
                 for (int step = 0; step < 2; ++step) {  // the second one with halos that the first has spoilt
                   expected = test::on_one(expected, extents, [&](const auto& in, const auto& out) {
                     pmpp::stencil(test::one, in, out, reach, f, outside);
                   });
                   pmpp::stencil(gpus, *from, *to, reach, f, outside);
                   std::swap(from, to);
                 }
                 CHECK(test::same_bits(pmpp::to_host(gpus, *from), expected));
               };
               check(std::array<std::int64_t, 3>{planes, 5, 12}, pmpp::radius<1>, skewed{});
               check(std::array<std::int64_t, 3>{planes, 3, 7}, pmpp::radius<4>,
                     pmpp::stencil_25<float>{{0.3f, 0.2f, 0.1f, 0.07f, 0.01f}});
               check(std::array<std::int64_t, 2>{planes, 37}, pmpp::radius<1>, skewed{});
               check(std::array<std::int64_t, 1>{planes}, pmpp::radius<1>, pmpp::stencil_7<float>{{0.3f, 0.2f}});
             });
}

#if PMPP_WITH_EMULATOR
TEST_CASE("halos that are read before their exchange has finished") {
  const pmpp::emulated_devices gpus{3};
  pmpp::slabs<int, 2> a{gpus, {6, 4}, 1};
  a.copy_from(std::vector<int>(24, 5));
  const char* const too_early =
      "pmpp: bytes that rank 1 receives from rank 0 are asked for before their exchange has finished";
  CHECK_THROWS_WITH_AS(pmpp::exchange_halos(gpus, a,
                                            [&](int i, const auto&) {
                                              CHECK(a.part(i)(1, 3) == 5);  // its own may be read
                                              if (i == 1) static_cast<void>(a.with_halo(i));
                                            }),
                       too_early, pmpp::communication_error);
  std::vector<int> seen;  // by a kernel of one's own
  pmpp::exchange_halos(gpus, a, [&](int i, const auto&) {
    if (i > 0) seen.push_back(a.at(i, -1)[0]);
  });
  CHECK(seen == std::vector<int>(2, int(0xCDCDCDCD)));
  CHECK(a.with_halo(1)(0, 0) == 5);
}
#endif

TEST_CASE("slabs: bad input") {
  const auto gpus = test::ranks(3);
  const auto others = test::ranks(3);
  using slabs = pmpp::slabs<float, 2>;
  CHECK_THROWS_AS((slabs{gpus, {-1, 4}, 1}), std::length_error);
  CHECK_THROWS_AS((slabs{gpus, {4, -1}, 1}), std::length_error);
  CHECK_THROWS_AS((slabs{gpus, {4, 4}, -1}), std::length_error);
  CHECK_THROWS_AS((slabs{gpus, {std::int64_t(1) << 40, std::int64_t(1) << 40}, 1}), std::length_error);
  CHECK_THROWS_AS((slabs{gpus, {4, 4}, std::int64_t(1) << 60}), std::length_error);
  CHECK_THROWS_WITH_AS((static_cast<void>(slabs::with_sizes(gpus, {4, 4}, 1, {1, 1, 1}))),
                       "pmpp::slabs: the slabs have 3 planes in all, the whole has 4", std::invalid_argument);
  CHECK_THROWS_AS((static_cast<void>(slabs::with_sizes(gpus, {4, 4}, 1, {4}))), std::invalid_argument);

  slabs a{gpus, {6, 4}, 1}, b{gpus, {6, 4}, 1}, narrow{gpus, {6, 4}, 0}, longer{gpus, {7, 4}, 1},
      elsewhere{others, {6, 4}, 1};
  auto uneven = slabs::with_sizes(gpus, {6, 4}, 1, {6, 0, 0});
  pmpp::fill(gpus, b.elements(), 1.0f);
  const pmpp::stencil_7<float> f{{1, 1}};
  CHECK_THROWS_AS(pmpp::stencil(gpus, a, elsewhere, pmpp::radius<1>, f), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::stencil(gpus, longer, b, pmpp::radius<1>, f),
                       "pmpp::stencil: axis 0 of the input has 7 indices, of the output 6", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::stencil(gpus, a, uneven, pmpp::radius<1>, f),
                       "pmpp::stencil: on rank 0 the input has 2 planes, the output 6", std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::stencil(gpus, narrow, b, pmpp::radius<1>, f),
                       "pmpp::stencil: results reach 1 planes; the halo of the input has 0, of the output 1",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::stencil(gpus, b, b, pmpp::radius<1>, f),
                       "pmpp::stencil: input and output are the same; it is not done in place", std::invalid_argument);
  CHECK_THROWS_AS(pmpp::exchange_halos(others, a), std::invalid_argument);
  CHECK(pmpp::to_host(gpus, b) == std::vector<float>(24, 1.0f));
}
