// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of sets.hpp, on every policy: results are those of std's set operations, equals of a and of b told apart,
// and nothing after them is touched, for every size of both, few and many distinct values, long runs of equals, a comparator that
// sees part of an element, elements of every width; values stay with their keys; lengths that only the device knows; bad input throws.
#include <pmpp/sets.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

/// `key` decides; `tag` tells equals apart.
struct tagged {
  int key, tag;
  friend bool operator==(const tagged&, const tagged&) = default;
};
struct by_key {
  PMPP_HOST_DEVICE bool operator()(const tagged& x, const tagged& y) const { return x.key < y.key; }
};

std::vector<tagged> sorted_tags(std::int64_t n, int keys, int first_tag) {
  std::vector<tagged> v(static_cast<std::size_t>(n));
  for (auto& x : v) x = {static_cast<int>(test::generator()() % static_cast<unsigned>(keys)), 0};
  std::sort(v.begin(), v.end(), by_key{});
  for (auto& x : v) x.tag = first_tag++;
  return v;
}

struct differs {
  PMPP_HOST_DEVICE bool operator()(float x, float y) const { return x != y; }
};

template <class where>
void check(const std::vector<tagged>& a, const std::vector<tagged>& b) {
  const typename where::policy policy{};
  CAPTURE(a.size());
  CAPTURE(b.size());
  const auto x = where::input(a), y = where::input(b);
  const std::size_t n = a.size() + b.size();
  const auto compare = [&](auto ours, auto wanted_of) {
    std::vector<tagged> wanted(n + 1, tagged{-1, -1});
    const auto kept = wanted_of(wanted.begin()) - wanted.begin();
    auto out = where::put(std::vector<tagged>(n + 1, tagged{-1, -1}));
    CHECK(ours(out) - out.begin() == kept);
    CHECK(where::get(out) == wanted);
  };
  const by_key by{};
  compare([&](auto& out) { return pmpp::set_union(policy, x, y, out, by); },
          [&](auto out) { return std::set_union(a.begin(), a.end(), b.begin(), b.end(), out, by); });
  compare([&](auto& out) { return pmpp::set_intersection(policy, x, y, out, by); },
          [&](auto out) { return std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), out, by); });
  compare([&](auto& out) { return pmpp::set_difference(policy, x, y, out, by); },
          [&](auto out) { return std::set_difference(a.begin(), a.end(), b.begin(), b.end(), out, by); });
  compare([&](auto& out) { return pmpp::set_symmetric_difference(policy, x, y, out, by); },
          [&](auto out) { return std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), out, by); });
}

}  // namespace

TEST_ALL_PLACES("sets") {
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 33, 700, 20011}))
    for (const std::int64_t m : test::some_of<std::int64_t>({0, 1, 511, 512, 9000}))
      for (const int keys : {3, 500, 1 << 20}) check<where>(sorted_tags(n, keys, 0), sorted_tags(m, keys, 1 << 20));
}

/// The same with more behind it: elements that are read from memory along the walk, some or one at a time.
template <int Words>
struct wide {
  tagged what;
  int more[Words];
  friend bool operator==(const wide&, const wide&) = default;
};
struct by_key_of_wide {
  template <int Words>
  PMPP_HOST_DEVICE bool operator()(const wide<Words>& x, const wide<Words>& y) const {
    return x.what.key < y.what.key;
  }
};
template <class where, int Words, bool Either>
void check_wide() {
  const typename where::policy policy{};
  const auto widen = [](const std::vector<tagged>& v) {
    std::vector<wide<Words>> w;
    for (const tagged& x : v) {
      w.push_back(wide<Words>{x, {}});
      for (int k = 0; k < Words; ++k) w.back().more[k] = x.tag + k;
    }
    return w;
  };
  for (const int keys : {3, 900}) {
    CAPTURE(keys);
    const auto a = widen(sorted_tags(test::up_to(3000), keys, 0)), b = widen(sorted_tags(1500, keys, 1 << 20));
    const auto x = where::input(a), y = where::input(b);
    const std::vector<wide<Words>> empty(a.size() + b.size());
    auto out = where::put(empty);
    auto wanted = empty;
    const by_key_of_wide by{};
    if constexpr (Either) {
      std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), wanted.begin(), by);
      pmpp::set_symmetric_difference(policy, x, y, out, by);
    } else {
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), wanted.begin(), by);
      pmpp::set_union(policy, x, y, out, by);
    }
    CHECK((where::get(out) == wanted));
  }
}
TEST_ALL_PLACES("sets of wide elements") {
  check_wide<where, 2, false>();
  check_wide<where, 6, true>();
  check_wide<where, 9, false>();
}

