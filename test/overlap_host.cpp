// SPDX-License-Identifier: Apache-2.0
//
// An output that overlaps an input whose length is known, where the contract does not allow that, is a
// std::invalid_argument that names it, before anything is written: merge, merge_by_key, sort_by_key, argsort,
// segmented_sort, segmented_sort_by_key, reductions and scans of segments and of runs, top_k, histograms. It is found
// before policies differ, so that seq stands for all. Neighbours, and inputs that overlap each other, are fine.
#include <pmpp/histogram.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/top_k.hpp>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using pmpp::seq;

namespace {

/// 0 ... 999; what is refused leaves it so.
struct memory {
  std::vector<int> all = std::vector<int>(1000);
  int* p = all.data();
  memory() { std::iota(all.begin(), all.end(), 0); }
  ~memory() {
    std::vector<int> same(1000);
    std::iota(same.begin(), same.end(), 0);
    CHECK(all == same);
  }
};

#define REFUSED(...) CHECK_THROWS_AS((void)(__VA_ARGS__), std::invalid_argument)

}  // namespace

TEST_CASE("merge") {
  const memory m;
  int* const p = m.p;
  std::vector<int> other(100);
  int* const q = other.data();
  for (const int at : {81, 100, 109, 110, 119}) REFUSED(merge(seq, p + 100, p + 110, p + 110, p + 120, p + at));
  CHECK_THROWS_WITH((void)merge(seq, p + 100, p + 110, q, q + 10, p + 102),
                    "pmpp::merge: out overlaps an input: 20 elements, which begin 8 bytes after the first of 10");
  REFUSED(merge_by_key(seq, p, p + 10, p + 20, p + 40, p + 50, p + 60, p + 9, q));
  REFUSED(merge_by_key(seq, p, p + 10, p + 20, p + 40, p + 50, p + 60, q, p + 29));
  REFUSED(merge_by_key(seq, p, p + 10, p + 20, p + 40, p + 50, p + 60, p + 31, q));
  REFUSED(merge_by_key(seq, p, p + 10, p + 20, p + 40, p + 50, p + 60, q, p + 69));
  merge(seq, p, p + 10, p, p + 10, q);  // inputs that are the same
  CHECK(other[19] == 9);
  merge(seq, q, q + 10, p, p + 10, q + 10);  // next to each other
  CHECK(other[29] == 9);
  merge(seq, p, p, p, p, p);
}

TEST_CASE("sort_by_key, argsort, segmented_sort") {
  const memory m;
  int* const p = m.p;
  REFUSED(sort_by_key(seq, p, p + 10, p));
  REFUSED(sort_by_key(seq, p + 10, p + 20, p + 1));
  CHECK_THROWS_WITH(
      sort_by_key(seq, p + 10, p + 20, p + 19),
      "pmpp::sort_by_key: values overlaps an input: 10 elements, which begin 36 bytes after the first of 10");
  REFUSED(argsort(seq, p + 10, p + 20, p + 10));
  REFUSED(argsort(seq, p + 10, p + 20, p + 1));
  REFUSED(segmented_sort(seq, p, p + 10, p + 9, p + 11));
  REFUSED(segmented_sort_by_key(seq, p, p + 10, p + 9, std::vector<int>{0, 5}));
  REFUSED(segmented_sort_by_key(seq, p, p + 10, p + 20, std::span<int>(p + 29, 2)));
  REFUSED(segmented_sort_by_key(seq, p, p + 10, p + 20, std::span<int>(p + 9, 2)));
  sort_by_key(seq, p, p + 10, p + 10);
}

TEST_CASE("segments and runs") {
  const memory m;
  int* const p = m.p;
  std::vector<int> other(100), count(1);
  int* const q = other.data();
  const std::vector<int> at = {0, 4, 10};
  REFUSED(segmented_reduce(seq, p, p + 10, at, p + 9));
  REFUSED(segmented_reduce(seq, p, p + 10, at, p));
  REFUSED(segmented_reduce(seq, q, q + 10, p, p + 3, p + 2));
  REFUSED(segmented_inclusive_scan(seq, p, p + 10, at, p + 1));
  REFUSED(segmented_inclusive_scan(seq, p + 9, p + 19, at, p));
  REFUSED(segmented_inclusive_scan(seq, q, q + 10, p, p + 3, p + 2));
  REFUSED(reduce_by_key(seq, p, p + 10, p + 20, p + 9, q));
  REFUSED(reduce_by_key(seq, p, p + 10, p + 20, q, p + 20));
  REFUSED(reduce_by_key_into(seq, p, p + 10, p + 20, p, q, count));
  REFUSED(run_length_encode(seq, p, p + 10, q, p + 5));
  REFUSED(run_length_encode_into(seq, p, p + 10, p, q, count));
  segmented_inclusive_scan(seq, q, q + 10, at, q);  // in place
  // How many runs there are is not known: the first of them lies in front of the input.
  std::vector<int> keys = {0, 0, 7, 7, 7};
  CHECK(run_length_encode(seq, keys.data() + 2, keys.data() + 5, keys.data() + 1, q).first == keys.data() + 2);
  CHECK(keys[1] == 7);
}

TEST_CASE("top_k, histograms") {
  memory m;
  int* const p = m.p;
  std::vector<int> other(100);
  int* const q = other.data();
  REFUSED(top_k(seq, p, p + 10, 3, p + 9, q));
  REFUSED(top_k(seq, p + 10, p + 20, 3, q, p + 8));
  REFUSED(segmented_top_k(seq, p, p + 10, std::vector<int>{0, 5, 10}, 3, q, p + 9));
  REFUSED(segmented_top_k(seq, q, q + 10, std::span<int>(p, 3), 3, q + 50, p + 2));
  const std::span<int> counts(p + 9, 4);
  REFUSED(histogram_even(seq, p, p + 10, counts, 0, 8));
  REFUSED(histogram_range(seq, p, p + 10, counts, std::vector<int>{0, 1, 2, 3, 4}));
  REFUSED(histogram(seq, p, p + 10, counts, pmpp::identity{}));
  for (const int at : {-3, 0, 4}) REFUSED(histogram_range(seq, q, q + 10, std::span<int>(p + 10 + at, 4), p + 10));
  REFUSED(histogram_range(seq, q, pmpp::device_count{q, 10}, std::span<int>(p + 14, 4), p + 10));
  REFUSED(histogram_range(seq, q, q + 10, std::span<int>(q + 50, 4), p + 10,
                          {.rejected = reinterpret_cast<std::uint64_t*>(p + 14)}));
  CHECK_THROWS_WITH(
      histogram_range(seq, q, q + 10, std::span<int>(p + 14, 4), p + 10),
      "pmpp::histogram_range: counts overlaps an input: 4 elements, which begin 16 bytes after the first of 5");
  REFUSED(histogram_even(seq, p, p + 10, std::span<int>(q, 4), 0, 8,
                         {.rejected = reinterpret_cast<std::uint64_t*>(p + 8)}));
  for (const int at : {-4, 5}) histogram_range(seq, p, p + 10, std::span<int>(q + 50 + at, 4), q + 50);  // neighbours
  top_k(seq, p, p + 10, 3, q, q + 3);
  CHECK(other[0] == 9);
}
