// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations for kernels, the same text on both machines: on a GPU one instruction each (a reduction without
// reply where the result is not used), in the emulator the compiler's builtins. All return the old value.
//
//                                                   4- and 8-byte   float,   half, bfloat16 and   pointers,
//                                                   integers        double   their pairs          enums
//   atomic_add(p, v)                                x               x        x
//   atomic_min(p, v)  atomic_max(p, v)              x
//   atomic_and(p, v)  atomic_or  atomic_xor         x
//   atomic_exchange(p, v)                           x               x                             x
//   atomic_compare_exchange(p, expected, desired)   x               x                             x
//   atomic_increment_wrap(p, limit)                 unsigned
//   atomic_decrement_wrap(p, limit)                 unsigned
//   take_ticket(counter, last)                      unsigned        by one thread
//   add_global(p, v)                                x               p in global memory; returns nothing, waits for nothing
//
// Whatever has no cross is refused at compile time: an operation on 4 or 8 bytes would write the neighbours of smaller
// elements. half and bfloat16 are __half, __half2, __nv_bfloat16 and __nv_bfloat162 of CUDA's headers, which only those
// include who use them; in a program without CUDA _Float16 (and __bf16 where the compiler adds them). Sums of a pair are
// two, each atomic by itself. Below sm_90 sums of bfloat16, and everywhere those in scope::system of all four, are loops of
// compare and swap. Floating-point numbers are exchanged as bits: a compare_exchange tells 0 from -0 and finds a NaN.
//
// p points to shared or global memory. Order: relaxed unless named, as in atomic_add<order::acq_rel>(p, 1u): relaxed
// orders nothing else; data that others read because of an atomic needs release on the writing side and acquire on the
// reading side, or a barrier in between. Scope: who may touch the word meanwhile, all threads of the device unless named,
// as in atomic_add<order::relaxed, scope::system>(p, 1u) (the host and other devices too) or scope::block (one block).
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/simt/memory.hpp>

#if PMPP_CUDA
struct __half;  // of headers that only those include who use it
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;
#endif

namespace pmpp::inline PMPP_BACKEND::simt {
namespace detail {

template <class T>
inline constexpr bool is_atomic_integer = std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
inline constexpr bool is_atomic_scalar = std::is_scalar_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

template <class T>
inline constexpr bool is_half = false;
#if PMPP_CUDA
template <>
inline constexpr bool is_half<::__half> = true;
template <>
inline constexpr bool is_half<::__half2> = true;
template <>
inline constexpr bool is_half<::__nv_bfloat16> = true;
template <>
inline constexpr bool is_half<::__nv_bfloat162> = true;
#else
#if defined(__FLT16_MAX__)
template <>
inline constexpr bool is_half<_Float16> = true;
#endif
#if defined(__BFLT16_MAX__)
template <>
inline constexpr bool is_half<__bf16> = true;
#endif
#endif

// The words CUDA's intrinsics know: uint64_t is unsigned long on Linux, they take unsigned long long.
template <class T>
using bits_of = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
template <class T>
using integer_of =
    std::conditional_t<!std::is_signed_v<T>, bits_of<T>, std::conditional_t<sizeof(T) == 4, int, long long>>;
// Two's complement: adding is the same operation signed and unsigned, and CUDA has no signed 8-byte form.
template <class T>
using addend_of = std::conditional_t<std::is_floating_point_v<T>, T, bits_of<T>>;

// Runs a relaxed operation on *p between the fences that `Order` asks for.
template <order Order, scope Scope, class F>
PMPP_HOST_DEVICE auto fenced([[maybe_unused]] const void* p, F operation) {
#if defined(__CUDA_ARCH__)
  if constexpr (Order == order::release || Order == order::acq_rel) fence<Scope>();
  const auto old = operation();
  if constexpr (Order == order::acquire || Order == order::acq_rel) fence<Scope>();
#else
  before_store(p);
  const auto old = operation();  // with host_order<Order>
  after_load(p);
#endif
  return old;
}

// The order of the compiler's own atomic operations on the host.
template <order Order>
inline constexpr int host_order = Order == order::relaxed   ? __ATOMIC_RELAXED
                                  : Order == order::acquire ? __ATOMIC_ACQUIRE
                                  : Order == order::release ? __ATOMIC_RELEASE
                                                            : __ATOMIC_ACQ_REL;

// The same bits as another type. (Pairs of half are not trivially copyable, which __builtin_bit_cast wants.)
template <class To, class From>
PMPP_HOST_DEVICE To with_bits_of(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof(To));
  return to;
}

// Host: applies f by compare-and-swap, for what the builtins lack.
template <order Order, class T, class F>
T update(T* p, F f) {
  using word = std::conditional_t<sizeof(T) == 2, unsigned short, bits_of<T>>;
  auto* const bits = reinterpret_cast<word*>(p);
  word old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(bits, &old, with_bits_of<word>(f(with_bits_of<T>(old))), true, host_order<Order>,
                                      __ATOMIC_RELAXED))
    continue;
  return with_bits_of<T>(old);
}

