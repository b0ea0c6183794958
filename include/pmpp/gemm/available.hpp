// SPDX-License-Identifier: Apache-2.0
//
// Whether products of warpgroups (simt/wgmma.hpp) and the copy unit (simt/tensor_copy.hpp) can be had, which programs of several
// architectures only know when they run; and how many clusters of blocks.
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <pmpp/core/machine.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/tensor_copy.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Whether the current device is one of sm_90a and runs code that was compiled for it. Asks CUDA once per device. (A template, so
/// that who multiplies nothing gets no code.)
template <class Probe = simt::wgmma_probe>
bool wgmma_available() {
  enum : char { unknown, no, yes };
  static char known[most_devices];
  const int device = launch_device();
  char answer = __atomic_load_n(&known[device], __ATOMIC_RELAXED);
  if (answer == unknown) {
    void (*const probe)(Probe) = simt::detail::run_kernel<Probe::threads, Probe>;
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(probe)), "cudaFuncGetAttributes");
    answer = attributes.sharedSizeBytes > 0 ? yes : no;
    __atomic_store_n(&known[device], answer, __ATOMIC_RELAXED);
  }
  return answer == yes;
}

/// Blocks that can share a tile as a cluster.
inline constexpr int most_blocks_of_tile = machine{}.most_blocks_of_cluster();

/// How many clusters of `size` blocks, each of which fills a multiprocessor, run at a time. CUDA is asked once for each size: by the kernel
/// that `entry` is, with its threads and bytes of shared memory.
inline int most_clusters(const void* entry, int threads, std::size_t bytes, int size) {
  static int known[most_devices][most_blocks_of_tile + 1];  // and 1; 0: not yet
  const int device = launch_device();
  int answer = __atomic_load_n(&known[device][size], __ATOMIC_RELAXED);
  if (answer == 0) {
    allow_shared_bytes(machine_of_device(device), entry);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(size), 1, 1};
    const cudaLaunchConfig_t config{unsigned(size), unsigned(threads), bytes, nullptr, &attribute, 1};
    check(cudaOccupancyMaxActiveClusters(&answer, entry, &config), "cudaOccupancyMaxActiveClusters");
    __atomic_store_n(&known[device][size], ++answer, __ATOMIC_RELAXED);
  }
  return answer - 1;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop

#else

namespace pmpp::inline PMPP_BACKEND::detail {

inline bool wgmma_available() { return false; }

}  // namespace pmpp::inline PMPP_BACKEND::detail

#endif
