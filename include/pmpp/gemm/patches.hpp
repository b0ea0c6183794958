// SPDX-License-Identifier: Apache-2.0
//
// Products with little to share: many small ones, or with a C that is narrow, or a short k. Memory is the limit, and nothing is staged.
//
//   1. A lane multiplies a patch of C, 4 x 4 elements of one product, straight from global memory. Patches of all products are counted
//      through, so that no lane lacks one, however small a product is; the first cache serves what neighbours read again.
//   2. Where rows of B (columns of A) begin at words, the columns of a patch are neighbours, read and written in words. Otherwise they
//      lie as many apart as there are patches, so that neighbouring lanes read and write neighbouring elements wherever a row begins.
//   3. Where there are few patches, or both operands lie along k, neighbouring lanes share the k of a patch. They exchange halves
//      of what they have until each has the whole sum of a few elements: no barriers, no shared memory.
//
// One launch, any strides; the same bits on every run.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <pmpp/core/complex.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/gemm/remembered.hpp>
#include <pmpp/gemm/simt.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// How a lane reads an operand: words of neighbouring rows (columns of B), words along k, or single elements.
enum class patch_way { across, along_k, elements };

/// Rows and columns of a patch whose sums are of type A, and how many numbers of k a lane multiplies at a time.
template <class A>
inline constexpr int patch_side = sizeof(A) <= 8 ? 4 : 2;
template <class A>
inline constexpr int patch_depth = sizeof(A) <= 4 ? 4 : 2;

/// How many elements of type T make a word.
template <class T>
inline constexpr int patch_word = 16 % sizeof(T) == 0 ? min(4, int(16 / sizeof(T))) : 1;

template <class T>
patch_way patch_way_of(const gemm_operand<T>& x, std::int64_t k, std::int64_t batch) {
  constexpr std::int64_t word = patch_word<T>;
  const auto fits = [&](std::int64_t extent, std::int64_t stride) {
    return word > 1 && extent % word == 0 && stride % word == 0 && (batch == 1 || x.batch_stride % word == 0) &&
           reinterpret_cast<std::uintptr_t>(x.data) % (word * sizeof(T)) == 0;
  };
  return x.stride == 1 && fits(x.extent, x.k_stride) ? patch_way::across
         : x.k_stride == 1 && fits(k, x.stride)      ? patch_way::along_k
                                                     : patch_way::elements;
}

/// The rows (columns) of C that a patch has.
struct patch_lines {
  std::int64_t first;
  unsigned next;  ///< from one to the next
  int there;      ///< how many

  PMPP_HOST_DEVICE bool has(int i) const { return i < there; }
  PMPP_HOST_DEVICE std::int64_t operator()(int i) const { return first + std::int64_t(i) * next; }
  PMPP_HOST_DEVICE patch_lines from(int i) const { return {(*this)(i), next, there - i}; }
};

/// Along m, or n: how many patches a product has, whether the elements of one are neighbours, and how they are read.
struct patch_order {
  divisor patches;
  bool adjacent;
  patch_way way;
  unsigned with_most;  ///< so many patches, the first, have `most` lines, others `least`
  int most, least;

  /// Of `extent` lines, up to `side` for each patch.
  patch_order(std::int64_t extent, int side, bool adjacent_, patch_way way_)
      : patches(ceil_div(extent, std::int64_t(side))), adjacent(adjacent_), way(way_) {
    const std::int64_t count = patches.value();
    with_most = static_cast<unsigned>(adjacent ? extent / side : extent - (ceil_div(extent, count) - 1) * count);
    most = adjacent ? side : static_cast<int>(ceil_div(extent, count));
    least = adjacent ? static_cast<int>(extent % side) : most - 1;
  }

  PMPP_HOST_DEVICE patch_lines lines(unsigned patch, int side) const {
    const int there = patch < with_most ? most : least;
    return adjacent ? patch_lines{std::int64_t(patch) * side, 1, there} : patch_lines{patch, patches.value(), there};
  }
};

/// What a lane has of A or B: `Side` rows (columns of B), `Depth` numbers of k at a time.
template <class T, int Side, int Depth>
class patch_operand {
public:
  PMPP_HOST_DEVICE patch_operand(const gemm_operand<T>& x, patch_way way, const patch_lines& lines,
                                 std::int64_t product, std::int64_t k)
      : from_(x.data + product * x.batch_stride + lines.first * x.stride + k * x.k_stride),
        way_(way),
        there_(lines.there),
        step_(lines.next * x.stride),
        k_stride_(x.k_stride) {}

