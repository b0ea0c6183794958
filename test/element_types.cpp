// SPDX-License-Identifier: Apache-2.0
//
// What this file proves: elements and accumulators may be of any trivially copyable type: without a default constructor,
// with one that constant expressions cannot call, with const members, or not to be made of 0. Each result is that of the
// same call with the integers that such elements hold.
#include <pmpp/merge.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/top_k.hpp>
#include <pmpp/transform.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/data.hpp"
#include "support/policies.hpp"

namespace {

/// Neither made without a value nor assigned to. Twelve bytes.
struct fixed {
  const std::int32_t first;
  const std::int32_t number;
  const std::int32_t last;
  PMPP_HOST_DEVICE explicit constexpr fixed(std::int32_t n) : first(~n), number(n), last(n) {}
};
/// Two bytes, in vectors of eight.
struct narrow {
  const std::int16_t number;
  narrow() = delete;
  PMPP_HOST_DEVICE explicit constexpr narrow(std::int32_t n) : number(static_cast<std::int16_t>(n)) {}
};
/// Begins as no constant.
struct late {
  std::int64_t number;
  PMPP_HOST_DEVICE late() : number(77) {}
  PMPP_HOST_DEVICE explicit late(std::int32_t n) : number(n) {}
};
/// An enumeration is not made of 0, nor is an aggregate that begins with one.
enum class colour : std::int32_t { none };
struct painted {
  colour paint;
  std::int32_t number;
};

template <class T>
PMPP_HOST_DEVICE T make(std::int32_t n) {
  if constexpr (std::is_same_v<T, painted>)
    return {colour::none, n};
  else
    return T(n);
}
struct number_of {
  template <class T>
  PMPP_HOST_DEVICE std::int32_t operator()(const T& x) const {
    return static_cast<std::int32_t>(x.number);
  }
};

template <class T>
concept holds_number =
    std::is_same_v<T, fixed> || std::is_same_v<T, narrow> || std::is_same_v<T, late> || std::is_same_v<T, painted>;
// clang-format off
template <holds_number T> PMPP_HOST_DEVICE T operator+(const T& a, const T& b) { return make<T>(number_of{}(a) + number_of{}(b)); }
template <holds_number T> PMPP_HOST_DEVICE bool operator<(const T& a, const T& b) { return a.number < b.number; }
template <holds_number T> PMPP_HOST_DEVICE bool operator==(const T& a, const T& b) { return a.number == b.number; }
// clang-format on

constexpr std::int64_t count = 5003;

std::vector<std::int32_t> small_numbers() {
  auto v = test::random_values<std::int32_t>(count);
  for (auto& x : v) x = x & 3;  // their sum fits two bytes
  return v;
}
template <class where, class T>
auto put(const std::vector<std::int32_t>& numbers) {
  std::vector<T> v;
  for (const std::int32_t n : numbers) v.push_back(make<T>(n));
  return where::put(v);
}
template <class where, class T>
std::vector<std::int32_t> numbers(const T& data) {
  auto out = where::put(std::vector<std::int32_t>(static_cast<std::size_t>(data.end() - data.begin())));
  pmpp::transform(typename where::policy{}, data, out, number_of{});
  return where::get(out);
}

template <class where, class T>
void check_folds() {
  const typename where::policy policy;
  const auto v = small_numbers();
  const auto in = put<where, T>(v);
  auto out = put<where, T>(v);
  const std::int32_t sum = std::accumulate(v.begin(), v.end(), 5);
  CHECK(number_of{}(pmpp::reduce(policy, in, make<T>(5))) == sum);
  pmpp::reduce_into(policy, in, out, make<T>(5));
  CHECK(numbers<where>(out)[0] == sum);
  CHECK(pmpp::min_element(policy, in) - in.begin() == std::min_element(v.begin(), v.end()) - v.begin());
  CHECK(pmpp::minmax_element(policy, in).second - in.begin() == std::max_element(v.begin(), v.end()) - v.begin());
  std::vector<std::int32_t> scanned(v);
  std::exclusive_scan(v.begin(), v.end(), scanned.begin(), 5);
  pmpp::exclusive_scan(policy, in, out, make<T>(5));
  CHECK(numbers<where>(out) == scanned);
}

}  // namespace

TEST_ALL_PLACES("reduce, exclusive_scan, extremal elements") {
  check_folds<where, fixed>();
  check_folds<where, narrow>();
  check_folds<where, late>();
  check_folds<where, painted>();
}

TEST_ALL_PLACES("segments, runs, what is kept") {
  const typename where::policy policy;
  const auto v = small_numbers();
  const std::vector<std::int32_t> offsets = {0, 3, 3, 1000, std::int32_t(count)};
  const auto in = put<where, fixed>(v);
  const auto at = where::put(offsets);
  std::vector<std::int32_t> sums, kept, unique, scanned(v);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    sums.push_back(std::accumulate(v.begin() + offsets[s], v.begin() + offsets[s + 1], 1));
  auto of_segments = put<where, fixed>(sums);
  pmpp::fill(policy, of_segments, fixed(9));
  pmpp::segmented_reduce(policy, in, at, of_segments, fixed(1));
  CHECK(numbers<where>(of_segments) == sums);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    std::partial_sum(v.begin() + offsets[s], v.begin() + offsets[s + 1], scanned.begin() + offsets[s]);
  auto out = put<where, fixed>(v);
  pmpp::segmented_inclusive_scan(policy, in, at, out);
  CHECK(numbers<where>(out) == scanned);
  const auto check = [&](const auto& wanted, auto end) {
    auto got = numbers<where>(out);
    got.resize(static_cast<std::size_t>(end - out.begin()));
    CHECK(got == wanted);
  };
  std::copy_if(v.begin(), v.end(), std::back_inserter(kept), [](std::int32_t x) { return x > 1; });
  std::unique_copy(v.begin(), v.end(), std::back_inserter(unique));
  check(kept, pmpp::copy_if(policy, in, out, [] PMPP_HOST_DEVICE(const fixed& x) { return x.number > 1; }));
  check(unique, pmpp::unique_copy(policy, in, out));
  auto sums_of_runs = put<where, fixed>(v);
  check(unique, pmpp::reduce_by_key(policy, in, in, out, sums_of_runs).first);
}

TEST_ALL_PLACES("sort, merge, top_k") {
  const typename where::policy policy;
  const auto v = small_numbers();
  auto sorted = v, merged = v;
  std::stable_sort(sorted.begin(), sorted.end());
  merged.insert(merged.end(), v.begin(), v.end());
  std::stable_sort(merged.begin(), merged.end());
  auto data = put<where, fixed>(v), both = put<where, fixed>(merged), first = put<where, fixed>({0, 0, 0, 0});
  auto at = where::put(std::vector<std::int32_t>(4));
  pmpp::top_k(policy, data, 4, first, at, pmpp::less{});
  CHECK(numbers<where>(first) == std::vector<std::int32_t>(sorted.begin(), sorted.begin() + 4));
  pmpp::sort(policy, data);
  CHECK(numbers<where>(data) == sorted);
  CHECK(pmpp::is_sorted(policy, data));
  pmpp::merge(policy, data, data, both);
  CHECK(numbers<where>(both) == merged);
  auto keys = where::put(v);
  auto values = put<where, fixed>(v);
  pmpp::sort_by_key(policy, keys, values);
  CHECK(numbers<where>(values) == sorted);
}
