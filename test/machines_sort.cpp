// SPDX-License-Identifier: Apache-2.0
//
// What this file proves: sorts and what is made of them (merge, top_k, argsort, segmented_sort, sparse matrices from
// triplets, bfs) give the right results on every supported GPU: on one whose blocks have 48 KB of shared memory and that has
// one multiprocessor, and on one with 99 KB and 1536 threads a multiprocessor. Elements that are too large for a GPU are
// refused in a sentence.
#include <pmpp/bfs.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/sparse.hpp>
#include <pmpp/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

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

template <class T>
std::vector<T> numbers(std::size_t n) {
  std::vector<T> v(n);
  std::uint64_t x = 88172645463325252u;
  for (T& y : v) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    y = static_cast<T>(x * 0x9e3779b97f4a7c15u >> 16);
  }
  return v;
}

/// Bytes elements that are no numbers.
template <int Bytes>
struct record {
  std::uint32_t key = 0, rest[Bytes / 4 - 1]{};
  friend bool operator==(const record&, const record&) = default;
};
struct by_key {
  template <class R>
  PMPP_HOST_DEVICE bool operator()(const R& a, const R& b) const {
    return a.key < b.key;
  }
};
template <int Bytes>
std::vector<record<Bytes>> records(std::size_t n) {
  std::vector<record<Bytes>> v(n);
  const auto keys = numbers<std::uint32_t>(n);
  for (std::size_t i = 0; i < n; ++i) {
    v[i].key = keys[i] % 1000;
    v[i].rest[0] = static_cast<std::uint32_t>(i);
  }
  return v;
}

template <class T, class Comp>
void check_sort(std::vector<T> v, Comp comp) {
  std::vector<T> expected = v;
  std::stable_sort(expected.begin(), expected.end(), comp);
  device_buffer<T> data(v);
  pmpp::sort(device, data, comp);
  CHECK(to_host(data) == expected);
}

/// Order of keys and places under less.
template <class K>
std::vector<std::uint32_t> order_of(const std::vector<K>& keys) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace

TEST_CASE("sort of numbers") {
  for (const char* name : machines)
    for (const std::size_t n : {50u, 3000u, 70000u}) {
      CAPTURE(name);
      CAPTURE(n);
      const played scope(name);
      check_sort(numbers<std::uint32_t>(n), pmpp::less{});
      check_sort(numbers<std::uint64_t>(n), pmpp::less{});
    }
}

TEST_CASE("sort by merging") {
  for (const char* name : machines)
    for (const std::size_t n : {50u, 3000u, 30000u}) {
      CAPTURE(name);
      CAPTURE(n);
      const played scope(name);
      check_sort(records<16>(n), by_key{});
    }
  const played scope("small");
  check_sort(records<4 * 101>(500), by_key{});
}

TEST_CASE("argsort, whose kernels are those of sort_by_key") {
  for (const char* name : machines)
    for (const std::size_t n : {3000u, 40000u}) {
      CAPTURE(name);
      CAPTURE(n);
      const played scope(name);
      const auto keys = numbers<std::uint32_t>(n);
      const auto expected = order_of(keys);
      device_buffer<std::uint32_t> order(keys.size());
      pmpp::argsort(device, device_buffer<std::uint32_t>(keys), order);
      CHECK(to_host(order) == expected);
    }
}

TEST_CASE("merge") {
  for (const char* name : machines)
    for (const std::size_t n : {100u, 40000u}) {
      CAPTURE(name);
      CAPTURE(n);
      const played scope(name);
      auto a = numbers<std::uint32_t>(n), b = numbers<std::uint32_t>(n + 17);
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      std::vector<std::uint32_t> expected(a.size() + b.size());
      std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
      const device_buffer<std::uint32_t> of_a(a), of_b(b);
      device_buffer<std::uint32_t> out(expected.size());
      pmpp::merge(device, of_a, of_b, out);
      CHECK(to_host(out) == expected);
      // A comparator that contradicts itself writes nothing else, which canaries around shared memory check.
      pmpp::merge(device, of_a, of_b, out, [](std::uint32_t x, std::uint32_t y) { return (x ^ y) % 3 == 0; });
    }
}

