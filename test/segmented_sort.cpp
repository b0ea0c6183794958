// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of segmented_sort.hpp, on every policy: each segment is what std::stable_sort makes of it (so it
// is sorted, a permutation, and stable) for every law of lengths (all one, all empty but one, a giant among tiny ones,
// ends at the edges of windows and tiles), every element type, comparator and kind of data; what lies in no segment is
// not touched; offsets of any integer type, also such that only the device knows their number; values stay with their
// keys; NaN comes last; a comparator that contradicts itself reads and writes nothing outside; bad input throws and
// touches nothing; a workspace serves any number of calls, and a graph other data. In the emulator also under other
// orders of blocks and threads.
#include <pmpp/segmented_sort.hpp>
#include <pmpp/transform.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "support/data.hpp"
#include "support/monoids.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"
#include "support/records.hpp"

namespace {

using test::by_both;
using test::by_key;
using test::by_last_part;
using test::contradicting;
using test::tagged;
using test::triple;

// A tile of 160 (576) elements of 4 bytes: several windows, passes and tiles of a pass take part at a few thousand elements.
// The others take nothing for a short input.
constexpr pmpp::sort_tuning tiny{.threads = 32, .bytes = 16};
constexpr pmpp::sort_tuning tiny_long{.threads = 32, .bytes = 16, .four_bytes = 16, .segmented_short = 0};
constexpr pmpp::sort_tuning small{.threads = 64, .bytes = 32, .four_bytes = 36, .segmented_short = 0};
constexpr pmpp::sort_tuning four_warps{.threads = 128};
constexpr pmpp::sort_tuning long_input{.segmented_short = 0};
constexpr std::int64_t network_tile = 4096, short_tile = 4608, long_tile = 4352;  // of the default kernels

std::uint64_t draw() { return test::generator()(); }
std::int64_t draw_below(std::int64_t n) { return static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(n)); }

using lengths = std::vector<std::int64_t>;

/// The laws of lengths, about n elements each.
std::vector<std::pair<std::string, lengths>> laws(std::int64_t n) {
  std::vector<std::pair<std::string, lengths>> all;
  const auto add = [&](const char* name, lengths l) { all.emplace_back(name, std::move(l)); };
  const auto count = [](std::int64_t k) { return static_cast<std::size_t>(k); };
  const auto equal = [&](std::int64_t length) { return lengths(count((n + length - 1) / length), length); };
  add("none", {});
  add("one", {n});
  add("two", {n / 3, n - n / 3});
  add("all empty", lengths(count(n), 0));
  for (const std::int64_t length : {1, 2, 3, 7, 16, 31, 32, 33, 100, 139, 140, 141, 160, 161, 300, 513}) {
    if (length > n) break;
    add("all alike", equal(length));
  }
  lengths giant(count(n / 8 + 1), 2);
  giant[count(n / 16)] = n / 2;
  add("one giant", giant);
  lengths among_empty(count(4 * n), 0);
  among_empty[count(n)] = n / 2;
  among_empty[count(3 * n)] = n / 2;
  add("two giants, the others empty", among_empty);
  lengths turns;
  for (std::int64_t i = 0; i < n / 50; ++i) turns.insert(turns.end(), {0, 50, 1});
  add("empty, large and one in turns", turns);
  lengths powers;
  for (std::int64_t p = 1; p <= n / 4; p *= 2)
    for (const std::int64_t off : {-1, 0, 1}) powers.push_back(p + off);
  add("powers of two", powers);
  std::reverse(powers.begin(), powers.end());
  add("powers of two, falling", powers);
  for (const std::int64_t most : {4, 40, 400, 4000}) {
    lengths any;
    for (std::int64_t sum = 0; sum < n; sum += any.back()) any.push_back(draw_below(draw_below(most) + 1));
    add("any", any);
  }
  lengths burst(20000, 0);
  burst.insert(burst.end(), 50, 1);
  burst.insert(burst.end(), 20000, 0);
  burst.push_back(std::max<std::int64_t>(n - 50, 0));
  add("many empty, then ones", burst);
  return all;
}

