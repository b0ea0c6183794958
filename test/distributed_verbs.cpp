// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of the algorithms of distributed/ whose result depends on what neighbours have: merges, selections, runs,
// questions, top_k and bins between levels, on 1, 2, 3, 5, 7 and 8 ranks, however elements lie on them, of few, equal, skewed and random
// keys and NaN, give what a loop over the whole gives: runs span any number of ranks, operands stay in order, equals too; the result is
// in even blocks, or stays where it was made; bad input throws before anything runs.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include <doctest/doctest.h>

#include <pmpp/distributed/by_key.hpp>
#include <pmpp/distributed/find.hpp>
#include <pmpp/distributed/histogram.hpp>
#include <pmpp/distributed/merge.hpp>
#include <pmpp/distributed/select.hpp>
#include <pmpp/distributed/top_k.hpp>

#include "support/distributed.hpp"
#include "support/monoids.hpp"

namespace {

constexpr std::int64_t sizes[] = {0, 1, 7, 300, 3000};
/// How many different keys there are: all equal, runs that span ranks, few equals.
constexpr int varieties[] = {1, 3, 40, 100000};

struct is_even {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 2 == 0; }
};
/// What stability is seen by: only the key's last digit counts.
struct by_digit {
  PMPP_HOST_DEVICE bool operator()(int a, int b) const { return a % 100 < b % 100; }
};

/// check(gpus, keys, layout, random) for numbers of ranks, sizes and some varieties; the keys are in no order.
template <class Check>
void everywhere(Check check) {
  std::mt19937_64 random(test::seed());
  for (const int p : test::rank_counts) {
    const auto gpus = test::ranks(p);
    for (const std::int64_t n : sizes)
      for (const int variety : varieties) {
        if (n < 300 ? variety != 3 : random() % 2 == 0) continue;
        const test::layout how = test::layouts[random() % 4];
        std::vector<int> keys(static_cast<std::size_t>(n));
        for (int& key : keys) {
          key = static_cast<int>(random() % std::uint64_t(variety));
          if (variety == 40 && random() % 10 != 0) key = 17;  // skewed
        }
        CAPTURE(p);
        CAPTURE(n);
        CAPTURE(variety);
        CAPTURE(int(how));
        check(gpus, keys, how, random);
      }
  }
}

template <class T>
bool has_sizes(const pmpp::distributed_buffer<T>& x, const std::vector<std::int64_t>& expected) {
  for (std::size_t r = 0; r < expected.size(); ++r)
    if (x.size_of(static_cast<int>(r)) != expected[r]) return false;
  return true;
}

}  // namespace

TEST_CASE("merge") {
  everywhere([](const auto& gpus, std::vector<int> a, test::layout how, auto& random) {
    std::vector<int> b(random() % 3 == 0 ? a.size() / 7 : a.size());
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = a[i] + 1000000;  // the same digits, and still another element
    std::stable_sort(a.begin(), a.end(), by_digit{});
    std::stable_sort(b.begin(), b.end(), by_digit{});
    const auto x = test::put(gpus, a, how, random), y = test::put(gpus, b, test::layouts[random() % 4], random);
    std::vector<int> expected(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin(), by_digit{});
    const auto merged = pmpp::merge(gpus, x, y, by_digit{});
    CHECK(pmpp::to_host(gpus, merged) == expected);
    CHECK(test::is_balanced(merged, gpus.size()));
    CHECK(pmpp::to_host(gpus, x) == a);
  });
}

TEST_CASE("merge_by_key: numbers, NaN and zeros, descending") {
  const auto precedes = [](float a, float b) { return a > b || (!std::isnan(a) && std::isnan(b)); };
  everywhere([&](const auto& gpus, const std::vector<int>& v, test::layout how, auto& random) {
    std::vector<float> a, b;
    for (const int x : v) {
      const float specials[] = {NAN, -0.0f, 0.0f, INFINITY, float(x)};
      (random() % 3 == 0 ? b : a).push_back(specials[std::min<std::size_t>(random() % 10, 4)]);
    }
    std::stable_sort(a.begin(), a.end(), precedes);
    std::stable_sort(b.begin(), b.end(), precedes);
    std::vector<int> places_a(a.size()), places_b(b.size());
    std::iota(places_a.begin(), places_a.end(), 0);
    std::iota(places_b.begin(), places_b.end(), 1000000);
    const auto x = test::put(gpus, a, how, random), y = test::put(gpus, b, how, random);
    const auto values_x = test::put_like(gpus, x, places_a), values_y = test::put_like(gpus, y, places_b);

    std::vector<std::size_t> order(v.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    const auto key = [&](std::size_t i) { return i < a.size() ? a[i] : b[i - a.size()]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return precedes(key(i), key(j)); });
    std::vector<int> expected;
    for (const std::size_t i : order) expected.push_back(static_cast<int>(i < a.size() ? i : 1000000 + (i - a.size())));
    const auto [keys, places] = pmpp::merge_by_key(gpus, x, values_x, y, values_y, pmpp::greater{});
    CHECK(pmpp::to_host(gpus, places) == expected);
    CHECK(pmpp::to_host(gpus, keys).size() == v.size());
    CHECK(test::is_balanced(keys, gpus.size()));
  });
}

