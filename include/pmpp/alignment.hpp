// SPDX-License-Identifier: Apache-2.0
//
// Sequences side by side: how far apart two are, and where they are most alike.
//
//   edit_distance(device, a, b)                                       // letters to insert, delete or replace (Levenshtein)
//   smith_waterman(device, a, b, linear_gaps{match_scores{2, -1}, 1}) // the best local alignment: its score, where it ends
//   smith_waterman(device, a, b, affine_gaps{match_scores{2, -1}, 3, 1})
//   edit_distance_batched(device, a, a_offsets, b, b_offsets, out)    // many pairs; or each of a with the same b
//   smith_waterman_batched(device, a, a_offsets, b, b_offsets, scoring, out)
//
//   1. One pair is one table of a.size() x b.size() cells, which is never written: a wavefront (wavefront.hpp) whose last or best cell is
//      kept.
//   2. Of many pairs each is one warp's, which walks the strips of its table one after the other (alignment/pairs.hpp), so that no warp
//      waits for another.
//   3. A cell of linear gaps takes three instructions besides the comparison of the letters, one of affine gaps six, where the GPU has DPX
//      instructions (simt/min_max.hpp).
//
// Scores are 32-bit integers, the same on every run and every policy. The alignment itself (which letters meet) is not traced. (Smith and
// Waterman 1981; Gotoh 1982; PMPP, 5th edition, ch. 16.)
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include <pmpp/alignment/pairs.hpp>
#include <pmpp/alignment/rules.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/contiguous.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/wavefront.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// The table of one pair. Throws if it has more rows or columns than scores can count.
template <class P, class A, class B, class Rules>
auto table_of_pair(const char* function, [[maybe_unused]] const P& where, A& a, B& b, const Rules& rules) {
  const auto x = detail::as_span(a);
  const auto y = detail::as_span(b);
  using X = std::remove_const_t<element_of<A>>;
  using Y = std::remove_const_t<element_of<B>>;
  static_assert(
      Rules::template takes<X, Y>(),
      "pmpp: the letters of two sequences must be trivially copyable and be what == compares, or the score takes");
  const auto rows = static_cast<std::int64_t>(x.size()), cols = static_cast<std::int64_t>(y.size());
  constexpr std::int64_t most = std::numeric_limits<int>::max() / 2;
  if (rows > most || cols > most)
    detail::throw_length_error(detail::text("pmpp::") + function + ": sequences of " + detail::text::of(rows) +
                               " and " + detail::text::of(cols) + " letters; 32-bit scores count up to " +
                               detail::text::of(most));
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, x.data());
    detail::check_reachable(where, function, y.data());
  }
  using function_type = aligned<X, Y, Rules>;
  return detail::wave_of<typename Rules::cell>(function, rows, cols, function_type{x.data(), y.data(), rules},
                                               edge_of<Rules>{rules});
}

