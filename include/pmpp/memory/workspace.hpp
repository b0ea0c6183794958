// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory of algorithms.
//
//   pmpp::workspace w;
//   auto where = pmpp::device.on(stream).with(w);
//   pmpp::sort(where, x);      // the first call takes memory
//   pmpp::sort(where, x);      // from now on: no allocation, no call into CUDA but the launches
//
// A workspace only grows. Growing takes a block at least twice as large and keeps the old ones until the end, because a
// CUDA graph captured earlier may still point at them; all blocks together are at most about twice the largest. It may
// grow while a stream is captured. One workspace serves one stream at a time and one thread at a time: two calls that
// may run at once on the device need two.
//
// Without a workspace each call takes scratch from pmpp's pool in the order of its stream, which a graph captures too.
//
//   pmpp::workspace mine{pointer, bytes};           // memory of the program's: never grows, never allocates
//   pmpp::workspace theirs{pmpp::blocks_from(mr)};  // grows by blocks of an RMM or cuda::mr resource (memory/resource.hpp)
//
// memory/scratch_bytes.hpp tells how many bytes a call will take.
//
// The first bytes of a block (usual_state of them, or as many as an algorithm has asked for) are `state`: zeroed once,
// when the block is made; every kernel that uses state leaves it zero, so that no launch is spent on clearing counters.
// An algorithm that holds scratch may call another one with the same policy: the inner call gets memory after the outer
// one's, but shares its state.
// The emulator takes both from the host's heap per call, so that AddressSanitizer sees their bounds, fills scratch with
// 0xCD and reports state that was not left zero as a kernel_fault at the next call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/raw.hpp>
#include <pmpp/memory/stream.hpp>

namespace pmpp::inline PMPP_BACKEND {

namespace detail {

class scratch;

/// Bytes of zeroed state at the front of every block; blocks for algorithms that ask for more have more.
inline constexpr std::size_t usual_state = 32768;

/// The scratch bytes for arrays of these sizes, each array aligned to 256 bytes; what scratch::take hands out.
constexpr std::size_t scratch_bytes(std::initializer_list<std::size_t> arrays) {
  std::size_t sum = 0;
  for (const std::size_t bytes : arrays) sum += round_up(bytes, allocation_alignment);
  return sum;
}

}  // namespace detail

/// What a call takes of a workspace.
struct scratch_need {
  std::size_t bytes = 0;  ///< all of it: what a workspace over memory of yours has to have
  std::size_t state =
      0;  ///< of these, the most that one kernel wants zeroed; a workspace that grows has them beside its bytes
};

/// Where a workspace takes its blocks from, and gives them back to; memory/resource.hpp makes one of a memory resource.
struct block_source {
  void* resource;
  void* (*allocate)(void* resource,
                    std::size_t bytes);  ///< aligned to 256 bytes, usable on every stream; throws std::bad_alloc
  void (*free)(void* resource, void* block, std::size_t bytes);  ///< of a block that no work uses any more
};

namespace detail {

inline void* allocate_block(void*, std::size_t bytes) { return PMPP_CUDA ? allocate_device(bytes) : nullptr; }
inline void free_block(void*, void* block, std::size_t) { free_device(block); }
inline constexpr block_source device_blocks{nullptr, allocate_block, free_block};

}  // namespace detail

/// Scratch memory that only grows, for `device.with(workspace)`; on the device that was current at its first growth. A call
/// that uses it while another one is current throws std::invalid_argument with both.
/// Must outlive the work enqueued with it and the graphs captured with it. Movable while no policy refers to it.
/// In a program without CUDA it only keeps count; it takes blocks of a resource there, and does not use them.
class workspace {
public:
  /// No memory until it is needed.
  workspace() noexcept = default;
  /// At least `bytes` of scratch at once. \throws as reserve
  explicit workspace(std::size_t bytes) { reserve(bytes); }

  /// Grows by blocks of that source, which must outlive the workspace.
  explicit workspace(const block_source& source) noexcept : source_(source) {}

