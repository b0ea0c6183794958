// SPDX-License-Identifier: Apache-2.0
//
// The matrix product on tensor cores, by products of small matrices that a warp holds in registers (simt/mma.hpp).
//
//   1. A block owns a tile of C, and all of k or one of several splits of it, as in gemm/simt.hpp. It goes through k slab
//      by slab; several slabs of A and B are on their way to shared memory at a time. A slab is 128 bytes deep in k.
//   2. A slab lies in shared memory in words of 16 bytes, which run along k or along m (n) as they do in global memory.
//      Words are exchanged within groups of eight so that those which a warp reads at once lie in different banks.
//   3. A lane reads whole words. A word along k holds its elements of one row; in which order the numbers of k enter a
//      sum does not matter, as long as A and B agree. A word along m holds elements of neighbouring rows; these belong to
//      rows 8 apart of the small matrices, so that C comes out with its rows in another order.
//   4. Splits write partial sums, which a second launch adds up in order: the same bits on every run.
//
// Edges are filled with zeros on the way to shared memory: the loop over k has no cases.
// (PMPP ch. 5 and 6; the parts of a lane are those of the PTX ISA.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/mma.hpp>

#if PMPP_CUDA
struct __half;  // of headers that only those include who use it
struct __nv_bfloat16;
#endif

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a block cuts up its share of a product on tensor cores.
struct mma_tile {
  int m = 0, n = 0;            ///< elements of C that a block works out
  int warp_m = 0, warp_n = 0;  ///< that a warp works out; multiples of 32
  int stages = 0;              ///< slabs in shared memory
  int blocks = 0;              ///< of a multiprocessor

  constexpr int threads() const { return m / warp_m * (n / warp_n) * simt::warp_size; }
  friend constexpr bool operator==(const mma_tile&, const mma_tile&) = default;
};

namespace detail {

#if PMPP_CUDA
using half_type = ::__half;
using bfloat16_type = ::__nv_bfloat16;
#elif defined(__FLT16_MAX__)
using half_type = _Float16;
struct bfloat16_type;
#else
struct half_type;
struct bfloat16_type;
#endif

/// T: the elements of A and B. AlongK: an operand's slab consists of words along k. Words: both are read 16 bytes at a
/// time, else element by element.
template <simt::mma_type Type, class T, class TC, class S, class Epilogue, mma_tile Tile, bool AlongKA, bool AlongKB,
          bool Words>
struct mma_kernel {
  static constexpr int threads = Tile.threads(), min_blocks = Tile.blocks;
  using mma = simt::mma<Type>;
  using word = typename mma::word;
  using sum_type = typename mma::sum;
  static constexpr int items = 16 / sizeof(T);  ///< of 16 bytes
  static constexpr int row_words = 8;           ///< of a row of a slab along k
  static constexpr int slab_k = row_words * items;
  /// Rows of a word along m, which are rows 8 apart of small matrices. Two-byte elements are transposed on the way to
  /// registers instead.
  static constexpr int abreast = sizeof(T) >= 4 ? items : 1;
  static constexpr int blocks_m = Tile.warp_m / 8, blocks_n = Tile.warp_n / 8;  ///< of 8 rows (columns) of a warp
  static constexpr int group = larger(2, abreast);                               ///< blocks of A that are loaded together
  static constexpr int units = Type == simt::mma_type::float64 ? 1 : 2;          ///< of a slab: what a lane loads at once
  static constexpr int loaded = 4;                                               ///< words of a block of a unit
  static constexpr int steps = loaded / mma::words;
  static_assert(blocks_m % group == 0 && blocks_n % group == 0);
  static_assert(sizeof(T) > 1 || (AlongKA && AlongKB));

  struct shared {
    alignas(128) std::byte a[Tile.stages][Tile.m * 128];
    alignas(128) std::byte b[Tile.stages][Tile.n * 128];
  };

