// SPDX-License-Identifier: Apache-2.0
//
// Loads, stores and fences with a memory order, for words that several blocks touch in one launch.
//
//   load<order::acquire>(p), load(p)           one access of 4 or 8 bytes; relaxed unless named
//   store<order::release>(p, v), store(p, v)   likewise
//   fence()                                    __threadfence(), orders as acquire and release
//   load_quad(p), store_quad(p, q)             one relaxed access of 16 bytes: flag and value in one word
//   load_once(p)                               *p, which is not written meanwhile nor read again: past the L1
//   prefetch(p), prefetch_bytes(p, n)          asks for what is read soon to be in the last cache
//   address_made_here(p)                       p, which the compiler makes once
//   copy_async<Bytes>(shared, global)          starts a copy of 4, 8 or 16 bytes into shared memory
//   copy_async_near(shared, global)            one of 16 bytes whose neighbours are asked for soon too
//   copy_async<Bytes>(shared, global, n)       the same of the first n bytes; zeros after them
//   copy_async_commit()                         ends a batch of copies of the calling thread
//   copy_async_wait<N>()                       waits for its batches but the newest N
//
// Never read such a word by a plain load: the compiler may keep it in a register or use the read-only cache.
//
// Scope: who sees the order, all blocks of the device unless named, as in fence<scope::system>() and
// load<order::acquire, scope::block>(p); scope::block is enough, and cheaper, between threads of one block. A relaxed
// access needs no scope. The emulator takes every scope for the widest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/sanitizer.hpp>

namespace pmpp::inline PMPP_BACKEND::simt {

/// As std::memory_order.
enum class order { relaxed, acquire, release, acq_rel };

/// Whom an operation with an order is ordered for: threads of the block; of the device; of the host and other devices too.
enum class scope { block, device, system };

namespace detail {

// Host: what ThreadSanitizer must be told of relaxed accesses and fences (simt/sanitizer.hpp); nothing in other programs.
inline void before_store([[maybe_unused]] const void* p) {
  if constexpr (sanitizer::thread) sanitizer::current_fences()->before_store(p);
}
inline void after_load([[maybe_unused]] const void* p) {
  if constexpr (sanitizer::thread) sanitizer::current_fences()->after_load(p);
}
/// Host: what a GPU ends with "misaligned address" is a fault in the emulator too, whose processor would not mind.
/// \return p
template <class T>
T* require_aligned(T* p, int bytes) {
  const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes);
  if (past != 0)
    throw kernel_fault(pmpp::detail::text("misaligned address: an access of ") + pmpp::detail::text::of(bytes) +
                       " bytes begins " + pmpp::detail::text::of(past) + " after a multiple of them");
  return p;
}

}  // namespace detail

