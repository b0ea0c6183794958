// SPDX-License-Identifier: Apache-2.0
//
// How the tiles of one launch learn what lies before them: decoupled look-back with a fixed order.
//
//   1. Blocks take tiles by ticket, so that whoever owns an earlier tile has started, whatever the order in which the
//      machine starts blocks.
//   2. A tile publishes its aggregate as soon as it knows it. 32 tiles form a row, whose last tile also publishes the
//      sum of the row.
//   3. A block keeps what lies before the row of its last tile. To get to the row of its next tile it appends the sums
//      of the rows between them, one after the other, and then the tiles before it in its own row:
//
//          row      0   1   2   3 | 4   5   6   7   8     9
//                   kept prefix P   s4  s5  s6  .. ..     a a a ?        prefix of ? = P + s4 + s5 ... + (a + a + a)
//
//      The sums of the last rows have hardly been published: one warp reads their tiles (..) instead, all in one go.
//      Each sum is one fixed expression of the aggregates, whoever computes it: results do not depend on who was faster.
//      (In Merrill and Garland's form a tile stops at the first inclusive prefix it meets, at another place in every
//      run.) No block waits for anything but loads of others: there is no chain of prefixes through the machine.
//   4. The block that finishes last empties all slots and the tickets for the next launch.
//
// Operands stay in order and are always results of adjacent ranges; no identity is needed.
// (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016; PMPP ch. 11.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/reduce.hpp>
#include <pmpp/block/tile_state.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Shared memory of look_back. It is look_back's own from the first call to the last.
template <class T>
struct look_back_memory {
  int first;
  int row;       ///< of the last tile that waited
  T before_row;  ///< what lies before it, if anything does
  bool last;
};

/// The tiles of one launch, at most 2^30; T is what a tile's elements are combined to. Every thread of a kernel makes its own
/// from the same arguments; whole warps. Tiles are counted in 32 bits: short calls wait for the instructions of one warp. Window: of this many rows before its own a block reads tiles, not sums.
template <class T, int Window = 2>
class look_back {
  static constexpr int lanes = simt::warp_size, window = Window, header_bytes = 256;
  using slots = tile_state<T>;

public:
  /// Bytes of zeroed state, and of memory without content, for at most `tiles` tiles.
  static constexpr std::size_t state_bytes(std::int64_t tiles) {
    return round_up(header_bytes + slots::state_bytes(slot_count(tiles)), std::size_t(16));
  }
  static constexpr std::size_t payload_bytes(std::int64_t tiles) { return slots::payload_bytes(slot_count(tiles)); }

  look_back() = default;
  /// \pre `state` and `payload` as the sizes above for at most `tiles`; state is zeroed and aligned to 16 bytes.
  look_back(void* state, void* payload, std::int64_t tiles)
      : state_(static_cast<unsigned*>(state)),
        slots_(state == nullptr ? nullptr : static_cast<char*>(state) + header_bytes, payload),
        sums_(static_cast<int>(round_up(tiles, std::int64_t(lanes)))) {}

  /// The first tile of this block; `tiles` or more if there is none. All threads call. One barrier. While the ticket is on its way
  /// all but the first warp call meanwhile().
  template <class Block, class Meanwhile>
  PMPP_HOST_DEVICE int first(Block& block, look_back_memory<T>& memory, Meanwhile meanwhile) const {
    if (state_ == nullptr) return 0;  // one tile: no other block to wait for
    if (block.thread() == 0) {
      memory.first = static_cast<int>(simt::take_ticket(&state_[0]));
      memory.row = 0;
    } else if (block.warp() > 0) {
      meanwhile();
    }
    block.sync();
    return memory.first;
  }

  /// The next tile of this block; `tiles` or more if there is none left. One thread calls, well before it needs the
  /// answer.
  PMPP_HOST_DEVICE int take_ticket() const {
    return state_ == nullptr ? 1 : static_cast<int>(simt::take_ticket(&state_[0]));
  }

  /// Publishes what the tile's elements combine to. One thread calls it, as early as possible.
  PMPP_HOST_DEVICE void publish(int tile, const T& aggregate) const {
    if (state_ != nullptr) slots_.publish(tile, aggregate);
  }

