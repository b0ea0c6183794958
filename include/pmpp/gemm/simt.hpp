// SPDX-License-Identifier: Apache-2.0
//
// The matrix product on the ordinary arithmetic units, for every type: tiles in shared memory, and in registers.
//
//   1. A block owns a tile of C, and all of k or one of several splits of it. It goes through k slab by slab. Several
//      slabs of A and B are on their way to shared memory at a time (simt/memory.hpp: copy_async), none through registers.
//   2. Both slabs lie in shared memory with k as the slow index, whatever the layout in global memory: then a thread
//      reads what it needs for one k as whole 16-byte words, and its neighbours read the same words or other banks.
//   3. A thread owns thread_m x thread_n elements of C in registers: 8 x 16 floats make 128 multiplications of 6 loads.
//      The operands of the next k are loaded while this k's are multiplied.
//   4. Splits write partial sums, which a second launch adds up in order: the same bits on every run.
//
// 2 m n k operations; A is read n / tile n times, B m / tile m times, mostly from L2: tiles that are near each other run
// at the same time. One barrier a slab; one launch, or two.
// (PMPP ch. 5 and 6; Volkov and Demmel, 2008; Nath, Tomov and Dongarra, 2010.)
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
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
  int k = 0;                       ///< of a slab; a multiple of 8, all unrolled: a large tile has 16 for less besides
  int stages = 0;                  ///< slabs in shared memory
  int thread_m = 0, thread_n = 0;  ///< elements of C that a thread works out; whole 16-byte words of either operand
  int lanes_m = 0;                 ///< of a warp, along m; 32 / lanes_m along n
  int blocks = 0;                  ///< of a multiprocessor

  constexpr int lanes_n() const { return simt::warp_size / lanes_m; }
  constexpr int warps_m() const { return m / (thread_m * lanes_m); }
  constexpr int warps_n() const { return n / (thread_n * lanes_n()); }
  constexpr int threads() const { return warps_m() * warps_n() * simt::warp_size; }
  friend constexpr bool operator==(const gemm_tile&, const gemm_tile&) = default;
};

namespace detail {

/// Calls f(0) ... f(N - 1), one after the other in the text. For loops that have to be unrolled, so that arrays are registers.
template <int N, class F>
PMPP_HOST_DEVICE constexpr void unrolled(F f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(I), ...); }
  (std::make_integer_sequence<int, N>{});
}

/// Elements that move in one access.
template <class T, int Items>
struct alignas(Items * sizeof(T)) item_group {
  T item[Items];
};

template <class TA, class TB, class TC, class A, class S, class Epilogue, gemm_tile Tile, slab_copy CopyA,
          slab_copy CopyB>
struct gemm_kernel {
  static constexpr int threads = Tile.threads(), min_blocks = Tile.blocks;
  static constexpr int word = 16 / sizeof(A);  ///< elements of a 16-byte word of shared memory
  static constexpr int lanes_n = Tile.lanes_n(), warps_n = Tile.warps_n();
  static_assert(Tile.m == Tile.warps_m() * Tile.lanes_m * Tile.thread_m && Tile.thread_m % word == 0);
  static_assert(Tile.n == warps_n * lanes_n * Tile.thread_n && Tile.thread_n % word == 0);
  static_assert(Tile.k % 8 == 0 && Tile.stages >= 2 && lanes_n >= 2);

  /// How slabs of an operand lie in shared memory, and what a thread takes of them: `Owned` elements of each k.
  template <int Extent, int Owned, int Lanes, slab_copy Copy>
  struct side {
    static constexpr bool along_k = Copy == slab_copy::words_k;
    static constexpr int depth = along_k ? word : 2;  ///< numbers of k that registers hold
    static constexpr int run = along_k ? 1 : word;    ///< neighbours that a thread owns
    // The word behind each row lets lanes with consecutive k write, or those of consecutive rows read, different banks.
    static constexpr int row = (along_k ? Tile.k : Extent) + word, slab = (along_k ? Extent : Tile.k) * row;
    PMPP_HOST_DEVICE static constexpr int place(int i, int p) { return along_k ? i * row + p : p * row + i; }
    /// Element e of those that a thread owns, from its first.
    PMPP_HOST_DEVICE static constexpr int owned(int e) { return e / run * Lanes * run + e % run; }

    A value[depth][Owned];

