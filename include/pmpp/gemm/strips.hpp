// SPDX-License-Identifier: Apache-2.0
//
// Products whose C has a few rows, or a few columns (then transposed): B is read once, and memory is the limit.
//
//   1. A block takes a strip of 128 columns of B, and all of k or one of several splits of it. It goes through k k-tile by
//      k-tile; two are on their way to shared memory while one is multiplied. B is copied in 16-byte words along k or along
//      n, whichever lies in one piece, and lies in shared memory the same way; A, of which there is little, element by
//      element.
//   2. The warps share the k of a k-tile. A lane owns four columns, all rows of them: 16 or 32 x 4 sums for each word of B
//      and each word of A, which all lanes of a warp read at once. (Where B lies along k, a lane reads four k of four
//      columns: as many words for as many products.)
//   3. At the end the sums of the warps are added up, in order. Where k is split a second launch adds up the parts.
//
// One barrier a k-tile; one launch, or two. (H100, 16 x 4096 x 4096 floats: 33 to 36 us, in any layout; 16-byte words of
// B alone, without most of the products, take 30 to 32.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/schedule.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a block cuts up its strip.
struct gemm_strip {
  int rows = 0;    ///< of C, at most: a power of two from 4 to 32
  int k = 0;       ///< of a k-tile; a multiple of 32, at least 256 / rows
  int stages = 0;  ///< k-tiles in shared memory

  /// Of a block, at most, for elements of `size` bytes: the k-tiles, or the sums of its eight warps.
  constexpr std::size_t shared_bytes(std::size_t size) const {
    const int word = static_cast<int>(16 / size), cols = word * simt::warp_size;
    const int k_tiles = stages * (k * (rows + word) + cols * (k + word)), sums = 8 * rows * (cols + word);
    return std::size_t(max(k_tiles, sums)) * size;
  }
  friend constexpr bool operator==(const gemm_strip&, const gemm_strip&) = default;
};

namespace detail {

/// AlongK: columns of B lie in one piece; otherwise rows do.
template <class TC, class A, class S, class Epilogue, gemm_strip Strip, bool AlongK>
struct gemm_strip_kernel {
  static constexpr int threads = 256, min_blocks = 1, warps = threads / simt::warp_size;
  static constexpr int word = 16 / sizeof(A);  ///< elements of a 16-byte word
  static constexpr int rows = Strip.rows, cols = word * simt::warp_size, depth = Strip.k, share = depth / warps;
  static_assert(rows % word == 0 && share % word == 0 && threads / rows <= depth && Strip.stages >= 2);

  // The word after each row lets lanes that go down it use different banks.
  static constexpr int row_a = rows + word;                   ///< of one k
  static constexpr int row_b = AlongK ? depth + word : cols;  ///< of a column, or of one k
  static constexpr int k_tile_a = depth * row_a, k_tile = k_tile_a + (AlongK ? cols : depth) * row_b;
  static constexpr int row_sum = cols + word, sums = rows * row_sum;  ///< of a warp
  static constexpr int all_k_tiles = Strip.stages * k_tile, all_sums = warps * sums;

  struct shared {
    alignas(16) A k_tiles[max(all_k_tiles, all_sums)];  ///< each: A's part, then B's; at the end the sums of the warps
  };
  static_assert(sizeof(shared) <= Strip.shared_bytes(sizeof(A)));

