// SPDX-License-Identifier: Apache-2.0
//
// Stream compaction: keeps some elements of a range, in order. copy_if, remove_if, copy_flagged, unique_copy,
// partition_copy.
//
//   1. A block goes through tiles by ticket, two in shared memory at a time (block/tile_pipeline.hpp), and loads them in
//      rows of vectors (block/vector_rows.hpp). Each element is read once and judged once.
//   2. A lane counts what it keeps of some rows of vectors. The counts share a word, a byte or two each, so that one scan
//      of that word ranks all their elements (block/scan.hpp). What a warp keeps moves to the front of its part of the
//      tile, in shared memory.
//   3. One warp publishes how many the tile keeps, and collects how many the tiles before have kept
//      (block/look_back.hpp).
//   4. Each warp copies what it has kept to the output, in whole lines. The tile that is last writes the count.
//
//      tile      a b C d E F g h    kept: C E F      rank  0 1 2      output position = kept before the tile + rank
//
// Work n; traffic n * sizeof(T) read, the kept elements written; one barrier a tile; one launch. Stable. A tile writes
// only in front of its own end, and only after all tiles before it have read their elements: in place is allowed.
// (PMPP ch. 11, exercise on compaction; Merrill and Garland, 2016; Billeter, Olsson and Assarsson, 2009.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/look_back.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/block/tile_pipeline.hpp>
#include <pmpp/block/vector_range.hpp>
#include <pmpp/block/vector_rows.hpp>
#include <pmpp/core/callable.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/projected.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/core/stored.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct select_tuning {
  int threads = 640;  ///< of a block that move elements; one more warp talks to other blocks
  int rows = 10;      ///< vectors of 16 bytes that a thread has in a tile; fewer where shared memory holds no two tiles
  int blocks = 1;     ///< of a multiprocessor. H100, copy_if of half of 2^28 32-bit elements: 640 x 10 x 1 -> 560 us,
                      ///< 384 x 16 x 1 -> 566, 384 x 8 x 2 -> 616

  /// Where a block has too little shared memory for a vector of each thread.
  constexpr select_tuning least() const { return {.threads = min(threads, 256), .rows = min(rows, 5), .blocks = 2}; }
};

namespace detail {

// What is kept. `test` judges an input element, `element` is what of it goes to the output; where `neighbours`, test
// also sees the element before.

template <class Pred, bool Wanted>
struct keep_where {
  static constexpr bool neighbours = false;
  template <bool OnGpu, class T>
  static constexpr bool allowed() {
    return require_marked<OnGpu, Pred>() && require_predicate<Pred, T>();
  }
  Pred pred;
  template <class T>
  PMPP_HOST_DEVICE bool test(const T& x) const {
    return static_cast<bool>(pred(value_of_stored(x))) == Wanted;
  }
  template <class T>
  PMPP_HOST_DEVICE static const T& element(const T& x) {
    return x;
  }
};

/// Of pairs of element and flag.
struct keep_flagged {
  static constexpr bool neighbours = false;
  template <bool OnGpu, class T>
  static constexpr bool allowed() {
    return true;
  }
  template <class T, class Flag>
  PMPP_HOST_DEVICE static bool test(const pair<T, Flag>& x) {
    return static_cast<bool>(x.second);
  }
  template <class T, class Flag>
  PMPP_HOST_DEVICE static const T& element(const pair<T, Flag>& x) {
    return x.first;
  }
};

/// The first of each run of equals.
template <class Eq>
struct keep_first {
  static constexpr bool neighbours = true;
  template <bool OnGpu, class T>
  static constexpr bool allowed() {
    return require_marked<OnGpu, Eq>() && require_equivalence<Eq, T>();
  }
  Eq eq;
  template <class T>
  PMPP_HOST_DEVICE bool test(const T& before, const T& x) const {
    return !static_cast<bool>(eq(value_of_stored(before), value_of_stored(x)));
  }
  template <class T>
  PMPP_HOST_DEVICE static const T& element(const T& x) {
    return x;
  }
};

/// Where elements go that are not kept, if that is nowhere.
struct nowhere {};

/// How many elements there were, and how many of them were kept.
struct selection {
  std::int64_t kept, n;
};
/// Where a kernel leaves that: all of it, or the number kept, converted to the type of an output.
struct store_selection {
  selection* out;
  PMPP_HOST_DEVICE void operator()(const selection& s) const { *out = s; }
};
template <class Out>
struct store_kept {
  Out out;
  PMPP_HOST_DEVICE void operator()(const selection& s) const { *out = static_cast<value_of<Out>>(s.kept); }
};

/// Whether an input is copied to shared memory row by row, 32 vectors at a time, and made of that there. Its block::access has
///   stage_row(block, it, i, count, room)       the lanes of a warp start copying what items i ... i + count - 1 are made of
///   from_row(it, room, from, count, raw)       makes of it what items i + from ... i + from + count - 1 are made of
template <class It>
inline constexpr bool loads_by_rows = requires {
  requires block::access<It>::by_rows;
};

template <class In, class Select, class Out, class OutFalse, class Sink, int Items, select_tuning Tuning>
struct select_kernel {
  using X = value_of<In>;
  using T = std::remove_cvref_t<decltype(Select::element(std::declval<const X&>()))>;
  static_assert(std::is_trivially_copyable_v<X>, "pmpp: elements must be trivially copyable");

  using raw = block::raw_items<In, Items>;
  static constexpr bool by_rows = Items > 1 && loads_by_rows<In>;
  static constexpr bool partitions = !std::is_same_v<OutFalse, nowhere>;

  using rows_of = block::vector_rows<In, Items>;
  using slot = block::vector_slot<raw, block::vector<T, Items>>;
  static constexpr int lanes = simt::warp_size,
                       bytes = by_rows ? lanes * int(sizeof(slot))  // of a row, and of what is kept of it
                                       : round_up(max(rows_of::bytes, lanes*Items*int(sizeof(T))),
                                                  max(16, int(max(alignof(T), alignof(raw)))));
  // As many bytes in shared memory, however wide the elements are. What is not kept takes as much again.
  static constexpr int copies = partitions ? 2 : 1, tile_bytes = Tuning.threads * Tuning.rows * 16 / copies,
                       warps = max(1, min(Tuning.threads / lanes, tile_bytes / bytes)), workers = warps * lanes,
                       threads = workers + lanes, min_blocks = Tuning.blocks,
                       most_rows = max(1, tile_bytes / (warps * bytes));
  static_assert(2 * copies * bytes <= 200 * 1024, "pmpp: elements have at most 1600 bytes");

  struct alignas(128) shared {
    block::tile_pipeline_memory<std::int64_t> pipeline;
    std::int64_t kept_before_warp[2][warps];
    int kept_of_warp[2][warps];
  };
  struct plan {
    block::ordered_layout<Items> data;
    std::int64_t tiles;  ///< at least one, which may be empty
    int rows;            ///< of a warp

    PMPP_HOST_DEVICE plan(std::int64_t count, std::int64_t lead, int rows_of_warp)
        : data(count, lead),
          tiles(max(std::int64_t(1), ceil_div(data.vectors, std::int64_t(rows_of_warp) * workers))),
          rows(rows_of_warp) {}
    /// Dynamic shared memory: two tiles. It takes this much for each row of a warp.
    static constexpr std::size_t row_bytes = 2 * copies * bytes * warps;
    std::size_t shared_bytes() const { return row_bytes * static_cast<std::size_t>(rows); }
  };
  struct arguments {
    In in;
    Out out;
    OutFalse out_false;
    Sink sink;
    item_count count;
    plan known;  ///< for a count that the host knows; for its bound where only the device does
    std::int64_t lead;
    Select select;
    bool in_place;     ///< what is written may lie where others have read
    selection* found;  ///< where the result waits until all blocks have read the count, which it may overwrite
    block::look_back<std::int64_t> look_back;
    completion done;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    plan p = a.known;
    if (a.count.pointer != nullptr) p = plan(a.count.get(), a.lead, a.known.rows);
    block::for_each_tile<true>(
        block, a.look_back, memory.pipeline, p.tiles,
        [&](std::int64_t tile, int stage) { load(block, a, p, tile, stage); },
        [&](std::int64_t tile, int stage) { gather(block, memory, a, p, tile, stage); },
        [&](std::int64_t tile, int stage, auto exchange) { look_back_for(block, memory, a, p, tile, stage, exchange); },
        [&](std::int64_t tile, int stage) { write(block, memory, a, p, tile, stage); });
    a.look_back.finish(block, memory.pipeline.look_back, p.tiles);  // the last block finds everything written
    if (a.done.flag != nullptr) block.sync();
    if (block.thread() != 0 || !(a.known.tiles == 1 || memory.pipeline.look_back.last)) return;
    if (a.found != nullptr) a.sink(*a.found);
    a.done.signal();
  }

private:
  /// The vectors of one warp in a tile, in rows of 32.
  template <bool Inside>
  struct part : block::vector_range<Items, Inside> {
    int rows;
    std::byte* room;  ///< of the rows: what is kept moves to their front; the others to as many rows after them

    template <class Block>
    PMPP_HOST_DEVICE part(Block& block, const plan& p, std::int64_t tile, int stage)
        : block::vector_range<Items, Inside>(p.data, (tile * warps + block.warp()) * p.rows * lanes, p.rows * lanes),
          rows(p.rows),
          room(block.dynamic_shared() + std::int64_t(stage * warps + block.warp()) * copies * p.rows * bytes) {}
    PMPP_HOST_DEVICE bool has(int v) const {  // the first ones may lie in front of the data
      return Inside || (v * Items < this->end && (v + 1) * Items > this->begin);
    }
    PMPP_HOST_DEVICE std::byte* row(int r) const { return room + r * bytes; }
    PMPP_HOST_DEVICE T* kept() const { return reinterpret_cast<T*>(room); }
    PMPP_HOST_DEVICE T* others() const { return reinterpret_cast<T*>(row(rows)); }
    PMPP_HOST_DEVICE bool has_whole_row(int r) const {
      return Inside || (r * lanes * Items >= this->begin && (r + 1) * lanes * Items <= this->end);
    }
  };

  /// A tile that has all rows and all their elements needs no checks.
  PMPP_HOST_DEVICE static bool inside(const plan& p, std::int64_t tile) {
    return (tile > 0 || p.data.first == 0) && p.data.element((tile + 1) * workers * p.rows) <= p.data.n;
  }

