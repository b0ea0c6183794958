// SPDX-License-Identifier: Apache-2.0
//
// The block that a kernel sees on the CPU, and the launch: emulate(shape, name, kernel, args...).
//
// Each method is what simt/block.hpp promises, and calls the machine in simt/emulator.hpp, which suspends the thread
// until the operation is complete. Barriers and collectives take the place of the call as a last, defaulted argument,
// so that a fault can say where each thread waits.
//
// An unspecified value is unspecified here too, and loud: a shuffle that reads a lane outside the mask gets 0xcd in
// each byte, and so does a read of shared memory that was never written.
//
// Under a debugger (build with -g -O0) a kernel is ordinary code on an ordinary stack: `info locals` shows the locals of
// the thread at hand, `next` steps it. To stop in thread 5 of block 2, with PMPP_EMULATOR_THREADS=1:
//   gdb> break kernel.cpp:42 if block.self_.thread == 5 && block.self_.block->index == 2
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <source_location>
#include <string_view>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/cluster.hpp>
#include <pmpp/simt/emulated_cluster.hpp>
#include <pmpp/simt/emulator.hpp>

#pragma GCC visibility push(hidden)  // two shared libraries may hold two versions of this

namespace pmpp::inline PMPP_BACKEND::simt {

/// One thread's handle on its block, in the emulator. Meaning of each method: simt/block.hpp.
class emulated_block {
  using operation = detail::operation;
  using place = std::source_location;

public:
  emulated_block(detail::block_record& block, int thread) : self_{&block, thread} {}

  PMPP_HOST_DEVICE int thread() const { return self_.thread; }
  PMPP_HOST_DEVICE int threads() const { return self_.block->threads; }
  PMPP_HOST_DEVICE std::int64_t index() const { return self_.block->index; }
  PMPP_HOST_DEVICE std::int64_t count() const { return self_.block->blocks; }
  PMPP_HOST_DEVICE extent3 thread_position() const {
    const extent3& s = self_.block->shape;
    const auto t = unsigned(self_.thread);
    return {t % s.x, t / s.x % s.y, t / s.x / s.y};
  }
  PMPP_HOST_DEVICE extent3 shape() const { return self_.block->shape; }
  PMPP_HOST_DEVICE extent3 position() const { return self_.block->position; }
  PMPP_HOST_DEVICE extent3 grid_shape() const { return self_.block->grid_shape; }
  PMPP_HOST_DEVICE int lane() const { return self_.thread % warp_size; }
  PMPP_HOST_DEVICE int warp() const { return self_.thread / warp_size; }
  PMPP_HOST_DEVICE int warps() const { return self_.block->warps; }
  PMPP_HOST_DEVICE std::byte* dynamic_shared() const { return self_.block->dynamic_shared; }

  PMPP_HOST_DEVICE void sync(place at = place::current()) const { barrier(operation::sync, false, at); }
  PMPP_HOST_DEVICE bool sync_or(bool p, place at = place::current()) const {
    return barrier(operation::sync_or, p, at) != 0;
  }
  PMPP_HOST_DEVICE bool sync_and(bool p, place at = place::current()) const {
    return barrier(operation::sync_and, p, at) == threads();
  }
  PMPP_HOST_DEVICE int sync_count(bool p, place at = place::current()) const {
    return barrier(operation::sync_count, p, at);
  }

  // Without a mask: all lanes of the warp that exist.
  PMPP_HOST_DEVICE void sync_warp(place at = place::current()) const { sync_warp(warp_mask(), at); }
  PMPP_HOST_DEVICE void sync_warp(lane_mask mask, place at = place::current()) const {
    collective(operation::sync_warp, mask, at, nullptr, nullptr, 0, 0);
  }