    /// Loads the word with element e of a thread at k = p: of `word` elements, or of `word` numbers of k.
    PMPP_HOST_DEVICE void load(const A* from, int e, int p) {
      const auto x = *reinterpret_cast<const item_group<A, word>*>(from + place(owned(e), p));
      for (int i = 0; i < word; ++i) (along_k ? value[i][e] : value[p % 2][e + i]) = x.item[i];
    }
    PMPP_HOST_DEVICE void load_all(const A* from, int p) {
      for (int e = 0; e < Owned; e += run) load(from, e, p);
    }
  };
  using side_a = side<Tile.m, Tile.thread_m, Tile.lanes_m, CopyA>;
  using side_b = side<Tile.n, Tile.thread_n, lanes_n, CopyB>;
  struct shared {
    alignas(16) A a[Tile.stages * side_a::slab];
    alignas(16) A b[Tile.stages * side_b::slab];
  };

  struct arguments {
    gemm_operand<TA> a;
    gemm_operand<TB> b;
    gemm_target<TC> c;
    std::int64_t k;
    std::int64_t tiles_m, tiles_n;
    std::int64_t splits, split_k;  ///< of k; how long one is, a multiple of Tile.k
    A* partials;                   ///< of all splits: for each a rows x round_up(cols, word) matrix
    std::int64_t first_block;      ///< of this launch, among those of all launches of the call
    gemm_result<S, Epilogue> result;
    bool wide;  ///< words of C may be written

    PMPP_HOST_DEVICE std::int64_t partial_row() const { return round_up(c.cols, std::int64_t(word)); }
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    const place at(block, x);
    A sum[Tile.thread_m][Tile.thread_n] = {};
    multiply(block, memory, x, at, sum);
    if (x.splits > 1)
      write_partial(x, at, sum);
    else
      write(x, at, sum);
  }

private:
  /// Which part of the product this block and this thread work out.
  struct place {
    std::int64_t row, col;         ///< of C, where the tile begins
    int others_rows, others_cols;  ///< the first of them, which other blocks write
    std::int64_t k_begin, k_end;   ///< of the split
    std::int64_t split, batch;
    int thread_row, thread_col;  ///< in the tile, the first of the thread

    /// Tiles follow each other down `group` rows of tiles, then to the next column: those that run at the same time
    /// form a rectangle and share what they read.
    template <class Block>
    PMPP_HOST_DEVICE place(Block& block, const arguments& x) {
      constexpr std::int64_t group = 8;
      std::int64_t rest = x.first_block + block.index();
      const std::int64_t tiles = x.tiles_m * x.tiles_n;
      const std::int64_t tile = rest % tiles;
      rest /= tiles;
      split = rest % x.splits;
      batch = rest / x.splits;
      const std::int64_t first = tile / (group * x.tiles_n) * group;
      const std::int64_t rows = smaller(group, x.tiles_m - first);
      const std::int64_t in_group = tile % (group * x.tiles_n);
      const std::int64_t own_row = (first + in_group % rows) * Tile.m, own_col = in_group / rows * Tile.n;
      // The last tiles begin earlier, so that they lie inside C, where 16-byte words allow it: copies need no checks.
      constexpr int a_items = larger(1, int(16 / sizeof(TA))), b_items = larger(1, int(16 / sizeof(TB)));
      const bool moves_up = x.c.rows >= Tile.m && (x.a.copy != slab_copy::words || x.c.rows % a_items == 0);
      const bool moves_left = x.c.cols >= Tile.n && (x.b.copy != slab_copy::words || x.c.cols % b_items == 0) &&
                              (x.c.cols % word == 0 || (!x.wide && x.splits == 1));
      row = moves_up ? smaller(own_row, x.c.rows - Tile.m) : own_row;
      col = moves_left ? smaller(own_col, x.c.cols - Tile.n) : own_col;
      others_rows = static_cast<int>(own_row - row);
      others_cols = static_cast<int>(own_col - col);
      k_begin = split * x.split_k;
      k_end = smaller(x.k, k_begin + x.split_k);
      // Lanes 2i and 2i + 1 share their words of A, lanes 4i and 4i + 2 theirs of B: a warp's 16-byte loads from shared
      // memory are served in halves then, not in quarters.
      const int lane = block.lane();
      const int lane_n = (lane & 1) | ((lane / (2 * pair_m) % larger(1, lanes_n / 2)) << 1);
      const int lane_m = lane / 2 % pair_m + lane / (pair_m * lanes_n) * pair_m;
      thread_row = block.warp() / warps_n * Tile.lanes_m * Tile.thread_m + lane_m * side_a::run;
      thread_col = block.warp() % warps_n * lanes_n * Tile.thread_n + lane_n * side_b::run;
    }
    static constexpr int pair_m = smaller(2, Tile.lanes_m);
  };