  struct arguments {
    gemm_operand<T> a, b;
    gemm_target<TC> c;
    std::int64_t k;
    std::int64_t tiles_m, tiles_n;
    std::int64_t splits, split_k;  ///< of k; how long one is, a multiple of slab_k
    sum_type* partials;            ///< of all splits: for each a rows x partial_row matrix
    std::int64_t partial_row;
    std::int64_t first_block;  ///< of this launch, among those of all launches of the call
    gemm_result<S, Epilogue> result;
    bool wide;  ///< words of C may be written
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& x) const {
    const place at(block, x);
    sum_type sum[blocks_m / 2][blocks_n][4] = {};
    multiply(block, memory, x, at, sum);
    write(x, at, sum);
  }

private:
  /// Which part of the product this block and this thread work out.
  struct place {
    std::int64_t row, col;        ///< of C, where the tile begins
    std::int64_t k_begin, k_end;  ///< of the split
    std::int64_t split, batch;
    int warp_row, warp_col;  ///< in the tile
    int g, t;                ///< the lane, as simt/mma.hpp counts

    /// Tiles follow each other as in gemm/simt.hpp.
    template <class Block>
    PMPP_HOST_DEVICE place(Block& block, const arguments& x) {
      constexpr std::int64_t rows_of_tiles = 8;
      std::int64_t rest = x.first_block + block.index();
      const std::int64_t tiles = x.tiles_m * x.tiles_n;
      const std::int64_t tile = rest % tiles;
      rest /= tiles;
      split = rest % x.splits;
      batch = rest / x.splits;
      const std::int64_t first = tile / (rows_of_tiles * x.tiles_n) * rows_of_tiles;
      const std::int64_t rows = smaller(rows_of_tiles, x.tiles_m - first);
      const std::int64_t in_group = tile % (rows_of_tiles * x.tiles_n);
      row = (first + in_group % rows) * Tile.m;
      col = in_group / rows * Tile.n;
      k_begin = split * x.split_k;
      k_end = smaller(x.k, k_begin + x.split_k);
      constexpr int warps_n = Tile.n / Tile.warp_n;
      warp_row = block.warp() / warps_n * Tile.warp_m;
      warp_col = block.warp() % warps_n * Tile.warp_n;
      g = block.lane() / 4;
      t = block.lane() % 4;
    }
  };

  /// Row of a tile that row g of block b of 8 rows stands for.
  PMPP_HOST_DEVICE static constexpr int row_of(int b, int g) {
    return b / abreast * (8 * abreast) + g * abreast + b % abreast;
  }

  /// Where word w of row (or of k) r lies in a slab, in words.
  template <bool AlongK, int Extent>
  PMPP_HOST_DEVICE static int place_of(int r, int w) {
    if constexpr (AlongK) {
      return r * row_words + (w ^ (4 * (r / abreast % 2)));
    } else {
      constexpr int words = Extent / items;
      const int turn = sizeof(T) >= 4 ? 2 * (r / items % 4) : 2 * (r / items % 4) + r % 2;
      return r * words + (w ^ (turn & (words - 1)));
    }
  }

  /// Copies one operand slab by slab.
  template <int Extent, bool AlongK>
  class feed {
    static constexpr int piece = Words ? items : 1;  ///< elements of a copy
    static constexpr int length = (AlongK ? slab_k : Extent) / piece;  ///< pieces of a row in shared memory
    static constexpr int lines = AlongK ? Extent : slab_k;
    static constexpr int across = smaller(length, threads), deep = larger(1, threads / length);
    static_assert(length % across == 0 && threads % across == 0);

  public:
    template <class Block>
    PMPP_HOST_DEVICE feed(Block& block, const gemm_operand<T>& x, std::int64_t batch, std::int64_t first,
                          std::int64_t k_begin, std::int64_t k_end)
        : rows_(static_cast<int>(smaller(std::int64_t(Extent), x.extent - first))),
          left_(k_end - k_begin),
          line_(block.thread() / across),
          in_line_(block.thread() % across) {
      const int i = AlongK ? line_ : in_line_ * piece, p = AlongK ? in_line_ * piece : line_;
      from_ = x.data + batch * x.batch_stride + (first + i) * x.stride + (k_begin + p) * x.k_stride;
    }