#if defined(__CUDA_ARCH__)
// CUDA has three names for each operation.
template <scope Scope, class Device, class Block, class System>
__device__ auto in_scope(Device device, [[maybe_unused]] Block block, [[maybe_unused]] System system) {
  if constexpr (Scope == scope::block)
    return block();
  else if constexpr (Scope == scope::device)
    return device();
  else
    return system();
}

template <scope Scope, class T>
__device__ T add_half(T* p, T v) {
  if constexpr (Scope != scope::system) {
    return atomicAdd(p, v);  // of the header that declares T
  } else {
    using word = std::conditional_t<sizeof(T) == 2, unsigned short, unsigned>;
    word old = *reinterpret_cast<volatile word*>(p), expected;
    do {
      expected = old;
      const auto desired = with_bits_of<word>(static_cast<T>(with_bits_of<T>(expected) + v));
      if constexpr (sizeof(T) == 2)
        asm volatile("atom.relaxed.sys.cas.b16 %0, [%1], %2, %3;"
                     : "=h"(old)
                     : "l"(p), "h"(expected), "h"(desired)
                     : "memory");
      else
        old = atomicCAS_system(reinterpret_cast<word*>(p), expected, desired);
    } while (old != expected);
    return with_bits_of<T>(old);
  }
}
#endif

}  // namespace detail

template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE T atomic_add(T* p, std::type_identity_t<T> v) {
  constexpr bool half = detail::is_half<T>;
  static_assert(detail::is_atomic_integer<T> || std::is_same_v<T, float> || std::is_same_v<T, double> || half,
                "pmpp: atomic_add takes 4- and 8-byte integers, float, double, half and bfloat16 and their pairs");
  return detail::fenced<Order, Scope>(p, [=]() -> T {
#if defined(__CUDA_ARCH__)
    if constexpr (half) {
      return detail::add_half<Scope>(p, v);
    } else {
      auto* const word = reinterpret_cast<detail::addend_of<T>*>(p);
      const auto x = static_cast<detail::addend_of<T>>(v);
      return static_cast<T>(detail::in_scope<Scope>([=] { return atomicAdd(word, x); },
                                                    [=] { return atomicAdd_block(word, x); },
                                                    [=] { return atomicAdd_system(word, x); }));
    }
#else
    if constexpr (std::is_integral_v<T>)
      return __atomic_fetch_add(p, v, detail::host_order<Order>);
    else
      return detail::update<Order>(p, [v](T old) { return static_cast<T>(old + v); });
#endif
  });
}

/// atomic_add for a word of global memory whose old value is not wanted. Says so to the compiler, which finds out by itself
/// in small kernels only.
template <class T>
PMPP_HOST_DEVICE void add_global(T* p, std::type_identity_t<T> v) {
  static_assert(detail::is_atomic_integer<T>, "pmpp: add_global takes 4- and 8-byte integers");
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4)
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(static_cast<std::uint32_t>(v)) : "memory");
  else
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(static_cast<std::uint64_t>(v)) : "memory");
#else
  static_cast<void>(atomic_add(p, v));
#endif
}

template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE T atomic_min(T* p, std::type_identity_t<T> v) {
  static_assert(detail::is_atomic_integer<T>, "pmpp: atomic_min takes 4- and 8-byte integers");
  return detail::fenced<Order, Scope>(p, [=]() -> T {
#if defined(__CUDA_ARCH__)
    auto* const word = reinterpret_cast<detail::integer_of<T>*>(p);
    const auto x = static_cast<detail::integer_of<T>>(v);
    return static_cast<T>(detail::in_scope<Scope>([=] { return atomicMin(word, x); },
                                                  [=] { return atomicMin_block(word, x); },
                                                  [=] { return atomicMin_system(word, x); }));
#else
    return detail::update<Order>(p, [v](T old) { return v < old ? v : old; });
#endif
  });
}

template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE T atomic_max(T* p, std::type_identity_t<T> v) {
  static_assert(detail::is_atomic_integer<T>, "pmpp: atomic_max takes 4- and 8-byte integers");
  return detail::fenced<Order, Scope>(p, [=]() -> T {
#if defined(__CUDA_ARCH__)
    auto* const word = reinterpret_cast<detail::integer_of<T>*>(p);
    const auto x = static_cast<detail::integer_of<T>>(v);
    return static_cast<T>(detail::in_scope<Scope>([=] { return atomicMax(word, x); },
                                                  [=] { return atomicMax_block(word, x); },
                                                  [=] { return atomicMax_system(word, x); }));
#else
    return detail::update<Order>(p, [v](T old) { return old < v ? v : old; });
#endif
  });
}

template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE T atomic_and(T* p, std::type_identity_t<T> v) {
  static_assert(detail::is_atomic_integer<T>, "pmpp: atomic_and takes 4- and 8-byte integers");
  return detail::fenced<Order, Scope>(p, [=]() -> T {
#if defined(__CUDA_ARCH__)
    auto* const word = reinterpret_cast<detail::bits_of<T>*>(p);
    const auto x = static_cast<detail::bits_of<T>>(v);
    return static_cast<T>(detail::in_scope<Scope>([=] { return atomicAnd(word, x); },
                                                  [=] { return atomicAnd_block(word, x); },
                                                  [=] { return atomicAnd_system(word, x); }));
#else
    return __atomic_fetch_and(p, v, detail::host_order<Order>);
#endif
  });
}

template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE T atomic_or(T* p, std::type_identity_t<T> v) {
  static_assert(detail::is_atomic_integer<T>, "pmpp: atomic_or takes 4- and 8-byte integers");
  return detail::fenced<Order, Scope>(p, [=]() -> T {
#if defined(__CUDA_ARCH__)
    auto* const word = reinterpret_cast<detail::bits_of<T>*>(p);
    const auto x = static_cast<detail::bits_of<T>>(v);
    return static_cast<T>(detail::in_scope<Scope>([=] { return atomicOr(word, x); },
                                                  [=] { return atomicOr_block(word, x); },
                                                  [=] { return atomicOr_system(word, x); }));
#else
    return __atomic_fetch_or(p, v, detail::host_order<Order>);
#endif
  });
}

template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE T atomic_xor(T* p, std::type_identity_t<T> v) {
  static_assert(detail::is_atomic_integer<T>, "pmpp: atomic_xor takes 4- and 8-byte integers");
  return detail::fenced<Order, Scope>(p, [=]() -> T {
#if defined(__CUDA_ARCH__)
    auto* const word = reinterpret_cast<detail::bits_of<T>*>(p);
    const auto x = static_cast<detail::bits_of<T>>(v);
    return static_cast<T>(detail::in_scope<Scope>([=] { return atomicXor(word, x); },
                                                  [=] { return atomicXor_block(word, x); },
                                                  [=] { return atomicXor_system(word, x); }));
#else
    return __atomic_fetch_xor(p, v, detail::host_order<Order>);
#endif
  });
}

