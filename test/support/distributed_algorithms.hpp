// SPDX-License-Identifier: Apache-2.0
//
// The algorithms of distributed/ with whatever ranks there are: processes of MPI, GPUs of this machine, GPUs that NCCL connects. Each is
// compared with a loop over the whole, which every process makes from the same numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include <pmpp/distributed/by_key.hpp>
#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/exchange.hpp>
#include <pmpp/distributed/find.hpp>
#include <pmpp/distributed/histogram.hpp>
#include <pmpp/distributed/merge.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/scan.hpp>
#include <pmpp/distributed/select.hpp>
#include <pmpp/distributed/sort.hpp>
#include <pmpp/distributed/top_k.hpp>

namespace test {

struct even_number {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 2 == 0; }
};

/// \param expect  takes whether a result is right, and what of
template <class G, class Expect>
void check_algorithms(const G& gpus, const std::vector<int>& sizes, Expect expect) {
  std::mt19937 random(7);  // every process makes the same numbers
  for (const int n : sizes)
    for (const int below : {1, 3, 1 << 20}) {
      std::vector<int> v(static_cast<std::size_t>(n));
      for (int& x : v) x = static_cast<int>(random() % unsigned(below));
      pmpp::distributed_buffer<int> x{gpus, v}, y{gpus, n};
      const auto is = [&](const auto& buffer, const auto& expected, const char* what) {
        expect(pmpp::to_host(gpus, buffer) == expected, what);
      };
      is(x, v, "to_host");
      expect(pmpp::reduce(gpus, x, std::int64_t(3)) == std::accumulate(v.begin(), v.end(), std::int64_t(3)), "reduce");
      expect(pmpp::count_if(gpus, x, even_number{}) == std::count_if(v.begin(), v.end(), even_number{}), "count_if");
      expect(pmpp::find_if(gpus, x, even_number{}) == std::find_if(v.begin(), v.end(), even_number{}) - v.begin(),
             "find_if");
      std::vector<std::int64_t> counts(4), expected_counts(4);
      for (const int e : v)
        if (e < 4) ++expected_counts[std::size_t(e)];
      pmpp::histogram_even(gpus, x, counts, 0, 4);
      expect(counts == expected_counts, "histogram_even");
      auto expected = v;
      std::inclusive_scan(v.begin(), v.end(), expected.begin(), pmpp::bit_xor{});
      pmpp::inclusive_scan(gpus, x, y, pmpp::bit_xor{});
      is(y, expected, "inclusive_scan");
      expected.clear();
      std::copy_if(v.begin(), v.end(), std::back_inserter(expected), even_number{});
      is(pmpp::copy_if(gpus, x, even_number{}), expected, "copy_if");

      pmpp::iota(gpus, y, 0);
      pmpp::sort_by_key(gpus, x, y);
      std::vector<int> places(v.size());
      std::iota(places.begin(), places.end(), 0);
      std::stable_sort(places.begin(), places.end(),
                       [&](int a, int b) { return v[std::size_t(a)] < v[std::size_t(b)]; });
      std::sort(v.begin(), v.end());
      is(x, v, "sort_by_key, keys");
      is(y, places, "sort_by_key, values");
      expect(pmpp::is_sorted(gpus, x), "is_sorted");
      expected.clear();
      std::merge(v.begin(), v.end(), v.begin(), v.end(), std::back_inserter(expected));
      is(pmpp::merge(gpus, x, x), expected, "merge");
    }
}

/// Those whose kernels would be too many for a test of communicators on GPUs. As check_algorithms.
template <class G, class Expect>
void check_more_algorithms(const G& gpus, const std::vector<int>& sizes, Expect expect) {
  std::mt19937 random(8);
  for (const int n : sizes)
    for (const int below : {1, 3, 1 << 20}) {
      std::vector<int> v(static_cast<std::size_t>(n)), expected, places(v.size());
      for (int& x : v) x = static_cast<int>(random() % unsigned(below));
      pmpp::distributed_buffer<int> x{gpus, v};
      std::iota(places.begin(), places.end(), 0);
      std::stable_sort(places.begin(), places.end(),
                       [&](int a, int b) { return v[std::size_t(a)] < v[std::size_t(b)]; });
      expect(pmpp::min_element(gpus, x) == std::min_element(v.begin(), v.end()) - v.begin(), "min_element");
      std::vector<std::int64_t> counts(1);
      pmpp::histogram_range(gpus, x, counts, std::vector<int>{0, 1});
      expect(counts[0] == std::count(v.begin(), v.end(), 0), "histogram_range");
      std::vector<int> best(std::min<std::size_t>(v.size(), 20));
      std::vector<std::int64_t> indices(best.size());
      pmpp::top_k(gpus, x, std::int64_t(best.size()), best, indices, pmpp::less{});
      expect(std::equal(indices.begin(), indices.end(), places.begin()), "top_k");

      pmpp::sort(gpus, x, pmpp::greater{});
      std::sort(v.begin(), v.end(), std::greater<>{});
      expect(pmpp::to_host(gpus, x) == v, "sort, descending");
      expect(pmpp::is_sorted(gpus, x) == std::is_sorted(v.begin(), v.end()), "is_sorted of what descends");
      std::unique_copy(v.begin(), v.end(), std::back_inserter(expected));
      expect(pmpp::to_host(gpus, pmpp::unique_copy(gpus, x)) == expected, "unique_copy");
      const auto [keys, sums] = pmpp::reduce_by_key(gpus, x, x);
      expect(pmpp::to_host(gpus, keys) == expected, "reduce_by_key, keys");
      std::int64_t sum = 0;
      for (const auto s : pmpp::to_host(gpus, sums)) sum += std::int64_t(s);
      expect(sum == std::accumulate(v.begin(), v.end(), std::int64_t(0)), "reduce_by_key, sums");
    }
}

}  // namespace test
