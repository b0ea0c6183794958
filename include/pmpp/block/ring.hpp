// SPDX-License-Identifier: Apache-2.0
//
// A ring holds the elements of an input around the tile that is being merged, as wide asynchronous copies; memory is read
// once, and the next tile is on its way while this one is merged:
//
//     ring of a    | merged | this tile, if all of it came from a | on its way |
//                           ^ next                                              ^ next + capacity
//
// Where the last thread ends the next tile begins: nobody has to search again. (PMPP ch. 12, the circular-buffer merge,
// with the copies made asynchronous.) Tiles whose ends are known need no rings: block/merge_tiles.hpp, merge_runs.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge.hpp>
#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// The elements of an input around the tile that is being merged, in shared memory. Places are counted from the vector in
/// which the stretch begins, in 32 bits.
template <class It, class T, int Capacity>
class ring {
  static_assert(is_power_of_two(Capacity));
  static constexpr int items = staged_input<It>::items, far = 1 << 30;

public:
  /// The stretch begins at element `first`.
  PMPP_HOST_DEVICE ring(const staged_input<It>& source, T* slots, std::int64_t first) : slots_(slots) {
    const std::int64_t origin = (first + source.shift) / items * items - source.shift;
    in_ = source.in + origin;
    next_ = static_cast<int>(first - origin);
    begin_ = static_cast<int>(larger(std::int64_t(0), -origin));
    end_ = static_cast<int>(smaller(source.count - origin, std::int64_t(far)));
    whole_begin_ = source.wide ? round_up(begin_, items) : far;
    whole_end_ = source.wide ? end_ / items * items : 0;
  }

  /// Starts loading what of the next `ahead` elements is missing. Ends no batch.
  template <class Block>
  PMPP_HOST_DEVICE void refill(Block& block, int ahead) {
    landed_ = front_;
    const int end = smaller(round_up(end_, items), next_ / items * items + ahead);
    if constexpr (items > 1) {
      const int whole_end = smaller(end, whole_end_);
      for (int at = larger(front_, whole_begin_) + block.thread() * items; at < whole_end;
           at += block.threads() * items)
        access<It>::template load_async<items>(in_, at, *reinterpret_cast<raw_items<It, items>*>(slots_ + place(at)));
    }
    if (front_ < whole_begin_ || end > whole_end_)
      for (int at = front_ + block.thread(); at < end; at += block.threads())
        if ((at < whole_begin_ || at >= whole_end_) && at >= begin_ && at < end_) load_one(at, slots_ + place(at));
    front_ = larger(front_, end);
  }
  PMPP_HOST_DEVICE void advance(int used) { next_ += used; }
  /// Whether the next `most` elements may be among those that the last refill has started to load.
  PMPP_HOST_DEVICE bool lacks(int most) const { return smaller(end_, next_ + most) > landed_; }
  /// How many elements a merge can yield from those that are there, and `all`: those on their way, before this ring runs
  /// dry.
  PMPP_HOST_DEVICE int lasts(bool all) const {
    const int there = all ? front_ : landed_;
    return there >= end_ ? far : there - next_;
  }
  /// How many of the next `most` elements exist, and the slot of the first.
  PMPP_HOST_DEVICE int window(int most) const { return smaller(end_ - next_, most); }
  PMPP_HOST_DEVICE int slot() const { return place(next_); }

private:
  PMPP_HOST_DEVICE void load_one(int at, T* slot) const {
    using raw = raw_items<It, 1>;
    if constexpr (std::is_same_v<value_of<It>, T> && sizeof(raw) == sizeof(T))
      access<It>::template load_async<1>(in_, at, *reinterpret_cast<raw*>(slot));
    else
      *slot = element_as<T>(in_[at]);
  }
  PMPP_HOST_DEVICE static int place(int at) { return at & (Capacity - 1); }

  It in_;  ///< at place 0
  T* slots_;
  int next_;                     ///< the first place that is not merged yet
  int begin_, end_;              ///< places that exist
  int whole_begin_, whole_end_;  ///< those that move as vectors
  int front_ = 0;                ///< the place up to which elements are there or on their way
  int landed_ = 0;               ///< the same when the last refill began
};

/// A part of a ring as an array.
template <class T, int Capacity>
struct ring_window {
  const T* slots;
  int first;
  PMPP_HOST_DEVICE const T& operator[](int i) const { return slots[(first + i) & (Capacity - 1)]; }
};

namespace detail {

/// Rows of results in shared memory: where a thread's elements lie so that both ways to touch them avoid bank conflicts.
template <class T, int Items>
struct stage {
  static constexpr int items = Items % access<T*>::items == 0 ? access<T*>::items : 1;
  static constexpr int padding = items > 1 && Items* int(sizeof(T)) / 16 % 2 == 0 ? items : 0;
  static constexpr int of_thread = Items + padding;
  static constexpr int bytes_of_warp = round_up(simt::warp_size * of_thread * int(sizeof(T)), 16);

