// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of sort.hpp, on every policy: the result is what std::stable_sort gives (so it is sorted, a
// permutation, and stable), for every size, element type, comparator, alignment and kind of data, and nothing beside it
// is touched; values stay with their keys; argsort leaves its keys alone; lengths that only the device knows; a
// comparator that contradicts itself reads and writes nothing outside; bad input throws and touches nothing; a workspace
// serves any number of calls. Of its radix sort: all types of keys in both directions, -0.0, NaN and infinities, bit
// ranges, values of every size, any set of digits that are constant, 32- and 64-bit look-back words. In the emulator also
// under other orders of blocks and threads. The odd-even transposition of a thread sorts all inputs of zeros and ones,
// hence all inputs.
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#if PMPP_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "support/data.hpp"
#include "support/monoids.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"
#include "support/records.hpp"

using pmpp::device;

namespace {

using test::by_both;
using test::by_key;
using test::by_last_part;
using test::contradicting;
using test::huge;
using test::tagged;
using test::triple;

// Elements of a tile of the default kernel for ints.
constexpr std::int64_t tile = 512 * 17;
// Small enough that many blocks, several passes and several tiles a block take part at a few thousand elements.
constexpr pmpp::sort_tuning tiny{.threads = 32, .bytes = 16, .four_ways = 0, .compared = 1, .ranked = 0};
constexpr pmpp::sort_tuning small{
    .threads = 64, .bytes = 32, .pass_bytes = 16, .short_threads = 32, .short_bytes = 12, .compared = 64};
// Of the radix sort: a launch for each digit, and more than 64 tiles make them larger than 32; all ways, the first two up
// to 200 and 576 elements in the emulator; a launch for each digit, with words of 64 bits.
constexpr pmpp::sort_tuning tiny_radix{
    .radix_threads = 32, .radix_items = 4, .radix_small_items = 2, .radix_compared = 0, .radix_together = 0};
constexpr pmpp::sort_tuning small_radix{.radix_threads = 96,
                                        .radix_small_items = 3,
                                        .radix_compared = 200,
                                        .radix_together = 3,
                                        .radix_rows = 1,
                                        .radix_large = 1 << 20,
                                        .radix_tiles = 1 << 20};
constexpr pmpp::sort_tuning wide_radix{.radix_threads = 64,
                                       .radix_items = 5,
                                       .radix_small_items = 3,
                                       .radix_compared = 0,
                                       .radix_together = 0,
                                       .radix_large = 1,
                                       .radix_narrow = 1};

/// As less, but sorted by merging.
struct precedes {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x, const T& y) const {
    return x < y;
  }
};
struct by_length {
  PMPP_HOST_DEVICE bool operator()(const test::affine& x, const test::affine& y) const { return x.length < y.length; }
};

std::uint64_t draw() { return test::generator()(); }

std::vector<tagged> tags(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& key_of) {
  std::vector<tagged> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = {static_cast<std::int32_t>(key_of(static_cast<std::int64_t>(i))), static_cast<std::uint32_t>(i)};
  return v;
}

/// Where the elements of a sorted array stood; equal ones in the order that they had.
template <class K, class Comp>
std::vector<std::uint32_t> sorted_places(const std::vector<K>& keys, Comp comp) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return comp(keys[i], keys[j]); });
  return order;
}

/// Sorts the middle of an array, from element `from` on, and compares with std.
template <pmpp::sort_tuning Tuning, class where, class T, class Comp = pmpp::less>
void check_sort(const std::vector<T>& v, Comp comp = {}, int from = 0) {
  const typename where::policy policy{};
  std::vector<T> wanted = v;
  std::stable_sort(wanted.begin() + from, wanted.end() - from, comp);
  auto data = where::put(v);
  pmpp::sort<test::tuned<where>(Tuning)>(policy, data.begin() + from, data.end() - from, comp);
  CAPTURE(v.size());
  CAPTURE(from);
  CAPTURE(test::seed());
  CHECK(where::get(data) == wanted);
  CHECK(pmpp::is_sorted(policy, data.begin() + from, data.end() - from, comp));
}

