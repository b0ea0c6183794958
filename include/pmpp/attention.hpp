// SPDX-License-Identifier: Apache-2.0
//
// Attention, forward: each query gets the mean of all values, weighted by the softmax of how well their keys fit.
//
//   out(b, h, i) = sum over j of weight(i, j) * v(b, h', j),   weight(i, ...) = softmax of scale * q(b, h, i) . k(b, h', ...)
//
//   pmpp::attention(device, bhsd(q, 2, 32, 4096, 128), bhsd(k, 2, 8, 4096, 128), bhsd(v, 2, 8, 4096, 128),
//                   bhsd(out, 2, 32, 4096, 128), {.causal = true});
//
//   1. The scores of queries and keys are worked out tile by tile and never stored: the online softmax (attention/kernel.hpp). On a GPU
//      half and bfloat16 go to tensor cores, float too, as three products of tf32 numbers.
//   2. Heads of queries that share a head of keys (h' = h / (heads of q / heads of k)) are rows of the same tiles: keys and values are
//      read once for all of them.
//   3. Many rows of half and bfloat16 on sm_90a: products of warpgroups, and TMA (attention/wgmma.hpp).
//   4. Up to 16 rows, as where a text is made word by word: keys and values go to registers as fast as memory has them
//      (attention/few_rows.hpp). Where there are too few blocks for the machine, each takes a part of the keys, and parts are joined.
//   5. host takes tiles in parallel (attention/host.hpp); seq is the definition.
//
// 4 * queries * keys * size operations a head, half of them where causal; memory: q, k, v and out once, k and v again for each 128 rows,
// from the last cache. One launch, or two. No gradient, no dropout, no bias. (attention/kernel.hpp has the papers.)
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/attention/few_rows.hpp>
#include <pmpp/attention/host.hpp>
#include <pmpp/attention/kernel.hpp>
#include <pmpp/attention/problem.hpp>
#include <pmpp/attention/wgmma.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/heads_view.hpp>
#include <pmpp/core/machine.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/core/text.hpp>
#include <pmpp/core/tuning.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/workspace.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {

/// What attention does besides.
struct attention_options {
  bool causal = false;  ///< of m queries and n keys, query i sees keys 0 ... n - m + i: the last one sees all
  float scale = 0;      ///< of scores; 0: 1 / sqrt(head size)
  const int* query_lengths = nullptr;  ///< of each sequence of the batch, how many of its queries, and
  const int* key_lengths =
      nullptr;  ///< keys count; null: all. Visible to the policy; what lies outside [0, length] is moved to it
  float* log_sum_exp =
      nullptr;  ///< batch x heads x queries, without gaps: log of the sum of exp(score); null: not wanted
};

struct attention_tuning {
  int head_size = 0;      ///< the largest of all calls, if it is known: then kernels for that alone are compiled
  attention_tile tile{};  ///< where rows are many; no warps: attention_tile_for
  int least_keys = 256;   ///< of a part of the keys
  int most_parts = 128;

  friend constexpr bool operator==(const attention_tuning&, const attention_tuning&) = default;
};

/// For vectors of this many bytes in shared memory.
constexpr attention_tile attention_tile_for(int row_bytes) {
  if (row_bytes <= 256) return {.warps = 4, .row_blocks = 2, .keys = 64, .blocks = 2};
  return {.warps = 4, .row_blocks = 1, .keys = 16384 / row_bytes, .blocks = row_bytes <= 512 ? 2 : 1};
}
/// One warp with 32 KB of keys and values: for few rows, and, as it takes 48 KB at most, where the other does not fit.
constexpr attention_tile small_attention_tile_for(int row_bytes) {
  return {.warps = 1, .row_blocks = 1, .keys = 8192 / row_bytes, .blocks = 4};
}

