// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of top_k.hpp, on every policy: values and indices are what a stable sort puts in front (so ties
// go to the smaller index), for every k from none to all, every size, element type, comparator and kind of data, also
// such that every element is better than all before it; the input and what lies behind the outputs are not touched; NaN
// comes last; lengths that only the device knows; rows of any lengths; a comparator that contradicts itself reads and
// writes nothing outside; bad input throws and touches nothing; a graph takes other data. In the emulator also under
// other orders of blocks and threads.
#include <pmpp/top_k.hpp>

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

using test::by_key;
using test::contradicting;
using test::tagged;

// 32 or 64 threads with 4 or 8 candidates each: several blocks, and much sorting.
constexpr pmpp::top_k_tuning tiny{32, 64, 2, 16, 32, 1, 1 << 30}, small{64, 32, 5, 32, 32, 100, 1 << 30};

std::int64_t draw_below(std::int64_t n) {
  return static_cast<std::int64_t>(test::generator()() % static_cast<std::uint64_t>(n));
}

template <class T>
std::vector<T> elements(std::int64_t n, const std::function<std::int64_t(std::int64_t)>& key_of) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    auto& x = v[static_cast<std::size_t>(i)];
    if constexpr (std::is_same_v<T, tagged>)
      x = {static_cast<std::int32_t>(key_of(i)), static_cast<std::uint32_t>(i)};
    else
      x = static_cast<T>(key_of(i));
  }
  return v;
}

/// The places of elements [begin, end) in order, counted from `begin`.
template <class T, class Comp>
std::vector<std::int64_t> order_of(const std::vector<T>& v, std::int64_t begin, std::int64_t end, Comp comp) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(end - begin));
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int64_t i) -> const T& { return v[static_cast<std::size_t>(begin + i)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return comp(at(i), at(j)); });
  return order;
}

template <pmpp::top_k_tuning Tuning, class where, class I = int, class T, class Comp = pmpp::greater>
void check_top_k(const std::vector<T>& v, std::int64_t k, Comp comp = {}, std::int64_t from = 0) {
  const auto n = static_cast<std::int64_t>(v.size());
  const auto data = where::put(v);
  auto values = where::put(test::copies(static_cast<std::size_t>(k) + 2, T{}));
  auto indices = where::put(std::vector<I>(static_cast<std::size_t>(k) + 2, I(77)));
  pmpp::top_k<test::tuned<where>(Tuning)>(typename where::policy{}, data.begin() + from, data.end(), k, values, indices,
                                          comp);
  const auto order = order_of(v, from, n, comp);
  const auto got = where::get(values);
  const auto places = where::get(indices);
  bool ok = places[static_cast<std::size_t>(k)] == 77 && places[static_cast<std::size_t>(k) + 1] == 77 &&
            got[static_cast<std::size_t>(k)] == T{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(k) && ok; ++i)
    ok = static_cast<std::int64_t>(places[i]) == order[i] && got[i] == v[static_cast<std::size_t>(from + order[i])];
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(test::seed());
  CHECK(ok);
  CHECK(where::get(data) == v);
}

template <pmpp::top_k_tuning Tuning, class where, class T, class Comp = pmpp::greater>
void check_rows(const std::vector<T>& v, const std::vector<int>& offsets, std::int64_t k, Comp comp = {}) {
  const auto data = where::put(v);
  const std::size_t places = (offsets.size() - 1) * static_cast<std::size_t>(k);
  auto values = where::put(test::copies(places, T{}));
  auto indices = where::put(std::vector<int>(places, -7));
  pmpp::segmented_top_k<test::tuned<where>(Tuning)>(typename where::policy{}, data, where::put(offsets), k, values,
                                                    indices, comp);
  const auto got = where::get(values);
  const auto got_places = where::get(indices);
  bool ok = true;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const auto order = order_of(v, offsets[s], offsets[s + 1], comp);
    for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
      const std::size_t at = s * static_cast<std::size_t>(k) + i;
      if (i < order.size())
        ok = ok && got_places[at] == order[i] && got[at] == v[static_cast<std::size_t>(offsets[s] + order[i])];
      else
        ok = ok && got_places[at] == -7 && got[at] == T{};
    }
  }
  CAPTURE(k);
  CAPTURE(offsets.size());
  CAPTURE(test::seed());
  CHECK(ok);
}

}  // namespace