template <pmpp::sort_tuning Tuning, class where, class K, class V, class Comp = pmpp::less>
void check_by_key(const std::vector<K>& keys, V, Comp comp = {}) {
  const typename where::policy policy{};
  const std::vector<std::uint32_t> order = sorted_places(keys, comp);
  std::vector<V> values(keys.size()), wanted_values;
  std::vector<K> wanted;
  for (std::size_t i = 0; i < keys.size(); ++i) values[i] = static_cast<V>(i);
  for (const auto i : order) {
    wanted.push_back(keys[i]);
    wanted_values.push_back(values[i]);
  }
  CAPTURE(keys.size());
  auto k = where::put(keys);
  auto v = where::put(values);
  auto index = where::put(std::vector<std::uint32_t>(keys.size(), 77));
  CHECK(pmpp::argsort<test::tuned<where>(Tuning)>(policy, k, index, comp) == index.end());
  CHECK(where::get(k) == keys);
  CHECK(where::get(index) == order);
  pmpp::sort_by_key<test::tuned<where>(Tuning)>(policy, k, v, comp);
  CHECK(where::get(k) == wanted);
  CHECK(where::get(v) == wanted_values);
}

}  // namespace

TEST_CASE("odd-even transposition sorts all zeros and ones") {
  for (unsigned bits = 0; bits < 1u << 16; ++bits) {
    int x[16], eight[8];
    for (int i = 0; i < 16; ++i) x[i] = static_cast<int>(bits >> i & 1);
    for (int i = 0; i < 8; ++i) eight[i] = x[i];
    pmpp::block::detail::sort_in_registers(x, pmpp::less{});
    pmpp::block::detail::sort_in_registers(eight, pmpp::less{});
    if (!std::is_sorted(x, x + 16) || !std::is_sorted(eight, eight + 8)) FAIL(bits);
  }
}

TEST_ALL_PLACES("sort: every size") {
  for (const std::int64_t n : test::sizes(tile, 150001)) {
    check_sort<pmpp::sort_tuning{}, where>(test::random_values<int>(n), precedes{});
    check_sort<pmpp::sort_tuning{}, where>(tags(n, [](auto) { return draw() % 1000; }), by_key{});
  }
}

TEST_ALL_PLACES("every size up to a few tiny tiles, and around the sizes where a pass begins") {
  for (std::int64_t n = 0; n <= 700; n += n < 150 ? 1 : 23) {
    check_sort<tiny, where>(tags(n, [](auto) { return draw() % 50; }), by_key{});
    check_sort<small, where>(tags(n, [](auto) { return draw() % 50; }), by_key{});
  }
  for (const std::int64_t at : {96, 384, 1536, 6144})
    for (const std::int64_t n : {at - 1, at, at + 1, at + 17, 2 * at + 1, 3 * at - 1})
      for (const int keys : {2, 1000000})
        check_sort<tiny, where>(tags(n, [&](auto) { return draw() % static_cast<unsigned>(keys); }), by_key{});
  for (const std::int64_t n : {1000, 6143, 6144, 6145})
    check_sort<small, where>(tags(n, [](auto) { return draw() % 500; }), by_key{});
}

TEST_ALL_PLACES("adversarial orders") {
  const std::int64_t n = 9001;
  const std::function<std::int64_t(std::int64_t)> orders[] = {
      [](auto i) { return i; },                               // sorted
      [](auto i) { return -i; },                              // reversed
      [](auto) { return 7; },                                 // all equal
      [](auto) { return draw() % 2; },                        // two values
      [](auto i) { return i % 2; },                           // alternating
      [=](auto i) { return i < n / 2 ? i : n - i; },          // organ pipe
      [=](auto i) { return i < n / 2 ? n - i : i; },          // valley
      [](auto) { return draw() % 10; },                       // few distinct
      [](auto i) { return i / 700; },                         // long runs
      [](auto i) { return i % 128; },                         // saw tooth
      [](auto i) { return i % 128 == 0 ? 0 : i; },            // one out of order in each tile
      [=](auto i) { return i == n - 1 ? -1 : i; },            // the last one belongs to the front
      [=](auto i) { return i == 0 ? n : i; },                 // the first one belongs to the end
      [](auto i) { return i / 128 % 4 * 1000 + i; },          // runs that follow each other
      [](auto i) { return (3 - i / 128 % 4) * 100000 + i; },  // runs in reverse
      [](auto i) { return (i / 128 % 4 == 1) ? 5 : i; },      // one run of equals
      [](auto) { return (draw() & draw() & draw()) % 256; }   // skewed
  };
  for (const auto& order : orders) {
    check_sort<tiny, where>(tags(n, order), by_key{});
    check_sort<small, where>(tags(n, order), by_key{});
    check_sort<pmpp::sort_tuning{}, where>(tags(3 * n, order), by_key{});
  }
}

