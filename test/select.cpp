// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of select.hpp, on every policy: the right elements arrive in their order, and nothing after
// them is touched, for every size, density, element type and alignment; in place works; the count comes out in any
// integer type; flags of any type; runs of equals across tiles; computed inputs; lengths that only the device knows;
// the predicate is asked once for each element; bad input throws and touches nothing; a workspace is left as it was
// found. In the emulator also under other orders of blocks and threads.
#include <pmpp/select.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "support/data.hpp"
#include "support/element_types.hpp"
#include "support/monoids.hpp"
#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::device;

namespace {

// Elements of a tile of the default kernel for ints.
constexpr std::int64_t tile = 256 * 8 * 4;
// Small enough that many blocks and tiles take part at a few thousand elements.
constexpr pmpp::select_tuning tiny{.threads = 64, .rows = 2, .blocks = 3};
constexpr pmpp::select_tuning one_row{.threads = 32, .rows = 1, .blocks = 1};
constexpr pmpp::select_tuning three_warps{.threads = 96, .rows = 3, .blocks = 2};

PMPP_HOST_DEVICE std::uint32_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>(x >> 32);
}

/// True for `per_thousand` of a thousand values below a bound, as good as at random; or for the odd ones among them. One
/// predicate for all distributions: each predicate is another kernel to compile.
struct some {
  std::uint32_t per_thousand;
  std::int64_t bound = std::int64_t(1) << 62;
  bool odd = false;
  template <class T>
  PMPP_HOST_DEVICE bool operator()(const T& x) const {
    const auto number = static_cast<std::int64_t>(x);
    return number < bound && (!odd || number % 2 != 0) &&
           scrambled(static_cast<std::uint64_t>(number) + 77) % 1000 < per_thousand;
  }
};
constexpr some below(std::int64_t bound) { return {1000, bound}; }
constexpr some is_odd{1000, std::int64_t(1) << 62, true};
/// Gives 4 or 0: what converts to bool is enough.
struct third_bit {
  PMPP_HOST_DEVICE int operator()(std::int64_t x) const { return static_cast<int>(x & 4); }
};

template <class T>
T guard() {
  T g;
  std::memset(static_cast<void*>(&g), 0x5a, sizeof g);
  return g;
}

template <class T>
std::vector<T> prefix_of(const std::vector<T>& v, std::int64_t n) {
  return std::vector<T>(v.begin(), v.begin() + n);
}

/// What std::copy_if leaves in an output of guards as long as the input.
template <class T, class Pred>
std::vector<T> wanted_of(const std::vector<T>& v, Pred pred) {
  std::vector<T> w(v.size(), guard<T>());
  std::copy_if(v.begin(), v.end(), w.begin(), pred);
  return w;
}

template <class T, class Pred>
auto negated(Pred pred) {
  return [=](const T& x) { return !pred(x); };
}

/// copy_if, elsewhere and in place, against std, with guards after what is kept.
template <pmpp::select_tuning Tuning, class where, class T, class Pred>
void check_copy(const std::vector<T>& v, Pred pred) {
  const typename where::policy policy{};
  const std::vector<T> yes = wanted_of(v, pred);
  const std::int64_t kept = std::count_if(v.begin(), v.end(), pred);
  const auto in = where::put(v);
  auto out = where::put(std::vector<T>(v.size(), guard<T>()));
  CHECK(pmpp::copy_if<test::tuned<where>(Tuning)>(policy, in, out, pred) - out.begin() == kept);
  CHECK(where::get(out) == yes);
  auto inout = where::put(v);  // in place: what lies after the kept elements stays as it was
  const auto end = pmpp::copy_if<test::tuned<where>(Tuning)>(policy, std::as_const(inout), inout, pred);
  CHECK(end - inout.begin() == kept);
  CHECK(prefix_of(where::get(inout), kept) == prefix_of(yes, kept));
}

template <pmpp::select_tuning Tuning, class where, class T, class Pred>
void check_partition(const std::vector<T>& v, Pred pred) {
  const typename where::policy policy{};
  const std::int64_t kept = std::count_if(v.begin(), v.end(), pred);
  const std::vector<T> guards(v.size(), guard<T>());
  const auto in = where::put(v);
  auto out = where::put(guards), others = where::put(guards);
  const auto ends = pmpp::partition_copy<test::tuned<where>(Tuning)>(policy, in, out, others, pred);
  CHECK(ends.first - out.begin() == kept);
  CHECK(ends.second - others.begin() == static_cast<std::int64_t>(v.size()) - kept);
  CHECK(where::get(out) == wanted_of(v, pred));
  CHECK(where::get(others) == wanted_of(v, negated<T>(pred)));
}

/// All of the family that takes a predicate.
template <pmpp::select_tuning Tuning, class where, class T, class Pred>
void check_family(const std::vector<T>& v, Pred pred) {
  check_copy<Tuning, where>(v, pred);
  check_partition<Tuning, where>(v, pred);
  if constexpr (Tuning.threads == tiny.threads) {  // a removal is a copy of the others
    const std::vector<T> no = wanted_of(v, negated<T>(pred));
    const auto in = where::put(v);
    auto out = where::put(std::vector<T>(v.size(), guard<T>()));
    const auto end =
        pmpp::remove_if<test::tuned<where>(Tuning)>(typename where::policy{}, in.begin(), in.end(), out.begin(), pred);
    CHECK(end - out.begin() == std::count_if(v.begin(), v.end(), negated<T>(pred)));
    CHECK(where::get(out) == no);
  }
}

template <pmpp::select_tuning Tuning, class where, class T>
void check_unique(const std::vector<T>& v) {
  const typename where::policy policy{};
  std::vector<T> wanted(v.size(), guard<T>());
  const std::int64_t kept = std::unique_copy(v.begin(), v.end(), wanted.begin()) - wanted.begin();
  const auto in = where::put(v);
  auto out = where::put(std::vector<T>(v.size(), guard<T>()));
  CHECK(pmpp::unique_copy<test::tuned<where>(Tuning)>(policy, in, out) - out.begin() == kept);
  CHECK(where::get(out) == wanted);
  if constexpr (std::is_same_v<T, int> &&
                Tuning.threads == tiny.threads) {  // in place, and the count stays on the device
    auto inout = where::put(v);
    auto count = where::put(std::vector<int>(1, -1));
    pmpp::unique_copy_into<test::tuned<where>(Tuning)>(policy, std::as_const(inout).begin(), std::as_const(inout).end(),
                                                       inout, count);
    pmpp::synchronize(policy);
    CHECK(where::get(count)[0] == kept);
    CHECK(prefix_of(where::get(inout), kept) == prefix_of(wanted, kept));
  }
}

template <class T = std::uint32_t>
std::vector<T> counted(std::int64_t n) {
  std::vector<T> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), T(1));
  return v;
}

}  // namespace

TEST_ALL_PLACES("copy_if, every size and density") {
  for (const std::int64_t n : test::sizes(tile, 200003)) {
    const auto v = counted(n);
    CAPTURE(n);
    CAPTURE(test::seed());
    for (const std::uint32_t density : {0u, 1u, 500u, 990u, 1000u}) {
      if (n > 4 * tile && density != 500) continue;
      CAPTURE(density);
      check_family<pmpp::select_tuning{}, where>(v, some{density});
    }
  }
}

TEST_ALL_PLACES("every size up to a few tiny tiles, every density") {
  for (const std::int64_t n : test::every_size(70, 2200, 97)) {
    const auto v = counted(n);
    CAPTURE(n);
    for (const std::uint32_t density : {0u, 1u, 500u, 990u, 1000u}) {
      CAPTURE(density);
      check_family<tiny, where>(v, some{density});
    }
  }
}

TEST_ALL_PLACES("clustered and alternating") {
  const auto v = counted(test::up_to(20011));
  for (const std::int64_t bound : test::some_of({1, 511, 512, 513, 10000, 20011})) {
    CAPTURE(bound);
    check_family<tiny, where>(v, below(bound));
  }
  check_family<tiny, where>(v, is_odd);
  check_family<pmpp::select_tuning{}, where>(v, is_odd);
  check_partition<one_row, where>(v, some{300});
  check_copy<three_warps, where>(v, some{300});
}

