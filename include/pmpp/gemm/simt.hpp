// SPDX-License-Identifier: Apache-2.0
//
// The matrix product on the ordinary arithmetic units, for every type: tiles in shared memory, and in registers.
//
//   1. A block owns a tile of C, and all of k or one of several splits of it. It goes through k k-tile by k-tile. Several
//      k-tiles of A and B are on their way to shared memory at a time (simt/memory.hpp: copy_async), none through registers.
//   2. Both k-tiles lie in shared memory with k as the slow index, whatever the layout in global memory: then a thread
//      reads what it needs for one k as whole 16-byte words, and its neighbours read the same words or other banks.
//   3. A thread owns thread_m x thread_n elements of C in registers: 8 x 16 floats make 128 multiplications of 6 loads.
//      The operands of the next k are loaded while this k's are multiplied.
//   4. Splits write partial sums, which a second launch adds up in order: the same bits on every run. Where C is large,
//      only the tiles that do not fill a wave of blocks are split. Where it is small, the warps of a block may be slices:
//      each multiplies its part of every k-tile, and the block adds up.
//
// 2 m n k operations; A is read n / tile n times, B m / tile m times, mostly from L2: tiles that are near each other run
// at the same time. One barrier a k-tile; one launch, or two.
// (PMPP ch. 5 and 6; Volkov and Demmel, 2008; Nath, Tomov and Dongarra, 2010.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a block cuts up its share of a product.
struct gemm_tile {
  int m = 0, n = 0;                ///< elements of C that a block works out
  int k = 0;                       ///< of a k-tile; a multiple of 8
  int stages = 0;                  ///< k-tiles in shared memory
  int thread_m = 0, thread_n = 0;  ///< elements of C that a thread works out; whole 16-byte words of either operand
  int lanes_m = 0;                 ///< of a warp, along m; 32 / lanes_m along n
  int blocks = 0;                  ///< of a multiprocessor
  int unrolled_k = 4;              ///< even: more need more of the instruction cache
  int slices = 1;                  ///< groups of warps that each multiply their part of a k-tile; added up at the end

  constexpr int lanes_n() const { return simt::warp_size / lanes_m; }
  constexpr int warps_m() const { return m / (thread_m * lanes_m); }
  constexpr int warps_n() const { return n / (thread_n * lanes_n()); }
  constexpr int threads() const { return warps_m() * warps_n() * slices * simt::warp_size; }
  /// Of a block, for sums of `size` bytes: the k-tiles, and a 16-byte word after each of their rows.
  constexpr std::size_t shared_bytes(std::size_t size) const {
    return std::size_t(stages) * std::size_t(k) * (std::size_t(m + n) * size + 32);
  }
  friend constexpr bool operator==(const gemm_tile&, const gemm_tile&) = default;
};

namespace detail {

/// What a launch of gemm_kernel gets.
template <class TA, class TB, class TC, class A, class S, class Epilogue>
struct gemm_arguments {
  static constexpr int word = 16 / sizeof(A);  ///< elements of a 16-byte word of sums

  gemm_operand<TA> a;
  gemm_operand<TB> b;
  gemm_target<TC> c;
  std::int64_t k, batch;
  std::int64_t tiles_m, tiles_n;
  std::int64_t whole;            ///< tiles, of all batches, whose k is not split: the first
  std::int64_t splits, split_k;  ///< of the others' k; how long one is, a multiple of Tile.k
  A* partials;  ///< for each split a rows x round_up(cols, word) matrix; where tiles are whole, one tile after another
  std::int64_t first_block;  ///< of this launch, among those of all launches of the call
  gemm_result<S, Epilogue> result;
  bool c_in_words;  ///< words of C may be written
  /// 1. Sums that are written as they are would be kept in the registers of the words in which they are written, in which
  /// three operands of many products come from the same bank: an H100 multiplies a twentieth slower.
  A one;

  PMPP_HOST_DEVICE std::int64_t split_tiles() const { return tiles_m * tiles_n * batch - whole; }
  /// Of tile t of those, where some are whole: how many sums there are of it, and where the first is, in units of a tile.
  PMPP_HOST_DEVICE std::int64_t parts(std::int64_t) const { return splits; }
  PMPP_HOST_DEVICE std::int64_t first_part(std::int64_t t) const { return t * splits; }
  PMPP_HOST_DEVICE std::int64_t partial_row() const { return round_up(c.cols, std::int64_t(word)); }
};

/// A tile of C, number `tile` of those of all batches.
template <gemm_tile Tile>
struct tile_coord {
  std::int64_t batch, row, col;  ///< of C, where the tile begins
  int others_rows, others_cols;  ///< the first of them, which other blocks write

