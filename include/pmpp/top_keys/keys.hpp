// SPDX-License-Identifier: Apache-2.0
//
// What a selection compares: the code of a number (core/number_code.hpp) and after it the place of the element in its row. All
// keys of a row are different, so that the k least of them are one set, whatever came first.
//
//   numbers of up to 4 bytes   one word: code << 32 | place        rows of up to 2^32 elements
//   numbers of 8 bytes         two words: code, place
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/sort.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/operators.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

struct wide_key {
  std::uint64_t code, place;
  PMPP_HOST_DEVICE friend bool operator<(const wide_key& x, const wide_key& y) {
    return x.code < y.code || (x.code == y.code && x.place < y.place);
  }
};

/// Keys of numbers with this code.
template <class Code>
struct selection_keys {
  using number = typename Code::key;
  using code = typename Code::bits;
  static constexpr bool wide = Code::width > 32;
  using key = std::conditional_t<wide, wide_key, std::uint64_t>;
  static constexpr std::int64_t longest_row = std::int64_t(1) << (wide ? 62 : 32);

  PMPP_HOST_DEVICE static key make(code c, std::int64_t place) {
    if constexpr (wide)
      return {c, static_cast<std::uint64_t>(place)};
    else
      return std::uint64_t(c) << 32 | static_cast<std::uint64_t>(place);
  }
  PMPP_HOST_DEVICE static code code_of(const key& x) {
    if constexpr (wide)
      return x.code;
    else
      return static_cast<code>(x >> 32);
  }
  PMPP_HOST_DEVICE static std::int64_t place_of(const key& x) {
    if constexpr (wide)
      return static_cast<std::int64_t>(x.place);
    else
      return static_cast<std::int64_t>(x & 0xffffffff);
  }
  /// No key comes after it.
  PMPP_HOST_DEVICE static key last() { return make(static_cast<code>(~code(0)), longest_row - 1); }
};

/// Keys in global memory: words apart, as a radix sort takes them.
template <class Keys>
struct key_list {
  using key = typename Keys::key;
  std::uint64_t *first, *second;  ///< second: places of wide keys, else not used

  PMPP_HOST_DEVICE key operator[](std::int64_t i) const {
    if constexpr (Keys::wide)
      return {first[i], second[i]};
    else
      return first[i];
  }
  PMPP_HOST_DEVICE void set(std::int64_t i, const key& x) const {
    if constexpr (Keys::wide) {
      first[i] = x.code;
      second[i] = x.place;
    } else {
      first[i] = x;
    }
  }
  PMPP_HOST_DEVICE key_list from(std::int64_t i) const { return {first + i, Keys::wide ? second + i : nullptr}; }
};

/// Keys of a block in shared memory, 8 of a word for each thread or 4 of two.
template <class Key, int Threads>
struct key_room : block::sort_memory<Key, Threads, 64 / int(sizeof(Key))> {
  using base = block::sort_memory<Key, Threads, 64 / int(sizeof(Key))>;
  PMPP_HOST_DEVICE Key& operator[](int i) { return this->slots()[base::slot(i)]; }
  PMPP_HOST_DEVICE static constexpr int size(int block_threads) { return block_threads * base::items; }
  /// The first `count` of them, which are all different. All threads of the block call it, after a barrier; it ends with one.
  template <class Block>
  PMPP_HOST_DEVICE void sort(Block& block, int count) {
    // The last part of a thread is filled up: to sort less is slower.
    for (int i = max(count, block.thread() * base::items); i < (block.thread() + 1) * base::items; ++i)
      if (block.thread() == count / base::items) (*this)[i] = after_all();
    if (count <= min(few, block.threads())) return sort_few(block, count);
    block::sort(block, *this, round_up(count, base::items), less{});
  }

  /// So many, up to the threads of the block, are sorted with three barriers: comparisons grow by the square.
  static constexpr int few = 256;

private:
  PMPP_HOST_DEVICE static Key after_all() {
    if constexpr (std::is_class_v<Key>)
      return {~std::uint64_t(0), ~std::uint64_t(0)};
    else
      return ~Key(0);
  }
  /// The place of a key is the number of those before it.
  template <class Block>
  PMPP_HOST_DEVICE void sort_few(Block& block, int count) {
    Key own{};
    int rank = 0;
    block.sync();
    if (block.thread() < count) {
      own = (*this)[block.thread()];
      for (int first = 0; first < count; first += base::items) {
        const Key* const part = this->slots() + base::slot(first);
#if defined(__CUDA_ARCH__)
#pragma unroll(base::items / 2)
#endif
        for (int k = 0; k < base::items; ++k) rank += part[k] < own ? 1 : 0;
      }
    }
    block.sync();
    if (block.thread() < count) (*this)[rank] = own;
    block.sync();
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