TEST_ALL_PLACES("comparators of all kinds") {
  check_sort<tiny, where>(test::random_values<int>(3001), pmpp::greater{});
  auto floats = test::random_values<float>(20001);
  for (std::size_t i = 0; i < floats.size(); i += 7) floats[i] = i % 2 == 0 ? 0.0f : -0.0f;
  floats[5] = std::numeric_limits<float>::infinity();
  floats[19000] = -std::numeric_limits<float>::infinity();
  check_sort<small, where>(floats, precedes{});
  check_sort<small, where>(floats);
}

TEST_ALL_PLACES("elements of every size") {
  for (const std::int64_t n : {0, 1, 33, 900, 5003, 9001}) {
    check_sort<pmpp::sort_tuning{}, where>(test::random_values<std::uint8_t>(4 * n), precedes{});
    check_sort<tiny, where>(test::random_values<std::int16_t>(n), precedes{});
    check_sort<tiny, where>(test::random_values<std::int64_t>(n), precedes{});
    check_sort<pmpp::sort_tuning{}, where>(test::random_values<double>(3 * n), precedes{});
    std::vector<triple> t(static_cast<std::size_t>(n));
    std::vector<test::affine> f(t.size());
    std::vector<test::wide> w(t.size());
    std::vector<huge> h(t.size() / 2);
    std::uint32_t tag = 0;
    const auto number = [] { return static_cast<int>(draw() % 50); };
    for (auto& x : t) x = {number(), number() % 3, ++tag};
    for (auto& x : f) x = {++tag, 7, static_cast<std::uint32_t>(number())};
    for (auto& x : w) x = {{++tag, 1, 2, 3, number()}};
    for (auto& x : h) x = {number(), ++tag, {static_cast<char>(tag)}};
    check_sort<pmpp::sort_tuning{}, where>(t, by_both{});
    check_sort<tiny, where>(f, by_length{});
    check_sort<pmpp::sort_tuning{}, where>(w, by_last_part{});
    check_sort<tiny, where>(h, by_key{});
  }
}

TEST_ALL_PLACES("sort_by_key and argsort") {
  for (const std::int64_t n : {0, 1, 2, 40, 700, 6001, 20011}) {
    const auto keys = test::random_values<int>(n);
    check_by_key<tiny, where>(keys, std::uint32_t(0), precedes{});
    check_by_key<pmpp::sort_tuning{}, where>(keys, std::uint32_t(0), precedes{});
    check_by_key<small, where>(keys, 0.0, pmpp::greater{});
    check_by_key<tiny, where>(test::random_values<std::uint8_t>(n), std::int64_t(0), precedes{});
    check_by_key<pmpp::sort_tuning{}, where>(test::random_values<std::int64_t>(n), std::uint16_t(0), precedes{});
  }
}

TEST_ALL_PLACES("misaligned data") {
  for (const int from : {1, 2, 3, 5, 16})
    for (const std::int64_t n : {100, 3000, 20000}) {
      check_sort<tiny, where>(test::random_values<int>(n), precedes{}, from);
      check_sort<pmpp::sort_tuning{}, where>(test::random_values<std::uint8_t>(n), precedes{}, from);
      check_sort<tiny, where>(test::random_values<std::int16_t>(n), precedes{}, from);
      check_sort<pmpp::sort_tuning{}, where>(test::random_values<double>(n), precedes{}, from);
    }
}

TEST_ALL_PLACES("argsort of computed keys, into integers of any type; outputs elsewhere") {
  const typename where::policy policy{};
  const pmpp::counting_iterator<int> keys(-500);
  auto index = where::put(std::vector<std::int16_t>(3003, -9));
  pmpp::argsort<tiny>(policy, keys, keys + 3000, index.begin() + 1, pmpp::greater{});
  const auto got = where::get(index);
  CHECK(got[0] == -9);
  CHECK(got[3001] == -9);
  for (int i = 0; i < 3000; ++i) CHECK(got[static_cast<std::size_t>(i) + 1] == 2999 - i);
}

