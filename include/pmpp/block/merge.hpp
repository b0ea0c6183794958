// SPDX-License-Identifier: Apache-2.0
//
// How a block merges: a stretch of the result of any length, tile after tile.
//
//   1. One warp finds where the stretch begins in both inputs: the co-rank, by probing 32 places at a time.
//   2. Each input passes through a ring in shared memory, as wide asynchronous copies; memory is read once, and the
//      next tile is on its way while this one is merged:
//
//          ring of a    | merged | this tile, if all of it came from a | on its way |
//                                ^ next                                              ^ next + capacity
//
//   3. A thread finds the co-rank of its first element in the rings and merges `Items` elements one by one into
//      registers. Where its last thread ends the next tile begins: nobody has to search again.
//   4. Warps pass their results through shared memory and write whole rows.
//
// Values that go with the keys pass through rings of their own; the merge picks keys and notes where each came from.
// Two barriers a tile. (PMPP ch. 12, the circular-buffer merge, with the copies made asynchronous.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/co_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Stands for values, or an array of them, where there are keys alone.
struct nothing {};

/// How many elements a thread moves through shared memory at once.
template <class It>
constexpr int staged_items = 1;
template <class T>
constexpr int staged_items<T*> = access<T*>::items;

/// An input that passes through shared memory: element i has its place at i + shift, so that vectors of memory are
/// vectors there too. Where memory has no vectors (another iterator, an odd address) elements move one by one.
template <class It>
struct staged_input {
  static constexpr int items = staged_items<It>;

  It in{};
  std::int64_t count = 0;
  int shift = 0;
  bool wide = false;

  staged_input() = default;
  /// Host code.
  staged_input(const It& it, std::int64_t n) : in(it), count(n) {
    if constexpr (items > 1) {
      const std::int64_t lead = access<It>::template lead<items>(it);
      wide = lead >= 0;
      shift = lead > 0 ? items - static_cast<int>(lead) : 0;
    }
  }
  /// n elements from element `first`, which is a multiple of 16, on.
  PMPP_HOST_DEVICE staged_input part(std::int64_t first, std::int64_t n) const {
    staged_input p = *this;
    p.in = in + first;
    p.count = n;
    return p;
  }
};
template <>
struct staged_input<nothing> {
  PMPP_HOST_DEVICE staged_input part(std::int64_t, std::int64_t) const { return {}; }
};

/// As co_rank, by the 32 lanes of a warp: one round of loads for every five bits of the answer.
template <class Block, class A, class B, class Comp>
PMPP_HOST_DEVICE std::int64_t warp_co_rank(Block& block, std::int64_t diagonal, const A& a, std::int64_t a_count,
                                           const B& b, std::int64_t b_count, const Comp& comp) {
  std::int64_t low = larger(std::int64_t(0), diagonal - b_count), high = smaller(diagonal, a_count);
  while (low < high) {
    const std::int64_t step = ceil_div(high - low, std::int64_t(simt::warp_size));
    const std::int64_t i = low + (block.lane() + 1) * step - 1;  // the last place of this lane's part
    const bool before = i < high && !comp(b[diagonal - 1 - i], a[i]);
    low += block.warp_add(before ? 1 : 0) * step;
    high = smaller(high, low + step - 1);
    low = smaller(low, high);
  }
  return low;
}

/// The elements of an input around the tile that is being merged, in shared memory. Places are counted from the vector in
/// which the stretch begins, in 32 bits.
template <class It, class T, int Capacity, int Tile>
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
        if ((at < whole_begin_ || at >= whole_end_) && at >= begin_ && at < end_)
          slots_[place(at)] = static_cast<T>(in_[at]);
    front_ = larger(front_, end);
  }
  PMPP_HOST_DEVICE void advance(int used) { next_ += used; }
  /// Whether the next tile may need what the last refill has started to load.
  PMPP_HOST_DEVICE bool lacks() const { return smaller(end_, next_ + Tile) > landed_; }
  /// How many elements the next tile may need, and the slot of the first.
  PMPP_HOST_DEVICE int window() const { return smaller(end_ - next_, Tile); }
  PMPP_HOST_DEVICE int slot() const { return place(next_); }

private:
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
  PMPP_HOST_DEVICE static void put(T* rows, int lane, const T (&x)[Items]) {
    T* const own = rows + lane * of_thread;
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
    for (int i = block.lane(); i < count; i += simt::warp_size)
      out[first + i] = static_cast<value_of<Out>>(*at(rows, i));
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

/// Shared memory of a block that merges. K: keys; V: values, or nothing. A thread merges `Items` elements of a tile.
template <class K, class V, int Threads, int Items>
struct merge_memory {
  using key = K;
  using value = V;
  static constexpr int threads = Threads, items = Items, tile = Threads * Items, capacity = 2 * tile;
  static constexpr bool has_values = !std::is_same_v<V, nothing>;
  using value_or_byte = std::conditional_t<has_values, V, char>;
  using key_stage = detail::stage<K, Items>;
  using value_stage = detail::stage<value_or_byte, Items>;
  static constexpr int stage_bytes = larger(key_stage::bytes_of_warp, has_values ? value_stage::bytes_of_warp : 0);
  static constexpr int alignment = larger(16, larger(int(alignof(K)), int(alignof(V))));

  // Bytes, because types with constructors cannot lie in shared memory. Those of b follow those of a.
  alignas(alignment) unsigned char key_bytes[2 * capacity * sizeof(K)];
  alignas(alignment) unsigned char value_bytes[has_values ? 2 * capacity * sizeof(V) : 1];
  alignas(alignment) unsigned char stages[Threads / simt::warp_size][round_up(stage_bytes, alignment)];
  std::int64_t first_of_a;  ///< co-rank of the stretch
  int used_of_a;            ///< by the tile

  PMPP_HOST_DEVICE K* keys() { return reinterpret_cast<K*>(key_bytes); }
  PMPP_HOST_DEVICE value_or_byte* values() { return reinterpret_cast<value_or_byte*>(value_bytes); }
  template <class T>
  PMPP_HOST_DEVICE T* stage_of(int warp) {
    return reinterpret_cast<T*>(stages[warp]);
  }
};

/// Two sorted inputs and where their merge goes; VA, VB and VOut: nothing, where there are keys alone.
template <class KA, class KB, class KOut, class VA = nothing, class VB = nothing, class VOut = nothing>
struct merge_task {
  staged_input<KA> keys_a;
  staged_input<KB> keys_b;
  KOut keys_out;
  staged_input<VA> values_a;
  staged_input<VB> values_b;
  VOut values_out;
  int shift;  ///< tiles begin where i + shift is a multiple of the tile: on a vector of keys_out

  PMPP_HOST_DEVICE std::int64_t count() const { return keys_a.count + keys_b.count; }
};

namespace detail {

/// Writes a tile, `Items` elements a thread, to out[first] and the following; each warp its own part.
template <class Block, class Memory, class T, int Items, class Out>
PMPP_HOST_DEVICE void write_tile(Block& block, Memory& memory, const T (&x)[Items], int count, const Out& out,
                                 std::int64_t first) {
  constexpr int of_warp = simt::warp_size * Items;
  const int begin = block.warp() * of_warp;
  if (begin >= count) return;
  T* const rows = memory.template stage_of<T>(block.warp());
  stage<T, Items>::put(rows, block.lane(), x);
  block.sync_warp();
  stage<T, Items>::write(block, rows, smaller(count - begin, of_warp), out, first + begin);
}

/// What a thread merges in one tile.
template <class Memory>
struct merged_items {
  using K = typename Memory::key;
  static constexpr int items = Memory::items, tile = Memory::tile, capacity = Memory::capacity;

  K key[items];
  int source[Memory::has_values ? items : 1];  ///< the slot of each key; those of b follow those of a

  /// Elements `from` and the following of the first `count` of the merge of two windows; returns how many elements of a
  /// lie before the end. Inside: both windows are as long as the tile, which is whole, so that nothing can end.
  template <bool Inside, class Comp>
  PMPP_HOST_DEVICE int run(const K* keys, int first_a, int window_a, int first_b, int window_b, int from, int count,
                           const Comp& comp) {
    using window = ring_window<K, capacity>;
    const int i = co_rank(from, window{keys, first_a}, window_a, window{keys + capacity, first_b}, window_b, comp);
    int a = (first_a + i) & (capacity - 1), b = capacity + ((first_b + from - i) & (capacity - 1));
    int left_a = window_a - i, left_b = window_b - (from - i);
    K x = keys[Inside || left_a > 0 ? a : b], y = keys[Inside || left_b > 0 ? b : a];
    for (int k = 0; k < items; ++k) {
      if (!Inside && from + k >= count) break;
      const bool take_b = Inside ? comp(y, x) : left_a == 0 || (left_b > 0 && comp(y, x));
      const int slot = take_b ? b : a;
      const int next = (slot & capacity) | ((slot + 1) & (capacity - 1));
      key[k] = take_b ? y : x;
      if constexpr (Memory::has_values) source[k] = slot;
      (take_b ? b : a) = next;
      const int left = take_b ? --left_b : --left_a;
      if (k + 1 == items || (!Inside && left == 0)) continue;
      const K z = keys[next];
      (take_b ? y : x) = z;
    }
    return (a - first_a) & (capacity - 1);
  }
};

/// The rings of the values of both inputs, and the values that a thread takes from them.
template <class Memory, class Task, bool HasValues = Memory::has_values>
struct value_stream {
  using V = typename Memory::value;
  static constexpr int items = Memory::items, capacity = Memory::capacity;

  ring<decltype(Task::values_a.in), V, capacity, Memory::tile> a;
  ring<decltype(Task::values_b.in), V, capacity, Memory::tile> b;
  V value[items];

  PMPP_HOST_DEVICE value_stream(Memory& memory, const Task& task, std::int64_t first_a, std::int64_t first_b)
      : a(task.values_a, memory.values(), first_a), b(task.values_b, memory.values() + capacity, first_b) {}
  template <class Block>
  PMPP_HOST_DEVICE void refill(Block& block, int ahead) {
    a.refill(block, ahead);
    b.refill(block, ahead);
  }
  PMPP_HOST_DEVICE bool lacks() const { return a.lacks() || b.lacks(); }
  /// Takes the values of the first `count` of the thread's keys; key_a, key_b: the slots of the first keys.
  PMPP_HOST_DEVICE void take(Memory& memory, int key_a, int key_b, const merged_items<Memory>& merged, int count) {
    const V* const slots = memory.values();
    const int from_a = a.slot() - key_a, from_b = b.slot() - key_b;
    for (int k = 0; k < items; ++k) {
      if (k >= count) break;
      const int s = merged.source[k];
      value[k] = slots[(s & capacity) | ((s + (s < capacity ? from_a : from_b)) & (capacity - 1))];
    }
  }
  PMPP_HOST_DEVICE void advance(int used_a, int used_b) {
    a.advance(used_a);
    b.advance(used_b);
  }
  template <class Block>
  PMPP_HOST_DEVICE void write(Block& block, Memory& memory, int count, const Task& task, std::int64_t first) const {
    block.sync_warp();  // the stage has been read
    write_tile(block, memory, value, count, task.values_out, first);
  }
};
template <class Memory, class Task>
struct value_stream<Memory, Task, false> {
  PMPP_HOST_DEVICE value_stream(Memory&, const Task&, std::int64_t, std::int64_t) {}
  template <class Block>
  PMPP_HOST_DEVICE void refill(Block&, int) {}
  PMPP_HOST_DEVICE bool lacks() const { return false; }
  PMPP_HOST_DEVICE void take(Memory&, int, int, const merged_items<Memory>&, int) {}
  PMPP_HOST_DEVICE void advance(int, int) {}
  template <class Block>
  PMPP_HOST_DEVICE void write(Block&, Memory&, int, const Task&, std::int64_t) const {}
};

}  // namespace detail

/// Writes the elements [begin, end) of the merge of `task`. All threads of the block call it, once in the life of
/// `memory`. begin + task.shift is a multiple of a tile, or begin is 0.
template <class Block, class Memory, class Task, class Comp>
PMPP_HOST_DEVICE void merge(Block& block, Memory& memory, const Task& task, std::int64_t begin, std::int64_t end,
                            const Comp& comp) {
  using K = typename Memory::key;
  constexpr int items = Memory::items, tile = Memory::tile, capacity = Memory::capacity;
  if (begin >= end) return;
  if (block.warp() == 0) {
    const std::int64_t first =
        warp_co_rank(block, begin, task.keys_a.in, task.keys_a.count, task.keys_b.in, task.keys_b.count, comp);
    if (block.lane() == 0) memory.first_of_a = first;
  }
  block.sync();
  const std::int64_t first_of_a = memory.first_of_a, first_of_b = begin - first_of_a;
  ring<decltype(task.keys_a.in), K, capacity, tile> a(task.keys_a, memory.keys(), first_of_a);
  ring<decltype(task.keys_b.in), K, capacity, tile> b(task.keys_b, memory.keys() + capacity, first_of_b);
  detail::value_stream<Memory, Task> values(memory, task, first_of_a, first_of_b);
  const auto refill = [&](int ahead) {
    a.refill(block, ahead);
    b.refill(block, ahead);
    values.refill(block, ahead);
    simt::copy_async_batch();
  };
  refill(tile + 16);  // what the first tile may need; 16: the most elements of a vector
  refill(capacity);
  while (begin < end) {
    const std::int64_t to_boundary = tile - ((begin + task.shift) & (tile - 1));
    const int count = static_cast<int>(smaller(end - begin, to_boundary));
    if (a.lacks() || b.lacks() || values.lacks())
      simt::copy_async_wait<0>();
    else
      simt::copy_async_wait<1>();
    block.sync();
    detail::merged_items<Memory> merged;
    const int from = block.thread() * items;
    if (from < count) {
      const int window_a = a.window(), window_b = b.window();
      const bool inside = count == tile && window_a == tile && window_b == tile;
      const int end_of_a =
          inside ? merged.template run<true>(memory.keys(), a.slot(), tile, b.slot(), tile, from, tile, comp)
                 : merged.template run<false>(memory.keys(), a.slot(), window_a, b.slot(), window_b, from, count, comp);
      if (from + items >= count) memory.used_of_a = end_of_a;
      values.take(memory, a.slot(), b.slot(), merged, count - from);
    }
    block.sync();
    const int used_of_a = memory.used_of_a, used_of_b = count - used_of_a;
    a.advance(used_of_a);
    b.advance(used_of_b);
    values.advance(used_of_a, used_of_b);
    if (begin + count < end) refill(capacity);
    detail::write_tile(block, memory, merged.key, count, task.keys_out, begin);
    values.write(block, memory, count, task, begin);
    begin += count;
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
