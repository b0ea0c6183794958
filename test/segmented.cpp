// SPDX-License-Identifier: Apache-2.0
//
// What this file and segmented_runs.cpp prove of segmented.hpp, on every policy: sums and scans of segments for every law of lengths (all one,
// all empty but one, powers of two and one off, Zipf's, one giant, empty and large in turns, ends at the edges of
// tiles), for operators that show a wrong order or grouping, for offsets of any integer type that begin anywhere; runs
// of equal keys that are constant, distinct or a sawtooth; counts of any integer type; elements and keys of every size
// and alignment; computed inputs; lengths that only the device knows; in place where promised; nothing else is touched;
// bad input throws and touches nothing; a workspace is left as it was found. In the emulator also under other orders of
// blocks and threads.
#include <pmpp/by_key.hpp>
#include <pmpp/segmented.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/captured_graph.hpp"
#include "support/orders.hpp"
#include "support/rows.hpp"

using pmpp::device;
using namespace test::rows;

TEST_ALL_PLACES("sums and scans, every law of lengths") {
  for (const std::int64_t n : test::some_of({100, 1500, 20000})) {
    for (const auto& [name, l] : laws(n)) {
      CAPTURE(n);
      CAPTURE(name);
      CAPTURE(test::seed());
      const auto offsets = offsets_of(l);
      const auto v = test::random_values<int>(offsets.back());
      check_segments<pmpp::segmented_tuning{}, where>(v, offsets, 5, pmpp::plus{});
    }
  }
}

TEST_ALL_PLACES("many more segments than elements") {
  for (const int every : {1, 40, 1999}) {
    lengths l(12000, 0);
    for (std::size_t s = 7; s < l.size(); s += static_cast<std::size_t>(every)) l[s] = s % 3 == 0 ? 2 : 1;
    std::fill(l.begin() + 5000, l.begin() + 9000, 0);
    const auto offsets = offsets_of(l, 1);
    const std::int64_t n = offsets.back() + 3;
    CAPTURE(every);
    check_segments<pmpp::segmented_tuning{}, where>(test::random_values<int>(n), offsets, 5, pmpp::plus{});
    check_segments<tiny, where>(random_affines(n), offsets, test::affine{3, 4, 0}, test::compose{});
  }
}

TEST_ALL_PLACES("long segments among short ones") {
  lengths l(3000, 3);
  for (const auto& [s, length] :
       std::vector<std::pair<std::size_t, int>>{{5, 2500}, {9, 5000}, {10, 70}, {1700, 2049}, {2999, 12000}})
    l[s] = length;
  const auto offsets = offsets_of(l, 3);
  check_segments<pmpp::segmented_tuning{}, where>(test::random_values<int>(offsets.back()), offsets, 5, pmpp::plus{});
  check_segments<pmpp::segmented_tuning{}, where>(test::random_values<std::uint8_t>(offsets.back()),
                                                  std::vector<std::int64_t>(offsets.begin(), offsets.end()),
                                                  std::uint8_t(5), pmpp::maximum{});
  check_segments<pmpp::segmented_tuning{}, where>(positions(offsets.back()), offsets, test::interval{-7, -7},
                                                  join_behind{});
}

