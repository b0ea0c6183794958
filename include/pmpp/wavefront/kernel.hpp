// SPDX-License-Identifier: Apache-2.0
//
// The kernel of wavefront.hpp: one table, its strips (wavefront/walk.hpp) shared out to the warps of the machine.
//
//   1. A block is one warp. It takes strips by ticket, from the top down, so that whoever owns the strip above has started,
//      whatever the order in which the machine starts blocks: waiting for it ends.
//   2. A strip waits for the one above alone: its own left neighbours never leave the registers of its warp. So there is no
//      ramp between tiles of a row, and a strip begins as soon as the first chunk of the one above is there.
//   3. The last row of a strip goes through one row of slots in global memory, which all strips use in turn: strip t reads a
//      slot, and fills it again when it has its own cell of that column. A slot holds the cell and the number of its strip
//      in one word (block/tagged_slots.hpp), so that no fence is needed for cells of up to 12 bytes. A warp asks for the slots of
//      the next chunk before it makes this one.
//   4. The last strip empties the slots, the block that ends last the tickets: the state is left as zeros.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/last_block.hpp>
#include <pmpp/block/tagged_slots.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/wavefront/outputs.hpp>
#include <pmpp/wavefront/walk.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct wavefront_tuning {
  int rows = 4;                   ///< of a lane
  int blocks_per_processor = 32;  ///< of one warp each, at most
};

namespace detail {

/// The row above a strip, and its last row, in slots that all strips share.
template <class Wave>
struct shared_row {
  using T = typename Wave::value_type;

  const Wave& p;
  block::tagged_slots<T> slots;
  std::uint32_t tag;  ///< of the cells of the strip above; of the own ones, one more
  bool is_first, is_last;
  bool ready = false;
  T next{};

  /// Asks for a cell that is taken next, and waits for nothing.
  PMPP_HOST_DEVICE void ask(std::int64_t j) { ready = !is_first && j < p.cols && slots.peek(j, next, tag); }
  /// The cell above column j, if there is one. \pre ask(j) was called last
  template <class Block>
  PMPP_HOST_DEVICE T take(Block& block, std::int64_t j) {
    if (j >= p.cols) return T{};
    if (is_first) return p.border(-1, j);
    while (!ready) {
      block.spin();
      ready = slots.peek(j, next, tag);
    }
    if (is_last) slots.clear(j);
    return next;
  }
  PMPP_HOST_DEVICE void put(std::int64_t j, const T& cell) const {
    if (!is_last) slots.publish(j, cell, tag + 1);
  }
};

template <class Wave, class Output, int Rows>
struct wavefront_kernel {
  static constexpr int threads = simt::warp_size;
  using T = typename Wave::value_type;

  struct shared {
    typename Output::template staging<Rows> staging;
  };
  struct arguments {
    Wave wave;
    Output out;
    std::uint64_t* tickets;  ///< zero; strips taken
    unsigned* left;          ///< zero; blocks that have ended
    block::tagged_slots<T> slots;
    completion done;
  };

  static std::int64_t strips(std::int64_t rows) { return ceil_div(rows, std::int64_t(threads * Rows)); }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    typename Output::template visitor<Rows> visitor(a.out, memory.staging);
    const std::int64_t count = a.wave.cols == 0 ? 0 : ceil_div(a.wave.rows, std::int64_t(threads * Rows));
    for (;;) {
      const std::int64_t strip = take_ticket(block, a.tickets);
      if (strip >= count) break;
      shared_row<Wave> hand{a.wave, a.slots, static_cast<std::uint32_t>(strip), strip == 0, strip == count - 1};
      detail::walk_strip<Rows>(block, a.wave, strip, hand, visitor);
    }
    if constexpr (requires { a.out.of_blocks; }) {
      Output::fold(block, visitor.best);
      if (block.lane() == 0) a.out.of_blocks[block.index()] = visitor.best.cell;
    }
    block.sync();
    bool last = false;
    if (block.lane() == 0) {
      last = block::comes_last(a.left, block.count());
      if (last) simt::store(a.tickets, std::uint64_t(0));
    }
    last = block.shuffle(last, 0);
    block.sync();
    if (!last) return;
    a.out.finish(block, a.wave);
    block.sync();
    if (block.lane() == 0) a.done.signal();
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static std::int64_t take_ticket(Block& block, std::uint64_t* tickets) {
    std::uint64_t mine = 0;
    if (block.lane() == 0) mine = simt::atomic_add(tickets, std::uint64_t(1));
    return static_cast<std::int64_t>(block.shuffle(mine, 0));
  }
};

/// Enqueues on a GPU or runs in the emulator. `make_output(of_blocks)` gives the output.
template <wavefront_tuning Tuning, class P, class Wave, class Make>
void wave_on_blocks(const P& where, const Wave& wave, const Make& make_output, const completion& done) {
  using T = typename Wave::value_type;
  using Output = decltype(make_output(static_cast<best_cell<T>*>(nullptr)));
  using kernel = wavefront_kernel<Wave, Output, Tuning.rows>;
  using slots = block::tagged_slots<T>;
  constexpr std::size_t header = 16;
  const std::int64_t most = std::int64_t(Tuning.blocks_per_processor) * machine_of(where).multiprocessors;
  const std::int64_t strips = kernel::strips(wave.rows), blocks = max(std::int64_t(1), min(most, strips));
  const std::int64_t columns = strips > 1 ? wave.cols : 0;  // one strip hands nothing on
  (void)checked_bytes(columns, max(std::size_t(16), sizeof(T)), "wavefront");
  scratch memory(where,
                 round_up(slots::payload_bytes(columns), allocation_alignment) +
                     round_up(std::size_t(blocks) * sizeof(best_cell<T>), allocation_alignment),
                 header + slots::state_bytes(columns));
  void* const payload = memory.template take<std::byte>(static_cast<std::int64_t>(slots::payload_bytes(columns)));
  auto* const of_blocks = memory.template take<best_cell<T>>(blocks);
  unsigned* const state = memory.state();
  pmpp::launch(where, blocks, kernel{},
               typename kernel::arguments{wave, make_output(of_blocks), reinterpret_cast<std::uint64_t*>(state),
                                          state + 2, slots(state + 4, payload), done});
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
