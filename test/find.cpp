// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of find.hpp, on every policy: every question is answered as std does, for every size, place of the
// answer, element type and alignment; the first of several places is found, in every order of blocks; twins leave the answer
// in a value of any type; lengths that only the device knows; computed inputs; a predicate of what converts to bool; bad input
// throws and touches nothing; scratch is left as it was found.
#include <pmpp/find.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include <pmpp/core/iterator_adaptors.hpp>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/element_types.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

constexpr pmpp::find_tuning tiny{.threads = 64, .rows_in_flight = 2, .blocks_per_processor = 1};
// Elements that one sweep of the grid takes with this tuning, on a machine of 8 multiprocessors.
constexpr std::int64_t sweep = 8 * 64 * 2 * 4;

/// True for numbers of this remainder; gives 2 or 0, for what converts to bool is enough.
struct leaves {
  int divisor, rest;
  template <class T>
  PMPP_HOST_DEVICE int operator()(const T& x) const {
    return static_cast<int>(x) % divisor == rest ? 2 : 0;
  }
};
constexpr leaves is_seven{1 << 30, 7};
struct close_to {
  int width;
  PMPP_HOST_DEVICE bool operator()(int x, int y) const { return (x < y ? y - x : x - y) <= width; }
};
struct by_tens {
  PMPP_HOST_DEVICE bool operator()(std::int64_t x, std::int64_t y) const { return x / 10 < y / 10; }
};
/// Of some words, in order by the first.
template <int Words>
struct keyed {
  std::uint32_t number = 0, other[Words - 1] = {};
  keyed() = default;
  explicit keyed(std::uint32_t x) : number(x) {}
};
struct by_number {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x, const T& y) const {
    return x.number < y.number;
  }
};

template <class where>
std::int64_t into(auto f) {
  auto out = where::put(std::vector<std::uint32_t>(2, 77));
  f(out.begin());
  pmpp::synchronize(typename where::policy{});
  CHECK(where::get(out)[1] == 77);
  return where::get(out)[0];
}

}  // namespace

TEST_ALL_PLACES("the first place, wherever it is") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(sweep, 3 * sweep + 5)) {
    CAPTURE(n);
    std::vector<int> v(static_cast<std::size_t>(n), 3);
    for (const std::int64_t place : {std::int64_t(0), n / 3, n / 2, n - 2, n - 1}) {
      if (place < 0 || place >= n) continue;
      CAPTURE(place);
      std::vector<int> w = v;
      w[static_cast<std::size_t>(place)] = 7;
      for (std::int64_t later = place + 1; later < n; later += 1 + n / 5) w[static_cast<std::size_t>(later)] = 7;
      const auto x = where::input(w);
      CHECK(pmpp::find_if<test::tuned<where>(tiny)>(policy, x, is_seven) - x.begin() == place);
    }
    const auto x = where::input(v);
    CHECK(pmpp::find_if<test::tuned<where>(tiny)>(policy, x, is_seven) == x.end());
  }
}

