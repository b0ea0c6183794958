// SPDX-License-Identifier: Apache-2.0
//
// What attention kernels are asked for, and the rows that they see: queries of all heads that share a head of keys, one position after
// the other. Row r of a group of `group` heads is position r / group of head r % group, so that keys are read once for the group.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/heads_view.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// The positions of one sequence of the batch that count.
struct attention_lengths {
  std::int64_t queries, keys;
  bool causal;

  /// How many keys, from the first on, the query at a position sees.
  PMPP_HOST_DEVICE std::int64_t seen_by(std::int64_t position) const {
    if (position >= queries) return 0;
    return causal ? max(std::int64_t(0), min(keys, keys - queries + position + 1)) : keys;
  }
};

template <class T>
struct attention_problem {
  heads_view<const T> q, k, v;
  heads_view<T> out;
  const int* query_lengths;  ///< null, or one for each sequence
  const int* key_lengths;
  float* log_sum_exp;  ///< null, or one for each query of each head
  float scale;
  bool causal;

  PMPP_HOST_DEVICE std::int64_t group() const { return q.heads() / k.heads(); }
  PMPP_HOST_DEVICE std::int64_t rows() const { return q.length() * group(); }    ///< of a head of keys
  PMPP_HOST_DEVICE std::int64_t pairs() const { return q.batch() * k.heads(); }  ///< of a sequence and a head of keys

  PMPP_HOST_DEVICE attention_lengths lengths_of(std::int64_t b) const {
    const auto of = [&](const int* given, std::int64_t all) {
      return given == nullptr ? all : max(std::int64_t(0), min(all, std::int64_t(given[b])));
    };
    return {of(query_lengths, q.length()), of(key_lengths, k.length()), causal};
  }
  /// Where a row of a pair is.
  PMPP_HOST_DEVICE const T* query(std::int64_t pair, std::int64_t row) const {
    return q.vector(pair / k.heads(), pair % k.heads() * group() + row % group(), row / group());
  }
  PMPP_HOST_DEVICE T* result(std::int64_t pair, std::int64_t row) const {
    return out.vector(pair / k.heads(), pair % k.heads() * group() + row % group(), row / group());
  }
  PMPP_HOST_DEVICE void note(std::int64_t pair, std::int64_t row, float value) const {
    if (log_sum_exp == nullptr) return;
    const std::int64_t head = pair / k.heads() * q.heads() + pair % k.heads() * group() + row % group();
    log_sum_exp[head * q.length() + row / group()] = value;
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail
