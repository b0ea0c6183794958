// SPDX-License-Identifier: Apache-2.0
//
// edit_distance, floyd_warshall.
#include <pmpp/alignment.hpp>
#include <pmpp/floyd_warshall.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

/// The first letters of a text and the ones after them; as many as make a table of n cells.
template <class Place>
outcome changes(const Place& at, const std::vector<std::uint8_t>& bytes) {
  const auto side = std::int64_t(std::sqrt(double(at.n)));
  const auto n = std::size_t(side);
  if (2 * n > bytes.size() || n == 0) return {0, 0, true};
  const std::vector<std::uint8_t> first(bytes.begin(), bytes.begin() + side);
  const std::vector<std::uint8_t> second(bytes.begin() + side, bytes.begin() + 2 * side);
  auto here = at;
  here.n = side;
  const auto a = here.put(first), b = here.put(second);
  std::int64_t got = 0;
  const double seconds = at.seconds([&] { got = pmpp::edit_distance(at.where, a, b); });
  std::vector<int> row(n + 1);
  for (std::size_t j = 0; j <= n; ++j) row[j] = int(j);
  for (std::size_t i = 1; i <= n; ++i) {
    int diagonal = row[0];
    row[0] = int(i);
    for (std::size_t j = 1; j <= n; ++j) {
      const int up = row[j];
      row[j] = std::min({row[j - 1] + 1, up + 1, diagonal + (first[i - 1] != second[j - 1])});
      diagonal = up;
    }
  }
  return {seconds, 2.0 * double(side), got == row[n]};
}

/// Shortest paths in a graph whose edges' lengths are bytes of a text; vertices for n edges.
template <class Place>
outcome paths(const Place& at, const std::vector<std::uint8_t>& bytes) {
  const auto side = std::min<std::int64_t>(std::int64_t(std::sqrt(double(at.n))), 300);
  const auto n = std::size_t(side);
  if (n * n > bytes.size() || n == 0) return {0, 0, true};
  std::vector<int> wanted(n * n);
  for (std::size_t i = 0; i < n * n; ++i) wanted[i] = i % (n + 1) == 0 ? 0 : 1 + bytes[i];
  auto here = at;
  here.n = side * side;
  auto d = here.put(wanted);
  const double seconds =
      at.seconds([&] { pmpp::floyd_warshall(at.where, pmpp::matrix_view<int>(d.data(), side, side)); });
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        wanted[i * n + j] = std::min(wanted[i * n + j], wanted[i * n + k] + wanted[k * n + j]);
  return {seconds, 8.0 * double(n * n), pmpp::to_host(d) == wanted};
}

}  // namespace

void show_wavefront(const inputs& in, table& out) {
  const auto cells = [](const text& t) {
    const auto side = std::min<std::int64_t>(std::int64_t(t.bytes.size()) / 2, 4000);
    return side * side;
  };
  out.begin("edit_distance: a text and what follows, by cells of the table");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, cells(t), [&](const auto& at) { return changes(at, t.bytes); });
  out.begin("floyd_warshall: a graph of the letters of a text");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::min<std::int64_t>(std::int64_t(t.bytes.size()), 90000),
                   [&](const auto& at) { return paths(at, t.bytes); });
}

}  // namespace demo
