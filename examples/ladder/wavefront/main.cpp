// SPDX-License-Identifier: Apache-2.0
//
// The ladder of wavefronts: chapter 16 of Programming Massively Parallel Processors (5th edition), rung by rung, up to the library's
// own. Every result is compared with a plain double loop; on a GPU every rung is also timed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>

#include <pmpp/alignment.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

#include "../timing.hpp"
#include "1_diagonals.hpp"
#include "2_tiles.hpp"
#include "3_one_launch.hpp"
#include "4_warps.hpp"

namespace {

std::vector<char> letters(int n, std::uint32_t random) {
  std::vector<char> v(static_cast<std::size_t>(n));
  for (char& x : v) x = "ACGT"[(random = random * 1664525u + 1013904223u) >> 30];
  return v;
}
int plain_distance(const std::vector<char>& a, const std::vector<char>& b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int upper = row[j + 1];
      row[j + 1] = ladder::cell(row[j], upper, diagonal, a[i] == b[j]);
      diagonal = upper;
    }
  }
  return row.back();
}

/// A rung on two texts: `run` is what is timed, `result` the distance that it has found.
struct rung {
  const char *name, *lesson;
  int side;  ///< of its tiles
  std::function<void(const ladder::texts&, ladder::borders)> run;
};

}  // namespace

int main() {
  const pmpp::stream s;
  pmpp::workspace memory;
  const auto where = pmpp::device.on(s).with(memory);
  const int large = PMPP_CUDA ? 16384 : 300, blocks = PMPP_CUDA ? 132 * 8 : 3;
  pmpp::device_buffer<int> table(std::int64_t(large) * large), counters(large);
  pmpp::device_buffer<std::int64_t> own(1);
  const auto last_of_table = [&](const ladder::texts& t, const ladder::borders& known) {
    pmpp::copy(where, std::span<const int>(table.data() + std::int64_t(t.rows) * t.cols - 1, 1),
               std::span<int>(known.row + t.cols - 1, 1));
  };
  const rung ladder[] = {
      {"diagonals", "a launch for each anti-diagonal", 1,
       [&](const auto& t, auto known) {
         ladder::distance_by_diagonals(where, t, table.data());
         last_of_table(t, known);
       }},
      {"tiles", "barriers in place of launches", ladder::tile_side,
       [&](const auto& t, auto known) { ladder::distance_by_tiles(where, t, known); }},
      {"one launch", "a tile waits for its neighbours alone", ladder::tile_side,
       [&](const auto& t, auto known) { ladder::distance_in_one_launch(where, t, known, counters.data(), blocks); }},
      {"warps", "shuffles in place of barriers", ladder::tiles_of_warps::side,
       [&](const auto& t, auto known) { ladder::distance_by_warps(where, t, known, counters.data(), blocks); }},
      {"pmpp::edit_distance", "four rows a lane, strips in place of tiles", 1,
       [&](const auto& t, auto known) {
         pmpp::edit_distance_into(where, std::span<const char>(t.a, std::size_t(t.rows)),
                                  std::span<const char>(t.b, std::size_t(t.cols)),
                                  std::span<int>(known.row + t.cols - 1, 1));
       }},
  };
  struct size {
    int rows, cols;
  };
  const size sizes[] = {{1, 1}, {1, 70}, {130, 129}, {32, 256}, {257, 31}, {large - 3, large}};
  int wrong = 0;
  std::printf("%-20s %-44s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  %11s %7s", "16384^2: us", "GCUPS");
  for (const rung& r : ladder) {
    bool right = true;
    for (const size& n : sizes) {
      const auto a = letters(n.rows, 1), b = letters(n.cols, 2);
      const pmpp::device_buffer<char> x{a}, y{b};
      ladder::border_memory known(n.rows, n.cols, r.side);
      pmpp::synchronize(pmpp::device);
      r.run({x.data(), y.data(), n.rows, n.cols}, known.view());
      s.synchronize();
      right = right && known.last() == plain_distance(a, b);
    }
    std::printf("\n%-20s %-44s %-6s", r.name, r.lesson, right ? "right" : "WRONG");
    wrong += !right;
    if (PMPP_CUDA) {
      const pmpp::device_buffer<char> x{letters(large, 1)}, y{letters(large, 2)};
      ladder::border_memory known(large, large, r.side);
      pmpp::synchronize(pmpp::device);
      const double us = microseconds(s, [&] { r.run({x.data(), y.data(), large, large}, known.view()); });
      std::printf("  %11.1f %7.1f", us, 1e-3 * double(large) * large / us);
    }
  }
  std::printf("\n");
  return wrong;
}