TEST_ALL_PLACES("so many segments that neighbours go to one warp, the first of them the longest") {
  const auto count = static_cast<std::size_t>(test::up_to(140'000, 5000));
  lengths l(count, 0);
  for (std::size_t s = 0; s < count; ++s) l[s] = static_cast<int>(std::min(std::size_t(3000), count / 2 / (s + 1)));
  const auto offsets = offsets_of(l, 1);
  check_segments<pmpp::segmented_tuning{}, where>(test::random_values<int>(offsets.back() + 1), offsets, 5,
                                                  pmpp::plus{});
}

TEST_ALL_PLACES("scans of segments that take a block each, and of longer ones") {
  const auto offsets = offsets_of({1500, 0, 2048, 2049, 700, 8192, 8193, 20000, 5, 513, 4096}, 3);
  check_segments<pmpp::segmented_tuning{}, where>(test::random_values<int>(offsets.back() + 2), offsets, 5,
                                                  pmpp::plus{});
  check_segments<pmpp::segmented_tuning{}, where>(positions(offsets.back()), offsets, test::interval{-7, -7},
                                                  join_behind{});
}

TEST_ALL_PLACES("many segments that a warp folds, some of which it leaves to the block") {
  const typename where::policy policy{};
  lengths l(1100, 270);
  for (const std::size_t s : {7u, 8u, 500u, 1099u}) l[s] = 2500;
  const auto offsets = offsets_of(l);
  const auto v = test::random_values<int>(offsets.back());
  const auto in = where::put(v);
  const auto at = where::put(offsets);
  auto out = where::put(test::copies<int>(1100, 7));
  pmpp::segmented_reduce(policy, in, at, out, 5);
  CHECK(where::get(out) == sums_of(v, offsets, 5, pmpp::plus{}));
}

TEST_ALL_PLACES("operators that show order and grouping") {
  for (const std::int64_t n : {100, 300, 3000})
    for (const auto& [name, l] : laws(n)) {
      CAPTURE(n);
      CAPTURE(name);
      const auto offsets = offsets_of(l, 3);
      const std::int64_t m = offsets.back() + 2;
      check_segments<tiny, where>(random_affines(m), offsets, test::affine{3, 4, 0}, test::compose{});
      check_segments<small, where>(random_affines(m), offsets, test::affine{3, 4, 0}, test::compose{});
      check_segments<deep, where>(random_brackets(m), offsets, test::brackets{1, 1}, test::concatenate{});
      check_segments<pmpp::segmented_tuning{}, where>(positions(m), offsets, test::interval{-7, -7}, join_behind{});
    }
}

TEST_ALL_PLACES("long segments of operators in order") {
  for (const int length : test::some_of({5000, 30011})) {
    const auto offsets = offsets_of({length, 0, 17, length});
    check_segments<pmpp::segmented_tuning{}, where>(positions(offsets.back()), offsets, test::interval{-7, -7},
                                                    join_behind{});
    check_segments<deep, where>(random_brackets(offsets.back()), offsets, test::brackets{}, test::concatenate{});
    check_segments<small, where>(random_affines(offsets.back()), offsets, test::affine{3, 4, 0}, test::compose{});
  }
}

namespace {
template <pmpp::segmented_tuning Tuning, class where, parts Which, class T, class I>
void check_types() {
  for (const auto& [name, l] : laws(120)) {
    CAPTURE(name);
    const auto offsets = offsets_of<I>(l);
    if (static_cast<std::int64_t>(offsets.back()) != std::accumulate(l.begin(), l.end(), std::int64_t(0))) continue;
    const auto v = test::random_values<T>(static_cast<std::int64_t>(offsets.back()));
    check_segments<Tuning, where, Which>(v, offsets, T(1), pmpp::maximum{});
  }
}
}  // namespace

TEST_ALL_PLACES("elements and offsets of every type") {
  check_types<pmpp::segmented_tuning{}, where, parts::both, std::uint8_t, std::int64_t>();
  check_types<tiny, where, parts::scans, std::int16_t, std::int16_t>();
  check_types<small, where, parts::scans, float, std::uint64_t>();
  check_types<tiny, where, parts::sums, double, std::uint16_t>();
  const auto offsets = offsets_of<std::uint32_t>({0, 100, 700, 0, 1, 2, 3});
  std::vector<test::wide> w(static_cast<std::size_t>(offsets.back()));
  for (std::size_t i = 0; i < w.size(); ++i)
    for (std::size_t k = 0; k < 5; ++k) w[i].part[k] = static_cast<std::int64_t>(scrambled(5 * i + k) % 1000);
  check_segments<pmpp::segmented_tuning{}, where>(w, offsets, test::wide{}, test::add_wide{});
}

TEST_ALL_PLACES("accumulators: small integers add up in 64 bits, init chooses another type") {
  const typename where::policy policy{};
  const std::vector<std::uint8_t> v(9000, 200);
  const auto in = where::put(v);
  const auto at = where::put(std::vector<int>{0, 8000, 8000, 9000});
  auto sums = where::put(std::vector<std::int64_t>(3, -1));
  pmpp::segmented_reduce<tiny>(policy, in, at, sums);
  CHECK(where::get(sums) == std::vector<std::int64_t>{1600000, 0, 200000});
  auto means = where::put(test::copies<float>(3, -1));
  pmpp::segmented_reduce<tiny>(policy, in.begin(), in.end(), at.begin(), at.end(), means, 0.5);
  CHECK(where::get(means) == std::vector<float>{1600000.5f, 0.5f, 200000.5f});
  auto running = where::put(std::vector<std::int64_t>(9000, -1));
  pmpp::segmented_inclusive_scan<tiny>(policy, in.begin(), in.end(), at.begin(), at.end(), running);
  CHECK(where::get(running)[7999] == 1600000);
  CHECK(where::get(running)[8000] == 200);
}

TEST_ALL_PLACES("long segments, in many chunks") {
  const typename where::policy policy{};
  constexpr pmpp::segmented_tuning long_ones{.threads = 64, .short_input = 0, .long_average = 500};
  const auto v = test::random_values<int>(1000000);
  const auto in = where::put(v);
  for (const int each : {900, 1000000}) {
    CAPTURE(each);
    std::vector<std::int64_t> l(static_cast<std::size_t>((1000000 + each - 1) / each), each);
    l.back() = 1000000 - (static_cast<std::int64_t>(l.size()) - 1) * each;
    const auto offsets = offsets_of(l);
    const auto at = where::put(offsets);
    auto out = where::put(test::copies<int>(static_cast<std::int64_t>(l.size()), 7));
    pmpp::segmented_reduce<long_ones>(policy, in, at, out, 5);
    CHECK(where::get(out) == sums_of(v, offsets, 5, pmpp::plus{}));
  }
}

TEST_ALL_PLACES("long segments of narrow elements, which begin and end anywhere") {
  const typename where::policy policy{};
  const auto check = [&]<class T, class I>(std::int64_t n, int from, T, I) {
    CAPTURE(n);
    CAPTURE(from);
    const auto v = test::random_values<T>(n + from);
    const std::vector<T> piece(v.begin() + from, v.end());
    const auto offsets = offsets_of<I>({3, n / 2, 0, 1, n / 5, n - n / 2 - n / 5 - 9}, 2);
    const auto in = where::put(v);
    const auto at = where::put(offsets);
    auto out = where::put(test::copies<T>(6, 7));
    pmpp::segmented_reduce(policy, in.begin() + from, in.end(), at.begin(), at.end(), out, T(5), pmpp::maximum{});
    CHECK(where::get(out) == sums_of(piece, offsets, T(5), pmpp::maximum{}));
  };
  for (const std::int64_t n : test::some_of({40, 700, 5000, 70000}))
    for (const int from : {0, 1, 7, 15}) {
      check(n, from, std::uint8_t(), std::int64_t());
      check(n, from, std::int16_t(), int());
    }
}

TEST_ALL_PLACES("misaligned inputs and outputs") {
  const typename where::policy policy{};
  const auto v = test::random_values<int>(3000);
  const auto in = where::put(v);
  for (const int from : {0, 1, 2, 3})
    for (const int to : {0, 1, 3})
      for (const int length : {1, 5, 128, 2900}) {
        CAPTURE(from);
        CAPTURE(to);
        CAPTURE(length);
        const std::vector<int> piece(v.begin() + from, v.begin() + from + length);
        const auto offsets = offsets_of({length / 3, length - length / 3});
        const auto at = where::put(offsets);
        auto out = where::put(test::copies<int>(3010, 7));
        pmpp::segmented_inclusive_scan<tiny>(policy, in.begin() + from, in.begin() + from + length, at,
                                             out.begin() + to);
        const auto got = where::get(out);
        CHECK(std::vector<int>(got.begin() + to, got.begin() + to + length) ==
              scans_of(piece, offsets, piece, pmpp::plus{}));
        CHECK(std::count(got.begin() + to + length, got.end(), 7) == 3010 - to - length);
        auto sums = where::put(std::vector<int>(2 + 3, 7));
        pmpp::segmented_reduce<small>(policy, in.begin() + from, in.begin() + from + length, at, sums.begin() + to);
        const auto wanted = sums_of(piece, offsets, 0, pmpp::plus{});
        CHECK(where::get(sums)[static_cast<std::size_t>(to)] == wanted[0]);
        CHECK(where::get(sums)[static_cast<std::size_t>(to + 1)] == wanted[1]);
      }
}

TEST_ALL_PLACES("scans: several tiles of each block, from anywhere in a line of memory; most segments empty") {
  const typename where::policy policy{};
  const std::int64_t n = test::up_to(300'000);  // two tiles for each of 132 multiprocessors
  const auto v = test::random_values<std::uint64_t>(n);
  const auto in = where::put(v);
  lengths l(static_cast<std::size_t>(n), 0);  // the more of them are empty, the later
  for (std::int64_t s = 0, sum = 0; s < n; ++s) {
    const auto end = static_cast<std::int64_t>(double(n - 31) * std::log(double(s) + 2) / std::log(double(n) + 1));
    l[static_cast<std::size_t>(s)] = end - sum;
    sum = end;
  }
  const auto offsets = offsets_of(l);
  const auto at = where::put(offsets);
  for (const int from : {0, 1, 14, 31}) {
    CAPTURE(from);
    auto out = where::put(v);
    pmpp::segmented_inclusive_scan<deep>(policy, in.begin() + from, in.end(), at, out.begin());
    pmpp::synchronize(policy);
    const std::vector<std::uint64_t> some(v.begin() + from, v.end());
    CHECK(where::get(out) == scans_of(some, offsets, v, pmpp::plus{}));
  }
}

TEST_ALL_PLACES("computed inputs") {
  const typename where::policy policy{};
  const pmpp::counting_iterator<std::int64_t> i(0);
  const pmpp::constant_iterator<std::int64_t> one(1);
  // Offsets 0, 1, 2, ...: all segments have one element.
  auto out = where::put(std::vector<std::int64_t>(5000, -1));
  pmpp::segmented_reduce<tiny>(policy, i, i + 5000, i, i + 5001, out, std::int64_t(10));
  std::vector<std::int64_t> wanted(5000);
  std::iota(wanted.begin(), wanted.end(), 10);
  CHECK(where::get(out) == wanted);
  pmpp::segmented_reduce(policy, one, one + 5000, where::input(std::vector<int>{0, 5000}), out);
  CHECK(where::get(out)[0] == 5000);
  pmpp::segmented_inclusive_scan<tiny>(policy, one, one + 5000, where::input(std::vector<int>{0, 3000, 5000}), out);
  CHECK(where::get(out)[2999] == 3000);
  CHECK(where::get(out)[4999] == 2000);
}

namespace {
/// Can be copied, and not assigned, as a lambda with captures.
struct scale_by {
  const int factor;
  PMPP_HOST_DEVICE int operator()(int x) const {
    return static_cast<int>(static_cast<unsigned>(factor) * static_cast<unsigned>(x));
  }
};
}  // namespace

TEST_ALL_PLACES("inputs that are computed by what has captures") {
  const typename where::policy policy{};
  const auto v = test::random_values<int>(3000);
  std::vector<int> scaled(v.size());
  std::transform(v.begin(), v.end(), scaled.begin(),
                 [](int x) { return static_cast<int>(static_cast<unsigned>(x) * 3u); });
  const auto in = where::put(v);
  const pmpp::transform_iterator first(in.data(), scale_by{3});
  for (const auto& offsets : {std::vector<int>{0, 7, 7, 2990}, std::vector<int>{1, 3}}) {
    const auto at = where::put(offsets);
    const std::size_t segments = offsets.size() - 1;
    auto out = where::put(std::vector<int>(3000, 0));
    pmpp::segmented_reduce(policy, first, first + 3000, at, out, 5, pmpp::bit_xor{});
    auto wanted = sums_of(scaled, offsets, 5, pmpp::bit_xor{});
    auto got = where::get(out);
    got.resize(segments);
    CHECK(got == wanted);
    pmpp::segmented_max_element(policy, first, first + 3000, at, out);
    got = where::get(out);
    for (std::size_t s = 0; s < segments; ++s) {
      const auto from = scaled.begin() + offsets[s], to = scaled.begin() + offsets[s + 1];
      if (from != to) CHECK(got[s] == std::max_element(from, to) - scaled.begin());
    }
    pmpp::segmented_inclusive_scan(policy, first, first + 3000, at, out, pmpp::bit_xor{});
    got = where::get(out);
    for (std::size_t s = 0; s < segments; ++s)
      if (const int last = offsets[s + 1] - 1; last >= offsets[s])
        CHECK((got[static_cast<std::size_t>(last)] ^ 5) == wanted[s]);
  }
}

TEST_ALL_PLACES("lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto v = test::random_values<int>(20000);
  const auto in = where::put(v);
  const auto offsets = offsets_of(lengths(2000, 10));
  const auto at = where::put(offsets);
  for (const std::int64_t n : test::some_of({0, 1, 300, 4096, 19999, 20000, 30000})) {
    CAPTURE(n);
    const auto entries = where::put(std::vector<int>{static_cast<int>(n / 10)});
    auto sums = where::put(test::copies<int>(2000, -1));
    pmpp::segmented_reduce<tiny>(policy, in.begin(), in.end(), at.begin(), pmpp::device_count{entries.data(), 2001},
                                 sums);
    const std::vector<int> some(offsets.begin(), offsets.begin() + std::min<std::int64_t>(n / 10, 2001));
    auto wanted = sums_of(v, some, 0, pmpp::plus{});
    wanted.resize(2000, -1);
    CHECK(where::get(sums) == wanted);
    const auto elements = where::put(std::vector<std::int64_t>{n});
    sums = where::put(test::copies<int>(2000, -1));
    pmpp::segmented_reduce<small>(policy, in.begin(), pmpp::device_count{elements.data(), 20000}, at.begin(),
                                  pmpp::device_count{entries.data(), 2001}, sums);
    CHECK(where::get(sums) == wanted);
  }
}

#if !PMPP_CUDA
TEST_CASE("blocks and threads in any order") {
  const auto cases = laws(700);
  test::for_each_order(20, [&](std::uint64_t seed) {
    const auto& [name, l] = cases[seed % cases.size()];
    CAPTURE(name);
    const auto offsets = offsets_of(l, 1);
    check_segments<tiny, test::device_place>(random_affines(offsets.back()), offsets, test::affine{3, 4, 0},
                                             test::compose{});
    check_segments<small, test::device_place>(random_affines(offsets.back()), offsets, test::affine{3, 4, 0},
                                              test::compose{});
  });
}
#endif

TEST_CASE("the same bits on every run and for any number of host threads") {
  const auto offsets = offsets_of({0, 60000, 1, 30000, 7, 7, 7, 100000});
  const auto v = test::random_values<float>(offsets.back());
  std::vector<float> first, again(8), scanned(v.size()), scanned_again(v.size());
  for (const int threads : {1, 2, 3, 4}) {
    pmpp::segmented_reduce(pmpp::host.threads(threads), v, offsets, again);
    pmpp::segmented_inclusive_scan(pmpp::host.threads(threads), v, offsets, scanned_again);
    if (first.empty()) {
      first = again;
      scanned = scanned_again;
    }
    CHECK(first == again);
    CHECK(scanned == scanned_again);
  }
  const pmpp::device_buffer<float> in(v);
  const pmpp::device_buffer<int> at(offsets);
  pmpp::device_buffer<float> out(8), all(v.size());
  for (int i = 0; i < 5; ++i) {
    pmpp::segmented_reduce(device, in, at, out);
    pmpp::segmented_inclusive_scan(device, in, at, all);
    pmpp::synchronize(device);
    if (i == 0) {
      again = pmpp::to_host(out);
      scanned = pmpp::to_host(all);
    }
    CHECK(pmpp::to_host(out) == again);
    CHECK(pmpp::to_host(all) == scanned);
  }
  for (std::size_t s = 0; s < first.size(); ++s) CHECK(std::abs(first[s] - again[s]) < 0.05f);
}

TEST_CASE("a workspace serves any number of calls, whatever their sizes") {
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  const auto v = test::random_values<int>(50000);
  const pmpp::device_buffer<int> in(v);
  pmpp::device_buffer<int> out(v.size(), 0), sums(v.size(), 0);
  for (int i = 0; i < test::turns(30); ++i) {
    const auto n = static_cast<std::int64_t>(test::generator()() % 50001);
    const std::vector<int> used(v.begin(), v.begin() + n);
    const auto offsets = offsets_of({n / 3, 0, n - n / 3});
    const pmpp::device_buffer<int> at(offsets);
    pmpp::segmented_reduce<tiny>(policy, in, at, sums);
    pmpp::segmented_inclusive_scan<tiny>(policy, in, at, out);
    pmpp::synchronize(policy);
    const auto wanted = sums_of(used, offsets, 0, pmpp::plus{});
    const auto got = pmpp::to_host(sums);
    CHECK(std::vector<int>(got.begin(), got.begin() + 3) == wanted);
    if (n > 0) CHECK(pmpp::to_host(out)[static_cast<std::size_t>(n - 1)] == wanted[2]);
  }
}

#if PMPP_CUDA
TEST_CASE("a captured graph, replayed on other offsets, in another stream") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  const auto v = test::random_values<int>(30000);
  const pmpp::device_buffer<int> in(v);
  pmpp::device_buffer<int> at(101), sums(100), scans(30000, 0);
  const auto enqueue = [&] {
    pmpp::segmented_reduce(policy, in, std::as_const(at), sums);
    pmpp::segmented_inclusive_scan(policy, in, std::as_const(at), scans);
  };
  pmpp::copy(stream, std::span<const int>(std::vector<int>(101, 0)), std::span<int>(at.data(), 101));
  enqueue();
  stream.synchronize();
  const test::captured_graph replayed(stream, enqueue);
  for (int round = 0; round < test::turns(10); ++round) {
    lengths l(100);
    for (auto& x : l) x = static_cast<std::int64_t>(test::generator()() % 300);
    const auto offsets = offsets_of(l);
    pmpp::copy(stream, std::span<const int>(offsets), std::span<int>(at.data(), 101));
    replayed.replay();
    stream.synchronize();
    CHECK(pmpp::to_host(sums) == sums_of(v, offsets, 0, pmpp::plus{}));
    const auto got = pmpp::to_host(scans);
    const auto wanted = scans_of(v, offsets, v, pmpp::plus{});
    CHECK(std::equal(wanted.begin(), wanted.begin() + offsets.back(), got.begin()));
  }
}
#endif

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const int* null = nullptr;
  int* const nowhere = nullptr;
  const auto data = where::put(test::copies<int>(10, 1));
  auto out = where::put(test::copies<int>(10, 77));
  const auto offsets = where::put(std::vector<int>{0, 5, 10});
  const auto nothing = where::put(std::vector<int>{});
  auto one = where::put(test::copies<int>(1, 77));
  auto nine = where::put(test::copies<int>(9, 77));
  CHECK_THROWS_AS(pmpp::segmented_reduce(policy, data, nothing, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_reduce(policy, data, offsets, one), std::length_error);
  CHECK_THROWS_AS(pmpp::segmented_reduce(policy, data, offsets, nowhere), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_reduce(policy, null, null + 5, offsets, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_reduce(policy, data.end(), data.begin(), offsets, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_reduce(policy, data, pmpp::subrange{null, null + 3}, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_inclusive_scan(policy, data, nothing, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_inclusive_scan(policy, data, offsets, nine), std::length_error);
  CHECK_THROWS_AS(pmpp::segmented_inclusive_scan(policy, data, offsets, nowhere), std::invalid_argument);
  CHECK(where::get(out) == std::vector<int>(10, 77));
  CHECK(where::get(one)[0] == 77);
  // No segments, or no elements in any, are no mistake.
  CHECK(pmpp::segmented_reduce(policy, null, null, where::input(std::vector<int>{0}), nowhere) == nowhere);
  pmpp::segmented_reduce(policy, null, null, where::input(std::vector<int>{0, 0, 0}), out, 5);
  pmpp::segmented_inclusive_scan(policy, null, null, where::input(std::vector<int>{0, 0, 0}), nowhere);
  pmpp::segmented_inclusive_scan(policy, data, where::input(std::vector<int>{0}), out);
  pmpp::synchronize(policy);
  CHECK(where::get(out) == std::vector<int>{5, 5, 77, 77, 77, 77, 77, 77, 77, 77});
}