/// Orders the calling thread's accesses before it against those after it, as seen by all threads of the scope.
/// (The host's side of this file uses the compiler's builtins: `<atomic>` costs every user 0.3 s of compile time.)
template <scope Scope = scope::device>
PMPP_HOST_DEVICE void fence() {
#if defined(__CUDA_ARCH__)
  if constexpr (Scope == scope::block)
    asm volatile("fence.acq_rel.cta;" ::: "memory");
  else if constexpr (Scope == scope::device)
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  else
    asm volatile("fence.acq_rel.sys;" ::: "memory");
#else
  if constexpr (sanitizer::thread)
    sanitizer::current_fences()->fence();
  else
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

/// Reads *p in one access that other threads' stores may race with.
template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE T load(const T* p) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(__CUDA_ARCH__)
  const T value = *const_cast<const volatile T*>(p);
  if constexpr (Order == order::acquire) fence<Scope>();
  return value;
#else
  T value;
  __atomic_load(const_cast<T*>(p), &value, Order == order::acquire ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
  detail::after_load(p);
  return value;
#endif
}

/// Writes *p in one access that other threads' loads may race with.
template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE void store(T* p, std::type_identity_t<T> v) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
#if defined(__CUDA_ARCH__)
  if constexpr (Order == order::release) fence<Scope>();
  *const_cast<volatile T*>(p) = v;
#else
  detail::before_store(p);
  __atomic_store(p, &v, Order == order::release ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
#endif
}

/// Sixteen bytes that move in one access.
struct alignas(16) quad {
  std::uint32_t word[4];
};

namespace detail {

// Host: compilers give an access of 16 bytes only for options that a program may not have. Whoever moves a quad holds one of
// some locks meanwhile, of which ThreadSanitizer is not told: they must not order what the GPU's access does not.
inline unsigned char* quad_lock(const quad* p) {
  static unsigned char locks[64 * 64];  // a line of the cache each
  return &locks[reinterpret_cast<std::uintptr_t>(p) / 16 % 64 * 64];
}
[[gnu::no_sanitize_thread, gnu::noinline]] inline void lock_quad(const quad* p) {
  while (__atomic_test_and_set(quad_lock(p), __ATOMIC_ACQUIRE)) continue;
}
[[gnu::no_sanitize_thread, gnu::noinline]] inline void unlock_quad(const quad* p) {
  __atomic_clear(quad_lock(p), __ATOMIC_RELEASE);
}

}  // namespace detail

PMPP_HOST_DEVICE inline quad load_quad(const quad* p) {
#if defined(__CUDA_ARCH__)
  std::uint64_t low, high;
  // Volatile is relaxed and whole: where a program has no use for one of the words, ptxas 13.0 makes two narrower loads of
  // ld.relaxed.gpu.b128, between which another block may store.
  asm volatile("{ .reg .b128 q; ld.volatile.b128 q, [%2]; mov.b128 {%0, %1}, q; }"
               : "=l"(low), "=l"(high)
               : "l"(p)
               : "memory");
  return {{std::uint32_t(low), std::uint32_t(low >> 32), std::uint32_t(high), std::uint32_t(high >> 32)}};
#else
  quad q;
  detail::lock_quad(detail::require_aligned(p, 16));
  for (int i = 0; i < 4; ++i) q.word[i] = load(&p->word[i]);
  detail::unlock_quad(p);
  return q;
#endif
}

PMPP_HOST_DEVICE inline void store_quad(quad* p, quad q) {
#if defined(__CUDA_ARCH__)
  const std::uint64_t low = q.word[0] | std::uint64_t(q.word[1]) << 32;
  const std::uint64_t high = q.word[2] | std::uint64_t(q.word[3]) << 32;
  asm volatile("{ .reg .b128 q; mov.b128 q, {%1, %2}; st.relaxed.gpu.b128 [%0], q; }" ::"l"(p), "l"(low), "l"(high)
               : "memory");
#else
  detail::lock_quad(detail::require_aligned(p, 16));
  for (int i = 0; i < 4; ++i) store(&p->word[i], q.word[i]);
  detail::unlock_quad(p);
#endif
}

/// Writes elements to global memory by words as wide as they lie, of 16 bytes at most: by one where they fill one. Of an assignment of
/// the same nvcc (13.0) often makes stores of single elements, which ptxas joins to halves of a word: arrays took 6 % longer to write.
template <class T, int N, std::size_t Alignment>
PMPP_HOST_DEVICE void store_words(void* to, const packed<T, N, Alignment>& elements) {
  using whole = packed<T, N, Alignment>;
#if defined(__CUDA_ARCH__)
  constexpr int size = Alignment % 16 == 0 ? 16 : Alignment;
  if constexpr (size >= 8) {
    std::uint32_t bits[sizeof(whole) / 4];
    memcpy(bits, pmpp::bytes_of(elements), sizeof(whole));
    const std::size_t first = __cvta_generic_to_global(to);
    for (int i = 0; i < int(sizeof(whole)) / 4; i += size / 4)
      if constexpr (size == 16)
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(first + 4 * i), "r"(bits[i]), "r"(bits[i + 1]),
                     "r"(bits[i + 2]), "r"(bits[i + 3])
                     : "memory");
      else
        asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(first + 4 * i), "r"(bits[i]), "r"(bits[i + 1])
                     : "memory");
    return;
  }
