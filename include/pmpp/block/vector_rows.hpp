// SPDX-License-Identifier: Apache-2.0
//
// Rows of 32 vectors in shared memory: how a warp loads one, and how each lane gets its own vector out.
//
//   words in memory    0a 0b 1a 1b 2a 2b 3a 3b | 4a 4b ...      vectors 0, 1, 2 ... of two 16-byte words, a and b
//   in shared memory   0a 0b 1a 1b 2a 2b 3a 3b | 4b 4a ...
//
// Lanes copy adjacent words, whole sectors of memory, however many words a vector has. Words of a vector change places such that
// eight lanes that read their own find them in different banks; nothing is left free. The two sides of a zip lie one behind the
// other. Where its arrays are aligned differently, elements of 4 bytes and more are copied one by one: they move as whole lines too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/vector_range.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// What a warp does with rows of an input:
///   bytes                              of a row in shared memory
///   load_async(block, it, i, row)      all lanes: starts copying what items i ... i + 32 * Items - 1 are made of
///   put(row, lane, x), get(row, lane)  one vector
/// Anywhere: vectors may begin at any element of 4 bytes and more. This general form loads vector by vector.
template <class It, int Items, bool Anywhere = Items == 1>
struct vector_rows {
  using raw = raw_items<It, Items>;
  using slot = vector_slot<raw, vector<char, 1>>;
  static constexpr int bytes = simt::warp_size * int(sizeof(slot));

  template <class Block>
  PMPP_HOST_DEVICE static void load_async(Block& block, const It& it, std::int64_t i, std::byte* row) {
    access<It>::template load_async<Items>(it, i + block.lane() * Items, at(row, block.lane()).in);
  }
  PMPP_HOST_DEVICE static void put(std::byte* row, int lane, const raw& x) { at(row, lane).in = x; }
  PMPP_HOST_DEVICE static raw get(std::byte* row, int lane) { return at(row, lane).in; }

private:
  PMPP_HOST_DEVICE static slot& at(std::byte* row, int lane) { return reinterpret_cast<slot*>(row)[lane]; }
};

/// Whether vectors of an array are whole words of 4 bytes that begin at multiples of them.
template <class T, int Items>
inline constexpr bool moves_in_words = Items * sizeof(T) % 4 == 0 && (Items > 1 || alignof(T) >= 4);

template <class T, int Items, bool Anywhere>
requires(moves_in_words<T, Items>) struct vector_rows<T*, Items, Anywhere> {
  using element = std::remove_cv_t<T>;
  using raw = raw_items<T*, Items>;
  static constexpr int lanes = simt::warp_size, size = Items * int(sizeof(T)),
                       word = size % 16 == 0  ? 16
                              : size % 8 == 0 ? 8
                                              : 4,
                       words = size / word, bytes = lanes * size;
  /// What is copied at once where a vector begins anywhere.
  static constexpr int least = Anywhere && alignof(T) >= 4 ? min(word, int(alignof(T))) : word;

  template <class Block>
  PMPP_HOST_DEVICE static void load_async(Block& block, T* p, std::int64_t i, std::byte* row) {
    const auto* const from = reinterpret_cast<const char*>(p + i);
    if (least < word && reinterpret_cast<std::uintptr_t>(from) % word != 0)
      copy<least>(block, from, row);
    else
      copy<word>(block, from, row);
  }
  PMPP_HOST_DEVICE static void put(std::byte* row, int lane, const raw& x) {
    for (int w = 0; w < words; ++w)
      memcpy(row + place(lane, w), reinterpret_cast<const char*>(pmpp::bytes_of(x)) + w * word, word);
  }
  PMPP_HOST_DEVICE static raw get(const std::byte* row, int lane) {
    raw x;
    for (int w = 0; w < words; ++w) {
      const auto y = *reinterpret_cast<const packed<std::uint32_t, word / 4, word>*>(row + place(lane, w));
      memcpy(reinterpret_cast<char*>(pmpp::bytes_of(x)) + w * word, &y, word);
    }
    return x;
  }

private:
  /// The byte of a row where word w of a vector begins.
  PMPP_HOST_DEVICE static int place(int v, int w) {
    constexpr bool swaps = words > 1 && words <= 8 && is_power_of_two(words);
    return (v * words + (swaps ? w ^ (v * words / 8 % words) : w)) * word;
  }
  template <int Chunk, class Block>
  PMPP_HOST_DEVICE static void copy(Block& block, const char* from, std::byte* row) {
    for (int k = 0; k < size / Chunk; ++k) {
      const int byte = (k * lanes + block.lane()) * Chunk;
      simt::copy_async<Chunk>(row + place(byte / size, byte % size / word) + byte % word, from + byte);
    }
  }
};

