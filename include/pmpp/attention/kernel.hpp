// SPDX-License-Identifier: Apache-2.0
//
// The tile kernel of attention, on tensor cores, and the one that joins parts of the keys.
//
//   1. A block owns some rows (attention/problem.hpp) and all keys that they see, or one of several parts of these. Its queries lie in
//      shared memory; keys and values come tile by tile, the next tile on its way while one is used. One barrier a tile.
//   2. A warp owns 16 or 32 rows alone. It multiplies its queries by the tile's keys and holds the scores in registers; they are never
//      written. Keys that a row does not see get the score -infinity, in the tiles that have some.
//   3. The online softmax: a row keeps the largest score m so far and the sum of exp(score - m). Where a tile has a larger one, the sum
//      and the row of the result are scaled first.
//   4. The scores' exponentials, rounded to the type of the elements, are already the parts of the next product's left factor: lane
//      4 g + t holds columns 2 t and 2 t + 1 of a product, and those are the k that it has to bring. Times values, added to the result.
//   5. A part of the keys leaves its result and the logarithm of its sum in scratch memory; the second kernel adds up the parts, in
//      order, each times its share of the sum.
//
// Rows in shared memory are words of 16 bytes, exchanged within groups of eight by the row's number: what a warp reads at once lies in
// different banks. Floats are split in two tf32 numbers, high and low, and three products are added of the four: 21 bits of 24.
// (Dao et al., "FlashAttention", 2022; Dao, "FlashAttention-2", 2023; Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018; Dao et al., "Flash-Decoding for long-context inference", 2023.)
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/attention/problem.hpp>
#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/mma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// How a block cuts up its work.
struct attention_tile {
  int warps = 0;       ///< of a block
  int row_blocks = 0;  ///< of 16 rows, of a warp
  int keys = 0;        ///< of a tile; a multiple of 8, of two-byte elements 16
  int blocks = 0;      ///< of a multiprocessor

  constexpr int rows() const { return warps * row_blocks * 16; }
  constexpr std::size_t shared_bytes(std::size_t row) const {
    return (std::size_t(rows()) + 4 * std::size_t(keys)) * row;
  }
  friend constexpr bool operator==(const attention_tile&, const attention_tile&) = default;
};

namespace detail {

inline constexpr float no_score = -std::numeric_limits<float>::infinity(), log2_e = 1.44269504f, ln_2 = 0.693147181f;

/// 2 to the power of x, within two units in the last place; 0 where that is below 2^-126.
PMPP_HOST_DEVICE inline float power_of_two(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

/// Two numbers as a word of two elements.
template <class T>
PMPP_HOST_DEVICE std::uint32_t word_of(float low, float high) {
  const packed<T, 2> both{{static_cast<T>(low), static_cast<T>(high)}};
  return __builtin_bit_cast(std::uint32_t, both);
}

/// Partial results of parts of the keys, in scratch memory.
struct attention_parts {
  float* results;  ///< [part][pair][row][size]
  float* sums;     ///< [part][pair][row]: binary logarithms of sums of exponentials
  int count;
};

/// Size: the elements of a vector in shared memory, those beyond the head size zero; 64, 128 or 256.
template <class T, int Size, attention_tile Tile>
struct attention_kernel {
  static constexpr int threads = Tile.warps * simt::warp_size, min_blocks = Tile.blocks;
  static constexpr simt::mma_type type = std::is_same_v<T, float> ? simt::mma_type::tf32 : mma_type_of<T>;
  static_assert(type == simt::mma_type::tf32 || type == simt::mma_type::float16 || type == simt::mma_type::bfloat16);
  static constexpr int tile_rows = Tile.rows();
  static constexpr bool two_byte = sizeof(T) == 2;
  using mma = simt::mma<type>;
  static constexpr int items = 16 / sizeof(T), words = Size / items;  ///< of a row
  static constexpr int row_blocks = Tile.row_blocks, key_blocks = Tile.keys / 8, size_blocks = Size / 8;
  static_assert(Tile.keys % mma::k == 0 && words % 8 == 0);

  struct shared {
    alignas(128) std::byte q[tile_rows * words * 16];
    struct {
      std::byte k[Tile.keys * words * 16], v[Tile.keys * words * 16];
    } stage[2];
  };
  static_assert(sizeof(shared) == Tile.shared_bytes(words * 16));

  struct arguments {
    attention_problem<T> x;
    attention_parts parts;
    std::int64_t tiles;  ///< of rows of a pair
    bool in_words;       ///< all vectors may be read 16 bytes at a time
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    const auto& x = a.x;
    const int part = static_cast<int>(block.index() % a.parts.count);
    const std::int64_t tile = block.index() / a.parts.count, pair = tile / a.tiles;
    // Causal: the last rows have most to do, and begin first.
    const std::int64_t first_row = (a.tiles - 1 - tile % a.tiles) * tile_rows;
    const std::int64_t b = pair / x.k.heads(), head = pair % x.k.heads();
    const attention_lengths lengths = x.lengths_of(b);
    const std::int64_t first = first_row / x.group(), last = (first_row + tile_rows - 1) / x.group();
    const std::int64_t seen_by_all = lengths.seen_by(first);  // where a query is at all
    const std::int64_t seen = first < lengths.queries ? lengths.seen_by(min(last, lengths.queries - 1)) : 0;
    const std::int64_t share = round_up(ceil_div(seen, std::int64_t(a.parts.count)), std::int64_t(Tile.keys));
    const std::int64_t begin = min(seen, part * share), end = min(seen, begin + share);
    const int tiles = static_cast<int>(ceil_div(end - begin, std::int64_t(Tile.keys)));

    state s;
    const int warp_row = block.warp() * row_blocks * 16;
    if (tiles > 0) {
      const auto fill = [&](int stage, int i) {
        const std::int64_t key = begin + std::int64_t(i) * Tile.keys;
        const auto there = static_cast<int>(max(std::int64_t(0), min(end - key, std::int64_t(Tile.keys))));
        copy(block, memory.stage[stage].k, Tile.keys, there, a.in_words, x.k.size(), x.k.data(),
             [&](int row) { return x.k.vector(b, head, key + row); });
        copy(block, memory.stage[stage].v, Tile.keys, there, a.in_words, x.v.size(), x.v.data(),
             [&](int row) { return x.v.vector(b, head, key + row); });
      };
      const auto rows = static_cast<int>(min(x.rows() - first_row, std::int64_t(tile_rows)));
      copy(block, memory.q, tile_rows, rows, a.in_words, x.q.size(), x.q.data(),
           [&](int row) { return x.query(pair, first_row + row); });
      block::async_pipeline<2> ring;
      ring.template begin<1>([&](int stage) { fill(stage, 0); });
      // By row: the keys that it sees.
      std::int64_t limit[row_blocks][2];
      unrolled<row_blocks>([&](int r) {
        for (int h = 0; h < 2; ++h)
          limit[r][h] = lengths.seen_by((first_row + warp_row + r * 16 + h * 8 + block.lane() / 4) / x.group());
      });
      for (int i = 0; i < tiles; ++i) {
        ring.template wait<0>(block);
        if (i + 1 < tiles) fill(ring.acquire(), i + 1);
        ring.commit();
        const auto& stage = memory.stage[ring.front()];
        score_sums scores = {};
        add_scores(block, memory.q, warp_row, stage.k, scores);
        const std::int64_t key = begin + std::int64_t(i) * Tile.keys;
        if (key + Tile.keys > min(seen_by_all, end)) hide(block, key, end, limit, scores);
        soften(block, x.scale * log2_e, scores, s);
        add_values(block, stage.v, scores, s);
        ring.release();
      }
      ring.drain();
    }
    write(block, a, lengths, pair, first_row + warp_row, part, s);
  }

private:
  using score_sums = float[row_blocks][key_blocks][4];

  /// Of a lane's rows: r * 16 + h * 8 + lane / 4 of the warp's.
  struct state {
    float result[row_blocks][size_blocks][4] = {};
    float most[row_blocks][2];      ///< the largest score so far
    float sum[row_blocks][2] = {};  ///< of exponentials, of the columns of this lane

    PMPP_HOST_DEVICE state() {
      for (int r = 0; r < row_blocks; ++r) most[r][0] = most[r][1] = no_score;
    }
  };

  /// Of a 16-byte word in rows of shared memory.
  PMPP_HOST_DEVICE static int offset_of(int row, int word) { return (row * words + (word ^ (row & 7))) * 16; }

  /// Starts the copy of `there` vectors of `size` elements, and zeros after each and behind them: what lies there in memory, maybe
  /// NaN, is not read.
  template <class Block, class Vector>
  PMPP_HOST_DEVICE static void copy(Block& block, std::byte* to, int rows, int there, bool in_words, std::int64_t size,
                                    const T* any, const Vector& vector) {
    for (int i = block.thread(); i < rows * words; i += threads) {
      const int row = i / words, word = i % words;
      const int count = row < there ? max(0, min(items, static_cast<int>(size) - word * items)) : 0;
      const T* const from = count > 0 ? vector(row) + word * items : any;
      std::byte* const target = to + offset_of(row, word);
      if (in_words) {
        simt::copy_async<16>(target, from, count * int(sizeof(T)));
      } else {
        for (int e = 0; e < items; ++e)
          reinterpret_cast<packed<T, 1>*>(target)[e].item[0] = e < count ? from[e] : static_cast<T>(0.0f);
      }
    }
  }

  /// sum += A B; of floats as three products of their upper and lower halves.
  template <class Block>
  PMPP_HOST_DEVICE static void multiply(Block& block, float (&sum)[4], const std::uint32_t (&a)[4],
                                        const std::uint32_t (&a_low)[4], const std::uint32_t (&b)[2],
                                        const std::uint32_t (&b_low)[2]) {
    if constexpr (!two_byte) {
      simt::multiply_add<type>(block, sum, a_low, b);
      simt::multiply_add<type>(block, sum, a, b_low);
    }
    simt::multiply_add<type>(block, sum, a, b);
  }
  /// Leaves the upper half of each float, and what is missing in `low`.
  template <int N>
  PMPP_HOST_DEVICE static void split(std::uint32_t (&x)[N], std::uint32_t (&low)[N]) {
    if constexpr (!two_byte)
      unrolled<N>([&](int i) {
        float all = __builtin_bit_cast(float, x[i]);  // not const: nvcc 13.0 would try to fold it, and crash
        x[i] = simt::round_to_tf32(x[i]);
        low[i] = simt::round_to_tf32(__builtin_bit_cast(std::uint32_t, all - __builtin_bit_cast(float, x[i])));
      });
  }

  template <class Block>
  PMPP_HOST_DEVICE static void add_scores(Block& block, const std::byte* q, int warp_row, const std::byte* k,
                                          score_sums& scores) {
    const int lane = block.lane(), matrix = lane / 8;
    unrolled<words / 2>([&](int step) {
      std::uint32_t a[row_blocks][4], a_low[row_blocks][4];
      unrolled<row_blocks>([&](int r) {
        simt::load_matrices<false>(block, a[r],
                                   q + offset_of(warp_row + r * 16 + matrix % 2 * 8 + lane % 8, 2 * step + matrix / 2));
        split(a[r], a_low[r]);
      });
      unrolled<(key_blocks + 1) / 2>([&](int n) {
        std::uint32_t b[4];  // of two times 8 keys; where there are 8, twice of these
        const int keys = min(2 * n + matrix / 2, key_blocks - 1);
        simt::load_matrices<false>(block, b, k + offset_of(keys * 8 + lane % 8, 2 * step + matrix % 2));
        unrolled<min(2, key_blocks)>([&](int i) {
          std::uint32_t own[2] = {b[2 * i], b[2 * i + 1]}, low[2];
          split(own, low);
          unrolled<row_blocks>([&](int r) { multiply(block, scores[r][2 * n + i], a[r], a_low[r], own, low); });
        });
      });
    });
  }

  /// Gives keys that a row does not see the score -infinity. The tile begins with key `first`; there are `end`.
  template <class Block>
  PMPP_HOST_DEVICE static void hide(Block& block, std::int64_t first, std::int64_t end,
                                    const std::int64_t (&limit)[row_blocks][2], score_sums& scores) {
    unrolled<row_blocks>([&](int r) {
      for (int h = 0; h < 2; ++h) {
        const auto left =
            static_cast<int>(max(std::int64_t(-1), min(min(limit[r][h], end) - first, std::int64_t(Tile.keys))));
        unrolled<key_blocks>([&](int n) {
          for (int e = 0; e < 2; ++e)
            if (n * 8 + block.lane() % 4 * 2 + e >= left) scores[r][n][2 * h + e] = no_score;
        });
      }
    });
  }

  /// Scores become exponentials of what they are more than the largest of their row. `unit`: of a score, as a binary logarithm.
  /// (exp2f: with power_of_two ptxas 13.0 has more registers spill.)
  template <class Block>
  PMPP_HOST_DEVICE static void soften(Block& block, float unit, score_sums& scores, state& s) {
    unrolled<row_blocks>([&](int r) {
      unrolled<2>([&](int h) {
        float most = s.most[r][h];
        unrolled<key_blocks>([&](int n) { most = max(most, max(scores[r][n][2 * h], scores[r][n][2 * h + 1])); });
        most = max(most, block.shuffle_xor(most, 1));
        most = max(most, block.shuffle_xor(most, 2));
        const float shift = most == no_score ? 0 : most * unit;  // a row that has seen no key yet
        const float factor = exp2f(s.most[r][h] * unit - shift);
        s.most[r][h] = most;
        float sum = s.sum[r][h] * factor;
        unrolled<key_blocks>([&](int n) {
          for (int e = 2 * h; e < 2 * h + 2; ++e) sum += scores[r][n][e] = exp2f(scores[r][n][e] * unit - shift);
        });
        s.sum[r][h] = sum;
        unrolled<size_blocks>([&](int n) {
          s.result[r][n][2 * h] *= factor;
          s.result[r][n][2 * h + 1] *= factor;
        });
      });
    });
  }

  template <class Block>
  PMPP_HOST_DEVICE static void add_values(Block& block, const std::byte* v, const score_sums& weights, state& s) {
    const int lane = block.lane(), g = lane / 4, t = lane % 4, matrix = lane / 8;
    unrolled<Tile.keys / mma::k>([&](int step) {
      std::uint32_t a[row_blocks][4], a_low[row_blocks][4];
      unrolled<row_blocks>([&](int r) {
        unrolled<4>([&](int i) {
          const int w = i / 2, h = i % 2;
          if constexpr (two_byte)
            a[r][i] = word_of<T>(weights[r][2 * step + w][2 * h], weights[r][2 * step + w][2 * h + 1]);
          else  // number 4 w + t of k is key 2 t + w
            a[r][i] = __builtin_bit_cast(std::uint32_t, weights[r][step][2 * h + w]);
        });
        split(a[r], a_low[r]);
      });
      unrolled<size_blocks / 2>([&](int n) {
        std::uint32_t b[4];
        if constexpr (two_byte)
          simt::load_matrices<true>(block, b, v + offset_of(step * 16 + matrix % 2 * 8 + lane % 8, 2 * n + matrix / 2));
        else
          unrolled<4>([&](int i) {
            const int key = step * 8 + 2 * t + i % 2, column = (2 * n + i / 2) * 8 + g;
            b[i] =
                reinterpret_cast<const packed<std::uint32_t, 1>*>(v + offset_of(key, column / 4))[column % 4].item[0];
          });
        unrolled<2>([&](int i) {
          std::uint32_t own[2] = {b[2 * i], b[2 * i + 1]}, low[2];
          split(own, low);
          unrolled<row_blocks>([&](int r) { multiply(block, s.result[r][2 * n + i], a[r], a_low[r], own, low); });
        });
      });
    });
  }

  /// Writes the warp's rows, from `first` on, or a part of them.
  template <class Block>
  PMPP_HOST_DEVICE static void write(Block& block, const arguments& a, const attention_lengths& lengths,
                                     std::int64_t pair, std::int64_t first, int part, const state& s) {
    const auto& x = a.x;
    const auto size = static_cast<int>(x.v.size());
    const int g = block.lane() / 4, t = block.lane() % 4;
    unrolled<row_blocks>([&](int r) {
      unrolled<2>([&](int h) {
        float sum = s.sum[r][h];
        sum += block.shuffle_xor(sum, 1);
        sum += block.shuffle_xor(sum, 2);
        const std::int64_t row = first + r * 16 + h * 8 + g;
        if (row >= x.rows()) return;
        const bool sees = sum != 0 && lengths.seen_by(row / x.group()) > 0;
        const float factor = sees ? 1 / sum : 0;
        const float log = sees ? s.most[r][h] * (x.scale * log2_e) + std::log2(sum) : no_score;
        const auto each = [&](auto put) {
          unrolled<size_blocks>([&](int n) {
            for (int e = 0; e < 2; ++e)
              if (n * 8 + t * 2 + e < size) put(n * 8 + t * 2 + e, sees ? s.result[r][n][2 * h + e] * factor : 0.0f);
          });
        };
        if (a.parts.count > 1) {
          const std::int64_t place = (part * x.pairs() + pair) * x.rows() + row;
          each([&](int i, float y) { a.parts.results[place * size + i] = y; });
          if (t == 0) a.parts.sums[place] = log;
        } else {
          T* const to = x.result(pair, row);
          each([&](int i, float y) { to[i] = static_cast<T>(y); });
          if (t == 0) x.note(pair, row, log * ln_2);
        }
      });
    });
  }
};

/// Adds up the parts of one row, a block each: warps take parts in turn, lanes elements.
template <class T>
struct attention_join_kernel {
  static constexpr int threads = 256, warps = threads / simt::warp_size, most_size = 256;
  struct shared {
    float sum[warps][most_size];
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const attention_problem<T>& x,
                                   const attention_parts& parts) const {
    const std::int64_t all = x.pairs() * x.rows(), place = block.index();
    const auto size = static_cast<int>(x.v.size());
    float most = no_score, total = 0;
    for (int p = block.lane(); p < parts.count; p += simt::warp_size) most = max(most, parts.sums[p * all + place]);
    for (int d = 1; d < simt::warp_size; d *= 2) most = max(most, block.shuffle_xor(most, d));
    const auto weight = [&](int p) {
      return most == no_score ? 0.0f : power_of_two(parts.sums[p * all + place] - most);
    };
    for (int p = block.lane(); p < parts.count; p += simt::warp_size) total += weight(p);
    for (int d = 1; d < simt::warp_size; d *= 2) total += block.shuffle_xor(total, d);
    for (int i = block.lane(); i < size; i += simt::warp_size) {
      float sum = 0;
      for (int p = block.warp(); p < parts.count; p += warps)
        sum += weight(p) * parts.results[(p * all + place) * size + i];
      memory.sum[block.warp()][i] = sum;
    }
    block.sync();
    const std::int64_t pair = place / x.rows(), row = place % x.rows();
    for (int i = block.thread(); i < size; i += threads) {
      float sum = 0;
      for (int w = 0; w < warps; ++w) sum += memory.sum[w][i];
      x.result(pair, row)[i] = static_cast<T>(total == 0 ? 0.0f : sum / total);
    }
    if (block.thread() == 0) x.note(pair, row, total == 0 ? no_score : (most + std::log2(total)) * ln_2);
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
