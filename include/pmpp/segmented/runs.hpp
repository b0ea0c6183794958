// SPDX-License-Identifier: Apache-2.0
//
// The kernel of segmented_inclusive_scan, reduce_by_key and run_length_encode.
//
//   1. A block takes a tile by ticket and copies it to shared memory. Meanwhile, for segments given by offsets, two
//      searches find the offsets in the tile, and threads mark the heads, one thread an offset. (Of a tile with more
//      offsets than that is worth, because of empty segments, each element searches for itself.) For runs of equal keys
//      a thread compares each key with the one before.
//   2. The tile is scanned from head to head (tile.hpp). The block publishes how many heads it has, and what the
//      elements from the last one on combine to.
//   3. One warp collects the same for all tiles before (block/look_back.hpp), with the operator of a segmented scan.
//      Meanwhile results wait in shared memory: all of them for a scan; for runs the key at each head, and the value of
//      the run that ends in front of it, packed.
//   4. The block writes whole lines. The prefix joins what lies in front of the first head.
//
// Work n (and offsets); traffic: inputs read, results written; one launch. The same bits on every run.
// (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016; PMPP ch. 11.)
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/look_back.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/segmented/tile.hpp>
#include <pmpp/select.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Where segments begin: at the offsets, at position 0 too, whether or not it is one of them.
template <class Offsets>
struct heads_at_offsets {
  static constexpr bool by_key = false;
  Offsets offsets;
  item_count count;
};
/// Where the key differs from the one before.
template <class Eq>
struct heads_by_key {
  static constexpr bool by_key = true;
  Eq eq;
};

/// The operator of run_length_encode, where each value is one: a length is a difference of positions.
struct add_lengths : plus {};

/// Where runs go.
template <class KeysOut, class ValuesOut>
struct runs_out {
  KeysOut keys;
  ValuesOut values;
};

/// What tiles tell each other: words, so that value and count fit 12 bytes where they can (block/tile_state.hpp).
template <class A, class Count>
struct run_state {
  std::uint32_t value_words[(sizeof(A) + 3) / 4], head_words[sizeof(Count) / 4];

  PMPP_HOST_DEVICE static run_state of(const A& value, Count heads) {
    run_state s{};
    memcpy(s.value_words, static_cast<const void*>(&value), sizeof(A));
    memcpy(s.head_words, &heads, sizeof(Count));
    return s;
  }
  PMPP_HOST_DEVICE A value() const {
    A a;
    memcpy(static_cast<void*>(&a), value_words, sizeof(A));
    return a;
  }
  PMPP_HOST_DEVICE Count heads() const {
    Count c;
    memcpy(&c, head_words, sizeof(Count));
    return c;
  }
};
/// A scan over offsets needs to know whether there are heads, not how many.
template <class A, class Count, class Op, bool CountHeads>
struct join_runs {
  using state = run_state<A, Count>;
  Op op;
  PMPP_HOST_DEVICE state operator()(const state& left, const state& right) const {
    const Count l = left.heads(), r = right.heads(), heads = CountHeads ? l + r : l | r;
    return state::of(r != 0 ? right.value() : static_cast<A>(op(left.value(), right.value())), heads);
  }
};

/// In: values; by key, pairs of key and value. Out: an iterator, or runs_out. Count holds the number of heads.
template <class In, class Heads, class Out, class Sink, class Op, class A, class Count, int Items,
          segmented_tuning Tuning>
struct run_kernel {
  static constexpr bool by_key = Heads::by_key;
  struct no_key {};
  template <class T>
  struct key_type {
    using type = no_key;
  };
  template <class K, class V>
  struct key_type<pair<K, V>> {
    using type = K;
  };
  using K = typename key_type<std::conditional_t<by_key, value_of<In>, no_key>>::type;
  using layout = tile_layout<In, Items, by_key ? sizeof(K) + sizeof(A) : sizeof(A),
                             by_key ? larger(alignof(K), alignof(A)) : alignof(A), Tuning>;
  static constexpr bool lengths_only = std::is_same_v<Op, add_lengths>;
  using state = run_state<A, Count>;
  using look_back = block::look_back<state>;
  static constexpr int threads = layout::threads, warps = threads / simt::warp_size, items = layout::items,
                       elements = layout::elements, min_blocks = layout::min_blocks;

  struct shared {
    typename layout::stage stage;
    alignas(16) std::uint8_t marks[by_key ? 16 : elements];
    parts_memory<A> parts;
    block::look_back_memory<state> look_back;
    state prefix;           ///< of the tiles before
    part<A> all;            ///< of the tile
    int first_head;         ///< position in the tile; `elements` without one
    std::int64_t split[2];  ///< offsets in front of the tile, and of the next one
    std::int64_t next;      ///< tile of the block
  };
  struct plan {
    block::ordered_layout<Items> data;
    std::int64_t tiles;  ///< at least one, which may be empty

    PMPP_HOST_DEVICE plan(std::int64_t count, std::int64_t lead)
        : data(count, lead),
          tiles(larger(std::int64_t(1), ceil_div(data.vectors, std::int64_t(layout::all_vectors)))) {}
  };
  struct arguments {
    In in;
    item_count count;
    Heads heads;
    Out out;
    Sink sink;
    Op op;
    std::int64_t lead;
    selection* found;  ///< where the result waits until all blocks have read the count, which it may overwrite
    look_back tiles;
    completion done;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const plan p(a.count.get(), a.lead);
    if constexpr (!by_key)
      for (int k = 0; k < items; ++k) memory.marks[block.thread() * items + k] = 0;
    std::int64_t index = a.tiles.first(block, memory.look_back);
    const bool once = p.tiles <= block.count();  // every block gets one tile
    while (index < p.tiles) {
      const tile t(p, index);
      layout::load(block, memory.stage, a.in, p.data, index * layout::all_vectors, p.data.vectors);
      simt::copy_async_batch();
      if (block.thread() == 0) memory.first_head = elements;
      if constexpr (!by_key) mark(block, memory, a, t);
      simt::copy_async_wait<0>();
      block.sync();
      if (t.first == 0 && t.end - t.begin == elements)
        scan<true>(block, memory, a, t);
      else
        scan<false>(block, memory, a, t);
      std::int64_t asked = p.tiles;
      if (block.warp() == 0) {
        state own{};
        if (block.thread() == 0) own = state::of(memory.all.value, static_cast<Count>(memory.all.heads));
        const state prefix =
            a.tiles.wait(block, memory.look_back, index, own, false, state{}, join_runs<A, Count, Op, by_key>{a.op});
        if (block.thread() == 0) {
          memory.prefix = prefix;
          if (!once) asked = a.tiles.ask();  // not earlier: from then on others wait for that tile
          memory.next = asked;
        }
      }
      block.sync();
      if constexpr (by_key)
        write_runs(block, memory, a, p, t);
      else
        write_scan(block, memory, a, t);
      index = memory.next;
      block.sync();
    }
    if (block.thread() == 0) a.tiles.leave(block, memory.look_back);
    a.tiles.finish(block, memory.look_back, p.tiles);
    if constexpr (by_key) {
      if (a.done.flag != nullptr) block.sync();
      if (block.thread() != 0 || !(block.count() == 1 || memory.look_back.last)) return;
      if (a.found != nullptr) a.sink(*a.found);
      a.done.signal();
    }
  }

private:
  struct tile {
    std::int64_t index, begin, end;  ///< its elements; begin may lie in front of the data
    int first;                       ///< position of its first element

    PMPP_HOST_DEVICE tile(const plan& p, std::int64_t i)
        : index(i),
          begin(p.data.element(i * layout::all_vectors)),
          end(smaller(p.data.n, begin + elements)),
          first(begin < 0 ? static_cast<int>(-begin) : 0) {}
  };

  /// Marks the offsets that lie in the tile. One barrier.
  template <class Block>
  PMPP_HOST_DEVICE static void mark(Block& block, shared& memory, const arguments& a, const tile& t) {
    const auto offset = [&](std::int64_t s) { return static_cast<std::int64_t>(a.heads.offsets[s]); };
    const std::int64_t count = a.heads.count.get();
    for (int i = block.warp(); i < 2; i += warps) {
      const std::int64_t bound = i == 0 ? larger(t.begin, std::int64_t(0)) : t.end;
      const std::int64_t before = count_leading(block, count, [&](std::int64_t s) { return offset(s) < bound; });
      if (block.lane() == 0) memory.split[i] = before;
    }
    block.sync();
    const std::int64_t first = memory.split[0], last = memory.split[1];
    if (last - first <= 4 * elements) {
      constexpr int batch = 4;  // loads on their way at once
      for (std::int64_t from = first; from < last; from += batch * threads) {
        std::int64_t here[batch], before[batch];
        for (int i = 0; i < batch; ++i) {
          const std::int64_t s = from + i * threads + block.thread();
          here[i] = s < last ? offset(s) : -1;
          before[i] = s > first && s < last ? offset(s - 1) : -1;
        }
        for (int i = 0; i < batch; ++i)
          if (here[i] != before[i]) memory.marks[here[i] - t.begin] = 1;
      }
    } else {
      for (std::int64_t i = t.begin + t.first + block.thread(); i < t.end; i += threads) {
        std::int64_t low = first, high = last;  // the first offset that is at least i
        while (low < high) {
          const std::int64_t s = low + (high - low) / 2;
          if (offset(s) < i)
            low = s + 1;
          else
            high = s;
        }
        if (low < last && offset(low) == i) memory.marks[i - t.begin] = 1;
      }
    }
  }