template <class I = int>
std::vector<I> offsets_of(const lengths& l, std::int64_t first = 0) {
  std::vector<I> offsets{static_cast<I>(first)};
  for (const std::int64_t length : l) offsets.push_back(static_cast<I>(offsets.back() + static_cast<I>(length)));
  return offsets;
}

/// n elements, `key_of` of their places.
template <class T>
std::vector<T> elements(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& key_of) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    auto& x = v[static_cast<std::size_t>(i)];
    if constexpr (std::is_same_v<T, tagged>)
      x = {static_cast<std::int32_t>(key_of(i)), static_cast<std::uint32_t>(i)};
    else if constexpr (std::is_same_v<T, triple>)
      x = {static_cast<std::int32_t>(key_of(i) / 4), static_cast<std::int32_t>(key_of(i)),
           static_cast<std::uint32_t>(i)};
    else
      x = static_cast<T>(key_of(i));
  }
  return v;
}

/// Sorts the segments of an array that has a few elements in front of the first and behind the last.
template <pmpp::sort_tuning Tuning, class where, class T, class I, class Comp = pmpp::less>
void check_segments(const std::vector<T>& v, const std::vector<I>& offsets, Comp comp = {}) {
  const typename where::policy policy{};
  std::vector<T> wanted = v;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    std::stable_sort(wanted.begin() + static_cast<std::ptrdiff_t>(offsets[s]),
                     wanted.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1]), comp);
  auto data = where::put(v);
  const auto at = where::put(offsets);
  pmpp::segmented_sort<test::tuned<where>(Tuning)>(policy, data, at, comp);
  CAPTURE(v.size());
  CAPTURE(offsets.size());
  CAPTURE(test::seed());
  CHECK(where::get(data) == wanted);
}

template <pmpp::sort_tuning Tuning, class where, class T, class I = int, class Comp = pmpp::less>
void check_laws(std::int64_t n, std::int64_t values, Comp comp = {}) {
  for (const auto& [name, law] : laws(n)) {
    CAPTURE(name);
    const std::int64_t first = draw_below(3) == 0 ? draw_below(50) : 0;
    const auto offsets = offsets_of<I>(law, first);
    const auto v = elements<T>(static_cast<std::int64_t>(offsets.back()) + draw_below(3),
                               [&](std::int64_t) { return draw_below(values) - values / 2; });
    check_segments<Tuning, where>(v, offsets, comp);
  }
}

}  // namespace

TEST_ALL_PLACES("segments of all lengths are sorted stably") {
  for (const std::int64_t n : {1, 40, 127, 128, 129, 700, 5000}) {
    check_laws<tiny, where, tagged>(n, 5, by_key{});
    check_laws<tiny, where, std::int32_t>(n, 1 << 20);
    check_laws<tiny_long, where, tagged>(n, 5, by_key{});
    check_laws<small, where, tagged, std::int64_t>(n, 50, by_key{});
  }
  check_laws<tiny, where, triple, std::uint32_t>(3000, 100, by_both{});
  check_laws<small, where, std::int16_t, std::uint64_t>(6000, 1000, pmpp::greater{});
  check_laws<small, where, std::uint8_t>(6000, 1000);
  check_laws<small, where, std::int64_t>(6000, 1000);
}

TEST_ALL_PLACES("segments at the edges of the default tile") {
  for (const std::int64_t tile : {network_tile, short_tile, long_tile}) {
    const std::int64_t window = tile - tile / 8;
    for (const std::int64_t length :
         {window - 1, window, window + 1, tile - 1, tile, tile + 1, 4 * tile, 4 * tile + 1}) {
      lengths l{3, length, 0, length, 5, 5, length};
      const auto offsets = offsets_of(l);
      const auto pairs = elements<tagged>(offsets.back(), [](std::int64_t) { return draw_below(1000); });
      const auto numbers = elements<std::uint32_t>(offsets.back(), [](std::int64_t) { return draw_below(1 << 30); });
      check_segments<pmpp::sort_tuning{}, where>(pairs, offsets, by_key{});
      check_segments<pmpp::sort_tuning{}, where>(numbers, offsets);
      check_segments<long_input, where>(pairs, offsets, by_key{});
      check_segments<long_input, where>(numbers, offsets);
    }
  }
  lengths mixture{150000, 1, 0, 9000};
  for (int i = 0; i < 3000; ++i) mixture.push_back(draw_below(40));
  mixture.push_back(40000);
  const auto offsets = offsets_of<std::int64_t>(mixture);
  check_segments<pmpp::sort_tuning{}, where>(
      elements<float>(offsets.back(), [](std::int64_t) { return draw_below(1 << 20); }), offsets);
}