  /// Which pieces of a slab a thread copies: words of `Items` elements along k or along m (n), first the one at
  /// (i(t), p(t)), then those `across` and `deep` further. Consecutive threads take `Deep` pieces along k, then the next.
  template <int Extent, bool AlongK, int Items, int Deep, bool UnitStride>
  struct pattern {
    static constexpr int items_i = AlongK ? 1 : Items, items_k = AlongK ? Items : 1, abreast = threads / Deep;
    static constexpr int across = smaller(abreast, Extent / items_i) * items_i;
    static constexpr int deep = abreast * items_i / across * Deep * items_k;
    static constexpr bool unit_i = UnitStride && !AlongK, unit_k = UnitStride && AlongK, idle_threads = deep > Tile.k;
    PMPP_HOST_DEVICE static int p(int t) { return (t % Deep + t / Deep * items_i / across * Deep) * items_k; }
    PMPP_HOST_DEVICE static int i(int t) { return t / Deep * items_i % across; }
  };
  template <int Extent, slab_copy Copy, class T, class F>
  PMPP_HOST_DEVICE static void with_pattern(const gemm_operand<T>& x, F f) {
    using enum slab_copy;
    constexpr int items = larger(1, int(16 / sizeof(T)));
    constexpr int of_i = Extent % items == 0 ? items : 1, of_k = Tile.k % items == 0 ? items : 1;
    const slab_copy copy = Copy == mixed ? x.copy : Copy;
    if (copy == words)
      f(pattern<Extent, false, of_i, 1, true>{});
    else if (copy == along)
      f(pattern<Extent, false, 1, 1, true>{});
    else if (copy == words_k && Copy == words_k)
      f(pattern < Extent, true, of_k, of_k == 1 ? 8 : Tile.k / of_k, true > {});
    else if (copy == words_k || copy == along_k)
      f(pattern<Extent, true, 1, 8, true>{});
    else
      f(pattern<Extent, false, 1, 1, false>{});
  }

  /// Copies one operand slab by slab. What it keeps in registers is little: they are scarce.
  template <class Side, int Extent, slab_copy Copy, class T>
  class feed {
  public:
    template <class Block>
    PMPP_HOST_DEVICE feed(Block& block, const gemm_operand<T>& x, std::int64_t batch, std::int64_t first,
                          std::int64_t k, int slabs, int last_depth)
        : left_(slabs),
          part_(first + Extent > x.extent ? slabs
                : last_depth < Tile.k     ? 1
                                          : 0),
          rows_(static_cast<int>(smaller(std::int64_t(Extent), x.extent - first))),
          last_depth_(last_depth) {
      with_pattern<Extent, Copy>(x, [&](auto way) {
        const int i = way.i(block.thread()), p = way.p(block.thread());
        from_ = x.data + batch * x.batch_stride + (first + i) * x.stride + (k + p) * x.k_stride;
        to_ = Side::place(i, p);
      });
    }

    /// How many slabs, from the first on, lie inside the operand.
    PMPP_HOST_DEVICE int whole_slabs() const { return left_ - part_; }

    /// Starts copying the next slab. Inside: it lies inside the operand; else zeros where it does not, nothing if there
    /// is none.
    template <bool Inside, class Block>
    PMPP_HOST_DEVICE void copy(Block& block, const gemm_operand<T>& x, A* to) {
      to += to_;
      if (Inside || left_ > part_)
        with_pattern<Extent, Copy>(x, [&](auto way) {
          for (int i = 0; i < Extent; i += way.across)
            for (int p = 0; p < Tile.k; p += way.deep)
              if (!way.idle_threads || way.p(block.thread()) < Tile.k)
                copy_piece<way.items_i * way.items_k>(to + Side::place(i, p), from_ + i * (way.unit_i ? 1 : x.stride) +
                                                                                  p * (way.unit_k ? 1 : x.k_stride));
        });
      else if (left_ > 0)
        copy_part(block, x, to);
      --left_;
      from_ += Tile.k * x.k_stride;
    }

