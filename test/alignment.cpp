// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of alignment.hpp, on every policy: distances, scores and their places are those of plain double loops
// over whole tables, which this file has of its own, for pairs of all lengths around a strip and a chunk, related and
// unrelated ones, empty ones; a score that is not symmetric shows which sequence is which; batches agree with the same loops,
// with pairs of all lengths side by side, one b for all, no pairs; known answers; bad input throws. On a GPU also a graph.
#include <pmpp/alignment.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::affine_gaps;
using pmpp::alignment_end;
using pmpp::linear_gaps;
using pmpp::match_scores;
using text = std::vector<char>;

namespace {

constexpr int strip = 4 * pmpp::simt::warp_size;

text random_text(std::int64_t n) {
  text t(static_cast<std::size_t>(n));
  for (char& c : t) c = "ACGT"[test::generator()() % 4];
  return t;
}
/// The same with some letters replaced, left out and put in.
text changed(const text& t) {
  text other;
  for (const char c : t) {
    const auto chance = test::generator()() % 20;
    if (chance == 0) continue;
    if (chance == 1) other.push_back('A');
    other.push_back(chance == 2 ? 'C' : c);
  }
  return other;
}

/// What letters are worth by what they are and by whose they are.
struct lopsided {
  PMPP_HOST_DEVICE int operator()(char x, char y) const { return x == y ? 3 : x < y ? -1 : -2; }
};
struct costs {
  int open, extend;
};

std::int64_t distance(const text& a, const text& b) {
  std::vector<std::vector<std::int64_t>> d(a.size() + 1, std::vector<std::int64_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = std::int64_t(i + j);
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
    }
  return d[a.size()][b.size()];
}

/// Gaps of k letters cost open + (k - 1) * extend; the best score of gaps of every length is tried where that is affordable.
template <class Score>
alignment_end local(const text& a, const text& b, Score score, costs gap) {
  const std::int64_t none = -(std::int64_t(1) << 40);
  const std::size_t n = b.size() + 1;
  std::vector<std::int64_t> h((a.size() + 1) * n, 0), e(h.size(), none), f(h.size(), none);
  alignment_end best{0, 0, 0};
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t here = i * n + j, left = here - 1, up = here - n;
      e[here] = std::max(e[left] - gap.extend, h[left] - gap.open);
      f[here] = std::max(f[up] - gap.extend, h[up] - gap.open);
      h[here] = std::max({std::int64_t(0), h[up - 1] + score(a[i - 1], b[j - 1]), e[here], f[here]});
    }
  for (std::size_t j = 1; j <= b.size(); ++j)
    for (std::size_t i = 1; i <= a.size(); ++i)
      if (h[i * n + j] > best.score) best = {h[i * n + j], std::int64_t(i), std::int64_t(j)};
  return best;
}

struct lengths {
  std::int64_t a, b;
};
std::vector<lengths> all_lengths() {
  if (test::only_small()) return {{1, 1}, {40, 33}, {2 * strip + 1, 65}};
  return {{0, 0},   {0, 5},       {6, 0},          {1, 1},     {1, 50},   {60, 1},   {32, 31},
          {33, 64}, {strip, 100}, {strip + 1, 97}, {300, 301}, {90, 700}, {900, 80}, {3 * strip, 512}};
}
constexpr linear_gaps linear{match_scores{2, -1}, 2};
constexpr affine_gaps affine{lopsided{}, 5, 1};

/// Many sequences one after the other.
struct sequences {
  text letters;
  std::vector<int> offsets{0};
  void add(const text& t) {
    letters.insert(letters.end(), t.begin(), t.end());
    offsets.push_back(int(letters.size()));
  }
};

}  // namespace

