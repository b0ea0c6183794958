// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of wavefront.hpp, on every policy: the cells are those of a plain double loop, which this file has of
// its own, for tables smaller and larger than a strip and than a chunk of steps in either direction, cells of 4, 12 and 16
// bytes, functions of places and functions that ask ahead; tables with pitches and by columns, with the memory around them as
// it was; last row, last column, last cell; the best cell with the tie that the contract names; empty tables; bad input throws.
// In the emulator also under other orders of blocks, and that scratch is left as zeros. On a GPU also a graph that is replayed
// on changed data.
#include <pmpp/wavefront.hpp>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::matrix_view;

namespace {

constexpr int strip = 4 * pmpp::simt::warp_size;

/// A cell that depends on each neighbour in another way, and on its place: what is mixed up shows.
struct mixed {
  const int* seed;  ///< read at places of this table alone
  PMPP_HOST_DEVICE int operator()(int left, int up, int diagonal, std::int64_t i, std::int64_t j) const {
    const unsigned x = 3u * unsigned(left) + 5u * unsigned(up) + 7u * unsigned(diagonal) + 11u * unsigned(i) +
                       13u * unsigned(j) + unsigned(seed[i]) * unsigned(seed[j]);
    return static_cast<int>(x ^ x >> 7);
  }
};
struct mixed_edge {
  PMPP_HOST_DEVICE int operator()(std::int64_t i, std::int64_t j) const { return int(17 * i - 19 * j + 23); }
};

/// Three values a cell, of which each row and column is asked once.
struct three {
  int h, e, f;
  friend bool operator==(const three&, const three&) = default;
};
struct affine {
  const int *a, *b;
  PMPP_HOST_DEVICE int row(std::int64_t i) const { return a[i]; }
  PMPP_HOST_DEVICE int column(std::int64_t j) const { return b[j]; }
  PMPP_HOST_DEVICE three operator()(const three& left, const three& up, const three& diagonal, int x, int y) const {
    const int e = pmpp::max(left.h - 3, left.e - 1), f = pmpp::max(up.h - 3, up.f - 1);
    return {pmpp::max(pmpp::max(0, diagonal.h + (x == y ? 2 : -1)), pmpp::max(e, f)), e, f};
  }
};
struct affine_edge {
  PMPP_HOST_DEVICE three operator()(std::int64_t, std::int64_t) const { return {0, -100, -100}; }
};
struct lower_score {
  PMPP_HOST_DEVICE bool operator()(const three& x, const three& y) const { return x.h < y.h; }
};

/// More than fits a word with its tag.
struct two_doubles {
  double x, y;
  friend bool operator==(const two_doubles&, const two_doubles&) = default;
};
struct of_doubles {
  PMPP_HOST_DEVICE two_doubles operator()(const two_doubles& left, const two_doubles& up, const two_doubles& diagonal,
                                          std::int64_t i, std::int64_t j) const {
    return {0.5 * left.x + 0.25 * up.y + double(i % 7), 0.5 * diagonal.x - 0.25 * left.y + double(j % 5)};
  }
};
struct doubles_edge {
  PMPP_HOST_DEVICE two_doubles operator()(std::int64_t i, std::int64_t j) const { return {double(i), double(j)}; }
};

/// All cells, by a double loop over a table with its edge.
template <class T, class F, class Outside>
std::vector<T> reference(std::int64_t rows, std::int64_t cols, const F& f, const Outside& outside) {
  std::vector<T> all(static_cast<std::size_t>(rows * cols));
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return i < 0 || j < 0 ? T(outside(i, j)) : all[static_cast<std::size_t>(i * cols + j)];
  };
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) {
      T& here = all[static_cast<std::size_t>(i * cols + j)];
      if constexpr (requires { f.row(i); })
        here = f(at(i, j - 1), at(i - 1, j), at(i - 1, j - 1), f.row(i), f.column(j));
      else
        here = f(at(i, j - 1), at(i - 1, j), at(i - 1, j - 1), i, j);
    }
  return all;
}

struct size {
  std::int64_t rows, cols;
};
std::vector<size> sizes() {
  if (test::only_small()) return {{1, 40}, {strip, 64}, {2 * strip + 1, 65}};
  return {{1, 1},
          {2, 1},
          {1, 40},
          {5, 33},
          {31, 32},
          {strip - 1, 31},
          {strip, 64},
          {strip + 1, 65},
          {2 * strip, 97},
          {2 * strip + 1, 65},
          {3 * strip + 7, 200},
          {7, 700},
          {5 * strip + 3, 5},
          {700, 1}};
}
int small_value(std::int64_t place) { return int(place * 2654435761u >> 7 & 3); }
std::vector<int> letters(std::int64_t n, int salt) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = small_value(i + 1000 * salt);
  return v;
}