namespace detail {

template <class T>
text shape_of(const heads_view<T>& v) {
  return text::of(v.batch()) + " x " + text::of(v.heads()) + " x " + text::of(v.length()) + " x " + text::of(v.size());
}

template <class T>
void require_heads(const char* name, const heads_view<T>& v) {
  const auto in_range = [](std::int64_t n) { return n >= 0 && n <= std::int64_t(1) << 30; };
  require(in_range(v.batch()) && in_range(v.heads()) && in_range(v.length()) && in_range(v.size()), [&] {
    return text("pmpp::attention: ") + name + " is " + shape_of(v) + " (batch, heads, length, size): 0 to 2^30 wanted";
  });
  require(v.batch_stride() >= 0 && v.head_stride() >= 0 && v.position_stride() >= 0, [&] {
    return text("pmpp::attention: ") + name + " has strides " + text::of(v.batch_stride()) + ", " +
           text::of(v.head_stride()) + ", " + text::of(v.position_stride()) + ": none may be negative";
  });
  require(v.empty() || v.data() != nullptr,
          [&] { return text("pmpp::attention: ") + name + " is null, but " + shape_of(v); });
}

/// The bytes that a view spans. \pre not empty
template <class T>
bool heads_meet(const heads_view<const T>& a, const heads_view<T>& b) {
  if (a.empty() || b.empty()) return false;
  const T* const end_a = a.vector(a.batch() - 1, a.heads() - 1, a.length() - 1) + a.size();
  const T* const end_b = b.vector(b.batch() - 1, b.heads() - 1, b.length() - 1) + b.size();
  const auto at = [](const T* p) { return reinterpret_cast<std::uintptr_t>(p); };
  return at(a.data()) < at(end_b) && at(b.data()) < at(end_a);
}

template <class T>
void check_attention(const attention_problem<T>& x, float scale, int most_size) {
  require_heads("q", x.q);
  require_heads("k", x.k);
  require_heads("v", x.v);
  require_heads("the output", x.out);
  const auto say = [](const text& what) { return "pmpp::attention: " + what; };
  const auto both = [](const char* a, const auto& x_a, const char* b, const auto& x_b) {
    return text(a) + " is " + shape_of(x_a) + ", " + b + " " + shape_of(x_b) + " (batch, heads, length, size)";
  };
  const auto same = [](const auto& a, const auto& b) {
    return a.batch() == b.batch() && a.heads() == b.heads() && a.length() == b.length() && a.size() == b.size();
  };
  require(same(x.k, x.v), [&] { return say(both("k", x.k, "v", x.v)) + ": the same wanted"; });
  require(same(x.q, x.out), [&] { return say(both("q", x.q, "the output", x.out)) + ": the same wanted"; });
  require(x.q.batch() == x.k.batch() && x.q.size() == x.k.size(),
          [&] { return say(both("q", x.q, "k", x.k)) + ": the same batch and size wanted"; });
  require(x.k.heads() > 0 ? x.q.heads() % x.k.heads() == 0 : x.q.heads() == 0, [&] {
    return say("q has " + text::of(x.q.heads()) + " heads, k " + text::of(x.k.heads()) + ", which must divide them");
  });
  require(x.q.size() <= most_size, [&] {
    return say("the head size is " + text::of(x.q.size()) + ", at most " + text::of(most_size) + " wanted");
  });
  require(scale >= 0 && scale < std::numeric_limits<float>::infinity(),
          [&] { return say(text("the scale is ") + (scale < 0 ? "negative" : "not finite") + ": 0 or more wanted"); });
  const auto apart = [](std::int64_t stride, std::int64_t extent) { return stride != 0 || extent <= 1; };
  require(x.out.empty() || (apart(x.out.batch_stride(), x.out.batch()) && apart(x.out.head_stride(), x.out.heads()) &&
                            apart(x.out.position_stride(), x.out.length())),
          [&] { return say("elements of the output share memory, a stride is 0"); });
  require(!heads_meet(x.q, x.out) && !heads_meet(x.k, x.out) && !heads_meet(x.v, x.out),
          [&] { return say("the output overlaps q, k or v"); });
}

/// Whether every vector may be read 16 bytes at a time.
template <class T>
bool in_words(const heads_view<const T>& v) {
  constexpr std::int64_t items = 16 / sizeof(T);
  const auto whole = [](std::int64_t stride, std::int64_t extent) { return extent <= 1 || stride % items == 0; };
  return reinterpret_cast<std::uintptr_t>(v.data()) % 16 == 0 && v.size() % items == 0 &&
         whole(v.batch_stride(), v.batch()) && whole(v.head_stride(), v.heads()) &&
         whole(v.position_stride(), v.length());
}

/// Room for the parts of all rows.
template <class T>
std::size_t parts_bytes(std::int64_t places, const attention_problem<T>& x) {
  return scratch_bytes({checked_bytes(places * x.v.size(), sizeof(float), "attention"),
                        checked_bytes(places, sizeof(float), "attention")});
}

template <int Size, attention_tile Tile, class P, class T>
void launch_attention(const P& where, const attention_problem<T>& x, int least_keys, int most_parts) {
  using kernel = attention_kernel<T, Size, Tile>;
  const machine& on = machine_of(where);
  const std::int64_t tiles = ceil_div(x.rows(), std::int64_t(Tile.rows())), blocks = tiles * x.pairs();
  const std::int64_t resident = std::int64_t(on.multiprocessors) *
                                on.resident_blocks(kernel::threads, sizeof(typename kernel::shared), Tile.blocks);
  // Parts of the keys, where less than half of the machine would have work.
  const std::int64_t worth = min(std::int64_t(most_parts), ceil_div(x.k.length(), std::int64_t(least_keys)));
  const std::int64_t count = 2 * blocks > resident ? 1 : max(std::int64_t(1), min(resident / blocks, worth));
  const std::int64_t places = count > 1 ? count * x.pairs() * x.rows() : 0;
  scratch memory(where, parts_bytes(places, x), 0);
  attention_parts parts{nullptr, nullptr, static_cast<int>(count)};
  if (places > 0) {
    parts.results = memory.template take<float>(places * x.v.size());
    parts.sums = memory.template take<float>(places);
  }
  pmpp::launch(where, blocks * count, kernel{},
               typename kernel::arguments{x, parts, tiles, in_words(x.q) && in_words(x.k) && in_words(x.v)});
  if (count > 1) pmpp::launch(where, x.pairs() * x.rows(), attention_join_kernel<T>{}, x, parts);
}

/// The fewest parts of the keys that keep the machine busy: the last round of blocks is full, or almost.
inline int parts_for_few_rows(std::int64_t pairs, std::int64_t resident, int most) {
  int best = 1;
  double best_use = 0;
  for (int count = 1; count <= most && best_use < 0.95; ++count) {
    const std::int64_t blocks = pairs * count;
    const double use = double(blocks) / double(round_up(blocks, resident));
    if (use > best_use + 0.01) best = count, best_use = use;
  }
  return best;
}

template <int Size, class P, class T>
void launch_few_rows(const P& where, const attention_problem<T>& x, int most_parts) {
  using kernel = attention_few_rows_kernel<T, Size>;
  const int keys = static_cast<int>(max(std::int64_t(1), x.k.length())), step = kernel::share_of(1, 1);
  const int most = min(ceil_div(keys, 2 * step), min(most_parts, kernel::most_parts));
  const int asked = parts_for_few_rows(x.pairs(), resident_blocks<kernel>(machine_of(where)), most);
  const int count = ceil_div(keys, kernel::share_of(keys, asked));
  const std::int64_t places = count > 1 ? count * x.pairs() * x.rows() : 0;
  scratch memory(where, parts_bytes(places, x), count > 1 ? std::size_t(x.pairs()) * sizeof(unsigned) : 0);
  attention_parts parts{nullptr, nullptr, count};
  if (count > 1) {
    parts.results = memory.template take<float>(places * x.v.size());
    parts.sums = memory.template take<float>(places);
  }
  pmpp::launch(where, x.pairs() * count, kernel{},
               typename kernel::arguments{x, parts, memory.state(), static_cast<int>(x.rows()),
                                          static_cast<int>(x.group()), static_cast<int>(x.k.heads())});
}

template <attention_tuning Tuning, class P, class T>
void attention_on_blocks(const P& where, const attention_problem<T>& x) {
  const auto by = [&]<int Size>(constant<Size>) {
    constexpr int row = Size * int(sizeof(T));
    constexpr attention_tile small = small_attention_tile_for(row),
                             large = Tuning.tile.warps > 0 ? Tuning.tile : attention_tile_for(row);
    if constexpr (is_two_byte_float<T> && Size <= 128)
      if (in_words(x.q) && in_words(x.k) && in_words(x.v)) {
        if (x.rows() <= attention_few_rows_kernel<T, Size>::rows)
          return launch_few_rows<Size>(where, x, Tuning.most_parts);
        // Where few multiprocessors would have work, parts of the keys are faster.
        const bool many = 3 * x.pairs() * ceil_div(x.rows(), std::int64_t(128)) >= machine_of(where).multiprocessors;
        if (many && in_words(heads_view<const T>(x.out)) && attention_by_wgmma<Size>(where, x)) return;
      }
    if (x.rows() <= small.rows() || !machine_of(where).fits(large.shared_bytes(row)))
      launch_attention<Size, small>(where, x, Tuning.least_keys, Tuning.most_parts);
    else
      launch_attention<Size, large>(where, x, Tuning.least_keys, Tuning.most_parts);
  };
  if constexpr (Tuning.head_size > 0)
    by(constant < Tuning.head_size <= 64 ? 64 : Tuning.head_size <= 128 ? 128 : 256 > {});
  else if (x.q.size() <= 64)
    by(constant<64>{});
  else if (x.q.size() <= 128)
    by(constant<128>{});
  else
    by(constant<256>{});
}

}  // namespace detail