  /// Scans the tile, publishes what it combines to, and leaves results in shared memory. One barrier.
  /// Whole: all threads have all of their items.
  template <bool Whole, class Block>
  PMPP_HOST_DEVICE static void scan(Block& block, shared& memory, const arguments& a, const tile& t) {
    const int first = block.thread() * items;
    const int from = Whole ? 0 : smaller(larger(t.first - first, 0), items);
    const int to = Whole ? items : smaller(larger(static_cast<int>(t.end - t.begin) - first, 0), items);
    A y[by_key && !lengths_only ? items : 1]{};  // a scan reads its elements twice instead: that takes few registers
    K key[by_key ? items : 1]{};
    unsigned heads = 0;
    if constexpr (by_key) {
      K before{};
      if (from < to) before = key_before(memory, a, t, first + from);
      layout::for_items(a.in, memory.stage, block.thread(), from, to, [&](int k, const value_of<In>& x) {
        const bool no_head = t.begin + first + k > 0 && static_cast<bool>(a.heads.eq(before, x.first));
        heads |= unsigned(!no_head) << k;
        before = x.first;
        key[k] = x.first;
        if constexpr (!lengths_only) y[k] = static_cast<A>(x.second);
      });
    } else {
      heads = take_heads<items>(memory.marks + first);
    }
    part<A> own{};
    if constexpr (lengths_only)
      own = {static_cast<A>(heads != 0 ? to - last_head(heads) : to - from),
             static_cast<unsigned>(simt::count_bits(heads)), from < to};
    else if constexpr (by_key)
      own = scan_items(y, heads, from, to, a.op);
    else
      own = fold(memory, a, heads, from, to, block.thread());
    const join_parts<A, Op> join{a.op};
    const part<A> before = join_before<Whole, by_key>(block, memory.parts, own, part<A>{}, join);
    if (block.thread() == 0) {
      part<A> all = memory.parts.warp[0];
      for (int w = 1; w < warps; ++w) all = join(all, memory.parts.warp[w]);
      memory.all = all;
      a.tiles.publish(t.index, state::of(all.value, static_cast<Count>(all.heads)));
    }
    if (heads != 0 && before.heads == 0) memory.first_head = first + simt::trailing_zeros(heads);
    if constexpr (by_key && !lengths_only) join_items(y, before, heads, from, to, a.op);
    if constexpr (by_key) {
      A ended = before.value;
      auto rank = static_cast<int>(before.heads);
      for (int k = 0; k < items; ++k) {
        if ((heads >> k & 1) != 0) {
          staged_values(memory)[rank] = ended;
          staged_keys(memory)[rank] = key[k];
          ++rank;
        }
        if (k < from) continue;
        if constexpr (lengths_only)
          ended = (heads >> k & 1) != 0 ? A(1) : static_cast<A>(ended + 1);
        else
          ended = y[k];
      }
    } else {
      part<A> running = before;
      for (int r = 0; r < layout::vectors; ++r) {
        const typename layout::raw x = memory.stage.loaded(first / Items + r);
        A results[Items]{};
        for (int i = 0; i < Items; ++i) {
          if (r * Items + i < from || r * Items + i >= to) continue;
          append(running, heads >> (r * Items + i), static_cast<A>(block::access<In>::value(a.in, x, i)), a.op);
          results[i] = running.value;
        }
        memory.stage.store(first / Items + r, results);
      }
    }
  }

