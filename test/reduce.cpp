// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of reduce.hpp, on every policy: sums are exact for integers of every width and within the error
// bound for floating point; any associative operator works in order and sees adjacent ranges only (interval, brackets,
// affine); init joins once, on the left; no surprising accumulator; computed and misaligned inputs; lengths that only
// the device knows; extremal elements are the first of equals; the same bits on every run; bad input throws and touches
// nothing. On a GPU also: graphs, streams, sizes past 2^31.
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "support/data.hpp"
#include "support/monoids.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

// A tile of the default kernel: 256 threads, 8 rows of 4 ints.
constexpr std::int64_t tile = 256 * 8 * 4;
// Small enough that many blocks take part at a few thousand elements.
constexpr pmpp::reduce_tuning tiny{.threads = 64, .rows_in_flight = 2, .blocks_per_processor = 4};

struct square {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T x) const {
    return x * x;
  }
};

// A user's own sum: not known to be commutative, so it takes the ordered path.
struct own_plus {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

struct times {
  PMPP_HOST_DEVICE std::uint64_t operator()(std::uint32_t x, std::uint32_t y) const { return std::uint64_t(x) * y; }
};
struct times_small {
  PMPP_HOST_DEVICE std::uint64_t operator()(double x, std::uint8_t y) const {
    return std::uint64_t(static_cast<std::uint32_t>(x) % 1024) * y;
  }
};
struct make_affine {
  PMPP_HOST_DEVICE test::affine operator()(std::uint32_t x, std::uint32_t y) const { return {x | 1, y, 1}; }
};

template <class T>
std::int64_t exact_sum(const std::vector<T>& v) {
  std::int64_t s = 0;
  for (T x : v) s += static_cast<std::int64_t>(x);
  return s;
}

}  // namespace

TEST_ALL_PLACES("sum of integers of every width, every size") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(tile)) {
    CAPTURE(n);
    CAPTURE(test::seed());
    const auto i32 = test::random_values<std::int32_t>(n);
    CHECK(pmpp::reduce(policy, where::input(i32)) == exact_sum(i32));
    CHECK(pmpp::reduce(policy, where::input(i32), 5L, own_plus{}) == exact_sum(i32) + 5);
    const auto i8 = test::random_values<std::int8_t>(n);
    CHECK(pmpp::reduce(policy, where::input(i8)) == exact_sum(i8));
    const auto u16 = test::random_values<std::uint16_t>(n);
    CHECK(static_cast<std::int64_t>(pmpp::reduce(policy, where::input(u16))) == exact_sum(u16));
    const auto i64 = test::random_values<std::int64_t>(n);
    CHECK(pmpp::reduce(policy, where::input(i64)) == exact_sum(i64));
  }
}

TEST_ALL_PLACES("every size up to a few tiny tiles, both paths") {
  const typename where::policy policy{};
  const auto data = test::random_values<int>(2200);
  const auto all = where::put(data);
  std::int64_t sum = 0;
  for (const std::int64_t n : test::every_size(300, 2200, 37)) {
    sum = std::accumulate(data.begin(), data.begin() + n, std::int64_t(0));
    CAPTURE(n);
    CHECK(pmpp::reduce<tiny>(policy, all.begin(), all.begin() + n) == sum);
    CHECK(pmpp::reduce<tiny>(policy, all.begin(), all.begin() + n, 0, own_plus{}) == sum);
  }
}

TEST_ALL_PLACES("operators see adjacent ranges only, in order, init on the left") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of({1, 2, 5, 31, 32, 33, 64, 100, 511, 512, 513, 1000, 4097, 30011})) {
    std::vector<test::interval> v(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = {i, i + 1};
    const auto data = where::put(v);
    CAPTURE(n);
    CHECK(pmpp::reduce<tiny>(policy, data, test::interval{-7, 0}, test::join{}) == test::interval{-7, n});
    CHECK(pmpp::reduce(policy, data, test::interval{-7, 0}, test::join{}) == test::interval{-7, n});
  }
}

