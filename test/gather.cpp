// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gather.hpp and of core/iterator_adaptors.hpp, on every policy: elements come from and go to the places
// that the indices name, for every size, element type, index type and alignment, and nothing else is touched; conditions;
// lengths that only the device knows; indices in place; adaptors read and write the same places as a loop, alone, nested and
// in other algorithms; bad input throws and touches nothing.
#include <pmpp/gather.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/select.hpp>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/element_types.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

constexpr std::int64_t tile = 256 * 4;

template <class Index>
std::vector<Index> shuffled(std::int64_t n) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index(0));
  std::shuffle(order.begin(), order.end(), test::generator());
  return order;
}
struct is_odd {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 2 != 0; }
};
struct halved {
  PMPP_HOST_DEVICE int operator()(int x) const { return x / 2; }
};
struct squared {
  PMPP_HOST_DEVICE std::int64_t operator()(std::int64_t i) const { return i * i; }
};

template <class where, class T, class Index>
void check_moves(std::int64_t n, int lead = 0) {
  const typename where::policy policy{};
  CAPTURE(n);
  CAPTURE(sizeof(T));
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = test::element<T>(static_cast<int>(i % 50), static_cast<std::uint32_t>(i));
  const std::vector<Index> order = shuffled<Index>(n);
  const auto guard = test::element<T>(13, 7);
  std::vector<T> gathered(v.size() + 9, guard), scattered = gathered;
  for (std::size_t i = 0; i < v.size(); ++i) {
    gathered[i + std::size_t(lead)] = v[std::size_t(order[i])];
    scattered[std::size_t(order[i]) + std::size_t(lead)] = v[i];
  }
  const auto x = where::input(v);
  const auto index = where::input(order);
  auto a = where::put(std::vector<T>(v.size() + 9, guard)), b = where::put(std::vector<T>(v.size() + 9, guard));
  CHECK(pmpp::gather(policy, index, x, a.begin() + lead) - a.begin() == n + lead);
  CHECK(where::get(a) == gathered);
  pmpp::scatter(policy, x, index, b.begin() + lead);
  pmpp::synchronize(policy);
  CHECK(where::get(b) == scattered);
}

}  // namespace

TEST_ALL_PLACES("gather and scatter: every size, type and alignment") {
  for (const std::int64_t n : test::sizes(tile, 3 * tile + 100)) check_moves<where, int, int>(n);
  for (int lead = 1; lead < 4; ++lead) check_moves<where, int, int>(2000, lead);
  check_moves<where, std::uint8_t, std::uint16_t>(2000);
  check_moves<where, test::record<12, 4>, std::int64_t>(2000);
  check_moves<where, test::record<40, 8>, std::int64_t>(300);
}

TEST_ALL_PLACES("gather_if and scatter_if touch only what the condition allows") {
  const typename where::policy policy{};
  const auto x = where::input(std::vector<int>{10, 11, 12, 13});
  const auto index = where::input(std::vector<int>{3, 100, 0, 2}), stencil = where::input(std::vector<int>{1, 0, 3, 2});
  auto out = where::put(std::vector<int>(4, -1));
  pmpp::gather_if(policy, index, stencil, x, out, is_odd{});
  pmpp::synchronize(policy);
  CHECK(where::get(out) == std::vector<int>{13, -1, 10, -1});
  pmpp::gather_if(policy, index.begin(), index.end(), stencil.begin(), x.begin(), out.begin());
  pmpp::synchronize(policy);
  CHECK(where::get(out) == std::vector<int>{13, -1, 10, 12});
  auto to = where::put(std::vector<int>(4, -1));
  pmpp::scatter_if(policy, x, index, stencil, to, is_odd{});
  pmpp::synchronize(policy);
  CHECK(where::get(to) == std::vector<int>{12, -1, -1, 10});
  pmpp::scatter_if(policy, x.begin(), x.end(), index.begin(), stencil.begin(), to.begin());
  pmpp::synchronize(policy);
  CHECK(where::get(to) == std::vector<int>{12, -1, 13, 10});
}

TEST_CASE("lengths on the device, indices in place, computed indices") {
  const pmpp::device_buffer<int> n(std::vector<int>{2}), x(std::vector<int>{5, 6, 7, 8});
  pmpp::device_buffer<int> index(std::vector<int>{3, 1, 0, 2});
  pmpp::gather(device, index.begin(), pmpp::device_count{n.data(), 4}, x, index);
  CHECK(pmpp::to_host(index) == std::vector<int>{8, 6, 0, 2});
  pmpp::device_buffer<long> out(4, -1);
  pmpp::scatter(device, x.begin(), pmpp::device_count{n.data(), 4}, pmpp::counting_iterator<int>(2), out);
  CHECK(pmpp::to_host(out) == std::vector<long>{-1, -1, 5, 6});
}

