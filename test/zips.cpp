// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of zips of any number of iterators (core/iterator_adaptors.hpp), on every policy: transform reads three
// arrays and writes three, of different types and alignments; unique_copy and copy_if keep elements of a zip in a zip; reductions,
// scans and segments combine columns, each by its operator; what is outside stays as it was; the arrays of an output are known to checks.
#include <pmpp/core/iterator_adaptors.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>
#include <pmpp/transform.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::columns, pmpp::pairs, pmpp::spread, pmpp::zip, pmpp::zip_output;

namespace {

struct sum_and_parts {
  PMPP_HOST_DEVICE auto operator()(int x, std::int16_t y, double z) const {
    return pairs(x + y + z, y, std::int64_t(x) * 2);  // the second and the third are converted: to int, to float
  }
};
/// Parts of a zip of two, one of them twice.
struct lows_highs_and_sum {
  PMPP_HOST_DEVICE auto operator()(float x, std::int16_t y) const { return pairs(x, x, y, std::int64_t(y)); }
};
/// Neither commutes.
struct first_of {
  PMPP_HOST_DEVICE int operator()(int a, int) const { return a; }
};
struct last_of {
  PMPP_HOST_DEVICE std::int16_t operator()(std::int16_t, std::int16_t b) const { return b; }
};
struct is_even {
  PMPP_HOST_DEVICE bool operator()(int x, std::int16_t) const { return x % 2 == 0; }
};
struct same_key {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& a, const T& b) const {
    return a.first == b.first;
  }
};

template <class T>
std::vector<T> part(const std::vector<T>& v, std::int64_t from, std::int64_t n) {
  return {v.begin() + from, v.begin() + from + n};
}

}  // namespace

TEST_ALL_PLACES("transform of three arrays into three") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 3, 31, 33, 1000, 1027, 40003}))
    for (const std::int64_t off : {0, 1, 4}) {
      CAPTURE(n);
      CAPTURE(off);
      const auto a = test::random_values<int>(n + off);
      const auto b = test::random_values<std::int16_t>(n + off);
      const auto c = test::random_values<double>(n);
      const auto size = static_cast<std::size_t>(n + off + 1);
      const auto x = where::input(a);
      const auto y = where::input(b);
      const auto z = where::input(c);
      auto sum = where::put(std::vector<double>(size, 7));
      auto seconds = where::put(std::vector<int>(size, 7));
      auto thirds = where::put(std::vector<float>(size, 7));
      const auto in = zip(x.begin() + off, y.begin() + off, z.begin());
      const auto out = zip_output(sum.begin() + off, seconds.begin(), thirds.begin() + off);
      CHECK(pmpp::transform(policy, in, in + n, out, spread(sum_and_parts{})) - out == n);
      std::vector<double> sums(size, 7);
      std::vector<int> second(size, 7);
      std::vector<float> third(size, 7);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto from = static_cast<std::size_t>(i + off);
        sums[from] = a[from] + b[from] + c[static_cast<std::size_t>(i)];
        second[static_cast<std::size_t>(i)] = b[from];
        third[from] = static_cast<float>(2 * a[from]);
      }
      pmpp::synchronize(policy);
      CHECK(where::get(sum) == sums);
      CHECK(where::get(seconds) == second);
      CHECK(where::get(thirds) == third);
    }
}

TEST_ALL_PLACES("unique_copy and copy_if of a zip into a zip") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 100, 20011})) {
    CAPTURE(n);
    std::vector<int> keys(static_cast<std::size_t>(n));
    for (int& key : keys) key = static_cast<int>(test::generator()() % 3);
    const auto values = test::random_values<std::int16_t>(n);
    const auto k = where::input(keys);
    const auto v = where::input(values);
    auto keys_out = where::put(std::vector<int>(keys.size() + 1, 9));
    auto values_out = where::put(std::vector<std::int64_t>(keys.size() + 1, 9));
    const auto in = zip(k.begin(), v.begin());
    const auto out = zip_output(keys_out.begin(), values_out.begin());
    std::vector<int> first, even;
    std::vector<std::int64_t> of_first, of_even;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i == 0 || keys[i] != keys[i - 1]) {
        first.push_back(keys[i]);
        of_first.push_back(values[i]);
      }
      if (keys[i] % 2 == 0) {
        even.push_back(keys[i]);
        of_even.push_back(values[i]);
      }
    }
    const std::int64_t kept = pmpp::unique_copy(policy, in, in + n, out, same_key{}) - out;
    REQUIRE(kept == std::int64_t(first.size()));
    CHECK(part(where::get(keys_out), 0, kept) == first);
    CHECK(part(where::get(values_out), 0, kept) == of_first);
    const std::int64_t evens = pmpp::copy_if(policy, in, in + n, out, spread(is_even{})) - out;
    REQUIRE(evens == std::int64_t(even.size()));
    CHECK(part(where::get(keys_out), 0, evens) == even);
    CHECK(part(where::get(values_out), 0, evens) == of_even);
    CHECK(where::get(keys_out).back() == 9);
    CHECK(where::get(values_out).back() == 9);
  }
}