  /// Waits for the tiles before `tile`. Lane 0 gets what they combine to, after `init` if has_init; nothing for tile 0
  /// without init. One warp calls, after publish and always the same; its lane 0 passes the aggregate.
  template <class Block, class Op>
  PMPP_HOST_DEVICE T wait(Block& block, look_back_memory<T>& memory, int tile, const T& aggregate, bool has_init,
                          const T& init, Op op) const {
    if (state_ == nullptr) return init;
    const auto number = static_cast<unsigned>(tile);
    const int row = static_cast<int>(number / lanes), place = static_cast<int>(number % lanes);
    int known = memory.row;
    T prefix = known == 0 ? init : memory.before_row;
    bool has_prefix = has_init || known > 0;
    const auto append = [&](const T& right) {
      prefix = has_prefix ? static_cast<T>(op(prefix, right)) : right;
      has_prefix = true;
    };

    while (row - window - known > lanes) {  // more than the loop below takes: where there are many blocks
      T sum{};
      while (!slots_.peek(sums_ + known + block.lane(), sum)) block.spin();
      block.sync_warp();
      for (int k = 0; k < lanes; ++k) append(block.shuffle(sum, k));
      known += lanes;
    }

    // All that is missing in one go, as an access takes 1 us and more under load: tiles of the own row and of those just
    // before it, and sums of older rows.
    const int sums = max(0, row - window - known);
    T value[window + 1]{}, sum{};
    unsigned missing = block.lane() < place ? 1u : 0u;
    for (int r = 1; r <= window; ++r)
      if (row - r >= known) missing |= 1u << r;
    constexpr unsigned of_sum = 1u << (window + 1);
    if (block.lane() < sums) missing |= of_sum;
    const int at = row * lanes + block.lane(), at_sum = block.lane() < sums ? sums_ + known + block.lane() : at;
    const T own = block.shuffle(aggregate, 0);
    for (bool row_ends = place == lanes - 1;;) {
      // No load depends on a test: they are on their way together.
      typename slots::seen seen[window + 1];
      for (int r = 0; r <= window; ++r) seen[r] = slots_.look(max(at - r * lanes, block.lane()));
      const typename slots::seen seen_sum = slots_.look(at_sum);
      for (int r = 0; r <= window; ++r)
        if ((missing & 1u << r) != 0 && slots_.filled(at - r * lanes, seen[r], value[r])) missing &= ~(1u << r);
      if ((missing & of_sum) != 0 && slots_.filled(at_sum, seen_sum, sum)) missing &= ~of_sum;
      if (row_ends && !block.any((missing & 1u) != 0)) {  // others wait for it: before anything else
        const T of_row = warp_reduce(block, block.lane() == place ? own : value[0], op);
        if (block.lane() == 0) slots_.publish(sums_ + row, of_row);
        row_ends = false;
      }
      if (!block.any(missing != 0)) break;
      block.spin();
    }

    for (int k = 0; k < sums; ++k) append(block.shuffle(sum, k));
    for (int r = window; r > 0; --r)
      if (row - r >= known) append(warp_reduce(block, value[r], op));
    block.sync_warp();  // all have read what is written now
    if (block.lane() == 0) {
      memory.row = row;
      memory.before_row = prefix;
    }
    if (place > 0) append(warp_reduce(block, value[0], op, place));
    return prefix;
  }

  /// Counts this block among those that wait for no other tile any more. One thread calls it, after its last wait. Relaxed:
  /// what it waited for it has; acq_rel: the last block sees what all have written (1 us more on an H100).
  template <simt::order Order, class Block>
  PMPP_HOST_DEVICE void leave(Block& block, look_back_memory<T>& memory) const {
    if (state_ == nullptr) return;
    memory.last = comes_last<Order>(&state_[1], block.count());
  }

  /// Leaves the state as it was found, if this block was the last to leave. All threads call. One barrier.
  template <class Block>
  PMPP_HOST_DEVICE void finish(Block& block, const look_back_memory<T>& memory, int tiles) const {
    if (state_ == nullptr) return;
    block.sync();
    if (!memory.last) return;
    if (block.thread() == 0) simt::store(&state_[0], 0u);
    for (int i = block.thread(); i < tiles; i += block.threads()) slots_.clear(i);
    for (int i = block.thread(); i < tiles / lanes; i += block.threads()) slots_.clear(sums_ + i);
  }

private:
  // The tiles, then the sums of the rows.
  static constexpr std::int64_t slot_count(std::int64_t tiles) {
    return round_up(tiles, std::int64_t(lanes)) + tiles / lanes;
  }

  unsigned* state_ = nullptr;  // tickets taken; blocks that have left
  slots slots_;
  int sums_ = 0;  // the first slot of the sums
};

}  // namespace pmpp::inline PMPP_BACKEND::block
