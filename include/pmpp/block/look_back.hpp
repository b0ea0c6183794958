// SPDX-License-Identifier: Apache-2.0
//
// How the tiles of one launch learn what lies before them: decoupled look-back with a fixed order.
//
//   1. Blocks take tiles by ticket, so that whoever owns an earlier tile has started, whatever the order in which the
//      machine starts blocks. The next ticket is asked for while the current tile is being worked on.
//   2. A tile publishes its aggregate as soon as it knows it. 512 tiles form a group, whose last tile publishes the prefix
//      of the next group. A tile combines the aggregates before it in its group, one warp at a time, and puts the prefix
//      of the group in front:
//
//          tile     0 ... 511 | 512 ... 1023 | 1024 1025 1026 ...
//                             P1             P2   a    a    ?          prefix of 1026 = P2 + (a1024 + a1025)
//
//      Each prefix is one fixed expression of the aggregates, so results do not depend on who was faster. (In Merrill
//      and Garland's form a tile stops at the first inclusive prefix it meets, at another place in every run.)
//   3. The block that finishes last empties all slots and the tickets for the next launch.
//
// Only groups wait for each other in a chain: 512 tiles of 32 KB take 11 us to move on an H100, a link of the chain about
// 3 us under load.
// Operands stay in order and are always results of adjacent ranges; no identity is needed.
// (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016; PMPP ch. 11.)
#pragma once

#include <cstddef>
#include <cstdint>

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
  std::int64_t first;
  bool last;
};

/// The tiles of one launch; T is what a tile's elements are combined to. Every thread of a kernel makes its own from
/// the same arguments; whole warps.
template <class T>
class look_back {
  static constexpr int lanes = simt::warp_size, rows = sizeof(T) <= 8 ? 8 : 4, group = rows * lanes, header_bytes = 256;
  using slots = tile_state<T>;

public:
  /// Bytes of zeroed state, and of memory without content, for at most `tiles` tiles.
  static constexpr std::size_t state_bytes(std::int64_t tiles) {
    return round_up(header_bytes + slots::state_bytes(slot_count(tiles)), std::size_t(16));
  }
  static constexpr std::size_t payload_bytes(std::int64_t tiles) { return slots::payload_bytes(slot_count(tiles)); }

  look_back() = default;
  /// \pre `state` and `payload` as the sizes above for at least `tiles`; state is zeroed and aligned to 16 bytes.
  look_back(void* state, void* payload)
      : state_(static_cast<unsigned*>(state)),
        slots_(state == nullptr ? nullptr : static_cast<char*>(state) + header_bytes, payload) {}

  /// The first `count` tiles of this block, from the result on; `tiles` or more if there is none. All threads call. One
  /// barrier.
  template <class Block>
  PMPP_HOST_DEVICE std::int64_t first(Block& block, look_back_memory<T>& memory, unsigned count = 1) const {
    if (state_ == nullptr) return 0;  // one tile: nobody to talk to
    if (block.thread() == 0) memory.first = simt::atomic_add(&state_[0], count);
    block.sync();
    return memory.first;
  }

  /// The next tile of this block; `tiles` or more if there is none left. One thread calls, well before it needs the
  /// answer.
  PMPP_HOST_DEVICE std::int64_t ask() const {
    return state_ == nullptr ? 1 : std::int64_t(simt::atomic_add(&state_[0], 1u));
  }

  /// Tells the others what the tile's elements combine to. One thread calls it, as early as possible.
  PMPP_HOST_DEVICE void publish(std::int64_t tile, const T& aggregate) const {
    if (state_ != nullptr) slots_.publish(tile_slot(tile), aggregate);
  }

  /// Waits for the tiles before `tile`. Lane 0 gets what they combine to, behind `init` if has_init; nothing for tile 0
  /// without init. One warp calls, after publish; its lane 0 passes the aggregate.
  template <class Block, class Op>
  PMPP_HOST_DEVICE T wait(Block& block, std::int64_t tile, const T& aggregate, bool has_init, const T& init,
                          Op op) const {
    const std::int64_t first = tile / group * group;
    const int before = static_cast<int>(tile - first);
    T value[rows]{}, prefix{};
    bool ready[rows];
    for (int r = 0; r < rows; ++r) {  // all loads at once, and again for what was not there yet
      const int i = r * lanes + block.lane();
      ready[r] = i >= before || slots_.peek(tile_slot(first + i), value[r]);
    }
    bool has_prefix = tile < group || slots_.peek(prefix_slot(tile / group), prefix);
    T sum{};
    for (int r = 0; r < rows; ++r) {
      if (r * lanes >= before) continue;
      for (; !ready[r]; ready[r] = slots_.peek(tile_slot(first + r * lanes + block.lane()), value[r])) block.spin();
      block.sync_warp();
      const T row = warp_reduce(block, value[r], op, smaller(lanes, before - r * lanes));
      sum = r == 0 || block.lane() > 0 ? row : static_cast<T>(op(sum, row));
    }
    if (block.lane() > 0) return prefix;
    for (; !has_prefix; has_prefix = slots_.peek(prefix_slot(tile / group), prefix)) block.spin();
    if (tile < group) prefix = init;
    has_prefix = has_init || tile >= group;
    if (before > 0) {
      prefix = has_prefix ? static_cast<T>(op(prefix, sum)) : sum;
      has_prefix = true;
    }
    if (before == group - 1) slots_.publish(prefix_slot(tile / group + 1), static_cast<T>(op(prefix, aggregate)));
    return prefix;
  }

  /// Tells the others that this block waits for nobody any more. One thread calls it, after its last wait.
  template <class Block>
  PMPP_HOST_DEVICE void leave(Block& block, look_back_memory<T>& memory) const {
    if (state_ == nullptr) return;
    const unsigned others = static_cast<unsigned>(block.count()) - 1;
    memory.last = simt::atomic_increment_wrap<simt::order::acq_rel>(&state_[1], others) == others;
  }

  /// Leaves the state as it was found, if this block was the last to leave. All threads call. One barrier.
  template <class Block>
  PMPP_HOST_DEVICE void finish(Block& block, const look_back_memory<T>& memory, std::int64_t tiles) const {
    if (state_ == nullptr) return;
    block.sync();
    if (!memory.last) return;
    if (block.thread() == 0) simt::store(&state_[0], 0u);
    for (std::int64_t i = block.thread(), used = slot_count(tiles); i < used; i += block.threads()) slots_.clear(i);
  }

private:
  // Every group has its prefix in front of its tiles.
  PMPP_HOST_DEVICE static std::int64_t prefix_slot(std::int64_t of_group) { return of_group * (group + 1); }
  PMPP_HOST_DEVICE static constexpr std::int64_t tile_slot(std::int64_t tile) { return tile + tile / group + 1; }
  PMPP_HOST_DEVICE static constexpr std::int64_t slot_count(std::int64_t tiles) { return tile_slot(tiles); }

  unsigned* state_ = nullptr;  // tickets taken; blocks that have left
  slots slots_;
};

}  // namespace pmpp::inline PMPP_BACKEND::block
