// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of scan.hpp, on every policy: sums are exact for integers of every width, every size and either
// kind; operators see adjacent ranges only, in order (interval, brackets, affine), init once and on the left; in place,
// misaligned and computed inputs; lengths that only the device knows; the same bits on every run; bad input throws and
// touches nothing. In the emulator also: any order of blocks, any seed, hundreds of tiles that look back.
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/transform.hpp>

#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "support/data.hpp"
#include "support/monoids.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

// A tile of the default kernel: 256 threads, 8 rows of 4 ints.
constexpr std::int64_t tile = 256 * 8 * 4;
// Small enough that hundreds of tiles look back at a few thousand elements.
constexpr pmpp::scan_tuning tiny{.threads = 32, .vectors = 1, .blocks = 4};
constexpr pmpp::scan_tuning small{.threads = 64, .vectors = 2, .blocks = 2};

/// The specification: a plain loop, apart from the library's.
template <class Out, class A, class T, class Op>
std::vector<Out> expected(const std::vector<T>& v, bool inclusive, bool has_init, A running, Op op) {
  std::vector<Out> out;
  for (const T& x : v) {
    if (!inclusive) out.push_back(static_cast<Out>(running));
    running = has_init ? static_cast<A>(op(running, static_cast<A>(x))) : static_cast<A>(x);
    has_init = true;
    if (inclusive) out.push_back(static_cast<Out>(running));
  }
  return out;
}

struct doubled {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(2 * x);
  }
};

std::vector<test::interval> intervals(std::int64_t n) {
  std::vector<test::interval> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = {i, i + 1};
  return v;
}

enum class kinds { both, inclusive, exclusive };

/// Both kinds or one, with and without init, into separate memory and in place.
template <class where, pmpp::scan_tuning Tuning, kinds Which = kinds::both, class T, class A, class Op>
void check_all(const std::vector<T>& v, A init, Op op) {
  const typename where::policy policy{};
  const auto in = where::put(v);
  auto out = where::put(std::vector<T>(v.size())), same = where::put(v);
  if constexpr (Which != kinds::exclusive) {
    const auto end = pmpp::inclusive_scan<test::tuned<where>(Tuning)>(policy, in, out, op, init);
    pmpp::synchronize(policy);
    CHECK(end == out.end());
    CHECK(where::get(out) == expected<T>(v, true, true, init, op));
    pmpp::inclusive_scan<test::tuned<where>(Tuning)>(policy, in.begin(), in.end(), out.begin(), op);
    pmpp::synchronize(policy);
    CHECK(where::get(out) == expected<T>(v, true, false, pmpp::accumulator_of<T>{}, op));
    pmpp::inclusive_scan<test::tuned<where>(Tuning)>(policy, std::as_const(same), same, op, init);
    pmpp::synchronize(policy);
    CHECK(where::get(same) == expected<T>(v, true, true, init, op));
    same = where::put(v);
  }
  if constexpr (Which != kinds::inclusive) {
    pmpp::exclusive_scan<test::tuned<where>(Tuning)>(policy, in, out, init, op);
    pmpp::synchronize(policy);
    CHECK(where::get(out) == expected<T>(v, false, true, init, op));
    pmpp::exclusive_scan<test::tuned<where>(Tuning)>(policy, std::as_const(same), same, init, op);
    pmpp::synchronize(policy);
    CHECK(where::get(same) == expected<T>(v, false, true, init, op));
  }
}

}  // namespace

TEST_ALL_PLACES("sums of integers of every width, every size") {
  for (const std::int64_t n : test::sizes(tile)) {
    CAPTURE(n);
    CAPTURE(test::seed());
    check_all<where, pmpp::scan_tuning{}>(test::random_values<std::int32_t>(n), 7, pmpp::plus{});
    check_all<where, pmpp::scan_tuning{}, kinds::inclusive>(test::random_values<std::uint8_t>(n), 3u, pmpp::plus{});
    check_all<where, pmpp::scan_tuning{}, kinds::exclusive>(test::random_values<std::int16_t>(n), std::int64_t(1),
                                                            pmpp::plus{});
    check_all<where, pmpp::scan_tuning{}, kinds::inclusive>(test::random_values<std::int64_t>(n), std::int64_t(9),
                                                            pmpp::plus{});
  }
}

