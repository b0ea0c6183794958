// SPDX-License-Identifier: Apache-2.0
//
// Prefix sums with any associative operator: inclusive_scan, exclusive_scan.
//
//   1. A block goes through tiles by ticket, two in shared memory at a time (block/tile_pipeline.hpp). A thread folds the
//      consecutive vectors that are its share, a warp scans what its lanes have found (block/scan.hpp).
//   2. One warp tells other blocks what the tile combines to, collects what lies before it (block/look_back.hpp), and
//      leaves in shared memory what precedes each warp.
//   3. Threads run through their share a second time, now knowing what precedes it. The results take the elements' place
//      in shared memory, from where warps write them in rows of 512 bytes. Results that are wider than the elements pass
//      through a place of their own, 128 bytes of each thread at a time.
//
// 2^28 floats take 5 % longer than to copy on an H100. Work n; traffic n elements read, n written; one barrier a tile;
// one launch. Operands stay in order and are always elements or results of adjacent ranges; no identity is needed. The
// grouping depends on n, the alignment and the number and shared memory of the multiprocessors alone: the same bits on
// every run. In place is allowed. Where the output's 16-byte boundaries lie at other elements than the input's, lanes write
// an element each; of wide results vectors are the output's instead, as 32-byte sectors that are written in two goes take twice
// the time. (PMPP ch. 11; Merrill and Garland, 2016. The book's Kogge-Stone is block/scan.hpp.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/lane_vectors.hpp>
#include <pmpp/block/load_store.hpp>
#include <pmpp/block/look_back.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/block/store_rows.hpp>
#include <pmpp/block/tile_pipeline.hpp>
#include <pmpp/block/vector_range.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/scan.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce/kernel.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct scan_tuning {
  int threads = 384;  ///< of a block that move elements; one more warp talks to other blocks
  int vectors =
      17;          ///< of a thread, 16 bytes each; odd: then the lanes of a warp find theirs in different banks. Fewer
                   ///< where shared memory does not hold two tiles
  int blocks = 1;  ///< of a multiprocessor. H100, 2^28 floats: 384 x 17 x 1 -> 752 us, 512 x 13 x 1 -> 791,
                   ///< 384 x 9 x 2 -> 873, 256 x 7 x 4 -> 982

  /// Where a block has too little shared memory for a vector of each thread.
  constexpr scan_tuning least() const {
    return {.threads = min(threads, 128), .vectors = min(vectors, 9), .blocks = 2};
  }
};

namespace detail {

enum class scan_kind { inclusive, exclusive };

/// What the first element joins on its left.
template <class A>
struct scan_start {
  A value{};
  bool present = false;
};

template <class In, class Out, class Op, class A, scan_kind Kind, int Items, scan_tuning Tuning>
struct scan_kernel {
  using raw = block::raw_items<In, Items>;
  using results = block::vector<value_of<Out>, Items>;

  /// Whether results are written by way of a place of their own, and how many vectors of a lane it takes.
  static constexpr bool staged = Items > 1 && sizeof(results) > sizeof(raw) && sizeof(results) <= 256;
  static constexpr int group = sizeof(results) <= 32 ? 4 : sizeof(results) <= 64 ? 2 : 1;
  /// A vector in shared memory: first of the input, then of what became of it.
  union slot {
    PMPP_HOST_DEVICE slot() {}
    raw in;
    std::conditional_t<staged, raw, results> out;
  };
  using slot_array = block::lane_vectors<slot>;
  static constexpr int gap = slot_array::narrow ? 0 : 16;  ///< bytes at most, in a tile of most_vectors
  using staging = block::lane_vectors<packed<value_of<Out>, Items>>;
  /// Whether vectors may be the output's where those of the input begin elsewhere: lanes take theirs out of two.
  static constexpr bool shifts = staged && slot_array::narrow && requires(const raw& x) { x.word[0]; };
  /// Multiples of it, in bytes, are where vectors of the output begin then.
  static constexpr std::size_t boundary = min(std::size_t(128), sizeof(results) & -sizeof(results));
  static constexpr int more_slots = shifts ? max(1, 128 / int(sizeof(slot))) : 0;   ///< of a warp
  static constexpr int staging_bytes = staged ? staging::bytes_of_lane(group) : 0;  ///< of a lane
  // As many bytes in shared memory, however wide vectors and accumulators are; and to read and to write for a tile.
  static constexpr int tile_bytes = Tuning.threads * Tuning.vectors * 16, lanes = simt::warp_size,
                       fitting_warps = tile_bytes / (lanes * int(sizeof(slot) + sizeof(A) + staging_bytes / 2)),
                       warps = max(1, min(Tuning.threads / lanes, fitting_warps)), workers = warps * lanes,
                       threads = workers + lanes, min_blocks = Tuning.blocks,
                       lane_bytes = tile_bytes / workers - max(0, int(sizeof(A)) - 8),
                       fitting_vectors = staged
                                             ? min((2 * (lane_bytes - gap) - staging_bytes) / (2 * int(sizeof(slot))),
                                                   2 * lane_bytes / int(sizeof(raw) + sizeof(results)))
                                             : (lane_bytes - gap) / int(sizeof(slot)),
                       // odd, and such that only one is left over after groups
      odd = staged ? max(2, group) : 2,
                       most_vectors = (max(1, min(2 * Tuning.vectors, fitting_vectors)) - 1) / odd * odd + 1,
                       at_once = max(1, min(4, 64 / int(sizeof(raw))));  ///< vectors of a lane that are read at a time

