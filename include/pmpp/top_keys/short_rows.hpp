// SPDX-License-Identifier: Apache-2.0
//
// The k first numbers of many short rows, as a mixture of experts has them, or of segments of few numbers in all: a warp for each.
//
// A lane has every 32nd element of the row in registers. k times the warp finds the least code that is left, and of equal ones the first
// place: two reductions of a word among lanes (four of numbers of 8 bytes), no shared memory, no barrier. Work k (length / 32 + 10)
// instructions of a warp for each row; 65,536 rows of 128 floats, k 8, were 38,000 blocks' work before.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/top_keys/keys.hpp>
#include <pmpp/top_keys/rows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

template <class Source, class Rows, class Output>
struct short_rows_kernel {
  using keys = typename Source::keys;
  using key = typename Source::key;
  using code = typename keys::code;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int lanes = simt::warp_size, threads = 128, warps = threads / lanes;
  static constexpr int items = keys::wide ? 8 : 16, longest = items * lanes;  ///< of a lane; of a row

  struct arguments {
    Source source;
    Rows rows;
    std::int64_t k;
    Output output;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& a) const {
    simt::previous_kernels_done();
    const std::int64_t row = block.index() * warps + block.warp();
    if (row >= a.rows.size()) return;
    const std::int64_t begin = a.rows.begin(row);
    const int n = static_cast<int>(a.rows.end(row) - begin), k = static_cast<int>(min(a.k, std::int64_t(n)));
    code own[items]{};
    unsigned left = 0;  // a bit for each element that is there and has not been taken
    for (int i = 0; i < items; ++i)
      if (const int place = i * lanes + block.lane(); place < n) {
        own[i] = a.source.code(begin + place);
        left |= 1u << i;
      }
    key result = keys::last();  // of this lane among 32 results
    for (int t = 0; t < k; ++t) {
      code least = static_cast<code>(~code(0));
      int i_least = -1;  // the first, if there is one
      for (int i = 0; i < items; ++i) {
        if (i * lanes >= n) break;
        if ((left >> i & 1) != 0 && (i_least < 0 || own[i] < least)) {
          least = own[i];
          i_least = i;
        }
      }
      const code of_warp = least_of_warp(block, least);
      const unsigned none = ~0u, own_place = static_cast<unsigned>(i_least * lanes + block.lane()),
                     place = block.warp_min(i_least >= 0 && least == of_warp ? own_place : none);
      if (place == own_place && i_least >= 0) left &= ~(1u << i_least);
      if (t % lanes == block.lane()) result = keys::make(of_warp, place);
      if (t % lanes == lanes - 1 || t + 1 == k) {
        const int first = t / lanes * lanes;
        if (first + block.lane() <= t) a.output.put(row, first + block.lane(), result, 0);
      }
    }
  }

private:
  PMPP_HOST_DEVICE static code least_of_warp(auto& block, code own) {
    if constexpr (keys::wide) {
      const auto high = block.warp_min(static_cast<unsigned>(own >> 32)),
                 low = block.warp_min(own >> 32 == high ? static_cast<unsigned>(own) : ~0u);
      return code(high) << 32 | low;
    } else {
      return static_cast<code>(block.warp_min(static_cast<unsigned>(own)));
    }
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
