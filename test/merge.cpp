// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of merge.hpp, on every policy: the result is what std::merge gives, elements of a before equal
// ones of b, and nothing beside it is touched: for every split of every size, element type, comparator, alignment and
// kind of data; values stay with their keys; computed inputs; lengths that only the device knows; a comparator that
// contradicts itself reads and writes nothing outside; elements of b of another type become a's; a comparator returns what
// converts to bool; bad input throws and touches nothing. co_rank cuts every merge
// where std::merge would. In the emulator also under other orders of blocks and threads.
#include <pmpp/merge.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "support/data.hpp"
#include "support/element_types.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"
#include "support/records.hpp"

using pmpp::device;

namespace {

using test::by_number;
using test::contradicting;

// Elements of a tile of the default kernel for ints where a merge is short.
constexpr std::int64_t tile = 256 * 33;
// Small enough that many blocks, each with several tiles, take part at a few thousand elements.
constexpr pmpp::merge_tuning tiny{.threads = 64, .bytes = 16, .resident = 64, .waves = 1, .lanes = 8};

/// Sorted by `key` alone; `tag` tells equals apart.
template <class T>
struct tagged {
  T key;
  std::uint32_t tag;
  friend bool operator==(const tagged&, const tagged&) = default;
};
struct by_key {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const tagged<T>& x, const tagged<T>& y) const {
    return x.key < y.key;
  }
};
/// Sees only the upper bits, so that many different values are equal.
struct coarsely {
  int bits;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(T x, T y) const {
    return (x >> bits) < (y >> bits);
  }
};

template <class T>
T guard() {
  T g;
  std::memset(static_cast<void*>(&g), 0x5a, sizeof g);
  return g;
}

// Not inline: where GCC 12 knows that v is empty, it warns of a read that std::stable_sort would do.
template <class T, class Comp>
[[gnu::noinline]] std::vector<T> sorted(std::vector<T> v, Comp comp) {
  std::stable_sort(v.begin(), v.end(), comp);
  return v;
}
template <class T>
std::vector<T> sorted_numbers(std::int64_t n) {
  return sorted(test::random_values<T>(n), pmpp::less{});
}
std::vector<tagged<int>> sorted_tags(std::int64_t n, int keys, std::uint32_t first_tag) {
  std::vector<tagged<int>> v(static_cast<std::size_t>(n));
  for (auto& x : v) x = {static_cast<int>(test::generator()() % static_cast<unsigned>(keys)), 0};
  v = sorted(v, by_key{});
  for (auto& x : v) x.tag = first_tag++;
  return v;
}

template <pmpp::merge_tuning Tuning, class where, class T, class Comp = pmpp::less>
void check_merge(const std::vector<T>& a, const std::vector<T>& b, Comp comp = {}) {
  std::vector<T> wanted(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), wanted.begin(), comp);
  wanted.push_back(guard<T>());
  const auto in_a = where::put(a), in_b = where::put(b);
  auto out = where::put(test::copies(wanted.size(), guard<T>()));
  CAPTURE(a.size());
  CAPTURE(b.size());
  CHECK(pmpp::merge<test::tuned<where>(Tuning)>(typename where::policy{}, in_a, in_b, out, comp) - out.begin() ==
        static_cast<std::int64_t>(wanted.size()) - 1);
  CHECK(where::get(out) == wanted);
}