  template <class T>
  PMPP_HOST_DEVICE T shuffle(const T& v, int lane, place at = place::current()) const {
    return shuffle(v, lane, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle(const T& v, int lane, lane_mask mask, place at = place::current()) const {
    return exchange(operation::shuffle, v, lane & (warp_size - 1), mask, at);
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle_up(const T& v, int distance, place at = place::current()) const {
    return shuffle_up(v, distance, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle_up(const T& v, int distance, lane_mask mask, place at = place::current()) const {
    return exchange(operation::shuffle_up, v, lane() - distance, mask, at);
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle_down(const T& v, int distance, place at = place::current()) const {
    return shuffle_down(v, distance, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle_down(const T& v, int distance, lane_mask mask, place at = place::current()) const {
    return exchange(operation::shuffle_down, v, lane() + distance, mask, at);
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle_xor(const T& v, int bits, place at = place::current()) const {
    return shuffle_xor(v, bits, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T shuffle_xor(const T& v, int bits, lane_mask mask, place at = place::current()) const {
    return exchange(operation::shuffle_xor, v, lane() ^ bits, mask, at);
  }

  PMPP_HOST_DEVICE lane_mask ballot(bool p, place at = place::current()) const { return ballot(p, warp_mask(), at); }
  PMPP_HOST_DEVICE lane_mask ballot(bool p, lane_mask mask, place at = place::current()) const {
    const unsigned vote = p;
    lane_mask votes = 0;
    collective(operation::ballot, mask, at, &vote, &votes, 4, 0);
    return votes;
  }
  PMPP_HOST_DEVICE bool any(bool p, place at = place::current()) const { return any(p, warp_mask(), at); }
  PMPP_HOST_DEVICE bool any(bool p, lane_mask mask, place at = place::current()) const {
    return word(operation::any, unsigned(p), mask, at) != 0;
  }
  PMPP_HOST_DEVICE bool all(bool p, place at = place::current()) const { return all(p, warp_mask(), at); }
  PMPP_HOST_DEVICE bool all(bool p, lane_mask mask, place at = place::current()) const {
    return word(operation::all, unsigned(p), mask, at) != 0;
  }
  template <class T>
  PMPP_HOST_DEVICE lane_mask match_any(const T& v, place at = place::current()) const {
    return match_any(v, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE lane_mask match_any(const T& v, lane_mask mask, place at = place::current()) const {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                  "match_any compares values of 4 or 8 bytes");
    lane_mask same = 0;
    collective(operation::match_any, mask, at, &v, &same, unsigned(sizeof(T)), 0);
    return same;
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_add(T v, place at = place::current()) const {
    return word(operation::warp_add, v, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_add(T v, lane_mask mask, place at = place::current()) const {
    return word(operation::warp_add, v, mask, at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_min(T v, place at = place::current()) const {
    return word(operation::warp_min, v, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_min(T v, lane_mask mask, place at = place::current()) const {
    return word(operation::warp_min, v, mask, at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_max(T v, place at = place::current()) const {
    return word(operation::warp_max, v, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_max(T v, lane_mask mask, place at = place::current()) const {
    return word(operation::warp_max, v, mask, at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_and(T v, place at = place::current()) const {
    return word(operation::warp_and, v, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_and(T v, lane_mask mask, place at = place::current()) const {
    return word(operation::warp_and, v, mask, at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_or(T v, place at = place::current()) const {
    return word(operation::warp_or, v, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_or(T v, lane_mask mask, place at = place::current()) const {
    return word(operation::warp_or, v, mask, at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_xor(T v, place at = place::current()) const {
    return word(operation::warp_xor, v, warp_mask(), at);
  }
  template <class T>
  PMPP_HOST_DEVICE T warp_xor(T v, lane_mask mask, place at = place::current()) const {
    return word(operation::warp_xor, v, mask, at);
  }

  PMPP_HOST_DEVICE void spin([[maybe_unused]] place at = place::current()) const {
#if !defined(__CUDA_ARCH__)
    detail::spin(self_, at);
#endif
  }

  PMPP_HOST_DEVICE lane_mask active_lanes([[maybe_unused]] place at = place::current()) const {
#if !defined(__CUDA_ARCH__)
    return detail::active_lanes(self_, at);
#else
    return 0;
#endif
  }
  PMPP_HOST_DEVICE emulated_cluster cluster() const { return emulated_cluster(self_); }

  /// The thread as the machine knows it, for simt/counters.hpp.
  PMPP_HOST_DEVICE const detail::thread_ref& self() const { return self_; }

private:
  PMPP_HOST_DEVICE lane_mask warp_mask() const { return self_.block->warp[warp()].exists; }

  template <class T>
  PMPP_HOST_DEVICE T exchange(operation op, const T& v, int source, lane_mask mask, const place& at) const {
    static_assert(std::is_trivially_copyable_v<T>, "a shuffle copies bytes");
    T result = v;
    // A source outside the warp: the lane keeps its own value.
    collective(op, mask, at, __builtin_addressof(v), __builtin_addressof(result), unsigned(sizeof(T)),
               source < 0 || source >= warp_size ? lane() : source);
    return result;
  }

  template <class T>
  PMPP_HOST_DEVICE T word(operation op, T v, lane_mask mask, const place& at) const {
    static_assert(std::is_integral_v<T> && sizeof(T) == 4, "warp reductions take 32-bit integers");
    T result = v;
    collective(op, mask, at, &v, &result, 4, std::is_signed_v<T>);
    return result;
  }

  // The two doors to the machine. A kernel is compiled for both sides, so nvcc sees these calls in code that could run
  // on a GPU; it never does.
  PMPP_HOST_DEVICE int barrier([[maybe_unused]] operation op, [[maybe_unused]] bool vote,
                               [[maybe_unused]] const place& at) const {
#if !defined(__CUDA_ARCH__)
    return detail::block_barrier(self_, op, vote, at);
#else
    return 0;
#endif
  }
  PMPP_HOST_DEVICE void collective([[maybe_unused]] operation op, [[maybe_unused]] lane_mask mask,
                                   [[maybe_unused]] const place& at, [[maybe_unused]] const void* operand,
                                   [[maybe_unused]] void* result, [[maybe_unused]] unsigned bytes,
                                   [[maybe_unused]] int source) const {
#if !defined(__CUDA_ARCH__)
    detail::warp_collective(self_, op, mask, at, operand, result, bytes, source);
#endif
  }

  detail::thread_ref self_;
};

static_assert(thread_block<emulated_block>);

namespace detail {

template <class Kernel, class... Args>
void call_kernel(const Kernel& kernel, emulated_block& block, [[maybe_unused]] std::byte* memory, Args... args) {
  if constexpr (requires { typename Kernel::shared; })
    kernel(block, *std::launder(reinterpret_cast<typename Kernel::shared*>(memory)), args...);
  else
    kernel(block, args...);
}

template <class Kernel>
shared_layout layout_of(const launch_shape& shape) {
  if constexpr (requires { typename Kernel::shared; })
    return {shared_bytes_in<Kernel>(shape.threads.volume(), std::size_t(played_machine().shared_per_block)),
            alignof(typename Kernel::shared), shape.dynamic_shared};
  else
    return {0, 1, shape.dynamic_shared};
}

/// What emulate does for every kernel; apart from it, so that it is compiled once.
inline void run_blocks(const launch_shape& shape, std::string_view kernel_name, const shared_layout& layout,
                       grid::call_function call_thread, const void* call) {
  const sanitizer::unobserved scope;
  pmpp::detail::require_whole_clusters(shape, {kernel_name.data(), kernel_name.size()}, played_machine());
  grid g(shape, kernel_name, options_of_this_launch(), layout, call_thread, call);
  run_grid(g);
}

}  // namespace detail

/// Runs kernel(block, memory, args...), or kernel(block, args...) for a kernel without `struct shared`, for each thread
/// of each block, and returns when all have finished. Each thread gets its own copies of the arguments.
/// \throws kernel_fault when a thread breaks the rules, and whatever the kernel throws; the grid ends early then, and
/// what it has written so far stays.
template <class Kernel, class... Args>
void emulate(const launch_shape& shape, std::string_view kernel_name, const Kernel& kernel, const Args&... args) {
  auto call = [&](detail::block_record& record, int thread) {
    emulated_block block(record, thread);
    detail::call_kernel<Kernel, Args...>(kernel, block, record.shared, args...);
  };
  detail::run_blocks(
      shape, kernel_name, detail::layout_of<Kernel>(shape),
      [](const void* c, detail::block_record& record, int thread) {
        (*static_cast<const decltype(call)*>(c))(record, thread);
      },
      &call);
}

}  // namespace pmpp::inline PMPP_BACKEND::simt

#pragma GCC visibility pop