#endif
  *static_cast<whole*>(to) = elements;
}

/// Reads *p from global memory, which is not written during the launch, and leaves the first cache to data that is read
/// more than once.
template <class T>
PMPP_HOST_DEVICE T load_once(const T* p) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 2) {
    std::uint16_t bits;
    asm("ld.global.nc.L1::no_allocate.b16 %0, [%1];" : "=h"(bits) : "l"(p));
    return __builtin_bit_cast(T, bits);
  } else if constexpr (sizeof(T) == 4) {
    std::uint32_t bits;
    asm("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(bits) : "l"(p));
    return __builtin_bit_cast(T, bits);
  } else if constexpr (sizeof(T) == 8) {
    std::uint64_t bits;
    asm("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(bits) : "l"(p));
    return __builtin_bit_cast(T, bits);
  }
#endif
  return *p;
}

/// p. The compiler makes it here, and not again in each branch that uses it.
template <class T>
PMPP_HOST_DEVICE T* address_made_here(T* p) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+l"(p));
  __builtin_assume(__isGlobal(p));
#endif
  return p;
}

/// Asks for *p to be in the cache that all blocks share; waits for nothing. p may point anywhere.
template <class T>
PMPP_HOST_DEVICE void prefetch([[maybe_unused]] const T* p) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#else
  __builtin_prefetch(p);
#endif
}

/// The same for `bytes` bytes from p on: one thread asks for all. Does nothing on GPUs before sm_90, which have no such instruction.
PMPP_HOST_DEVICE inline void prefetch_bytes([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const auto first = reinterpret_cast<std::uintptr_t>(p), begin = first / 16 * 16;  // whole words of 16 bytes
  const auto size = static_cast<unsigned>((first + bytes + 15) / 16 * 16 - begin);
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin), "r"(size) : "memory");
#endif
}

/// Starts a copy from global to shared memory that needs no register on its way. Both addresses are multiples of Bytes.
/// The emulator copies at once.
template <int Bytes>
PMPP_HOST_DEVICE void copy_async(void* shared, const void* global) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
#if defined(__CUDA_ARCH__)
  const auto target = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(global) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(target), "l"(global), "n"(Bytes) : "memory");
#else
  __builtin_memcpy(detail::require_aligned(shared, Bytes), detail::require_aligned(global, Bytes), Bytes);
#endif
}

/// A copy_async of 16 bytes by way of the first cache; the last one fetches the 256 bytes around, which other threads
/// ask for soon. (Tiles of images and volumes come 5 to 10 % sooner on an H100 than by copy_async<16>.)
PMPP_HOST_DEVICE inline void copy_async_near(void* shared, const void* global) {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], 16;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
#else
  copy_async<16>(shared, global);
#endif
}

/// A copy_async of the first `bytes` bytes, 0 to Bytes, and zeros after them. What is not copied is not read.
template <int Bytes>
PMPP_HOST_DEVICE void copy_async(void* shared, const void* global, int bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
#if defined(__CUDA_ARCH__)
  const auto target = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(global), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(global), "n"(Bytes), "r"(bytes)
                 : "memory");
#else
  __builtin_memset(detail::require_aligned(shared, Bytes), 0, Bytes);
  if (bytes > 0)  // else the address may be any
    __builtin_memcpy(shared, detail::require_aligned(global, Bytes), static_cast<unsigned>(bytes));
#endif
}

/// Ends a batch: the copies that the calling thread has started since the last one, maybe none.
PMPP_HOST_DEVICE inline void copy_async_commit() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until the calling thread sees what its batches but the newest N have written; other threads see it after the
/// next barrier.
template <int N>
PMPP_HOST_DEVICE void copy_async_wait() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