TEST_ALL_PLACES("one pair") {
  const typename where::policy on{};
  int turn = 0;
  for (const lengths& n : all_lengths()) {
    const text a = random_text(n.a), b = turn++ % 2 == 0 ? random_text(n.b) : changed(a);
    const auto x = where::input(a), y = where::input(b);
    CAPTURE(n.a);
    CAPTURE(b.size());
    CHECK(pmpp::edit_distance(on, x, y) == distance(a, b));
    CHECK(pmpp::smith_waterman(on, x, y, linear) == local(a, b, match_scores{2, -1}, {2, 2}));
    CHECK(pmpp::smith_waterman(on, x, y, affine) == local(a, b, lopsided{}, {5, 1}));
  }
}

TEST_ALL_PLACES("known answers") {
  const typename where::policy on{};
  const auto of = [](const char* s) { return where::input(text(s, s + std::string(s).size())); };
  CHECK(pmpp::edit_distance(on, of("kitten"), of("sitting")) == 3);
  CHECK(pmpp::edit_distance(on, of("intention"), of("execution")) == 5);
  // ACACACTA and AGCACACA, match 2, all else -1: A-CACACTA on AGCACAC-A has 12.
  CHECK(pmpp::smith_waterman(on, of("ACACACTA"), of("AGCACACA"), linear_gaps{match_scores{2, -1}, 1}) ==
        alignment_end{12, 8, 8});
  CHECK(pmpp::smith_waterman(on, of("AAAA"), of("TTTT"), linear) == alignment_end{0, 0, 0});
}

TEST_ALL_PLACES("many pairs") {
  const typename where::policy on{};
  sequences a, b;
  std::vector<text> first, second;
  const int pairs = test::only_small() ? 6 : 60;
  for (int p = 0; p < pairs; ++p) {
    const std::int64_t n = p % 9 == 0 ? 0 : p % 13 == 0 ? 2 * strip + p : std::int64_t(test::generator()() % 90);
    first.push_back(random_text(n));
    second.push_back(p % 3 == 0 ? changed(first.back()) : random_text(std::int64_t(test::generator()() % 120)));
    a.add(first.back());
    b.add(second.back());
  }
  const auto x = where::input(a.letters), y = where::input(b.letters);
  const auto x_at = where::input(a.offsets), y_at = where::input(b.offsets);
  auto distances = where::put(std::vector<int>(std::size_t(pairs)));
  auto ends = where::put(std::vector<alignment_end>(std::size_t(pairs)));
  std::vector<int> wanted;
  std::vector<alignment_end> wanted_ends;
  for (std::size_t p = 0; p < first.size(); ++p) {
    wanted.push_back(int(distance(first[p], second[p])));
    wanted_ends.push_back(local(first[p], second[p], lopsided{}, {5, 1}));
  }
  pmpp::edit_distance_batched(on, x, x_at, y, y_at, distances);
  CHECK(where::get(distances) == wanted);
  pmpp::smith_waterman_batched(on, x, x_at, y, y_at, affine, ends);
  CHECK(where::get(ends) == wanted_ends);

  const text query = random_text(45);  // one for all
  const auto q = where::input(query);
  for (std::size_t p = 0; p < first.size(); ++p) {
    wanted[p] = int(distance(first[p], query));
    wanted_ends[p] = local(first[p], query, match_scores{2, -1}, {2, 2});
  }
  pmpp::edit_distance_batched(on, x, x_at, q, distances);
  CHECK(where::get(distances) == wanted);
  pmpp::smith_waterman_batched(on, x, x_at, q, linear, ends);
  CHECK(where::get(ends) == wanted_ends);
}