TEST_ALL_PLACES("operators that do not commute: brackets, affine maps") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of({0, 1, 33, 1000, 5000, 100003})) {
    CAPTURE(n);
    std::vector<test::brackets> b(static_cast<std::size_t>(n));
    std::vector<test::affine> a(static_cast<std::size_t>(n));
    for (auto& x : b) (test::generator()() % 2 != 0 ? x.opening : x.closing) = 1;
    for (auto& x : a)
      x = {static_cast<std::uint32_t>(test::generator()() | 1), static_cast<std::uint32_t>(test::generator()()), 1};
    test::brackets whole_b{};
    test::affine whole_a{1, 0, 0};
    for (const auto& x : b) whole_b = test::concatenate{}(whole_b, x);
    for (const auto& x : a) whole_a = test::compose{}(whole_a, x);
    CHECK(pmpp::reduce<tiny>(policy, where::input(b), test::brackets{}, test::concatenate{}) == whole_b);
    CHECK(pmpp::reduce<tiny>(policy, where::input(a), test::affine{1, 0, 0}, test::compose{}) == whole_a);
    CHECK(pmpp::reduce(policy, where::input(a), test::affine{1, 0, 0}, test::compose{}) == whole_a);
  }
}

TEST_ALL_PLACES("accumulators larger than a message word") {
  const typename where::policy policy{};
  std::vector<test::wide> v(5003);
  test::wide sum;
  for (std::size_t i = 0; i < v.size(); ++i)
    for (std::size_t k = 0; k < 5; ++k) sum.part[k] += v[i].part[k] = static_cast<std::int64_t>(i * (k + 1));
  CHECK(pmpp::reduce<tiny>(policy, where::input(v), test::wide{}, test::add_wide{}) == sum);
}

TEST_ALL_PLACES("floating point stays within the error bound") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of({1, 1000, 100003, (1 << 20) + 3})) {
    const auto v = test::random_values<float>(n);
    double exact = 0, magnitude = 0;
    for (float x : v) exact += x, magnitude += std::fabs(x);
    const double bound = static_cast<double>(n) * 0x1p-24 * magnitude;
    CAPTURE(n);
    CHECK(std::fabs(pmpp::reduce(policy, where::input(v)) - exact) <= bound);
    // With a double init the accumulator is double, and the error that of doubles.
    CHECK(std::fabs(pmpp::reduce(policy, where::input(v), 0.0) - exact) <=
          static_cast<double>(n) * 0x1p-52 * magnitude);
  }
}

TEST_ALL_PLACES("no surprising accumulator") {
  const typename where::policy policy{};
  const std::vector<std::int8_t> ones(1 << 18, 1);
  CHECK(pmpp::reduce(policy, where::input(ones)) == 1 << 18);
  const std::vector<std::uint8_t> full(1 << 18, 255);
  CHECK(pmpp::reduce(policy, where::input(full)) == 255ull << 18);
  const std::vector<std::int16_t> low(70000, -32768);
  CHECK(pmpp::reduce(policy, where::input(low)) == -32768LL * 70000);
  CHECK(pmpp::reduce(policy, where::input(full), std::uint8_t(0)) == std::uint8_t(255u << 18));  // init names the type
  const std::vector<float> huge(100, 1e38f);
  CHECK(pmpp::reduce(policy, where::input(huge), 0.0) == doctest::Approx(1e40));
}

TEST_ALL_PLACES("minimum and maximum, also of nothing but infinities and of NaN") {
  const typename where::policy policy{};
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  auto v = test::random_values<float>(50001);
  CHECK(pmpp::reduce<tiny>(policy, where::input(v), inf, pmpp::minimum{}) == *std::min_element(v.begin(), v.end()));
  CHECK(pmpp::reduce<tiny>(policy, where::input(v), -inf, pmpp::maximum{}) == *std::max_element(v.begin(), v.end()));
  const std::vector<float> infinite(3000, inf);
  CHECK(pmpp::reduce<tiny>(policy, where::input(infinite), inf, pmpp::minimum{}) == inf);
  const float least = *std::min_element(v.begin(), v.end());
  for (const std::size_t at : {std::size_t(0), std::size_t(777), v.size() - 1}) {
    auto w = v;
    w[at] = nan;
    CHECK(pmpp::reduce<tiny>(policy, where::input(w), inf, pmpp::minimum{}) <= std::max(least, w[at == 0 ? 1 : 0]));
  }
  const std::vector<float> nothing(300, nan);
  CHECK(std::isnan(pmpp::reduce<tiny>(policy, where::input(nothing), nan, pmpp::maximum{})));
  const std::vector<unsigned> u = {7, 3, 9};
  CHECK(pmpp::reduce(policy, where::input(u), 100u, pmpp::minimum{}) == 3);
  CHECK(pmpp::reduce(policy, where::input(u), 0u, pmpp::bit_xor{}) == (7 ^ 3 ^ 9));
  CHECK(pmpp::reduce(policy, where::input(std::vector<int>{1, 1, 0}), true, pmpp::logical_and{}) == false);
}

