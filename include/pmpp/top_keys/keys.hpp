// SPDX-License-Identifier: Apache-2.0
//
// What a selection compares: the code of a number (core/number_code.hpp) and after it the place of the element in its row. All
// keys of a row are different, so that the k least of them are one set, whatever came first.
//
//   numbers of up to 4 bytes   one word: code << 32 | place        rows of up to 2^32 elements
//   numbers of 8 bytes         two words: code, place
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/number_code.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/block.hpp>

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

/// A number without any order, for each.
PMPP_HOST_DEVICE inline unsigned hash_of(unsigned x) {
  x *= 0x9e3779b1u;
  x = (x ^ x >> 15) * 0x85ebca77u;
  return x ^ x >> 13;
}

/// Keys of a block in shared memory, 8 of a word for each thread or 4 of two, and how it sorts them, which are all different:
///
///   1. One key in eight or so, taken here and there, is a splitter. Splitters are sorted by counting: the place of one is the
///      number of those before it.
///   2. Each key finds its part among the splitters by halving, all keys of a thread at a time, and its place there by a counter.
///   3. Keys move to their parts: a dozen each. In its part the place of a key is the number of those before it.
///
/// That is ten barriers and two searches, however many keys there are. Merging takes two barriers and a search for each power of
/// two, and what a thread merges are loads that wait for each other. Up to `few` keys are all splitters. A part is large only where
/// keys lie as the hash says that they should not: the same result, after more comparisons. (Frazer and McKellar, 1970.)
template <class Key, int Threads>
struct key_room {
  static constexpr int items = 64 / int(sizeof(Key)), tile = Threads * items;
  static constexpr int few = 256;  ///< so many, up to the threads of the block, are sorted by counting alone

  PMPP_HOST_DEVICE static constexpr int size(int block_threads) { return block_threads * items; }
  /// That a block of this many threads needs: keys, splitters, where each part begins, sums of warps.
  PMPP_HOST_DEVICE static constexpr std::size_t bytes_for(int block_threads) {
    const int words = block_threads / 2 + 1 + block_threads / simt::warp_size;
    return round_up(std::size_t(size(block_threads) + block_threads / 2) * sizeof(Key) + std::size_t(words) * 4,
                    std::size_t(16));
  }
  alignas(16) unsigned char bytes[bytes_for(Threads)];  // a block may have less threads

  PMPP_HOST_DEVICE Key& operator[](int i) { return reinterpret_cast<Key*>(bytes)[i]; }

  /// The first `count` of them. All threads of the block call it, after a barrier; it ends with one.
  template <class Block>
  PMPP_HOST_DEVICE void sort(Block& block, int count) {
    const int threads = block.threads(), thread = block.thread();
    Key* const keys = &(*this)[0];
    if (count <= min(few, threads)) return sort_by_counting(block, keys, count);
    const int parts = threads / (2 * count > size(threads) ? 2 : 4), turns = ceil_div(count, threads);
    Key* const splitters = keys + size(threads);
    auto* const begins = reinterpret_cast<unsigned*>(splitters + threads / 2);
    if (thread < parts) {
      const int first = thread * count / parts, end = (thread + 1) * count / parts;
      splitters[thread] = keys[first + static_cast<int>(hash_of(unsigned(thread)) % unsigned(end - first))];
      begins[thread] = 0;
    }
    block.sync();
    sort_by_counting(block, splitters, parts);

    Key own[items]{};
    int at[items]{};                            // the part of a key, then its place
    const auto each = [&](int first, auto f) {  // f(j, i): key i is the thread's key j
      for (int j = 0; j < items; ++j)
        if (const int i = first + j * threads; i < count) f(j, i);
    };
    // Keys of sorted data come in order: lanes take them from places far apart, and do not wait for one counter.
    const int apart = thread * 17 % threads;
    each(apart, [&](int j, int i) { own[j] = keys[i]; });
    find_parts(at, parts, turns, [&](int j, int part) { return own[j] < splitters[part]; });
    each(apart, [&](int j, int) { at[j] |= static_cast<int>(simt::atomic_add(&begins[at[j]], 1u) << 16); });
    block.sync();
    counts_to_begins(block, begins, parts);
    each(apart, [&](int j, int) { keys[begins[at[j] & 0xffff] + unsigned(at[j] >> 16)] = own[j]; });
    block.sync();

    // Neighbours lie in one part, whose keys they read together.
    find_parts(at, parts, turns, [&](int j, int part) { return unsigned(thread + j * threads) < begins[part]; });
    each(thread, [&](int j, int i) {
      own[j] = keys[i];
      const auto begin = static_cast<int>(begins[at[j]]), end = static_cast<int>(begins[at[j] + 1]);
      at[j] = begin;
#if defined(__CUDA_ARCH__)
#pragma unroll 2
#endif
      for (int other = begin; other < end; ++other) at[j] += keys[other] < own[j] ? 1 : 0;
    });
    block.sync();
    each(thread, [&](int j, int) { keys[at[j]] = own[j]; });
    block.sync();
  }

private:
  /// The last part, of a power of two, that does not begin after(j, part) key j; for all keys of a thread.
  template <class After>
  PMPP_HOST_DEVICE static void find_parts(int (&at)[items], int parts, int turns, const After& after) {
    constexpr int at_once = 4;  // loads that do not wait for each other; of more addresses registers run out
    for (int j0 = 0; j0 < items; j0 += at_once) {
      for (int j = j0; j < j0 + at_once; ++j) at[j] = 0;
      if (j0 >= turns) continue;
      for (int step = parts / 2; step > 0; step /= 2)
        for (int j = j0; j < j0 + at_once; ++j) at[j] += after(j, at[j] + step) ? 0 : step;
    }
  }
  /// No more than the block has threads. What threads there are share the comparisons.
  template <class Block>
  PMPP_HOST_DEVICE static void sort_by_counting(Block& block, Key* keys, int count) {
    int lanes = 1;  // for each key
    while (lanes < simt::warp_size && 2 * lanes * count <= block.threads()) lanes *= 2;
    const int i = block.thread() / lanes, lane = block.thread() % lanes;
    Key own{};
    int rank = 0;
    if (i < count) {
      own = keys[i];
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (int other = lane; other < count; other += lanes) rank += keys[other] < own ? 1 : 0;
    }
    for (int other = 1; other < lanes; other *= 2) rank += block.shuffle_xor(rank, other);
    block.sync();
    if (i < count && lane == 0) keys[rank] = own;
    block.sync();
  }
  /// Of half as many parts as threads, or less; begins[parts] is where the last one ends. It ends with a barrier.
  template <class Block>
  PMPP_HOST_DEVICE static void counts_to_begins(Block& block, unsigned* begins, int parts) {
    unsigned* const sums = begins + parts + 1;
    const unsigned count = block.thread() < parts ? begins[block.thread()] : 0;
    unsigned end = block::warp_inclusive_scan(block, count, plus{});
    if (block.lane() == simt::warp_size - 1) sums[block.warp()] = end;
    block.sync();
    if (block.thread() < parts) {
      for (int w = 0; w < block.warp(); ++w) end += sums[w];
      begins[block.thread()] = end - count;
      if (block.thread() == parts - 1) begins[parts] = end;
    }
    block.sync();
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