    /// Starts copying the next slab; zeros where it does not lie in the operand.
    PMPP_HOST_DEVICE void copy(const gemm_operand<T>& x, std::byte* to) {
      const int depth = static_cast<int>(smaller(left_, std::int64_t(slab_k)));  // 0 or less: nothing is left
      const int line_end = AlongK ? rows_ : depth, in_line_end = AlongK ? depth : rows_;
      const std::int64_t line_step = (AlongK ? x.stride : x.k_stride) * deep;
      const std::int64_t item_step = (Words ? 1 : AlongK ? x.k_stride : x.stride) * across * piece;
      const T* from = from_;
      unrolled<length / across>([&](int j) {
        const int item = (in_line_ + j * across) * piece;
        const int there = smaller(piece, in_line_end - item);  // elements
        const T* piece_from = from;
        unrolled<(lines + deep - 1) / deep>([&](int l) {
          const int line = line_ + l * deep;
          if (lines % deep != 0 && line >= lines) return;
          const bool any = line < line_end && there > 0;
          copy_piece(to + place_of<AlongK, Extent>(line, item / items) * 16 + item % items * int(sizeof(T)), piece_from,
                     any ? there : 0);
          piece_from += line_step;
        });
        from += item_step;
      });
      left_ -= slab_k;
      from_ += slab_k * x.k_stride;
    }

  private:
    PMPP_HOST_DEVICE static void copy_piece(std::byte* to, const T* from, int there) {
      constexpr int bytes = piece * sizeof(T);
      if constexpr (bytes >= 4)
        simt::copy_async<bytes>(to, from, there * int(sizeof(T)));
      else
        *reinterpret_cast<T*>(to) = there > 0 ? *from : T{};
    }

    const T* from_;  // this thread's first piece of the next slab
    int rows_;       // of the operand from the tile's first on
    std::int64_t left_;  // of k
    int line_, in_line_;
  };

  /// Where this lane finds its words of an operand in a slab: bytes from the slab's first. What place_of says, with all
  /// that depends on the lane worked out once: the rest of an address is a constant.
  template <bool AlongK, int Extent>
  struct lane_place {
    int first, second;  ///< of the first and the second unit, where they are no constant apart

    template <class Block>
    PMPP_HOST_DEVICE lane_place(Block& block, int row) {
      const int lane = block.lane(), g = lane / 4, t = lane % 4;
      if constexpr (AlongK) {
        first = place_of<AlongK, Extent>(row + row_of(0, g), t) * 16;
        second = first ^ 64;
      } else if constexpr (sizeof(T) >= 4) {
        first = place_of<AlongK, Extent>(t * items, row / items + g) * 16;
        second = first + 4 * items * row_bytes;
      } else {
        first = place_of<AlongK, Extent>(lane % 8 / 2 * items + lane / 8 * 2 + lane % 2, row / items) * 16;
        second = first + 4 * items * row_bytes;
      }
    }
    static constexpr int row_bytes = Extent * int(sizeof(T));
  };

