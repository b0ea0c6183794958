// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a multiprocessor (SM), as every course teaches it, and what the machine says about itself.
//
//   occupancy_of(kernel_resources{256, 32, 16384}, sm_90)   how many blocks an SM holds, and what stops the next one
//   measured_occupancy(kernel, 256)                         the same, asked from CUDA for a compiled kernel
//   threads_in_grid(8000, 1024)                             8192: a grid is made of whole blocks
//   warps_to_hide(latency, interval)                        warps that keep an SM busy while one of them waits
//   roofline{peak_flops, bandwidth}.bound(flops, bytes)     what limits a kernel: memory or arithmetic
//   to_string(device_info())                                the "device query" of the course, as a table; number_of_devices()
//
// An SM takes blocks whole, as long as it has all of: thread slots (in warps), block slots, registers, shared memory.
// The scarcest of the four limits the blocks; occupancy is the share of its warp slots that are then in use.
// Registers are handed out to warps in units of 256, so 33 registers per thread cost as much as 40; and an SM is built
// of parts (four today) each with its share of the registers, so that warps come in multiples of four.
// All arithmetic is constexpr and agrees with CUDA's own (test/occupancy.cpp compares the two).
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/memory/raw.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// What one SM has to give. The defaults of the lower half make the arithmetic that of a textbook.
struct sm_limits {
  int threads;       ///< resident threads
  int blocks;        ///< resident blocks
  int registers;     ///< 32-bit registers
  int shared_bytes;  ///< shared memory of all resident blocks together

  int shared_bytes_per_block = INT_MAX;  ///< largest request of one block (after opting in), without the reserved bytes
  int reserved_shared_bytes = 0;         ///< taken by CUDA from every block's shared memory
  int shared_unit = 1;                   ///< shared memory is handed out in multiples of this many bytes
  int register_unit = 256;               ///< registers are handed out to a warp in multiples of this
  int partitions = 1;                    ///< parts that each hold an equal share of the registers and of the warps
  int threads_per_block = 1024;
  int registers_per_thread = 255;
  int warp_size = 32;

  /// Warp slots.
  constexpr int warps() const { return threads / warp_size; }
};

/// V100.
inline constexpr sm_limits sm_70{2048, 32, 65536, 96 * 1024, 96 * 1024, 0, 256, 256, 4};
/// RTX 20, Quadro RTX, T4.
inline constexpr sm_limits sm_75{1024, 16, 65536, 64 * 1024, 64 * 1024, 0, 256, 256, 4};
/// A100.
inline constexpr sm_limits sm_80{2048, 32, 65536, 164 * 1024, 163 * 1024, 1024, 128, 256, 4};
/// RTX 30, A10, A40.
inline constexpr sm_limits sm_86{1536, 16, 65536, 100 * 1024, 99 * 1024, 1024, 128, 256, 4};
/// RTX 40, L4, L40.
inline constexpr sm_limits sm_89{1536, 24, 65536, 100 * 1024, 99 * 1024, 1024, 128, 256, 4};
/// H100, H200.
inline constexpr sm_limits sm_90{2048, 32, 65536, 228 * 1024, 227 * 1024, 1024, 128, 256, 4};
/// B200, GB200.
inline constexpr sm_limits sm_100{2048, 32, 65536, 228 * 1024, 227 * 1024, 1024, 128, 256, 4};
/// RTX 50, RTX PRO.
inline constexpr sm_limits sm_120{1536, 24, 65536, 100 * 1024, 99 * 1024, 1024, 128, 256, 4};

/// What one launch of a kernel needs.
struct kernel_resources {
  int threads_per_block;
  int registers_per_thread = 0;             ///< 0: not a limit
  std::int64_t shared_bytes_per_block = 0;  ///< static and dynamic
  std::int64_t local_bytes_per_thread = 0;  ///< arrays of a thread and spilled registers, in memory; never a limit
};

/// What stops an SM from holding one more block.
enum class occupancy_limiter { threads, block_slots, registers, shared_memory };

/// The name of a limiter, for reports.
constexpr const char* to_string(occupancy_limiter limiter) {
  switch (limiter) {
    case occupancy_limiter::threads:
      return "threads";
    case occupancy_limiter::block_slots:
      return "block slots";
    case occupancy_limiter::registers:
      return "registers";
    case occupancy_limiter::shared_memory:
      return "shared memory";
  }
  return "unknown";
}

/// Blocks of a kernel on one SM. A `blocks_by_...` of INT_MAX means that the kernel uses none of it.
struct occupancy {
  int blocks_by_threads = 0;
  int blocks_by_slots = 0;
  int blocks_by_registers = 0;
  int blocks_by_shared_memory = 0;

  int blocks = 0;    ///< the least of the four; 0: the kernel cannot be launched
  int warps = 0;     ///< resident warps
  int threads = 0;   ///< resident threads: fewer than 32 a warp where a block's last is not full
  double ratio = 0;  ///< resident warps / warp slots
  occupancy_limiter limiter = occupancy_limiter::threads;  ///< the first of the four that gives `blocks`
};

/// Registers that a thread really costs, since a warp gets whole units: 33 -> 40.
constexpr int allocated_registers_per_thread(int registers_per_thread, const sm_limits& sm = sm_90) {
  return round_up(registers_per_thread * sm.warp_size, sm.register_unit) / sm.warp_size;
}

/// How many blocks with these needs an SM holds at once, and why not more.
/// \pre threads_per_block >= 1, the others >= 0. \throws std::invalid_argument if not.
constexpr occupancy occupancy_of(const kernel_resources& kernel, const sm_limits& sm) {
  if (kernel.threads_per_block < 1 || kernel.registers_per_thread < 0 || kernel.shared_bytes_per_block < 0)
    detail::throw_invalid_argument("pmpp::occupancy_of: a block has at least one thread and needs nothing negative");

  occupancy result;
  const int warps_per_block = ceil_div(kernel.threads_per_block, sm.warp_size);

  result.blocks_by_threads = kernel.threads_per_block > sm.threads_per_block ? 0 : sm.warps() / warps_per_block;
  result.blocks_by_slots = sm.blocks;

  const int registers_per_warp = round_up(kernel.registers_per_thread * sm.warp_size, sm.register_unit);
  if (kernel.registers_per_thread > sm.registers_per_thread) {
    result.blocks_by_registers = 0;
  } else if (registers_per_warp == 0) {
    result.blocks_by_registers = INT_MAX;
  } else {
    const int warps_per_part = sm.registers / sm.partitions / registers_per_warp;
    result.blocks_by_registers = warps_per_part * sm.partitions / warps_per_block;
  }

  const std::int64_t shared =
      round_up(kernel.shared_bytes_per_block + sm.reserved_shared_bytes, std::int64_t{sm.shared_unit});
  if (kernel.shared_bytes_per_block > sm.shared_bytes_per_block)
    result.blocks_by_shared_memory = 0;
  else
    result.blocks_by_shared_memory = shared == 0 ? INT_MAX : static_cast<int>(sm.shared_bytes / shared);

  result.blocks = result.blocks_by_threads;
  const auto limit = [&result](int blocks, occupancy_limiter by) {
    if (blocks < result.blocks) {
      result.blocks = blocks;
      result.limiter = by;
    }
  };
  limit(result.blocks_by_slots, occupancy_limiter::block_slots);
  limit(result.blocks_by_registers, occupancy_limiter::registers);
  limit(result.blocks_by_shared_memory, occupancy_limiter::shared_memory);
  result.warps = result.blocks * warps_per_block;
  result.threads = result.blocks * kernel.threads_per_block;
  result.ratio = static_cast<double>(result.warps) / sm.warps();
  return result;
}