  /// Calls f with a warp's part of a tile.
  template <class Block, class F>
  PMPP_HOST_DEVICE static auto with_part(Block& block, const plan& p, std::int64_t tile, int stage, F f) {
    if constexpr (by_rows)  // these checks are the least of it
      return f(part<false>(block, p, tile, stage));
    else
      return inside(p, tile) ? f(part<true>(block, p, tile, stage)) : f(part<false>(block, p, tile, stage));
  }

  /// Starts copying a tile to shared memory.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, const plan& p, std::int64_t tile, int stage) {
    with_part(block, p, tile, stage, [&](const auto& mine) {
      for (int r = 0; r < mine.rows && r * lanes * Items < mine.end; ++r) {
        const int v = r * lanes + block.lane();
        if constexpr (by_rows)
          block::access<In>::stage_row(block, a.in, mine.element(r * lanes),
                                       min(lanes * Items, mine.end - r * lanes * Items),
                                       reinterpret_cast<slot*>(mine.row(r)));
        else if (mine.has_whole_row(r))
          rows_of::load_async(block, a.in, mine.element(r * lanes), mine.row(r));
        else if (mine.has(v))
          rows_of::put(
              mine.row(r), block.lane(),
              block::access<In>::template load_part<Items>(a.in, mine.element(v), mine.begin_of(v), mine.end_of(v)));
      }
    });
    simt::copy_async_commit();
  }

  /// How many elements a lane keeps of some rows: fields of a word that do not overflow when the lanes add up.
  static constexpr int bits = Items * lanes < 256 ? 8 : 16, rows_at_once = by_rows ? 1 : 32 / bits;
  PMPP_HOST_DEVICE static int field(unsigned counts, int row) {
    return static_cast<int>(counts >> row * bits & ((1u << bits) - 1));
  }

  /// Gathers what each warp keeps of its part of a tile.
  template <class Block>
  PMPP_HOST_DEVICE static void gather(Block& block, shared& memory, const arguments& a, const plan& p,
                                      std::int64_t tile, int stage) {
    simt::copy_async_wait<0>();
    block.sync_warp();
    const int kept = with_part(block, p, tile, stage, [&](const auto& mine) { return gather(block, a, mine); });
    if (block.lane() == 0) memory.kept_of_warp[stage][block.warp()] = kept;
  }
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static int gather(Block& block, const arguments& a, const part<Inside>& mine) {
    [[maybe_unused]] X before{};  // the element before the row, in lane 0, where neighbours count
    // In place this element may be written at the same time, but only with its own value: it stays where it is as long
    // as everything in front of it is kept.
    if constexpr (Select::neighbours)
      if (block.lane() == 0 && mine.first > 0 && mine.has(0)) before = a.in[mine.first - 1];
    int kept = 0;  // of the rows before
    for (int row = 0; row < mine.rows; row += rows_at_once) {
      raw x[rows_at_once]{};
      for (int r = 0; r < rows_at_once; ++r) {
        const int v = (row + r) * lanes + block.lane();
        if (row + r >= mine.rows || !mine.has(v)) continue;
        if constexpr (by_rows)
          block::access<In>::from_row(a.in, reinterpret_cast<slot*>(mine.row(row + r)), block.lane() * Items,
                                      mine.end_of(v), x[r]);
        else
          x[r] = rows_of::get(mine.row(row + r), block.lane());
      }
      block.sync_warp();  // what is kept may now go where these were
      unsigned verdicts[rows_at_once]{}, counts = 0;
      for (int r = 0; r < rows_at_once; ++r) {
        const int v = (row + r) * lanes + block.lane();
        const bool has = row + r < mine.rows && mine.has(v);
        [[maybe_unused]] X previous{};
        if constexpr (Select::neighbours) {
          X last{};
          if (has && mine.end_of(v) == Items) last = block::access<In>::value(a.in, x[r], Items - 1);
          const X left = block.shuffle(last, (block.lane() + lanes - 1) % lanes);
          previous = block.lane() == 0 ? before : left;
          before = left;  // in lane 0 that is the last element of this row
        }
        if (!has) continue;
        if constexpr (by_rows) {
          verdicts[r] = a.select.verdicts(x[r], mine.end_of(v));
          counts += static_cast<unsigned>(simt::count_bits(verdicts[r])) << r * bits;
          continue;
        }
        mine.for_each_item(v, [&](int k) {
          const X y = block::access<In>::value(a.in, x[r], k);
          bool keep;
          if constexpr (Select::neighbours) {
            keep = mine.element(v) + k == 0 || a.select.test(previous, y);
            previous = y;
          } else {
            keep = a.select.test(y);
          }
          verdicts[r] |= unsigned(keep) << k;
          counts += unsigned(keep) << r * bits;
        });
      }
      const unsigned up_to = block::warp_inclusive_scan(block, counts, plus{});
      const unsigned of_rows = block.shuffle(up_to, lanes - 1);
      for (int r = 0; r < rows_at_once; ++r) {
        const int v = (row + r) * lanes + block.lane();
        int rank = kept + field(up_to, r) - field(counts, r);
        kept += field(of_rows, r);
        if (row + r >= mine.rows || !mine.has(v)) continue;
        mine.for_each_item(v, [&](int k) {
          if ((verdicts[r] >> k & 1) != 0)
            put(mine.kept() + rank++, Select::element(block::access<In>::value(a.in, x[r], k)));
          else if constexpr (partitions)
            put(mine.others() + (v * Items + k - mine.begin - rank),
                Select::element(block::access<In>::value(a.in, x[r], k)));
        });
      }
    }
    return kept;
  }

  /// How elements move between registers and shared memory: in words as wide as they are, however their type is aligned.
  using whole = packed<std::uint32_t, max(1, int(access_alignment(sizeof(T))) / 4),
                       max(std::size_t(4), access_alignment(sizeof(T)))>;
  static constexpr bool moves_whole = alignof(T) < access_alignment(sizeof(T)) && sizeof(T) == sizeof(whole);
  PMPP_HOST_DEVICE static void put(T* to, const T& x) {
    if constexpr (moves_whole) {
      whole y;
      memcpy(&y, pmpp::bytes_of(x), sizeof y);
      *reinterpret_cast<whole*>(to) = y;
    } else {
      *to = x;
    }
  }
  PMPP_HOST_DEVICE static T get(const T* from) {
    if constexpr (moves_whole) {
      T x;
      const whole y = *reinterpret_cast<const whole*>(from);
      memcpy(pmpp::bytes_of(x), &y, sizeof y);
      return x;
    } else {
      return *from;
    }
  }

  /// The look-back warp's part of a tile that has been gathered.
  template <class Block, class Exchange>
  PMPP_HOST_DEVICE static void look_back_for(Block& block, shared& memory, const arguments& a, const plan& p,
                                             std::int64_t tile, int stage, const Exchange& exchange) {
    int kept = block.lane() < warps ? memory.kept_of_warp[stage][block.lane()] : 0;
    kept = block::warp_inclusive_scan(block, kept, plus{});
    const int all = block.shuffle(kept, lanes - 1), before = block.shuffle_up(kept, 1);
    if (a.in_place) simt::fence();  // who sees the count may overwrite what this block has read
    const std::int64_t prefix = exchange(all, true, 0, plus{});
    if (a.in_place) simt::fence();
    if (block.lane() < warps) memory.kept_before_warp[stage][block.lane()] = prefix + (block.lane() > 0 ? before : 0);
    if (block.lane() != 0 || tile < p.tiles - 1) return;
    const selection found = {prefix + all, p.data.n};
    if (a.found != nullptr)
      *a.found = found;
    else
      a.sink(found);
  }

  /// Writes a tile of which the look-back warp knows how much is kept before each warp.
  template <class Block>
  PMPP_HOST_DEVICE static void write(Block& block, const shared& memory, const arguments& a, const plan& p,
                                     std::int64_t tile, int stage) {
    const part<false> mine(block, p, tile, stage);
    const std::int64_t before = memory.kept_before_warp[stage][block.warp()];
    const int kept = memory.kept_of_warp[stage][block.warp()];
    write(block, mine.kept(), kept, a.out, before);
    if constexpr (partitions)
      if (mine.end > 0)
        write(block, mine.others(), mine.end - mine.begin - kept, a.out_false, mine.element(0) + mine.begin - before);
    block.sync_warp();
  }

  /// A warp writes n elements to out[position ...], whole lines of 128 bytes where the elements allow it.
  template <class Block, class O>
  PMPP_HOST_DEVICE static void write(Block& block, const T* staged, int n, const O& out, std::int64_t position) {
    if constexpr (std::is_same_v<O, T*> && alignof(T) <= 16 && (sizeof(T) == alignof(T) || alignof(T) >= 4)) {
      // As words that the type's alignment allows.
      using narrow = std::conditional_t<alignof(T) == 1, std::uint8_t, std::uint16_t>;
      using wide = std::conditional_t<alignof(T) == 4, std::uint32_t, std::uint64_t>;
      using word = packed<std::conditional_t<alignof(T) < 4, narrow, wide>, alignof(T) == 16 ? 2 : 1>;
      constexpr int size = sizeof(word), each = size < 4 ? 4 / size : 1, line = 128 / size;
      const auto* const from = reinterpret_cast<const word*>(staged);
      auto* const target = reinterpret_cast<word*>(out + position);
      n *= int(sizeof(T)) / size;
      const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(target) / size % line);
      for (int i = block.lane() * each - shift; i < n; i += lanes * each) {
        if (each > 1 && i >= 0 && i + each <= n) {
          packed<word, each> v;
          for (int k = 0; k < each; ++k) v.item[k] = from[i + k];
          *reinterpret_cast<packed<word, each>*>(target + i) = v;
        } else {
          for (int k = 0; k < each; ++k)
            if (i + k >= 0 && i + k < n) target[i + k] = from[i + k];
        }
      }
    } else {
      for (int i = block.lane() - static_cast<int>(position % lanes); i < n; i += lanes)
        if (i >= 0) out[position + i] = static_cast<value_of<O>>(get(staged + i));
    }
  }
};