template <pmpp::merge_tuning Tuning, class where, class K, class V, class Comp = pmpp::less>
void check_by_key(const std::vector<K>& a, const std::vector<K>& b, V first_value, Comp comp = {}) {
  const std::size_t n = a.size() + b.size();
  std::vector<V> values_a(a.size()), values_b(b.size());
  for (auto& v : values_a) v = first_value++;
  for (auto& v : values_b) v = first_value++;
  std::vector<K> keys(n);
  std::vector<V> values(n);
  for (std::size_t i = 0, j = 0; i + j < n;) {
    const std::size_t at = i + j;
    const bool of_b = i == a.size() || (j < b.size() && comp(b[j], a[i]));
    keys[at] = of_b ? b[j] : a[i];
    values[at] = of_b ? values_b[j] : values_a[i];
    (of_b ? j : i) += 1;
  }
  auto keys_out = where::put(std::vector<K>(n)), more_keys = where::put(std::vector<K>(n + 3));
  auto values_out = where::put(std::vector<V>(n)), more_values = where::put(std::vector<V>(n + 3));
  const auto ka = where::put(a), kb = where::put(b);
  const auto va = where::put(values_a), vb = where::put(values_b);
  const typename where::policy policy{};
  CAPTURE(a.size());
  CAPTURE(b.size());
  const auto ends = pmpp::merge_by_key<test::tuned<where>(Tuning)>(policy, ka, va, kb, vb, keys_out, values_out, comp);
  CHECK(ends.first == keys_out.end());
  CHECK(ends.second == values_out.end());
  CHECK(where::get(keys_out) == keys);
  CHECK(where::get(values_out) == values);
  // Iterators, and each array elsewhere in its words.
  pmpp::merge_by_key<test::tuned<where>(Tuning)>(policy, ka.begin(), ka.end(), va.begin(), kb.begin(), kb.end(),
                                                 vb.begin(), more_keys.begin() + 1, more_values.begin() + 3, comp);
  const auto all_keys = where::get(more_keys);
  const auto all_values = where::get(more_values);
  CHECK(std::equal(keys.begin(), keys.end(), all_keys.begin() + 1));
  CHECK(std::equal(values.begin(), values.end(), all_values.begin() + 3));
}

constexpr int grain = 16;

/// Where some lanes each find that a diagonal roughly begins.
template <int Lanes>
struct rough_search {
  static constexpr int threads = 64;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const int* a, int count_a, const int* b, int count_b,
                                   int* places) const {
    const int d = static_cast<int>(block.index()) * (threads / Lanes) + block.thread() / Lanes, all = count_a + count_b;
    const std::int64_t place =
        pmpp::block::rough_co_rank<grain, Lanes>(block, pmpp::min(d, all), a, count_a, b, count_b, pmpp::less{});
    if (block.thread() % Lanes == 0 && d <= all) places[d] = static_cast<int>(place);
  }
};
template <int Lanes>
std::vector<int> rough_places(const std::vector<int>& a, const std::vector<int>& b) {
  using where = test::device_place;
  const std::size_t diagonals = a.size() + b.size() + 1;
  const auto in_a = where::put(a), in_b = where::put(b);
  auto places = where::put(std::vector<int>(diagonals, -1));
  pmpp::launch(pmpp::device, pmpp::ceil_div(std::int64_t(diagonals), std::int64_t(64 / Lanes)), rough_search<Lanes>{},
               in_a.data(), int(a.size()), in_b.data(), int(b.size()), places.data());
  return where::get(places);
}

}  // namespace

TEST_CASE("co_rank: every diagonal of every small merge, and all equal") {
  for (int count_a = 0; count_a < 9; ++count_a)
    for (int count_b = 0; count_b < 9; ++count_b)
      for (const int keys : {1, 2, 5, 100}) {
        const auto a = sorted_tags(count_a, keys, 0), b = sorted_tags(count_b, keys, 1000);
        std::vector<tagged<int>> all(a.size() + b.size());
        std::merge(a.begin(), a.end(), b.begin(), b.end(), all.begin(), by_key{});
        std::int64_t of_a = 0;
        for (std::int64_t d = 0; d <= count_a + count_b; ++d) {
          CHECK(pmpp::co_rank(d, a.data(), count_a, b.data(), count_b, by_key{}) == of_a);
          CHECK(pmpp::co_rank(static_cast<int>(d), a.data(), count_a, b.data(), count_b, by_key{}) == of_a);
          if (d < count_a + count_b) of_a += all[static_cast<std::size_t>(d)].tag < 1000;
        }
      }
}

TEST_CASE("co_rank: counts past 2^32, computed sequences") {
  const pmpp::counting_iterator<std::int64_t> a(0), b(std::int64_t(1) << 33);
  const std::int64_t n = std::int64_t(3) << 32;  // a overlaps b from 2^33 on
  CHECK(pmpp::co_rank(n, a, n, b, n, pmpp::less{}) == (std::int64_t(1) << 33) + (std::int64_t(1) << 31));
  CHECK(pmpp::co_rank(2 * n, a, n, b, n, pmpp::less{}) == n);
  CHECK(pmpp::co_rank(std::int64_t(1) << 33, a, n, b, n, pmpp::less{}) == std::int64_t(1) << 33);
}