  /// Loads what the next numbers of k have, `left` of which are there, and goes `further` ones on.
  template <bool Whole>
  PMPP_HOST_DEVICE void load(T (&to)[Side][Depth], std::int64_t left, std::int64_t further) {
    constexpr int word = patch_word<T>, wide = min(word, Side), deep = min(word, Depth);
    const auto load_words = [&](auto size, int i, int q) {
      packed<T, decltype(size)::value> y = {};
      if (i < there_ && (Whole || q < left))
        y = *reinterpret_cast<const packed<T, decltype(size)::value>*>(from_ + i * step_ + q * k_stride_);
      return y;
    };
    if (wide > 1 && way_ == patch_way::across) {
      for (int q = 0; q < Depth; ++q)
        for (int i = 0; i < Side; i += wide) {
          const auto y = load_words(constant<wide>{}, i, q);
          for (int e = 0; e < wide; ++e) to[i + e][q] = y.item[e];
        }
    } else if (deep > 1 && way_ == patch_way::along_k) {
      for (int i = 0; i < Side; ++i)
        for (int q = 0; q < Depth; q += deep) {
          const auto y = load_words(constant<deep>{}, i, q);
          for (int e = 0; e < deep; ++e) to[i][q + e] = y.item[e];
        }
    } else {
      for (int i = 0; i < Side; ++i)
        for (int q = 0; q < Depth; ++q) to[i][q] = load_words(constant<1>{}, i, q).item[0];
    }
    from_ += further * k_stride_;
  }

private:
  const T* from_;
  patch_way way_;
  int there_;
  std::int64_t step_, k_stride_;
};

/// Stores a patch of C, from sum(i, j). `in_words`: all of a row at once.
template <int Rows, int Cols, class TC, class Result, class Sum>
PMPP_HOST_DEVICE void store_patch(const gemm_target<TC>& c, const Result& result, std::int64_t product,
                                  const patch_lines& row, const patch_lines& col, bool in_words, const Sum& sum) {
  TC* const to = c.data + product * c.batch_stride;
  const auto place = [&](int i, int j) { return to + row(i) * c.row_stride + col(j) * c.col_stride; };
  const auto each = [&](auto f) {
    unrolled<Rows * Cols>([&](int e) {
      if (row.has(e / Cols) && col.has(e % Cols)) f(e / Cols, e % Cols);
    });
  };
  const auto each_row = [&](auto f) {
    unrolled<Rows>([&](int i) {
      if (row.has(i)) f(i);
    });
  };
  in_words = in_words && col.has(Cols - 1);
  packed<TC, Cols> y[Rows] = {};  // all that is asked for of C is on its way at once
  if (result.reads()) {
    if (in_words)
      each_row([&](int i) { y[i] = *reinterpret_cast<const packed<TC, Cols>*>(place(i, 0)); });
    else
      each([&](int i, int j) { y[i].item[j] = *place(i, j); });
  }
  each([&](int i, int j) { y[i].item[j] = result(sum(i, j), &y[i].item[j], row(i), col(j)); });
  if (in_words)
    each_row([&](int i) { *reinterpret_cast<packed<TC, Cols>*>(place(i, 0)) = y[i]; });
  else
    each([&](int i, int j) { *place(i, j) = y[i].item[j]; });
}

template <class TA, class TB, class TC, class A, class S, class Epilogue>
struct gemm_patch_kernel {
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr int threads = 128, min_blocks = sizeof(A) <= 4 ? 5 : 4;
  static constexpr int side = patch_side<A>, depth = patch_depth<A>, items = side * side;

  struct arguments {
    gemm_operand<TA> a;
    gemm_operand<TB> b;
    gemm_target<TC> c;
    std::int64_t k;
    unsigned units;  ///< patches of all products
    patch_order of_a, of_b;
    bool along_m;  ///< neighbouring lanes have neighbouring patches along m, else along n
    int sharing;   ///< binary logarithm of the lanes of a patch
    bool c_in_words;
    gemm_result<S, Epilogue> result;
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const arguments& x) const {
    simt::previous_kernels_done();
    const unsigned thread = static_cast<unsigned>(block.index()) * threads + static_cast<unsigned>(block.thread());
    const bool exists = thread >> x.sharing < x.units;
    const unsigned unit = exists ? thread >> x.sharing : 0, share = thread & ((1u << x.sharing) - 1);
    const divisor near = x.along_m ? x.of_a.patches : x.of_b.patches, far = x.along_m ? x.of_b.patches : x.of_a.patches;
    const unsigned line = near.quotient(unit), product = far.quotient(line), of_near = unit - line * near.value(),
                   of_far = line - product * far.value();
    const patch_lines rows = x.of_a.lines(x.along_m ? of_near : of_far, side),
                      cols = x.of_b.lines(x.along_m ? of_far : of_near, side);
    std::int64_t k = share * depth;
    const std::int64_t step = std::int64_t(depth) << x.sharing;
    patch_operand<TA, side, depth> a(x.a, x.of_a.way, rows, product, k);
    patch_operand<TB, side, depth> b(x.b, x.of_b.way, cols, product, k);
    A sum[items] = {};
    const auto add = [&](auto whole) {
      TA of_a[side][depth];
      TB of_b[side][depth];
      a.template load<whole.value>(of_a, x.k - k, step);
      b.template load<whole.value>(of_b, x.k - k, step);
      for (int q = 0; q < depth; ++q) {
        A factor_a[side], factor_b[side];  // made when all is on its way, not before
        for (int i = 0; i < side; ++i)
          factor_a[i] = static_cast<A>(of_a[i][q]), factor_b[i] = static_cast<A>(of_b[i][q]);
        for (int e = 0; e < items; ++e) sum[e] = multiply_add(sum[e], factor_a[e / side], factor_b[e % side]);
      }
      k += step;
    };
    if (exists) {
      while (k + depth <= x.k) add(std::true_type{});
      if (k < x.k) add(std::false_type{});
    }
    finish<items>(block, x, rows, cols, product, sum, 0, exists);
  }

private:
  /// Adds up what the lanes of a patch have, each those sums that it stores, from number `first` on: neighbours exchange halves, then
  /// lanes 2 apart, and so on. `done` says how often.
  template <int Count, class Block>
  PMPP_HOST_DEVICE static void finish(Block& block, const arguments& x, const patch_lines& rows,
                                      const patch_lines& cols, std::int64_t product, const A (&sum)[Count], int first,
                                      bool exists, int done = 0) {
    if constexpr (Count > 1) {
      if (done < x.sharing) {
        constexpr int half = Count / 2;
        const bool upper = (block.lane() >> done & 1) != 0;
        A kept[half];
        unrolled<half>([&](int e) {
          const A low = sum[e], high = sum[e + half];
          kept[e] = (upper ? A(high) : A(low)) + block.shuffle_xor(upper ? A(low) : A(high), 1 << done);
        });
        return finish<half>(block, x, rows, cols, product, kept, first + (upper ? half : 0), exists, done + 1);
      }
    }
    A own[Count];
    for (int e = 0; e < Count; ++e) own[e] = sum[e];
    for (; Count == 1 && done < x.sharing; ++done) {  // more lanes than sums
      own[0] += block.shuffle_xor(own[0], 1 << done);
      exists = exists && (block.lane() >> done & 1) == 0;
    }
    constexpr int n = min(Count, side);
    if (exists)
      store_patch<Count / n, n>(x.c, x.result, product, rows.from(first / side), cols.from(first % side),
                                n == side && x.c_in_words, [&](int i, int j) { return own[i * n + j]; });
  }
};

/// How patches are dealt out to lanes, and how many clocks that takes, about.
struct patch_plan {
  int sharing = 0;  ///< binary logarithm of the lanes of a patch
  bool along_m = false;
  double clocks = never;
};

/// How the elements of a patch of `x` lie.
template <class A, class T>
patch_order patch_order_of(const gemm_operand<T>& x, std::int64_t k, std::int64_t batch, bool adjacent) {
  const patch_way way = patch_way_of(x, k, batch);
  return {x.extent, patch_side<A>, way == patch_way::across || (adjacent && x.stride != 1), way};
}

/// Clocks of an H200: of a call; of a product of a warp; of a load or store, and of each line of memory that one reads or writes; of an
/// exchange, and of what a warp does once; until loads arrive, and for each of them, or exchange, and each store, while a warp waits; how
/// much longer memory takes than for a copy, and how much of the shorter of memory and the rest is not hidden; a factor of all that.
struct patch_cost {
  double product, start, access, line_read, line_written, exchange, warp, latency, load, store, memory, hidden, all;
};
/// Of sums of type A, and elements of so many bytes.
template <class A>
constexpr patch_cost patch_cost_of(std::size_t bytes) {
  if (sizeof(A) > 4)
    return {sizeof(A) == 8 ? 3.93 : 1.92, 7140, 0.558, 0.191, 1.71, 23, 39.6, 752, 21.2, 22.2, 0.65, 0.83, 1};
  return bytes == 1   ? patch_cost{1.26, 8010, 0.94, 0.114, 3, 43.9, 33, 690, 84.2, 271, 0.734, 1.6, 1.1}
         : bytes == 2 ? patch_cost{1.13, 8490, 0.911, 0.114, 0.91, 17.2, 79.1, 1060, 19.4, 55.6, 0.854, 1.45, 1.1}
                      : patch_cost{0.85, 7200, 0.988, 0.265, 2.51, 17.5, 50.1, 767, 24.5, 113, 1.05, 0.689, 1.04};
}