TEST_ALL_PLACES("elements of every size") {
  for (const std::int64_t n : test::some_of({0, 1, 33, 1000, 12345})) {
    CAPTURE(n);
    test::for_each_element_type([&]<class T, bool Small>() {
      constexpr bool with_tiny = Small || std::is_arithmetic_v<T>;  // which is what alignments are tried with
      constexpr pmpp::select_tuning one = with_tiny ? tiny : pmpp::select_tuning{},
                                    other = with_tiny ? pmpp::select_tuning{} : tiny;
      CAPTURE(sizeof(T));
      const auto v = test::elements_of<T>(sizeof(T) > 100 ? n / 8 : n);
      check_copy<one, where>(v, test::odd_number{});
      if constexpr (sizeof(T) != 12 && sizeof(T) != 40 && alignof(T) != 16)  // as many in a vector as of others
        check_partition<other, where>(v, test::odd_number{});
    });
  }
}

TEST_ALL_PLACES("bool, and outputs of another type") {
  const typename where::policy policy{};
  std::vector<std::uint8_t> bits(3001);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = scrambled(i) % 3 == 0;
  const pmpp::device_buffer<std::uint8_t> bytes(bits);
  if constexpr (where::on_device) {
    const auto* first = reinterpret_cast<const bool*>(bytes.data());
    pmpp::device_buffer<bool> out(bits.size());
    const auto end = pmpp::copy_if<tiny>(policy, first, first + 3001, out.data(), pmpp::identity{});
    CHECK(end - out.data() == std::count(bits.begin(), bits.end(), 1));
  }
  const auto v = counted(5000);
  auto wide = where::put(std::vector<double>(5000, -1.0));
  auto narrow = where::put(std::vector<std::uint8_t>(5000, 7));
  pmpp::partition_copy<tiny>(policy, where::input(v), wide, narrow, is_odd);
  std::vector<double> yes(5000, -1.0);
  std::vector<std::uint8_t> no(5000, 7);
  for (std::size_t i = 0; i < 2500; ++i) {
    yes[i] = static_cast<double>(2 * i + 1);
    no[i] = static_cast<std::uint8_t>(2 * i + 2);
  }
  CHECK(where::get(wide) == yes);
  CHECK(where::get(narrow) == no);
}

namespace {
template <class where, class T>
void check_alignments() {
  const typename where::policy policy{};
  const auto v = test::elements_of<T>(3000);
  const auto in = where::put(v);
  for (const int from : test::some_of({0, 1, 2, 3, 7, 15, 16}))
    for (const int to : {0, 1, 3, 8})
      for (const int length : test::some_of({0, 1, 5, 15, 16, 17, 500, 2900})) {
        CAPTURE(from);
        CAPTURE(to);
        CAPTURE(length);
        std::vector<T> wanted(3016, guard<T>());
        const auto end =
            std::copy_if(v.begin() + from, v.begin() + from + length, wanted.begin() + to, test::odd_number{});
        auto out = where::put(std::vector<T>(3016, guard<T>()));
        const auto got = pmpp::copy_if<tiny>(policy, in.begin() + from, in.begin() + from + length, out.begin() + to,
                                             test::odd_number{});
        CHECK(got - out.begin() == end - wanted.begin());
        CHECK(where::get(out) == wanted);
      }
}
}  // namespace

TEST_ALL_PLACES("misaligned inputs and outputs") {
  check_alignments<where, std::uint8_t>();
  check_alignments<where, std::int16_t>();
  check_alignments<where, float>();
  check_alignments<where, double>();
}

TEST_ALL_PLACES("in place from a misaligned start, partition and removal too") {
  const typename where::policy policy{};
  for (const int from : {0, 1, 3})
    for (const int n : test::some_of({100, 5000, 30000})) {
      CAPTURE(from);
      CAPTURE(n);
      const auto v = counted(30010);
      auto wanted = v;
      const auto wanted_end = std::remove_if(wanted.begin() + from, wanted.begin() + from + n, some{100});
      auto data = where::put(v);
      const auto first = std::as_const(data).begin() + from;
      CHECK(pmpp::remove_if<tiny>(policy, first, first + n, data.begin() + from, some{100}) - data.begin() ==
            wanted_end - wanted.begin());
      const auto kept = wanted_end - wanted.begin();
      CHECK(prefix_of(where::get(data), kept) == prefix_of(wanted, kept));
      CHECK(where::get(data).back() == v.back());

      auto again = where::put(v);
      auto rest = where::put(v);
      const auto start = std::as_const(again).begin() + from;
      const auto ends = pmpp::partition_copy<tiny>(policy, start, start + n, again.begin() + from, rest, some{900});
      std::vector<std::uint32_t> yes, no;
      std::partition_copy(v.begin() + from, v.begin() + from + n, std::back_inserter(yes), std::back_inserter(no),
                          some{900});
      const auto yes_got = where::get(again);
      CHECK(std::vector<std::uint32_t>(yes_got.begin() + from, yes_got.begin() + (ends.first - again.begin())) == yes);
      CHECK(prefix_of(where::get(rest), ends.second - rest.begin()) == no);
    }
}

