// SPDX-License-Identifier: Apache-2.0
//
// Sorts keys of one byte, which have no values, by counting: equal ones cannot be told apart, so that nothing has to move.
//
//   1. Blocks count how often each of the 256 codes occurs (core/number_code.hpp). A lane has counters of its own, which no
//      other lane's bank holds, and adds neighbours that are equal at once: sorted keys cost no more than random ones.
//   2. They write the codes in their order, each as often: whole vectors of 16 keys, most of them of one code.
//
// What one block is quick enough for, key by key, takes one launch, everything else one for each step. Traffic: n bytes read, n written.
// In between, and where there are very few, sort goes other ways (counting_tuning). (PMPP ch. 9 and 13.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/load_store.hpp>
#include <pmpp/block/merge.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// Keys of one byte without values (sort/counting.hpp).
struct counting_tuning {
  std::int64_t alone_from = 512;  ///< from this many keys on one block counts, key by key. 6107 keys: all with all 17.6
  std::int64_t alone_to = 8192;   ///< up to this many; 31,302 keys would take 12.3 (20), in one launch by digits 8.0
  std::int64_t from = std::int64_t(1) << 19;  ///< from this many on many blocks. 34,965,920 keys: 44.6 (290)

  constexpr bool counts(std::int64_t n) const { return n >= from || (n >= alone_from && n <= alone_to); }
};

namespace detail {

inline constexpr int byte_codes = 256;

/// Zeroed state.
struct byte_counts {
  std::uint64_t count[byte_codes];
  unsigned blocks_done;
};

template <class Code, class In, class Out, int InItems, int OutItems>
struct counting_sort_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 512, min_blocks = 4, lanes = simt::warp_size, at_once = 2,
                       each = byte_codes / lanes;  ///< codes of a lane

  struct shared {
    alignas(16) unsigned count[byte_codes][lanes];
    std::int64_t begin[byte_codes + 1];  ///< of the keys with a code, in order
    bool last;
  };
  struct arguments {
    In in;
    Out out;
    item_count count;
    std::int64_t in_lead, out_lead;
    bool counts, writes;
    byte_counts* state;  ///< null where one block does both
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    if (a.counts)
      for (int k = 0; k < byte_codes * lanes / 4 / threads; ++k)
        reinterpret_cast<simt::quad*>(memory.count)[k * threads + block.thread()] = simt::quad{};
    simt::previous_kernels_done();
    const std::int64_t n = a.count.get();
    if (a.counts) {
      block.sync();
      count_keys(block, memory, a, n);
      block.sync();
      if (const int d = block.thread(); d < byte_codes) {
        unsigned found = 0;
        for (int c = 0; c < lanes; ++c) found += memory.count[d][(c + d) % lanes];
        if (a.state == nullptr)
          memory.begin[d] = found;
        else if (found != 0)
          simt::add_global(&a.state->count[d], found);
      }
    }
    if (!a.writes) return;
    block.sync();
    if (block.warp() == 0) find_begins(block, memory, a, n);
    block.sync();
    write_keys(block, memory, a, n);
    if (a.state == nullptr) return;
    if (block.thread() == 0) memory.last = block::comes_last(&a.state->blocks_done, block.count());
    block.sync();
    if (memory.last && block.thread() < byte_codes) a.state->count[block.thread()] = 0;
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void count_keys(Block& block, shared& memory, const arguments& a, std::int64_t n) {
    const auto add = [&](unsigned code, unsigned times) { simt::atomic_add(&memory.count[code][block.lane()], times); };
    if (a.state == nullptr) {  // few keys, each of another thread
      for (int i = block.thread(); i < static_cast<int>(n); i += threads) add(Code::encode(a.in[i]), 1);
      return;
    }
    const block::layout<InItems> data(n, a.in_lead);
    const std::int64_t step = block.count() * threads, thread = block.index() * threads + block.thread();
    using access = block::access<In>;
    for (std::int64_t first = thread; first < data.vectors; first += at_once * step) {
      block::raw_items<In, InItems> x[at_once]{};
      for (int u = 0; u < at_once; ++u)
        if (first + u * step < data.vectors)
          x[u] = access::template load<InItems>(a.in, data.element(first + u * step));
      for (int u = 0; u < at_once; ++u) {
        if (first + u * step >= data.vectors) break;
        unsigned code = Code::encode(access::value(a.in, x[u], 0)), run = 1;
        for (int k = 1; k < InItems; ++k) {
          const unsigned next = Code::encode(access::value(a.in, x[u], k));
          if (next != code) {
            add(code, run);
            run = 0;
          }
          code = next;
          ++run;
        }
        add(code, run);
      }
    }
    if (thread < data.lead) add(Code::encode(a.in[thread]), 1);
    if (thread < n - data.tail()) add(Code::encode(a.in[data.tail() + thread]), 1);
  }

