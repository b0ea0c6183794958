// SPDX-License-Identifier: Apache-2.0
//
// The matrix product on the tensor cores of sm_90a (H100, H200), for half, bfloat16, 8-bit integers, floats where tf32 is
// enough, and doubles.
//
//   1. A block owns 128 x n elements of C at a time, all of k or one of several splits of it, and goes from tile to tile:
//      there are as many blocks as multiprocessors.
//   2. Its first warpgroup is the producer: one thread of it asks TMA for tiles of A and B, 128 bytes deep in k,
//      as soon as a stage of shared memory is free. Two more, the consumers, multiply 64 rows each. Stages change hands by
//      barriers: `full` when the bytes are there, `empty` when both consumers have read them.
//   3. The sums are in the registers of the consumers, 128 a thread, which the producer has left to them. At the end of a
//      tile elements of C are made of them, a slice of 128 bytes a row at a time, and left in shared memory to the copy
//      unit, which writes one slice while the next is made. Meanwhile the producer fills all stages for the next tile.
//      Where C is read (beta), it comes through the stages too, after the last k-tile: it is there when the sums are.
//   4. TMA writes zeros where a tile leaves the matrix: the loop over k has no cases.
//   5. Splits write partial sums, which a second launch adds up in order: the same bits on every run.
//   6. What TMA cannot read, or reads slowly, is copied first where that pays (gemm/repack.hpp).
//
// Products of floats and of 8-bit integers want both operands along k. One of two of floats may be along m: then each lane
// loads it from shared memory to registers, from where a product takes it too. There are no such products of doubles:
// consumers multiply them by those of simt/mma.hpp, from the same stages, and write C from registers.
// (PTX ISA, wgmma; the division of work is that of CUTLASS's "warp-specialized cooperative" kernels, described in its
// documentation; Osama et al., 2023, for grids as large as the machine.)
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/mma.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/repack.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/wgmma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// How many columns of C a block works out at a time, 64, 128, 192 or 256; stages in shared memory; slices of C there, at
/// least two, for each of the consumers.
struct wgmma_tile {
  int n, stages, slices;
};

/// Tiles follow each other down this many rows of them.
inline constexpr std::int64_t wgmma_group = 16;

/// Whether results depend on where in C they are.
template <class Epilogue, class S>
inline constexpr bool epilogue_uses_index = requires(Epilogue f, S v) {
  f(v, std::int64_t{}, std::int64_t{});
};

/// Both operands are matrices. (One of a convolution layer is not: convolution_layer/wgmma.hpp.)
struct no_windows {};

/// AlongMA, AlongNB: the rows of the operand in shared memory are along m (n), not along k.
template <class T, class TC, class S, class Epilogue, wgmma_tile Tile, bool AlongMA, bool AlongNB,
          class Windows = no_windows>
struct gemm_wgmma_kernel {
  static constexpr int threads = 3 * 128;
  static constexpr bool begins_early = true;
  static constexpr int row_bytes = 128, depth = row_bytes / sizeof(T);  ///< of a stage, along k
  static constexpr int m = 128, n = Tile.n, consumers = 2;
  static constexpr bool is_double = std::is_same_v<T, double>;
  using sum_type = std::conditional_t<is_double, double, std::conditional_t<sizeof(T) == 1, int, float>>;
  static constexpr bool a_in_registers = std::is_same_v<T, float> && AlongMA;
  static constexpr bool pairs_across = is_double && AlongMA && !AlongNB;  ///< lanes can make pairs of a row of C
  static_assert(!is_double || n == 128);
  static_assert(!(std::is_same_v<T, float> && AlongNB) && (!a_in_registers || n >= 128));

  /// A slice of C, of a consumer: 64 rows of 128 bytes.
  static constexpr int width = row_bytes / sizeof(TC), slices = n / width, slice_bytes = 64 * row_bytes;
  static constexpr int slices_in_stage = (m + n) * row_bytes / (consumers * slice_bytes);

  struct shared {
    struct alignas(1024) stage {  // the swizzle repeats every 1024 bytes
      unsigned char a[m * row_bytes], b[n * row_bytes];
    } stages[Tile.stages];
    unsigned char slices[consumers][is_double ? 1 : Tile.slices][is_double ? 16 : slice_bytes];  // of C
    simt::transaction_barrier full[Tile.stages], empty[Tile.stages];
  };

  struct arguments {
    simt::tile_map a, b, to;
    gemm_target<TC> c;
    std::int64_t k;
    std::int64_t tiles_m, tiles_n, tiles;  ///< of all matrices of sums
    int splits, split_k_tiles;  ///< of k: each product has that many matrices of sums, of this many k-tiles each
    bool batch_a, batch_b;      ///< whether each product has a matrix of its own
    gemm_result<S, Epilogue> result;
    bool down;           ///< neighbours in memory are those below each other in C
    bool c_by_tma;       ///< TMA can read and write C
    int a_rows, b_rows;  ///< of a stage, that are copied
    Windows windows;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()([[maybe_unused]] Block& block, [[maybe_unused]] shared& memory,
                                   [[maybe_unused]] const arguments& x) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
    if (block.thread() == 0) simt::prepare_stages(memory.full, memory.empty, is_double ? 4 * consumers : consumers);
    block.sync();
    simt::previous_kernels_done();
    if (block.warp() < 4) {
      simt::release_registers<40>();
      if (block.thread() == 0) produce(block, memory, x);
    } else {
      simt::acquire_registers<232>();
      if constexpr (is_double)
        consume_doubles(block, memory, x);
      else
        consume(block, memory, x);
    }
#endif
  }

private:
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  /// Where a tile lies.
  struct coord {
    std::int64_t batch;  ///< which matrix of sums
    int row, col;
    int product, first_k_tile, k_tiles;  ///< whose sums; of the split

    /// Tiles follow each other down `group` rows of them, then to the next column: those that run at the same time form
    /// a rectangle and share what they read.
    __device__ coord(const arguments& x, std::int64_t tile) {
      constexpr std::int64_t group = wgmma_group;
      const std::int64_t in_matrix = x.tiles_m * x.tiles_n, in_group = group * x.tiles_n;
      batch = tile / in_matrix;
      tile -= batch * in_matrix;
      const std::int64_t first = tile / in_group * group, rows = min(group, x.tiles_m - first);
      row = static_cast<int>((first + tile % in_group % rows) * m);
      col = static_cast<int>(tile % in_group / rows * n);
      product = static_cast<int>(batch) / x.splits;
      first_k_tile = (static_cast<int>(batch) - product * x.splits) * x.split_k_tiles;
      k_tiles = min(static_cast<int>((x.k + depth - 1) / depth) - first_k_tile, x.split_k_tiles);
    }
  };