TEST_ALL_PLACES("every k and every size") {
  for (const std::int64_t n : {1, 2, 31, 33, 64, 65, 200, 1000, 5000})
    for (const std::int64_t k : {std::int64_t(0), std::int64_t(1), std::int64_t(2), std::int64_t(10), std::int64_t(31),
                                 std::int64_t(64), std::int64_t(65), std::int64_t(128), n / 2, n - 1, n}) {
      if (k > n) continue;
      const auto v = elements<tagged>(n, [=](std::int64_t) { return draw_below(n / 3 + 1); });
      check_top_k<tiny, where>(v, k, by_key{});
      check_top_k<small, where>(elements<float>(n, [](std::int64_t) { return draw_below(1 << 20); }), k);
      check_top_k<small, where, std::int64_t>(elements<std::int16_t>(n, [](std::int64_t) { return draw_below(90); }), k,
                                              pmpp::less{});
      check_top_k<tiny, where, std::uint32_t>(elements<double>(n, [](std::int64_t) { return draw_below(90); }), k,
                                              pmpp::less{}, (n - k) / 7);
      if (n > 7) check_top_k<tiny, where, std::uint8_t>(elements<std::uint8_t>(200, [](auto i) { return i; }), k % 60);
    }
}

TEST_ALL_PLACES("the default tuning") {
  for (const std::int64_t n : {100, 8191, 8192, 8193, 40000, 300001})
    for (const std::int64_t k : {1, 10, 100, 1024, 2048, 2049, 5000}) {
      if (k > n) continue;
      check_top_k<pmpp::top_k_tuning{}, where>(elements<float>(n, [](std::int64_t) { return draw_below(1 << 22); }), k);
    }
  const auto v = elements<tagged>(50000, [](std::int64_t) { return draw_below(50); });
  check_top_k<pmpp::top_k_tuning{}, where>(v, 1000, by_key{});
}

TEST_ALL_PLACES("data of every kind") {
  const std::int64_t n = 3000;
  const std::vector<std::function<std::int64_t(std::int64_t)>> kinds{
      [](std::int64_t) { return 7; },
      [](std::int64_t i) { return i; },
      [](std::int64_t i) { return -i; },
      [](std::int64_t i) { return i % 2; },
      [](std::int64_t i) { return i % 97; },
      [](std::int64_t i) { return i == 2999 ? 5 : 0; },
      [](std::int64_t i) { return i < 1500 ? i : 3000 - i; },
  };
  for (const auto& kind : kinds)
    for (const std::int64_t k : {1, 5, 60, 64, 700}) {
      check_top_k<tiny, where>(elements<tagged>(n, kind), k, by_key{});
      check_top_k<small, where>(elements<std::int32_t>(n, kind), k);
    }
}

TEST_ALL_PLACES("NaN comes last, -0.0 after +0.0 under greater, infinities in their places") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::vector<float> v;
  for (int i = 0; i < 300; ++i) v.push_back(std::vector<float>{nan, infinity, -0.0f, 0.0f, 1.0f, -infinity}[i % 6]);
  auto values = where::put(std::vector<float>(300));
  auto indices = where::put(std::vector<int>(300));
  for (const int k : {60, 300}) {
    pmpp::top_k<tiny>(typename where::policy{}, where::put(v), k, values, indices);
    const auto places = where::get(indices);
    const int ranks[6] = {5, 0, 3, 2, 1, 4};
    std::vector<int> wanted(300);
    std::iota(wanted.begin(), wanted.end(), 0);
    std::stable_sort(wanted.begin(), wanted.end(), [&](int i, int j) { return ranks[i % 6] < ranks[j % 6]; });
    CHECK(std::equal(wanted.begin(), wanted.begin() + k, places.begin()));
  }
}

TEST_ALL_PLACES("segments") {
  std::vector<int> tiny_rows{3}, mixed{0, 5, 5, 2000, 2001, 2040, 2140, 2140, 4000};
  for (int i = 0; i < 200; ++i) tiny_rows.push_back(tiny_rows.back() + static_cast<int>(draw_below(9)));
  for (const auto& offsets : {tiny_rows, mixed, std::vector<int>{0, 3000}, std::vector<int>{2, 2}, std::vector<int>{0}})
    for (const std::int64_t k : {0, 1, 3, 40, 64, 100, 2500}) {
      const std::int64_t n = offsets.back() + 2;
      check_rows<tiny, where>(elements<tagged>(n, [](std::int64_t) { return draw_below(40); }), offsets, k, by_key{});
      check_rows<small, where>(elements<float>(n, [](std::int64_t) { return draw_below(1 << 20); }), offsets, k);
    }
}

TEST_ALL_PLACES("a length that the device knows") {
  const auto v = elements<std::int32_t>(2000, [](std::int64_t) { return draw_below(1 << 20); });
  const auto data = where::put(v);
  for (const std::int64_t n : {0, 3, 900, 2000})
    for (const std::int64_t k : {4, 200}) {
      const auto length = where::put(std::vector<std::int64_t>{n});
      auto values = where::put(std::vector<std::int32_t>(200, -1));
      auto indices = where::put(std::vector<int>(200, -1));
      pmpp::top_k<tiny>(typename where::policy{}, data.begin(), pmpp::device_count{length.data(), std::int64_t(2000)},
                        k, values, indices);
      const auto order = order_of(v, 0, n, pmpp::greater{});
      const auto got = where::get(indices);
      bool ok = true;
      for (std::size_t i = 0; i < 200; ++i)
        ok = ok && got[i] == (i < order.size() && static_cast<std::int64_t>(i) < k ? order[i] : -1);
      CAPTURE(n);
      CAPTURE(k);
      CHECK(ok);
    }
}