namespace {

/// The order that the radix sort promises: -0.0 before +0.0, NaN last; greater turns all but the NaNs round.
template <class K, bool Descending>
struct promised_order {
  bool operator()(const K& a, const K& b) const {
    if constexpr (!std::is_integral_v<K>) {
      const auto x = static_cast<double>(a), y = static_cast<double>(b);
      if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
      if (x == 0 && y == 0)
        return Descending ? !std::signbit(x) && std::signbit(y) : std::signbit(x) && !std::signbit(y);
      return Descending ? x > y : x < y;
    } else {
      return Descending ? a > b : a < b;
    }
  }
};

template <class K>
std::uint64_t bits_of(K key) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &key, sizeof(K));
  return bits;
}
template <class K>
bool is_nan(K key) {
  if constexpr (std::is_integral_v<K>)
    return false;
  else
    return std::isnan(static_cast<double>(key));
}

/// Keys of any bits, many of them special, with repetitions.
template <class K>
std::vector<K> any_keys(std::int64_t n) {
  std::vector<K> keys(static_cast<std::size_t>(n));
  const std::uint64_t sign = std::uint64_t(1) << (8 * sizeof(K) - 1);
  for (K& key : keys) {
    std::uint64_t bits = draw();
    if (draw() % 8 == 0) bits &= 0xff;
    if (draw() % 8 == 0) bits = ~std::uint64_t(0) << (draw() % 64);
    if (draw() % 16 == 0) bits = 0;
    if (draw() % 16 == 0) bits = sign;
    if constexpr (std::is_floating_point_v<K>) {
      const K infinity = std::numeric_limits<K>::infinity();
      if (draw() % 16 == 0) bits = bits_of(infinity);
      if (draw() % 16 == 0) bits = bits_of(-infinity);
    }
    if constexpr (std::is_same_v<K, bool>)
      key = bits % 2 != 0;
    else
      std::memcpy(static_cast<void*>(&key), &bits, sizeof(K));
  }
  return keys;
}

/// Whether these are the keys in the order promised; NaNs among themselves in any.
template <class K>
bool as_promised(const std::vector<K>& keys, const std::vector<std::uint32_t>& order, const std::vector<K>& sorted) {
  if (sorted.size() != keys.size()) return false;
  std::vector<std::uint64_t> nans, wanted_nans;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const K key = sorted[i], wanted = keys[order[i]];
    if (is_nan(key) != is_nan(wanted) || (!is_nan(key) && bits_of(key) != bits_of(wanted))) return false;
    if (is_nan(key)) nans.push_back(bits_of(key)), wanted_nans.push_back(bits_of(wanted));
  }
  return std::is_permutation(nans.begin(), nans.end(), wanted_nans.begin());
}

/// Sorts the keys alone.
template <pmpp::sort_tuning Tuning, class where, bool Descending, class K, class Comp>
void check_keys(const std::vector<K>& keys, Comp comp) {
  auto data = where::put(keys);
  pmpp::sort<test::tuned<where>(Tuning)>(typename where::policy{}, data, comp);
  CAPTURE(keys.size());
  CAPTURE(test::seed());
  CHECK(as_promised(keys, sorted_places(keys, promised_order<K, Descending>{}), where::get(data)));
}

/// Sorts by key, which must be stable; then the places of the keys, and the keys alone, in the same order.
template <pmpp::sort_tuning Tuning, class where, bool Descending, class K, class Comp>
void check_numbers(const std::vector<K>& keys, Comp comp) {
  const typename where::policy policy{};
  const std::vector<std::uint32_t> order = sorted_places(keys, promised_order<K, Descending>{});
  std::vector<std::uint32_t> places(keys.size());
  std::iota(places.begin(), places.end(), 0u);
  auto data = where::put(keys), with_values = where::put(keys);
  auto index = where::put(places), values = where::put(places);
  pmpp::argsort<test::tuned<where>(Tuning)>(policy, data, index, comp);
  pmpp::sort_by_key<test::tuned<where>(Tuning)>(policy, with_values, values, comp);
  pmpp::sort<test::tuned<where>(Tuning)>(policy, data, comp);
  const auto found = where::get(index);
  bool right = as_promised(keys, order, where::get(data)) && as_promised(keys, order, where::get(with_values));
  for (std::size_t i = 0; i < keys.size(); ++i) right = right && (is_nan(keys[order[i]]) || found[i] == order[i]);
  CAPTURE(keys.size());
  CAPTURE(test::seed());
  CHECK(right);
  CHECK(where::get(values) == found);
}