template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE T atomic_exchange(T* p, std::type_identity_t<T> v) {
  static_assert(detail::is_atomic_scalar<T>,
                "pmpp: atomic_exchange takes 4- and 8-byte integers, float, double, pointers and enums");
  return detail::fenced<Order, Scope>(p, [=]() -> T {
#if defined(__CUDA_ARCH__)
    auto* const word = reinterpret_cast<detail::bits_of<T>*>(p);
    const auto x = __builtin_bit_cast(detail::bits_of<T>, v);
    return __builtin_bit_cast(
        T, detail::in_scope<Scope>([=] { return atomicExch(word, x); }, [=] { return atomicExch_block(word, x); },
                                   [=] { return atomicExch_system(word, x); }));
#else
    T desired = v, old;
    __atomic_exchange(p, &desired, &old, detail::host_order<Order>);
    return old;
#endif
  });
}

/// Stores `desired` if *p has the bits of `expected`.
template <order Order = order::relaxed, scope Scope = scope::device, class T>
PMPP_HOST_DEVICE T atomic_compare_exchange(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  static_assert(detail::is_atomic_scalar<T>,
                "pmpp: atomic_compare_exchange takes 4- and 8-byte integers, float, double, pointers and enums");
  return detail::fenced<Order, Scope>(p, [=]() -> T {
#if defined(__CUDA_ARCH__)
    auto* const word = reinterpret_cast<detail::bits_of<T>*>(p);
    const auto x = __builtin_bit_cast(detail::bits_of<T>, expected),
               y = __builtin_bit_cast(detail::bits_of<T>, desired);
    return __builtin_bit_cast(
        T, detail::in_scope<Scope>([=] { return atomicCAS(word, x, y); }, [=] { return atomicCAS_block(word, x, y); },
                                   [=] { return atomicCAS_system(word, x, y); }));
#else
    T old = expected, next = desired;
    __atomic_compare_exchange(p, &old, &next, false, detail::host_order<Order>, __ATOMIC_RELAXED);
    return old;
#endif
  });
}

/// Stores old >= limit ? 0 : old + 1.
template <order Order = order::relaxed, scope Scope = scope::device>
PMPP_HOST_DEVICE unsigned atomic_increment_wrap(unsigned* p, unsigned limit) {
  return detail::fenced<Order, Scope>(p, [=]() -> unsigned {
#if defined(__CUDA_ARCH__)
    return detail::in_scope<Scope>([=] { return atomicInc(p, limit); }, [=] { return atomicInc_block(p, limit); },
                                   [=] { return atomicInc_system(p, limit); });
#else
    return detail::update<Order>(p, [limit](unsigned old) { return old >= limit ? 0u : old + 1; });
#endif
  });
}

/// How many tickets have been taken of a counter, which is zero again after ticket `last`. One thread calls. Not atomic_add (which a
/// last of ~0u would be): of that nvcc makes one addition for all active lanes, and waits at once for what they get.
template <order Order = order::relaxed>
PMPP_HOST_DEVICE unsigned take_ticket(unsigned* counter, unsigned last = ~1u) {
  return atomic_increment_wrap<Order>(counter, last);
}

/// Stores old == 0 || old > limit ? limit : old - 1.
template <order Order = order::relaxed, scope Scope = scope::device>
PMPP_HOST_DEVICE unsigned atomic_decrement_wrap(unsigned* p, unsigned limit) {
  return detail::fenced<Order, Scope>(p, [=]() -> unsigned {
#if defined(__CUDA_ARCH__)
    return detail::in_scope<Scope>([=] { return atomicDec(p, limit); }, [=] { return atomicDec_block(p, limit); },
                                   [=] { return atomicDec_system(p, limit); });
#else
    return detail::update<Order>(p, [limit](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
#endif
  });
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
