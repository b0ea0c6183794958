// SPDX-License-Identifier: Apache-2.0
//
// machine_of(where): the machine of a policy (core/machine.hpp), asked of CUDA once per device or played by the emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/simt/block.hpp>
#if PMPP_CUDA
#include <cuda_runtime_api.h>
#endif
#if PMPP_WITH_EMULATOR
#include <pmpp/simt/emulator.hpp>
#endif

#pragma GCC visibility push(hidden)  // two shared libraries may hold two versions of this

namespace pmpp::inline PMPP_BACKEND {

#if PMPP_CUDA
namespace detail {

inline constexpr int most_devices = 64;

/// Whether the process sees one device alone, so that every stream is that one's. Asked once.
inline bool is_only_device() {
  static const int devices = [] {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
  }();
  return devices == 1;
}

/// The number of the current device.
inline int launch_device() {
  if (is_only_device()) return 0;  // to ask takes 0.06 us
  int id = 0;
  check(cudaGetDevice(&id), "cudaGetDevice");
  if (id >= most_devices)
    detail::throw_invalid_argument("pmpp: device " + detail::text::of(id) + " is past the limit of 64");
  return id;
}

inline machine ask_machine(int id) {
  const auto ask = [id](cudaDeviceAttr attribute) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, attribute, id), "cudaDeviceGetAttribute");
    return value;
  };
  constexpr double under_load = 0.886;  // of the highest clock: 1755 of 1980 MHz, an H100 that multiplies
  machine m;
  m.architecture = 10 * ask(cudaDevAttrComputeCapabilityMajor) + ask(cudaDevAttrComputeCapabilityMinor);
  m.multiprocessors = ask(cudaDevAttrMultiProcessorCount);
  m.shared_per_block = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  m.shared_per_multiprocessor = ask(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  m.threads_per_multiprocessor = ask(cudaDevAttrMaxThreadsPerMultiProcessor);
  m.blocks_per_multiprocessor = ask(cudaDevAttrMaxBlocksPerMultiprocessor);
  m.cooperative = ask(cudaDevAttrCooperativeLaunch) != 0;
  // A virtual GPU may keep its clocks to itself: then an H100's stay.
  if (const int kilohertz = ask(cudaDevAttrClockRate); kilohertz > 0) m.clock = under_load * 1e3 * kilohertz;
  const double memory_clock = 1e3 * ask(cudaDevAttrMemoryClockRate), bits = ask(cudaDevAttrGlobalMemoryBusWidth);
  if (memory_clock * bits > 0) m.memory_bandwidth = 2 * memory_clock * bits / 8;
  return m;
}

/// What device `id` is, asked once.
inline const machine& machine_of_device(int id) {
  static machine table[most_devices];
  static int state[most_devices];  // 0: not known, 1: is being written, 2: known
  if (__atomic_load_n(&state[id], __ATOMIC_ACQUIRE) == 2) return table[id];
  const machine m = ask_machine(id);
  int unknown = 0;
  if (__atomic_compare_exchange_n(&state[id], &unknown, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    table[id] = m;
    __atomic_store_n(&state[id], 2, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&state[id], __ATOMIC_ACQUIRE) != 2) {
  }
  return table[id];
}

}  // namespace detail
#endif

/// The machine of a policy: the current CUDA device, asked once, or what the emulator plays (PMPP_EMULATOR_MACHINE).
/// Does not wait or allocate. \throws cuda_error; std::invalid_argument for a machine that the emulator does not know.
template <kernel_execution P>
const machine& machine_of(const P&) {
#if PMPP_CUDA
  if constexpr (gpu_execution<P>) return detail::machine_of_device(detail::launch_device());
#endif
#if PMPP_WITH_EMULATOR
  if constexpr (!gpu_execution<P>) return simt::played_machine();
#endif
}

namespace detail {

/// Whether all architectures that this program is compiled for have 227 KB of shared memory for a block.
constexpr bool has_only_large_gpus() {
#if defined(__CUDA_ARCH_LIST__)
  for (const int architecture : {__CUDA_ARCH_LIST__})
    if (architecture != 900 && architecture != 1000 && architecture != 1030 && architecture != 1100) return false;
  return true;
#else
  return false;
#endif
}

/// The shared memory that a block may have on every machine that this policy can mean here: kernels that take no more need
/// no smaller ones beside them, which would be compiled everywhere and run nowhere. (All GPUs from sm_80 on have 99 KB.)
template <kernel_execution P>
inline constexpr std::size_t least_shared_per_block =
    !gpu_execution<P> ? machine::least_shared_per_block : (has_only_large_gpus() ? 227 : 99) * std::size_t(1024);

template <class P, class... Kernels>
inline constexpr bool fit_everywhere = ((simt::detail::shared_bytes_of<Kernels> <= least_shared_per_block<P>)&&...);

template <class... Kernels>
constexpr bool all_fit(const machine& m) {
  return (m.fits(simt::detail::shared_bytes_of<Kernels>) && ...);
}

[[noreturn]] inline void refuse_elements(const char* function, std::size_t element, std::size_t bytes,
                                         const machine& m) {
  const bool left_out = !m.fits(least_shared_per_block<device_policy>);
  detail::throw_invalid_argument(
      "pmpp::" + detail::text(function) + ": for elements of " + detail::text::of(element) + " bytes a block needs " +
      detail::text::of(bytes) + " bytes of shared memory, this machine has " + detail::text::of(m.shared_per_block) +
      (left_out ? "; compile for this GPU's architecture too: smaller kernels are left out" : ""));
}

/// Calls f(tuning) with Tuning, or with Least where the kernel of that has no room, as a constant. bytes_of(tuning): of shared
/// memory that a block has at least. \throws std::invalid_argument if neither has room
template <class Type, Type Tuning, Type Least, class P, class Bytes, class F>
void with_fitting_tuning(const char* function, std::size_t element, [[maybe_unused]] const P& where, Bytes bytes_of,
                         F f) {
  using first = std::integral_constant<Type, Tuning>;
  using second = std::integral_constant<Type, Least>;
  constexpr std::size_t bytes = bytes_of(first{});
  if constexpr (bytes > least_shared_per_block<P>) {
    constexpr std::size_t fewer = bytes_of(second{});
    const machine& m = machine_of(where);
    if (!m.fits(min(bytes, fewer))) refuse_elements(function, element, min(bytes, fewer), m);
    if (!m.fits(bytes)) return f(second{});
  }
  f(first{});
}

/// Threads of a block of the kernel: `threads`, or half as many, ... where more would not fit. \throws std::invalid_argument
template <class Kernel>
int threads_that_fit(const char* function, std::size_t element, const machine& m, int threads) {
  const auto bytes = [&] { return simt::detail::shared_bytes_in<Kernel>(threads, std::size_t(m.shared_per_block)); };
  while (threads > simt::warp_size && !m.fits(bytes())) threads = round_up(threads / 2, simt::warp_size);
  if (!m.fits(bytes())) refuse_elements(function, element, bytes(), m);
  return threads;
}

/// Blocks of Kernel that run at a time on all of the machine.
template <class Kernel>
std::int64_t resident_blocks(const machine& m) {
  return std::int64_t(m.multiprocessors) *
         m.resident_blocks(Kernel::threads, simt::detail::shared_bytes_of<Kernel>, simt::detail::min_blocks_of<Kernel>);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
