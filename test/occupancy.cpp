// SPDX-License-Identifier: Apache-2.0
//
// Properties of occupancy.hpp:
//   the worked examples of the courses come out as printed there
//   registers are handed out to warps in units of 256, shared memory in units of 128 bytes plus the reserved part
//   in a CUDA build, millions of cases agree with NVIDIA's own arithmetic (cuda_occupancy.h), and CUDA's answer for a
//   compiled kernel agrees with ours
//   the device query names the machine
#include <pmpp/function_of.hpp>
#include <pmpp/occupancy.hpp>

#include <doctest/doctest.h>

#include <climits>
#include <stdexcept>
#include <string>

#if PMPP_CUDA && __has_include(<cuda_occupancy.h>)
#define PMPP_TEST_HAS_ORACLE 1
#include <cuda_runtime.h>
#include <cuda_occupancy.h>
#endif

using pmpp::kernel_resources;
using pmpp::occupancy_limiter;
using pmpp::occupancy_of;
using pmpp::sm_limits;

TEST_CASE("limited by shared memory: 256 threads, 32 registers, 16 KB on an SM with 64 KB") {
  constexpr sm_limits sm{.threads = 2048, .blocks = 32, .registers = 65536, .shared_bytes = 64 * 1024};
  constexpr auto o = occupancy_of({256, 32, 16 * 1024}, sm);
  static_assert(o.blocks == 4);
  static_assert(o.warps == 32);
  static_assert(o.ratio == 0.5);
  static_assert(o.limiter == occupancy_limiter::shared_memory);
  CHECK(o.blocks_by_threads == 8);
  CHECK(o.blocks_by_slots == 32);
  CHECK(o.blocks_by_registers == 8);
  CHECK(o.blocks_by_shared_memory == 4);
  CHECK(to_string(o.limiter) == std::string("shared memory"));
}

TEST_CASE("1536 threads and 4 blocks per SM: 384, 512 and 768 threads per block fill it, 256 and 1024 do not") {
  constexpr sm_limits sm{.threads = 1536, .blocks = 4, .registers = 65536, .shared_bytes = 64 * 1024};
  for (const int threads : {384, 512, 768}) CHECK(occupancy_of({threads}, sm).ratio == 1.0);
  CHECK(occupancy_of({256}, sm).warps == 4 * 256 / 32);
  CHECK(occupancy_of({256}, sm).limiter == occupancy_limiter::block_slots);
  CHECK(occupancy_of({1024}, sm).warps == 1024 / 32);
  CHECK(occupancy_of({1024}, sm).limiter == occupancy_limiter::threads);
}

TEST_CASE("two more registers per thread cost a block of 512 threads") {
  CHECK(occupancy_of({512, 32}, pmpp::sm_90).blocks == 4);
  CHECK(occupancy_of({512, 32}, pmpp::sm_90).ratio == 1.0);
  const auto o = occupancy_of({512, 33}, pmpp::sm_90);
  CHECK(o.blocks == 3);
  CHECK(o.ratio == 0.75);
  CHECK(o.limiter == occupancy_limiter::registers);
}

TEST_CASE("a warp gets registers in units of 256") {
  static_assert(pmpp::allocated_registers_per_thread(33) == 40);
  for (int registers = 0; registers <= 255; ++registers) {
    const int allocated = pmpp::allocated_registers_per_thread(registers);
    CHECK(allocated >= registers);
    CHECK(allocated < registers + 8);
    CHECK(allocated % 8 == 0);
    // Every number of registers of one unit gives the same occupancy as the last of them.
    if (registers > 0 && allocated <= 255)
      CHECK(occupancy_of({256, registers}, pmpp::sm_90).blocks == occupancy_of({256, allocated}, pmpp::sm_90).blocks);
  }
  CHECK(occupancy_of({256, 40}, pmpp::sm_90).blocks == 6);  // 65536 / (256 * 40) = 6.4
  CHECK(occupancy_of({256, 41}, pmpp::sm_90).blocks == 5);  // 41 cost 48: 65536 / (256 * 48) = 5.3
}

TEST_CASE("warps are spread over the four parts of an SM") {
  // 80 registers are 2560 per warp: each part of 16384 registers holds 6 warps, so the SM holds 24, although all its
  // registers together would do for 25.
  CHECK(occupancy_of({32, 80}, pmpp::sm_90).blocks_by_registers == 24);
  sm_limits in_one_part = pmpp::sm_90;
  in_one_part.partitions = 1;
  CHECK(occupancy_of({32, 80}, in_one_part).blocks_by_registers == 25);
}

