// SPDX-License-Identifier: Apache-2.0
//
// segmented_sort_by_key, and segmented_sort as it is called without a tuning. See segmented_sort.cpp.
#include <pmpp/reduce.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/transform.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "support/segments.hpp"

namespace {

using test::by_key;
using test::check_segments;
using test::draw_below;
using test::elements;
using test::lengths;
using test::offsets_of;
using test::tagged;

// Tiles of 160 elements.
constexpr pmpp::segmented_sort_tuning tiny{
    .ranked = 0, .windows = {.threads = 32, .bytes = 16}, .merges = {.threads = 32, .bytes = 16}};

template <pmpp::segmented_sort_tuning Tuning, class where, class K, class V>
void check_by_key(const lengths& law) {
  const auto offsets = offsets_of(law);
  const auto pairs = elements<tagged>(offsets.back(), [](std::int64_t) { return draw_below(200); });
  std::vector<K> keys;
  std::vector<V> values;
  for (const tagged& x : pairs) {
    keys.push_back(static_cast<K>(x.key));
    values.push_back(static_cast<V>(x.tag));
  }
  auto wanted = pairs;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    std::stable_sort(wanted.begin() + offsets[s], wanted.begin() + offsets[s + 1], by_key{});
  auto k = where::put(keys);
  auto v = where::put(values);
  const auto at = where::put(offsets);
  pmpp::segmented_sort_by_key<test::tuned<where>(Tuning)>(typename where::policy{}, k, v, at);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    keys[i] = static_cast<K>(wanted[i].key);
    values[i] = static_cast<V>(wanted[i].tag);
  }
  CHECK(where::get(k) == keys);
  CHECK(where::get(v) == values);
}

}  // namespace

TEST_ALL_PLACES("by_key") {
  for (const auto& [name, law] : test::laws(2500)) {
    CAPTURE(name);
    check_by_key<tiny, where, float, std::uint16_t>(law);
  }
}

TEST_ALL_PLACES("long segments that warps share, among others") {
  std::vector<lengths> all{{513, 3, 1024, 0, 1025, 700, 512, 1, 4096, 2049, 2048, 40, 4095, 511, 4097, 8192, 600},
                           lengths(14, 513),
                           {4000, 96, 3000, 1096, 5000, 5000, 2}};
  lengths any;
  for (int i = 0; i < 30; ++i) any.push_back(draw_below(draw_below(3) == 0 ? 40 : 2500));
  all.push_back(any);
  for (const lengths& law : all) {
    const auto offsets = offsets_of<std::uint32_t>(law);
    check_segments<pmpp::segmented_sort_tuning{}, where>(
        elements<std::int64_t>(offsets.back(), [](std::int64_t i) { return i % 3 - draw_below(2000); }), offsets,
        pmpp::greater{});
    check_by_key<pmpp::segmented_sort_tuning{}, where, std::int32_t, std::uint32_t>(law);
  }
}

TEST_ALL_PLACES("values that are fewer than their keys") {
  auto data = where::put(std::vector<std::int32_t>{3, 2, 1});
  auto values = where::put(std::vector<std::uint32_t>{1, 2});
  const auto offsets = where::put(std::vector<int>{0, 3});
  CHECK_THROWS_AS(pmpp::segmented_sort_by_key(typename where::policy{}, data, values, offsets), std::length_error);
  CHECK(where::get(data) == std::vector<std::int32_t>{3, 2, 1});
}

#if PMPP_CUDA
namespace {
struct scrambled_byte {
  PMPP_HOST_DEVICE std::uint8_t operator()(std::int64_t i) const {
    return static_cast<std::uint8_t>(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u >> 56);
  }
};
}  // namespace

TEST_CASE("past 2^31 elements") {
  const std::vector<std::int64_t> offsets{3, 3, 5000, 30000, (1ll << 31) + 7, (1ll << 31) + 8, (1ll << 31) + 90000};
  const std::int64_t n = offsets.back() + 10;
  pmpp::device_buffer<std::uint8_t> data(n);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(pmpp::device, i, i + n, data.data(), scrambled_byte{});
  const auto part_sums = [&] {
    std::vector<std::uint64_t> s;
    for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
      s.push_back(pmpp::reduce(pmpp::device, data.data() + offsets[k], data.data() + offsets[k + 1]));
    return s;
  };
  const auto before = part_sums();
  const pmpp::device_buffer<std::int64_t> at(offsets);
  pmpp::segmented_sort(pmpp::device, data, at);
  CHECK(part_sums() == before);
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
    CHECK(pmpp::is_sorted(pmpp::device, data.data() + offsets[k], data.data() + offsets[k + 1]));
}
#endif