/// The best way to deal out patches. Fitted to times of random shapes (benchmark/gemm_sweep), single calls and others: 4700 of half and
/// bfloat16, 1600 of 8-bit integers, 2000 of floats, 1780 of doubles and complex numbers.
template <class A, class TA, class TB, class TC, class S, class Epilogue>
patch_plan plan_by_patches(const gemm_problem<TA, TB, TC, S, Epilogue>& x, const machine& on) {
  return remembered(shape_of(x, on), [&] {
    constexpr int side = patch_side<A>, depth = patch_depth<A>;
    constexpr patch_cost cost = patch_cost_of<A>(sizeof(TA));
    patch_plan best;
    if (max(x.c.rows, x.c.cols) >= std::int64_t(1) << 32) return best;
    const bool in_words = x.c.is_written_by(side);
    const patch_order of_a = patch_order_of<A>(x.a, x.k, x.batch, false),
                      of_b = patch_order_of<A>(x.b, x.k, x.batch, in_words);
    const double patches = std::ceil(double(x.c.rows) / side) * std::ceil(double(x.c.cols) / side) * double(x.batch);
    const auto access = [&](double lines, double of_line) { return cost.access + of_line * min(lines, 32.0); };
    const double memory = cost.memory * clocks_of_memory(x, on);
    for (const bool along_m : {false, true})
      for (int sharing = 0; sharing <= 5; ++sharing) {
        const double lanes = 1 << sharing, all = patches * lanes;
        if (all >= 0x1p31 || (sharing > 0 && lanes * depth >= 2 * double(x.k))) break;  // too many, or without work
        // Different patches of a warp, along m and along n.
        const double near = min(32 / lanes, double((along_m ? of_a : of_b).patches.value())), far = 32 / lanes / near,
                     of_m = along_m ? near : far, of_n = along_m ? far : near;
        double loads = 0;  // of a step
        const auto load = [&]<class T>(const gemm_operand<T>& y, patch_way way, double different) {
          const double word = way == patch_way::elements ? 1 : patch_word<T>, bytes = sizeof(T);
          const double lines = y.k_stride == 1 ? different * max(1.0, lanes * depth * bytes / 128)
                                               : lanes * max(1.0, different * word * bytes / 128);
          const double own = double(min(y.extent, std::int64_t(side))) * depth / min(word, double(depth));
          loads += own;
          return own * access(lines, cost.line_read);
        };
        const double word = in_words && of_b.adjacent && sharing <= 2 ? side : 1,
                     written = along_m ? near : of_m * (sharing > 2 ? 4 : 1) * max(1.0, of_n * word * sizeof(TC) / 128),
                     stores = max(1.0, side * side / lanes) / word * (x.result.reads() ? 2 : 1);
        const double warps = std::ceil(all / 128) * 4 / on.multiprocessors,
                     steps = std::ceil(double(x.k) / (depth * lanes));
        const double step = load(x.a, of_a.way, of_m) + load(x.b, of_b.way, of_n) + cost.product * side * side * depth;
        const double busy = warps * (steps * step + stores * access(written, cost.line_written) +
                                     cost.exchange * sharing + cost.warp),
                     waits = (steps + 1) * cost.latency + (steps * loads + sharing) * cost.load + stores * cost.store,
                     own = max(busy, std::ceil(warps / 20) * waits);
        const double clocks = cost.start + cost.all * (max(own, memory) + cost.hidden * min(own, memory));
        if (clocks < best.clocks) best = {sharing, along_m, clocks};
      }
    return best;
  });
}

/// Enqueues products, or runs them in the emulator.
template <class A, class P, class TA, class TB, class TC, class S, class Epilogue>
void gemm_by_patches(const P& where, const gemm_problem<TA, TB, TC, S, Epilogue>& x, const patch_plan& plan) {
  using kernel = gemm_patch_kernel<TA, TB, TC, A, S, Epilogue>;
  const bool in_words = x.c.is_written_by(kernel::side);
  const patch_order of_a = patch_order_of<A>(x.a, x.k, x.batch, false),
                    of_b = patch_order_of<A>(x.b, x.k, x.batch, in_words);
  const std::int64_t units = x.batch * of_a.patches.value() * of_b.patches.value();
  pmpp::launch(where, ceil_div(units << plan.sharing, std::int64_t(kernel::threads)), kernel{},
               typename kernel::arguments{x.a, x.b, x.c, x.k, static_cast<unsigned>(units), of_a, of_b, plan.along_m,
                                          plan.sharing, in_words && of_b.adjacent, x.result});
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