TEST_CASE("top_k") {
  for (const char* name : machines)
    for (const std::int64_t k : {10, 3000}) {
      CAPTURE(name);
      CAPTURE(k);
      const played scope(name);
      const auto values = numbers<std::uint32_t>(20000);
      const auto order = order_of(values);
      device_buffer<std::uint32_t> first(k), places(k);
      pmpp::top_k(device, device_buffer<std::uint32_t>(values), k, first, places, pmpp::less{});
      CHECK(to_host(places) == std::vector<std::uint32_t>(order.begin(), order.begin() + k));
      auto wide = records<64>(2000);
      device_buffer<record<64>> best(5);
      device_buffer<int> best_places(5);
      pmpp::top_k(device, device_buffer<record<64>>(wide), 5, best, best_places, by_key{});
      std::stable_sort(wide.begin(), wide.end(), by_key{});
      CHECK(to_host(best) == std::vector<record<64>>(wide.begin(), wide.begin() + 5));
    }
}

TEST_CASE("segmented_sort") {
  const auto check = [](auto v, auto comp) {
    const auto n = static_cast<std::int64_t>(v.size());
    const std::vector<std::int64_t> offsets{0, 3, 3, n / 3, n / 3 + 40, n};
    device_buffer data(v);
    pmpp::segmented_sort(device, data, device_buffer<std::int64_t>(offsets), comp);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
      std::stable_sort(v.begin() + offsets[s], v.begin() + offsets[s + 1], comp);
    CHECK(to_host(data) == v);
  };
  for (const char* name : machines)
    for (const std::size_t n : {300u, 30000u}) {
      CAPTURE(name);
      CAPTURE(n);
      const played scope(name);
      check(numbers<std::uint64_t>(n), pmpp::less{});
      check(records<16>(n), by_key{});
    }
}

TEST_CASE("csr_from_triplets") {
  for (const char* name : machines) {
    CAPTURE(name);
    const played scope(name);
    const std::size_t n = 5000;
    auto rows = numbers<int>(n), cols = numbers<int>(n + 1);
    cols.resize(n);
    std::vector<float> values(n, 1.0f), dense(100 * 100);
    for (std::size_t i = 0; i < n; ++i) {
      rows[i] = (rows[i] & 0xffff) % 100;
      cols[i] = (cols[i] & 0xfff) % 100;
      dense[static_cast<std::size_t>(100 * rows[i] + cols[i])] += 1.0f;
    }
    const auto matrix = pmpp::csr_from_triplets(device, 100, 100, device_buffer<int>(rows), device_buffer<int>(cols),
                                                device_buffer<float>(values))
                            .to_host();
    float sum = 0;
    bool same = true;
    for (int r = 0; r < 100; ++r)
      for (auto i = std::size_t(matrix.offsets()[std::size_t(r)]);
           i < std::size_t(matrix.offsets()[std::size_t(r) + 1]); ++i) {
        sum += matrix.values()[i];
        same = same && matrix.values()[i] == dense[static_cast<std::size_t>(100 * r + matrix.columns()[i])];
      }
    CHECK(sum == float(n));
    CHECK(same);
  }
}

TEST_CASE("bfs") {
  // A ring, with indices of 8 bytes, which take more shared memory than those of 4.
  const auto check = [] {
    using I = std::int64_t;
    const I n = 300;
    std::vector<I> offsets, columns;
    for (I v = 0; v <= n; ++v) offsets.push_back(2 * v);
    for (I v = 0; v < n; ++v) {
      columns.push_back((v + 1) % n);
      columns.push_back((v + n - 1) % n);
    }
    const device_buffer<I> o(offsets), c(columns);
    device_buffer<int> found(n);
    pmpp::bfs(device, pmpp::undirected(pmpp::csr_view<void, const I>{n, n, o.data(), c.data()}), I(7), found);
    const std::vector<int> distance = to_host(found);
    bool same = true;
    for (I v = 0; v < n; ++v) {
      const int steps = std::abs(static_cast<int>(v) - 7);
      same = same && distance[static_cast<std::size_t>(v)] == std::min(steps, static_cast<int>(n) - steps);
    }
    CHECK(same);
  };
  for (const char* name : machines) {
    CAPTURE(name);
    const played scope(name);
    check();
  }
}

TEST_CASE("elements that are too large for a machine") {
  const auto v = records<2000>(100);
  {
    const played scope("small");
    device_buffer<record<2000>> data(v);
    CHECK_THROWS_WITH_AS(pmpp::sort(device, data, by_key{}),
                         doctest::Contains("pmpp::sort: for elements of 2000 bytes"), std::invalid_argument);
    CHECK(to_host(data) == v);
  }
  const played scope("rtx4090");
  check_sort(v, by_key{});
}
#endif