template <class It, class F, class T, int Items, bool Anywhere>
struct vector_rows<transform_iterator<It, F, T>, Items, Anywhere> : vector_rows<It, Items, Anywhere> {
  template <class Block>
  PMPP_HOST_DEVICE static void load_async(Block& block, const transform_iterator<It, F, T>& it, std::int64_t i,
                                          std::byte* row) {
    vector_rows<It, Items, Anywhere>::load_async(block, it.base, i, row);
  }
};

template <class A, class B, int Items, bool Anywhere>
struct vector_rows<zip_iterator<A, B>, Items, Anywhere> {
  using first = vector_rows<A, Items, true>;
  using second = vector_rows<B, Items, true>;
  using raw = raw_items<zip_iterator<A, B>, Items>;
  static constexpr int boundary = max(16, int(alignof(raw))), at_second = round_up(first::bytes, boundary),
                       bytes = at_second + round_up(second::bytes, boundary);

  template <class Block>
  PMPP_HOST_DEVICE static void load_async(Block& block, const zip_iterator<A, B>& it, std::int64_t i, std::byte* row) {
    first::load_async(block, it.a, i, row);
    second::load_async(block, it.b, i, row + at_second);
  }
  PMPP_HOST_DEVICE static void put(std::byte* row, int lane, const raw& x) {
    first::put(row, lane, x.first);
    second::put(row + at_second, lane, x.second);
  }
  PMPP_HOST_DEVICE static raw get(std::byte* row, int lane) {
    return {first::get(row, lane), second::get(row + at_second, lane)};
  }
};

namespace detail {

/// How many elements of an array lie before the first vector that vector_rows can load; -1: there is none.
template <int Items, class T>
std::int64_t lead_of_rows(const T* p) {
  const int word = vector_rows<const T*, Items, false>::word;
  for (int lead = 0; lead < Items; ++lead)
    if (reinterpret_cast<std::uintptr_t>(p + lead) % static_cast<std::uintptr_t>(word) == 0) return lead;
  return -1;
}

/// Goes back from a vector's first element by whole vectors to where a line of 128 bytes begins, if there is such a place. (Rows that
/// begin within a sector: 2^28 elements of 8 bytes are read at 71 % of a copy's speed on an H100, others at 91 %.)
template <int Items, class It>
std::int64_t begin_line(const It& it, std::int64_t first) {
  if constexpr (pmpp::detail::is_transform<It>) {
    return begin_line<Items>(it.base, first);
  } else if constexpr (pmpp::detail::is_zip<It>) {
    if constexpr (sizeof(value_of<decltype(it.a)>) >= sizeof(value_of<decltype(it.b)>))
      return begin_line<Items>(it.a, first);
    else
      return begin_line<Items>(it.b, first);
  } else if constexpr (std::is_pointer_v<It>) {
    constexpr std::int64_t size = sizeof(value_of<It>);
    const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(it));
    for (std::int64_t i = first; (first - i) * size < 128; i -= Items)
      if ((address + i * size) % 128 == 0) return i;
  }
  return first;
}

}  // namespace detail

/// As with_access, for kernels that load an ordered_layout by vector_rows: calls f with the items of a vector and the lead, which is
/// less than 0 where the first vectors lie in front of the data.
template <class It, class F>
void with_rows(const It& it, F f) {
  const auto call = [&](auto items, std::int64_t lead) {
    f(items, detail::begin_line<items>(it, lead > 0 ? lead - items : 0));
  };
  if constexpr (pmpp::detail::is_zip_of_pointers<It>) {
    using A = value_of<decltype(it.a)>;
    using B = value_of<decltype(it.b)>;
    // As many as fill a word of the wider side, and 4 bytes of the other one.
    constexpr auto least = [](int size, int alignment) {
      return alignment >= 4 ? 1 : 4 / greatest_common_divisor(4, size);
    };
    constexpr bool of_a = sizeof(A) >= sizeof(B);
    constexpr int items = max(max(least(sizeof(A), alignof(A)), least(sizeof(B), alignof(B))),
                              of_a ? detail::items_of_type<A>() : detail::items_of_type<B>());
    constexpr bool fixed_a = alignof(A) < 4, fixed_b = alignof(B) < 4,
                   sure = (!fixed_a || sizeof(A) == alignof(A)) && (!fixed_b || sizeof(B) == alignof(B));
    std::int64_t a = detail::lead_of_rows<items>(it.a), b = detail::lead_of_rows<items>(it.b);
    if (!fixed_a && (fixed_b || !of_a || a < 0)) a = b;
    if (!fixed_b && (fixed_a || of_a || b < 0)) b = a;
    if constexpr (!sure || (fixed_a && fixed_b))
      if (a != b || a < 0) return f(std::integral_constant<int, 1>{}, std::int64_t(0));
    call(std::integral_constant<int, items>{}, max(a, std::int64_t(0)));
  } else {
    with_access(it, call);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