/// Numbers, which come to shared memory in words of 16 bytes.
template <class where, class T>
void check_numbers(std::int64_t n, std::int64_t m, int range) {
  const typename where::policy policy{};
  const auto numbers = [&](std::int64_t count) {
    std::vector<T> v;
    for (std::int64_t i = 0; i < count; ++i)
      v.push_back(static_cast<T>(test::generator()() % static_cast<unsigned>(range)));
    std::sort(v.begin(), v.end());
    return v;
  };
  const std::vector<T> a = numbers(n), b = numbers(m);
  const auto x = where::input(a), y = where::input(b);
  for (const std::int64_t lead : {0, 1, 3, 14}) {  // elements of a and of b after a boundary: each differently
    const std::int64_t of_a = std::min(lead, n), of_b = std::min(lead / 2, m);
    CAPTURE(of_a);
    CAPTURE(of_b);
    std::vector<T> wanted(static_cast<std::size_t>(n + m + 1), T(-1));
    auto out = where::put(wanted);
    std::set_symmetric_difference(a.begin() + of_a, a.end(), b.begin() + of_b, b.end(), wanted.begin());
    pmpp::set_symmetric_difference(policy, x.begin() + of_a, x.end(), y.begin() + of_b, y.end(), out);
    CHECK(where::get(out) == wanted);
  }
}
TEST_ALL_PLACES("sets of numbers, wherever they begin") {
  for (const std::int64_t n : test::some_of<std::int64_t>({0, 1, 5000})) {
    CAPTURE(n);
    check_numbers<where, unsigned char>(n, 3000, 200);
    check_numbers<where, float>(n, 6000, 3000);
    check_numbers<where, std::int64_t>(n, 4000, 1 << 30);
  }
}

TEST_ALL_PLACES("sets: a comparator that contradicts itself writes nothing else") {
  const typename where::policy policy{};
  std::vector<float> a, b;
  for (int i = 0; i < 3000; ++i) {
    a.push_back(static_cast<float>(test::generator()() % 50));
    b.push_back(static_cast<float>(test::generator()() % 50));
  }
  const auto x = where::input(a), y = where::input(b);
  auto out = where::put(std::vector<float>(6001, -1));
  const auto end = pmpp::set_union(policy, x, y, out, differs{});
  CHECK(end - out.begin() <= 6000);
  CHECK(where::get(out)[6000] == -1);
}

TEST_ALL_PLACES("sets of keys with values") {
  const typename where::policy policy{};
  const auto ka = where::input(std::vector<int>{1, 2, 2, 5}), kb = where::input(std::vector<int>{2, 3, 5, 5});
  const auto va = where::input(std::vector<char>{'a', 'b', 'c', 'd'}),
             vb = where::input(std::vector<char>{'A', 'B', 'C', 'D'});
  auto keys = where::put(std::vector<int>(8, -1));
  auto values = where::put(std::vector<char>(8, '-'));
  const auto is = [&](std::int64_t count, const std::vector<int>& k, const std::vector<char>& v) {
    CHECK(count == std::int64_t(k.size()));
    auto got_keys = where::get(keys);
    auto got_values = where::get(values);
    got_keys.resize(k.size());
    got_values.resize(v.size());
    CHECK(got_keys == k);
    CHECK(got_values == v);
  };
  is(pmpp::set_union_by_key(policy, ka, va, kb, vb, keys, values).first - keys.begin(), {1, 2, 2, 3, 5, 5},
     {'a', 'b', 'c', 'B', 'd', 'D'});
  is(pmpp::set_intersection_by_key(policy, ka, va, kb, vb, keys, values).first - keys.begin(), {2, 5}, {'b', 'd'});
  is(pmpp::set_difference_by_key(policy, ka, va, kb, vb, keys, values).first - keys.begin(), {1, 2}, {'a', 'c'});
  is(pmpp::set_symmetric_difference_by_key(policy, ka, va, kb, vb, keys, values).second - values.begin(), {1, 2, 3, 5},
     {'a', 'c', 'B', 'D'});
}