  private:
    /// The same at the edges of the matrix, element by element.
    template <class Block>
    PMPP_HOST_DEVICE void copy_part(Block& block, const gemm_operand<T>& x, A* to) const {
      int items_i = 1, items_k = 1, across = 0, deep = 0, p0 = 0, i0 = 0;
      with_pattern<Extent, Copy>(x, [&](auto way) {
        items_i = way.items_i, items_k = way.items_k, across = way.across, deep = way.deep;
        p0 = way.p(block.thread()), i0 = way.i(block.thread());
      });
      const int depth = left_ == 1 ? last_depth_ : Tile.k;
      for (int first_p = 0; p0 + first_p < Tile.k; first_p += deep)
        for (int first_i = 0; i0 + first_i < Extent; first_i += across)
          for (int e = 0; e < items_i * items_k; ++e) {
            const int i = first_i + e % items_i, p = first_p + e / items_i;
            A* const place = to + Side::place(i, p);
            if (p0 + p < depth && i0 + i < rows_)
              copy_piece<1>(place, from_ + i * x.stride + p * x.k_stride);
            else
              *place = A{};
          }
    }

    const T* from_;          // the first piece of this thread in the next slab
    int to_;                 // where it goes
    int left_, part_;        // slabs to copy; how many of them, the last ones, have edges
    int rows_, last_depth_;  // of the operand in this tile, in the last slab
  };

  /// Starts copying what needs no conversion; converts the rest.
  template <int Items, class T>
  PMPP_HOST_DEVICE static void copy_piece(A* to, const T* from) {
    constexpr int bytes = Items * sizeof(T);
    if constexpr (std::is_same_v<T, A> && (bytes == 4 || bytes == 8 || bytes == 16)) {
      simt::copy_async<bytes>(to, from);
    } else {
      const auto x = *reinterpret_cast<const item_group<T, Items>*>(from);
      for (int e = 0; e < Items; ++e) to[e] = static_cast<A>(x.item[e]);
    }
  }

  /// Adds the products of a thread's elements over the k of the split.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x, const place& at,
                                        A (&sum)[Tile.thread_m][Tile.thread_n]) {
    constexpr int ahead = Tile.stages - 1;
    const std::int64_t depth = larger(std::int64_t(0), at.k_end - at.k_begin);
    const int slabs = static_cast<int>(ceil_div(depth, std::int64_t(Tile.k)));
    const int last_depth = static_cast<int>(depth - (slabs - 1) * std::int64_t(Tile.k));
    if (slabs == 0) return;
    feed<side_a, Tile.m, CopyA, TA> feed_a(block, x.a, at.batch, at.row, at.k_begin, slabs, last_depth);
    feed<side_b, Tile.n, CopyB, TB> feed_b(block, x.b, at.batch, at.col, at.k_begin, slabs, last_depth);
    const int inside =
        smaller(feed_a.whole_slabs(), feed_b.whole_slabs()) - ahead;  // copies in the loop without checks
    const auto copy = [&](auto is_inside, int stage) {
      feed_a.template copy<is_inside.value>(block, x.a, memory.a + stage * side_a::slab);
      feed_b.template copy<is_inside.value>(block, x.b, memory.b + stage * side_b::slab);
      simt::copy_async_batch();
    };
    for (int s = 0; s < ahead; ++s) copy(std::false_type{}, s);
    simt::copy_async_wait<ahead - 1>();
    block.sync();
    const A* const first_a = memory.a + side_a::place(at.thread_row, 0);
    const A* const first_b = memory.b + side_b::place(at.thread_col, 0);
    side_a a;
    side_b b;
    a.load_all(first_a, 0);
    b.load_all(first_b, 0);
    int stage = 0, free = ahead;
    const auto multiply_slab = [&](auto is_inside) {
      copy(is_inside, free);
      free = stage;
      const int after = stage + 1 < Tile.stages ? stage + 1 : 0;
      unrolled<Tile.k>([&](int p) {
        const bool last = p + 1 == Tile.k;
        if (last) {
          // The next slab is there; and all have what they need of this one, whose place is the next to be free.
          simt::copy_async_wait<ahead - 1>();
          block.sync();
        }
        // What the next k needs: here, or where this k needs it no longer.
        const int next = last ? 0 : p + 1;
        const A* const next_a = first_a + (last ? after : stage) * side_a::slab;
        const A* const next_b = first_b + (last ? after : stage) * side_b::slab;
        if (!a.along_k) a.load_all(next_a, next);
        if (!b.along_k) b.load_all(next_b, next);
        for (int i = 0; i < Tile.thread_m; ++i) {
          for (int j = 0; j < Tile.thread_n; ++j) {
            const int turn =
                i % 2 == 0 ? j : Tile.thread_n - 1 - j;  // neighbours share an operand: fewer registers read
            sum[i][turn] += a.value[p % a.depth][i] * b.value[p % b.depth][turn];
          }
          if (a.along_k && next % word == 0) a.load(next_a, i, next);
        }
        if (b.along_k && next % word == 0) b.load_all(next_b, next);
      });
      stage = after;
    };
    int s = 0;
    for (; s < inside; ++s) multiply_slab(std::true_type{});
    for (; s < slabs; ++s) multiply_slab(std::false_type{});
  }

  static constexpr int run = side_b::run;  // neighbours in a row of C that a thread writes

  PMPP_HOST_DEVICE static void write_partial(const arguments& x, const place& at,
                                             const A (&sum)[Tile.thread_m][Tile.thread_n]) {
    const std::int64_t length = x.partial_row();
    A* to = x.partials + (at.batch * x.splits + at.split) * x.c.rows * length;
    unrolled<Tile.thread_m>([&](int i) {
      const std::int64_t row = at.row + at.thread_row + side_a::owned(i);
      if (at.thread_row + side_a::owned(i) < at.others_rows || row >= x.c.rows) return;
      for (int j = 0; j < Tile.thread_n; j += run) {
        const std::int64_t col = at.col + at.thread_col + side_b::owned(j);
        item_group<A, run> y;
        for (int e = 0; e < run; ++e) y.item[e] = sum[i][j + e];
        if (at.thread_col + side_b::owned(j) >= at.others_cols && col < length)
          *reinterpret_cast<item_group<A, run>*>(to + row * length + col) = y;
      }
    });
  }

  PMPP_HOST_DEVICE static void write(const arguments& x, const place& at,
                                     const A (&sum)[Tile.thread_m][Tile.thread_n]) {
    TC* c = x.c.data + at.batch * x.c.batch_stride;
    const bool reads = x.result.beta != S{};
    unrolled<Tile.thread_m>([&](int i) {
      const std::int64_t row = at.row + at.thread_row + side_a::owned(i);
      if (at.thread_row + side_a::owned(i) < at.others_rows || row >= x.c.rows) return;
      for (int j = 0; j < Tile.thread_n; j += run) {
        const std::int64_t col = at.col + at.thread_col + side_b::owned(j);
        TC* to = c + row * x.c.row_stride + col * x.c.col_stride;
        const int own = at.thread_col + side_b::owned(j) - at.others_cols;  // negative: columns of another block
        if (x.wide && own >= 0 && col + run <= x.c.cols) {
          using group = item_group<TC, run>;
          group y{};
          if (reads) y = *reinterpret_cast<const group*>(to);
          for (int e = 0; e < run; ++e) y.item[e] = x.result(sum[i][j + e], &y.item[e], row, col + e);
          *reinterpret_cast<group*>(to) = y;
        } else {
          for (int e = 0; e < run; ++e)
            if (own + e >= 0 && col + e < x.c.cols)
              to[e * x.c.col_stride] = x.result(sum[i][j + e], to + e * x.c.col_stride, row, col + e);
        }
      }
    });
  }
};

/// Adds up the partial sums of the splits, in order. Many splits of an element are shared by `slices` threads, whose sums
/// are added up in order.
template <class TC, class A, class S, class Epilogue>
struct gemm_combine_kernel {
  static constexpr int threads = 256, min_blocks = 4;

  struct shared {
    A part[threads];
  };

  struct arguments {
    gemm_target<TC> c;
    const A* partials;
    std::int64_t row_length, splits, batch;
    gemm_result<S, Epilogue> result;
    int slices;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    if (x.c.rows * x.row_length * x.batch < (std::int64_t(1) << 31))
      add_up<std::uint32_t>(block, memory, x);  // dividing 64-bit numbers takes longer than all the rest
    else
      add_up<std::int64_t>(block, memory, x);
  }

private:
  template <class Index, class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, shared& memory, const arguments& x) {
    const int together = threads / x.slices, slice = block.thread() / together;
    const std::int64_t matrix = x.c.rows * x.row_length, share = ceil_div(x.splits, std::int64_t(x.slices));
    const std::int64_t end = smaller(x.splits, (slice + 1) * share);
    for (std::int64_t first = block.index() * together; first < matrix * x.batch; first += block.count() * together) {
      const std::int64_t n = first + block.thread() % together;
      const Index in_batch = static_cast<Index>(n) % static_cast<Index>(matrix);
      const std::int64_t batch = static_cast<Index>(n) / static_cast<Index>(matrix);
      const std::int64_t row = in_batch / static_cast<Index>(x.row_length);
      const std::int64_t col = in_batch % static_cast<Index>(x.row_length);
      const bool there = n < matrix * x.batch && col < x.c.cols;
      A sum{};
      if (there) {
        const A* from = x.partials + batch * x.splits * matrix + in_batch;
        std::int64_t s = slice * share;
        for (; s + 8 <= end; s += 8) {
          A next[8];
          for (int e = 0; e < 8; ++e) next[e] = from[(s + e) * matrix];
          for (int e = 0; e < 8; ++e) sum += next[e];
        }
        for (; s < end; ++s) sum += from[s * matrix];
      }
      if (x.slices > 1) {
        memory.part[block.thread()] = sum;
        block.sync();
        for (int i = block.thread() + together; slice == 0 && i < threads; i += together) sum += memory.part[i];
        block.sync();
      }
      TC* to = x.c.data + batch * x.c.batch_stride + row * x.c.row_stride + col * x.c.col_stride;
      if (there && slice == 0) *to = x.result(sum, to, row, col);
    }
  }
};

/// Enqueues the second launch.
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void combine_splits(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const A* partials,
                    std::int64_t row_length, std::int64_t splits) {
  using kernel = gemm_combine_kernel<TC, A, S, Epilogue>;
  const int slices = splits < 16 ? 1 : 8;
  const std::int64_t elements = x.batch * x.c.rows * row_length, most = std::int64_t(processor_count(where)) * 16;
  launch(where, smaller(ceil_div(elements, std::int64_t(kernel::threads / slices)), most), kernel{},
         typename kernel::arguments{x.c, partials, row_length, splits, x.batch, x.result, slices});
}

/// How a product is cut up, and how many clocks that takes, about.
struct gemm_plan {
  std::int64_t tiles_m, tiles_n, splits, split_k;
  double clocks;
};

/// What a tile costs.
struct gemm_cost {
  std::int64_t m, n, k;  ///< of a tile and a slab
  int blocks, warps;     ///< of a multiprocessor; of a block
  double clocks_of_k;    ///< that a block's products of one k take
  double item_bytes, sum_bytes;
};

template <gemm_tile Tile, class A>
constexpr gemm_cost gemm_cost_of() {
  constexpr double products = Tile.thread_m * Tile.thread_n, word = 16.0 / sizeof(A);
  // Of a k of a block: products, and instructions besides. Loads from shared memory are what small tiles wait for.
  constexpr double fma = products * Tile.threads() / (sizeof(A) > 4 ? 64 : 128);
  constexpr double besides = 1 + (3 * (Tile.thread_m + Tile.thread_n) / word + 12) / products;
  return {Tile.m,    Tile.n,   Tile.k, Tile.blocks, Tile.threads() / simt::warp_size, 0.7 * fma * besides * besides,
          sizeof(A), sizeof(A)};
}

