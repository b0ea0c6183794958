// SPDX-License-Identifier: Apache-2.0
//
// Clusters: blocks that run at the same time on neighbouring multiprocessors, wait for each other, and reach into each
// other's shared memory (distributed shared memory). A launch says how many blocks make one, a kernel asks its block:
//
//   struct my_kernel {
//     static constexpr int threads = 256, cluster = 4;    // or launch(device, grid{blocks, threads, bytes, 4}, ...)
//     struct shared { unsigned count[512]; };
//     template <class Block>
//     PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, ...) const {
//       auto cluster = block.cluster();
//       memory.count[...] = ...;
//       cluster.sync();                                              // all blocks have begun, and have written
//       unsigned* theirs = cluster.map_shared(memory.count, 2);      // memory.count of the block of rank 2
//       simt::atomic_add(theirs + i, 1u);                            // loads, stores and atomics as on one's own
//       cluster.sync();                                              // no block ends while others reach into its memory
//     }
//   };
//
//   cluster.rank(), size()           %cluster_ctarank, %cluster_nctarank: of this block in its cluster, x fastest
//   cluster.index(), count()         %clusterid, %nclusterid: of this cluster in the grid, x fastest (64-bit)
//   cluster.sync()                   all threads of all blocks of the cluster; what was written before is seen after
//   cluster.arrive(), wait()         sync() in two parts: what lies between them is done while others come
//   cluster.map_shared(p, rank)      mapa: where p, which points into this block's shared memory, lies in that of `rank`
//
// The rule, which the emulator checks: another block's memory is mapped after a first sync(), for only then that block has
// begun, and each block passes a sync() between the last time that it is mapped and its own end.
//
// A launch without a cluster is one of clusters of a single block: rank 0 of 1. CUDA promises 8 blocks at most; they need
// compute capability 9.0, and blocks along each axis that are a multiple of the cluster's. Memory that is far costs more
// than one's own and less than the last cache. (PTX ISA: barrier.cluster, mapa; Hopper tuning guide.)
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND {

namespace detail {

/// Throws unless the blocks make whole clusters of a size that the machine has.
inline void require_whole_clusters(const simt::launch_shape& shape, characters kernel, const machine& on) {
  const extent3 &b = shape.blocks, &c = shape.cluster;
  const auto refuse = [&](text what) {
    detail::throw_invalid_argument("pmpp::launch: " + kernel.to_text() + ": blocks of a cluster" + what);
  };
  const auto multiple = [&](const char* axis, unsigned blocks, unsigned cluster) {
    if (blocks % cluster != 0)
      refuse(text(" along ") + axis + ": asked for " + text::of(cluster) + ", of which " + text::of(blocks) +
             " blocks are no multiple");
  };
  const std::int64_t most = on.most_blocks_of_cluster(), longest = max(c.x, max(c.y, c.z));
  const std::int64_t asked = longest > most ? longest : c.volume();
  if (asked > most || asked == 0)
    refuse(text(most == 1 ? " (of several from compute capability 9.0 on)" : "") + ": asked for " + text::of(asked) +
           ", the limit is " + text::of(most));
  multiple("x", b.x, c.x);
  multiple("y", b.y, c.y);
  multiple("z", b.z, c.z);
}

}  // namespace detail

#if defined(__CUDACC__) && PMPP_CUDA
namespace simt {

/// A block's cluster on a GPU. Meaning of each method: the table above.
class cuda_cluster {
public:
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __device__ __forceinline__ int rank() const {
    unsigned r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return static_cast<int>(r);
  }
  __device__ __forceinline__ int size() const {
    unsigned n;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
    return static_cast<int>(n);
  }
  __device__ __forceinline__ std::int64_t index() const {
    unsigned x, y, z, nx, ny;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(x));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(y));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(z));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(nx));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(ny));
    return x + nx * (y + std::int64_t(ny) * z);
  }
  __device__ __forceinline__ std::int64_t count() const {
    return std::int64_t(gridDim.x) * gridDim.y * gridDim.z / size();
  }
  // Not the aligned forms: lanes of a warp may come one by one.
  __device__ __forceinline__ void arrive() const { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
  __device__ __forceinline__ void wait() const { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
  __device__ __forceinline__ void sync() const {
    arrive();
    wait();
  }
  template <class T>
  __device__ __forceinline__ T* map_shared(T* p, int rank) const {
    T* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
    return there;
  }
#else  // no launch gets here with more than one block
  __device__ __forceinline__ int rank() const { return 0; }
  __device__ __forceinline__ int size() const { return 1; }
  __device__ __forceinline__ std::int64_t index() const {
    return blockIdx.x + gridDim.x * (blockIdx.y + std::int64_t(gridDim.y) * blockIdx.z);
  }
  __device__ __forceinline__ std::int64_t count() const { return std::int64_t(gridDim.x) * gridDim.y * gridDim.z; }
  __device__ __forceinline__ void arrive() const {}
  __device__ __forceinline__ void wait() const { __syncthreads(); }
  __device__ __forceinline__ void sync() const { __syncthreads(); }
  template <class T>
  __device__ __forceinline__ T* map_shared(T* p, int) const {
    return p;
  }
#endif
};

}  // namespace simt
#endif

}  // namespace pmpp::inline PMPP_BACKEND
