// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations for kernels, the same text on both machines: on a GPU one instruction each (a reduction without
// reply where the result is not used), in the emulator the compiler's builtins.
//
//   atomic_add(p, v)  atomic_min  atomic_max  atomic_and  atomic_or  atomic_xor      return the old value
//   atomic_exchange(p, v)                                                            returns the old value
//   add_global(p, v)                                p in global memory; returns nothing and waits for nothing
//   atomic_compare_exchange(p, expected, desired)   returns the old value; desired was stored if that equals expected
//   atomic_increment_wrap(p, limit)                 stores old >= limit ? 0 : old + 1; returns the old value
//
// p points to shared or global memory; T is a 4- or 8-byte integer (also float and double for add; unsigned for
// increment_wrap). Scope: the whole device. Order: relaxed unless named, as in atomic_add<order::acq_rel>(p, 1u):
// relaxed orders nothing else; data that others read because of an atomic needs release on the writing side and acquire
// on the reading side, or a barrier in between.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::simt {
namespace detail {

// The word CUDA's intrinsics know for an integer of T's size and sign: uint64_t is unsigned long on Linux, they take
// unsigned long long.
template <class T>
using atomic_word =
    std::conditional_t<std::is_floating_point_v<T>, T,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int, unsigned>,
                                          std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>>;

// Runs a relaxed operation between the fences that `Order` asks for.
template <order Order, class F>
PMPP_HOST_DEVICE auto fenced(F operation) {
#if defined(__CUDA_ARCH__)
  if constexpr (Order == order::release || Order == order::acq_rel) fence();
  const auto old = operation();
  if constexpr (Order == order::acquire || Order == order::acq_rel) fence();
#else
  const auto old = operation();  // with host_order<Order>
#endif
  return old;
}

// The order of the compiler's own atomic operations on the host.
template <order Order>
inline constexpr int host_order = Order == order::relaxed   ? __ATOMIC_RELAXED
                                  : Order == order::acquire ? __ATOMIC_ACQUIRE
                                  : Order == order::release ? __ATOMIC_RELEASE
                                                            : __ATOMIC_ACQ_REL;

// Host: applies f by compare-and-swap, for what the builtins lack.
template <order Order, class T, class F>
T update(T* p, F f) {
  T old = load(p), desired = f(old);
  while (!__atomic_compare_exchange(p, &old, &desired, true, host_order<Order>, __ATOMIC_RELAXED)) desired = f(old);
  return old;
}

}  // namespace detail

template <order Order = order::relaxed, class T>
PMPP_HOST_DEVICE T atomic_add(T* p, std::type_identity_t<T> v) {
  return detail::fenced<Order>([=]() -> T {
#if defined(__CUDA_ARCH__)
    // Two's complement: adding is the same operation signed and unsigned, and CUDA has no signed 8-byte form.
    using word = detail::atomic_word<
        typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type>;
    return static_cast<T>(atomicAdd(reinterpret_cast<word*>(p), static_cast<word>(v)));
#else
    if constexpr (std::is_integral_v<T>)
      return __atomic_fetch_add(p, v, detail::host_order<Order>);
    else
      return detail::update<Order>(p, [v](T old) { return old + v; });
#endif
  });
}

/// atomic_add for a word of global memory whose old value nobody wants. Says so to the compiler, which finds out by itself
/// in small kernels only.
template <class T>
requires std::is_integral_v<T> PMPP_HOST_DEVICE void add_global(T* p, std::type_identity_t<T> v) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4)
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(static_cast<std::uint32_t>(v)) : "memory");
  else
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(static_cast<std::uint64_t>(v)) : "memory");
#else
  static_cast<void>(atomic_add(p, v));
#endif
}

