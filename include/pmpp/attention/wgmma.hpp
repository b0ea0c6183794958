// SPDX-License-Identifier: Apache-2.0
//
// Attention of many rows on the tensor cores of sm_90a (H100, H200), for half and bfloat16 and vectors of up to 128 elements.
//
//   1. There is a block for each multiprocessor, and it goes from tile to tile of rows (attention/problem.hpp), 64 for each of its
//      consumers. Its first warpgroup is the producer: one thread of it asks TMA for queries, and for tiles of 128 keys and of their
//      values, in the order in which they are used, as soon as a stage of shared memory is free.
//   2. Tiles of keys are counted from the last one that the rows see back to the first, so that no copy goes past the end, where
//      anything may lie: before the first key TMA writes zeros.
//   3. A consumer multiplies its queries by a tile of keys; the scores are in its registers, 64 a thread. The online softmax makes
//      weights of them (attention/kernel.hpp), which are the left factor of the product with the values as they are.
//   4. Two products are on their way at once: those of the next tile's scores and those of the last one's weights and values. The
//      softmax of the scores runs beside the latter, and beside the products of the other consumers. (Barriers by which consumers take
//      turns made it 2 to 3 % slower on an H100.)
//   5. Causal: tiles that no row sees are left out. Those with most to do come first, of as many pairs together as share the last
//      cache.
// (Shah et al., "FlashAttention-3", 2024.)
#pragma once

#include <pmpp/core/config.hpp>

#if PMPP_CUDA && defined(__CUDACC__)

#include <cmath>
#include <cstdint>

#include <pmpp/attention/kernel.hpp>
#include <pmpp/attention/problem.hpp>
#include <pmpp/block/pipeline.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/gemm/available.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/tensor_copy.hpp>
#include <pmpp/simt/wgmma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Size: 64 or 128, elements of a vector in shared memory; those beyond its own are zeros.
template <class T, int Size>
struct attention_wgmma_kernel {
  static constexpr int consumers = Size == 64 ? 3 : 2, threads = 128 * (1 + consumers), min_blocks = 1;
  static constexpr bool begins_early = true;
  static constexpr int rows = 64 * consumers, keys = 128, row_bytes = 128;
  static constexpr int halves = Size / 64, stages = 6;  ///< of 128 bytes of vectors; of keys or values
  static_assert(sizeof(T) == 2 && (Size == 64 || Size == 128));

  struct shared {
    alignas(1024) unsigned char q[halves][rows * row_bytes];  // the swizzle repeats every 1024 bytes
    unsigned char stages[attention_wgmma_kernel::stages][halves][keys * row_bytes];
    block::tensor_pipeline<1> queries;
    block::tensor_pipeline<attention_wgmma_kernel::stages> ring;
  };

  struct arguments {
    simt::tile_map q, k, v;
    attention_problem<T> x;
    int group, key_heads, positions;  ///< heads of q to one of k, heads of k, positions of a tile of rows
    int tiles, pairs, together;       ///< of rows of a pair; pairs, and how many of them take turns
  };

  template <class Block>
  PMPP_HOST_DEVICE void operator()([[maybe_unused]] Block& block, [[maybe_unused]] shared& memory,
                                   [[maybe_unused]] const arguments& a) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
    if (block.thread() == 0) {
      memory.queries.init(consumers);
      memory.ring.init(consumers);
    }
    block.sync();
    simt::previous_kernels_done();
    if (block.warp() < 4) {
      simt::release_registers<consumers == 2 ? 40 : 32>();
      if (block.thread() == 0) produce(block, memory, a);
    } else {
      simt::acquire_registers<consumers == 2 ? 232 : 160>();
      consume(block, memory, a);
    }
#endif
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(__clang__)
private:
  using query_position = block::stage_position<1>;
  using position = block::stage_position<stages>;
  using score_bits =
      std::uint32_t[keys / 2];  ///< of floats: lane 4 g + t has [4 j + 2 h + e] of row g + 8 h, key 8 j + 2 t + e

  /// A tile of rows: positions from `first` on, of all heads of a group.
  struct place {
    int pair, batch, key_head, first, seen;  ///< seen: keys by any row
    attention_lengths lengths;