  /// Tiles follow each other down `group` rows of tiles, then to the next column: those that run at the same time
  /// form a rectangle and share what they read.
  template <class TA, class TB, class TC, class A, class S, class Epilogue>
  PMPP_HOST_DEVICE tile_coord(const gemm_arguments<TA, TB, TC, A, S, Epilogue>& x, std::int64_t tile) {
    constexpr std::int64_t group = 8;
    batch = tile / (x.tiles_m * x.tiles_n);
    tile -= batch * x.tiles_m * x.tiles_n;
    const std::int64_t first = tile / (group * x.tiles_n) * group;
    const std::int64_t rows = min(group, x.tiles_m - first);
    const std::int64_t in_group = tile % (group * x.tiles_n);
    const std::int64_t own_row = (first + in_group % rows) * Tile.m, own_col = in_group / rows * Tile.n;
    // The last tiles begin earlier, so that they lie inside C, where 16-byte words allow it: copies need no checks.
    constexpr int a_items = max(1, int(16 / sizeof(TA))), b_items = max(1, int(16 / sizeof(TB)));
    const bool moves_up = x.c.rows >= Tile.m && (x.a.copy != k_tile_copy::words || x.c.rows % a_items == 0);
    const bool moves_left = x.c.cols >= Tile.n && (x.b.copy != k_tile_copy::words || x.c.cols % b_items == 0) &&
                            (x.c.cols % x.word == 0 || (!x.c_in_words && (x.splits == 1 || x.whole > 0)));
    row = moves_up ? min(own_row, x.c.rows - Tile.m) : own_row;
    col = moves_left ? min(own_col, x.c.cols - Tile.n) : own_col;
    others_rows = static_cast<int>(own_row - row);
    others_cols = static_cast<int>(own_col - col);
  }
};

template <class TA, class TB, class TC, class A, class S, class Epilogue, gemm_tile Tile, k_tile_copy CopyA,
          k_tile_copy CopyB>
struct gemm_kernel {
  static constexpr int threads = Tile.threads(), min_blocks = Tile.blocks;
  static constexpr int word = 16 / sizeof(A);  ///< elements of a 16-byte word of shared memory
  static constexpr int lanes_n = Tile.lanes_n(), warps_n = Tile.warps_n();
  static_assert(Tile.m == Tile.warps_m() * Tile.lanes_m * Tile.thread_m && Tile.thread_m % word == 0);
  static_assert(Tile.n == warps_n * lanes_n * Tile.thread_n && Tile.thread_n % word == 0);
  static constexpr int slice_k = Tile.k / Tile.slices, slice_threads = threads / Tile.slices;
  static_assert(Tile.k % 8 == 0 && slice_k % Tile.unrolled_k == 0 && Tile.k % Tile.slices == 0 &&
                Tile.unrolled_k % 2 == 0 && Tile.stages >= 3 && lanes_n >= 2);

  // The word after each row lets lanes with consecutive k write to different banks.
  static constexpr int gap = CopyA == k_tile_copy::bulk ? 0 : word;
  static constexpr int row_a = Tile.m + gap, row_b = Tile.n + gap;
  struct shared {
    alignas(16) A a[Tile.stages * Tile.k * row_a];
    alignas(16) A b[Tile.stages * Tile.k * row_b];
  };
  static_assert(CopyA == k_tile_copy::bulk || sizeof(shared) == Tile.shared_bytes(sizeof(A)));

  using arguments = gemm_arguments<TA, TB, TC, A, S, Epilogue>;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    const coord at(block, x);
    A sum[Tile.thread_m][Tile.thread_n] = {};
    multiply(block, memory, x, at, sum);
    if (at.slice > 0) return;  // the first has the sums of all
    if (at.split >= 0)
      write_partial(x, at, sum);
    else
      write(x, at, sum);
  }

protected:
  /// Where in a tile a thread's first words are.
  struct thread_coord {
    int thread_row, thread_col;
    int slice;  ///< which of those of each k-tile the thread multiplies

    // Lanes 2i and 2i + 1 share their words of A, lanes 4i and 4i + 2 theirs of B: a warp's 16-byte loads from shared
    // memory are served in halves then, not in quarters.
    template <class Block>
    PMPP_HOST_DEVICE explicit thread_coord(Block& block) {
      const int lane = block.lane();
      const int lane_n = (lane & 1) | ((lane / (2 * pair_m) % max(1, lanes_n / 2)) << 1);
      const int lane_m = lane / 2 % pair_m + lane / (pair_m * lanes_n) * pair_m;
      const int warp = block.warp() % (slice_threads / simt::warp_size);
      slice = block.warp() / (slice_threads / simt::warp_size);
      thread_row = warp / warps_n * Tile.lanes_m * Tile.thread_m + lane_m * word;
      thread_col = warp % warps_n * lanes_n * Tile.thread_n + lane_n * word;
    }
    static constexpr int pair_m = min(2, Tile.lanes_m);
  };

  /// Which part of the product this block and this thread work out.
  struct coord : tile_coord<Tile>, thread_coord {
    std::int64_t k_begin, k_end;
    std::int64_t split, tile;  ///< negative where k is not split; among those tiles whose k is

    template <class Block>
    PMPP_HOST_DEVICE coord(Block& block, const arguments& x)
        : coord(block, x, x.first_block + block.index() - x.whole) {}