/// Attention of several heads, forward.
///
/// \param q    batch x heads x queries x size; vectors of adjacent elements, float, half or bfloat16, any strides that are not negative.
///             Visible to `where`, as all others. size is 256 at most; tiles are made for 64, 128 and 256.
/// \param k,v  batch x (heads, or a divisor of these) x keys x size: head h of q goes with head h / (heads of q / heads of k).
/// \param out  as q. It overlaps no input.
/// \param options  causal, scale, lengths, log-sum-exp: see attention_options.
/// A query that sees no key, or lies past its sequence's length, gets 0, and -infinity as its log-sum-exp. Keys and values past the
/// length are not read. Of those that other queries see, a NaN or an infinity in v may reach a query that does not see it.
/// Sums are float. On device and emulated, weights of half and bfloat16 are rounded to these before they meet the values, and floats are
/// multiplied with 21 bits. The same bits on every run and for any number of threads.
/// Asynchronous on a GPU; may be captured. host and seq allocate a few tiles, on host for each task.
/// Scratch: none; where the keys are cut up, for each part and row size + 1 floats, at most most_parts of them.
/// Vectors that do not begin at multiples of 16 bytes, or are none long, are read element by element.
/// Cost: 4 * batch * heads * queries * keys * size operations (causal: half); q, k, v and out once; one launch, or two.
/// \throws std::invalid_argument for shapes that do not fit, null pointers, overlap, a negative scale; cuda_error.
/// Source: Dao et al., 2022; Dao, 2023; Milakov and Gimelshein, 2018. Example: test/attention.cpp, examples/47_attention.cpp.
template <attention_tuning Tuning = tuned<attention_tuning>, execution_policy P, class TQ, class TK, class TV, class T>
requires std::is_same_v<std::remove_const_t<TQ>, T> && std::is_same_v<std::remove_const_t<TK>, T> &&
    std::is_same_v<std::remove_const_t<TV>, T>
