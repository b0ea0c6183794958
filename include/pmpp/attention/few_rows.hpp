// SPDX-License-Identifier: Apache-2.0
//
// Attention of few rows, half or bfloat16: the next word of a text. Each key and value is used once, so what counts is that memory never
// waits; they go to registers, past shared memory, and no warp waits for another before the end.
//
//   1. A block owns the 16 rows of a pair (attention/problem.hpp) and all keys or a part of them; its four warps take steps of 4 KB of
//      keys and 4 KB of values in turn. As soon as the keys of a step are multiplied, those of the warp's next step are asked for, and so
//      the values: a multiprocessor of an H100 has 32 to 64 KB on their way.
//   2. Products of tensor cores (simt/mma.hpp) take what a lane has read 16 bytes at a time, as it is. Which k, and which column of the
//      result, has which place is free: the four lanes of a key read 64 adjacent bytes of it, the eight of a value 128. Values need
//      elements of two keys in one word: two instructions exchange halves of two words.
//   3. The online softmax of attention/kernel.hpp. Then the warps of a block add up, and the last block of a pair to end adds up all
//      parts, in order.
#pragma once

#include <cmath>
#include <cstdint>

#include <pmpp/attention/kernel.hpp>
#include <pmpp/attention/problem.hpp>
#include <pmpp/block/last_block.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/block.hpp>
#include <pmpp/simt/early.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/simt/mma.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Size: the elements of a vector at most; 64 or 128.
template <class T, int Size>
struct attention_few_rows_kernel {
  static constexpr int warps = 4, threads = warps * simt::warp_size, min_blocks = 2;
  static constexpr bool begins_early = simt::can_begin_early;
  static constexpr simt::mma_type type = mma_type_of<T>;
  static_assert(sizeof(T) == 2 && (Size == 64 || Size == 128));
  static constexpr int rows = 16, most_parts = 128;
  static constexpr int keys = 2048 / Size;                        ///< of a step of a warp
  static constexpr int k_words = Size / 32, v_words = Size / 64;  ///< of 16 bytes, that a lane has of a key, of a value

  struct shared {
    union {
      float result[warps][rows][Size + 4];
      float weight[rows][most_parts];
    };
    float most[warps][rows], sum[warps][rows];
    bool is_last;
  };

  struct arguments {
    attention_problem<T> x;
    attention_parts parts;
    unsigned* arrivals;  ///< of parts at each pair, zero; null where there is one part
    int rows, group,
        key_heads;  ///< x.rows(), x.group(), x.k.heads(): divisions of 64 bits would take longer than a step
  };

  /// How many keys a part has.
  PMPP_HOST_DEVICE static constexpr int share_of(int seen, int parts) {
    return round_up(ceil_div(seen, parts), warps * keys);
  }

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const arguments& a) const {
    simt::previous_kernels_done();
    const auto& x = a.x;
    const auto index = static_cast<unsigned>(block.index()), count = static_cast<unsigned>(a.parts.count);
    const place at{a, static_cast<int>(index % count), static_cast<int>(index / count)};
    const std::int64_t last = min(std::int64_t((a.rows - 1) / a.group), at.lengths.queries - 1);
    const int seen = last < 0 ? 0 : static_cast<int>(at.lengths.seen_by(last)), share = share_of(seen, a.parts.count);
    // In 64 bits: shares are rounded up, and the last ones may begin past 2^31.
    const auto begin = static_cast<int>(min(std::int64_t(seen), std::int64_t(at.part) * share));
    const int end = min(seen - begin, share) + begin;

    state s;
    if (begin < end) fold(block, a, at, begin, end, s);
    leave(block, memory, s, x.scale * log2_e);
    weigh_warps(block, memory, a, at);
    write(block, memory, a, at);
    if (a.parts.count == 1) return;
    if (!block::is_last_block(block, a.arrivals + at.pair, count, memory.is_last)) return;
    add_up_parts(block, memory, a, at);
  }