TEST_ALL_PLACES("a comparator that contradicts itself") {
  const auto v = elements<std::uint32_t>(3000, [](std::int64_t) { return draw_below(1 << 30); });
  for (const int k : {1, 50, 1000}) {
    auto values = where::put(std::vector<std::uint32_t>(static_cast<std::size_t>(k) + 1, 5u));
    auto indices = where::put(std::vector<int>(static_cast<std::size_t>(k) + 1, -5));
    pmpp::top_k<tiny>(typename where::policy{}, where::put(v), k, values, indices, contradicting{});
    CHECK(where::get(values).back() == 5u);
    CHECK(where::get(indices).back() == -5);
  }
}

TEST_ALL_PLACES("bad input") {
  const typename where::policy policy{};
  const auto data = where::put(std::vector<int>{3, 2, 1});
  const auto offsets = where::put(std::vector<int>{0, 3}), none = where::put(std::vector<int>{});
  auto values = where::put(std::vector<int>{9, 9}), indices = where::put(std::vector<int>{9, 9});
  CHECK_THROWS_AS(pmpp::top_k(policy, data, 4, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::top_k(policy, data, -1, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::top_k(policy, data, 3, values, indices), std::length_error);
  CHECK_THROWS_AS(pmpp::top_k(policy, data.end(), data.begin(), 0, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::top_k(policy, data, 2, values, static_cast<int*>(nullptr)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_top_k(policy, data, none, 1, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_top_k(policy, data, offsets, -1, values, indices), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_top_k(policy, data, offsets, 3, values, indices), std::length_error);
  CHECK(where::get(values) == std::vector<int>{9, 9});
  CHECK(where::get(indices) == std::vector<int>{9, 9});
}

#if PMPP_CUDA
namespace {
/// A permutation of the numbers below 2^33.
struct scattered {
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t i) const { return i * 2654435761 & ((1ll << 33) - 1); }
};
}  // namespace

TEST_CASE("past 2^32 elements") {
  const std::int64_t n = (1ll << 32) + 5;
  std::int64_t inverse = 1;  // of 2654435761 modulo 2^33
  for (int i = 0; i < 6; ++i)
    inverse = static_cast<std::int64_t>(static_cast<std::uint64_t>(inverse) *
                                        (2 - 2654435761u * static_cast<std::uint64_t>(inverse)));
  const auto in = pmpp::transform_iterator(pmpp::counting_iterator<std::int64_t>(0), scattered{});
  for (const std::int64_t k : {20, 1000}) {
    pmpp::device_buffer<std::int64_t> values(k), places(k);
    pmpp::top_k(pmpp::device, in, in + n, k, values, places, pmpp::less{});
    const auto got_values = pmpp::to_host(values), got_places = pmpp::to_host(places);
    bool ok = true;
    std::size_t i = 0;
    for (std::int64_t value = 0; i < static_cast<std::size_t>(k); ++value) {
      const auto place =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(inverse)) &
          ((1ll << 33) - 1);
      if (place >= n) continue;
      ok = ok && got_values[i] == value && got_places[i] == place;
      ++i;
    }
    CHECK(ok);
  }
}

TEST_CASE("one workspace serves all calls, and a graph takes other data") {
  using where = test::device_place;
  pmpp::workspace memory;
  pmpp::stream s;
  const auto policy = pmpp::device.on(s).with(memory);
  const std::int64_t n = 300000, k = 50;
  auto v = elements<std::uint32_t>(n, [](std::int64_t) { return draw_below(1 << 30); });
  auto data = where::put(v);
  auto values = where::put(std::vector<std::uint32_t>(50));
  auto indices = where::put(std::vector<int>(50));
  memory.reserve(std::size_t(1) << 24);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  pmpp::top_k(policy, data, k, values, indices);
  REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (auto& x : v) x = x * 2654435761u + round;
    pmpp::copy(v, data);
    REQUIRE(cudaGraphLaunch(executable, s) == cudaSuccess);
    s.synchronize();
    const auto order = order_of(v, 0, n, pmpp::greater{});
    CHECK(std::equal(order.begin(), order.begin() + k, where::get(indices).begin()));
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}
#endif

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("other orders of blocks and threads") {
  test::for_each_order(4, [&](std::uint64_t) {
    const auto v = elements<tagged>(2000, [](std::int64_t) { return draw_below(40); });
    check_top_k<tiny, test::device_place>(v, 20, by_key{});
    check_rows<tiny, test::device_place>(v, {0, 100, 101, 1500, 2000}, 20, by_key{});
  });
}
#endif