  using position = simt::stage_position<Tile.stages>;

  /// Calls f(coord) for each tile of this block.
  template <class Block, class F>
  __device__ __forceinline__ static void each_tile(Block& block, const arguments& x, F f) {
    for (std::int64_t tile = block.index(); tile < x.tiles; tile += block.count()) f(coord(x, tile));
  }

  template <class Block>
  __device__ static void produce(Block& block, shared& memory, const arguments& x) {
    position next;
    each_tile(block, x, [&](const coord& at) {
      if constexpr (!std::is_same_v<Windows, no_windows>) return produce_windows(memory, x, at, next);
      const int batch_a = x.batch_a ? at.product : 0, batch_b = x.batch_b ? at.product : 0;
      for (int k_tile = 0; k_tile < at.k_tiles; ++k_tile, next.advance()) {
        auto& stage = memory.stages[next.stage];
        auto& full = memory.full[next.stage];
        memory.empty[next.stage].wait(!next.odd);  // the first round has nothing to wait for
        full.arrive_expecting((x.a_rows + x.b_rows) * row_bytes);
        const int p = (at.first_k_tile + k_tile) * depth;
        if constexpr (AlongMA)
          for (int i = 0; i < x.a_rows; i += depth)
            simt::copy_tile(stage.a + i * row_bytes, x.a, full, at.row + i, p, batch_a);
        else
          simt::copy_tile(stage.a, x.a, full, p, at.row, batch_a);
        if constexpr (AlongNB)
          for (int j = 0; j < x.b_rows; j += depth)
            simt::copy_tile(stage.b + j * row_bytes, x.b, full, at.col + j, p, batch_b);
        else
          simt::copy_tile(stage.b, x.b, full, p, at.col, batch_b);
      }
      if (fetches(x)) {
        if (a_in_registers && x.down)
          fetch<a_in_registers>(memory, x, at, next);
        else
          fetch<false>(memory, x, at, next);
      }
    });
  }

  /// Whether C comes through the stages, after the last k-tile: then it is there when the products are.
  __device__ static bool fetches(const arguments& x) { return !is_double && x.c_by_tma && x.result.beta != S{}; }

  /// Where a stage holds C.
  __device__ static unsigned char* slice_in_stage(shared& memory, int stage, int slice, int group) {
    return reinterpret_cast<unsigned char*>(&memory.stages[stage]) +
           (slice % slices_in_stage * consumers + group) * slice_bytes;
  }

  /// Calls f(byte, x, y) for each box of a slice, which TMA moves at once.
  template <bool Down, class F>
  __device__ __forceinline__ static void each_box(const coord& at, int slice, int group, F f) {
    const int row = at.row + group * 64, col = at.col + slice * width;
    for (int i = 0; i < (Down ? 64 : 1); i += width) f(i * row_bytes, Down ? row + i : col, Down ? col : row);
  }

  template <bool Down>
  __device__ static void fetch(shared& memory, const arguments& x, const coord& at, position& next) {
    for (int first = 0; first < slices; first += slices_in_stage, next.advance()) {
      const int count = min(slices - first, slices_in_stage);
      auto& full = memory.full[next.stage];
      memory.empty[next.stage].wait(!next.odd);
      full.arrive_expecting(count * consumers * slice_bytes);
      for (int i = 0; i < count * consumers; ++i) {
        const int slice = first + i / consumers, group = i % consumers;
        unsigned char* to = slice_in_stage(memory, next.stage, slice, group);
        each_box<Down>(at, slice, group, [&](int byte, int column, int line) {
          simt::copy_tile(to + byte, x.to, full, column, line, static_cast<int>(at.batch));
        });
      }
    }
  }

  /// The same where an operand is looked up in images.
  __device__ static void produce_windows(shared& memory, const arguments& x, const coord& at, position& next) {
    auto k_tile = x.windows.first_k_tile(at.product, at.row, at.col);
    for (int i = at.k_tiles; i > 0; --i, next.advance(), k_tile.advance(x.windows)) {
      auto& stage = memory.stages[next.stage];
      memory.empty[next.stage].wait(!next.odd);
      memory.full[next.stage].arrive_expecting(sizeof stage.a + sizeof stage.b);
      k_tile.copy(x.windows, x.a, x.b, stage.a, stage.b, memory.full[next.stage]);
    }
  }

  template <class Block>
  __device__ __forceinline__ static void consume(Block& block, shared& memory, const arguments& x) {
    position next;
    int turn = 0;
    std::uint32_t sum[n / 2];  // the bits of floats, or integers
    each_tile(
        block, x, [&](const coord& at) __attribute__((always_inline)) {
          if constexpr (a_in_registers)
            multiply_from_registers(block, memory, at.k_tiles, next, sum);
          else
            multiply(block, memory, at.k_tiles, next, sum);
          if (a_in_registers && x.down)
            write<a_in_registers>(block, memory, x, at, next, turn, sum);
          else
            write<false>(block, memory, x, at, next, turn, sum);
        });
    if (block.thread() % 128 == 0) simt::copies_have_read<0>();
  }

  /// Tells the producer that this warpgroup has read a stage.
  template <class Block>
  __device__ static void release(Block& block, shared& memory, int stage) {
    if (block.thread() % 128 == 0) memory.empty[stage].arrive();
  }

  /// The bytes from one step of k, 32 bytes deep, to the next.
  static constexpr int step_a = AlongMA ? row_bytes * 32 / sizeof(T) : 32,
                       step_b = AlongNB ? row_bytes * 32 / sizeof(T) : 32;

  template <class Block>
  __device__ __forceinline__ static void multiply(Block& block, shared& memory, int k_tiles, position& next,
                                                  std::uint32_t (&sum)[n / 2]) {
    const int group = block.warp() / 4 - 1;
    int last = 0;
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile, next.advance()) {
      memory.full[next.stage].wait(next.odd);
      const auto& stage = memory.stages[next.stage];
      const std::uint64_t a = simt::operand_in_shared(stage.a + group * 64 * row_bytes, 16),
                          b = simt::operand_in_shared(stage.b, depth * row_bytes);
      simt::products_begin();
#pragma unroll
      for (int q = 0; q < row_bytes / 32; ++q)
        simt::multiply_rows<T, AlongMA, AlongNB, n>(sum, a + q * step_a / 16, b + q * step_b / 16, k_tile + q > 0);
      simt::products_end();
      simt::products_wait<1>();
      if (k_tile > 0) release(block, memory, last);
      last = next.stage;
    }
    simt::products_wait<0>();
    simt::fence_accumulators(sum);
    release(block, memory, last);
  }

  /// The row of the 64 of a warpgroup that is row `i` of the 16 of warp `warp` where A comes from registers: in this order
  /// the lanes of a warp read from different banks.
  __device__ static int row_from_registers(int warp, int i) {
    return warp / 2 * 32 + warp % 2 * 8 + i / 8 * 4 + i % 8 / 4 * 16 + i % 4;
  }

  template <class Block>
  __device__ __forceinline__ static void multiply_from_registers(Block& block, shared& memory, int k_tiles,
                                                                 position& next, std::uint32_t (&sum)[n / 2]) {
    const int warp = block.warp() % 4, lane = block.lane(), group = block.warp() / 4 - 1;
    std::uint32_t part[2][4]
                      [4];  // of A, for the four steps of a k-tile; while products read one part, the other is loaded
    const auto load = [&](std::uint32_t(&to)[4][4]) __attribute__((always_inline)) {
      memory.full[next.stage].wait(next.odd);
      const unsigned char* a = memory.stages[next.stage].a;
#pragma unroll
      for (int q = 0; q < 4; ++q)
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const int row = group * 64 + row_from_registers(warp, lane / 4 + v % 2 * 8), p = lane % 4 + v / 2 * 4;
          const int word = row / 4 % 8 ^ p;  // of the eight in a row of shared memory: the copy has exchanged them
          to[q][v] = *reinterpret_cast<const std::uint32_t*>(a + row / 32 * 32 * row_bytes + (q * 8 + p) * row_bytes +
                                                             word * 16 + row % 4 * 4);
        }
    };
    int last = 0;
    load(part[0]);
    for (int k_tile = 0; k_tile < k_tiles; k_tile += 2) {
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) {
        if (k_tile + odd == k_tiles) break;
        const std::uint64_t b = simt::operand_in_shared(memory.stages[next.stage].b, 16);
        simt::products_begin();
#pragma unroll
        for (int q = 0; q < 4; ++q) simt::multiply_rows<n>(sum, part[odd][q], b + q * 2, k_tile + odd + q > 0);
        simt::products_end();
        simt::products_wait<1>();
#pragma unroll
        for (int q = 0; q < 4; ++q) simt::fence_accumulators(part[1 - odd][q]);
        if (k_tile + odd > 0) release(block, memory, last);
        last = next.stage;
        next.advance();
        if (k_tile + odd + 1 < k_tiles) load(part[1 - odd]);
      }
    }
    simt::products_wait<0>();