/// Enqueues all pairs, or makes them. `b_offsets` null: each of a with all of b.
template <wavefront_tuning Tuning, class P, class A, class AOffsets, class B, class I, class Rules, class O>
void align_pairs(const char* function, const P& where, A& a, AOffsets& a_offsets, B& b, const I* b_offsets,
                 std::int64_t b_count, const Rules& rules, O& out) {
  using X = std::remove_const_t<element_of<A>>;
  using Y = std::remove_const_t<element_of<B>>;
  using J = std::remove_const_t<element_of<AOffsets>>;
  static_assert(std::is_integral_v<J> && std::is_integral_v<I>, "pmpp: offsets must be integers");
  static_assert(
      Rules::template takes<X, Y>(),
      "pmpp: the letters of two sequences must be trivially copyable and be what == compares, or the score takes");
  const auto x = detail::as_span(a);
  const auto y = detail::as_span(b);
  const auto at = detail::as_span(a_offsets);
  const auto pairs = static_cast<std::int64_t>(at.size()) - 1;
  require(pairs >= 0, [&] {
    return detail::text("pmpp::") + function + ": offsets must have one entry more than there are sequences, got 0";
  });
  require(b_offsets == nullptr || b_count == pairs + 1, [&] {
    return detail::text("pmpp::") + function + ": a has " + detail::text::of(pairs) +
           " sequences, so b_offsets must have " + detail::text::of(pairs + 1) + " entries, but has " +
           detail::text::of(b_count);
  });
  detail::check_output(function, "out", out, pairs);
  if (pairs == 0) return;
  const auto target = detail::unwrap(detail::begin_of(out));
  using problem = alignment_pairs<X, Y, J, I, Rules, std::remove_const_t<decltype(target)>>;
  const problem p{x.data(),
                  at.data(),
                  y.data(),
                  b_offsets,
                  static_cast<std::int64_t>(x.size()),
                  static_cast<std::int64_t>(y.size()),
                  pairs,
                  rules,
                  target};
  if constexpr (kernel_execution<P>) {
    detail::check_reachable(where, function, x.data());
    detail::check_reachable(where, function, y.data());
    detail::check_reachable(where, function, at.data());
    detail::pairs_on_blocks<Tuning>(where, p);
  } else if constexpr (std::is_same_v<P, seq_policy>) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) detail::align_on_host(p, pair);
  } else {
    host_loop::parallel_for(where, pairs, [&](std::int64_t pair) { detail::align_on_host(p, pair); });
  }
}

}  // namespace detail

/// The least number of letters to insert, delete or replace that makes b of a.
/// \param a, b  contiguous ranges of trivially copyable letters that == compares, at most 2^30 - 1; visible to `where`
/// Waits for the policy's stream; edit_distance_into leaves the number in *out, of any integer type, and does not wait: it may be
/// captured. Scratch: 8 bytes for each letter of b if a has more than 128. Cost: a.size() * b.size() cells; one launch. Fastest
/// where a is the longer one.
/// \throws std::length_error for longer ranges; cuda_error; std::invalid_argument when the stream is being captured
/// (edit_distance). Source: PMPP, 5th edition, ch. 16. Example: test/alignment.cpp.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, contiguous_for<P> A,
          contiguous_for<P> B>
[[nodiscard]] std::int64_t edit_distance(const P& where, const A& a, const B& b) {
  const auto wave = detail::table_of_pair("edit_distance", where, a, b, detail::edit_rules{});
  return detail::wait_for<std::int64_t>("edit_distance", where,
                                        [&](const auto& on, std::int64_t* out, const detail::completion& done) {
                                          detail::write_last<Tuning>(on, wave, out, detail::tell_all{}, done);
                                        });
}
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, contiguous_for<P> A,
          contiguous_for<P> B, output_for<P> O>
void edit_distance_into(const P& where, const A& a, const B& b, O&& out) {
  const auto wave = detail::table_of_pair("edit_distance_into", where, a, b, detail::edit_rules{});
  detail::check_output("edit_distance_into", "out", out, 1);
  detail::write_last<Tuning>(where, wave, detail::unwrap(detail::begin_of(out)), detail::tell_all{},
                             detail::completion{});
}

/// The best local alignment of parts of a and b: its score, and how many letters of a and of b lie before its end.
/// {0, 0, 0} if no two letters are worth anything. Of equal ones, the one that ends first in b, then in a.
/// \param a, b     as for edit_distance
/// \param scoring  linear_gaps{score, gap}: each letter without a partner costs `gap`; affine_gaps{score, open, extend}: the first
///                 of adjacent ones costs `open`, each further `extend`. score(x, y): what two letters are worth; match_scores{m, n}
///                 m for equal ones, n for others; or any function object.
/// \pre no sum of scores passes 2^30
/// Waits for the policy's stream; smith_waterman_into leaves an alignment_end in *out and does not. All else as edit_distance; with
/// affine gaps scratch is 16 bytes for each letter of b.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, contiguous_for<P> A,
          contiguous_for<P> B, class Scoring>
