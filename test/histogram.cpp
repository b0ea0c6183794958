// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of histogram.hpp, on every policy: even bins are exact for every type of number (full ranges,
// values on edges, infinities, NaN), bins between levels and bins that a function chooses; from 1 bin to millions, by
// every way of counting; for uniform, constant, skewed and sorted data; counters of 4 and 8 bytes, overwritten or added
// to; the counts and the rejected samples always add up to n; channels; misaligned and computed inputs; lengths that only
// the device knows; bad input throws and touches nothing. In the emulator also: any order of blocks, any seed.
#include <pmpp/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "support/data.hpp"
#include "support/policies.hpp"
#if PMPP_CUDA
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

using pmpp::device;
using pmpp::histogram_tuning;

namespace {

// Ways of counting, with few enough counters that a few hundred bins need all of them.
constexpr histogram_tuning usual{};
constexpr histogram_tuning small{.threads = 64, .rows = 2};
constexpr histogram_tuning ranges{.threads = 64,
                                  .rows = 2,
                                  .shared_bytes = 64 + 4 * 96,
                                  .most_ranges = 1000};  // 64 counters a block, any number of ranges
constexpr histogram_tuning cached{.threads = 96,
                                  .rows = 1,
                                  .shared_bytes = 64 + 512,
                                  .most_ranges = 0,
                                  .cached_bins = 64};  // always through the cache of 64 places

__extension__ using int128 = __int128;

/// d * bins compared with k * width, exactly: -1, 0 or 1. All are finite and not negative.
int compare_products(double d, double bins, double k, double width) {
  const auto split = [](double x, int& e) { return static_cast<int128>(std::ldexp(std::frexp(x, &e), 53)); };
  int ed = 0, ew = 0;
  int128 a = split(d, ed) * static_cast<int128>(bins), b = split(width, ew) * static_cast<int128>(k);
  if (a == 0 || b == 0) return (a > 0) - (b > 0);
  const auto bits = [](int128 x) {
    int n = 0;
    for (; x != 0; x >>= 1) ++n;
    return n;
  };
  const int ta = bits(a) + ed, tb = bits(b) + ew;  // the position of the highest bit
  if (ta != tb) return ta < tb ? -1 : 1;
  if (ed > ew)
    a <<= ed - ew;
  else
    b <<= ew - ed;
  return (a > b) - (a < b);
}

/// The bin of x by definition, or -1.
template <class T, class L>
std::int64_t even_bin(T x, std::int64_t bins, L lower, L upper) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<L>) {
    const int128 d = int128(x) - int128(lower), width = int128(upper) - int128(lower);
    return d < 0 || d >= width ? -1 : static_cast<std::int64_t>(d * bins / width);
  } else {
    const double v = static_cast<double>(x), low = static_cast<double>(lower), high = static_cast<double>(upper);
    if (!(v >= low && v < high)) return -1;
    const double unit = high / 4 - low / 4 > 0x1p1000 ? 0x1p-10 : high - low < 0x1p-1000 ? 0x1p60 : 1;
    const double d = v * unit - low * unit, width = high * unit - low * unit;
    std::int64_t from = 0, to = bins;  // the greatest k < bins with k * width <= d * bins
    while (to - from > 1) {
      const std::int64_t k = from + (to - from) / 2;
      (compare_products(d, double(bins), double(k), width) >= 0 ? from : to) = k;
    }
    return from;
  }
}

struct counted {
  std::vector<std::uint64_t> counts;
  std::uint64_t rejected = 0;
};

template <class T, class BinOf>
counted count(const std::vector<T>& v, std::int64_t bins, BinOf bin_of) {
  counted c;
  c.counts.resize(static_cast<std::size_t>(bins));
  for (const T& x : v) {
    const std::int64_t b = bin_of(x);
    ++(b < 0 || b >= bins ? c.rejected : c.counts[static_cast<std::size_t>(b)]);
  }
  return c;
}

