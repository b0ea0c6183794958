// SPDX-License-Identifier: Apache-2.0
//
// reduce_by_key and run_length_encode: runs of every length, keys and values of every type, relations of one's own. See
// segmented.cpp.
#include <pmpp/segmented.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>

#include "support/rows.hpp"

using pmpp::device;
using namespace test::rows;

TEST_ALL_PLACES("runs of keys: constant, distinct, sawtooth, every law") {
  for (const std::int64_t n : test::some_of({0, 1, 2, 31, 33, 127, 128, 129, 1000, 5000, 40000})) {
    CAPTURE(n);
    const auto v = test::random_values<std::uint32_t>(n);
    const auto every = [&](const std::vector<int>& keys) {
      check_runs<pmpp::segmented_tuning{}, where>(keys, v, pmpp::plus{});
      if (n <= 5000) check_runs<tiny, where>(keys, v, pmpp::plus{});
      const std::vector<std::int64_t> wide_keys(keys.begin(), keys.end());
      if (n <= 5000) check_runs<deep, where>(wide_keys, random_brackets(n), test::concatenate{});
    };
    every(runs_of<int>(n, {n}));
    every(runs_of<int>(n, {1}));
    every(runs_of<int>(n, {7}));
    every(runs_of<int>(n, {128}));
    every(runs_of<int>(n, {1, 127, 3, 300}));
    every(test::copies<int>(n, static_cast<int>(0xcdcdcdcd)));  // what the emulator leaves in shared memory
    if (n > 100 && n <= 5000)
      for (const auto& [name, l] : laws(n)) {
        CAPTURE(name);
        if (!l.empty()) check_runs<tiny, where>(runs_of<std::uint16_t>(n, l), random_affines(n), test::compose{});
      }
  }
}

TEST_ALL_PLACES("runs across many tiles") {  // tiles without a head do not ask; the next that has one looks far back
  const std::int64_t n = 300000;             // 2300 tiles, 73 rows of tiles
  for (const auto& l :
       std::vector<std::vector<std::int64_t>>{{n}, {150000, 1, 131072, 5}, {20000}, {4096}, {5000, 1, 1, 60000}})
    check_runs<tiny, where>(runs_of<std::uint16_t>(n, l), random_affines(n), test::compose{});
}

TEST_ALL_PLACES("runs: several tiles of each block, from anywhere in a line of memory") {
  const std::int64_t n = test::up_to(250'000);  // two tiles for each of 132 multiprocessors
  for (const int from : {1, 8, 15})
    check_runs<deep, where>(runs_of<std::int64_t>(n, {3, 1, 700, 20}), random_brackets(n), test::concatenate{}, from,
                            from % 4);
}

TEST_ALL_PLACES("runs: keys and values of every type") {
  for (const std::int64_t n : test::some_of({1, 500, 9001})) {
    CAPTURE(n);
    const lengths l{3, 1, 1, 20, 5, 200};
    check_runs<tiny, where>(runs_of<std::uint8_t>(n, l), test::random_values<double>(n), pmpp::maximum{});
    check_runs<small, where>(runs_of<std::int64_t>(n, l), test::random_values<std::int64_t>(n), pmpp::plus{});
    std::vector<test::affine> keys(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i].length = static_cast<std::uint32_t>(i / 5 % 3);
    check_runs<tiny, where>(keys, positions(n), test::join{});
    std::vector<test::wide> wide(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i].part[4] = static_cast<std::int64_t>(i / 9);
    check_runs<small, where>(wide, random_brackets(n), test::concatenate{});
    check_runs<pmpp::segmented_tuning{}, where>(runs_of<int>(n, l), wide, test::add_wide{});
  }
}

TEST_ALL_PLACES("runs: keys and values that lie differently in their words") {
  for (const std::int64_t n : {7, 130, 4100}) {
    const lengths l{3, 1, 1, 20, 5, 200};
    for (const int from_key : {0, 1, 2, 3})
      for (const int from_value : {0, 1, 2, 3}) {
        CAPTURE(n);
        CAPTURE(from_key);
        CAPTURE(from_value);
        const auto numbers = test::random_values<std::uint32_t>(n);
        check_runs<tiny, where>(runs_of<int>(n, l), numbers, pmpp::plus{}, from_key, from_value);
        check_runs<deep, where>(runs_of<std::int64_t>(n, l), random_brackets(n), test::concatenate{}, from_key,
                                from_value);
        check_runs<tiny, where>(runs_of<std::uint8_t>(n, l), test::random_values<double>(n), pmpp::maximum{}, from_key,
                                from_value);
        check_runs<tiny, where>(runs_of<std::uint16_t>(n, l), random_affines(n), test::compose{}, from_key, from_value);
        check_runs<tiny, where>(runs_of<std::int64_t>(n, l), numbers, pmpp::plus{}, from_key, from_value);
        check_runs<tiny, where>(runs_of<int>(n, l), test::random_values<std::int64_t>(n), pmpp::plus{}, from_key,
                                from_value);
      }
  }
}

namespace {
struct same_tens {
  PMPP_HOST_DEVICE bool operator()(int a, int b) const { return a / 10 == b / 10; }
};
}  // namespace

TEST_ALL_PLACES("runs: a relation of one's own, misaligned, every NaN alone, lengths of a text") {
  const typename where::policy policy{};
  std::vector<int> keys(3000);
  std::iota(keys.begin(), keys.end(), 0);
  const auto in = where::put(keys);
  auto first = where::put(keys), sums = where::put(keys);
  for (const int from : {0, 1, 3}) {
    CAPTURE(from);
    const auto ends = pmpp::reduce_by_key<tiny>(policy, in.begin() + from, in.end() - 10, in.begin() + 2, first, sums,
                                                pmpp::maximum{}, same_tens{});
    CHECK(ends.first - first.begin() == 299);
    const auto got = where::get(sums);
    CHECK(got[0] == 9 - from + 2);
    CHECK(got[298] == 2989 - from + 2);
    CHECK(where::get(first)[0] == from);
    CHECK(where::get(first)[1] == 10);
  }
  const std::vector<float> nan(1000, std::numeric_limits<float>::quiet_NaN());
  auto out = where::put(nan);
  auto counts = where::put(std::vector<std::uint8_t>(1000, 9));
  CHECK(pmpp::run_length_encode<tiny>(policy, where::put(nan), out, counts).second == counts.end());
  CHECK(where::get(counts) == std::vector<std::uint8_t>(1000, 1));

  CHECK(pmpp::run_length_encode<tiny>(policy, where::put(keys), first, sums, same_tens{}).second - sums.begin() == 300);
  const auto tens = where::get(sums), starts = where::get(first);
  CHECK(std::all_of(tens.begin(), tens.begin() + 300, [](int length) { return length == 10; }));
  CHECK(starts[299] == 2990);

  const std::string text = "aaabccccd";
  const auto letters = where::put(std::vector<char>(text.begin(), text.end()));
  auto symbols = where::put(test::copies<char>(9, '-'));
  auto times = where::put(test::copies<int>(9, -1));
  const auto end = pmpp::run_length_encode(policy, letters, symbols, times);
  CHECK(end.first - symbols.begin() == 4);
  CHECK(where::get(symbols) == std::vector<char>{'a', 'b', 'c', 'd', '-', '-', '-', '-', '-'});
  CHECK(where::get(times) == std::vector<int>{3, 1, 4, 1, -1, -1, -1, -1, -1});
}