TEST_ALL_PLACES("adaptors") {
  const typename where::policy policy{};
  const std::vector<int> v = test::random_values<int>(5000);
  const auto order = shuffled<int>(5000);
  const auto x = where::input(v);
  const auto index = where::input(order);
  auto out = where::put(std::vector<int>(5000, -1));
  std::vector<int> wanted(5000);

  for (std::size_t i = 0; i < 5000; ++i) wanted[i] = v[std::size_t(order[i])] / 2;
  const pmpp::permutation_iterator permuted(x.begin(), index.begin());
  pmpp::transform(policy, permuted, permuted + 5000, out, halved{});
  CHECK(where::get(out) == wanted);
  for (std::size_t i = 0; i < 5000; ++i) wanted[std::size_t(order[i])] = v[i];
  pmpp::transform(policy, x, pmpp::permutation_iterator(out.begin(), index.begin()), pmpp::identity{});
  CHECK(where::get(out) == wanted);

  wanted.assign(v.rbegin(), v.rend());
  pmpp::transform(policy, pmpp::reverse_iterator(x.end()), pmpp::reverse_iterator(x.begin()), out, pmpp::identity{});
  CHECK(where::get(out) == wanted);
  pmpp::transform(policy, x, pmpp::reverse_iterator(out.end()), pmpp::identity{});
  CHECK(where::get(out) == wanted);
  const auto backwards = pmpp::reverse_iterator(x.end()) + 10;
  CHECK(backwards - pmpp::reverse_iterator(x.end()) == 10);
  CHECK(pmpp::reduce(policy, backwards, backwards + 90, 0) == std::accumulate(v.end() - 100, v.end() - 10, 0));

  int sum = 0;
  for (std::size_t i = 1; i < 5000; i += 3) sum += v[i];
  const pmpp::strided_iterator third(x.begin() + 1, 3);
  CHECK(pmpp::reduce(policy, third, third + 1667, 0) == sum);

  CHECK(pmpp::reduce(policy, pmpp::tabulated(squared{}), pmpp::tabulated(squared{}) + 100, std::int64_t(0)) == 328350);

  const pmpp::transform_output_iterator half(out.begin(), halved{});
  const auto end = pmpp::copy_if(policy, x, half, is_odd{});
  auto mixed = where::put(std::vector<int>(5000));  // results of a function of pairs
  const pmpp::counting_iterator zero{0};
  pmpp::gather(policy, zero, zero + 5000, pmpp::zip(x.begin(), zero),
               pmpp::transform_output<pmpp::pair<int, int>>(mixed.begin(), pmpp::spread(pmpp::bit_xor{})));
  CHECK(where::get(mixed)[4999] == (v[4999] ^ 4999));
  wanted.clear();
  for (const int y : v)
    if (is_odd{}(y)) wanted.push_back(y / 2);
  CHECK(end - half == std::int64_t(wanted.size()));
  auto got = where::get(out);
  got.resize(wanted.size());
  CHECK(got == wanted);
  CHECK(pmpp::copy_if(policy, x, pmpp::discard_iterator{}, is_odd{}).index == std::int64_t(wanted.size()));
}

TEST_CASE("gather: a graph, replayed on other data; indices past 2^31") {
  const pmpp::stream stream;
  const auto policy = pmpp::device.on(stream);
  const std::int64_t far = std::int64_t(1) << 33;
  pmpp::device_buffer<std::int64_t> index(3, 0), out(3, -1);
  pmpp::device_buffer<int> places(std::vector<int>{0, 1, 2}), put(3, -1), in(std::vector<int>{7, 8, 9});
  const pmpp::counting_iterator<std::int64_t> numbers(0);
  const test::repeated again(stream, [&] {
    pmpp::gather(policy, index, numbers, out);
    pmpp::scatter(policy, in, places, put);
  });
  pmpp::copy(stream, std::vector<std::int64_t>{far, 3, far - 1}, index);
  pmpp::copy(stream, std::vector<int>{2, 0, 1}, places);
  again();
  CHECK(pmpp::to_host(out) == std::vector<std::int64_t>{far, 3, far - 1});
  CHECK(pmpp::to_host(put) == std::vector<int>{8, 9, 7});
}

TEST_ALL_PLACES("gather: bad input throws and touches nothing") {
  const typename where::policy policy{};
  auto x = where::put(std::vector<int>{0, 1, 2});
  auto two = where::put(std::vector<int>{5, 5});
  CHECK_THROWS_WITH_AS(pmpp::gather(policy, x, x, two),
                       doctest::Contains("gather: out has room for 2 elements, needs 3"), std::length_error);
  CHECK_THROWS_WITH_AS(pmpp::gather(policy, two, x, x), doctest::Contains("out overlaps an input"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::scatter(policy, x, two, x), doctest::Contains("index has room for 2 elements, needs 3"),
                       std::length_error);
  CHECK_THROWS_WITH_AS(pmpp::scatter(policy, two, two, two), doctest::Contains("out overlaps an input"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::gather_if(policy, x, two, x.begin(), two.begin()),
                       doctest::Contains("stencil has room for 2 elements, needs 3"), std::length_error);
  int* const null = nullptr;
  CHECK_THROWS_AS(pmpp::gather(policy, x, null, two.begin()), std::invalid_argument);
  pmpp::synchronize(policy);
  CHECK(where::get(two) == std::vector<int>{5, 5});
  CHECK(where::get(x) == std::vector<int>{0, 1, 2});
}
