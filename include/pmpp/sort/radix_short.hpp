// SPDX-License-Identifier: Apache-2.0
//
// Radix sorts of short inputs in one launch.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/grid_barrier.hpp>
#include <pmpp/block/radix_rank.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/sort/radix_keys.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

#ifdef STAMPS
__device__ long long stamps[2048];
PMPP_HOST_DEVICE inline void do_stamp([[maybe_unused]] long long i) {
#ifdef __CUDA_ARCH__
  stamps[i] = clock64();
#endif
}
#define STAMP(i) if (block.thread() == 0 && block.index() < 64) do_stamp(block.index() * 32 + (i))
#else
#define STAMP(i)
#endif
#ifndef AT_ONCE
#define AT_ONCE 9
#endif
namespace pmpp::inline PMPP_BACKEND::detail {

/// Finds the place of each key by comparing it with all others: each block those of 32 keys.
template <class Code, class V, class KeysIn, class ValuesIn, class KeysOut, class ValuesOut, int Threads, int Most>
struct radix_compare_kernel {
  using bits = typename Code::bits;
  static constexpr int threads = Threads, lanes = simt::warp_size, warps = threads / lanes, most = Most,
                       min_blocks = smaller(16, larger(1, 1024 / threads)), keys_of_block = lanes,
                       loads = 8;

  struct shared {
    alignas(16) bits keys[most];
    unsigned place[lanes];
  };
  struct arguments {
    KeysIn keys_in;
    ValuesIn values_in;
    KeysOut keys_out;
    ValuesOut values_out;
    item_count count;
    key_bits range;
    unsigned* barrier;  ///< in place: two words
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const int n = static_cast<int>(a.count.get()), padded = round_up(n, lanes);
    const bits mask = code_less<Code>(a.range).mask;
    for (int first = block.thread(); first < padded; first += loads * threads) {
      bits x[loads];
      for (int k = 0; k < loads; ++k) {
        const int i = first + k * threads;
        x[k] = i < n ? Code::encode(a.keys_in[i]) & mask : static_cast<bits>(~bits(0));
      }
      for (int k = 0; k < loads; ++k)
        if (first + k * threads < padded) memory.keys[first + k * threads] = x[k];
    }
    if (block.thread() < lanes) memory.place[block.thread()] = 0;
    block.sync();
    const int own = static_cast<int>(block.index()) * lanes, i = own + block.lane();
    const bits mine = own < n ? memory.keys[i] : bits(0);
    float before = 0;
    for (int first = block.warp() * lanes; first < (own < n ? n : 0); first += threads) {
      const bits* const other = memory.keys + first;
      if (first < own)
        for (int j = 0; j < lanes; ++j) { if (!(mine < other[j])) before += 1.0f; }
      else if (first > own)
        for (int j = 0; j < lanes; ++j) { if (other[j] < mine) before += 1.0f; }
      else
        for (int j = 0; j < lanes; ++j) before += other[j] < mine || (other[j] == mine && j < block.lane()) ? 1.0f : 0.0f;
    }
    simt::atomic_add(&memory.place[block.lane()], static_cast<unsigned>(before));
    typename Code::key key{};
    [[maybe_unused]] V value;
    if (block.warp() == 0 && i < n) {
      key = a.keys_in[i];
      if constexpr (has_values<V>) value = static_cast<V>(a.values_in[i]);
    }
    if (a.barrier != nullptr) {
      block::grid_barrier barrier(a.barrier, a.barrier + 1);
      barrier.sync(block, [] {}, [] {});
      if (block.thread() == 0 && barrier.leave(block)) simt::store(a.barrier, 0u);
    } else {
      block.sync();
    }
    if (block.warp() == 0 && i < n) {
      const auto to = static_cast<std::int64_t>(memory.place[block.lane()]);
      block::assign(a.keys_out, to, key);
      if constexpr (has_values<V>) block::assign(a.values_out, to, value);
    }
  }
};

/// All blocks sort at once, a tile each, and meet after each pass.
template <class Code, class V, class KeysIn, class ValuesIn, class KeysOut, class ValuesOut, int Threads, int Items>
struct radix_together_kernel {
  using bits = typename Code::bits;
  static constexpr int threads = Threads, items = Items, tile = threads * items, lanes = simt::warp_size,
                       warps = threads / lanes, min_blocks = 1, quads = block::radix_digits / 8;