TEST_CASE("CUDA reserves a kilobyte of shared memory per block and hands it out in units of 128 bytes") {
  CHECK(occupancy_of({32, 0, 0}, pmpp::sm_90).blocks_by_shared_memory == 228);
  CHECK(occupancy_of({32, 0, 1}, pmpp::sm_90).blocks_by_shared_memory == 228 * 1024 / (1024 + 128));
  CHECK(occupancy_of({32, 0, 128}, pmpp::sm_90).blocks_by_shared_memory == 228 * 1024 / (1024 + 128));
  CHECK(occupancy_of({32, 0, 129}, pmpp::sm_90).blocks_by_shared_memory == 228 * 1024 / (1024 + 256));
  CHECK(occupancy_of({32, 0, 227 * 1024}, pmpp::sm_90).blocks == 1);
}

TEST_CASE("what cannot be launched has no blocks") {
  CHECK(occupancy_of({1025}, pmpp::sm_90).blocks == 0);
  CHECK(occupancy_of({1025}, pmpp::sm_90).limiter == occupancy_limiter::threads);
  CHECK(occupancy_of({1024, 65}, pmpp::sm_90).blocks == 0);
  CHECK(occupancy_of({1024, 65}, pmpp::sm_90).limiter == occupancy_limiter::registers);
  CHECK(occupancy_of({32, 256}, pmpp::sm_90).blocks == 0);
  CHECK(occupancy_of({32, 0, 227 * 1024 + 1}, pmpp::sm_90).blocks == 0);
  CHECK(occupancy_of({32, 0, std::int64_t{1} << 40}, pmpp::sm_90).limiter == occupancy_limiter::shared_memory);
  CHECK(occupancy_of({1024, 64, 227 * 1024}, pmpp::sm_90).blocks == 1);
  CHECK_THROWS_AS(occupancy_of({0}, pmpp::sm_90), std::invalid_argument);
  CHECK_THROWS_AS(occupancy_of({32, -1}, pmpp::sm_90), std::invalid_argument);
  CHECK_THROWS_AS(occupancy_of({32, 0, -1}, pmpp::sm_90), std::invalid_argument);
}

TEST_CASE("what a kernel does not use is no limit, and part of a warp costs a whole one") {
  constexpr sm_limits sm{.threads = 2048, .blocks = 32, .registers = 65536, .shared_bytes = 64 * 1024};
  const auto o = occupancy_of({33}, sm);
  CHECK(o.blocks_by_registers == INT_MAX);
  CHECK(o.blocks_by_shared_memory == INT_MAX);
  CHECK(o.blocks == 32);
  CHECK(o.warps == 64);
  CHECK(o.ratio == 1.0);
  CHECK(occupancy_of({1}, sm).warps == 32);
}

TEST_CASE("of equal limits the first of threads, block slots, registers, shared memory is named") {
  CHECK(occupancy_of({256, 32}, pmpp::sm_90).blocks_by_registers == 8);
  CHECK(occupancy_of({256, 32}, pmpp::sm_90).limiter == occupancy_limiter::threads);
  CHECK(occupancy_of({32, 64, 6 * 1024}, pmpp::sm_90).blocks_by_shared_memory == 32);
  CHECK(occupancy_of({32, 64, 6 * 1024}, pmpp::sm_90).blocks_by_registers == 32);
  CHECK(occupancy_of({32, 64, 6 * 1024}, pmpp::sm_90).limiter == occupancy_limiter::block_slots);
}

TEST_CASE("a grid is made of whole blocks") {
  static_assert(pmpp::threads_in_grid(8000, 1024) == 8192);
  static_assert(pmpp::blocks_in_grid(8000, 1024) == 8);
  static_assert(pmpp::blocks_in_grid(0, 256) == 0);
  static_assert(pmpp::blocks_in_grid(1, 256) == 1);
  static_assert(pmpp::threads_in_grid((std::int64_t{1} << 32) + 5, 256) == (std::int64_t{1} << 32) + 256);
}

TEST_CASE("warps that hide a latency") {
  static_assert(pmpp::warps_to_hide(0, 4) == 1);
  static_assert(pmpp::warps_to_hide(400, 4) == 101);
  static_assert(pmpp::warps_to_hide(401, 4) == 102);
  static_assert(pmpp::warps_to_hide(3, 4) == 2);
}

