// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of floyd_warshall.hpp, on every policy: lengths are those of a triple loop, which this file has of its
// own, for numbers of vertices around a pivot and a tile, dense and sparse graphs, with pitches and by columns, with the memory around
// them as it was; next hops lead along edges to the end, and their edges sum up to the length; floats within rounding; widest
// paths of a structure; negative edges; bad input throws. On a GPU also a graph.
#include <pmpp/floyd_warshall.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <pmpp/memory/stream.hpp>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::matrix_view;

namespace {

constexpr int none = 1 << 29;

/// An edge of 1 to 1000 for each `sparse`-th pair.
std::vector<int> random_edges(std::int64_t n, int sparse) {
  std::vector<int> d(static_cast<std::size_t>(n * n), none);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const auto chance = test::generator()();
      int& edge = d[static_cast<std::size_t>(i * n + j)];
      if (chance % std::uint64_t(sparse) == 0) edge = 1 + int(chance >> 20) % 1000 % 1000;
      if (edge < 0) edge = 1 - edge;
      if (i == j) edge = 0;
    }
  return d;
}
template <class T, class Combine, class Better>
std::vector<T> reference(std::vector<T> d, std::int64_t n, Combine combine, Better better) {
  const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return d[static_cast<std::size_t>(i * n + j)]; };
  for (std::int64_t k = 0; k < n; ++k)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const T through = combine(at(i, k), at(k, j));
        if (better(through, at(i, j))) at(i, j) = through;
      }
  return d;
}
std::vector<int> lengths(const std::vector<int>& d, std::int64_t n) {
  auto all = reference(
      d, n, [](int a, int b) { return a + b; }, [](int a, int b) { return a < b; });
  return all;
}
std::vector<std::int64_t> sizes() {
  if (test::only_small()) return {1, 33, 130};
  return {1, 2, 31, 63, 64, 65, 127, 129, 200};
}

/// Lanes of a road, and its length.
struct road {
  int lanes, length;
  int unused[2];
};
struct join_roads {
  PMPP_HOST_DEVICE road operator()(const road& a, const road& b) const {
    return {pmpp::min(a.lanes, b.lanes), a.length + b.length, {1, 2}};
  }
};
struct wider_then_shorter {
  PMPP_HOST_DEVICE bool operator()(const road& a, const road& b) const {
    return a.lanes > b.lanes || (a.lanes == b.lanes && a.length < b.length);
  }
};

}  // namespace

TEST_ALL_PLACES("lengths are those of a triple loop") {
  int turn = 0;
  for (const std::int64_t n : sizes())
    for (const int sparse : {1, 40}) {
      const auto edges = random_edges(n, sparse);
      const std::int64_t pitch = n + turn % 3;
      const bool by_columns = turn++ % 4 == 3;
      std::vector<int> room(static_cast<std::size_t>(n * pitch + 7), -5);
      const auto place = [&](std::int64_t i, std::int64_t j) {
        return static_cast<std::size_t>(3 + (by_columns ? j * pitch + i : i * pitch + j));
      };
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) room[place(i, j)] = edges[static_cast<std::size_t>(i * n + j)];
      auto data = where::put(room);
      const matrix_view<int> d(data.data() + 3, n, n, pitch);
      pmpp::floyd_warshall(typename where::policy{}, by_columns ? transposed(d) : d);
      auto got = where::get(data);
      const auto wanted = lengths(edges, n);
      std::int64_t wrong = 0, touched = 0;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          wrong += got[place(i, j)] != wanted[static_cast<std::size_t>(i * n + j)];
          got[place(i, j)] = -5;
        }
      for (const int x : got) touched += x != -5;
      CAPTURE(n);
      CAPTURE(sparse);
      CHECK(wrong == 0);
      CHECK(touched == 0);
    }
}

TEST_ALL_PLACES("next hops lead along the shortest path") {
  for (const std::int64_t n : sizes()) {
    const auto edges = random_edges(n, 12);
    auto data = where::put(edges);
    auto hops = where::put(std::vector<std::int16_t>(edges.size(), std::int16_t(-1)));
    pmpp::floyd_warshall(typename where::policy{}, matrix_view<int>(data.data(), n, n),
                         matrix_view<std::int16_t>(hops.data(), n, n));
    const auto d = where::get(data);
    const auto next = where::get(hops);
    const auto wanted = lengths(edges, n);
    CAPTURE(n);
    CHECK(d == wanted);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        if (i == j || d[static_cast<std::size_t>(i * n + j)] >= none) continue;
        std::int64_t at = i, sum = 0, steps = 0;
        for (; at != j && steps <= n; ++steps) {
          const std::int64_t to = next[static_cast<std::size_t>(at * n + j)];
          if (to < 0 || to >= n) break;
          sum += edges[static_cast<std::size_t>(at * n + to)];
          at = to;
        }
        wrong += at != j || sum != d[static_cast<std::size_t>(i * n + j)];
      }
    CHECK(wrong == 0);
  }
}

TEST_ALL_PLACES("floating-point lengths, negative edges") {
  const std::int64_t n = test::only_small() ? 70 : 150;
  std::vector<double> edges;
  for (const int x : random_edges(n, 9)) edges.push_back(x >= none ? HUGE_VAL : x + 0.125);
  for (std::int64_t i = 0; i < n; ++i)  // heights: no cycle becomes negative
    for (std::int64_t j = 0; j < n; ++j)
      edges[static_cast<std::size_t>(i * n + j)] =
          i == j ? 0 : edges[static_cast<std::size_t>(i * n + j)] + double(i * 37 % 101 - j * 37 % 101);
  auto data = where::put(edges);
  pmpp::floyd_warshall(typename where::policy{}, matrix_view<double>(data.data(), n, n));
  const auto wanted = reference(
      edges, n, [](double a, double b) { return a + b; }, [](double a, double b) { return a < b; });
  const auto got = where::get(data);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i)  // multiples of 1/8: exact
    wrong += got[i] != wanted[i];
  CHECK(wrong == 0);
}

TEST_ALL_PLACES("other joins and judgements") {
  const std::int64_t n = test::only_small() ? 40 : 100;
  std::vector<road> roads;
  for (const int x : random_edges(n, 7))
    roads.push_back(x == 0 ? road{1000, 0, {1, 2}} : x >= none ? road{0, 0, {1, 2}} : road{x % 8, x, {1, 2}});
  auto data = where::put(roads);
  pmpp::floyd_warshall(typename where::policy{}, matrix_view<road>(data.data(), n, n), join_roads{},
                       wider_then_shorter{});
  // The widest path, of those the shortest, is not made of best parts; lanes alone are.
  const auto wanted = reference(roads, n, join_roads{}, wider_then_shorter{});
  const auto got = where::get(data);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i].lanes != wanted[i].lanes;
  CHECK(wrong == 0);
}

TEST_ALL_PLACES("bad input throws, and no vertices are none") {
  const typename where::policy on{};
  auto data = where::put(std::vector<int>(12));
  auto hops = where::put(std::vector<std::int16_t>(12));
  int* const d = data.data();
  CHECK_THROWS_AS(pmpp::floyd_warshall(on, matrix_view<int>(d, 3, 4)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::floyd_warshall(on, matrix_view<int>(static_cast<int*>(nullptr), 3, 3)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::floyd_warshall(on, matrix_view<int>(d, 3, 3), matrix_view<std::int16_t>(hops.data(), 3, 4)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::floyd_warshall(on, matrix_view<int>(d, 3, 3),
                                       matrix_view<std::int16_t>(reinterpret_cast<std::int16_t*>(d), 3, 3)),
                  std::invalid_argument);
  pmpp::floyd_warshall(on, matrix_view<int>(static_cast<int*>(nullptr), 0, 0));
}

TEST_CASE("calls may be captured and replayed on other data") {
  const std::int64_t n = 150;
  const pmpp::stream stream;
  pmpp::device_buffer<int> data(n * n, 0);
  const test::repeated call(
      stream, [&] { pmpp::floyd_warshall(pmpp::device.on(stream), matrix_view<int>(data.data(), n, n)); });
  for (const int sparse : {3, 30}) {
    const auto edges = random_edges(n, sparse);
    pmpp::copy(stream, std::span<const int>(edges), data);
    call();
    CHECK(pmpp::to_host(data) == lengths(edges, n));
  }
}
