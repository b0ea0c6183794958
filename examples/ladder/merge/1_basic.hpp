// SPDX-License-Identifier: Apache-2.0
//
// Rung 1: the basic merge (PMPP, section 12.5). The result is cut into stretches of equal length, one a thread. Of the
// first k elements of the result i come from a and k - i from b; a binary search finds that i, the co-rank. So each
// thread knows where its stretch begins in both inputs, and merges it as a single thread would:
//
//   a   1 3 | 5 9         out   1 2 3 4 | 5 6 7 9       co-rank of 4: 2 of a, 2 of b
//   b   2 4 | 6 7                thread 0   thread 1
//
// Neighbouring threads read and write memory 16 elements apart.
#pragma once

#include <cstdint>

#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/launch.hpp>

/// Two sorted arrays and where their merge goes.
struct merge_input {
  const int *a, *b;
  std::int64_t a_count, b_count;

  PMPP_HOST_DEVICE std::int64_t count() const { return a_count + b_count; }
  /// How many of the first k elements of the result come from a.
  PMPP_HOST_DEVICE std::int64_t co_rank(std::int64_t k) const {
    return pmpp::co_rank(k, a, a_count, b, b_count, pmpp::less{});
  }
};

/// Writes the merge of a[i] ... a[i_end - 1] and b[j] ... b[j_end - 1], one element after the other. Equals: a first.
template <class A, class B>
PMPP_HOST_DEVICE void merge_sequentially(const A& a, std::int64_t i, std::int64_t i_end, const B& b, std::int64_t j,
                                         std::int64_t j_end, int* out) {
  while (i < i_end && j < j_end)
    if (b[j] < a[i])
      *out++ = b[j++];
    else
      *out++ = a[i++];
  while (i < i_end) *out++ = a[i++];
  while (j < j_end) *out++ = b[j++];
}

struct basic_merge {
  static constexpr int threads = 256, stretch = 16;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const merge_input& in, int* out) const {
    const std::int64_t thread = block.index() * threads + block.thread();
    const std::int64_t first = pmpp::min(in.count(), thread * stretch);
    const std::int64_t end = pmpp::min(in.count(), first + stretch);
    const std::int64_t i = in.co_rank(first), i_end = in.co_rank(end);
    merge_sequentially(in.a, i, i_end, in.b, first - i, end - i_end, out + first);
  }
};

template <class Policy>
void merge_basic(const Policy& where, const merge_input& in, int* out) {
  const std::int64_t of_block = basic_merge::threads * basic_merge::stretch;
  pmpp::launch(where, pmpp::ceil_div(in.count(), of_block), basic_merge{}, in, out);
}
