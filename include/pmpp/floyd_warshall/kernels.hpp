// SPDX-License-Identifier: Apache-2.0
//
// The kernel of floyd_warshall.hpp. A pivot is a tile's worth of adjacent vertices (64 for elements of up to 8 bytes); P is the tile
// of distances among them.
//
//   C(i, j) = the better of C(i, j) and A(i, k) + B(k, j), over all k of the pivot, like a matrix product: a block makes a tile
//   of C, a thread a square of that in registers. A and B come to shared memory 16 k at a time, the next ones meanwhile. Two uses:
//
//     frame   C and B are the pivot's rows, A is P; or C and A its columns, B is P
//     rest    C is all else, A the pivot's columns, B its rows. The first block has the tile of the next pivot, and closes it: it
//             betters it over its own vertices, one after the other, while the others are at work. Row and column k are handed
//             round in shared memory, in two places in turn: one barrier a vertex.
//
// As P is closed, what `frame` reads of C may be old: a path through the pivot leaves it once. A block reads all it needs
// before it writes, and no block reads what another one writes. With next hops a cell remembers the k that bettered it
// last, and takes over the hop of (i, k) when all are done.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/min_max.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// In the place of next hops that are not asked for.
struct no_hops {};

/// How paths are joined and judged.
template <class T, class Combine, class Comp>
struct path_rules {
  static constexpr bool is_sum_and_min =
      std::is_same_v<Combine, plus> && std::is_same_v<Comp, less> &&
      (std::is_same_v<T, int> || std::is_same_v<T, float> || std::is_same_v<T, double>);
  Combine combine;
  Comp comp;

  /// The better of c and the path a, b.
  PMPP_HOST_DEVICE T better(const T& a, const T& b, const T& c) const {
    if constexpr (is_sum_and_min) {
      return simt::add_min(a, b, c);
    } else {
      const T sum = static_cast<T>(combine(a, b));
      return static_cast<bool>(comp(sum, c)) ? sum : c;
    }
  }
  /// Replaces c by a, b if that is better, and says whether it is.
  PMPP_HOST_DEVICE bool improves(const T& a, const T& b, T& c) const {
    const T sum = static_cast<T>(combine(a, b));
    if (!static_cast<bool>(comp(sum, c))) return false;
    c = sum;
    return true;
  }
};

template <class T, class Hops, class Rules>
struct path_problem {
  static constexpr bool has_hops = !std::is_same_v<Hops, no_hops>;
  matrix_view<T> d;
  Hops next;  ///< a matrix_view of integers, or no_hops
  Rules rules;
};

/// Rows and columns of the square that a thread makes, 16 x 16 threads a block; less for large elements, for which there are
/// too few registers and too little shared memory. A pivot is a tile of such squares: small ones are closed sooner and leave no
/// multiprocessor idle, large ones read less (floats on an H100, by 4 and by 8: 1024 vertices .46 and .88 ms, 4096 9.4 and 8.0).
template <class T>
PMPP_HOST_DEVICE constexpr int path_micro(std::int64_t vertices) {
  return sizeof(T) > 8 ? 2 : sizeof(T) > 4 || vertices <= 3072 ? 4 : 8;
}

/// Row or column r of a thread's square, of thread t of 16: in groups of up to four next to each other, so that a thread
/// reads 16 bytes at a time and the threads of a warp read what lies together.
template <int Micro>
PMPP_HOST_DEVICE constexpr int place_of(int t, int r) {
  constexpr int group = min(4, Micro);
  return (r / group * 16 + t) * group + r % group;
}

/// One after the frame of pivot `next - 1`, where there is one. Rest: C is all but that pivot's rows and columns, and block 0
/// has the tile of pivot `next`, which it closes. Else: the rows and columns of pivot `next - 1`, in halves of tiles.
template <class Problem, class T, bool Rest, int Micro>
struct product_kernel {
  static constexpr int threads = 256, rows = Micro, cols = Rest ? rows : rows / 2;  ///< of a thread
  static constexpr int min_blocks = Micro == 8                             ? (Problem::has_hops ? 1 : 2)
                                    : sizeof(T) <= 4 && !Problem::has_hops ? 4
                                                                           : 2;
  static constexpr int height = 16 * rows, width = 16 * cols;
  static constexpr int depth = 16;                         ///< k that lie in shared memory at a time
  static constexpr int gap = max(1, int(16 / sizeof(T)));  ///< elements after a row, so that columns lie in other banks