  private:
    template <class Block>
    PMPP_HOST_DEVICE coord(Block& block, const arguments& x, std::int64_t index)
        : tile_coord<Tile>(x, x.whole + (index < 0 ? index : index % x.split_tiles())), thread_coord(block) {
      split = index < 0 ? -1 : index / x.split_tiles();
      tile = index - split * x.split_tiles();
      k_begin = split < 0 ? 0 : split * x.split_k;
      k_end = split < 0 ? x.k : min(x.k, k_begin + x.split_k);
    }
  };

  /// Row i of those that a thread works out, from its first.
  PMPP_HOST_DEVICE static constexpr int row_of(int i) { return i / word * Tile.lanes_m * word + i % word; }
  PMPP_HOST_DEVICE static constexpr int col_of(int j) { return j / word * lanes_n * word + j % word; }

  /// Which pieces of a k-tile a thread copies: `Items` elements along m or n each, first those at (i(t), p(t)), then those
  /// `across` pieces and `deep` rows of the k-tile further. Consecutive threads take `Deep` pieces along k, then the next.
  template <int Extent, int Deep, int Items, bool UnitStride>
  struct pattern {
    static constexpr int items = Items, pieces = Extent / Items, abreast = threads / Deep;
    static constexpr int across = min(abreast, pieces), deep = abreast / across * Deep;
    static constexpr bool unit_i = UnitStride, unit_k = Deep > 1, idle_threads = deep > Tile.k;
    PMPP_HOST_DEVICE static int p(int t) { return t % Deep + t / (Deep * across) * Deep; }
    PMPP_HOST_DEVICE static int i(int t) { return t / Deep % across; }
  };
  template <int Extent, k_tile_copy Copy, class T, class F>
  PMPP_HOST_DEVICE static void with_pattern(const gemm_operand<T>& x, F f) {
    constexpr int items = max(1, int(16 / sizeof(T)));
    const k_tile_copy copy = Copy == k_tile_copy::mixed ? x.copy : Copy;
    if (copy == k_tile_copy::words)
      f(pattern < Extent, 1, Extent % items == 0 ? items : 1, true > {});
    else if (copy == k_tile_copy::along)
      f(pattern<Extent, 1, 1, true>{});
    else if (copy == k_tile_copy::along_k)
      f(pattern<Extent, 8, 1, false>{});
    else
      f(pattern<Extent, 1, 1, false>{});
  }

  /// Copies one operand k-tile by k-tile. What it keeps in registers is little: they are scarce.
  template <int Extent, k_tile_copy Copy, class T>
  class tile_iterator {
  public:
    template <class Block>
    PMPP_HOST_DEVICE tile_iterator(Block& block, const gemm_operand<T>& x, std::int64_t batch, std::int64_t first,
                                   std::int64_t k, int k_tiles, int last_depth)
        : left_(k_tiles),
          part_(first + Extent > x.extent ? k_tiles
                : last_depth < Tile.k     ? 1
                                          : 0),
          rows_(static_cast<int>(min(std::int64_t(Extent), x.extent - first))),
          last_depth_(last_depth) {
      with_pattern<Extent, Copy>(x, [&](auto way) {
        const int i = way.i(block.thread()) * way.items, p = way.p(block.thread());
        from_ = x.data + batch * x.batch_stride + (first + i) * x.stride + (k + p) * x.k_stride;
        to_ = p * row_length + i;
      });
    }

    /// How many k-tiles, from the first on, lie inside the operand.
    PMPP_HOST_DEVICE int whole_k_tiles() const { return left_ - part_; }

    /// Starts copying the next k-tile to the rows of shared memory from `to` on. Inside: it lies inside the operand; else
    /// zeros where it does not, nothing if there is none.
    template <bool Inside, class Block>
    PMPP_HOST_DEVICE void copy(Block& block, const gemm_operand<T>& x, A* to) {
      to += to_;
      if (Inside || left_ > part_)
        with_pattern<Extent, Copy>(x, [&](auto way) {
          for (int i = 0; i < way.pieces; i += way.across)
            for (int p = 0; p < Tile.k; p += way.deep)
              if (!way.idle_threads || way.p(block.thread()) < Tile.k)
                copy_piece<way.items>(
                    to + p * row_length + i * way.items,
                    from_ + i * way.items * (way.unit_i ? 1 : x.stride) + p * (way.unit_k ? 1 : x.k_stride));
        });
      else if (left_ > 0)
        copy_part(block, x, to);
      --left_;
      from_ += Tile.k * x.k_stride;
    }

  private:
    static constexpr int row_length = Extent + word;

    /// The same at the edges of the matrix, element by element.
    template <class Block>
    PMPP_HOST_DEVICE void copy_part(Block& block, const gemm_operand<T>& x, A* to) const {
      int items = 1, across = 0, deep = 0, p0 = 0, i0 = 0;
      with_pattern<Extent, Copy>(x, [&](auto way) {
        items = way.items, across = way.across, deep = way.deep;
        p0 = way.p(block.thread()), i0 = way.i(block.thread()) * items;
      });
      const int depth = left_ == 1 ? last_depth_ : Tile.k;
      for (int p = 0; p0 + p < Tile.k; p += deep)
        for (int i = 0; i0 + i < Extent; i += across * items)
          for (int e = i; e < i + items; ++e) {
            if (p0 + p < depth && i0 + e < rows_)
              copy_piece<1>(to + p * row_length + e, from_ + e * x.stride + p * x.k_stride);
            else
              to[p * row_length + e] = A{};
          }
    }

    const T* from_;          // the first piece of this thread in the next k-tile
    int to_;                 // where it goes
    int left_, part_;        // k-tiles to copy; how many of them, the last ones, have edges
    int rows_, last_depth_;  // of the operand in this tile, in the last k-tile
  };

  /// Starts copying what needs no conversion; converts the rest.
  template <int Items, class T>
  PMPP_HOST_DEVICE static void copy_piece(A* to, const T* from) {
    constexpr int bytes = Items * sizeof(T);
    if constexpr (std::is_same_v<T, A> && (bytes == 4 || bytes == 8 || bytes == 16)) {
      simt::copy_async<bytes>(to, from);
    } else {
      const auto x = *reinterpret_cast<const packed<T, Items>*>(from);
      for (int e = 0; e < Items; ++e) to[e] = static_cast<A>(x.item[e]);
    }
  }

  /// A thread's operands of one k.
  struct operands {
    A a[Tile.thread_m], b[Tile.thread_n];
  };
  using shared_word = packed<A, word>;

  PMPP_HOST_DEVICE static void load(const shared& memory, const thread_coord& at, int row, operands& to) {
    const A* a = &memory.a[row * row_a + at.thread_row];
    const A* b = &memory.b[row * row_b + at.thread_col];
    for (int i = 0; i < Tile.thread_m; i += word) {
      const auto x = *reinterpret_cast<const shared_word*>(a + row_of(i));
      for (int e = 0; e < word; ++e) to.a[i + e] = x.item[e];
    }
    for (int j = 0; j < Tile.thread_n; j += word) {
      const auto x = *reinterpret_cast<const shared_word*>(b + col_of(j));
      for (int e = 0; e < word; ++e) to.b[j + e] = x.item[e];
    }
  }

  /// Adds the products of one k.
  PMPP_HOST_DEVICE static void add_products(const operands& y, A (&sum)[Tile.thread_m][Tile.thread_n]) {
    for (int i = 0; i < Tile.thread_m; ++i)
      for (int j = 0; j < Tile.thread_n; ++j) {
        const int serpentine = i % 2 == 0 ? j : Tile.thread_n - 1 - j;  // the neighbour shares an operand
        sum[i][serpentine] += y.a[i] * y.b[serpentine];
      }
  }

  /// Adds the products of a thread's elements over the k of the split.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x, const coord& at,
                                        A (&sum)[Tile.thread_m][Tile.thread_n]) {
    constexpr int ahead = Tile.stages - 1, rows = Tile.stages * Tile.k;
    const std::int64_t depth = max(std::int64_t(0), at.k_end - at.k_begin);
    const int k_tiles = static_cast<int>(ceil_div(depth, std::int64_t(Tile.k)));
    const int last_depth = static_cast<int>(depth - (k_tiles - 1) * std::int64_t(Tile.k));
    tile_iterator<Tile.m, CopyA, TA> a(block, x.a, at.batch, at.row, at.k_begin, k_tiles, last_depth);
    tile_iterator<Tile.n, CopyB, TB> b(block, x.b, at.batch, at.col, at.k_begin, k_tiles, last_depth);
    const int inside = min(a.whole_k_tiles(), b.whole_k_tiles()) - ahead;  // fetches in the loop that need no checks
    for (int s = 0; s < ahead; ++s) {
      a.template copy<false>(block, x.a, memory.a + s * Tile.k * row_a);
      b.template copy<false>(block, x.b, memory.b + s * Tile.k * row_b);
      simt::copy_async_commit();
    }
    simt::copy_async_wait<ahead - 1>();
    block.sync();
    operands now[2] = {};
    int row = at.slice * slice_k,
        free_row = ahead * Tile.k;  // of shared memory: for this k, for the k-tile fetched next
    if (k_tiles > 0) load(memory, at, row, now[0]);
    const auto multiply_k_tile = [&](auto fetches_inside) {
      a.template copy<fetches_inside.value>(block, x.a, memory.a + free_row * row_a);
      b.template copy<fetches_inside.value>(block, x.b, memory.b + free_row * row_b);
      simt::copy_async_commit();
      free_row = free_row + Tile.k < rows ? free_row + Tile.k : 0;
      for (int q = 0; q < slice_k; q += Tile.unrolled_k) {
        int after = row + Tile.unrolled_k;
        if (q + Tile.unrolled_k == slice_k) after += Tile.k - slice_k;
        if (after >= rows) after -= rows;
        unrolled<Tile.unrolled_k>([&](int p) {
          if (q + p == slice_k - 1) {
            // The next k-tile is there; and all have read this one, whose place is the next to be free.
            simt::copy_async_wait<ahead - 1>();
            block.sync();
          }
          load(memory, at, p + 1 < Tile.unrolled_k ? row + p + 1 : after, now[(p + 1) % 2]);
          add_products(now[p % 2], sum);
        });
        row = after;
      }
    };
    int s = 0;
    for (; s < inside; ++s) multiply_k_tile(std::true_type{});
    for (; s < k_tiles; ++s) multiply_k_tile(std::false_type{});
    if constexpr (Tile.slices > 1) add_slices(block, memory, x, at, sum);
  }

  /// Leaves the sums of all slices with the threads of the first.
  template <class Block>
  PMPP_HOST_DEVICE static void add_slices(Block& block, shared& memory, const arguments& x, const coord& at,
                                          A (&sum)[Tile.thread_m][Tile.thread_n]) {
    constexpr int words = Tile.thread_m * Tile.thread_n / word;
    static_assert(sizeof(shared) >= sizeof(A) * (Tile.slices - 1) * words * word * slice_threads);
    auto* sums = reinterpret_cast<shared_word*>(memory.a);
    simt::copy_async_wait<0>();
    block.sync();
    const int thread = block.thread() % slice_threads;
    const auto offset_of = [&](int slice, int i, int j) {
      return ((slice - 1) * words + (i * Tile.thread_n + j) / word) * slice_threads + thread;
    };
    if (at.slice > 0)
      unrolled<Tile.thread_m>([&](int i) {
        for (int j = 0; j < Tile.thread_n; j += word) {
          shared_word y;
          for (int e = 0; e < word; ++e) y.item[e] = sum[i][j + e] * x.one;
          sums[offset_of(at.slice, i, j)] = y;
        }
      });
    block.sync();
    if (at.slice == 0)
      for (int slice = 1; slice < Tile.slices; ++slice)
        unrolled<Tile.thread_m>([&](int i) {
          for (int j = 0; j < Tile.thread_n; j += word) {
            const shared_word y = sums[offset_of(slice, i, j)];
            for (int e = 0; e < word; ++e) sum[i][j + e] += y.item[e];
          }
        });
  }

  PMPP_HOST_DEVICE static void write_partial(const arguments& x, const coord& at,
                                             const A (&sum)[Tile.thread_m][Tile.thread_n]) {
    const bool tiles = x.whole > 0;
    const std::int64_t length = tiles ? Tile.n : x.partial_row();
    A* to = x.partials + (tiles ? (at.tile * x.splits + at.split) * (Tile.m * Tile.n)
                                : (at.batch * x.splits + at.split) * x.c.rows * length);
    unrolled<Tile.thread_m>([&](int i) {
      const std::int64_t row = at.row + at.thread_row + row_of(i);
      if (at.thread_row + row_of(i) < at.others_rows || row >= x.c.rows) return;
      for (int j = 0; j < Tile.thread_n; j += word) {
        const std::int64_t col = at.col + at.thread_col + col_of(j);
        shared_word y;
        for (int e = 0; e < word; ++e) y.item[e] = sum[i][j + e] * x.one;
        if (tiles)
          *reinterpret_cast<shared_word*>(to + (row - at.row) * length + (col - at.col)) = y;
        else if (at.thread_col + col_of(j) >= at.others_cols && col < length)
          *reinterpret_cast<shared_word*>(to + row * length + col) = y;
      }
    });
  }

  template <class Place>
  PMPP_HOST_DEVICE static void write(const arguments& x, const Place& at,
                                     const A (&sum)[Tile.thread_m][Tile.thread_n]) {
    TC* c = x.c.data + at.batch * x.c.batch_stride;
    const bool reads = x.result.beta != S{};
    unrolled<Tile.thread_m>([&](int i) {
      const std::int64_t row = at.row + at.thread_row + row_of(i);
      if (at.thread_row + row_of(i) < at.others_rows || row >= x.c.rows) return;
      for (int j = 0; j < Tile.thread_n; j += word) {
        const std::int64_t col = at.col + at.thread_col + col_of(j);
        TC* to = c + row * x.c.row_stride + col * x.c.col_stride;
        const int own = at.thread_col + col_of(j) - at.others_cols;  // negative: columns of another block
        if (x.c_in_words && own >= 0 && col + word <= x.c.cols) {
          using group = packed<TC, word>;
          group y{};
          if (reads) y = *reinterpret_cast<const group*>(to);
          for (int e = 0; e < word; ++e) y.item[e] = x.result(sum[i][j + e], &y.item[e], row, col + e);
          *reinterpret_cast<group*>(to) = y;
        } else {
          for (int e = 0; e < word; ++e)
            if (own + e >= 0 && col + e < x.c.cols)
              to[e * x.c.col_stride] = x.result(sum[i][j + e], to + e * x.c.col_stride, row, col + e);
        }
      }
    });
  }
};

/// from[0] + from[stride] + ... of all splits. In order, but many at a time on their way: a small C has few threads that
/// could hide how long each takes.
template <class A>
PMPP_HOST_DEVICE A sum_of_splits(const A* from, std::int64_t stride, std::int64_t splits) {
  A sum = from[0];
  auto left = static_cast<int>(splits) - 1;
  const auto add = [&]<int Most>(std::integral_constant<int, Most>, int count) {
    A next[Most];
    for (int e = 0; e < Most; ++e) next[e] = e < count ? from[(e + 1) * stride] : A{};
    for (int e = 0; e < Most; ++e)
      if (e < count) sum += next[e];
    from += Most * stride;
    left -= Most;
  };
  while (left >= 32) add(std::integral_constant<int, 32>{}, 32);
  while (left >= 8) add(std::integral_constant<int, 8>{}, 8);
  if (left > 0) add(std::integral_constant<int, 7>{}, left);
  return sum;
}

/// Adds up the partial sums of the splits, one element of C a thread.
template <class TC, class A, class S, class Epilogue>
struct gemm_combine_kernel {
  static constexpr int threads = 128, min_blocks = 5;

  struct arguments {
    gemm_target<TC> c;
    const A* partials;
    std::int64_t row_length, splits, batch;
    gemm_result<S, Epilogue> result;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x) const {
    if (x.c.rows * x.row_length * x.batch < (std::int64_t(1) << 31))
      add_up<std::uint32_t>(block, x);  // dividing 64-bit numbers takes longer than all the rest
    else
      add_up<std::int64_t>(block, x);
  }

private:
  template <class Index, class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, const arguments& x) {
    const std::int64_t matrix = x.c.rows * x.row_length, step = block.count() * threads;
    for (std::int64_t n = block.index() * threads + block.thread(); n < matrix * x.batch; n += step) {
      const Index in_batch = static_cast<Index>(n) % static_cast<Index>(matrix);
      const std::int64_t batch = static_cast<Index>(n) / static_cast<Index>(matrix);
      const std::int64_t row = in_batch / static_cast<Index>(x.row_length);
      const std::int64_t col = in_batch % static_cast<Index>(x.row_length);
      if (col >= x.c.cols) continue;
      const A sum = sum_of_splits(x.partials + batch * x.splits * matrix + in_batch, matrix, x.splits);
      TC* to = x.c.data + batch * x.c.batch_stride + row * x.c.row_stride + col * x.c.col_stride;
      *to = x.result(sum, to, row, col);
    }
  }
};

/// Adds up the partial sums of the tiles whose k is split, where others are whole.
template <gemm_tile Tile>
struct gemm_combine_tiles_kernel {
  static constexpr int threads = 128, min_blocks = 8, items = 4;  ///< elements of a thread
  static constexpr int area = Tile.m * Tile.n, blocks_of_tile = ceil_div(area, threads*items);

  template <class Block, class Arguments>
  PMPP_HOST_DEVICE void operator()(Block& block, const Arguments& x) const {
    const std::int64_t tile = block.index() / blocks_of_tile, parts = x.parts(tile);
    const tile_coord<Tile> at(x, x.whole + tile);
    const auto* partials = x.partials + x.first_part(tile) * area;
    const int first = static_cast<int>(block.index() % blocks_of_tile) * threads * items + block.thread();
    unrolled<items>([&](int e) {
      const int in_tile = first + e * threads, own_row = in_tile / Tile.n, own_col = in_tile % Tile.n;
      const std::int64_t row = at.row + own_row, col = at.col + own_col;
      if (in_tile >= area || own_row < at.others_rows || own_col < at.others_cols || row >= x.c.rows || col >= x.c.cols)
        return;
      auto* to = x.c.data + at.batch * x.c.batch_stride + row * x.c.row_stride + col * x.c.col_stride;
      *to = x.result(sum_of_splits(partials + in_tile, area, parts), to, row, col);
    });
  }
};

/// Enqueues the second launch.
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void combine_splits(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const A* partials,
                    std::int64_t row_length, std::int64_t splits) {
  using kernel = gemm_combine_kernel<TC, A, S, Epilogue>;
  const std::int64_t elements = x.batch * x.c.rows * row_length;
  pmpp::launch(
      where,
      min(ceil_div(elements, std::int64_t(kernel::threads)), std::int64_t(machine_of(where).multiprocessors) * 16),
      kernel{}, typename kernel::arguments{x.c, partials, row_length, splits, x.batch, x.result});
}

/// How a product is cut up, and how many clocks that takes, about.
struct gemm_plan {
  std::int64_t tiles_m, tiles_n, splits, split_k;
  double clocks;
  std::int64_t whole = 0;  ///< tiles, of all batches, whose k is not split though that of the others is
};

/// Clocks of what a machine cannot do.
inline constexpr double never = 1e300;
/// Clocks that a second launch takes, which adds up the splits: 6000 of an H100.
constexpr double clocks_of_second_launch(const machine& on) { return on.clocks_of(3.419e-6); }

/// What a tile costs on a machine.
struct gemm_cost {
  std::int64_t m, n, k;  ///< of a tile and a k-tile
  int blocks, warps;     ///< of a multiprocessor; of a block
  double clocks_of_k;    ///< that a block's products of one k take
  double item_bytes, sum_bytes;
  bool fits;            ///< into shared memory
  double start = 5000;  ///< clocks before the first product and after the last
};