TEST_ALL_PLACES("data of every kind") {
  const std::int64_t n = 4000;
  const std::vector<std::function<std::int64_t(std::int64_t)>> kinds{
      [](std::int64_t) { return 7; },
      [](std::int64_t i) { return i; },
      [](std::int64_t i) { return -i; },
      [](std::int64_t i) { return i % 2; },
      [](std::int64_t i) { return i < 2000 ? i : 4000 - i; },
      [](std::int64_t i) { return i % 97; },
      [](std::int64_t i) { return i == 3999 ? -1 : i; },
  };
  for (const auto& kind : kinds)
    for (const lengths& law : {lengths{n}, lengths(40, 100), lengths{1000, 10, 1990, 1000}, lengths{1, n - 2, 1}}) {
      check_segments<tiny, where>(elements<tagged>(n, kind), offsets_of(law), by_key{});
      check_segments<tiny_long, where>(elements<tagged>(n, kind), offsets_of(law), by_key{});
      check_segments<small, where>(elements<std::int32_t>(n, kind), offsets_of(law), pmpp::greater{});
    }
}

TEST_ALL_PLACES("elements of many sizes") {
  std::vector<test::wide> w(600);
  for (auto& x : w)
    for (auto& p : x.part) p = static_cast<std::remove_reference_t<decltype(p)>>(draw() % 100);
  check_segments<tiny, where>(w, offsets_of({100, 0, 300, 1, 199}), by_last_part{});
  check_segments<pmpp::sort_tuning{}, where>(w, offsets_of({600}), by_last_part{});
}

TEST_ALL_PLACES("NaN comes last and -0.0 before +0.0, as in sort") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  std::vector<double> v;
  for (int i = 0; i < 1000; ++i)
    v.push_back(std::vector<double>{nan, -nan, infinity, -infinity, 0.0, -0.0, 1.5, -2.5}[draw() % 8]);
  const auto offsets = offsets_of({500, 20, 0, 480});
  const typename where::policy policy{};
  auto data = where::put(v), wanted = where::put(v);
  pmpp::segmented_sort<tiny>(policy, data, where::put(offsets));
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    pmpp::sort(policy, wanted.begin() + offsets[s], wanted.begin() + offsets[s + 1]);
  const auto a = where::get(data), b = where::get(wanted);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(std::isnan(a[i]) == std::isnan(b[i]));
    if (!std::isnan(a[i])) CHECK(__builtin_bit_cast(std::uint64_t, a[i]) == __builtin_bit_cast(std::uint64_t, b[i]));
  }
}

TEST_ALL_PLACES("by_key") {
  for (const auto& [name, law] : laws(2500)) {
    CAPTURE(name);
    const auto offsets = offsets_of(law);
    const auto pairs = elements<tagged>(offsets.back(), [](std::int64_t) { return draw_below(30); });
    std::vector<float> keys;
    std::vector<std::uint16_t> values;
    for (const tagged& x : pairs) {
      keys.push_back(static_cast<float>(x.key));
      values.push_back(static_cast<std::uint16_t>(x.tag));
    }
    auto wanted = pairs;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
      std::stable_sort(wanted.begin() + offsets[s], wanted.begin() + offsets[s + 1], by_key{});
    auto k = where::put(keys);
    auto v = where::put(values);
    pmpp::segmented_sort_by_key<tiny>(typename where::policy{}, k, v, where::put(offsets));
    const auto got_keys = where::get(k);
    const auto got_values = where::get(v);
    bool ok = true;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ok = ok && got_keys[i] == static_cast<float>(wanted[i].key) &&
           got_values[i] == static_cast<std::uint16_t>(wanted[i].tag);
    CHECK(ok);
  }
}

