// SPDX-License-Identifier: Apache-2.0
//
// Rung 10: wgmma, the tensor cores of Hopper. Four warps, a warpgroup, multiply 64 rows of A by 128 columns of B in one
// instruction, which reads both straight from shared memory and goes on by itself while the warps do something else. So
// nothing passes through registers but the sums.
//
// Both tiles lie along k, 32 floats or 128 bytes a row: B comes by columns. The instruction wants the 16-byte words of row r in the
// order that an exclusive or with r % 8 gives ("swizzled by 128 bytes"): eight rows of one word column then lie in all banks.
// In each turn of the loop k-tile i is multiplied, i + 1 is on its way, and i - 1 may still be read: three buffers. What copies have written
// has to be made visible to the unit that reads it (a fence between "proxies").
//
// tf32 as in rung 9, though factors are cut to 11 bits, not rounded. Where there is no wgmma, in the emulator too, a loop of each
// thread does the same. The sides are multiples of the tile. The library adds: TMA for the copies, a warp that asks for them
// and nothing else, clusters, tiles of other shapes, operands of half as many bytes.
#pragma once

#include <pmpp/launch.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/tensor_copy.hpp>
#include <pmpp/simt/wgmma.hpp>

#include "product.hpp"

struct warpgroups {
  static constexpr int threads = 256, tile = 128, depth = 32, stages = 3, min_blocks = 2;
  struct shared {
    alignas(1024) float a[stages][tile * depth],
        b[stages][tile * depth];  // the order of words repeats every 1024 bytes
  };
  using sums = std::uint32_t[tile / 2];  // 64 x 128 elements are the lanes' of four warps: the bits of 64 floats each

  /// Where element k of row r of a tile lies.
  PMPP_HOST_DEVICE static int place(int r, int k) { return r * depth + ((k / 4) ^ (r % 8)) * 4 + k % 4; }

  /// Starts d += A B, of 64 rows of A.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply([[maybe_unused]] Block& block, sums& d, const float* a, const float* b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    const std::uint64_t rows = pmpp::simt::operand_in_shared(a, 16), columns = pmpp::simt::operand_in_shared(b, 16);
    pmpp::simt::products_begin();
    for (int k = 0; k < depth; k += 8)  // 32 bytes of each row; addresses count in 16 bytes
      pmpp::simt::multiply_rows<float, false, false, tile>(d, rows + k / 4, columns + k / 4, true);
    pmpp::simt::products_end();
#else
    const int g = block.lane() / 4, t = block.lane() % 4;
    for (int e = 0; e < tile / 2; ++e) {
      const int r = block.warp() % 4 * 16 + g + e / 2 % 2 * 8, c = e / 4 * 8 + 2 * t + e % 2;
      float sum = __builtin_bit_cast(float, d[e]);
      for (int k = 0; k < depth; ++k) sum += a[place(r, k)] * b[place(c, k)];
      d[e] = __builtin_bit_cast(std::uint32_t, sum);
    }
#endif
  }
  /// All products but those of the newest N calls are done.
  template <int N>
  PMPP_HOST_DEVICE static void wait([[maybe_unused]] sums& d) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    pmpp::simt::products_wait<N>();
    if (N == 0) pmpp::simt::fence_accumulators(d);
#endif
  }
  PMPP_HOST_DEVICE static void show_to_tensor_cores() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    pmpp::simt::visible_to_copies();
#endif
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, product x) const {
    const std::int64_t across = x.n / tile;
    const std::int64_t row = block.index() / across * tile, col = block.index() % across * tile;
    const int thread = block.thread(), group = block.warp() / 4;
    const auto copy = [&](std::int64_t first, int stage) {
      for (int e = 4 * thread; first < x.k && e < tile * depth; e += 4 * threads) {
        const int r = e / depth, k = e % depth;
        pmpp::simt::copy_async<16>(&memory.a[stage][place(r, k)], x.a + (row + r) * x.k + first + k);
        pmpp::simt::copy_async<16>(&memory.b[stage][place(r, k)], x.b_by_column + (col + r) * x.k + first + k);
      }
      pmpp::simt::copy_async_commit();
    };
    sums d = {};
    copy(0, 0);
    int stage = 0;
    for (std::int64_t first = 0; first < x.k; first += depth) {
      const int next = stage + 1 < stages ? stage + 1 : 0;
      pmpp::simt::copy_async_wait<0>();
      show_to_tensor_cores();
      block.sync();  // k-tile i is there for all, and all have done with i - 2, whose buffer is the next
      copy(first + depth, next);
      multiply(block, d, &memory.a[stage][group * 64 * depth], memory.b[stage]);
      wait<1>(d);
      stage = next;
    }
    wait<0>(d);
    const int g = block.lane() / 4, t = block.lane() % 4;
    for (int e = 0; e < tile / 2; ++e) {
      const std::int64_t r = row + block.warp() * 16 + g + e / 2 % 2 * 8;
      x.c[r * x.n + col + e / 4 * 8 + 2 * t + e % 2] = __builtin_bit_cast(float, d[e]);
    }
  }
};

template <class Policy>
void multiply_by_warpgroups(const Policy& where, const product& x) {
  pmpp::launch(where, x.m / warpgroups::tile * (x.n / warpgroups::tile), warpgroups{}, x);
}