/// Scores that fit 16 bits are made two at a time (alignment/packed.hpp), by strips of 128, 256 or 512 rows.
TEST_ALL_PLACES("many pairs whose scores fit 16 bits, or do not") {
  const typename where::policy on{};
  sequences a, b;
  std::vector<text> first, second;
  const std::vector<lengths> all = test::only_small()
                                       ? std::vector<lengths>{{1, 1}, {130, 40}, {520, 35}}
                                       : std::vector<lengths>{{1, 1},    {1, 90},    {2, 33},    {127, 128}, {128, 31},
                                                              {129, 64}, {256, 5},   {257, 120}, {511, 70},  {512, 512},
                                                              {513, 33}, {1100, 90}, {40, 1500}, {0, 7},     {7, 0}};
  for (const lengths& n : all) {
    first.push_back(random_text(n.a));
    second.push_back(n.a == 512 ? changed(first.back()) : random_text(n.b));
    a.add(first.back());
    b.add(second.back());
  }
  const auto x = where::input(a.letters), y = where::input(b.letters);
  const auto x_at = where::input(a.offsets), y_at = where::input(b.offsets);
  auto ends = where::put(std::vector<alignment_end>(all.size()));
  const auto check = [&](const match_scores& score, const costs& gap) {
    std::vector<alignment_end> wanted;
    for (std::size_t p = 0; p < all.size(); ++p) wanted.push_back(local(first[p], second[p], score, gap));
    CAPTURE(score.match);
    CAPTURE(gap.extend);
    pmpp::smith_waterman_batched(on, x, x_at, y, y_at, affine_gaps{score, gap.open, gap.extend}, ends);
    CHECK(where::get(ends) == wanted);
    if (gap.open != gap.extend) return;
    pmpp::smith_waterman_batched(on, x, x_at, y, y_at, linear_gaps{score, gap.open}, ends);
    CHECK(where::get(ends) == wanted);
  };
  check({3, -2}, {4, 1});
  check({1, 0}, {0, 0});  // many equal scores
  check({2, -1}, {2, 2});
  check({3, -4096}, {4096, 4096});
  check({100000, -5}, {7, 7});  // past 16 bits
  check({5, 1}, {3, 3});        // letters that differ are worth something
  check({2, -1}, {-1, -1});     // gaps too
  auto distances = where::put(std::vector<std::int16_t>(all.size()));
  std::vector<std::int16_t> wanted;
  for (std::size_t p = 0; p < all.size(); ++p) wanted.push_back(std::int16_t(distance(first[p], second[p])));
  pmpp::edit_distance_batched(on, x, x_at, y, y_at, distances);
  CHECK(where::get(distances) == wanted);
}

/// So many that a warp takes four or two of them at once, of those that are short enough.
TEST_ALL_PLACES("very many short pairs") {
  const typename where::policy on{};
  constexpr pmpp::wavefront_tuning few_blocks{.blocks_per_processor = 1};
  std::int64_t processors = 4;
  if constexpr (pmpp::kernel_execution<typename where::policy>) processors = pmpp::machine_of(on).multiprocessors;
  sequences a, b;
  std::vector<text> first, second;
  for (std::int64_t p = 0; p < 16 * processors + 3; ++p) {
    const bool is_long = p % 50 == 7;
    first.push_back(random_text(p % 97 == 5 ? 0 : is_long ? 100 + p % 200 : p % 12));
    second.push_back(p % 3 == 0 ? changed(first.back()) : random_text(p % 13));
    a.add(first.back());
    b.add(second.back());
  }
  const auto x = where::input(a.letters), y = where::input(b.letters);
  const auto x_at = where::input(a.offsets), y_at = where::input(b.offsets);
  std::vector<int> wanted;
  std::vector<alignment_end> with_linear, with_affine;
  for (std::size_t p = 0; p < first.size(); ++p) {
    wanted.push_back(int(distance(first[p], second[p])));
    with_linear.push_back(local(first[p], second[p], match_scores{2, -1}, {2, 2}));
    with_affine.push_back(local(first[p], second[p], match_scores{3, -2}, {4, 1}));
  }
  auto distances = where::put(std::vector<int>(first.size()));
  auto ends = where::put(std::vector<alignment_end>(first.size()));
  pmpp::edit_distance_batched<few_blocks>(on, x, x_at, y, y_at, distances);
  CHECK(where::get(distances) == wanted);
  pmpp::smith_waterman_batched<few_blocks>(on, x, x_at, y, y_at, linear, ends);
  CHECK(where::get(ends) == with_linear);
  pmpp::smith_waterman_batched<few_blocks>(on, x, x_at, y, y_at, affine_gaps{match_scores{3, -2}, 4, 1}, ends);
  CHECK(where::get(ends) == with_affine);
}