private:
  using word = packed<std::uint32_t, 4>;
  using mma = simt::mma<type>;
  using score_sums = float[keys / 8][4];

  /// What a block works at.
  struct place {
    int part, pair, batch, key_head;
    attention_lengths lengths;

    PMPP_HOST_DEVICE place(const arguments& a, int part_, int pair_)
        : part(part_),
          pair(pair_),
          batch(pair_ / a.key_heads),
          key_head(pair_ % a.key_heads),
          lengths(a.x.lengths_of(batch)) {}
    template <class U>
    PMPP_HOST_DEVICE U* vector(const arguments& a, const heads_view<U>& v, int row) const {
      return v.vector(batch, key_head * a.group + row % a.group, row / a.group);
    }
    PMPP_HOST_DEVICE void note(const arguments& a, int row, float value) const {
      if (a.x.log_sum_exp == nullptr) return;
      const std::int64_t head = std::int64_t(pair) * a.group + row % a.group;
      a.x.log_sum_exp[head * a.x.q.length() + row / a.group] = value;
    }
  };

  /// Lane 4 g + t has of rows g and g + 8: result[c][i][2 h + e] is element 8 (8 c + 2 t + e) + i.
  struct state {
    float result[v_words][8][4] = {};
    float most[2] = {no_score, no_score};  ///< the largest score so far
    float sum[2] = {};                     ///< of exponentials, of the keys of this lane
  };

  template <class Block>
  PMPP_HOST_DEVICE static void fold(Block& block, const arguments& a, const place& at, int begin, int end, state& s) {
    const auto& x = a.x;
    const T* const of_keys = x.k.vector(at.batch, at.key_head, 0);
    const T* const of_values = x.v.vector(at.batch, at.key_head, 0);
    const int g = block.lane() / 4, t = block.lane() % 4, last_word = static_cast<int>(x.k.size()) / 8 - 1;
    // Words past the end of a vector are its last one; the query has zeros there, and of the result they are not written.
    int k_place[k_words], v_place[v_words];
    unrolled<k_words>([&](int q) { k_place[q] = min(4 * q + t, last_word) * 8; });
    unrolled<v_words>([&](int c) { v_place[c] = min(8 * c + g, last_word) * 8; });
    word k[keys / 8][k_words], v[keys / 8][2][v_words];
    // Rows past the end are the last one; they weigh nothing.
    const auto load_keys = [&](int key) {
      unrolled<keys / 8>([&](int n) {
        const T* const from = of_keys + min(key + n * 8 + g, end - 1) * x.k.position_stride();
        unrolled<k_words>([&](int i) { k[n][i] = read(from + k_place[i]); });
      });
    };
    const auto load_values = [&](int key) {
      unrolled<keys / 8>([&](int n) {
        unrolled<2>([&](int e) {
          const T* const from = of_values + min(key + n * 8 + 2 * t + e, end - 1) * x.v.position_stride();
          unrolled<v_words>([&](int c) { v[n][e][c] = read(from + v_place[c]); });
        });
      });
    };
    int key = begin + block.warp() * keys;
    load_keys(key);
    load_values(key);
    word q[2][k_words];
    int limit[2];  // the keys that a row sees
    unrolled<2>([&](int h) {
      const int row = g + 8 * h;
      const bool is_row = row < a.rows;
      limit[h] = is_row ? static_cast<int>(min(std::int64_t(end), at.lengths.seen_by(row / a.group))) : 0;
      const T* const from = is_row ? at.vector(a, x.q, row) : x.q.data();
      unrolled<k_words>([&](int i) {
        q[h][i] = read(from + k_place[i]);
        if (!is_row || 4 * i + t > last_word) q[h][i] = {};
      });
    });
    const auto seen_by_all = static_cast<int>(min(std::int64_t(end), at.lengths.seen_by(0)));

    for (; key < end; key += warps * keys) {
      score_sums scores = {};
      add_scores(block, q, k, scores);
      load_keys(key + warps * keys);
      if (key + keys > seen_by_all)
        unrolled<keys / 8>([&](int n) {
          unrolled<4>([&](int i) {
            if (key + n * 8 + 2 * t + i % 2 >= limit[i / 2]) scores[n][i] = no_score;
          });
        });
      soften(block, x.scale * log2_e, scores, s);
      add_values(block, v, scores, s);
      load_values(key + warps * keys);
    }
  }

  PMPP_HOST_DEVICE static word read(const T* from) { return *reinterpret_cast<const word*>(from); }

  template <class Block>
  PMPP_HOST_DEVICE static void add_scores(Block& block, const word (&q)[2][k_words], const word (&k)[keys / 8][k_words],
                                          score_sums& scores) {
    unrolled<k_words>([&](int i) {
      unrolled<2>([&](int j) {
        const std::uint32_t a[4] = {q[0][i].item[2 * j], q[1][i].item[2 * j], q[0][i].item[2 * j + 1],
                                    q[1][i].item[2 * j + 1]};
        unrolled<keys / 8>([&](int n) {
          const std::uint32_t own[2] = {k[n][i].item[2 * j], k[n][i].item[2 * j + 1]};
          simt::multiply_add<type>(block, scores[n], a, own);
        });
      });
    });
  }

  /// As attention_kernel's.
  template <class Block>
  PMPP_HOST_DEVICE static void soften(Block& block, float unit, score_sums& scores, state& s) {
    unrolled<2>([&](int h) {
      float most = s.most[h];
      unrolled<keys / 8>([&](int n) { most = fmaxf(most, fmaxf(scores[n][2 * h], scores[n][2 * h + 1])); });
      most = fmaxf(most, block.shuffle_xor(most, 1));
      most = fmaxf(most, block.shuffle_xor(most, 2));
      const float shift = most == no_score ? 0 : most * unit;  // a row that has seen no key yet
      const float factor = power_of_two(s.most[h] * unit - shift);
      s.most[h] = most;
      s.sum[h] *= factor;
      unrolled<keys / 8>([&](int n) {
        for (int e = 2 * h; e < 2 * h + 2; ++e) s.sum[h] += scores[n][e] = power_of_two(scores[n][e] * unit - shift);
      });
      unrolled<v_words>([&](int c) {
        unrolled<8>([&](int i) {
          s.result[c][i][2 * h] *= factor;
          s.result[c][i][2 * h + 1] *= factor;
        });
      });
    });
  }

  template <class Block>
  PMPP_HOST_DEVICE static void add_values(Block& block, const word (&v)[keys / 8][2][v_words],
                                          const score_sums& weights, state& s) {
    unrolled<keys / 16>([&](int step) {
      std::uint32_t a[4];
      unrolled<4>([&](int i) {
        const float(&own)[4] = weights[2 * step + i / 2];
        a[i] = word_of<T>(own[i % 2 * 2], own[i % 2 * 2 + 1]);
      });
      unrolled<v_words>([&](int c) {
        unrolled<8>([&](int i) {
          std::uint32_t own[2];
          unrolled<2>([&](int w) {
            const std::uint32_t even = v[2 * step + w][0][c].item[i / 2], odd = v[2 * step + w][1][c].item[i / 2];
            own[w] = i % 2 == 0 ? (even & 0xffffu) | odd << 16 : even >> 16 | (odd & 0xffff0000u);
          });
          simt::multiply_add<type>(block, s.result[c][i], a, own);
        });
      });
    });
  }

  /// Leaves a warp's sums in shared memory, and the largest scores as binary logarithms.
  template <class Block>
  PMPP_HOST_DEVICE static void leave(Block& block, shared& memory, state& s, float unit) {
    const int g = block.lane() / 4, t = block.lane() % 4, warp = block.warp();
    unrolled<2>([&](int h) {
      const int row = g + 8 * h;
      s.sum[h] += block.shuffle_xor(s.sum[h], 1);
      s.sum[h] += block.shuffle_xor(s.sum[h], 2);
      if (t == 0) {
        memory.most[warp][row] = s.most[h] * unit;
        memory.sum[warp][row] = s.sum[h];
      }
      unrolled<v_words>([&](int c) {
        unrolled<2>([&](int e) {
          unrolled<8>(
              [&](int i) { memory.result[warp][row][8 * (8 * c + 2 * t + e) + i] = s.result[c][i][2 * h + e]; });
        });
      });
    });
    block.sync();
  }

  /// By what each warp's sums have to be multiplied: in place of their largest scores.
  template <class Block>
  PMPP_HOST_DEVICE static void weigh_warps(Block& block, shared& memory, const arguments& a, const place& at) {
    if (const int row = block.thread(); row < a.rows) {
      float most = no_score, weight[warps], sum = 0;
      unrolled<warps>([&](int w) { most = max(most, memory.most[w][row]); });
      unrolled<warps>([&](int w) {
        weight[w] = most == no_score ? 0 : power_of_two(memory.most[w][row] - most);
        sum += weight[w] * memory.sum[w][row];
      });
      const bool sees = sum != 0 && at.lengths.seen_by(row / a.group) > 0;
      const float factor = sees ? 1 / sum : 0;
      unrolled<warps>([&](int w) { memory.most[w][row] = weight[w] * factor; });
      const float log = sees ? most + std::log2(sum) : no_score;
      if (a.parts.count > 1)
        a.parts.sums[part_row(a, at, at.part, row)] = log;
      else
        at.note(a, row, log * ln_2);
    }
    block.sync();
  }

  PMPP_HOST_DEVICE static std::int64_t part_row(const arguments& a, const place& at, int part, int row) {
    return (part * a.x.pairs() + at.pair) * a.rows + row;
  }

  /// Writes the block's rows, or its part of them; a thread takes four columns of a row.
  template <class Block>
  PMPP_HOST_DEVICE static void write(Block& block, shared& memory, const arguments& a, const place& at) {
    const auto size = static_cast<int>(a.x.v.size());
    for (int i = block.thread(); i < a.rows * (Size / 4); i += threads) {
      const int row = i / (Size / 4), column = i % (Size / 4) * 4;
      if (column >= size) continue;
      four sum{};
      unrolled<warps>([&](int w) {
        const float weight = memory.most[w][row];
        if (weight == 0) return;  // what it would weigh may be NaN, from values that the row does not see
        unrolled<4>([&](int e) { sum.item[e] += weight * memory.result[w][row][column + e]; });
      });
      if (a.parts.count > 1)
        *reinterpret_cast<four*>(a.parts.results + part_row(a, at, at.part, row) * size + column) = sum;
      else
        put(at.vector(a, a.x.out, row) + column, sum);
    }
  }

  using four = packed<float, 4>;

  PMPP_HOST_DEVICE static void put(T* to, const four& y) {
    unrolled<4>([&](int e) { to[e] = static_cast<T>(y.item[e]); });
  }

  /// Adds up all parts of the pair: first a warp a row works out the weight of each, then threads take four columns of a row.
  template <class Block>
  PMPP_HOST_DEVICE static void add_up_parts(Block& block, shared& memory, const arguments& a, const place& at) {
    constexpr int of_lane = most_parts / simt::warp_size;
    for (int row = block.warp(); row < a.rows; row += warps) {
      float log[of_lane], most = no_score, total = 0;
      const auto over_warp = [&](float y, auto op) {
        for (int d = 1; d < simt::warp_size; d *= 2) y = op(y, block.shuffle_xor(y, d));
        return y;
      };
      unrolled<of_lane>([&](int i) {
        const int p = i * simt::warp_size + block.lane();
        log[i] = p < a.parts.count ? a.parts.sums[part_row(a, at, p, row)] : no_score;
        most = max(most, log[i]);
      });
      most = over_warp(most, [](float y, float z) { return max(y, z); });
      unrolled<of_lane>([&](int i) { total += log[i] = most == no_score ? 0.0f : power_of_two(log[i] - most); });
      total = over_warp(total, [](float y, float z) { return y + z; });
      unrolled<of_lane>(
          [&](int i) { memory.weight[row][i * simt::warp_size + block.lane()] = total == 0 ? 0.0f : log[i] / total; });
      if (block.lane() == 0) at.note(a, row, total == 0 ? no_score : (most + std::log2(total)) * ln_2);
    }
    block.sync();
    const auto size = static_cast<int>(a.x.v.size());
    for (int i = block.thread(); i < a.rows * (Size / 4); i += threads) {
      const int row = i / (Size / 4), column = i % (Size / 4) * 4;
      if (column >= size) continue;
      const float* from = a.parts.results + part_row(a, at, 0, row) * size + column;
      const std::int64_t step = a.x.pairs() * a.rows * size;
      four sum{};
#if defined(__CUDA_ARCH__)
#pragma unroll 8
#endif
      for (int p = 0; p < a.parts.count; ++p, from += step) {
        const four y = *reinterpret_cast<const four*>(from);
        const float weight = memory.weight[row][p];
        unrolled<4>([&](int e) { sum.item[e] += weight * y.item[e]; });
      }
      put(at.vector(a, a.x.out, row) + column, sum);
    }
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
