// SPDX-License-Identifier: Apache-2.0
//
// sort_by_key and argsort: values stay with their keys, and keys where they are; values of every size; some bits of the
// keys. See sort.cpp.
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "support/orders.hpp"
#include "support/sorting.hpp"

using pmpp::device;

namespace {

using test::any_keys;
using test::check_by_key;
using test::precedes;
using test::tiny;
using test::tiny_radix;

struct is_one_of_three {
  PMPP_HOST_DEVICE bool operator()(int i) const { return i % 3 == 1; }
};

template <int Bytes>
struct payload {
  unsigned char bytes[Bytes];
  payload() = default;
  explicit payload(std::uint32_t i) {
    for (int k = 0; k < Bytes; ++k) bytes[k] = static_cast<unsigned char>(i >> 8 * (k % 4));
  }
  friend bool operator==(const payload&, const payload&) = default;
};

}  // namespace

TEST_ALL_PLACES("sort_by_key and argsort") {
  for (const std::int64_t n : test::some_of({0, 1, 2, 40, 700, 6001, 20011})) {
    check_by_key<tiny, where>(test::random_values<int>(n), std::uint32_t(0), precedes{});
    check_by_key<tiny, where, false>(test::random_values<std::uint8_t>(n), std::int64_t(0), precedes{});
    check_by_key<pmpp::sort_tuning{}, where, false>(test::random_values<std::int64_t>(n), std::uint16_t(0), precedes{});
  }
}

TEST_ALL_PLACES("keys with values, as many as the device knows") {
  const typename where::policy policy{};
  const auto v = test::random_values<int>(20000);
  for (const std::int64_t n : test::some_of({0, 1, 100, 128, 513, 6000, 20000, 30000})) {
    const auto used = std::min<std::int64_t>(n, 20000);
    auto wanted = v;
    std::stable_sort(wanted.begin(), wanted.begin() + used);
    const auto count = where::put(std::vector<std::int64_t>{n});
    auto keys = where::put(v);
    auto values = where::put(std::vector<std::uint32_t>(v.begin(), v.end()));
    pmpp::sort_by_key<test::tuned<where>(tiny)>(policy, keys.begin(), pmpp::device_count{count.data(), 20000}, values,
                                                precedes{});
    CAPTURE(n);
    CHECK(where::get(keys) == wanted);
    CHECK(where::get(values) == std::vector<std::uint32_t>(wanted.begin(), wanted.end()));
  }
}

TEST_ALL_PLACES("stable_sort_by_key: equals keep their order") {
  const typename where::policy policy{};
  constexpr auto tuning = test::tuned<where>(tiny_radix);
  const std::int64_t n = test::up_to(9001);
  std::vector<std::uint32_t> v(static_cast<std::size_t>(n)), places(v.size());
  for (std::uint32_t i = 0; i < n; ++i) v[i] = i * 7 % 5, places[i] = i;
  std::stable_sort(places.begin(), places.end(), [&](auto i, auto j) { return v[i] < v[j]; });
  const auto check = [&](auto sort) {
    auto keys = where::put(v);
    auto values = where::put(std::vector<std::uint32_t>(places.size()));
    pmpp::iota(policy, values, 0);
    sort(keys, values);
    CHECK(where::get(values) == places);
  };
  check([&](auto& keys, auto& values) { pmpp::stable_sort_by_key<tuning>(policy, keys, values); });
  check([&](auto& keys, auto& values) {
    pmpp::stable_sort_by_key<tuning>(policy, keys.begin(), keys.end(), values.begin());
  });
}

TEST_ALL_PLACES("argsort of computed keys, into integers of any type; outputs elsewhere") {
  const typename where::policy policy{};
  const pmpp::counting_iterator<int> keys(-500);
  auto index = where::put(std::vector<std::int16_t>(3003, -9));
  pmpp::argsort<test::tuned<where>(tiny_radix)>(policy, keys, keys + 3000, index.begin() + 1, pmpp::greater{});
  const auto got = where::get(index);
  CHECK(got[0] == -9);
  CHECK(got[3001] == -9);
  for (int i = 0; i < 3000; ++i) CHECK(got[static_cast<std::size_t>(i) + 1] == 2999 - i);
}