TEST_ALL_PLACES("long segments that warps share, among others") {
  std::vector<lengths> all{{513, 3, 1024, 0, 1025, 700, 512, 1, 4096, 2049, 2048, 40, 4095, 511, 4097, 8192, 600},
                           lengths(14, 513),
                           {4000, 96, 3000, 1096, 5000, 5000, 2}};
  lengths any;
  for (int i = 0; i < 30; ++i) any.push_back(draw_below(draw_below(3) == 0 ? 40 : 2500));
  all.push_back(any);
  const typename where::policy policy{};
  for (const lengths& law : all) {
    const auto offsets = offsets_of<std::uint32_t>(law);
    const auto pairs = elements<tagged>(offsets.back(), [](std::int64_t) { return draw_below(200); });
    check_segments<pmpp::sort_tuning{}, where>(
        elements<std::uint32_t>(offsets.back(), [](std::int64_t) { return draw_below(1ll << 32); }), offsets);
    check_segments<pmpp::sort_tuning{}, where>(
        elements<std::int64_t>(offsets.back(), [](std::int64_t i) { return i % 3 - draw_below(2000); }), offsets,
        pmpp::greater{});
    std::vector<std::int32_t> keys;
    std::vector<std::uint32_t> values;
    for (const tagged& x : pairs) {
      keys.push_back(x.key);
      values.push_back(x.tag);
    }
    auto k = where::put(keys);
    auto v = where::put(values);
    pmpp::segmented_sort_by_key(policy, k, v, where::put(offsets));
    auto wanted = pairs;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
      std::stable_sort(wanted.begin() + offsets[s], wanted.begin() + offsets[s + 1], by_key{});
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      keys[i] = wanted[i].key;
      values[i] = wanted[i].tag;
    }
    CHECK(where::get(k) == keys);
    CHECK(where::get(v) == values);
  }
}

TEST_ALL_PLACES("misaligned data and offsets known to the device only") {
  const typename where::policy policy{};
  for (const int from : {1, 3}) {
    const auto offsets = offsets_of({700, 5, 0, 1200, 9});
    const auto v = elements<std::int32_t>(offsets.back() + from, [](std::int64_t) { return draw_below(500); });
    auto wanted = v;
    for (std::size_t s = 0; s < 4; ++s)
      std::stable_sort(wanted.begin() + from + offsets[s], wanted.begin() + from + offsets[s + 1]);
    auto data = where::put(v);
    const auto at = where::put(offsets);
    const auto entries = where::put(std::vector<std::int64_t>{5});  // the last segment is left out
    pmpp::segmented_sort<tiny>(policy, data.begin() + from, data.end(), at.begin(),
                               pmpp::device_count{entries.data(), static_cast<std::int64_t>(offsets.size())});
    CHECK(where::get(data) == wanted);
  }
}

TEST_ALL_PLACES("a comparator that contradicts itself") {
  const auto offsets = offsets_of({900, 0, 40, 3, 2000});
  const auto v = elements<std::uint32_t>(offsets.back() + 9, [](std::int64_t) { return draw_below(1 << 30); });
  const auto check = [&](auto tuning) {
    auto data = where::put(v);
    pmpp::segmented_sort<decltype(tuning)::value>(typename where::policy{}, data, where::put(offsets), contradicting{});
    const auto got = where::get(data);
    CHECK(std::equal(got.end() - 9, got.end(), v.end() - 9));
  };
  check(std::integral_constant<pmpp::sort_tuning, tiny>{});
  check(std::integral_constant<pmpp::sort_tuning, tiny_long>{});
}

