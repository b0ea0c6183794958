// SPDX-License-Identifier: Apache-2.0
//
// The kernel of a selection: loads, judges and gathers tiles, and writes what they keep (steps 1 to 4 of select.hpp).
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
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/select/keep.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/simt/early.hpp>
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

/// Whether an input is copied to shared memory row by row, 32 vectors at a time, and made of that there. Its block::access has
///   row_bytes                           of a row in shared memory
///   stage_row(block, it, i, room)       the lanes of a warp start copying what the row is made of that begins with item i
///   from_row(block, it, room, raw)      makes of it what the lane's items are made of; all lanes call
template <class It>
inline constexpr bool loads_by_rows = requires {
  requires block::access<It>::by_rows;
};

/// What a test sees of the element before.
template <class Select, class X, bool = Select::neighbours>
struct compared_type {
  using type = X;
};
template <class Select, class X>
struct compared_type<Select, X, true> {
  using type = std::remove_cvref_t<decltype(Select::compared(std::declval<const X&>()))>;
};

template <class In, class Select, class Out, class OutFalse, class Sink, int Items, select_tuning Tuning>
struct select_kernel {
  using X = value_of<In>;
  using T = std::remove_cvref_t<decltype(Select::element(std::declval<const X&>()))>;
  static_assert(std::is_trivially_copyable_v<X>, "pmpp: elements must be trivially copyable");

  using raw = block::raw_items<In, Items>;
  static constexpr bool by_rows = Items > 1 && loads_by_rows<In>;
  static constexpr bool partitions = !std::is_same_v<OutFalse, nowhere>, three_ways = is_second_and_rest<OutFalse>;
  using counts_of = selection_counts<three_ways>;
  using count_of_warp = typename counts_of::of_warp;
  using count_of_tiles = typename counts_of::of_tiles;

  using compared = typename compared_type<Select, X>::type;
  /// Where a warp has kept few elements of its last tile, second parts of pairs are read where they are written, of those kept alone.
  static constexpr bool reads_later = [] {
    if constexpr (is_zip_of_pointers<In> && requires { Select::second_later; })
      return sizeof(T::second) >= sizeof(int);
    else
      return false;
  }();
  static constexpr int few = 8;  ///< one of so many

  using rows_of = block::vector_rows<In, Items>;
  static constexpr int lanes = simt::warp_size, bytes = [] {  // of a row, and of what is kept of it
    if constexpr (by_rows) return block::access<In>::row_bytes;
    return round_up(max(rows_of::bytes, lanes * Items * int(sizeof(T))), max(16, int(max(alignof(T), alignof(raw)))));
  }();
  // As many bytes in shared memory, however wide the elements are. What is not kept takes as much again.
  static constexpr int copies = partitions ? 2 : 1, tile_bytes = Tuning.threads * Tuning.rows * 16 / copies,
                       warps = max(1, min(Tuning.threads / lanes, tile_bytes / bytes)), workers = warps * lanes,
                       threads = workers + lanes, min_blocks = Tuning.blocks,
                       most_rows = max(1, tile_bytes / (warps * bytes));
  static_assert(2 * copies * bytes <= 200 * 1024, "pmpp: elements have at most 1600 bytes");

  struct alignas(128) shared {
    block::tile_pipeline_memory<count_of_tiles> pipeline;
    count_of_tiles kept_before_warp[2][warps];
    count_of_warp kept_of_warp[2][warps];
  };
  struct plan : block::tile_plan<Items, workers, 1> {
    int rows;  ///< of a warp

    plan(std::int64_t count, std::int64_t lead, int rows_of_warp)
        : block::tile_plan<Items, workers, 1>(count, lead, rows_of_warp), rows(rows_of_warp) {}
    /// Dynamic shared memory: two tiles. It takes this much for each row of a warp.
    static constexpr std::size_t row_bytes = 2 * copies * bytes * warps;
    std::size_t shared_bytes() const { return row_bytes * static_cast<std::size_t>(rows); }
  };
  static constexpr bool begins_early = simt::can_begin_early;
  struct arguments {
    In in;
    Out out;
    OutFalse out_false;
    Sink sink;
    item_count count;
    plan known;  ///< for a count that the host knows; for its bound where only the device does
    std::int64_t lead;
    Select select;
    bool in_place;  ///< what is written may lie where others have read
    typename counts_of::found*
        found;  ///< where the result waits until all blocks have read the count, which it may overwrite
    block::look_back<count_of_tiles> look_back;
    completion done;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    plan p = a.known;
    if (a.count.pointer != nullptr) p.set(a.count.get(), a.lead);
    bool kept_few = false;  // the warp has, the block has, of the last tile
    unsigned later = 0;     // a bit for each stage
    block::for_each_tile(
        block, a.look_back, memory.pipeline, p.tiles, a.found != nullptr || a.done.flag != nullptr,
        [&](int tile, bool) { ask(a, p, tile, kept_few); },
        [&](int tile, int stage) {
          later = (later & ~(1u << stage)) | unsigned(kept_few) << stage;
          load(block, a, p, tile, stage, kept_few);
        },
        [&](int tile, int stage) { kept_few = gather(block, memory, a, p, tile, stage, (later >> stage & 1) != 0); },
        [&](int tile, int stage, auto exchange) {
          kept_few = look_back_for(block, memory, a, p, tile, stage, exchange);
        },
        [&](int tile, int stage) { write(block, memory, a, p, tile, stage, (later >> stage & 1) != 0); });
    a.look_back.finish(block, memory.pipeline.look_back, p.tiles);  // the last block finds all written where it counts
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
    std::byte*
        room;  ///< of the rows: what is kept moves to their front; the others to as many rows after them, a second
               ///< kind of them from the end back

    template <class Block>
    PMPP_HOST_DEVICE part(Block& block, const plan& p, int tile, int stage)
        : block::vector_range<Items, Inside>(p.data, p.first_vector(block, tile), p.rows * lanes),
          rows(p.rows),
          room(block.dynamic_shared() + (stage * warps + block.warp()) * (copies * p.rows * bytes)) {}
    PMPP_HOST_DEVICE bool has(int v) const {  // the first ones may lie in front of the data
      return Inside || (v * Items < this->end && (v + 1) * Items > this->begin);
    }
    PMPP_HOST_DEVICE std::byte* row(int r) const { return room + r * bytes; }
    PMPP_HOST_DEVICE T* kept() const { return reinterpret_cast<T*>(room); }
    PMPP_HOST_DEVICE T* others() const { return reinterpret_cast<T*>(row(rows)); }
    PMPP_HOST_DEVICE T* last_other() const { return others() + (rows * lanes * Items - 1); }
    PMPP_HOST_DEVICE bool has_whole_row(int r) const {
      return Inside || (r * lanes * Items >= this->begin && (r + 1) * lanes * Items <= this->end);
    }
  };

  /// Calls f with a warp's part of a tile. One that has all rows and all their elements needs no checks.
  template <class Block, class F>
  PMPP_HOST_DEVICE static auto with_part(Block& block, const plan& p, int tile, int stage, F f) {
    if constexpr (!by_rows) {  // there these checks are the least of it
      const std::int64_t first = p.data.element(p.first_vector(block, tile));
      if (first >= 0 && first + p.rows * lanes * Items <= p.data.n) return f(part<true>(block, p, tile, stage));
    }
    return f(part<false>(block, p, tile, stage));
  }

  /// Asks for a tile to be in the last cache.
  PMPP_HOST_DEVICE static void ask(const arguments& a, const plan& p, int tile, [[maybe_unused]] bool later) {
    if constexpr (reads_later)
      if (later) return p.prefetch(a.in.a, tile);
    p.prefetch(a.in, tile);
  }

  /// Starts copying a tile to shared memory.
  template <class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, const plan& p, int tile, int stage,
                                    [[maybe_unused]] bool later) {
    with_part(block, p, tile, stage, [&](const auto& mine) {
      for (int r = 0; r < mine.rows && r * lanes * Items < mine.end; ++r) {
        const int v = r * lanes + block.lane();
        if constexpr (by_rows)
          block::access<In>::stage_row(block, a.in, mine.element(r * lanes), mine.row(r));
        else if (mine.has_whole_row(r))
          load_row(block, a.in, mine.element(r * lanes), mine.row(r), later);
        else if (mine.has(v))
          rows_of::put(
              mine.row(r), block.lane(),
              block::access<In>::template load_part<Items>(a.in, mine.element(v), mine.begin_of(v), mine.end_of(v)));
      }
    });
    simt::copy_async_commit();
  }

  template <class Block>
  PMPP_HOST_DEVICE static void load_row(Block& block, const In& in, std::int64_t i, std::byte* row,
                                        [[maybe_unused]] bool later) {
    if constexpr (reads_later)
      if (later) return rows_of::first::load_async(block, in.a, i, row);
    rows_of::load_async(block, in, i, row);
  }

  /// How many elements a lane keeps of some rows: fields of a word that do not overflow when the lanes add up.
  static constexpr int bits = Items * lanes < 256 ? 8 : 16, rows_at_once = by_rows ? 1 : 32 / bits;
  PMPP_HOST_DEVICE static count_of_warp field(count_of_warp counts, int row) {
    return counts >> row * bits & ((1u << bits) - 1) * counts_of::one;
  }

  /// Gathers what each warp keeps of its part of a tile; says whether that is little.
  template <class Block>
  PMPP_HOST_DEVICE static bool gather(Block& block, shared& memory, const arguments& a, const plan& p, int tile,
                                      int stage, bool later) {
    simt::copy_async_wait<0>();
    block.sync_warp();
    // One row, which is what short inputs have, is not worked on as if there were more.
    const auto kept = rows_at_once > 1 && p.rows == 1 ? gather<1>(block, a, part<false>(block, p, tile, stage), later)
                                                      : with_part(block, p, tile, stage, [&](const auto& mine) {
                                                          return gather<rows_at_once>(block, a, mine, later);
                                                        });
    if (block.lane() == 0) memory.kept_of_warp[stage][block.warp()] = kept;
    return reads_later && kept * few < count_of_warp(p.rows * lanes * Items);
  }
  template <int AtOnce, bool Inside, class Block>
  PMPP_HOST_DEVICE static count_of_warp gather(Block& block, const arguments& a, const part<Inside>& mine,
                                               [[maybe_unused]] bool later) {
    [[maybe_unused]] compared before{};  // of the element before the row, in lane 0, where neighbours count
    // In place this element may be written at the same time, but only with its own value: it stays where it is as long
    // as everything in front of it is kept.
    if constexpr (Select::neighbours)
      if (block.lane() == 0 && mine.first > 0 && mine.has(0)) before = Select::compared(X(a.in[mine.first - 1]));
    count_of_warp kept = 0;  // of the rows before
    for (int row = 0; row < mine.rows; row += AtOnce) {
      raw x[AtOnce]{};
      for (int r = 0; r < AtOnce; ++r) {
        if constexpr (by_rows) {
          if (row * lanes * Items < mine.end) block::access<In>::from_row(block, a.in, mine.row(row), x[r]);
        } else if (row + r < mine.rows && mine.has((row + r) * lanes + block.lane())) {
          x[r] = rows_of::get(mine.row(row + r), block.lane());
        }
      }
      block.sync_warp();  // what is kept may now go where these were
      count_of_warp verdicts[AtOnce]{}, counts = 0;
      for (int r = 0; r < AtOnce; ++r) {
        const int v = (row + r) * lanes + block.lane();
        const bool has = row + r < mine.rows && mine.has(v);
        [[maybe_unused]] compared previous{};
        if constexpr (Select::neighbours) {
          compared last{};
          if (has && mine.end_of(v) == Items) last = Select::compared(block::access<In>::value(a.in, x[r], Items - 1));
          const compared left = block.shuffle(last, (block.lane() + lanes - 1) % lanes);
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
          count_of_warp keep;
          if constexpr (Select::neighbours) {
            keep = mine.element(v) + k == 0 || a.select.test(previous, y);
            previous = Select::compared(y);
          } else {
            keep = a.select.test(y);
          }
          verdicts[r] |= keep << k;
          counts += keep << r * bits;
        });
      }
      const count_of_warp up_to = block::warp_inclusive_scan(block, counts, plus{});
      const count_of_warp of_rows = block.shuffle(up_to, lanes - 1);
      for (int r = 0; r < AtOnce; ++r) {
        const int v = (row + r) * lanes + block.lane();
        count_of_warp rank = kept + field(up_to, r) - field(counts, r);
        kept += field(of_rows, r);
        if (row + r >= mine.rows || !mine.has(v)) continue;
        const auto take = [&](int k) {
          const count_of_warp keep = verdicts[r] >> k & counts_of::one;
          const auto take_to = [&](T* place) {
            T y = Select::element(block::access<In>::value(a.in, x[r], k));
            if constexpr (reads_later)
              if (later) note_place(y, v * Items + k);
            put(place, y);
          };
          if (counts_of::first(keep) != 0)
            take_to(mine.kept() + counts_of::first(rank));
          else if (three_ways && counts_of::second(keep) != 0)
            take_to(mine.last_other() - counts_of::second(rank));
          else if constexpr (partitions)
            take_to(mine.others() + (v * Items + k - mine.begin - counts_of::first(rank) - counts_of::second(rank)));
          rank += keep;
        };
        if constexpr (by_rows)  // nothing is kept of what is not there
          for (int k = 0; k < Items; ++k) take(k);
        else
          mine.for_each_item(v, take);
      }
    }
    return kept;
  }

  /// Where an element lies in a warp's part of a tile, in the place of what is read later.
  PMPP_HOST_DEVICE static void note_place(T& x, int place) {
    memcpy(static_cast<void*>(pmpp::bytes_of(x.second)), &place, sizeof place);
  }
  PMPP_HOST_DEVICE static int noted_place(const T& x) {
    int place;
    memcpy(&place, pmpp::bytes_of(x.second), sizeof place);
    return place;
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

  /// The look-back warp's part of a tile that has been gathered; says whether the block has kept little of it.
  template <class Block, class Exchange>
  PMPP_HOST_DEVICE static bool look_back_for(Block& block, shared& memory, const arguments& a, const plan& p, int tile,
                                             int stage, const Exchange& exchange) {
    count_of_warp kept = block.lane() < warps ? memory.kept_of_warp[stage][block.lane()] : 0;
    kept = block::warp_inclusive_scan(block, kept, plus{});
    const count_of_warp all = block.shuffle(kept, lanes - 1), before = block.shuffle_up(kept, 1);
    if (a.in_place) simt::fence();  // who sees the count may overwrite what this block has read
    const count_of_tiles prefix = exchange(counts_of::wide(all), true, counts_of::wide(0), plus{});
    if (a.in_place) simt::fence();
    if (block.lane() < warps)
      memory.kept_before_warp[stage][block.lane()] = prefix + counts_of::wide(block.lane() > 0 ? before : 0);
    if (block.lane() == 0 && tile == p.tiles - 1) {
      const auto found = counts_of::result(prefix + counts_of::wide(all), p.data.n);
      if (a.found != nullptr)
        *a.found = found;
      else
        a.sink(found);
    }
    return reads_later && all * few < count_of_warp(p.rows * workers * Items);
  }

  /// Writes a tile of which the look-back warp knows how much is kept before each warp.
  template <class Block>
  PMPP_HOST_DEVICE static void write(Block& block, const shared& memory, const arguments& a, const plan& p, int tile,
                                     int stage, [[maybe_unused]] bool later) {
    const part<false> mine(block, p, tile, stage);
    const count_of_tiles before = memory.kept_before_warp[stage][block.warp()];
    const count_of_warp kept = memory.kept_of_warp[stage][block.warp()];
    const int others = mine.end - mine.begin - counts_of::first(kept) - counts_of::second(kept);
    const std::int64_t place = mine.element(0) + mine.begin;
    if constexpr (reads_later)
      if (later) {
        for (int i = block.lane(), n = static_cast<int>(kept); i < n; i += lanes) {
          T x = get(mine.kept() + i);
          x.second = a.in.b[mine.first + noted_place(x)];
          a.out[before + i] = static_cast<value_of<Out>>(x);
        }
        return block.sync_warp();
      }
    if constexpr (three_ways) {
      write(block, mine.kept(), counts_of::first(kept), a.out, before[0]);
      write<true>(block, mine.last_other(), counts_of::second(kept), a.out_false.second, before[1]);
      if (mine.end > 0) write(block, mine.others(), others, a.out_false.rest, place - before[0] - before[1]);
    } else {
      write(block, mine.kept(), counts_of::first(kept), a.out, before);
      if constexpr (partitions)
        if (mine.end > 0) write(block, mine.others(), others, a.out_false, place - before);
    }
    block.sync_warp();
  }

  /// A warp writes n elements to out[position ...], whole lines of 128 bytes where the elements allow it. Backwards: they lie
  /// one in front of the other.
  template <bool Backwards = false, class Block, class O>
  PMPP_HOST_DEVICE static void write(Block& block, const T* staged, int n, const O& out, std::int64_t position) {
    if constexpr (!Backwards && std::is_same_v<O, T*> && alignof(T) <= 16 &&
                  (sizeof(T) == alignof(T) || alignof(T) >= 4)) {
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
      for (int i = block.lane() - detail::before_row(out, position); i < n; i += lanes)
        if (i >= 0) out[position + i] = static_cast<value_of<O>>(get(staged + (Backwards ? -i : i)));
    }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
