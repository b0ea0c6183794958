// SPDX-License-Identifier: Apache-2.0
//
// Every primitive whose blocks or warps hand data to each other, in the emulator: small inputs in many small tiles, one type
// of elements each, in some orders of blocks and threads, on one core and on two. Results are checked, but what this file is
// for is ThreadSanitizer, to which each CUDA thread is a thread: a fence or a barrier that a kernel lacks is a race. It
// compiles in a tenth of the time of the tests that it takes its cases from. gemm and the convolutions have no fences of their
// own but those of block/sync_grid.hpp.
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include <pmpp/bfs.hpp>
#include <pmpp/histogram.hpp>
#include <pmpp/rearrange.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/spmm.hpp>
#include <pmpp/spmv.hpp>
#include <pmpp/top_k.hpp>
#include <pmpp/transpose.hpp>

#include <doctest/doctest.h>

#include "support/orders.hpp"
#include "support/policies.hpp"

using pmpp::device;
using pmpp::device_buffer;
using pmpp::to_host;

namespace {

template <class F>
void under_some_orders(F f) {
  test::for_each_order(2, [&](std::uint64_t) { f(); });
}

std::vector<unsigned> scattered(std::size_t n, unsigned mask = ~0u) {
  std::vector<unsigned> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<unsigned>(i) * 2654435761u >> 5 & mask;
  return v;
}

struct is_odd {
  bool operator()(unsigned x) const { return x % 2 != 0; }
};

TEST_CASE("select, in place and with the element before") {
  const auto v = scattered(4000);
  std::vector<unsigned> odd, distinct;
  for (const unsigned x : v)
    if (x % 2 != 0) odd.push_back(x);
  const auto few = scattered(4000, 1);
  for (std::size_t i = 0; i < few.size(); ++i)
    if (i == 0 || few[i] != few[i - 1]) distinct.push_back(few[i]);
  constexpr pmpp::select_tuning tiny{.threads = 32, .rows = 1, .blocks = 1};
  under_some_orders([&] {
    device_buffer<unsigned> a(v), b(few);
    const auto end = pmpp::copy_if<tiny>(device, a, a.begin(), is_odd{});
    auto got = to_host(a);
    got.resize(static_cast<std::size_t>(end - a.begin()));
    CHECK(got == odd);
    const auto end_of_distinct = pmpp::unique_copy<tiny>(device, b, b.begin());
    got = to_host(b);
    got.resize(static_cast<std::size_t>(end_of_distinct - b.begin()));
    CHECK(got == distinct);
  });
}

template <class T>
struct several {
  T x[4];
  friend bool operator==(const several&, const several&) = default;
};
struct add_all {
  template <class T>
  several<T> operator()(const several<T>& a, const several<T>& b) const {
    return {a.x[0] + b.x[0], a.x[1] + b.x[1], a.x[2] + b.x[2], a.x[3] + b.x[3]};
  }
};

template <class T, class Op>
void check_scan(const T& one, Op op) {
  const std::vector<T> v(3000, one);
  std::vector<T> sums(v.size());
  std::partial_sum(v.begin(), v.end(), sums.begin(), op);
  under_some_orders([&] {
    device_buffer<T> a(v);
    pmpp::inclusive_scan<pmpp::scan_tuning{.threads = 32, .vectors = 1, .blocks = 1}>(device, a, a, op);
    CHECK(to_host(a) == sums);
  });
}

TEST_CASE("scan: values that share a word of 8 or 16 bytes with their flag, and others") {
  check_scan<int>(3, pmpp::plus{});
  check_scan<long>(5, pmpp::plus{});
  check_scan<several<int>>({{1, 2, 3, 4}}, add_all{});
}

TEST_CASE("reduce") {
  const auto v = scattered(5000, 0xffff);
  const auto sum = std::accumulate(v.begin(), v.end(), 0ull);
  under_some_orders([&] {
    device_buffer<unsigned> a(v);
    CHECK(pmpp::reduce<pmpp::reduce_tuning{.threads = 64, .rows_in_flight = 2, .blocks_per_processor = 4}>(
              device, a, 0ull) == sum);
    device_buffer<several<long>> b(3000, several<long>{{1, 2, 3, 4}});
    CHECK(pmpp::reduce<pmpp::reduce_tuning{.threads = 64, .rows_in_flight = 2, .blocks_per_processor = 4}>(
              device, b, several<long>{}, add_all{})
              .x[3] == 12000);
  });
}

TEST_CASE("segments and runs") {
  const std::vector<int> offsets{0, 3, 3, 2500, 2501, 2600, 5000};
  const device_buffer<int> at(offsets);
  constexpr pmpp::segmented_tuning tiny{.threads = 32,
                                        .bytes = 16,
                                        .stages = 3,
                                        .min_blocks = 32,
                                        .scan_directly = 0,
                                        .short_input = 0,
                                        .short_segments = 0,
                                        .long_average = 0};
  under_some_orders([&] {
    device_buffer<int> v(5000, 1), sums(6, 0), keys(5000, 0), counts(5000, 0);
    std::vector<int> lengths;
    for (std::size_t i = 1; i < offsets.size(); ++i) lengths.push_back(offsets[i] - offsets[i - 1]);
    pmpp::segmented_reduce<pmpp::segmented_tuning{.threads = 32}>(device, v, at, sums);
    CHECK(to_host(sums) == lengths);
    pmpp::segmented_reduce<tiny>(device, v, at, sums);
    CHECK(to_host(sums) == lengths);
    device_buffer<int> positions(5000, 0);
    pmpp::segmented_inclusive_scan(device, v, at, positions);  // of segments that take several chunks
    CHECK(to_host(positions)[4999] == 2400);
    pmpp::segmented_inclusive_scan<tiny>(device, v, at, v);
    CHECK(to_host(v) == to_host(positions));
    std::vector<int> steps(5000);
    for (int i = 0; i < 5000; ++i) steps[static_cast<std::size_t>(i)] = i / 700 * 3;
    const device_buffer<int> k(steps);
    const device_buffer<int> ones(5000, 1);
    CHECK(pmpp::reduce_by_key<tiny>(device, k, ones, keys, counts).second - counts.begin() == 8);
    CHECK(to_host(counts)[6] == 700);
  });
}

TEST_CASE("radix sort: in one launch, and a launch for each digit") {
  const auto v = scattered(1500, 0x0fff0fff);
  auto sorted = v;
  std::sort(sorted.begin(), sorted.end());
  constexpr pmpp::sort_tuning passes{
      .compare_all_limit = 0, .together = {.items = 0}, .radix = {.threads = 64, .items = 4, .short_items = 4}};
  constexpr pmpp::sort_tuning together{
      .compare_all_limit = 200,
      .together = {.threads = 96, .items = 3, .rows = 1},
      .radix = {.threads = 96, .short_items = 3, .long_from = 1 << 20, .min_tiles = 1 << 20}};
  under_some_orders([&] {
    for (const std::size_t n : {180, 500, 1500}) {
      std::vector<unsigned> part(v.begin(), v.begin() + std::ptrdiff_t(n)), wanted = part;
      std::sort(wanted.begin(), wanted.end());
      device_buffer<unsigned> a(part), b(part);
      pmpp::sort<together>(device, a);
      CHECK(to_host(a) == wanted);
      pmpp::sort<passes>(device, b);
      CHECK(to_host(b) == wanted);
    }
  });
}

struct by_low_bits {
  bool operator()(unsigned a, unsigned b) const { return (a & 0xfff) < (b & 0xfff); }
};

TEST_CASE("merge sort, sorted segments and the greatest") {
  const auto v = scattered(3000);
  auto sorted = v, tops = v, halves = v;
  std::stable_sort(sorted.begin(), sorted.end(), by_low_bits{});
  std::stable_sort(halves.begin(), halves.begin() + 2000, by_low_bits{});
  std::stable_sort(halves.begin() + 2000, halves.end(), by_low_bits{});
  std::sort(tops.begin(), tops.end(), std::greater{});
  tops.resize(20);
  const device_buffer<int> at(std::vector<int>{0, 2000, 3000});
  under_some_orders([&] {
    device_buffer<unsigned> a(v), b(v), c(v), d(v), top(20, 0u), places(20, 0u);
    pmpp::sort<pmpp::sort_tuning{.compare_all_limit = 1,
                                 .merge = {.tiles = {.threads = 64, .bytes = 32},
                                           .passes = {.threads = 64, .bytes = 16},
                                           .ranks = {.rank_limit = 0}}}>(device, a, by_low_bits{});
    CHECK(to_host(a) == sorted);
    pmpp::segmented_sort<pmpp::segmented_sort_tuning{
        .ranked = 0, .windows = {.threads = 32, .bytes = 16}, .merges = {.threads = 32}}>(device, b, at, by_low_bits{});
    CHECK(to_host(b) == halves);
    pmpp::segmented_sort<pmpp::segmented_sort_tuning{.ranked = 0,
                                                     .short_limit = 0,
                                                     .windows = {.threads = 32, .bytes = 16},
                                                     .merges = {.threads = 32, .bytes = 16}}>(device, c, at,
                                                                                              by_low_bits{});
    CHECK(to_host(c) == halves);
    pmpp::top_k<pmpp::top_k_tuning{.threads = 32,
                                   .short_threads = 32,
                                   .loads = 2,
                                   .sample_part = 2,
                                   .short_row = 64,
                                   .one_block = 200,
                                   .sorting = {.row = 0}}>(device, d, 20, top, places);
    CHECK(to_host(top) == tops);
  });
}

TEST_CASE("arrays that change places: no block reads what another writes") {
  const auto v = scattered(5000), w = scattered(5000, 0xffff);
  under_some_orders([&] {
    device_buffer<unsigned> a(v), b(w);
    pmpp::swap_ranges(device, a.begin() + 1, a.end() - 3, b.begin() + 2);
    auto x = v, y = w;
    std::swap_ranges(x.begin() + 1, x.end() - 3, y.begin() + 2);
    CHECK(to_host(a) == x);
    CHECK(to_host(b) == y);
  });
}

TEST_CASE("a transpose in place whose rows begin within words: no block reads what another writes") {
  constexpr int n = 150, pitch = 153;
  std::vector<unsigned char> v(n * pitch + 1);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<unsigned char>(i * 2654435761u >> 5);
  auto wanted = v;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) wanted[1 + j * pitch + i] = v[1 + i * pitch + j];
  under_some_orders([&] {
    device_buffer<unsigned char> both(v);
    const pmpp::matrix_view square(both.data() + 1, n, n, pitch);
    constexpr pmpp::transpose_tuning tiny{.threads = 32, .vectors = 1};
    pmpp::transpose<tiny>(device, square, square);
    CHECK(to_host(both) == wanted);
  });
}

TEST_CASE("histogram") {
  const auto v = scattered(6000, 0x3ff);
  std::vector<unsigned> counts(400, 0u);
  for (const unsigned x : v)
    if (x < 400) ++counts[x];
  under_some_orders([&] {
    const device_buffer<unsigned> in(v);
    device_buffer<unsigned> out(400, 0u);
    pmpp::histogram_even<pmpp::histogram_tuning{.threads = 64, .rows = 2}>(device, in, out, 0u, 400u);
    CHECK(to_host(out) == counts);
    pmpp::histogram_even<pmpp::histogram_tuning{
        .threads = 96, .rows = 1, .shared_bytes = 64 + 512, .most_ranges = 0, .cached_bins = 64}>(device, in, out, 0u,
                                                                                                  400u);
    CHECK(to_host(out) == counts);
  });
}

TEST_CASE("sparse products") {
  // Row 0 has 5 nonzeros, row 1 none, row 2 2,000, and row i > 2 i % 4; all are 1.
  const int rows = 300;
  std::vector<int> offsets{0, 5, 5, 2005};
  for (int i = 3; i < rows; ++i) offsets.push_back(offsets.back() + i % 4);
  std::vector<float> wanted, wanted_twice;
  for (int i = 0; i < rows; ++i) {
    wanted.push_back(2.0f * float(offsets[std::size_t(i) + 1] - offsets[std::size_t(i)]));
    for (int k = 0; k < 3; ++k) wanted_twice.push_back(wanted.back());
  }
  const device_buffer<int> at(offsets), columns(std::size_t(offsets.back()), 0);
  const device_buffer<float> values(std::size_t(offsets.back()), 1.0f), x(3, 2.0f);
  const pmpp::csr_view A{rows, 1, at.data(), columns.data(), values.data()};
  under_some_orders([&] {
    device_buffer<float> y(rows, 0.0f), c(3 * rows, 0.0f);
    pmpp::spmv(device, 1.0f, A, x.begin(), 0.0f, y);
    CHECK(to_host(y) == wanted);
    pmpp::spmv<pmpp::spmv_tuning{
        .threads = 64, .items = 1, .min_blocks = 3, .stretches = 3, .serial = 2, .short_tiles = 1}>(device, 1.0f, A,
                                                                                                    x.begin(), 0.0f, y);
    CHECK(to_host(y) == wanted);
    pmpp::spmv<pmpp::spmv_tuning{
        .threads = 64, .items = 1, .min_blocks = 1, .stretches = 3, .serial = 2, .short_tiles = 1}>(device, 1.0f, A,
                                                                                                    x.begin(), 0.0f, y);
    CHECK(to_host(y) == wanted);
    pmpp::spmm<pmpp::spmm_tuning{
        .threads = 64, .items = 1, .min_blocks = 3, .pieces = 5, .vector = 16, .batch = 2, .serial = 3}>(
        device, 1.0f, A, pmpp::matrix_view(x.data(), 1, 3), 0.0f, pmpp::matrix_view(c.data(), rows, 3));
    CHECK(to_host(c) == wanted_twice);
  });
}

TEST_CASE("breadth-first search") {
  // A path of stars: vertex 10 i has its own 9 leaves and the next centre.
  const int n = 200;
  std::vector<std::vector<int>> edges(n);
  const auto join = [&](int u, int v) {
    edges[std::size_t(u)].push_back(v);
    edges[std::size_t(v)].push_back(u);
  };
  std::vector<int> wanted(n);
  for (int u = 0; u < n; ++u) {
    wanted[std::size_t(u)] = u / 10 + (u % 10 != 0);
    if (u % 10 != 0) join(u, u / 10 * 10);
    if (u % 10 == 0 && u > 0) join(u, u - 10);
  }
  std::vector<int> offsets{0}, ends;
  for (const auto& list : edges) {
    ends.insert(ends.end(), list.begin(), list.end());
    offsets.push_back(int(ends.size()));
  }
  const device_buffer<int> at(offsets), to(ends);
  const pmpp::csr_view<void, const int> graph{n, n, at.data(), to.data()};
  under_some_orders([&] {
    device_buffer<int> distance(n, 0);
    pmpp::bfs<pmpp::bfs_tuning{.threads = 64,
                               .min_blocks = 2,
                               .hub = 3,
                               .one_block = 5,
                               .low_latency_edges = 20,
                               .lane_edges = 2,
                               .alpha = 15,
                               .beta = 18}>(device, pmpp::undirected(graph), 0, distance);
    CHECK(to_host(distance) == wanted);
    pmpp::bfs<pmpp::bfs_tuning{.threads = 64,
                               .min_blocks = 3,
                               .hub = 7,
                               .one_block = 40,
                               .low_latency_edges = 10,
                               .lane_edges = 3,
                               .alpha = 1 << 20,
                               .beta = 1}>(device, pmpp::undirected(graph), 0, distance);
    CHECK(to_host(distance) == wanted);
  });
}

}  // namespace
