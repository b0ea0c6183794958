// SPDX-License-Identifier: Apache-2.0
//
// Matrix times vector: each element of A is read once and used once, so that memory is the limit.
//
//   A's rows lie in one piece: a group of lanes takes four rows at a time, 16 bytes of each a lane; what a lane reads
//     of x serves all four, and if rows are so short that they need one step, all rows that the group ever takes. The
//     sums of the lanes are added up by shuffles.
//   A's columns do: a lane takes 16 bytes of a column, the warps of a block different columns, and lanes that a short
//     column does not need others again; where there are fewer columns than that, a block takes more rows. The sums are
//     added up in shared memory. Where columns begin at odd addresses, a lane takes single elements of a few rows.
//   Otherwise, or where rows begin at odd addresses: as rows, one element a lane.
//
// Where there are fewer rows than the machine can read at once, the warps of a block share k, and k is split; the block that
// arrives last adds up the splits, in order. One launch, for a batch too; the same bits on every run.
// (PMPP ch. 6; the schedules of rows and columns are those of every BLAS.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What both kernels get. Each C has one column. Batched: there may be several products.
template <bool Batched, class TA, class TX, class TC, class A, class S, class Epilogue>
struct gemv_arguments {
  gemm_operand<TA> a;
  gemm_operand<TX> x;
  gemm_target<TC> c;
  std::int64_t k, split_k;
  std::uint32_t units;           ///< that all products are made of
  divisor of_product, of_split;  ///< how many of them a product has, and a split
  std::uint32_t splits;
  A* partials;         ///< of all splits of all products: `rows` each
  unsigned* arrivals;  ///< at the rows that a block has, of each product: zero
  gemm_result<S, Epilogue> result;
  int lane_bits;  ///< binary logarithm of the lanes that work on a row, or lie along a column: up to a warp, or the threads of a block
  bool x_in_words = false;  ///< as many elements of x as of A may be read at once
  bool shares = false;      ///< the warps of a block share a row's k (always those of a column)

  /// Number `unit` of all: which product, which split, which of its units.
  struct place {
    std::uint32_t product, split, unit;
  };
  PMPP_HOST_DEVICE place place_of(std::uint32_t unit) const {
    place at{0, 0, unit};
    if (Batched) {
      at.product = of_product.quotient(unit);
      at.unit -= at.product * of_product.value();
    }
    at.split = of_split.quotient(at.unit);
    at.unit -= at.split * of_split.value();
    return at;
  }
  PMPP_HOST_DEVICE A factor(std::int64_t product, std::int64_t p) const {
    return static_cast<A>(x.data[product * x.batch_stride + p * x.k_stride]);
  }
  /// Stores what one split has added up for a row.
  PMPP_HOST_DEVICE void store(const A& sum, std::int64_t row, const place& at) const {
    TC* to = c.data + at.product * c.batch_stride + row * c.row_stride;
    if (splits > 1)
      partials[std::int64_t(at.product * splits + at.split) * c.rows + row] = sum;
    else
      *to = result(sum, to, row, 0);
  }
  /// Called by all threads of a block that has stored its sums of a split of `rows` rows: the last of the splits to arrive adds them
  /// up.
  template <int Threads, class Block, class Shared>
  PMPP_HOST_DEVICE void add_up_splits(Block& block, Shared& memory, std::int64_t first_row, int rows,
                                      const place& at) const {
    simt::fence();
    block.sync();
    unsigned* const arrived = arrivals + at.product * of_split.value() + at.unit;
    if (block.thread() == 0) {
      memory.is_last = simt::atomic_add(arrived, 1u) == splits - 1;
      if (memory.is_last) simt::store(arrived, 0u);
    }
    block.sync();
    if (!memory.is_last) return;
    simt::fence();
    const A* const from = partials + std::int64_t(at.product * splits) * c.rows;
    TC* const to = c.data + at.product * c.batch_stride;
    const int groups = max(1, min(Threads / rows, 32)),
              group = block.thread() / rows;  // threads that share a row's splits
    for (int first = 0; first < rows; first += Threads) {
      const int own = first + (groups > 1 ? block.thread() % rows : block.thread());
      const std::int64_t row = first_row + own;
      const bool exists = own < rows && row < c.rows;
      A sum{};
      if (exists && groups == 1) sum = sum_of_splits(from + row, c.rows, splits);
      if (groups > 1) {
        const auto all = static_cast<int>(splits);
        if (exists && group < min(groups, all))
          sum = sum_of_splits(from + group * c.rows + row, groups * c.rows, (all - group + groups - 1) / groups);
        memory.sum[block.thread()] = sum;
        block.sync();
        for (int g = 1; g < groups && group == 0; ++g) sum += memory.sum[g * rows + own];
      }
      if (exists && group == 0) to[row * c.row_stride] = result(sum, to + row * c.row_stride, row, 0);
    }
  }
};

