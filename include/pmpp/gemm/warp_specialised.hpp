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
//   5. Blocks that share a tile are a cluster, where up to eight do: one of them gets the sums of the others in its shared memory, and adds up,
//      in order. Others leave their sums in memory; the last one adds up, in order too: the same bits on every run.
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

#include <cstdint>
#include <type_traits>

#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/gemm/parts.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/schedule.hpp>
#include <pmpp/gemm/staged_store.hpp>
#include <pmpp/gemm/wgmma_doubles.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/tensor_copy.hpp>
#include <pmpp/simt/wgmma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// How many columns of C a block works out at a time, a multiple of 32; stages in shared memory; slices of C there, at least two, for
/// each of the consumers.
struct wgmma_tile {
  int n, stages, slices;
};

/// Tiles follow each other down this many rows of them.
inline constexpr std::int64_t wgmma_group = 16;

/// What consumers that multiply by scales find in shared memory beside the stages.
template <bool IsScaled, class Windows, class Kernel>
struct scales_in_shared {
  struct type {};
};
template <class Windows, class Kernel>
struct scales_in_shared<true, Windows, Kernel> {
  using type = typename Windows::template scales_in_shared<Kernel>;
};

/// Both operands are matrices. (One of a convolution layer is not: convolution_layer/wgmma.hpp.)
struct no_windows {};

/// What rows of an operand in shared memory go along; either: the arguments say, and a loop over k is there for each.
enum class rows_along { k, mn, either };

/// A, B: how the operands lie. Windows: of parts of floats, the floats.
template <class T, class TC, class S, class Epilogue, wgmma_tile Tile, rows_along A, rows_along B,
          c_written C = c_written::either, class Windows = no_windows>
struct gemm_wgmma_kernel {
  static constexpr int threads = 3 * 128;
  static constexpr bool begins_early = true;
  static constexpr int row_bytes = 128, depth = row_bytes / sizeof(T);  ///< of a stage, along k
  static constexpr int m = 128, n = Tile.n, consumers = 2, stages = Tile.stages;
  static constexpr c_written way = C;
  static constexpr bool is_double = std::is_same_v<T, double>;
  static constexpr bool is_scaled = requires { Windows::multiplies; };  ///< consumers multiply otherwise
  /// Rows of A and C lie in groups, each with a B of its own (gemm_grouped/wgmma.hpp).
  static constexpr bool is_grouped = requires { Windows::groups_rows; };
  /// A warp of the producer's that copies scales of rows and columns needs some; a consumer of fewer columns has them.
  static constexpr int producer_registers = is_scaled && n < 256 ? 72 : 40;
  using sum_type = std::conditional_t<is_double, double, std::conditional_t<sizeof(T) == 1 && !is_scaled, int, float>>;
  static constexpr bool a_in_registers = std::is_same_v<T, float> && A == rows_along::mn;
  static constexpr bool can_go_down = C == c_written::down || (C == c_written::either && a_in_registers);
  static constexpr bool can_share =
      !is_double && !is_grouped && n < 256;  ///< blocks, a tile: beside 128 sums 240 bytes would spill
  /// Elements are parts of floats: stages hold all parts of a k-tile, whose products are added up in order (gemm/parts.hpp).
  static constexpr bool in_parts = std::is_same_v<T, bfloat16_part>;
  static constexpr int parts = in_parts ? parts_of_float : 1;
  /// An operand is looked up in images.
  static constexpr bool looks_up = !in_parts && !is_scaled && !is_grouped && !std::is_same_v<Windows, no_windows>;
  /// Lanes can make pairs of a row of C.
  static constexpr bool pairs_across = is_double && A == rows_along::mn && B == rows_along::k;
  static_assert(sizeof(T) == 2 || (A != rows_along::either && B != rows_along::either));
  static_assert(!is_double || n == 128);
  /// Rows of such a tile would end within a slice of C.
  static_assert(n % 64 == 0 || (n % 32 == 0 && C == c_written::down && B == rows_along::k));
  static_assert(!in_parts || (n == 128 && A == rows_along::k && B == rows_along::k && depth == part_k_tile));
  static_assert(!std::is_same_v<T, float> || (B == rows_along::k && (!a_in_registers || n >= 128)));

  using store = staged_store<gemm_wgmma_kernel, TC, S, Epilogue>;
  using doubles = consumers_of_doubles<gemm_wgmma_kernel, TC, A == rows_along::mn, B == rows_along::mn>;
  static constexpr int staged_slices = Tile.slices, slice_bytes = 64 * row_bytes;

