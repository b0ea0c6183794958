// SPDX-License-Identifier: Apache-2.0
//
// Wide loads and stores: how kernels move arrays at the memory's speed.
//
// A thread moves a vector: `Items` consecutive elements that fill whole 16-byte words of memory (4 floats, 16 bytes, 4
// structs of 12 bytes). Vectors start at the first 16-byte boundary in the data; a few elements lie before it (the
// lead) and fewer than a vector after the last whole one (the tail). One warp moves those one by one:
//
//     element   0 1 | 2 3 4 5 | 6 7 8 9 | 10          lead 2, vectors 0 and 1, a tail of one
//
// Computed inputs are as wide as what they read: a transform_iterator loads through its base, a zip_iterator loads both
// sides. Two arrays of one zip whose boundaries lie at different elements, and iterators of unknown kind, are moved one
// element per thread (Items = 1), which is still coalesced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Consecutive elements that one thread holds in registers.
template <class T, int Items>
using vector = packed<T, Items, alignof(T)>;

namespace detail {

/// Elements of T that fill whole 16-byte words: two structs of four floats, as one alone moves as its type is aligned.
template <class T>
constexpr int items_of_type() {  // 1 where more than 64 bytes would be needed
  const int items =
      max(16 / greatest_common_divisor(16, int(sizeof(T))), sizeof(T) % 16 == 0 && alignof(T) < 16 ? 2 : 1);
  return items * int(sizeof(T)) <= 64 ? items : 1;
}

/// `Items` elements as 4-byte words in registers: bytes come apart only where they are used, so that loads stay whole.
template <class T, int Items>
struct alignas(greatest_common_divisor(16, Items* int(sizeof(T)))) vector_words {
  std::uint32_t word[Items * sizeof(T) / 4];

  PMPP_HOST_DEVICE T operator[](int k) const {
    T element;
    if constexpr (sizeof(T) == 1 || sizeof(T) == 2) {
      const int bit = k * int(sizeof(T)) * 8;
      const auto bits =
          static_cast<std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>>(word[bit / 32] >> bit % 32);
      memcpy(static_cast<void*>(&element), &bits, sizeof(T));
    } else {
      memcpy(pmpp::bytes_of(element), reinterpret_cast<const char*>(word) + k * sizeof(T), sizeof(T));
    }
    return element;
  }
  PMPP_HOST_DEVICE void set(int k, T element) {  // by value: nvcc loads the bytes of a reference one by one
    if constexpr (sizeof(T) == 1 || sizeof(T) == 2) {
      const int bit = k * int(sizeof(T)) * 8;
      std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t> bits;
      memcpy(&bits, &element, sizeof(T));
      word[bit / 32] |= std::uint32_t(bits) << bit % 32;
    } else {
      memcpy(static_cast<void*>(reinterpret_cast<char*>(word) + k * sizeof(T)), pmpp::bytes_of(element), sizeof(T));
    }
  }
};

}  // namespace detail

/// What wide access knows of an iterator:
///   items, always     how many items it likes to move at once (0: any number); whether that works at any address
///   lead<Items>(it)   how many items lie before its first vector boundary; -1: it has none
///   load<Items>(it, i)     reads what items i ... i + Items - 1 are made of; i lies on a vector boundary
///   load_part<Items>(it, i, from, to)   the same for items i + from ... i + to - 1 alone
///   load_async<Items>(it, i, slot)      starts loading into shared memory; complete after simt::copy_async_wait
///   value(it, raw, k)      makes item i + k of it. Apart from load, so that registers hold bytes of memory and no more
/// This general form moves single elements.
template <class It>
struct access {
  static constexpr int items = 1;
  static constexpr bool always = true;

  template <int Items>
  static std::int64_t lead(const It&) {
    return Items == 1 ? 0 : -1;
  }
  template <int Items>
  PMPP_HOST_DEVICE static vector<value_of<It>, Items> load(const It& it, std::int64_t i) {
    static_assert(Items == 1);
    return {{it[i]}};
  }
  template <int Items>
  PMPP_HOST_DEVICE static vector<value_of<It>, Items> load_part(const It& it, std::int64_t i, int, int) {
    return load<Items>(it, i);
  }
  template <int Items>
  PMPP_HOST_DEVICE static void load_async(const It& it, std::int64_t i, vector<value_of<It>, Items>& slot) {
    slot = load<Items>(it, i);
  }
  template <class Raw>
  PMPP_HOST_DEVICE static value_of<It> value(const It&, const Raw& raw, int k) {
    return raw.item[k];
  }
};

template <class T>
struct access<T*> {
  using element = std::remove_cv_t<T>;
  static constexpr int items = detail::items_of_type<element>();
  static constexpr bool always =
      items == 1 || alignof(element) % greatest_common_divisor(16, int(sizeof(element))) == 0;

  template <int Items>
  static std::int64_t lead(T* p) {
    constexpr std::uintptr_t boundary = greatest_common_divisor(16, Items * int(sizeof(T)));
    for (std::int64_t lead = 0; lead < Items; ++lead)
      if (Items == 1 || reinterpret_cast<std::uintptr_t>(p + lead) % boundary == 0) return lead;
    return -1;
  }
  static std::int64_t lead_to_line(T* p) {
    return 128 % sizeof(T) == 0 ? std::int64_t((128 - reinterpret_cast<std::uintptr_t>(p) % 128) % 128 / sizeof(T)) : 0;
  }
  template <int Items>
  PMPP_HOST_DEVICE static auto load(T* p, std::int64_t i) {
    if constexpr (Items == 1) {
      return vector<element, 1>{{p[i]}};
    } else {
      detail::vector_words<element, Items> raw;
#if defined(__CUDA_ARCH__)
      raw = *reinterpret_cast<const detail::vector_words<element, Items>*>(p + i);
#else
      memcpy(pmpp::bytes_of(raw), simt::detail::require_aligned(p + i, alignof(decltype(raw))), sizeof raw);
#endif
      return raw;
    }
  }
  template <int Items>
  PMPP_HOST_DEVICE static auto load_part(T* p, std::int64_t i, int from, int to) {
    if constexpr (Items == 1) {
      return load<1>(p, i);
    } else {
      detail::vector_words<element, Items> raw{};
      for (int k = 0; k < Items; ++k)
        if (k >= from && k < to) raw.set(k, p[i + k]);
      return raw;
    }
  }
  template <int Items, class Raw>
  PMPP_HOST_DEVICE static void load_async(T* p, std::int64_t i, Raw& slot) {
    constexpr int size = sizeof(Raw), word = size % 16 == 0 ? 16 : size % 8 == 0 ? 8 : 4;
    if constexpr (size % word != 0 || (Items == 1 && alignof(element) < word)) {
      slot = load<Items>(p, i);
    } else {
      for (int k = 0; k < size; k += word)
        simt::copy_async<word>(static_cast<char*>(pmpp::bytes_of(slot)) + k, reinterpret_cast<const char*>(p + i) + k);
    }
  }
  PMPP_HOST_DEVICE static element value(T*, const vector<element, 1>& raw, int) { return raw.item[0]; }
  template <int Items>
  PMPP_HOST_DEVICE static element value(T*, const detail::vector_words<element, Items>& raw, int k) {
    return raw[k];
  }
  template <int Items>
  PMPP_HOST_DEVICE static void store(T* p, std::int64_t i, const vector<element, Items>& v) {
    using aligned = packed<element, Items>;
    aligned stored;
    for (int k = 0; k < Items; ++k) stored.item[k] = v.item[k];
    simt::store_words(p + i, stored);
  }
};

template <class T>
struct access<counting_iterator<T>> {
  static constexpr int items = 0;
  static constexpr bool always = true;

