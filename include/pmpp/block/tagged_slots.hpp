// SPDX-License-Identifier: Apache-2.0
//
// Values that blocks of one launch leave for each other, slots that are filled again and again: as block/tile_state.hpp, where
// a slot is filled once, but each value has a tag in the place of the flag, by which its reader knows it from those before.
//
// A value of up to 12 bytes shares one 8- or 16-byte word with its tag, so that one relaxed access moves both; larger ones lie
// apart, ordered by release and acquire. Whoever fills a slot has read what was there before. Slots start out empty (zeroed
// memory: tag 0) and are emptied by their last reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/core/math.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

template <class T>
class tagged_slots {
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

  tagged_slots() = default;
  /// \pre `state` is zeroed and 16-byte aligned, `payload` is aligned for T; both readable by all blocks.
  tagged_slots(void* state, void* payload) : state_(state), payload_(static_cast<T*>(payload)) {}

  /// Fills a slot. Called by one thread.
  PMPP_HOST_DEVICE void publish(std::int64_t slot, const T& value, std::uint32_t tag) const {
    if constexpr (small) {
      std::uint32_t bits = 0;
      memcpy(&bits, pmpp::bytes_of(value), sizeof(T));
      simt::store(static_cast<std::uint64_t*>(state_) + slot, std::uint64_t(tag) << 32 | bits);
    } else if constexpr (together) {
      simt::quad q = {{0, 0, 0, tag}};
      memcpy(&q, pmpp::bytes_of(value), sizeof(T));
      simt::store_quad(static_cast<simt::quad*>(state_) + slot, q);
    } else {
      payload_[slot] = value;
      simt::store<simt::order::release>(static_cast<std::uint32_t*>(state_) + slot, tag);
    }
  }

  /// Reads a slot if the value in it has this tag.
  PMPP_HOST_DEVICE bool peek(std::int64_t slot, T& value, std::uint32_t tag) const {
    if constexpr (small) {
      const std::uint64_t seen = simt::load(static_cast<const std::uint64_t*>(state_) + slot);
      const auto bits = static_cast<std::uint32_t>(seen);
      memcpy(pmpp::bytes_of(value), &bits, sizeof(T));
      return seen >> 32 == tag;
    } else if constexpr (together) {
      const simt::quad q = simt::load_quad(static_cast<const simt::quad*>(state_) + slot);
      memcpy(pmpp::bytes_of(value), &q, sizeof(T));
      return q.word[3] == tag;
    } else {
      if (simt::load<simt::order::acquire>(static_cast<const std::uint32_t*>(state_) + slot) != tag) return false;
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

private:
  void* state_ = nullptr;
  T* payload_ = nullptr;
};

}  // namespace pmpp::inline PMPP_BACKEND::block
