// SPDX-License-Identifier: Apache-2.0
//
// The calls of gemm.hpp on the cores of the host: matrix products, and those with a vector.
//
//   1. 1024 columns of B are packed into panels as wide as two vectors, k by k, by all cores.
//   2. A core takes 96 rows of A. It packs 384 columns of them at a time into panels of a few rows, and multiplies each
//      panel with each of B's: a small tile of sums stays in registers for as long.
//   3. What has been added up over all of k is scaled and stored.
//
// So registers are used as often as there are columns or rows in a tile, the first cache holds a panel of B, the second
// what is packed of A. The tile is written with the compiler's vectors and compiled three times, for AVX-512, AVX2 and
// whatever the program is compiled for; the processor at hand decides.
// (Goto and van de Geijn, 2008; Van Zee and van de Geijn, 2015.)
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <new>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/host/parallel_for.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Memory for packed elements, aligned as the widest vectors are.
template <class A>
class packed_memory {
public:
  explicit packed_memory(std::int64_t count)
      : data_(static_cast<A*>(::operator new (static_cast<std::size_t>(count) * sizeof(A), std::align_val_t{64}))) {}
  ~packed_memory() { ::operator delete (data_, std::align_val_t{64}); }
  packed_memory(const packed_memory&) = delete;
  packed_memory& operator=(const packed_memory&) = delete;
  A* data() const { return data_; }

private:
  A* data_;
};

/// A tile of sums in registers: rows of two vectors.
template <class A>
struct host_tile {
  int rows, cols;
  /// Adds the product of a panel of A (k x rows) and one of B (k x cols) to c, whose rows are `stride` apart.
  void (*multiply)(std::int64_t k, const A* a, const A* b, A* c, std::int64_t stride);
};

/// The vectors of `Bytes` bytes of the compiler.
template <class A, int Bytes>
struct vector_of {
  typedef A type __attribute__((vector_size(Bytes)));
};

// The same text three times: a function is compiled for one kind of processor, and takes none in that is not.
#if defined(__x86_64__)
template <class A, int... Row>
[[gnu::target("avx512f")]] void multiply_by_64_bytes(std::int64_t k, const A* a, const A* b, A* c,
                                                     std::int64_t stride) {
  using vector = typename vector_of<A, 64>::type;
  constexpr int cols = sizeof(vector) / sizeof(A);
  vector left[sizeof...(Row)] = {}, right[sizeof...(Row)] = {};
  for (; k > 0; --k, a += sizeof...(Row), b += 2 * cols) {
    const vector b0 = *reinterpret_cast<const vector*>(b), b1 = *reinterpret_cast<const vector*>(b + cols);
    ((left[Row] += a[Row] * b0, right[Row] += a[Row] * b1), ...);
  }
  ((*reinterpret_cast<vector*>(c + Row * stride) += left[Row],
    *reinterpret_cast<vector*>(c + Row * stride + cols) += right[Row]),
   ...);
}
template <class A, int... Row>
[[gnu::target("avx2,fma")]] void multiply_by_32_bytes(std::int64_t k, const A* a, const A* b, A* c,
                                                      std::int64_t stride) {
  using vector = typename vector_of<A, 32>::type;
  constexpr int cols = sizeof(vector) / sizeof(A);
  vector left[sizeof...(Row)] = {}, right[sizeof...(Row)] = {};
  for (; k > 0; --k, a += sizeof...(Row), b += 2 * cols) {
    const vector b0 = *reinterpret_cast<const vector*>(b), b1 = *reinterpret_cast<const vector*>(b + cols);
    ((left[Row] += a[Row] * b0, right[Row] += a[Row] * b1), ...);
  }
  ((*reinterpret_cast<vector*>(c + Row * stride) += left[Row],
    *reinterpret_cast<vector*>(c + Row * stride + cols) += right[Row]),
   ...);
}
#endif
template <class A, int... Row>
void multiply_by_16_bytes(std::int64_t k, const A* a, const A* b, A* c, std::int64_t stride) {
  using vector = typename vector_of<A, 16>::type;
  constexpr int cols = sizeof(vector) / sizeof(A);
  vector left[sizeof...(Row)] = {}, right[sizeof...(Row)] = {};
  for (; k > 0; --k, a += sizeof...(Row), b += 2 * cols) {
    const vector b0 = *reinterpret_cast<const vector*>(b), b1 = *reinterpret_cast<const vector*>(b + cols);
    ((left[Row] += a[Row] * b0, right[Row] += a[Row] * b1), ...);
  }
  ((*reinterpret_cast<vector*>(c + Row * stride) += left[Row],
    *reinterpret_cast<vector*>(c + Row * stride + cols) += right[Row]),
   ...);
}
/// For types of which the compiler has no vectors.
template <class A>
void multiply_by_element(std::int64_t k, const A* a, const A* b, A* c, std::int64_t stride) {
  for (; k > 0; --k, a += 4, b += 4)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) c[i * stride + j] += a[i] * b[j];
}

/// The best tile for this processor.
template <class A>
host_tile<A> host_tile_for() {
  if constexpr (std::is_arithmetic_v<A> && (sizeof(A) == 4 || sizeof(A) == 8)) {
    constexpr int items = 16 / sizeof(A);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
      return {12, 8 * items, multiply_by_64_bytes<A, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11>};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      return {6, 4 * items, multiply_by_32_bytes<A, 0, 1, 2, 3, 4, 5>};
#endif
    return {6, 2 * items, multiply_by_16_bytes<A, 0, 1, 2, 3, 4, 5>};
  } else {
    return {4, 4, multiply_by_element<A>};
  }
}

/// Copies elements [first, first + count) x [k_first, k_first + depth) into panels of `width`, zeros after the last.
template <class A, class Operand>
void pack(const Operand& x, std::int64_t batch, std::int64_t first, std::int64_t count, std::int64_t k_first,
          std::int64_t depth, int width, A* to) {
  for (std::int64_t i = 0; i < count; i += width) {
    const auto* from = x.data + batch * x.batch_stride + (first + i) * x.stride + k_first * x.k_stride;
    const auto there = static_cast<int>(min(std::int64_t(width), count - i));
    for (std::int64_t p = 0; p < depth; ++p, from += x.k_stride, to += width) {
      if (x.stride == 1)
        for (int e = 0; e < there; ++e) to[e] = static_cast<A>(from[e]);
      else
        for (int e = 0; e < there; ++e) to[e] = static_cast<A>(from[e * x.stride]);
      for (int e = there; e < width; ++e) to[e] = A{};
    }
  }
}

/// host: as above. The order of the additions does not depend on the number of threads.
template <class A, class Problem>
void gemm_on_cores(const host_policy& where, const Problem& x) {
  constexpr std::int64_t most_rows = 96, most_cols = 1024, depth = 384, piece = 64;
  constexpr double grain = 2e6;  // multiplications that keep a thread busy for longer than it takes to wake it
  const host_tile<A> tile = host_tile_for<A>();
  const std::int64_t m = x.c.rows, n = x.c.cols;
  const double worth = double(m) * double(n) * double(x.k) / grain;
  const std::int64_t threads =
      max(std::int64_t(1), static_cast<std::int64_t>(min(worth, double(host_loop::thread_count(where)))));
  const std::int64_t rows = min(most_rows, round_up(ceil_div(m, threads), std::int64_t(tile.rows)));
  const std::int64_t row_blocks = ceil_div(m, rows);
  // A few rows: each thread gets a part of the columns.
  const std::int64_t parts = row_blocks < threads ? ceil_div(threads, row_blocks) : 1;
  const std::int64_t width = round_up(min(n, most_cols), std::int64_t(tile.cols));
  const packed_memory<A> packed_b(max(x.k, std::int64_t(1)) * width);
  const host_policy team{static_cast<int>(threads)};
  for (std::int64_t batch = 0; batch < x.batch; ++batch)
    for (std::int64_t col = 0; col < n; col += most_cols) {
      const std::int64_t count = min(most_cols, n - col), length = round_up(count, std::int64_t(tile.cols));
      // Panels of one block of k lie after those of the block before.
      const std::int64_t pieces = ceil_div(count, piece);
      host_loop::parallel_for(team, ceil_div(x.k, depth) * pieces, [&](std::int64_t t) {
        const std::int64_t k = t / pieces * depth, j = t % pieces * piece, deep = min(depth, x.k - k);
        pack(x.b, batch, col + j, min(piece, count - j), k, deep, tile.cols, packed_b.data() + k * length + j * deep);
      });
      const std::int64_t part = round_up(ceil_div(length, parts), std::int64_t(tile.cols));
      const std::int64_t tasks = row_blocks * ceil_div(length, part), workers = min(threads, tasks);
      std::int64_t claimed = 0;
      host_loop::parallel_parts(team, workers, [&](std::int64_t) {
        std::int64_t task = __atomic_fetch_add(&claimed, 1, __ATOMIC_RELAXED);
        if (task >= tasks) return;
        const packed_memory<A> packed_a(rows * depth), sums(rows * part);
        for (; task < tasks; task = __atomic_fetch_add(&claimed, 1, __ATOMIC_RELAXED)) {
          const std::int64_t row = task % row_blocks * rows, high = min(rows, m - row);
          const std::int64_t from = task / row_blocks * part, wide = min(part, length - from);
          for (std::int64_t i = 0; i < rows * part; ++i) sums.data()[i] = A{};
          for (std::int64_t k = 0; k < x.k; k += depth) {
            const std::int64_t deep = min(depth, x.k - k);
            pack(x.a, batch, row, high, k, deep, tile.rows, packed_a.data());
            for (std::int64_t j = 0; j < wide; j += tile.cols)
              for (std::int64_t i = 0; i < high; i += tile.rows)
                tile.multiply(deep, packed_a.data() + i * deep, packed_b.data() + k * length + (from + j) * deep,
                              sums.data() + i * part + j, part);
          }
          auto* const c = x.c.data + batch * x.c.batch_stride + row * x.c.row_stride + (col + from) * x.c.col_stride;
          for (std::int64_t i = 0; i < high; ++i)
            for (std::int64_t j = 0; j < min(wide, count - from); ++j) {
              auto* const to = c + i * x.c.row_stride + j * x.c.col_stride;
              *to = x.result(sums.data()[i * part + j], to, row + i, col + from + j);
            }
        }
      });
    }
}

/// C has one column: a task takes some rows. Sixteen sums of a row, or the sums of many rows, let the compiler use vectors.
template <class A, class Problem>
void gemv_on_cores(const host_policy& where, const Problem& y) {
  constexpr std::int64_t most_rows = 512;
  const bool columns = y.a.stride == 1 && y.a.k_stride != 1;
  const std::int64_t m = y.c.rows;
  const std::int64_t rows = min(most_rows, max(std::int64_t(1), 4 * host_loop::grain / max(y.k, std::int64_t(1))));
  const auto x = [&](std::int64_t p) { return static_cast<A>(y.b.data[p * y.b.k_stride]); };
  host_loop::parallel_for(where, ceil_div(m, rows), [&](std::int64_t t) {
    const std::int64_t first = t * rows, count = min(rows, m - first);
    A sums[most_rows] = {};
    if (columns) {
      const auto* a = y.a.data + first;
      for (std::int64_t p = 0; p < y.k; ++p, a += y.a.k_stride) {
        const A factor = x(p);
        for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<A>(a[i]) * factor;
      }
    } else {
      constexpr int lanes = 16;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto* a = y.a.data + (first + i) * y.a.stride;
        A part[lanes] = {};
        std::int64_t p = 0;
        if (y.a.k_stride == 1 && y.b.k_stride == 1)
          for (const auto* b = y.b.data; p + lanes <= y.k; p += lanes)
            for (int e = 0; e < lanes; ++e) part[e] += static_cast<A>(a[p + e]) * static_cast<A>(b[p + e]);
        for (; p < y.k; ++p) part[0] += static_cast<A>(a[p * y.a.k_stride]) * x(p);
        for (const A& one : part) sums[i] += one;
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      auto* const to = y.c.data + (first + i) * y.c.row_stride;
      *to = y.result(sums[i], to, first + i, 0);
    }
  });
}

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND
