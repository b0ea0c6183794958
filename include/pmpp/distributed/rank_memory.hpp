// SPDX-License-Identifier: Apache-2.0
//
// rank_memory: the memory of one rank that calls take and give back. Blocks that come back are kept for the next call, so that a call that
// is repeated allocates nothing.
//
// Why not the pool alone: what other GPUs reach into must be mapped for each of them, and CUDA's pool maps again where it cuts a block
// otherwise than before: 3.7 ms for 1 GB, in which a GPU multiplies 4096^3 numbers several times. A block that is kept whole stays mapped.
//
//   take        the smallest idle block that is large enough, and not more than an eighth too large; else a new one of the pool
//   give_back   the block becomes idle. Of idle blocks the oldest leave, where they have more bytes than twice the most in use at once.
//
// All of it in the order of the rank's stream: who takes a block comes after who gave it back. Memory of the host comes from the heap each
// time, where sanitizers see its bounds; it is counted in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/raw.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// What a rank has of memory, in bytes, beside what the program has allocated itself.
struct rank_memory_use {
  std::size_t in_use = 0;        ///< of buffers, matrices, and calls that have not returned
  std::size_t idle = 0;          ///< kept for the next
  std::size_t scratch = 0;       ///< of the workspace of its kernels
  std::int64_t allocations = 0;  ///< how often a block had to be allocated until now
  friend bool operator==(const rank_memory_use&, const rank_memory_use&) = default;
};

namespace detail {

class rank_memory {
public:
  static constexpr int on_host = -1;  ///< in place of a GPU

  struct block {
    void* data = nullptr;
    std::size_t bytes = 0;  ///< at least as many as were asked for
  };

  rank_memory(int device, stream_handle stream) : device_(device), stream_(stream) {}
  rank_memory(const rank_memory&) = delete;
  rank_memory& operator=(const rank_memory&) = delete;
  ~rank_memory() { trim(); }

  /// At least `bytes`, at a multiple of 256, with the rank's GPU as the current one. \throws out_of_memory, std::bad_alloc
  block take(std::size_t bytes) {
    if (bytes == 0) return {};
    idle_.reserve(idle_.size() + blocks_in_use_ + 1);  // so that giving back does not throw
    block taken = take_idle(bytes);
    if (taken.bytes == 0) {
      taken = {allocate(bytes), bytes};
      ++allocations_;
    } else if (taken.data == nullptr) {
      taken.data = heap(bytes);
    }
    ++blocks_in_use_;
    in_use_ += taken.bytes;
    most_in_use_ = max(most_in_use_, in_use_);
    return taken;
  }

  void give_back(block b) noexcept {
    if (b.bytes == 0) return;
    --blocks_in_use_;
    in_use_ -= b.bytes;
    idle_bytes_ += b.bytes;
    if (device_ == on_host) {
      free(b);
      b.data = nullptr;
    }
    idle_.push_back(b);
    while (idle_bytes_ > 2 * most_in_use_) drop(0);
  }

  /// Gives idle blocks back to the pool, in the order of the stream.
  void trim() noexcept {
    while (!idle_.empty()) drop(0);
    most_in_use_ = in_use_;
  }

  rank_memory_use use() const { return {in_use_, idle_bytes_, 0, allocations_}; }

private:
  /// No bytes where there is none that fits.
  block take_idle(std::size_t bytes) {
    std::size_t best = idle_.size();
    for (std::size_t k = 0; k < idle_.size(); ++k)
      if (idle_[k].bytes >= bytes && idle_[k].bytes - bytes <= bytes / 8 &&
          (best == idle_.size() || idle_[k].bytes < idle_[best].bytes))
        best = k;
    if (best == idle_.size()) return {};
    const block taken = idle_[best];
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(best));
    idle_bytes_ -= taken.bytes;
    return taken;
  }

  void* allocate(std::size_t bytes) {
    if (device_ == on_host) return heap(bytes);
    try {
      return detail::allocate_ordered(bytes, stream_);
    } catch (const out_of_memory&) {
      if (idle_.empty()) throw;
    }
    trim();
    return detail::allocate_ordered(bytes, stream_);
  }
  static void* heap(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{allocation_alignment}); }

  void drop(std::size_t k) noexcept {
    idle_bytes_ -= idle_[k].bytes;
    free(idle_[k]);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(k));
  }
  void free(const block& b) const noexcept {
    if (b.data == nullptr) return;
    if (device_ == on_host) return ::operator delete (b.data, std::align_val_t{allocation_alignment});
    [[maybe_unused]] const device_guard guard(device_);
    detail::free_ordered(b.data, stream_);
  }

  int device_;
  stream_handle stream_;
  std::vector<block> idle_;  // the one that has been idle longest first; of the host without data
  std::size_t blocks_in_use_ = 0, in_use_ = 0, most_in_use_ = 0, idle_bytes_ = 0;
  std::int64_t allocations_ = 0;
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