  struct shared {
    struct alignas(1024) stage {  // the swizzle repeats every 1024 bytes
      unsigned char a[parts * m * row_bytes], b[parts * n * row_bytes];
    } stages[Tile.stages];
    unsigned char slices[consumers][is_double ? 1 : Tile.slices][is_double ? 16 : slice_bytes];  // of C
    bool is_last;                              // of the blocks that share a tile
    simt::transaction_barrier may_send, sent;  // sums, in a cluster
    block::tensor_pipeline<Tile.stages> ring;
    [[no_unique_address]] typename scales_in_shared<is_scaled, Windows, gemm_wgmma_kernel>::type scales;
  };

  /// Parts of a tile that fit into the stages of a block.
  static constexpr int most_parts_sent = int(Tile.stages * sizeof(typename shared::stage) / (m * n * 4));

  struct arguments {
    simt::tile_map a, b, to;
    gemm_target<TC> c;
    raster<wgmma_group> order;
    int tiles_n, tiles;         ///< of a row of tiles, of all products
    divisor splits{};           ///< blocks that share each tile,
    bool in_clusters = false;   ///< and are a cluster then, which has no other tile
    int k_tiles;                ///< of a tile
    sum_type* partials;         ///< of each part of each tile
    unsigned* arrivals;         ///< of blocks at each tile: zero
    bool batch_a, batch_b;      ///< whether each product has a matrix of its own
    bool a_along_m, b_along_n;  ///< what rows of stages go along
    gemm_result<S, Epilogue> result;
    bool down;      ///< C is written along columns
    bool c_by_tma;  ///< TMA can read and write C
    Windows windows;
    simt::tile_map edge_a, edge_b;         ///< for tiles at the edges of C, along k: no more rows than there are,
    int edge_rows_a = m, edge_rows_b = n;  ///< so many, up to a few that complete 8, or a box

    PMPP_HOST_DEVICE int parts() const { return static_cast<int>(splits.value()); }
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()([[maybe_unused]] Block& block, [[maybe_unused]] shared& memory,
                                   [[maybe_unused]] const arguments& x) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
    // Arguments come from memory, 64 bytes at a time: each warp asks for others, so that they are on their way together.
    simt::fetch_arguments(x, block.warp() * 64);
    if (block.thread() == 0) {
      simt::fetch_description(x.a);
      simt::fetch_description(x.b);
      if constexpr (!looks_up) {
        simt::fetch_description(x.edge_a);
        simt::fetch_description(x.edge_b);
      }
      int writers = 1;
      if constexpr (is_scaled) writers += x.windows.writers();
      if constexpr (can_share) {
        memory.may_send.init(consumers);
        memory.sent.init(1);
      }
      memory.ring.init(is_double || is_scaled ? 4 * consumers : consumers, writers);
    }
    if (can_share && x.in_clusters)
      simt::clusters_begin();
    else
      block.sync();
    simt::previous_kernels_done();
    // (In this order ptxas lays out the producer's code first, from where it begins everything.)
    if (block.warp() >= 4) {
      simt::acquire_registers<252 - producer_registers / 2>();
      if constexpr (is_double)
        doubles::consume(block, memory, x);
      else
        consume(block, memory, x);
    } else {
      simt::release_registers<producer_registers>();
      // The warp's number comes from a lane, and one lane is elected: so ptxas keeps operands of copies in uniform registers.
      if (block.shuffle(block.warp(), 0) == 0 && simt::elect_one()) produce(block, memory, x);
      if constexpr (is_scaled)
        if (block.warp() == 1) x.windows.template copy_scales<gemm_wgmma_kernel>(block, memory, x);
      if constexpr (is_grouped)
        if (block.warp() == 1 && block.index() == 0) x.windows.count_left_out(block);
    }
#endif
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
  /// A tile, and which of its k-tiles a block multiplies.
  struct coord {
    int tile, part, batch, row, col;
    int first_k_tile, k_tiles;
    bool is_whole;
    std::int64_t end_row;  ///< of C, where this product ends
    int batch_c;
    bool c_by_tma;  ///< TMA can read and write this tile of C

    __device__ coord(const arguments& x, int own, const tile_place& at, int part_, int first, int count)
        : tile(own),
          part(part_),
          first_k_tile(first),
          k_tiles(count),
          is_whole(!can_share || x.parts() == 1),
          end_row(x.c.rows),
          c_by_tma(x.c_by_tma) {
      batch = batch_c = static_cast<int>(at.matrix);
      row = static_cast<int>(at.row * m);
      col = static_cast<int>(at.col * n);
    }
    /// Moves it to the rows of a group. TMA would write those of the next one too.
    __device__ void move_to(int group, int begin, int end) {
      batch = group;
      row += begin;
      end_row = end;
      c_by_tma = c_by_tma && row + m <= end;
    }
  };

  using position = block::stage_position<Tile.stages>;

  /// Calls f<Down>(), as C is written.
  template <class F>
  __device__ __forceinline__ static void in_direction(const arguments& x, F f) {
    if (can_go_down && (C == c_written::down || x.down))
      f.template operator()<can_go_down>();
    else if constexpr (C != c_written::down)
      f.template operator()<false>();
  }

  /// Calls f(coord) for each tile of this block, or each part of one.
  template <class Block, class F>
  __device__ __forceinline__ static void each_tile(Block& block, const arguments& x, F f) {
    if constexpr (is_grouped) {
      x.windows.template each_tile<m>(block, x.tiles_n, [&](int group, int begin, int end, int tile) {
        const raster<wgmma_group, division> order(ceil_div(end - begin, m), x.tiles_n);
        coord at(x, tile, order(static_cast<std::uint32_t>(tile)), 0, 0, x.k_tiles);
        at.move_to(group, begin, end);
        f(at);
      });
      return;
    }
    const int splits = can_share ? x.parts() : 1, end = x.tiles * splits;
    for (int unit = static_cast<int>(block.index()); unit < end; unit += static_cast<int>(block.count())) {
      int tile = unit, part = 0, first = 0, end_k_tile = x.k_tiles;
      if (splits > 1) {
        const auto quotient = [&](int y) { return static_cast<int>(x.splits.quotient(static_cast<std::uint32_t>(y))); };
        tile = quotient(unit);
        part = unit - tile * splits;
        first = quotient(x.k_tiles * part);
        end_k_tile = quotient(x.k_tiles * (part + 1));
      }
      f(coord(x, tile, x.order(static_cast<std::uint32_t>(tile)), part, first, end_k_tile - first));
    }
  }

  /// Calls f<AlongMA, AlongNB>(), as the operands lie: loops over k know it.
  template <class F>
  __device__ __forceinline__ static void by_layout(const arguments& x, F f) {
    const auto by = [&]<bool AlongMA, bool AlongNB>() __attribute__((always_inline)) {
      constexpr bool is_there =
          A != (AlongMA ? rows_along::k : rows_along::mn) && B != (AlongNB ? rows_along::k : rows_along::mn);
      if constexpr (is_there) f.template operator()<AlongMA, AlongNB>();
    };
    const bool a_along_m = A == rows_along::mn || (A == rows_along::either && x.a_along_m),
               b_along_n = B == rows_along::mn || (B == rows_along::either && x.b_along_n);
    if (a_along_m)
      b_along_n ? by.template operator()<true, true>() : by.template operator()<true, false>();
    else
      b_along_n ? by.template operator()<false, true>() : by.template operator()<false, false>();
  }

  template <class Block>
  __device__ __forceinline__ static void produce(Block& block, shared& memory, const arguments& x) {
    position next;
    each_tile(block, x, [&](const coord& at) {
      if constexpr (looks_up)
        return produce_windows(memory, x, at, next);
      else
        by_layout(x, [&]<bool AlongMA, bool AlongNB>() { produce_tile<AlongMA, AlongNB>(memory, x, at, next); });
      if constexpr (is_double) return;
      if (store::fetches(x, at))
        in_direction(x, [&]<bool Down>() { store::template fetch<Down>(memory, x, at, next); });
    });
  }

