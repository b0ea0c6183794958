// SPDX-License-Identifier: Apache-2.0
//
// How k-tiles of A and B arrive in shared memory where ordinary units multiply them: by copies of all threads, and with k as
// the slow index, whatever the layout in global memory. Each row, of one k, is followed by a 16-byte word, which lets lanes with
// consecutive k write to different banks.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/problem.hpp>
#include <pmpp/simt/memory.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Copies `Extent` elements along m or n of K numbers of k, k-tile after k-tile, as elements of type A. What it keeps in
/// registers is little: they are scarce.
template <class A, class T, int Extent, int K, int Threads, k_tile_copy Copy>
class tile_iterator {
public:
  static constexpr int row_length = Extent + 16 / int(sizeof(A));

  /// \param first  the first element along m or n; \param k  the first number of k
  PMPP_HOST_DEVICE tile_iterator(int thread, const gemm_operand<T>& x, std::int64_t batch, std::int64_t first,
                                 std::int64_t k)
      : rows_(static_cast<int>(min(std::int64_t(Extent), x.extent - first))) {
    with_pattern(x, [&](auto way) {
      const int i = way.i(thread) * way.items, p = way.p(thread);
      from_ = x.data + batch * x.batch_stride + (first + i) * x.stride + (k + p) * x.k_stride;
      to_ = p * row_length + i;
    });
  }

  /// Whether all of the tile's elements along m or n lie inside the operand.
  PMPP_HOST_DEVICE bool is_whole() const { return rows_ == Extent; }

  /// Starts copying the next k-tile to the rows of shared memory from `to` on. Of it `depth` numbers of k lie in the operand, all
  /// if Inside, and the tile is whole then; zeros where it does not, nothing if there are none.
  template <bool Inside>
  PMPP_HOST_DEVICE void copy(int thread, const gemm_operand<T>& x, A* to, int depth) {
    if (Inside || (is_whole() && depth >= K))
      each_piece(thread, x, to,
                 [](auto way, A* piece, const T* from, int, int) { copy_piece<way.items>(piece, from); });
    else if (depth > 0)
      each_piece(thread, x, to, [&](auto way, A* piece, const T* from, int i, int p) {
        copy_part<way.items>(piece, from, x.stride, p < depth ? min(max(rows_ - i, 0), way.items) : 0);
      });
    from_ += K * x.k_stride;
  }

private:
  /// Which pieces of a k-tile a thread copies: `Items` elements along m or n each, first those at (i(t), p(t)), then those
  /// `across` pieces and `deep` rows of the k-tile further. Consecutive threads take `Deep` pieces along k, then the next.
  template <int Deep, int Items, bool UnitStride>
  struct pattern {
    static constexpr int items = Items, pieces = Extent / Items, abreast = Threads / Deep;
    static constexpr int across = min(abreast, pieces), deep = abreast / across * Deep;
    static constexpr bool unit_i = UnitStride, unit_k = Deep > 1, idle_threads = deep > K;
    PMPP_HOST_DEVICE static int p(int t) { return t % Deep + t / (Deep * across) * Deep; }
    PMPP_HOST_DEVICE static int i(int t) { return t / Deep % across; }
  };
  template <class F>
  PMPP_HOST_DEVICE static void with_pattern(const gemm_operand<T>& x, F f) {
    constexpr int items = max(1, int(16 / sizeof(T)));
    const k_tile_copy copy = Copy == k_tile_copy::mixed ? x.copy : Copy;
    if (copy == k_tile_copy::words)
      f(pattern < 1, Extent % items == 0 ? items : 1, true > {});
    else if (copy == k_tile_copy::along)
      f(pattern<1, 1, true>{});
    else if (copy == k_tile_copy::along_k)
      f(pattern<8, 1, false>{});
    else
      f(pattern<1, 1, false>{});
  }

  /// Calls f(pattern, where it goes, where it is, i, p) for each piece of the thread.
  template <class F>
  PMPP_HOST_DEVICE void each_piece(int thread, const gemm_operand<T>& x, A* to, F f) const {
    with_pattern(x, [&](auto way) {
      for (int i = 0; i < way.pieces; i += way.across)
        for (int p = 0; p < K; p += way.deep)
          if (!way.idle_threads || way.p(thread) < K)
            f(way, to + to_ + p * row_length + i * way.items,
              from_ + i * way.items * (way.unit_i ? 1 : x.stride) + p * (way.unit_k ? 1 : x.k_stride),
              (way.i(thread) + i) * way.items, way.p(thread) + p);
    });
  }

  /// Whether a piece needs no conversion, and no register on its way.
  template <int Items>
  static constexpr bool is_copied = std::is_same_v<T, A> &&
                                    (Items * sizeof(T) == 4 || Items * sizeof(T) == 8 || Items * sizeof(T) == 16);

  template <int Items>
  PMPP_HOST_DEVICE static void copy_piece(A* to, const T* from) {
    if constexpr (is_copied<Items>) {
      simt::copy_async<Items* int(sizeof(T))>(to, from);
    } else {
      const auto x = *reinterpret_cast<const packed<T, Items>*>(from);
      for (int e = 0; e < Items; ++e) to[e] = static_cast<A>(x.item[e]);
    }
  }
  /// The first `there` elements of it, and zeros.
  template <int Items>
  PMPP_HOST_DEVICE static void copy_part(A* to, const T* from, std::int64_t stride, int there) {
    if constexpr (is_copied<Items>)
      simt::copy_async<Items* int(sizeof(T))>(to, from, there * int(sizeof(T)));
    else
      for (int e = 0; e < Items; ++e) to[e] = e < there ? static_cast<A>(from[e * stride]) : A{};
  }

  const T* from_;  // the first piece of this thread in the next k-tile
  int to_;         // where it goes
  int rows_;       // elements along m or n that lie inside the operand
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
