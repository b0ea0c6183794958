// SPDX-License-Identifier: Apache-2.0
//
// What this file proves: wherever an algorithm asks a comparator or a predicate, its answer may be anything that converts
// to bool, if only explicitly, as for std. The results are those that a bool gives. (merge: test/merge.cpp.)
#include <pmpp/reduce.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/data.hpp"
#include "support/policies.hpp"

namespace {

/// Nothing but a condition can be made of it.
struct answer {
  std::uint32_t bits;
  PMPP_HOST_DEVICE explicit operator bool() const { return bits != 0; }
};
struct answering_less {
  template <class T>
  PMPP_HOST_DEVICE answer operator()(const T& x, const T& y) const {
    return {x < y ? 0x40u : 0u};
  }
};
struct answering_equal {
  PMPP_HOST_DEVICE answer operator()(int x, int y) const { return {x == y ? 0x40u : 0u}; }
};
struct has_bits {
  PMPP_HOST_DEVICE answer operator()(int x) const { return {static_cast<std::uint32_t>(x) & 6u}; }
};

constexpr std::int64_t count = 3000;

}  // namespace

TEST_ALL_PLACES("sort, is_sorted, extremal elements") {
  const typename where::policy policy;
  const auto v = test::random_values<int>(count);
  auto sorted = v;
  std::stable_sort(sorted.begin(), sorted.end());
  auto data = where::put(v);
  CHECK(pmpp::min_element(policy, data, answering_less{}) - data.begin() ==
        std::min_element(v.begin(), v.end()) - v.begin());
  CHECK(pmpp::max_element(policy, data, answering_less{}) - data.begin() ==
        std::max_element(v.begin(), v.end()) - v.begin());
  CHECK_FALSE(pmpp::is_sorted(policy, data, answering_less{}));
  pmpp::sort(policy, data, answering_less{});
  CHECK(where::get(data) == sorted);
  CHECK(pmpp::is_sorted(policy, data, answering_less{}));
}

TEST_ALL_PLACES("segmented_sort, top_k") {
  const typename where::policy policy;
  const auto v = test::random_values<int>(count);
  const std::vector<int> offsets = {0, 3, 40, 40, 900, int(count)};
  auto sorted = v;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    std::stable_sort(sorted.begin() + offsets[s], sorted.begin() + offsets[s + 1]);
  auto data = where::put(v);
  auto first = where::put(std::vector<int>(5)), at = where::put(std::vector<int>(5));
  pmpp::top_k(policy, data, 5, first, at, answering_less{});
  pmpp::segmented_sort(policy, data, where::input(offsets), answering_less{});
  CHECK(where::get(data) == sorted);
  std::stable_sort(sorted.begin(), sorted.end());
  sorted.resize(5);
  CHECK(where::get(first) == sorted);
}

TEST_ALL_PLACES("copy_if, remove_if, unique_copy, reduce_by_key") {
  const typename where::policy policy;
  auto v = test::random_values<int>(count);
  for (int& x : v) x = (x & 15) / 5;
  const auto in = where::put(v);
  const auto check = [&](const auto& wanted, auto call) {
    auto out = where::put(std::vector<int>(v.size(), -1));
    const auto kept = static_cast<std::size_t>(call(out) - out.begin());
    auto got = where::get(out);
    got.resize(kept);
    CHECK(got == wanted);
  };
  std::vector<int> with, without, unique;
  for (const int x : v) ((x & 6) != 0 ? with : without).push_back(x);
  std::unique_copy(v.begin(), v.end(), std::back_inserter(unique));
  check(with, [&](auto& out) { return pmpp::copy_if(policy, in, out, has_bits{}); });
  check(without, [&](auto& out) { return pmpp::remove_if(policy, in, out, has_bits{}); });
  check(unique, [&](auto& out) { return pmpp::unique_copy(policy, in, out, answering_equal{}); });
  auto sums = where::put(std::vector<int>(v.size()));
  check(unique, [&](auto& out) {
    return pmpp::reduce_by_key(policy, in, in, out, sums, pmpp::plus{}, answering_equal{}).first;
  });
}
