// SPDX-License-Identifier: Apache-2.0
//
// sort of numbers by their digits: every size, all types of keys in both directions, -0.0, NaN and infinities, any set of
// digits that are constant, 32- and 64-bit look-back words. See sort.cpp.
#include <pmpp/sort.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#if PMPP_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "support/orders.hpp"
#include "support/sorting.hpp"

namespace {

using test::any_keys;
using test::bits_of;
using test::check_keys;
using test::check_numbers;
using test::check_sort;
using test::draw;
using test::promised_order;
using test::small_radix;
using test::tiny_radix;
using test::wide_radix;

constexpr std::int64_t some_sizes[] = {0, 1, 2, 65, 700, 3000};

template <class where, class K>
void check_rising() {
  for (const std::int64_t n : some_sizes) check_keys<tiny_radix, where, false>(any_keys<K>(n), pmpp::less{});
}
template <class where, class K>
void check_falling() {
  for (const std::int64_t n : some_sizes) check_keys<tiny_radix, where, true>(any_keys<K>(n), std::greater<K>{});
}

}  // namespace

TEST_ALL_PLACES("radix sort: every size") {
  for (const std::int64_t n : test::every_size(PMPP_CUDA ? 200 : 100, 5000, PMPP_CUDA ? 97 : 241))
    check_numbers<tiny_radix, where, false>(any_keys<std::uint32_t>(n), pmpp::less{});
  for (const std::int64_t n : test::sizes(96 * 3, 20011))
    check_numbers<small_radix, where, true>(any_keys<std::uint16_t>(n), pmpp::greater{});
  for (const std::int64_t n : test::sizes(test::default_tile, PMPP_CUDA ? 150001 : 60001))
    check_numbers<pmpp::sort_tuning{}, where, false>(any_keys<std::uint32_t>(n), pmpp::less{});
  check_keys<pmpp::sort_tuning{.radix = {.min_tiles = 1}}, where, false>(any_keys<std::uint64_t>(30000), pmpp::less{});
}

TEST_ALL_PLACES("radix sort: keys of 1, 2, 4 and 8 bytes") {
  check_rising<where, std::uint8_t>();
  check_falling<where, std::int16_t>();
  check_rising<where, std::uint64_t>();
  check_rising<where, float>();
  check_falling<where, double>();
}

TEST_ALL_PLACES("keys of one byte, counted by one block and by many: in order already, wherever they begin") {
  const auto check = [](const auto& keys, std::int64_t from, auto comp) {
    constexpr pmpp::sort_tuning counted{.counting = {.alone_from = 0, .from = 0}};
    CAPTURE(keys.size());
    CAPTURE(from);
    auto data = where::put(keys);
    pmpp::sort<counted>(typename where::policy{}, data.begin() + from, data.end(), comp);
    auto wanted = keys;
    std::sort(wanted.begin() + from, wanted.end(), comp);
    CHECK(where::get(data) == wanted);
  };
  for (const std::int64_t n : test::some_of({1, 300, 6000, 20003}))
    for (const std::int64_t from : {0, 13}) {
      if (from >= n) continue;
      auto keys = any_keys<std::uint8_t>(n);
      check(keys, from, std::less<>{});
      check(std::vector<std::uint8_t>(keys.size(), 200), from, std::less<>{});
      std::sort(keys.begin(), keys.end());
      check(keys, from, std::less<>{});
      check(any_keys<std::int8_t>(n), from, std::greater<>{});
    }
}

namespace {

/// Whether the codes of keys follow the order promised, and turn into the keys again.
template <class K>
void check_codes(const std::vector<K>& all) {
  using up = pmpp::detail::radix_code<K, false>;
  using down = pmpp::detail::radix_code<K, true>;
  for (const K a : all) {
    if (bits_of(up::decode(up::encode(a))) != bits_of(a)) FAIL(bits_of(a));
    if (bits_of(down::decode(down::encode(a))) != bits_of(a)) FAIL(bits_of(a));
  }
  const auto nan = [](K x) { return static_cast<double>(x) != static_cast<double>(x); };
  for (int i = 0; i < 300000; ++i) {
    const K a = all[draw() % all.size()], b = all[draw() % all.size()];
    if (nan(a) && nan(b)) continue;
    if (promised_order<K, false>{}(a, b) != (up::encode(a) < up::encode(b))) FAIL(bits_of(a));
    if (promised_order<K, true>{}(a, b) != (down::encode(a) < down::encode(b))) FAIL(bits_of(a));
  }
}
template <class K>
std::vector<K> all_of_two_bytes() {
  std::vector<K> all(65536);
  for (unsigned i = 0; i < 65536; ++i) std::memcpy(static_cast<void*>(&all[i]), &i, 2);
  return all;
}

}  // namespace

