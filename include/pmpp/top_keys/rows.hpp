// SPDX-License-Identifier: Apache-2.0
//
// Rows of numbers, and how a block reads them: all elements of a part of a row, in tiles of wide loads, or a sample.
//
// A sample says how good an element must be to come into question. A row is cut into strata of equal length, and in each some
// neighbours (32 bytes: what memory moves at once) are read whose place is a hash of the stratum's number. The best of them
// stands for the stratum. If the sample holds x of the k first elements on average, then it holds more than
// x + 7 sqrt(x) + 6 of them once in 10^9 rows; so at least k elements do not come after the best of that rank. As keys of
// equal numbers differ by their places that holds for any data: sorted, of few values, constant.
#pragma once

#include <cstdint>
#include <type_traits>

#include <pmpp/block/load_store.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/divisor.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/packed.hpp>
#include <pmpp/simt/bits.hpp>
#include <pmpp/top_keys/keys.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// What a block takes at a time: part `part` of the `parts` of a row.
struct row_part {
  std::int64_t row;
  unsigned slot, first;  ///< of several parts: where the row's counters are, and the list of its part 0
  int part, parts;
};

/// Rows of `length` elements each; the last may be shorter.
struct equal_rows {
  item_count count;  ///< of all elements
  std::int64_t length, rows;

  PMPP_HOST_DEVICE std::int64_t size() const { return rows; }
  PMPP_HOST_DEVICE std::int64_t begin(std::int64_t row) const { return min(row * length, count.get()); }
  PMPP_HOST_DEVICE std::int64_t end(std::int64_t row) const { return min((row + 1) * length, count.get()); }

  PMPP_HOST_DEVICE std::int64_t units(const divisor& parts) const { return rows * parts.value(); }
  /// \param parts  of a row; rows of several are fewer than 2^31
  PMPP_HOST_DEVICE row_part unit(std::int64_t u, const divisor& parts) const {
    if (parts.value() == 1) return {u, static_cast<unsigned>(u), 0, 0, 1};
    const auto unit = static_cast<std::uint32_t>(u), row = parts.quotient(unit), first = row * parts.value();
    return {row, row, first, static_cast<int>(unit - first), static_cast<int>(parts.value())};
  }
  template <class Block>
  PMPP_HOST_DEVICE static bool leaves(Block&, std::int64_t) {
    return false;
  }
  template <class Block>
  PMPP_HOST_DEVICE static void finish(Block&, bool&) {}
};

/// Row s is [offsets[s], offsets[s + 1]).
template <class Offsets>
struct offset_rows {
  Offsets offsets;
  item_count count;  ///< of offsets

  PMPP_HOST_DEVICE std::int64_t size() const { return count.get() - 1; }
  PMPP_HOST_DEVICE std::int64_t begin(std::int64_t row) const { return static_cast<std::int64_t>(offsets[row]); }
  PMPP_HOST_DEVICE std::int64_t end(std::int64_t row) const { return static_cast<std::int64_t>(offsets[row + 1]); }
};

/// A sample of n elements: `clusters` strata, of each of which `width` neighbours are read, and the rank of the sampled key
/// before which at least k elements come; 0: there is none. Of strata that share a slot the best key counts alone.
struct sample_plan {
  int clusters, width, rank, slots;
  std::int64_t stratum;

