// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of core/iterator.hpp: transform_iterator and zip_iterator over iterators of std::vector (and of
// thrust::device_vector) hold plain pointers, so that a CUDA compiler has nothing to warn of on seq and host (warnings
// are errors here) and kernels load them as they load pointers; what `device` refuses when it compiles is exactly what is
// known to lie in the host's memory (memory/reachable.hpp); iterators that reverse or transform, whose base() is a
// pointer, are not taken for that pointer.
#include <pmpp/core/iterator.hpp>
#include <pmpp/memory/csr_graph.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>

#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>
#ifdef __CUDACC__
#include <thrust/device_vector.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#endif

#include <doctest/doctest.h>

using pmpp::pair;
using pmpp::transform_iterator;
using pmpp::zip_iterator;
using pmpp::detail::unwrapped;

namespace {

struct twice {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(2 * x);
  }
};
struct first_is_odd {
  PMPP_HOST_DEVICE bool operator()(const pair<int, char>& p) const { return p.first % 2 != 0; }
};

template <class P>
void check_computed(const P& where) {
  std::vector<int> v(1000), out(1000);
  const std::vector<char> letters(1000, 'x');
  std::iota(v.begin(), v.end(), 0);

  const transform_iterator doubled{v.begin(), twice{}};
  static_assert(std::is_same_v<decltype(doubled), const transform_iterator<int*, twice>>);
  CHECK(pmpp::reduce(where, doubled, doubled + 1000) == 999000);
  pmpp::inclusive_scan(where, doubled, doubled + 1000, out);
  CHECK(out.back() == 999000);
  CHECK((*(doubled + 3) == 6 && doubled[4] == 8 && doubled < doubled + 1 && (doubled + 7) - doubled == 7));

  const zip_iterator both{v.begin(), letters.begin()};
  static_assert(std::is_same_v<decltype(both), const zip_iterator<int*, const char*>>);
  std::vector<pair<int, char>> kept(1000);
  CHECK(pmpp::copy_if(where, both, both + 1000, kept, first_is_odd{}) - kept.begin() == 500);
  CHECK((kept[499] == pair<int, char>{999, 'x'}));

  const zip_iterator mixed{v.data(), pmpp::counting_iterator<int>(5)};
  CHECK((mixed[2] == pair<int, int>{2, 7}));
}

}  // namespace

TEST_CASE("iterators over contiguous ones hold plain pointers") {
  check_computed(pmpp::seq);
  check_computed(pmpp::host);
}

TEST_CASE("pairs are in order by the first, then by the second") {
  using pmpp::pair;
  static_assert(pair{1, 5} < pair{2, 0} && pair{1, 2} < pair{1, 3} && !(pair{1, 3} < pair{1, 3}) &&
                !(pair{2, 0} < pair{1, 5}));
  struct unordered {};
  static_assert(std::is_invocable_v<pmpp::less, pair<int, float>, pair<int, float>>);
  static_assert(!std::is_invocable_v<pmpp::less, pair<int, unordered>, pair<int, unordered>>);
  std::vector<pair<int, int>> v{{2, 1}, {1, 7}, {2, 0}, {1, 3}};
  pmpp::sort(pmpp::seq, v);
  CHECK((v == std::vector<pair<int, int>>{{1, 3}, {1, 7}, {2, 0}, {2, 1}}));
}

namespace {

template <class T>
struct pinned_allocator : std::allocator<T> {};

}  // namespace

TEST_CASE("what is known to lie in the host's memory") {
  using pmpp::detail::in_host_memory;
  using numbers = std::vector<int>;
  static_assert(in_host_memory<numbers> && in_host_memory<std::string> && in_host_memory<std::array<int, 3>>);
  static_assert(in_host_memory<numbers::iterator> && in_host_memory<numbers::const_iterator>);
  static_assert(in_host_memory<pmpp::subrange<numbers::iterator, numbers::iterator>>);
  static_assert(in_host_memory<pmpp::csr_matrix<float>> && in_host_memory<pmpp::csr_graph<>>);
  static_assert(!in_host_memory<std::vector<int, pinned_allocator<int>>> && !in_host_memory<std::span<int>>);
  static_assert(!in_host_memory<int*> && !in_host_memory<int[3]> && !in_host_memory<pmpp::subrange<int*, int*>>);
  static_assert(!in_host_memory<pmpp::device_buffer<int>> && !in_host_memory<pmpp::managed_buffer<int>>);
  static_assert(!in_host_memory<pmpp::device_csr_matrix<float>> && !in_host_memory<pmpp::device_csr_graph<>>);
  static_assert(!in_host_memory<pmpp::csr_view<float, int>> && !in_host_memory<zip_iterator<int*, int*>>);
#ifdef __CUDACC__
  static_assert(!in_host_memory<thrust::device_vector<int>> && !in_host_memory<thrust::device_vector<int>::iterator>);
#endif
}

TEST_CASE("iterators with a base() that they do not show as it is") {
  int a[] = {1, 2, 3, 4}, out[4];
  const auto backwards = std::make_reverse_iterator(a + 4);
  static_assert(std::is_same_v<unwrapped<std::reverse_iterator<int*>>, std::reverse_iterator<int*>>);
  pmpp::inclusive_scan(pmpp::seq, backwards, backwards + 4, out);
  CHECK(std::vector<int>(out, out + 4) == std::vector<int>{4, 7, 9, 10});
}

#ifdef __CUDACC__
TEST_CASE("Thrust's iterators") {
  using vector = thrust::device_vector<int>;
  using backwards = thrust::reverse_iterator<thrust::device_ptr<int>>;
  using computed = thrust::transform_iterator<twice, int*>;
  static_assert(std::is_same_v<unwrapped<vector::iterator>, int*>);
  static_assert(std::is_same_v<unwrapped<vector::const_iterator>, const int*>);
  static_assert(std::is_same_v<unwrapped<thrust::device_ptr<int>>, int*>);
  static_assert(std::is_same_v<unwrapped<backwards>, backwards>);
  static_assert(std::is_same_v<unwrapped<computed>, computed>);
  const vector v(1000, 3);
  const transform_iterator doubled{v.begin(), twice{}};
  static_assert(std::is_same_v<decltype(doubled), const transform_iterator<const int*, twice>>);
  CHECK(pmpp::reduce(pmpp::device, doubled, doubled + 1000) == 6000);
}
#endif

TEST_CASE_TEMPLATE("counting iterators of every integer type", T, unsigned, std::uint8_t, std::int8_t, std::uint16_t,
                   int, std::uint64_t, std::int64_t) {
  using counting = pmpp::counting_iterator<T>;
  const counting low(std::numeric_limits<T>::min()), high(std::numeric_limits<T>::max()), two(2), five(5);
  CHECK((two < five && !(five < two) && five > two && two <= five && two != five));
  CHECK((five - two == 3 && two - five == -3));
  if constexpr (sizeof(T) < 8) CHECK((low < high && high - low == (std::int64_t(1) << (8 * sizeof(T))) - 1));
  CHECK(pmpp::reduce(pmpp::seq, two, five) == 9);
  CHECK_THROWS_AS((void)pmpp::reduce(pmpp::seq, five, two), std::invalid_argument);
  CHECK_THROWS_AS((void)pmpp::reduce(pmpp::host, zip_iterator{five, five}, zip_iterator{two, two}, pair<T, T>{},
                                     [](const auto& a, const auto&) { return a; }),
                  std::invalid_argument);
}