/// The threads of a block, whole warps, with which an SM holds most warps of a kernel; of equal sizes the largest. 0 if none can be
/// launched. \param shared_bytes  those of a block as a function of its threads: [](int threads) { return 4 * threads; }
template <class SharedBytes>
constexpr int best_block_size(int registers_per_thread, const SharedBytes& shared_bytes, const sm_limits& sm) {
  int best = 0, most = 0;
  for (int threads = sm.threads_per_block; threads >= sm.warp_size; threads -= sm.warp_size) {
    const occupancy o = occupancy_of({threads, registers_per_thread, shared_bytes(threads)}, sm);
    if (o.warps > most) most = o.warps, best = threads;
  }
  return best;
}

/// Blocks of `threads_per_block` threads that cover `items` items, one thread each. \pre items >= 0, threads >= 1.
constexpr std::int64_t blocks_in_grid(std::int64_t items, int threads_per_block) {
  return ceil_div(items, std::int64_t{threads_per_block});
}

/// Threads of that grid: `items`, rounded up to whole blocks.
constexpr std::int64_t threads_in_grid(std::int64_t items, int threads_per_block) {
  return blocks_in_grid(items, threads_per_block) * threads_per_block;
}

/// Warps that an issue slot needs so that it never idles, if each warp issues for `issue_interval` cycles and then
/// waits for `latency` cycles: itself and ceil(latency / issue_interval) others. \pre latency >= 0, issue_interval > 0.
constexpr std::int64_t warps_to_hide(std::int64_t latency, std::int64_t issue_interval) {
  return 1 + ceil_div(latency, issue_interval);
}

/// Floating-point operations per byte moved to or from memory. \pre bytes > 0.
constexpr double arithmetic_intensity(double flops, double bytes) { return flops / bytes; }

/// What a kernel waits for.
enum class bound_by { memory, compute };

/// The name of a bound, for reports.
constexpr const char* to_string(bound_by b) { return b == bound_by::memory ? "memory" : "compute"; }

/// The roofline model of a machine: how fast a kernel can be, given its operations and its bytes.
struct roofline {
  double peak_flops;  ///< operations per second
  double bandwidth;   ///< bytes per second

  /// The arithmetic intensity (operations per byte) from which on arithmetic is the limit.
  constexpr double ridge_point() const { return peak_flops / bandwidth; }

  /// What limits a kernel of `flops` operations and `bytes` bytes.
  constexpr bound_by bound(double flops, double bytes) const {
    return flops * bandwidth < peak_flops * bytes ? bound_by::memory : bound_by::compute;
  }

  /// Operations per second that such a kernel can reach.
  constexpr double attainable(double flops, double bytes) const {
    return bound(flops, bytes) == bound_by::compute ? peak_flops : bandwidth * arithmetic_intensity(flops, bytes);
  }

  /// The least time of such a kernel in seconds; the share of it that a measured time reaches is its efficiency.
  constexpr double seconds(double flops, double bytes) const {
    return bound(flops, bytes) == bound_by::compute ? flops / peak_flops : bytes / bandwidth;
  }
};