  /// `bytes` at `memory`, which stay the caller's and must outlive the work enqueued. It never grows and calls no allocator.
  /// Where they are too few for a kernel's scratch, the call throws std::length_error with both numbers in place of launching
  /// it. Nothing has to be zero in them, and between calls they may be used for other things in the order of the stream: what
  /// a call wants zeroed it zeroes, by one memset more than a workspace that grows.
  /// \throws std::invalid_argument where `memory` is null and should have bytes, or is not a multiple of 256
  workspace(void* memory, std::size_t bytes) : capacity_(bytes), kind_(kind::fixed) {
    require(memory != nullptr || bytes == 0,
            [&] { return "pmpp::workspace: the memory is null, but has " + detail::text::of(bytes) + " bytes"; });
    const auto past = reinterpret_cast<std::uintptr_t>(memory) % detail::allocation_alignment;
    require(past == 0, [&] {
      return "pmpp::workspace: the memory begins " + detail::text::of(std::uint64_t(past)) +
             " bytes past a multiple of " + detail::text::of(detail::allocation_alignment);
    });
    add_room();
    blocks_[count_++] = {static_cast<std::byte*>(memory), bytes};
    device_ = detail::current_device();
  }

  workspace(workspace&& other) noexcept { swap(other); }
  workspace& operator=(workspace&& other) noexcept {
    workspace old(std::move(other));
    swap(old);
    return *this;
  }
  /// Frees all blocks; waits for the device, as cudaFree does. Never throws. The caller's memory is left alone.
  ~workspace() {
    if (count_ > 0 && kind_ == kind::grows) {
      [[maybe_unused]] const detail::device_guard guard(device_);
#if PMPP_CUDA
      const detail::relaxed_capture relaxed;
      if (source_.free != detail::free_block) cudaDeviceSynchronize();  // a resource may not wait
#endif
      for (std::size_t i = 0; i < count_; ++i) source_.free(source_.resource, blocks_[i].data, blocks_[i].bytes);
    }
    std::free(blocks_);
  }

  /// Bytes of scratch that an algorithm can use without an allocation.
  std::size_t capacity() const noexcept { return capacity_; }

  /// Makes capacity() at least `bytes`. Does nothing if it is; else allocates and waits for its own stream only.
  /// \throws out_of_memory, std::length_error (bytes exceed the address space, or the memory is the caller's and has fewer),
  /// std::invalid_argument (the current device is not the workspace's); the workspace is then unchanged.
  void reserve(std::size_t bytes) {
    if (bytes <= capacity_) return;
    if (kind_ == kind::fixed) refuse(bytes);
    grow(bytes, 0);
  }

  /// Room for all that a call has been found to need (memory/scratch_bytes.hpp). \throws as above
  void reserve(const scratch_need& need) {
    if (kind_ != kind::grows) return reserve(need.bytes);
    if (need.bytes > capacity_ || need.state > state_) grow(need.bytes, need.state);
  }

private:
  friend class detail::scratch;
  template <kernel_execution P, class F>
  friend scratch_need needed_scratch(const P& where, const F& call);

  enum class kind { grows, fixed, measures };

  /// Records what is taken, and hands out addresses where nothing is.
  explicit workspace(kind k) : kind_(k) {}

  /// What take gives: `state` is zero already, or is to be zeroed; `bytes` go back in the end.
  struct taken {
    std::byte *state, *data;
    std::size_t bytes;
    bool is_zero;
  };

  /// Takes `bytes` after those taken already.
  taken take(std::size_t bytes, std::size_t state_bytes) {
    require_own_device();
    if (kind_ == kind::grows) {
      if (count_ == 0 || bytes > capacity_ - used_ || state_bytes > state_) grow(used_ + bytes, state_bytes);
      std::byte* start = blocks_[count_ - 1].data;
      std::byte* data = start == nullptr ? nullptr : start + state_ + used_;
      used_ += bytes;
      return {start, data, bytes, true};
    }
    (void)detail::checked_bytes(bytes, 2, "workspace");
    const std::size_t state = round_up(state_bytes, detail::allocation_alignment), all = state + bytes;
    if (kind_ == kind::fixed && all > capacity_ - used_) refuse(used_ + all);
    auto* start = kind_ == kind::fixed ? blocks_[0].data + used_
                                       : reinterpret_cast<std::byte*>(detail::allocation_alignment + used_);
    used_ += all;
    if (kind_ == kind::measures) {
      capacity_ = max(capacity_, used_);
      state_ = max(state_, state);
    }
    return {start, start + state, all, kind_ == kind::measures};
  }
  /// Gives back what the last take gave.
  void give_back(std::size_t bytes) noexcept { used_ -= bytes; }

  [[noreturn]] void refuse(std::size_t needed) const {
    detail::throw_length_error(detail::text("pmpp::workspace: a call needs ") + detail::text::of(needed) +
                               " bytes of scratch, the memory that the workspace was given has " +
                               detail::text::of(capacity_));
  }

  void require_own_device() const {
#if PMPP_CUDA
    if (count_ == 0) return;
    const int id = detail::current_device();
    require(id == device_, [&] {
      return "pmpp::workspace: it belongs to device " + detail::text::of(device_) + ", the current one is device " +
             detail::text::of(id);
    });
#endif
  }

  /// For one more block.
  void add_room() {
    auto* const longer = static_cast<block*>(std::realloc(blocks_, (count_ + 1) * sizeof *blocks_));
    if (longer == nullptr) throw std::bad_alloc();
    blocks_ = longer;
  }

  void grow(std::size_t needed, std::size_t state_needed) {
    (void)detail::checked_bytes(needed, 2, "workspace");  // twice as much fits the address space
    needed = round_up(max(needed, capacity_), detail::allocation_alignment);
    add_room();
    std::byte* start = nullptr;
    std::size_t size = needed > capacity_ ? max(needed, 2 * capacity_) : capacity_;
    std::size_t state = max(state_, detail::usual_state);
    if (state_needed > state) state = round_up(max(state_needed, 2 * state_), detail::allocation_alignment);
    require_own_device();
    try {
      start = new_block(state, size);
    } catch (const std::bad_alloc&) {
      if (size == needed) throw;
      size = needed;
      start = new_block(state, size);
    }
    device_ = detail::current_device();
    blocks_[count_++] = {start, state + size};
    capacity_ = size;
    state_ = state;
  }

  /// A block with zeroed state. The zeroing waits for a stream of its own, so that it is no part of a capture and
  /// orders no other stream.
  std::byte* new_block([[maybe_unused]] std::size_t state, std::size_t size) const {
#if PMPP_CUDA
    const detail::relaxed_capture relaxed;
#endif
    auto* start = static_cast<std::byte*>(source_.allocate(source_.resource, state + size));
#if PMPP_CUDA
    try {
      const stream own;
      detail::set_bytes(start, 0, state, own);
      check(cudaStreamSynchronize(own), "cudaStreamSynchronize");  // not part of what is recorded
    } catch (...) {
      source_.free(source_.resource, start, state + size);
      throw;
    }
#endif
    return start;
  }

  void swap(workspace& other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(count_, other.count_);
    std::swap(capacity_, other.capacity_);
    std::swap(state_, other.state_);
    std::swap(used_, other.used_);
    std::swap(device_, other.device_);
    std::swap(kind_, other.kind_);
    std::swap(source_, other.source_);
  }

  struct block {
    std::byte* data;
    std::size_t bytes;
  };
  block* blocks_ = nullptr;   // the last one is in use; without CUDA those of the device are nullptr
  std::size_t count_ = 0;     // of blocks
  std::size_t capacity_ = 0;  // of the last block, without its state; of a measuring one, the most that was in use
  std::size_t state_ = 0;     // bytes of state in front of them; of a measuring one, the most that a call asked for
  std::size_t used_ = 0;      // of capacity_, by calls that are being made
  int device_ = 0;
  kind kind_ = kind::grows;
  block_source source_ = detail::device_blocks;
};

namespace detail {

/// The scratch of one call of an algorithm: `bytes` of uninitialised memory, aligned to 256 bytes, and zeroed state
/// that the kernels must leave zero. Enqueues at most one allocation and one memset; the destructor at most one free.
/// None of them with a workspace that is large enough.
class scratch {
public:
  /// state_bytes 0: the algorithm needs no state. \throws out_of_memory, cuda_error
  template <backend Where>
  scratch(const kernel_policy<Where>& where, std::size_t bytes, std::size_t state_bytes = usual_state) : scratch() {
    bytes_ = round_up(bytes, allocation_alignment);
    state_bytes_ = state_bytes;
    if (bytes_ == 0 && state_bytes == 0) return;
    if (where.scratch == nullptr)
      detail::refuse_in_recording(
          "scratch memory would be allocated in each turn: give the policy a workspace, device.with(w)");
    if (where.measuring)
      take_from_workspace(where.scratch);
    else if constexpr (Where == backend::gpu)
      take_on_gpu(where.stream, where.scratch);
    else
      take_on_host(PMPP_CUDA ? nullptr : where.scratch);
  }

  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  /// Enqueues the free, or hands the bytes back to the workspace. Does not wait. Never throws.
  ~scratch() {
    if (workspace_ != nullptr) workspace_->give_back(from_workspace_);
    if (from_ == origin::pool) free_ordered(block_, stream_);
    if (from_ == origin::heap) {
      if (state_ != nullptr && std::uncaught_exceptions() == exceptions_) remember_dirty_state();
      free_host(data_);
      free_host(state_);
    }
  }