  struct shared {
    block::radix_rank_memory<threads> rank;
    unsigned before[block::radix_digits], all[block::radix_digits];
    unsigned all_of_group[decltype(rank)::groups];
    unsigned offset[block::radix_digits];
    int constant;
    bool last;
    alignas(16) bits keys[tile];
    alignas(larger(16, int(alignof(V)))) unsigned char bytes[has_values<V> ? tile * sizeof(V) : 16];

    PMPP_HOST_DEVICE V* values() { return reinterpret_cast<V*>(bytes); }
  };
  static_assert(tile < 32768);
  struct arguments {
    KeysIn keys_in;
    ValuesIn values_in;
    KeysOut keys_out;
    ValuesOut values_out;
    item_count count;
    key_bits range;
    int passes, rows;
    unsigned* barrier;
    simt::quad* table;  ///< 2 x blocks x quads
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const int size = threads * a.rows, n = static_cast<int>(a.count.get());
    const int tile_first = static_cast<int>(block.index()) * size, mine = block.warp() * a.rows * lanes + block.lane();
    const int found = larger(0, smaller(size, n - tile_first));
    const int blocks = static_cast<int>(block.count());
    const unsigned pads = static_cast<unsigned>(blocks * size - n);
    block::grid_barrier barrier(a.barrier, a.barrier + 1);
    bits x[items];
    [[maybe_unused]] V v[has_values<V> ? items : 1];
    load(a, a.keys_in, a.values_in, tile_first + mine, n, x, v);
    if (block.thread() == 0) memory.constant = -1;
    for (int p = 0; p < a.passes; ++p) {
      STAMP(8 * p);
      const radix_digit digit = radix_digit::of(p, a.range);
      const auto digit_of = [&](int k) { return digit(x[k]); };
      simt::quad* const table = a.table + p % 2 * blocks * quads;
      auto* const row = reinterpret_cast<unsigned*>(table + block.index() * quads);
      block::count_in_warp<items>(block, memory.rank, a.rows, digit_of);
      block::count_digits(block, memory.rank, [&](int d, unsigned total) {
        memory.before[d / 8 + d % 8 * lanes] = memory.all[d / 8 + d % 8 * lanes] = 0;
        const unsigned next = block.shuffle_down(total, 1);
        if (d % 2 == 0) {
#ifndef NO_FENCE
          simt::fence();
#endif
          simt::store(row + d / 2, ready | total | next << 16);
        }
      });
      STAMP(8 * p + 1);
      if (p > 0 && block.thread() < quads)  // the row of the pass before
        a.table[((p + 1) % 2 * blocks + block.index()) * quads + block.thread()] = simt::quad{};
      block::place_digits(block, memory.rank);
      STAMP(8 * p + 2);
      block::for_each_ranked<items>(block, memory.rank, a.rows, digit_of, [&](int k, int to) {
        memory.keys[to] = x[k];
        if constexpr (has_values<V>) memory.values()[to] = v[k];
      });
      STAMP(8 * p + 3);
      add_up(block, memory, table, blocks);
      block.sync();
      STAMP(8 * p + 4);
      block::for_each_digit(block, memory.rank, [&](int d) {
        const unsigned all = memory.all[d / 8 + d % 8 * lanes], up_to = block::warp_inclusive_scan(block, all, plus{});
        memory.offset[d] = up_to - all + memory.before[d / 8 + d % 8 * lanes] - memory.rank.first[d];
        if (block.lane() == lanes - 1) memory.all_of_group[d / lanes] = up_to;
        if (all - (static_cast<unsigned>(d) == digit.mask ? pads : 0) == static_cast<unsigned>(n)) memory.constant = p;
      });
      const bool last_pass = p == a.passes - 1;
      if (last_pass && block.thread() == 0) memory.last = barrier.leave(block);
      block.sync();
      block::for_each_digit(block, memory.rank, [&](int d) {
        unsigned place = memory.offset[d];
        for (int group = 0; group < decltype(memory.rank)::groups; ++group)
          if (group < d / lanes) place += memory.all_of_group[group];
        memory.offset[d] = place;
      });
      block.sync();
      const bool constant = memory.constant == p;
      STAMP(8 * p + 5);
      if (!constant || last_pass)
        put(block, memory, a, digit, found, x, v);
      STAMP(8 * p + 6);
      if (last_pass) {
        if (memory.last) {
          for (int i = block.thread(); i < blocks * quads; i += threads) table[i] = simt::quad{};
          if (block.thread() == 0) simt::store(a.barrier, 0u);
        }
        break;
      }
      barrier.sync(block, [] {}, [] {});
      STAMP(8 * p + 7);
      if (!constant) load(a, a.keys_out, a.values_out, tile_first + mine, n, x, v);
    }
  }

private:
  static constexpr unsigned ready = 0x80008000;