constexpr std::int64_t some_sizes[] = {0, 1, 2, 65, 700, 3000};

template <class where, class K>
void check_rising() {
  for (const std::int64_t n : some_sizes) check_keys<tiny_radix, where, false>(any_keys<K>(n), pmpp::less{});
}
template <class where, class K>
void check_falling() {
  for (const std::int64_t n : some_sizes) check_keys<tiny_radix, where, true>(any_keys<K>(n), std::greater<K>{});
}
template <class where, class K>
void check_with_values() {
  for (const std::int64_t n : some_sizes) {
    check_numbers<tiny_radix, where, false>(any_keys<K>(n), std::less<>{});
    check_numbers<tiny_radix, where, true>(any_keys<K>(n), pmpp::greater{});
  }
}

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

TEST_ALL_PLACES("radix sort: every size") {
  for (std::int64_t n = 0; n <= 5000; n += n < 200 ? 1 : 97)
    check_numbers<tiny_radix, where, false>(any_keys<std::uint32_t>(n), pmpp::less{});
  for (const std::int64_t n : test::sizes(96 * 3, 20011))
    check_numbers<small_radix, where, true>(any_keys<std::uint16_t>(n), pmpp::greater{});
  for (const std::int64_t n : test::sizes(tile, 150001))
    check_numbers<pmpp::sort_tuning{}, where, false>(any_keys<std::uint32_t>(n), pmpp::less{});
  check_numbers<pmpp::sort_tuning{.radix_tiles = 1}, where, false>(any_keys<std::uint64_t>(30000), pmpp::less{});
}

TEST_ALL_PLACES("radix sort: every type of key, both directions") {
  check_falling<where, std::uint8_t>();
  check_rising<where, std::int8_t>();
  check_falling<where, char>();
  check_rising<where, std::uint16_t>();
  check_with_values<where, std::int16_t>();
  check_falling<where, std::uint32_t>();
  check_rising<where, std::int32_t>();
  check_falling<where, std::uint64_t>();
  check_rising<where, std::int64_t>();
  check_falling<where, long long>();
  check_rising<where, float>();
  check_falling<where, float>();
  check_with_values<where, double>();
}