#pragma unroll
    for (int q = 0; q < 8; ++q) simt::fence_accumulators(part[q / 4][q % 4]);
    simt::fence_accumulators(sum);
    release(block, memory, last);
  }

  // Doubles: each warp multiplies 64 x 32 elements by products of 16 x 8 with 8 of k (simt/mma.hpp). Which of the 8 numbers
  // of k has which place does not matter as long as A and B agree; nor do rows and columns, as long as C is written so. All
  // are placed so that the lanes that read at once do so from different banks, and so that what one read gives are
  // neighbours in the registers of a product: words of 16 bytes where A is along m, or B along k beside such an A.

  /// The row of A that has place i of 16, and the column of B that has place i of 8.
  __device__ static constexpr int row_at(int i) {
    return AlongMA ? i % 8 * 2 + i / 8 : i / 8 * 8 + i % 4 * 2 + i % 8 / 4;
  }
  __device__ static constexpr int col_at(int i) {
    return AlongNB ? i : AlongMA ? i % 2 * 4 + i / 2 : i % 4 * 2 + i / 4;
  }
  /// The byte where elements of a k-tile lie: k = p, at `i` of an operand along k, or along m.
  __device__ static int along_k(int i, int p) { return i * row_bytes + ((p / 2) ^ (i % 8)) * 16 + p % 2 * 8; }
  __device__ static int along_m(int i, int p) {
    return i / 16 * 16 * row_bytes + p * row_bytes + ((i % 16 / 2) ^ (p % 8)) * 16 + i % 2 * 8;
  }
  using two_doubles = packed<double, 2>;
  static_assert(!is_double || AlongMA || !AlongNB);

  /// Where a lane's parts lie in a k-tile, for the first 16 rows of its warp and the first 16 columns: those of other rows,
  /// columns and steps of k are this many bytes further for all lanes. Words are swizzled within eight rows, so that which
  /// k a lane reads is part of it for operands along k, and which columns for B along n.
  struct double_places {
    int a[4], b[4];

    __device__ double_places(int row, int col, int lane) {
      const int g = lane / 4, t = lane % 4;
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        a[v] = AlongMA ? along_m(row + g * 2, t * 2 + v % 2) : along_k(row + row_at(g), t + v * 4);
        b[v] = AlongNB   ? along_m(col + g + v / 2 * 8, t * 2 + v % 2)
               : AlongMA ? along_k(col + col_at(g), t * 2 + v % 2 * 8)
                         : along_k(col + col_at(g), t + v * 4);
        simt::keep_in_register(a[v]), simt::keep_in_register(b[v]);
      }
    }
    static constexpr int eight = 8 * row_bytes;  ///< from eight rows, columns or numbers of k to the next

    /// Of 16 rows of A and 8 numbers of k. `part`: where the rows begin.
    __device__ __forceinline__ void load_a(double (&to)[4], const unsigned char* part, int step) const {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if constexpr (AlongMA) {
          const auto y = *reinterpret_cast<const two_doubles*>(part + step * eight + a[e]);
          to[2 * e] = y.item[0], to[2 * e + 1] = y.item[1];
        } else {
#pragma unroll
          for (int h = 0; h < 2; ++h)
            to[2 * e + h] = *reinterpret_cast<const double*>(part + h * eight + a[step * 2 + e]);
        }
    }
    /// The same of 16 columns of B.
    __device__ __forceinline__ void load_b(double (&to)[2][2], const unsigned char* part, int step) const {
#pragma unroll
      for (int h = 0; h < 2; ++h)
        if constexpr (AlongMA && !AlongNB) {
          const auto y = *reinterpret_cast<const two_doubles*>(part + h * eight + b[step]);
          to[h][0] = y.item[0], to[h][1] = y.item[1];
        } else {
#pragma unroll
          for (int e = 0; e < 2; ++e)
            to[h][e] = *reinterpret_cast<const double*>(
                part + (AlongNB ? step * eight + b[h * 2 + e] : h * eight + b[step * 2 + e]));
        }
    }
  };

  template <class Block>
  __device__ static void consume_doubles(Block& block, shared& memory, const arguments& x) {
    const int lane = block.lane(), row0 = (block.warp() / 4 - 1) * 64, col0 = block.warp() % 4 * 32;
    const double_places places(row0, col0, lane);
    position next;
    double a[4][4], b[2][2][2][2];  // b: of a step of k, in two halves
    const auto load = [&](int i, int step) __attribute__((always_inline)) {
      places.load_a(a[i], memory.stages[next.stage].a + i * 16 * row_bytes, step);
    };
    const auto load_half = [&](int half, int step) __attribute__((always_inline)) {
      places.load_b(b[step][half], memory.stages[next.stage].b + half * 16 * row_bytes, step);
    };
    // K-tiles of all tiles of this block, k not being split: loads go on into the next tile.
    std::int64_t left = (x.tiles - block.index() + block.count() - 1) / block.count() * ((x.k + depth - 1) / depth);
    memory.full[next.stage].wait(next.odd);
    load(0, 0), load(1, 0), load(2, 0), load_half(0, 0), load_half(1, 0);
    each_tile(
        block, x, [&](const coord& at) __attribute__((always_inline)) {
          double sum[4][4][4] = {};
          for (int k_tile = 0; k_tile < at.k_tiles; ++k_tile) {
        // Two steps of k, of four times 16 rows each. What is multiplied three turns later is loaded first, so that
        // its latency is hidden; after the last k-tile that is anything.
#pragma unroll
            for (int turn = 0; turn < 8; ++turn) {
              const int step = turn / 4, i = turn % 4;
#pragma unroll
              for (int j = 0; j < 4; ++j) {
                simt::multiply_add<simt::mma_type::float64>(block, sum[i][j], a[i], b[step][j / 2][j % 2]);
                if (turn == 5 && j == 0) {  // all of this stage has been read
                  block.sync_warp();
                  if (lane == 0) memory.empty[next.stage].arrive();
                  next.advance();
                  if (--left > 0) memory.full[next.stage].wait(next.odd);
                }
                if (j == 0) load((i + 3) % 4, (turn + 3) / 4 % 2);
                if (j == 1 && i >= 2) load_half(i - 2, 1 - step);
              }
            }
          }
          write_doubles(block, x, at, at.row + row0, at.col + col0, sum);
        });
  }

  /// Makes elements of C of a warp's sums, two at a time, which lie next to each other in memory where that can be: below
  /// each other where A is along m, or beside each other after lanes have exchanged one of them.
  template <class Block>
  __device__ __forceinline__ static void write_doubles(Block& block, const arguments& x, const coord& at,
                                                       std::int64_t row0, std::int64_t col0,
                                                       const double (&sum)[4][4][4]) {
    const int g = block.lane() / 4, t = block.lane() % 4;
    const bool across = pairs_across && !x.down, odd = t % 2 != 0;
    const int below = across ? 0 : row_at(8) - row_at(0), beside = across ? 1 : 0;
    const std::int64_t step = below * x.c.row_stride + beside * x.c.col_stride;
    TC* const c = x.c.data + at.batch * x.c.batch_stride;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const double(&own)[4] = sum[i][j / 2];
        const int v = j % 2;
        double y[2] = {own[v], own[2 + v]};
        std::int64_t row = row0 + i * 16 + row_at(g), col = col0 + j / 2 * 8 + col_at(t * 2 + v);
        if (across) {  // this lane has columns t and t + 4 of a row, the one beside it t + 1 and t + 5, or t - 1 and t + 3
          const double other = block.shuffle(odd ? own[2 * v] : own[2 * v + 1], block.lane() ^ 1);
          y[0] = odd ? other : own[2 * v], y[1] = odd ? own[2 * v + 1] : other;
          row = row0 + i * 16 + row_at(g + 8 * v), col = col0 + j / 2 * 8 + t / 2 * 2 + odd * 4;
        }
        if (row >= x.c.rows || col >= x.c.cols) continue;
        TC* const to = c + row * x.c.row_stride + col * x.c.col_stride;
        const bool two = row + below < x.c.rows && col + beside < x.c.cols;
        if (two && x.c_by_tma) {
          packed<TC, 2> both{};
          if (x.result.beta != S{}) both = *reinterpret_cast<const packed<TC, 2>*>(to);
          for (int h = 0; h < 2; ++h) both.item[h] = x.result(y[h], &both.item[h], row + h * below, col + h * beside);
          *reinterpret_cast<packed<TC, 2>*>(to) = both;
        } else {
          *to = x.result(y[0], to, row, col);
          if (two) to[step] = x.result(y[1], to + step, row + below, col + beside);
        }
      }
  }

  /// Makes elements of C of the sums of a warpgroup, slice by slice, and leaves them in shared memory, from where the copy
  /// unit writes them, or the lanes do where it cannot. Down: elements of a column lie next to each other there, else
  /// those of a row; 64 lines of 128 bytes, whose 16-byte words are swizzled as TMA wants them.
  template <bool Down, class Block>
  __device__ __forceinline__ static void write(Block& block, shared& memory, const arguments& x, const coord& at,
                                               position& next, int& turn, const std::uint32_t (&sum)[n / 2]) {
    constexpr int size = sizeof(TC);
    const bool reads = x.result.beta != S{}, fetched = fetches(x);
    const int warp = block.warp() % 4, group = block.warp() / 4 - 1, lane = block.lane();
    const std::int64_t first = at.row + group * 64;
    if (first >= x.c.rows && !fetched) return;
    const int rows = static_cast<int>(min<std::int64_t>(x.c.rows - first, 64)),
              cols = static_cast<int>(min<std::int64_t>(x.c.cols - at.col, n));  // that are inside C
    const auto row_of = [&](int h) {
      return a_in_registers ? row_from_registers(warp, lane / 4 + h * 8) : warp * 16 + lane / 4 + h * 8;
    };
    const auto byte_of = [](int line, int item) {
      return line * row_bytes + (((item * size / 16) ^ (line % 8)) * 16) + item * size % 16;
    };
    // Where element e of a lane's pair u lies in a slice.
    const auto offset_of = [&](int u, int e) {
      const int row = row_of(u % 2), col = u / 2 * 8 + lane % 4 * 2 + e;
      return Down ? byte_of(row / width * width + col, row % width) : byte_of(row, col);
    };
    TC* c = x.c.data + at.batch * x.c.batch_stride + first * x.c.row_stride + at.col * x.c.col_stride;
    const bool is_elected = block.thread() % 128 == 0;
    // An epilogue without state does no harm outside C, where TMA writes nothing.
    constexpr bool stateless = std::is_empty_v<Epilogue> && !epilogue_uses_index<Epilogue, S>;
    const bool everywhere = stateless || (rows == 64 && cols == n);
    const auto result = x.result;
    auto plain = x.result;
    plain.beta = S{};  // which the compiler knows then: it need not ask at each element
#pragma unroll
    for (int s = 0; s < slices; ++s) {
      packed<TC, 2> y[width / 8][2];
      if (everywhere && !reads) {
#pragma unroll
        for (int u = 0; u < width / 2; ++u) {
          TC& value = y[u / 4][u / 2 % 2].item[u % 2];
          value = plain(__builtin_bit_cast(sum_type, sum[s * (width / 2) + u]), &value, first + row_of(u / 2 % 2),
                        at.col + s * width + u / 4 * 8 + lane % 4 * 2 + u % 2);
        }
      } else {
        if (fetched) {
          if (s % slices_in_stage == 0) memory.full[next.stage].wait(next.odd);
          const unsigned char* old = slice_in_stage(memory, next.stage, s, group);
#pragma unroll
          for (int u = 0; u < width / 4; ++u)
            if constexpr (Down) {
              for (int e = 0; e < 2; ++e) y[u / 2][u % 2].item[e] = *reinterpret_cast<const TC*>(old + offset_of(u, e));
            } else {
              y[u / 2][u % 2] = *reinterpret_cast<const packed<TC, 2>*>(old + offset_of(u, 0));
            }
        } else if (reads) {
          // What C holds: outside of it, some other element. Without branches, so that all are on their way at once.
#pragma unroll
          for (int u = 0; u < width / 2; ++u)
            y[u / 4][u / 2 % 2].item[u % 2] =
                c[min(row_of(u / 2 % 2), rows - 1) * x.c.row_stride +
                  min(s * width + u / 4 * 8 + lane % 4 * 2 + u % 2, cols - 1) * x.c.col_stride];
        }
#pragma unroll
        for (int u = 0; u < width / 2; ++u) {
          const int row = row_of(u / 2 % 2), col = s * width + u / 4 * 8 + lane % 4 * 2 + u % 2;
          TC& value = y[u / 4][u / 2 % 2].item[u % 2];
          if (everywhere || (row < rows && col < cols))
            value = result(__builtin_bit_cast(sum_type, sum[s * (width / 2) + u]), &value, first + row, at.col + col);
        }
      }
      unsigned char* slice = memory.slices[group][turn];
#pragma unroll
      for (int u = 0; u < width / 4; ++u) {
        const auto& value = y[u / 2][u % 2];
        if constexpr (Down) {
          for (int e = 0; e < 2; ++e) *reinterpret_cast<TC*>(slice + offset_of(u, e)) = value.item[e];
        } else {
          *reinterpret_cast<packed<TC, 2>*>(slice + offset_of(u, 0)) = value;
        }
      }
      if (x.c_by_tma) simt::visible_to_copies();
      if (is_elected) simt::copies_have_read<Tile.slices - 2>();
      simt::warpgroup_sync(group);  // this slice is written, the next may be
      if (fetched && ((s + 1) % slices_in_stage == 0 || s + 1 == slices)) {
        release(block, memory, next.stage);
        next.advance();
      }
      if (!x.c_by_tma) {
        constexpr int words = ceil_div(width, simt::warp_size);  // of a line, that a lane writes
        constexpr int at_once = 8;
#pragma unroll 1
        for (int line0 = warp * 16; line0 < warp * 16 + 16; line0 += at_once / words) {
          TC own[at_once];
#pragma unroll
          for (int u = 0; u < at_once; ++u)
            own[u] = *reinterpret_cast<const TC*>(
                slice + byte_of(line0 + u / words, (lane + u % words * simt::warp_size) % width));
#pragma unroll
          for (int u = 0; u < at_once; ++u) {
            const int line = line0 + u / words, item = lane + u % words * simt::warp_size;
            const int row = Down ? line / width * width + item : line, col = s * width + (Down ? line % width : item);
            if (item < width && row < rows && col < cols) c[row * x.c.row_stride + col * x.c.col_stride] = own[u];
          }
        }
      } else if (is_elected) {
        each_box<Down>(at, s, group, [&](int byte, int column, int line) {
          simt::copy_tile(x.to, slice + byte, column, line, static_cast<int>(at.batch));
        });
        simt::copies_end();
      }
      turn = turn + 1 == Tile.slices ? 0 : turn + 1;
    }
  }
