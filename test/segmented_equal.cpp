// SPDX-License-Identifier: Apache-2.0
//
// Segments of one length (core/equal_segments.hpp): sums and extremes of rows that begin anywhere, of every length from 0 on, by operators
// that show order and grouping, of elements of many types, in tiles of few and of many rows; lengths that only the device knows; what is
// refused. The other functions that take offsets: segmented_equal_calls.cpp. See segmented.cpp.
#include <pmpp/by_key.hpp>
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/segmented.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>

#include "support/element_types.hpp"
#include "support/orders.hpp"
#include "support/rows.hpp"

using namespace test::rows;

namespace {

// As it is by default, but for every size; longer segments by tiles.
constexpr pmpp::segmented_tuning any_size{.few_to_reduce = 0, .short_input = 0, .long_average = 0};
// Tiles of few rows, so that a warp goes through several.
constexpr pmpp::segmented_tuning few_rows{.threads = 64, .few_to_reduce = 0, .short_input = 0, .long_average = 0};

/// Calls check(length, rows) for rows of many lengths, about n elements in all.
void for_rows(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& check) {
  test::only_each turn(7);
  for (std::int64_t length = 0; length <= 1500; length += length < 40     ? 1
                                                          : length < 66   ? 5
                                                          : length < 1000 ? 211
                                                                          : 137) {
    if (turn.leaves_out()) continue;
    CAPTURE(length);
    check(length, length == 0 ? 100 : std::max<std::int64_t>(3, test::up_to(n, 3000) / length));
  }
  for (const std::int64_t length : test::some_of<std::int64_t>({64, 128, 256, 512, 1023, 1024})) {
    CAPTURE(length);
    check(length, 5);
  }
}

std::vector<std::int64_t> offsets_of_rows(std::int64_t length, std::int64_t rows) {
  return offsets_of<std::int64_t>(lengths(static_cast<std::size_t>(rows), length));
}

/// Rows of elements from `all[from]` on, some of which lie after them, with guards around the results.
template <pmpp::segmented_tuning Tuning, class where, class T, class A, class Op>
void check_rows(const std::vector<T>& all, int from, std::int64_t length, std::int64_t rows, A init, Op op) {
  const typename where::policy policy{};
  const auto in = where::put(all);
  auto wanted = sums_of(std::vector<T>(all.begin() + from, all.end()), offsets_of_rows(length, rows), init, op);
  wanted.insert(wanted.begin(), init);
  wanted.push_back(init);
  auto out = where::put(test::copies<A>(wanted.size(), init));
  CHECK(pmpp::segmented_reduce<test::tuned<where>(Tuning)>(policy, in.begin() + from, in.end(),
                                                           pmpp::equal_segments(length, rows), out.begin() + 1, init,
                                                           op) == out.begin() + (rows + 1));
  CHECK(where::get(out) == wanted);
}

struct weigh {
  PMPP_HOST_DEVICE int operator()(int a, std::uint8_t b) const { return a - 3 * b; }
};

/// Sixteen bytes that lie as words of four: functions, and the first and the last number of all.
using quad = test::record<16, 4>;
struct compose_quads {
  PMPP_HOST_DEVICE quad operator()(const quad& a, const quad& b) const {
    return {{a.words[0] * b.words[0], a.words[1] * b.words[0] + b.words[1], a.words[2], b.words[3]}};
  }
};
struct difference {
  PMPP_HOST_DEVICE int operator()(int a, int b) const { return a - b; }
};

std::vector<test::wide> wide_values(std::int64_t n) {
  std::vector<test::wide> w(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < w.size(); ++i)
    for (std::size_t k = 0; k < 5; ++k) w[i].part[k] = static_cast<std::int64_t>(scrambled(5 * i + k) % 1000);
  return w;
}

}  // namespace