TEST_CASE_TEMPLATE("rough_co_rank: at most the co-rank, and less than a grain in front of it", lanes,
                   std::integral_constant<int, 1>, std::integral_constant<int, 8>, std::integral_constant<int, 32>) {
  for (const int count_a : test::some_of({0, 1, 7, 300, 1024, 20000}))
    for (const int count_b : {0, 5, 333, -333}) {  // negative: all of b comes after a, far from where one would guess
      const auto a = sorted_numbers<int>(count_a);
      const auto b =
          count_b < 0 ? test::copies<int>(-count_b, std::numeric_limits<int>::max()) : sorted_numbers<int>(count_b);
      const int of_all_b = static_cast<int>(b.size());
      const auto place = rough_places<lanes::value>(a, b);
      int co_rank = 0;  // by merging
      bool fits = true;
      for (int d = 0; d <= count_a + of_all_b; ++d) {
        const int found = place[std::size_t(d)], of_b = d - co_rank;
        fits &= found >= d - of_all_b && found <= co_rank && co_rank - found < grain;
        co_rank += co_rank < count_a && (of_b == of_all_b || a[std::size_t(co_rank)] <= b[std::size_t(of_b)]);
      }
      CAPTURE(count_a);
      CAPTURE(count_b);
      CHECK(fits);
    }
}

TEST_CASE("co_rank: a comparator that contradicts itself stays in bounds") {
  std::vector<std::uint32_t> a(100), b(37);
  std::iota(a.begin(), a.end(), 5u);
  std::iota(b.begin(), b.end(), 500u);
  for (int d = 0; d <= 137; ++d) {
    const int i = pmpp::co_rank(d, a.data(), 100, b.data(), 37, contradicting{});
    CHECK(i >= std::max(0, d - 37));
    CHECK(i <= std::min(d, 100));
  }
}

TEST_ALL_PLACES("merge: every size of both") {
  for (const std::int64_t n : test::sizes(tile, 60007))
    for (const std::int64_t part : {0, 1, 2, 50, 98, 100}) {
      CAPTURE(test::seed());
      check_merge<pmpp::merge_tuning{}, where>(sorted_numbers<int>(n * part / 100),
                                               sorted_numbers<int>(n - n * part / 100));
    }
}

TEST_ALL_PLACES("every size up to a few tiny tiles, and equals told apart") {
  for (const std::int64_t n : test::every_size(40, 1200, 61))
    for (const std::int64_t of_a : test::some_of({n, n - 1, n / 2, n / 3, std::int64_t(1), std::int64_t(0)})) {
      if (of_a < 0 || of_a > n) continue;
      check_merge<tiny, where>(sorted_numbers<int>(of_a), sorted_numbers<int>(n - of_a));
      for (const int keys : {1, 2, 30})
        check_merge<tiny, where>(sorted_tags(of_a, keys, 0), sorted_tags(n - of_a, keys, 1u << 20), by_key{});
    }
}

TEST_ALL_PLACES("one below the other, interleaved, long runs, equals across tiles") {
  std::vector<int> low(5000), high(7000), even(5000), odd(5000);
  std::iota(low.begin(), low.end(), 0);
  std::iota(high.begin(), high.end(), 5000);
  for (int i = 0; i < 5000; ++i) {
    even[static_cast<std::size_t>(i)] = 2 * i;
    odd[static_cast<std::size_t>(i)] = 2 * i + 1;
  }
  std::vector<tagged<int>> runs_a, runs_b;
  for (int i = 0; i < 6000; ++i) runs_a.push_back({i / 700, static_cast<std::uint32_t>(i)});
  for (int i = 0; i < 9000; ++i) runs_b.push_back({i / 1100, 1u << 20 | static_cast<std::uint32_t>(i)});
  const auto all = [&]<pmpp::merge_tuning Tuning>(std::integral_constant<pmpp::merge_tuning, Tuning>) {
    check_merge<Tuning, where>(low, high);
    check_merge<Tuning, where>(high, low);
    check_merge<Tuning, where>(even, odd);
    check_merge<Tuning, where>(odd, even);
    check_merge<Tuning, where>(low, low);
    check_merge<Tuning, where>(runs_a, runs_b, by_key{});
    check_merge<Tuning, where>(runs_b, runs_a, by_key{});
  };
  all(std::integral_constant<pmpp::merge_tuning, tiny>{});
  all(std::integral_constant<pmpp::merge_tuning, pmpp::merge_tuning{}>{});
}