TEST_ALL_PLACES("find_if and its kin") {
  const typename where::policy policy{};
  std::vector<int> v(static_cast<std::size_t>(test::up_to(20000)), 3);
  v[4001] = 7;
  v[5002] = 8;
  const auto x = where::input(v);
  const auto end = std::int64_t(v.size());
  CHECK(pmpp::find_if(policy, x, is_seven) - x.begin() == 4001);
  CHECK(pmpp::find_if(policy, x.begin() + 4002, x.end(), is_seven) == x.end());
  CHECK(pmpp::find_if_not(policy, x, leaves{1 << 30, 3}) - x.begin() == 4001);
  CHECK(pmpp::find(policy, x, 8) - x.begin() == 5002);
  CHECK(pmpp::find(policy, x, 9) - x.begin() == end);
  CHECK(pmpp::contains(policy, x, 8));
  CHECK(!pmpp::contains(policy, x, 9));
  CHECK(pmpp::any_of(policy, x, is_seven));
  CHECK(!pmpp::any_of(policy, x.begin(), x.begin() + 4001, is_seven));
  CHECK(!pmpp::none_of(policy, x, is_seven));
  CHECK(pmpp::none_of(policy, x.begin(), x.begin() + 4001, is_seven));
  CHECK(!pmpp::all_of(policy, x, leaves{1 << 30, 3}));
  CHECK(pmpp::all_of(policy, x.begin(), x.begin() + 4001, leaves{1 << 30, 3}));
  CHECK(pmpp::all_of(policy, x.begin(), x.begin(), is_seven));
  CHECK(pmpp::find_first_of(policy, x, where::input(std::vector<int>{9, 8, 7})) - x.begin() == 4001);
  CHECK(pmpp::find_first_of(policy, x, where::input(std::vector<int>{})) == x.end());
  CHECK(pmpp::find_first_of(policy, x, where::input(std::vector<int>{9}), close_to{1}) - x.begin() == 5002);
  const auto from = [&](auto value) { return into<where>(value); };
  CHECK(from([&](auto out) { pmpp::find_if_into(policy, x, out, is_seven); }) == 4001);
  CHECK(from([&](auto out) { pmpp::find_if_not_into(policy, x, out, leaves{1 << 30, 3}); }) == 4001);
  CHECK(from([&](auto out) { pmpp::find_into(policy, x, out, 9); }) == end);
  CHECK(from([&](auto out) { pmpp::contains_into(policy, x, out, 8); }) == 1);
  CHECK(from([&](auto out) { pmpp::any_of_into(policy, x.begin(), x.end(), out, is_seven); }) == 1);
  CHECK(from([&](auto out) { pmpp::none_of_into(policy, x, out, is_seven); }) == 0);
  CHECK(from([&](auto out) { pmpp::all_of_into(policy, x, out, is_seven); }) == 0);
  CHECK(from([&](auto out) { pmpp::find_first_of_into(policy, x, where::input(std::vector<int>{8}), out); }) == 5002);
}

TEST_ALL_PLACES("counts") {
  const typename where::policy policy{};
  const std::vector<int> v = test::random_values<int>(test::up_to(50000));
  const auto x = where::input(v);
  CHECK(pmpp::count(policy, x, 5) == std::count(v.begin(), v.end(), 5));
  CHECK(pmpp::count_if(policy, x, leaves{3, 1}) == std::count_if(v.begin(), v.end(), leaves{3, 1}));
  CHECK(pmpp::count_if(policy, x.begin() + 1, x.end(), leaves{3, 1}) ==
        std::count_if(v.begin() + 1, v.end(), leaves{3, 1}));
  CHECK(pmpp::count(policy, x.begin(), x.begin(), 5) == 0);
  CHECK(into<where>([&](auto out) { pmpp::count_into(policy, x, out, 5); }) == std::count(v.begin(), v.end(), 5));
  CHECK(into<where>([&](auto out) {
          pmpp::count_if_into(policy, x, out, leaves{3, 1});
        }) == std::count_if(v.begin(), v.end(), leaves{3, 1}));
}

