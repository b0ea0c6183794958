// SPDX-License-Identifier: Apache-2.0
//
// The cells of alignment.hpp. Rules say what a cell is, what lies in front of the table and how a cell follows from its neighbours:
//
//   edit_rules      the distance of the prefixes
//   linear_rules    the best score of an alignment that ends there, at least 0
//   affine_rules    that, and the best one whose last letter of b, or of a, has no partner (Gotoh)
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/min_max.hpp>
#include <pmpp/wavefront/outputs.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// What two letters are worth: `match` if they are equal.
struct match_scores {
  int match = 1, mismatch = -1;

  template <class X, class Y>
  requires requires(const X& x, const Y& y) { static_cast<bool>(x == y); }
  PMPP_HOST_DEVICE constexpr int operator()(const X& x, const Y& y) const {
    return static_cast<bool>(x == y) ? match : mismatch;
  }
};

/// A letter without a partner costs `gap`.
template <class Score = match_scores>
struct linear_gaps {
  Score score{};
  int gap = 1;
};
/// The first of adjacent letters without a partner costs `open`, each further `extend`.
template <class Score = match_scores>
struct affine_gaps {
  Score score{};
  int open = 3, extend = 1;
};
// clang-format off
template <class Score> linear_gaps(Score, int) -> linear_gaps<Score>;
template <class Score> affine_gaps(Score, int, int) -> affine_gaps<Score>;
// clang-format on

/// A best local alignment: its score, and how many letters of a and of b lie before its end.
struct alignment_end {
  std::int64_t score, a, b;

  friend constexpr bool operator==(const alignment_end&, const alignment_end&) = default;
};

namespace detail {

struct edit_rules {
  using cell = int;
  static constexpr bool is_local = false;

  template <class X, class Y>
  static constexpr bool takes() {
    return std::is_trivially_copyable_v<X> && std::is_trivially_copyable_v<Y> && requires(const X& x, const Y& y) {
      static_cast<bool>(x == y);
    };
  }
  PMPP_HOST_DEVICE cell outside(std::int64_t i, std::int64_t j) const { return static_cast<int>(max(i, j)) + 1; }
  template <class X, class Y>
  PMPP_HOST_DEVICE cell next(const cell& left, const cell& up, const cell& diagonal, const X& x, const Y& y) const {
    return simt::add_min(min(left, up), 1, diagonal + (static_cast<bool>(x == y) ? 0 : 1));
  }
};

template <class Score>
struct local_rules {
  static constexpr bool is_local = true;
  Score score;

  template <class X, class Y>
  static constexpr bool takes() {
    return std::is_trivially_copyable_v<X> && std::is_trivially_copyable_v<Y> &&
           requires(const Score& s, const X& x, const Y& y) {
      static_cast<int>(s(x, y));
    };
  }
};

template <class Score>
struct linear_rules : local_rules<Score> {
  using cell = int;
  int gap;

  PMPP_HOST_DEVICE cell outside(std::int64_t, std::int64_t) const { return 0; }
  template <class X, class Y>
  PMPP_HOST_DEVICE cell next(const cell& left, const cell& up, const cell& diagonal, const X& x, const Y& y) const {
    return simt::add_max_zero(max(left, up), -gap, diagonal + static_cast<int>(this->score(x, y)));
  }
};

/// Scores of alignments that end at a cell: the best, the best that leaves the letter of b alone, the letter of a.
struct affine_cell {
  int best, along_b, along_a;
};

template <class Score>
struct affine_rules : local_rules<Score> {
  using cell = affine_cell;
  int open, extend;

  PMPP_HOST_DEVICE cell outside(std::int64_t, std::int64_t) const { return {0, -(1 << 30), -(1 << 30)}; }
  template <class X, class Y>
  PMPP_HOST_DEVICE cell next(const cell& left, const cell& up, const cell& diagonal, const X& x, const Y& y) const {
    const int along_b = simt::add_max(left.along_b, -extend, left.best - open);
    const int along_a = simt::add_max(up.along_a, -extend, up.best - open);
    return {simt::max3_zero(diagonal.best + static_cast<int>(this->score(x, y)), along_b, along_a), along_b, along_a};
  }
};

template <class Score>
linear_rules<Score> rules_of(const linear_gaps<Score>& s) {
  return {{s.score}, s.gap};
}
template <class Score>
affine_rules<Score> rules_of(const affine_gaps<Score>& s) {
  return {{s.score}, s.open, s.extend};
}

struct lower_score {
  PMPP_HOST_DEVICE static int score_of(int x) { return x; }
  PMPP_HOST_DEVICE static int score_of(const affine_cell& x) { return x.best; }
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x, const T& y) const {
    return score_of(x) < score_of(y);
  }
};
struct tell_end {
  template <class T>
  PMPP_HOST_DEVICE alignment_end operator()(const best_cell<T>& best) const {
    const int score = lower_score::score_of(best.value);
    if (best.row < 0 || score == 0) return {0, 0, 0};
    return {score, best.row + 1, best.col + 1};
  }
};

/// The function of a wave: letters are read once a row and once a column.
template <class X, class Y, class Rules>
struct aligned {
  const X* a;
  const Y* b;
  Rules rules;

  PMPP_HOST_DEVICE X row(std::int64_t i) const { return a[i]; }
  PMPP_HOST_DEVICE Y column(std::int64_t j) const { return b[j]; }
  template <class T>
  PMPP_HOST_DEVICE T operator()(const T& left, const T& up, const T& diagonal, const X& x, const Y& y) const {
    return rules.next(left, up, diagonal, x, y);
  }
};
template <class Rules>
struct edge_of {
  Rules rules;
  PMPP_HOST_DEVICE typename Rules::cell operator()(std::int64_t i, std::int64_t j) const { return rules.outside(i, j); }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
