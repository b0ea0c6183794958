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
// Where there are fewer rows than the machine can read at once, k is split; a second launch (simt.hpp) adds up the
// partial sums in order. One launch, or two, for a batch too; the same bits on every run.
// (PMPP ch. 6; the schedules of rows and columns are those of every BLAS.)
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What both kernels get. Each C has one column. Batched: there may be several products.
template <bool Batched, class TA, class TX, class TC, class A, class S, class Epilogue>
struct gemv_arguments {
  gemm_operand<TA> a;
  gemm_operand<TX> x;
  gemm_target<TC> c;
  std::int64_t batch, k, splits, split_k;
  A* partials;  ///< of all splits of all products: `rows` each
  gemm_result<S, Epilogue> result;
  int lanes;  ///< that work on a row, or lie along a column; a power of two up to 32, or the threads of a block

  /// Number `unit` of those that all products are made of, `of_split` in each split: which product, which split, which of its units.
  struct place {
    std::int64_t product, split, unit;
  };
  PMPP_HOST_DEVICE place place_of(std::int64_t unit, std::int64_t of_split) const {
    place at{0, 0, unit};
    if (Batched && batch > 1) {
      at.product = unit / (of_split * splits);
      at.unit -= at.product * (of_split * splits);
    }
    if (splits > 1) {
      at.split = at.unit / of_split;
      at.unit -= at.split * of_split;
    }
    return at;
  }
  PMPP_HOST_DEVICE A factor(std::int64_t product, std::int64_t p) const {
    return static_cast<A>(x.data[product * x.batch_stride + p * x.k_stride]);
  }
  /// Stores what one split has added up for a row.
  PMPP_HOST_DEVICE void store(const A& sum, std::int64_t row, const place& at) const {
    TC* to = c.data + at.product * c.batch_stride + row * c.row_stride;
    if (splits > 1)
      partials[(at.product * splits + at.split) * c.rows + row] = sum;
    else
      *to = result(sum, to, row, 0);
  }
};

/// Items: elements of a row that a lane reads at once; k_stride is 1 if there are several.
template <bool Batched, class TA, class TX, class TC, class A, class S, class Epilogue, int Items>
struct gemv_rows_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, min_blocks = 2, warps = threads / simt::warp_size;
  static constexpr int rows = 4;
  /// In flight, of each row. The factors of bytes, each in a register of its own, leave room for one word.
  static constexpr int words = Items == 1 ? 8 : Items <= 4 ? 4 : Items <= 8 ? 2 : 1;
  using arguments = gemv_arguments<Batched, TA, TX, TC, A, S, Epilogue>;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& y) const {
    simt::previous_kernels_done();
    const int lanes = y.lanes, lane = block.lane() % lanes, groups = simt::warp_size / lanes, step = lanes * Items;
    const std::int64_t row_groups = ceil_div(y.c.rows, std::int64_t(rows) * groups);
    const bool one_step = y.k <= step * words;  // of all rows: its part of x stays in registers
    A x[words][Items];
    [[maybe_unused]] std::int64_t in_registers = 0;  // the product whose x is there
    if (one_step) load_factors(y, 0, lane * Items, step, y.k, x);
    for (std::int64_t unit = block.index() * warps + block.warp(); unit < row_groups * y.splits * y.batch;
         unit += block.count() * warps) {
      const auto at = y.place_of(unit, row_groups);
      const std::int64_t row = (at.unit * groups + block.lane() / lanes) * rows;
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
      std::int64_t k = k_begin + lane * Items;
      const auto add_step = [&](auto is_whole) {
        packed<TA, Items> a[words][rows] = {};
        for (int w = 0; w < words; ++w)
          for (int r = 0; r < rows; ++r)
            if (is_whole.value || k + w * step + Items <= k_end)
              a[w][r] = *reinterpret_cast<const packed<TA, Items>*>(from[r] + (k + w * step) * y.a.k_stride);
        if (!one_step) load_factors(y, at.product, k, step, is_whole.value ? k + step * words : k_end, x);
        for (int w = 0; w < words; ++w)
          for (int e = 0; e < Items; ++e)
            for (int r = 0; r < rows; ++r) sum[r] += static_cast<A>(a[w][r].item[e]) * x[w][e];
        k += step * words;
      };
      while (k - lane * Items + step * words <= k_end) add_step(std::true_type{});
      if (k - lane * Items < k_end) add_step(std::false_type{});
      for (k = k_end - (k_end - k_begin) % Items + lane; k < k_end; k += lanes)  // less than a word
        for (int r = 0; r < rows; ++r) sum[r] += static_cast<A>(from[r][k * y.a.k_stride]) * y.factor(at.product, k);
      for (int bits = simt::warp_size / 2; bits > 0; bits /= 2) {
        if (bits >= lanes) continue;
        for (int r = 0; r < rows; ++r) sum[r] += block.shuffle_xor(sum[r], bits);
      }
      for (int r = 0; r < rows; ++r)
        if (lane == 0 && row + r < y.c.rows) y.store(sum[r], row + r, at);
    }
  }