/// Of one type for all ways of counting: what judges them is compiled once.
template <class where, class Count, class T>
using count_call =
    std::function<void(const typename where::policy&, const typename where::template container<T>& in,
                       typename where::template container<Count>& counts, const pmpp::histogram_options&)>;

/// Runs `call(policy, in, counts, options)`, overwriting and accumulating, with counters of type Count, and compares.
template <class where, class Count = std::uint32_t, class T>
void check_counts(const std::vector<T>& v, const counted& wanted,
                  const std::type_identity_t<count_call<where, Count, T>>& call) {
  const typename where::policy policy{};
  const auto in = where::put(v);
  for (const bool accumulate : {false, true})
    for (const bool ask : {false, true}) {
      if (test::only_small() && ask != accumulate) continue;
      auto counts = where::put(std::vector<Count>(wanted.counts.size(), Count(5)));
      auto rejected = where::put(std::vector<std::uint64_t>{7});
      call(policy, in, counts, pmpp::histogram_options{accumulate, ask ? rejected.data() : nullptr});
      pmpp::synchronize(policy);
      std::vector<Count> expected(wanted.counts.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] = static_cast<Count>(wanted.counts[i] + (accumulate ? 5 : 0));
      CHECK(where::get(counts) == expected);
      CHECK(where::get(rejected)[0] == (ask ? wanted.rejected + (accumulate ? 7 : 0) : 7));
    }
}

/// Of even bins, by definition: compiled once for all places, tunings and types of counters.
template <class T, class L>
counted even_counts(const std::vector<T>& v, std::int64_t bins, L lower, L upper) {
  const auto wanted = count(v, bins, [=](T x) { return even_bin(x, bins, lower, upper); });
  CHECK(std::accumulate(wanted.counts.begin(), wanted.counts.end(), wanted.rejected) == v.size());
  return wanted;
}

template <class where, histogram_tuning Tuning, class Count = std::uint32_t, class T, class L>
void check_even(const std::vector<T>& v, std::int64_t bins, L lower, L upper) {
  CAPTURE(bins);
  CAPTURE(double(lower));
  CAPTURE(double(upper));
  const auto call = [=](const auto& policy, const auto& in, auto& counts, const auto& options) {
    pmpp::histogram_even<test::tuned<where>(Tuning)>(policy, in, counts, lower, upper, options);
  };
  check_counts<where, Count>(v, even_counts(v, bins, lower, upper), call);
}

/// Samples of every bit pattern, edges of [lower, upper) and their neighbours, and the ends of the type.
template <class T, class L>
std::vector<T> nasty_values(std::int64_t n, std::int64_t bins, L lower, L upper) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::uint64_t bits = test::generator()();
    if (i % 4 == 0) {
      std::memcpy(static_cast<void*>(&v[i]), &bits, sizeof(T));
    } else if (i % 4 == 1) {
      const double t = double(bits % std::uint64_t(bins + 1)) / double(bins);
      const double edge = double(lower) * (1 - t) + double(upper) * t;
      if constexpr (std::is_integral_v<T>)
        v[i] = edge >= double(std::numeric_limits<T>::min()) && edge < double(std::numeric_limits<T>::max())
                   ? static_cast<T>(edge)
                   : std::numeric_limits<T>::max();
      else
        v[i] = static_cast<T>(edge);
      if constexpr (std::is_floating_point_v<T>)
        v[i] = bits >> 63 != 0 ? v[i] : std::nextafter(v[i], bits >> 62 != 0 ? T(1e30) : T(-1e30));
    } else if (i % 4 == 2) {
      const T ends[] = {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), T(0), static_cast<T>(lower),
                        static_cast<T>(upper)};
      v[i] = ends[bits % 5];
    } else {
      const double t = double(bits >> 11) * 0x1p-53, x = double(lower) * (1 - t) + double(upper) * t;
      v[i] = std::is_integral_v<T> && !(x < double(std::numeric_limits<T>::max())) ? T(0) : static_cast<T>(x);
    }
  }
  return v;
}