TEST_ALL_PLACES("every size up to a few tiny tiles") {
  const auto all = test::random_values<int>(2200);
  for (const std::int64_t n : test::every_size(300, 2200, 61)) {
    CAPTURE(n);
    check_all<where, tiny>(std::vector<int>(all.begin(), all.begin() + n), 5, pmpp::plus{});
  }
}

TEST_ALL_PLACES("operators see adjacent ranges only, in order, init on the left") {
  for (const std::int64_t n : test::some_of({1, 2, 5, 31, 32, 33, 64, 100, 511, 512, 513, 1000, 4097, 30011})) {
    CAPTURE(n);
    check_all<where, tiny, kinds::inclusive>(intervals(n), test::interval{-7, 0}, test::join{});
    check_all<where, pmpp::scan_tuning{}, kinds::exclusive>(intervals(n), test::interval{-7, 0}, test::join{});
  }
}

TEST_ALL_PLACES("operators that do not commute; accumulators of 8, 12 and 40 bytes") {
  for (const std::int64_t n : test::some_of({0, 1, 33, 1000, 5000, 100003})) {
    CAPTURE(n);
    std::vector<test::brackets> b(static_cast<std::size_t>(n));
    std::vector<test::affine> a(static_cast<std::size_t>(n));
    for (auto& x : b) (test::generator()() % 2 != 0 ? x.opening : x.closing) = 1;
    for (auto& x : a)
      x = {static_cast<std::uint32_t>(test::generator()() | 1), static_cast<std::uint32_t>(test::generator()()), 1};
    check_all<where, small, kinds::inclusive>(b, test::brackets{}, test::concatenate{});
    check_all<where, small, kinds::exclusive>(a, test::affine{3, 1, 0}, test::compose{});
  }
  std::vector<test::wide> w(3001);
  for (std::size_t i = 0; i < w.size(); ++i)
    for (std::size_t k = 0; k < 5; ++k) w[i].part[k] = static_cast<std::int64_t>(i * (k + 1));
  check_all<where, small, kinds::inclusive>(w, test::wide{}, test::add_wide{});
}

TEST_ALL_PLACES("other operators and types: bool, minimum, bits") {
  std::vector<std::uint8_t> flags(5000);
  for (auto& f : flags) f = test::generator()() % 97 == 0;
  check_all<where, small, kinds::exclusive>(flags, false, pmpp::logical_or{});
  check_all<where, small, kinds::inclusive>(test::random_values<int>(5000), 1000, pmpp::minimum{});
  check_all<where, small, kinds::exclusive>(test::random_values<float>(5000), -5.0f, pmpp::maximum{});
  check_all<where, small, kinds::inclusive>(test::random_values<unsigned>(5000), 0u, pmpp::bit_xor{});
}

TEST_ALL_PLACES("no surprising accumulator") {
  const typename where::policy policy{};
  const std::vector<std::uint8_t> full(300000, 255);
  auto out = where::put(std::vector<std::uint64_t>(full.size()));
  pmpp::inclusive_scan(policy, where::input(full), out);
  pmpp::synchronize(policy);
  CHECK(where::get(out).back() == 255ull * 300000);
  auto sums = where::put(std::vector<std::uint64_t>(full.size()));
  pmpp::exclusive_scan(policy, where::input(full), sums);
  pmpp::synchronize(policy);
  CHECK(where::get(sums).back() == 255ull * 299999);
  const std::vector<int> big(10, 2000000000);
  auto wide = where::put(std::vector<std::int64_t>(10));
  pmpp::inclusive_scan<test::tuned<where>(tiny)>(policy, where::input(big), wide, pmpp::plus{}, std::int64_t(0));
  pmpp::synchronize(policy);
  CHECK(where::get(wide).back() == 20000000000);
}