  template <bool AlongMA, bool AlongNB>
  __device__ __forceinline__ static void produce_tile(shared& memory, const arguments& x, const coord& at,
                                                      position& next) {
    const int batch_a = x.batch_a ? at.batch : 0, batch_b = x.batch_b ? at.batch : 0;
    // Rows beyond an edge are not asked for: they took TMA several times as long as others (H200). What a stage holds there makes sums that
    // are not written.
    const bool edge_a = is_grouped ? x.c.rows < m : at.row + m > x.c.rows, edge_b = at.col + n > x.c.cols;
    const int rows_a = edge_a ? x.edge_rows_a : m, rows_b = edge_b ? x.edge_rows_b : n;
    const simt::tile_map &a = edge_a && !AlongMA ? x.edge_a : x.a, &b = edge_b && !AlongNB ? x.edge_b : x.b;
    for (int k_tile = 0; k_tile < at.k_tiles; ++k_tile, next.advance()) {
      auto& stage = memory.stages[next.stage];
      auto& full = memory.ring.acquire(next, parts * (rows_a + rows_b) * row_bytes);
      const int p = (at.first_k_tile + k_tile) * depth;
      if constexpr (in_parts) {
        for (int part = 0; part < parts; ++part) {
          simt::copy_tile(stage.a + part * m * row_bytes, a, full, p, at.row, batch_a * parts + part);
          simt::copy_tile(stage.b + part * n * row_bytes, b, full, p, at.col, batch_b * parts + part);
        }
        continue;
      }
      copy_rows<AlongMA>(stage.a, a, full, at.row, rows_a, p, batch_a);
      copy_rows<AlongNB>(stage.b, b, full, at.col, rows_b, p, batch_b);
    }
  }

  /// Asks for a k-tile of `rows` rows of an operand from `first` on, from p on along k. AlongMN: they lie along m (n).
  template <bool AlongMN>
  __device__ __forceinline__ static void copy_rows(unsigned char* to, const simt::tile_map& from,
                                                   simt::transaction_barrier& full, int first, int rows, int p,
                                                   int batch) {
    if constexpr (AlongMN)
#pragma unroll 1
      for (int i = 0; i < rows; i += depth) simt::copy_tile(to + i * row_bytes, from, full, first + i, p, batch);
    else
      simt::copy_tile(to, from, full, p, first, batch);
  }

  /// The same where an operand is looked up in images.
  __device__ static void produce_windows(shared& memory, const arguments& x, const coord& at, position& next) {
    auto k_tile = x.windows.first_k_tile(at.batch, at.row, at.col);
    for (int i = at.k_tiles; i > 0; --i, next.advance(), k_tile.advance(x.windows)) {
      auto& stage = memory.stages[next.stage];
      k_tile.copy(x.windows, x.a, x.b, stage.a, stage.b, memory.ring.acquire(next, sizeof stage.a + sizeof stage.b));
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
          else if constexpr (is_scaled)
            x.windows.template multiply<gemm_wgmma_kernel>(block, memory, x, at, next, sum);
          else if constexpr (in_parts)
            multiply_parts(block, memory, at.k_tiles, next, sum);
          else
            multiply(block, memory, x, at.k_tiles, next, sum);
          if (can_share && !at.is_whole &&
              !(x.in_clusters ? add_up_in_cluster(block, memory, x, at, sum) : add_up(block, memory, x, at, sum)))
            return;
          if constexpr (in_parts) repair(block, x, at, sum);
          in_direction(
              x, [&]<bool Down>() __attribute__((always_inline)) {
                store::template write<Down>(block, memory, x, at, next, turn, sum);
              });
        });
    if (block.thread() % 128 == 0) simt::copies_have_read<0>();
  }

  /// Of a tile that a cluster shares: sends the sums to its first block, which adds up in order, and is told so.
  template <class Block>
  __device__ __forceinline__ static bool add_up_in_cluster(Block& block, shared& memory, const arguments& x,
                                                           const coord& at, std::uint32_t (&sum)[n / 2]) {
    constexpr int all = 128 * consumers, words = n / 8;  // of 16 bytes, of each thread
    const int thread = block.thread() - 128;
    // The stages are free, as this tile is the only one.
    const auto place = [&](int part, int word) {
      return reinterpret_cast<unsigned char*>(&memory.stages[0]) + ((part * words + word) * all + thread) * 16;
    };
    const int first = at.row + block.warp() % 4 * 16 + (block.warp() / 4 - 1) * 64;
    const bool has_rows = first < x.c.rows || a_in_registers;
    if (at.part > 0) {
      memory.may_send.wait_for_cluster(0);
      if (has_rows)
#pragma unroll
        for (int i = 0; i < words; ++i) {
          const std::uint32_t four[4] = {sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]};
          simt::store_in_block(0, place(at.part - 1, i), memory.sent, four);
        }
      return false;
    }
    if (thread == 0) {
      const int warps = a_in_registers
                            ? 4 * consumers
                            : static_cast<int>(min<std::int64_t>(ceil_div(x.c.rows - at.row, std::int64_t(16)), 8));
      memory.sent.arrive_expecting((x.parts() - 1) * warps * simt::warp_size * words * 16);
    }
    if (thread % 128 == 0)
      for (int part = 1; part < x.parts(); ++part) memory.may_send.arrive_at(part);
    memory.sent.wait_for_cluster(0);
    if (has_rows)
      for (int part = 1; part < x.parts(); ++part)
#pragma unroll
        for (int i = 0; i < words; ++i) {
          const auto next = *reinterpret_cast<const simt::quad*>(place(part - 1, i));
#pragma unroll
          for (int e = 0; e < 4; ++e)
            sum[4 * i + e] = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(sum_type, sum[4 * i + e]) +
                                                                   __builtin_bit_cast(sum_type, next.word[e]));
        }
    return true;
  }

  /// Of a tile that several blocks share: publishes what this one has. The last of them adds up, in order, and is told so.
  template <class Block>
  __device__ __forceinline__ static bool add_up(Block& block, shared& memory, const arguments& x, const coord& at,
                                                std::uint32_t (&sum)[n / 2]) {
    constexpr int all = 128 * consumers, items = n / 2;
    const int thread = block.thread() - 128;
    const auto part = [&](int of) {
      return reinterpret_cast<std::uint32_t*>(x.partials) + (std::int64_t(at.tile) * x.parts() + of) * (items * all) +
             thread;
    };
    const bool has_rows = at.row + block.warp() % 4 * 16 + (block.warp() / 4 - 1) * 64 < x.c.rows || a_in_registers;
    if (has_rows) {
      std::uint32_t* const to = part(at.part);
#pragma unroll
      for (int i = 0; i < items; ++i) __stcg(to + i * all, sum[i]);
    }
    simt::fence();
    simt::warpgroups_sync(consumers + 1, all);
    if (thread == 0) {
      memory.is_last = simt::atomic_add(x.arrivals + at.tile, 1u) == x.splits.value() - 1;
      if (memory.is_last) simt::store(x.arrivals + at.tile, 0u);
    }
    simt::warpgroups_sync(consumers + 1, all);
    if (!memory.is_last) return false;
    simt::fence();
    if (has_rows)
      for (int of = 0; of < x.parts(); ++of) {
        const std::uint32_t* const from = part(of);
        constexpr int at_once = n > 128 ? 8 : 32;
#pragma unroll
        for (int i = 0; i < items; i += at_once) {
          std::uint32_t next[at_once];
#pragma unroll
          for (int e = 0; e < at_once; ++e) next[e] = __ldcg(from + (i + e) * all);
#pragma unroll
          for (int e = 0; e < at_once; ++e)
            sum[i + e] = of == 0 ? next[e]
                                 : __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(sum_type, sum[i + e]) +
                                                                         __builtin_bit_cast(sum_type, next[e]));
        }
      }
    return true;
  }

  /// Tells the producer that this warpgroup has read a stage; where consumers multiply by scales, that each warp has.
  template <class Block>
  __device__ static void release(Block& block, shared& memory, int stage) {
    if (block.thread() % (is_scaled ? simt::warp_size : 128) == 0) memory.ring.release(stage);
  }

  template <class Block>
  __device__ __forceinline__ static void multiply(Block& block, shared& memory, const arguments& x, int k_tiles,
                                                  position& next, std::uint32_t (&sum)[n / 2]) {
    // Products only add: where each loop's first one began the sums, ptxas would have products wait for each other.
#pragma unroll
    for (int i = 0; i < n / 2; ++i) sum[i] = 0;
    by_layout(
        x, [&]<bool AlongMA, bool AlongNB>()
               __attribute__((always_inline)) { multiply<AlongMA, AlongNB>(block, memory, k_tiles, next, sum); });
  }

  template <bool AlongMA, bool AlongNB, class Block>
  __device__ __forceinline__ static void multiply(Block& block, shared& memory, int k_tiles, position& next,
                                                  std::uint32_t (&sum)[n / 2]) {
    // The bytes from one step of k, 32 bytes deep, to the next.
    constexpr int step_a = AlongMA ? row_bytes * 32 / sizeof(T) : 32,
                  step_b = AlongNB ? row_bytes * 32 / sizeof(T) : 32;
    const int group = block.warp() / 4 - 1;
    const std::uint64_t first_a = simt::operand_in_shared(memory.stages[0].a + group * 64 * row_bytes, 16),
                        first_b = simt::operand_in_shared(memory.stages[0].b, depth * row_bytes);
    int last = 0;
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile, next.advance()) {
      memory.ring.wait(next);
      const auto bytes = static_cast<std::uint32_t>(next.stage * sizeof memory.stages[0]);
      const std::uint64_t a = simt::operand_after(first_a, bytes), b = simt::operand_after(first_b, bytes);
      simt::products_begin();
#pragma unroll
      for (int q = 0; q < row_bytes / 32; ++q)
        simt::multiply_rows<T, AlongMA, AlongNB, n>(sum, simt::operand_after(a, q * step_a),
                                                    simt::operand_after(b, q * step_b), true);
      simt::products_end();
      simt::products_wait<1>();
      if (k_tile > 0) release(block, memory, last);
      last = next.stage;
    }
    simt::products_wait<0>();
    simt::fence_accumulators(sum);
    release(block, memory, last);
  }

  /// The products of parts. Sums of tensor cores, which cut off, go on over one k-tile; others add them up. While one consumer does
  /// that, the other's products go on.
  template <class Block>
  __device__ __forceinline__ static void multiply_parts(Block& block, shared& memory, int k_tiles, position& next,
                                                        std::uint32_t (&sum)[n / 2]) {
    const int group = block.warp() / 4 - 1;
    float total[n / 2] = {};
    const auto each = [&](auto f) __attribute__((always_inline)) {
#pragma unroll
      for (int i = 0; i < n / 2; ++i)
        sum[i] = __builtin_bit_cast(std::uint32_t, f(__builtin_bit_cast(float, sum[i]), total[i]));
    };
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile, next.advance()) {
      memory.ring.wait(next);
      const auto& stage = memory.stages[next.stage];
      const std::uint64_t a = simt::operand_in_shared(stage.a + group * 64 * row_bytes, 16),
                          b = simt::operand_in_shared(stage.b, 16);
      simt::products_begin();
#pragma unroll
      for (int p = 0; p < part_products; ++p) {
#pragma unroll
        for (int q = 0; q < row_bytes / 32; ++q)
          simt::multiply_rows<T, false, false, n>(sum, a + part_of_a(p) * (m * row_bytes / 16) + q * 2,
                                                  b + part_of_b(p) * (n * row_bytes / 16) + q * 2, p + q > 0);
        if (!ends_scale(p) && p + 1 < part_products) continue;
        simt::products_end();
        simt::products_wait<0>();
        simt::fence_accumulators(sum);
        if (p + 1 == part_products) break;
        each([](float y, float&) __attribute__((always_inline)) { return y * (1 / scale_of_part); });
        simt::fence_accumulators(sum);
        simt::products_begin();
      }
      release(block, memory, next.stage);
      each([](float y, float& all) __attribute__((always_inline)) { return all += y; });
    }
    each([](float, float& all) __attribute__((always_inline)) { return all; });
  }

  /// Sums of parts that are not finite are worked out again.
  template <class Block>
  __device__ __forceinline__ static void repair(Block& block, const arguments& x, const coord& at,
                                                std::uint32_t (&sum)[n / 2]) {
    const int lane = block.lane(), row = at.row + (block.warp() / 4 - 1) * 64 + block.warp() % 4 * 16 + lane / 4,
              col = at.col + lane % 4 * 2;
    float values[n / 2];
#pragma unroll
    for (int i = 0; i < n / 2; ++i) values[i] = __builtin_bit_cast(float, sum[i]);
    x.windows.template repair<2, n / 4>(
        at.batch, [&](int h) { return std::int64_t(row + h * 8); },
        [&](int c) { return std::int64_t(col + c / 2 * 8 + c % 2); },
        [&](int h, int c) -> float& { return values[c / 2 * 4 + h * 2 + c % 2]; });
#pragma unroll
    for (int i = 0; i < n / 2; ++i) sum[i] = __builtin_bit_cast(std::uint32_t, values[i]);
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
      memory.ring.wait(next);
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
        for (int q = 0; q < 4; ++q)
          simt::multiply_rows<float, false, n>(sum, part[odd][q], b + q * 2, k_tile + odd + q > 0);
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

#endif
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop

#endif
