// SPDX-License-Identifier: Apache-2.0
//
// sort by a comparator, which merges. See sort.cpp. The odd-even transposition of a thread sorts all inputs of zeros and
// ones, hence all inputs.
#include <pmpp/sort.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

#include "support/element_types.hpp"
#include "support/orders.hpp"
#include "support/sorting.hpp"

namespace {

using test::by_key;
using test::by_number;
using test::check_sort;
using test::contradicting;
using test::draw;
using test::precedes;
using test::small;
using test::tags;
using test::tiny;

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
  for (const std::int64_t n : test::sizes(test::default_tile, 150001)) {
    check_sort<pmpp::sort_tuning{}, where>(test::elements_of<float>(n), by_number{});
    check_sort<pmpp::sort_tuning{}, where>(tags(n, [](auto) { return draw() % 1000; }), by_key{});
  }
}

TEST_ALL_PLACES("every size up to a few tiny tiles, and around the sizes where a pass begins") {
  for (const std::int64_t n : test::every_size(150, 700, 23)) {
    check_sort<tiny, where>(tags(n, [](auto) { return draw() % 50; }), by_key{});
    check_sort<small, where>(tags(n, [](auto) { return draw() % 50; }), by_key{});
  }
  for (const std::int64_t at : test::some_of({96, 384, 1536, 6144}))
    for (const std::int64_t n : test::some_of({at - 1, at, at + 1, at + 17, 2 * at + 1, 3 * at - 1}))
      for (const int keys : {2, 1000000})
        check_sort<tiny, where>(tags(n, [&](auto) { return draw() % static_cast<unsigned>(keys); }), by_key{});
  for (const std::int64_t n : test::some_of({1000, 6143, 6144, 6145}))
    check_sort<small, where>(tags(n, [](auto) { return draw() % 500; }), by_key{});
}

TEST_ALL_PLACES("adversarial orders") {
  const std::int64_t n = test::up_to(9001, 3001);
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
  for (std::size_t k = 0; k < std::size(orders); k += test::only_small() ? 4 : 1) {
    const auto& order = orders[k];
    check_sort<tiny, where>(tags(n, order), by_key{});
    check_sort<small, where>(tags(n, order), by_key{});
    check_sort<pmpp::sort_tuning{}, where>(tags(3 * n, order), by_key{});
  }
}

TEST_ALL_PLACES("infinities, and zeros of both signs, by a comparator") {
  auto floats = test::random_values<float>(20001);
  for (std::size_t i = 0; i < floats.size(); i += 7) floats[i] = i % 2 == 0 ? 0.0f : -0.0f;
  floats[5] = std::numeric_limits<float>::infinity();
  floats[19000] = -std::numeric_limits<float>::infinity();
  check_sort<small, where>(floats, precedes{});
}

TEST_ALL_PLACES("elements of every size") {
  for (const std::int64_t n : test::some_of({0, 1, 33, 900, 5003, 9001}))
    test::for_each_element_type([&]<class T, bool Small>() {
      constexpr pmpp::sort_tuning tuning = Small ? tiny : pmpp::sort_tuning{};
      CAPTURE(sizeof(T));
      check_sort<tuning, where>(test::elements_of<T>(sizeof(T) > 100 ? n / 2 : sizeof(T) < 4 ? 3 * n : n), by_number{});
    });
}

TEST_ALL_PLACES("misaligned data") {
  for (const int from : test::some_of({1, 2, 3, 5, 16}))
    for (const std::int64_t n : test::some_of({100, 3000, 20000})) {
      check_sort<tiny, where>(test::elements_of<std::uint8_t>(n), by_number{}, from);
      check_sort<pmpp::sort_tuning{}, where>(test::elements_of<std::int16_t>(n), by_number{}, from);
      check_sort<pmpp::sort_tuning{}, where>(test::elements_of<float>(n), by_number{}, from);
      check_sort<tiny, where>(test::elements_of<double>(n), by_number{}, from);
    }
}

TEST_ALL_PLACES("lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto v = tags(20000, [](auto) { return draw() % 5000; });
  for (const std::int64_t n : test::some_of({0, 1, 100, 128, 513, 6000, 20000, 30000})) {
    const auto used = std::min<std::int64_t>(n, 20000);
    auto wanted = v;
    std::stable_sort(wanted.begin(), wanted.begin() + used, by_key{});
    const auto count = where::put(std::vector<std::int64_t>{n});
    const pmpp::device_count length{count.data(), 20000};
    auto data = where::put(v), more = where::put(v);
    pmpp::sort<tiny>(policy, data.begin(), length, by_key{});
    pmpp::stable_sort(policy, more.begin(), length, by_key{});
    CAPTURE(n);
    CHECK(where::get(data) == wanted);
    CHECK(where::get(more) == wanted);
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
  pmpp::sort<small>(policy, many, precedes{});
  const auto sorted = where::get(many);
  CHECK(std::all_of(sorted.begin(), sorted.end(), [](float x) { return x == 1.0f || std::isnan(x); }));
}

#if !PMPP_CUDA
TEST_CASE("blocks and threads in any order") {
  const auto v = tags(5001, [](auto) { return draw() % 300; }), more = tags(9001, [](auto) { return draw() % 300; });
  test::for_each_order(6, [&](std::uint64_t) {
    check_sort<tiny, test::device_place>(v, by_key{});
    check_sort<small, test::device_place>(v, by_key{});
    check_sort<pmpp::sort_tuning{}, test::device_place>(more, by_key{});
  });
}
#endif