  // clang-format off
  template <int> static std::int64_t lead(const counting_iterator<T>&) { return 0; }
  template <int> PMPP_HOST_DEVICE static counting_iterator<T> load(const counting_iterator<T>& it, std::int64_t i) { return it + i; }
  template <int> PMPP_HOST_DEVICE static void load_async(const counting_iterator<T>& it, std::int64_t i, counting_iterator<T>& slot) { slot = it + i; }
  template <int> PMPP_HOST_DEVICE static counting_iterator<T> load_part(const counting_iterator<T>& it, std::int64_t i, int, int) { return it + i; }
  PMPP_HOST_DEVICE static T value(const counting_iterator<T>&, const counting_iterator<T>& raw, int k) { return raw[k]; }
  // clang-format on
};

template <class T>
struct access<constant_iterator<T>> {
  static constexpr int items = 0;
  static constexpr bool always = true;
  struct nothing {};

  // clang-format off
  template <int> static std::int64_t lead(const constant_iterator<T>&) { return 0; }
  template <int> PMPP_HOST_DEVICE static nothing load(const constant_iterator<T>&, std::int64_t) { return {}; }
  template <int> PMPP_HOST_DEVICE static void load_async(const constant_iterator<T>&, std::int64_t, nothing&) {}
  template <int> PMPP_HOST_DEVICE static nothing load_part(const constant_iterator<T>&, std::int64_t, int, int) { return {}; }
  PMPP_HOST_DEVICE static T value(const constant_iterator<T>& it, nothing, int) { return it.value; }
  // clang-format on
};

template <class It, class F, class T>
struct access<transform_iterator<It, F, T>> {
  using base = access<It>;
  static constexpr int items = base::items;
  static constexpr bool always = base::always;

  template <int Items>
  static std::int64_t lead(const transform_iterator<It, F, T>& it) {
    return base::template lead<Items>(it.base);
  }
  template <int Items>
  PMPP_HOST_DEVICE static auto load(const transform_iterator<It, F, T>& it, std::int64_t i) {
    return base::template load<Items>(it.base, i);
  }
  template <int Items>
  PMPP_HOST_DEVICE static auto load_part(const transform_iterator<It, F, T>& it, std::int64_t i, int from, int to) {
    return base::template load_part<Items>(it.base, i, from, to);
  }
  template <int Items, class Raw>
  PMPP_HOST_DEVICE static void load_async(const transform_iterator<It, F, T>& it, std::int64_t i, Raw& slot) {
    base::template load_async<Items>(it.base, i, slot);
  }
  template <class Raw>
  PMPP_HOST_DEVICE static T value(const transform_iterator<It, F, T>& it, const Raw& raw, int k) {
    return static_cast<T>(it.f(base::value(it.base, raw, k)));
  }
};

template <class A, class B>
struct access<zip_iterator<A, B>> {
  static constexpr int a = access<A>::items, b = access<B>::items;
  static constexpr int items = a == 0 ? b : b == 0 ? a : a == 1 || b == 1 ? 1 : max(a, b);
  static constexpr bool always = items == 1 || (access<A>::always && access<B>::always && (a == 0 || b == 0));