[[nodiscard]] alignment_end smith_waterman(const P& where, const A& a, const B& b, const Scoring& scoring) {
  const auto rules = detail::rules_of(scoring);
  const auto wave = detail::table_of_pair("smith_waterman", where, a, b, rules);
  return detail::wait_for<alignment_end>(
      "smith_waterman", where, [&](const auto& on, alignment_end* out, const detail::completion& done) {
        detail::write_best<Tuning>(on, wave, out, detail::lower_score{}, detail::tell_end{}, done);
      });
}
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, contiguous_for<P> A,
          contiguous_for<P> B, class Scoring, output_for<P> O>
void smith_waterman_into(const P& where, const A& a, const B& b, const Scoring& scoring, O&& out) {
  const auto rules = detail::rules_of(scoring);
  const auto wave = detail::table_of_pair("smith_waterman_into", where, a, b, rules);
  detail::check_output("smith_waterman_into", "out", out, 1);
  detail::write_best<Tuning>(where, wave, detail::unwrap(detail::begin_of(out)), detail::lower_score{},
                             detail::tell_end{}, detail::completion{});
}

/// edit_distance of many pairs: out[p] is that of sequence p of a and sequence p of b.
/// \param a, a_offsets  the letters of all sequences; sequence p is [a_offsets[p], a_offsets[p + 1]). Offsets are integers, one more
///                      than there are sequences, and do not decrease
/// \param b, b_offsets  likewise
/// \param out           room for an integer a pair
/// One warp a pair: for sequences of up to some thousand letters; longer ones go one by one by edit_distance. Asynchronous on a GPU;
/// may be captured. Scratch: 4 bytes for each letter of b. Cost: one launch.
/// \throws std::invalid_argument if the numbers of offsets differ, std::length_error if out has too little room; cuda_error.
/// Example: test/alignment.cpp.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, contiguous_for<P> A,
          contiguous_for<P> AOffsets, contiguous_for<P> B, contiguous_for<P> BOffsets, output_for<P> O>
void edit_distance_batched(const P& where, const A& a, const AOffsets& a_offsets, const B& b, const BOffsets& b_offsets,
                           O&& out) {
  const auto at = detail::as_span(b_offsets);
  detail::align_pairs<Tuning>("edit_distance_batched", where, a, a_offsets, b, at.data(),
                              static_cast<std::int64_t>(at.size()), detail::edit_rules{}, out);
}
/// The same of each sequence of a and all of b. Scratch: 4 bytes for each letter of b and each warp that runs at once.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, contiguous_for<P> A,
          contiguous_for<P> AOffsets, contiguous_for<P> B, output_for<P> O>
void edit_distance_batched(const P& where, const A& a, const AOffsets& a_offsets, const B& b, O&& out) {
  detail::align_pairs<Tuning>("edit_distance_batched", where, a, a_offsets, b,
                              static_cast<const std::int64_t*>(nullptr), 0, detail::edit_rules{}, out);
}

/// smith_waterman of many pairs: out[p], an alignment_end, is that of sequence p of a and sequence p of b. All else as
/// edit_distance_batched; with affine gaps scratch is 12 bytes for each letter.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, contiguous_for<P> A,
          contiguous_for<P> AOffsets, contiguous_for<P> B, contiguous_for<P> BOffsets, class Scoring, output_for<P> O>
void smith_waterman_batched(const P& where, const A& a, const AOffsets& a_offsets, const B& b,
                            const BOffsets& b_offsets, const Scoring& scoring, O&& out) {
  const auto at = detail::as_span(b_offsets);
  detail::align_pairs<Tuning>("smith_waterman_batched", where, a, a_offsets, b, at.data(),
                              static_cast<std::int64_t>(at.size()), detail::rules_of(scoring), out);
}
/// The same of each sequence of a and all of b: a search of a data base.
template <wavefront_tuning Tuning = tuned<wavefront_tuning>, execution_policy P, contiguous_for<P> A,
          contiguous_for<P> AOffsets, contiguous_for<P> B, class Scoring, output_for<P> O>
void smith_waterman_batched(const P& where, const A& a, const AOffsets& a_offsets, const B& b, const Scoring& scoring,
                            O&& out) {
  detail::align_pairs<Tuning>("smith_waterman_batched", where, a, a_offsets, b,
                              static_cast<const std::int64_t*>(nullptr), 0, detail::rules_of(scoring), out);
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