TEST_ALL_PLACES("unique: runs across warps and tiles, all equal, all distinct") {
  for (const std::int64_t n : test::some_of({0, 1, 2, 33, 511, 512, 513, 1024, 5000, 40000})) {
    CAPTURE(n);
    check_unique<tiny, where>(counted<int>(n));
    check_unique<tiny, where>(std::vector<int>(static_cast<std::size_t>(n), 9));
    for (const std::int64_t run : test::some_of({2, 3, 31, 32, 100, 512, 700})) {
      CAPTURE(run);
      std::vector<int> v(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int>(static_cast<std::int64_t>(i) / run % 5);
      check_unique<tiny, where>(v);
      check_unique<pmpp::select_tuning{}, where>(v);
    }
    auto few = test::random_values<std::uint8_t>(n);
    for (auto& x : few) x %= 3;
    check_unique<tiny, where>(few);
    std::vector<test::affine> a(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < a.size(); ++i) a[i].length = scrambled(i) % 2;
    check_unique<tiny, where>(a);
    std::vector<test::wide> w(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < w.size(); ++i) w[i].part[4] = scrambled(i) % 2;
    check_unique<tiny, where>(w);
  }
}

namespace {
struct same_parity {
  PMPP_HOST_DEVICE bool operator()(int a, int b) const { return (a ^ b) % 2 == 0; }
};
}  // namespace

TEST_ALL_PLACES("unique with a relation of one's own, from a misaligned start; every NaN is kept") {
  const typename where::policy policy{};
  const auto v = test::random_values<int>(9000);
  const auto in = where::put(v);
  for (const int from : test::some_of({0, 1, 2, 3, 5})) {
    std::vector<int> wanted;
    std::unique_copy(v.begin() + from, v.end(), std::back_inserter(wanted), same_parity{});
    auto out = where::put(v);
    const auto end = pmpp::unique_copy<tiny>(policy, in.begin() + from, in.end(), out, same_parity{});
    CAPTURE(from);
    CHECK(prefix_of(where::get(out), end - out.begin()) == wanted);
  }
  const std::vector<float> nan(1000, std::numeric_limits<float>::quiet_NaN());
  auto out = where::put(nan);
  CHECK(pmpp::unique_copy<tiny>(policy, where::input(nan), out) == out.end());
}

namespace {
template <class Flag, class where>
void check_flags() {
  const typename where::policy policy{};
  for (const std::int64_t n : test::some_of({0, 1, 100, 4096, 20001})) {
    CAPTURE(n);
    const auto v = counted(n);
    std::vector<Flag> flags(v.size());
    std::vector<std::uint32_t> wanted(v.size(), guard<std::uint32_t>());
    std::int64_t kept = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      const std::uint32_t r = scrambled(i) % 4;
      flags[i] = static_cast<Flag>(r < 2 ? 0 : r);
      if (r >= 2) wanted[static_cast<std::size_t>(kept++)] = v[i];
    }
    const auto in = where::put(v);
    const auto marks = where::put(flags);
    auto out = where::put(std::vector<std::uint32_t>(v.size(), guard<std::uint32_t>()));
    CHECK(pmpp::copy_flagged<tiny>(policy, in, marks, out) - out.begin() == kept);
    CHECK(where::get(out) == wanted);
    if constexpr (sizeof(Flag) == 1) {
      auto again = where::put(v);
      auto count = where::put(std::vector<std::int64_t>(1, -1));
      const auto first = std::as_const(again).begin(), last = std::as_const(again).end();
      pmpp::copy_flagged_into(policy, first, last, marks.begin(), again.begin(), count);
      pmpp::synchronize(policy);
      CHECK(where::get(count)[0] == kept);
      CHECK(prefix_of(where::get(again), kept) == prefix_of(wanted, kept));
    }
    if (n > 10) {  // element and flag lie differently in their words
      auto few = where::put(std::vector<std::uint32_t>(v.size(), 0));
      const auto end = pmpp::copy_flagged<tiny>(policy, in.begin() + 1, in.end() - 1, marks.begin() + 2, few);
      std::vector<std::uint32_t> shifted;
      for (std::size_t i = 2; i < v.size(); ++i)
        if (flags[i] != Flag(0)) shifted.push_back(v[i - 1]);
      CHECK(prefix_of(where::get(few), end - few.begin()) == shifted);
    }
  }
}
}  // namespace

