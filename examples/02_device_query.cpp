// SPDX-License-Identifier: Apache-2.0
//
// What the machine says about itself, and the arithmetic of occupancy: how many blocks of a kernel a multiprocessor
// (SM) holds at once, and which resource stops the next one.
#include <climits>
#include <cstdio>

#include <pmpp/occupancy.hpp>

namespace {

void print_line(const char* resource, int blocks) {
  if (blocks == INT_MAX)
    std::printf("  by %-16s no limit\n", resource);
  else
    std::printf("  by %-16s %2d blocks\n", resource, blocks);
}

void print(const char* title, const pmpp::occupancy& o) {
  std::printf("%s\n", title);
  print_line("threads", o.blocks_by_threads);
  print_line("block slots", o.blocks_by_slots);
  print_line("registers", o.blocks_by_registers);
  print_line("shared memory", o.blocks_by_shared_memory);
  std::printf("  holds %d blocks = %d warps, occupancy %.0f %%, limited by %s\n\n", o.blocks, o.warps, 100 * o.ratio,
              to_string(o.limiter));
}

}  // namespace

int main() {
#if PMPP_CUDA
  for (int i = 0; i < pmpp::number_of_devices(); ++i)
    std::printf("device %d of %d\n%s\n", i, pmpp::number_of_devices(), to_string(pmpp::device_info(i)).c_str());
#else
  std::printf("%s\n", to_string(pmpp::device_info()).c_str());
#endif

  // [occupancy]
  // The worked example: an SM with 2048 threads, 32 block slots, 65536 registers and 64 KB of shared memory;
  // a kernel with blocks of 256 threads, 32 registers per thread and 16 KB of shared memory per block.
  constexpr pmpp::sm_limits sm{.threads = 2048, .blocks = 32, .registers = 65536, .shared_bytes = 64 * 1024};
  constexpr pmpp::kernel_resources kernel{
      .threads_per_block = 256, .registers_per_thread = 32, .shared_bytes_per_block = 16 * 1024};
  constexpr pmpp::occupancy o = pmpp::occupancy_of(kernel, sm);
  static_assert(o.blocks == 4 && o.warps == 32 && o.ratio == 0.5);
  static_assert(o.limiter == pmpp::occupancy_limiter::shared_memory);
  // [end]
  print("256 threads, 32 registers, 16 KB shared memory, on the SM of the worked example:", o);

  // A cliff: on an H100 one register more per thread costs a block of 512 threads, a quarter of the occupancy.
  const pmpp::occupancy before = pmpp::occupancy_of({512, 32}, pmpp::sm_90);
  const pmpp::occupancy after = pmpp::occupancy_of({512, 33}, pmpp::sm_90);
  print("512 threads, 32 registers, on an H100:", before);
  print("512 threads, 33 registers, on an H100:", after);

  // A grid is made of whole blocks: 8000 items in blocks of 1024 threads.
  std::printf("8000 items in blocks of 1024 threads: %lld blocks, %lld threads\n",
              static_cast<long long>(pmpp::blocks_in_grid(8000, 1024)),
              static_cast<long long>(pmpp::threads_in_grid(8000, 1024)));
  const bool right = before.blocks == 4 && after.blocks == 3 && pmpp::threads_in_grid(8000, 1024) == 8192;
  return right ? 0 : 1;
}

// Output: a table of the properties of each device, then
//   256 threads, 32 registers, 16 KB shared memory, on the SM of the worked example:
//     by threads           8 blocks
//     by block slots      32 blocks
//     by registers         8 blocks
//     by shared memory     4 blocks
//     holds 4 blocks = 32 warps, occupancy 50 %, limited by shared memory
// and the same for the two kernels on an H100: 4 blocks (100 %), then 3 (75 %, limited by registers).
//   8000 items in blocks of 1024 threads: 8 blocks, 8192 threads