  /// Loads `Count` blocks of 8 rows of a unit, from block `first` of the warp on.
  template <bool AlongK, int Extent, int Count, class Block>
  PMPP_HOST_DEVICE static void load(Block& block, const std::byte* slab, const lane_place<AlongK, Extent>& at, int first,
                                    int unit, word (&to)[Count][loaded]) {
    constexpr int each = 16 / sizeof(word), row_bytes = Extent * sizeof(T);
    using shared_word = item_group<word, each>;
    const std::byte* const bases[2] = {slab + at.first, slab + at.second};
    if constexpr (AlongK) {
      unrolled<Count>([&](int b) {
        unrolled<loaded / each>([&](int h) {
          const auto x = *reinterpret_cast<const shared_word*>(bases[unit + h] + row_of(first + b, 0) * 128);
          for (int e = 0; e < each; ++e) to[b][h * each + e] = x.item[e];
        });
      });
    } else if constexpr (sizeof(T) >= 4) {
      unrolled<Count / abreast>([&](int b) {
        unrolled<loaded>([&](int r) {
          const auto x = *reinterpret_cast<const shared_word*>(bases[0] + (4 * (unit + r / each) * items + r % each) * row_bytes + (first + b * abreast) * 8 * int(sizeof(T)));
          for (int e = 0; e < each; ++e) to[b * abreast + e][r] = x.item[e];
        });
      });
    } else {
      unrolled<Count>([&](int b) {
        simt::load_transposed(block, to[b], slab + ((unit == 0 ? at.first : at.second) ^ ((first + b) * 16)));
      });
    }
    if constexpr (Type == simt::mma_type::tf32)
      unrolled<Count>([&](int b) {
        for (int r = 0; r < loaded; ++r) to[b][r] = simt::round_to_tf32(to[b][r]);
      });
  }

  template <class Block>
  PMPP_HOST_DEVICE static void multiply_slab(Block& block, const std::byte* slab_a, const std::byte* slab_b,
                                             const lane_place<AlongKA, Tile.m>& at_a,
                                             const lane_place<AlongKB, Tile.n>& at_b,
                                             sum_type (&sum)[blocks_m / 2][blocks_n][4]) {
    unrolled<units>([&](int unit) {
      word b[blocks_n][loaded];
      load(block, slab_b, at_b, 0, unit, b);
      unrolled<blocks_m / group>([&](int i) {
        word a[group][loaded];
        load(block, slab_a, at_a, i * group, unit, a);
        unrolled<steps>([&](int s) {
          unrolled<group / 2>([&](int h) {
            unrolled<blocks_n>([&](int j) {
              word upper[mma::words], lower[mma::words], factor[mma::words];
              for (int w = 0; w < mma::words; ++w) {
                upper[w] = a[2 * h][s * mma::words + w];
                lower[w] = a[2 * h + 1][s * mma::words + w];
                factor[w] = b[j][s * mma::words + w];
              }
              simt::multiply_add<Type>(block, sum[i * group / 2 + h][j], upper, lower, factor);
            });
          });
        });
      });
    });
  }

  /// Adds the products of a thread's elements over the k of the split.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, shared& memory, const arguments& x, const place& at,
                                        sum_type (&sum)[blocks_m / 2][blocks_n][4]) {
    constexpr int ahead = Tile.stages - 1;
    const std::int64_t depth = larger(std::int64_t(0), at.k_end - at.k_begin);
    const int slabs = static_cast<int>(ceil_div(depth, std::int64_t(slab_k)));
    feed<Tile.m, AlongKA> a(block, x.a, at.batch, at.row, at.k_begin, at.k_end);
    feed<Tile.n, AlongKB> b(block, x.b, at.batch, at.col, at.k_begin, at.k_end);
    const lane_place<AlongKA, Tile.m> at_a(block, at.warp_row);
    const lane_place<AlongKB, Tile.n> at_b(block, at.warp_col);
    for (int s = 0; s < ahead; ++s) {
      a.copy(x.a, memory.a[s]);
      b.copy(x.b, memory.b[s]);
      simt::copy_async_batch();
    }
    int now = 0, free = ahead;
    for (int s = 0; s < slabs; ++s) {
      // This slab is there; and all have done with the slab before it, whose place is free.
      simt::copy_async_wait<ahead - 1>();
      block.sync();
      a.copy(x.a, memory.a[free]);
      b.copy(x.b, memory.b[free]);
      simt::copy_async_batch();
      multiply_slab(block, memory.a[now], memory.b[now], at_a, at_b, sum);
      now = now + 1 < Tile.stages ? now + 1 : 0;
      free = free + 1 < Tile.stages ? free + 1 : 0;
    }
  }