  /// Adds an element, which is a head if the lowest bit of `heads` is set.
  PMPP_HOST_DEVICE static void append(part<A>& to, unsigned heads, const A& x, const Op& op) {
    to.value = to.present && (heads & 1) == 0 ? static_cast<A>(op(to.value, x)) : x;
    to.present = true;
  }
  /// What the items [from, to) of a thread combine to.
  PMPP_HOST_DEVICE static part<A> fold(shared& memory, const arguments& a, unsigned heads, int from, int to,
                                       int thread) {
    part<A> p{};
    layout::for_items(a.in, memory.stage, thread, from, to,
                      [&](int k, const value_of<In>& x) { append(p, heads >> k, static_cast<A>(x), a.op); });
    p.heads = static_cast<unsigned>(simt::count_bits(heads));
    return p;
  }

  PMPP_HOST_DEVICE static int last_head(unsigned heads) { return 31 - simt::leading_zeros(heads); }
  PMPP_HOST_DEVICE static A* staged_values(shared& memory) { return reinterpret_cast<A*>(&memory.stage); }
  PMPP_HOST_DEVICE static K* staged_keys(shared& memory) {
    constexpr std::size_t at = round_up(elements * sizeof(A), alignof(K));
    static_assert(at + elements * sizeof(K) <= sizeof(typename layout::stage));
    return reinterpret_cast<K*>(reinterpret_cast<std::byte*>(&memory.stage) + at);
  }

  /// The key in front of position p of the tile.
  PMPP_HOST_DEVICE static K key_before(shared& memory, const arguments& a, const tile& t, int p) {
    if (t.begin + p == 0) return K{};
    if (p == 0) return a.in[t.begin - 1].first;
    return block::access<In>::value(a.in, memory.stage.loaded((p - 1) / Items), (p - 1) % Items).first;
  }

  template <class Block>
  PMPP_HOST_DEVICE static void write_runs(Block& block, shared& memory, const arguments& a, const plan& p,
                                          const tile& t) {
    const auto n = static_cast<int>(memory.all.heads);
    const std::int64_t before = t.index == 0 ? 0 : static_cast<std::int64_t>(memory.prefix.heads());
    for (int j = block.thread(); j < n; j += threads) {
      a.out.keys[before + j] = static_cast<value_of<decltype(a.out.keys)>>(staged_keys(memory)[j]);
      if (before + j == 0) continue;
      A value = staged_values(memory)[j];
      if (j == 0)  // this run began in a tile before
        value =
            memory.first_head == t.first ? memory.prefix.value() : static_cast<A>(a.op(memory.prefix.value(), value));
      a.out.values[before + j - 1] = static_cast<value_of<decltype(a.out.values)>>(value);
    }
    if (t.index != p.tiles - 1 || block.thread() != 0) return;
    if (p.data.n > 0) {
      A value = memory.all.value;
      if (n == 0) value = static_cast<A>(a.op(memory.prefix.value(), value));
      a.out.values[before + n - 1] = static_cast<value_of<decltype(a.out.values)>>(value);
    }
    const selection all = {before + n, p.data.n};
    if (a.found != nullptr)
      *a.found = all;
    else
      a.sink(all);
  }

  template <class Block>
  PMPP_HOST_DEVICE static void write_scan(Block& block, shared& memory, const arguments& a, const tile& t) {
    const auto position = [&](std::int64_t i) {
      return static_cast<int>(larger(smaller(i, t.end) - t.begin, std::int64_t(t.first)));
    };
    const int from = position(static_cast<std::int64_t>(a.heads.offsets[0]));
    const int to = position(static_cast<std::int64_t>(a.heads.offsets[a.heads.count.get() - 1]));
    const int behind = t.index == 0 ? 0 : memory.first_head;  // what lies in front of it joins the prefix
    A prefix{};
    if (behind > 0) prefix = memory.prefix.value();
    for (int r = 0; r < layout::vectors; ++r) {
      const int v = r * threads + block.thread();
      if (v * Items >= to || (v + 1) * Items <= from) continue;
      block::vector<value_of<Out>, Items> y{};
      for (int k = 0; k < Items; ++k) {
        A value = memory.stage.template stored<A>(v * Items + k);
        if (v * Items + k < behind && v * Items + k >= from && v * Items + k < to)
          value = static_cast<A>(a.op(prefix, value));
        y.item[k] = static_cast<value_of<Out>>(value);
      }
      const std::int64_t i = t.begin + v * Items;
      if constexpr (Items > 1) {
        if (v * Items >= from && (v + 1) * Items <= to) {
          block::access<Out>::template store<Items>(a.out, i, y);
          continue;
        }
      }
      for (int k = 0; k < Items; ++k)
        if (v * Items + k >= from && v * Items + k < to) a.out[i + k] = y.item[k];
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
