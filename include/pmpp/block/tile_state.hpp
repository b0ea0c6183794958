// SPDX-License-Identifier: Apache-2.0
//
// Values that blocks of one launch leave for each other, one slot a block.
//
// A slot carries a flag and a value. Values of up to 12 bytes share one 8- or 16-byte word with their flag, so that one
// relaxed access moves both and no fence is needed (0.3 us between two blocks of an idle H100, where flag and payload
// apart take 0.7); larger ones lie apart, ordered by release and acquire. Slots start out empty (zeroed memory) and are
// emptied by their last reader, so that the next launch, or the next replay of a graph, finds them as this one did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

template <class T>
class tile_state {
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr bool small = sizeof(T) <= 4, together = sizeof(T) <= 12;

public:
  /// Bytes of zeroed memory, and of memory without content, that `count` slots need.
  static constexpr std::size_t state_bytes(std::int64_t count) {
    return std::size_t(count) * (small ? 8 : together ? 16 : 4);
  }
  static constexpr std::size_t payload_bytes(std::int64_t count) {
    return together ? 0 : std::size_t(count) * sizeof(T);
  }

  tile_state() = default;
  /// \pre `state` is zeroed and 16-byte aligned, `payload` is aligned for T; both readable by all blocks.
  tile_state(void* state, void* payload) : state_(state), payload_(static_cast<T*>(payload)) {}

  /// Fills a slot. Called by one thread, once per launch.
  PMPP_HOST_DEVICE void publish(std::int64_t slot, const T& value) const {
    if constexpr (small) {
      std::uint32_t bits = 0;
      memcpy(&bits, pmpp::bytes_of(value), sizeof(T));
      simt::store(static_cast<std::uint64_t*>(state_) + slot, std::uint64_t(1) << 32 | bits);
    } else if constexpr (together) {
      simt::quad q = {{0, 0, 0, 1}};
      memcpy(&q, pmpp::bytes_of(value), sizeof(T));
      simt::store_quad(static_cast<simt::quad*>(state_) + slot, q);
    } else {
      payload_[slot] = value;
      simt::store<simt::order::release>(static_cast<std::uint32_t*>(state_) + slot, 1u);
    }
  }

  /// Reads a slot if it is filled: what look() reads, and what filled() makes of that. Whoever reads several slots looks at all of
  /// them first: then the loads are on their way together, where a test of each would wait for it.
  PMPP_HOST_DEVICE bool peek(std::int64_t slot, T& value) const { return filled(slot, look(slot), value); }
  using seen = std::conditional_t<small, std::uint64_t, std::conditional_t<together, simt::quad, std::uint32_t>>;
  PMPP_HOST_DEVICE seen look(std::int64_t slot) const {
    const seen* const p = static_cast<const seen*>(state_) + slot;
    if constexpr (!small && together)
      return simt::load_quad(p);
    else
      return simt::load(p);
  }
  PMPP_HOST_DEVICE bool filled([[maybe_unused]] std::int64_t slot, const seen& x, T& value) const {
    if constexpr (small) {
      const auto bits = static_cast<std::uint32_t>(x);
      memcpy(pmpp::bytes_of(value), &bits, sizeof(T));
      return x >> 32 != 0;
    } else if constexpr (together) {
      memcpy(pmpp::bytes_of(value), &x, sizeof(T));
      return x.word[3] != 0;
    } else {
      if (x == 0) return false;
      simt::fence();  // the flag is an acquire's
      value = payload_[slot];
      return true;
    }
  }

  /// Empties a slot that is not read any more in this launch.
  PMPP_HOST_DEVICE void clear(std::int64_t slot) const {
    if constexpr (small)
      simt::store(static_cast<std::uint64_t*>(state_) + slot, std::uint64_t(0));
    else if constexpr (together)
      simt::store_quad(static_cast<simt::quad*>(state_) + slot, simt::quad{});
    else
      simt::store(static_cast<std::uint32_t*>(state_) + slot, 0u);
  }

  /// Waits until a slot is filled, empties it and returns its value. Called by one thread of one block. The block that
  /// fills the slot must not be waiting for the caller.
  template <class Block>
  PMPP_HOST_DEVICE T take(Block& block, std::int64_t slot) const {
    T value;
    while (!peek(slot, value)) block.spin();
    clear(slot);
    return value;
  }

private:
  void* state_ = nullptr;
  T* payload_ = nullptr;
};

}  // namespace pmpp::inline PMPP_BACKEND::block