TEST_CASE("sets: lengths on the device, twins") {
  const pmpp::device_buffer<int> n(std::vector<int>{3}), a(std::vector<int>{1, 2, 4, 9, 9}), b(std::vector<int>{2, 9});
  pmpp::device_buffer<int> out(7, -1), count(1);
  const pmpp::device_count first_three{n.data(), 5};
  pmpp::set_union_into(device, a.begin(), first_three, b.begin(), b.end(), out, count);
  CHECK(pmpp::to_host(count)[0] == 4);
  CHECK(pmpp::to_host(out) == std::vector<int>{1, 2, 4, 9, -1, -1, -1});
  pmpp::set_difference_into(device, a, b, out, count);
  CHECK(pmpp::to_host(count)[0] == 3);
  CHECK(pmpp::to_host(out) == std::vector<int>{1, 4, 9, 9, -1, -1, -1});
}

TEST_CASE("sets: a graph of twins, replayed on other data") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  const std::int64_t n = 3000, m = 2000;
  pmpp::device_buffer<int> a(n, 0), b(m, 0), va(n), vb(m), keys(n + m), values(n + m), out(n + m), counts(2);
  pmpp::iota(policy, va, 0);
  pmpp::iota(policy, vb, 100000);
  const test::repeated again(stream, [&] {
    pmpp::set_symmetric_difference_into(policy, a, b, out, counts.begin());
    pmpp::set_union_by_key_into(policy, a, va, b, vb, keys, values, counts.begin() + 1);
  });
  for (const int distinct : {10, 100000}) {
    const auto x = sorted_tags(n, distinct, 0), y = sorted_tags(m, distinct, 100000);
    std::vector<int> keys_of_a, keys_of_b;
    for (const tagged& t : x) keys_of_a.push_back(t.key);
    for (const tagged& t : y) keys_of_b.push_back(t.key);
    pmpp::copy(stream, keys_of_a, a);
    pmpp::copy(stream, keys_of_b, b);
    again();
    std::vector<int> wanted;
    std::set_symmetric_difference(keys_of_a.begin(), keys_of_a.end(), keys_of_b.begin(), keys_of_b.end(),
                                  std::back_inserter(wanted));
    std::vector<tagged> both;
    std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both), by_key{});
    CHECK(pmpp::to_host(counts) == std::vector<int>{int(wanted.size()), int(both.size())});
    auto got = pmpp::to_host(out);
    got.resize(wanted.size());
    CHECK(got == wanted);
    const auto got_keys = pmpp::to_host(keys), got_values = pmpp::to_host(values);
    for (std::size_t i = 0; i < both.size(); ++i)
      if (tagged{got_keys[i], got_values[i]} != both[i]) FAIL("element " << i);
  }
  pmpp::device_buffer<int> more(n + m), others(n + m);
  const auto counted = [&](auto f) {
    f();
    return pmpp::to_host(counts)[0];
  };
  const auto x = pmpp::to_host(a), y = pmpp::to_host(b);
  std::vector<int> wanted;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(wanted));
  CHECK(counted([&] { pmpp::set_intersection_by_key_into(device, a, va, b, vb, more, others, counts); }) ==
        int(wanted.size()));
  CHECK(counted([&] { pmpp::set_difference_by_key_into(device, a, va, b, vb, more, others, counts); }) ==
        int(n) - int(wanted.size()));
  CHECK(counted([&] { pmpp::set_symmetric_difference_by_key_into(device, a, va, b, vb, more, others, counts); }) ==
        int(n + m) - 2 * int(wanted.size()));
}

TEST_ALL_PLACES("sets: bad input throws and touches nothing") {
  const typename where::policy policy{};
  const auto three = sorted_tags(3, 10, 0);
  const by_key by{};
  auto x = where::put(three), y = where::put(three);
  CHECK_THROWS_WITH_AS(pmpp::set_union(policy, x, y, x, by), doctest::Contains("set_union: out overlaps an input"),
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::set_union(policy, x.end(), x.begin(), y.begin(), y.end(), y.begin(), by),
                  std::invalid_argument);
  tagged* const null = nullptr;
  CHECK_THROWS_WITH_AS(pmpp::set_difference(policy, x, y, null, by), doctest::Contains("out is null"),
                       std::invalid_argument);
  pmpp::synchronize(policy);
  CHECK(where::get(x) == three);
}
