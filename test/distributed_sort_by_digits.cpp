// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/sort_by_digits.hpp: numbers of 4 and 8 bytes that codes divide among 2, 3, 5, 7 and 8 ranks, however
// they lie on them, come where std::stable_sort puts them, with their values, in blocks that differ by one at most; those that codes do
// not divide are left as they were.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include <pmpp/distributed/sort.hpp>

#include "support/distributed.hpp"

namespace {

#if PMPP_CUDA
auto near_ranks(int p) { return pmpp::ranks_on_one_device(p); }
#else
auto near_ranks(int p) { return pmpp::emulated_devices(p); }
#endif

enum class kind { all_bits, bounded, normal, exponential, zeros_apart };
constexpr kind kinds[] = {kind::all_bits, kind::bounded, kind::normal, kind::exponential, kind::zeros_apart};

template <class K>
K key_of(kind how, std::mt19937_64& random) {
  if (how == kind::normal) return static_cast<K>(std::normal_distribution<double>(1e5, 1e4)(random));
  if (how == kind::exponential) return static_cast<K>(std::exponential_distribution<double>(1e-6)(random));
  const std::uint64_t word = random();
  if (how == kind::bounded) return static_cast<K>(word % 100003);
  if constexpr (std::is_floating_point_v<K>) {
    const K specials[] = {K(NAN), -K(NAN), K(-0.0), K(0.0), -std::numeric_limits<K>::infinity()};
    if (how == kind::zeros_apart && word % 64 == 0) return specials[word / 64 % 5];
    return static_cast<K>(static_cast<std::int64_t>(word)) / K(1e9);
  }
  return static_cast<K>(word);
}

enum class calls { both, keys, with_values };

template <class K, calls Which, class Comp>
void check_sorted(Comp comp) {
  using code = pmpp::detail::radix_code<K, std::is_same_v<Comp, pmpp::greater>>;
  std::mt19937_64 random(test::seed());
  test::only_each some(13, 4);
  for (const int p : {2, 3, 5, 7, 8}) {
    const auto gpus = near_ranks(p);
    for (const kind how : kinds) {
      if (some.leaves_out()) continue;
      const test::layout lies = test::layouts[random() % 4];
      const std::int64_t n = p * 1024 + std::int64_t(random() % 4096);
      CAPTURE(p);
      CAPTURE(n);
      CAPTURE(int(how));
      CAPTURE(int(lies));
      std::vector<K> keys(static_cast<std::size_t>(n));
      for (K& key : keys) key = key_of<K>(how, random);
      std::vector<std::int16_t> places(keys.size());
      std::iota(places.begin(), places.end(), std::int16_t(0));
      auto x = test::put(gpus, keys, lies, random);
      auto by = test::put_like(gpus, x, keys);
      auto y = test::put_like(gpus, x, places);
      std::stable_sort(places.begin(), places.end(), [&](std::int16_t a, std::int16_t b) {
        return code::encode(keys[std::size_t(a)]) < code::encode(keys[std::size_t(b)]);
      });
      std::vector<typename code::bits> expected;
      for (const std::int16_t k : places) expected.push_back(code::encode(keys[std::size_t(k)]));
      const auto codes_of = [&](const auto& sorted) {
        std::vector<typename code::bits> codes;
        for (const K& key : pmpp::to_host(gpus, sorted)) codes.push_back(code::encode(key));
        return codes;
      };
      if constexpr (Which != calls::with_values) {
        CHECK(pmpp::detail::sort_by_digits(gpus, comp, x));
        CHECK(codes_of(x) == expected);
        CHECK(test::is_balanced(x, p));
      }
      if constexpr (Which != calls::keys) {
        CHECK(pmpp::detail::sort_by_digits(gpus, comp, by, y));
        CHECK(codes_of(by) == expected);
        CHECK(pmpp::to_host(gpus, y) == places);
        CHECK(test::is_balanced(y, p));
      }
    }
  }
}

}  // namespace

TEST_CASE("numbers under less") {
  check_sorted<std::uint32_t, calls::keys>(pmpp::less{});
  check_sorted<float, calls::both>(pmpp::less{});
  check_sorted<std::int64_t, calls::keys>(pmpp::less{});
}
TEST_CASE("numbers under greater") {
  check_sorted<std::int32_t, calls::with_values>(pmpp::greater{});
  check_sorted<double, calls::with_values>(pmpp::greater{});
}

TEST_CASE("what codes do not divide is left as it was") {
  std::mt19937_64 random(test::seed());
  test::only_each small(4);
  for (const int p : {2, 5, 8})
    for (const unsigned different : {1u, 3u}) {
      if (small.leaves_out()) continue;
      const auto gpus = near_ranks(p);
      std::vector<std::uint32_t> v(4096);
      for (std::uint32_t& key : v) key = static_cast<std::uint32_t>(random()) % different;
      auto x = test::put(gpus, v, test::layout::random, random);
      CHECK(!pmpp::detail::sort_by_digits(gpus, pmpp::less{}, x));
      CHECK(pmpp::to_host(gpus, x) == v);
      pmpp::sort(gpus, x);
      std::sort(v.begin(), v.end());
      CHECK(pmpp::to_host(gpus, x) == v);
    }
}

TEST_CASE("the second call allocates nothing") {
  std::mt19937_64 random(test::seed());
  const auto gpus = near_ranks(3);
  std::vector<std::uint32_t> v(9001);
  for (std::uint32_t& key : v) key = key_of<std::uint32_t>(kind::normal, random);
  pmpp::distributed_buffer<std::uint32_t> x{gpus, v};
  pmpp::sort(gpus, x);
  CHECK(test::second_allocates_nothing(gpus, [&] {
    x.copy_from(v);
    pmpp::sort(gpus, x);
  }));
}