  static_assert(lanes * (sizeof(slot) + sizeof(A)) <= 110 * 1024, "pmpp: elements have at most 1500 bytes");

  // Dynamic shared memory comes after; 2^28 floats take 50 us more if it does not start at a multiple of 128 bytes.
  struct alignas(128) shared {
    block::tile_pipeline_memory<A> pipeline;
    A of_warp[2][warps];
    A before_warp[2][warps];
    A before_lane[2][workers];
  };
  struct plan : block::tile_plan<Items, workers, 0> {
    int vectors;  ///< of a thread
    unsigned reciprocal;

    plan(std::int64_t count, std::int64_t lead, int vectors_of_thread)
        : block::tile_plan<Items, workers, 0>(count, lead, vectors_of_thread),
          vectors(vectors_of_thread),
          reciprocal(slot_array::reciprocal_of(vectors)) {}
    /// Dynamic shared memory: two tiles, and results on their way.
    std::size_t shared_bytes() const { return shared_bytes(vectors); }
    static constexpr std::size_t shared_bytes(int vectors) {
      return std::size_t(2) * workers * slot_array::bytes_of_lane(vectors) + staging_bytes * workers +
             2 * sizeof(slot) * warps * more_slots;
    }
  };
  static constexpr bool begins_early = simt::can_begin_early;
  struct arguments {
    In in;
    Out out;
    item_count count;
    plan known;  ///< for a count that the host knows; for its bound where only the device does
    std::int64_t lead;
    bool aligned;  ///< vectors of the output begin where these do
    int shift;     ///< items by which vectors of the input begin before these
    Op op;
    scan_start<A> start;
    block::look_back<A> look_back;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    plan p = a.known;
    if (a.count.pointer != nullptr) p.set(a.count.get(), a.lead);
    block::for_each_tile(
        block, a.look_back, memory.pipeline, p.tiles, false, [&](int tile, bool) { p.prefetch(a.in, tile); },
        [&](int tile, int stage) { load(block, a, p, tile, stage); },
        [&](int tile, int stage) { fold(block, memory, a, p, tile, stage); },
        [&](int tile, int stage, auto exchange) { look_back_for(block, memory, a, p, tile, stage, exchange); },
        [&](int tile, int stage) { write(block, memory, a, p, tile, stage); });
    a.look_back.finish(block, memory.pipeline.look_back, p.tiles);
  }

private:
  /// The vectors of one warp in a tile. They are moved lane by lane and worked on thread by thread. Inside: all their items exist.
  template <bool Inside>
  struct part : block::vector_range<Items, Inside> {
    static constexpr bool inside = Inside;
    int vectors;  ///< of a thread
    slot_array slots;
    staging results_of;  ///< of a group of vectors

    template <class Block>
    PMPP_HOST_DEVICE part(Block& block, const plan& p, std::int64_t first_vector, int stage)
        : block::vector_range<Items, Inside>(p.data, first_vector, p.vectors * lanes),
          vectors(p.vectors),
          slots{block.dynamic_shared() + staging_bytes * workers +
                    (stage * warps + block.warp()) *
                        (lanes * slot_array::bytes_of_lane(vectors) + more_slots * int(sizeof(slot))),
                vectors, 0, p.reciprocal},
          results_of{block.dynamic_shared() + block.warp() * (lanes * staging_bytes), group} {}
    /// Vector v of a lane.
    PMPP_HOST_DEVICE raw get(int lane, int v, [[maybe_unused]] int shift) const {
      if constexpr (shifts) {
        if (shift != 0) {
          constexpr int words = sizeof(raw) / 4;
          const int bytes = shift * int(sizeof(raw)) / Items, bits = bytes % 4 * 8,
                    at = (lane * vectors + v) * words + bytes / 4;
          raw x;
          std::uint32_t next = slots[at / words].in.word[at % words];
          for (int j = 0; j < words; ++j) {
            const std::uint32_t word = next;
            next = slots[(at + j + 1) / words].in.word[(at + j + 1) % words];
            x.word[j] = static_cast<std::uint32_t>((std::uint64_t(next) << 32 | word) >> bits);
          }
          return x;
        }
      }
      return slots.at(lane, v).in;
    }
    /// How many lanes have a vector to work on.
    PMPP_HOST_DEVICE int busy_lanes(auto& block) const {
      return Inside ? lanes : simt::count_bits(block.ballot(this->has(block.lane() * vectors)));
    }
    /// Calls f(v, vector) for Count vectors of a lane from `from` on, which are read before any is worked on.
    template <int Count>
    PMPP_HOST_DEVICE void visit(auto& block, int from, int shift, auto f) const {
      const int own = block.lane() * vectors + from;
      raw x[Count]{};
      for (int j = 0; j < Count; ++j)
        if (this->has(own + j)) x[j] = get(block.lane(), from + j, shift);
      for (int j = 0; j < Count; ++j)
        if (this->has(own + j)) f(from + j, x[j]);
    }
    /// The same for all vectors of a lane: first one, which has nothing to join that is certain to exist; then some at a time.
    PMPP_HOST_DEVICE void visit_all(auto& block, int shift, auto f) const {
      visit<1>(block, 0, shift, f);
      int v = 1;
      if constexpr (Inside)
        for (; v + at_once <= vectors; v += at_once) visit<at_once>(block, v, shift, f);
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // few are left over inside
#endif
      for (; v < vectors; ++v) visit<1>(block, v, shift, f);
    }
  };

  /// Calls f with a warp's part of a tile. One that has all vectors and all their items needs no checks.
  template <class Block, class F>
  PMPP_HOST_DEVICE static void with_part(Block& block, const plan& p, int tile, int stage, F f) {
    const int of_warp = lanes * p.vectors;
    const std::int64_t first_vector = p.first_vector(block, tile), first = p.data.element(first_vector);
    if (first < 0 || first + of_warp * Items > p.data.n)
      f(part<false>(block, p, first_vector, stage));
    else
      f(part<true>(block, p, first_vector, stage));
  }

  /// Starts copying a tile to shared memory.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, const plan& p, int tile, int stage) {
    with_part(block, p, tile, stage, [&](const auto& mine) {
      if constexpr (shifts) {
        if (a.shift != 0) {
          auto data = p.data;
          data.first -= a.shift;
          const block::vector_range<Items, false> in(data, (mine.first - p.data.first) / Items, mine.count + 1);
          return block::load_async(block, a.in, in, mine.slots);
        }
      }
      block::load_async<std::remove_cvref_t<decltype(mine)>::inside ? 4 : 1>(block, a.in, mine, mine.slots);
    });
    simt::copy_async_commit();
  }

  /// Combines the elements of each warp's part of a tile, and of those before each lane.
  template <class Block>
  PMPP_HOST_DEVICE static void fold(Block& block, shared& memory, const arguments& a, const plan& p, int tile,
                                    int stage) {
    simt::copy_async_wait<0>();
    block.sync_warp();
    with_part(block, p, tile, stage, [&](const auto& mine) { fold(block, memory, a, mine, stage); });
  }
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void fold(Block& block, shared& memory, const arguments& a, const part<Inside>& mine,
                                    int stage) {
    A sum{};
    bool has_sum = false;
    mine.visit_all(block, a.shift, [&](int v, const raw& x) {
      mine.for_each_item(block.lane() * mine.vectors + v, [&](int k) {
        const A item = static_cast<A>(block::access<In>::value(a.in, x, k));
        sum = has_sum ? static_cast<A>(a.op(sum, item)) : item;
        has_sum = true;
      });
    });
    const int busy = mine.busy_lanes(block);
    sum = block::warp_inclusive_scan(block, sum, a.op, busy);
    if (block.lane() == busy - 1) memory.of_warp[stage][block.warp()] = sum;
    memory.before_lane[stage][block.thread()] = block.shuffle_up(sum, 1);
  }