/// Items: elements of a row that a lane reads at once; k_stride is 1 if there are several.
template <bool Batched, class TA, class TX, class TC, class A, class S, class Epilogue, int Items>
struct gemv_rows_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, min_blocks = 2, warps = threads / simt::warp_size;
  static constexpr int rows = 4;
  /// In flight, of each row. The factors of bytes, each in a register of its own, leave room for one word.
  static constexpr int words = sizeof(A) > 8 ? 2 : Items == 1 ? 8 : Items <= 4 ? 4 : Items <= 8 ? 2 : 1;
  using arguments = gemv_arguments<Batched, TA, TX, TC, A, S, Epilogue>;

  struct shared {
    A sum[threads];  ///< where warps share k: the rows of each
    bool is_last;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& y) const {
    simt::previous_kernels_done();
    const int sharing = y.shares ? warps : 1, share = y.shares ? block.warp() : 0;  // warps of a row; which this is
    const int lanes = 1 << y.lane_bits, lane = block.lane() & (lanes - 1),
              group_bits = floor_log2(simt::warp_size) - y.lane_bits, step = lanes * Items;
    const bool one_step = !y.shares && y.k <= step * words;  // of all rows: its part of x stays in registers
    A x[words][Items];
    [[maybe_unused]] std::int64_t in_registers = 0;  // the product whose x is there
    if (one_step) load_factors(y, 0, lane * Items, step, y.k, x);
    const auto index = static_cast<std::uint32_t>(block.index()), count = static_cast<std::uint32_t>(block.count());
    for (std::uint32_t unit = y.shares ? index : index * warps + static_cast<std::uint32_t>(block.warp());
         unit < y.units; unit += y.shares ? count : count * warps) {
      const auto at = y.place_of(unit);
      const std::int64_t row = ((std::int64_t(at.unit) << group_bits) + (block.lane() >> y.lane_bits)) * rows;
      const std::int64_t k_begin = at.split * y.split_k, k_end = min(y.k, k_begin + y.split_k);
      if constexpr (Batched)
        if (one_step && in_registers != at.product) {
          load_factors(y, at.product, lane * Items, step, y.k, x);
          in_registers = at.product;
        }
      const TA* from[rows];  // rows that do not exist are the last one again
      for (int r = 0; r < rows; ++r)
        from[r] = y.a.data + at.product * y.a.batch_stride + min(row + r, y.c.rows - 1) * y.a.stride;
      A sum[rows] = {};
      std::int64_t k = k_begin + share * step * words + lane * Items;
      const auto add_step = [&](auto is_whole) {
        packed<TA, Items> a[words][rows] = {};
        for (int w = 0; w < words; ++w)
          for (int r = 0; r < rows; ++r)
            if (is_whole.value || k + w * step + Items <= k_end)
              a[w][r] = *reinterpret_cast<const packed<TA, Items>*>(from[r] + (k + w * step) * y.a.k_stride);
        if (!one_step) load_factors(y, at.product, k, step, is_whole.value ? k + step * words : k_end, x);
        for (int w = 0; w < words; ++w)
          for (int e = 0; e < Items; ++e)
            for (int r = 0; r < rows; ++r) sum[r] = multiply_add(sum[r], static_cast<A>(a[w][r].item[e]), x[w][e]);
        k += step * words * sharing;
      };
      while (k - lane * Items + step * words <= k_end) add_step(std::true_type{});
      if (k - lane * Items < k_end) add_step(std::false_type{});
      if (Items > 1 && share == 0)
        for (k = k_end - (k_end - k_begin) % Items + lane; k < k_end; k += lanes)  // less than a word
          for (int r = 0; r < rows; ++r)
            sum[r] = multiply_add(sum[r], static_cast<A>(from[r][k * y.a.k_stride]), y.factor(at.product, k));
      for (int bits = simt::warp_size / 2; bits > 0; bits /= 2) {
        if (bits >= lanes) continue;
        for (int r = 0; r < rows; ++r) sum[r] += block.shuffle_xor(sum[r], bits);
      }
      if (y.shares) {
        block.sync();  // those of the last rows have been read
        if (lane == 0)
          for (int r = 0; r < rows; ++r) memory.sum[share * rows + r] = sum[r];
        block.sync();
        if (block.thread() < rows && row + lane < y.c.rows) {
          for (int w = 1; w < warps; ++w) memory.sum[lane] += memory.sum[w * rows + lane];
          y.store(memory.sum[lane], row + lane, at);
        }
        if (y.splits > 1) y.template add_up_splits<threads>(block, memory, row, rows, at);
      } else if (lane == 0) {
        for (int r = 0; r < rows; ++r)
          if (row + r < y.c.rows) y.store(sum[r], row + r, at);
      }
    }
  }

