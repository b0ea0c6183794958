// SPDX-License-Identifier: Apache-2.0
//
// A run of adjacent elements in shared memory, which a warp fetches from anywhere and reads by an iterator.
//
//     memory             . . 2 3 | 4 5 6 7 | 8 . . .       elements 2 ... 8, in words of 16 bytes
//     shared memory      . . 2 3 | 4 5 6 7 | 8 . . .       the same words: what lies beside the run in them comes along
//
// Words are copied asynchronously. Of those that go over an end of the data lanes copy what is inside, an element or a part of one
// each. The parts of a zip lie one behind the other, and may begin at different places of their words; what is computed of nothing,
// as indices are, takes no room; functions are called where elements are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// For runs of up to Most elements of an iterator:
///   possible               whether elements lie in words of 16 bytes as in any other memory
///   element_bytes          of one, in shared memory
///   bytes                  of a run there; a multiple of 16. It may be read up to 31 bytes past a run's last element
///   load(block, it, first, count, end, room)   a warp starts copying elements [first, first + count), of data that ends with
///                          `end`; complete as simt::copy_async is. 0 < count <= Most; room is aligned to 16 bytes
///   at(it, first, room)    the iterator to read element `first` and the following by
/// This general form reads element by element, and keeps values.
template <class It, int Most>
struct staged_run {
  using value = value_of<It>;
  static constexpr bool possible = alignof(value) <= 16;
  static constexpr int element_bytes = sizeof(value), bytes = round_up(Most * element_bytes, 16) + 32;

  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const It& it, std::int64_t first, int count, std::int64_t,
                                    std::byte* room) {
    constexpr int batch = max(1, min(8, 64 / element_bytes));  // all asked for before one is waited for
    value* const to = reinterpret_cast<value*>(room);
    for (int i = block.lane(); i < count; i += batch * simt::warp_size) {
      value x[batch]{};
      for (int k = 0; k < batch; ++k)
        if (i + k * simt::warp_size < count) x[k] = it[first + (i + k * simt::warp_size)];
      for (int k = 0; k < batch; ++k)
        if (i + k * simt::warp_size < count) to[i + k * simt::warp_size] = x[k];
    }
  }
  PMPP_HOST_DEVICE static const value* at(const It&, std::int64_t, std::byte* room) {
    return reinterpret_cast<const value*>(room);
  }
};

template <class T, int Most>
struct staged_run<T*, Most> {
  using element = std::remove_cv_t<T>;
  static constexpr bool possible = alignof(T) <= 16;
  static constexpr int element_bytes = sizeof(T), bytes = round_up(Most * element_bytes, 16) + 48;

  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, T* data, std::int64_t first, int count, std::int64_t end,
                                    std::byte* room) {
    const int before = behind_word(data + first), after = before + count * element_bytes, words = ceil_div(after, 16);
    const std::byte* const from = reinterpret_cast<const std::byte*>(data + first) - before;
    const bool first_inside = first * element_bytes >= before,
               last_inside = (end - first) * element_bytes >= 16 * words - before;
    for (int w = block.lane() + (first_inside ? 0 : 1); w < words - (last_inside ? 0 : 1); w += simt::warp_size)
      simt::copy_async<16>(room + 16 * w, from + 16 * w);
    if (!first_inside) copy_part(block, from, before, min(after, 16), room);
    if (!last_inside && (words > 1 || first_inside)) copy_part(block, from, max(before, 16 * (words - 1)), after, room);
  }
  PMPP_HOST_DEVICE static const element* at(T* data, std::int64_t first, std::byte* room) {
    return reinterpret_cast<const element*>(room + behind_word(data + first));
  }

private:
  PMPP_HOST_DEVICE static int behind_word(const T* p) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % 16);
  }
  /// Bytes [begin, end) of a word, one unit by each lane.
  template <class Block>
  PMPP_HOST_DEVICE static void copy_part(Block& block, const std::byte* from, int begin, int end, std::byte* room) {
    using unit = packed<unsigned char, alignof(T), alignof(T)>;
    if (const int i = begin + block.lane() * int(sizeof(unit)); i < end)
      *reinterpret_cast<unit*>(room + i) = *reinterpret_cast<const unit*>(from + i);
  }
};

template <class It, class F, class T, int Most>
struct staged_run<transform_iterator<It, F, T>, Most> : staged_run<It, Most> {
  using base = staged_run<It, Most>;
  using iterator = transform_iterator<It, F, T>;

  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const iterator& it, std::int64_t first, int count, std::int64_t end,
                                    std::byte* room) {
    base::load(block, it.base, first, count, end, room);
  }
  PMPP_HOST_DEVICE static auto at(const iterator& it, std::int64_t first, std::byte* room) {
    const auto elements = base::at(it.base, first, room);
    return transform_iterator<std::remove_const_t<decltype(elements)>, F, T>(elements, it.f);
  }
};

template <class A, class B, int Most>
struct staged_run<zip_iterator<A, B>, Most> {
  using left = staged_run<A, Most>;
  using right = staged_run<B, Most>;
  static constexpr bool possible = left::possible && right::possible;
  static constexpr int element_bytes = left::element_bytes + right::element_bytes, bytes = left::bytes + right::bytes;

  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const zip_iterator<A, B>& it, std::int64_t first, int count,
                                    std::int64_t end, std::byte* room) {
    left::load(block, it.a, first, count, end, room);
    right::load(block, it.b, first, count, end, room + left::bytes);
  }
  PMPP_HOST_DEVICE static auto at(const zip_iterator<A, B>& it, std::int64_t first, std::byte* room) {
    const auto a = left::at(it.a, first, room);
    const auto b = right::at(it.b, first, room + left::bytes);
    return zip_iterator<std::remove_const_t<decltype(a)>, std::remove_const_t<decltype(b)>>(a, b);
  }
};

/// What takes no room.
template <class It>
struct computed_run {
  static constexpr bool possible = true;
  static constexpr int element_bytes = 0, bytes = 0;

  template <class Block>
  PMPP_HOST_DEVICE static void load(Block&, const It&, std::int64_t, int, std::int64_t, std::byte*) {}
  PMPP_HOST_DEVICE static It at(const It& it, std::int64_t first, std::byte*) { return it + first; }
};
template <class T, int Most>
struct staged_run<counting_iterator<T>, Most> : computed_run<counting_iterator<T>> {};
template <class T, int Most>
struct staged_run<constant_iterator<T>, Most> : computed_run<constant_iterator<T>> {};

}  // namespace pmpp::inline PMPP_BACKEND::block
