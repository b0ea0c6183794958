// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of random.hpp, on every policy: words are those of Philox4x32-10 as published, of std::philox4x32 and of
// curand; numbers of every distribution are the same bits everywhere, in any number of parts, at any alignment, and are those of
// formulas evaluated here in other ways; integers are even where a product alone would not be; normal numbers follow their law;
// every order of 5 elements is as likely; shuffles permute, samples begin them; bad input throws.
#include <pmpp/random.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/hostile.hpp"
#include "support/policies.hpp"

using pmpp::device, pmpp::normal, pmpp::philox, pmpp::random_bits, pmpp::uniform;

namespace {

constexpr std::int64_t tile = 256 * 4;

/// Sums of squares of what was counted, less what was expected, in standard deviations from their mean.
double unevenness(const std::vector<std::int64_t>& counts) {
  const double bins = double(counts.size()),
               mean = double(std::accumulate(counts.begin(), counts.end(), std::int64_t(0))) / bins;
  double sum = 0;
  for (const std::int64_t c : counts) sum += (double(c) - mean) * (double(c) - mean) / mean;
  return (sum - (bins - 1)) / std::sqrt(2 * (bins - 1));
}

template <class T>
std::vector<unsigned char> bytes(const std::vector<T>& v) {
  std::vector<unsigned char> b(v.size() * sizeof(T));
  if (!b.empty()) std::memcpy(b.data(), v.data(), b.size());
  return b;
}

/// One value at a time, of what values<D> should be.
template <class D>
std::vector<typename D::value_type> values(const D& d, const philox& g, std::int64_t n, std::uint64_t offset = 0) {
  std::vector<typename D::value_type> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(d(g, offset + std::uint64_t(i)));
  return v;
}

/// A fill at any alignment, from any value on, and one of two parts; nothing beside them is touched.
template <class where, class D>
void check_fill(const D& d) {
  using T = typename D::value_type;
  const typename where::policy policy{};
  const philox g(0x123456789abcdefu, 5);
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 5, 33, tile + 3, 40 * tile + 7}))
    for (const std::uint64_t offset : {0u, 3u, 4u})
      for (const std::int64_t lead : {0, 1}) {
        CAPTURE(n);
        CAPTURE(offset);
        CAPTURE(lead);
        auto wanted = values(d, g, n, offset);
        wanted.insert(wanted.begin(), std::size_t(lead), T(1));
        wanted.push_back(T(1));
        auto x = where::put(std::vector<T>(std::size_t(n + lead + 1), T(1)));
        CHECK(pmpp::fill_random(policy, x.begin() + lead, x.end() - 1, d, g, offset) == x.end() - 1);
        CHECK(bytes(where::get(x)) == bytes(wanted));
        const std::int64_t m = n / 3;
        auto y = where::put(std::vector<T>(std::size_t(n + lead + 1), T(1)));
        pmpp::fill_random(policy, y.begin() + lead, y.begin() + lead + m, d, g, offset);
        pmpp::fill_random(policy, y.begin() + lead + m, y.end() - 1, d, g, offset + std::uint64_t(m));
        CHECK(bytes(where::get(y)) == bytes(wanted));
      }
}

struct hits_circle {
  philox g;
  PMPP_HOST_DEVICE int operator()(std::int64_t i) const {
    const auto at = std::uint64_t(i);
    const float x = uniform<float>{}(g, 2 * at), y = uniform<float>{}(g, 2 * at + 1);
    return x * x + y * y < 1 ? 1 : 0;
  }
};

}  // namespace