private:
  /// What a lane's words of a step, the first at k, are multiplied by: zero where there is no whole word.
  PMPP_HOST_DEVICE static void load_factors(const arguments& y, std::int64_t product, std::int64_t k, int step,
                                            std::int64_t k_end, A (&x)[words][Items]) {
    const auto load = [&](auto in_words) {
      for (int w = 0; w < words; ++w) {
        packed<TX, Items> word = {};
        const TX* const from = y.x.data + product * y.x.batch_stride + (k + w * step) * y.x.k_stride;
        if (k + w * step + Items <= k_end) {
          if constexpr (in_words.value)
            word = *reinterpret_cast<const packed<TX, Items>*>(from);
          else
            for (int e = 0; e < Items; ++e) word.item[e] = from[e * y.x.k_stride];
        }
        for (int e = 0; e < Items; ++e) x[w][e] = static_cast<A>(word.item[e]);
      }
    };
    y.x_in_words ? load(std::true_type{}) : load(std::false_type{});
  }
};

inline constexpr int gemv_few = 2;  ///< columns that need no sums of several lanes

/// Items: rows of a lane. Adjacent: they are a word that a lane reads at once, in every column; otherwise neighbours of a row are
/// in other lanes, so that words of memory that begin anywhere are read whole by the warp. The stride of rows is 1.
template <bool Batched, class TA, class TX, class TC, class A, class S, class Epilogue, int Items, bool Adjacent>
struct gemv_columns_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, min_blocks = sizeof(A) < 8 ? 3 : 2, warps = threads / simt::warp_size;
  static constexpr int depth = Items < 16 ? 8 : 4;  ///< columns of a lane in flight
  static constexpr int at_once = 4;                 ///< units, of gemv_few columns, of which a lane has rows at a time
  using arguments = gemv_arguments<Batched, TA, TX, TC, A, S, Epilogue>;

  struct shared {
    A sum[threads * Items];  ///< the rows of the block, by those who share its columns
    bool is_last;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& y) const {
    simt::previous_kernels_done();
    if constexpr (!Adjacent)
      if (y.k <= gemv_few) return multiply_few(block, y);
    const auto count = static_cast<std::uint32_t>(block.count());
    for (auto unit = static_cast<std::uint32_t>(block.index()); unit < y.units; unit += count) {
      const auto at = y.place_of(unit);
      add_up(block, memory, y, at);
      block.sync();  // the sums are read before those of the next unit are written
      if (y.splits == 1) continue;
      const int rows = Items << y.lane_bits;
      y.template add_up_splits<threads>(block, memory, std::int64_t(at.unit) * rows, rows, at);
      block.sync();
    }
  }