TEST_ALL_PLACES("flags of several types") {
  check_flags<std::uint8_t, where>();
  check_flags<int, where>();
  check_flags<std::int64_t, where>();
}

TEST_ALL_PLACES("computed inputs") {
  const typename where::policy policy{};
  auto out = where::put(std::vector<std::int64_t>(30000, -1));
  const pmpp::counting_iterator<std::int64_t> zero(0);
  auto end = pmpp::copy_if<tiny>(policy, zero, zero + 30000, out, third_bit{});
  std::vector<std::int64_t> wanted;
  for (std::int64_t i = 0; i < 30000; ++i)
    if ((i & 4) != 0) wanted.push_back(i);
  CHECK(prefix_of(where::get(out), end - out.begin()) == wanted);
  const pmpp::constant_iterator<std::int64_t> four(4);
  CHECK(pmpp::unique_copy<tiny>(policy, four, four + 30000, out) - out.begin() == 1);
  CHECK(pmpp::copy_if(policy, four, four + 30000, out, third_bit{}) == out.end());
}

TEST_ALL_PLACES("lengths that are known on the device only") {
  const typename where::policy policy{};
  const auto v = counted(20000);
  const auto in = where::put(v);
  for (const std::int64_t n : test::some_of({0, 1, 300, 4096, 19999, 20000, 30000})) {
    const auto used = prefix_of(v, std::min<std::int64_t>(n, 20000));
    const std::int64_t kept = std::count_if(used.begin(), used.end(), some{400});
    auto wanted = wanted_of(used, some{400});
    wanted.resize(v.size(), guard<std::uint32_t>());
    const auto count = where::put(std::vector<std::int64_t>{n});
    const pmpp::device_count length{count.data(), 20000};
    auto out = where::put(std::vector<std::uint32_t>(v.size(), guard<std::uint32_t>()));
    auto rest = where::put(v);
    auto left = where::put(std::vector<unsigned>(1, 99));
    CAPTURE(n);
    CHECK(pmpp::copy_if<tiny>(policy, in.begin(), length, out, some{400}) - out.begin() == kept);
    CHECK(where::get(out) == wanted);
    const auto ends = pmpp::partition_copy(policy, in.begin(), length, out, rest, some{400});
    CHECK(ends.second - rest.begin() == static_cast<std::int64_t>(used.size()) - kept);
    pmpp::remove_if_into<tiny>(policy, in.begin(), length, out, left, some{400});
    // A chain: the count of one is the length of the next.
    auto last = where::put(std::vector<std::int64_t>(1, 99));
    pmpp::copy_if_into<tiny>(policy, std::as_const(out).begin(), pmpp::device_count{left.data(), 20000}, rest, last,
                             is_odd);
    pmpp::synchronize(policy);
    CHECK(where::get(left)[0] == used.size() - static_cast<std::size_t>(kept));
    const auto odd = std::count_if(used.begin(), used.end(), [](auto x) { return !some{400}(x) && is_odd(x); });
    CHECK(where::get(last)[0] == odd);
    // In place, and the new count takes the place of the old one.
    auto inout = where::put(v);
    auto length_inout = where::put(std::vector<std::int64_t>{n});
    for (const auto pred : {some{900}, some{500}})
      pmpp::copy_if_into<tiny>(policy, std::as_const(inout).begin(), pmpp::device_count{length_inout.data(), 20000},
                               inout, length_inout, pred);
    pmpp::synchronize(policy);
    const auto both = wanted_of(used, [](auto x) { return some{900}(x) && some{500}(x); });
    const std::int64_t left_over = where::get(length_inout)[0];
    CHECK(left_over == std::count_if(used.begin(), used.end(), [](auto x) { return some{900}(x) && some{500}(x); }));
    CHECK(prefix_of(where::get(inout), left_over) == prefix_of(both, left_over));
  }
}