TEST_ALL_PLACES("letters of a byte that are equal as integers") {
  const typename where::policy on{};
  const auto x = where::input(std::vector<signed char>{-1, 1, 2, 3});
  const auto y = where::input(std::vector<unsigned char>{255, 1, 2, 4});
  const auto at = where::input(std::vector<int>{0, 4});
  auto distances = where::put(std::vector<int>(1));
  auto ends = where::put(std::vector<alignment_end>(1));
  pmpp::edit_distance_batched(on, x, at, y, at, distances);
  CHECK(where::get(distances)[0] == 2);
  pmpp::smith_waterman_batched(on, x, at, y, at, linear, ends);
  CHECK(where::get(ends)[0] == alignment_end{4, 3, 3});
}

TEST_ALL_PLACES("bad input throws, and no pairs are none") {
  const typename where::policy on{};
  const auto letters = where::input(text{'A', 'C'});
  const auto one = where::input(std::vector<int>{0, 2}), two = where::input(std::vector<int>{0, 1, 2}),
             none = where::input(std::vector<int>{0});
  auto out = where::put(std::vector<int>{7});
  CHECK_THROWS_AS(pmpp::edit_distance_batched(on, letters, one, letters, two, out), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::edit_distance_batched(on, letters, two, letters, two, out), std::length_error);
  CHECK_THROWS_AS(pmpp::edit_distance_batched(on, letters, where::input(std::vector<int>{}), letters, two, out),
                  std::invalid_argument);
  pmpp::edit_distance_batched(on, letters, none, letters, none, out);
  CHECK(where::get(out)[0] == 7);
}

TEST_CASE("calls may be captured and replayed on other data") {
  const pmpp::stream stream;
  pmpp::workspace room;
  const auto on = pmpp::device.on(stream).with(room);
  const text a = random_text(2 * strip + 9), first = random_text(150), second = random_text(150);
  const pmpp::device_buffer<char> x(a);
  pmpp::device_buffer<char> y(first);
  const pmpp::device_buffer<int> at(std::vector<int>{0, 40, 40, 150});
  pmpp::device_buffer<int> of_pairs(3);
  pmpp::device_buffer<std::int64_t> of_one(1);
  pmpp::device_buffer<alignment_end> end(1);
  const test::repeated call(stream, [&] {
    pmpp::edit_distance_into(on, x, y, of_one);
    pmpp::smith_waterman_into(on, x, y, affine, end);
    pmpp::edit_distance_batched(on, x, at, y, at, of_pairs);
  });
  for (const text* b : {&second, &first}) {
    pmpp::copy(stream, std::span<const char>(*b), y);
    call();
    CHECK(pmpp::to_host(of_one)[0] == distance(a, *b));
    CHECK(pmpp::to_host(end)[0] == local(a, *b, lopsided{}, {5, 1}));
    CHECK(pmpp::to_host(of_pairs)[2] ==
          distance(text(a.begin() + 40, a.begin() + 150), text(b->begin() + 40, b->end())));
  }
}

#if PMPP_WITH_EMULATOR
TEST_CASE("blocks may start in any order") {
  const text a = random_text(3 * strip + 2), b = random_text(140);
  const pmpp::device_buffer<char> x(a), y(b);
  const auto wanted = local(a, b, lopsided{}, {5, 1});
  test::for_each_order(2, [&](std::uint64_t) { CHECK(pmpp::smith_waterman(pmpp::device, x, y, affine) == wanted); });
}
#endif
