// SPDX-License-Identifier: Apache-2.0
//
// Structures of sparse matrices for benchmarks.
//
// band       27 nonzeros a row next to the diagonal, 2^21 rows
// random     16 random columns a row, 2^21 rows
// short      0, 1, 2 or 3 a row near the diagonal, 2^23 rows; `short scattered`: the same with random columns
// power law  R-MAT graph of 2^20 vertices with 16 edges each (0.57, 0.19, 0.19)
// one long   2^20 rows of 4 random columns, but for one of 16 million nonzeros
// small      27 a row next to the diagonal, 2^12 rows: the cost of a call
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <pmpp/host/parallel_for.hpp>

#include "support/data.hpp"

namespace bench {

/// The structure of a matrix on the host.
struct pattern {
  std::int64_t rows = 0, cols = 0;
  std::vector<int> offsets, columns;
  std::int64_t nonzeros() const { return offsets.back(); }
};

inline std::int64_t random_below(std::int64_t i, std::int64_t n) {
  return static_cast<std::int64_t>(random_bits(i) % static_cast<std::uint64_t>(n));
}

/// Row i has length(i) nonzeros in the columns column(i, k).
template <class Length, class Column>
pattern pattern_of(std::int64_t rows, Length length, Column column) {
  pattern p{rows, rows, {0}, {}};
  for (std::int64_t i = 0; i < rows; ++i) p.offsets.push_back(static_cast<int>(p.offsets.back() + length(i)));
  p.columns.resize(std::size_t(p.nonzeros()));
  pmpp::host_loop::parallel_ranges(pmpp::host, rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t k = 0; k < length(i); ++k)
        p.columns[std::size_t(p.offsets[std::size_t(i)] + k)] = static_cast<int>(column(i, k));
  });
  return p;
}

inline pattern power_law(int levels, std::int64_t edges) {
  const std::int64_t n = std::int64_t(1) << levels;
  std::vector<int> from(static_cast<std::size_t>(edges)), to(from.size());
  pmpp::host_loop::parallel_ranges(pmpp::host, edges, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = begin; e < end; ++e) {
      int row = 0, column = 0;
      for (int level = 0; level < levels; ++level) {
        const double r = double(random_bits(e * levels + level) >> 11) * 0x1p-53;
        row = 2 * row + (r >= 0.76);
        column = 2 * column + ((r >= 0.57 && r < 0.76) || r >= 0.95);
      }
      from[std::size_t(e)] = row;
      to[std::size_t(e)] = column;
    }
  });
  pattern p{n, n, std::vector<int>(std::size_t(n) + 1), std::vector<int>(from.size())};
  for (const int row : from) ++p.offsets[std::size_t(row) + 1];
  for (std::size_t i = 0; i < std::size_t(n); ++i) p.offsets[i + 1] += p.offsets[i];
  std::vector<int> next(p.offsets.begin(), p.offsets.end() - 1);
  for (std::size_t e = 0; e < from.size(); ++e) p.columns[std::size_t(next[std::size_t(from[e])]++)] = to[e];
  return p;
}

inline pattern make_pattern(const std::string& shape) {
  const auto scattered = [](std::int64_t rows) {
    return [=](std::int64_t i, std::int64_t k) { return random_below(64 * i + k, rows); };
  };
  const auto near = [](std::int64_t rows, std::int64_t width) {
    return [=](std::int64_t i, std::int64_t k) { return std::clamp<std::int64_t>(i - width / 2, 0, rows - width) + k; };
  };
  const std::int64_t million = 1 << 20;
  if (shape == "band")
    return pattern_of(
        2 * million, [](std::int64_t) { return 27; }, near(2 * million, 27));
  if (shape == "random")
    return pattern_of(
        2 * million, [](std::int64_t) { return 16; }, scattered(2 * million));
  if (shape == "short")
    return pattern_of(
        8 * million, [](std::int64_t i) { return i % 4; }, near(8 * million, 3));
  if (shape == "short scattered")
    return pattern_of(
        8 * million, [](std::int64_t i) { return i % 4; }, scattered(8 * million));
  if (shape == "power law") return power_law(20, 16 * million);
  if (shape == "one long")
    return pattern_of(
        million, [=](std::int64_t i) { return i == million / 2 ? 16000000 : 4; },
        [=](std::int64_t i, std::int64_t k) {
          return i == million / 2 ? k % million : random_below(4 * i + k, million);
        });
  return pattern_of(
      4096, [](std::int64_t) { return 27; }, near(4096, 27));  // "small"
}

/// Made once, for all types.
inline std::map<std::string, pattern> patterns;
inline const pattern& pattern_named(const std::string& shape) {
  if (patterns.find(shape) == patterns.end()) patterns.emplace(shape, make_pattern(shape));
  return patterns.at(shape);
}

}  // namespace bench