/// Whether writing to `out` might change what `in` reads. True where that is not known.
template <class In, class Out>
bool may_overlap(const In& in, const Out& out, std::int64_t n) {
  if constexpr (requires { requires !In::reads_output; }) {
    return false;  // the caller has seen to it
  } else if constexpr (is_zip<In>) {
    return may_overlap(in.a, out, n) || may_overlap(in.b, out, n);
  } else if constexpr (is_transform<In>) {
    return may_overlap(in.base, out, n);
  } else if constexpr (std::is_pointer_v<In> && std::is_pointer_v<Out>) {
    const auto a = reinterpret_cast<std::uintptr_t>(in), b = reinterpret_cast<std::uintptr_t>(out);
    return a < b + static_cast<std::uintptr_t>(n) * sizeof(*out) &&
           b < a + static_cast<std::uintptr_t>(n) * sizeof(*in);
  } else {
    return !requires { in.value; };
  }
}

/// Enqueues the selection on a GPU or runs it in the emulator.
template <select_tuning Tuning, class P, class In, class Out, class OutFalse, class Sink, class Select>
void select_on_blocks(const char* function, const P& where, const input<In>& in, Out out, OutFalse out_false, Sink sink,
                      const Select& select, const completion& done) {
  detail::check_reachable(where, function, zip_iterator{in.first, out});
  if constexpr (!std::is_same_v<OutFalse, nowhere>) detail::check_reachable(where, function, out_false);
  const auto enqueue = [&](auto tuning, auto items, std::int64_t lead) {
    using kernel = select_kernel<In, Select, Out, OutFalse, Sink, items, decltype(tuning)::value>;
    using look_back = block::look_back<std::int64_t>;
    // Short inputs are cut into smaller tiles, one for each multiprocessor.
    const machine& on = machine_of(where);
    const std::int64_t most_blocks = std::int64_t(tuning().blocks) * on.multiprocessors;
    const auto room = std::int64_t(on.shared_per_block) - std::int64_t(sizeof(typename kernel::shared));
    const std::int64_t share = ceil_div(typename kernel::plan(in.count.bound, lead, 1).tiles, most_blocks);
    const std::int64_t most_rows =
        max<std::int64_t>(1, min<std::int64_t>(kernel::most_rows, room / std::int64_t(kernel::plan::row_bytes)));
    const std::int64_t rows = ceil_div(share, ceil_div(share, most_rows));  // as many in each tile of a block
    const typename kernel::plan p(in.count.bound, lead, static_cast<int>(rows));
    const std::int64_t linked = p.tiles == 1 ? 0 : p.tiles;
    const std::size_t payload = linked == 0 ? 0 : scratch_bytes({look_back::payload_bytes(linked)});
    const bool waits = linked > 0 && in.count.pointer != nullptr;
    scratch memory(where, payload + (waits ? sizeof(selection) : 0), linked == 0 ? 0 : look_back::state_bytes(linked));
    auto* const data = static_cast<std::byte*>(memory.data());
    auto* const found = waits ? reinterpret_cast<selection*>(data + payload) : nullptr;
    launch_kernel<kernel::threads>(where, grid{min(p.tiles, most_blocks), kernel::threads, p.shared_bytes()}, kernel{},
                                   typename kernel::arguments{in.first, out, out_false, sink, in.count, p, lead, select,
                                                              detail::may_overlap(in.first, out, in.count.bound), found,
                                                              look_back(memory.state(), data, p.tiles), done});
  };
  block::with_rows(in.first, [&](auto items, std::int64_t lead) {
    // Computed elements may be much wider than what they are made of: such vectors would not fit shared memory.
    using single = std::integral_constant<int, 1>;
    // Two structs of 16 bytes took 14 % longer than one on an H200.
    constexpr bool fits =
        items * sizeof(value_of<In>) <= 128 && !(items == 2 && sizeof(value_of<In>) == 16 && !is_zip<In>);
    using width = std::conditional_t<fits, decltype(items), single>;
    constexpr auto bytes_of = [](auto tuning) {
      using kernel = select_kernel<In, Select, Out, OutFalse, Sink, width::value, decltype(tuning)::value>;
      return sizeof(typename kernel::shared) + kernel::plan::row_bytes;
    };
    with_fitting_tuning<select_tuning, Tuning, Tuning.least()>(
        function, sizeof(value_of<In>), where, bytes_of,
        [&](auto tuning) { enqueue(tuning, width{}, fits ? lead : 0); });
  });
}

/// Calls visit(i, element, kept) for the elements [begin, end) of in. The first element counts as the first of a run.
/// (Iterators by value: then stores of bytes, which may change anything, do not change them.)
template <class In, class Select, class Visit>
void judge(const In in, std::int64_t begin, std::int64_t end, const Select select, Visit visit) {
  if constexpr (Select::neighbours) {
    if (begin == end) return;
    value_of<In> before = in[begin];
    visit(begin, before, true);
    for (std::int64_t i = begin + 1; i < end; ++i) {
      const value_of<In> x = in[i];
      visit(i, x, select.test(before, x));
      before = x;
    }
  } else {
    for (std::int64_t i = begin; i < end; ++i) {
      const value_of<In> x = in[i];
      visit(i, x, select.test(x));
    }
  }
}

