// SPDX-License-Identifier: Apache-2.0
//
// What the tests of slabs have in common: values whose sums round, and the results of one device to compare with, bit by bit.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <random>
#include <vector>

#include <pmpp/core/border.hpp>
#include <pmpp/distributed/slabs.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

#include "support/distributed.hpp"

namespace test {

inline constexpr pmpp::border::rule borders[] = {pmpp::border::zero,   pmpp::border::constant(0.25),
                                                 pmpp::border::clamp,  pmpp::border::reflect,
                                                 pmpp::border::mirror, pmpp::border::wrap};

inline std::vector<float> fractions(std::int64_t n, std::mt19937_64& random) {
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = static_cast<float>(random() % 100000) / 7;
  return v;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// The policy of a test's ranks, alone.
inline constexpr auto& one = pmpp::device;

/// Values of one device: `call` gets views of the whole, as the slabs have them.
template <std::size_t D, class Call>
std::vector<float> on_one(const std::vector<float>& values, const std::array<std::int64_t, D>& extents, Call call) {
  const pmpp::device_buffer<float> in{values};
  pmpp::device_buffer<float> out(values.size());
  call(pmpp::detail::view_of_planes(in.data(), extents[0], extents),
       pmpp::detail::view_of_planes(out.data(), extents[0], extents));
  return pmpp::to_host(out);
}

/// check(gpus, sizes, border) for every number of ranks, `planes` planes on them in some way, and some border.
template <class Check>
void everywhere(std::initializer_list<std::int64_t> heights, Check check) {
  std::mt19937_64 random(seed());
  unsigned turn = 0;
  for (const int p : rank_counts) {
    const auto gpus = ranks(p);
    for (const std::int64_t planes : heights)
      for (const layout how : layouts) {
        const auto& outside = borders[turn++ % std::size(borders)];
        CAPTURE(p);
        CAPTURE(planes);
        CAPTURE(int(how));
        CAPTURE(int(outside.what));
        check(gpus, planes, blocks(how, planes, p, random), outside, random);
      }
  }
}

}  // namespace test