TEST_ALL_PLACES("counts of any integer type, zero for nothing") {
  const typename where::policy policy{};
  const auto v = counted(1000);
  const auto in = where::put(v);
  auto out = where::put(v), others = where::put(v);
  auto i64 = where::put(std::vector<std::int64_t>(3, -7));
  auto u8 = where::put(std::vector<std::uint8_t>(3, 9));
  auto u64 = where::put(std::vector<std::uint64_t>(2, 9));
  pmpp::copy_if_into<tiny>(policy, in, out, i64, is_odd);
  pmpp::copy_if_into(policy, in.begin(), in.begin() + 100, out, u8.begin() + 1, is_odd);
  pmpp::partition_copy_into(policy, in, out, others, u64, below(100));
  pmpp::partition_copy_into(policy, in.begin(), in.end(), out, others, u64.begin() + 1, below(1));
  pmpp::copy_if_into<tiny>(policy, in.begin(), in.end(), out, i64.begin() + 1, below(1));
  pmpp::copy_if_into<tiny>(policy, in.begin(), in.begin(), out, i64.begin() + 2, is_odd);
  pmpp::synchronize(policy);
  CHECK(where::get(i64) == std::vector<std::int64_t>{500, 0, 0});
  CHECK(where::get(u8) == std::vector<std::uint8_t>{9, 50, 9});
  CHECK(where::get(u64) == std::vector<std::uint64_t>{99, 0});
}

#if !PMPP_CUDA
namespace {
struct counting_calls {
  std::atomic<int>* calls;  // one counter an element
  bool operator()(int x) const {
    if (x < 0) return false;
    ++calls[x];
    return x % 3 == 0;
  }
};
struct counting_pairs {
  std::atomic<int>* calls;
  bool operator()(int a, int b) const {
    CHECK(b == a + 1);
    ++calls[b];
    return b % 3 == 0;
  }
};
}  // namespace

TEST_ALL_PLACES("the predicate is asked once for each element") {
  const typename where::policy policy{};
  for (const int n : test::some_of({1, 7, 1000, 40001})) {
    std::vector<int> v(static_cast<std::size_t>(n));
    std::iota(v.begin(), v.end(), 0);
    std::vector<std::atomic<int>> calls(v.size());
    const auto in = where::put(v);
    auto out = where::put(v), others = where::put(v);
    pmpp::copy_if<tiny>(policy, in, out, counting_calls{calls.data()});
    pmpp::partition_copy<tiny>(policy, in, out, others, counting_calls{calls.data()});
    std::int64_t wrong = 0;
    for (const auto& c : calls) wrong += c != 2;
    CHECK(wrong == 0);
    pmpp::unique_copy<tiny>(policy, in, out, counting_pairs{calls.data()});
    for (std::size_t i = 1; i < calls.size(); ++i) wrong += calls[i] != 3;
    CHECK(wrong + (calls[0] != 2) == 0);
  }
}

TEST_CASE("blocks and threads in any order") {
  const auto v = counted(9001);
  test::for_each_order(6, [&](std::uint64_t) {
    check_family<tiny, test::device_place>(v, some{500});
    check_partition<one_row, test::device_place>(v, some{990});
    check_copy<three_warps, test::device_place>(v, some{990});
    auto runs = counted<int>(9001);
    for (auto& x : runs) x /= 7;
    check_unique<tiny, test::device_place>(runs);
  });
}
#endif

namespace {
struct odd_or_throw {
  PMPP_HOST_DEVICE bool operator()(int x) const {
#if !defined(__CUDA_ARCH__)
    if (x == -1) throw std::domain_error("met -1");
#endif
    return x % 2 != 0;
  }
};
}  // namespace