  /// The first warp adds up the counts.
  template <class Block>
  PMPP_HOST_DEVICE static void find_begins(Block& block, shared& memory, const arguments& a, std::int64_t n) {
    const int first = block.lane() * each;
    std::int64_t count[each], sum = 0;
    for (int k = 0; k < each; ++k) {
      count[k] = a.state == nullptr ? memory.begin[first + k] : static_cast<std::int64_t>(a.state->count[first + k]);
      sum += count[k];
    }
    std::int64_t place = block::warp_inclusive_scan(block, sum, plus{}) - sum;
    for (int k = 0; k < each; ++k) {
      memory.begin[first + k] = place;
      place += count[k];
    }
    if (block.lane() == 0) memory.begin[byte_codes] = n;
  }

  /// The code at a place of the output.
  PMPP_HOST_DEVICE static int code_at(const shared& memory, std::int64_t place) {
    int code = 0;  // its keys do not begin after the place
    for (int step = byte_codes / 2; step > 0; step /= 2)
      if (memory.begin[code + step] <= place) code += step;
    return code;
  }
  PMPP_HOST_DEVICE static auto key_of(int code) { return Code::decode(static_cast<typename Code::bits>(code)); }

  template <class Block>
  PMPP_HOST_DEVICE static void write_keys(Block& block, const shared& memory, const arguments& a, std::int64_t n) {
    if (a.state == nullptr) {
      for (int i = block.thread(); i < static_cast<int>(n); i += threads)
        block::assign(a.out, i, key_of(code_at(memory, i)));
      return;
    }
    const block::layout<OutItems> data(n, a.out_lead);
    const std::int64_t share = ceil_div(data.vectors, block.count()),
                       end = min(data.vectors, (block.index() + 1) * share);
    int code = 0;
    for (std::int64_t v = block.index() * share + block.thread(); v < end; v += threads) {
      const std::int64_t place = data.element(v);
      if (place >= memory.begin[code + 1]) code = code_at(memory, place);
      if constexpr (OutItems == 1) {
        block::assign(a.out, place, key_of(code));
      } else {
        block::vector<typename Code::key, OutItems> keys;
        const auto first = key_of(code);
        for (int k = 0; k < OutItems; ++k) keys.item[k] = first;
        if (place + OutItems > memory.begin[code + 1])
          for (int k = 1; k < OutItems; ++k) {
            while (place + k >= memory.begin[code + 1]) ++code;
            keys.item[k] = key_of(code);
          }
        block::access<Out>::template store<OutItems>(a.out, place, keys);
      }
    }
    const std::int64_t thread = block.index() * threads + block.thread();
    if (thread < data.lead) block::assign(a.out, thread, key_of(code_at(memory, thread)));
    if (const std::int64_t place = data.tail() + thread; place < n)
      block::assign(a.out, place, key_of(code_at(memory, place)));
  }
};

/// From `in` to `out`, which may be the same.
template <counting_tuning Tuning, class Code, class P, class In, class Out>
void counting_sort(const P& where, const In& in, const Out& out, const item_count& count) {
  block::with_access(in, [&](auto in_items, std::int64_t in_lead) {
    constexpr int most = std::is_pointer_v<Out> ? 16 : 1;
    std::int64_t out_lead = 0;
    if constexpr (most > 1) out_lead = block::access<Out>::template lead<most>(out);
    using kernel = counting_sort_kernel<Code, In, Out, in_items, most>;
    const bool alone = count.bound <= Tuning.alone_to;
    const std::int64_t blocks = alone ? 1
                                      : min(ceil_div(count.bound, std::int64_t(kernel::threads) * 16),
                                            std::int64_t(kernel::min_blocks) * machine_of(where).multiprocessors);
    const scratch memory(where, 0, alone ? 0 : sizeof(byte_counts));
    typename kernel::arguments a{in,       out,  count, in_lead,
                                 out_lead, true, alone, reinterpret_cast<byte_counts*>(memory.state())};
    pmpp::launch(where, blocks, kernel{}, a);
    if (alone) return;
    a.counts = false;
    a.writes = true;
    pmpp::launch(where, blocks, kernel{}, a);
  });
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