template <class In, class Out, class OutFalse, class Select>
selection select_on_host(const seq_policy&, const input<In>& in, Out out, OutFalse out_false, const Select& select) {
  const std::int64_t n = in.count.get();
  std::int64_t kept = 0;
  detail::judge(in.first, 0, n, select, [&](std::int64_t i, const auto& x, bool keep) {
    if (keep)
      out[kept++] = static_cast<value_of<Out>>(Select::element(x));
    else if constexpr (!std::is_same_v<OutFalse, nowhere>)
      out_false[i - kept] = static_cast<value_of<OutFalse>>(Select::element(x));
    else
      static_cast<void>(i), static_cast<void>(out_false);
  });
  return {kept, n};
}

/// Gathers the elements of in[begin, end) that are kept from `front` on, the others from the last one of as many slots
/// back; returns how many are kept. Each element is written whether it counts or not, and overwritten by the next one
/// where it does not: there is no branch to mispredict.
template <bool Partitions, class T, class In, class Select>
std::int64_t gather_on_host(const In& in, std::int64_t begin, std::int64_t end, const Select& select, T* const front) {
  std::int64_t kept = 0;
  T* back = front + (end - begin);
  judge(in, begin, end, select, [&](std::int64_t, const auto& x, bool keep) {
    front[kept] = Select::element(x);
    if constexpr (Partitions) *(back - 1) = Select::element(x);
    kept += keep;
    back -= !keep;
  });
  return kept;
}

/// The same by all cores: tasks take turns (host/parallel_for.hpp). A task gathers what it keeps in a buffer, learns
/// when it is its turn how many the tasks before have kept, and copies the buffer to its place.
template <class In, class Out, class OutFalse, class Select>
selection select_on_host(const host_policy& where, const input<In>& in, Out out, OutFalse out_false,
                         const Select& select) {
  constexpr bool partitions = !std::is_same_v<OutFalse, nowhere>;
  using X = value_of<In>;
  using T = std::remove_cvref_t<decltype(Select::element(std::declval<const X&>()))>;
  const std::int64_t n = in.count.get(), grain = host_loop::grain_of<T>(n), tasks = ceil_div(n, grain);
  if (tasks <= 1) return select_on_host(seq, in, out, out_false, select);
  host_loop::turns order;
  std::int64_t kept = 0;
  X last{};  // element before the task whose turn it is
  host_loop::parallel_parts(where, min(tasks, host_loop::thread_count(where)), [&](std::int64_t) {
    if (__atomic_load_n(&order.taken, __ATOMIC_RELAXED) >= tasks) return;
    host_loop::task_results<T> gathered(grain);
    for (;;) {
      host_loop::turn mine(order);
      if (mine.number() >= tasks) return;
      const std::int64_t begin = mine.number() * grain, end = min(n, begin + grain);
      const T* kept_here = gathered.data();
      std::int64_t count = gather_on_host<partitions>(in.first, begin, end, select, gathered.data());
      if constexpr (Select::neighbours) {
        const X first_here = in.first[begin],
                last_here = in.first[end - 1];  // in place, others may overwrite them soon
        mine.wait();
        if (begin > 0 && !select.test(last, first_here)) ++kept_here, --count;
        last = last_here;
      }
      mine.wait();
      const std::int64_t kept_before = kept;
      kept += count;
      mine.pass();
      for (std::int64_t k = 0; k < count; ++k) out[kept_before + k] = static_cast<value_of<Out>>(kept_here[k]);
      if constexpr (partitions)
        for (std::int64_t k = 0; k < end - begin - count; ++k)
          out_false[begin - kept_before + k] = static_cast<value_of<OutFalse>>(gathered.data()[end - begin - 1 - k]);
    }
  });
  return {kept, n};
}

/// Where an output starts, checked as far as it can be: how many elements will come is not known, but of some inputs, from
/// which it must be apart, at least one.
template <class O, class... Inputs>
auto unbounded_output(const char* function, const char* argument, O& out, std::int64_t n, const Inputs&... inputs) {
  auto first = detail::with_stored(detail::unwrap(begin_of(out)));
  detail::require_not_null(function, argument, first, n);
  (detail::check_apart(function, argument, first, 1, inputs), ...);
  return first;
}

template <select_tuning Tuning, class P, class In, class Out, class OutFalse, class Select>
selection select_and_wait(const char* function, const P& where, const input<In>& in, Out out, OutFalse out_false,
                          const Select& select) {
  if constexpr (!Select::template allowed<gpu_execution<P>, value_of<In>>()) {
    return {};
  } else if constexpr (kernel_execution<P>) {
    reply<selection, P> answer(function, where);
    select_on_blocks<Tuning>(function, answer.policy(), with_stored(in), out, out_false,
                             store_selection{answer.target()}, select, answer.done());
    return answer.wait();
  } else {
    return detail::select_on_host(where, with_stored(in), out, out_false, select);
  }
}

/// Leaves the number kept in *count_out, which is checked.
template <class P, class C>
auto count_sink(const char* function, [[maybe_unused]] const P& where, C& count_out) {
  check_output(function, "count_out", count_out, 1);
  const auto count = unwrap(begin_of(count_out));
  using sink = store_kept<std::remove_const_t<decltype(count)>>;
  static_assert(std::is_integral_v<value_of<decltype(sink::out)>>, "pmpp: count_out must take an integer");
  if constexpr (kernel_execution<P>) check_reachable(where, function, count);
  return sink{count};
}