TEST_ALL_PLACES("comparators of all kinds") {
  const auto a = test::random_values<int>(3001), b = test::random_values<int>(2500);
  check_merge<tiny, where>(sorted(a, pmpp::greater{}), sorted(b, pmpp::greater{}), pmpp::greater{});
  check_merge<tiny, where>(sorted(a, coarsely{3}), sorted(b, coarsely{3}), coarsely{3});
  check_merge<tiny, where>(sorted(a, coarsely{6}), sorted(b, coarsely{6}), coarsely{6});
}

TEST_ALL_PLACES("elements of every size") {
  for (const std::int64_t n : test::some_of({0, 1, 33, 900, 5003}))
    test::for_each_element_type([&]<class T, bool Small>() {
      // Numbers with small tiles, as where they begin anywhere.
      constexpr pmpp::merge_tuning tuning = Small || std::is_arithmetic_v<T> ? tiny : pmpp::merge_tuning{};
      CAPTURE(sizeof(T));
      const std::int64_t of_a = sizeof(T) > 100 ? n / 4 : n;
      check_merge<tuning, where>(sorted(test::elements_of<T>(of_a), by_number{}),
                                 sorted(test::elements_of<T>(of_a / 2 + 7), by_number{}), by_number{});
    });
}

TEST_ALL_PLACES("values of every size go with their keys") {
  for (const std::int64_t n : test::some_of({0, 1, 40, 700, 6001})) {
    const auto a = sorted_numbers<std::uint32_t>(n), b = sorted_numbers<std::uint32_t>(n / 3 + 5);
    check_by_key<tiny, where>(a, b, std::uint32_t(0));
    check_by_key<pmpp::merge_tuning{}, where>(a, b, 0.0);
    check_by_key<tiny, where>(a, b, std::uint16_t(0));
    check_by_key<tiny, where>(sorted_numbers<std::uint8_t>(n), sorted_numbers<std::uint8_t>(n), std::int64_t(0));
    check_by_key<pmpp::merge_tuning{}, where>(sorted_numbers<double>(n), sorted_numbers<double>(n), std::uint8_t(0));
  }
}

namespace {
template <class where, class T>
void check_alignments() {
  const typename where::policy policy{};
  const auto v = sorted(test::elements_of<T>(3000), by_number{}), w = sorted(test::elements_of<T>(3000), by_number{});
  const auto in_a = where::put(v), in_b = where::put(w);
  for (const int from_a : {0, 1, 3, 15})
    for (const int from_b : {0, 2, 5})
      for (const int to : {0, 1, 7})
        for (const int length : test::some_of({0, 1, 17, 400, 2900})) {
          CAPTURE(from_a);
          CAPTURE(from_b);
          CAPTURE(to);
          CAPTURE(length);
          const int length_b = length / 2;
          std::vector<T> wanted(4400, guard<T>());
          std::merge(v.begin() + from_a, v.begin() + from_a + length, w.begin() + from_b, w.begin() + from_b + length_b,
                     wanted.begin() + to, by_number{});
          auto out = where::put(std::vector<T>(4400, guard<T>()));
          pmpp::merge<tiny>(policy, in_a.begin() + from_a, in_a.begin() + from_a + length, in_b.begin() + from_b,
                            in_b.begin() + from_b + length_b, out.begin() + to, by_number{});
          CHECK(where::get(out) == wanted);
        }
}
}  // namespace

TEST_ALL_PLACES("misaligned inputs and outputs") {
  check_alignments<where, std::uint8_t>();
  check_alignments<where, std::int16_t>();
  check_alignments<where, float>();
  check_alignments<where, double>();
}

TEST_ALL_PLACES("elements whose addresses fit no vector") {
  const auto a = sorted_tags(3001, 500, 0), b = sorted_tags(2000, 500, 1u << 20);
  std::vector<tagged<int>> wanted(5001);
  std::merge(a.begin(), a.end(), b.begin(), b.end(), wanted.begin(), by_key{});
  std::vector<std::uint32_t> words(2 * 3001 + 1);
  std::memcpy(words.data() + 1, a.data(), 3001 * sizeof a[0]);
  const auto in_a = where::put(words);
  const auto in_b = where::put(b);
  auto out = where::put(std::vector<std::uint32_t>(2 * 5001 + 1));
  const auto* first = reinterpret_cast<const tagged<int>*>(in_a.data() + 1);
  pmpp::merge<tiny>(typename where::policy{}, first, first + 3001, in_b.begin(), in_b.end(),
                    reinterpret_cast<tagged<int>*>(out.data() + 1), by_key{});
  const auto got = where::get(out);
  CHECK(std::memcmp(got.data() + 1, wanted.data(), 5001 * sizeof wanted[0]) == 0);
}

TEST_ALL_PLACES("computed inputs, and outputs of another type") {
  const typename where::policy policy{};
  const pmpp::counting_iterator<std::int64_t> a(0), b(500);
  auto out = where::put(std::vector<std::int64_t>(9000));
  pmpp::merge<tiny>(policy, a, a + 5000, b, b + 4000, out);
  std::vector<std::int64_t> wanted(9000);
  std::merge(a, a + 5000, b, b + 4000, wanted.begin());
  CHECK(where::get(out) == wanted);
  const auto keys = sorted_numbers<int>(3000);
  auto wide = where::put(std::vector<double>(6000));
  const auto in = where::put(keys);
  pmpp::merge(policy, in, in, wide);
  std::vector<double> doubled;
  for (const int k : keys) doubled.insert(doubled.end(), 2, k);
  CHECK(where::get(wide) == doubled);
  // Values that are computed: an argmerge.
  auto keys_out = where::put(std::vector<int>(6000));
  auto from = where::put(std::vector<std::int64_t>(6000));
  const pmpp::counting_iterator<std::int64_t> one(0), two(3000);
  pmpp::merge_by_key<tiny>(policy, in, one, in, two, keys_out, from);
  const auto source = where::get(from);
  for (std::size_t i = 0; i + 1 < source.size(); ++i)
    if (doubled[i] == doubled[i + 1]) CHECK(source[i] < source[i + 1]);
}

enum class calls { both, elements, by_key };

/// Merges elements of a and b, which become a's, and of keys with values of other types; or one of these.
template <class where, class A, class B, calls Which, class Comp = pmpp::less>
void check_types(std::int64_t count_a, std::int64_t count_b, Comp comp = {}) {
  const typename where::policy policy;
  const auto a = sorted_numbers<A>(count_a);
  const auto b = sorted_numbers<B>(count_b);
  const std::size_t n = a.size() + b.size();
  std::vector<A> wanted(n);
  const std::vector<A> converted(b.begin(), b.end());
  std::merge(a.begin(), a.end(), converted.begin(), converted.end(), wanted.begin());
  const auto in_a = where::put(a);
  const auto in_b = where::put(b);
  if constexpr (Which != calls::by_key) {
    auto out = where::put(std::vector<A>(n));
    pmpp::merge(policy, in_a, in_b, out, comp);
    CHECK(where::get(out) == wanted);
  }
  if constexpr (Which != calls::elements) {
    std::vector<float> values_a(a.size());
    std::vector<short> values_b(b.size());
    std::iota(values_a.begin(), values_a.end(), 0.0f);
    std::iota(values_b.begin(), values_b.end(), short(0));
    auto keys_out = where::put(std::vector<A>(n));
    auto values_out = where::put(std::vector<double>(n));
    pmpp::merge_by_key(policy, in_a, where::input(values_a), in_b, where::input(values_b), keys_out, values_out, comp);
    CHECK(where::get(keys_out) == wanted);
    const auto values = where::get(values_out);
    double next_a = 0, next_b = 0;  // values count up, of equal keys those of a come first
    bool fits = true;
    for (std::size_t i = 0; i < n; ++i) {
      const bool of_a = values[i] == next_a && next_a < double(a.size()) && a[std::size_t(next_a)] == wanted[i];
      fits &= of_a || (values[i] == next_b && converted[std::size_t(next_b)] == wanted[i]);
      (of_a ? next_a : next_b) += 1;
    }
    CHECK(fits);
  }
}