TEST_CASE_TEMPLATE("radix sort: the codes of every type of key", K, std::uint8_t, std::int8_t, char, std::uint16_t,
                   std::int16_t, std::uint32_t, std::int32_t, std::uint64_t, std::int64_t, long long, float, double) {
  check_codes(any_keys<K>(20000));
}

TEST_CASE("radix sort: the codes of floating-point numbers of two bytes") {
#if PMPP_CUDA
  check_codes(all_of_two_bytes<__half>());
  check_codes(all_of_two_bytes<__nv_bfloat16>());
#elif defined(__FLT16_MAX__)
  check_codes(all_of_two_bytes<_Float16>());
#endif
}

TEST_ALL_PLACES("radix sort: any set of digits that vary") {
  for (unsigned set = 0; set < 256; set += test::only_small() ? 37 : PMPP_CUDA ? 1 : 3) {
    std::uint64_t vary = 0;
    for (int digit = 0; digit < 8; ++digit)
      if ((set >> digit & 1) != 0) vary |= std::uint64_t(0xff) << 8 * digit;
    std::vector<std::uint64_t> keys(300 + set);
    for (auto& key : keys) key = (draw() & vary) | (0x1234567890abcdef & ~vary);
    check_keys<tiny_radix, where, false>(keys, pmpp::less{});
    if (set >= 16) continue;
    std::vector<std::uint32_t> few(1000);
    for (auto& key : few) key = static_cast<std::uint32_t>((draw() & vary) | (0x87654321 & ~vary));
    check_numbers<tiny_radix, where, false>(few, pmpp::less{});
  }
}

TEST_ALL_PLACES("radix sort: adversarial orders") {
  const std::int64_t n = 4001;
  const std::function<std::uint64_t(std::uint64_t)> orders[] = {
      [](auto i) { return i; },
      [](auto i) { return ~i; },
      [](auto) { return 7; },
      [](auto i) { return i / 64; },                                  // one digit fills each tile
      [](auto i) { return i % 64; },                                  // each digit once in a tile
      [](auto i) { return i % 256 << 24 | i % 2; },                   //
      [](auto) { return draw() % 2 == 0 ? 0xffffffffu : 0u; },        //
      [](auto i) { return i == 4000 ? 0u : 0xffffffffu; },            // the last one belongs to the front
      [](auto) { return (draw() & draw() & draw() & draw()) >> 32; }  // skewed
  };
  for (std::size_t k = 0; k < std::size(orders); k += test::only_small() ? 4 : 1) {
    const auto& order = orders[k];
    std::vector<std::uint32_t> keys;
    for (std::uint64_t i = 0; i < n; ++i) keys.push_back(static_cast<std::uint32_t>(order(i)));
    check_numbers<tiny_radix, where, false>(keys, pmpp::less{});
    check_numbers<wide_radix, where, true>(keys, std::greater<std::uint32_t>{});
    check_numbers<pmpp::sort_tuning{}, where, false>(keys, pmpp::less{});
  }
}

TEST_ALL_PLACES("radix sort: lengths that are known on the device only, other stretches of an array, replays") {
  const typename where::policy policy{};
  const auto v = any_keys<std::uint32_t>(5000);
  for (const std::int64_t n : test::some_of({0, 1, 64, 65, 4999, 5000, 9999})) {
    const auto used = std::min<std::int64_t>(n, 5000);
    auto wanted = v;
    std::stable_sort(wanted.begin(), wanted.begin() + used);
    const auto count = where::put(std::vector<std::int32_t>{static_cast<std::int32_t>(n)});
    const pmpp::device_count length{count.data(), 5000};
    auto data = where::put(v), keys = where::put(v), values = where::put(v), once = where::put(v);
    pmpp::sort<tiny_radix>(policy, data.begin(), length);
    pmpp::sort_by_key<tiny_radix>(policy, keys.begin(), length, values);
    pmpp::sort(policy, once.begin(), length);
    CAPTURE(n);
    CHECK(where::get(data) == wanted);
    CHECK(where::get(values) == wanted);
    CHECK(where::get(once) == wanted);
  }
  for (const int from : {1, 2, 3}) {
    check_sort<tiny_radix, where>(any_keys<std::uint8_t>(3000), pmpp::less{}, from);
    check_sort<tiny_radix, where>(any_keys<std::uint64_t>(3000), pmpp::less{}, from);
  }
}

#if !PMPP_CUDA
TEST_CASE("blocks and threads in any order") {
  const auto many_keys = any_keys<std::uint32_t>(2500);
  const auto short_keys = any_keys<std::uint16_t>(2500);
  test::for_each_order(2, [&](std::uint64_t) {
    check_numbers<small_radix, test::device_place, true>(short_keys, pmpp::greater{});
    check_keys<wide_radix, test::device_place, true>(many_keys, std::greater<std::uint32_t>{});
    check_keys<pmpp::sort_tuning{}, test::device_place, false>(many_keys, pmpp::less{});
  });
}
#endif
