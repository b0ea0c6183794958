// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of segmented_copy.hpp, on every policy: results are those of plain loops for one segment, many tiny ones,
// empty ones and a mixture, of any length; what no segment or piece covers stays as it was; pieces of any size at any address are
// copied to any address; lengths that only the device knows; captured in a graph; bad input throws and touches nothing.
#include <pmpp/segmented_copy.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/element_types.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

std::int64_t random_below(std::int64_t n) { return std::int64_t(test::generator()() % std::uint64_t(n)); }

/// Lengths of one kind, from a gap on; what is after the last one is in no segment.
std::vector<int> offsets_of(int kind, int n) {
  std::vector<int> offsets{std::min(n, 3)};
  while (offsets.back() < n - 2 && offsets.size() < 100000) {
    const auto length = kind == 0               ? n
                        : kind == 1             ? random_below(3)
                        : kind == 2             ? random_below(100)
                        : random_below(20) < 19 ? 0
                                                : random_below(9000);
    offsets.push_back(static_cast<int>(std::min<std::int64_t>(n - 2, offsets.back() + length)));
  }
  return offsets;
}

}  // namespace

TEST_ALL_PLACES("reverse; copy") {
  const typename where::policy policy{};
  for (const int n : test::some_of({0, 1, 5, 2051, 30000}))
    for (int kind = 0; kind < 4; ++kind) {
      CAPTURE(n);
      CAPTURE(kind);
      const auto offsets = offsets_of(kind, n);
      std::vector<short> in(static_cast<std::size_t>(n)), backwards(in.size(), -1), moved(in.size(), -1);
      std::iota(in.begin(), in.end(), short(0));
      // Segments, last first, each where the one after it ends.
      std::vector<std::int64_t> targets(offsets.size() - 1);
      int next = 0;
      for (std::size_t s = targets.size(); s-- > 0;) {
        std::reverse_copy(in.begin() + offsets[s], in.begin() + offsets[s + 1], backwards.begin() + offsets[s]);
        std::copy(in.begin() + offsets[s], in.begin() + offsets[s + 1], moved.begin() + next);
        targets[s] = next;
        next += offsets[s + 1] - offsets[s];
      }
      const auto x = where::input(in);
      const auto at = where::input(offsets);
      auto out = where::put(std::vector<short>(in.size(), -1)), other = where::put(std::vector<short>(in.size(), -1));
      CHECK(pmpp::segmented_reverse(policy, x, at, out) == out.end());
      pmpp::segmented_copy(policy, x, at, other, where::input(targets));
      pmpp::synchronize(policy);
      CHECK(where::get(out) == backwards);
      CHECK(where::get(other) == moved);
    }
}

TEST_ALL_PLACES("batches: pieces of any size at any address") {
  const typename where::policy policy{};
  for (const std::int64_t pieces : test::some_of({0, 1, 40, 3000})) {
    CAPTURE(pieces);
    std::vector<std::int64_t> from, to;
    std::vector<int> sizes;
    std::int64_t source_end = 0, target_end = 0;
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t kind = random_below(40), size = kind == 0  ? random_below(40000)
                                                         : kind < 8 ? 0
                                                                    : random_below(70);
      from.push_back(source_end += random_below(5));
      to.push_back(target_end += random_below(5));
      sizes.push_back(static_cast<int>(size));
      source_end += size;
      target_end += size;
    }
    std::vector<unsigned char> in(static_cast<std::size_t>(source_end)),
        wanted(static_cast<std::size_t>(target_end) + 5, 99);
    for (auto& x : in) x = static_cast<unsigned char>(test::generator()());
    for (std::size_t i = 0; i < sizes.size(); ++i) std::copy_n(in.begin() + from[i], sizes[i], wanted.begin() + to[i]);
    const auto x = where::input(in);
    auto out = where::put(std::vector<unsigned char>(wanted.size(), 99));
    std::vector<const unsigned char*> sources;
    std::vector<unsigned char*> targets;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sources.push_back(x.data() + from[i]);
      targets.push_back(out.data() + to[i]);
    }
    pmpp::copy_batched(policy, where::input(sources), where::input(targets), where::input(sizes));
    pmpp::synchronize(policy);
    CHECK(where::get(out) == wanted);
  }
}

namespace {

/// Copies pieces of `sizes` elements: piece i begins i elements after a multiple of 16, and goes i / 16 after one.
template <class where, class T>
void copies_from_and_to_anywhere(const std::vector<int>& sizes) {
  const typename where::policy policy{};
  constexpr int each = sizeof(T);
  std::vector<int> offsets{1};  // what lies between pieces is segments too, which go behind all of them
  std::vector<std::int64_t> targets;
  std::int64_t all = 0, next = 0;
  for (const int size : sizes) all += size + 40;
  std::int64_t between = all;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int gap = (int(i % 16) - offsets.back() % 16 + 16) % 16;
    targets.push_back(between);
    offsets.push_back(offsets.back() + gap);
    between += gap;
    next += (std::int64_t(i / 16 % 16) - next % 16 + 16) % 16;
    targets.push_back(next);
    offsets.push_back(offsets.back() + sizes[i]);
    next += sizes[i];
  }
  const auto n = static_cast<std::size_t>(offsets.back() + 2);
  std::vector<T> in(n), wanted(static_cast<std::size_t>(2 * all), T{});
  for (auto& x : in) {
    unsigned char bytes[each];
    for (auto& b : bytes) b = static_cast<unsigned char>(test::generator()());
    std::memcpy(static_cast<void*>(&x), bytes, each);
  }
  for (std::size_t s = 0; s < targets.size(); ++s)
    std::copy(in.begin() + offsets[s], in.begin() + offsets[s + 1], wanted.begin() + targets[s]);
  auto out = where::put(std::vector<T>(wanted.size(), T{}));
  pmpp::segmented_copy(policy, where::input(in), where::input(offsets), out, where::input(targets));
  pmpp::synchronize(policy);
  const auto got = where::get(out);
  CHECK(std::memcmp(got.data(), wanted.data(), wanted.size() * sizeof(T)) == 0);
}

}  // namespace

