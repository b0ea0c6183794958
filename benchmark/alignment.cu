// SPDX-License-Identifier: Apache-2.0
//
// Alignments of sequences: n is the number of cells, so that n / time is the rate: 10^9 cells in a second are a GCUPS. CUB has no
// peer. One large pair, many short ones; the second sequence is the first with a letter replaced now and then, so that the right
// answer is known.
#include <string>
#include <vector>

#include <pmpp/alignment.hpp>
#include <pmpp/memory/copy.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;
using pmpp::alignment_end;

constexpr std::int64_t apart = 1000;  ///< letters from one that is replaced to the next

std::vector<char> letters(std::int64_t n) {
  std::vector<char> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = "ACGT"[bench::random_bits(i) >> 62];
  return v;
}
std::vector<char> replaced(std::vector<char> v) {
  for (std::size_t i = apart / 2; i < v.size(); i += apart) v[i] = v[i] == 'A' ? 'C' : 'A';
  return v;
}
std::int64_t replacements(std::int64_t n) { return (n - apart / 2 + apart - 1) / apart; }

template <class T>
std::string unlike(const T& got, const T& wanted) {
  return got == wanted ? "" : std::to_string(got) + " instead of " + std::to_string(wanted);
}

/// One pair. call(where, a, b, out) leaves an alignment_end or a number; wanted(n) is its score.
template <class R, class Call, class Score, class Wanted>
void add_pair(const std::string& name, std::int64_t n, Call call, Score score, Wanted wanted) {
  bench::add(name, n * n, 0, [=](int) {
    const auto first = letters(n);
    const auto a = std::make_shared<pmpp::device_buffer<char>>(first);
    const auto b = std::make_shared<pmpp::device_buffer<char>>(replaced(first));
    const auto out = bench::array<R>(1);
    subject s;
    s.contenders = {{"pmpp", [=](int) { call(bench::device(), *a, *b, *out); }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] { return unlike(std::int64_t(score(pmpp::to_host(*out)[0])), std::int64_t(wanted(n))); };
    return s;
  });
}

/// Pairs of one length.
template <class R, class Call, class Score, class Wanted>
void add_pairs(const std::string& name, std::int64_t pairs, std::int64_t n, Call call, Score score, Wanted wanted) {
  bench::add(name, pairs * n * n, 0, [=](int) {
    const auto first = letters(pairs * n);
    std::vector<std::int64_t> at;
    for (std::int64_t p = 0; p <= pairs; ++p) at.push_back(p * n);
    const auto a = std::make_shared<pmpp::device_buffer<char>>(first);
    const auto b = std::make_shared<pmpp::device_buffer<char>>(first);
    const auto offsets = std::make_shared<pmpp::device_buffer<std::int64_t>>(at);
    const auto out = bench::array<R>(pairs);
    subject s;
    s.contenders = {{"pmpp", [=](int) { call(bench::device(), *a, *offsets, *b, *out); }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      for (const R& r : pmpp::to_host(*out))
        if (std::int64_t(score(r)) != std::int64_t(wanted(n)))
          return unlike(std::int64_t(score(r)), std::int64_t(wanted(n)));
      return "";
    };
    return s;
  });
}

/// A data base of sequences of 100 to 500 letters, none related to the query.
void add_search(std::int64_t sequences, std::int64_t query, const pmpp::affine_gaps<pmpp::match_scores>& scoring) {
  std::vector<std::int64_t> at{0};
  for (std::int64_t p = 0; p < sequences; ++p)
    at.push_back(at.back() + 100 + static_cast<std::int64_t>(bench::random_bits(-p - 1) % 401));
  bench::add("smith-waterman, affine, search for " + std::to_string(query), at.back() * query, 0, [=](int) {
    const auto base = std::make_shared<std::vector<char>>(letters(at.back()));
    const auto asked = std::make_shared<std::vector<char>>(letters(at.back() + query));
    asked->erase(asked->begin(), asked->end() - query);
    const auto a = std::make_shared<pmpp::device_buffer<char>>(*base);
    const auto b = std::make_shared<pmpp::device_buffer<char>>(*asked);
    const auto offsets = std::make_shared<pmpp::device_buffer<std::int64_t>>(at);
    const auto out = bench::array<alignment_end>(sequences);
    subject s;
    s.contenders = {
        {"pmpp", [=](int) { pmpp::smith_waterman_batched(bench::device(), *a, *offsets, *b, scoring, *out); }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      const auto got = pmpp::to_host(*out);
      for (std::int64_t p = 0; p < sequences; p += sequences / 9) {
        const std::span<const char> of_base(base->data() + at[std::size_t(p)],
                                            std::size_t(at[std::size_t(p) + 1] - at[std::size_t(p)]));
        if (got[std::size_t(p)] != pmpp::smith_waterman(pmpp::seq, of_base, *asked, scoring))
          return "sequence " + std::to_string(p);
      }
      return "";
    };
    return s;
  });
}

constexpr pmpp::linear_gaps linear{pmpp::match_scores{2, -1}, 2};
constexpr pmpp::affine_gaps affine{pmpp::match_scores{2, -1}, 5, 1};
const auto score_of = [](const alignment_end& end) { return end.score; };
const auto itself = [](auto x) { return x; };

void add_cases() {
  const auto distance = [](const auto& where, const auto& a, const auto& b, auto& out) {
    pmpp::edit_distance_into(where, a, b, out);
  };
  const auto smith_linear = [](const auto& where, const auto& a, const auto& b, auto& out) {
    pmpp::smith_waterman_into(where, a, b, linear, out);
  };
  const auto smith_affine = [](const auto& where, const auto& a, const auto& b, auto& out) {
    pmpp::smith_waterman_into(where, a, b, affine, out);
  };
  const auto best = [](std::int64_t n) { return 2 * n - 3 * replacements(n); };
  for (const std::int64_t n : {4096, 32768, 262144}) {
    add_pair<std::int64_t>("edit distance", n, distance, itself, replacements);
    add_pair<alignment_end>("smith-waterman, linear", n, smith_linear, score_of, best);
    add_pair<alignment_end>("smith-waterman, affine", n, smith_affine, score_of, best);
  }
  for (const std::int64_t query : {128, 512}) add_search(100000, query, affine);
  for (const std::int64_t n : {128, 512}) {
    const std::int64_t pairs = (std::int64_t(1) << 34) / (n * n);
    const std::string of = " of many pairs of " + std::to_string(n);
    add_pairs<int>(
        "edit distance" + of, pairs, n,
        [](const auto& where, const auto& a, const auto& at, const auto& b, auto& out) {
          pmpp::edit_distance_batched(where, a, at, b, at, out);
        },
        itself, [](std::int64_t) { return std::int64_t(0); });
    add_pairs<alignment_end>(
        "smith-waterman, linear," + of, pairs, n,
        [](const auto& where, const auto& a, const auto& at, const auto& b, auto& out) {
          pmpp::smith_waterman_batched(where, a, at, b, at, linear, out);
        },
        score_of, [](std::int64_t m) { return 2 * m; });
    add_pairs<alignment_end>(
        "smith-waterman, affine," + of, pairs, n,
        [](const auto& where, const auto& a, const auto& at, const auto& b, auto& out) {
          pmpp::smith_waterman_batched(where, a, at, b, at, affine, out);
        },
        score_of, [](std::int64_t m) { return 2 * m; });
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
