// SPDX-License-Identifier: Apache-2.0
//
// The machine as a value: what planners ask of a GPU before they choose a kernel. Limits are read off the device once
// (launch.hpp: machine_of), rates are derived from its clocks and widths, or measured where a row below has the GPU.
//
//   const machine& m = machine_of(where);           // the current device, or what the emulator plays
//   m.fits(sizeof(kernel::shared))                  // else a smaller kernel: one with 48 KB fits everywhere
//   m.resident_blocks(threads, bytes, min_blocks)   // of a multiprocessor at a time; times m.multiprocessors: of the GPU
//   m.memory_rate(), m.l2_rate()                    // bytes in a clock of a multiprocessor
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// Limits and rates of a GPU. Sizes in bytes, rates a second unless said otherwise.
struct machine {
  int architecture = 90;  ///< 10 * major + minor
  int multiprocessors = 132;
  int shared_per_block = 227 * 1024;           ///< that a block may have after opting in
  int shared_per_multiprocessor = 228 * 1024;  ///< of all resident blocks, with a kilobyte of CUDA's for each
  int threads_per_multiprocessor = 2048;
  int blocks_per_multiprocessor = 32;
  bool cooperative = true;             ///< launch_together works
  double clock = 1.755e9;              ///< of a multiprocessor under load
  double memory_bandwidth = 3.352e12;  ///< by the data sheet's arithmetic: 2 * clock * width of the bus

  /// What every supported GPU has: kernels of at most so much shared memory run on all of them.
  static constexpr std::size_t least_shared_per_block = 48 * 1024;
  /// What CUDA takes of a multiprocessor's shared memory for each block.
  static constexpr std::size_t reserved_per_block = 1024;

  constexpr bool fits(std::size_t shared_bytes) const { return shared_bytes <= std::size_t(shared_per_block); }
  /// Dynamic memory that a block may have after the kernel's own, whose end CUDA may round up to 1024 bytes (launch.hpp).
  constexpr std::size_t room_after(std::size_t own_bytes) const {
    return std::size_t(shared_per_block) - round_up(own_bytes, std::size_t(1024));
  }
  constexpr bool fits(std::size_t dynamic_bytes, std::size_t own_bytes) const {
    return fits(round_up(own_bytes, std::size_t(1024)) + dynamic_bytes);
  }

  /// Blocks of a kernel that a multiprocessor runs at a time, at least 1. `min_blocks` is what its launch bounds ask the
  /// compiler to find registers for.
  constexpr int resident_blocks(int threads, std::size_t shared_bytes, int min_blocks) const {
    const int by_threads = threads_per_multiprocessor / threads,
              by_shared =
                  static_cast<int>(std::size_t(shared_per_multiprocessor) / (shared_bytes + reserved_per_block));
    return max(1, min(min(min_blocks, blocks_per_multiprocessor), min(by_threads, by_shared)));
  }

  /// Clocks of a multiprocessor in this many seconds.
  constexpr double clocks_of(double seconds) const { return seconds * clock; }

  /// Clusters and TMA (the tensor memory accelerator).
  constexpr bool has_tma() const { return architecture >= 90; }
  /// The most blocks of a cluster: 8 is what CUDA promises of every GPU that has clusters.
  constexpr int most_blocks_of_cluster() const { return has_tma() ? 8 : 1; }
  /// Fused multiply-adds of floats, of doubles, on ordinary units in a clock of a multiprocessor.
  constexpr int float_rate() const { return architecture == 80 ? 64 : 128; }
  constexpr int double_rate() const { return architecture == 80 || architecture == 90 || architecture == 100 ? 64 : 2; }
  /// The same on tensor cores by mma.sync, of factors of this many bytes, with sums of 4 (of doubles 8).
  constexpr int tensor_rate(std::size_t bytes) const {
    if (bytes == 8) return architecture == 90 ? 128 : double_rate();
    return (double_rate() > 2 ? 2048 : 512) / static_cast<int>(bytes);
  }

  /// Bytes a second that a large copy moves, read and written ones together. Measured: H100 2.99, H200 4.2 TB/s, which is
  /// 0.89 and 0.87 of their buses; other GPUs are taken to be like them.
  constexpr double copy_rate() const { return 0.88 * memory_bandwidth; }
  /// Bytes of memory in a clock, for all multiprocessors together, as planners count on it.
  constexpr double memory_rate() const { return 0.95 * copy_rate() / clock; }
  /// Bytes of the last cache in a clock, for all multiprocessors together. Measured: 21 for each of an H100's.
  constexpr double l2_rate() const { return 21.2 * multiprocessors; }

  friend constexpr bool operator==(const machine&, const machine&) = default;
};

/// A machine that the emulator can play, and its name in PMPP_EMULATOR_MACHINE.
struct named_machine {
  const char* name;
  machine limits;
};

/// By CUDA's programming guide and the makers' data sheets. "small" is the least that kernels have to run on.
// clang-format off
inline constexpr named_machine known_machines[] = {
    //            arch  SMs  block         SM            threads blocks coop   clock    bandwidth
    {"a100",    {  80, 108, 163 * 1024, 164 * 1024, 2048, 32, true, 1.41e9,  1.555e12}},
    {"rtx4090", {  89, 128,  99 * 1024, 100 * 1024, 1536, 24, true, 2.52e9,  1.008e12}},
    {"l4",      {  89,  58,  99 * 1024, 100 * 1024, 1536, 24, true, 2.04e9,  0.300e12}},
    {"h100",    {  90, 132, 227 * 1024, 228 * 1024, 2048, 32, true, 1.755e9, 3.352e12}},
    {"h200",    {  90, 132, 227 * 1024, 228 * 1024, 2048, 32, true, 1.755e9, 4.917e12}},
    {"b200",    { 100, 148, 227 * 1024, 228 * 1024, 2048, 32, true, 1.965e9, 8.000e12}},
    {"rtx5090", { 120, 170,  99 * 1024, 100 * 1024, 1536, 24, true, 2.41e9,  1.792e12}},
    {"small",   {  80,   1,  48 * 1024,  49 * 1024, 1024, 16, true, 1.0e9,   0.050e12}},
};
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND
