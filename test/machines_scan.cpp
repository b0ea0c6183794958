// SPDX-License-Identifier: Apache-2.0
//
// What this file proves: scans, selections, reductions by segment and histograms give the right results on every supported
// GPU, of narrow and of wide elements: on one whose blocks have 48 KB of shared memory and on one with 99 KB.
#include <pmpp/histogram.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>

#include <cstdint>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

#include "support/machines.hpp"

#include <doctest/doctest.h>

#if PMPP_WITH_EMULATOR && !PMPP_CUDA
namespace {

using pmpp::device;
using pmpp::device_buffer;
using pmpp::to_host;
using test::machines;
using test::played;

/// 160 bytes: a vector of each thread takes 100 KB where there are 640.
struct wide {
  std::uint32_t key = 0, rest[39]{};
  friend bool operator==(const wide&, const wide&) = default;
};
struct add {
  PMPP_HOST_DEVICE wide operator()(wide x, const wide& y) const {
    x.key += y.key;
    x.rest[38] += y.rest[38];
    return x;
  }
};
struct is_odd {
  PMPP_HOST_DEVICE bool operator()(const wide& x) const { return x.key % 2 == 1; }
};

std::vector<wide> elements(std::size_t n) {
  std::vector<wide> v(n);
  for (std::size_t i = 0; i < n; ++i) {
    v[i].key = static_cast<std::uint32_t>(i * 2654435761u >> 13);
    v[i].rest[38] = static_cast<std::uint32_t>(i);
  }
  return v;
}

}  // namespace

TEST_CASE("scan of wide elements") {
  for (const char* name : machines) {
    CAPTURE(name);
    const played scope(name);
    auto v = elements(3000);
    device_buffer<wide> out(3000);
    pmpp::inclusive_scan(device, device_buffer<wide>(v), out, add{});
    for (std::size_t i = 1; i < v.size(); ++i) v[i] = add{}(v[i - 1], v[i]);
    CHECK(to_host(out) == v);
  }
}

TEST_CASE("selection of wide elements and by flags") {
  for (const char* name : machines) {
    CAPTURE(name);
    const played scope(name);
    const auto v = elements(3000);
    std::vector<wide> odd;
    std::vector<std::uint32_t> numbers, chosen;
    std::vector<std::uint8_t> flags;
    for (const wide& x : v) {
      if (is_odd{}(x)) odd.push_back(x);
      numbers.push_back(x.key);
      flags.push_back(x.key % 3 == 0);
      if (flags.back()) chosen.push_back(x.key);
    }
    device_buffer<wide> out(3000);
    CHECK(pmpp::copy_if(device, device_buffer<wide>(v), out, is_odd{}) - out.begin() == std::int64_t(odd.size()));
    auto found = to_host(out);
    found.resize(odd.size());
    CHECK(found == odd);
    device_buffer<std::uint32_t> kept(3000);
    CHECK(pmpp::copy_flagged(device, device_buffer<std::uint32_t>(numbers), device_buffer<std::uint8_t>(flags), kept) -
              kept.begin() ==
          std::int64_t(chosen.size()));
    auto all = to_host(kept);
    all.resize(chosen.size());
    CHECK(all == chosen);
  }
}

TEST_CASE("reductions and scans by segment") {
  const std::vector<std::int64_t> offsets{0, 5, 5, 1000, 1001, 3000};
  for (const char* name : machines) {
    CAPTURE(name);
    const played scope(name);
    const auto v = elements(3000);
    const device_buffer<wide> in(v);
    const device_buffer<std::int64_t> at(offsets);
    device_buffer<wide> sums(5), scanned(3000);
    pmpp::segmented_reduce(device, in, at, sums, wide{}, add{});
    pmpp::segmented_inclusive_scan(device, in, at, scanned, add{});
    std::vector<wide> expected_sums(5), expected;
    for (std::size_t s = 0; s < 5; ++s)
      for (auto i = std::size_t(offsets[s]); i < std::size_t(offsets[s + 1]); ++i) {
        expected_sums[s] = add{}(expected_sums[s], v[i]);
        expected.push_back(expected_sums[s]);
      }
    CHECK(to_host(sums) == expected_sums);
    CHECK(to_host(scanned) == expected);
  }
}

TEST_CASE("reduce_by_key of 8-byte keys") {
  for (const char* name : machines) {
    CAPTURE(name);
    const played scope(name);
    std::vector<std::uint64_t> keys(20000);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i / 7;
    device_buffer<std::uint64_t> places(20000);
    device_buffer<float> sums(20000);
    const auto ends = pmpp::reduce_by_key(device, device_buffer<std::uint64_t>(keys),
                                          device_buffer<float>(std::vector<float>(20000, 1.0f)), places, sums);
    CHECK(ends.first - places.begin() == 2858);
    CHECK(to_host(sums)[2856] == 7.0f);
    CHECK(to_host(sums)[2857] == 1.0f);
    CHECK(to_host(places)[2857] == 2857);
  }
}

TEST_CASE("histogram of more bins than fit") {
  for (const char* name : machines) {
    CAPTURE(name);
    const played scope(name);
    std::vector<std::uint32_t> v(50000);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::uint32_t>(i * 7 % 40000);
    device_buffer<std::uint32_t> counts(40000);
    pmpp::histogram_even(device, device_buffer<std::uint32_t>(v), counts, 0u, 40000u);
    std::vector<std::uint32_t> expected(40000);
    for (const std::uint32_t x : v) ++expected[x];
    CHECK(to_host(counts) == expected);
  }
}
#endif
