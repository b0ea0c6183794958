// SPDX-License-Identifier: Apache-2.0
//
// Algebra, stencils and graphs on several GPUs of one process beside one: a plain program, timed by the host's clock around gpus.synchronize(),
// medians.
//
//   gemm    weak scaling: C of 8192 rows a rank, 8192 columns, k = 8192; f32 and bf16: the time of one GPU over that of p
//   spmv    weak scaling: a band of 16 diagonals, 2^22 rows a rank; likewise
//   stencil weak scaling: a star of 25 points, 512 planes of 512 x 512 floats a rank; likewise
//   bfs     the same Kronecker graph of 2^22 vertices and 16 edges each, both ways: the time of p GPUs over that of bfs on one
//
//   bench_distributed_algebra [--quick] [--gpus=P] [--samples=S] [--scale=N]
//
// All GPUs by default; --quick: an eighth of the extents, 2^16 vertices. --scale: a graph of 2^N vertices. Copies between GPUs; bfs also by NCCL, where
// the program was built with it (PMPP_BENCH_HAS_NCCL). By hand:
//   nvcc -std=c++20 -O3 -arch=sm_90a --extended-lambda -I include benchmark/distributed_algebra.cu -o bench_distributed_algebra
// Exit status 1 where a result is wrong.
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <pmpp/bfs.hpp>
#include <pmpp/distributed/bfs.hpp>
#include <pmpp/distributed/elementwise.hpp>
#include <pmpp/distributed/gemm.hpp>
#include <pmpp/distributed/reduce.hpp>
#include <pmpp/distributed/spmv.hpp>
#include <pmpp/distributed/stencil.hpp>
#include <pmpp/memory/csr_graph.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include "support/ranks.hpp"

namespace {

using bench::check;

int samples = 0;  // of the options

template <class G, class F>
double seconds(const G& gpus, F f) {
  return bench::seconds(
      samples, gpus, [] {}, f);
}

void row(const char* what, double one, double all, double target, bool at_least) {
  const double ratio = at_least ? one / all : all / one;
  std::printf("| %s | %.3f | %.3f | %.3f | %s %.2f | %s |\n", what, 1e3 * one, 1e3 * all, ratio,
              at_least ? "at least" : "at most", target,
              (at_least ? ratio >= target : ratio <= target) ? "reached" : "missed");
}

pmpp::devices<> first(int ranks) { return pmpp::devices<>{bench::first_gpus(ranks)}; }

/// Element number i: -3 to 3 with no order to the eye, so that bits change as in real data and sums are exact.
PMPP_HOST_DEVICE int small(std::uint64_t i) {
  i = (i ^ (i >> 31)) * 0x7fb5d329728ea185u;
  i = (i ^ (i >> 27)) * 0x81dadef4bc2dd44du;
  return static_cast<int>((i ^ (i >> 33)) % 7) - 3;
}
template <class T>
struct small_number {
  std::uint64_t start;
  PMPP_HOST_DEVICE T operator()(std::int64_t i) const {
    return static_cast<T>(static_cast<float>(small(start + static_cast<std::uint64_t>(i))));
  }
};
template <class T>
void fill_small(const pmpp::devices<>& gpus, pmpp::distributed_matrix<T>& a) {
  using counting = pmpp::counting_iterator<std::int64_t>;
  gpus.each([&](int i, const pmpp::device_policy& where) {
    const std::int64_t begin = a.row_offset(gpus.rank(i)) * a.cols(), n = a.rows_of(gpus.rank(i)) * a.cols();
    pmpp::transform(where, counting(0), counting(n), a.part(i).data(),
                    small_number<T>{static_cast<std::uint64_t>(begin)});
  });
}

template <class T>
double gemm_time(const pmpp::devices<>& gpus, std::int64_t extent) {
  const std::int64_t m = extent * gpus.size();
  pmpp::distributed_matrix<T> a{gpus, m, extent}, b{gpus, extent, extent}, c{gpus, m, extent};
  fill_small(gpus, a);
  fill_small(gpus, b);
  const double time = seconds(gpus, [&] { pmpp::gemm(gpus, 1, a, b, 0, c); });
  const auto element = [&](std::int64_t i, std::int64_t j) {
    return small(static_cast<std::uint64_t>(i * extent + j));
  };
  gpus.each([&](int i, const pmpp::device_policy&) {
    for (const std::int64_t r : {std::int64_t(0), extent / 3, extent - 1}) {
      const std::int64_t column = (7 * r + 5) % extent;
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < extent; ++k) sum += element(c.row_offset(gpus.rank(i)) + r, k) * element(k, column);
      T found{};
      cudaMemcpy(&found, c.part(i).data() + r * extent + column, sizeof found, cudaMemcpyDefault);
      check(static_cast<float>(found) == static_cast<float>(static_cast<T>(static_cast<float>(sum))), "gemm");
    }
  });
  return time;
}

