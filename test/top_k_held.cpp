// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of rows that blocks hold in shared memory (top_keys/held.hpp), by batched_top_k and top_k: for one block a row
// and for clusters, of elements of 1 to 8 bytes, wherever rows begin, for k from 2 to all, also one less, and data of every kind
// (constant, few values, sorted, equal but for one bit, NaN and zeros of both signs): in order, the places that a stable sort puts in
// front; in any order the same set, the same on every run, and nothing else is written. Rows just too long go other ways, whose results
// are the same. See top_k.cpp.
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "support/candidates.hpp"
#include "support/captured_graph.hpp"
#include "support/orders.hpp"

namespace {

using test::draw_below;
using test::elements;

constexpr pmpp::top_k_tuning usual{};
/// Small blocks, eight of them to a row of 200 elements where the machine has clusters.
constexpr pmpp::top_k_tuning clustered{.threads = 32,
                                       .large_threads = 64,
                                       .short_threads = 32,
                                       .loads = 2,
                                       .one_block = 300,
                                       .held = 1 << 20,
                                       .held_slice = 24,
                                       .sorting = test::never_sorted};

template <pmpp::top_k_tuning Tuning, class where, class T, class Comp = pmpp::greater>
void check_held(const std::vector<T>& v, std::int64_t rows, std::int64_t length, std::int64_t k, std::int64_t from = 0,
                Comp comp = {}) {
  const auto data = where::input(v);
  const typename where::policy policy{};
  constexpr auto tuning = test::tuned<where>(Tuning);
  const auto places = static_cast<std::size_t>(rows * k), all = places + 3;
  const auto first = data.begin() + from, last = first + rows * length;
  std::vector<std::vector<std::int32_t>> found;
  bool ok = true;
  const auto run = [&](auto which) {
    constexpr bool sorted = std::is_same_v<decltype(which), pmpp::sorted_order>;
    auto values = where::put(std::vector<T>(all, T(7)));
    auto indices = where::put(std::vector<std::int32_t>(all, -7));
    pmpp::batched_top_k<tuning>(policy, first, last, length, k, values.begin() + 1, indices.begin() + 1, comp, which);
    const auto got = where::get(values);
    auto at = where::get(indices);
    found.push_back(at);
    for (const std::size_t i : {std::size_t(0), places + 1, places + 2}) ok = ok && at[i] == -7 && got[i] == T(7);
    for (std::int64_t row = 0; row < rows && ok; ++row) {
      auto wanted = test::order_of(v, from + row * length, from + (row + 1) * length, comp);
      wanted.resize(static_cast<std::size_t>(k));
      std::int32_t* const own = at.data() + 1 + row * k;
      for (std::int64_t i = 0; i < k && ok; ++i)
        ok =
            own[i] >= 0 && own[i] < length &&
            got[static_cast<std::size_t>(1 + row * k + i)] == v[static_cast<std::size_t>(from + row * length + own[i])];
      if (!sorted) {
        std::sort(own, own + k);
        std::sort(wanted.begin(), wanted.end());
      }
      ok = ok && std::equal(wanted.begin(), wanted.end(), own);
    }
    CAPTURE(sorted);
    CHECK(ok);
  };
  CAPTURE(rows);
  CAPTURE(length);
  CAPTURE(k);
  CAPTURE(from);
  CAPTURE(test::seed());
  run(pmpp::sorted_order{});
  run(pmpp::any_order{});
  run(pmpp::any_order{});
  CHECK(found[1] == found[2]);
}

/// Data of every kind. Of `n` elements, below 200.
template <class T>
std::vector<T> kind_of_data(int kind, std::int64_t n) {
  return elements<T>(n, [=](std::int64_t i) -> std::int64_t {
    switch (kind) {
      case 0:
        return draw_below(std::int64_t(1) << (8 * sizeof(T) > 31 ? 24 : 8 * sizeof(T) - 1));
      case 1:
        return 7;
      case 2:
        return draw_below(3);
      case 3:
        return i % 120;
      case 4:
        return 120 - i % 120;
      case 5:
        return i % 97 == 3 ? 8 : 9;
      default:
        return 100 + draw_below(16);
    }
  });
}
constexpr int kinds = 7;

template <pmpp::top_k_tuning Tuning, class where, class T>
void check_lengths(std::initializer_list<std::int64_t> lengths) {
  int turn = 0;
  for (const std::int64_t length : lengths)
    for (const std::int64_t k : {std::int64_t(2), length / 10 + 1, length / 2, length - 1, length}) {
      const std::int64_t rows = 1 + (turn + 1) % 3, from = turn % 5;
      const auto v = kind_of_data<T>(turn++ % kinds, rows * length + from + 2);
      check_held<Tuning, where>(v, rows, length, k, from);
    }
}

}  // namespace

TEST_ALL_PLACES("rows that clusters hold, of elements of every size") {
  check_lengths<clustered, where, float>({33, 65, 200, 511, 512, 513, 1001});
  check_lengths<clustered, where, std::uint64_t>({33, 64, 190, 250, 257, 1003});
  check_lengths<clustered, where, std::int16_t>({35, 127, 400, 515});
  check_lengths<clustered, where, std::uint8_t>({40, 128, 513});
}

TEST_ALL_PLACES("every kind of data") {
  for (int kind = 0; kind < kinds; ++kind)
    for (const std::int64_t k : {3, 64, 299}) {
      check_held<clustered, where>(kind_of_data<float>(kind, 903), 3, 300, k, 3, pmpp::less{});
      check_held<clustered, where>(kind_of_data<std::int64_t>(kind, 601), 2, 300, k, 1);
    }
}

