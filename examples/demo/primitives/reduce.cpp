// SPDX-License-Identifier: Apache-2.0
//
// reduce, reduce_into, transform_reduce, min_element, max_element, minmax_element.
#include <pmpp/reduce.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

/// 1 where a word begins after a space: the left byte is white space, the right one is not.
struct word_begins {
  PMPP_HOST_DEVICE static bool is_space(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  PMPP_HOST_DEVICE std::int64_t operator()(std::uint8_t left, std::uint8_t right) const {
    return is_space(left) && !is_space(right) ? 1 : 0;
  }
};

/// A piece of text, as far as lines go. The lengths before its first and after its last line end, and of its longest
/// whole line. Joining two pieces is associative, but a join b is not b join a.
struct piece {
  std::int64_t head, longest, tail;
  bool has_line_end;
};
struct piece_of_byte {
  PMPP_HOST_DEVICE piece operator()(std::uint8_t c) const {
    if (c == '\n') return {0, 0, 0, true};
    return {1, 0, 1, false};
  }
};
struct join {
  PMPP_HOST_DEVICE piece operator()(const piece& a, const piece& b) const {
    const std::int64_t longest = a.longest > b.longest ? a.longest : b.longest;
    if (!a.has_line_end) return {a.head + b.head, b.longest, b.has_line_end ? b.tail : a.head + b.tail, b.has_line_end};
    if (!b.has_line_end) return {a.head, a.longest, a.tail + b.head, true};
    const std::int64_t middle = a.tail + b.head;
    return {a.head, longest > middle ? longest : middle, b.tail, true};
  }
};

/// The length of the longest line, line by line.
std::int64_t longest_line(const std::uint8_t* first, std::int64_t n) {
  std::int64_t longest = 0;
  for (const std::uint8_t *line = first, *end = first + n; line < end;) {
    const std::uint8_t* line_end = std::find(line, end, '\n');
    longest = std::max(longest, std::int64_t(line_end - line));
    line = line_end + 1;
  }
  return longest;
}

/// |got - exact| <= n eps sum: the bound for a sum of n doubles in any order.
bool is_near(double got, long double exact, long double sum_of_magnitudes, std::int64_t n) {
  return double(exact) == got || std::abs(got - exact) <= double(n) * 2.3e-16L * sum_of_magnitudes;
}

}  // namespace

void show_reduce(const inputs& in, table& out) {
  out.begin("reduce: sum of the bytes");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      std::uint64_t got = 0, exact = 0;
      const double seconds = at.seconds([&] { got = pmpp::reduce(at.where, x); });  // 8-bit items, 64-bit sum
      for (std::int64_t i = 0; i < at.n; ++i) exact += t.bytes[std::size_t(i)];
      return outcome{seconds, double(at.n), got == exact};
    });

  out.begin("reduce: sum of the values");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      const auto x = at.put(m.values);
      double got = 0;
      const double seconds = at.seconds([&] { got = pmpp::reduce(at.where, x); });
      long double exact = 0, magnitudes = 0;
      for (std::int64_t i = 0; i < at.n; ++i) {
        exact += m.values[std::size_t(i)];
        magnitudes += std::abs(m.values[std::size_t(i)]);
      }
      return outcome{seconds, sizeof(double) * double(at.n), is_near(got, exact, magnitudes, at.n)};
    });

  out.begin("reduce_into: brightness");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) {
      const auto x = at.put(p.samples);
      auto result = at.template room<std::uint64_t>(1);
      const double seconds = at.seconds([&] { pmpp::reduce_into(at.where, x, result); });
      std::uint64_t exact = 0;
      for (std::int64_t i = 0; i < at.n; ++i) exact += p.samples[std::size_t(i)];
      return outcome{seconds, double(at.n), pmpp::to_host(result)[0] == exact};
    });

  out.begin("transform_reduce: words");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      std::int64_t got = 0, exact = 0;
      const double seconds = at.seconds([&] {  // each byte with its right neighbour
        got = pmpp::transform_reduce(at.where, x.begin(), x.begin() + (at.n - 1), x.begin() + 1, std::int64_t(0),
                                     pmpp::plus{}, word_begins{});
      });
      for (std::int64_t i = 1; i < at.n; ++i) {
        const auto is_space = [&](std::int64_t k) {
          const std::uint8_t c = t.bytes[std::size_t(k)];
          return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
        };
        exact += is_space(i - 1) && !is_space(i);
      }
      return outcome{seconds, 2.0 * double(at.n), got == exact};
    });

  out.begin("transform_reduce: longest line");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      piece got{};
      const double seconds =
          at.seconds([&] { got = pmpp::transform_reduce(at.where, x, piece{}, join{}, piece_of_byte{}); });
      const std::int64_t longest = std::max({got.head, got.longest, got.tail});
      return outcome{seconds, double(at.n), longest == longest_line(t.bytes.data(), at.n)};
    });

  out.begin("transform_reduce: squares");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      const auto x = at.put(m.values);
      double got = 0;
      const double seconds =
          at.seconds([&] { got = pmpp::transform_reduce(at.where, x, x, 0.0, pmpp::plus{}, pmpp::multiplies{}); });
      long double exact = 0;
      for (std::int64_t i = 0; i < at.n; ++i) exact += (long double)m.values[std::size_t(i)] * m.values[std::size_t(i)];
      return outcome{seconds, 2.0 * sizeof(double) * double(at.n), is_near(got, exact, exact, at.n + 1)};
    });

  out.begin("min_element: least value");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      const auto x = at.put(m.values);
      std::int64_t got = 0, exact = 0;
      const double seconds = at.seconds([&] { got = pmpp::min_element(at.where, x) - x.begin(); });
      for (std::int64_t i = 1; i < at.n; ++i)
        if (m.values[std::size_t(i)] < m.values[std::size_t(exact)]) exact = i;
      return outcome{seconds, sizeof(double) * double(at.n), got == exact};
    });

  out.begin("max_element: longest row");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {
      std::vector<int> lengths(std::size_t(m.rows));
      for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = m.offsets[i + 1] - m.offsets[i];
      const auto x = at.put(lengths);
      std::int64_t got = 0, exact = 0;
      const double seconds = at.seconds([&] { got = pmpp::max_element(at.where, x) - x.begin(); });
      for (std::int64_t i = 1; i < at.n; ++i)
        if (lengths[std::size_t(i)] > lengths[std::size_t(exact)]) exact = i;
      return outcome{seconds, sizeof(int) * double(at.n), got == exact};
    });

  out.begin("minmax_element: contrast");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) {
      const auto x = at.put(p.samples);
      std::int64_t least = 0, most = 0;
      const double seconds = at.seconds([&] {
        const auto [low, high] = pmpp::minmax_element(at.where, x);
        least = low - x.begin();
        most = high - x.begin();
      });
      const auto first = p.samples.begin(), end = first + at.n;
      const bool ok = least == std::min_element(first, end) - first && most == std::max_element(first, end) - first;
      return outcome{seconds, double(at.n), ok};
    });
}

}  // namespace demo