TEST_CASE("radix sort: bool") {
  for (const int n : {1, 64, 65, 5000}) {
    pmpp::device_buffer<bool> flags(static_cast<std::size_t>(n));
    pmpp::device_buffer<int> numbers(static_cast<std::size_t>(n));
    std::vector<int> v(static_cast<std::size_t>(n)), wanted;
    std::iota(v.begin(), v.end(), 0);
    pmpp::copy(pmpp::stream_handle{}, std::span<const int>(v), std::span<int>(numbers.data(), v.size()));
    pmpp::transform(device, numbers, flags, is_one_of_three{});
    for (const bool value : {true, false})
      for (const int i : v)
        if ((i % 3 == 1) == value) wanted.push_back(i);
    pmpp::sort_by_key<tiny_radix>(device, flags, numbers, pmpp::greater{});
    CHECK(pmpp::to_host(numbers) == wanted);
    CHECK(pmpp::is_sorted(device, flags, pmpp::greater{}));
  }
}

TEST_ALL_PLACES("radix sort: values of every size") {
  for (const std::int64_t n : test::some_of({0, 1, 63, 64, 65, 1000, 20000})) {
    const auto keys = test::random_values<std::int16_t>(n);
    check_by_key<tiny_radix, where>(keys, payload<1>{});
    check_by_key<tiny_radix, where>(keys, payload<3>{});
    check_by_key<pmpp::sort_tuning{}, where, false>(keys, payload<16>{});
    check_by_key<pmpp::sort_tuning{}, where, false>(keys, payload<100>{});
    check_by_key<pmpp::sort_tuning{}, where>(test::random_values<double>(n), std::uint64_t(0), std::greater<>{});
  }
}

TEST_ALL_PLACES("radix sort: some bits of the keys") {
  const typename where::policy policy{};
  constexpr auto tuning = test::tuned<where>(tiny_radix);
  const auto v = any_keys<std::uint32_t>(3001);
  const auto w = any_keys<std::int16_t>(900);
  test::only_each fourth(4);
  for (const pmpp::key_bits bits :
       {pmpp::key_bits{0, 32}, {0, 8}, {3, 11}, {5, 6}, {0, 20}, {31, 32}, {7, 7}, {32, 32}, {12, 16}, {1, 30}}) {
    if (fourth.leaves_out()) continue;
    CAPTURE(bits.lo);
    CAPTURE(bits.hi);
    const auto field = [=](std::uint64_t x) {
      return bits.hi == bits.lo ? 0 : x >> bits.lo & (~std::uint64_t(0) >> (64 - bits.hi + bits.lo));
    };
    auto up = v;
    std::stable_sort(up.begin(), up.end(), [=](auto x, auto y) { return field(x) < field(y); });
    auto data = where::put(v), keys = where::put(v), values = where::put(v);
    pmpp::sort<tuning>(policy, data, pmpp::less{}, bits);
    auto index = where::put(std::vector<std::uint32_t>(v.size()));
    pmpp::argsort<tuning>(policy, keys, index, std::less<>{}, bits);
    pmpp::sort_by_key<tuning>(policy, keys, values, pmpp::less{}, bits);
    CHECK(where::get(data) == up);
    CHECK(where::get(values) == up);
    const auto places = where::get(index);
    for (std::size_t i = 0; i < v.size(); ++i)
      if (v[places[i]] != up[i]) FAIL(i);
    if (bits.hi > 16) continue;
    auto down = w;  // the sign bit is the highest; where it takes part, negative ones come last
    const auto code = [=](std::int16_t x) { return field(static_cast<std::uint16_t>(x) ^ 0x8000u); };
    std::stable_sort(down.begin(), down.end(), [=](auto x, auto y) { return code(x) > code(y); });
    auto signed_keys = where::put(w);
    pmpp::stable_sort<tuning>(policy, signed_keys.begin(), signed_keys.end(), pmpp::greater{}, bits);
    CHECK(where::get(signed_keys) == down);
  }
  auto data = where::put(v);
  for (const pmpp::key_bits bits : {pmpp::key_bits{-1, 8}, {0, 33}, {9, 8}, {33, 33}})
    CHECK_THROWS_AS(pmpp::sort<tuning>(policy, data, pmpp::less{}, bits), std::invalid_argument);
  CHECK(where::get(data) == v);
}

#if !PMPP_CUDA
TEST_CASE("blocks and threads in any order") {
  const auto keys = any_keys<std::uint32_t>(2500);
  test::for_each_order(2, [&](std::uint64_t) { check_by_key<tiny_radix, test::device_place>(keys, std::uint32_t(0)); });
}
#endif