#endif
};

/// Whether `device` is one of sm_90a and runs code that was compiled for it. Asks CUDA once per device. (A template, so that
/// who multiplies nothing gets no code.)
template <class Probe>
bool wgmma_available(int device) {
  enum : char { unknown, no, yes };
  static char known[most_devices];
  char answer = __atomic_load_n(&known[device], __ATOMIC_RELAXED);
  if (answer == unknown) {
    void (*const probe)(Probe) = simt::detail::run_kernel<Probe::threads, Probe>;
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(probe)), "cudaFuncGetAttributes");
    answer = attributes.sharedSizeBytes > 0 ? yes : no;
    __atomic_store_n(&known[device], answer, __ATOMIC_RELAXED);
  }
  return answer == yes;
}

/// A tile, how many splits of k, how many clocks a product is expected to take with them, and how many of its last tiles
/// another function works out.
struct wgmma_plan {
  int tile = 0, splits = 1, split_k_tiles = 1 << 30;
  double clocks = 0;
  std::int64_t left_out = 0;
};

/// Starts a product with a given tile; false, and nothing has happened, if TMA cannot read A or B. Where k is
/// split, C has `splits` times as many matrices: the sums over the first `split_k_tiles` k-tiles of k, those over the next, ...
template <wgmma_tile Tile, bool AlongMA, bool AlongNB, class T, class TC, class S, class Epilogue>
bool gemm_by_wgmma_tile(const device_policy& where, const gemm_problem<T, T, TC, S, Epilogue>& x,
                        const wgmma_plan& plan = {}) {
  using kernel = gemm_wgmma_kernel<T, TC, S, Epilogue, Tile, AlongMA, AlongNB>;
  typename kernel::arguments y;
  // Of a small matrix the rest of a stage holds anything, and makes sums that are not written.
  const auto rows_of = [](bool along_k, std::int64_t rows, int most) {
    return static_cast<int>(min(round_up(rows, std::int64_t(along_k ? 8 : kernel::depth)), std::int64_t(most)));
  };
  y.a_rows = rows_of(!AlongMA, x.c.rows, kernel::m);
  y.b_rows = rows_of(!AlongNB, x.c.cols, kernel::n);
  const auto describe = [&](simt::tile_map& map, const gemm_operand<T>& from, bool along_k, int rows) {
    return along_k
               ? simt::describe_tiles(map, from.data, x.k, from.extent, from.stride, x.batch, from.batch_stride, rows)
               : simt::describe_tiles(map, from.data, from.extent, x.k, from.k_stride, x.batch, from.batch_stride,
                                      kernel::depth);
  };
  if (!describe(y.a, x.a, !AlongMA, y.a_rows) || !describe(y.b, x.b, !AlongNB, y.b_rows)) return false;
  y.c = x.c;
  y.k = x.k;
  y.tiles_m = ceil_div(x.c.rows, std::int64_t(kernel::m));
  y.tiles_n = ceil_div(x.c.cols, std::int64_t(kernel::n));
  y.tiles = y.tiles_m * y.tiles_n * x.batch * plan.splits - plan.left_out;
  y.splits = plan.splits;
  y.split_k_tiles = plan.split_k_tiles;
  y.batch_a = x.a.batch_stride != 0;
  y.batch_b = x.b.batch_stride != 0;
  y.result = x.result;
  y.down = x.c.row_stride == 1 && x.c.col_stride != 1;
  constexpr int width = kernel::width;
  const bool down = kernel::a_in_registers && y.down;
  const std::int64_t line = down ? x.c.rows : x.c.cols, lines = down ? x.c.cols : x.c.rows;
  if constexpr (kernel::is_double)
    y.c_by_tma = AlongMA && (y.down || (kernel::pairs_across && x.c.col_stride == 1)) &&
                 (y.down ? x.c.col_stride : x.c.row_stride) % 2 == 0 && x.c.batch_stride % 2 == 0 &&
                 reinterpret_cast<std::uintptr_t>(x.c.data) % (2 * sizeof(TC)) == 0;
  else
    y.c_by_tma = (down ? x.c.row_stride : x.c.col_stride) == 1 &&
                 line * sizeof(TC) % 16 == 0 &&  // it writes whole words
                 simt::describe_tiles(y.to, x.c.data, line, lines, down ? x.c.col_stride : x.c.row_stride,
                                      x.batch * plan.splits, x.c.batch_stride, down ? width : 64);
  launch(where, min(y.tiles, std::int64_t(machine_of(where).multiprocessors)), kernel{}, y);
  return true;
}

/// The first three also for floats; the second also where k is split.
inline constexpr wgmma_tile wgmma_tiles[] = {{.n = 256, .stages = 4, .slices = 2},
                                             {.n = 128, .stages = 6, .slices = 2},
                                             {.n = 192, .stages = 4, .slices = 3},
                                             {.n = 64, .stages = 8, .slices = 2}};
inline constexpr int wgmma_split_tile = 1;

/// How often TMA asks for each row of 128 bytes of A and B.
struct wgmma_requests {
  double a = 1, b = 1;
};

/// How many clocks sums of m x n elements over `k_tiles` k-tiles of k, `batch` times, are expected to take with a given tile.
inline double wgmma_clocks(const wgmma_tile& tile, std::int64_t m, std::int64_t n, std::int64_t k_tiles,
                           std::int64_t batch, const machine& on, const wgmma_requests& each = {}) {
  // Clocks of an H100: of a k-tile's products, of each row of 128 bytes that is asked for, of a tile besides, of its columns.
  const double products = tile.n == 256 ? 1080 : tile.n == 192 ? 830 : tile.n == 128 ? 540 : 300;
  constexpr double request = 2.3, of_tile = 1800, of_col = 10;
  const double rows = double(min<std::int64_t>(m, 128)) * each.a + double(min<std::int64_t>(n, tile.n)) * each.b;
  const double of_k_tile = max(products, rows * request);
  const std::int64_t tiles = ceil_div(m, std::int64_t(128)) * ceil_div(n, std::int64_t(tile.n)) * batch;
  return double(ceil_div(tiles, std::int64_t(on.multiprocessors))) *
         (double(k_tiles) * of_k_tile + of_tile + of_col * tile.n);
}

/// What reading A and B takes, of this many rows.
inline double memory_clocks(std::int64_t rows, std::int64_t k_tiles, std::int64_t batch, const machine& on) {
  return double(rows) * double(k_tiles) * double(batch) * 128 / (1.0625 * on.memory_rate());
}

