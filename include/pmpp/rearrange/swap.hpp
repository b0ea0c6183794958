// SPDX-License-Identifier: Apache-2.0
//
// swap_ranges of two arrays, wherever they begin.
//
// A block takes the same elements [low, high) of both, reads them all, waits for its other threads, and writes: no other block reads
// them. Of either array a thread writes a word of 16 bytes. What belongs there it reads from the other array as the two words that
// cover it, and shifts them in registers. The few elements around the words go one by one, a thread each.
//
//      a    [low |word|word|word|word|    high)        words of a, from elements of b
//      b    [low    |word|word|word|word| high)        words of b, from elements of a
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <pmpp/block/load_covering.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Each: bytes of an element, and what divides where they begin; 1, 2, 4 or 8. An item of the count has `of_item` elements.
template <int Each>
struct swap_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, items = 16 / Each, tile = threads * items;  ///< elements of a word, of a block

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, std::byte* a, std::byte* b, const item_count& count,
                                   int of_item) const {
    simt::previous_kernels_done();
    const std::int64_t n = count.get() * of_item, low = block.index() * tile, high = min(low + tile, n);
    if (low >= n) return;
    const share of_a(a, b, low, high, block.thread()), of_b(b, a, low, high, block.thread());
    block.sync();
    of_a.write();
    of_b.write();
  }

private:
  /// What a thread writes to one of the arrays: a word, and an element.
  struct share {
    std::byte *word_to = nullptr, *element_to = nullptr;  ///< null: none
    std::uint32_t word[4];
    unsigned char element[Each];

    /// Words begin at lines of 128 bytes. Where arrays lie differently they are a word away from both ends, so that what covers them lies
    /// in [low, high) too.
    PMPP_HOST_DEVICE share(std::byte* to, const std::byte* from, std::int64_t low, std::int64_t high, int thread) {
      const bool alike = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % 16 == 0;
      const int away = alike ? 0 : items;
      const auto past_line =
          static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % 128) + (low + away) * Each;
      const std::int64_t first = low + away + (128 - past_line % 128) % 128 / Each;
      const std::int64_t words = max(std::int64_t(0), (high - away - first) / items);
      const std::int64_t front = min(first, high) - low, at = low + (thread < front ? thread : thread + words * items);
      if (at < high) {
        element_to = to + at * Each;
        memcpy(element, __builtin_assume_aligned(from + at * Each, Each), Each);
      }
      if (thread < words) {
        word_to = to + (first + thread * items) * Each;
        block::load_covering<Each>(word, from + (first + thread * items) * Each);
      }
    }
    PMPP_HOST_DEVICE void write() const {
      if (word_to != nullptr) memcpy(__builtin_assume_aligned(word_to, 16), word, 16);
      if (element_to != nullptr) memcpy(__builtin_assume_aligned(element_to, Each), element, Each);
    }
  };
  static_assert(128 / Each + 3 * items <= threads, "each thread has one of the elements around the words at most");
};

template <class P, class T>
void swap_arrays(const P& where, T* a, T* b, const item_count& count) {
  constexpr int each = min(8, int(alignof(T))), of_item = int(sizeof(T)) / each;
  using kernel = swap_kernel<each>;
  launch(where, ceil_div(count.bound * of_item, std::int64_t(kernel::tile)), kernel{}, reinterpret_cast<std::byte*>(a),
         reinterpret_cast<std::byte*>(b), count, of_item);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
