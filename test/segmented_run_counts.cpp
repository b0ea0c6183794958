// SPDX-License-Identifier: Apache-2.0
//
// reduce_by_key and run_length_encode: lengths that only the device knows, and counts that stay there; computed inputs; a
// workspace, a graph; bad input. See segmented.cpp.
#include <pmpp/segmented.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/captured_graph.hpp"
#include "support/orders.hpp"
#include "support/rows.hpp"

using pmpp::device;
using namespace test::rows;

namespace {
std::int64_t runs_in(const std::vector<int>& keys) {
  std::int64_t runs = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) runs += i == 0 || keys[i - 1] != keys[i];
  return runs;
}
}  // namespace

TEST_ALL_PLACES("runs: computed inputs") {
  const typename where::policy policy{};
  const pmpp::counting_iterator<std::int64_t> i(0);
  const pmpp::constant_iterator<std::int64_t> one(1);
  auto keys = where::put(std::vector<std::int64_t>(5000, -1)), out = where::put(std::vector<std::int64_t>(5000, -1));
  CHECK(pmpp::reduce_by_key<tiny>(policy, i, i + 5000, one, keys, out).first == keys.end());
  CHECK(pmpp::run_length_encode<tiny>(policy, one, one + 5000, keys, out).second - out.begin() == 1);
  CHECK(where::get(out)[0] == 5000);
}

TEST_ALL_PLACES("runs: lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto keys = runs_of<int>(20000, {1, 2, 3, 4, 50});
  const auto in = where::put(keys);
  for (const std::int64_t n : test::some_of({0, 1, 300, 4096, 19999, 20000, 30000})) {
    CAPTURE(n);
    const std::int64_t runs = runs_in({keys.begin(), keys.begin() + std::min<std::int64_t>(n, 20000)});
    auto count = where::put(std::vector<std::int64_t>{n});
    auto out = where::put(keys), times = where::put(keys);
    const pmpp::device_count length{count.data(), 20000};
    CHECK(pmpp::run_length_encode<tiny>(policy, in.begin(), length, out, times).first - out.begin() == runs);
    // The new count takes the place of the old one.
    pmpp::reduce_by_key_into<tiny>(policy, in.begin(), length, in.begin(), out, times, count);
    pmpp::synchronize(policy);
    CHECK(where::get(count)[0] == runs);
  }
}

TEST_ALL_PLACES("run lengths: tiles of any number of rows") {  // the bound says how a tile is cut
  const typename where::policy policy{};
  const auto check = [&]<class K>(K) {
    const auto keys = runs_of<K>(20000, {1, 2, 3, 4, 50, 700});
    std::vector<std::int64_t> wanted;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (i == 0 || keys[i - 1] != keys[i])
        wanted.push_back(1);
      else
        ++wanted.back();
    const auto in = where::put(keys);
    const auto count = where::put(std::vector<std::int64_t>{20000});
    auto out = where::put(keys);
    auto times = where::put(std::vector<std::int64_t>(20000, -1));
    for (std::int64_t bound = 20000; bound < 7000000; bound += bound / 4) {
      CAPTURE(bound);
      const auto end = pmpp::run_length_encode(policy, in.begin(), pmpp::device_count{count.data(), bound}, out, times);
      auto got = where::get(times);
      got.resize(static_cast<std::size_t>(end.second - times.begin()));
      CHECK(got == wanted);
    }
  };
  check(std::uint8_t());
  check(int());
}

TEST_CASE("counts that do not fit 32 bits: a bound past 2^32") {
  const auto keys = runs_of<int>(20000, {1, 2, 3, 4, 50});
  const auto values = test::random_values<double>(20000);
  const pmpp::device_buffer<int> in(keys);
  const pmpp::device_buffer<double> v(values);
  pmpp::device_buffer<std::int64_t> count(std::vector<std::int64_t>{20000});
  pmpp::device_buffer<int> out(20000);
  pmpp::device_buffer<std::int64_t> times(20000);
  pmpp::device_buffer<double> most(20000);
  const pmpp::device_count length{count.data(), std::int64_t(1) << 32};
  const auto end = pmpp::run_length_encode(device, in.begin(), length, out, times);
  const auto got = pmpp::to_host(times);
  CHECK(std::accumulate(got.begin(), got.begin() + (end.second - times.begin()), std::int64_t(0)) == 20000);
  CHECK(pmpp::reduce_by_key(device, in.begin(), length, v.begin(), out, most, pmpp::maximum{}).first == end.first);
  CHECK(pmpp::to_host(most)[1] == std::max(values[1], values[2]));
}

TEST_ALL_PLACES("counts of any integer type, zero for nothing") {
  const typename where::policy policy{};
  const auto keys = runs_of<int>(1000, {10});
  const auto in = where::put(keys);
  auto out = where::put(keys), times = where::put(keys);
  auto i32 = where::put(test::copies<int>(3, -7));
  auto u8 = where::put(std::vector<std::uint8_t>(3, 9));
  pmpp::reduce_by_key_into(policy, in, in, out, times, i32);
  pmpp::run_length_encode_into(policy, in, out, times, u8.begin() + 1);
  pmpp::run_length_encode_into(policy, in.begin(), in.begin(), out, times, i32.begin() + 1);
  pmpp::synchronize(policy);
  CHECK(where::get(i32) == std::vector<int>{100, 0, -7});
  CHECK(where::get(u8) == std::vector<std::uint8_t>{9, 100, 9});
}

#if !PMPP_CUDA
TEST_CASE("runs: blocks and threads in any order") {
  test::for_each_order(6, [&](std::uint64_t) {
    check_runs<tiny, test::device_place>(runs_of<int>(700, {1, 5, 90}), random_affines(700), test::compose{});
  });
}
#endif

TEST_CASE("runs: a workspace serves any number of calls, whatever their sizes") {
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  const auto keys = runs_of<int>(50000, {1, 2, 3, 100});
  const pmpp::device_buffer<int> in(keys);
  pmpp::device_buffer<int> out(keys.size()), times(keys.size());
  for (int i = 0; i < test::turns(30); ++i) {
    const auto n = static_cast<std::int64_t>(test::generator()() % 50001);
    const auto end = pmpp::run_length_encode<tiny>(policy, in.begin(), in.begin() + n, out, times);
    CHECK(end.first - out.begin() == runs_in({keys.begin(), keys.begin() + n}));
  }
}

#if PMPP_CUDA
TEST_CASE("runs: a captured graph, replayed on other keys, in another stream") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  pmpp::device_buffer<int> in(30000), keys(30000), times(30000), count(1);
  const auto enqueue = [&] { pmpp::run_length_encode_into(policy, std::as_const(in), keys, times, count); };
  const std::vector<int> zeros(30000);
  pmpp::copy(stream, zeros, in);
  enqueue();
  stream.synchronize();
  const test::captured_graph replayed(stream, enqueue);
  for (const std::int64_t length : {1, 7, 300, 30000}) {
    const auto v = runs_of<int>(30000, {length, 2});
    pmpp::copy(stream, v, in);
    replayed.replay();
    stream.synchronize();
    CHECK(pmpp::to_host(count)[0] == runs_in(v));
  }
}
#endif

TEST_ALL_PLACES("runs: bad input throws before anything runs") {
  const typename where::policy policy{};
  const int* null = nullptr;
  int* const nowhere = nullptr;
  const auto data = where::input(test::copies<int>(10, 1));
  auto out = where::put(test::copies<int>(10, 77));
  auto no_room = where::put(std::vector<int>{});
  const auto nine = where::input(test::copies<int>(9, 77));
  CHECK_THROWS_AS(pmpp::reduce_by_key(policy, data, nine, out, out), std::length_error);
  CHECK_THROWS_AS(pmpp::reduce_by_key(policy, data, data, nowhere, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::reduce_by_key(policy, data, data, out, nowhere), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::reduce_by_key_into(policy, data, data, out, out, no_room), std::length_error);
  CHECK_THROWS_AS(pmpp::run_length_encode_into(policy, data, out, out, nowhere), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::run_length_encode(policy, null, null + 3, out, out), std::invalid_argument);
  CHECK(where::get(out) == std::vector<int>(10, 77));
}