TEST_CASE("radix sort: bool, and numbers of two bytes") {
  using pmpp::detail::radix_code;
  const auto check_codes = [](auto zero) {
    using K = decltype(zero);
    const auto nan = [](K x) { return static_cast<float>(x) != static_cast<float>(x); };
    std::vector<K> all(65536);
    for (unsigned i = 0; i < 65536; ++i) std::memcpy(static_cast<void*>(&all[i]), &i, 2);
    for (const K a : all) {
      if (bits_of(radix_code<K, false>::decode(radix_code<K, false>::encode(a))) != bits_of(a)) FAIL(bits_of(a));
      if (bits_of(radix_code<K, true>::decode(radix_code<K, true>::encode(a))) != bits_of(a)) FAIL(bits_of(a));
    }
    for (int i = 0; i < 300000; ++i) {
      const K a = all[draw() % 65536], b = all[draw() % 65536];
      if (nan(a) && nan(b)) continue;
      const bool up = promised_order<K, false>{}(a, b), down = promised_order<K, true>{}(a, b);
      if (up != (radix_code<K, false>::encode(a) < radix_code<K, false>::encode(b))) FAIL(bits_of(a));
      if (down != (radix_code<K, true>::encode(a) < radix_code<K, true>::encode(b))) FAIL(bits_of(a));
    }
  };
#if PMPP_CUDA
  check_codes(__half{});
  check_codes(__nv_bfloat16{});
#elif defined(__FLT16_MAX__)
  check_codes(_Float16{});
#endif
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

TEST_ALL_PLACES("radix sort: any set of digits that vary") {
  for (unsigned set = 0; set < 256; ++set) {
    std::uint64_t vary = 0;
    for (int digit = 0; digit < 8; ++digit)
      if ((set >> digit & 1) != 0) vary |= std::uint64_t(0xff) << 8 * digit;
    std::vector<std::uint64_t> keys(300 + set);
    for (auto& key : keys) key = (draw() & vary) | (0x1234567890abcdef & ~vary);
    check_numbers<tiny_radix, where, false>(keys, pmpp::less{});
    if (set >= 16) continue;
    std::vector<std::int32_t> few(1000);
    for (auto& key : few) key = static_cast<std::int32_t>((draw() & vary) | (0x87654321 & ~vary));
    check_numbers<small_radix, where, true>(few, pmpp::greater{});
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
  for (const auto& order : orders) {
    std::vector<std::uint32_t> keys;
    for (std::uint64_t i = 0; i < n; ++i) keys.push_back(static_cast<std::uint32_t>(order(i)));
    check_numbers<tiny_radix, where, false>(keys, pmpp::less{});
    check_numbers<wide_radix, where, true>(keys, std::greater<std::uint32_t>{});
    check_numbers<pmpp::sort_tuning{}, where, false>(keys, pmpp::less{});
  }
}

TEST_ALL_PLACES("radix sort: values of every size") {
  for (const std::int64_t n : {0, 1, 63, 64, 65, 1000, 20000}) {
    const auto keys = test::random_values<std::int16_t>(n);
    check_by_key<tiny_radix, where>(keys, payload<1>{}, std::less<>{});
    check_by_key<small_radix, where>(keys, payload<2>{}, std::greater<>{});
    check_by_key<wide_radix, where>(keys, payload<3>{});
    check_by_key<pmpp::sort_tuning{}, where>(keys, payload<4>{}, pmpp::greater{});
    check_by_key<tiny_radix, where>(keys, payload<17>{});
    check_by_key<pmpp::sort_tuning{}, where>(keys, payload<100>{});
    check_by_key<pmpp::sort_tuning{}, where>(test::random_values<double>(n), std::uint64_t(0));
  }
}

TEST_ALL_PLACES("radix sort: some bits of the keys") {
  const typename where::policy policy{};
  const auto v = any_keys<std::uint32_t>(3001);
  const auto w = any_keys<std::int64_t>(900);
  for (const pmpp::key_bits bits :
       {pmpp::key_bits{0, 32}, {0, 8}, {3, 11}, {5, 6}, {0, 20}, {31, 32}, {7, 7}, {32, 32}, {1, 30}}) {
    CAPTURE(bits.lo);
    CAPTURE(bits.hi);
    const auto field = [=](std::uint64_t x) {
      return bits.hi == bits.lo ? 0 : x >> bits.lo & (~std::uint64_t(0) >> (64 - bits.hi + bits.lo));
    };
    auto up = v, down = v;
    std::stable_sort(up.begin(), up.end(), [=](auto x, auto y) { return field(x) < field(y); });
    std::stable_sort(down.begin(), down.end(), [=](auto x, auto y) { return field(x) > field(y); });
    auto data = where::put(v), more = where::put(v), keys = where::put(v), values = where::put(v);
    pmpp::sort<tiny_radix>(policy, data, pmpp::less{}, bits);
    pmpp::stable_sort(policy, more.begin(), more.end(), pmpp::greater{}, bits);
    auto index = where::put(std::vector<std::int32_t>(v.size()));
    pmpp::argsort<small_radix>(policy, keys, index, std::less<>{}, bits);
    pmpp::sort_by_key<small_radix>(policy, keys, values, pmpp::less{}, bits);
    CHECK(where::get(data) == up);
    CHECK(where::get(more) == down);
    CHECK(where::get(values) == up);
    const auto places = where::get(index);
    for (std::size_t i = 0; i < v.size(); ++i)
      if (v[static_cast<std::size_t>(places[i])] != up[i]) FAIL(i);
    auto signs = w;  // the sign bit is the highest; where it takes part, negative ones come first
    std::stable_sort(signs.begin(), signs.end(), [](auto x, auto y) { return x >> 60 < y >> 60; });
    auto signed_keys = where::put(w);
    pmpp::sort<wide_radix>(policy, signed_keys, pmpp::less{}, pmpp::key_bits{60, 64});
    CHECK(where::get(signed_keys) == signs);
  }
  auto data = where::put(v);
  for (const pmpp::key_bits bits : {pmpp::key_bits{-1, 8}, {0, 33}, {9, 8}, {33, 33}})
    CHECK_THROWS_AS(pmpp::sort(policy, data, pmpp::less{}, bits), std::invalid_argument);
  CHECK(where::get(data) == v);
}

TEST_ALL_PLACES("radix sort: lengths that are known on the device only, other stretches of an array, replays") {
  const typename where::policy policy{};
  const auto v = any_keys<std::uint32_t>(5000);
  for (const std::int64_t n : {0, 1, 64, 65, 4999, 5000, 9999}) {
    const auto used = std::min<std::int64_t>(n, 5000);
    auto wanted = v;
    std::stable_sort(wanted.begin(), wanted.begin() + used);
    const auto count = where::put(std::vector<std::int32_t>{static_cast<std::int32_t>(n)});
    const pmpp::device_count length{count.data(), 5000};
    auto data = where::put(v), keys = where::put(v), values = where::put(v), once = where::put(v);
    pmpp::sort<tiny_radix>(policy, data.begin(), length);
    pmpp::sort_by_key<wide_radix>(policy, keys.begin(), length, values);
    pmpp::sort(policy, once.begin(), length);
    CAPTURE(n);
    CHECK(where::get(data) == wanted);
    CHECK(where::get(values) == wanted);
    CHECK(where::get(once) == wanted);
  }
  for (const int from : {1, 2, 3}) {
    check_sort<tiny_radix, where>(any_keys<std::uint8_t>(3000), pmpp::less{}, from);
    check_sort<small_radix, where>(any_keys<std::uint64_t>(3000), pmpp::less{}, from);
  }
}

TEST_ALL_PLACES("is_sorted") {
  const typename where::policy policy{};
  for (const int n : {0, 1, 2, 3, 1000, 50000}) {
    std::vector<int> v(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = i / 3;
    CHECK(pmpp::is_sorted(policy, where::put(v)));
    CHECK(pmpp::is_sorted(policy, where::put(v), pmpp::greater{}) == (n <= 3));
    if (n < 2) continue;
    for (const int at : {0, n / 2 - 1, n - 2}) {
      auto w = v;
      w[static_cast<std::size_t>(at)] = n;
      CHECK(!pmpp::is_sorted(policy, where::put(w)));
    }
  }
}

TEST_ALL_PLACES("lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto v = test::random_values<int>(20000);
  for (const std::int64_t n : {0, 1, 100, 128, 513, 6000, 20000, 30000}) {
    const auto used = std::min<std::int64_t>(n, 20000);
    auto wanted = v;
    std::stable_sort(wanted.begin(), wanted.begin() + used);
    const auto count = where::put(std::vector<std::int64_t>{n});
    const pmpp::device_count length{count.data(), 20000};
    auto data = where::put(v), more = where::put(v), keys = where::put(v), values = where::put(v);
    pmpp::sort<tiny>(policy, data.begin(), length, precedes{});
    pmpp::stable_sort(policy, more.begin(), length);
    pmpp::sort_by_key<small>(policy, keys.begin(), length, values, precedes{});
    CAPTURE(n);
    CHECK(where::get(data) == wanted);
    CHECK(where::get(more) == wanted);
    CHECK(where::get(values) == wanted);
  }
}

TEST_ALL_PLACES("NaN in a merge sort, and other contradictions: nothing outside is touched") {
  const typename where::policy policy{};
  std::vector<std::uint32_t> v(5002, 4242u);
  std::iota(v.begin() + 1, v.end() - 1, 100u);
  auto data = where::put(v);
  pmpp::sort<tiny>(policy, data.begin() + 1, data.end() - 1, contradicting{});
  auto got = where::get(data);
  CHECK(got.front() == 4242u);
  CHECK(got.back() == 4242u);
  CHECK(std::all_of(got.begin() + 1, got.end() - 1, [](auto x) { return x >= 100 && x < 5100; }));
  for (const int n : {64, 5000}) pmpp::sort<small>(policy, data.begin() + 1, data.begin() + 1 + n, contradicting{});
  got = where::get(data);
  CHECK(got.front() == 4242u);
  CHECK(got.back() == 4242u);
  CHECK(std::all_of(got.begin() + 1, got.end() - 1, [](auto x) { return x >= 100 && x < 5100; }));
  std::vector<float> floats(5000);
  for (auto& x : floats) x = draw() % 3 == 0 ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
  auto many = where::put(floats);
  pmpp::sort<tiny>(policy, many, precedes{});
  const auto sorted = where::get(many);
  CHECK(std::all_of(sorted.begin(), sorted.end(), [](float x) { return x == 1.0f || std::isnan(x); }));
}

#if !PMPP_CUDA
TEST_CASE("blocks and threads in any order") {
  const auto v = tags(5001, [](auto) { return draw() % 300; });
  const auto keys = test::random_values<int>(2500);
  const auto many_keys = any_keys<std::uint32_t>(2500);
  test::for_each_order(6, [&](std::uint64_t) {
    check_sort<tiny, test::device_place>(v, by_key{});
    check_sort<small, test::device_place>(v, by_key{});
    check_sort<pmpp::sort_tuning{.threads = 256, .pass_bytes = 32}, test::device_place>(v, by_key{});
    check_by_key<tiny_radix, test::device_place>(keys, std::uint32_t(0));
    check_numbers<small_radix, test::device_place, true>(many_keys, pmpp::greater{});
    check_numbers<wide_radix, test::device_place, false>(many_keys, pmpp::less{});
    check_numbers<pmpp::sort_tuning{.radix_threads = 256, .radix_small_items = 4}, test::device_place, false>(
        many_keys, pmpp::less{});
  });
}

TEST_CASE("host: any number of threads, the same result; exceptions arrive") {
  const auto v = tags(300001, [](auto) { return draw() % 5000; });
  auto wanted = v;
  std::stable_sort(wanted.begin(), wanted.end(), by_key{});
  const auto numbers = any_keys<std::uint64_t>(300001);
  const auto sum = std::accumulate(numbers.begin(), numbers.end(), std::uint64_t(0));
  for (const int threads : {1, 2, 3, 7}) {
    auto data = v;
    pmpp::sort(pmpp::host.threads(threads), data, by_key{});
    CHECK(data == wanted);
    auto sorted_numbers = numbers;
    pmpp::sort(pmpp::host.threads(threads), sorted_numbers);
    CHECK(std::is_sorted(sorted_numbers.begin(), sorted_numbers.end()));
    CHECK(std::accumulate(sorted_numbers.begin(), sorted_numbers.end(), std::uint64_t(0)) == sum);
  }
  auto data = v;
  CHECK_THROWS_AS(pmpp::sort(pmpp::host, data,
                             [](const tagged&, const tagged& y) -> bool {
                               if (y.tag == 200000) throw std::runtime_error("no order");
                               return false;
                             }),
                  std::runtime_error);
}
#endif

TEST_CASE("a workspace serves any number of calls, whatever their sizes") {
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  for (int i = 0; i < 30; ++i) {
    const auto v = test::random_values<int>(static_cast<std::int64_t>(draw() % 30001));
    auto wanted = v;
    std::sort(wanted.begin(), wanted.end());
    pmpp::device_buffer<int> data(v);
    if (i % 3 == 0)
      pmpp::sort<tiny>(policy, data, precedes{});
    else if (i % 3 == 1)
      pmpp::sort<tiny_radix>(policy, data);
    else
      pmpp::sort(policy, data);
    pmpp::synchronize(policy);
    CHECK(pmpp::to_host(data) == wanted);
  }
}

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  int* const null = nullptr;
  const std::vector<int> v = {3, 1, 2, 5, 4};
  auto data = where::put(v);
  auto few = where::put(std::vector<int>(4, 77));
  CHECK_THROWS_AS(pmpp::sort(policy, null, null + 5), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::sort(policy, data.end(), data.begin()), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::sort_by_key(policy, data, null), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::sort_by_key(policy, data, few), std::length_error);
  CHECK_THROWS_AS(pmpp::argsort(policy, data, few), std::length_error);
  CHECK_THROWS_AS(pmpp::argsort(policy, data, null), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::sort(policy, data.begin(), pmpp::device_count{static_cast<const int*>(nullptr), 5}),
                  std::invalid_argument);
  CHECK(where::get(data) == v);
  CHECK(where::get(few) == std::vector<int>(4, 77));
  pmpp::sort(policy, null, null);  // nothing may be null
  pmpp::sort(policy, data);        // the next call works
  CHECK(where::get(data) == std::vector<int>{1, 2, 3, 4, 5});
}