TEST_ALL_PLACES("floating point stays within the error bound, the same bits on every run") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of({1, 1000, 100003, (1 << 20) + 3})) {
    const auto v = test::random_values<float>(n);
    const auto in = where::put(v);
    auto out = where::put(std::vector<float>(v.size()));
    pmpp::inclusive_scan(policy, in, out);
    pmpp::synchronize(policy);
    const auto once = where::get(out);
    double exact = 0, magnitude = 0, worst = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      exact += v[i];
      magnitude += std::fabs(v[i]);
      worst = std::max(worst, std::fabs(once[i] - exact) / (static_cast<double>(i + 1) * 0x1p-24 * magnitude));
    }
    CAPTURE(n);
    CHECK(worst <= 1);
    for (int k = 0; k < 3; ++k) {
      pmpp::inclusive_scan(policy, in, out);
      pmpp::synchronize(policy);
      CHECK(where::get(out) == once);
    }
    if constexpr (std::is_same_v<typename where::policy, pmpp::host_policy>)
      for (const int threads : {1, 2, 3, 7}) {
        pmpp::inclusive_scan(pmpp::host.threads(threads), in, out);
        CHECK(out == once);
      }
  }
}

TEST_ALL_PLACES("misaligned starts, alike and different; nothing outside is written") {
  const typename where::policy policy{};
  const auto bytes = test::random_values<std::uint8_t>(9000);
  const auto in = where::put(bytes);
  for (const int from : test::some_of({0, 1, 3, 15, 16, 17}))
    for (const int to : {0, 1, 15})
      for (const int length : test::some_of({0, 1, 5, 15, 16, 17, 500, 8900})) {
        CAPTURE(from);
        CAPTURE(to);
        CAPTURE(length);
        auto out = where::put(std::vector<std::uint8_t>(9000, 77));
        pmpp::exclusive_scan<small>(policy, in.begin() + from, in.begin() + from + length, out.begin() + to, 1);
        pmpp::synchronize(policy);
        std::vector<std::uint8_t> wanted(9000, 77);
        unsigned sum = 1;
        for (int i = 0; i < length; ++i) {
          wanted[static_cast<std::size_t>(to + i)] = static_cast<std::uint8_t>(sum);
          sum += bytes[static_cast<std::size_t>(from + i)];
        }
        CHECK(where::get(out) == wanted);
      }
}

