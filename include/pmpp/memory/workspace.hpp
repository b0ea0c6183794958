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
// The first bytes of a block (usual_state of them, or as many as an algorithm has asked for) are `state`: zeroed once,
// when the block is made; every kernel that uses state leaves it zero, so that no launch is spent on clearing counters.
// An algorithm that holds scratch may call another one with the same policy: the inner call gets memory after the outer
// one's, but shares its state.
// The emulator takes both from the host's heap per call, so that AddressSanitizer sees their bounds, fills scratch with
// 0xCD and reports state that was not left zero as a kernel_fault at the next call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <utility>
#include <vector>

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

/// Scratch memory that only grows, for `device.with(workspace)`; on the device that was current at its first growth. A call
/// that uses it while another one is current throws std::invalid_argument with both.
/// Must outlive the work enqueued with it and the graphs captured with it. Movable while no policy refers to it.
/// In a program without CUDA it holds no memory and only keeps count.
class workspace {
public:
  /// No memory until it is needed.
  workspace() noexcept = default;
  /// At least `bytes` of scratch at once. \throws as reserve
  explicit workspace(std::size_t bytes) { reserve(bytes); }

  workspace(workspace&& other) noexcept { swap(other); }
  workspace& operator=(workspace&& other) noexcept {
    workspace old(std::move(other));
    swap(old);
    return *this;
  }
  /// Frees all blocks; waits for the device, as cudaFree does. Never throws.
  ~workspace() {
    if (blocks_.empty()) return;
    [[maybe_unused]] const detail::device_guard guard(device_);
    for (std::byte* block : blocks_) detail::free_device(block);
  }

  /// Bytes of scratch that an algorithm can use without an allocation.
  std::size_t capacity() const noexcept { return capacity_; }

  /// Makes capacity() at least `bytes`. Does nothing if it is; else allocates and waits for its own stream only.
  /// \throws out_of_memory, std::length_error (bytes exceed the address space), std::invalid_argument (the current
  /// device is not the workspace's); the workspace is then unchanged.
  void reserve(std::size_t bytes) {
    if (bytes > capacity_) grow(bytes, 0);
  }

private:
  friend class detail::scratch;

  /// Takes `bytes` after those taken already; returns the state of the block and the scratch in it.
  std::pair<std::byte*, std::byte*> take(std::size_t bytes, std::size_t state_bytes) {
    require_own_device();
    if (blocks_.empty() || bytes > capacity_ - used_ || state_bytes > state_) grow(used_ + bytes, state_bytes);
    std::byte* block = blocks_.back();
    std::byte* data = block == nullptr ? nullptr : block + state_ + used_;
    used_ += bytes;
    return {block, data};
  }
  /// Gives back what the last take gave.
  void give_back(std::size_t bytes) noexcept { used_ -= bytes; }

  void require_own_device() const {
#if PMPP_CUDA
    if (blocks_.empty()) return;
    const int id = detail::current_device();
    require(id == device_, [&] {
      return "pmpp::workspace: it belongs to device " + detail::text::of(device_) + ", the current one is device " +
             detail::text::of(id);
    });
#endif
  }

  void grow(std::size_t needed, std::size_t state_needed) {
    (void)detail::checked_bytes(needed, 2, "workspace");  // twice as much fits the address space
    needed = round_up(max(needed, capacity_), detail::allocation_alignment);
    blocks_.reserve(blocks_.size() + 1);
    std::byte* block = nullptr;
    std::size_t size = needed > capacity_ ? max(needed, 2 * capacity_) : capacity_;
    std::size_t state = max(state_, detail::usual_state);
    if (state_needed > state) state = round_up(max(state_needed, 2 * state_), detail::allocation_alignment);
#if PMPP_CUDA
    require_own_device();
    try {
      block = new_block(state, size);
    } catch (const out_of_memory&) {
      if (size == needed) throw;
      size = needed;
      block = new_block(state, size);
    }
    device_ = detail::current_device();
#endif
    blocks_.push_back(block);
    capacity_ = size;
    state_ = state;
  }

#if PMPP_CUDA
  /// A block with zeroed state. The zeroing waits for a stream of its own, so that it is no part of a capture and
  /// orders no other stream.
  static std::byte* new_block(std::size_t state, std::size_t size) {
    const detail::relaxed_capture relaxed;
    auto* block = static_cast<std::byte*>(detail::allocate_device(state + size));
    try {
      const stream own;
      detail::set_bytes(block, 0, state, own);
      check(cudaStreamSynchronize(own), "cudaStreamSynchronize");  // not part of what is recorded
    } catch (...) {
      detail::free_device(block);
      throw;
    }
    return block;
  }
#endif

  void swap(workspace& other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(capacity_, other.capacity_);
    std::swap(state_, other.state_);
    std::swap(used_, other.used_);
    std::swap(device_, other.device_);
  }

  std::vector<std::byte*> blocks_;  // the last one is in use; without CUDA they are nullptr
  std::size_t capacity_ = 0;        // of the last block, without its state
  std::size_t state_ = 0;           // bytes of state in front of them
  std::size_t used_ = 0;            // of capacity_, by calls that are being made
  int device_ = 0;
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
    if constexpr (Where == backend::gpu)
      take_on_gpu(where.stream, where.scratch);
    else
      take_on_host(PMPP_CUDA ? nullptr : where.scratch);
  }

  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  /// Enqueues the free, or hands the bytes back to the workspace. Does not wait. Never throws.
  ~scratch() {
    if (workspace_ != nullptr) workspace_->give_back(bytes_);
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
    const std::size_t size = round_up(checked_bytes(count, sizeof(T), "scratch"), allocation_alignment);
    if (size > bytes_ - taken_)
      detail::throw_logic_error("pmpp: an algorithm takes more scratch than the " + detail::text::of(bytes_) +
                                " bytes that it asked for");
    T* array = reinterpret_cast<T*>(data_ + taken_);
    taken_ += size;
    return array;
  }

private:
  enum class origin { none, pool, heap };

  scratch() noexcept = default;  // constructors delegate to it, so that the destructor runs if they throw

  void take_from_workspace(workspace* w) {
    const auto [state, data] = w->take(bytes_, state_bytes_);
    workspace_ = w;
    state_ = state_bytes_ == 0 ? nullptr : state;
    data_ = bytes_ == 0 ? nullptr : data;
  }

  void take_on_gpu(stream_handle stream, workspace* w) {
    if (w != nullptr) return take_from_workspace(w);
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
  std::size_t bytes_ = 0, state_bytes_ = 0, taken_ = 0;
  workspace* workspace_ = nullptr;
  stream_handle stream_ = nullptr;
  origin from_ = origin::none;
  int exceptions_ = 0;
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