  /// The calling lane's elements into the rows of its warp.
  PMPP_HOST_DEVICE static void put(T* rows, int lane, const T (&x)[Items]) { put(rows + lane * of_thread, x); }
  /// The elements of a thread to where its vectors fit.
  PMPP_HOST_DEVICE static void put(T* own, const T (&x)[Items]) {
    for (int k = 0; k < Items; k += items) {
      if constexpr (items > 1) {
        packed_vector<T, items> v{};
        for (int m = 0; m < items; ++m) v.set(m, x[k + m]);
        copy_vector(own + k, v);
      } else {
        own[k] = x[k];
      }
    }
  }
  PMPP_HOST_DEVICE static const T* at(const T* rows, int i) { return rows + i / Items * of_thread + i % Items; }

  /// The first `count` elements of the rows to out[first] and the following. Part of a row moves element by element.
  template <class Block, class Out>
  PMPP_HOST_DEVICE static void write(Block& block, const T* rows, int count, const Out& out, std::int64_t first) {
    if constexpr (items > 1 && std::is_same_v<Out, T*>) {
      if (count == simt::warp_size * Items && reinterpret_cast<std::uintptr_t>(out + first) % 16 == 0) {
        for (int k = 0; k < Items; k += items) {
          const int i = k * simt::warp_size + block.lane() * items;
          copy_vector(out + first + i, access<const T*>::template load<items>(at(rows, i), 0));
        }
        return;
      }
    }
    for (int i = block.lane(); i < count; i += simt::warp_size) assign(out, first + i, *at(rows, i));
  }

private:
  template <class V>
  PMPP_HOST_DEVICE static void copy_vector(T* to, const V& v) {
#if defined(__CUDA_ARCH__)
    *reinterpret_cast<V*>(to) = v;
#else
    memcpy(static_cast<void*>(to), &v, sizeof v);
#endif
  }
};

}  // namespace detail

namespace detail {

/// Writes a tile, `Items` elements a thread, to out[first] and the following; each warp its own part.
template <class Block, class Memory, class T, int Items, class Out>
PMPP_HOST_DEVICE void write_tile(Block& block, Memory& memory, const T (&x)[Items], int count, const Out& out,
                                 std::int64_t first) {
  constexpr int of_warp = simt::warp_size * Items;
  const int begin = block.warp() * of_warp;
  if (begin >= count) return;
  T* const rows = memory.stage_of(block.warp());
  stage<T, Items>::put(rows, block.lane(), x);
  block.sync_warp();
  stage<T, Items>::write(block, rows, smaller(count - begin, of_warp), out, first + begin);
}

}  // namespace detail

/// Elements `from` and the following of the first `count` of the merge of two parts of rings, which begin in slots first_a
/// and first_b and have window_a and window_b elements; the ring of b follows that of a. Returns how many elements of a
/// lie before the end. Inside: both windows are at least `count` long, and all elements exist: nothing can end.
template <bool Inside, int Capacity, class T, int Items, class Comp>
PMPP_HOST_DEVICE int merge_items(const T* slots, int first_a, int window_a, int first_b, int window_b, int from,
                                 int count, const Comp& comp, T (&x)[Items]) {
  using window = ring_window<T, Capacity>;
  const int i = co_rank(from, window{slots, first_a}, window_a, window{slots + Capacity, first_b}, window_b, comp);
  int a = (first_a + i) & (Capacity - 1), b = Capacity + ((first_b + from - i) & (Capacity - 1));
  int left_a = window_a - i, left_b = window_b - (from - i);
  T next_a = slots[Inside || left_a > 0 ? a : b], next_b = slots[Inside || left_b > 0 ? b : a];
  for (int k = 0; k < Items; ++k) {
    if (!Inside && from + k >= count) continue;  // not `break`, behind which GCC 12 sees writes past the end of x
    const bool take_b = Inside ? comp(next_b, next_a) : left_a == 0 || (left_b > 0 && comp(next_b, next_a));
    x[k] = take_b ? next_b : next_a;
    const int slot = take_b ? b : a, next = (slot & Capacity) | ((slot + 1) & (Capacity - 1));
    (take_b ? b : a) = next;
    const int left = take_b ? --left_b : --left_a;
    if (k + 1 == Items || (!Inside && left == 0)) continue;
    const T loaded = slots[next];
    (take_b ? next_b : next_a) = loaded;
  }
  return i + ((a - first_a - i) & (Capacity - 1));
}

}  // namespace pmpp::inline PMPP_BACKEND::block