  struct shared {
    alignas(16) T a[2][depth][height + gap];  ///< transposed
    alignas(16) T b[2][depth][width + gap];
    alignas(16) T row[2][Rest ? height : 1];     ///< of the pivot that is closed: row k
    alignas(16) T column[2][Rest ? height : 1];  ///< and column k
    int hop[2][Rest && Problem::has_hops ? height : 1];
  };
  using square = T[rows][cols];
  using steps = int[rows][cols];

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const Problem& p, std::int64_t next) const {
    const std::int64_t n = p.d.rows(), last = n - 1, tiles = ceil_div(n, std::int64_t(height));
    const std::int64_t pivot = max(std::int64_t(0), next - 1) * height, end = next == 0 ? 0 : min(n, pivot + height);
    // The columns of a pivot are its rows in the transposed matrix: all below is told of rows.
    bool turned = false;
    std::int64_t top = pivot, west = 0;
    if constexpr (Rest) {
      const auto others = static_cast<unsigned>(max(std::int64_t(1), tiles - 1)),
                 i = static_cast<unsigned>(block.index());
      const auto after_next = [&](unsigned by) { return next + by < tiles ? next + by : next + by - tiles; };
      top = after_next(i / others) * height;
      west = after_next(i % others) * width;
    } else {
      const std::int64_t halves = ceil_div(n, std::int64_t(width));
      turned = block.index() >= halves;
      west = block.index() % halves * width;
      if (west >= pivot && west < end) return;  // P itself
    }
    const auto d = turned ? transposed(p.d) : p.d;
    const int y = turned ? block.thread() % 16 : block.thread() / 16,
              x = turned ? block.thread() / 16 : block.thread() % 16;
    const auto row = [&](int r) { return top + place_of<rows>(y, r); };
    const auto col = [&](int c) { return west + place_of<cols>(x, c); };
    [[maybe_unused]] const auto hop_of = [&](auto i, auto j) {
      return static_cast<int>(turned ? p.next(j, i) : p.next(i, j));
    };

    const std::int64_t along_rows = d.row_stride(), along_cols = d.col_stride(),
                       corner = row(0) * along_rows + col(0) * along_cols;
    const bool inside = top + height <= n && west + width <= n, whole = inside && pivot + height <= n;
    const auto each_cell = [&](const auto& f) {  // that exists, and where it lies
      for (int r = 0; r < rows; ++r) {
        const std::int64_t line = corner + place_of<rows>(0, r) * along_rows;
        for (int c = 0; c < cols; ++c)
          if (inside || (row(r) < n && col(c) < n)) f(r, c, line + place_of<cols>(0, c) * along_cols);
      }
    };
    square cell;
    [[maybe_unused]] steps via;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < cols; ++c) cell[r][c] = d(min(row(r), last), min(col(c), last));
    if constexpr (Problem::has_hops)
      for (auto& of_row : via)
        for (int& step : of_row) step = -1;

    // Neighbours of a warp read neighbours in memory.
    const int a_row = turned ? block.thread() % height : block.thread() / depth,
              a_k = turned ? block.thread() / height : block.thread() % depth,
              b_k = turned ? block.thread() % depth : block.thread() / width,
              b_col = turned ? block.thread() / depth : block.thread() % width;
    const int a_rows = turned ? 0 : threads / depth, a_ks = turned ? threads / height : 0,
              b_ks = turned ? 0 : threads / width, b_cols = turned ? threads / depth : 0;
    const std::int64_t next_a = a_rows * along_rows + a_ks * along_cols,
                       next_b = b_ks * along_rows + b_cols * along_cols;
    std::int64_t from_a = (top + a_row) * along_rows + (pivot + a_k) * along_cols,
                 from_b = (pivot + b_k) * along_rows + (west + b_col) * along_cols;
    const auto fetch = [&](std::int64_t k, int turn) {
      const auto to_a = [&](int u) -> T& { return memory.a[turn][a_k + u * a_ks][a_row + u * a_rows]; };
      const auto to_b = [&](int u) -> T& { return memory.b[turn][b_k + u * b_ks][b_col + u * b_cols]; };
      constexpr int of_a = height * depth / threads, of_b = width * depth / threads;
      if (whole) {
        const T *a = d.data() + from_a, *b = d.data() + from_b;
        for (int u = 0; u < of_a; ++u, a += next_a) bring(to_a(u), *a);
        for (int u = 0; u < of_b; ++u, b += next_b) bring(to_b(u), *b);
        from_a += depth * along_cols;
        from_b += depth * along_rows;
      } else {
        for (int u = 0; u < of_a; ++u)
          bring(to_a(u), d(min(top + a_row + u * a_rows, last), min(k + a_k + u * a_ks, last)));
        for (int u = 0; u < of_b; ++u)
          bring(to_b(u), d(min(k + b_k + u * b_ks, last), min(west + b_col + u * b_cols, last)));
      }
      simt::copy_async_commit();
    };
    if (pivot < end) fetch(pivot, 0);
    int turn = 0;
    for (std::int64_t k = pivot; k < end; k += depth, turn ^= 1) {
      simt::copy_async_wait<0>();
      block.sync();  // all see `turn`, and have done with the other
      if (k + depth < end) fetch(k + depth, turn ^ 1);
      const int first = static_cast<int>(k - pivot);
      if (k + depth <= end) {
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
        for (int s = 0; s < depth; ++s) step(memory, p, turned, turn, s, first, y, x, cell, via);
      } else {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
        for (int s = 0; s < static_cast<int>(end - k); ++s) step(memory, p, turned, turn, s, first, y, x, cell, via);
      }
    }
    block.sync();  // A and B have been read: they may be what is written

    const bool closes = Rest && block.index() == 0 && next < tiles;
    if constexpr (Problem::has_hops) {  // from steps to hops
      each_cell([&](int r, int c, std::int64_t) {
        if (via[r][c] >= 0)
          via[r][c] = turned ? hop_of(pivot + via[r][c], col(c)) : hop_of(row(r), pivot + via[r][c]);
        else if (closes)
          via[r][c] = hop_of(row(r), col(c));
      });
      block.sync();  // the hops of columns are among those that are written
    }
    if constexpr (Rest)
      if (closes) close(block, memory, p, static_cast<int>(min(std::int64_t(height), n - top)), y, x, cell, via);
    each_cell([&](int r, int c, std::int64_t at) {
      d.data()[at] = cell[r][c];
      if constexpr (Problem::has_hops)
        if (via[r][c] >= 0)
          (turned ? p.next(col(c), row(r)) : p.next(row(r), col(c))) =
              static_cast<typename decltype(p.next)::value_type>(via[r][c]);
    });
  }

private:
  /// Starts to copy an element to shared memory.
  PMPP_HOST_DEVICE static void bring(T& to, const T& from) {
    constexpr bool at_once = sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16;
    if constexpr (at_once && alignof(T) == sizeof(T))
      simt::copy_async<sizeof(T)>(pmpp::bytes_of(to), pmpp::bytes_of(from));
    else
      to = from;
  }
  PMPP_HOST_DEVICE static void step(const shared& memory, const Problem& p, bool turned, int turn, int s,
                                    [[maybe_unused]] int k, int y, int x, square& cell, [[maybe_unused]] steps& via) {
    T of_row[rows], of_col[cols];
    for (int r = 0; r < rows; ++r) of_row[r] = memory.a[turn][s][place_of<rows>(y, r)];
    for (int c = 0; c < cols; ++c) of_col[c] = memory.b[turn][s][place_of<cols>(x, c)];
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < cols; ++c) {
        const bool swaps = turned && !decltype(p.rules)::is_sum_and_min;
        const T a = swaps ? of_col[c] : of_row[r], b = swaps ? of_row[r] : of_col[c];
        if constexpr (Problem::has_hops) {
          if (p.rules.improves(a, b, cell[r][c])) via[r][c] = k + s;
        } else {
          cell[r][c] = p.rules.better(a, b, cell[r][c]);
        }
      }
  }
  /// Betters the cells of the tile by paths through its own first `count` vertices, one after the other. `hop`: of the cells.
  template <class Block>
  PMPP_HOST_DEVICE static void close(Block& block, shared& memory, const Problem& p, int count, int y, int x,
                                     square& cell, [[maybe_unused]] steps& hop) {
    constexpr int group = min(4, rows);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int k = 0; k < count; ++k) {
      const int turn = k % 2, owner = k / group % 16, place = k / group / 16 * group + k % group;
      if (y == owner)
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int r = 0; r < rows; ++r)
          if (r == place)
            for (int c = 0; c < cols; ++c) memory.row[turn][place_of<cols>(x, c)] = cell[r][c];
      if (x == owner)
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int c = 0; c < cols; ++c)
          if (c == place)
            for (int r = 0; r < rows; ++r) {
              memory.column[turn][place_of<rows>(y, r)] = cell[r][c];
              if constexpr (Problem::has_hops) memory.hop[turn][place_of<rows>(y, r)] = hop[r][c];
            }
      block.sync();
      T of_row[rows], of_col[cols];
      for (int r = 0; r < rows; ++r) of_row[r] = memory.column[turn][place_of<rows>(y, r)];
      for (int c = 0; c < cols; ++c) of_col[c] = memory.row[turn][place_of<cols>(x, c)];
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c) {
          if constexpr (Problem::has_hops) {
            if (p.rules.improves(of_row[r], of_col[c], cell[r][c])) hop[r][c] = memory.hop[turn][place_of<rows>(y, r)];
          } else {
            cell[r][c] = p.rules.better(of_row[r], of_col[c], cell[r][c]);
          }
        }
    }
  }
};

/// next(i, j) = j: every edge is its own first step.
template <class Hops>
struct first_hops_kernel {
  static constexpr int threads = 256;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const Hops& next) const {
    const std::int64_t n = next.rows(), step = block.count() * threads;
    for (std::int64_t i = block.index() * threads + block.thread(); i < n * n; i += step)
      next(i / n, i % n) = static_cast<typename Hops::value_type>(i % n);
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