/// What the machine that runs kernels says about itself. A number that it does not know is 0.
struct device_properties {
  std::string name;
  int compute_capability = 0;  ///< 10 * major + minor: 90 for an H100
  int multiprocessors = 0;     ///< SMs; cores where the emulator runs
  double clock_ghz = 0;
  std::size_t memory_bytes = 0;
  std::size_t free_memory_bytes = 0;  ///< when asked
  int memory_bus_bits = 0;
  double memory_clock_ghz = 0;
  double memory_bandwidth = 0;  ///< bytes per second, by the data sheet's arithmetic: 2 * clock * bus / 8
  std::size_t l2_bytes = 0;
  std::size_t constant_bytes = 0;
  std::size_t shared_bytes_per_sm = 0;
  std::size_t shared_bytes_per_block = 0;         ///< without opting in
  std::size_t shared_bytes_per_block_opt_in = 0;  ///< at most
  int registers_per_sm = 0;
  int threads_per_sm = 0;
  int blocks_per_sm = 0;
  int registers_per_block = 0;
  int threads_per_block = 0;
  int threads_of_block[3] = {};  ///< at most, along x, y and z
  int blocks_of_grid[3] = {};    ///< likewise
  int warp_size = 0;
  int copy_engines = 0;                    ///< copies that can run beside kernels
  std::size_t longest_pitch = 0;           ///< bytes from row to row that a copy of rows takes
  std::size_t texture_alignment = 0;       ///< in bytes
  bool is_integrated = false;              ///< shares its memory with the processor
  bool maps_host_memory = false;           ///< kernels reach page-locked memory of the host
  bool unified_addresses = false;          ///< one address space with the host
  bool managed_memory = false;             ///< cudaMallocManaged
  bool concurrent_managed_access = false;  ///< to managed memory, of the host and kernels at the same time
  bool cooperative_launch = false;         ///< grids whose blocks wait for each other
  bool clusters = false;                   ///< of blocks
  bool time_limit = false;                 ///< of kernels, where a display hangs on it
  bool concurrent_kernels = false;
  bool error_correction = false;
  int driver_version = 0;   ///< 1000 * major + 10 * minor
  int runtime_version = 0;  ///< likewise
};

#if PMPP_CUDA

/// The limits of an SM of a device that CUDA describes.
inline sm_limits limits_of(const cudaDeviceProp& p) {
  sm_limits sm{p.maxThreadsPerMultiProcessor, p.maxBlocksPerMultiProcessor, p.regsPerMultiprocessor,
               static_cast<int>(p.sharedMemPerMultiprocessor)};
  sm.shared_bytes_per_block = static_cast<int>(p.sharedMemPerBlockOptin);
  sm.reserved_shared_bytes = static_cast<int>(p.reservedSharedMemPerBlock);
  sm.shared_unit = p.major >= 8 ? 128 : 256;
  sm.partitions = p.major == 6 && p.minor == 0 ? 2 : 4;
  sm.threads_per_block = p.maxThreadsPerBlock;
  sm.warp_size = p.warpSize;
  return sm;
}

namespace detail {
inline cudaDeviceProp cuda_properties(int ordinal) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, ordinal), "cudaGetDeviceProperties");
  return p;
}
}  // namespace detail

/// The limits of an SM of the current device. \throws cuda_error
inline sm_limits current_sm_limits() { return limits_of(detail::cuda_properties(detail::current_device())); }

/// How many devices the process sees. 0 without a driver.
inline int number_of_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

/// The current device, or device `ordinal`. \throws cuda_error if there is none.
inline device_properties device_info(int ordinal) {
  const cudaDeviceProp p = detail::cuda_properties(ordinal);
  const auto attribute = [ordinal](cudaDeviceAttr a) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, a, ordinal) == cudaSuccess ? value : 0;
  };
  device_properties d;
  d.name = p.name;
  d.compute_capability = 10 * p.major + p.minor;
  d.multiprocessors = p.multiProcessorCount;
  d.clock_ghz = attribute(cudaDevAttrClockRate) * 1e-6;
  d.memory_bytes = p.totalGlobalMem;
  d.memory_bus_bits = p.memoryBusWidth;
  d.memory_clock_ghz = attribute(cudaDevAttrMemoryClockRate) * 1e-6;
  d.memory_bandwidth = 2e3 * attribute(cudaDevAttrMemoryClockRate) * p.memoryBusWidth / 8;
  d.l2_bytes = static_cast<std::size_t>(p.l2CacheSize);
  d.constant_bytes = p.totalConstMem;
  d.shared_bytes_per_sm = p.sharedMemPerMultiprocessor;
  d.shared_bytes_per_block = p.sharedMemPerBlock;
  d.shared_bytes_per_block_opt_in = p.sharedMemPerBlockOptin;
  d.registers_per_sm = p.regsPerMultiprocessor;
  d.threads_per_sm = p.maxThreadsPerMultiProcessor;
  d.blocks_per_sm = p.maxBlocksPerMultiProcessor;
  d.registers_per_block = p.regsPerBlock;
  d.threads_per_block = p.maxThreadsPerBlock;
  for (int i = 0; i < 3; ++i) d.threads_of_block[i] = p.maxThreadsDim[i], d.blocks_of_grid[i] = p.maxGridSize[i];
  d.longest_pitch = p.memPitch;
  d.texture_alignment = p.textureAlignment;
  d.is_integrated = p.integrated != 0;
  d.maps_host_memory = p.canMapHostMemory != 0;
  d.unified_addresses = p.unifiedAddressing != 0;
  d.managed_memory = p.managedMemory != 0;
  d.concurrent_managed_access = p.concurrentManagedAccess != 0;
  d.cooperative_launch = p.cooperativeLaunch != 0;
  d.clusters = p.clusterLaunch != 0;
  d.time_limit = attribute(cudaDevAttrKernelExecTimeout) != 0;
  d.warp_size = p.warpSize;
  d.copy_engines = p.asyncEngineCount;
  d.concurrent_kernels = p.concurrentKernels != 0;
  d.error_correction = p.ECCEnabled != 0;
  check(cudaDriverGetVersion(&d.driver_version), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&d.runtime_version), "cudaRuntimeGetVersion");
  const detail::device_guard guard(ordinal);
  std::size_t total = 0;
  check(cudaMemGetInfo(&d.free_memory_bytes, &total), "cudaMemGetInfo");
  return d;
}
inline device_properties device_info() { return device_info(detail::current_device()); }