TEST_ALL_PLACES("neighbours: adjacent_find, is_sorted_until, is_partitioned") {
  const typename where::policy policy{};
  for (const std::int64_t n : test::sizes(sweep, 2 * sweep + 5)) {
    CAPTURE(n);
    std::vector<int> v(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = static_cast<int>(i);
    const auto rising = where::input(v);
    CHECK(pmpp::is_sorted_until(policy, rising) == rising.end());
    CHECK(pmpp::adjacent_find(policy, rising) == rising.end());
    CHECK(pmpp::is_partitioned(policy, rising, leaves{1 << 30, 0}));
    for (const std::int64_t place : {std::int64_t(1), std::int64_t(4), n / 2, n - 1}) {
      if (place < 1 || place >= n) continue;
      CAPTURE(place);
      std::vector<int> w = v;
      w[static_cast<std::size_t>(place)] = w[static_cast<std::size_t>(place) - 1];
      const auto equals = where::input(w);
      CHECK(pmpp::adjacent_find(policy, equals) - equals.begin() == place - 1);
      w[static_cast<std::size_t>(place)] -= 1;
      const auto x = where::input(w);
      CHECK(pmpp::is_sorted_until(policy, x) - x.begin() == place);
      CHECK(pmpp::is_sorted_until(policy, x.begin() + place, x.end()) == x.end());
      CHECK(pmpp::is_partitioned(policy, x, leaves{1 << 30, v[static_cast<std::size_t>(place)]}));
      CHECK(pmpp::is_partitioned(policy, rising, leaves{1 << 30, v[static_cast<std::size_t>(place)]}) == false);
    }
  }
  const auto x = where::input(std::vector<int>{5, 8, 12, 40, 41, 30});
  CHECK(pmpp::adjacent_find(policy, x, close_to{1}) - x.begin() == 3);
  CHECK(pmpp::is_sorted_until(policy, x, by_tens{}) - x.begin() == 5);
  CHECK(into<where>([&](auto out) { pmpp::is_sorted_until_into(policy, x, out, by_tens{}); }) == 5);
  CHECK(into<where>([&](auto out) { pmpp::adjacent_find_into(policy, x, out, close_to{1}); }) == 3);
  CHECK(into<where>([&](auto out) { pmpp::is_partitioned_into(policy, x, out, leaves{1 << 30, 8}); }) == 0);
}

TEST_ALL_PLACES("two sequences: equal, mismatch, lexicographical_compare, includes") {
  const typename where::policy policy{};
  const auto n = static_cast<std::size_t>(test::up_to(30011));
  std::vector<int> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<int>(i / 3);  // sorted, each number three times
  const auto x = where::input(v);
  for (const std::size_t place : {std::size_t(0), std::size_t(5), n / 2, n - 1}) {
    CAPTURE(place);
    std::vector<int> w = v;
    w[place] += 1;
    const auto y = where::input(w);
    CHECK(!pmpp::equal(policy, x, y));
    CHECK(pmpp::mismatch(policy, x, y).first - x.begin() == std::int64_t(place));
    CHECK(pmpp::mismatch(policy, x, y).second - y.begin() == std::int64_t(place));
    CHECK(pmpp::lexicographical_compare(policy, x, y));
    CHECK(!pmpp::lexicographical_compare(policy, y, x));
    CHECK(pmpp::equal(policy, x, y, close_to{1}));
    std::sort(w.begin(), w.end());
    CHECK(pmpp::includes(policy, x, where::input(w)) == std::includes(v.begin(), v.end(), w.begin(), w.end()));
    CHECK(into<where>([&](auto out) { pmpp::equal_into(policy, x, y, out); }) == 0);
    CHECK(into<where>([&](auto out) { pmpp::mismatch_into(policy, x, y, out); }) == std::int64_t(place));
    CHECK(into<where>([&](auto out) { pmpp::lexicographical_compare_into(policy, x, y, out); }) == 1);
  }
  const auto y = where::input(v);
  CHECK(pmpp::equal(policy, x, y));
  CHECK(pmpp::mismatch(policy, x, y).first == x.end());
  CHECK(!pmpp::lexicographical_compare(policy, x, y));
  CHECK(!pmpp::equal(policy, x.begin(), x.end(), y.begin(), y.end() - 1));
  CHECK(!pmpp::equal(policy, x.begin(), x.end() - 1, y.begin(), y.end()));
  CHECK(pmpp::mismatch(policy, x.begin(), x.end() - 1, y.begin(), y.end()).first == x.end() - 1);
  CHECK(pmpp::lexicographical_compare(policy, x.begin(), x.end() - 1, y.begin(), y.end()));
  CHECK(!pmpp::lexicographical_compare(policy, x.begin(), x.end(), y.begin(), y.end() - 1));
  CHECK(pmpp::lexicographical_compare(policy, x.begin(), x.begin(), y.begin(), y.end()));
  CHECK(pmpp::includes(policy, x, where::input(std::vector<int>{3, 3, 3, 7})));
  CHECK(!pmpp::includes(policy, x, where::input(std::vector<int>{3, 3, 3, 3, 7})));
  CHECK(!pmpp::includes(policy, x, where::input(std::vector<int>{3, 1 << 29})));
  CHECK(pmpp::includes(policy, x, where::input(std::vector<int>{})));
  CHECK(!pmpp::includes(policy, where::input(std::vector<int>{}), x));
}

TEST_ALL_PLACES("includes, of repeated elements and of few and many") {
  const typename where::policy policy{};
  auto& random = test::generator();
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (int turn = 0; turn < test::turns(60); ++turn) {
    const std::int64_t n = below(std::int64_t(2) << below(17)),
                       m = below(std::min(n, std::int64_t(1) << below(15)) + 1), values = std::int64_t(1) << below(18),
                       lead = below(4);
    CAPTURE(turn);
    CAPTURE(n);
    CAPTURE(m);
    CAPTURE(values);
    std::vector<std::uint32_t> v(static_cast<std::size_t>(n));
    for (auto& x : v) x = static_cast<std::uint32_t>(below(values) * 2);
    std::vector<std::uint32_t> w = v;  // m of them, at random or neighbours
    if (turn % 2 == 0) std::shuffle(w.begin(), w.end(), random);
    w.resize(static_cast<std::size_t>(m));
    std::sort(v.begin(), v.end());
    std::sort(w.begin(), w.end());
    v.insert(v.begin(), static_cast<std::size_t>(lead), 0u);
    const auto x = where::input(v);
    const auto judge = [&](const std::vector<std::uint32_t>& s) {
      const auto y = where::input(s);
      CHECK(pmpp::includes<test::tuned<where>(tiny)>(policy, x.begin() + lead, x.end(), y.begin(), y.end()) ==
            std::includes(v.begin() + lead, v.end(), s.begin(), s.end()));
    };
    judge(w);
    if (m == 0) continue;
    std::vector<std::uint32_t> with_one = w;
    with_one[static_cast<std::size_t>(below(m))] += 1;  // that v has not
    std::sort(with_one.begin(), with_one.end());
    judge(with_one);
    std::vector<std::uint32_t> too_often = w;
    const std::uint32_t one = w[static_cast<std::size_t>(below(m))];
    const auto times = std::count(v.begin() + lead, v.end(), one) - std::count(w.begin(), w.end(), one);
    too_often.insert(std::lower_bound(too_often.begin(), too_often.end(), one), static_cast<std::size_t>(times), one);
    judge(too_often);  // as often as v has it
    too_often.insert(std::lower_bound(too_often.begin(), too_often.end(), one), one);
    judge(too_often);  // once more
  }
}

TEST_ALL_PLACES("includes: parts in shared memory, parts in memory, and from one to the other") {
  const typename where::policy policy{};
  auto& random = test::generator();
  // Elements of a in front of each of b, in stretches of parts: none, as many as a part of b, more than there is room for, and runs.
  const auto check = [&](auto type, auto comp, auto tuning, bool runs) {
    using T = typename decltype(type)::type;
    CAPTURE(sizeof(T));
    CAPTURE(runs);
    for (int turn = 0; turn < test::turns(8); ++turn) {
      std::vector<T> v, w;
      const std::size_t most = 9000 + random() % 300;
      for (std::uint32_t number = 0; w.size() < most && v.size() < 40000;) {
        const auto stretch = random() % 4;
        const std::uint32_t here = 100 + static_cast<std::uint32_t>(random() % 900);
        for (std::uint32_t i = 0; i < here; ++i) {
          const std::uint32_t more = stretch == 0 ? 0 : stretch == 1 ? 1 : stretch == 2 ? i % 40 : i % 3;
          for (std::uint32_t k = 0; k < more; ++k) v.push_back(static_cast<T>(number += runs && stretch == 3 ? 0 : 1));
          v.push_back(static_cast<T>(number += runs && i % 7 != 0 ? 0 : 1));
          w.push_back(v.back());
        }
      }
      const std::size_t lead_v = random() % 4, lead_w = random() % 4;
      v.insert(v.begin(), lead_v, T{});
      w.insert(w.begin(), lead_w, T{});
      const auto judge = [&](const std::vector<T>& a, const std::vector<T>& b) {
        const auto x = where::input(a), y = where::input(b);
        CHECK(pmpp::includes<test::tuned<where>(decltype(tuning)::value)>(policy, x.begin() + lead_v, x.end(),
                                                                          y.begin() + lead_w, y.end(), comp) ==
              std::includes(a.begin() + std::ptrdiff_t(lead_v), a.end(), b.begin() + std::ptrdiff_t(lead_w), b.end(),
                            comp));
      };
      judge(v, w);
      std::vector<T> fewer = v;
      fewer.erase(fewer.begin() + std::ptrdiff_t(lead_v + random() % (v.size() - lead_v)));
      judge(fewer, w);  // one less, which b may have
      std::vector<T> more = w;
      const auto at = lead_w + random() % (w.size() - lead_w);
      more.insert(more.begin() + std::ptrdiff_t(at), w[at]);
      judge(v, more);  // one once more than before, which a may have
      fewer = v;
      fewer.resize(fewer.size() - random() % 300);
      judge(fewer, w);
    }
  };
  const std::integral_constant<pmpp::find_tuning, pmpp::find_tuning{}> usual;
  const std::integral_constant<pmpp::find_tuning, tiny> small;
  check(std::type_identity<std::uint32_t>{}, pmpp::less{}, usual, false);
  check(std::type_identity<std::uint32_t>{}, pmpp::less{}, usual, true);
  check(std::type_identity<std::int64_t>{}, by_tens{}, small, true);
  check(std::type_identity<keyed<3>>{}, by_number{}, small, false);
  check(std::type_identity<keyed<3>>{}, by_number{}, small, true);
  check(std::type_identity<keyed<5>>{}, by_number{}, small, true);
}

TEST_ALL_PLACES("includes, of computed elements and of one in all") {
  const typename where::policy policy{};
  const std::int64_t n = test::up_to(20011);
  const pmpp::counting_iterator<int> numbers(0);
  const auto x = where::input(std::vector<int>(static_cast<std::size_t>(n), 7));
  const auto y = where::input(std::vector<int>(static_cast<std::size_t>(n - 3), 7));
  CHECK(pmpp::includes(policy, numbers, numbers + n, numbers + 5, numbers + n));
  CHECK(!pmpp::includes(policy, numbers, numbers + n, numbers + 5, numbers + n + 1));
  CHECK(pmpp::includes(policy, x, y));  // runs longer than any part
  CHECK(pmpp::includes(policy, x, x));
  CHECK(!pmpp::includes(policy, y, x));
  CHECK(!pmpp::includes(policy, numbers, numbers + n, y.begin(), y.end()));
  CHECK(pmpp::includes(policy, numbers, numbers + n, y.begin(), y.begin() + 1));
}

TEST_ALL_PLACES("find_first_of, of sets of every size") {
  const typename where::policy policy{};
  auto& random = test::generator();
  const auto of_type = [&]<class T>(std::type_identity<T>) {
    CAPTURE(sizeof(T));
    for (const std::int64_t n : {0, 1, 15, 33, 515, 5000, 40013})
      for (const std::int64_t m : {0, 1, 7, 40}) {
        CAPTURE(n);
        CAPTURE(m);
        std::vector<T> v, set;
        for (std::int64_t i = 0; i < n; ++i) v.push_back(test::element<T>(static_cast<int>(50 + i % 70), 1));
        for (std::int64_t i = 0; i < m; ++i) set.push_back(test::element<T>(static_cast<int>(i), 1));
        for (int hits = 0; hits < 3 && hits < n && m > 0; ++hits)
          v[static_cast<std::size_t>(random() % v.size())] = set[static_cast<std::size_t>(random() % set.size())];
        const auto lead = static_cast<std::ptrdiff_t>(random() % 5);
        v.insert(v.begin(), static_cast<std::size_t>(lead), test::element<T>(0, 1));
        const auto x = where::input(v), y = where::input(set);
        CHECK(pmpp::find_first_of<test::tuned<where>(tiny)>(policy, x.begin() + lead, x.end(), y) - x.begin() ==
              std::find_first_of(v.begin() + lead, v.end(), set.begin(), set.end()) - v.begin());
      }
  };
  of_type(std::type_identity<std::uint8_t>{});
  of_type(std::type_identity<std::uint32_t>{});
  of_type(std::type_identity<test::record<12, 4>>{});
}

TEST_ALL_PLACES("what is known without a search") {
  const typename where::policy policy{};
  const auto x = where::input(std::vector<int>{7});
  const auto none = where::input(std::vector<int>{});
  CHECK(pmpp::find_if(policy, none, is_seven) == none.end());
  CHECK(pmpp::find_if(policy, x, is_seven) == x.begin());
  CHECK(pmpp::all_of(policy, none, is_seven));
  CHECK(!pmpp::any_of(policy, none, is_seven));
  CHECK(pmpp::is_sorted_until(policy, x) == x.end());
  CHECK(pmpp::adjacent_find(policy, x) == x.end());
  CHECK(pmpp::is_partitioned(policy, x, is_seven));
  CHECK(pmpp::equal(policy, none, none));
  CHECK(!pmpp::equal(policy, none, x));
  CHECK(pmpp::mismatch(policy, none, x).second == x.begin());
  CHECK(pmpp::lexicographical_compare(policy, none, x));
  CHECK(!pmpp::lexicographical_compare(policy, x, none));
  CHECK(into<where>([&](auto out) { pmpp::is_sorted_until_into(policy, x, out); }) == 1);
  CHECK(into<where>([&](auto out) { pmpp::any_of_into(policy, none, out, is_seven); }) == 0);
}

TEST_ALL_PLACES("elements of every size and alignment") {
  const typename where::policy policy{};
  const auto of_type = [&]<class T>(std::type_identity<T>) {
    CAPTURE(sizeof(T));
    std::vector<T> v;
    for (int i = 0; i < 3000; ++i) v.push_back(test::element<T>(i % 40, 1));
    const T sought = test::element<T>(45, 1);
    v[1777] = v[2001] = sought;
    const auto x = where::input(v);
    for (int lead = 0; lead < 5; ++lead)
      CHECK(pmpp::find<test::tuned<where>(tiny)>(policy, x.begin() + lead, x.end(), sought) - x.begin() == 1777);
    CHECK(pmpp::count(policy, x, sought) == 2);
  };
  of_type(std::type_identity<std::uint8_t>{});
  of_type(std::type_identity<test::record<3, 1>>{});
  of_type(std::type_identity<test::record<12, 4>>{});
  of_type(std::type_identity<test::record<40, 8>>{});
}

TEST_CASE("lengths on the device, computed inputs") {
  const std::vector<int> v{1, 2, 3, 7, 5, 7};
  const pmpp::device_buffer<int> x(v);
  const auto found = [&](int n) {
    const pmpp::device_buffer<int> count(std::vector<int>{n});
    return pmpp::find_if(device, x.begin(), pmpp::device_count{count.data(), 6}, is_seven) - x.begin();
  };
  CHECK(found(6) == 3);
  CHECK(found(4) == 3);
  CHECK(found(3) == 3);
  CHECK(found(2) == 2);  // the end
  CHECK(found(0) == 0);
  const pmpp::device_buffer<int> three(std::vector<int>{3}), four(std::vector<int>{4});
  const pmpp::device_count n3{three.data(), 6}, n4{four.data(), 6};
  CHECK(!pmpp::equal(device, x.begin(), n3, x.begin(), n4));
  CHECK(pmpp::equal(device, x.begin(), n3, x.begin(), n3));
  CHECK(pmpp::lexicographical_compare(device, x.begin(), n3, x.begin(), n4));
  CHECK(pmpp::is_sorted_until(device, x.begin(), n4) - x.begin() == 4);
  CHECK(pmpp::count_if(device, x.begin(), n4, is_seven) == 1);
  CHECK(pmpp::none_of(device, x.begin(), n3, is_seven));
  const pmpp::counting_iterator<std::int64_t> i(0);
  CHECK(*pmpp::find(device, i, i + 100000, 77777) == 77777);
}

TEST_CASE("questions: a graph of twins, replayed on other data") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  const std::vector<int> v(9000, 3);
  pmpp::device_buffer<int> x(v), y(v), out(5, -1);
  const test::repeated again(stream, [&] {
    pmpp::find_into<tiny>(policy, x, out.begin(), 7);
    pmpp::count_into(policy, x, out.begin() + 1, 7);
    pmpp::equal_into<tiny>(policy, x, y, out.begin() + 2);
    pmpp::all_of_into<tiny>(policy, x, out.begin() + 3, leaves{2, 1});
    pmpp::is_sorted_until_into<tiny>(policy, x, out.begin() + 4);
  });
  CHECK(pmpp::to_host(out) == std::vector<int>{9000, 0, 1, 1, 9000});
  auto w = v;
  w[8000] = w[8999] = 7;
  pmpp::copy(stream, w, x);
  again();
  CHECK(pmpp::to_host(out) == std::vector<int>{8000, 2, 0, 1, 8001});
  w[8500] = 6;
  pmpp::copy(stream, w, x);
  pmpp::copy(stream, w, y);
  again();
  CHECK(pmpp::to_host(out) == std::vector<int>{8000, 2, 1, 0, 8001});
}