  template <class Keys, class Values>
  PMPP_HOST_DEVICE static void load(const arguments& a, const Keys& keys, const Values& values, int first, int n,
                                    bits (&x)[items], V (&v)[has_values<V> ? items : 1]) {
    for (int k = 0; k < items; ++k) {
      const bool has = k < a.rows && first + k * lanes < n;
      x[k] = has ? Code::encode(keys[first + k * lanes]) : static_cast<bits>(~bits(0));
      if constexpr (has_values<V>)
        if (has) v[k] = static_cast<V>(values[first + k * lanes]);
    }
  }

  template <class Block>
  PMPP_HOST_DEVICE static void put(Block& block, shared& memory, const arguments& a, const radix_digit& digit, int found,
                                   bits (&x)[items], V (&v)[has_values<V> ? items : 1]) {
    constexpr int at_once = 4;
    for (int first = 0; first < items; first += at_once) {
      if (first * threads >= found) break;
      unsigned to[at_once];
      for (int u = 0; u < at_once; ++u) {
        const int k = first + u, i = k * threads + block.thread();
        if (k >= items) break;
        x[k] = memory.keys[smaller(i, tile - 1)];
        if constexpr (has_values<V>) v[k] = memory.values()[smaller(i, tile - 1)];
        to[u] = memory.offset[digit(x[k])] + static_cast<unsigned>(i);
      }
      for (int u = 0; u < at_once; ++u) {
        const int k = first + u, i = k * threads + block.thread();
        if (k >= items || i >= found) break;
        block::assign(a.keys_out, static_cast<std::int64_t>(to[u]), Code::decode(x[k]));
        if constexpr (has_values<V>) block::assign(a.values_out, static_cast<std::int64_t>(to[u]), v[k]);
      }
    }
  }

  PMPP_HOST_DEVICE static void add(const simt::quad& q, unsigned (&sum)[8]) {
    for (int w = 0; w < 4; ++w) {
      sum[2 * w] += q.word[w] & 0x7fff;
      sum[2 * w + 1] += q.word[w] >> 16 & 0x7fff;
    }
  }
  template <class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, shared& memory, const simt::quad* table, int blocks) {
    constexpr int at_once = AT_ONCE;
    const int me = static_cast<int>(block.index());
    unsigned before[8]{}, behind[8]{};
    for (int first = block.warp(); first < blocks; first += warps * at_once) {
      simt::quad q[at_once];
      for (int u = 0; u < at_once; ++u) {
        const int r = first + u * warps;
        if (r < blocks) q[u] = simt::load_quad(table + r * quads + block.lane());
      }
      for (int u = 0; u < at_once; ++u) {
        const int r = first + u * warps;
        if (r >= blocks) break;
        while ((q[u].word[0] & q[u].word[1] & q[u].word[2] & q[u].word[3] & ready) != ready) {
          block.spin();
          q[u] = simt::load_quad(table + r * quads + block.lane());
        }
        if (r < me)
          add(q[u], before);
        else
          add(q[u], behind);
      }
    }
#ifndef NO_FENCE
    simt::fence();
#endif
    for (int j = 0; j < 8; ++j) {
      simt::atomic_add(&memory.before[block.lane() + j * lanes], before[j]);
      simt::atomic_add(&memory.all[block.lane() + j * lanes], before[j] + behind[j]);
    }
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