TEST_ALL_PLACES("copy: runs of any size from any alignment to any other") {
  for (const int size : test::some_of({64, 65, 127, 200, 1000}))  // 256 of each: all pairs of places in a word
    copies_from_and_to_anywhere<where, unsigned char>(std::vector<int>(256, size));
  std::vector<int> rising(201);
  std::iota(rising.begin(), rising.end(), 0);
  std::vector<int> mixed(700, 2), huge{40000, 3, 0, 0, 17000, 16384};
  mixed.insert(mixed.end(), {0, 30000, 0, 0, 1, 70000});
  mixed.insert(mixed.end(), 2000, 0);
  mixed.insert(mixed.end(), 300, 100);
  for (const auto& sizes : {rising, mixed, huge}) {
    copies_from_and_to_anywhere<where, unsigned char>(sizes);
    copies_from_and_to_anywhere<where, std::int16_t>(sizes);
    copies_from_and_to_anywhere<where, std::uint32_t>(sizes);
    copies_from_and_to_anywhere<where, test::record<12, 4>>(sizes);
    copies_from_and_to_anywhere<where, test::record<16, 8>>(sizes);
  }
  copies_from_and_to_anywhere<where, test::record<40, 8>>(mixed);
}

TEST_CASE("a graph of them, lengths on the device") {
  pmpp::workspace scratch;
  const pmpp::stream stream;
  const auto policy = device.on(stream).with(scratch);
  const std::vector<int> data{0, 1, 2, 3, 4, 5, 6, 7};
  const pmpp::device_buffer<int> in(data);
  pmpp::device_buffer<int> offsets(std::vector<int>{0, 3, 8}), out(8, -1), copied(8, -1), count(1, 0);
  const std::vector<const int*> from{in.data(), in.data() + 3};
  const std::vector<int*> to{copied.data() + 5, copied.data()};
  const pmpp::device_buffer<const int*> sources(from);
  const pmpp::device_buffer<int*> targets(to);
  const pmpp::device_buffer<int> bytes(std::vector<int>{12, 20});
  const auto enqueue = [&] {
    pmpp::segmented_reverse(policy, in, offsets, out);
    pmpp::copy_batched(policy, sources.begin(), pmpp::device_count(count.data(), 2), targets, bytes);
  };
  const test::repeated again(stream, enqueue);  // once with nothing to copy
  CHECK(pmpp::to_host(out) == std::vector<int>{2, 1, 0, 7, 6, 5, 4, 3});
  CHECK(pmpp::to_host(copied) == std::vector<int>(8, -1));
  pmpp::copy(stream, std::vector<int>{0, 1, 8}, offsets);
  pmpp::copy(stream, std::vector<int>{2}, count);
  again();
  CHECK(pmpp::to_host(out) == std::vector<int>{0, 7, 6, 5, 4, 3, 2, 1});
  CHECK(pmpp::to_host(copied) == std::vector<int>{3, 4, 5, 6, 7, 0, 1, 2});
}

#if PMPP_CUDA
/// Keeps what goes past 2^31.
struct keep_far {
  std::int64_t* kept;
  PMPP_HOST_DEVICE void operator()(std::int64_t i, std::int64_t x) const {
    if (i >> 31 != 0) kept[i & 0x7fffffff] = x;
  }
};
TEST_CASE("segments past 2^31") {
  const std::int64_t half = std::int64_t(1) << 31, n = half + 10;
  const pmpp::device_buffer<std::int64_t> offsets(std::vector<std::int64_t>{0, 5, n});
  pmpp::device_buffer<std::int64_t> kept(10, -1);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::segmented_reverse(device, i, i + n, offsets, pmpp::tabulate_output<std::int64_t>(keep_far{kept.data()}));
  const auto got = pmpp::to_host(kept);
  for (std::int64_t k = 0; k < 10; ++k) CHECK(got[std::size_t(k)] == 5 + n - 1 - (half + k));
}
#endif

TEST_ALL_PLACES("bad input throws and touches nothing") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{1, 2, 3});
  const auto offsets = where::put(std::vector<int>{0, 3}), none = where::put(std::vector<int>{});
  int* const null = nullptr;
  CHECK_THROWS_WITH_AS(pmpp::segmented_reverse(policy, x, offsets, x), doctest::Contains("out overlaps an input"),
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::segmented_reverse(policy, x, none, null), std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::segmented_copy(policy, x, offsets, null, offsets), doctest::Contains("out is null"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::segmented_copy(policy, x, offsets, x.begin() + 1, none),
                       doctest::Contains("segmented_copy: out_offsets has room for 0 elements, needs 1"),
                       std::length_error);
  const auto sources = where::put(std::vector<const int*>{x.data()});
  const auto targets = where::put(std::vector<int*>{});
  CHECK_THROWS_WITH_AS(pmpp::copy_batched(policy, sources, targets, offsets),
                       doctest::Contains("copy_batched: targets has room for 0 elements, needs 1"), std::length_error);
  pmpp::synchronize(policy);
  CHECK(where::get(x) == std::vector<int>{1, 2, 3});
}
