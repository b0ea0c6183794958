// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of rows that blocks of many multiprocessors hold (top_keys/spread.hpp), by batched_top_k and top_k: for one row
// and a few, by blocks of 32 threads, which find 6 bits at a time, and of 256, of elements of 1 to 8 bytes, wherever rows begin, for k from
// 2 to all, and data of every kind (constant, few values, sorted, equal but for one bit, NaN and zeros of both signs): the places that a
// stable sort puts in front, in order, and nothing else is written. See
// top_k.cpp.
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/candidates.hpp"
#include "support/captured_graph.hpp"
#include "support/orders.hpp"

namespace {

using test::check_batched;
using test::check_lengths;
using test::check_top_k;
using test::draw_below;
using test::elements;
using test::kind_of_data;
using test::kinds;

constexpr pmpp::top_k_tuning usual{};
/// Rows of 20 elements and more, on any machine.
constexpr pmpp::top_k_tuning narrow{.threads = 32,
                                    .large_threads = 32,
                                    .short_threads = 32,
                                    .loads = 2,
                                    .spread = 20,
                                    .spread_blocks = 1,
                                    .sorting = test::never_sorted},
    wide{.threads = 256,
         .large_threads = 256,
         .short_threads = 32,
         .spread = 20,
         .spread_blocks = 1,
         .sorting = test::never_sorted};

}  // namespace

TEST_ALL_PLACES("rows that many blocks hold, of elements of every size") {
  check_lengths<narrow, where, float>({33, 65, 200, 512, 1001, 3000});
  check_lengths<narrow, where, std::int64_t>({33, 190, 257, 1003});
  check_lengths<narrow, where, std::int16_t>({35, 127, 515});
  check_lengths<narrow, where, std::uint8_t, pmpp::less>({40, 128, 2000});
}

TEST_ALL_PLACES("every kind of data in rows that many blocks hold") {
  for (int kind = 0; kind < kinds; ++kind)
    for (const std::int64_t k : {3, 64, 299}) {
      check_batched<narrow, where>(kind_of_data<float>(kind, 1803), 3, 600, k, 3);
      check_batched<narrow, where>(kind_of_data<std::int64_t>(kind, 1201), 2, 600, k, 1);
    }
  for (int kind = 0; kind < kinds; ++kind)
    check_top_k<wide, where>(kind_of_data<float>(kind, 20'001), 30 + 100 * kind, pmpp::greater{}, kind % 4);
}

TEST_ALL_PLACES("long rows, as they are called") {
  for (const std::int64_t k : test::some_of<std::int64_t>({2, 300, 4095}))
    check_top_k<usual, where>(kind_of_data<float>(static_cast<int>(k % kinds), 100'003), k, pmpp::greater{}, 1);
  check_batched<usual, where>(kind_of_data<std::int16_t>(2, 2 * 40'001), 2, 40'001, 500);
  check_batched<usual, where>(kind_of_data<double>(0, 3 * 20'001 + 1), 3, 20'001, 60, 1);
}

// Of float in top_k_held.cpp.
TEST_ALL_PLACES("rows that single blocks hold, as they are called") {
  check_lengths<usual, where, double>({129, 161, 1000});
  check_batched<usual, where>(kind_of_data<std::int16_t>(2, 3 * 6001), 3, 6001, 1000);
  check_batched<usual, where>(kind_of_data<double>(0, 2 * 5584), 2, 5584, 736);
}

TEST_ALL_PLACES("NaN, infinities and zeros of both signs in a row that many blocks hold") {
  test::check_special_floats<narrow, where>(900, {160, 320, 899});
}

TEST_ALL_PLACES("one long row, of a length that the device knows") { test::check_device_lengths<narrow, where>(2900); }

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
TEST_CASE("other orders of blocks and threads") {
  test::for_each_order(3, [&](std::uint64_t) {
    check_batched<narrow, test::device_place>(kind_of_data<float>(2, 1200), 2, 600, 40);
    check_batched<narrow, test::device_place>(kind_of_data<std::int64_t>(0, 1200), 2, 600, 40);
  });
}
#endif

#if PMPP_CUDA
TEST_CASE("a graph of rows that many blocks hold takes other data, without an allocation") {
  using where = test::device_place;
  pmpp::workspace memory;
  pmpp::stream s;
  const auto policy = pmpp::device.on(s).with(memory);
  for (const std::int64_t length : {100'000, 1'000'000}) {
    const std::int64_t k = 300, rows = 2;
    auto v = elements<float>(rows * length, [](std::int64_t) { return draw_below(1 << 22); });
    auto data = where::put(v);
    auto values = where::put(std::vector<float>(600));
    auto indices = where::put(std::vector<int>(600));
    const test::captured_graph replayed(
        s, [&] { pmpp::batched_top_k(policy, std::as_const(data), length, k, values, indices); });
    for (int round = 0; round < 3; ++round) {
      for (auto& x : v) x = static_cast<float>(draw_below(round == 1 ? 3 : 1 << 22));
      pmpp::copy(v, data);
      replayed.replay();
      s.synchronize();
      const auto order = test::order_of(v, length, 2 * length, pmpp::greater{});
      CHECK(std::equal(order.begin(), order.begin() + k, where::get(indices).begin() + k));
    }
  }
}
#endif