/// The best number of splits for a tile. A rough model of an H100: what counts is how many blocks a multiprocessor gets,
/// how many warps it has to choose from, how well a tile fits m and n, and whether memory keeps up.
inline gemm_plan plan_gemm(const gemm_cost& tile, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                           int processors) {
  constexpr double start = 5000, second_launch = 6000, split = 100;
  constexpr double l2_bytes = 2800, partial_bytes = 1000, memory_bytes = 1600;  // a clock
  const std::int64_t tiles_m = ceil_div(m, tile.m), tiles_n = ceil_div(n, tile.n);
  const double tiles = double(tiles_m) * double(tiles_n) * double(batch);
  const double c_bytes = double(m) * double(n) * double(batch) * tile.sum_bytes;
  const double read = double(k) * double(batch) * tile.item_bytes;
  const double from_l2 = read * (double(m) * double(tiles_n) + double(n) * double(tiles_m)) / l2_bytes;
  const double from_memory = (read * (double(m) + double(n)) + c_bytes) / memory_bytes;
  gemm_plan best{tiles_m, tiles_n, 0, 0, 0};
  for (int blocks = 0; blocks <= 3 * tile.blocks; ++blocks) {  // of a multiprocessor, wanted; 0: one split
    const auto wanted = blocks == 0 ? 1 : static_cast<std::int64_t>(smaller(blocks * processors / tiles, 4096.0));
    if (wanted < 1 || (blocks > 0 && wanted == 1)) continue;
    const std::int64_t split_k = round_up(ceil_div(larger(k, std::int64_t(1)), wanted), tile.k);
    const std::int64_t splits = larger(std::int64_t(1), ceil_div(k, split_k));
    const auto share = ceil_div(static_cast<std::int64_t>(tiles) * splits, std::int64_t(processors));
    const std::int64_t together = smaller(share, std::int64_t(tile.blocks));
    const double warps = double(together * tile.warps) / 4;  // of a scheduler: more hide more of what they wait for
    double clocks = double(share) * double(split_k) * tile.clocks_of_k * (warps + 0.5) / warps;
    clocks = larger(clocks, larger(from_l2, from_memory)) + start * double(share);
    if (splits > 1) clocks += second_launch + split * double(splits) + c_bytes * double(splits + 1) / partial_bytes;
    if (best.splits == 0 || clocks < best.clocks) best = {tiles_m, tiles_n, splits, split_k, clocks};
  }
  return best;
}

/// Enqueues a product on a GPU or runs it in the emulator, cut up as planned.
template <gemm_tile Tile, class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_by_tiles(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const gemm_plan& plan) {
  constexpr std::int64_t word = 16 / sizeof(A);
  const bool splits = plan.splits > 1;
  const std::int64_t row_length = round_up(x.c.cols, word);
  const std::int64_t partials = splits ? x.batch * plan.splits * x.c.rows * row_length : 0;
  scratch memory(where, checked_bytes(partials, sizeof(A), "gemm"), 0);
  const bool wide = x.c.col_stride == 1 && x.c.row_stride % word == 0 && x.c.batch_stride % word == 0 &&
                    reinterpret_cast<std::uintptr_t>(x.c.data) % (word * sizeof(TC)) == 0;
  auto* sums = static_cast<A*>(memory.data());
  const auto run = [&]<slab_copy CopyA, slab_copy CopyB>() {
    using kernel = gemm_kernel<TA, TB, TC, A, S, Epilogue, Tile, CopyA, CopyB>;
    const std::int64_t blocks = plan.tiles_m * plan.tiles_n * plan.splits * x.batch, most = std::int64_t(1) << 30;
    for (std::int64_t first = 0; first < blocks; first += most)
      launch(where, smaller(most, blocks - first), kernel{},
             typename kernel::arguments{x.a, x.b, x.c, x.k, plan.tiles_m, plan.tiles_n, plan.splits, plan.split_k, sums,
                                        first, x.result, wide});
  };
  using enum slab_copy;
  // Large tiles are worth kernels of their own for the usual layouts: 4096^3 floats take 10 % longer with one for all.
  // So are few rows times words along k, which have to come as words. Large tiles take these one by one: registers that
  // hold several k of them are in each other's way.
  if constexpr (Tile.thread_m * Tile.thread_n * sizeof(A) >= 512) {
    const bool a_along_k = x.a.copy == along_k || x.a.copy == words_k,
               b_along_k = x.b.copy == along_k || x.b.copy == words_k;
    if (x.a.copy == any || x.b.copy == any)
      run.template operator()<mixed, mixed>();
    else if (a_along_k && b_along_k)
      run.template operator()<along_k, along_k>();
    else if (x.a.copy == along || x.b.copy == along)
      a_along_k   ? run.template operator()<along_k, along>()
      : b_along_k ? run.template operator()<along, along_k>()
                  : run.template operator()<along, along>();
    else
      a_along_k   ? run.template operator()<along_k, words>()
      : b_along_k ? run.template operator()<words, along_k>()
                  : run.template operator()<words, words>();
  } else if (Tile.n >= 8 * Tile.m && x.b.copy == words_k) {
    if constexpr (Tile.n >= 8 * Tile.m) run.template operator()<mixed, words_k>();
  } else {
    run.template operator()<mixed, mixed>();
  }
  if (splits) combine_splits(where, x, sums, row_length, plan.splits);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