double spmv_time(const pmpp::devices<>& gpus, std::int64_t rows_each, int band) {
  const std::int64_t n = rows_each * gpus.size();
  std::vector<pmpp::csr_matrix<float>> rows;
  for (int r = 0; r < gpus.size(); ++r) {
    std::vector<int> offsets{0}, columns;
    for (std::int64_t i = r * rows_each; i < (r + 1) * rows_each; ++i) {
      for (std::int64_t j = std::max<std::int64_t>(0, i - band / 2); j < std::min(n, i + band / 2); ++j)
        columns.push_back(static_cast<int>(j));
      offsets.push_back(static_cast<int>(columns.size()));
    }
    std::vector<float> ones(columns.size(), 1);
    rows.emplace_back(rows_each, n, std::move(offsets), std::move(columns), std::move(ones));
  }
  const auto a = pmpp::spread_csr<float>::from_rows(gpus, rows);
  auto x = pmpp::distributed_buffer<float>::with_sizes(gpus, a.col_sizes());
  auto y = pmpp::distributed_buffer<float>::with_sizes(gpus, a.row_sizes());
  pmpp::fill(gpus, x, 1);
  const double time = seconds(gpus, [&] { pmpp::spmv(gpus, 1, a, x, 0, y); });
  const auto values = pmpp::to_host(gpus, y);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto wanted = std::min(n, i + band / 2) - std::max<std::int64_t>(0, i - band / 2);
    if (values[std::size_t(i)] == static_cast<float>(wanted)) continue;
    check(false, "spmv");
    break;
  }
  return time;
}

/// Of a point and its four neighbours each way along each axis; the sum of weights is 1.
struct star {
  template <class N>
  PMPP_HOST_DEVICE float operator()(const N& n) const {
    float sum = n(0, 0, 0);
    for (int r = 1; r <= 4; ++r)
      sum += static_cast<float>(r) * (n(-r, 0, 0) + n(r, 0, 0) + n(0, -r, 0) + n(0, r, 0) + n(0, 0, -r) + n(0, 0, r));
    return sum / 61;
  }
};

double stencil_time(const pmpp::devices<>& gpus, std::int64_t extent) {
  pmpp::slabs<float, 3> in{gpus, {extent * gpus.size(), extent, extent}, 4}, out{gpus, in.extents(), 4};
  pmpp::fill(gpus, in.elements(), 1);
  const double time =
      seconds(gpus, [&] { pmpp::stencil(gpus, in, out, pmpp::radius<4>, star{}, pmpp::border::clamp); });
  check(pmpp::reduce(gpus, out.elements(), 0.0) == double(in.planes() * in.plane_size()), "stencil of ones");
  return time;
}

/// Edge number e of a Kronecker graph, once from each of its ends, as number of the end << 32 | number of the other: each bit of both ends by
/// the probabilities 0.57, 0.19, 0.19 and 0.05; vertices are renamed, so that hubs may be anywhere.
struct kronecker_edge {
  int scale;
  std::uint64_t* ends;
  PMPP_HOST_DEVICE static std::uint64_t random_bits(std::uint64_t i) {
    i += 0x9e3779b97f4a7c15u;
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
    return i ^ (i >> 31);
  }
  PMPP_HOST_DEVICE std::uint64_t name(std::uint64_t v) const {
    for (int k = 0; k < 3; ++k) v = ((v ^ v >> scale / 2) * 0x9e3779b1 + 12345) & ((std::uint64_t(1) << scale) - 1);
    return v;
  }
  PMPP_HOST_DEVICE void operator()(std::int64_t e) const {
    std::uint64_t from = 0, to = 0;
    for (int bit = 0; bit < scale; ++bit) {
      const auto roll = static_cast<int>((random_bits(std::uint64_t(e * scale + bit)) >> 32) % 100);
      from = 2 * from + (roll >= 76);
      to = 2 * to + ((roll >= 57 && roll < 76) || roll >= 95);
    }
    from = name(from), to = name(to);
    ends[2 * e] = from << 32 | to;
    ends[2 * e + 1] = to << 32 | from;
  }
};
/// Where the edges of vertices begin, of sorted ones.
struct first_edges {
  const std::uint64_t* ends;
  std::int64_t count, vertices;
  int* offsets;
  PMPP_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t last = i == 0 ? -1 : static_cast<std::int64_t>(ends[i - 1] >> 32);
    const std::int64_t here = i == count ? vertices : static_cast<std::int64_t>(ends[i] >> 32);
    for (std::int64_t v = last + 1; v <= here; ++v) offsets[v] = static_cast<int>(i);
  }
};
struct low_word {
  PMPP_HOST_DEVICE int operator()(std::uint64_t x) const { return static_cast<int>(x & 0xffffffff); }
};