/// What the compiled `kernel` (a __global__ function) needs per block, as CUDA says. \throws cuda_error
template <class... Args>
kernel_resources resources_of(void (*kernel)(Args...), int threads_per_block, std::size_t dynamic_shared_bytes = 0) {
  cudaFuncAttributes a{};
  check(cudaFuncGetAttributes(&a, reinterpret_cast<const void*>(kernel)), "cudaFuncGetAttributes");
  return {threads_per_block, a.numRegs, static_cast<std::int64_t>(a.sharedSizeBytes + dynamic_shared_bytes),
          static_cast<std::int64_t>(a.localSizeBytes)};
}

/// Occupancy of the compiled `kernel` on the current device: `blocks`, `warps` and `ratio` are CUDA's answer, the rest
/// is the arithmetic above. More than 48 KB of dynamic shared memory must have been allowed by cudaFuncSetAttribute.
/// \throws cuda_error
template <class... Args>
occupancy measured_occupancy(void (*kernel)(Args...), int threads_per_block, std::size_t dynamic_shared_bytes = 0) {
  const sm_limits sm = current_sm_limits();
  occupancy result = occupancy_of(resources_of(kernel, threads_per_block, dynamic_shared_bytes), sm);
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&result.blocks, reinterpret_cast<const void*>(kernel),
                                                      threads_per_block, dynamic_shared_bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  result.warps = result.blocks * ceil_div(threads_per_block, sm.warp_size);
  result.threads = result.blocks * threads_per_block;
  result.ratio = static_cast<double>(result.warps) / sm.warps();
  return result;
}

#else

inline int number_of_devices() { return 1; }

/// This machine, which runs the kernels in the emulator.
inline device_properties device_info() {
  device_properties d;
  d.name = "emulator";
#if defined(_SC_NPROCESSORS_ONLN)
  d.multiprocessors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
#endif
  if (std::FILE* file = std::fopen("/proc/cpuinfo", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::strncmp(line, "model name", 10) != 0) continue;
      if (const char* colon = std::strchr(line, ':')) d.name += std::string(" on") + (colon + 1);
      while (d.name.back() == '\n' || d.name.back() == ' ') d.name.pop_back();
      break;
    }
    std::fclose(file);
  }
  d.memory_bytes = detail::machine_bytes(false);
  d.free_memory_bytes = detail::machine_bytes(true);
  d.threads_per_block = 1024;
  const int threads[3] = {1024, 1024, 64}, blocks[3] = {INT_MAX, 65535, 65535};
  for (int i = 0; i < 3; ++i) d.threads_of_block[i] = threads[i], d.blocks_of_grid[i] = blocks[i];
  d.warp_size = 32;
  return d;
}

#endif

/// A table of what is known, one property per line.
inline std::string to_string(const device_properties& d) {
  std::string table;
  const auto text = [&table](const char* label, const std::string& value) {
    table += label;
    table.append(32 - std::strlen(label), ' ');
    table += value + '\n';
  };
  const auto number = [&text](const char* label, double value, const char* format, const char* unit = "") {
    char digits[64];
    std::snprintf(digits, sizeof digits, format, value);
    if (value != 0) text(label, std::string(digits) + unit);
  };
  const auto version = [&text](const char* label, int v) {
    if (v != 0) text(label, std::to_string(v / 1000) + '.' + std::to_string(v % 1000 / 10));
  };
  const auto along = [&text](const char* label, const int(&extent)[3]) {
    text(label, std::to_string(extent[0]) + ", " + std::to_string(extent[1]) + ", " + std::to_string(extent[2]));
  };
  text("name", d.name);
  number("compute capability", d.compute_capability / 10.0, "%.1f");
  number("multiprocessors (SMs)", d.multiprocessors, "%.0f");
  number("clock", d.clock_ghz, "%.2f", " GHz");
  number("memory", static_cast<double>(d.memory_bytes) / (1 << 20), "%.0f", " MiB");
  number("memory free", static_cast<double>(d.free_memory_bytes) / (1 << 20), "%.0f", " MiB");
  number("memory bus", d.memory_bus_bits, "%.0f", " bits");
  number("memory clock", d.memory_clock_ghz, "%.2f", " GHz");
  number("memory bandwidth", d.memory_bandwidth * 1e-9, "%.0f", " GB/s");
  number("L2 cache", static_cast<double>(d.l2_bytes) / 1024, "%.0f", " KiB");
  number("constant memory", static_cast<double>(d.constant_bytes) / 1024, "%.0f", " KiB");
  number("shared memory per SM", static_cast<double>(d.shared_bytes_per_sm) / 1024, "%.0f", " KiB");
  number("shared memory per block", static_cast<double>(d.shared_bytes_per_block) / 1024, "%.0f", " KiB");
  number("  after opting in", static_cast<double>(d.shared_bytes_per_block_opt_in) / 1024, "%.0f", " KiB");
  number("registers per SM", d.registers_per_sm, "%.0f");
  number("threads per SM", d.threads_per_sm, "%.0f");
  number("blocks per SM", d.blocks_per_sm, "%.0f");
  number("registers per block", d.registers_per_block, "%.0f");
  number("threads per block", d.threads_per_block, "%.0f");
  along("  along x, y, z", d.threads_of_block);
  along("blocks of a grid, x, y, z", d.blocks_of_grid);
  number("warp size", d.warp_size, "%.0f");
  number("copy engines", d.copy_engines, "%.0f");
  number("longest pitch", static_cast<double>(d.longest_pitch), "%.0f", " bytes");
  number("texture alignment", static_cast<double>(d.texture_alignment), "%.0f", " bytes");
  if (d.compute_capability != 0) {
    const auto flag = [&text](const char* label, bool is_so) { text(label, is_so ? "yes" : "no"); };
    flag("integrated", d.is_integrated);
    flag("reaches page-locked memory", d.maps_host_memory);
    flag("unified addresses", d.unified_addresses);
    flag("managed memory", d.managed_memory);
    flag("  beside the host", d.concurrent_managed_access);
    flag("cooperative launches", d.cooperative_launch);
    flag("clusters", d.clusters);
    flag("time limit of kernels", d.time_limit);
    flag("concurrent kernels", d.concurrent_kernels);
    text("error correction (ECC)", d.error_correction ? "on" : "off");
  }
  version("driver supports CUDA", d.driver_version);
  version("CUDA runtime", d.runtime_version);
  return table;
}

}  // namespace pmpp::inline PMPP_BACKEND