  /// The look-back warp's part of a tile that has been folded.
  template <class Block, class Exchange>
  PMPP_HOST_DEVICE static void look_back_for(Block& block, shared& memory, const arguments& a, const plan& p, int tile,
                                             int stage, const Exchange& exchange) {
    const int of_warp = lanes * p.vectors;
    const std::int64_t left = p.data.vectors - std::int64_t(tile) * (warps * of_warp);
    const int count =
        simt::count_bits(block.ballot(block.lane() < warps && block.lane() * of_warp < left));  // of warps
    A sum{};  // of this lane's warp and those before it
    if (block.lane() < count) sum = memory.of_warp[stage][block.lane()];
    sum = block::warp_inclusive_scan(block, sum, a.op, count);
    const A aggregate = block.shuffle(sum, count - 1), before = block.shuffle_up(sum, 1);
    const A prefix = exchange(aggregate, a.start.present, a.start.value, a.op);
    if (block.lane() < count) {
      const bool has_prefix = tile > 0 || a.start.present;
      memory.before_warp[stage][block.lane()] = block.lane() == 0 ? prefix
                                                : has_prefix      ? static_cast<A>(a.op(prefix, before))
                                                                  : before;
    }
  }

  /// Scans and writes a tile of which the look-back warp knows what lies before.
  template <class Block>
  PMPP_HOST_DEVICE static void write(Block& block, const shared& memory, const arguments& a, const plan& p, int tile,
                                     int stage) {
    A running{};
    bool has_running = tile > 0 || a.start.present || block.warp() > 0;
    if (has_running) running = memory.before_warp[stage][block.warp()];
    if (block.lane() > 0) {
      const A before = memory.before_lane[stage][block.thread()];
      running = has_running ? static_cast<A>(a.op(running, before)) : before;
      has_running = true;
    }
    with_part(block, p, tile, stage, [&](const auto& mine) { write(block, a, mine, running, has_running); });
    block.sync_warp();
  }
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void write(Block& block, const arguments& a, const part<Inside>& mine, A running,
                                     bool has_running) {
    const int first = block.lane() * mine.vectors;
    // Scans vector v of the share.
    const auto scan = [&](int v, const raw& x, auto& to) {
      std::remove_reference_t<decltype(to)> y{};
      mine.for_each_item(first + v, [&](int k) {
        if (Kind == scan_kind::exclusive) y.item[k] = static_cast<value_of<Out>>(detail::value_of_stored(running));
        const A item = static_cast<A>(block::access<In>::value(a.in, x, k));
        running = has_running ? static_cast<A>(a.op(running, item)) : item;
        has_running = true;
        if (Kind == scan_kind::inclusive) y.item[k] = static_cast<value_of<Out>>(detail::value_of_stored(running));
      });
      to = y;
    };
    const auto any = [](std::int64_t) { return true; };
    if constexpr (staged) {
      const auto write_group = [&](int v, auto some) {
        constexpr int count = decltype(some)::value;
        mine.template visit<count>(block, v, a.shift,
                                   [&](int j, const raw& x) { scan(j, x, mine.results_of.at(block.lane(), j - v)); });
        block.sync_warp();
        block::store_rows(
            block, a.out, mine, count, a.aligned, [&](int c) { return c / count * mine.vectors + v + c % count; },
            [&](int c) -> const auto& { return mine.results_of.at(c / count, c % count); }, any);
        block.sync_warp();
      };
      write_group(0, constant<1>{});
      int v = 1;
      for (; v + group <= mine.vectors; v += group) write_group(v, constant<group>{});
      for (; v < mine.vectors; ++v) write_group(v, constant<1>{});
    } else {
      mine.visit_all(block, a.shift, [&](int v, const raw& x) { scan(v, x, mine.slots.at(block.lane(), v).out); });
      block.sync_warp();
      block::store_rows(
          block, a.out, mine, mine.vectors, a.aligned,
          [](int c) { return c; }, [&](int c) -> const auto& { return mine.slots[c].out; }, any,
          mine.slots.template adjacent<results>());
    }
  }
};

