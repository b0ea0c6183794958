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

/// The elements of an input around the tile that is being merged, in shared memory.
template <class It, class T, int Capacity, int Tile>
class ring {
  static_assert(is_power_of_two(Capacity));
  static constexpr int items = staged_input<It>::items;

public:
  PMPP_HOST_DEVICE ring(const staged_input<It>& source, T* slots, std::int64_t first)
      : source_(source), slots_(slots), front_(vector_of(first)), landed_(front_) {}

  /// Starts loading what of the `ahead` elements from `next` on is missing. Ends no batch.
  template <class Block>
  PMPP_HOST_DEVICE void refill(Block& block, std::int64_t next, int ahead) {
    landed_ = front_;
    const std::int64_t end =
        smaller(round_up(source_.count + source_.shift, std::int64_t(items)), vector_of(next) + ahead);
    for (std::int64_t at = front_ + block.thread() * items; at < end; at += block.threads() * items) {
      T* const slot = slots_ + place(at);
      const std::int64_t i = at - source_.shift;
      if constexpr (items > 1) {
        if (source_.wide && i >= 0 && i + items <= source_.count) {
          access<It>::template load_async<items>(source_.in, i, *reinterpret_cast<raw_items<It, items>*>(slot));
          continue;
        }
      }
      for (int k = 0; k < items; ++k)
        if (i + k >= 0 && i + k < source_.count) slot[k] = static_cast<T>(source_.in[i + k]);
    }
    front_ = larger(front_, end);
  }
  /// Whether the tile that begins at `next` may need what the last refill has started to load.
  PMPP_HOST_DEVICE bool lacks(std::int64_t next) const {
    return smaller(source_.count, next + Tile) + source_.shift > landed_;
  }
  /// How many elements from `next` on a tile may need.
  PMPP_HOST_DEVICE int window(std::int64_t next) const {
    return static_cast<int>(smaller(source_.count - next, std::int64_t(Tile)));
  }
  PMPP_HOST_DEVICE int slot_of(std::int64_t i) const { return place(i + source_.shift); }

private:
  PMPP_HOST_DEVICE static int place(std::int64_t at) { return static_cast<int>(at & (Capacity - 1)); }
  PMPP_HOST_DEVICE std::int64_t vector_of(std::int64_t i) const { return (i + source_.shift) / items * items; }

  staged_input<It> source_;
  T* slots_;
  std::int64_t front_;   ///< the place up to which elements are there or on their way
  std::int64_t landed_;  ///< the same when the last refill began
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

