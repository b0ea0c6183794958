// SPDX-License-Identifier: Apache-2.0
//
// From a sample to its bin. A binning tells how many `bins` there are; what its ready() returns maps a sample to its bin,
// or to `bins` if it lies in none.
//
//   even_integers    floor((x - lower) * bins / (upper - lower)), exact for every width of integer
//   even_reals       the same in double: the two differences are rounded, what follows is exact
//   ranged_bins      the number of levels that are not above x, less one
//   chosen_bins      whatever the caller's function says
//
// Multiplying by a rounded bins / (upper - lower) alone puts samples on an edge into the bin below it, and some in front
// of the upper end into a bin that does not exist. What is rounded here is only an estimate.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <pmpp/core/check.hpp>
#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

// A compiler's word, outside of the standard.
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

/// A sample or level as a type that the language computes with.
template <class T>
PMPP_HOST_DEVICE auto as_number(const T& x) {
  if constexpr (is_two_byte_float<T>)
    return static_cast<float>(x);
  else
    return x;
}

/// x < y as numbers, whatever their signs and widths.
template <class T, class U>
PMPP_HOST_DEVICE bool is_below(const T& x, const U& y) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<U>) {
    if constexpr (std::is_signed_v<T> && !std::is_signed_v<U>) {
      if (x < 0) return true;
    } else if constexpr (!std::is_signed_v<T> && std::is_signed_v<U>) {
      if (y < 0) return false;
    }
    using both =
        std::common_type_t<T, U, std::conditional_t<std::is_signed_v<T> && std::is_signed_v<U>, int, unsigned>>;
    return static_cast<both>(x) < static_cast<both>(y);
  } else if constexpr (std::is_integral_v<T> || std::is_integral_v<U>) {
    return static_cast<double>(as_number(x)) < static_cast<double>(as_number(y));
  } else {
    return as_number(x) < as_number(y);
  }
}

template <class T>
text text_of(const T& x) {
  if constexpr (std::is_integral_v<T>)
    return detail::text::of(x);
  else
    return detail::text::of(static_cast<double>(as_number(x)));
}

/// What binnings have in common that need no shared memory: they are ready as they are.
template <class Self>
struct plain_binning {
  static constexpr bool side_by_side = false;  ///< has all(x, bin) for several samples
  static constexpr std::size_t shared_bytes() { return 0; }
  template <class Block>
  PMPP_HOST_DEVICE const Self& ready(Block&, std::byte*) const {
    return static_cast<const Self&>(*this);
  }
  const Self& ready_on_host() const { return static_cast<const Self&>(*this); }
};

/// Integers between integers. With d = x - lower and width = upper - lower:
///   width <= 2^32    d * bins / width = d * whole + d * rest / width, and the last floor is that of d * multiplier / 2^64
///                    with multiplier = floor(rest * 2^64 / width) + 1: too large by at most d / 2^64 < 1 / width, which
///                    reaches no further integer
///   above            floor(d * multiplier / 2^64) with multiplier = floor(bins * 2^64 / width) is right or one too small
/// AlwaysNarrow: the bounds have at most 4 bytes, so that the compiler knows which.
template <class T, bool AlwaysNarrow>
struct even_integers : plain_binning<even_integers<T, AlwaysNarrow>> {
  T first = 1, last = 0;  ///< samples inside; none if first > last
  bool narrow;
  std::uint32_t bins, whole = 0;
  std::uint64_t lower, width, multiplier;

  template <class L>
  even_integers(const char* function, std::uint32_t bin_count, L from, L to) : bins(bin_count) {
    const int128 low = from, high = to, span = high - low;
    require(span > 0 && span >> 64 == 0, [&] {
      return detail::text("pmpp::") + function + ": lower must be below upper, by less than 2^64, got " +
             text_of(from) + " and " + text_of(to);
    });
    const int128 least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    if (low <= most && high > least) {
      first = static_cast<T>(max(low, least));
      last = static_cast<T>(min(high - 1, most));
    }
    lower = static_cast<std::uint64_t>(low);
    width = static_cast<std::uint64_t>(span);
    narrow = span >> 32 == 0 || width == std::uint64_t(1) << 32;
    if (narrow) whole = static_cast<std::uint32_t>(bins / width);
    const std::uint64_t rest = narrow ? bins % width : bins;
    multiplier = static_cast<std::uint64_t>((uint128(rest) << 64) / width) + narrow;
  }

  PMPP_HOST_DEVICE std::uint32_t operator()(T x) const {
    const bool inside = (x >= first) & (x <= last);
    std::uint32_t bin = 0;
    if (AlwaysNarrow || narrow) {
      const std::uint32_t d = static_cast<std::uint32_t>(x) - static_cast<std::uint32_t>(lower);
      const std::uint64_t low = std::uint64_t(d) * static_cast<std::uint32_t>(multiplier);
      const std::uint64_t high = std::uint64_t(d) * static_cast<std::uint32_t>(multiplier >> 32);
      bin = d * whole + static_cast<std::uint32_t>((high + (low >> 32)) >> 32);
    } else {
      const std::uint64_t d = static_cast<std::uint64_t>(x) - lower;
      bin = static_cast<std::uint32_t>(uint128(d) * multiplier >> 64);
      if (uint128(d) * bins - uint128(bin) * width >= width) ++bin;
    }
    return inside ? bin : bins;
  }
};

/// Samples or levels that are not integers. The bin is floor(d * bins / width) with d = x - lower and width = upper -
/// lower as doubles: estimated by one multiplication, and settled exactly by fma where the estimate is just above an edge.
template <class T>
struct even_reals : plain_binning<even_reals<T>> {
  static constexpr bool side_by_side = true;
  using number = std::conditional_t<std::is_integral_v<T>, double, decltype(as_number(T{}))>;
  number least, end;  ///< samples inside are not below the one and below the other
  double unit;        ///< a power of two; differences are taken of numbers times unit, so that no product overflows
  double lower, width, scale;  ///< in units
  std::uint32_t bins;

  even_reals(const char* function, std::uint32_t bin_count, double from, double to)
      : least(not_below(from)), end(not_below(to)), bins(bin_count) {
    constexpr double most = std::numeric_limits<double>::max();
    require(from < to && from >= -most && to <= most, [&] {
      return detail::text("pmpp::") + function + ": lower must be below upper, both finite, got " +
             detail::text::of(from) + " and " + detail::text::of(to);
    });
    unit = to / 2 - from / 2 > 0x1p900 ? 0x1p-100 : to - from < 0x1p-500 ? 0x1p500 : 1;
    lower = from * unit;
    width = to * unit - lower;
    scale = bins / width;
  }

  PMPP_HOST_DEVICE std::uint32_t operator()(const T& x) const {
    const estimate e(*this, x);
    return e.near_edge ? settled(e) : e.bin;
  }
  /// The same for several samples, side by side.
  template <int N>
  PMPP_HOST_DEVICE void all(const T (&x)[N], std::uint32_t (&bin)[N]) const {
    bool near_edge = false;
    for (int k = 0; k < N; ++k) {
      const estimate e(*this, x[k]);
      bin[k] = e.bin;
      near_edge |= e.near_edge;
    }
    if (near_edge)
      for (int k = 0; k < N; ++k) bin[k] = settled(estimate(*this, x[k]));
  }

private:
  /// The least number of the samples' kind that is not below x.
  static number not_below(double x) {
    constexpr number most = std::numeric_limits<number>::max(), infinity = std::numeric_limits<number>::infinity();
    if (x > most) return infinity;
    if (x < -most) return -most;
    const auto y = static_cast<number>(x);
    return y < x ? std::nextafter(y, infinity) : y;
  }

  /// d * scale + 2^32 has 20 bits after the point, and the bin is in the 32 before them. bins < 2^31, so that three roundings
  /// are off by less than a unit of the last bit in all. With a unit more the estimate is above what is meant, by less than
  /// two of them: it has passed an edge that is not reached only if less than two follow the point.
  struct estimate {
    double d;
    std::uint32_t bin;
    bool inside, near_edge;

    PMPP_HOST_DEVICE estimate(const even_reals& e, const T& sample) {
      const auto x = static_cast<number>(as_number(sample));
      inside = (x >= e.least) & (x < e.end);  // NaN is not
      d = static_cast<double>(x) * e.unit - e.lower;
      const auto bits = __builtin_bit_cast(std::uint64_t, d * e.scale + (0x1p32 + 0x1p-20));
      const auto whole = static_cast<std::uint32_t>(bits >> 20);
      near_edge =
          (whole != 0) & ((static_cast<std::uint32_t>(bits) & 0xffffe) == 0);  // the first bin begins where samples do
      bin = inside ? whole : e.bins;
    }
  };

  PMPP_HOST_DEVICE std::uint32_t settled(const estimate& e) const {
    const std::uint32_t bin = e.bin - (e.inside & starts_behind(e.bin, e.d));
    return e.inside ? min(bin, bins - 1) : bin;  // x < upper, but d may have been rounded to width
  }
  /// \pre 0 <= x < 2^63
  static bool is_whole(double x) { return x == static_cast<double>(static_cast<std::int64_t>(x)); }
  /// d * bins < bin * width. \pre 0 <= d <= width
  PMPP_HOST_DEVICE bool starts_behind(std::uint32_t bin, double d) const {
    const double start = bin * width;
#if !defined(__CUDA_ARCH__)
    // Products of whole numbers below 2^53 are exact as they are, and fma takes long on a CPU without the instruction.
    const double product = d * bins;
    if (product < 0x1p53 && start < 0x1p53 && width < 0x1p53 && is_whole(d) && is_whole(width)) return product < start;
#endif
    const double error = ::fma(double(bin), width, -start);
    return ::fma(d, double(bins), -start) < error;
  }
};

/// Bin i holds levels[i] <= x < levels[i + 1]. A block copies the levels to shared memory, where there is room, as a
/// search tree: node i has the children 2i and 2i + 1, so that the nodes of one depth lie side by side and lanes that
/// went different ways meet in few banks.
template <class T, class Levels>
struct ranged_bins {
  using L = value_of<Levels>;
  Levels levels;  ///< bins + 1
  std::uint32_t bins;
  int depth = 0;  ///< of the tree: 2^depth - 1 nodes; 0: no tree

  struct searcher {
    static constexpr bool side_by_side = true;
    Levels levels;
    const L* tree;
    std::uint32_t bins;
    int depth;

    PMPP_HOST_DEVICE std::uint32_t operator()(const T& x) const {
      const T one[1] = {x};
      std::uint32_t bin[1];
      all(one, bin);
      return bin[0];
    }
    /// The same for several samples, whose searches go side by side.
    template <int N>
    PMPP_HOST_DEVICE void all(const T (&x)[N], std::uint32_t (&bin)[N]) const {
      for (int k = 0; k < N; ++k) bin[k] = 1;
      for (int i = 0; i < depth; ++i)
        for (int k = 0; k < N; ++k) bin[k] = 2 * bin[k] + !is_below(x[k], tree[bin[k]]);
      for (int k = 0; k < N; ++k) {
        const std::uint32_t not_above = depth > 0 ? bin[k] - (1u << depth) : search_in_place(x[k]);
        bin[k] = min(not_above - 1, bins);  // 0 - 1 is large
      }
    }

  private:
    /// The number of levels that are not above x.
    PMPP_HOST_DEVICE std::uint32_t search_in_place(const T& x) const {
      std::uint32_t not_above = 0;
      for (std::uint32_t rest = bins + 1; rest > 0;) {
        const std::uint32_t half = rest / 2;
        const bool right = !is_below(x, levels[not_above + half]);
        not_above += right ? half + 1 : 0;
        rest = right ? rest - half - 1 : half;
      }
      return not_above;
    }
  };

  ranged_bins(Levels first, std::uint32_t bin_count) : levels(first), bins(bin_count) {}

  std::size_t shared_bytes() const { return depth == 0 ? 0 : sizeof(L) << depth; }
  /// Plans a tree if it takes at most `room` bytes.
  void plant(std::size_t room) {
    depth = floor_log2(bins + 1) + 1;
    if (shared_bytes() > room) depth = 0;
  }

  /// All threads of the block; followed by a barrier.
  template <class Block>
  PMPP_HOST_DEVICE searcher ready(Block& block, std::byte* memory) const {
    if constexpr (debug_mode)
      if (block.index() == 0) check_order(block.thread(), block.threads());
    L* tree = reinterpret_cast<L*>(memory);
    for (std::uint32_t node = block.thread(); depth > 0 && node < 1u << depth; node += block.threads()) {
      if (node == 0) continue;
      const int level = floor_log2(node);
      const std::uint32_t place = (2 * (node - (1u << level)) + 1) * (1u << (depth - 1 - level)) - 1;
      tree[node] = levels[min(place, bins)];  // after the last level: that level again
    }
    return {levels, tree, bins, depth};
  }
  searcher ready_on_host() const { return {levels, nullptr, bins, 0}; }

  /// Debug mode: looks at every `step`-th pair of neighbours.
  PMPP_HOST_DEVICE void check_order(std::uint32_t first, std::uint32_t step) const {
    for (std::uint32_t i = first; i < bins; i += step)
      if (is_below(levels[i + 1], levels[i]) || !(as_number(levels[i]) == as_number(levels[i])) ||
          !(as_number(levels[i + 1]) == as_number(levels[i + 1])))
        bad_order(i, "histogram_range: levels");
  }
};

/// Whatever f says; anything outside of [0, bins) is no bin.
template <class F>
struct chosen_bins : plain_binning<chosen_bins<F>> {
  F f;
  std::uint32_t bins;

  chosen_bins(F function, std::uint32_t bin_count) : f(function), bins(bin_count) {}

  template <class T>
  PMPP_HOST_DEVICE std::uint32_t operator()(const T& x) const {
    const auto bin = f(x);
    static_assert(std::is_integral_v<decltype(bin)> || std::is_enum_v<decltype(bin)>,
                  "pmpp::histogram: bin_of must return an integer");
    const auto wide = static_cast<std::uint64_t>(bin);  // a negative one is large
    return wide < bins ? static_cast<std::uint32_t>(wide) : bins;
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