TEST_CASE("philox: known answers of Random123, std and curand") {
  const auto is = [](const philox::words& w, std::array<std::uint32_t, 4> wanted) {
    return std::equal(wanted.begin(), wanted.end(), w.item);
  };
  const std::uint64_t ones = ~std::uint64_t(0);
  CHECK(is(philox(0).block(0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  CHECK(is(philox(ones, ones).block(ones), {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  CHECK(is(philox(0x299f31d0a4093822, 0x0370734413198a2e).block(0x85a308d3243f6a88),
           {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  CHECK(philox(20111115)(9999) == 1955073260);  // as the standard says of a default std::philox4x32
  CHECK(philox(20111115)(0) == 3587538684);     // what curandGenerate begins with
  CHECK(philox(20111115)(3) == 2030706281);
  static_assert(philox(7).block(2).item[1] == philox(7)(9));
}

TEST_ALL_PLACES("fill_random: integers") {
  check_fill<where>(random_bits<std::uint32_t>{});
  check_fill<where>(uniform<std::int64_t>(-3, 1000000000000));
}
TEST_ALL_PLACES("fill_random: bytes") { check_fill<where>(uniform<unsigned char>(1, 6)); }
TEST_ALL_PLACES("fill_random: floating-point numbers") {
  check_fill<where>(uniform<float>{});
  check_fill<where>(normal<float>(2, 3));
  check_fill<where>(normal<double>{});
}

TEST_CASE("random_bits, uniform: by their formulas") {
  const philox g(99);
  CHECK(random_bits<std::uint64_t>{}(g, 1) == (std::uint64_t(g(3)) << 32 | g(2)));
  CHECK(random_bits<std::int16_t>{}(g, 6) == std::int16_t(std::uint16_t(g(6))));
  double least = 1, most = 0, sum = 0;
  for (unsigned i = 0; i < 100000; ++i) {
    const float x = uniform<float>{}(g, i);
    REQUIRE(x == float(g(i) >> 8) / 16777216);
    const double y = uniform<double>{}(g, i);
    REQUIRE(y == double((std::uint64_t(g(2 * i + 1)) << 32 | g(2 * i)) >> 11) / 9007199254740992);
    const double z = uniform<double>{-5, 3}(g, i);
    REQUIRE(z == std::fma(y, 8., -5.));
    least = std::min(least, y), most = std::max(most, y), sum += y;
    REQUIRE(uniform<float>{1, 1.0000001f}(g, i) == 1);  // never high, though most would round to it
  }
  CHECK(least < 1e-4);
  CHECK(most > 1 - 1e-4);
  CHECK(std::abs(sum / 100000 - 0.5) < 0.004);
  for (unsigned i = 0; i < 1000; ++i) {  // two bytes, as bfloat16
    REQUIRE(float(uniform<hostile::upper_half>{}(g, i)) == float(g(i) >> 24) / 256);
    REQUIRE(float(normal<hostile::upper_half>{}(g, i)) == float(hostile::upper_half(normal<float>{}(g, i))));
  }
  CHECK(uniform<int>{4, 4}(g, 0) == 4);
  CHECK(uniform<std::uint64_t>{}(g, 1) == random_bits<std::uint64_t>{}(g, 1));  // all integers: no word is refused
}

TEST_CASE("uniform: integers are even") {
  const philox g(3);
  std::vector<std::int64_t> die(6), third(3), wide_third(3);
  for (unsigned i = 0; i < 300000; ++i) {
    ++die[std::size_t(uniform{1, 6}(g, i) - 1)];
    // Of 3 * 2^30 values a product alone would give every third one twice as often.
    ++third[uniform<std::uint32_t>{0, 0xbfffffff}(g, i) % 3];
    ++wide_third[uniform<std::uint64_t>{0, 0xbfffffffffffffff}(g, i) % 3];
  }
  CHECK(std::abs(unevenness(die)) < 4);
  CHECK(std::abs(unevenness(third)) < 4);
  CHECK(std::abs(unevenness(wide_third)) < 4);
}

TEST_CASE("normal: the law, the formula and these bits") {
  const philox g(11);
  constexpr unsigned n = 100000;
  std::vector<float> x;
  double worst = 0, worst_double = 0, sum = 0, squares = 0;
  const long double circle = 6.283185307179586476925286766559L;
  for (unsigned i = 0; i < n; ++i) {
    const auto distance = [](long double u) { return std::sqrt(-2 * std::log(u)); };
    const auto of = [&](long double u, long double turn) {
      return distance(u) * (i % 2 == 0 ? std::sin(circle * turn) : std::cos(circle * turn));
    };
    const unsigned j = i & ~1u;
    x.push_back(normal<float>{}(g, i));
    const float near_u = float((double(float(g(j))) + 0.5) / 4294967296);  // rounded where float is
    const long double wanted = of(near_u, g(j + 1) / 4294967296.0L);
    worst = std::max(worst, double(std::abs(x.back() - wanted)));
    const double y = normal<double>{}(g, i);
    const auto word = [&](unsigned k) { return (long double)(random_bits<std::uint64_t>{}(g, k)); };
    const long double u = (long double)double((word(j) + 0.5L) / 18446744073709551616.0L);
    worst_double = std::max(worst_double, double(std::abs(y - of(u, word(j + 1) / 18446744073709551616.0L))));
    sum += y, squares += y * y;
  }
  CHECK(worst < 1.5e-6);
  CHECK(worst_double < 3e-15);
  CHECK(std::abs(sum / n) < 0.013);
  CHECK(std::abs(squares / n - 1) < 0.018);
  std::sort(x.begin(), x.end());  // Kolmogorov and Smirnov
  double apart = 0;
  for (unsigned i = 0; i < n; ++i)
    apart = std::max(apart, std::abs(0.5 * std::erfc(-x[i] / std::sqrt(2.)) - (i + 0.5) / n));
  CHECK(apart * std::sqrt(double(n)) < 1.95);
}

TEST_ALL_PLACES("the same bits on every machine") {
  const typename where::policy policy{};
  // Found once on a CPU: a GPU has to find them too.
  constexpr std::int64_t n = 100003;
  auto hash = [](const auto& v) {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const unsigned char b : bytes(v)) h = (h ^ b) * 0x100000001b3;
    return h;
  };
  auto f = where::put(std::vector<float>(n));
  auto d = where::put(std::vector<double>(n));
  pmpp::fill_random(policy, f, normal<float>{-1, 7}, 2024);
  CHECK(hash(where::get(f)) == 17095044901639736301u);
  pmpp::fill_random(policy, d, normal<double>{}, 2024);
  CHECK(hash(where::get(d)) == 17162040012342645779u);
  pmpp::fill_random(policy, f, uniform{-0.3f, 0.7f}, 2024);
  CHECK(hash(where::get(f)) == 16327932105045035635u);
}

TEST_ALL_PLACES("random numbers in a functor, and as an input") {
  const typename where::policy policy{};
  const std::int64_t n = 200000;
  const pmpp::counting_iterator<std::int64_t> i(0);
  const int hits = pmpp::transform_reduce(policy, i, i + n, 0, pmpp::plus{}, hits_circle{philox(1)});
  CHECK(std::abs(4.0 * hits / double(n) - 3.14159) < 0.02);
  const pmpp::random_iterator dice(uniform{1, 6}, philox(8), 5);
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < n; ++k) sum += dice[k];
  CHECK(pmpp::reduce(policy, dice, dice + n, std::int64_t(0)) == sum);
}

TEST_CASE("random_permutation: a bijection, even for all orders of up to 6") {
  for (const std::int64_t n : {1, 2, 3, 10, 1000, 65536, 100003}) {
    const pmpp::random_permutation order(n, 7);
    std::vector<std::int64_t> seen(std::size_t(n), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t j = order(i);
      REQUIRE((j >= 0 && j < n));
      ++seen[std::size_t(j)];
    }
    CHECK(std::count(seen.begin(), seen.end(), 1) == n);
  }
  for (const int n : {2, 3, 4, 5, 6}) {
    std::vector<std::int64_t> orders(std::size_t(std::tgamma(n + 1) + 0.5));
    for (std::uint64_t seed = 0; seed < (test::only_small() ? 20000 : 120000); ++seed) {
      const pmpp::random_permutation order(n, seed);
      std::int64_t code = 0;
      for (int i = 0; i < n; ++i) {
        int less = 0;
        for (int j = i + 1; j < n; ++j) less += order(j) < order(i);
        code = code * (n - i) + less;
      }
      ++orders[std::size_t(code)];
    }
    CAPTURE(n);
    CHECK(unevenness(orders) < 4);
  }
  // Past 2^32: places stay inside, and come back different.
  const std::int64_t many = (std::int64_t(1) << 40) + 12345;
  const pmpp::random_permutation order(many, 1);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 20000; ++i) places.push_back(order(i * 54321987));
  CHECK(*std::max_element(places.begin(), places.end()) < many);
  std::sort(places.begin(), places.end());
  CHECK(std::adjacent_find(places.begin(), places.end()) == places.end());
}

TEST_ALL_PLACES("shuffle and sample") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 2, 33, tile, 5 * tile + 3})) {
    std::vector<int> v(std::size_t(n), 0), wanted;
    std::iota(v.begin(), v.end(), 100);
    const pmpp::random_permutation order(n, {4, 1});
    for (std::int64_t i = 0; i < n; ++i) wanted.push_back(v[std::size_t(order(i))]);
    const auto x = where::input(v);
    auto in_place = where::put(v), copy = where::put(std::vector<int>(v.size(), -1));
    pmpp::shuffle(policy, in_place, {4, 1});
    CHECK(where::get(in_place) == wanted);
    CHECK(pmpp::shuffle_copy(policy, x, copy, {4, 1}) == copy.end());
    CHECK(where::get(copy) == wanted);
    const std::int64_t k = n / 3;
    auto few = where::put(std::vector<int>(std::size_t(k) + 1, -1));
    CHECK(pmpp::sample(policy, x, few.begin(), k, {4, 1}) == few.end() - 1);
    wanted.resize(std::size_t(k));
    wanted.push_back(-1);
    CHECK(where::get(few) == wanted);
  }
}

TEST_CASE("random: lengths on the device, a captured graph") {
  pmpp::device_buffer<int> n(std::vector<int>{5}), x(std::vector<int>(8, -1));
  pmpp::fill_random(device, x.begin(), pmpp::device_count{n.data(), 8}, uniform{1, 6}, 9);
  auto wanted = values(uniform{1, 6}, 9, 5);
  wanted.resize(8, -1);
  CHECK(pmpp::to_host(x) == wanted);
#if PMPP_CUDA
  pmpp::stream stream;
  pmpp::device_buffer<int> y(1000), z(1000);
  pmpp::workspace memory(8000);
  const test::captured_graph graph(stream, [&] {
    pmpp::fill_random(device.on(stream), y, random_bits<int>{}, 9);
    pmpp::shuffle_copy(device.on(stream), y, z, 9);
    pmpp::shuffle(device.on(stream).with(memory), y, 9);
  });
  graph.replay();
  stream.synchronize();
  CHECK(pmpp::to_host(y) == pmpp::to_host(z));
#endif
}

TEST_ALL_PLACES("random: bad input throws and touches nothing") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{1, 2, 3}), two = where::put(std::vector<int>{5, 5});
  auto f = where::put(std::vector<float>{1, 2, 3});
  CHECK_THROWS_WITH_AS(pmpp::fill_random(policy, x, uniform{6, 1}, 1),
                       doctest::Contains("fill_random: uniform: from 6 to 1 is no range"), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::fill_random(policy, f, uniform{0.f, NAN}, 1), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::fill_random(policy, f, normal{0.f, -1.f}, 1),
                       doctest::Contains("normal: the deviation is -1.0"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::shuffle_copy(policy, x, two, 1), doctest::Contains("has room for 2 elements, needs 3"),
                       std::length_error);
  CHECK_THROWS_AS(pmpp::shuffle_copy(policy, x, x, 1), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::sample(policy, two, x, 3, 1), doctest::Contains("sample: 3 different ones of 2 elements"),
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::sample(policy, two, x, -1, 1), std::invalid_argument);
  pmpp::synchronize(policy);
  CHECK(where::get(x) == std::vector<int>{1, 2, 3});
  CHECK(where::get(two) == std::vector<int>{5, 5});
  CHECK(where::get(f) == std::vector<float>{1, 2, 3});
}