/// Enqueues the scan on a GPU or runs it in the emulator.
template <scan_tuning Tuning, scan_kind Kind, class P, class In, class Out, class A, class Op>
void scan_on_blocks(const P& where, const input<In>& in, Out out, const scan_start<A>& start, Op op) {
  if (in.count.bound == 0) return;
  detail::check_reachable(where, "scan", zip_iterator{in.first, out});
  const auto enqueue = [&](auto tuning, auto items, std::int64_t lead, std::int64_t lead_of_output) {
    using kernel = scan_kernel<In, Out, Op, A, Kind, items, decltype(tuning)::value>;
    using look_back = block::look_back<A>;
    // Short inputs are cut into smaller tiles, one for each multiprocessor. A count that only the device knows may turn
    // out to be much less than its bound; tiles keep their size then.
    const machine& on = machine_of(where);
    const std::size_t room = std::size_t(on.shared_per_block) - sizeof(typename kernel::shared);
    const std::int64_t rows = ceil_div(in.count.bound, std::int64_t(kernel::workers) * items);
    // A few vectors of a thread, up to 16 elements, take less time than one of a thread and a look-back.
    const std::int64_t share = rows <= min(4, 16 / items) ? rows : ceil_div<std::int64_t>(rows, on.multiprocessors);
    const int most = [&] {
      int vectors = kernel::most_vectors;
      while (vectors > 1 && kernel::plan::shared_bytes(vectors) > room) vectors -= kernel::shifts ? 2 : 1;
      return vectors;
    }();
    const int vectors = block::vectors_of_tile(share, most, kernel::shifts);
    // Vectors that are the output's: narrow elements are moved into them, wide results need not be.
    int shift = 0;
    if (kernel::shifts && lead_of_output >= 0) {
      if constexpr (std::is_pointer_v<Out>) {  // from sectors on: one that two vectors share is written in two goes
        const auto before = reinterpret_cast<std::uintptr_t>(out) % kernel::boundary;
        lead_of_output = static_cast<std::int64_t>((kernel::boundary - before) % kernel::boundary / sizeof(*out));
      }
      shift = static_cast<int>((lead_of_output - lead + items) % items);
      lead = lead_of_output;
    }
    const bool aligned = lead == lead_of_output;
    if (shift == 0 && share > vectors) lead = block::lead_of_line(in.first, lead, vectors * items - 1, items);
    const typename kernel::plan p(in.count.bound, lead, vectors);
    const bool alone = p.tiles == 1;
    scratch memory(where, alone ? 0 : look_back::payload_bytes(p.tiles), alone ? 0 : look_back::state_bytes(p.tiles));
    const std::int64_t blocks = min<std::int64_t>(p.tiles, std::int64_t(tuning().blocks) * on.multiprocessors);
    launch_kernel<kernel::threads>(
        where, grid{blocks, kernel::threads, p.shared_bytes()}, kernel{},
        typename kernel::arguments{in.first, out, in.count, p, lead, aligned, shift, op, start,
                                   look_back(memory.state(), memory.data(), p.tiles)});
  };
  block::with_input_access<In>(in.first, out, [&](auto items, std::int64_t lead, std::int64_t lead_of_output) {
    constexpr auto bytes_of = [](auto tuning) {
      using kernel = scan_kernel<In, Out, Op, A, Kind, decltype(items)::value, decltype(tuning)::value>;
      return sizeof(typename kernel::shared) + kernel::plan::shared_bytes(1);
    };
    with_fitting_tuning<scan_tuning, Tuning, Tuning.least()>(
        "scan", sizeof(A), where, bytes_of, [&](auto tuning) { enqueue(tuning, items, lead, lead_of_output); });
  });
}