private:
  /// What a lane's words of a step, the first at k, are multiplied by: zero where there is no whole word.
  PMPP_HOST_DEVICE static void load_factors(const arguments& y, std::int64_t product, std::int64_t k, int step,
                                            std::int64_t k_end, A (&x)[words][Items]) {
    for (int w = 0; w < words; ++w)
      for (int e = 0; e < Items; ++e)
        x[w][e] = k + w * step + Items <= k_end ? y.factor(product, k + w * step + e) : A{};
  }
};

/// Items: rows of a lane. Adjacent: they are a word that a lane reads at once, in every column; otherwise neighbours of a row are
/// in other lanes, so that words of memory that begin anywhere are read whole by the warp. The stride of rows is 1.
template <bool Batched, class TA, class TX, class TC, class A, class S, class Epilogue, int Items, bool Adjacent>
struct gemv_columns_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 256, min_blocks = sizeof(A) < 8 ? 3 : 2, warps = threads / simt::warp_size;
  static constexpr int depth = Items < 16 ? 8 : 4;  ///< columns of a lane in flight
  using arguments = gemv_arguments<Batched, TA, TX, TC, A, S, Epilogue>;

  struct shared {
    A sum[threads * Items];  ///< the rows of the block, by those who share its columns
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& y) const {
    simt::previous_kernels_done();
    const std::int64_t row_blocks = ceil_div(y.c.rows, std::int64_t(y.lanes) * Items);
    for (std::int64_t unit = block.index(); unit < row_blocks * y.splits * y.batch; unit += block.count()) {
      add_up(block, memory, y, y.place_of(unit, row_blocks));
      block.sync();  // the sums are read before those of the next unit are written
    }
  }

private:
  template <class Block>
  PMPP_HOST_DEVICE static void add_up(Block& block, shared& memory, const arguments& y,
                                      const typename arguments::place& at) {
    const int lanes = y.lanes, rows = lanes * Items, columns = threads / lanes;  // of a block at a time
    const int own = block.thread() % lanes * (Adjacent ? Items : 1), next = Adjacent ? 1 : lanes;
    const std::int64_t first = at.unit * rows, row = first + own;
    const std::int64_t rows_left = max(y.c.rows - row, std::int64_t(0));
    const int there = static_cast<int>(min(std::int64_t(Items), ceil_div(rows_left, std::int64_t(next))));
    const std::int64_t k_begin = at.split * y.split_k + block.thread() / lanes;
    const TA* from = y.a.data + at.product * y.a.batch_stride + row + k_begin * y.a.k_stride;
    const TX* factor = y.x.data + at.product * y.x.batch_stride + k_begin * y.x.k_stride;
    const std::int64_t step = columns * y.a.k_stride, factor_step = columns * y.x.k_stride;
    std::int64_t left = min(y.k, (at.split + 1) * y.split_k) - k_begin;  // columns, from the next of this lane's on
    A sum[Items] = {};
    // All loads of a step are on their way before the first is used, also where rows or columns are missing.
    const auto add_step = [&](auto all_rows, auto all_columns) {
      constexpr int count = all_rows.value ? depth : depth * min(Items, 4) / Items;  // single elements take registers
      packed<TA, Items> a[count] = {};
      A x[count];
      for (int d = 0; d < count; ++d, from += step, factor += factor_step) {
        const bool exists = all_columns.value || d * columns < left;
        if constexpr (Adjacent && all_rows.value) {
          if (exists) a[d] = *reinterpret_cast<const packed<TA, Items>*>(from);
        } else {
          for (int e = 0; e < Items; ++e)
            if (exists && (all_rows.value || e < there)) a[d].item[e] = from[e * next];
        }
        x[d] = exists ? static_cast<A>(*factor) : A{};
      }
      left -= count * columns;
      for (int d = 0; d < count; ++d)
        for (int e = 0; e < Items; ++e) sum[e] += static_cast<A>(a[d].item[e]) * x[d];
    };
    if (there == Items) {
      while (left > (depth - 1) * columns) add_step(std::true_type{}, std::true_type{});
      if (left > 0) add_step(std::true_type{}, std::false_type{});
    } else if (there > 0) {
      while (left > 0) add_step(std::false_type{}, std::false_type{});
    }
    for (int bits = simt::warp_size / 2; bits >= lanes; bits /= 2)  // lanes that have the same rows
      for (int e = 0; e < Items; ++e) sum[e] += block.shuffle_xor(sum[e], bits);
    const int groups = min(columns, warps), group = lanes < simt::warp_size ? block.warp() : block.thread() / lanes;
    if (block.lane() < lanes)
      for (int e = 0; e < Items; ++e) memory.sum[group * rows + own + e * next] = sum[e];
    block.sync();
    for (int i = block.thread(); i < rows; i += threads) {
      if (first + i >= y.c.rows) break;
      A total = memory.sum[i];
      for (int g = 1; g < groups; ++g) total += memory.sum[g * rows + i];
      y.store(total, first + i, at);
    }
  }
};

/// How k is split among `blocks` blocks that have all of it, `steps` each. \return the steps of a split
///
/// In units of 0.5 us (fitted to an H100): a step of a block takes one until its loads arrive, while `resident` blocks share a multiprocessor;
/// and three of a multiprocessor's share of memory. Ends of a block take one, a second launch nine, and 64 splits another one.
inline std::int64_t gemv_split(std::int64_t blocks, std::int64_t steps, std::int64_t processors,
                               std::int64_t resident) {
  const auto time = [&](std::int64_t splits, std::int64_t share) {  // times `processors`
    const std::int64_t all = blocks * splits, rounds = ceil_div(all, processors * resident);
    return (rounds * (share + 1) + (splits > 1 ? 9 + splits / 64 : 0)) * processors + 3 * share * all;
  };
  std::int64_t best = steps, least = time(1, steps);
  for (int waves = 1; waves <= 16; ++waves) {
    const std::int64_t wanted = waves * processors / blocks;
    if (wanted < 2) continue;
    const std::int64_t share = ceil_div(steps, wanted), splits = ceil_div(steps, share);
    if (splits < 2 || time(splits, share) >= least) continue;
    least = time(splits, share);
    best = share;
  }
  return best;
}

/// Enqueues products whose C have one column, or runs them in the emulator.
template <class A, bool Batched, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemv_on_blocks(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x) {
  constexpr int vector = 16 % sizeof(TA) == 0 ? int(16 / sizeof(TA)) : 1;
  constexpr int few = min(vector, 4);  // elements that a lane reads one by one
  constexpr std::int64_t one = 1;
  const std::int64_t m = x.c.rows, processors = machine_of(where).multiprocessors;
  const bool columns = x.a.stride == 1 && x.a.k_stride != 1;
  const auto whole = [](std::int64_t stride) { return stride % vector == 0; };
  const bool a_in_words = reinterpret_cast<std::uintptr_t>(x.a.data) % 16 == 0 && (columns || x.a.k_stride == 1) &&
                          (columns ? x.k == 1 || whole(x.a.k_stride) : m == 1 || whole(x.a.stride)) &&
                          (x.batch == 1 || whole(x.a.batch_stride));
  const auto run = [&]<class Kernel>(Kernel kernel, std::int64_t row_blocks, std::int64_t split_k,
                                     std::int64_t most_blocks, std::int64_t units_of_block, int lanes) {
    const std::int64_t splits = max(one, ceil_div(x.k, split_k)), units = row_blocks * splits * x.batch;
    scratch memory(where, splits > 1 ? checked_bytes(x.batch * splits * m, sizeof(A), "gemv") : 0, 0);
    auto* partials = static_cast<A*>(memory.data());
    pmpp::launch(where, min(ceil_div(units, units_of_block), most_blocks), kernel,
                 typename Kernel::arguments{x.a, x.b, x.c, x.batch, x.k, splits, split_k, partials, x.result, lanes});
    if (splits > 1) detail::combine_splits(where, x, partials, one, splits);
  };
  const auto run_columns = [&]<int Items, bool Adjacent>() {
    using kernel = gemv_columns_kernel<Batched, TA, TB, TC, A, S, Epilogue, Items, Adjacent>;
    constexpr int threads = kernel::threads;
    int lanes = 1;  // that all rows need, up to a warp; more where columns are too few for the block
    while (lanes < threads && lanes * Items < m && (lanes < 32 || threads / lanes * kernel::depth > x.k)) lanes *= 2;
    const std::int64_t row_blocks = ceil_div(m, std::int64_t(lanes) * Items), granule = threads / lanes * kernel::depth;
    const std::int64_t steps = max(one, ceil_div(x.k, granule));
    run(kernel{}, row_blocks, gemv_split(row_blocks * x.batch, steps, processors, kernel::min_blocks) * granule,
        0x7fffffff, one, lanes);
  };
  const auto run_rows = [&]<int Items>() {
    using kernel = gemv_rows_kernel<Batched, TA, TB, TC, A, S, Epilogue, Items>;
    constexpr std::int64_t granule = 32 * Items * kernel::words, least_k = 1024;  // of a split: less is not worth it
    const std::int64_t warps = 32 * processors;                                   // that read as fast as memory
    int lanes = 32;
    while (lanes > 1 && lanes * Items * kernel::words / 2 >= x.k)
      lanes /= 2;  // short rows: as many as read one at once
    const std::int64_t row_groups = ceil_div(m, std::int64_t(kernel::rows) * (32 / lanes));
    const std::int64_t wanted = max(one, min(warps / (row_groups * x.batch), x.k / least_k));
    const std::int64_t split_k = round_up(max(one, ceil_div(x.k, wanted)), granule);
    run(kernel{}, row_groups, split_k, warps / 4, kernel::warps, lanes);
  };
  if (columns)
    a_in_words ? run_columns.template operator()<vector, true>() : run_columns.template operator()<few, false>();
  else
    a_in_words ? run_rows.template operator()<vector>() : run_rows.template operator()<1>();
}