TEST_ALL_PLACES("misaligned starts and ends") {
  const typename where::policy policy{};
  const auto bytes = test::random_values<std::uint8_t>(40000);
  const auto data = where::put(bytes);
  for (const int from : test::some_of({0, 1, 2, 3, 7, 8, 15, 16, 17}))
    for (const int length : test::some_of({0, 1, 5, 15, 16, 17, 500, 600, 39000})) {
      std::int64_t sum = 0;
      for (int i = from; i < from + length; ++i) sum += bytes[static_cast<std::size_t>(i)];
      CAPTURE(from);
      CAPTURE(length);
      const auto first = data.begin() + from;
      CHECK(static_cast<std::int64_t>(pmpp::reduce<tiny>(policy, first, first + length)) == sum);
      CHECK(pmpp::reduce<tiny>(policy, first, first + length, 0L, own_plus{}) == sum);
    }
}

TEST_ALL_PLACES("two arrays that lie differently in their words, in order too, up to their very ends") {
  const typename where::policy policy{};
  const auto bytes = test::random_values<std::uint8_t>(20100);
  const auto words = test::random_values<std::uint32_t>(20100);
  const std::vector<double> doubles(words.begin(), words.end());
  for (const int length : test::some_of({1, 15, 31, 32, 33, 64, 65, 257, 300, 5000, 20011}))
    for (const int left : test::some_of({0, 1, 3, 13}))
      for (const int right : test::some_of({0, 2, 5, 16})) {
        CAPTURE(length);
        CAPTURE(left);
        CAPTURE(right);
        // Arrays that end where the ranges end: a sanitizer sees what is read past them.
        const auto part = [&](const auto& all, int from) {
          return std::vector(all.begin(), all.begin() + from + length);
        };
        const auto x = where::put(part(words, left)), y = where::put(part(words, right));
        const auto b = where::put(part(bytes, right));
        const auto d = where::put(part(doubles, left));
        std::uint64_t dot = 0, mixed = 0;
        test::affine whole{1, 0, 0};
        for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
          const std::uint32_t xi = words[i + static_cast<std::size_t>(left)],
                              yi = words[i + static_cast<std::size_t>(right)];
          dot += std::uint64_t(xi) * yi;
          mixed += std::uint64_t(bytes[i + static_cast<std::size_t>(right)]) * (xi % 1024);
          whole = test::compose{}(whole, {xi | 1, yi, 1});
        }
        const auto from_x = x.begin() + left, end_x = x.end();
        const auto from_y = y.begin() + right;
        CHECK(pmpp::transform_reduce<tiny>(policy, from_x, end_x, from_y, std::uint64_t(0), pmpp::plus{}, times{}) ==
              dot);
        CHECK(pmpp::transform_reduce(policy, d.begin() + left, d.end(), b.begin() + right, std::uint64_t(0),
                                     pmpp::plus{}, times_small{}) == mixed);
        CHECK(pmpp::transform_reduce<tiny>(policy, from_x, end_x, from_y, test::affine{1, 0, 0}, test::compose{},
                                           make_affine{}) == whole);
      }
}