template <order Order = order::relaxed, class T>
PMPP_HOST_DEVICE T atomic_min(T* p, std::type_identity_t<T> v) {
  return detail::fenced<Order>([=]() -> T {
#if defined(__CUDA_ARCH__)
    using word = detail::atomic_word<T>;
    return static_cast<T>(atomicMin(reinterpret_cast<word*>(p), static_cast<word>(v)));
#else
    return detail::update<Order>(p, [v](T old) { return v < old ? v : old; });
#endif
  });
}

template <order Order = order::relaxed, class T>
PMPP_HOST_DEVICE T atomic_max(T* p, std::type_identity_t<T> v) {
  return detail::fenced<Order>([=]() -> T {
#if defined(__CUDA_ARCH__)
    using word = detail::atomic_word<T>;
    return static_cast<T>(atomicMax(reinterpret_cast<word*>(p), static_cast<word>(v)));
#else
    return detail::update<Order>(p, [v](T old) { return old < v ? v : old; });
#endif
  });
}

template <order Order = order::relaxed, class T>
PMPP_HOST_DEVICE T atomic_and(T* p, std::type_identity_t<T> v) {
  return detail::fenced<Order>([=]() -> T {
#if defined(__CUDA_ARCH__)
    using word = detail::atomic_word<T>;
    return static_cast<T>(atomicAnd(reinterpret_cast<word*>(p), static_cast<word>(v)));
#else
    return __atomic_fetch_and(p, v, detail::host_order<Order>);
#endif
  });
}

template <order Order = order::relaxed, class T>
PMPP_HOST_DEVICE T atomic_or(T* p, std::type_identity_t<T> v) {
  return detail::fenced<Order>([=]() -> T {
#if defined(__CUDA_ARCH__)
    using word = detail::atomic_word<T>;
    return static_cast<T>(atomicOr(reinterpret_cast<word*>(p), static_cast<word>(v)));
#else
    return __atomic_fetch_or(p, v, detail::host_order<Order>);
#endif
  });
}

template <order Order = order::relaxed, class T>
PMPP_HOST_DEVICE T atomic_xor(T* p, std::type_identity_t<T> v) {
  return detail::fenced<Order>([=]() -> T {
#if defined(__CUDA_ARCH__)
    using word = detail::atomic_word<T>;
    return static_cast<T>(atomicXor(reinterpret_cast<word*>(p), static_cast<word>(v)));
#else
    return __atomic_fetch_xor(p, v, detail::host_order<Order>);
#endif
  });
}

template <order Order = order::relaxed, class T>
PMPP_HOST_DEVICE T atomic_exchange(T* p, std::type_identity_t<T> v) {
  return detail::fenced<Order>([=]() -> T {
#if defined(__CUDA_ARCH__)
    using word = detail::atomic_word<std::make_unsigned_t<T>>;
    return static_cast<T>(atomicExch(reinterpret_cast<word*>(p), static_cast<word>(v)));
#else
    T desired = v, old;
    __atomic_exchange(p, &desired, &old, detail::host_order<Order>);
    return old;
#endif
  });
}

template <order Order = order::relaxed, class T>
PMPP_HOST_DEVICE T atomic_compare_exchange(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  return detail::fenced<Order>([=]() -> T {
#if defined(__CUDA_ARCH__)
    using word = detail::atomic_word<std::make_unsigned_t<T>>;
    return static_cast<T>(
        atomicCAS(reinterpret_cast<word*>(p), static_cast<word>(expected), static_cast<word>(desired)));
#else
    T old = expected, next = desired;
    __atomic_compare_exchange(p, &old, &next, false, detail::host_order<Order>, __ATOMIC_RELAXED);
    return old;
#endif
  });
}

template <order Order = order::relaxed>
PMPP_HOST_DEVICE unsigned atomic_increment_wrap(unsigned* p, unsigned limit) {
  return detail::fenced<Order>([=]() -> unsigned {
#if defined(__CUDA_ARCH__)
    return atomicInc(p, limit);
#else
    return detail::update<Order>(p, [limit](unsigned old) { return old >= limit ? 0u : old + 1; });
#endif
  });
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
