// SPDX-License-Identifier: Apache-2.0
//
// Whether a sorted a has every element of a sorted b, and as often: the k-th of equals in b wants a k-th in a.
//
// A warp gets neighbouring elements of b. It finds by a search where in a they begin, and goes on from there, part by part of b; in front
// of where it stands in a lies all that earlier parts have taken.
//
//      a  1 2 2 | 2 5 5 7 8 ...       b  ... 2 2 | 2 5 7 | ...        a part of b, and where in a it begins
//
//   1. Where a part can be expected to pass no more of a than shared memory holds, both are copied there. Each lane searches for where the
//      first of its elements belongs, and walks on as std::includes does: two comparisons a step, no more steps than both have elements.
//   2. Elsewhere, and where the part of a came out too short, lanes search in memory for four elements each. How far on the last of
//      these 128 belongs the warp sees in one step: each lane looks at the end of the block of a power of two elements that the place lies in,
//      which other warps look at too. Where b has few elements at all, a lane looks at three places a step: half as many steps.
//
// What is expected is what the part before has passed, and a quarter more; first, what a has for each element of b. So where b is about as
// dense as a both are read about once, and of an a with much between elements of b only what searches touch. An odd number of elements
// a lane puts neighbours into different banks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/search.hpp>
#include <pmpp/block/stage.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/search.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// Places j of a sorted b whose element a sorted a has not as often as b up to there.
template <class A, class B, class Comp>
struct missing_in {
  input<A> a;
  input<B> b;
  Comp comp;

  using X = value_of<A>;
  using Y = value_of<B>;
  static constexpr int lanes = simt::warp_size, nowhere = 1 << 30;
  static constexpr int bytes = max(int(sizeof(X)), int(sizeof(Y)));
  static constexpr bool stages = bytes <= 16;                        ///< of larger ones shared memory holds few
  static constexpr int part = !stages ? 0 : bytes <= 4 ? 256 : 128;  ///< elements of b
  static constexpr int most = stages ? 4096 / bytes : 0;             ///< of a beside them
  static constexpr int word_a = block::staged_word<A, X>, word_b = block::staged_word<B, Y>;

  /// A warp's part of both in shared memory.
  struct alignas(16) room {
    std::byte a[max(1, (most + word_a) * int(sizeof(X)))];
    alignas(16) std::byte b[max(1, (part + word_b) * int(sizeof(Y)))];
  };

  PMPP_HOST_DEVICE bool operator()(std::int64_t j) const {
    const Y x = b.first[j];
    const std::int64_t place = detail::partition_point(std::int64_t(0), a.count.get(),
                                                       [&](std::int64_t i) { return precedes(a.first[i], x); });
    return !has(counterpart(j, x, place, 0), x);
  }
  /// Searches the places [begin, end) by a warp; gives the first one that a lane has found less begin, or nowhere.
  template <class Block>
  PMPP_HOST_DEVICE int first_in_tile(Block& block, room& memory, std::int64_t begin, std::int64_t end) const {
    // All before the first element of b is passed with it.
    std::int64_t at = begin == 0 ? 0 : where_begins(block, begin);
    std::int64_t expected = max(std::int64_t(2), a.count.get() / b.count.get()) * part;
    for (std::int64_t first = begin; first < end;) {
      const std::int64_t before = at;
      int count = 0, missing = unknown;
      if constexpr (stages)
        if (expected <= most) {
          count = static_cast<int>(min(std::int64_t(part), end - first));
          missing = walk(block, memory, first, count, static_cast<int>(expected), at);
          expected = (at - before) * 5 / 4 + lanes;
        }
      if (missing == unknown) {
        count = static_cast<int>(min(std::int64_t(of_search * lanes), end - first));
        missing = search(block, first, count, at);
        expected = (at - before) * (part / (of_search * lanes)) + lanes;
      }
      if (block.any(missing < nowhere)) return missing < nowhere ? missing + static_cast<int>(first - begin) : nowhere;
      first += count;
    }
    return nowhere;
  }

private:
  static constexpr int of_search = 4, unknown = -1;
  static constexpr std::int64_t few = 1 << 14;

  template <class U, class V>
  PMPP_HOST_DEVICE bool precedes(const U& x, const V& y) const {
    return static_cast<bool>(comp(x, y));
  }
  PMPP_HOST_DEVICE bool has(std::int64_t i, const Y& x) const { return i < a.count.get() && !precedes(x, a.first[i]); }
  /// Where in a the counterpart of x = b[j] lies, if it has one: at its rank among equals from b[from] on, after `place`. The rank is
  /// found by steps that double: runs are mostly short.
  PMPP_HOST_DEVICE std::int64_t counterpart(std::int64_t j, const Y& x, std::int64_t place, std::int64_t from) const {
    const auto differs = [&](std::int64_t i) { return precedes(b.first[i], x); };
    std::int64_t equal_from = j, step = 1;
    while (step <= equal_from - from && !differs(equal_from - step)) {
      equal_from -= step;
      step *= 2;
    }
    return place + j - detail::partition_point(max(from, equal_from - step), equal_from, differs);
  }
  /// Where in a the counterpart of b[j] lies, if it has one.
  template <class Block>
  PMPP_HOST_DEVICE std::int64_t where_begins(Block& block, std::int64_t j) const {
    const Y x = b.first[j];
    const std::int64_t place = block::warp_search(block, std::int64_t(0), a.count.get(),
                                                  [&](std::int64_t i) { return precedes(a.first[i], x); });
    if (j == 0 || precedes(b.first[j - 1], x)) return place;
    return place + j -
           block::warp_search(block, std::int64_t(0), j - 1, [&](std::int64_t i) { return precedes(b.first[i], x); });
  }

