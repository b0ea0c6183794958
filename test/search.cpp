// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of core/search.hpp and block/search.hpp: one thread and a warp find the partition point of every
// place in ranges of every length that takes up to three rounds, wherever the range begins, past 2^32 too; they call the
// predicate with places of the range alone. ends_before cuts the walk over elements and ends of segments at every step.
#include <pmpp/block/search.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/launch.hpp>

#include <cstdint>
#include <vector>

#include "support/policies.hpp"

namespace {

/// True in front of `answer`. Notes places outside of [low, high).
struct in_front_of {
  std::int64_t answer, low, high;
  bool* outside;
  PMPP_HOST_DEVICE bool operator()(std::int64_t i) const {
    if (i < low || i >= high) *outside = true;
    return i < answer;
  }
};

/// Warp w of the grid looks for place low + w.
struct search_all {
  static constexpr int threads = 64, lanes = pmpp::simt::warp_size;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, std::int64_t low, std::int64_t high, std::int64_t* found) const {
    const std::int64_t warp = block.index() * block.warps() + block.warp();
    if (low + warp > high) return;
    bool outside = false;
    const in_front_of before{low + warp, low, high, &outside};
    const std::int64_t place = pmpp::block::warp_search(block, low, high, before);
    outside = block.any(outside);
    found[warp * lanes + block.lane()] = outside ? -1 : place;
  }
};

constexpr std::int64_t begins[] = {0, 5, (std::int64_t(1) << 33) - 7};

}  // namespace

TEST_CASE("partition_point: every place of ranges of every length") {
  for (const std::int64_t low : begins)
    for (std::int64_t n = 0; n < 70; ++n)
      for (std::int64_t answer = low; answer <= low + n; ++answer) {
        bool outside = false;
        const in_front_of before{answer, low, low + n, &outside};
        CHECK(pmpp::detail::partition_point(low, low + n, before) == answer);
        CHECK_FALSE(outside);
      }
  CHECK(pmpp::detail::partition_point(3, 100, [](int i) { return i < 42; }) == 42);
  CHECK(pmpp::detail::partition_point(7, 3, [](int) { return true; }) == 7);
}

TEST_CASE("warp_search: every place of ranges of every length, in all lanes") {
  using where = test::device_place;
  for (const std::int64_t low : begins)
    for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 63, 64, 65, 100, 1023, 1024, 1025, 2100}) {
      auto found = where::put(std::vector<std::int64_t>(std::size_t(n + 1) * search_all::lanes, -2));
      pmpp::launch(pmpp::device, pmpp::ceil_div(n + 1, std::int64_t(2)), search_all{}, low, low + n, found.data());
      const std::vector<std::int64_t> places = where::get(found);
      bool right = true;
      for (std::size_t i = 0; i < places.size(); ++i) right &= places[i] == low + std::int64_t(i) / search_all::lanes;
      CAPTURE(low);
      CAPTURE(n);
      CHECK(right);
    }
}

TEST_CASE("ends_before: every step of walks over segments") {
  for (const std::vector<int>& offsets :
       {std::vector<int>{4}, {4, 4}, {0, 3, 3, 8}, {7, 7, 7, 9, 20, 20}, {0, 0, 0, 0}}) {
    const auto segments = static_cast<std::int64_t>(offsets.size()) - 1;
    std::int64_t step = 0, ends = 0;  // of a walk
    CHECK(pmpp::detail::ends_before(offsets, segments, step) == 0);
    for (int i = offsets[0]; ends < segments;) {
      if (i < offsets[std::size_t(ends + 1)])
        ++i;
      else
        ++ends;
      CHECK(pmpp::detail::ends_before(offsets, segments, ++step) == ends);
    }
  }
}