TEST_ALL_PLACES("elements of b become those of a: other widths, whole numbers and not") {
  check_types<where, int, short, calls::both>(1, 1000);
  check_types<where, int, short, calls::both>(40000, 20000);
  check_types<where, double, float, calls::elements>(999, 3000);
  check_types<where, short, int, calls::by_key>(3000, 999);
}

struct masked_less {  // not 1 where it holds
  template <class T>
  PMPP_HOST_DEVICE unsigned operator()(const T& x, const T& y) const {
    return (x < y ? 0x50u : 0u) & 0x40u;
  }
};
struct answer {
  bool holds;
  PMPP_HOST_DEVICE explicit operator bool() const { return holds; }
};
struct answering_less {
  template <class T>
  PMPP_HOST_DEVICE answer operator()(const T& x, const T& y) const {
    return {x < y};
  }
};

TEST_ALL_PLACES("a comparator may return what converts to bool") {
  check_types<where, int, int, calls::elements>(3000, 2000, masked_less{});
  check_types<where, int, int, calls::by_key>(3000, 2000, answering_less{});
}

TEST_ALL_PLACES("a vector's neighbours in a do not reach b, which moves one by one") {
  const typename where::policy policy;
  const auto a = sorted_numbers<int>(40000);
  std::vector<int> b(30000), wanted(70000);
  std::iota(b.begin(), b.end(), -100);
  std::merge(a.begin(), a.end(), b.begin(), b.end(), wanted.begin());
  auto out = where::put(std::vector<int>(wanted.size()));
  const pmpp::counting_iterator<int> first(-100);
  pmpp::merge(policy, where::input(a), pmpp::subrange{first, first + 30000}, out);
  CHECK(where::get(out) == wanted);
}

TEST_ALL_PLACES("lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto a = sorted_numbers<int>(6000), b = sorted_numbers<int>(5000);
  const auto in_a = where::put(a), in_b = where::put(b);
  for (const std::int64_t n : test::some_of({0, 1, 999, 6000, 9000}))
    for (const std::int64_t m : {0, 7, 5000}) {
      const auto count_a = where::put(std::vector<std::int64_t>{n});
      const auto count_b = where::put(std::vector<unsigned>{static_cast<unsigned>(m)});
      std::vector<int> wanted(11000, -5);
      std::merge(a.begin(), a.begin() + std::min<std::int64_t>(n, 6000), b.begin(), b.begin() + m, wanted.begin());
      auto out = where::put(std::vector<int>(11000, -5));
      const auto end = pmpp::merge<tiny>(policy, in_a.begin(), pmpp::device_count{count_a.data(), 6000}, in_b.begin(),
                                         pmpp::device_count{count_b.data(), 5000}, out);
      CHECK(end == out.end());
      CHECK(where::get(out) == wanted);
      auto keys = where::put(std::vector<int>(11000, -5)), values = where::put(std::vector<int>(11000, -5));
      pmpp::merge_by_key<tiny>(policy, in_a.begin(), pmpp::device_count{count_a.data(), 6000}, in_a, in_b.begin(),
                               pmpp::device_count{count_b.data(), 5000}, in_b, keys, values);
      CHECK(where::get(values) == wanted);
      const auto wide_a = where::put(std::vector<double>(a.begin(), a.end())),
                 wide_b = where::put(std::vector<double>(b.begin(), b.end()));
      auto wide = where::put(std::vector<double>(11000, -5));
      pmpp::merge_by_key<tiny>(policy, in_a.begin(), pmpp::device_count{count_a.data(), 6000}, wide_a, in_b.begin(),
                               pmpp::device_count{count_b.data(), 5000}, wide_b, keys, wide);
      CHECK(where::get(wide) == std::vector<double>(wanted.begin(), wanted.end()));
    }
}