  /// All of the scratch; nullptr if none was asked for.
  void* data() const noexcept { return data_; }
  /// The zeroed state; nullptr if none was asked for. Shared with algorithms called meanwhile with the same workspace.
  unsigned* state() const noexcept { return reinterpret_cast<unsigned*>(state_); }

  /// The next `count` elements of the scratch, aligned to 256 bytes.
  /// \throws std::logic_error if the constructor was asked for too little.
  template <class T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(checked_bytes(count, sizeof(T), "scratch")));
  }

private:
  enum class origin { none, pool, heap };

  scratch() noexcept = default;  // constructors delegate to it, so that the destructor runs if they throw

  void* take_bytes(std::size_t bytes) {
    bytes = round_up(bytes, allocation_alignment);
    if (bytes > bytes_ - taken_)
      detail::throw_logic_error("pmpp: an algorithm takes more scratch than the " + detail::text::of(bytes_) +
                                " bytes that it asked for");
    taken_ += bytes;
    return data_ + taken_ - bytes;
  }

  /// Says whether the state is zero already.
  bool take_from_workspace(workspace* w) {
    const auto taken = w->take(bytes_, state_bytes_);
    workspace_ = w;
    from_workspace_ = taken.bytes;
    state_ = state_bytes_ == 0 ? nullptr : taken.state;
    data_ = bytes_ == 0 ? nullptr : taken.data;
    return taken.is_zero;
  }

  void take_on_gpu(stream_handle stream, workspace* w) {
    if (w != nullptr) {
      if (!take_from_workspace(w)) set_bytes(state_, 0, state_bytes_, stream);
      return;
    }
    const std::size_t state_size = round_up(state_bytes_, allocation_alignment);
    block_ = static_cast<std::byte*>(allocate_ordered(state_size + bytes_, stream));
    from_ = origin::pool;
    stream_ = stream;
    state_ = state_bytes_ == 0 ? nullptr : block_;
    data_ = bytes_ == 0 ? nullptr : block_ + state_size;
    set_bytes(block_, 0, state_bytes_, stream);
  }

  void take_on_host(workspace* w) {
    if (const std::ptrdiff_t word = std::exchange(dirty_word(), -1); word >= 0)
      throw kernel_fault("pmpp: a kernel of an earlier call left word " + detail::text::of(word) +
                         " of the scratch state nonzero");
    if (w != nullptr) take_from_workspace(w);  // it keeps count only
    from_ = origin::heap;
    exceptions_ = std::uncaught_exceptions();
    data_ = allocate_host(bytes_, 0xCD);
    state_ = allocate_host(state_bytes_, 0);
  }

  static std::byte* allocate_host(std::size_t bytes, int value) {
    if (bytes == 0) return nullptr;
    void* p = ::operator new (bytes, std::align_val_t{allocation_alignment});
    return static_cast<std::byte*>(std::memset(p, value, bytes));
  }
  static void free_host(std::byte* p) noexcept { ::operator delete (p, std::align_val_t{allocation_alignment}); }

  void remember_dirty_state() const noexcept {
    for (std::size_t i = 0; i < state_bytes_; ++i)
      if (state_[i] != std::byte{0}) {
        dirty_word() = static_cast<std::ptrdiff_t>(i / sizeof(unsigned));
        return;
      }
  }
  /// The word of state that a call by this thread left nonzero, or -1.
  static std::ptrdiff_t& dirty_word() noexcept {
    static thread_local std::ptrdiff_t word = -1;
    return word;
  }

  std::byte* data_ = nullptr;
  std::byte* state_ = nullptr;
  std::byte* block_ = nullptr;  // of the pool
  std::size_t bytes_ = 0, state_bytes_ = 0, taken_ = 0, from_workspace_ = 0;
  workspace* workspace_ = nullptr;
  stream_handle stream_ = nullptr;
  origin from_ = origin::none;
  int exceptions_ = 0;
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