TEST_ALL_PLACES("dot product and other computed inputs") {
  const typename where::policy policy{};
  const auto x = test::random_values<int>(30011), y = test::random_values<int>(30011);
  const auto dx = where::put(x), dy = where::put(y);
  const std::int64_t dot = std::inner_product(x.begin(), x.end(), y.begin(), std::int64_t(0));
  CHECK(pmpp::transform_reduce(policy, dx, dy, std::int64_t(0), pmpp::plus{}, pmpp::multiplies{}) == dot);
  CHECK(pmpp::transform_reduce(policy, dx.begin(), dx.end(), dy.begin(), std::int64_t(0), pmpp::plus{},
                               pmpp::multiplies{}) == dot);
  CHECK(pmpp::transform_reduce(policy, dx, dy.begin(), std::int64_t(0), pmpp::plus{}, pmpp::multiplies{}) == dot);
  // The two inputs lie differently in their 16-byte words.
  const std::int64_t shifted = std::inner_product(x.begin() + 1, x.end(), y.begin(), std::int64_t(0));
  CHECK(pmpp::transform_reduce(policy, dx.begin() + 1, dx.end(), dy.begin(), std::int64_t(0), pmpp::plus{},
                               pmpp::multiplies{}) == shifted);
  std::int64_t squares = 0;
  for (int v : x) squares += v * v;
  CHECK(pmpp::transform_reduce(policy, dx, std::int64_t(1), pmpp::plus{}, square{}) == squares + 1);
  const pmpp::counting_iterator<std::int64_t> zero(0);
  CHECK(pmpp::reduce(policy, zero, zero + 100001) == 100001LL * 100000 / 2);
  const pmpp::constant_iterator<int> three(3);
  CHECK(pmpp::reduce<tiny>(policy, three, three + 12345) == 3 * 12345);
  // float beside double: vectors of different width
  const std::vector<float> f(2000, 0.5f);
  const std::vector<double> d(2000, 4);
  CHECK(pmpp::transform_reduce<tiny>(policy, where::put(f), where::put(d), 0.0, pmpp::plus{}, pmpp::multiplies{}) ==
        4000);
}

TEST_ALL_PLACES("lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto data = test::random_values<int>(20000);
  const auto in = where::put(data);
  for (const std::int64_t n : test::some_of({0, 1, 300, 4096, 19999, 20000, 30000})) {
    const std::int64_t used = std::min<std::int64_t>(n, 20000);
    const std::int64_t sum = std::accumulate(data.begin(), data.begin() + used, std::int64_t(0));
    const auto count64 = where::put(std::vector<std::int64_t>{n});
    const auto count32 = where::put(std::vector<unsigned>{static_cast<unsigned>(n)});
    CAPTURE(n);
    CHECK(pmpp::reduce<tiny>(policy, in.begin(), pmpp::device_count{count64.data(), 20000}, 0L) == sum);
    CHECK(pmpp::reduce<tiny>(policy, in.begin(), pmpp::device_count{count32.data(), 20000}, 0L, own_plus{}) == sum);
    const auto best = pmpp::min_element<tiny>(policy, in.begin(), pmpp::device_count{count64.data(), 20000});
    CHECK(best - in.begin() == std::min_element(data.begin(), data.begin() + used) - data.begin());
  }
}

TEST_ALL_PLACES("reduce_into and its kin leave results where they are told") {
  const typename where::policy policy{};
  const auto data = test::random_values<int>(10007);
  const auto in = where::put(data);
  const std::int64_t sum = std::accumulate(data.begin(), data.end(), std::int64_t(0));
  auto out = where::put(std::vector<std::int64_t>(4, -1));
  pmpp::reduce_into(policy, in, out, std::int64_t(0));
  pmpp::transform_reduce_into(policy, in, out.begin() + 1, std::int64_t(0), pmpp::plus{}, square{});
  pmpp::min_element_into(policy, in, out.begin() + 2);
  pmpp::max_element_into(policy, in.begin(), in.end(), out.begin() + 3);
  pmpp::synchronize(policy);
  const auto got = where::get(out);
  CHECK(got[0] == sum);
  CHECK(got[1] == std::inner_product(data.begin(), data.end(), data.begin(), std::int64_t(0)));
  CHECK(got[2] == std::min_element(data.begin(), data.end()) - data.begin());
  CHECK(got[3] == std::max_element(data.begin(), data.end()) - data.begin());
}

TEST_ALL_PLACES("extremal elements are the first of equals") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of({0, 1, 2, 33, 1000, 9001})) {
    std::vector<int> v(static_cast<std::size_t>(n));
    for (auto& x : v) x = static_cast<int>(test::generator()() % 10);  // many equals
    const auto in = where::put(v);
    const auto first = std::min_element(v.begin(), v.end()) - v.begin();
    const auto greatest = std::max_element(v.begin(), v.end()) - v.begin();
    CAPTURE(n);
    CHECK(pmpp::min_element<tiny>(policy, in) - in.begin() == first);
    CHECK(pmpp::max_element<tiny>(policy, in) - in.begin() == greatest);
    CHECK(pmpp::min_element<tiny>(policy, in, pmpp::greater{}) - in.begin() == greatest);
    const auto both = pmpp::minmax_element<tiny>(policy, in.begin(), in.end());
    CHECK(both.first - in.begin() == first);
    CHECK(both.second - in.begin() == greatest);
  }
  const std::vector<float> same(3000, std::numeric_limits<float>::infinity());
  const auto in = where::put(same);
  CHECK(pmpp::min_element<tiny>(policy, in) == in.begin());
}

