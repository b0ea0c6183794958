// SPDX-License-Identifier: Apache-2.0
//
// managed_buffer<T>: an array that the host and all devices see at one address (cudaMallocManaged); pages move to
// whoever touches them. The shortest way to a first program, and to data larger than the card; a page fault costs tens
// of microseconds, so programs that must be fast use device_buffer and copy. The host reads and writes elements with
// b[i]; work on the device that uses them must be done by then. Move-only; b.clone() copies. In a program without CUDA
// the memory is the host's.
//
//   b.prefetch(pmpp::device.on(stream));                  // pages move to the GPU in one go, in the order of the stream
//   b.prefetch(pmpp::host, stream);                       // ... and back
//   b.advise(pmpp::advice::read_mostly, pmpp::device);    // copies of pages stay valid on both sides
#pragma once

#include <concepts>
#include <type_traits>

#include <pmpp/memory/buffer.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// What CUDA may be told of managed memory (cudaMemAdvise); each has its opposite.
enum class advice {
  read_mostly,         ///< read far more than written: every processor keeps a copy
  not_read_mostly,     ///
  preferred_place,     ///< pages stay there; others map them where they can
  no_preferred_place,  ///
  accessed_by,         ///< stays mapped there: no page faults
  not_accessed_by      ///
};

namespace detail {

#if PMPP_CUDA
/// The memory beside the processor of a policy: the current GPU, or the host.
template <execution_policy P>
cudaMemLocation memory_beside(const P&) {
  cudaMemLocation at{};
  at.type = gpu_execution<P> ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
  at.id = gpu_execution<P> ? current_device() : 0;
  return at;
}
/// Whether the host and the current GPU may use managed memory at the same time. Where they may not (Windows, some Tegras) all of
/// it moves at each launch, and CUDA refuses advice.
inline bool pages_move() {
  int concurrent = 0;
  check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, current_device()),
        "cudaDeviceGetAttribute");
  return concurrent != 0;
}
#endif

}  // namespace detail

/// An owning array in managed memory; the members are those of detail::buffer (memory/buffer.hpp).
template <class T>
class managed_buffer : public detail::buffer<T, detail::managed_memory> {
  using base = detail::buffer<T, detail::managed_memory>;

public:
  using base::base;
  managed_buffer() = default;

  /// A copy with memory of its own, made on the default stream and waited for. \throws out_of_memory
  managed_buffer clone() const { return managed_buffer(typename base::copy_of{}, *this); }

  /// Moves the pages to where `where` computes: to the current GPU in the order of its stream, for `seq` and `host` to the host's
  /// memory in the order of the default stream. Does not wait; not while a stream is captured. It saves page faults and changes
  /// no result. Nothing where CUDA moves no single pages. \throws cuda_error
  template <execution_policy P>
  void prefetch(const P& where) {
    if constexpr (gpu_execution<P>)
      prefetch(where, where.stream);
    else
      prefetch(where, stream_handle{});
  }
  /// The same in the order of `stream`.
  template <execution_policy P, stream_like S>
  void prefetch([[maybe_unused]] const P& where, [[maybe_unused]] const S& stream) {
#if PMPP_CUDA
    if (base::empty() || !detail::pages_move()) return;
    const cudaMemLocation at = detail::memory_beside(where);
    const std::size_t bytes = base::size() * sizeof(T);
#if CUDART_VERSION >= 13000
    check(cudaMemPrefetchAsync(base::data(), bytes, at, 0, detail::handle_of(stream)), "cudaMemPrefetchAsync");
#else
    check(cudaMemPrefetchAsync_v2(base::data(), bytes, at, 0, detail::handle_of(stream)), "cudaMemPrefetchAsync");
#endif
#endif
  }

  /// Tells CUDA how the elements will be used, and `where`: at once, of all pages; does not wait for work. Nothing where CUDA moves
  /// no single pages. \throws cuda_error
  template <execution_policy P>
  void advise([[maybe_unused]] advice what, [[maybe_unused]] const P& where) {
#if PMPP_CUDA
    if (base::empty() || !detail::pages_move()) return;
    constexpr cudaMemoryAdvise words[] = {cudaMemAdviseSetReadMostly,        cudaMemAdviseUnsetReadMostly,
                                          cudaMemAdviseSetPreferredLocation, cudaMemAdviseUnsetPreferredLocation,
                                          cudaMemAdviseSetAccessedBy,        cudaMemAdviseUnsetAccessedBy};
    const cudaMemLocation at = detail::memory_beside(where);
    const std::size_t bytes = base::size() * sizeof(T);
#if CUDART_VERSION >= 13000
    check(cudaMemAdvise(base::data(), bytes, words[static_cast<int>(what)], at), "cudaMemAdvise");
#else
    check(cudaMemAdvise_v2(base::data(), bytes, words[static_cast<int>(what)], at), "cudaMemAdvise");
#endif
#endif
  }

private:
  managed_buffer(typename base::copy_of tag, const managed_buffer& other) : base(tag, other) {}
};

template <std::integral N, class T>
managed_buffer(N, T) -> managed_buffer<T>;
template <contiguous_data R>
managed_buffer(const R&) -> managed_buffer<std::remove_const_t<element_of<const R>>>;

}  // namespace pmpp::inline PMPP_BACKEND