/// Selects and leaves the number of elements kept in *count_out.
template <select_tuning Tuning, class P, class In, class Out, class OutFalse, class C, class Select>
void select_and_store(const char* function, const P& where, const input<In>& in, Out out, OutFalse out_false,
                      C& count_out, const Select& select) {
  [[maybe_unused]] const auto sink = count_sink(function, where, count_out);
  if constexpr (!Select::template allowed<gpu_execution<P>, value_of<In>>())
    return;
  else if constexpr (kernel_execution<P>)
    select_on_blocks<Tuning>(function, where, with_stored(in), out, out_false, sink, select, completion{});
  else
    sink(detail::select_on_host(where, with_stored(in), out, out_false, select));
}

template <select_tuning Tuning, class P, class In, class O, class Select>
auto select_to(const char* function, const P& where, const input<In>& in, O& out, const Select& select) {
  const auto target = unbounded_output(function, "out", out, in.count.bound);
  return begin_of(out) + select_and_wait<Tuning>(function, where, in, target, nowhere{}, select).kept;
}
template <select_tuning Tuning, class P, class In, class O, class C, class Select>
void select_into(const char* function, const P& where, const input<In>& in, O& out, C& count_out,
                 const Select& select) {
  const auto target = unbounded_output(function, "out", out, in.count.bound);
  select_and_store<Tuning>(function, where, in, target, nowhere{}, count_out, select);
}

/// Elements and their flags; flags are a range or an iterator.
template <class R, class F>
auto with_flags(const char* function, R& r, F& flags) {
  if constexpr (random_access<std::decay_t<F>>)
    return detail::zipped_with_start(function, std::begin(r), std::end(r), begin_of(flags));
  else
    return zipped(function, r, flags);
}

}  // namespace detail

/// Copies the elements for which pred is true, in their order.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`. On kernels and host
///              elements are trivially copyable.
/// \param out   an iterator or a range; visible to `where`. \pre room for the kept elements: that is not checked, and
///              nothing after them is touched.
/// \param pred  callable on `where`'s machine; called once for each element, in no particular order.
/// \return the iterator past the last element written.
/// In place is allowed (out begins where r begins); other overlaps are not. The same result on every run. Waits for the
/// policy's stream; copy_if_into does not. No allocation once warm. Cost: n elements read, the kept ones written; one
/// launch. \throws std::invalid_argument for a null or reversed input, a null output, or when the stream is being
/// captured; cuda_error. Source: PMPP ch. 11. Example: test/select.cpp, copy_if.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
auto copy_if(const P& where, R&& r, O&& out, Pred pred) {
  return detail::select_to<Tuning>("copy_if", where, detail::input_of("copy_if", r), out,
                                   detail::keep_where<Pred, true>{pred});
}

/// As copy_if, but leaves the number of elements kept in *count_out and does not wait.
///
/// \param count_out  an iterator, or a range with room for one, of any integer type; visible to `where`. 0 for an empty
///                   range. It may be the pointer of a device_count, of r's own too.
/// Asynchronous on a GPU; may be captured. Scratch: 16 bytes of state a tile of 100 KB, from the workspace or one
/// allocation in stream order. \throws as copy_if; std::length_error if count_out is an empty range.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> C, class Pred>
void copy_if_into(const P& where, R&& r, O&& out, C&& count_out, Pred pred) {
  detail::select_into<Tuning>("copy_if_into", where, detail::input_of("copy_if_into", r), out, count_out,
                              detail::keep_where<Pred, true>{pred});
}

/// Copies the elements for which pred is false; as copy_if.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O, class Pred>
auto remove_if(const P& where, R&& r, O&& out, Pred pred) {
  return detail::select_to<Tuning>("remove_if", where, detail::input_of("remove_if", r), out,
                                   detail::keep_where<Pred, false>{pred});
}
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> C, class Pred>
void remove_if_into(const P& where, R&& r, O&& out, C&& count_out, Pred pred) {
  detail::select_into<Tuning>("remove_if_into", where, detail::input_of("remove_if_into", r), out, count_out,
                              detail::keep_where<Pred, false>{pred});
}

/// Copies the elements whose flag is true; as copy_if.
///
/// \param flags  a range as long as r, or an iterator, over anything that converts to bool; visible to `where`.
/// \throws as copy_if; std::length_error if flags are a range that is shorter than r.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> F,
          output_for<P> O>
auto copy_flagged(const P& where, R&& r, F&& flags, O&& out) {
  return detail::select_to<Tuning>("copy_flagged", where, detail::with_flags("copy_flagged", r, flags), out,
                                   detail::keep_flagged{});
}
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> F,
          output_for<P> O, output_for<P> C>
void copy_flagged_into(const P& where, R&& r, F&& flags, O&& out, C&& count_out) {
  detail::select_into<Tuning>("copy_flagged_into", where, detail::with_flags("copy_flagged_into", r, flags), out,
                              count_out, detail::keep_flagged{});
}

/// Copies the first element of each run of equals; as copy_if.
///
/// \param eq  compares an element with the one in front of it: an equivalence. Called once for each element but the
///            first. A NaN equals nothing, so each one is kept.
/// \param proj  a projection (core/projected.hpp), as &T::member: eq compares what it gives.
/// In place is allowed, as for copy_if.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          class Eq = equal_to, class Proj = identity>
auto unique_copy(const P& where, R&& r, O&& out, Eq eq = {}, Proj proj = {}) {
  const auto same = detail::order_by<element_value<R>>(eq, proj);
  return detail::select_to<Tuning>("unique_copy", where, detail::input_of("unique_copy", r), out,
                                   detail::keep_first<std::remove_const_t<decltype(same)>>{same});
}
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> C, class Eq = equal_to, class Proj = identity>
void unique_copy_into(const P& where, R&& r, O&& out, C&& count_out, Eq eq = {}, Proj proj = {}) {
  const auto same = detail::order_by<element_value<R>>(eq, proj);
  detail::select_into<Tuning>("unique_copy_into", where, detail::input_of("unique_copy_into", r), out, count_out,
                              detail::keep_first<std::remove_const_t<decltype(same)>>{same});
}

/// Copies the elements for which pred is true to out_true and the others to out_false, both in their order; as copy_if.
///
/// \return the iterators past the last elements written, as a pair.
/// out_true may begin where r begins; other overlaps are not allowed. Cost: n elements read, n written; one launch.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> OFalse, class Pred>
auto partition_copy(const P& where, R&& r, O&& out_true, OFalse&& out_false, Pred pred) {
  const auto in = detail::input_of("partition_copy", r);
  const auto yes = detail::unbounded_output("partition_copy", "out_true", out_true, in.count.bound);
  const auto no = detail::unbounded_output("partition_copy", "out_false", out_false, in.count.bound);
  const auto [kept, n] =
      detail::select_and_wait<Tuning>("partition_copy", where, in, yes, no, detail::keep_where<Pred, true>{pred});
  const auto end_true = detail::begin_of(out_true) + kept;
  const auto end_false = detail::begin_of(out_false) + (n - kept);
  return pair<std::remove_const_t<decltype(end_true)>, std::remove_const_t<decltype(end_false)>>{end_true, end_false};
}
/// count_out: the number of elements for which pred is true.
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, range_for<P> R, output_for<P> O,
          output_for<P> OFalse, output_for<P> C, class Pred>
void partition_copy_into(const P& where, R&& r, O&& out_true, OFalse&& out_false, C&& count_out, Pred pred) {
  const char* const function = "partition_copy_into";
  const auto in = detail::input_of(function, r);
  const auto yes = detail::unbounded_output(function, "out_true", out_true, in.count.bound);
  const auto no = detail::unbounded_output(function, "out_false", out_false, in.count.bound);
  detail::select_and_store<Tuning>(function, where, in, yes, no, count_out, detail::keep_where<Pred, true>{pred});
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Pred>
auto copy_if(const P& where, It first, End last, O&& out, Pred pred) { return copy_if<Tuning>(where, subrange{first, last}, out, pred); }

template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output C, class Pred>
void copy_if_into(const P& where, It first, End last, O&& out, C&& count_out, Pred pred) { copy_if_into<Tuning>(where, subrange{first, last}, out, count_out, pred); }

template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Pred>
auto remove_if(const P& where, It first, End last, O&& out, Pred pred) { return remove_if<Tuning>(where, subrange{first, last}, out, pred); }

template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output C, class Pred>
void remove_if_into(const P& where, It first, End last, O&& out, C&& count_out, Pred pred) { remove_if_into<Tuning>(where, subrange{first, last}, out, count_out, pred); }

template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output F, output O>
auto copy_flagged(const P& where, It first, End last, F&& flags, O&& out) { return copy_flagged<Tuning>(where, subrange{first, last}, flags, out); }

template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output F, output O, output C>
void copy_flagged_into(const P& where, It first, End last, F&& flags, O&& out, C&& count_out) { copy_flagged_into<Tuning>(where, subrange{first, last}, flags, out, count_out); }

template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, class Eq = equal_to, class Proj = identity>
auto unique_copy(const P& where, It first, End last, O&& out, Eq eq = {}, Proj proj = {}) { return unique_copy<Tuning>(where, subrange{first, last}, out, eq, proj); }

template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output C, class Eq = equal_to, class Proj = identity>
void unique_copy_into(const P& where, It first, End last, O&& out, C&& count_out, Eq eq = {}, Proj proj = {}) { unique_copy_into<Tuning>(where, subrange{first, last}, out, count_out, eq, proj); }

template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output OFalse, class Pred>
auto partition_copy(const P& where, It first, End last, O&& out_true, OFalse&& out_false, Pred pred) { return partition_copy<Tuning>(where, subrange{first, last}, out_true, out_false, pred); }

template <select_tuning Tuning = tuned<select_tuning>, execution_policy P, random_access It, end_of<It> End, output O, output OFalse, output C, class Pred>
void partition_copy_into(const P& where, It first, End last, O&& out_true, OFalse&& out_false, C&& count_out, Pred pred) { partition_copy_into<Tuning>(where, subrange{first, last}, out_true, out_false, count_out, pred); }

// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