private:
  /// All rows of a few columns, each by one lane.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply_few(Block& block, const arguments& y) {
    const auto count = static_cast<std::uint32_t>(block.count());
    for (auto first = static_cast<std::uint32_t>(block.index()); first < y.units; first += at_once * count) {
      TA a[at_once][Items][gemv_few] = {};
      A x[at_once][gemv_few] = {};
      const auto for_each_row = [&](auto f) {
        for (int u = 0; u < at_once; ++u) {
          const std::uint32_t unit = first + static_cast<std::uint32_t>(u) * count;
          if (unit >= y.units) break;
          const auto at = y.place_of(unit);
          const std::int64_t row = std::int64_t(at.unit) * (threads * Items) + block.thread();
          for (int e = 0; e < Items; ++e)
            if (row + e * threads < y.c.rows) f(at, u, e, row + e * threads);
        }
      };
      for_each_row([&](const auto& at, int u, int e, std::int64_t row) {
        const TA* const from = y.a.data + at.product * y.a.batch_stride + row;
        for (int d = 0; d < gemv_few; ++d)
          if (d < y.k) a[u][e][d] = from[d * y.a.k_stride];
        for (int d = 0; d < gemv_few; ++d)
          if (e == 0 && d < y.k) x[u][d] = y.factor(at.product, d);
      });
      for_each_row([&](const auto& at, int u, int e, std::int64_t row) {
        A sum{};
        for (int d = 0; d < gemv_few; ++d) sum = multiply_add(sum, static_cast<A>(a[u][e][d]), x[u][d]);
        y.store(sum, row, at);
      });
    }
  }
  template <class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, shared& memory, const arguments& y,
                                      const typename arguments::place& at) {
    const int lanes = 1 << y.lane_bits, rows = lanes * Items, columns = threads >> y.lane_bits;  // of a block at a time
    const int lane = block.thread() & (lanes - 1), next = Adjacent ? 1 : min(lanes, simt::warp_size);
    const int own = Adjacent ? lane * Items : lane / simt::warp_size * simt::warp_size * Items + lane % simt::warp_size;
    // A lane reads the last row again for rows that do not exist. A word that ends below the last row lies, but for the last
    // column, before the next column, which begins at a word: it is read whole.
    const std::int64_t first = std::int64_t(at.unit) * rows, last = y.c.rows - 1, row = min(first + own, last);
    const std::int64_t begin = Adjacent ? row / Items * Items : row;
    const bool ends_below = Adjacent && begin + Items > y.c.rows;
    const int group = block.thread() >> y.lane_bits;
    const std::int64_t k_begin = at.split * y.split_k + group, k_end = min(y.k, std::int64_t(at.split + 1) * y.split_k);
    const TA* from = y.a.data + at.product * y.a.batch_stride + begin + k_begin * y.a.k_stride;
    const TX* factor = y.x.data + at.product * y.x.batch_stride + k_begin * y.x.k_stride;
    const std::int64_t step = columns * y.a.k_stride, factor_step = columns * y.x.k_stride;
    [[maybe_unused]] int offset[Items] = {};
    if constexpr (!Adjacent)
      for (int e = 0; e < Items; ++e) offset[e] = static_cast<int>(min(first + own + e * next, last) - begin);
    std::int64_t left = min(k_end, y.k - ends_below) - k_begin;  // columns, from the next of this lane's on
    A sum[Items] = {};
    // All loads of a step are on their way before the first is used, also where columns are missing.
    const auto add_step = [&](auto all_columns) {
      packed<TA, Items> a[depth] = {};
      A x[depth];
      for (int d = 0; d < depth; ++d, from += step, factor += factor_step) {
        const bool exists = all_columns.value || d * columns < left;
        if constexpr (Adjacent) {
          if (exists) a[d] = *reinterpret_cast<const packed<TA, Items>*>(from);
        } else {
          for (int e = 0; e < Items; ++e)
            if (exists) a[d].item[e] = from[offset[e]];
        }
        x[d] = exists ? static_cast<A>(*factor) : A{};
      }
      left -= depth * columns;
      for (int d = 0; d < depth; ++d)
        for (int e = 0; e < Items; ++e) sum[e] = multiply_add(sum[e], static_cast<A>(a[d].item[e]), x[d]);
    };
    while (left > (depth - 1) * columns) add_step(std::true_type{});
    if (left > 0) add_step(std::false_type{});
    if (ends_below && k_end == y.k && ((y.k - 1 - at.split * y.split_k) & (columns - 1)) == group)
      for (int e = 0; e < Items; ++e)
        if (begin + e <= last)
          sum[e] = multiply_add(
              sum[e], static_cast<A>(y.a.data[at.product * y.a.batch_stride + begin + e + (y.k - 1) * y.a.k_stride]),
              y.factor(at.product, y.k - 1));
    for (int bits = simt::warp_size / 2; bits >= lanes; bits /= 2)  // lanes that have the same rows
      for (int e = 0; e < Items; ++e) sum[e] += block.shuffle_xor(sum[e], bits);
    const int groups = min(columns, warps), summed = lanes < simt::warp_size ? block.warp() : group;
    if (block.lane() < lanes)
      for (int e = 0; e < Items; ++e) memory.sum[summed * rows + own + e * next] = sum[e];
    block.sync();
    for (int i = block.thread(); i < rows; i += threads) {
      if (first + i >= y.c.rows) break;
      A total = memory.sum[i];
      for (int g = 1; g < groups; ++g) total += memory.sum[g * rows + i];
      y.store(total, first + i, at);
    }
  }
};

