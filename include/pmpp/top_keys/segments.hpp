// SPDX-License-Identifier: Apache-2.0
//
// Segments as rows: a block for each, and several for a long one. How long they are the device alone knows.
//
//   first launch    a block for each segment, which it holds in shared memory if that has room (top_keys/held.hpp), else goes through
//                   (top_keys/kernels.hpp); one of more than `longest` elements is noted, and left
//   second launch   blocks take the parts of those noted: | row 7: part 0, 1, 2 | row 3: 0, 1, 2, 3, 4 | ...
//
// One word counts noted rows and their parts, so that a row's parts begin where those of the row noted before it end, whatever
// block was faster. However long segments are, no part has more elements than a block has of all.
#pragma once

#include <cstdint>

#include <pmpp/block/last_block.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/top_keys/held.hpp>
#include <pmpp/top_keys/kernels.hpp>
#include <pmpp/top_keys/rows.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// A segment that the second launch takes.
struct noted_row {
  std::int64_t row;
  unsigned first, parts;  ///< parts of the rows noted before it; its own
};

/// Rows of which the first launch leaves the long ones to the second.
template <class Offsets>
struct segment_rows : offset_rows<Offsets> {
  std::int64_t longest = 0;  ///< 0: none is noted
  std::int64_t of_part = 0;  ///< elements of a part, at most
  noted_row* noted = nullptr;
  std::uint64_t* state = nullptr;  ///< rows noted << 32 | their parts; blocks of the second launch that are done
  bool second = false;

  static constexpr int state_words = 2;

  PMPP_HOST_DEVICE std::int64_t units(const divisor&) const {
    return second ? static_cast<std::int64_t>(state[0] & 0xffffffff) : this->size();
  }
  PMPP_HOST_DEVICE row_part unit(std::int64_t u, const divisor&) const {
    if (!second) return {u, 0, 0, 0, 1};
    const std::int64_t after = detail::partition_point(std::int64_t(0), static_cast<std::int64_t>(state[0] >> 32),
                                                       [&](std::int64_t i) { return noted[i].first <= u; }),
                       low = after - 1;
    const noted_row x = noted[low];
    return {x.row, static_cast<unsigned>(low), x.first, static_cast<int>(u - x.first), static_cast<int>(x.parts)};
  }
  /// Whether this row is left to the second launch. All threads of a block call.
  template <class Block>
  PMPP_HOST_DEVICE bool leaves(Block& block, std::int64_t row) const {
    const std::int64_t n = longest > 0 && !second ? this->end(row) - this->begin(row) : 0;
    if (n <= longest) return false;
    if (block.thread() == 0) {
      const auto parts = static_cast<std::uint64_t>(ceil_div(n, of_part));
      const std::uint64_t before = simt::atomic_add(state, (std::uint64_t(1) << 32) + parts);
      noted[before >> 32] = {row, static_cast<unsigned>(before), static_cast<unsigned>(parts)};
    }
    return true;
  }
  /// When a block has taken all its units: the last of the second launch leaves the state zero. All threads call.
  template <class Block>
  PMPP_HOST_DEVICE void finish(Block& block, bool& flag) const {
    if (second && state[0] != 0 &&
        block::is_last_block(block, reinterpret_cast<unsigned*>(state + 1), block.count(), flag) && block.thread() == 0)
      state[0] = 0;
  }
};

/// The first launch, for k > 1.
template <class Source, class Rows, class Output, top_k_tuning Tuning>
struct segments_kernel {
  using holding = held_rows_kernel<Source, Rows, Output, Tuning, sorted_order>;
  using selecting = top_keys_kernel<Source, Rows, Output, Tuning>;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = selecting::threads, min_blocks = 1;
  static_assert(threads == holding::threads);

  struct shared {
    typename holding::shared held;
    typename selecting::shared selected;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const typename holding::arguments& h,
                                   const typename selecting::arguments& a) const {
    holding::clear(block, memory.held);
    simt::previous_kernels_done();
    const std::int64_t row = block.index(), n = a.rows.end(row) - a.rows.begin(row);
    if (a.rows.leaves(block, row)) return;
    if (n <= h.slice)
      holding::take_row(block, memory.held, h, row);
    else
      selecting::take_part(block, memory.selected, a, {row, 0, 0, 0, 1});
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