TEST_CASE("roofline: 36 operations over 28 bytes") {
  constexpr pmpp::roofline slow_memory{200e9, 100e9}, fast_memory{300e9, 250e9};
  CHECK(pmpp::arithmetic_intensity(36, 28) == doctest::Approx(9.0 / 7.0));
  static_assert(slow_memory.bound(36, 28) == pmpp::bound_by::memory);
  static_assert(fast_memory.bound(36, 28) == pmpp::bound_by::compute);
  static_assert(slow_memory.ridge_point() == 2.0);
  CHECK(fast_memory.ridge_point() == doctest::Approx(1.2));
  CHECK(slow_memory.attainable(36, 28) == doctest::Approx(100e9 * 36 / 28));
  CHECK(fast_memory.attainable(36, 28) == 300e9);
  CHECK(slow_memory.seconds(36e9, 28e9) == doctest::Approx(0.28));
  CHECK(fast_memory.seconds(36e9, 28e9) == doctest::Approx(0.12));
  CHECK(fast_memory.bound(1, 0) == pmpp::bound_by::compute);
  CHECK(fast_memory.attainable(0, 1) == 0);
  CHECK(to_string(pmpp::bound_by::memory) == std::string("memory"));
}

TEST_CASE("the device query describes this machine") {
  const pmpp::device_properties d = pmpp::device_info();
  CHECK_FALSE(d.name.empty());
  CHECK(d.multiprocessors >= 1);
  CHECK(d.memory_bytes > (std::size_t{64} << 20));
  CHECK(d.free_memory_bytes <= d.memory_bytes);
  CHECK(d.warp_size == 32);
  CHECK(d.threads_per_block == 1024);
  CHECK((d.threads_of_block[0] == 1024 && d.threads_of_block[1] == 1024 && d.threads_of_block[2] == 64));
  CHECK((d.blocks_of_grid[0] == INT_MAX && d.blocks_of_grid[1] == 65535 && d.blocks_of_grid[2] == 65535));
  CHECK(pmpp::number_of_devices() >= 1);
  const std::string table = to_string(d);
  CHECK(table.find(d.name) != std::string::npos);
  CHECK(table.find("multiprocessors (SMs)") != std::string::npos);
  MESSAGE("\n" << table);
#if PMPP_CUDA
  CHECK(d.compute_capability >= 50);
  CHECK(d.driver_version >= d.runtime_version / 1000 * 1000);
  CHECK(d.registers_per_sm % 1024 == 0);
  CHECK(table.find("CUDA runtime") != std::string::npos);
  CHECK_THROWS_AS(pmpp::device_info(-1), pmpp::cuda_error);
  CHECK_THROWS_AS(pmpp::device_info(pmpp::number_of_devices()), pmpp::cuda_error);
  CHECK(d.managed_memory);
  CHECK(d.unified_addresses);
  CHECK(d.clusters == (d.compute_capability >= 90));
  // The named limits are those of the cards.
  const sm_limits sm = pmpp::current_sm_limits();
  for (const auto& [capability, named] :
       {std::pair{80, pmpp::sm_80}, std::pair{86, pmpp::sm_86}, std::pair{89, pmpp::sm_89}, std::pair{90, pmpp::sm_90},
        std::pair{100, pmpp::sm_100}, std::pair{120, pmpp::sm_120}}) {
    if (capability != d.compute_capability) continue;
    CHECK(sm.threads == named.threads);
    CHECK(sm.blocks == named.blocks);
    CHECK(sm.registers == named.registers);
    CHECK(sm.shared_bytes == named.shared_bytes);
    CHECK(sm.shared_bytes_per_block == named.shared_bytes_per_block);
    CHECK(sm.reserved_shared_bytes == named.reserved_shared_bytes);
  }
#endif
}

#if PMPP_TEST_HAS_ORACLE
TEST_CASE("agrees with NVIDIA's arithmetic") {
  const struct {
    sm_limits sm;
    int major, minor;
  } machines[] = {{pmpp::sm_75, 7, 5}, {pmpp::sm_80, 8, 0},   {pmpp::sm_86, 8, 6},  {pmpp::sm_89, 8, 9},
                  {pmpp::sm_90, 9, 0}, {pmpp::sm_100, 10, 0}, {pmpp::sm_120, 12, 0}};
  long cases = 0, wrong = 0;
  for (const auto& [sm, major, minor] : machines) {
    cudaOccDeviceProp p{};
    p.computeMajor = major;
    p.computeMinor = minor;
    p.maxThreadsPerBlock = 1024;
    p.maxThreadsPerMultiprocessor = sm.threads;
    p.regsPerBlock = p.regsPerMultiprocessor = sm.registers;
    p.warpSize = 32;
    p.sharedMemPerBlock = 48 * 1024;
    p.sharedMemPerMultiprocessor = static_cast<std::size_t>(sm.shared_bytes);
    p.sharedMemPerBlockOptin = static_cast<std::size_t>(sm.shared_bytes_per_block);
    p.reservedSharedMemPerBlock = static_cast<std::size_t>(sm.reserved_shared_bytes);
    p.numSms = 100;
    cudaOccDeviceState state{};
    state.carveoutConfig = 100;
    for (int threads = 1; threads <= 1056; threads += threads < 70 ? 1 : 13)
      for (int registers = 0; registers <= 255; registers += 3)
        for (int shared = 0; shared <= 240000; shared += 1777) {
          cudaOccFuncAttributes a{};
          a.maxThreadsPerBlock = 1024;
          a.numRegs = registers;
          a.partitionedGCConfig = PARTITIONED_GC_OFF;
          a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
          a.maxDynamicSharedSizeBytes = static_cast<std::size_t>(shared);
          a.numBlockBarriers = 1;
          cudaOccResult r{};
          const bool failed = cudaOccMaxActiveBlocksPerMultiprocessor(
                                  &r, &p, &a, &state, threads, static_cast<std::size_t>(shared)) != CUDA_OCC_SUCCESS;
          ++cases;
          wrong +=
              occupancy_of({threads, registers, shared}, sm).blocks != (failed ? 0 : r.activeBlocksPerMultiprocessor);
        }
  }
  CHECK(cases > 1000000);
  CHECK(wrong == 0);
}
#endif

#if defined(__CUDACC__)
namespace {

__global__ void uses_shared_memory(float* data) {
  __shared__ float tile[2048];
  for (unsigned i = threadIdx.x; i < 2048; i += blockDim.x) tile[i] = data[i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 2048; i += blockDim.x) data[i] = tile[2047 - i];
}

}  // namespace

struct turns_a_tile {
  static constexpr int threads = 256;
  struct shared {
    float tile[2048];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, float* data, float factor) const {
    for (int i = block.thread(); i < 2048; i += threads) memory.tile[i] = data[i];
    block.sync();
    for (int i = block.thread(); i < 2048; i += threads) data[i] = factor * memory.tile[2047 - i];
  }
};

TEST_CASE("what CUDA says of a function object's kernel, and the block that suits it best") {
  const auto function = pmpp::function_of(turns_a_tile{}, static_cast<float*>(nullptr), 1.0f);
  const auto needs = pmpp::resources_of(function, turns_a_tile::threads);
  CHECK(needs.shared_bytes_per_block == 8192);
  CHECK(needs.registers_per_thread > 0);
  CHECK(needs.local_bytes_per_thread == 0);
  const sm_limits sm = pmpp::current_sm_limits();
  CHECK(pmpp::measured_occupancy(function, 256).blocks == occupancy_of(needs, sm).blocks);
  const int best = pmpp::best_block_size(
      needs.registers_per_thread, [](int) { return 8192; }, sm);
  CHECK(occupancy_of({best, needs.registers_per_thread, 8192}, sm).warps >= occupancy_of(needs, sm).warps);
}

TEST_CASE("CUDA's answer for a compiled kernel agrees with the arithmetic") {
  const sm_limits sm = pmpp::current_sm_limits();
  for (const int threads : {32, 64, 96, 128, 256, 384, 512, 768, 1024}) {
    for (const std::size_t dynamic_shared : {0, 1000, 8192, 30000}) {
      const auto resources = pmpp::resources_of(uses_shared_memory, threads, dynamic_shared);
      CHECK(resources.shared_bytes_per_block == static_cast<std::int64_t>(8192 + dynamic_shared));
      CHECK(resources.registers_per_thread > 0);
      const auto computed = occupancy_of(resources, sm);
      const auto measured = pmpp::measured_occupancy(uses_shared_memory, threads, dynamic_shared);
      CHECK(measured.blocks == computed.blocks);
      CHECK(measured.warps == computed.warps);
      CHECK(measured.threads == computed.threads);
      CHECK(measured.ratio == computed.ratio);
    }
  }
}
#endif
