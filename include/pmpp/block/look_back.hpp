// SPDX-License-Identifier: Apache-2.0
//
// How the tiles of one launch learn what lies before them: decoupled look-back with a fixed order.
//
//   1. Blocks take tiles by ticket, so that whoever owns an earlier tile has started, whatever the order in which the
//      machine starts blocks. The next ticket is asked for while the current tile is being worked on.
//   2. A tile publishes its aggregate as soon as it knows it. 256 tiles form a group (128 for values above 8 bytes), whose
//      last tile publishes the prefix of the next group. One warp combines the aggregates before its tile in its group,
//      and puts the prefix of the group in front:
//
//          tile     0 ... 255 | 256 ... 511 | 512 513 514 ...
//                             P1            P2  a   a   ?          prefix of 514 = P2 + (a512 + a513)
//
//      Each prefix is one fixed expression of the aggregates, so results do not depend on who was faster. (In Merrill
//      and Garland's form a tile stops at the first inclusive prefix it meets, at another place in every run.)
//   3. The block that finishes last empties all slots and the tickets for the next launch.
//
// Only groups wait for each other in a chain. On an H100 under load a link of that chain takes about 6 us, in which 256
// tiles of 32 KB could be moved: that, not memory, limits long scans today.
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
    unsigned missing = 0;  // bit r: the value of row r; bit `rows`: the prefix of the group
    for (int r = 0; r < rows; ++r)
      if (r * lanes + block.lane() < before) missing |= 1u << r;
    if (block.lane() == 0 && tile >= group) missing |= 1u << rows;
    constexpr unsigned values = (1u << rows) - 1;
    for (bool again = true; again;) {  // all that is missing in one go: an access takes 2 us under load
      unsigned found = 0;
      for (int r = 0; r < rows; ++r)
        if ((missing & 1u << r) != 0 && slots_.peek(tile_slot(first + r * lanes + block.lane()), value[r]))
          found |= 1u << r;
      if ((missing & 1u << rows) != 0 && slots_.peek(prefix_slot(tile / group), prefix)) found |= 1u << rows;
      missing &= ~found;
      again = (missing & values) != 0;
      if (again) block.spin();
    }
    block.sync_warp();
    T sum{};
    for (int r = 0; r < rows; ++r) {
      if (r * lanes >= before) continue;
      const T row = warp_reduce(block, value[r], op, smaller(lanes, before - r * lanes));
      sum = r == 0 || block.lane() > 0 ? row : static_cast<T>(op(sum, row));
    }
    if (block.lane() > 0) return prefix;
    while (missing != 0 && !slots_.peek(prefix_slot(tile / group), prefix)) block.spin();
    if (tile < group) prefix = init;
    bool has_prefix = has_init || tile >= group;
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