/// The best plan for sums of m x n elements over `k_tiles` k-tiles of k, `batch` times.
inline wgmma_plan plan_wgmma(int tiles, std::int64_t m, std::int64_t n, std::int64_t k_tiles, std::int64_t batch,
                             const machine& on, const wgmma_requests& each = {}) {
  const double second_launch = 2 * clocks_of_second_launch(on), partial_bytes = 0.625 * on.memory_rate();
  const double from_memory = memory_clocks(m + n, k_tiles, batch, on);
  wgmma_plan best;
  const auto consider = [&](int i, int splits) {
    const std::int64_t split_k_tiles = ceil_div(k_tiles, std::int64_t(splits));
    splits = static_cast<int>(ceil_div(k_tiles, split_k_tiles));
    double clocks = max(wgmma_clocks(wgmma_tiles[i], m, n, split_k_tiles, batch * splits, on, each), from_memory);
    if (splits > 1) clocks += second_launch + double(m) * double(n) * double(batch) * 4 * (splits + 1) / partial_bytes;
    if (best.clocks == 0 || clocks < best.clocks) best = {i, splits, static_cast<int>(split_k_tiles), clocks};
  };
  for (int i = 0; i < tiles; ++i) consider(i, 1);
  const std::int64_t blocks =
      ceil_div(m, std::int64_t(128)) * ceil_div(n, std::int64_t(wgmma_tiles[wgmma_split_tile].n)) * batch;
  for (std::int64_t splits = 2; splits * blocks <= 2 * on.multiprocessors && splits <= k_tiles; ++splits)
    consider(wgmma_split_tile, static_cast<int>(splits));
  return best;
}

/// Starts a product as planned, or that of the splits' sums. Both operands are as TMA wants them. Of floats, B is along k.
template <bool OneTile = false, class T, class TC, class S, class Epilogue>
bool gemm_as_planned(const device_policy& where, const gemm_problem<T, T, TC, S, Epilogue>& x, bool a_along_k,
                     bool b_along_k, const wgmma_plan& plan) {
  const auto run = [&]<wgmma_tile Tile>(std::integral_constant<wgmma_tile, Tile>) {
    if constexpr (sizeof(T) > 1)
      if (!a_along_k && b_along_k) return gemm_by_wgmma_tile<Tile, true, false>(where, x, plan);
    if constexpr (sizeof(T) == 2 || sizeof(T) == 8)
      if (!a_along_k && !b_along_k) return gemm_by_wgmma_tile<Tile, true, true>(where, x, plan);
    if constexpr (sizeof(T) == 2)
      if (!b_along_k) return gemm_by_wgmma_tile<Tile, false, true>(where, x, plan);
    return gemm_by_wgmma_tile<Tile, false, false>(where, x, plan);
  };
  if (plan.tile == 1) return run(std::integral_constant<wgmma_tile, wgmma_tiles[1]>{});
  if constexpr (!OneTile) {
    if (plan.tile == 2) return run(std::integral_constant<wgmma_tile, wgmma_tiles[2]>{});
    if constexpr (!std::is_same_v<T, float>)
      if (plan.tile == 3) return run(std::integral_constant<wgmma_tile, wgmma_tiles[3]>{});
    return run(std::integral_constant<wgmma_tile, wgmma_tiles[0]>{});
  }
  return false;
}

/// The same where k is split: leaves the sums of each split in scratch memory, and adds them up in order.
template <class T, class TC, class S, class Epilogue>
bool gemm_in_splits(const device_policy& where, const gemm_problem<T, T, TC, S, Epilogue>& x, bool a_along_k,
                    bool b_along_k, const wgmma_plan& plan) {
  using sum_type = std::conditional_t<sizeof(T) == 1, int, float>;
  const bool down = x.c.row_stride == 1 && x.c.col_stride != 1;
  const std::int64_t line = round_up(down ? x.c.rows : x.c.cols, std::int64_t(4)),
                     matrix = line * (down ? x.c.cols : x.c.rows);
  scratch memory(where, checked_bytes(x.batch * plan.splits * matrix, sizeof(sum_type), "gemm"), 0);
  auto* sums = static_cast<sum_type*>(memory.data());
  const gemm_problem<T, T, sum_type, sum_type, no_epilogue> partial{
      x.a, x.b, {sums, x.c.rows, x.c.cols, down ? 1 : line, down ? line : 1, matrix}, x.k, x.batch, {1, 0, {}, false}};
  if (!gemm_as_planned<true>(where, partial, a_along_k, b_along_k, plan)) return false;
  combine_splits<sum_type>(where, down ? x.exchanged() : x, sums, line, plan.splits);
  return true;
}

/// What mma.sync takes for doubles, with each of its tiles.
template <class TC, class S, class Epilogue>
auto plan_doubles(const gemm_problem<double, double, TC, S, Epilogue>& x, const machine& on) {
  const auto plan = [&](const gemm_cost& cost) { return plan_gemm(cost, x.c.rows, x.c.cols, x.k, x.batch, on); };
  struct plans {
    gemm_plan large, small;
  };
  constexpr auto type = simt::mma_type::float64;
  return plans{plan(mma_cost_of<type, double, large_double_tile>(on)),
               plan(mma_cost_of<type, double, small_double_tile>(on))};
}

/// Doubles, in tiles of 128 x 128. Where a last round would have few of them, the others do without it: those tiles, the
/// last rows of the last columns, are left to mma.sync, with k in as many splits as there are multiprocessors for.
template <class TC, class S, class Epilogue>
bool gemm_of_doubles(const device_policy& where, const gemm_problem<double, double, TC, S, Epilogue>& x, bool a_along_k,
                     bool b_along_k) {
  constexpr std::int64_t side = 128;
  const machine& on = machine_of(where);
  const double clocks_of_k = 1.055 * double(side * side) / on.tensor_rate(sizeof(double));
  const double two_launches = on.clocks_of(5.698e-6);  // 10000 of an H100
  const int processors = on.multiprocessors;
  const std::int64_t tiles_m = ceil_div(x.c.rows, side), tiles_n = ceil_div(x.c.cols, side),
                     last = tiles_m * tiles_n % processors;
  const std::int64_t last_group = (tiles_m - 1) % wgmma_group + 1, cols = ceil_div(last, last_group),
                     rows = cols > 1 ? last_group : last;
  wgmma_plan plan{1};
  auto rest = x;
  if constexpr (!epilogue_uses_index<Epilogue, S>)
    if (x.batch == 1 && last > 0 && tiles_m * tiles_n > processors && cols <= tiles_n) {
      const std::int64_t row = (tiles_m - rows) * side, col = (tiles_n - cols) * side;
      rest.a = {x.a.data + row * x.a.stride, x.a.extent - row, x.a.stride, x.a.k_stride, 0};
      rest.b = {x.b.data + col * x.b.stride, x.b.extent - col, x.b.stride, x.b.k_stride, 0};
      rest.c.data += row * x.c.row_stride + col * x.c.col_stride;
      rest.c.rows -= row;
      rest.c.cols -= col;
      const auto [large, small] = plan_doubles(rest, on);
      if (min(large.clocks, small.clocks) + two_launches < clocks_of_k * double(x.k)) plan.left_out = rows * cols;
    }
  if (!gemm_as_planned<true>(where, x, a_along_k, b_along_k, plan)) return false;
  if (plan.left_out > 0)
    gemm_on_tensor_cores<simt::mma_type::float64, large_double_tile, small_double_tile>(where, rest);
  return true;
}