TEST_ALL_PLACES("reductions of columns, each by its operator") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 33, 5000, 70001})) {
    CAPTURE(n);
    std::vector<float> a;
    for (const int v : test::random_values<int>(n)) a.push_back(static_cast<float>(v % 1000));
    const auto b = test::random_values<std::int16_t>(n);
    float low = 5000, high = -5000;
    std::int16_t most = -32768;
    std::int64_t sum = 3;
    for (std::size_t i = 0; i < a.size(); ++i) {
      low = a[i] < low ? a[i] : low;
      high = a[i] > high ? a[i] : high;
      most = b[i] > most ? b[i] : most;
      sum += b[i];
    }
    const auto x = where::input(a);
    const auto y = where::input(b);
    const auto in = zip(x.begin(), y.begin());
    const auto start = pairs(5000.0f, -5000.0f, std::int16_t(-32768), std::int64_t(3));
    const auto all = columns(pmpp::minimum{}, pmpp::maximum{}, pmpp::maximum{}, pmpp::plus{});
    CHECK((pmpp::transform_reduce(policy, in, in + n, start, all, spread(lows_highs_and_sum{})) ==
           pairs(low, high, most, sum)));
  }
}

TEST_ALL_PLACES("columns whose operators do not commute stay in order") {
  const typename where::policy policy{};
  const auto a = test::random_values<int>(20011);
  const auto b = test::random_values<std::int16_t>(20011);
  const auto x = where::input(a);
  const auto y = where::input(b);
  const auto in = zip(x.begin() + 1, y.begin() + 1);
  const auto found = pmpp::reduce(policy, in, in + 20010, pairs(a[0], b[0]), columns(first_of{}, last_of{}));
  CHECK((found == pairs(a[0], b.back())));
}

TEST_ALL_PLACES("scans and sums of segments of columns, into a zip") {
  const typename where::policy policy{};
  const auto op = columns(pmpp::maximum{}, last_of{});
  for (const std::int64_t n : test::some_of<std::int64_t>({3, 100, 20011})) {
    CAPTURE(n);
    const auto a = test::random_values<int>(n);
    const auto b = test::random_values<std::int16_t>(n);
    const auto x = where::input(a);
    const auto y = where::input(b);
    const auto in = zip(x.begin(), y.begin());
    auto most = where::put(std::vector<int>(a.size()));
    auto last = where::put(std::vector<std::int16_t>(a.size()));
    pmpp::inclusive_scan(policy, in, in + n, zip_output(most.begin(), last.begin()), op);
    std::vector<int> highs{a};
    for (std::size_t i = 1; i < highs.size(); ++i) highs[i] = std::max(highs[i - 1], highs[i]);
    CHECK(where::get(most) == highs);
    CHECK(where::get(last) == b);

    const std::vector<std::int64_t> offsets{0, n / 3, n / 3, n};
    std::vector<int> high_of{-5, -5, -5};
    std::vector<std::int16_t> last_of_each{-7, -7, -7};
    for (std::size_t s = 0; s < 3; ++s)
      for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
        high_of[s] = std::max(high_of[s], a[std::size_t(i)]);
        last_of_each[s] = b[std::size_t(i)];
      }
    const auto starts = where::put(offsets);
    pmpp::segmented_reduce(policy, in, in + n, starts, zip_output(most.begin(), last.begin()),
                           pairs(-5, std::int16_t(-7)), op);
    CHECK(part(where::get(most), 0, 3) == high_of);
    CHECK(part(where::get(last), 0, 3) == last_of_each);
  }
}

TEST_CASE("all arrays of an output are known, so that one that lies in an input can be refused") {
  int x[100] = {}, y[100] = {}, z[100] = {};
  const pmpp::detail::input<pmpp::zip_iterator<int*, int*>> in{zip(x, y), {50}};
  CHECK_THROWS_AS(pmpp::detail::check_apart("f", "out", zip_output(z, z + 50, x + 1), 50, in), std::invalid_argument);
  pmpp::detail::check_apart("f", "out", zip_output(z, z + 50, x + 50), 50, in);
}