/// host: a task takes some rows. Sixteen sums of a row, or the sums of many rows, let the compiler use vectors.
template <class A, class TA, class TB, class TC, class S, class Epilogue>
void gemv_on_cores(const host_policy& where, const gemm_problem<TA, TB, TC, S, Epilogue>& y) {
  constexpr std::int64_t most_rows = 512;
  const bool columns = y.a.stride == 1 && y.a.k_stride != 1;
  const std::int64_t m = y.c.rows;
  const std::int64_t rows = min(most_rows, max(std::int64_t(1), 4 * host_loop::grain / max(y.k, std::int64_t(1))));
  const auto x = [&](std::int64_t p) { return static_cast<A>(y.b.data[p * y.b.k_stride]); };
  host_loop::parallel_for(where, ceil_div(m, rows), [&](std::int64_t t) {
    const std::int64_t first = t * rows, count = min(rows, m - first);
    A sums[most_rows] = {};
    if (columns) {
      const TA* a = y.a.data + first;
      for (std::int64_t p = 0; p < y.k; ++p, a += y.a.k_stride) {
        const A factor = x(p);
        for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<A>(a[i]) * factor;
      }
    } else {
      constexpr int lanes = 16;
      for (std::int64_t i = 0; i < count; ++i) {
        const TA* a = y.a.data + (first + i) * y.a.stride;
        A part[lanes] = {};
        std::int64_t p = 0;
        if (y.a.k_stride == 1 && y.b.k_stride == 1)
          for (const TB* b = y.b.data; p + lanes <= y.k; p += lanes)
            for (int e = 0; e < lanes; ++e) part[e] += static_cast<A>(a[p + e]) * static_cast<A>(b[p + e]);
        for (; p < y.k; ++p) part[0] += static_cast<A>(a[p * y.a.k_stride]) * x(p);
        for (const A& one : part) sums[i] += one;
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      TC* to = y.c.data + (first + i) * y.c.row_stride;
      *to = y.result(sums[i], to, first + i, 0);
    }
  });
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