TEST_ALL_PLACES("NaN under less, and other contradictions: nothing outside is touched") {
  const typename where::policy policy{};
  auto a = test::random_values<std::uint32_t>(3000), b = test::random_values<std::uint32_t>(2100);
  auto out = where::put(std::vector<std::uint32_t>(5101, 4242u));
  std::iota(a.begin(), a.end(), 10000u);
  std::iota(b.begin(), b.end(), 20000u);
  pmpp::merge<pmpp::merge_tuning{.threads = 256, .bytes = 64}>(policy, where::input(a), where::input(b), out,
                                                               contradicting{});
  CHECK(where::get(out).back() == 4242u);
  pmpp::merge<tiny>(policy, where::input(a), where::input(b), out, contradicting{});
  CHECK(where::get(out).back() == 4242u);
  const std::vector<double> values_a(3000, 1.0), values_b(2100, 2.0);
  auto values = where::put(std::vector<double>(5101, 3.0));
  pmpp::merge_by_key<tiny>(policy, where::input(a), where::input(values_a), where::input(b), where::input(values_b),
                           out, values, contradicting{});
  CHECK(where::get(out).back() == 4242u);
  CHECK(where::get(values).back() == 3.0);
  std::vector<float> x(5000), y(4000);
  for (auto* v : {&x, &y})
    for (auto& f : *v) f = test::generator()() % 3 == 0 ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
  auto floats = where::put(std::vector<float>(9001, -7.0f));
  pmpp::merge<tiny>(policy, where::input(x), where::input(y), floats);
  const auto got = where::get(floats);
  CHECK(got.back() == -7.0f);
  CHECK(std::all_of(got.begin(), got.end() - 1, [](float f) { return f == 1.0f || std::isnan(f); }));
}

#if !PMPP_CUDA
TEST_CASE("blocks and threads in any order") {
  const auto a = sorted_tags(4001, 90, 0), b = sorted_tags(3000, 90, 1u << 20);
  const auto keys = sorted_numbers<std::uint32_t>(3000);
  test::for_each_order(6, [&](std::uint64_t) {
    check_merge<tiny, test::device_place>(a, b, by_key{});
    check_merge<pmpp::merge_tuning{}, test::device_place>(a, b, by_key{});
    check_by_key<tiny, test::device_place>(keys, keys, std::uint32_t(0));
  });
}
#endif

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const int* null = nullptr;
  const auto data = where::input(std::vector<int>(10, 1));
  auto out = where::put(std::vector<int>(20, 77));
  auto small = where::put(std::vector<int>(19, 77));
  int* const nowhere = nullptr;
  CHECK_THROWS_AS(pmpp::merge(policy, null, null + 5, data.begin(), data.end(), out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::merge(policy, data.begin(), data.end(), null, null + 5, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::merge(policy, data.end(), data.begin(), data.begin(), data.end(), out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::merge(policy, data, data, nowhere), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::merge(policy, data, data, small), std::length_error);
  CHECK_THROWS_AS(pmpp::merge_by_key<tiny>(policy, data, data, data, data, out, small), std::length_error);
  CHECK_THROWS_AS(pmpp::merge_by_key<tiny>(policy, data, data, data, data, small, out), std::length_error);
  CHECK_THROWS_AS(pmpp::merge_by_key<tiny>(policy, data, data, std::as_const(out), data, small, out),
                  std::length_error);
  CHECK_THROWS_AS(pmpp::merge_by_key<tiny>(policy, data, null, data, data, out, out), std::invalid_argument);
  CHECK(where::get(out) == std::vector<int>(20, 77));
  CHECK(where::get(small) == std::vector<int>(19, 77));
  CHECK(pmpp::merge(policy, null, null, null, null, nowhere) == nowhere);  // nothing may be null
  CHECK(pmpp::merge(policy, data, data, out) == out.end());                // the next call works
}