  /// The first `count` elements of the rows to out[first] and the following.
  template <class Block, class Out>
  PMPP_HOST_DEVICE static void write(Block& block, const T* rows, int count, const Out& out, std::int64_t first) {
    int done = 0;
    if constexpr (items > 1 && std::is_same_v<Out, T*>) {
      if (reinterpret_cast<std::uintptr_t>(out + first) % 16 == 0) {
        done = count / items * items;
        for (int i = block.lane() * items; i < done; i += simt::warp_size * items)
          copy_vector(out + first + i, access<const T*>::template load<items>(at(rows, i), 0));
      }
    }
    for (int i = done + block.lane(); i < count; i += simt::warp_size)
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
  int source[Memory::has_values ? items : 1];  ///< i: element i of a's window; capacity + j: of b's

  /// Elements `from` and the following of the first `count` of the merge of two windows; returns how many elements of a
  /// lie before the end. Inside: both windows are as long as the tile, which is whole, so that nothing can end.
  template <bool Inside, class Comp>
  PMPP_HOST_DEVICE int run(const K* keys, int first_a, int window_a, int first_b, int window_b, int from, int count,
                           const Comp& comp) {
    using window = ring_window<K, capacity>;
    const window a{keys, first_a}, b{keys + capacity, first_b};
    int i = co_rank(from, a, window_a, b, window_b, comp), j = from - i;
    const auto slot = [&](bool of_b) {
      return of_b ? capacity + ((first_b + j) & (capacity - 1)) : (first_a + i) & (capacity - 1);
    };
    const bool has_a = Inside || i < window_a, has_b = Inside || j < window_b;
    K x = keys[slot(!has_a)], y = keys[slot(has_b)];
    for (int k = 0; k < items; ++k) {
      if (!Inside && from + k >= count) break;
      const bool take_b = Inside ? comp(y, x) : i >= window_a || (j < window_b && comp(y, x));
      key[k] = take_b ? y : x;
      if constexpr (Memory::has_values) source[k] = take_b ? capacity + j : i;
      i += take_b ? 0 : 1;
      j += take_b ? 1 : 0;
      if (k + 1 == items || (!Inside && (take_b ? j >= window_b : i >= window_a))) continue;
      const K next = keys[slot(take_b)];
      if (take_b)
        y = next;
      else
        x = next;
    }
    return i;
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
  PMPP_HOST_DEVICE void refill(Block& block, std::int64_t next_a, std::int64_t next_b, int ahead) {
    a.refill(block, next_a, ahead);
    b.refill(block, next_b, ahead);
  }
  PMPP_HOST_DEVICE bool lacks(std::int64_t next_a, std::int64_t next_b) const {
    return a.lacks(next_a) || b.lacks(next_b);
  }
  /// Takes the values of the first `count` of the thread's keys.
  PMPP_HOST_DEVICE void take(Memory& memory, std::int64_t next_a, std::int64_t next_b,
                             const merged_items<Memory>& merged, int count) {
    const V* const slots = memory.values();
    const int first_a = a.slot_of(next_a), first_b = b.slot_of(next_b);
    for (int k = 0; k < items; ++k) {
      if (k >= count) break;
      const int s = merged.source[k];
      value[k] =
          slots[s < capacity ? (first_a + s) & (capacity - 1) : capacity + ((first_b + s - capacity) & (capacity - 1))];
    }
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
  PMPP_HOST_DEVICE void refill(Block&, std::int64_t, std::int64_t, int) {}
  PMPP_HOST_DEVICE bool lacks(std::int64_t, std::int64_t) const { return false; }
  PMPP_HOST_DEVICE void take(Memory&, std::int64_t, std::int64_t, const merged_items<Memory>&, int) {}
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
  std::int64_t next_a = memory.first_of_a, next_b = begin - next_a;
  ring<decltype(task.keys_a.in), K, capacity, tile> a(task.keys_a, memory.keys(), next_a);
  ring<decltype(task.keys_b.in), K, capacity, tile> b(task.keys_b, memory.keys() + capacity, next_b);
  detail::value_stream<Memory, Task> values(memory, task, next_a, next_b);
  const auto refill = [&](int ahead) {
    a.refill(block, next_a, ahead);
    b.refill(block, next_b, ahead);
    values.refill(block, next_a, next_b, ahead);
    simt::copy_async_batch();
  };
  refill(tile + 16);  // what the first tile may need; 16: the most elements of a vector
  refill(capacity);
  while (begin < end) {
    const auto whole = std::int64_t(tile) - ((begin + task.shift) & (tile - 1));
    const int count = static_cast<int>(smaller(end - begin, whole));
    if (a.lacks(next_a) || b.lacks(next_b) || values.lacks(next_a, next_b))
      simt::copy_async_wait<0>();
    else
      simt::copy_async_wait<1>();
    block.sync();
    detail::merged_items<Memory> merged;
    const int from = block.thread() * items;
    if (from < count) {
      const int window_a = a.window(next_a), window_b = b.window(next_b);
      const int first_a = a.slot_of(next_a), first_b = b.slot_of(next_b);
      const bool inside = count == tile && window_a == tile && window_b == tile;
      const int end_of_a =
          inside ? merged.template run<true>(memory.keys(), first_a, tile, first_b, tile, from, tile, comp)
                 : merged.template run<false>(memory.keys(), first_a, window_a, first_b, window_b, from, count, comp);
      if (from + items >= count) memory.used_of_a = end_of_a;
      values.take(memory, next_a, next_b, merged, count - from);
    }
    block.sync();
    next_a += memory.used_of_a;
    next_b = begin + count - next_a;
    if (begin + count < end) refill(capacity);
    detail::write_tile(block, memory, merged.key, count, task.keys_out, begin);
    values.write(block, memory, count, task, begin);
    begin += count;
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