template <class where, class T, class F, class Outside, class G>
void check_table(const size& s, const F& f, const G& on_host, const Outside& outside, std::int64_t gap,
                 bool by_columns) {
  const std::int64_t longer = by_columns ? s.rows : s.cols, lines = by_columns ? s.cols : s.rows, pitch = longer + gap;
  const T guard{};
  std::vector<T> room(static_cast<std::size_t>(lines * pitch + 5), guard);
  auto out = where::put(room);
  matrix_view<T> table(out.data() + 2, lines, longer, pitch);
  pmpp::wavefront(typename where::policy{}, by_columns ? transposed(table) : table, f, outside);
  auto got = where::get(out);
  const auto wanted = reference<T>(s.rows, s.cols, on_host, outside);
  std::int64_t wrong = 0, touched = 0;
  for (std::int64_t i = 0; i < s.rows; ++i)
    for (std::int64_t j = 0; j < s.cols; ++j) {
      T& cell = got[static_cast<std::size_t>(2 + (by_columns ? j * pitch + i : i * pitch + j))];
      wrong += !(cell == wanted[static_cast<std::size_t>(i * s.cols + j)]);
      cell = guard;
    }
  for (const T& x : got) touched += !(x == guard);
  CAPTURE(s.rows);
  CAPTURE(s.cols);
  CAPTURE(gap);
  CHECK(wrong == 0);
  CHECK(touched == 0);
}

}  // namespace

TEST_ALL_PLACES("all cells are those of a double loop") {
  int turn = 0;
  for (const size& s : sizes()) {
    const auto seed = letters(std::max(s.rows, s.cols), 1), a = letters(s.rows, 2), b = letters(s.cols, 3);
    const auto seed_there = where::input(seed), a_there = where::input(a), b_there = where::input(b);
    const bool by_columns = turn % 3 == 2;
    check_table<where, int>(s, mixed{seed_there.data()}, mixed{seed.data()}, mixed_edge{}, turn++ % 4, by_columns);
    check_table<where, three>(s, affine{a_there.data(), b_there.data()}, affine{a.data(), b.data()}, affine_edge{}, 0,
                              false);
    check_table<where, two_doubles>(s, of_doubles{}, of_doubles{}, doubles_edge{}, 1, false);
  }
}

TEST_ALL_PLACES("last row, last column, last cell") {
  const typename where::policy on{};
  for (const size& s : sizes()) {
    const auto seed = letters(std::max(s.rows, s.cols), 1);
    const auto seed_there = where::input(seed);
    const mixed f{seed_there.data()};
    const auto wanted = reference<int>(s.rows, s.cols, mixed{seed.data()}, mixed_edge{});
    auto row = where::put(std::vector<int>(static_cast<std::size_t>(s.cols)));
    auto column = where::put(std::vector<int>(static_cast<std::size_t>(s.rows)));
    pmpp::wavefront_last_row(on, s.rows, f, mixed_edge{}, row);
    pmpp::wavefront_last_column(on, s.cols, f, mixed_edge{}, column);
    CAPTURE(s.rows);
    CAPTURE(s.cols);
    CHECK(where::get(row) == std::vector<int>(wanted.end() - s.cols, wanted.end()));
    std::vector<int> wanted_column;
    for (std::int64_t i = 0; i < s.rows; ++i)
      wanted_column.push_back(wanted[static_cast<std::size_t>((i + 1) * s.cols - 1)]);
    CHECK(where::get(column) == wanted_column);
    CHECK(pmpp::wavefront_last(on, s.rows, s.cols, f, mixed_edge{}) == wanted.back());
  }
}

TEST_ALL_PLACES("the best cell, and of equal ones the lesser column, then the lesser row") {
  const typename where::policy on{};
  for (const size& s : sizes()) {
    const auto a = letters(s.rows, 2), b = letters(s.cols, 3);
    const auto a_there = where::input(a), b_there = where::input(b);
    const auto all = reference<three>(s.rows, s.cols, affine{a.data(), b.data()}, affine_edge{});
    pmpp::best_cell<three> wanted{all[0], 0, 0};
    for (std::int64_t j = 0; j < s.cols; ++j)
      for (std::int64_t i = 0; i < s.rows; ++i) {
        const three& cell = all[static_cast<std::size_t>(i * s.cols + j)];
        if (wanted.value.h < cell.h) wanted = {cell, i, j};
      }
    CAPTURE(s.rows);
    CAPTURE(s.cols);
    const affine f{a_there.data(), b_there.data()};
    CHECK(pmpp::wavefront_best(on, s.rows, s.cols, f, affine_edge{}, lower_score{}) == wanted);
    auto out = where::put(std::vector<pmpp::best_cell<three>>(1));
    pmpp::wavefront_best_into(on, s.rows, s.cols, f, affine_edge{}, out, lower_score{});
    CHECK(where::get(out)[0] == wanted);
  }
}

TEST_ALL_PLACES("empty tables are their edge") {
  const typename where::policy on{};
  const mixed f{nullptr};
  const mixed_edge edge{};
  CHECK(pmpp::wavefront_last(on, 0, 0, f, edge) == edge(-1, -1));
  CHECK(pmpp::wavefront_last(on, 5, 0, f, edge) == edge(4, -1));
  CHECK(pmpp::wavefront_last(on, 0, 7, f, edge) == edge(-1, 6));
  const auto best = pmpp::wavefront_best(on, 300, 0, affine{nullptr, nullptr}, affine_edge{}, lower_score{});
  CHECK(best == pmpp::best_cell<three>{affine_edge{}(-1, -1), -1, -1});
  auto line = where::put(std::vector<int>(300));
  pmpp::wavefront_last_row(on, 0, f, edge, line);
  CHECK(where::get(line)[299] == edge(-1, 299));
  pmpp::wavefront_last_column(on, 0, f, edge, line);
  CHECK(where::get(line)[299] == edge(299, -1));
  pmpp::wavefront(on, matrix_view<int>(static_cast<int*>(nullptr), 0, 9), f, edge);
}

TEST_ALL_PLACES("bad input throws") {
  const typename where::policy on{};
  const mixed f{nullptr};
  CHECK_THROWS_AS((void)pmpp::wavefront_last(on, -1, 5, f, mixed_edge{}), std::invalid_argument);
  CHECK_THROWS_AS((void)pmpp::wavefront_best(on, 1, -5, affine{nullptr, nullptr}, affine_edge{}, lower_score{}),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::wavefront(on, matrix_view<int>(static_cast<int*>(nullptr), 2, 2), f, mixed_edge{}),
                  std::invalid_argument);
  auto line = where::put(std::vector<int>(3));
  CHECK_THROWS_AS(pmpp::wavefront_last_row(on, -2, f, mixed_edge{}, line), std::invalid_argument);
}

#if PMPP_WITH_EMULATOR
TEST_CASE("blocks may start in any order") {
  const std::int64_t rows = 4 * strip + 5, cols = 130;
  const auto seed = letters(rows, 1);
  const auto seed_there = test::device_place::input(seed);
  const int wanted = reference<int>(rows, cols, mixed{seed.data()}, mixed_edge{}).back();
  test::for_each_order(3, [&](std::uint64_t) {
    for (int turn = 0; turn < 2; ++turn)  // the second finds the scratch as the first left it
      CHECK(pmpp::wavefront_last(pmpp::device, rows, cols, mixed{seed_there.data()}, mixed_edge{}) == wanted);
  });
}
#endif

TEST_CASE("calls may be captured and replayed on other data") {
  const std::int64_t rows = 3 * strip + 1, cols = 300;
  const auto first = letters(rows, 1), second = letters(rows, 9);
  auto seed = test::device_place::put(first);
  pmpp::device_buffer<int> cells(rows * cols), last(1);
  const matrix_view<int> table(cells.data(), rows, cols);
  const pmpp::stream stream;
  pmpp::workspace room;
  const auto on = pmpp::device.on(stream).with(room);
  const mixed f{seed.data()};
  const test::repeated call(stream, [&] {
    pmpp::wavefront(on, table, f, mixed_edge{});
    pmpp::wavefront_last_into(on, rows, cols, f, mixed_edge{}, last);
  });
  for (const auto* data : {&second, &first, &second}) {
    pmpp::copy(stream, std::span<const int>(*data), seed);
    call();
    const auto wanted = reference<int>(rows, cols, mixed{data->data()}, mixed_edge{});
    CHECK(pmpp::to_host(cells) == wanted);
    CHECK(pmpp::to_host(last)[0] == wanted.back());
  }
}