  /// Writes C, or the partial sums of a split.
  PMPP_HOST_DEVICE static void write(const arguments& x, const place& at,
                                     const sum_type (&sum)[blocks_m / 2][blocks_n][4]) {
    constexpr int run = 2 * abreast;  // columns of a lane that follow each other
    TC* c = x.c.data + at.batch * x.c.batch_stride;
    sum_type* partials = x.partials + (at.batch * x.splits + at.split) * x.c.rows * x.partial_row;
    unrolled<blocks_m>([&](int i) {
      const std::int64_t row = at.row + at.warp_row + row_of(i, at.g);
      if (row >= x.c.rows) return;
      unrolled<blocks_n / abreast>([&](int j) {
        const std::int64_t col = at.col + at.warp_col + (j * 4 + at.t) * run;
        item_group<sum_type, run> y;
        for (int e = 0; e < 2; ++e)
          for (int q = 0; q < abreast; ++q) y.item[e * abreast + q] = sum[i / 2][j * abreast + q][i % 2 * 2 + e];
        if (x.splits > 1) {
          for (int e = 0; e < run; ++e)
            if (col + e < x.c.cols) partials[row * x.partial_row + col + e] = y.item[e];
        } else {
          write_run(x, c + row * x.c.row_stride + col * x.c.col_stride, row, col, y.item);
        }
      });
    });
  }

  template <int Run>
  PMPP_HOST_DEVICE static void write_run(const arguments& x, TC* to, std::int64_t row, std::int64_t col,
                                         const sum_type (&sum)[Run]) {
    constexpr int word_items = smaller(Run, larger(1, int(16 / sizeof(TC))));
    using group_type = item_group<TC, word_items>;
    if (x.wide && col + Run <= x.c.cols) {
      const bool reads = x.result.beta != S{};
      for (int first = 0; first < Run; first += word_items) {
        group_type y{};
        if (reads) y = *reinterpret_cast<const group_type*>(to + first);
        for (int e = 0; e < word_items; ++e)
          y.item[e] = x.result(sum[first + e], &y.item[e], row, col + first + e);
        *reinterpret_cast<group_type*>(to + first) = y;
      }
    } else {
      for (int e = 0; e < Run; ++e)
        if (col + e < x.c.cols)
          to[e * x.c.col_stride] = x.result(sum[e], to + e * x.c.col_stride, row, col + e);
    }
  }
};

/// What tensor cores may take elements for.
template <class T>
inline constexpr simt::mma_type mma_type_of = simt::mma_type::none;
template <>
inline constexpr simt::mma_type mma_type_of<double> = simt::mma_type::float64;
template <>
inline constexpr simt::mma_type mma_type_of<std::int8_t> = simt::mma_type::int8;
template <>
inline constexpr simt::mma_type mma_type_of<std::uint8_t> = simt::mma_type::uint8;
template <>
inline constexpr simt::mma_type mma_type_of<half_type> = simt::mma_type::float16;
template <>
inline constexpr simt::mma_type mma_type_of<bfloat16_type> = simt::mma_type::bfloat16;

/// What a tile costs on tensor cores.
template <simt::mma_type Type, class T, mma_tile Tile>
constexpr gemm_cost mma_cost_of() {
  using enum simt::mma_type;
  constexpr double products_a_clock = Type == float64 ? 115 : Type == tf32 ? 600 : sizeof(T) == 2 ? 1200 : 2400;
  return {Tile.m, Tile.n, 128 / sizeof(T), Tile.blocks, Tile.threads() / simt::warp_size, Tile.m * Tile.n / products_a_clock,
          sizeof(T), sizeof(typename simt::mma<Type>::sum)};
}