    __device__ place(const arguments& a, int number) {
      const int section = a.together * a.tiles, first_pair = number / section * a.together,
                of_section = min(a.together, a.pairs - first_pair), i = number % section;
      pair = first_pair + i % of_section;
      batch = pair / a.key_heads;
      key_head = pair % a.key_heads;
      first = (a.tiles - 1 - i / of_section) * a.positions;
      lengths = a.x.lengths_of(batch);
      const std::int64_t last = min(std::int64_t(first + a.positions), lengths.queries) - 1;
      seen = last < first ? 0 : static_cast<int>(lengths.seen_by(last));
    }
    __device__ int key_tiles() const { return ceil_div(seen, keys); }
  };

  template <class Block, class F>
  __device__ __forceinline__ static void each_place(Block& block, const arguments& a, F f) {
    const int all = a.pairs * a.tiles;
    for (int i = static_cast<int>(block.index()); i < all; i += static_cast<int>(block.count())) f(place(a, i));
  }

  template <class Block>
  __device__ static void produce(Block& block, shared& memory, const arguments& a) {
    query_position query;
    position next;
    each_place(block, a, [&](const place& at) {
      const int tiles = at.key_tiles();
      if (tiles == 0) return;
      auto& full = memory.queries.acquire(query, halves * a.positions * a.group * row_bytes);
      for (int i = 0; i < halves; ++i)
        simt::copy_tile(memory.q[i], a.q, full, i * 64, at.key_head * a.group, at.first, at.batch);
      query.advance();
      const auto copy = [&](const simt::tile_map& map, int tile) {
        auto& there = memory.ring.acquire(next, halves * keys * row_bytes);
        for (int i = 0; i < halves; ++i)
          simt::copy_tile(memory.stages[next.stage][i], map, there, i * 64, at.key_head, at.seen - (tile + 1) * keys,
                          at.batch);
        next.advance();
      };
      copy(a.k, 0);
      for (int tile = 1; tile < tiles; ++tile) {
        copy(a.k, tile);
        copy(a.v, tile - 1);
      }
      copy(a.v, tiles - 1);
    });
  }

  /// Of a thread's two rows.
  struct state {
    std::uint32_t result[Size / 2];  ///< as scores, of columns
    std::uint32_t weights[keys / 4];
    float most[2], sum[2];
  };

  template <class Block>
  __device__ __forceinline__ static void consume(Block& block, shared& memory, const arguments& a) {
    const int consumer = block.warp() / 4 - 1, row = consumer * 64 + block.warp() % 4 * 16 + block.lane() / 4;
    const float unit = a.x.scale * log2_e;
    query_position query;
    position next;
    const auto release = [&](auto& ring, int stage) __attribute__((always_inline)) {
      if (block.thread() % 128 == 0) ring.release(stage);
    };
    each_place(
        block, a, [&](const place& at) __attribute__((always_inline)) {
          const int tiles = at.key_tiles();
          state s;
#pragma unroll
          for (int i = 0; i < Size / 2; ++i) s.result[i] = 0;
#pragma unroll
          for (int h = 0; h < 2; ++h) s.most[h] = no_score, s.sum[h] = 0;
          if (tiles > 0) {
            int limit[2];  // the keys that a row sees
#pragma unroll
            for (int h = 0; h < 2; ++h)
              limit[h] = static_cast<int>(at.lengths.seen_by(at.first + (row + 8 * h) / a.group));
            const auto seen_by_all = static_cast<int>(at.lengths.seen_by(at.first + consumer * 64 / a.group));
            memory.queries.wait(query);
            score_bits scores;
            float factor[2];
            memory.ring.wait(next);
            start_scores(memory, consumer, next.stage, scores);
            simt::products_wait<0>();
            simt::fence_accumulators(scores);
            release(memory.ring, next.stage);
            next.advance();
            const auto make_weights = [&](int tile) __attribute__((always_inline)) {
              const int key = at.seen - (tile + 1) * keys;
              if (key < 0 || key + keys > seen_by_all) hide(block, key, limit, scores);
              soften(block, unit, scores, s, factor);
              simt::fence_accumulators(scores);
            };
            make_weights(0);
            memory.ring.wait(next);
            pack(scores, s);
            for (int tile = 1; tile < tiles; ++tile) {
              const int of_keys = next.stage;
              start_scores(memory, consumer, of_keys, scores);
              next.advance();
              memory.ring.wait(next);
              start_results(memory, next.stage, s);
              simt::products_wait<1>();
              simt::fence_accumulators(scores);
              release(memory.ring, of_keys);
              make_weights(tile);
              const int of_values = next.stage;
              next.advance();
              memory.ring.wait(next);  // what comes next; here, as ptxas moves no wait for products before a loop
              simt::products_wait<0>();
              simt::fence_accumulators(s.result);
              simt::fence_accumulators(s.weights);
              release(memory.ring, of_values);
              if (block.any(factor[0] != 1 || factor[1] != 1)) scale(s, factor);
              pack(scores, s);
            }
            release(memory.queries, 0);
            query.advance();
            start_results(memory, next.stage, s);
            simt::products_wait<0>();
            simt::fence_accumulators(s.result);
            simt::fence_accumulators(s.weights);
            release(memory.ring, next.stage);
            next.advance();
          }
          write(block, a, at, row, unit, s);
        });
  }