/// How k is split, and what that takes: waiting, and memory, in units of 0.5 us of an H100.
struct gemv_plan {
  std::int64_t share;
  double waits, memory;
  double time() const { return waits + memory; }
};

/// How k is split among `blocks` blocks that have all of it, `steps` each: in `share` steps.
///
/// A step of a block takes one unit until its loads arrive, while `resident` blocks share a multiprocessor;
/// and `memory` of a multiprocessor's share of memory. Ends of a block take one, that splits meet three, and 64 of them another one.
inline gemv_plan plan_gemv(std::int64_t blocks, std::int64_t steps, std::int64_t processors, std::int64_t resident,
                           std::int64_t memory) {
  const auto plan = [&](std::int64_t splits, std::int64_t share) -> gemv_plan {
    const std::int64_t all = blocks * splits, rounds = ceil_div(all, processors * resident);
    return {share, double(rounds * (share + 1) + (splits > 1 ? 3 + splits / 64 : 0)),
            double(memory * share * all) / double(processors)};
  };
  gemv_plan best = plan(1, steps);
  for (int waves = 1; waves <= 16; ++waves) {
    const std::int64_t wanted = waves * processors / blocks;
    if (wanted < 2) continue;
    const std::int64_t share = ceil_div(steps, wanted), splits = ceil_div(steps, share);
    if (splits < 2) continue;
    if (const gemv_plan next = plan(splits, share); next.time() < best.time()) best = next;
  }
  return best;
}

/// Clocks of a call on an H200; and how much longer than plans say waits and memory take there, and memory than for a copy. Fitted to
/// times of random shapes beside other ways (benchmark/gemm_sweep).
struct gemv_cost {
  double start, waits, steps, memory;
};
/// Of elements of so many bytes.
constexpr gemv_cost gemv_cost_of(std::size_t bytes) {
  return bytes <= 2   ? gemv_cost{8580, 1.25, 0.792, 1.11}
         : bytes == 4 ? gemv_cost{6580, 0.948, 0.925, 0.978}
                      : gemv_cost{7000, 0.84, 0.84, 0.84};
}

/// Enqueues products whose C have one column, or runs them in the emulator. Returns the clocks that this is expected to take; nothing
/// else happens if they are `only_asked` for.
template <class A, bool Batched, class P, class TA, class TB, class TC, class S, class Epilogue>
double gemv_on_blocks(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, bool only_asked = false) {
  constexpr int vector = 16 % sizeof(TA) == 0 ? int(16 / sizeof(TA)) : 1;
  constexpr int few = min(vector, 4);  // elements that a lane reads one by one
  constexpr std::int64_t one = 1;
  const machine& on = machine_of(where);
  const std::int64_t m = x.c.rows, processors = on.multiprocessors;
  const gemv_cost cost = gemv_cost_of(sizeof(TA));
  const double memory_scale = 2.9e12 / on.memory_bandwidth;
  const bool columns = x.a.stride == 1 && x.a.k_stride != 1;
  const auto whole = [](std::int64_t stride) { return stride % vector == 0; };
  const bool a_in_words = reinterpret_cast<std::uintptr_t>(x.a.data) % 16 == 0 && (columns || x.a.k_stride == 1) &&
                          (columns ? x.k == 1 || whole(x.a.k_stride) : m == 1 || whole(x.a.stride)) &&
                          (x.batch == 1 || whole(x.a.batch_stride));
  const bool x_in_words = x.b.k_stride == 1 &&
                          reinterpret_cast<std::uintptr_t>(x.b.data) % (vector * sizeof(TB)) == 0 &&
                          (x.batch == 1 || whole(x.b.batch_stride));
  const auto run = [&]<class Kernel>(Kernel kernel, std::int64_t row_blocks, std::int64_t split_k,
                                     std::int64_t most_blocks, std::int64_t units_of_block, int lanes, bool shares,
                                     const gemv_plan& plan) {
    const double steps = on.clocks_of(0.5e-6) * (cost.waits * plan.waits + cost.steps * memory_scale * plan.memory),
                 clocks = cost.start + max(steps, cost.memory * clocks_of_memory(x, on));
    if (only_asked) return clocks;
    const std::int64_t splits = max(one, ceil_div(x.k, split_k)), units = row_blocks * splits * x.batch;
    scratch memory(where, splits > 1 ? checked_bytes(x.batch * splits * m, sizeof(A), "gemv") : 0,
                   splits > 1 ? checked_bytes(x.batch * row_blocks, sizeof(unsigned), "gemv") : 0);
    pmpp::launch(where, min(ceil_div(units, units_of_block), most_blocks), kernel,
                 typename Kernel::arguments{x.a, x.b, x.c, x.k, split_k, static_cast<std::uint32_t>(units),
                                            divisor(row_blocks * splits), divisor(row_blocks),
                                            static_cast<std::uint32_t>(splits), static_cast<A*>(memory.data()),
                                            memory.state(), x.result, floor_log2(lanes), x_in_words, shares});
    return clocks;
  };
  const auto run_columns = [&]<int Items, bool Adjacent>() {
    using kernel = gemv_columns_kernel<Batched, TA, TB, TC, A, S, Epilogue, Items, Adjacent>;
    constexpr int threads = kernel::threads;
    const bool few_columns = x.k <= gemv_few && !Adjacent;
    int lanes = few_columns ? threads : 1;
    // That all rows need, up to a warp; more where rows are enough for all blocks, or where columns are too few for a block and
    // each multiprocessor still gets one.
    const auto enough_for = [&](std::int64_t blocks, std::int64_t rows) { return 2 * lanes * Items * blocks <= rows; };
    while (lanes < threads && lanes * Items < m &&
           (lanes < 32 || enough_for(processors * kernel::min_blocks, m) ||
            (threads / lanes * kernel::depth > x.k && enough_for(processors, m * x.batch))))
      lanes *= 2;
    const std::int64_t row_blocks = ceil_div(m, std::int64_t(lanes) * Items), granule = threads / lanes * kernel::depth;
    const std::int64_t steps = max(one, ceil_div(x.k, granule));
    gemv_plan plan = plan_gemv(row_blocks * x.batch, steps, processors, kernel::min_blocks, 3);
    plan.memory *= double(x.k) / double(steps * granule);  // columns that are missing are not read
    const std::int64_t at_once = few_columns && row_blocks * x.batch > processors ? kernel::at_once : one;
    plan.waits /= double(at_once);
    return run(kernel{}, row_blocks, plan.share * granule, 0x7fffffff, at_once, lanes, true, plan);
  };
  const auto run_rows = [&]<int Items>() {
    using kernel = gemv_rows_kernel<Batched, TA, TB, TC, A, S, Epilogue, Items>;
    constexpr std::int64_t granule = 32 * Items * kernel::words, warps = kernel::warps;  // k of a step of a warp
    constexpr std::int64_t memory = max(1, kernel::words * Items * int(sizeof(TA)) * 3 / 32);
    // Short rows: as many as read one at once; those of a word each only where there are more rows than warps.
    int lanes = 32;
    while (lanes > 1 && lanes * Items * kernel::words / 2 >= x.k &&
           (lanes * Items / 2 >= x.k || m * x.batch * lanes >= 64 * kernel::rows * warps * processors))
      lanes /= 2;
    const std::int64_t row_groups = ceil_div(m, std::int64_t(kernel::rows) * (32 / lanes)), all = row_groups * x.batch;
    // By warps, or by blocks whose warps share k.
    const std::int64_t rounds = ceil_div(all, processors * kernel::min_blocks * warps), steps = ceil_div(x.k, granule);
    const gemv_plan by_warps{max(one, x.k), double(rounds * (steps + 1)),
                             double(memory * steps * all) / double(warps * processors)};
    const gemv_plan plan =
        plan_gemv(all, max(one, ceil_div(x.k, granule * warps)), processors, kernel::min_blocks, memory);
    if (steps > 1 && plan.time() < by_warps.time())
      return run(kernel{}, row_groups, plan.share * granule * warps, 8 * processors, one, lanes, true, plan);
    return run(kernel{}, row_groups, by_warps.share, 8 * processors, warps, lanes, false, by_warps);
  };
  const bool columns_in_words = a_in_words && x.k > gemv_few && x.a.k_stride > 0;
  if (columns)
    return columns_in_words ? run_columns.template operator()<vector, true>()
                            : run_columns.template operator()<few, false>();
  return a_in_words ? run_rows.template operator()<vector>() : run_rows.template operator()<1>();
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