TEST_ALL_PLACES("rows that begin anywhere") {
  int from = 0;
  for_rows(20000, [&](std::int64_t length, std::int64_t rows) {
    from = (from + 1) % 5;
    CAPTURE(from);
    const auto v = test::random_values<int>(length * rows + from + from % 3);
    check_rows<any_size, where>(v, from, length, rows, 5, pmpp::plus{});
    check_rows<few_rows, where>(v, from, length, rows, 5, pmpp::plus{});
  });
}

TEST_ALL_PLACES("rows of operators that show order and grouping") {
  for_rows(5000, [&](std::int64_t length, std::int64_t rows) {
    const std::int64_t n = length * rows;
    check_rows<few_rows, where>(random_affines(n + 1), 1, length, rows, test::affine{3, 4, 0}, test::compose{});
    check_rows<any_size, where>(positions(n), 0, length, rows, test::interval{-7, -7}, join_behind{});
  });
}

TEST_ALL_PLACES("rows of elements of many types") {
  int from = 0;
  for_rows(9000, [&](std::int64_t length, std::int64_t rows) {
    from = (from + 1) % 17;
    CAPTURE(from);
    const std::int64_t n = length * rows + from;
    const auto bytes = test::random_values<std::uint8_t>(n);
    check_rows<any_size, where>(bytes, from, length, rows, std::uint64_t(1) << 40, pmpp::plus{});
    check_rows<few_rows, where>(bytes, from, length, rows, std::uint8_t(3), pmpp::maximum{});
    check_rows<any_size, where>(test::random_values<std::int16_t>(n), from, length, rows, std::int64_t(-2),
                                pmpp::plus{});
    check_rows<few_rows, where>(test::random_values<double>(n), from, length, rows, -0.5, pmpp::minimum{});
    if (length <= 64) check_rows<any_size, where>(wide_values(n), from, length, rows, test::wide{}, test::add_wide{});
  });
}

TEST_ALL_PLACES("rows of structures of 16 bytes wherever they begin, and of two arrays whose words begin together") {
  const typename where::policy policy{};
  int from = 0;
  for_rows(3000, [&](std::int64_t length, std::int64_t rows) {
    from = (from + 1) % 4;
    CAPTURE(from);
    const std::int64_t n = length * rows;
    const auto words = test::random_values<std::uint32_t>(4 * n + from);
    std::vector<quad> quads(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < 4 * quads.size(); ++i)
      quads[i / 4].words[i % 4] = words[i + static_cast<std::size_t>(from)];
    const auto in = where::put(words);
    const auto* const first = reinterpret_cast<const quad*>(in.data() + from);
    auto sums = where::put(test::copies<quad>(static_cast<std::size_t>(rows), {}));
    pmpp::segmented_reduce<test::tuned<where>(few_rows)>(policy, first, first + n, pmpp::equal_segments(length, rows),
                                                         sums, quad{{3, 4, 5, 6}}, compose_quads{});
    CHECK(where::get(sums) == sums_of(quads, offsets_of_rows(length, rows), quad{{3, 4, 5, 6}}, compose_quads{}));

    const auto a = test::random_values<int>(n + from + 8);
    std::vector<int> differences;
    for (std::int64_t i = from; i < n + from; ++i)
      differences.push_back(a[static_cast<std::size_t>(i)] - a[static_cast<std::size_t>(i + 8)]);
    const auto x = where::put(a);
    const pmpp::transform_iterator both(pmpp::zip_iterator(x.data() + from, x.data() + (from + 8)),
                                        pmpp::spread(difference{}));
    auto totals = where::put(test::copies<int>(static_cast<std::size_t>(rows), 7));
    pmpp::segmented_reduce<test::tuned<where>(few_rows)>(policy, both, both + n, pmpp::equal_segments(length, rows),
                                                         totals, 4);
    CHECK(where::get(totals) == sums_of(differences, offsets_of_rows(length, rows), 4, pmpp::plus{}));
  });
}

TEST_ALL_PLACES("rows of many elements: several tiles a warp") {
  const std::int64_t n = test::up_to(PMPP_CUDA ? 20'000'000 : 300'000, 20000);
  for (const std::int64_t length : test::some_of<std::int64_t>({1, 2, 3, 4, 7, 16, 33, 100, 1000})) {
    CAPTURE(length);
    check_rows<few_rows, where>(test::random_values<int>(n + 3), 3, length, n / length, 5, pmpp::plus{});
    check_rows<any_size, where>(test::random_values<std::uint8_t>(n + 1), 1, length, n / length, std::uint64_t(0),
                                pmpp::plus{});
  }
}

TEST_ALL_PLACES("rows of computed elements, and results that are converted") {
  const typename where::policy policy{};
  for_rows(3000, [&](std::int64_t length, std::int64_t rows) {
    const std::int64_t n = length * rows;
    auto sums = where::put(test::copies<double>(static_cast<std::size_t>(rows), 7));
    std::vector<double> wanted;
    for (std::int64_t s = 0; s < rows; ++s)
      wanted.push_back(static_cast<double>(length * s * length + length * (length - 1) / 2));
    pmpp::segmented_reduce<test::tuned<where>(any_size)>(policy, pmpp::counting_iterator<std::int64_t>(0),
                                                         pmpp::counting_iterator<std::int64_t>(n),
                                                         pmpp::equal_segments(length, rows), sums);
    CHECK(where::get(sums) == wanted);

    // Made of two arrays, which begin at different places of their words; backwards, and one by one.
    const auto a = test::random_values<int>(n + 1);
    const auto b = test::random_values<std::uint8_t>(n + 2);
    const auto x = where::put(a);
    const auto y = where::put(b);
    const pmpp::transform_iterator both(pmpp::zip_iterator(x.data() + 1, y.data() + 2), pmpp::spread(weigh{}));
    std::vector<int> total(static_cast<std::size_t>(rows), 4);
    for (std::int64_t i = 0; i < n; ++i)
      total[static_cast<std::size_t>(i / length)] +=
          weigh{}(a[static_cast<std::size_t>(i + 1)], b[static_cast<std::size_t>(i + 2)]);
    auto totals = where::put(test::copies<int>(total.size(), 7));
    pmpp::segmented_reduce<test::tuned<where>(few_rows)>(policy, both, both + n, pmpp::equal_segments(length, rows),
                                                         totals, 4);
    CHECK(where::get(totals) == total);

    const auto backwards = pmpp::reverse_iterator(x.data() + (n + 1));
    std::fill(total.begin(), total.end(), 4);
    for (std::int64_t i = 0; i < n; ++i)
      total[static_cast<std::size_t>(i / length)] += a[static_cast<std::size_t>(n - i)];
    pmpp::segmented_reduce<test::tuned<where>(few_rows)>(policy, backwards, backwards + n,
                                                         pmpp::equal_segments(length, rows), totals, 4);
    CHECK(where::get(totals) == total);
  });
}

TEST_ALL_PLACES("rows: the first of their extremes") {
  const typename where::policy policy{};
  for_rows(9000, [&](std::int64_t length, std::int64_t rows) {
    std::vector<float> v(static_cast<std::size_t>(length * rows + 1));
    for (float& x : v) x = static_cast<float>(test::generator()() % 5);
    v.back() = std::numeric_limits<float>::quiet_NaN();
    std::vector<int> least, most;
    for (std::int64_t s = 0; s < rows; ++s) {
      const auto b = v.begin() + s * length, e = b + length;
      least.push_back(b == e ? -1 : static_cast<int>(std::min_element(b, e) - v.begin()));
      most.push_back(b == e ? -1 : static_cast<int>(std::max_element(b, e) - v.begin()));
    }
    const auto in = where::put(v);
    auto index = where::put(test::copies<int>(least.size(), 7));
    pmpp::segmented_min_element<test::tuned<where>(few_rows)>(policy, in, pmpp::equal_segments(length, rows), index);
    CHECK(where::get(index) == least);
    pmpp::segmented_max_element<test::tuned<where>(few_rows)>(policy, in, pmpp::equal_segments(length, rows), index);
    CHECK(where::get(index) == most);
  });
}

TEST_ALL_PLACES("rows: some of them, and as many as the device knows") {
  const typename where::policy policy{};
  const std::int64_t rows = 700;
  for (const std::int64_t length : {1, 6, 17}) {
    CAPTURE(length);
    const auto v = test::random_values<int>(length * rows);
    const auto in = where::put(v);
    const auto all = pmpp::equal_segments(length, rows);
    auto wanted = sums_of(v, offsets_of_rows(length, rows), 5, pmpp::plus{});

    auto some = where::put(test::copies<int>(500, -1));
    pmpp::segmented_reduce<test::tuned<where>(few_rows)>(policy, in.begin(), in.end(), all.begin() + 100,
                                                         all.begin() + 601, some, 5);
    CHECK(where::get(some) == std::vector<int>(wanted.begin() + 100, wanted.begin() + 600));

    const auto used = where::put(std::vector<std::int64_t>{length * 301, 301, 0});
    std::fill(wanted.begin() + 300, wanted.end(), -1);
    auto sums = where::put(test::copies<int>(wanted.size(), -1));
    pmpp::segmented_reduce<test::tuned<where>(few_rows)>(policy, in.begin(), pmpp::device_count{used.data(), in.size()},
                                                         all.begin(), pmpp::device_count{used.data() + 1, rows + 1},
                                                         sums, 5);
    CHECK(where::get(sums) == wanted);
    pmpp::segmented_reduce<test::tuned<where>(few_rows)>(policy, in.begin(), in.end(), all.begin(),
                                                         pmpp::device_count{used.data() + 2, rows + 1}, sums, 77);
    CHECK(where::get(sums) == wanted);
  }
}

TEST_CASE("sums of rows") {
  const std::int64_t rows = 200, length = 4;
  const pmpp::device_buffer<float> table{std::vector<float>(static_cast<std::size_t>(rows * length), 0.5f)};
  // [rows]
  pmpp::device_buffer<float> sums{rows};  // of table[4 i] ... table[4 i + 3], where rows have 4 elements
  pmpp::segmented_reduce(pmpp::device, table, pmpp::equal_segments(length, rows), sums);

  pmpp::device_buffer<std::int64_t> places{rows};  // of the least element of each row
  pmpp::segmented_min_element(pmpp::device, table, pmpp::equal_segments(length, rows), places);
  // [end]
  CHECK(pmpp::to_host(sums) == test::copies<float>(200, 2));
  CHECK(pmpp::to_host(places)[199] == 199 * length);
}

TEST_CASE("equal segments: offsets, and what is refused") {
  const auto offsets = pmpp::equal_segments(3, 4);
  CHECK(std::vector<std::int64_t>(offsets.begin(), offsets.end()) == std::vector<std::int64_t>{0, 3, 6, 9, 12});
  CHECK(pmpp::equal_segments(5, 0).end() - pmpp::equal_segments(5, 0).begin() == 1);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(pmpp::equal_segments(1, most - 1).begin()[most - 1] == most - 1);
  CHECK_THROWS_WITH_AS(pmpp::equal_segments(-1, 4), "pmpp::equal_segments: length is -1, but must not be negative",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(pmpp::equal_segments(4, -9), "pmpp::equal_segments: count is -9, but must not be negative",
                       std::invalid_argument);
  CHECK_THROWS_AS(pmpp::equal_segments(0, most), std::length_error);
  CHECK_THROWS_AS(pmpp::equal_segments(std::int64_t(1) << 32, std::int64_t(1) << 31), std::length_error);
}

#if !PMPP_CUDA
TEST_CASE("rows: warps in any order") {
  test::for_each_order(4, [&](std::uint64_t) {
    check_rows<few_rows, test::device_place>(random_affines(3001), 1, 6, 500, test::affine{3, 4, 0}, test::compose{});
  });
}
#endif