TEST_CASE("a comparator that is no order gives any element, and reads no others") {
  for (const int n : test::some_of({1, 255, 256, 1000, 40000})) {
    const std::vector<int> same(static_cast<std::size_t>(n), 7);
    const auto less_or_equal = [] PMPP_HOST_DEVICE(int a, int b) { return a <= b; };
    const auto always = [] PMPP_HOST_DEVICE(int, int) { return true; };
    const auto check = [&](auto found) {
      CHECK(found >= same.begin());
      CHECK(found < same.end());
    };
    check(pmpp::min_element(pmpp::host, same, less_or_equal));
    check(pmpp::max_element(pmpp::host, same, less_or_equal));
    check(pmpp::min_element(pmpp::host, same, always));
    check(pmpp::minmax_element(pmpp::host, same, less_or_equal).second);
    check(pmpp::min_element(pmpp::seq, same, less_or_equal));
  }
}

TEST_ALL_PLACES("the same bits on every run and for any number of threads") {
  const typename where::policy policy{};
  const auto v = test::random_values<float>(300007);
  const auto in = where::put(v);
  const float once = pmpp::reduce<tiny>(policy, in);
  for (int i = 0; i < test::turns(where::on_device ? 10 : 3); ++i) {
    const float again = pmpp::reduce<tiny>(policy, in);
    CHECK(std::memcmp(&once, &again, sizeof once) == 0);
  }
  if constexpr (std::is_same_v<typename where::policy, pmpp::host_policy>)
    for (const int threads : {1, 2, 3, 7}) CHECK(pmpp::reduce(pmpp::host.threads(threads), in) == once);
}

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const int* null = nullptr;
  const auto data = where::input(std::vector<int>(10, 1));
  auto out = where::put(std::vector<int>(1, 77));
  CHECK_THROWS_AS(pmpp::reduce_into(policy, null, null + 5, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::reduce_into(policy, data.end(), data.begin(), out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::reduce_into(policy, data, static_cast<int*>(nullptr)), std::invalid_argument);
  auto nothing = where::put(std::vector<int>{});
  CHECK_THROWS_AS(pmpp::reduce_into(policy, data, nothing), std::length_error);
  CHECK_THROWS_AS((void)pmpp::transform_reduce(policy, data, out, 0, pmpp::plus{}, pmpp::multiplies{}),
                  std::length_error);
  CHECK_THROWS_AS((void)pmpp::reduce(policy, data.begin(), pmpp::device_count{static_cast<int*>(nullptr), 5}),
                  std::invalid_argument);
  CHECK_THROWS_AS((void)pmpp::reduce(policy, data.begin(), pmpp::device_count{data.data(), -5}), std::invalid_argument);
  CHECK(where::get(out)[0] == 77);
  CHECK(pmpp::reduce(policy, data) == 10);          // the next call works
  CHECK(pmpp::reduce(policy, null, null, 4) == 4);  // nothing may be null
}

TEST_CASE("a workspace serves any number of calls, whatever their sizes") {
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  const auto v = test::random_values<int>(50000);
  const pmpp::device_buffer<int> in(v);
  for (int i = 0; i < test::turns(100); ++i) {
    const auto n = static_cast<std::int64_t>(test::generator()() % 50001);
    CHECK(pmpp::reduce<tiny>(policy, in.begin(), in.begin() + n) == std::accumulate(v.begin(), v.begin() + n, 0));
  }
}

namespace {
struct half {  // stands for __half: two bytes that convert to float
  std::uint16_t bits;
  PMPP_HOST_DEVICE operator float() const { return static_cast<float>(bits) * 0.5f; }
};
}  // namespace

TEST_CASE("storage of two bytes adds up in float") {
  std::vector<half> v(100000, half{3});
  static_assert(std::is_same_v<pmpp::accumulator_of<half>, float>);
  CHECK(pmpp::reduce(device, pmpp::device_buffer<half>(v)) == 150000.0f);
  CHECK(pmpp::reduce(pmpp::host, v) == 150000.0f);
}