  struct arguments {
    gemm_operand<A> a, b;
    gemm_target<TC> c;
    std::int64_t k, split_k;  ///< split_k: how long a split is, a multiple of Strip.k
    int strips, splits;
    A* partials;  ///< of all splits: as C, each without gaps, by columns if `down`
    bool down;    ///< a column of C lies in one piece: neighbours in it are written together
    gemm_result<S, Epilogue> result;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    const auto unit = static_cast<unsigned>(block.index()), strips = static_cast<unsigned>(x.strips);
    const std::int64_t split = unit / strips, first_col = std::int64_t(unit % strips) * cols;
    A sum[rows][word] = {};
    multiply(block, memory, x, split * x.split_k, first_col, sum);
    block.sync();  // the k-tiles have been read
    for (int i = 0; i < rows; ++i)
      for (int e = 0; e < word; ++e) {
        const int col = AlongK ? block.lane() + e * simt::warp_size : block.lane() * word + e;
        memory.k_tiles[block.warp() * sums + i * row_sum + col] = sum[i][e];
      }
    block.sync();
    A* const partial = x.partials + split * x.c.rows * x.c.cols;
    for (int n = block.thread(); n < rows * cols; n += threads) {
      const int i = x.down ? n % rows : n / cols, j = x.down ? n / rows : n % cols;
      const std::int64_t col = first_col + j;
      if (i >= x.c.rows || col >= x.c.cols) continue;
      A total = memory.k_tiles[i * row_sum + j];
      for (int w = 1; w < warps; ++w) total += memory.k_tiles[w * sums + i * row_sum + j];
      TC* to = x.c.data + i * x.c.row_stride + col * x.c.col_stride;
      if (x.splits > 1)
        partial[x.down ? col * x.c.rows + i : i * x.c.cols + col] = total;
      else
        *to = x.result(total, to, i, col);
    }
  }

private:
  using shared_word = packed<A, word>;

  /// Copies k-tile after k-tile: zeros beyond the edges.
  class tile_iterator {
  public:
    template <class Block>
    PMPP_HOST_DEVICE tile_iterator(Block& block, const arguments& x, std::int64_t k_begin, std::int64_t first_col)
        : left_(min(x.k, k_begin + x.split_k) - k_begin),
          cols_(static_cast<int>(min(std::int64_t(cols), x.c.cols - first_col))) {
      const int t = block.thread();
      const bool along_k = x.a.k_stride == 1;  // eight k and four rows a warp: each in banks of their own
      i_ = along_k ? t / 8 % rows : t % rows;
      p_ = along_k ? t % 8 + t / (8 * rows) * 8 : t / rows;
      word_ = t % words * word;
      line_ = t / words;
      from_a_ = x.a.data + i_ * x.a.stride + (k_begin + p_) * x.a.k_stride;
      from_b_ = x.b.data + first_col * x.b.stride + k_begin * x.b.k_stride + word_ + line_ * length(x);
    }

    PMPP_HOST_DEVICE int k_tiles() const { return static_cast<int>(ceil_div(left_, std::int64_t(depth))); }

    /// Starts copying the next k-tile, if there is one, to `to`.
    PMPP_HOST_DEVICE void copy(const arguments& x, A* to) {
      const int there = static_cast<int>(min(left_, std::int64_t(depth)));
      if (there > 0) {
        for (int p = 0; p < depth; p += threads / rows)
          simt::copy_async<sizeof(A)>(to + (p_ + p) * row_a + i_, from_a_ + p * x.a.k_stride,
                                      p_ + p < there && i_ < x.c.rows ? int(sizeof(A)) : 0);
        const int items = min(max((AlongK ? there : cols_) - word_, 0), word);
        for (int q = 0; q < (AlongK ? cols : depth); q += abreast)
          simt::copy_async<16>(to + k_tile_a + (line_ + q) * row_b + word_, from_b_ + q * length(x),
                               line_ + q < (AlongK ? cols_ : there) ? items * int(sizeof(A)) : 0);
      }
      from_a_ += depth * x.a.k_stride;
      from_b_ += depth * x.b.k_stride;
      left_ -= depth;
    }

  private:
    /// Words of a line of B's part of a k-tile, a column or a k; lines that the threads copy at once.
    static constexpr int words = (AlongK ? depth : cols) / word, abreast = threads / words;
    PMPP_HOST_DEVICE static std::int64_t length(const arguments& x) { return AlongK ? x.b.stride : x.b.k_stride; }

    const A *from_a_, *from_b_;  // what this thread copies first of the next k-tile
    std::int64_t left_;          // k to copy
    int cols_;                   // of B in this strip
    int i_, p_, word_, line_;    // the first element of A, the first word of B of this thread
  };

  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x, std::int64_t k_begin,
                                        std::int64_t first_col, A (&sum)[rows][word]) {
    constexpr int ahead = Strip.stages - 1;
    tile_iterator next(block, x, k_begin, first_col);
    const int k_tiles = next.k_tiles(), own_k = block.warp() * share;
    block::async_pipeline<Strip.stages> ring;
    ring.template begin<ahead>([&](int stage) { next.copy(x, memory.k_tiles + stage * k_tile); });
    for (int s = 0; s < k_tiles; ++s) {
      ring.template wait<ahead - 1>(block);
      next.copy(x, memory.k_tiles + ring.acquire() * k_tile);
      ring.commit();
      const A* a = memory.k_tiles + ring.front() * k_tile + own_k * row_a;
      const A* b = memory.k_tiles + ring.front() * k_tile + k_tile_a +
                   (AlongK ? block.lane() * row_b + own_k : own_k * row_b + block.lane() * word);
      unrolled<share / word>([&](int g) {
        shared_word y[word];  // of B: `word` k of as many columns
        for (int q = 0; q < word; ++q)
          y[q] = *reinterpret_cast<const shared_word*>(
              b + (AlongK ? q * simt::warp_size * row_b + g * word : (g * word + q) * row_b));
        unrolled<word>([&](int p) {
          for (int i = 0; i < rows; i += word) {
            const auto z = *reinterpret_cast<const shared_word*>(a + (g * word + p) * row_a + i);
            for (int r = 0; r < word; ++r)
              for (int e = 0; e < word; ++e) sum[i + r][e] += z.item[r] * (AlongK ? y[e].item[p] : y[p].item[e]);
          }
        });
      });
      ring.release();
    }
    ring.drain();
  }
};

/// Whether B can be copied in words.
template <class TA, class TB, class TC, class S, class Epilogue>
bool fits_strips(const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  constexpr std::int64_t word = 16 / sizeof(TB), least_cols = word * simt::warp_size;  // a whole strip
  const bool along_k =
      x.b.k_stride == 1 && x.b.stride % word == 0 && reinterpret_cast<std::uintptr_t>(x.b.data) % 16 == 0;
  return x.batch == 1 && x.c.cols >= least_cols && (x.b.copy == k_tile_copy::words || along_k);
}

/// Enqueues a product of at most Strip.rows rows, or runs it in the emulator.
template <gemm_strip Strip, class A, class P, class TC, class S, class Epilogue>
void gemm_by_strips(const P& where, const machine& on, const gemm_problem<A, A, TC, S, Epilogue>& x) {
  constexpr std::int64_t one = 1, cols = 16 / sizeof(A) * simt::warp_size, k = Strip.k;
  constexpr std::int64_t start = 2, second_launch = 6;  // take as long as this many k-tiles (H100)
  const std::int64_t strips = ceil_div(x.c.cols, cols), k_tiles = max(one, ceil_div(x.k, k));
  const std::int64_t processors = on.multiprocessors;
  std::int64_t split_k = k_tiles * k, least = ceil_div(strips, processors) * (k_tiles + start);
  for (int waves = 1; waves <= 4; ++waves) {  // of blocks, one a multiprocessor
    const std::int64_t splits = waves * processors / strips;
    if (splits < 2) continue;
    const std::int64_t share = ceil_div(k_tiles, splits), time = waves * (share + start) + second_launch;
    if (time >= least) continue;
    least = time;
    split_k = share * k;
  }
  const std::int64_t splits = ceil_div(k_tiles * k, split_k);
  const bool down = x.c.row_stride == 1;
  scratch memory(where, splits > 1 ? checked_bytes(splits * x.c.rows * x.c.cols, sizeof(A), "gemm") : 0, 0);
  auto* partials = static_cast<A*>(memory.data());
  const auto run = [&]<bool AlongK>() {
    using kernel = gemm_strip_kernel<TC, A, S, Epilogue, Strip, AlongK>;
    pmpp::launch(where, strips * splits, kernel{},
                 typename kernel::arguments{x.a, x.b, x.c, x.k, split_k, static_cast<int>(strips),
                                            static_cast<int>(splits), partials, down, x.result});
  };
  x.b.copy == k_tile_copy::words ? run.template operator()<false>() : run.template operator()<true>();
  if (splits > 1 && down) detail::combine_splits(where, x.exchanged(), partials, x.c.rows, splits);
  if (splits > 1 && !down) detail::combine_splits(where, x, partials, x.c.cols, splits);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