/// With 16 edges a vertex. Made by the current GPU: a host takes minutes for 2^29 edges.
pmpp::csr_graph<> kronecker(int scale) {
  using counting = pmpp::counting_iterator<std::int64_t>;
  const std::int64_t vertices = std::int64_t(1) << scale, count = 32 * vertices;
  pmpp::device_buffer<std::uint64_t> ends(count);
  pmpp::for_each(pmpp::device, counting(0), counting(count / 2), kronecker_edge{scale, ends.data()});
  pmpp::sort(pmpp::device, ends);
  pmpp::device_buffer<int> offsets(vertices + 1), columns(count);
  pmpp::for_each(pmpp::device, counting(0), counting(count + 1),
                 first_edges{ends.data(), count, vertices, offsets.data()});
  pmpp::transform(pmpp::device, ends, columns, low_word{});
  return {pmpp::to_host(offsets), pmpp::to_host(columns)};
}

void compare_bfs(const pmpp::devices<>& all, int scale) {
  const auto graph = kronecker(scale);
  int source = 0;
  for (int v = 0; v < graph.vertices(); ++v)
    if (graph.offsets()[std::size_t(v) + 1] - graph.offsets()[std::size_t(v)] > 16) source = v;
  const auto alone = first(1);
  std::vector<int> distances;
  double one = 0;
  {
    const pmpp::device_csr_graph<> copy(graph);
    pmpp::device_buffer<int> distance(graph.vertices());
    alone.each([&](int, const pmpp::device_policy& where) {
      one = seconds(alone, [&] { pmpp::bfs(where, pmpp::undirected(copy), source, distance); });
    });
    distances = pmpp::to_host(distance);
  }
  const auto on = [&](const auto& gpus, const std::string& name) {
    const pmpp::spread_graph<> spread{gpus, pmpp::undirected(graph)};
    auto distance = pmpp::distributed_buffer<int>::with_sizes(gpus, spread.sizes());
    pmpp::spread_bfs_result result;
    const double several = seconds(gpus, [&] { result = pmpp::bfs(gpus, spread, source, distance); });
    check(pmpp::to_host(gpus, distance) == distances, "bfs");
    const std::string what = name + ", 2^" + std::to_string(scale) + " vertices, " + std::to_string(result.levels) +
                             " levels, " + std::to_string(result.levels_pulled) + " pulled";
    row(what.c_str(), one, several, 0.65, false);
  };
  on(all, "bfs");
#ifdef PMPP_BENCH_HAS_NCCL
  on(bench::by_messages(all.size()), "bfs, NCCL, by messages alone");
#endif
}

}  // namespace

int main(int count, char** arguments) {
  bench::rank_options options{"--scale", 22, 16, 5, 25};
  options.read(count, arguments);
  samples = options.samples;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int p = options.gpus, scale = static_cast<int>(options.value);
  const std::int64_t part = options.quick ? 8 : 1, extent = 8192 / part, rows = (1 << 22) / part;
  const auto one = first(1), all = first(p);
  std::printf("| | one GPU, ms | %d GPUs, ms | ratio | target | |\n| --- | --- | --- | --- | --- | --- |\n", p);
  row("gemm f32, weak", gemm_time<float>(one, extent), gemm_time<float>(all, extent), 0.97, true);
  row("gemm bf16, weak", gemm_time<__nv_bfloat16>(one, extent), gemm_time<__nv_bfloat16>(all, extent), 0.90, true);
  row("spmv f32, a band of 16, weak", spmv_time(one, rows, 16), spmv_time(all, rows, 16), 0.90, true);
  row("stencil of 25 points, f32, weak", stencil_time(one, extent / 16), stencil_time(all, extent / 16), 0.95, true);
  compare_bfs(all, scale);
  return bench::all_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