template <class where, class T, class L>
void check_even_all(std::int64_t n, L lower, L upper) {
  for (const std::int64_t bins : test::some_of({1, 2, 3, 7, 31, 32, 33, 100, 255, 256, 257, 1000})) {
    const auto v = nasty_values<T>(n, bins, lower, upper);
    check_even<where, small>(v, bins, lower, upper);
  }
}

/// n numbers, below `bins` but for the last kind, in a distribution.
std::vector<std::uint32_t> distributed(const char* name, std::int64_t n, std::uint32_t bins) {
  std::vector<std::uint32_t> v(static_cast<std::size_t>(n));
  const std::string kind(name);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::uint64_t r = test::generator()();
    if (kind == "uniform") v[i] = static_cast<std::uint32_t>(r % bins);
    if (kind == "constant") v[i] = bins / 2;
    if (kind == "two values") v[i] = r % 2 == 0 ? 0 : bins - 1;
    if (kind == "zipf") v[i] = static_cast<std::uint32_t>(double(bins) / (1 + double(r >> 11) * 0x1p-53 * bins));
    if (kind == "stride 32") v[i] = static_cast<std::uint32_t>(r % bins / 32 * 32);
    if (kind == "sorted") v[i] = static_cast<std::uint32_t>(i * bins / v.size());
    if (kind == "out") v[i] = bins + static_cast<std::uint32_t>(r % 3);
  }
  return v;
}
const char* const distributions[] = {"uniform", "constant", "two values", "zipf", "stride 32", "sorted", "out"};

struct point {
  std::int32_t x, y, z;
};
struct octant {
  PMPP_HOST_DEVICE int operator()(const point& p) const { return (p.x < 0) + 2 * (p.y < 0) + 4 * (p.z < 0); }
};
struct minus_three {
  template <class T>
  PMPP_HOST_DEVICE std::int64_t operator()(T x) const {
    return std::int64_t(x) - 3;
  }
};
/// Refuses to be called with a value above 99.
struct below_hundred {
  PMPP_HOST_DEVICE int operator()(std::uint8_t x) const {
    return x <= 99 ? x / 10 : *static_cast<volatile int*>(nullptr);
  }
};
struct third {
  PMPP_HOST_DEVICE std::int32_t operator()(std::int32_t x) const { return x / 3; }
};

}  // namespace

