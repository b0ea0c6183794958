// SPDX-License-Identifier: Apache-2.0
//
// The kernels of floyd_warshall.hpp. A pivot is a few adjacent vertices (64 for elements of up to 8 bytes); P is the tile of
// distances among them.
//
//   pivot_kernel     one block closes P over its own vertices, one vertex after the other. Cells stay in registers; row and
//                    column k are handed round in shared memory, in two places in turn: one barrier a vertex.
//   product_kernel   C(i, j) = the better of C(i, j) and A(i, k) + B(k, j), over all k of the pivot, like a matrix product: a
//                    block makes a square of C, a thread a square of that in registers. A and B come to shared memory 16 k at a
//                    time, the next ones meanwhile. Three uses:
//                      across   C and B are the pivot's rows, A is P
//                      down     C and A are the pivot's columns, B is P
//                      rest     C is all else, A the pivot's columns, B its rows
//
// As P is closed, what `across` and `down` read of C may be old: a path through the pivot leaves it once. A block reads all it
// needs before it writes, and no block reads what another one writes. With next hops a cell remembers the k that bettered it
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

/// Rows and columns of the square that a thread makes of `rest`, 16 x 16 threads a block; less for large elements, for which
/// there are too few registers and too little shared memory.
template <class T>
inline constexpr int rest_micro = sizeof(T) <= 4   ? 8
                                  : sizeof(T) <= 8 ? 4
                                                   : 2;
template <class T>
inline constexpr int pivot_micro = min(4, rest_micro<T>);
template <class T>
inline constexpr int pivot_size = 16 * pivot_micro<T>;

/// Row or column r of a thread's square, of thread t of 16: in groups of up to four next to each other, so that a thread
/// reads 16 bytes at a time and the threads of a warp read what lies together.
template <int Micro>
PMPP_HOST_DEVICE constexpr int place_of(int t, int r) {
  constexpr int group = min(4, Micro);
  return (r / group * 16 + t) * group + r % group;
}

template <class Problem, class T>
struct pivot_kernel {
  static constexpr int threads = 256, micro = pivot_micro<T>, size = pivot_size<T>;

  struct shared {
    T row[2][size], column[2][size];
    std::int64_t hop[2][Problem::has_hops ? size : 1];  ///< of column k
  };

  /// first: the first vertex of the pivot.
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const Problem& p, std::int64_t first) const {
    const int count = static_cast<int>(min(std::int64_t(size), p.d.rows() - first));
    const int y = block.thread() / 16, x = block.thread() % 16;
    T cell[micro][micro]{};
    [[maybe_unused]] std::int64_t hop[micro][micro]{};
    const auto row = [&](int r) { return place_of<micro>(y, r); };
    const auto col = [&](int c) { return place_of<micro>(x, c); };
    for (int r = 0; r < micro; ++r)
      for (int c = 0; c < micro; ++c)
        if (row(r) < count && col(c) < count) {
          cell[r][c] = p.d(first + row(r), first + col(c));
          if constexpr (Problem::has_hops)
            hop[r][c] = static_cast<std::int64_t>(p.next(first + row(r), first + col(c)));
        }
    for (int k = 0; k < count; ++k) {
      const int turn = k % 2;
      for (int r = 0; r < micro; ++r)
        for (int c = 0; c < micro; ++c) {
          if (row(r) == k) memory.row[turn][col(c)] = cell[r][c];
          if (col(c) == k) {
            memory.column[turn][row(r)] = cell[r][c];
            if constexpr (Problem::has_hops) memory.hop[turn][row(r)] = hop[r][c];
          }
        }
      block.sync();
      for (int r = 0; r < micro; ++r)
        for (int c = 0; c < micro; ++c) {
          if (row(r) >= count || col(c) >= count) continue;
          if constexpr (Problem::has_hops) {
            if (p.rules.improves(memory.column[turn][row(r)], memory.row[turn][col(c)], cell[r][c]))
              hop[r][c] = memory.hop[turn][row(r)];
          } else {
            cell[r][c] = p.rules.better(memory.column[turn][row(r)], memory.row[turn][col(c)], cell[r][c]);
          }
        }
    }
    for (int r = 0; r < micro; ++r)
      for (int c = 0; c < micro; ++c)
        if (row(r) < count && col(c) < count) {
          p.d(first + row(r), first + col(c)) = cell[r][c];
          if constexpr (Problem::has_hops)
            p.next(first + row(r), first + col(c)) = static_cast<typename decltype(p.next)::value_type>(hop[r][c]);
        }
  }
};

/// Rest: C is all but the pivot's rows and columns. Else blocks 0 ... tiles - 1 are `across`, the others `down`.
template <class Problem, class T, bool Rest>
struct product_kernel {
  static constexpr int threads = 256, micro = Rest ? rest_micro<T> : pivot_micro<T>, side = 16 * micro;
  static constexpr int depth = 16;                         ///< k that lie in shared memory at a time
  static constexpr int loads = side * depth / threads;     ///< of A, and of B, by a thread
  static constexpr int gap = max(1, int(16 / sizeof(T)));  ///< elements after a row, so that columns lie in other banks

  struct shared {
    alignas(16) T a[2][depth][side + gap];  ///< transposed
    alignas(16) T b[2][depth][side + gap];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const Problem& p, std::int64_t pivot) const {
    const std::int64_t n = p.d.rows(), last = n - 1, end = min(n, pivot + pivot_size<T>),
                       tiles = ceil_div(n, std::int64_t(side));
    std::int64_t top = pivot, west = pivot;
    if constexpr (Rest) {
      top = block.index() / tiles * side;
      west = block.index() % tiles * side;
    } else {
      (block.index() < tiles ? west : top) = block.index() % tiles * side;
      if (top == west) return;  // P itself: whole tiles, as both kinds have its size
    }
    const int y = block.thread() / 16, x = block.thread() % 16;
    const auto row = [&](int r) { return top + place_of<micro>(y, r); };
    const auto col = [&](int c) { return west + place_of<micro>(x, c); };

    T cell[micro][micro];
    [[maybe_unused]] int via[micro][micro];
    for (int r = 0; r < micro; ++r)
      for (int c = 0; c < micro; ++c) {
        cell[r][c] = p.d(min(row(r), last), min(col(c), last));
        if constexpr (Problem::has_hops) via[r][c] = -1;
      }

    const auto fetch = [&](std::int64_t k, int turn) {
      for (int u = 0; u < loads; ++u) {
        const int i = block.thread() + u * threads;
        bring(memory.a[turn][i % depth][i / depth], p.d(min(top + i / depth, last), min(k + i % depth, last)));
        bring(memory.b[turn][i / side][i % side], p.d(min(k + i / side, last), min(west + i % side, last)));
      }
      simt::copy_async_commit();
    };
    fetch(pivot, 0);
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
        for (int s = 0; s < depth; ++s) step(memory, p, turn, s, first, y, x, cell, via);
      } else {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
        for (int s = 0; s < static_cast<int>(end - k); ++s) step(memory, p, turn, s, first, y, x, cell, via);
      }
    }
    block.sync();  // A and B have been read: they may be what is written

    [[maybe_unused]] std::int64_t hop[micro][micro];
    const auto is_written = [&](int r, int c) {
      const bool outside = !Rest || ((row(r) < pivot || row(r) >= end) && (col(c) < pivot || col(c) >= end));
      return outside && row(r) < n && col(c) < n;
    };
    if constexpr (Problem::has_hops) {
      for (int r = 0; r < micro; ++r)
        for (int c = 0; c < micro; ++c)
          if (is_written(r, c) && via[r][c] >= 0)
            hop[r][c] = static_cast<std::int64_t>(p.next(row(r), pivot + via[r][c]));
      block.sync();  // the hops of `down` are among those it writes
    }
    for (int r = 0; r < micro; ++r)
      for (int c = 0; c < micro; ++c) {
        if (!is_written(r, c)) continue;
        p.d(row(r), col(c)) = cell[r][c];
        if constexpr (Problem::has_hops)
          if (via[r][c] >= 0) p.next(row(r), col(c)) = static_cast<typename decltype(p.next)::value_type>(hop[r][c]);
      }
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
  PMPP_HOST_DEVICE static void step(const shared& memory, const Problem& p, int turn, int s, [[maybe_unused]] int k,
                                    int y, int x, T (&cell)[micro][micro], [[maybe_unused]] int (&via)[micro][micro]) {
    T of_row[micro], of_col[micro];
    for (int r = 0; r < micro; ++r) of_row[r] = memory.a[turn][s][place_of<micro>(y, r)];
    for (int c = 0; c < micro; ++c) of_col[c] = memory.b[turn][s][place_of<micro>(x, c)];
    for (int r = 0; r < micro; ++r)
      for (int c = 0; c < micro; ++c) {
        if constexpr (Problem::has_hops) {
          if (p.rules.improves(of_row[r], of_col[c], cell[r][c])) via[r][c] = k + s;
        } else {
          cell[r][c] = p.rules.better(of_row[r], of_col[c], cell[r][c]);
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
