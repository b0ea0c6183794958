// SPDX-License-Identifier: Apache-2.0
//
// What this file and its neighbours (see support/sorting.hpp) prove of sort.hpp, on every policy: the result is what std::stable_sort gives (so it is sorted, a
// permutation, and stable), for every size, element type, comparator, alignment and kind of data, and nothing beside it
// is touched; values stay with their keys; argsort leaves its keys alone; lengths that only the device knows; a
// comparator that contradicts itself reads and writes nothing outside; bad input throws and touches nothing; a workspace
// serves any number of calls. Of its radix sort: all types of keys in both directions, -0.0, NaN and infinities, bit
// ranges, values of every size, any set of digits that are constant, 32- and 64-bit look-back words. In the emulator also
// under other orders of blocks and threads. The odd-even transposition of a thread sorts all inputs of zeros and ones,
// hence all inputs.
#include <pmpp/sort.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include "support/sorting.hpp"

using pmpp::device;

namespace {

using test::any_keys;
using test::by_key;
using test::draw;
using test::precedes;
using test::tagged;
using test::tags;
using test::tiny;
using test::tiny_radix;

}  // namespace

TEST_ALL_PLACES("is_sorted") {
  const typename where::policy policy{};
  for (const int n : test::some_of({0, 1, 2, 3, 1000, 50000})) {
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

#if !PMPP_CUDA
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
  for (int i = 0; i < test::turns(30); ++i) {
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
