// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of gemm/wgmma.hpp, on a GPU of sm_90a in a program that was compiled for it: products are those of
// the definition, for every tile, layout and type, for sizes around the tiles and with edges in m, n and k; what lies
// around the elements of C stays; beta = 0 does not read C; epilogues see their element's place; batches; graphs; the
// same bits on every run; what the copy unit cannot read is copied first. (That gemm takes this way, and all that is not
// peculiar to it: test/gemm_tensor_cores.cpp.)
#include <pmpp/gemm.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <pmpp/memory/stream.hpp>

#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::device;
using pmpp::detail::gemm_problem;
using pmpp::detail::wgmma_tile;

namespace {

constexpr wgmma_tile large = pmpp::detail::wgmma_tiles[0], middle = pmpp::detail::wgmma_tiles[1],
                     wide = pmpp::detail::wgmma_tiles[2], small = pmpp::detail::wgmma_tiles[3];

bool available() {
  if (pmpp::detail::wgmma_available<pmpp::simt::wgmma_probe>(pmpp::detail::launch_device())) return true;
  MESSAGE("skipped: not a GPU of sm_90a, or not compiled for it (CMAKE_CUDA_ARCHITECTURES=90a)");
  return false;
}

/// A matrix among elements that do not belong to it, `batch` times. Rows, or columns, begin at multiples of 16 bytes.
template <class T>
struct matrix {
  std::int64_t rows, cols, batch, line, step;
  bool column_major;
  std::vector<T> initial;
  pmpp::device_buffer<T> memory;

  matrix(std::int64_t rows_, std::int64_t cols_, bool column_major_ = false, std::int64_t batch_ = 1,
         std::int64_t gap = 0)
      : rows(rows_),
        cols(cols_),
        batch(batch_),
        line(pmpp::round_up(column_major_ ? rows_ : cols_, std::int64_t(8)) + gap),
        step(line * (column_major_ ? cols_ : rows_) + 8),
        column_major(column_major_) {
    for (const float x : test::random_values<float>(step * batch))
      if constexpr (sizeof(T) == 1)
        initial.push_back(static_cast<T>(static_cast<int>(x * 100)));
      else
        initial.push_back(T(x));
    memory = pmpp::device_buffer<T>(initial);
  }
  std::int64_t row_stride() const { return column_major ? 1 : line; }
  std::int64_t col_stride() const { return column_major ? line : 1; }
  std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t b = 0) const {
    return b * step + i * row_stride() + j * col_stride();
  }
  double value(std::int64_t i, std::int64_t j, std::int64_t b) const {
    return static_cast<double>(static_cast<float>(initial[static_cast<std::size_t>(at(i, j, b))]));
  }
};

/// Adds 1000 i + j, so that a place that is wrong shows.
struct add_place {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T value, std::int64_t i, std::int64_t j) const {
    return value + static_cast<T>(i % 8 * 16 + j % 16);
  }
};

template <class T, class TC, class Epilogue = pmpp::no_epilogue>
auto problem(const matrix<T>& a, const matrix<T>& b, matrix<TC>& c, float alpha, float beta, Epilogue f = {}) {
  const auto stride = [](const matrix<T>& x) { return x.batch > 1 ? x.step : 0; };
  return gemm_problem<T, T, TC, std::conditional_t<std::is_same_v<T, double>, double, float>, Epilogue>{
      {a.memory.data(), a.rows, a.row_stride(), a.col_stride(), stride(a)},
      {b.memory.data(), b.cols, b.col_stride(), b.row_stride(), stride(b)},
      {c.memory.data(), c.rows, c.cols, c.row_stride(), c.col_stride(), c.step},
      a.cols,
      c.batch,
      {alpha, beta, f, false}};
}

/// How much of a product is lost: floats keep 11 bits as tf32, and tensor cores cut off what others round.
template <class T>
constexpr double of_product = std::is_same_v<T, float> ? 0x1p-9 : 0;

template <class T, class TC, class Epilogue = pmpp::no_epilogue>
void check_product(const matrix<T>& a, const matrix<T>& b, const matrix<TC>& c, double alpha, double beta,
                   Epilogue f = {}) {
  const auto got = pmpp::to_host(c.memory);
  auto wanted = c.initial;
  int wrong = 0;
  const double half_a_bit = sizeof(TC) == 8              ? 0x1p-52
                            : sizeof(TC) == 4            ? 0x1p-24
                            : std::is_same_v<TC, __half> ? 0x1p-11
                                                         : 0x1p-8;
  for (std::int64_t batch = 0; batch < c.batch; ++batch)
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t j = 0; j < c.cols; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t p = 0; p < a.cols; ++p) {
          const double x = a.value(i, p, a.batch > 1 ? batch : 0) * b.value(p, j, b.batch > 1 ? batch : 0);
          sum += x;
          size += std::abs(x);
        }
        double exact = alpha * sum + (beta == 0 ? 0 : beta * c.value(i, j, batch));
        if constexpr (!std::is_same_v<Epilogue, pmpp::no_epilogue>) exact += double(f(0, i, j));
        const auto place = static_cast<std::size_t>(c.at(i, j, batch));
        using readable = std::conditional_t<sizeof(TC) == 2, float, TC>;
        const double result = static_cast<double>(static_cast<readable>(got[place]));
        const double bound = sizeof(T) == 1 ? 0
                             : sizeof(T) == 8
                                 ? std::abs(alpha) * size * 0x1p-52 * double(a.cols + 4) + half_a_bit * std::abs(exact)
                                 : std::abs(alpha) * size * (of_product<T> + 0x1p-23 * (double(a.cols) / 8 + 4)) +
                                       half_a_bit * std::abs(exact) + 0x1p-20;
        if (!(std::abs(result - exact) <= bound) && wrong++ == 0) {
          CAPTURE(i);
          CAPTURE(j);
          CAPTURE(batch);
          CHECK(result == exact);
        }
        wanted[place] = got[place];
      }
  CHECK(wrong == 0);
  CHECK(std::memcmp(static_cast<const void*>(got.data()), static_cast<const void*>(wanted.data()),
                    got.size() * sizeof(TC)) == 0);
}

struct shape {
  std::int64_t m, n, k;
};

template <wgmma_tile Tile, bool AlongMA, bool AlongNB, class T, class TC, class Epilogue = pmpp::no_epilogue>
void try_tile(const shape& s, float alpha, float beta, bool column_major = false, std::int64_t batch = 1,
              Epilogue f = {}) {
  CAPTURE(s.m);
  CAPTURE(s.n);
  CAPTURE(s.k);
  CAPTURE(Tile.n);
  const matrix<T> a(s.m, s.k, AlongMA, batch), b(s.k, s.n, !AlongNB, batch, 8);
  matrix<TC> c(s.m, s.n, column_major, batch, s.k % 3 * 8);
  REQUIRE(pmpp::detail::gemm_by_wgmma_tile<Tile, AlongMA, AlongNB>(device, problem(a, b, c, alpha, beta, f)));
  check_product(a, b, c, alpha, beta, f);
}

}  // namespace

TEST_CASE("wgmma: every tile, layout and type; sizes around the tiles") {
  if (!available()) return;
  for (const shape& s :
       {shape{128, 256, 64}, {1, 1, 1}, {129, 257, 65}, {300, 72, 520}, {64, 320, 8}, {255, 130, 200}}) {
    try_tile<large, false, true, __nv_bfloat16, float>(s, 1, 0);
    try_tile<large, true, false, __half, __half>(s, 0.5f, 0);
    try_tile<middle, false, false, __half, __half>(s, 1, -0.5f);
    try_tile<wide, false, true, __nv_bfloat16, float>(s, 1, 2);
    try_tile<middle, true, true, __nv_bfloat16, float>(s, 2, 1);
    try_tile<small, false, true, __nv_bfloat16, float>(s, 1, 0);
    try_tile<large, false, false, float, float>(s, 1, 0.5f);
    try_tile<large, true, false, float, float>(s, 1, 0);
    try_tile<middle, true, false, float, float>(s, 1, 0.5f);
    try_tile<middle, true, false, double, double>(s, 1, 0);
    try_tile<middle, false, false, double, double>(s, -2, 1);
    try_tile<middle, true, true, double, double>(s, 1, 0.5f);
    try_tile<middle, true, false, double, float>(s, 1, 0.5f);
    try_tile<wide, true, false, float, float>(s, 1, 0);
    try_tile<wide, false, false, float, float>(s, 2, 1);
  }
}

TEST_CASE("wgmma: more tiles than multiprocessors, long k") {
  if (!available()) return;
  try_tile<small, false, true, __nv_bfloat16, float>({1500, 1100, 40}, 1, 0);
  try_tile<large, false, true, __nv_bfloat16, float>({2500, 2100, 24}, 1, 0);
  try_tile<large, true, false, float, float>({300, 260, 3000}, 1, 0);
  try_tile<middle, true, true, __nv_bfloat16, float>({140, 260, 5000}, 1, 0);
  try_tile<middle, true, false, double, double>({1500, 1700, 60}, 1, 0);
}

TEST_CASE("wgmma: C is read on the way: every tile, both layouts, edges, batches, an epilogue; several tiles a block") {
  if (!available()) return;
  for (const shape& s : {shape{128, 256, 64}, {192, 192, 200}, {8, 8, 8}, {328, 264, 72}, {136, 520, 640}}) {
    try_tile<large, false, true, __nv_bfloat16, __nv_bfloat16>(s, 1, 1);
    try_tile<large, false, false, __half, float>(s, 1, -0.5f, false, 2);
    try_tile<middle, true, true, __half, __half>(s, 0.5f, 2, false, 2, add_place{});
    try_tile<wide, false, true, __nv_bfloat16, __nv_bfloat16>(s, 1, 1, false, 1, add_place{});
    try_tile<small, true, false, __half, __half>(s, 1, 1);
    try_tile<small, false, true, __half, double>(s, 1, 1);
    try_tile<middle, true, false, float, float>(s, 1, 1, true, 2);
    try_tile<large, true, false, float, float>(s, 1, 0.5f, true, 1, add_place{});
    try_tile<middle, false, false, float, float>(s, 1, 1, true);  // a column-major C that lanes read
  }
  try_tile<large, false, true, __nv_bfloat16, __nv_bfloat16>({2504, 2104, 40}, 1, 1);
  try_tile<middle, true, false, float, float>({2504, 1096, 72}, 1, 0.5f, true);
  try_tile<small, false, true, __half, __half>({1504, 1104, 72}, 1, -1);
}

TEST_CASE("wgmma: doubles: the tiles of a last round that would be short are worked out by all multiprocessors") {
  if (!available()) return;
  // 265 and 270 tiles: an H100 has 132 multiprocessors. What is left is a tile, and three rows of two columns of tiles.
  for (const shape& s : {shape{5 * 128 - 3, 53 * 128 - 5, 224}, {3 * 128 - 3, 90 * 128 - 5, 300}}) {
    const matrix<double> a(s.m, s.k), b(s.k, s.n, s.k == 300);
    matrix<double> c(s.m, s.n);
    CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 1, 0.5f)));
    check_product(a, b, c, 1, 0.5f);
  }
}

TEST_CASE("wgmma: copies of operands that lie in two lines of the cache begin at multiples of 128 bytes") {
  if (!available()) return;
  for (const bool along_k : {false, true})
    for (const std::int64_t k : {600, 601, 604}) {
      const matrix<__half> x(along_k ? 5 : k, along_k ? k : 5, !along_k, 2);
      pmpp::detail::gemm_operand<__half> y{x.memory.data(), x.rows, x.row_stride(), x.col_stride(), x.step};
      pmpp::device_buffer<__half> copy(pmpp::detail::repacked_bytes(y, along_k, x.cols, 2) / 2);
      pmpp::detail::repack(device, y, along_k, x.cols, 2, copy.data());
      const auto got = pmpp::to_host(copy);
      int wrong = 0;
      for (std::int64_t batch = 0; batch < 2; ++batch)
        for (std::int64_t i = 0; i < x.rows; ++i)
          for (std::int64_t p = 0; p < x.cols; ++p)
            wrong += static_cast<float>(
                         got[static_cast<std::size_t>(batch * y.batch_stride + i * y.stride + p * y.k_stride)]) !=
                     x.value(i, p, batch);
      CHECK(wrong == 0);
      CHECK((along_k ? y.stride : y.k_stride) * 2 % 128 == 0);
    }
}

TEST_CASE("wgmma: k is split: into any number of slabs, any layout, batches, an epilogue; the same bits again") {
  if (!available()) return;
  const auto try_type = [](auto type, auto result) {
    using T = decltype(type);
    using TC = decltype(result);
    constexpr std::int64_t depth = 128 / sizeof(T);
    for (const std::int64_t batch : {1, 3})
      for (const bool a_major : {false, true})
        for (const bool b_major : {false, true})
          for (const int split_slabs : {1, 2, 7}) {
            if (sizeof(T) == 1 && (a_major || !b_major || batch > 1)) continue;
            if (std::is_same_v<T, float> && !b_major) continue;
            CAPTURE(batch);
            CAPTURE(a_major);
            CAPTURE(b_major);
            CAPTURE(split_slabs);
            const std::int64_t k = 9 * depth + 1;
            const std::int64_t gap = sizeof(T) == 1 ? 8 : 0;  // words of 16 bytes
            const matrix<T> a(130, k, a_major, batch, gap), b(k, 70, b_major, batch, gap);
            matrix<TC> c(130, 70, a_major, batch);
            const pmpp::detail::wgmma_plan plan{1, (10 + split_slabs - 1) / split_slabs, split_slabs};
            const auto x = problem(a, b, c, 2, 1, add_place{});
            CHECK(pmpp::detail::gemm_in_splits(device, x, !a_major, b_major, plan));
            check_product(a, b, c, 2, 1, add_place{});
            const auto first = pmpp::to_host(c.memory);
            c.memory = pmpp::device_buffer<TC>(c.initial);
            CHECK(pmpp::detail::gemm_in_splits(device, problem(a, b, c, 2, 1, add_place{}), !a_major, b_major, plan));
            CHECK(std::memcmp(pmpp::to_host(c.memory).data(), first.data(), first.size() * sizeof(TC)) == 0);
          }
  };
  try_type(__nv_bfloat16{}, float{});
  try_type(__half{}, __half{});
  try_type(float{}, float{});
  try_type(std::int8_t{}, std::int32_t{});
  const matrix<__nv_bfloat16> a(520, 4100), b(4100, 500);  // by itself
  matrix<float> c(520, 500);
  CHECK(pmpp::detail::plan_wgmma(4, 520, 500, 65, 1, 132).splits > 1);
  CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 1, 0)));
  check_product(a, b, c, 1, 0);
  for (const std::int64_t slabs : {1, 2, 63, 64, 65, 1000})
    for (const std::int64_t m : {1, 128, 500, 5000}) {
      const auto plan = pmpp::detail::plan_wgmma(4, m, 300, slabs, 1, 132);
      CAPTURE(slabs);
      CAPTURE(m);
      CHECK(std::int64_t(plan.splits) * plan.split_slabs >= slabs);
      CHECK(std::int64_t(plan.splits - 1) * plan.split_slabs < slabs);  // no split is empty
    }
}

TEST_CASE("wgmma: C in any layout, an epilogue with its place, NaN in C") {
  if (!available()) return;
  for (const bool exchanged : {false, true})
    for (const bool column_major : {false, true}) {
      const matrix<__nv_bfloat16> a(200, 136), b(136, 300);
      matrix<float> c(200, 300, column_major, 1, column_major ? 5 : 0);
      for (auto& x : c.initial) x = std::numeric_limits<float>::quiet_NaN();
      c.memory = pmpp::device_buffer<float>(c.initial);
      const auto x = problem(a, b, c, 1, 0, add_place{});
      CHECK((exchanged ? pmpp::detail::gemm_by_wgmma(device, x.exchanged()) : pmpp::detail::gemm_by_wgmma(device, x)));
      check_product(a, b, c, 1, 0, add_place{});
    }
}

TEST_CASE("wgmma: batches, with a matrix for each product or one for all") {
  if (!available()) return;
  for (const int each : {0, 1, 2}) {
    const matrix<__nv_bfloat16> a(130, 72, false, each == 1 ? 1 : 5), b(72, 70, false, each == 2 ? 1 : 5);
    matrix<float> c(130, 70, false, 5);
    CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 1, 2)));
    check_product(a, b, c, 1, 2);
  }
}

TEST_CASE("wgmma: doubles in any layout, of A, B and C; an epilogue with its place, batches") {
  if (!available()) return;
  for (const bool a_major : {false, true})
    for (const bool b_major : {false, true})
      for (const bool c_major : {false, true})
        for (const int gap : {0, 1}) {
          const float beta = a_major == c_major ? 0.0f : -2.0f;
          CAPTURE(a_major);
          CAPTURE(b_major);
          CAPTURE(c_major);
          CAPTURE(gap);
          CAPTURE(beta);
          const matrix<double> a(1411, 18, a_major, 1, gap), b(18, 1531, b_major, 2, gap);
          matrix<double> c(1411, 1531, c_major, 2, gap);
          if (beta == 0)
            for (auto& x : c.initial) x = std::numeric_limits<double>::quiet_NaN();
          c.memory = pmpp::device_buffer<double>(c.initial);
          const auto x = problem(a, b, c, 1, beta, add_place{});
          CHECK(
              (c_major ? pmpp::detail::gemm_by_wgmma(device, x.exchanged()) : pmpp::detail::gemm_by_wgmma(device, x)));
          check_product(a, b, c, 1, beta, add_place{});
        }
}

TEST_CASE("wgmma: kernels that begin early wait for those before them") {
  if (!available()) return;
  // Each product exchanges the columns of the last one in a circle, and overwrites what that one read.
  constexpr std::int64_t side = 1024, steps = 101;
  matrix<__half> x(side, side), y(side, side), circle(side, side);
  for (std::int64_t i = 0; i < side; ++i)
    for (std::int64_t j = 0; j < side; ++j)
      circle.initial[static_cast<std::size_t>(circle.at(i, j))] = __half(j == (i + 1) % side ? 1.0f : 0.0f);
  circle.memory = pmpp::device_buffer<__half>(circle.initial);
  for (std::int64_t step = 0; step < steps; ++step)
    REQUIRE(pmpp::detail::gemm_by_wgmma(device, problem(step % 2 ? y : x, circle, step % 2 ? x : y, 1, 0)));
  const auto got = pmpp::to_host(y.memory);
  int wrong = 0;
  for (std::int64_t i = 0; i < side; ++i)
    for (std::int64_t j = 0; j < side; ++j)
      wrong += float(got[static_cast<std::size_t>(y.at(i, (j + steps) % side))]) !=
               float(x.initial[static_cast<std::size_t>(x.at(i, j))]);
  CHECK(wrong == 0);
}

TEST_CASE("wgmma: small integers are exact, what exceeds half is infinity, NaN spreads") {
  if (!available()) return;
  matrix<__half> a(130, 200), b(200, 140);
  for (auto& x : a.initial) x = __half(std::round(static_cast<float>(x) * 8));
  for (auto& x : b.initial) x = __half(std::round(static_cast<float>(x) * 8));
  a.initial[static_cast<std::size_t>(a.at(5, 7))] = __half(std::numeric_limits<float>::quiet_NaN());
  a.memory = pmpp::device_buffer<__half>(a.initial);
  b.memory = pmpp::device_buffer<__half>(b.initial);
  matrix<__half> c(130, 140);
  REQUIRE(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 300, 0)));
  const auto got = pmpp::to_host(c.memory);
  int wrong = 0;
  for (std::int64_t i = 0; i < 130; ++i)
    for (std::int64_t j = 0; j < 140; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < 200; ++p) sum += a.value(i, p, 0) * b.value(p, j, 0);
      const auto result = static_cast<float>(got[static_cast<std::size_t>(c.at(i, j))]);
      const auto wanted = static_cast<float>(__half(static_cast<float>(sum * 300)));
      wrong += i == 5 ? !std::isnan(result) : result != wanted;
    }
  CHECK(wrong == 0);
}

TEST_CASE("wgmma: what the copy unit cannot read is copied first") {
  if (!available()) return;
  const auto try_type = [](auto type) {
    using T = decltype(type);
    for (const bool a_major : {false, true})
      for (const bool b_major : {false, true})
        for (const int spoilt : {0, 1, 2, 3}) {
          CAPTURE(a_major);
          CAPTURE(b_major);
          CAPTURE(spoilt);
          const matrix<T> a(301, 100, a_major, 1, spoilt % 2), b(100, 552, b_major, 1, spoilt / 2);
          matrix<float> c(301, 552, false, 1, spoilt);
          CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 1, 0.5f)));
          check_product(a, b, c, 1, 0.5);
        }
  };
  try_type(__nv_bfloat16{});
  try_type(float{});
}

TEST_CASE("wgmma: 8-bit integers are exact; those along m or n are copied first") {
  if (!available()) return;
  const auto try_type = [](auto type, std::int64_t k) {
    using T = decltype(type);
    for (const bool a_major : {false, true})
      for (const bool b_major : {false, true})
        for (const std::int64_t gap : {0, 3}) {
          const matrix<T> a(301, k, a_major, 1, gap), b(k, 550, b_major, 1, 8);
          matrix<std::int32_t> c(301, 550, false, 1, gap);
          CHECK(pmpp::detail::gemm_by_wgmma(device, problem(a, b, c, 3, gap > 0)));
          check_product(a, b, c, 3, gap > 0);
        }
  };
  try_type(std::int8_t{}, 200);
  try_type(std::uint8_t{}, 77);
}

TEST_CASE("wgmma: in a graph, on a stream, the same bits on every run") {
  if (!available()) return;
  const matrix<__nv_bfloat16> a(700, 500), b(500, 600);
  matrix<float> c(700, 600);
  pmpp::stream stream;
  const auto x = problem(a, b, c, 1, 0);
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(pmpp::detail::gemm_by_wgmma(device.on(stream), x));
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(ready, stream) == cudaSuccess);
  stream.synchronize();
  check_product(a, b, c, 1, 0);
  const auto first = pmpp::to_host(c.memory);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(cudaGraphLaunch(ready, stream) == cudaSuccess);
    stream.synchronize();
    CHECK(pmpp::to_host(c.memory) == first);
  }
  CHECK(cudaGraphExecDestroy(ready) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}
