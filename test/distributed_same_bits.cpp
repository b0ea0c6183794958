// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gpus.same_bits(): reduce and transform_reduce give the bits of one device, and scans those of the grouping
// that scan_chunks.hpp writes down, on 1, 2, 3, 5, 7 and 8 ranks and however elements lie on them: blocks of part of a chunk, chunks that
// lie on many ranks, levels of totals; in place too.
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/scan.hpp>

#include "support/distributed.hpp"

namespace {

struct half {
  PMPP_HOST_DEVICE float operator()(float x) const { return 0.5f * x; }
};

/// Numbers of very different sizes, so that another grouping is seen.
template <class T>
std::vector<T> numbers(std::int64_t n, std::mt19937_64& random) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) x = std::ldexp(static_cast<T>(static_cast<std::int64_t>(random() % 2001) - 1000), int(random() % 20));
  return v;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]))) return false;
  return true;
}

/// Lane `lane` of a row after `steps` of Kogge and Stone's.
float row_scan(const float* row, int lane, int steps) {
  if (steps == 0) return row[lane];
  const int d = 1 << (steps - 1);
  const float here = row_scan(row, lane, steps - 1);
  return lane < d ? here : row_scan(row, lane - d, steps - 1) + here;
}
/// As scan_chunks.hpp says it, once more.
std::vector<float> by_the_book(const std::vector<float>& v, bool has_init, float init, bool exclusive = false) {
  const std::size_t n = v.size(), chunk = 1024, row = 32;
  std::vector<float> local(n), totals, result;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = i / row * row;
    local[i] = row_scan(&v[first], int(i - first), 5);
    if (first % chunk != 0) local[i] = local[first - 1] + local[i];
    if (i % chunk == chunk - 1 || i == n - 1) totals.push_back(local[i]);
  }
  if (totals.size() > 1) totals = by_the_book(totals, has_init, init);
  for (std::size_t i = 0; i < n; ++i) {
    const bool present = i >= chunk || has_init;  // something in front of the chunk
    const float before = i >= chunk ? totals[i / chunk - 1] : init;
    if (exclusive)
      result.push_back(i % chunk == 0 ? before : before + local[i - 1]);
    else
      result.push_back(present ? before + local[i] : local[i]);
  }
  return result;
}

}  // namespace

TEST_CASE("reduce: the bits of one device") {
  constexpr std::int64_t sizes[] = {0, 1, 7, 1023, 2048, 5000, 30011};
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    const auto v = numbers<float>(n, random);
    const float expected = pmpp::reduce(pmpp::seq, v, 3.0f, pmpp::same_bits{pmpp::plus{}});
    CHECK(pmpp::reduce(gpus.same_bits(), test::put(gpus, v, how, random), 3.0f) == expected);
  });
}

TEST_CASE("transform_reduce: the bits of one device") {
  constexpr std::int64_t sizes[] = {0, 1, 2000, 2049, 9001};
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    const auto v = numbers<float>(n, random), w = numbers<float>(n, random);
    const auto x = test::put(gpus, v, how, random), y = test::put_like(gpus, x, w);
    const pmpp::same_bits<> sum;
    const pmpp::multiplies times;
    CHECK(pmpp::transform_reduce(gpus.same_bits(), x, y, 0.5f, pmpp::plus{}, times) ==
          pmpp::transform_reduce(pmpp::seq, v, w, 0.5f, sum, times));
    CHECK(pmpp::transform_reduce(gpus.same_bits(), x, 0.5f, pmpp::plus{}, half{}) ==
          pmpp::transform_reduce(pmpp::seq, v, 0.5f, sum, half{}));
  });
}

TEST_CASE("scans: the bits of the grouping that is written down") {
  constexpr std::int64_t sizes[] = {0, 1, 33, 1024, 3000, 20011};
  test::everywhere(sizes, [](const auto& gpus, std::int64_t n, test::layout how, auto& random) {
    const auto v = numbers<float>(n, random);
    auto x = test::put(gpus, v, how, random);
    auto y = test::put_like(gpus, x, v);
    pmpp::inclusive_scan(gpus.same_bits(), x, y);
    CHECK(same(pmpp::to_host(gpus, y), by_the_book(v, false, 0)));
    pmpp::exclusive_scan(gpus.same_bits(), x, x, 0.3f);
    CHECK(same(pmpp::to_host(gpus, x), by_the_book(v, true, 0.3f, true)));
  });
}

TEST_CASE("same bits: bad input") {
  const auto gpus = test::ranks(2), others = test::ranks(2);
  pmpp::distributed_buffer<float> x{gpus, 3}, longer{gpus, 4}, elsewhere{others, 3};
  CHECK_THROWS_WITH_AS(static_cast<void>(pmpp::reduce(gpus.same_bits(), elsewhere, 0.0f)),
                       "pmpp::reduce: x lies on other devices than those of the call", std::invalid_argument);
  CHECK_THROWS_AS(pmpp::inclusive_scan(gpus.same_bits(), x, longer), std::length_error);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(pmpp::transform_reduce(gpus.same_bits(), x, longer, 0.0f, pmpp::plus{}, pmpp::multiplies{})),
      "pmpp::transform_reduce: on rank 1 the first input has 1 elements, y has 2", std::length_error);
}

TEST_CASE("scans: levels of totals, in place") {
  std::mt19937_64 random(test::seed());
  const auto v = numbers<float>(test::up_to((1 << 20) + 5000), random);
#if PMPP_CUDA
  const auto gpus = test::ranks(2);
#else
  const std::vector<int> ranks(3);  // cores: the emulator would take half a minute
  const pmpp::devices gpus{pmpp::host, pmpp::emulated_communicator::all(ranks), ranks};
#endif
  auto x = test::put(gpus, v, test::layout::random, random);
  pmpp::inclusive_scan(gpus.same_bits(), x, x);
  CHECK(same(pmpp::to_host(gpus, x), by_the_book(v, false, 0)));
}
