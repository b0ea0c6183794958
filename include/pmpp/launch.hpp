// SPDX-License-Identifier: Apache-2.0
//
// launch(policy, grid, kernel, args...): runs a kernel on the policy's machine.
//
//   launch(device, blocks, my_kernel{}, in, out);                  a function object with `threads` (simt/block.hpp)
//   launch(device, blocks, threads, my_kernel{}, in, out);         as many threads as is said here
//   launch(device, grid{blocks, threads}, my_kernel{}, in, out);   block shape chosen here; 1-D to 3-D
//   launch(device, grid{blocks, threads, bytes}, kernel, ...);     with dynamic shared memory, up to the device's limit
//   launch(device, grid{blocks, threads, bytes, 4}, kernel, ...);  in clusters of 4 blocks (simt/cluster.hpp)
//   launch(device, grid{blocks, threads}, my_function, ...);       a __global__ function of your own
//   launch(emulated, blocks, my_kernel{}, in, out);                the same kernel on the CPU, under a debugger
//
// What it adds to <<<>>>: a grid of no blocks is a no-op; a shape that the device cannot run throws
// std::invalid_argument naming what was asked and the limit, before anything is launched; shared memory above 48 KB just
// works; a stream of another device is refused; a failure is a cuda_error that names the kernel. On a GPU the call only
// enqueues. With PMPP_SYNC_CHECK=1 in the environment it waits after each launch, so that a kernel that fails is named.
#pragma once

#include <cstdlib>
#include <source_location>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/cluster.hpp>
#include <pmpp/simt/machine_of.hpp>
#if PMPP_CUDA
#include <pmpp/simt/cuda_block.hpp>
#include <pmpp/simt/named_range.hpp>
#endif
#if PMPP_WITH_EMULATOR
#include <pmpp/simt/emulated_block.hpp>
#endif

// Code that launches stays inside its shared library: two libraries built for different architectures may live in one
// process, and each must launch its own kernels.
#pragma GCC visibility push(hidden)

namespace pmpp::inline PMPP_BACKEND {

using grid = simt::launch_shape;

namespace detail {

[[noreturn]] inline void refuse_launch(characters kernel, const char* what, std::int64_t asked, std::int64_t limit) {
  detail::throw_invalid_argument("pmpp::launch: " + kernel.to_text() + ": " + what + ": asked for " +
                                 detail::text::of(asked) + ", the limit is " + detail::text::of(limit));
}

/// Throws unless the shape fits the limits; says whether there is anything to do.
inline bool has_blocks(const grid& shape, characters kernel, std::int64_t thread_limit, std::size_t shared_bytes,
                       const machine& on) {
  const auto shared_limit = static_cast<std::size_t>(on.shared_per_block);
  if (shape.blocks.x == 0 || shape.blocks.y == 0 || shape.blocks.z == 0) return false;
  if (shape.threads.volume() == 0) refuse_launch(kernel, "threads of a block (at least 1)", 0, thread_limit);
  if (shape.blocks.x > 0x7fffffffu) refuse_launch(kernel, "blocks along x", shape.blocks.x, 0x7fffffff);
  if (shape.blocks.y > 65535) refuse_launch(kernel, "blocks along y", shape.blocks.y, 65535);
  if (shape.blocks.z > 65535) refuse_launch(kernel, "blocks along z", shape.blocks.z, 65535);
  if (shape.threads.x > thread_limit || shape.threads.y > thread_limit || shape.threads.volume() > thread_limit)
    refuse_launch(kernel, "threads of a block", shape.threads.volume(), thread_limit);
  if (shape.threads.z > 64) refuse_launch(kernel, "threads of a block along z", shape.threads.z, 64);
  if (shared_bytes + shape.dynamic_shared > shared_limit)
    refuse_launch(kernel,
                  least_shared_per_block<device_policy> > shared_limit
                      ? "bytes of shared memory of a block (compile for this GPU too: smaller kernels are left out)"
                      : "bytes of shared memory of a block",
                  std::int64_t(shared_bytes + shape.dynamic_shared), std::int64_t(shared_limit));
  if (shape.cluster != extent3{}) require_whole_clusters(shape, kernel, on);
  return true;
}

#if defined(__CUDACC__) && PMPP_CUDA
inline simt::named_range begin_launch(characters kernel, int device, cudaStream_t stream) {
  const bool is_default = stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
  if (is_only_device() || is_default || is_captured(stream))
    return {kernel};  // CUDA does not tell the device of a stream that is captured
  int owner = 0;
  check(cudaStreamGetDevice(stream, &owner), "cudaStreamGetDevice");
  if (owner != device)
    detail::throw_invalid_argument(detail::text("pmpp::launch: the stream belongs to device ") +
                                   detail::text::of(owner) + ", the current device is " + detail::text::of(device));
  return {kernel};
}

inline void after_launch(cudaError_t status, characters kernel, cudaStream_t stream, const std::source_location& at) {
  static const bool wait = [] {
    const char* text = std::getenv("PMPP_SYNC_CHECK");
    return text != nullptr && *text != '\0' && *text != '0';
  }();
  const auto call = [&] { return "launch of " + kernel.to_text(); };
  if (status != cudaSuccess) throw_cuda_error(status, call(), at);
  if (!wait || detail::is_captured(stream)) return;
  if (const cudaError_t ran = cudaStreamSynchronize(stream); ran != cudaSuccess) throw_cuda_error(ran, call(), at);
}

/// More than 48 KB of shared memory, static, dynamic and up to 1 KB between them, has to be asked for: as much as there is, so that
/// launches of any size may follow from any thread, and what a program has asked for itself is never lowered.
inline void allow_shared_bytes(const machine& on, const void* function) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes");
  const int most = on.shared_per_block - static_cast<int>(attributes.sharedSizeBytes);
  if (attributes.maxDynamicSharedSizeBytes >= most) return;
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
}

/// What has been compiled for older GPUs, and by the driver for this one, knows of no cluster.
inline void require_code_for_clusters(characters kernel, const void* function) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes");
  if (attributes.ptxVersion < 90) refuse_launch(kernel, "blocks of a cluster (compile for sm_90 or later)", 2, 1);
}