void attention(const P& where, const heads_view<TQ>& q, const heads_view<TK>& k, const heads_view<TV>& v,
               const heads_view<T>& out, const attention_options& options = {}) {
  static_assert(std::is_same_v<T, float> || detail::is_two_byte_float<T>,
                "pmpp::attention: elements are float, half or bfloat16");
  static_assert(Tuning.head_size >= 0 && Tuning.head_size <= 256);
  detail::attention_problem<T> x{
      q, k, v, out, options.query_lengths, options.key_lengths, options.log_sum_exp, options.scale, options.causal};
  detail::check_attention(x, options.scale, Tuning.head_size > 0 ? Tuning.head_size : 256);
  if (out.empty()) return;
  if (options.scale == 0) x.scale = 1 / std::sqrt(static_cast<float>(q.size()));
  if constexpr (std::is_same_v<P, seq_policy>) {
    detail::attention_by_definition(x);
  } else if constexpr (std::is_same_v<P, host_policy>) {
    detail::attention_on_cores(where, x);
  } else {
    detail::check_reachable(where, "attention", q.data());
    detail::check_reachable(where, "attention", k.data());
    detail::check_reachable(where, "attention", v.data());
    detail::check_reachable(where, "attention", out.data());
    detail::check_reachable(where, "attention", options.query_lengths);
    detail::check_reachable(where, "attention", options.key_lengths);
    detail::check_reachable(where, "attention", options.log_sum_exp);
    detail::attention_on_blocks<Tuning>(where, x);
  }
}

}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