  template <int Items>
  static std::int64_t lead(const zip_iterator<A, B>& it) {
    const std::int64_t lead_a = access<A>::template lead<Items>(it.a), lead_b = access<B>::template lead<Items>(it.b);
    return a == 0 ? lead_b : b == 0 || lead_a == lead_b ? lead_a : -1;
  }
  template <int Items>
  PMPP_HOST_DEVICE static auto load(const zip_iterator<A, B>& it, std::int64_t i) {
    const auto x = access<A>::template load<Items>(it.a, i);
    const auto y = access<B>::template load<Items>(it.b, i);
    return pair<std::remove_const_t<decltype(x)>, std::remove_const_t<decltype(y)>>{x, y};
  }
  template <int Items>
  PMPP_HOST_DEVICE static auto load_part(const zip_iterator<A, B>& it, std::int64_t i, int from, int to) {
    const auto x = access<A>::template load_part<Items>(it.a, i, from, to);
    const auto y = access<B>::template load_part<Items>(it.b, i, from, to);
    return pair<std::remove_const_t<decltype(x)>, std::remove_const_t<decltype(y)>>{x, y};
  }
  template <int Items, class Raw>
  PMPP_HOST_DEVICE static void load_async(const zip_iterator<A, B>& it, std::int64_t i, Raw& slot) {
    access<A>::template load_async<Items>(it.a, i, slot.first);
    access<B>::template load_async<Items>(it.b, i, slot.second);
  }
  template <class Raw>
  PMPP_HOST_DEVICE static value_of<zip_iterator<A, B>> value(const zip_iterator<A, B>& it, const Raw& raw, int k) {
    return {access<A>::value(it.a, raw.first, k), access<B>::value(it.b, raw.second, k)};
  }
};

/// How many elements lie in front of the first line of 128 bytes that begins in an array, or in the first of several; 0 where there is
/// none. Host code: where warps begin at lines, no two of them write parts of one.
template <class It>
std::int64_t lead_to_line(const It& it) {
  if constexpr (requires { access<It>::lead_to_line(it); })
    return access<It>::lead_to_line(it);
  else
    return 0;
}

/// What `Items` items of an iterator are made of.
template <class It, int Items>
using raw_items = decltype(access<It>::template load<Items>(std::declval<const It&>(), std::int64_t(0)));

/// How the elements [0, n) of an input lie in vectors.
template <int Items>
struct layout {
  std::int64_t lead;     ///< elements before the first vector
  std::int64_t vectors;  ///< whole ones

  PMPP_HOST_DEVICE layout(std::int64_t n, std::int64_t lead_of_input)
      : lead(min(lead_of_input, n)), vectors((n - lead) / Items) {}
  /// The first element of a vector.
  PMPP_HOST_DEVICE std::int64_t element(std::int64_t vector) const { return lead + vector * Items; }
  /// The first element of the tail.
  PMPP_HOST_DEVICE std::int64_t tail() const { return element(vectors); }
};

/// The same for kernels that keep elements in order: vector v holds elements first + v * Items and the following; some may lie outside
/// of the data, partly or, in front of it, wholly. A lead below 0 is the element that the first vector begins with.
template <int Items>
struct ordered_layout {
  std::int64_t n, first, vectors;

  PMPP_HOST_DEVICE ordered_layout(std::int64_t size, std::int64_t lead)
      : n(size), first(lead > 0 ? lead - Items : lead), vectors(n == 0 ? 0 : (n - first + Items - 1) / Items) {}
  PMPP_HOST_DEVICE std::int64_t element(std::int64_t vector) const { return first + vector * Items; }
  /// The items of a vector that exist: [begin_of, end_of).
  PMPP_HOST_DEVICE int begin_of(std::int64_t vector) const { return vector > 0 ? 0 : static_cast<int>(-first); }
  PMPP_HOST_DEVICE int end_of(std::int64_t vector) const {
    return static_cast<int>(min(n - element(vector), std::int64_t(Items)));
  }
};

/// Calls f with std::integral_constant<int, Items> and the lead: the iterator's own width where its data allows it,
/// else one element at a time. Host code: picks the kernel to launch.
template <class It, class F>
void with_access(const It& it, F f) {
  constexpr int items = access<It>::items == 0 ? 4 : access<It>::items;
  const std::int64_t lead = access<It>::template lead<items>(it);
  if constexpr (!access<It>::always) {
    if (lead < 0) return f(std::integral_constant<int, 1>{}, std::int64_t(0));
  }
  f(std::integral_constant<int, items>{}, lead);
}

}  // namespace pmpp::inline PMPP_BACKEND::block