  __device__ __forceinline__ static void start_scores(const shared& memory, int consumer, int stage,
                                                      score_bits& scores) {
    simt::products_begin();
#pragma unroll
    for (int i = 0; i < halves; ++i) {
      const std::uint64_t q = simt::operand_in_shared(memory.q[i] + consumer * 64 * row_bytes, 16),
                          k = simt::operand_in_shared(memory.stages[stage][i], 16);
#pragma unroll
      for (int step = 0; step < 4; ++step)
        simt::multiply_rows<T, false, false, keys>(scores, q + step * 2, k + step * 2, i + step > 0);
    }
    simt::products_end();
  }
  __device__ __forceinline__ static void start_results(const shared& memory, int stage, state& s) {
    const std::uint64_t v = simt::operand_in_shared(memory.stages[stage][0], keys * row_bytes);
    simt::products_begin();
#pragma unroll
    for (int step = 0; step < keys / 16; ++step)
      simt::multiply_rows<T, true, Size>(s.result, s.weights + 4 * step, v + step * (16 * row_bytes / 16), true);
    simt::products_end();
  }

  /// Gives keys that a row does not see the score -infinity, and those before the first. The tile begins with `key`.
  template <class Block>
  __device__ __forceinline__ static void hide(Block& block, int key, const int (&limit)[2], score_bits& scores) {
    const int own = block.lane() % 4 * 2;
#pragma unroll
    for (int i = 0; i < keys / 2; ++i) {
      const int column = i / 4 * 8 + own + i % 2;
      if (column < -key || column >= limit[i / 2 % 2] - key) scores[i] = __builtin_bit_cast(std::uint32_t, no_score);
    }
  }

  /// As attention_kernel's; what the result has to be multiplied by is left in `factor`.
  template <class Block>
  __device__ __forceinline__ static void soften(Block& block, float unit, score_bits& scores, state& s,
                                                float (&factor)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const auto score = [&](int i) __attribute__((always_inline)) {
        return __builtin_bit_cast(float, scores[i / 2 * 4 + 2 * h + i % 2]);
      };
      constexpr int chains = 4;  // that do not wait for each other
      float part[chains] = {s.most[h], no_score, no_score, no_score};
#pragma unroll
      for (int i = 0; i < keys / 4; ++i) part[i % chains] = fmaxf(part[i % chains], score(i));
      float most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
      most = fmaxf(most, block.shuffle_xor(most, 1));
      most = fmaxf(most, block.shuffle_xor(most, 2));
      const float shift = most == no_score ? 0 : most * unit;  // a row that has seen no key yet
      factor[h] = power_of_two(s.most[h] * unit - shift);
      s.most[h] = most;
#pragma unroll
      for (int i = 0; i < keys / 4; ++i) {
        const float weight = power_of_two(score(i) * unit - shift);
        part[i % chains] = i < chains ? weight : part[i % chains] + weight;
        scores[i / 2 * 4 + 2 * h + i % 2] = __builtin_bit_cast(std::uint32_t, weight);
      }
      const float sum = (part[0] + part[1]) + (part[2] + part[3]);
      s.sum[h] = s.sum[h] * factor[h] + sum;
    }
  }

  __device__ __forceinline__ static void scale(state& s, const float (&factor)[2]) {
#pragma unroll
    for (int i = 0; i < Size / 2; ++i)
      s.result[i] = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, s.result[i]) * factor[i / 2 % 2]);
  }

  /// Weights as the left factor of a product: word 4 s + 2 w + h has row g + 8 h, keys 16 s + 8 w + 2 t and the next.
  __device__ __forceinline__ static void pack(const score_bits& scores, state& s) {
#pragma unroll
    for (int i = 0; i < keys / 4; ++i)
      s.weights[i] = word_of<T>(__builtin_bit_cast(float, scores[2 * i]), __builtin_bit_cast(float, scores[2 * i + 1]));
  }

  /// Lanes of four exchange words of two elements, so that each writes 16 bytes at a time.
  template <class Block>
  __device__ __forceinline__ static void write(Block& block, const arguments& a, const place& at, int first_row,
                                               float unit, const state& s) {
    const int t = block.lane() % 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = s.sum[h];
      sum += block.shuffle_xor(sum, 1);
      sum += block.shuffle_xor(sum, 2);
      const int row = first_row + 8 * h, query = at.first + row / a.group, head = row % a.group;
      const bool is_row = row < a.positions * a.group && query < a.x.q.length();
      const bool sees = sum != 0 && at.lengths.seen_by(query) > 0;
      const float factor = sees ? 1 / sum : 0;
      T* const to = a.x.out.vector(at.batch, at.key_head * a.group + head, query);
#pragma unroll
      for (int i = 0; i < Size / 32; ++i) {
        packed<std::uint32_t, 4> word;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const auto value = [&](int e) __attribute__((always_inline)) {
            return sees ? __builtin_bit_cast(float, s.result[16 * i + 4 * j + 2 * h + e]) * factor : 0.0f;
          };
          word.item[j] = word_of<T>(value(0), value(1));
        }
#pragma unroll
        for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            if ((j & bit) != 0) continue;
            const bool upper = (t & bit) != 0;
            const std::uint32_t got = block.shuffle_xor(upper ? word.item[j] : word.item[j + bit], bit);
            (upper ? word.item[j] : word.item[j + bit]) = got;
          }
        const int column = 32 * i + 8 * t;
        if (is_row && column < a.x.out.size()) *reinterpret_cast<packed<std::uint32_t, 4>*>(to + column) = word;
      }
      if (is_row && t == 0 && a.x.log_sum_exp != nullptr) {
        const std::int64_t place = (std::int64_t(at.pair) * a.group + head) * a.x.q.length() + query;
        a.x.log_sum_exp[place] = sees ? (s.most[h] * unit + std::log2(sum)) * ln_2 : no_score;
      }
    }
  }
#endif
};

/// Starts attention so; false, and nothing has happened, where that cannot be, or rows are few. \pre no vector or stride is other than
/// multiples of 16 bytes
template <int Size, class P, class T>
bool attention_by_wgmma(const P& where, const attention_problem<T>& x) {
  if constexpr (gpu_execution<P> && sizeof(T) == 2 && Size <= 128) {
    using kernel = attention_wgmma_kernel<T, Size>;
    constexpr std::int64_t least_rows = 32;
    if (x.rows() < least_rows || x.group() > kernel::rows || x.k.empty() || !wgmma_available()) return false;
    typename kernel::arguments a;
    a.x = x;
    a.group = static_cast<int>(x.group());
    a.key_heads = static_cast<int>(x.k.heads());
    a.positions = static_cast<int>(min(std::int64_t(kernel::rows / a.group), x.q.length()));
    const std::int64_t tiles = ceil_div(x.q.length(), std::int64_t(a.positions));
    if (tiles * x.pairs() >= std::int64_t(1) << 30) return false;
    const auto describe = [](simt::tile_map& map, const heads_view<const T>& v, int heads, int positions) {
      return simt::describe_heads(map, v.data(), {v.size(), v.heads(), v.length(), v.batch()},
                                  {v.head_stride(), v.position_stride(), v.batch_stride()}, heads, positions);
    };
    if (!describe(a.q, x.q, a.group, a.positions) || !describe(a.k, x.k, 1, kernel::keys) ||
        !describe(a.v, x.v, 1, kernel::keys))
      return false;
    a.tiles = static_cast<int>(tiles);
    a.pairs = static_cast<int>(x.pairs());
    constexpr std::int64_t cached = 16 << 20;  // bytes of keys and values that all blocks find in the last cache
    a.together = static_cast<int>(
        min(x.pairs(), max(std::int64_t(16), cached / (x.k.length() * Size * std::int64_t(2 * sizeof(T))))));
    pmpp::launch(where, min(tiles * x.pairs(), std::int64_t(machine_of(where).multiprocessors)), kernel{}, a);
    return true;
  }
  return false;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop

#else

#include <pmpp/attention/problem.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

template <int Size, class P, class T>
bool attention_by_wgmma(const P&, const attention_problem<T>&) {
  return false;
}

}  // namespace pmpp::inline PMPP_BACKEND::detail

#endif
