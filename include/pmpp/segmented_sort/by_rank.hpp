// SPDX-License-Identifier: Apache-2.0
//
// Sorts the segments of a few hundred elements in one block, where latency is all: an element's place in its segment is the
// number of those that come before it, which some threads count together. Little code, one round of loads, one barrier.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/merge.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/segmented_sort/sort_windows.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/sort/compare_all.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Most: elements, and segments.
template <class T, class In, class Data, class Offsets, class Order, int Most>
struct rank_segments_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  using word = typename Order::word;
  static constexpr int threads = 1024;
  static_assert(Most <= threads);

  struct shared {
    alignas(16) unsigned char words[round_up(Most * int(sizeof(word)), 16)];  // of any type, also with constructors
    int offsets[Most + 1];
  };
  struct arguments {
    In in;
    item_count count;
    Offsets offsets;
    item_count offset_count;
    Data data;
    Order order;
    int sharing_bits;  ///< 2^sharing_bits threads of a warp count for an element
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const int n = static_cast<int>(a.count.get()), offset_count = static_cast<int>(a.offset_count.get());
    word* const words = reinterpret_cast<word*>(memory.words);
    const auto element = [&](int k) { return block::element_as<T>(value_of<In>(a.in[k])); };
    const int sharing = 1 << a.sharing_bits, share = block.thread() & (sharing - 1);
    const int i = block.thread() >> a.sharing_bits;
    T x{}, own{};
    if (i < n) own = element(i);
    if (block.thread() < n) x = element(block.thread());  // there are no fewer threads than elements
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int s = block.thread(); s < offset_count; s += block.threads())
      memory.offsets[s] = static_cast<int>(a.offsets[s]);
    if (block.thread() < n) words[block.thread()] = a.order(x);
    block.sync();
    int next = 0;  // the first offset after the element
    for (int length = i < n ? offset_count : 0; length > 0;) {
      const int half = length / 2;
      const bool after = memory.offsets[next + half] > i;
      next = after ? next : next + half + 1;
      length = after ? half : length - half - 1;
    }
    const bool is_inside = next > 0 && next < offset_count;
    const int begin = is_inside ? memory.offsets[next - 1] : 0, end = is_inside ? memory.offsets[next] : 0;
    int rank = 0;
    if (is_inside) {
      const word mine = a.order(own);
      int j = begin + share;
      for (; j < i; j += sharing) rank += !a.order.precedes(mine, words[j]);  // equals stay in order
      for (j += j == i ? sharing : 0; j < end; j += sharing) rank += a.order.precedes(words[j], mine);
    }
    for (int d = 1; d < sharing; d *= 2) rank += block.shuffle_xor(rank, d);
    if (is_inside && share == 0) block::assign(a.data, static_cast<std::int64_t>(begin + rank), own);
  }
};

/// False: there are too many elements, or segments are long.
template <class T, int Most, class P, class In, class Data, class Offsets, class Comp>
bool sort_segments_by_rank(const P& where, const In& in, const Data& data, const item_count& count,
                           const input<Offsets>& offsets, const Comp& comp) {
  using code = typename sort_words<T, Comp>::code;
  const std::int64_t n = count.bound, segments = offsets.count.bound - 1;
  if (max(n, segments) > Most || n * n > segments << 16) return false;
  const auto run = [&](const auto& order) {
    using kernel = rank_segments_kernel<T, In, Data, Offsets, std::remove_cvref_t<decltype(order)>, Most>;
    int bits = 3;
    while (n << bits > kernel::threads) --bits;
    const auto threads = static_cast<int>(round_up(n << bits, std::int64_t(simt::warp_size)));
    pmpp::launch(where, 1, threads, kernel{},
                 typename kernel::arguments{in, count, offsets.first, offsets.count, data, order, bits});
  };
  if constexpr (std::is_void_v<code>)
    run(compare_elements<T, Comp>{comp});
  else
    run(compare_codes<T, code>{code_less<code>(key_bits{0, code::width}).mask});
  return true;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