TEST_ALL_PLACES("rows that blocks hold, as they are called") {
  check_lengths<usual, where, float>({129, 704, 1145});
  check_lengths<usual, where, double>({129, 161, 1000});
  for (const std::int64_t k : test::some_of<std::int64_t>({40, 1500, 4095}))
    check_held<usual, where>(kind_of_data<float>(0, 2 * 9000 + 1), 2, 9000, k, 1);
  check_held<usual, where>(kind_of_data<std::int16_t>(2, 3 * 6001), 3, 6001, 1000);
  check_held<usual, where>(kind_of_data<std::uint64_t>(0, 2 * 5584), 2, 5584, 736);
  // More than one block of any machine holds, and than a cluster does.
  check_held<usual, where>(kind_of_data<float>(0, 2 * 60'001 + 1), 2, 60'001, 300, 1);
}

TEST_ALL_PLACES("NaN, infinities and zeros of both signs in rows that are held") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const int ranks[6] = {5, 0, 3, 2, 1, 4};  // greater: +0.0 before -0.0, NaN last
  std::vector<float> v;
  for (int i = 0; i < 300; ++i) v.push_back(std::vector<float>{nan, infinity, -0.0f, 0.0f, 1.0f, -infinity}[i % 6]);
  const auto data = where::input(v);
  std::vector<int> wanted(300);
  for (int i = 0; i < 300; ++i) wanted[std::size_t(i)] = i;
  std::stable_sort(wanted.begin(), wanted.end(), [&](int i, int j) { return ranks[i % 6] < ranks[j % 6]; });
  for (const int k : {60, 120, 299}) {
    auto values = where::put(std::vector<float>(300));
    auto indices = where::put(std::vector<int>(300));
    pmpp::batched_top_k<test::tuned<where>(clustered)>(typename where::policy{}, data, 300, k, values, indices);
    const auto sorted = where::get(indices);
    CHECK(std::equal(wanted.begin(), wanted.begin() + k, sorted.begin()));
    pmpp::batched_top_k<test::tuned<where>(clustered)>(typename where::policy{}, data, 300, k, values, indices,
                                                       pmpp::greater{}, pmpp::any_order{});
    auto any = where::get(indices);
    auto set = wanted;
    std::sort(any.begin(), any.begin() + k);
    std::sort(set.begin(), set.begin() + k);
    CHECK(std::equal(set.begin(), set.begin() + k, any.begin()));
  }
}

TEST_ALL_PLACES("one row that is held, of a length that the device knows") {
  const auto v = elements<float>(900, [](std::int64_t) { return draw_below(1 << 20); });
  const auto data = where::put(v);
  for (const std::int64_t n : {0, 1, 3, 130, 500, 900})
    for (const std::int64_t k : {4, 200, 900}) {
      const auto length = where::put(std::vector<std::int64_t>{n});
      auto values = where::put(std::vector<float>(900, -1));
      auto indices = where::put(std::vector<int>(900, -1));
      const auto order = test::order_of(v, 0, n, pmpp::greater{});
      const auto check = [&](auto which) {
        pmpp::top_k<test::tuned<where>(clustered)>(typename where::policy{}, data.begin(),
                                                   pmpp::device_count{length.data(), std::int64_t(900)}, k, values,
                                                   indices, pmpp::greater{}, which);
        auto got = where::get(indices);
        const std::size_t m = std::min(order.size(), static_cast<std::size_t>(k));
        auto wanted = std::vector<int>(order.begin(), order.begin() + std::ptrdiff_t(m));
        if (!std::is_same_v<decltype(which), pmpp::sorted_order>) {
          std::sort(got.begin(), got.begin() + std::ptrdiff_t(m));
          std::sort(wanted.begin(), wanted.end());
        }
        CHECK(std::equal(wanted.begin(), wanted.end(), got.begin()));
        CHECK(std::all_of(got.begin() + std::ptrdiff_t(m), got.end(), [](int x) { return x == -1; }));
      };
      check(pmpp::sorted_order{});
      check(pmpp::any_order{});
    }
}

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("other orders of blocks and threads") {
  test::for_each_order(3, [&](std::uint64_t) {
    check_held<clustered, test::device_place>(kind_of_data<float>(2, 600), 2, 300, 40);
    check_held<clustered, test::device_place>(kind_of_data<double>(0, 600), 2, 300, 40);
  });
}
#endif

#if PMPP_CUDA
TEST_CASE("a graph of rows that are held takes other data, without an allocation") {
  using where = test::device_place;
  pmpp::workspace memory;
  pmpp::stream s;
  const auto policy = pmpp::device.on(s).with(memory);
  for (const std::int64_t length : {2000, 30000}) {
    const std::int64_t k = 300, rows = 3;
    auto v = elements<float>(rows * length, [](std::int64_t) { return draw_below(1 << 22); });
    auto data = where::put(v);
    auto values = where::put(std::vector<float>(900));
    auto indices = where::put(std::vector<int>(900));
    const test::captured_graph replayed(
        s, [&] { pmpp::batched_top_k(policy, std::as_const(data), length, k, values, indices); });
    for (int round = 0; round < 2; ++round) {
      for (auto& x : v) x = static_cast<float>(draw_below(1 << 22));
      pmpp::copy(v, data);
      replayed.replay();
      s.synchronize();
      const auto order = test::order_of(v, length, 2 * length, pmpp::greater{});
      CHECK(std::equal(order.begin(), order.begin() + k, where::get(indices).begin() + k));
    }
  }
}
#endif