#if PMPP_CUDA
TEST_CASE("questions past 2^31") {
  const pmpp::counting_iterator<std::int64_t> i(0);
  const std::int64_t n = (std::int64_t(1) << 31) + 12345;
  CHECK(pmpp::find(device, i, i + n, n - 3) - i == n - 3);
  CHECK(pmpp::find(device, i, i + n, std::int64_t(-1)) - i == n);
  CHECK(pmpp::is_sorted_until(device, i, i + n) - i == n);
}
#endif

#if PMPP_WITH_EMULATOR
TEST_CASE("every order of blocks and threads finds the first") {
  std::vector<int> v(6000, 3);
  for (std::size_t i = 2345; i < v.size(); i += 3) v[i] = 7;
  const pmpp::device_buffer<int> x(v);
  pmpp::workspace memory;
  test::for_each_order(3, [&](std::uint64_t) {
    CHECK(pmpp::find_if<tiny>(pmpp::emulated.with(memory), x, is_seven) - x.begin() == 2345);
  });
}
#endif

TEST_ALL_PLACES("bad input throws and touches nothing") {
  const typename where::policy policy{};
  const auto x = where::input(std::vector<int>{1, 2, 3});
  auto out = where::put(std::vector<int>{5});
  const int* const null = nullptr;
  CHECK_THROWS_WITH_AS((void)pmpp::find(policy, null, null + 3, 1),
                       doctest::Contains("find: the input is null, but has 3"), std::invalid_argument);
  CHECK_THROWS_WITH_AS((void)pmpp::find(policy, x.end(), x.begin(), 1), doctest::Contains("last - first is -3"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::find_if_into(policy, x, std::span(out.data(), 0), is_seven),
                       doctest::Contains("out has room for 0 elements, needs 1"), std::length_error);
  CHECK_THROWS_AS(pmpp::count_into(policy, x, std::span(out.data(), 0), 1), std::length_error);
  CHECK_THROWS_AS((void)pmpp::equal(policy, x.begin(), x.end(), x.end(), x.begin()), std::invalid_argument);
  pmpp::synchronize(policy);
  CHECK(where::get(out)[0] == 5);
}