/// What a launch has to know of a kernel.
struct gpu_kernel {
  characters name;
  const void* entry;  ///< its __global__ function
  int thread_limit, min_blocks;
  std::size_t shared;         ///< bytes of its own shared memory,
  std::size_t shared_needed;  ///< and the part of them that blocks of this size need
  unsigned char* prepared;    ///< for each device: bits for what is asked of CUDA once
  bool leaves_first_cache = false, begins_early = false, together = false;
};

/// The part of a launch that is the same for all kernels: it stands here once, not in every instantiation.
inline bool launch_on_gpu(const gpu_kernel& kernel, int id, const machine& on, const device_policy& where,
                          const grid& shape, const void** values) {
  if (!has_blocks(shape, kernel.name, kernel.thread_limit, kernel.shared_needed, on) || where.measuring) return true;
  if (kernel.together && !on.cooperative) return false;
  [[maybe_unused]] const simt::named_range range = begin_launch(kernel.name, id, where.stream);
  const bool all_dynamic = kernel.shared > simt::detail::static_shared_limit;
  const bool large = kernel.shared + shape.dynamic_shared > simt::detail::static_shared_limit - 1024;
  const unsigned wanted =
      unsigned(large) | unsigned(kernel.leaves_first_cache) << 1 | unsigned(shape.cluster != extent3{}) << 2;
  if (const unsigned missing = wanted & ~__atomic_load_n(&kernel.prepared[id], __ATOMIC_RELAXED)) {
    if ((missing & 1) != 0) allow_shared_bytes(on, kernel.entry);
    if ((missing & 2) != 0) {  // the first cache lies in the same memory: of that CUDA would take more than blocks use
      const std::size_t needed = std::size_t(kernel.min_blocks) * (kernel.shared + machine::reserved_per_block);
      const auto percent = static_cast<int>(ceil_div(100 * needed, std::size_t(on.shared_per_multiprocessor)));
      check(cudaFuncSetAttribute(kernel.entry, cudaFuncAttributePreferredSharedMemoryCarveout, min(percent, 100)),
            "cudaFuncSetAttribute(PreferredSharedMemoryCarveout)");
    }
    if ((missing & 4) != 0) require_code_for_clusters(kernel.name, kernel.entry);
    __atomic_fetch_or(&kernel.prepared[id], static_cast<unsigned char>(missing), __ATOMIC_RELAXED);
  }
  cudaLaunchAttribute attributes[2];  // written as far as they are counted: to clear them takes a tenth of all this
  cudaLaunchConfig_t config{};
  config.gridDim = {shape.blocks.x, shape.blocks.y, shape.blocks.z};
  config.blockDim = {shape.threads.x, shape.threads.y, shape.threads.z};
  config.dynamicSmemBytes = shape.dynamic_shared + (all_dynamic ? round_up(kernel.shared_needed, std::size_t(16)) : 0);
  config.stream = where.stream;
  config.attrs = attributes;
  if (shape.cluster != extent3{}) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
  }
  if (kernel.together || kernel.begins_early) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id =
        kernel.together ? cudaLaunchAttributeCooperative : cudaLaunchAttributeProgrammaticStreamSerialization;
    (kernel.together ? attribute.val.cooperative : attribute.val.programmaticStreamSerializationAllowed) = 1;
  }
  const cudaError_t status = cudaLaunchKernelExC(&config, kernel.entry, const_cast<void**>(values));
  if (kernel.together && status == cudaErrorCooperativeLaunchTooLarge)
    return cudaGetLastError() == cudaSuccess;  // no: that is the error, which CUDA forgets by this
  after_launch(status, kernel.name, where.stream, std::source_location::current());
  return true;
}
#endif

/// Checks and launches. Threads as for simt::cuda_block. Together: all blocks at once; where that can't be it says so, does nothing.
template <int Threads, bool Together = false, class P, class Kernel, class... Args>
bool launch_kernel([[maybe_unused]] const P& where, grid shape, [[maybe_unused]] const Kernel& kernel,
                   const Args&... args) {
  static_assert(
      !gpu_execution<P> || has_cuda_compiler,
      "pmpp::device needs a CUDA compiler: make this a .cu file, or use pmpp::host, or PMPP_CUDA=OFF (the emulator)");
  using namespace simt::detail;
  constexpr characters name = type_name<Kernel>();
  if (shape.cluster == extent3{}) shape.cluster = cluster_of<Kernel>;
  if constexpr (gpu_execution<P>) {
#if defined(__CUDACC__) && PMPP_CUDA
    static unsigned char prepared[most_devices];
    const int id = launch_device();
    const machine& on = machine_of_device(id);
    const void* values[] = {__builtin_addressof(kernel), __builtin_addressof(args)...};
    return launch_on_gpu({name, reinterpret_cast<const void*>(&run_kernel<Threads, Kernel, Args...>),
                          threads_of<Kernel>, min_blocks_of<Kernel>, shared_bytes_of<Kernel>,
                          shared_bytes_in<Kernel>(shape.threads.volume(), std::size_t(on.shared_per_block)), prepared,
                          leaves_first_cache<Kernel>, begins_early<Kernel>, Together},
                         id, on, where, shape, values);
#endif
  } else {
#if PMPP_WITH_EMULATOR
    const machine& on = machine_of(where);
    const std::size_t bytes = shared_bytes_in<Kernel>(shape.threads.volume(), std::size_t(on.shared_per_block));
    if (!has_blocks(shape, name, threads_of<Kernel>, bytes, on) || where.measuring) return true;
    simt::emulator_options options = options_of_this_launch();
    if constexpr (Together) {
      if (!on.cooperative || std::int64_t(shape.blocks.x) > resident_blocks<Kernel>(on)) return false;
      options.resident_blocks = static_cast<int>(shape.blocks.x);
    }
    const simt::scoped_emulator_options scope(options);
    simt::emulate(shape, {name.first, name.count}, kernel, args...);
#endif
  }
  return true;
}

}  // namespace detail

/// Runs `kernel` on every thread of the grid.
///
/// \param where   device (current device, the policy's stream) or emulated.
/// \param shape   grid{blocks, threads, dynamic_shared, cluster}; the kernel's own shared memory comes on top.
/// \param kernel  a function object as simt/block.hpp describes; copied.
/// \param args    what the kernel gets after block and shared memory; trivially copyable, copied.
/// Asynchronous on a GPU; does not allocate; may be captured into a graph. The emulator has finished on return.
/// \throws std::invalid_argument when the device cannot run the shape, or the stream is another device's; cuda_error;
///         kernel_fault from the emulator. Nothing has been launched then.
template <kernel_execution P, class Kernel, class... Args>
requires std::is_class_v<Kernel>
void launch(const P& where, const grid& shape, const Kernel& kernel, const Args&... args) {
  detail::launch_kernel<0>(where, shape, kernel, args...);
}

/// The same on a row of `blocks` blocks of as many threads (`threads`), in clusters of as many blocks (`cluster`) as the kernel names.
template <kernel_execution P, class Kernel, class... Args>
requires std::is_class_v<Kernel>
void launch(const P& where, std::int64_t blocks, const Kernel& kernel, const Args&... args) {
  constexpr bool has_threads = requires { Kernel::threads; };
  static_assert(has_threads, "pmpp::launch: this kernel has no static constexpr int threads: pass blocks, threads");
  if constexpr (has_threads)
    detail::launch_kernel<Kernel::threads>(where, grid{blocks, Kernel::threads}, kernel, args...);
}

/// The same with as many threads as is said here. Of a grid{blocks, threads} the compiler would not know that it is a row.
template <kernel_execution P, class Kernel, class... Args>
requires std::is_class_v<Kernel>
void launch(const P& where, std::int64_t blocks, int threads, const Kernel& kernel, const Args&... args) {
  detail::launch_kernel<-1>(where, grid{blocks, threads}, kernel, args...);
}

#if defined(__CUDACC__) && PMPP_CUDA
/// Runs a __global__ function of your own, with the same checks.
template <class... Parameters, class... Args>
requires(sizeof...(Parameters) == sizeof...(Args)) void launch(const device_policy& where, const grid& shape,
                                                               void (*kernel)(Parameters...), Args&&... args) {
  const int id = detail::launch_device();
  const auto* entry = reinterpret_cast<const void*>(kernel);
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, entry), "cudaFuncGetAttributes");
  const char* function = "__global__ function";
  check(cudaFuncGetName(&function, entry), "cudaFuncGetName");
  unsigned char prepared[detail::most_devices]{};
  const std::size_t bytes = attributes.sharedSizeBytes;
  const detail::characters name{function, std::strlen(function)};
  const detail::gpu_kernel own{name, entry, attributes.maxThreadsPerBlock, 1, bytes, bytes, prepared};
  const auto start = [&](Parameters... x) {
    const void* values[] = {__builtin_addressof(x)..., nullptr};
    detail::launch_on_gpu(own, id, detail::machine_of_device(id), where, shape, values);
  };
  start(static_cast<Parameters>(args)...);
}
#endif

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
