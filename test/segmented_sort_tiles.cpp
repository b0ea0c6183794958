// SPDX-License-Identifier: Apache-2.0
//
// segmented_sort with tiles of the default size: segments that end around the edges of windows and tiles, segments that the
// warps of a block share, a mixture; one workspace for all calls, and a graph. See segmented_sort.cpp.
#include <pmpp/segmented_sort.hpp>

#include <cstdint>

#include "support/captured_graph.hpp"
#include "support/segments.hpp"

namespace {

using test::by_key;
using test::check_laws;
using test::check_segments;
using test::draw_below;
using test::elements;
using test::lengths;
using test::offsets_of;
using test::tagged;

/// The default tile; arrays of up to `few` elements take one launch, others three.
constexpr std::int64_t few = 1 << 16;
constexpr pmpp::segmented_sort_tuning by_default{.ranked = 0, .short_limit = few}, by_rank{.short_limit = few};
constexpr std::int64_t network_tile = 4096, short_tile = 4608, long_tile = 4352;  // of these kernels

template <class where>
void check_both(const lengths& law) {
  const auto offsets = offsets_of(law);
  for (const std::int64_t after : {std::int64_t(0), few}) {
    const std::int64_t n = offsets.back() + after;
    check_segments<by_default, where>(elements<tagged>(n, [](std::int64_t) { return draw_below(1000); }), offsets,
                                      by_key{});
    check_segments<by_default, where>(elements<std::uint32_t>(n, [](std::int64_t) { return draw_below(1ll << 32); }),
                                      offsets);
  }
}

}  // namespace

TEST_ALL_PLACES("segments at the edges of the default tile") {
  for (const std::int64_t tile : {network_tile, short_tile, long_tile}) {
    const std::int64_t window = tile - tile / 8;
    for (const std::int64_t length :
         test::some_of({window - 1, window, window + 1, tile - 1, tile, tile + 1, 4 * tile, 4 * tile + 1}))
      check_both<where>({3, length, 0, length, 5, 5, length});
  }
  lengths mixture{150000, 1, 0, 9000};
  for (int i = 0; i < 3000; ++i) mixture.push_back(draw_below(40));
  mixture.push_back(40000);
  const auto offsets = offsets_of(mixture);
  check_segments<by_default, where>(
      elements<std::uint32_t>(offsets.back(), [](std::int64_t) { return draw_below(1 << 20); }), offsets);
}

TEST_ALL_PLACES("elements whose places are counted, and a few more") {
  for (const std::int64_t n : test::some_of({1, 2, 33, 129, 400, 512, 513})) {
    check_laws<by_rank, where, tagged>(n, 5, by_key{});
    check_laws<by_rank, where, std::uint32_t>(n, 1 << 20);
  }
}

TEST_ALL_PLACES("long segments that warps share, among others") {
  check_both<where>({513, 3, 1024, 0, 1025, 700, 512, 1, 4096, 2049, 2048, 40, 4095, 511, 4097, 8192, 600});
  check_both<where>(lengths(14, 513));
  check_both<where>({4000, 96, 3000, 1096, 5000, 5000, 2});
  lengths any;
  for (int i = 0; i < 30; ++i) any.push_back(draw_below(draw_below(3) == 0 ? 40 : 2500));
  check_both<where>(any);
}

#if PMPP_CUDA
TEST_CASE("one workspace serves all calls, and a graph sorts other data") {
  using where = test::device_place;
  pmpp::workspace memory;
  pmpp::stream s;
  const auto policy = pmpp::device.on(s).with(memory);
  const auto offsets = offsets_of({20000, 3, 0, 70, 30000, 1000});
  const auto v = elements<std::uint32_t>(offsets.back(), [](std::int64_t) { return draw_below(1 << 30); });
  auto data = where::put(v);
  test::device_place::container<std::uint32_t> merged_by_four(v.size() + few);  // an array that takes three launches
  const auto at = where::put(offsets);
  memory.reserve((v.size() + few) * 5);
  const test::captured_graph replayed(s, [&] {
    pmpp::segmented_sort<by_default>(policy, data, at);
    pmpp::segmented_sort<by_default>(policy, merged_by_four, at);
  });
  for (int round = 0; round < 3; ++round) {
    auto other = v;
    for (auto& x : other) x = x * 2654435761u + static_cast<std::uint32_t>(round);
    pmpp::copy(other, data);
    pmpp::copy(other, std::span(merged_by_four.data(), other.size()));
    replayed.replay();
    s.synchronize();
    for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
      std::sort(other.begin() + offsets[k], other.begin() + offsets[k + 1]);
    CHECK(where::get(data) == other);
    auto got = where::get(merged_by_four);
    got.resize(other.size());
    CHECK(got == other);
  }
}
#endif