template <gemm_tile Tile, class A>
constexpr gemm_cost gemm_cost_of(const machine& on) {
  constexpr double products = Tile.thread_m * Tile.thread_n, word = 16.0 / sizeof(A);
  // Of a k of a block: products, and instructions besides. Loads from shared memory are what small tiles wait for.
  const double fma = double(Tile.m) * Tile.n / (sizeof(A) > 4 ? on.double_rate() : on.float_rate());
  constexpr double besides = 1 + (3 * (Tile.thread_m + Tile.thread_n) / word + 12) / products;
  // Kernels for each layout are better than that, by measurement: 8 x 8 elements of a thread, and 8 x 4.
  constexpr bool of_layout = sizeof(A) == 4 && (products == 64 || Tile.slices > 1);
  constexpr double of_fma = !of_layout ? 0.7 * besides * besides : products == 64 ? 1.18 : 1.5;
  constexpr double start = 5000 + double(Tile.slices - 1) * Tile.m * Tile.n;  // the sums of slices: one a clock
  constexpr std::size_t shared = Tile.shared_bytes(sizeof(A));
  return {Tile.m,
          Tile.n,
          Tile.k,
          on.resident_blocks(Tile.threads(), shared, Tile.blocks),
          Tile.threads() / simt::warp_size,
          of_fma * fma,
          sizeof(A),
          sizeof(A),
          on.fits(shared),
          start};
}

/// The best number of splits for a tile. A rough model, measured on an H100: what counts is how many blocks a
/// multiprocessor gets, how many warps it has to choose from, how well a tile fits m and n, and whether memory keeps up.
inline gemm_plan plan_gemm(const gemm_cost& tile, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                           const machine& on) {
  constexpr double split = 100;  // clocks of the second launch for each
  const int processors = on.multiprocessors;
  const double l2_bytes = on.l2_rate(), memory_bytes = on.memory_rate(), partial_bytes = 0.625 * memory_bytes;
  const std::int64_t tiles_m = ceil_div(m, tile.m), tiles_n = ceil_div(n, tile.n);
  const double tiles = double(tiles_m) * double(tiles_n) * double(batch);
  const double c_bytes = double(m) * double(n) * double(batch) * tile.sum_bytes;
  const double read = double(k) * double(batch) * tile.item_bytes;
  const double from_l2 = read * (double(m) * double(tiles_n) + double(n) * double(tiles_m)) / l2_bytes;
  const double from_memory = (read * (double(m) + double(n)) + c_bytes) / memory_bytes;
  if (!tile.fits) return {tiles_m, tiles_n, 1, k, never};
  gemm_plan best{tiles_m, tiles_n, 0, 0, 0};
  for (int blocks = 0; blocks <= 3 * tile.blocks; ++blocks) {  // of a multiprocessor, wanted; 0: one split
    const auto wanted = blocks == 0 ? 1 : static_cast<std::int64_t>(min(blocks * processors / tiles, 4096.0));
    if (wanted < 1 || (blocks > 0 && wanted == 1)) continue;
    const std::int64_t split_k = round_up(ceil_div(max(k, std::int64_t(1)), wanted), tile.k);
    const std::int64_t splits = max(std::int64_t(1), ceil_div(k, split_k));
    const auto share = ceil_div(static_cast<std::int64_t>(tiles) * splits, std::int64_t(processors));
    const std::int64_t together = min(share, std::int64_t(tile.blocks));
    const double warps = double(together * tile.warps) / 4;  // of a scheduler: more hide more of what they wait for
    double clocks = double(share) * double(split_k) * tile.clocks_of_k * (warps + 0.5) / warps;
    clocks = max(clocks, max(from_l2, from_memory)) + tile.start * double(share);
    if (splits > 1)
      clocks += clocks_of_second_launch(on) + split * double(splits) + c_bytes * double(splits + 1) / partial_bytes;
    if (best.splits == 0 || clocks < best.clocks) best = {tiles_m, tiles_n, splits, split_k, clocks};
  }
  return best;
}

/// The same for tiles of which a wave, all that run at a time, takes most of the call: a last wave that is not full takes as
/// long as a full one, so its tiles are split, or those of the last two. Of less than a wave each multiprocessor gets equally
/// many whole tiles, and splits of the rest beside them.
inline gemm_plan plan_waves(const gemm_cost& tile, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                            const machine& on) {
  const double partial_bytes = 0.75 * on.memory_rate();
  const int processors = on.multiprocessors;
  const std::int64_t tiles_m = ceil_div(m, tile.m), tiles_n = ceil_div(n, tile.n), tiles = tiles_m * tiles_n * batch;
  if (!tile.fits) return {tiles_m, tiles_n, 1, k, never};
  const std::int64_t wave = std::int64_t(tile.blocks) * processors;
  // Clocks for one k of `together` blocks of a multiprocessor: more hide more of what they wait for.
  const auto clocks_of = [&](std::int64_t together) {
    return together == 0 ? 0 : tile.clocks_of_k * (1.04 * double(together) + 1.7 / tile.warps);
  };
  gemm_plan best{tiles_m, tiles_n, 0, 0, 0};
  const std::int64_t step = tiles < wave ? processors : wave;
  for (std::int64_t whole = tiles / step * step; whole >= 0 && tiles - whole < 2 * wave; whole -= step) {
    const std::int64_t rest = tiles - whole;
    const std::int64_t beside = whole < wave ? whole / processors : 0;  // whole tiles of a multiprocessor, at that time
    for (int each = 0; each <= 3 * tile.blocks; ++each) {  // splits of the rest for a multiprocessor; 0: one of a tile
      const std::int64_t wanted = each == 0 || rest == 0 ? 1 : min(each * processors / rest, k / tile.k);
      if (wanted < 1 || (each > 0 && wanted == 1)) continue;
      const std::int64_t split_k = round_up(ceil_div(max(k, std::int64_t(1)), wanted), tile.k);
      const std::int64_t splits = max(std::int64_t(1), ceil_div(k, split_k)), blocks = rest * splits;
      if (beside > 0 && blocks > (tile.blocks - beside) * processors) continue;
      double clocks = double(whole / wave) * (tile.start + double(k) * clocks_of(tile.blocks)) +
                      double(blocks / wave) * (tile.start + double(split_k) * clocks_of(tile.blocks));
      // Groups of multiprocessors get equally many blocks, but not all have equally many multiprocessors: 3 % count less.
      // After a wave the first multiprocessors that are ready take all there is.
      const std::int64_t last = blocks % wave, few = last == 0 ? 0 : 1 + last * 100 / (processors * 97);
      const bool first = whole < wave && blocks < wave;
      const std::int64_t together = first ? min(std::int64_t(tile.blocks), beside + few) : last > 0 ? tile.blocks : 0;
      if (together > 0)
        clocks += tile.start + double(split_k) * clocks_of(together) + double(k - min(k, split_k)) * clocks_of(beside);
      if (splits > 1)
        clocks += clocks_of_second_launch(on) +
                  double(rest * tile.m * tile.n * (splits + 1)) * tile.sum_bytes / partial_bytes;
      if (best.splits == 0 || clocks < best.clocks)
        best = {tiles_m, tiles_n, splits, split_k, clocks, splits > 1 ? whole : 0};
    }
  }
  return best;
}

/// Enqueues a product on a GPU or runs it in the emulator, cut up as planned.
template <gemm_tile Tile, class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_by_tiles(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const gemm_plan& plan) {
  constexpr std::int64_t word = 16 / sizeof(A);
  const std::int64_t tiles = plan.tiles_m * plan.tiles_n * x.batch, row_length = round_up(x.c.cols, word);
  const std::int64_t whole = plan.splits > 1 ? plan.whole : tiles, cut = (tiles - whole) * plan.splits;
  const std::int64_t partials = cut == 0    ? 0
                                : whole > 0 ? cut * Tile.m * Tile.n
                                            : x.batch * plan.splits * x.c.rows * row_length;
  scratch memory(where, checked_bytes(partials, sizeof(A), "gemm"), 0);
  auto* sums = static_cast<A*>(memory.data());
  const auto run = [&]<k_tile_copy CopyA, k_tile_copy CopyB>() {
    using kernel = gemm_kernel<TA, TB, TC, A, S, Epilogue, Tile, CopyA, CopyB>;
    const std::int64_t blocks = whole + cut, most = std::int64_t(1) << 30;
    typename kernel::arguments arguments{
        x.a,   x.b,         x.c,          x.k,  x.batch, plan.tiles_m, plan.tiles_n,
        whole, plan.splits, plan.split_k, sums, 0,       x.result,     x.c.is_written_by(word),
        A(1)};
    for (; arguments.first_block < blocks; arguments.first_block += most)
      pmpp::launch(where, min(most, blocks - arguments.first_block), kernel{}, arguments);
    using combine = gemm_combine_tiles_kernel<Tile>;
    if (whole > 0 && cut > 0) pmpp::launch(where, (tiles - whole) * combine::blocks_of_tile, combine{}, arguments);
  };
  using enum k_tile_copy;
  // Large tiles are worth kernels of their own for the usual layouts: 4096^3 floats take 10 % longer with one for all.
  if constexpr (Tile.thread_m * Tile.thread_n * sizeof(A) >= 256 || Tile.slices > 1) {
    const k_tile_copy a = x.a.copy, b = x.b.copy;
    if (a == any || b == any)
      run.template operator()<mixed, mixed>();
    else if (a == along_k && b == along_k)
      run.template operator()<along_k, along_k>();
    else if (a == along || b == along)
      a == along_k   ? run.template operator()<along_k, along>()
      : b == along_k ? run.template operator()<along, along_k>()
                     : run.template operator()<along, along>();
    else
      a == along_k   ? run.template operator()<along_k, words>()
      : b == along_k ? run.template operator()<words, along_k>()
                     : run.template operator()<words, words>();
  } else {
    run.template operator()<mixed, mixed>();
  }
  if (cut > 0 && whole == 0) detail::combine_splits(where, x, sums, row_length, plan.splits);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