  /// \param clusters_, most  powers of two; slots are no more than `most`, no fewer than `least`
  PMPP_HOST_DEVICE sample_plan(std::int64_t n, std::int64_t k, int clusters_, int most, int least, int widest)
      : clusters(clusters_), width(1), rank(0), slots(most), stratum(n >> floor_log2(clusters_)) {
    if (stratum < 2) return;
    width = static_cast<int>(max(std::int64_t(1), min(stratum / 8, std::int64_t(widest))));
    // Of the k first so many are read on average. (Divisions of 64 bits take 0.3 us each.)
    const float read = static_cast<float>(clusters) * static_cast<float>(width);
    const float mean = static_cast<float>(k) * (read / static_cast<float>(n));
    if (mean >= static_cast<float>(slots)) return;
    const int x = static_cast<int>(mean * 1.00001f) + 1;
    int root = 1;
    while (root * root < x) ++root;
    const int r = x + 7 * root + 6;
    if (r > slots / 4 * 3) return;
    rank = r;
    while (slots > least && slots >= 8 * rank) slots /= 2;
  }
  /// The first element that is read of a stratum.
  PMPP_HOST_DEVICE std::int64_t place(int cluster) const {
    unsigned h = static_cast<unsigned>(cluster) * 0x9e3779b1u;
    h = (h ^ h >> 15) * 0x85ebca77u;
    h ^= h >> 13;
    return cluster * stratum + h % static_cast<unsigned>(min(stratum - width + 1, std::int64_t(1) << 31));
  }
};

/// Finds what is sampled by the `all` threads of some blocks, of which this one is number `own`: calls put(slot, key). `key(i)` is
/// the one of element i, at most `Widest` are neighbours.
template <class Keys, int Widest, class Block, class Key, class Put>
PMPP_HOST_DEVICE void sample_keys(Block& block, const sample_plan& plan, int own, int all, const Key& key,
                                  const Put& put) {
  const auto best_of = [&](int cluster) {
    const std::int64_t place = plan.place(cluster);
    auto best = Keys::last();
    if (plan.width == Widest) {  // all loads at a time
      typename Keys::key x[Widest];
      for (int j = 0; j < Widest; ++j) x[j] = key(place + j);
      for (int j = 0; j < Widest; ++j)
        if (x[j] < best) best = x[j];
    } else {
      for (int j = 0; j < plan.width; ++j)
        if (const auto x = key(place + j); x < best) best = x;
    }
    return best;
  };
  if (plan.slots >= all) {
    for (int c = own; c < plan.slots; c += all) {
      auto best = Keys::last();
      for (int d = c; d < plan.clusters; d += plan.slots)
        if (const auto x = best_of(d); x < best) best = x;
      put(c, best);
    }
    return;
  }
  const int group = all / plan.slots;  // a power of two, lanes of one warp
  auto best = Keys::last();
  for (int c = own; c < plan.clusters; c += all)
    if (const auto x = best_of(c); x < best) best = x;
  for (int other = 1; other < group; other *= 2)
    if (const auto x = block.shuffle_xor(best, other); x < best) best = x;
  if (own % group == 0) put(own / group, best);
}

/// The codes of an array of numbers, read by vectors of `Items`.
template <class Code, class In, int Items>
struct number_source {
  using number_code = Code;
  using keys = selection_keys<Code>;
  using key = typename keys::key;
  static constexpr int items = Items, widest = max(1, 32 / int(sizeof(typename Code::key)));

  In in;
  std::int64_t lead;  ///< elements before the first vector

  PMPP_HOST_DEVICE auto code(std::int64_t i) const { return Code::encode(static_cast<typename Code::key>(in[i])); }

  /// Calls visit(code, place) for the elements of tiles part, part + parts, ... of [begin, end), and after each tile
  /// take(mask, place_of): the elements for which visit was true are place_of(b) for each bit b of mask. All threads call;
  /// those of a block call take together. A vector none of whose codes is up to most() is not visited: of long rows nearly all.
  /// Ahead: vectors of the next tile are on their way while one is taken, which keeps their registers.
  template <int Loads, bool Ahead, class Block, class Most, class Visit, class Take>
  PMPP_HOST_DEVICE void for_each_tile(Block& block, std::int64_t begin, std::int64_t end, std::int64_t part,
                                      std::int64_t parts, Most most, Visit visit, Take take) const {
    static_assert(Loads * Items <= 32);
    if (begin >= end) return;
    const std::int64_t origin = lead > 0 ? lead - Items : 0;  // where vector 0 begins
    const std::int64_t first = origin + (begin - origin) / Items * Items;
    const std::int64_t step = std::int64_t(block.threads()) * Items, tile = step * Loads;
    block::raw_items<In, Items> x[Loads]{};
    const auto load = [&](std::int64_t from) {  // and says which vectors lie in the row
      const std::int64_t own = from + block.thread() * Items;
      unsigned whole = (1u << Loads) - 1;
      if (from < begin || from + tile > end) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
        for (int u = 0; u < Loads; ++u)
          if (own + u * step < begin || own + u * step + Items > end) whole ^= 1u << u;
      }
      for (int u = 0; u < Loads; ++u) {
        x[u] = {};  // what was there takes no registers
        if (whole >> u & 1) x[u] = block::access<In>::template load<Items>(in, own + u * step);
      }
      return whole;
    };
    unsigned whole = 0;  // ahead: before the first tile there is one of nothing
    for (std::int64_t from = first + (Ahead ? part - parts : part) * tile; from < end; from += parts * tile) {
      const std::int64_t own = from + block.thread() * Items, next = from + parts * tile;
      unsigned mask = 0;
      if (!Ahead) whole = load(from);
      for (int u = 0; u < Loads; ++u)
        if (whole >> u & 1) {
          typename keys::code c[Items], least{};
          for (int k = 0; k < Items; ++k) {
            c[k] = Code::encode(static_cast<typename Code::key>(block::access<In>::value(in, x[u], k)));
            least = k == 0 ? c[k] : min(least, c[k]);
          }
          if (least <= most())
            for (int k = 0; k < Items; ++k) mask |= unsigned(visit(c[k], own + u * step + k)) << (u * Items + k);
        }
      if (from < begin || from + tile > end) {  // the vectors at the ends of the row
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
        for (int u = 0; u < Loads; ++u) {
          const std::int64_t i = own + u * step;
          if (whole >> u & 1) continue;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
          for (std::int64_t j = max(begin, i); j < min(end, i + Items); ++j)
            mask |= unsigned(visit(code(j), j)) << (u * Items + static_cast<int>(j - i));
        }
      }
      if (Ahead && next < end) whole = load(next);
      take(mask, [=](int b) { return own + b / Items * step + b % Items; });
    }
  }

  /// Puts the codes of [begin, end) into shared memory, whole vectors where they are, and calls visit(code) for each. `codes` has
  /// room for two vectors more. Returns where the first one lies. No barrier.
  template <int Loads, class Block, class Visit>
  PMPP_HOST_DEVICE int hold(Block& block, std::int64_t begin, std::int64_t end, typename keys::code* codes,
                            Visit visit) const {
    const std::int64_t origin = lead > 0 ? lead - Items : 0, first = origin + (begin - origin) / Items * Items;
    const int skipped = static_cast<int>(begin - first), count = static_cast<int>(end - first);
    const int step = block.threads() * Items;
    const auto inside = [&](int at) { return at >= skipped && at + Items <= count; };
    for (int own = block.thread() * Items; own < count; own += Loads * step) {
      block::raw_items<In, Items> x[Loads]{};
      for (int u = 0; u < Loads; ++u)
        if (inside(own + u * step)) x[u] = block::access<In>::template load<Items>(in, first + own + u * step);
      for (int u = 0; u < Loads; ++u) {
        const int at = own + u * step;
        if (inside(at)) {
          packed<typename keys::code, Items> v;
          for (int k = 0; k < Items; ++k) {
            v.item[k] = Code::encode(static_cast<typename Code::key>(block::access<In>::value(in, x[u], k)));
            visit(v.item[k]);
          }
          *reinterpret_cast<decltype(v)*>(codes + at) = v;
        } else {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
          for (int j = max(at, skipped); j < min(count, at + Items); ++j) {
            codes[j] = code(first + j);
            visit(codes[j]);
          }
        }
      }
    }
    return skipped;
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