  /// Walks over `count` elements of b from `first` on and at most `of_a` of a from `at` on. Gives the first of them that a lane misses,
  /// nowhere, or to all lanes unknown, where more of a is needed; else moves `at` behind what they have taken.
  template <class Block>
  PMPP_HOST_DEVICE int walk(Block& block, room& memory, std::int64_t first, int count, int of_a,
                            std::int64_t& at) const {
    const std::int64_t rest = max(std::int64_t(0), a.count.get() - at);
    const int n = static_cast<int>(min(std::int64_t(of_a), rest));
    const int from_a = block::behind_word<word_a>(a.first, at), from_b = block::behind_word<word_b>(b.first, first);
    X* const x = reinterpret_cast<X*>(memory.a);
    Y* const y = reinterpret_cast<Y*>(memory.b);
    block.sync_warp();  // nobody reads the part before any more
    block::stage_by_warp<word_a>(block, a.first, at, n, x, from_a);
    block::stage_by_warp<word_b>(block, b.first, first, count, y, from_b);
    simt::copy_async_commit();
    simt::copy_async_wait<0>();
    block.sync_warp();
    const X* const mine = x + from_a;
    const Y* const theirs = y + from_b;
    const int own = ceil_div(count, lanes) | 1, end = min((block.lane() + 1) * own, count);
    int j = min(block.lane() * own, count), i = 0;
    if (j > 0 && j < end) {
      const Y& least = theirs[j];
      i = detail::partition_point(0, n, [&](int k) { return precedes(mine[k], least); });
      if (!precedes(theirs[j - 1], least))
        i += j - detail::partition_point(0, j - 1, [&](int k) { return precedes(theirs[k], least); });
    }
    while (j < end && i < n) {
      const bool passes = precedes(mine[i], theirs[j]);
      if (!passes && precedes(theirs[j], mine[i])) break;
      ++i;
      if (!passes) ++j;
    }
    if (block.any(j < end && i >= n && n < rest)) return unknown;
    at += block.shuffle(i, (count - 1) / own);
    return j < end ? j : nowhere;
  }
  /// The same by searches in memory.
  template <class Block>
  PMPP_HOST_DEVICE int search(Block& block, std::int64_t first, int count, std::int64_t& at) const {
    const std::int64_t n = a.count.get(), low = at, last = first + count - 1;
    Y x[of_search]{};
    for (int r = 0; r < of_search; ++r) x[r] = b.first[min(first + r * lanes + block.lane(), last)];
    const Y greatest = b.first[last];
    const auto block_end = [&](int k) { return low | ((std::int64_t(64) << k) - 1); };
    const bool beyond = block_end(block.lane()) < n && precedes(a.first[block_end(block.lane())], greatest);
    const int passed = block.warp_add(beyond ? 1 : 0);
    const std::int64_t high = passed < lanes ? min(n, block_end(passed)) : n;
    std::int64_t place[of_search];
    for (int r = 0; r < of_search; ++r) place[r] = low;
    std::int64_t left = high - low;
    for (; b.count.get() <= few && left > 3; left -= 3 * (left / 4))
      for (int r = 0; r < of_search; ++r) {
        int passes = 0;
        for (int k = 1; k <= 3; ++k)
          if (const std::int64_t i = place[r] + k * (left / 4); i <= high && precedes(a.first[i - 1], x[r])) ++passes;
        place[r] += passes * (left / 4);
      }
    for (; left > 0; left = left > 1 ? left - left / 2 : 0)
      for (int r = 0; r < of_search; ++r)  // four searches take the same steps
        if (const std::int64_t i = place[r] + max(std::int64_t(1), left / 2);
            i <= high && precedes(a.first[i - 1], x[r]))
          place[r] = i;
    int missing = nowhere;
    for (int r = of_search - 1; r >= 0; --r) {
      const std::int64_t j = min(first + r * lanes + block.lane(), last);
      place[r] = counterpart(j, x[r], place[r], first);
      if (!has(place[r], x[r])) missing = static_cast<int>(j - first);
    }
    at = block.shuffle(place[of_search - 1], lanes - 1) + 1;
    return missing;
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail
