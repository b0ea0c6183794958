// SPDX-License-Identifier: Apache-2.0
//
// Stream compaction: keeps some elements of a range, in order. copy_if, remove_if, copy_flagged, unique_copy,
// partition_copy.
//
//   1. A block takes a tile by ticket: up to eight rows a warp, 32 lanes times one 16-byte vector each, which stay in
//      registers. Each element is read once and judged once; the verdict is a bit.
//   2. A lane counts what it keeps in each row. The counts of all rows share a few words, a byte or two each, so that
//      one scan of those words ranks all elements of a warp (block/scan.hpp). The block publishes its count.
//   3. The kept elements go to shared memory, each to its rank in the tile, while one warp collects how many elements
//      the tiles before have kept (block/look_back.hpp).
//   4. The block copies them to the output as whole lines. The tile that is last writes the count.
//
//      tile      a b C d E F g h    kept: C E F      rank  0 1 2      output position = kept before the tile + rank
//
// Work n; traffic n * sizeof(T) read, the kept elements written; two barriers a tile; one launch. Stable. A tile writes
// only in front of its own end, and only after all tiles before it have read their elements: in place is allowed.
// (PMPP ch. 11, exercise on compaction; Merrill and Garland, 2016; Billeter, Olsson and Assarsson, 2009.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/block/load_store.hpp>
#include <pmpp/block/look_back.hpp>
#include <pmpp/block/scan.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/range.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/reply.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

struct select_tuning {
  int threads = 256;   ///< of a block; fewer for elements above 128 bytes
  int rows = 8;        ///< loads of 16 bytes that a thread holds in registers: a tile is threads * rows * 16 bytes
  int min_blocks = 3;  ///< that the compiler makes room for on a multiprocessor
};

namespace detail {

// What is kept. `test` judges an input element, `element` is what of it goes to the output; where `neighbours`, test
// also sees the element before.

template <class Pred, bool Wanted>
struct keep_where {
  static constexpr bool neighbours = false;
  Pred pred;
  template <class T>
  PMPP_HOST_DEVICE bool test(const T& x) const {
    return static_cast<bool>(pred(x)) == Wanted;
  }
  template <class T>
  PMPP_HOST_DEVICE static const T& element(const T& x) {
    return x;
  }
};

/// Of pairs of element and flag.
struct keep_flagged {
  static constexpr bool neighbours = false;
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
  Eq eq;
  template <class T>
  PMPP_HOST_DEVICE bool test(const T& before, const T& x) const {
    return !static_cast<bool>(eq(before, x));
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

/// Elements of a few bytes that are stored as one word.
template <class T, int Items>
struct alignas(Items * sizeof(T)) short_vector {
  T item[Items];
};

template <class In, class Select, class Out, class OutFalse, class Sink, int Items, select_tuning Tuning>
struct select_kernel {
  using X = value_of<In>;
  using T = std::remove_cvref_t<decltype(Select::element(std::declval<const X&>()))>;
  static_assert(std::is_trivially_copyable_v<X>, "pmpp: elements must be trivially copyable");

  static constexpr int lanes = simt::warp_size, most_staged_bytes = 40 * 1024;
  static constexpr int threads = [] {
    int t = Tuning.threads;
    while (t > lanes && std::size_t(t) * sizeof(T) > std::size_t(most_staged_bytes)) t /= 2;
    return t;
  }();
  static constexpr int warps = threads / lanes;
  static_assert(threads % lanes == 0 && std::size_t(lanes) * sizeof(T) <= 200 * 1024,
                "pmpp: a block has whole warps, and elements have at most 6400 bytes");
  using raw = block::raw_items<In, Items>;
  /// As many bytes in registers, however wide the vectors are; as many in shared memory, however wide the elements.
  /// Of small elements half as many: the compiler keeps them apart, one a register, once they have been judged.
  static constexpr int most_rows =
      larger(1, smaller(smaller(smaller(2 * Tuning.rows, ceil_div(Tuning.rows * 16, larger(8, int(sizeof(raw))))),
                                int(most_staged_bytes / (std::size_t(threads) * Items * sizeof(T)))),
                        (sizeof(X) < 4 ? 32 : 64) / Items));
  static constexpr int min_blocks = sizeof(T) > 64 ? 1 : Tuning.min_blocks;
  static constexpr bool partitions = !std::is_same_v<OutFalse, nowhere>;
  static constexpr int most_items = threads * most_rows * Items;

  struct shared {
    alignas(larger(std::size_t(16), alignof(T))) std::byte staged[most_items * sizeof(T)];
    block::look_back_memory<std::int64_t> look_back;
    std::int64_t next;    ///< tile of the block
    std::int64_t prefix;  ///< elements kept before the gathered tile
    int kept_of_warp[warps];
  };

  struct plan {
    block::ordered_layout<Items> data;
    std::int64_t tiles;  ///< at least one, which may be empty
    int rows;            ///< of a warp

    PMPP_HOST_DEVICE plan(std::int64_t count, std::int64_t lead, int rows_of_warp)
        : data(count, lead),
          tiles(larger(std::int64_t(1), ceil_div(data.vectors, std::int64_t(rows_of_warp) * threads))),
          rows(rows_of_warp) {}
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
    const block::look_back<std::int64_t>& look_back = a.look_back;
    // When the elements of a tile have gone to shared memory, their registers take the next tile, which is on its way
    // while the block waits for the tiles before and writes.
    std::int64_t gathered = -1, tile = look_back.first(block, memory.look_back);
    int kept = 0;  // in the gathered tile
    loaded next;
    for (;;) {
      // A tile that has all rows and all their elements needs no checks.
      const std::int64_t end = p.data.element((tile + 1) * threads * most_rows);
      const bool inside = p.rows == most_rows && (tile > 0 || p.data.first == 0) && end <= p.data.n;
      std::int64_t asked = 0;
      if (tile < p.tiles) {
        if (inside)
          load<true>(block, a, p, tile, next);
        else
          load<false>(block, a, p, tile, next);
        if (block.thread() == 0) asked = look_back.ask();
      }
      if (gathered >= 0) {
        if (block.warp() == 0) {
          const std::int64_t prefix = look_back.wait(block, memory.look_back, gathered, kept, true, 0, plus{});
          if (block.lane() == 0) memory.prefix = prefix;
          if (a.in_place) simt::fence();
        }
        block.sync();
        write_tile(block, memory, a, p, gathered, kept);
      }
      if (tile >= p.tiles) break;
      kept = inside ? gather<true>(block, memory, a, p, look_back, tile, next, asked)
                    : gather<false>(block, memory, a, p, look_back, tile, next, asked);
      gathered = tile;
      tile = memory.next;
    }
    block.sync();  // the block that leaves last finds everything written
    if (block.thread() == 0) look_back.leave(block, memory.look_back);
    look_back.finish(block, memory.look_back, p.tiles);
    if (a.done.flag != nullptr) block.sync();
    if (block.thread() != 0 || !(a.known.tiles == 1 || memory.look_back.last)) return;
    if (a.found != nullptr) a.sink(*a.found);
    a.done.signal();
  }

private:
  /// How many elements a lane keeps of each row: fields that do not overflow when the lanes of a warp add up.
  struct row_counts {
    static constexpr int bits = Items * lanes < 256 ? 8 : 16, fields = 32 / bits, words = ceil_div(most_rows, fields);
    unsigned word[words];

    PMPP_HOST_DEVICE void add(int row, unsigned n) { word[row / fields] += n << row % fields * bits; }
    PMPP_HOST_DEVICE int of(int row) const {
      return static_cast<int>(word[row / fields] >> row % fields * bits & ((1u << bits) - 1));
    }
  };
  struct add_counts {
    PMPP_HOST_DEVICE row_counts operator()(row_counts a, const row_counts& b) const {
      for (int i = 0; i < row_counts::words; ++i) a.word[i] += b.word[i];
      return a;
    }
  };
  /// One bit an element of a lane: kept.
  struct verdicts {
    unsigned word[ceil_div(most_rows * Items, 32)];

    PMPP_HOST_DEVICE void set(int row, int k, bool kept) {
      const int bit = row * Items + k;
      word[bit / 32] |= unsigned(kept) << bit % 32;
    }
    PMPP_HOST_DEVICE bool of(int row, int k) const {
      const int bit = row * Items + k;
      return (word[bit / 32] >> bit % 32 & 1) != 0;
    }
  };

  /// What a lane holds of a tile: a vector in each row of its warp.
  struct loaded {
    raw x[most_rows]{};
    X before{};  ///< the element before the warp's first one, in lane 0, where neighbours count
  };

  /// Where the vectors of a lane lie and which of their items exist: [begin, end) of row r.
  template <bool Inside>
  struct vectors_of_lane {
    const plan& p;
    int rows;
    std::int64_t first;  ///< vector of row 0

    template <class Block>
    PMPP_HOST_DEVICE vectors_of_lane(Block& block, const plan& of, std::int64_t tile)
        : p(of),
          rows(Inside ? most_rows : of.rows),
          first((tile * warps + block.warp()) * rows * lanes + block.lane()) {}
    PMPP_HOST_DEVICE std::int64_t element(int r) const { return p.data.element(first + r * lanes); }
    PMPP_HOST_DEVICE int begin(int r) const { return Inside ? 0 : p.data.begin_of(first + r * lanes); }
    PMPP_HOST_DEVICE int end(int r) const {
      if constexpr (Inside) return Items;
      return r < rows && first + r * lanes < p.data.vectors ? p.data.end_of(first + r * lanes) : 0;
    }
  };

  /// Issues the loads of a tile.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const arguments& a, const plan& p, std::int64_t tile, loaded& to) {
    const vectors_of_lane<Inside> v(block, p, tile);
    for (int r = 0; r < most_rows; ++r) {
      const int begin = v.begin(r), end = v.end(r);
      if (end <= begin) continue;
      to.x[r] = end - begin == Items ? block::access<In>::template load<Items>(a.in, v.element(r))
                                     : block::access<In>::template load_part<Items>(a.in, v.element(r), begin, end);
    }
    // In place this element may be written at the same time, but only with its own value: it stays where it is as long
    // as everything in front of it is kept.
    if constexpr (Select::neighbours)
      if (block.lane() == 0 && v.first > 0 && v.end(0) > 0) to.before = a.in[v.element(0) - 1];
  }

  /// Judges the elements of a tile, publishes how many it keeps, and gathers those in shared memory. Hands `asked` to
  /// all threads as memory.next. Returns the number of elements kept. One barrier.
  template <bool Inside, class Block>
  PMPP_HOST_DEVICE static int gather(Block& block, shared& memory, const arguments& a, const plan& p,
                                     const block::look_back<std::int64_t>& look_back, std::int64_t tile,
                                     const loaded& from, std::int64_t asked) {
    const vectors_of_lane<Inside> v(block, p, tile);
    [[maybe_unused]] X before = from.before;
    verdicts kept{};
    row_counts counts{};
    for (int r = 0; r < most_rows; ++r) {
      const int begin = v.begin(r), end = v.end(r);
      if constexpr (Select::neighbours) {
        X last{};
        if (end == Items) last = block::access<In>::value(a.in, from.x[r], Items - 1);
        const X left = block.shuffle(last, (block.lane() + lanes - 1) % lanes);
        const X of_row_before = before;
        before = left;  // in lane 0 that is the last element of this row
        X previous = block.lane() == 0 ? of_row_before : left;
        const bool has_first = v.first + r * lanes == 0;
        unsigned n = 0;
        for (int k = 0; k < Items; ++k) {
          if (!Inside && (k < begin || k >= end)) continue;
          const X y = block::access<In>::value(a.in, from.x[r], k);
          const bool keep = (has_first && k == begin) || a.select.test(previous, y);
          previous = y;
          kept.set(r, k, keep);
          n += keep;
        }
        counts.add(r, n);
      } else {
        unsigned n = 0;
        for (int k = 0; k < Items; ++k) {
          if (!Inside && (k < begin || k >= end)) continue;
          const bool keep = a.select.test(block::access<In>::value(a.in, from.x[r], k));
          kept.set(r, k, keep);
          n += keep;
        }
        counts.add(r, n);
      }
    }

    const row_counts up_to = block::warp_inclusive_scan(block, counts, add_counts{});
    const row_counts of_warp = block.shuffle(up_to, lanes - 1);
    if (block.lane() == 0) {
      int n = 0;
      for (int r = 0; r < most_rows; ++r) n += of_warp.of(r);
      memory.kept_of_warp[block.warp()] = n;
    }
    if (block.thread() == 0) memory.next = asked;
    block.sync();
    int rank = 0, total = 0;  // kept by the warps before this one; by all
    for (int w = 0; w < warps; ++w) {
      const int n = memory.kept_of_warp[w];
      if (w < block.warp()) rank += n;
      total += n;
    }
    // In place, who sees the count may overwrite what this block has read.
    if (block.thread() == 0) {
      if (a.in_place) simt::fence();
      look_back.publish(tile, total);
    }

    T* const staged = reinterpret_cast<T*>(memory.staged);
    const std::int64_t first = first_element(p, tile);
    for (int r = 0; r < most_rows; ++r) {
      const int begin = v.begin(r), end = v.end(r);
      int slot = rank + up_to.of(r) - counts.of(r);
      // The others go behind the kept ones: element number minus the kept ones before it.
      [[maybe_unused]] const int others = partitions ? total + static_cast<int>(v.element(r) - first) : 0;
      for (int k = 0; k < Items; ++k) {
        if (kept.of(r, k))
          staged[slot++] = Select::element(block::access<In>::value(a.in, from.x[r], k));
        else if (partitions && (Inside || (k >= begin && k < end)))
          staged[others + k - slot] = Select::element(block::access<In>::value(a.in, from.x[r], k));
      }
      rank += of_warp.of(r);
    }
    return total;
  }

  PMPP_HOST_DEVICE static std::int64_t first_element(const plan& p, std::int64_t tile) {
    return tile == 0 ? 0 : smaller(p.data.n, p.data.element(tile * p.rows * threads));
  }

  /// Writes a tile that has been gathered and whose prefix is there.
  template <class Block>
  PMPP_HOST_DEVICE static void write_tile(Block& block, const shared& memory, const arguments& a, const plan& p,
                                          std::int64_t tile, int kept) {
    const T* const staged = reinterpret_cast<const T*>(memory.staged);
    const std::int64_t prefix = memory.prefix;
    write(block, staged, kept, a.out, prefix);
    if constexpr (partitions) {
      const std::int64_t first = first_element(p, tile), end = first_element(p, tile + 1);
      write(block, staged + kept, static_cast<int>(end - first) - kept, a.out_false, first - prefix);
    }
    if (tile == p.tiles - 1 && block.thread() == 0) {
      const selection all = {prefix + kept, p.data.n};
      if (a.found != nullptr)
        *a.found = all;
      else
        a.sink(all);
    }
  }

  /// Writes n elements to out[position ...]; a warp writes whole lines of 128 bytes where the elements allow it.
  template <class Block, class O>
  PMPP_HOST_DEVICE static void write(Block& block, const T* staged, int n, const O& out, std::int64_t position) {
    if constexpr (std::is_same_v<O, T*> && is_power_of_two(sizeof(T)) && sizeof(T) == alignof(T) && sizeof(T) <= 16) {
      constexpr int each = sizeof(T) < 4 ? 4 / int(sizeof(T)) : 1, line = 128 / int(sizeof(T));
      T* const target = out + position;
      const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(target) / sizeof(T) % line);
      for (int i = block.thread() * each - shift; i < n; i += threads * each) {
        if (each > 1 && i >= 0 && i + each <= n) {
          short_vector<T, each> v;
          for (int k = 0; k < each; ++k) v.item[k] = staged[i + k];
          *reinterpret_cast<short_vector<T, each>*>(target + i) = v;
        } else {
          for (int k = 0; k < each; ++k)
            if (i + k >= 0 && i + k < n) target[i + k] = staged[i + k];
        }
      }
    } else {
      for (int i = block.thread(); i < n; i += threads) out[position + i] = static_cast<value_of<O>>(staged[i]);
    }
  }
};

/// Whether writing to `out` might change what `in` reads. True where that is not known.
template <class In, class Out>
bool may_overlap(const In& in, const Out& out, std::int64_t n) {
  if constexpr (requires { in.a, in.b; }) {
    return may_overlap(in.a, out, n) || may_overlap(in.b, out, n);
  } else if constexpr (requires { in.base, in.f; }) {
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
  check_reachable(where, function, zip_iterator{in.first, out});
  if constexpr (!std::is_same_v<OutFalse, nowhere>) check_reachable(where, function, out_false);
  const auto enqueue = [&](auto items, std::int64_t lead) {
    using kernel = select_kernel<In, Select, Out, OutFalse, Sink, items, Tuning>;
    using look_back = block::look_back<std::int64_t>;
    // Small inputs are cut into smaller tiles, so that all multiprocessors have some.
    const std::int64_t most_blocks = std::int64_t(kernel::min_blocks) * processor_count(where);
    const std::int64_t all_rows = ceil_div(in.count.bound, std::int64_t(kernel::threads) * items);
    const std::int64_t rows = smaller(std::int64_t(kernel::most_rows), ceil_div(all_rows, most_blocks));
    const typename kernel::plan p(in.count.bound, lead, static_cast<int>(larger(std::int64_t(1), rows)));
    const std::int64_t linked = p.tiles == 1 ? 0 : p.tiles;
    const std::size_t payload = linked == 0 ? 0 : scratch_bytes({look_back::payload_bytes(linked)});
    const bool waits = linked > 0 && in.count.pointer != nullptr;
    scratch memory(where, payload + (waits ? sizeof(selection) : 0), linked == 0 ? 0 : look_back::state_bytes(linked));
    auto* const data = static_cast<std::byte*>(memory.data());
    auto* const found = waits ? reinterpret_cast<selection*>(data + payload) : nullptr;
    launch(where, smaller(p.tiles, most_blocks), kernel{},
           typename kernel::arguments{in.first, out, out_false, sink, in.count, p, lead, select,
                                      may_overlap(in.first, out, in.count.bound), found,
                                      look_back(memory.state(), data, p.tiles), done});
  };
  block::with_access(in.first, [&](auto items, std::int64_t lead) {
    // Computed elements may be much wider than what they are made of: such vectors would not fit shared memory.
    using single = std::integral_constant<int, 1>;
    constexpr bool fits = items * sizeof(value_of<In>) <= 128;
    enqueue(std::conditional_t<fits, decltype(items), single>{}, fits ? lead : 0);
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
  judge(in.first, 0, n, select, [&](std::int64_t i, const auto& x, bool keep) {
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
  host_loop::parallel_for(where, smaller(tasks, host_loop::thread_count(where)), [&](std::int64_t) {
    host_loop::task_results<T> gathered(grain);
    for (;;) {
      host_loop::turn mine(order);
      if (mine.number() >= tasks) return;
      const std::int64_t begin = mine.number() * grain, end = smaller(n, begin + grain);
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

/// Where an output starts, checked as far as it can be: how many elements will come is not known.
template <class O>
auto unbounded_output(const char* function, const char* argument, O& out, std::int64_t n) {
  auto first = unwrap(begin_of(out));
  require_not_null(function, argument, first, n);
  return first;
}

template <select_tuning Tuning, class P, class In, class Out, class OutFalse, class Select>
selection select_and_wait(const char* function, const P& where, const input<In>& in, Out out, OutFalse out_false,
                          const Select& select) {
  if constexpr (kernel_execution<P>) {
    reply<selection, P> answer(function, where);
    select_on_blocks<Tuning>(function, answer.policy(), in, out, out_false, store_selection{answer.target()}, select,
                             answer.done());
    return answer.wait();
  } else {
    return select_on_host(where, in, out, out_false, select);
  }
}

/// Selects and leaves the number of elements kept in *count_out.
template <select_tuning Tuning, class P, class In, class Out, class OutFalse, class C, class Select>
void select_and_store(const char* function, const P& where, const input<In>& in, Out out, OutFalse out_false,
                      C& count_out, const Select& select) {
  check_output(function, "count_out", count_out, 1);
  const auto count = unwrap(begin_of(count_out));
  using sink = store_kept<std::remove_const_t<decltype(count)>>;
  static_assert(std::is_integral_v<value_of<decltype(sink::out)>>, "pmpp: count_out must take an integer");
  if constexpr (kernel_execution<P>) {
    check_reachable(where, function, count);
    select_on_blocks<Tuning>(function, where, in, out, out_false, sink{count}, select, completion{});
  } else {
    sink{count}(select_on_host(where, in, out, out_false, select));
  }
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
    return zipped_with_start(function, std::begin(r), std::end(r), begin_of(flags));
  else
    return zipped(function, r, flags);
}

}  // namespace detail

/// Copies the elements for which pred is true, in their order.
///
/// \param r     a range, or two iterators, or an iterator and a device_count; visible to `where`. On kernels and host
///              elements are trivially copyable and have a default constructor.
/// \param out   an iterator or a range; visible to `where`. \pre room for the kept elements: that is not checked, and
///              nothing behind them is touched.
/// \param pred  callable on `where`'s machine; called once for each element, in no particular order.
/// \return the iterator past the last element written.
/// In place is allowed (out begins where r begins); other overlaps are not. The same result on every run. Waits for the
/// policy's stream; copy_if_into does not. No allocation once warm. Cost: n elements read, the kept ones written; one
/// launch. \throws std::invalid_argument for a null or reversed input, a null output, or when the stream is being
/// captured; cuda_error. Source: PMPP ch. 11. Example: test/select.cpp, copy_if.
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output O, class Pred>
auto copy_if(const P& where, R&& r, O&& out, Pred pred) {
  return detail::select_to<Tuning>("copy_if", where, detail::input_of("copy_if", r), out,
                                   detail::keep_where<Pred, true>{pred});
}

/// As copy_if, but leaves the number of elements kept in *count_out and does not wait.
///
/// \param count_out  an iterator, or a range with room for one, of any integer type; visible to `where`. 0 for an empty
///                   range. It may be the pointer of a device_count, of r's own too.
/// Asynchronous on a GPU; may be captured. Scratch: 16 bytes of state a tile of 32 KB, from the workspace or one
/// allocation in stream order. \throws as copy_if; std::length_error if count_out is an empty range.
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output O, output C,
          class Pred>
void copy_if_into(const P& where, R&& r, O&& out, C&& count_out, Pred pred) {
  detail::select_into<Tuning>("copy_if_into", where, detail::input_of("copy_if_into", r), out, count_out,
                              detail::keep_where<Pred, true>{pred});
}

/// Copies the elements for which pred is false; as copy_if.
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output O, class Pred>
auto remove_if(const P& where, R&& r, O&& out, Pred pred) {
  return detail::select_to<Tuning>("remove_if", where, detail::input_of("remove_if", r), out,
                                   detail::keep_where<Pred, false>{pred});
}
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output O, output C,
          class Pred>
void remove_if_into(const P& where, R&& r, O&& out, C&& count_out, Pred pred) {
  detail::select_into<Tuning>("remove_if_into", where, detail::input_of("remove_if_into", r), out, count_out,
                              detail::keep_where<Pred, false>{pred});
}

/// Copies the elements whose flag is true; as copy_if.
///
/// \param flags  a range as long as r, or an iterator, over anything that converts to bool; visible to `where`.
/// \throws as copy_if; std::length_error if flags are a range that is shorter than r.
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output F, output O>
auto copy_flagged(const P& where, R&& r, F&& flags, O&& out) {
  return detail::select_to<Tuning>("copy_flagged", where, detail::with_flags("copy_flagged", r, flags), out,
                                   detail::keep_flagged{});
}
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output F, output O,
          output C>
void copy_flagged_into(const P& where, R&& r, F&& flags, O&& out, C&& count_out) {
  detail::select_into<Tuning>("copy_flagged_into", where, detail::with_flags("copy_flagged_into", r, flags), out,
                              count_out, detail::keep_flagged{});
}

/// Copies the first element of each run of equals; as copy_if.
///
/// \param eq  compares an element with the one in front of it: an equivalence. Called once for each element but the
///            first. A NaN equals nothing, so each one is kept.
/// In place is allowed, as for copy_if.
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output O,
          class Eq = equal_to>
auto unique_copy(const P& where, R&& r, O&& out, Eq eq = {}) {
  return detail::select_to<Tuning>("unique_copy", where, detail::input_of("unique_copy", r), out,
                                   detail::keep_first<Eq>{eq});
}
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output O, output C,
          class Eq = equal_to>
void unique_copy_into(const P& where, R&& r, O&& out, C&& count_out, Eq eq = {}) {
  detail::select_into<Tuning>("unique_copy_into", where, detail::input_of("unique_copy_into", r), out, count_out,
                              detail::keep_first<Eq>{eq});
}

/// Copies the elements for which pred is true to out_true and the others to out_false, both in their order; as copy_if.
///
/// \return the iterators past the last elements written, as a pair.
/// out_true may begin where r begins; other overlaps are not allowed. Cost: n elements read, n written; one launch.
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output O, output OFalse,
          class Pred>
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
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access_range R, output O, output OFalse,
          output C, class Pred>
void partition_copy_into(const P& where, R&& r, O&& out_true, OFalse&& out_false, C&& count_out, Pred pred) {
  const char* const function = "partition_copy_into";
  const auto in = detail::input_of(function, r);
  const auto yes = detail::unbounded_output(function, "out_true", out_true, in.count.bound);
  const auto no = detail::unbounded_output(function, "out_false", out_false, in.count.bound);
  detail::select_and_store<Tuning>(function, where, in, yes, no, count_out, detail::keep_where<Pred, true>{pred});
}

// The same for two iterators, or an iterator and a device_count.
// clang-format off
template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, class Pred>
auto copy_if(const P& where, It first, End last, O&& out, Pred pred) { return copy_if<Tuning>(where, subrange{first, last}, out, pred); }

template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, output C, class Pred>
void copy_if_into(const P& where, It first, End last, O&& out, C&& count_out, Pred pred) { copy_if_into<Tuning>(where, subrange{first, last}, out, count_out, pred); }

template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, class Pred>
auto remove_if(const P& where, It first, End last, O&& out, Pred pred) { return remove_if<Tuning>(where, subrange{first, last}, out, pred); }

template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, output C, class Pred>
void remove_if_into(const P& where, It first, End last, O&& out, C&& count_out, Pred pred) { remove_if_into<Tuning>(where, subrange{first, last}, out, count_out, pred); }

template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output F, output O>
auto copy_flagged(const P& where, It first, End last, F&& flags, O&& out) { return copy_flagged<Tuning>(where, subrange{first, last}, flags, out); }

template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output F, output O, output C>
void copy_flagged_into(const P& where, It first, End last, F&& flags, O&& out, C&& count_out) { copy_flagged_into<Tuning>(where, subrange{first, last}, flags, out, count_out); }

template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, class Eq = equal_to>
auto unique_copy(const P& where, It first, End last, O&& out, Eq eq = {}) { return unique_copy<Tuning>(where, subrange{first, last}, out, eq); }

template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, output C, class Eq = equal_to>
void unique_copy_into(const P& where, It first, End last, O&& out, C&& count_out, Eq eq = {}) { unique_copy_into<Tuning>(where, subrange{first, last}, out, count_out, eq); }

template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, output OFalse, class Pred>
auto partition_copy(const P& where, It first, End last, O&& out_true, OFalse&& out_false, Pred pred) { return partition_copy<Tuning>(where, subrange{first, last}, out_true, out_false, pred); }

template <select_tuning Tuning = select_tuning{}, execution_policy P, random_access It, end_of<It> End, output O, output OFalse, output C, class Pred>
void partition_copy_into(const P& where, It first, End last, O&& out_true, OFalse&& out_false, C&& count_out, Pred pred) { partition_copy_into<Tuning>(where, subrange{first, last}, out_true, out_false, count_out, pred); }

// clang-format on

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