TEST_CASE("host: any number of threads, in place; a predicate that throws ends it on all of them") {
  const auto v = test::random_values<std::int8_t>(700001);
  std::vector<int> wanted, once, odd, even;
  for (const int x : v) {
    wanted.push_back(x / 40);
    (x % 2 != 0 ? odd : even).push_back(x);
  }
  const std::vector<int> coarse = wanted;
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (const int threads : {1, 2, 3, 7}) {
    const auto policy = pmpp::host.threads(threads);
    once = coarse;
    once.erase(pmpp::unique_copy(policy, once, once), once.end());
    CHECK(once == wanted);
    std::vector<int> all(v.begin(), v.end()), others(v.size());
    const auto ends = pmpp::partition_copy(policy, all, all, others, is_odd);
    CHECK(std::equal(odd.begin(), odd.end(), all.begin(), ends.first));
    CHECK(std::equal(even.begin(), even.end(), others.begin(), ends.second));
    for (const std::size_t at : {std::size_t(0), v.size() / 2, v.size() - 1}) {
      all.assign(v.size(), 2);
      all[at] = -1;
      CHECK_THROWS_AS(pmpp::copy_if(policy, all, others, odd_or_throw{}), std::domain_error);
    }
  }
}

TEST_CASE("a workspace serves any number of calls, whatever their sizes") {
  pmpp::workspace scratch;
  const auto policy = device.with(scratch);
  const auto v = counted(50000);
  const pmpp::device_buffer<std::uint32_t> in(v);
  pmpp::device_buffer<std::uint32_t> out(v.size());
  pmpp::device_buffer<std::int64_t> count(1);
  for (int i = 0; i < test::turns(100); ++i) {
    const auto n = static_cast<std::int64_t>(test::generator()() % 50001);
    const std::int64_t kept = std::count_if(v.begin(), v.begin() + n, some{250});
    CHECK(pmpp::copy_if<tiny>(policy, in.begin(), in.begin() + n, out, some{250}) - out.begin() == kept);
    pmpp::remove_if_into<tiny>(policy, in.begin(), in.begin() + n, out, count, some{250});
    pmpp::synchronize(policy);
    CHECK(pmpp::to_host(count)[0] == n - kept);
  }
}

TEST_ALL_PLACES("bad input throws before anything runs") {
  const typename where::policy policy{};
  const std::uint32_t* null = nullptr;
  const auto data = where::input(std::vector<std::uint32_t>(10, 1));
  const auto numbers = where::input(std::vector<int>(10, 1));
  auto out = where::put(std::vector<std::uint32_t>(10, 77));
  auto distinct = where::put(std::vector<int>(10, 77));
  auto nothing = where::put(std::vector<std::int64_t>{});
  auto no_int = where::put(std::vector<int>{});
  const auto flags = where::input(std::vector<std::uint8_t>(9, 1));
  std::uint32_t* const nowhere = nullptr;
  std::int64_t* const uncounted = nullptr;
  CHECK_THROWS_AS(pmpp::copy_if(policy, null, null + 5, out, is_odd), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::copy_if(policy, data.end(), data.begin(), out, is_odd), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::copy_if(policy, data, nowhere, is_odd), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::partition_copy(policy, data, out, nowhere, is_odd), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::copy_if_into<tiny>(policy, data, out, uncounted, is_odd), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::copy_if_into<tiny>(policy, data, out, nothing, is_odd), std::length_error);
  CHECK_THROWS_AS(pmpp::unique_copy_into<tiny>(policy, numbers, distinct, no_int), std::length_error);
  CHECK_THROWS_WITH_AS(pmpp::copy_flagged<tiny>(policy, data, flags, out),
                       doctest::Contains("copy_flagged: flags has room for 9 elements, needs 10"), std::length_error);
  auto in_place = where::put(std::vector<std::uint32_t>(10, 1));
  auto count_true = where::put(std::vector<std::uint64_t>(1, 77));
  CHECK_THROWS_WITH_AS(pmpp::partition_copy(policy, std::as_const(in_place), out, in_place, is_odd),
                       doctest::Contains("partition_copy: out_false overlaps an input"), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::partition_copy_into(policy, std::as_const(in_place), out, in_place, count_true, is_odd),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::copy_flagged<tiny>(policy, data, static_cast<const std::uint8_t*>(nullptr), out),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::copy_if(policy, data.begin(), pmpp::device_count{static_cast<int*>(nullptr), 5}, out, is_odd),
                  std::invalid_argument);
  CHECK(where::get(out) == std::vector<std::uint32_t>(10, 77));
  CHECK(where::get(distinct) == std::vector<int>(10, 77));
  CHECK(where::get(count_true)[0] == 77);
  CHECK(pmpp::copy_if(policy, null, null, nowhere, is_odd) == nowhere);  // nothing may be null
  CHECK(pmpp::copy_if(policy, data, out, is_odd) == out.end());          // the next call works
}
