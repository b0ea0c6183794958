// SPDX-License-Identifier: Apache-2.0
//
// Sorts some thousand elements in one launch by comparing each with all others: an element comes after those that precede
// it, and after the equal ones in front of it.
//
//   1. Each block copies all elements to shared memory, numbers as their codes (sort/radix_keys.hpp).
//   2. It finds the places of 32 of them: a lane has one, each warp compares with some of all, and what they count adds up.
//   3. It writes its 32. In place all blocks wait once before that, until all have read; a few elements are all of one
//      block, which waits for no other.
//
// n elements take n * n comparisons, 2^24 of numbers less than 2 us on an H100.
#pragma once

#include <cstdint>

#include <pmpp/block/merge.hpp>
#include <pmpp/block/sync_grid.hpp>
#include <pmpp/launch_together.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/sort/radix_keys.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// What is compared of numbers, and of pairs whose keys are numbers: the codes. The last row is filled up with the largest.
template <class T, class Code>
struct compare_codes {
  using word = typename Code::bits;
  static constexpr bool of_codes = true;
  word mask;

  PMPP_HOST_DEVICE word operator()(const T& x) const {
    return static_cast<word>(Code::encode(detail::radix_key_of(x)) & mask);
  }
  PMPP_HOST_DEVICE bool precedes(word x, word y) const { return x < y; }
};
/// Of everything else: the elements, by the caller's comparator.
template <class T, class Comp>
struct compare_elements {
  using word = T;
  static constexpr bool of_codes = false;
  Comp comp;

  PMPP_HOST_DEVICE const T& operator()(const T& x) const { return x; }
  PMPP_HOST_DEVICE bool precedes(const T& x, const T& y) const { return static_cast<bool>(comp(x, y)); }
};

template <class T, class In, class Out, class Order, int Limit>
struct compare_all_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  using word = typename Order::word;
  static constexpr int threads = 512, lanes = simt::warp_size, warps = threads / lanes, min_blocks = 2, loads = 8,
                       limit = min(Limit, 96 * 1024 / int(sizeof(word)));
  static constexpr int sharing_bits = 1;  ///< 2^sharing_bits warps share 32 elements where one block has all
  static constexpr int of_one_block = (warps >> sharing_bits) * lanes;

  struct shared {
    alignas(16) unsigned char words[round_up(max(1, limit), lanes) * sizeof(word)];
    unsigned place[of_one_block];
  };
  struct arguments {
    In in;
    Out out;
    item_count count;
    Order order;
    unsigned* barrier;  ///< in place, of several blocks: a word, zero
    int sharing_bits;   ///< 2^sharing_bits warps share 32 elements
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const int n = static_cast<int>(a.count.get()), row = block.warp() >> a.sharing_bits,
              part = block.warp() - (row << a.sharing_bits);
    const int own = ((static_cast<int>(block.index()) * warps >> a.sharing_bits) + row) * lanes;
    const int filled = Order::of_codes ? round_up(n, lanes) : n;
    const auto element = [&](int i) { return block::element_as<T>(value_of<In>(a.in[i])); };
    word* const all = reinterpret_cast<word*>(memory.words);
    for (int first = block.thread(); first < filled; first += loads * threads) {
      word x[loads];
      for (int k = 0; k < loads; ++k) {
        const int i = first + k * threads;
        if constexpr (Order::of_codes)
          x[k] = i < n ? a.order(element(i)) : static_cast<word>(~word(0));
        else
          x[k] = a.order(element(min(i, n - 1)));
      }
      for (int k = 0; k < loads; ++k)
        if (first + k * threads < filled) all[first + k * threads] = x[k];
    }
    if (block.thread() < of_one_block) memory.place[block.thread()] = 0;
    const int i = own + block.lane(), place = row * lanes + block.lane();
    const bool writes = part == 0 && i < n;
    T x{};
    if (writes) x = element(i);
    block.sync();
    if (own < n)
      simt::atomic_add(&memory.place[place],
                       count_before(block, a.order, all, own, n, part * lanes, lanes << a.sharing_bits));
    if (a.barrier == nullptr)
      block.sync();
    else
      block::sync_grid(block, a.barrier, block.count());
    if (writes)  // a comparator that contradicts itself may count n
      block::assign(a.out, static_cast<std::int64_t>(min(memory.place[place], unsigned(n - 1))), x);
  }

private:
  /// How many of the elements that this warp looks at come before the lane's own: of rows that are `step` elements apart.
  template <class Block>
  PMPP_HOST_DEVICE static unsigned count_before(Block& block, const Order& order, const word* all, int own, int n,
                                                int begin, int step) {
    const word mine = all[min(own + block.lane(), n - 1)];
    float before = 0;  // the units for integers may be busy with comparisons
    for (int first = begin; first < n; first += step) {
      const auto count = [&](const auto& comes_before) {
        if (Order::of_codes || first + lanes <= n)
          for (int j = 0; j < lanes; ++j) {
            if (comes_before(all[first + j], j)) before += 1.0f;
          }
        else
          for (int j = 0; j < n - first; ++j)
            if (comes_before(all[first + j], j)) before += 1.0f;
      };
      if (first < own)
        count([&](const word& other, int) { return !order.precedes(mine, other); });
      else if (first > own)
        count([&](const word& other, int) { return order.precedes(other, mine); });
      else
        count([&](const word& other, int j) {  // a choice would be twice as many instructions
          return order.precedes(other, mine) | ((j < block.lane()) & !order.precedes(mine, other));
        });
    }
    return static_cast<unsigned>(before);
  }
};

/// False: there are too many elements, or their blocks do not run at once.
template <class T, int Limit, class P, class In, class Data, class Order>
bool sort_by_comparing(const P& where, const In& in, const Data& data, const item_count& count, const Order& order) {
  using kernel = compare_all_kernel<T, In, Data, Order, Limit>;
  const machine& m = machine_of(where);
  const std::int64_t resident = resident_blocks<kernel>(m);
  if (!all_fit<kernel>(m) || count.bound > min(std::int64_t(kernel::limit), resident * simt::warp_size)) return false;
  const bool in_place = detail::same_place(in, data), alone = in_place && count.bound <= kernel::of_one_block,
             waits = in_place && !alone;
  if (in_place && count.bound == 1) return true;
  const scratch memory(where, 0, waits ? sizeof(unsigned) : 0);
  const typename kernel::arguments a{in,    data,           count,
                                     order, memory.state(), alone ? kernel::sharing_bits : floor_log2(kernel::warps)};
  const std::int64_t blocks = alone ? 1 : ceil_div(count.bound, std::int64_t(simt::warp_size));
  if (waits) return detail::try_launch_together(where, blocks, kernel{}, a);
  pmpp::launch(where, blocks, kernel{}, a);
  return true;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