TEST_ALL_PLACES("even bins of every type: integers") {
  CAPTURE(test::seed());
  constexpr std::int64_t n = 1500;
  check_even_all<where, std::int8_t>(n, -128, 128);
  check_even_all<where, std::int8_t>(n, -5, 6);
  check_even_all<where, std::uint8_t>(n, 0, 256);
  check_even_all<where, std::uint8_t>(n, -1000, 77);
  check_even_all<where, std::int16_t>(n, -32768, 32767);
  check_even_all<where, std::uint16_t>(n, 3, 1003);
  check_even_all<where, std::int32_t>(n, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  check_even_all<where, std::int32_t>(n, -7, 5);
  check_even_all<where, std::uint32_t>(n, 0u, 4294967295u);
  check_even_all<where, std::uint32_t>(n, -5LL, 1LL << 40);
  check_even_all<where, std::int64_t>(n, std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max());
  check_even_all<where, std::int64_t>(n, std::int64_t(-3), std::int64_t(1) << 33);
  check_even_all<where, std::uint64_t>(n, std::uint64_t(0), std::numeric_limits<std::uint64_t>::max());
  check_even_all<where, std::uint64_t>(n, std::uint64_t(1) << 63, (std::uint64_t(1) << 63) + 77);
  check_even_all<where, std::uint64_t>(n, -5, 10);  // 2^64 - 1 is not -1
}

TEST_ALL_PLACES("even bins of every type: floating point") {
  CAPTURE(test::seed());
  constexpr std::int64_t n = 1500;
  check_even_all<where, float>(n, 0.0f, 1.0f);
  check_even_all<where, float>(n, -1.0f, 98.0f);
  check_even_all<where, float>(n, -3e38f, 3e38f);
  check_even_all<where, float>(n, 0.1, 0.7);
  check_even_all<where, float>(n, -2, 3);
  check_even_all<where, double>(n, 0.0, 49.0);
  check_even_all<where, double>(n, -1.7e308, 1.7e308);
  check_even_all<where, double>(n, 5e-324, 1e-320);
  check_even_all<where, double>(n, 1.0, 1.0 + 0x1p-50);
  check_even_all<where, std::int32_t>(n, -0.5, 9.5);
  check_even_all<where, std::uint8_t>(n, -0.5f, 99.5f);
#if PMPP_CUDA
  std::vector<__half> h(65536);
  std::vector<__nv_bfloat16> b(65536);
  for (unsigned i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(static_cast<void*>(&h[i]), &bits, 2);
    std::memcpy(static_cast<void*>(&b[i]), &bits, 2);
  }
  for (const std::int64_t bins : {1, 10, 256, 1000}) {
    const auto expected = [&](const auto& all) {
      return count(all, bins, [=](auto x) { return even_bin(static_cast<float>(x), bins, -7.5f, 60000.0f); });
    };
    const auto call = [=](const auto& policy, const auto& in, auto& counts, const auto& options) {
      pmpp::histogram_even(policy, in, counts, -7.5f, 60000.0f, options);
    };
    check_counts<where>(h, expected(h), call);
    check_counts<where>(b, expected(b), call);
  }
#endif
}

TEST_ALL_PLACES("values exactly on an edge, and just below the upper end") {
  // Numbers at which multiplying by bins / (upper - lower) goes wrong.
  const double ends[] = {7, 10, 49, 98, 255, 1e9 / 3, 0.7};
  for (const double upper : ends)
    for (const int bins : test::some_of({2, 5, 7, 10, 49, 256})) {
      std::vector<float> f;
      std::vector<double> d;
      for (int k = 0; k <= bins; ++k) {
        f.push_back(static_cast<float>(upper * k / bins));
        d.push_back(upper * k / bins);
      }
      f.push_back(std::nextafter(static_cast<float>(upper), 0.0f));
      d.push_back(std::nextafter(upper, 0.0));
      check_even<where, small>(f, bins, 0.0f, static_cast<float>(upper));
      check_even<where, small>(d, bins, 0.0, upper);
    }
  const std::vector<float> special = {-0.0f, 0.0f, INFINITY, -INFINITY, NAN, -NAN, 1.0f, 5e-45f};
  check_even<where, small>(special, 4, 0.0f, 1.0f);
  // Bin 17857.999: as floats, (x + 1) * (20306 / 2) is 17858.
  check_even<where, small>(std::vector<float>(1000, 0.758888900f), 20306, -1.0f, 1.0f);
}

TEST_ALL_PLACES("bytes in fewer bins than they have values, and in more") {
  std::vector<std::uint8_t> v(static_cast<std::size_t>(test::up_to(20011)));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::uint8_t>(test::generator()());
  for (const int bins : {1, 2, 19, 9000, 20000}) {
    check_even<where, small>(v, bins, 0, 256);
    check_even<where, small>(v, bins, -10, 1'000'000);  // all in the first ones
    check_even<where, usual>(v, bins, 3, 200);
  }
}

TEST_ALL_PLACES("distributions, numbers of bins, ways of counting") {
  test::only_each third(3);
  for (const char* kind : distributions)
    for (const std::uint32_t bins : test::some_of({1u, 2u, 31u, 32u, 256u, 1023u, 5000u})) {
      if (third.leaves_out()) continue;
      CAPTURE(kind);
      const auto v = distributed(kind, test::up_to(20011), bins);
      check_even<where, small>(v, bins, 0u, bins);
      check_even<where, small, std::uint64_t>(v, bins, 0u, bins);
      check_even<where, ranges>(v, bins, 0u, bins);
      check_even<where, ranges, std::uint64_t>(v, bins, 0u, bins);
      check_even<where, cached, std::int32_t>(v, bins, 0u, bins);
      check_even<where, cached, std::int64_t>(v, bins, 0u, bins);
      if (bins <= 256) {
        std::vector<std::uint8_t> bytes(v.size());
        for (std::size_t i = 0; i < v.size(); ++i) bytes[i] = static_cast<std::uint8_t>(v[i] % 256);
        check_even<where, small>(bytes, bins, 0u, bins);
      }
    }
}

TEST_ALL_PLACES("many bins, as the default counts them") {
  for (const std::uint32_t bins : {4096u, 56255u, 56256u, 65536u, 300000u, 1000000u, 10000000u}) {
    if (test::only_small() && bins > 60000) continue;
    CAPTURE(bins);
    const auto v = distributed("uniform", test::up_to(50021), bins);
    check_even<where, usual>(v, bins, 0u, bins);
    check_even<where, usual>(distributed("zipf", test::up_to(30011), bins), bins, 0u, bins);
  }
  const std::vector<std::uint8_t> bytes(300, 200);
  check_even<where, usual>(bytes, 1000000, 0, 256);
}

TEST_ALL_PLACES("every size") {
  for (std::int64_t n : test::sizes(64 * 2 * 4, 200003)) {
    CAPTURE(n);
    check_even<where, small>(distributed("uniform", n, 300), 256, 0u, 256u);
    check_even<where, small>(test::random_values<std::uint8_t>(n), 100, 0, 256);
  }
  check_even<where, usual>(distributed("zipf", test::up_to((1 << 20) + 3, 100003), 300), 256, 0u, 256u);
  check_even<where, usual>(test::random_values<std::uint8_t>(test::up_to((1 << 20) + 3, 100003)), 256, 0, 256);
}

TEST_ALL_PLACES("bins between levels") {
  const auto check = [](const auto& v, const auto& levels, auto with_tree, auto without) {
    const auto bins = static_cast<std::int64_t>(levels.size()) - 1;
    CAPTURE(bins);
    const auto wanted = count(v, bins, [&](auto x) {
      for (std::int64_t i = bins; i-- > 0;) {
        const auto low = static_cast<long double>(levels[std::size_t(i)]);
        const auto high = static_cast<long double>(levels[std::size_t(i + 1)]);
        if (static_cast<long double>(x) >= low && static_cast<long double>(x) < high) return i;
      }
      return std::int64_t(-1);
    });
    const auto at = where::put(levels);
    if constexpr (with_tree())
      check_counts<where>(v, wanted, [&](const auto& policy, const auto& in, auto& counts, const auto& options) {
        pmpp::histogram_range<small>(policy, in, counts, at, options);
      });
    if constexpr (without())  // no room for one
      check_counts<where>(v, wanted, [&](const auto& policy, const auto& in, auto& counts, const auto& options) {
        pmpp::histogram_range<ranges>(policy, in.begin(), in.end(), counts, at.begin(), options);
      });
  };
  constexpr std::true_type yes{};
  constexpr std::false_type no{};
  for (const int bins : test::some_of({1, 2, 3, 6, 7, 8, 31, 100})) {
    std::vector<float> levels(static_cast<std::size_t>(bins + 1));
    for (auto& l : levels) l = static_cast<float>(static_cast<int>(test::generator()() % 100) - 50) / 4;
    std::sort(levels.begin(), levels.end());
    auto v = nasty_values<float>(2000, 40, -12.0f, 12.0f);
    v.insert(v.end(), levels.begin(), levels.end());
    check(v, levels, yes, yes);
    const std::vector<int> whole(levels.begin(), levels.end());
    check(test::random_values<std::int8_t>(1500), whole, yes, no);
    check(test::random_values<std::int64_t>(1500), whole, no, yes);
    // Levels below zero, samples without a sign.
    check(nasty_values<std::uint32_t>(1500, 40, 0u, 12u), whole, no, yes);
    check(test::random_values<int>(1500), levels, yes, no);
  }
  std::vector<double> many(20001);  // more than the shared memory of a block searches
  std::iota(many.begin(), many.end(), -1000.0);
  std::vector<double> v(4000);
  for (auto& x : v) x = double(test::generator()() % 220000) / 10 - 1500;
  const auto at = where::put(many);
  const auto wanted = count(v, 20000, [](double x) { return x < -1000 ? -1 : std::int64_t(std::floor(x)) + 1000; });
  check_counts<where>(v, wanted, [&](const auto& policy, const auto& in, auto& counts, const auto& options) {
    pmpp::histogram_range(policy, in, counts, at, options);
  });
}

TEST_ALL_PLACES("bins that a function chooses") {
  std::vector<point> p(3001);
  for (auto& x : p) {
    const std::uint64_t r = test::generator()();
    x = {int(r % 7) - 3, int(r / 7 % 7) - 3, int(r / 49 % 7) - 3};
  }
  const auto by_octant = [](const auto& policy, const auto& in, auto& counts, const auto& options) {
    pmpp::histogram<small>(policy, in, counts, octant{}, options);
  };
  check_counts<where>(p, count(p, 8, octant{}), by_octant);
  check_counts<where>(p, count(p, 5, octant{}), by_octant);  // three octants have no bin
  const auto v = test::random_values<int>(3001);
  check_counts<where>(v, count(v, 60, minus_three{}),
                      [](const auto& policy, const auto& in, auto& counts, const auto& options) {
                        pmpp::histogram<cached>(policy, in, counts, minus_three{}, options);
                      });
  std::vector<std::uint8_t> bytes(1000);
  for (auto& x : bytes) x = static_cast<std::uint8_t>(test::generator()() % 100);
  check_counts<where>(bytes, count(bytes, 10, below_hundred{}),
                      [](const auto& policy, const auto& in, auto& counts, const auto& options) {
                        pmpp::histogram<small>(policy, in, counts, below_hundred{}, options);
                      });
}

TEST_ALL_PLACES("channels") {
  const typename where::policy policy{};
  const auto check = [&]<int Channels, int Active>(std::integral_constant<int, Channels>,
                                                   std::integral_constant<int, Active>, const auto& v, int shift,
                                                   auto lower, auto upper, auto... tunings) {
    using T = typename std::decay_t<decltype(v)>::value_type;
    const auto in = where::put(v);
    for (const std::int64_t bins : {1, 10, 256}) {
      CAPTURE(bins);
      std::vector<std::uint32_t> expected;
      std::vector<std::uint64_t> none;
      for (int c = 0; c < Active; ++c) {
        std::vector<T> of_channel;
        for (std::size_t i = std::size_t(shift + c); i < v.size(); i += Channels) of_channel.push_back(v[i]);
        const auto one = count(of_channel, bins, [=](T x) { return even_bin(x, bins, lower, upper); });
        expected.insert(expected.end(), one.counts.begin(), one.counts.end());
        none.push_back(one.rejected);
      }
      auto counts = where::put(std::vector<std::uint32_t>(expected.size(), 9));
      auto rejected = where::put(std::vector<std::uint64_t>(Active, 9));
      const auto run = [&](auto tuning) {
        pmpp::histogram_even_channels<Channels, Active, tuning()>(policy, in.begin() + shift, in.end(), counts, lower,
                                                                  upper, {.rejected = rejected.data()});
        pmpp::synchronize(policy);
        CHECK(where::get(counts) == expected);
        CHECK(where::get(rejected) == none);
      };
      (run(tunings), ...);
    }
  };
  const auto bytes = test::random_values<std::uint8_t>(3 * 4 * 2000);
  using std::integral_constant;
  const auto by_small = [] { return small; };
  const auto by_ranges = [] { return ranges; };
  const auto by_cached = [] { return cached; };
  for (const int shift : {0, 12}) {
    check(integral_constant<int, 3>{}, integral_constant<int, 3>{}, bytes, shift, 0, 256, by_small, by_ranges,
          by_cached);
    check(integral_constant<int, 4>{}, integral_constant<int, 3>{}, bytes, shift, 10, 200, by_cached);
    check(integral_constant<int, 4>{}, integral_constant<int, 4>{}, bytes, shift, 0, 256, by_small);
  }
  check(integral_constant<int, 3>{}, integral_constant<int, 3>{}, test::random_values<float>(3003), 0, -0.5f, 0.7f,
        by_ranges);
  check(integral_constant<int, 4>{}, integral_constant<int, 1>{}, test::random_values<std::uint16_t>(3004), 4, 0, 90,
        by_small);
}

TEST_ALL_PLACES("misaligned starts, computed inputs") {
  const typename where::policy policy{};
  const auto bytes = test::random_values<std::uint8_t>(9000);
  const auto in = where::put(bytes);
  for (const int from : test::some_of({0, 1, 3, 15, 16, 17}))
    for (const int length : test::some_of({0, 1, 5, 15, 16, 17, 500, 8900})) {
      CAPTURE(from);
      CAPTURE(length);
      const std::vector<std::uint8_t> part(bytes.begin() + from, bytes.begin() + from + length);
      const auto wanted = count(part, 50, [](std::uint8_t x) { return even_bin(x, 50, 0, 100); });
      auto counts = where::put(std::vector<std::uint32_t>(50, 77));
      pmpp::histogram_even<small>(policy, in.begin() + from, in.begin() + from + length, counts, 0, 100);
      pmpp::synchronize(policy);
      CHECK(where::get(counts) == std::vector<std::uint32_t>(wanted.counts.begin(), wanted.counts.end()));
    }
  const pmpp::counting_iterator<std::int32_t> zero(0);
  const pmpp::transform_iterator thirds{zero, third{}};
  auto counts = where::put(std::vector<std::uint64_t>(100));
  pmpp::histogram_even<small>(policy, thirds, thirds + 300, counts, 0, 100);
  pmpp::synchronize(policy);
  CHECK(where::get(counts) == std::vector<std::uint64_t>(100, 3));
}

TEST_ALL_PLACES("lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto v = distributed("uniform", 20000, 100);
  const auto in = where::put(v);
  for (const std::int64_t n : test::some_of({0, 1, 300, 4096, 19999, 20000, 30000})) {
    CAPTURE(n);
    const auto length = where::put(std::vector<std::int64_t>{n});
    auto counts = where::put(std::vector<std::uint64_t>(90, 77));
    const std::vector<std::uint32_t> part(v.begin(), v.begin() + std::min<std::int64_t>(n, 20000));
    pmpp::histogram_even<small>(policy, in.begin(), pmpp::device_count{length.data(), 20000}, counts, 0u, 90u);
    pmpp::synchronize(policy);
    CHECK(where::get(counts) == count(part, 90, [](std::uint32_t x) { return even_bin(x, 90, 0u, 90u); }).counts);
  }
}

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const int* null = nullptr;
  const auto data = where::input(std::vector<int>(10, 1));
  const auto real = where::input(std::vector<double>(10, 1));
  auto counts = where::put(std::vector<unsigned>(9, 77));
  const auto ten = where::input(std::vector<std::uint8_t>(10, 1)),
             twelve = where::input(std::vector<std::uint8_t>(12, 1));
  auto none = where::put(std::vector<unsigned>());
  CHECK_THROWS_AS(pmpp::histogram_even<small>(policy, null, null + 5, counts, 0, 5), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::histogram_even<small>(policy, data.end(), data.begin(), counts, 0, 5), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::histogram_even<small>(policy, data, counts, 5, 5), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::histogram_even<small>(policy, data, counts, 6, 5), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::histogram_even<small>(policy, real, counts, 5.0, 5.0), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::histogram_even<small>(policy, real, counts, 0.0, double(NAN)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::histogram_even<small>(policy, real, counts, 0.0, double(INFINITY)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::histogram_even<small>(policy, data, none, 0, 5), std::length_error);
  CHECK_THROWS_AS(pmpp::histogram_range<small>(policy, data, counts, where::input(std::vector<float>(9))),
                  std::length_error);
  CHECK_THROWS_AS(pmpp::histogram_range<small>(policy, data, counts, static_cast<const float*>(nullptr)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::histogram<cached>(policy, data, none, minus_three{}), std::length_error);
  CHECK_THROWS_AS((pmpp::histogram_even_channels<3, 3, small>(policy, ten, counts, 0, 5)), std::invalid_argument);
  CHECK_THROWS_AS((pmpp::histogram_even_channels<4, 4, small>(policy, twelve, counts, 0, 5)), std::length_error);
  CHECK(where::get(counts) == std::vector<unsigned>(9, 77));
  pmpp::histogram_even<small>(policy, null, null, counts, 0, 5);  // nothing may be null
  pmpp::synchronize(policy);
  CHECK(where::get(counts) == std::vector<unsigned>(9, 0));
}

TEST_CASE("a workspace serves any number of calls, whatever their bins and types") {
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  const auto v = distributed("uniform", 30000, 9000);
  const pmpp::device_buffer<std::uint32_t> in(v);
  for (int i = 0; i < test::turns(40); ++i) {
    const auto n = static_cast<std::int64_t>(test::generator()() % 30000);
    const auto bins = static_cast<std::uint32_t>(test::generator()() % 9000 + 1);
    CAPTURE(n);
    CAPTURE(bins);
    pmpp::device_buffer<std::uint64_t> counts(bins);
    pmpp::device_buffer<std::uint32_t> narrow(bins);
    pmpp::histogram_even<small>(policy, in.begin(), in.begin() + n, counts, 0u, bins);
    pmpp::histogram_even<ranges>(policy, in.begin(), in.begin() + n, narrow, 0u, bins);
    const auto wanted = count(std::vector<std::uint32_t>(v.begin(), v.begin() + n), bins,
                              [=](std::uint32_t x) { return std::int64_t(x); });
    CHECK(pmpp::to_host(counts) == wanted.counts);
    const auto got = pmpp::to_host(narrow);
    CHECK(std::equal(got.begin(), got.end(), wanted.counts.begin(), wanted.counts.end()));
  }
}

TEST_CASE("host: the same for any number of threads") {
  const auto v = distributed("zipf", 300000, 2000);
  std::vector<std::uint64_t> wanted(1500);
  pmpp::histogram_even(pmpp::seq, v, wanted, 0u, 2000u);
  for (const int threads : {1, 2, 3, 7}) {
    std::vector<std::uint64_t> counts(1500);
    pmpp::histogram_even(pmpp::host.threads(threads), v, counts, 0u, 2000u);
    CHECK(counts == wanted);
  }
}

#if !PMPP_CUDA
#include <pmpp/simt/emulator.hpp>

TEST_CASE("any order of blocks, any seed, one worker or several") {
  using order = pmpp::simt::block_order;
  const auto v = distributed("zipf", 9000, 400);
  const auto wanted = count(v, 350, [](std::uint32_t x) { return std::int64_t(x); });
  const pmpp::device_buffer<std::uint32_t> in(v);
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const order o : {order::ascending, order::descending, order::shuffled}) {
      pmpp::simt::emulator_options options;
      options.threads = seed % 2 == 0 ? 1 : 2;
      options.order = o;
      options.seed = seed;
      const pmpp::simt::scoped_emulator_options scope(options);
      pmpp::device_buffer<std::uint64_t> counts(350), rejected(1);
      const auto check = [&] {
        CAPTURE(seed);
        CHECK(pmpp::to_host(counts) == wanted.counts);
        CHECK(pmpp::to_host(rejected)[0] == wanted.rejected);
      };
      pmpp::histogram_even<small>(device, in, counts, 0u, 350u, {.rejected = rejected.data()});
      check();
      pmpp::histogram_even<ranges>(device, in, counts, 0u, 350u, {.rejected = rejected.data()});
      check();
      pmpp::histogram_even<cached>(device, in, counts, 0u, 350u, {.rejected = rejected.data()});
      check();
    }
}
#endif