/// Whether an operand's words of 16 bytes may be read; along k, or along m or n.
template <class T>
bool is_read_by_words(const gemm_operand<T>& x, bool along_k, std::int64_t batch) {
  constexpr std::int64_t items = 16 / sizeof(T);
  const std::int64_t unit = along_k ? x.k_stride : x.stride, pitch = along_k ? x.stride : x.k_stride;
  return unit == 1 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && pitch % items == 0 &&
         (batch == 1 || x.batch_stride % items == 0);
}

/// Enqueues a product on tensor cores, cut up as planned.
template <simt::mma_type Type, mma_tile Tile, class P, class T, class TC, class S, class Epilogue>
void gemm_by_mma(const P& where, const gemm_problem<T, T, TC, S, Epilogue>& x, const gemm_plan& plan) {
  using sum_type = typename simt::mma<Type>::sum;
  constexpr std::int64_t word = 16 / sizeof(sum_type), c_word = larger(1, int(16 / sizeof(TC)));
  const bool splits = plan.splits > 1;
  const std::int64_t row_length = round_up(x.c.cols, word);
  const std::int64_t partials = splits ? x.batch * plan.splits * x.c.rows * row_length : 0;
  scratch memory(where, checked_bytes(partials, sizeof(sum_type), "gemm"), 0);
  const bool wide = x.c.col_stride == 1 && x.c.row_stride % c_word == 0 && x.c.batch_stride % c_word == 0 &&
                    reinterpret_cast<std::uintptr_t>(x.c.data) % (c_word * sizeof(TC)) == 0;
  auto* sums = static_cast<sum_type*>(memory.data());
  const auto run = [&]<bool AlongKA, bool AlongKB, bool Words>() {
    using kernel = mma_kernel<Type, T, TC, S, Epilogue, Tile, AlongKA, AlongKB, Words>;
    const std::int64_t blocks = plan.tiles_m * plan.tiles_n * plan.splits * x.batch, most = std::int64_t(1) << 30;
    for (std::int64_t first = 0; first < blocks; first += most)
      launch(where, smaller(most, blocks - first), kernel{},
             typename kernel::arguments{x.a, x.b, x.c, x.k, plan.tiles_m, plan.tiles_n, plan.splits, plan.split_k, sums,
                                        row_length, first, x.result, wide});
  };
  const auto run_with = [&]<bool AlongKA, bool AlongKB>() {
    if (is_read_by_words(x.a, AlongKA, x.batch) && is_read_by_words(x.b, AlongKB, x.batch))
      run.template operator()<AlongKA, AlongKB, true>();
    else
      run.template operator()<AlongKA, AlongKB, false>();
  };
  if constexpr (sizeof(T) == 1) {
    run_with.template operator()<true, true>();
  } else {
    const bool a = x.a.stride != 1 || is_read_by_words(x.a, true, x.batch);
    const bool b = x.b.stride != 1 || is_read_by_words(x.b, true, x.batch);
    a ? b ? run_with.template operator()<true, true>() : run_with.template operator()<true, false>()
      : b ? run_with.template operator()<false, true>() : run_with.template operator()<false, false>();
  }
  if (splits) combine_splits(where, x, sums, row_length, plan.splits);
}

/// Takes the tile that is expected to cost less.
template <simt::mma_type Type, mma_tile Large, mma_tile Small, class P, class T, class TC, class S, class Epilogue>
void gemm_on_tensor_cores(const P& where, const gemm_problem<T, T, TC, S, Epilogue>& x) {
  const int processors = processor_count(where);
  const auto plan = [&](const gemm_cost& cost) {
    return plan_gemm(cost, x.c.rows, x.c.cols, x.k, x.batch, processors);
  };
  const gemm_plan large = plan(mma_cost_of<Type, T, Large>()), small = plan(mma_cost_of<Type, T, Small>());
  if (large.clocks <= small.clocks)
    gemm_by_mma<Type, Large>(where, x, large);
  else
    gemm_by_mma<Type, Small>(where, x, small);
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