TEST_CASE("unique_copy") {
  everywhere([](const auto& gpus, const std::vector<int>& v, test::layout how, auto& random) {
    const auto x = test::put(gpus, v, how, random);
    std::vector<int> expected;
    std::unique_copy(v.begin(), v.end(), std::back_inserter(expected));
    const auto even = pmpp::unique_copy(gpus, x);
    CHECK(pmpp::to_host(gpus, even) == expected);
    CHECK(test::is_balanced(even, gpus.size()));
    const auto in_place = pmpp::unique_copy(gpus, x, pmpp::equal_to{}, pmpp::result_blocks::in_place);
    CHECK(pmpp::to_host(gpus, in_place) == expected);
    std::vector<std::int64_t> heads(static_cast<std::size_t>(gpus.size()));
    for (int r = 0; r < gpus.size(); ++r)
      for (auto i = std::size_t(x.offset(r)); i < std::size_t(x.offset(r + 1)); ++i)
        heads[std::size_t(r)] += i == 0 || v[i - 1] != v[i];
    CHECK(has_sizes(in_place, heads));
  });
}

TEST_CASE("partition and copy_if") {
  everywhere([](const auto& gpus, const std::vector<int>& v, test::layout how, auto& random) {
    auto x = test::put(gpus, v, how, random);
    std::vector<int> yes, no;
    std::partition_copy(v.begin(), v.end(), std::back_inserter(yes), std::back_inserter(no), is_even{});
    for (const auto blocks : {pmpp::result_blocks::even, pmpp::result_blocks::in_place}) {
      const auto [chosen, others] = pmpp::partition_copy(gpus, x, is_even{}, blocks);
      CHECK(pmpp::to_host(gpus, chosen) == yes);
      CHECK(pmpp::to_host(gpus, others) == no);
      CHECK((blocks == pmpp::result_blocks::in_place || test::is_balanced(others, gpus.size())));
    }
    const auto kept = pmpp::copy_if(gpus, x, is_even{}, pmpp::result_blocks::in_place);
    CHECK(pmpp::to_host(gpus, kept) == yes);
    for (int r = 0; r < gpus.size(); ++r)
      CHECK(kept.size_of(r) == std::count_if(v.begin() + x.offset(r), v.begin() + x.offset(r + 1), is_even{}));
    CHECK(pmpp::partition(gpus, x, is_even{}) == std::int64_t(yes.size()));
    yes.insert(yes.end(), no.begin(), no.end());
    CHECK(pmpp::to_host(gpus, x) == yes);
    CHECK(test::is_balanced(x, gpus.size()));
  });
}

TEST_CASE("runs") {
  everywhere([](const auto& gpus, const std::vector<int>& keys, test::layout how, auto& random) {
    std::vector<test::brackets> values(keys.size());
    for (auto& b : values) b = {std::uint32_t(random() % 3), std::uint32_t(random() % 3)};
    const test::concatenate op;
    const auto x = test::put(gpus, keys, how, random);
    const auto y = test::put_like(gpus, x, values);
    std::vector<int> run_keys;
    std::vector<test::brackets> sums;
    std::vector<std::int64_t> lengths, begun(static_cast<std::size_t>(gpus.size()));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i != 0 && keys[i] == keys[i - 1]) {
        sums.back() = op(sums.back(), values[i]);
        ++lengths.back();
        continue;
      }
      run_keys.push_back(keys[i]);
      sums.push_back(values[i]);
      lengths.push_back(1);
      for (int r = 0; r < gpus.size(); ++r)
        begun[std::size_t(r)] += std::int64_t(i) >= x.offset(r) && std::int64_t(i) < x.offset(r + 1);
    }
    for (const auto blocks : {pmpp::result_blocks::even, pmpp::result_blocks::in_place}) {
      const auto [k, s] = pmpp::reduce_by_key(gpus, x, y, op, pmpp::equal_to{}, blocks);
      CHECK(pmpp::to_host(gpus, k) == run_keys);
      CHECK(pmpp::to_host(gpus, s) == sums);
      CHECK((blocks == pmpp::result_blocks::even ? test::is_balanced(s, gpus.size()) : has_sizes(s, begun)));
    }
    const auto [k, l] = pmpp::run_length_encode(gpus, x);
    CHECK(pmpp::to_host(gpus, k) == run_keys);
    CHECK(pmpp::to_host(gpus, l) == lengths);
  });
}

