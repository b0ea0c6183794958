// SPDX-License-Identifier: Apache-2.0
//
// How a block goes through tiles whose results depend on all tiles before: loading, working, looking back and writing at once.
//
//   workers      load 0 | work 0 | load 1 | work 1 | write 0, load 2 | work 2 | write 1, load 3 | ...
//   look-back warp                 look back 0       look back 1                look back 2
//
// The last warp of the block, its look-back warp, moves no elements. It publishes what a tile has come to and collects what
// lies before it (block/look_back.hpp), while the other warps write the tile before and load the one after. It knows two tiles
// ahead which one comes, and may ask for that to be in the last cache by then: else memory would wait while the block works. One
// barrier a tile. A block holds two tiles; on an H100 a multiprocessor has one block, with two tiles of about 100 KB: few blocks
// have little to exchange, and the 6 us that a look-back takes under load go unnoticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/look_back.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

namespace pmpp::inline PMPP_BACKEND::block {

/// Asks for what elements [begin, end) of an input are made of to be in the last cache; one thread calls.
template <class It>
PMPP_HOST_DEVICE void prefetch_elements(const It& it, std::int64_t begin, std::int64_t end) {
  if constexpr (pmpp::detail::is_transform<It>) {
    block::prefetch_elements(it.base, begin, end);
  } else if constexpr (pmpp::detail::is_zip<It>) {
    block::prefetch_elements(it.a, begin, end);
    block::prefetch_elements(it.b, begin, end);
  } else if constexpr (std::is_pointer_v<It>) {
    if (begin < end) simt::prefetch_bytes(it + begin, static_cast<std::size_t>(end - begin) * sizeof(*it));
  }
}

/// How elements are cut into tiles, of which each of Workers threads has so many vectors: Least tiles or more, which may be empty, at
/// most 2^30.
template <int Items, int Workers, int Least>
struct tile_plan {
  ordered_layout<Items> data;
  divisor of_worker;  ///< vectors of a thread in a tile
  int tiles;

  tile_plan(std::int64_t count, std::int64_t lead, int vectors_of_worker)
      : data(count, lead), of_worker(vectors_of_worker), tiles(count_tiles()) {}
  /// The same of another count.
  PMPP_HOST_DEVICE void set(std::int64_t count, std::int64_t lead) {
    data = {count, lead};
    tiles = count_tiles();
  }
  /// The first vector of a warp in a tile.
  PMPP_HOST_DEVICE std::int64_t first_vector(auto& block, int tile) const {
    const auto each = static_cast<int>(of_worker.value());
    return std::int64_t(tile) * (Workers * each) + block.warp() * (simt::warp_size * each);
  }

  /// Asks for what an input has of a tile to be in the last cache; one thread calls.
  template <class It>
  PMPP_HOST_DEVICE void prefetch(const It& it, int tile) const {
    const int vectors = Workers * static_cast<int>(of_worker.value());
    const std::int64_t first = std::int64_t(tile) * vectors;
    block::prefetch_elements(it, max(std::int64_t(0), data.element(first)), min(data.n, data.element(first + vectors)));
  }

private:
  PMPP_HOST_DEVICE int count_tiles() const {
    const auto rows = static_cast<std::uint32_t>((static_cast<std::uint64_t>(data.vectors) + Workers - 1) / Workers);
    return max(Least, static_cast<int>(of_worker.quotient(rows + of_worker.value() - 1)));
  }
};

/// Shared memory of for_each_tile. It is its own until look_back::finish.
template <class T>
struct tile_pipeline_memory {
  look_back_memory<T> look_back;
  int next[2];  ///< the tile after the one at hand, and after that one
};

/// What the look-back warp exchanges with other blocks about one tile, once.
template <class Block, class T, class Others>
struct tile_exchange {
  Block& block;
  const Others& others;
  tile_pipeline_memory<T>& memory;
  int tile, none, stage;
  bool go_on;

  /// Publishes what the tile has come to; returns what the tiles before have come to, after init if has_init, in all
  /// lanes; nothing for the first tile without init. All lanes call.
  template <class Op>
  PMPP_HOST_DEVICE T operator()(const T& aggregate, bool has_init, const T& init, Op op) const {
    int asked = none;
    if (block.lane() == 0) {
      others.publish(tile, aggregate);
      if (go_on) asked = others.take_ticket();
    }
    const T prefix = others.wait(block, memory.look_back, tile, aggregate, has_init, init, op);
    if (block.lane() == 0) memory.next[1 - stage] = asked;
    return block.shuffle(prefix, 0);
  }
};

/// Calls, for each tile that the block gets by ticket, in this order and with barriers of the block between work and what
/// follows:
///   ask(tile, early)              one thread, without a barrier: the tile is loaded after the next one. Early: before tickets are
///                                 drawn, the first tiles, one a block, whoever gets which
///   load(tile, stage)             workers: start moving it to stage 0 or 1 of shared memory
///   work(tile, stage)             workers: wait for it; find out what it comes to
///   exchange(tile, stage, e)      look-back warp: call e once; leave in shared memory what the workers need
///   write(tile, stage)            workers
/// then leaves the look-back: after the last wait, beside the last write, or (`written`) after that, so that the block that leaves
/// last finds all written; look_back::finish is the caller's. All threads call; the last warp is the look-back warp.
template <class Block, class Others, class T, class Ask, class Load, class Work, class Exchange, class Write>
PMPP_HOST_DEVICE void for_each_tile(Block& block, const Others& others, tile_pipeline_memory<T>& memory, int tiles,
                                    bool written, Ask ask, Load load, Work work, Exchange exchange, Write write) {
  const bool is_look_back_warp = block.warp() == block.warps() - 1;
  const int none = tiles, first = others.first(block, memory.look_back, [&] {
    if (const auto place = static_cast<int>(block.index()); is_look_back_warp && block.lane() == 0 && place < tiles)
      ask(place, true);
  });
  if (!is_look_back_warp) {
    if (first < none) load(first, 0);
  } else if (block.lane() == 0) {
    if (!written && first >= none) others.template leave<simt::order::relaxed>(block, memory.look_back);
    memory.next[0] = first >= none || tiles <= static_cast<int>(block.count()) ? none : others.take_ticket();
    if (memory.next[0] < none) ask(memory.next[0], false);
  }
  int stage = 0;
  for (int last = none, now = first; last < none || now < none; stage = 1 - stage) {
    if (!is_look_back_warp && now < none) work(now, stage);
    block.sync();
    const int next = now < none ? memory.next[stage] : none;
    if (is_look_back_warp) {
      if (now < none) {
        exchange(now, stage, tile_exchange<Block, T, Others>{block, others, memory, now, none, stage, next < none});
        if (block.lane() == 0 && memory.next[1 - stage] < none) ask(memory.next[1 - stage], false);
      } else if (!written && block.lane() == 0) {
        others.template leave<simt::order::relaxed>(block, memory.look_back);
      }
    } else {
      if (last < none) write(last, 1 - stage);
      if (next < none) load(next, 1 - stage);
    }
    last = now;
    now = next;
  }
  if (written) {
    block.sync();
    if (block.thread() == 0) others.template leave<simt::order::acq_rel>(block, memory.look_back);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::block