/// Enqueues a product where this path can do it and pays; says whether it has. A and B: half, bfloat16, 8-bit integers, or
/// floats that may be taken as tf32. What TMA cannot read is copied first (gemm/repack.hpp); that, and sums of
/// splits, need scratch memory.
template <class P, class T, class TC, class S, class Epilogue>
bool gemm_by_wgmma(const P& where, gemm_problem<T, T, TC, S, Epilogue> x) {
  constexpr bool is_float = std::is_same_v<T, float>;
  constexpr bool is_double = std::is_same_v<T, double>;
  if constexpr (gpu_execution<P> && (is_float || mma_type_of<T> != simt::mma_type::none) && sizeof(TC) >= 2 &&
                sizeof(TC) <= 8) {
    constexpr std::int64_t most = std::int64_t(1) << 31;
    if (x.k == 0 || x.k >= most || x.c.rows >= most || x.c.cols >= most || x.batch >= most ||
        !wgmma_available<simt::wgmma_probe>(launch_device()))
      return false;
    bool a_along_k = is_read_by_words(x.a, true, x.batch), b_along_k = is_read_by_words(x.b, true, x.batch);
    constexpr bool only_along_k = sizeof(T) == 1;
    bool a_ready = a_along_k || (!only_along_k && is_read_by_words(x.a, false, x.batch)),
         b_ready = b_along_k || (!only_along_k && is_read_by_words(x.b, false, x.batch));
    if (!a_ready) a_along_k = only_along_k || x.a.stride != 1;
    if (!b_ready) b_along_k = only_along_k || x.b.stride != 1;
    if (is_float && !a_along_k && !b_along_k) {  // one of them has to be
      const bool a = b_ready ? !a_ready || x.c.rows < x.c.cols : false;
      (a ? a_along_k : b_along_k) = true;
      (a ? a_ready : b_ready) = false;
    }
    // Doubles of C that one lane has are neighbours in memory if C is column-major.
    if (is_float ? !b_along_k : is_double && (a_along_k == b_along_k ? x.c.col_stride == 1 : a_along_k)) {
      x = x.exchanged();
      std::swap(a_along_k, b_along_k);
      std::swap(a_ready, b_ready);
    }
    wgmma_plan plan{1};
    const machine& on = machine_of(where);
    if constexpr (is_double) {
      // Smaller tiles, or splits of k, are faster where those of 128 x 128 do not fill the machine.
      const auto [large, small] = plan_doubles(x, on);
      if (large.splits > 1 || small.clocks < large.clocks) return false;
    } else {
      const std::int64_t k_tiles = ceil_div(x.k, std::int64_t(128 / sizeof(T)));
      // What mma.sync takes, clocks of an H100: to start, and by the products in a clock of a multiprocessor.
      constexpr double start = is_float ? 15000 : 9000, rate = is_float ? 110 : 300;
      const double products = double(x.c.rows) * double(x.c.cols) * double(x.batch) * double(x.k);
      const double others =
          start + max(memory_clocks(x.c.rows + x.c.cols, k_tiles, x.batch, on), products / (on.multiprocessors * rate));
      // An operand that straddles lines of the cache is copied too where that pays.
      const bool a_straddles = a_ready && straddles_lines(x.a, a_along_k, x.k),
                 b_straddles = b_ready && straddles_lines(x.b, b_along_k, x.k);
      const auto copy_clocks = [&](const gemm_operand<T>& y, bool along_k) {
        return on.clocks_of(2.564e-6) + double(repacked_bytes(y, along_k, x.k, x.batch)) / (0.4375 * on.memory_rate());
      };
      double least = 0;
      bool copies_a = false, copies_b = false;
      for (const bool copy_a : {false, true})
        for (const bool copy_b : {false, true}) {
          if (copy_a > a_straddles || copy_b > b_straddles) continue;
          const double asked_again = 1.9;
          const wgmma_plan next =
              plan_wgmma(is_float ? 3 : 4, x.c.rows, x.c.cols, k_tiles, x.batch, on,
                         {a_straddles && !copy_a ? asked_again : 1, b_straddles && !copy_b ? asked_again : 1});
          const double clocks = next.clocks + (copy_a || (is_float && !a_ready) ? copy_clocks(x.a, a_along_k) : 0) +
                                (copy_b || (is_float && !b_ready) ? copy_clocks(x.b, b_along_k) : 0);
          if (least > 0 && clocks >= least) continue;
          least = clocks, plan = next, copies_a = copy_a, copies_b = copy_b;
        }
      if (least > others) return false;
      a_ready = a_ready && !copies_a;
      b_ready = b_ready && !copies_b;
    }
    const std::int64_t a_bytes = a_ready ? 0 : repacked_bytes(x.a, a_along_k, x.k, x.batch),
                       b_bytes = b_ready ? 0 : repacked_bytes(x.b, b_along_k, x.k, x.batch);
    scratch memory(where, scratch_bytes({checked_bytes(a_bytes, 1, "gemm"), checked_bytes(b_bytes, 1, "gemm")}), 0);
    if (a_bytes > 0) repack(where, x.a, a_along_k, x.k, x.batch, memory.template take<std::byte>(a_bytes));
    if (b_bytes > 0) repack(where, x.b, b_along_k, x.k, x.batch, memory.template take<std::byte>(b_bytes));
    if constexpr (is_double) {
      return gemm_of_doubles(where, x, a_along_k, b_along_k);
    } else {
      if (plan.splits > 1) return gemm_in_splits(where, x, a_along_k, b_along_k, plan);
      return gemm_as_planned(where, x, a_along_k, b_along_k, plan);
    }
  }
  return false;
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop

#else

namespace pmpp::inline PMPP_BACKEND::detail {

template <class P, class Problem>
bool gemm_by_wgmma(const P&, const Problem&) {
  return false;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#endif