TEST_CASE("questions") {
  everywhere([](const auto& gpus, const std::vector<int>& v, test::layout how, auto& random) {
    const auto x = test::put(gpus, v, how, random);
    const auto place = [&](auto it) { return std::int64_t(it - v.begin()); };
    CHECK(pmpp::count_if(gpus, x, is_even{}) == std::count_if(v.begin(), v.end(), is_even{}));
    CHECK(pmpp::find_if(gpus, x, is_even{}) == place(std::find_if(v.begin(), v.end(), is_even{})));
    CHECK(pmpp::all_of(gpus, x, is_even{}) == std::all_of(v.begin(), v.end(), is_even{}));
    CHECK(pmpp::any_of(gpus, x, is_even{}) == std::any_of(v.begin(), v.end(), is_even{}));
    CHECK(pmpp::none_of(gpus, x, is_even{}) == std::none_of(v.begin(), v.end(), is_even{}));
    const int value = v.empty() ? 3 : v[random() % v.size()];
    CHECK(pmpp::count(gpus, x, value) == std::count(v.begin(), v.end(), value));
    CHECK(pmpp::find(gpus, x, value) == place(std::find(v.begin(), v.end(), value)));
  });
}

TEST_CASE("top_k") {
  everywhere([](const auto& gpus, const std::vector<int>& v, test::layout how, auto& random) {
    std::vector<float> values;
    for (const int x : v) values.push_back(random() % 5 == 0 ? NAN : float(x));
    std::vector<std::int64_t> order(v.size());
    std::iota(order.begin(), order.end(), std::int64_t(0));
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
      const float a = values[std::size_t(i)], b = values[std::size_t(j)];
      return a > b || (!std::isnan(a) && std::isnan(b));  // NaN last, of equals the smaller index first
    });
    const auto x = test::put(gpus, values, how, random);
    for (const std::int64_t most : {0, 3, 400}) {
      const std::int64_t k = std::min(most, x.size());
      std::vector<float> best(static_cast<std::size_t>(k));
      std::vector<std::int64_t> places(best.size(), -1);
      pmpp::top_k(gpus, x, k, best, places);
      CHECK(std::equal(places.begin(), places.end(), order.begin()));
      bool same = true;
      for (std::size_t i = 0; i < best.size(); ++i) {
        const float expected = values[std::size_t(order[i])];
        same = same && (best[i] == expected || (std::isnan(best[i]) && std::isnan(expected)));
      }
      CHECK(same);
    }
  });
}

TEST_CASE("bins between levels") {
  everywhere([](const auto& gpus, const std::vector<int>& v, test::layout how, auto& random) {
    const std::vector<int> levels{1, 2, 2, 17, 30, 5000};
    std::vector<std::uint32_t> counts(5, 99), expected(5);
    for (const int x : v)
      for (std::size_t bin = 0; bin < 5; ++bin) expected[bin] += x >= levels[bin] && x < levels[bin + 1];
    pmpp::histogram_range(gpus, test::put(gpus, v, how, random), counts, levels);
    CHECK(counts == expected);
  });
}

TEST_CASE("bad input") {
  const auto gpus = test::ranks(3);
  const auto others = test::ranks(3);
  pmpp::distributed_buffer<int> x{gpus, std::vector<int>(10, 1)}, longer{gpus, 11}, elsewhere{others, 10};
  pmpp::distributed_buffer<test::brackets> values{gpus, 11};
  CHECK_THROWS_WITH_AS(static_cast<void>(pmpp::merge(gpus, x, elsewhere, by_digit{})),
                       "pmpp::merge: b lies on other devices than those of the call", std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::copy_if(gpus, elsewhere, is_even{})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::unique_copy(gpus, elsewhere)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::partition(gpus, elsewhere, is_even{}), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::find_if(gpus, elsewhere, is_even{})), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(pmpp::run_length_encode(gpus, elsewhere)), std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(pmpp::reduce_by_key(gpus, x, values, test::concatenate{})),
                       "pmpp::reduce_by_key: on rank 1 the first input has 3 elements, values has 4",
                       std::length_error);
  std::vector<std::uint32_t> counts(4, 7);
  CHECK_THROWS_WITH_AS(pmpp::histogram_range(gpus, x, counts, std::vector<int>{1, 2, 3, 4}),
                       "pmpp::histogram_range: levels has 4 elements, must have one more than counts, which has 4",
                       std::length_error);
  CHECK(counts == std::vector<std::uint32_t>(4, 7));
  pmpp::distributed_buffer<float> f{gpus, std::vector<float>(10)};
  std::vector<float> best(11);
  std::vector<std::int64_t> places(11);
  CHECK_THROWS_AS(pmpp::top_k(gpus, f, 11, best, places), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::top_k(gpus, f, -1, best, places), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::top_k(gpus, f, 10, best, places), "pmpp::top_k: an output has 11 places, k is 10",
                       std::length_error);

  // Not sorted: which elements come where is not specified, but the call ends.
  try {
    pmpp::distributed_buffer<int> unsorted{gpus, std::vector<int>{5, 4, 3, 2, 1, 0, 9, 8, 7}};
    static_cast<void>(pmpp::merge(gpus, unsorted, x, by_digit{}));
  } catch (const std::invalid_argument&) {
  }
}