TEST_ALL_PLACES("several tiles of each block, from anywhere in a line of memory") {
  const typename where::policy policy{};
  constexpr pmpp::scan_tuning lines{.threads = 32, .vectors = 9, .blocks = 1};  // two for each of 132 multiprocessors
  const std::int64_t n = test::up_to(320'000);
  const auto v = test::random_values<std::uint32_t>(n);
  const auto in = where::put(v);
  for (const int from : {0, 1, 28, 30, 31}) {
    CAPTURE(from);
    std::vector<std::uint32_t> wanted(v.size() + 1, 7);
    auto out = where::put(wanted);
    pmpp::inclusive_scan<lines>(policy, in.begin() + from, in.end(), out.begin() + 1);
    pmpp::synchronize(policy);
    std::inclusive_scan(v.begin() + from, v.end(), wanted.begin() + 1);
    CHECK(where::get(out) == wanted);
  }
  const auto pairs = intervals(n / 4);
  const auto from_pairs = where::put(pairs);
  for (const int from : {0, 1, 7}) {
    CAPTURE(from);
    auto out = where::put(pairs);
    const std::vector<test::interval> some(pairs.begin() + from, pairs.end());
    pmpp::inclusive_scan<lines>(policy, from_pairs.begin() + from, from_pairs.end(), out.begin(), test::join{});
    pmpp::synchronize(policy);
    std::vector<test::interval> wanted = pairs;
    std::inclusive_scan(some.begin(), some.end(), wanted.begin(), test::join{});
    CHECK(where::get(out) == wanted);
  }
}

TEST_ALL_PLACES("misaligned results of another size") {
  const typename where::policy policy{};
  const auto v = test::random_values<int>(9000);
  const auto in = where::put(v);
  for (const int from : {0, 1, 3})
    for (const int to : {0, 1}) {
      CAPTURE(from);
      CAPTURE(to);
      auto out = where::put(std::vector<double>(9000, 0.5));
      pmpp::inclusive_scan<small>(policy, in.begin() + from, in.begin() + from + 8900, out.begin() + to);
      pmpp::synchronize(policy);
      std::vector<double> wanted(9000, 0.5);
      int sum = 0;
      for (std::size_t i = 0; i < 8900; ++i) {
        sum += v[i + static_cast<std::size_t>(from)];
        wanted[i + static_cast<std::size_t>(to)] = sum;
      }
      CHECK(where::get(out) == wanted);
    }
}

TEST_ALL_PLACES("results wider than the elements, several vectors of a thread at a time, to any place") {
  const typename where::policy policy{};
  const auto check = [&]<class T, class Out>(T, Out) {
    const auto n = static_cast<std::size_t>(test::up_to(2 * 384 * 80 + 77));
    const auto v = test::random_values<T>(std::int64_t(n));
    const auto in = where::put(v);
    for (const int from : test::some_of({0, 1, 6, 15}))
      for (const int to : {0, 1, 3}) {
        CAPTURE(from);
        CAPTURE(to);
        auto out = where::put(std::vector<Out>(n + 3, Out(77)));
        pmpp::exclusive_scan(policy, in.begin() + from, in.end(), out.begin() + to, Out(5));
        pmpp::synchronize(policy);
        std::vector<Out> wanted(n + 3, Out(77));
        Out sum = 5;
        for (auto i = static_cast<std::size_t>(from); i < n; ++i) {
          wanted[i - static_cast<std::size_t>(from) + static_cast<std::size_t>(to)] = sum;
          sum = static_cast<Out>(sum + static_cast<Out>(v[i]));
        }
        CHECK(where::get(out) == wanted);
      }
  };
  check(std::uint8_t(), std::uint64_t());
  check(std::int16_t(), std::int32_t());
}

TEST_ALL_PLACES("computed inputs") {
  const typename where::policy policy{};
  auto out = where::put(std::vector<std::int64_t>(20011));
  const pmpp::counting_iterator<std::int64_t> zero(0);
  pmpp::inclusive_scan<small>(policy, zero, zero + 20011, out);
  pmpp::synchronize(policy);
  CHECK(where::get(out)[20010] == 20010LL * 20011 / 2);
  const auto v = test::random_values<int>(20011);
  const auto in = where::put(v);
  const pmpp::transform_iterator twice{in.begin(), doubled{}};
  pmpp::exclusive_scan<small>(policy, twice, twice + 20011, out, std::int64_t(0));
  pmpp::synchronize(policy);
  CHECK(where::get(out)[20010] == 2 * std::accumulate(v.begin(), v.end() - 1, std::int64_t(0)));
}

TEST_ALL_PLACES("lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto v = test::random_values<int>(20000);
  const auto in = where::put(v);
  for (const std::int64_t n : test::some_of({0, 1, 300, 4096, 19999, 20000, 30000})) {
    CAPTURE(n);
    const auto count = where::put(std::vector<std::int64_t>{n});
    auto out = where::put(std::vector<int>(20000, 77));
    pmpp::inclusive_scan<small>(policy, in.begin(), pmpp::device_count{count.data(), 20000}, out);
    pmpp::synchronize(policy);
    const std::int64_t used = std::min<std::int64_t>(n, 20000);
    auto wanted = expected<int>(std::vector<int>(v.begin(), v.begin() + used), true, false, 0, pmpp::plus{});
    wanted.resize(20000, 77);
    CHECK(where::get(out) == wanted);
  }
}

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const int* null = nullptr;
  const auto data = where::input(std::vector<int>(10, 1));
  auto out = where::put(std::vector<int>(9, 77));
  CHECK_THROWS_AS(pmpp::inclusive_scan(policy, null, null + 5, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::exclusive_scan(policy, data.end(), data.begin(), out, 7), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::inclusive_scan(policy, data, static_cast<int*>(nullptr)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::inclusive_scan(policy, data, out), std::length_error);
  CHECK_THROWS_AS(pmpp::exclusive_scan(policy, data.begin(), pmpp::device_count{static_cast<int*>(nullptr), 5}, out, 7),
                  std::invalid_argument);
  CHECK(where::get(out) == std::vector<int>(9, 77));
  CHECK(pmpp::inclusive_scan(policy, null, null, out) == out.begin());  // nothing may be null
}

namespace {
struct plus_or_throw {
  double limit;
  template <class T>
  PMPP_HOST_DEVICE T operator()(T a, T b) const {
#if !defined(__CUDA_ARCH__)
    if (static_cast<double>(b) == limit) throw std::domain_error("met the limit");
#endif
    return a + b;
  }
};
}  // namespace

TEST_CASE("host: an operator that throws ends the scan on all threads, and the next one works") {
  std::vector<double> v(500000, 1.0), out(v.size());
  for (const std::size_t at : {std::size_t(1), v.size() / 2, v.size() - 1})
    for (const int threads : {1, 2, 7}) {
      v[at] = 5;
      CHECK_THROWS_AS(pmpp::inclusive_scan(pmpp::host.threads(threads), v, out, plus_or_throw{5}), std::domain_error);
      v[at] = 1;
      pmpp::exclusive_scan(pmpp::host.threads(threads), v, out, 0.5, plus_or_throw{-1});
      CHECK(out[at] == 0.5 + static_cast<double>(at));
      CHECK(out.back() == 499999.5);
    }
}

TEST_CASE("a workspace serves any number of calls, whatever their sizes and types") {
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  const auto v = test::random_values<int>(30000);
  const pmpp::device_buffer<int> in(v);
  pmpp::device_buffer<std::int64_t> out(v.size(), 0);
  pmpp::device_buffer<int> narrow(v.size(), 0);
  for (int i = 0; i < test::turns(60); ++i) {
    const auto n = static_cast<std::int64_t>(test::generator()() % 30000 + 1);
    CAPTURE(n);
    const std::int64_t sum = std::accumulate(v.begin(), v.begin() + n, std::int64_t(0));
    pmpp::inclusive_scan<tiny>(policy, in.begin(), in.begin() + n, out);
    pmpp::inclusive_scan<small>(policy, in.begin(), in.begin() + n, narrow);
    CHECK(pmpp::reduce(policy, in.begin(), in.begin() + n, 0L) == sum);
    CHECK(pmpp::to_host(out)[static_cast<std::size_t>(n - 1)] == sum);
    CHECK(pmpp::to_host(narrow)[static_cast<std::size_t>(n - 1)] == static_cast<int>(sum));
  }
}

#if !PMPP_CUDA
#include <pmpp/simt/emulator.hpp>

TEST_CASE("any order of blocks, any seed, one worker or several") {
  using order = pmpp::simt::block_order;
  const auto v = intervals(9000);  // 282 tiles
  const auto wanted = expected<test::interval>(v, true, false, test::interval{}, test::join{});
  const pmpp::device_buffer<test::interval> in(v);
  for (std::uint64_t seed = 1; seed <= (test::only_small() ? 2 : 10); ++seed)
    for (const order o : {order::ascending, order::descending, order::shuffled}) {
      pmpp::simt::emulator_options options;
      options.threads = seed % 2 == 0 ? 1 : 2;
      options.order = o;
      options.seed = seed;
      const pmpp::simt::scoped_emulator_options scope(options);
      pmpp::device_buffer<test::interval> out(v.size());
      pmpp::inclusive_scan<tiny>(device, in, out, test::join{});
      CAPTURE(seed);
      CHECK(pmpp::to_host(out) == wanted);
    }
}
#endif