TEST_ALL_PLACES("bad input") {
  const typename where::policy policy{};
  auto data = where::put(std::vector<int>{3, 2, 1});
  const auto none = where::put(std::vector<int>{});
  const auto offsets = where::put(std::vector<int>{0, 3});
  CHECK_THROWS_AS(pmpp::segmented_sort(policy, data, none), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_sort(policy, data.end(), data.begin(), offsets), std::invalid_argument);
  int* const null = nullptr;
  CHECK_THROWS_AS(pmpp::segmented_sort(policy, null, null + 3, offsets), std::invalid_argument);
  auto values = where::put(std::vector<int>{1, 2});
  CHECK_THROWS_AS(pmpp::segmented_sort_by_key(policy, data, values, offsets), std::length_error);
  CHECK(where::get(data) == std::vector<int>{3, 2, 1});
}

#if PMPP_CUDA
namespace {
struct scrambled_byte {
  PMPP_HOST_DEVICE std::uint8_t operator()(std::int64_t i) const {
    return static_cast<std::uint8_t>(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u >> 56);
  }
};
}  // namespace

TEST_CASE("past 2^31 elements") {
  const std::vector<std::int64_t> offsets{3, 3, 5000, 30000, (1ll << 31) + 7, (1ll << 31) + 8, (1ll << 31) + 90000};
  const std::int64_t n = offsets.back() + 10;
  pmpp::device_buffer<std::uint8_t> data(n);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(pmpp::device, i, i + n, data.data(), scrambled_byte{});
  const auto part_sums = [&] {
    std::vector<std::uint64_t> s;
    for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
      s.push_back(pmpp::reduce(pmpp::device, data.data() + offsets[k], data.data() + offsets[k + 1]));
    return s;
  };
  const auto before = part_sums();
  pmpp::segmented_sort(pmpp::device, data, pmpp::device_buffer<std::int64_t>(offsets));
  CHECK(part_sums() == before);
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
    CHECK(pmpp::is_sorted(pmpp::device, data.data() + offsets[k], data.data() + offsets[k + 1]));
}

TEST_CASE("one workspace serves all calls, and a graph sorts other data") {
  using where = test::device_place;
  pmpp::workspace memory;
  pmpp::stream s;
  const auto policy = pmpp::device.on(s).with(memory);
  const auto offsets = offsets_of({20000, 3, 0, 70, 100000, 1000});
  const auto v = elements<std::uint32_t>(offsets.back(), [](std::int64_t) { return draw_below(1 << 30); });
  auto data = where::put(v), merged_by_four = where::put(v);
  const auto at = where::put(offsets);
  memory.reserve(v.size() * 5);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  pmpp::segmented_sort(policy, data, at);
  pmpp::segmented_sort<long_input>(policy, merged_by_four, at);
  REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  for (int round = 0; round < 3; ++round) {
    auto other = v;
    for (auto& x : other) x = x * 2654435761u + static_cast<std::uint32_t>(round);
    pmpp::copy(other, data);
    pmpp::copy(other, merged_by_four);
    REQUIRE(cudaGraphLaunch(executable, s) == cudaSuccess);
    s.synchronize();
    for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
      std::sort(other.begin() + offsets[k], other.begin() + offsets[k + 1]);
    CHECK(where::get(data) == other);
    CHECK(where::get(merged_by_four) == other);
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}
#endif

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("other orders of blocks and threads") {
  test::for_each_order(4, [&](std::uint64_t) {
    for (const lengths& law : {lengths{700, 3, 0, 90, 100, 111, 2000}, lengths(100, 20), lengths(1, 2500)}) {
      const auto offsets = offsets_of(law);
      const auto v = elements<tagged>(offsets.back(), [](std::int64_t) { return draw_below(40); });
      check_segments<tiny, test::device_place>(v, offsets, by_key{});
      check_segments<tiny_long, test::device_place>(v, offsets, by_key{});
      check_segments<four_warps, test::device_place>(
          elements<std::uint32_t>(offsets.back(), [](std::int64_t) { return draw_below(1000); }), offsets);
    }
  });
}
#endif