template <scan_tuning Tuning, scan_kind Kind, class P, class In, class O, class A, class Op>
auto scan_input(const char* function, const P& where, const input<In>& elements, O& out, const scan_start<A>& start,
                const Op& combine) {
  check_output(function, "out", out, elements.count.bound);
  const auto first = begin_of(out);
  const auto target = detail::with_stored(unwrap(first));
  const auto in = stored_for<A>(elements);
  const auto op = folding<gpu_execution<P>, A, value_of<In>, Kind == scan_kind::exclusive>(combine);
  detail::check_overlap(function, in, target);
  using narrow = scan_accumulator<value_of<In>, value_of<std::remove_const_t<decltype(target)>>, stored_as<A>, Op>;
  const scan_start<narrow> from{static_cast<narrow>(start.value), start.present};
  if constexpr (std::is_same_v<decltype(op), const refused> || !require_writable<decltype(unwrap(first))>()) {
    return first;
  } else {
    if constexpr (kernel_execution<P>)
      scan_on_blocks<Tuning, Kind>(where, in, target, from, op);
    else
      scan_on_host<Kind == scan_kind::exclusive>(
          where, in, target, from.value, from.present, op,
          [&](std::int64_t begin, std::int64_t end) { return fold_task<narrow>(in.first, begin, end, op); });
    return first + in.count.bound;
  }
}

}  // namespace detail

/// Writes op(... op(op(r[0], r[1]), ...), r[i]) to out[i], grouped freely, in order.
///
/// \param r    a range, or two iterators, or an iterator and a device_count; visible to `where`.
/// \param out  an iterator, or a range with room for as many elements; visible to `where`. Results are converted to its
///             element type.
/// \param op   associative; need not be commutative or have an identity. Sees elements, converted to the type of the
///             accumulator (accumulator_of<T>, trivially copyable), and results of adjacent ranges.
/// A fifth argument `init`, where given, joins once, on the left; its type is then that of the accumulator.
/// \return the iterator past the last element written (past the upper bound for a device_count).
/// In place is allowed (out begins where r begins); other overlaps are not. The same bits on every run; on host also for
/// any number of threads. Asynchronous on a GPU; may be captured. Scratch: 8 bytes a tile of 102 KB (16 for accumulators
/// of 5 to 12 bytes), as zeroed state of the workspace, or one allocation in stream order.
/// Cost: n elements read, n written; one launch.
/// \throws std::invalid_argument for a null or reversed input, std::length_error if out is too short; out_of_memory,
/// cuda_error. Source: PMPP ch. 11; Merrill and Garland, 2016. Example: test/scan.cpp, sums of integers.
template <scan_tuning Tuning = tuned<scan_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Op = plus>
auto inclusive_scan(const P& where, R&& r, O&& out, Op op = {}) {
  using A = accumulator_of<element_value<R>>;
  return detail::scan_input<Tuning, detail::scan_kind::inclusive>("inclusive_scan", where,
                                                                  detail::input_of("inclusive_scan", r), out,
                                                                  detail::scan_start<detail::stored_as<A>>{}, op);
}
template <scan_tuning Tuning = tuned<scan_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Op,
          class A>
auto inclusive_scan(const P& where, R&& r, O&& out, Op op, A init) {
  return detail::scan_input<Tuning, detail::scan_kind::inclusive>(
      "inclusive_scan", where, detail::input_of("inclusive_scan", r), out, detail::scan_start<A>{init, true}, op);
}

/// Writes op(... op(op(init, r[0]), r[1]) ..., r[i - 1]) to out[i]; out[0] is init. As inclusive_scan.
/// Example: test/scan.cpp, exclusive.
template <scan_tuning Tuning = tuned<scan_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class A = accumulator_of<element_value<R>>, class Op = plus>
auto exclusive_scan(const P& where, R&& r, O&& out, A init = {}, Op op = {}) {
  return detail::scan_input<Tuning, detail::scan_kind::exclusive>(
      "exclusive_scan", where, detail::input_of("exclusive_scan", r), out, detail::scan_start<A>{init, true}, op);
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <scan_tuning Tuning = tuned<scan_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Op = plus>
auto inclusive_scan(const P& where, It first, End last, O&& out, Op op = {}) { return inclusive_scan<Tuning>(where, subrange{first, last}, out, op); }

template <scan_tuning Tuning = tuned<scan_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Op, class A>
auto inclusive_scan(const P& where, It first, End last, O&& out, Op op, A init) { return inclusive_scan<Tuning>(where, subrange{first, last}, out, op, init); }

template <scan_tuning Tuning = tuned<scan_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class A = accumulator_of<value_of<It>>, class Op = plus>
auto exclusive_scan(const P& where, It first, End last, O&& out, A init = {}, Op op = {}) { return exclusive_scan<Tuning>(where, subrange{first, last}, out, init, op); }
// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
