// SPDX-License-Identifier: Apache-2.0
//
// The worked numbers and exercises of Programming Massively Parallel Processors (4th edition) and of its courses, each computed
// by the library or counted in the emulator: docs/book_numbers.md tells them, a row a check, in the same order. Where what is
// printed is wrong, the right number stands here and both stand there.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/convolution.hpp>
#include <pmpp/core/co_rank.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/histogram.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/occupancy.hpp>
#include <pmpp/performance.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/simt/counters.hpp>
#include <pmpp/sparse_formats.hpp>
#include <pmpp/spmv.hpp>
#include <pmpp/transpose.hpp>

using doctest::Approx;
using pmpp::grid;
using pmpp::occupancy_limiter;
using pmpp::occupancy_of;
using pmpp::sm_limits;
using pmpp::simt::access_count;
using pmpp::simt::access_counts;
using pmpp::simt::access_kind;

namespace {

/// What a launch does, counted.
template <class Launch>
void counted(access_counts& counts, const Launch& launch) {
  const pmpp::simt::scoped_counting on(counts);
  launch();
}

/// Exercise 1 of chapter 4: two branches and a loop whose length differs from thread to thread.
struct chapter_4_kernel {
  static constexpr int threads = 128;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const int* a, int* b) const {
    const auto first = pmpp::simt::watch(block, a, "line 4");
    const auto second = pmpp::simt::watch(block, a, "line 7");
    const auto third = pmpp::simt::watch(block, a, "line 9");
    const std::int64_t i = block.index() * threads + block.thread();
    if (pmpp::simt::branch(block, block.thread() < 40 || block.thread() >= 104, "at the ends")) b[i] = first[i] + 1;
    if (pmpp::simt::branch(block, i % 2 == 0, "even")) b[i] = second[i] * 2;
    for (std::int64_t j = 0; j < 5 - i % 3; ++j) b[i] += third[i];
  }
};

/// A picture, an element a thread.
struct picture_kernel {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, float* picture, int width, int height) const {
    const auto x = static_cast<int>(block.position().x * 16 + block.thread_position().x);
    const auto y = static_cast<int>(block.position().y * 16 + block.thread_position().y);
    if (pmpp::simt::branch(block, x < width && y < height, "inside")) picture[y * width + x] *= 2;
  }
};

/// How a tiled product loads tiles of N, down a column of them: the sides are no multiples of the tile.
struct load_tiles_of_n {
  static constexpr int side = 16;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* n, float* out, int width) const {
    const auto in = pmpp::simt::watch(block, n, "N");
    const int tx = int(block.thread_position().x), ty = int(block.thread_position().y);
    const int column = int(block.position().x) * side + tx;
    float sum = 0;
    for (int first = 0; first < width; first += side) {
      if (pmpp::simt::branch(block, column < width && first + ty < width, "inside N"))
        sum += in[(first + ty) * width + column];
      block.sync();
    }
    if (column < width && int(block.position().y) * side + ty < width)
      out[(block.position().y * side + ty) * width + column] = sum;
  }
};

/// A product of square matrices by tiles of Side x Side; without tiles, an element a thread, where Side is 0.
template <int Side>
struct small_product {
  struct shared {
    float m[Side + 1][Side + 1], n[Side + 1][Side + 1];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* of_m, const float* of_n, float* p,
                                   int width) const {
    const auto m = pmpp::simt::watch(block, of_m, "M"), n = pmpp::simt::watch(block, of_n, "N");
    const int tx = int(block.thread_position().x), ty = int(block.thread_position().y);
    const int row = int(block.position().y * block.shape().y) + ty,
              col = int(block.position().x * block.shape().x) + tx;
    float sum = 0;
    if constexpr (Side == 0) {
      for (int k = 0; k < width; ++k) sum += m[row * width + k] * n[k * width + col];
    } else {
      for (int first = 0; first < width; first += Side) {
        memory.m[ty][tx] = m[row * width + first + tx];
        memory.n[ty][tx] = n[(first + ty) * width + col];
        block.sync();
        for (int k = 0; k < Side; ++k) sum += memory.m[ty][k] * memory.n[k][tx];
        block.sync();
      }
    }
    p[row * width + col] = sum;
  }
};

/// How often it asks for elements of M and N.
template <int Side>
std::int64_t loads_of_product(int width) {
  const auto elements = static_cast<std::size_t>(width) * static_cast<std::size_t>(width);
  const pmpp::device_buffer<float> m(width * width, 2.0f), n(width * width, 3.0f);
  pmpp::device_buffer<float> p(width * width, 0.0f);
  const unsigned side = Side == 0 ? 4 : Side, tiles = static_cast<unsigned>(width) / side;
  access_counts counts;
  counted(counts, [&] {
    pmpp::launch(pmpp::emulated, grid{{tiles, tiles}, {side, side}}, small_product<Side>{}, m.data(), n.data(),
                 p.data(), width);
  });
  CHECK(pmpp::to_host(p) == std::vector<float>(elements, 6.0f * static_cast<float>(width)));
  return counts.of("M", access_kind::read).lanes + counts.of("N", access_kind::read).lanes;
}

/// Operations and bytes of a convolution with a mask of 2r + 1 columns and rows: of an output tile whose input tile has `side`
/// columns and rows, and without an edge.
double tiled_convolution(int side, int r) {
  const double out = side - 2 * r, mask = 2 * r + 1;
  return out * out * mask * mask * 2 / (double(side) * side * 4);
}

/// Additions of the scans of n elements, n a power of two.
constexpr std::int64_t kogge_stone(std::int64_t n, int log_n) { return n * log_n - (n - 1); }
constexpr std::int64_t brent_kung(std::int64_t n, int log_n) { return 2 * n - 2 - log_n; }

template <class T>
std::vector<T> scanned(const std::vector<T>& x, bool exclusive) {
  std::vector<T> y(x.size());
  if (exclusive)
    pmpp::exclusive_scan(pmpp::host, x, y, T{});
  else
    pmpp::inclusive_scan(pmpp::host, x, y);
  return y;
}

/// Exercise 10 of chapter 5: each block turns a tile in place, by way of shared memory.
template <bool Waits>
struct block_transpose {
  struct shared {
    float tile[20][20];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, float* a, int width, int columns) const {
    const auto t = block.thread_position(), tile = block.position();
    float& element = a[(tile.y * unsigned(width) + t.y) * unsigned(columns) + tile.x * unsigned(width) + t.x];
    memory.tile[t.y][t.x] = element;
    if constexpr (Waits) block.sync();
    element = memory.tile[t.x][t.y];
  }
};
/// Whether three by two tiles of width x width come out turned.
template <bool Waits>
bool turns_tiles(int width) {
  const int columns = 3 * width, rows = 2 * width;
  std::vector<float> before(std::size_t(rows * columns));
  std::iota(before.begin(), before.end(), 1.0f);
  pmpp::device_buffer<float> a{before};
  pmpp::launch(pmpp::emulated, grid{{3, 2}, {width, width}}, block_transpose<Waits>{}, a.data(), width, columns);
  const std::vector<float> after = pmpp::to_host(a);
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) {
      const int from_y = y / width * width + x % width, from_x = x / width * width + y % width;
      if (after[std::size_t(y * columns + x)] != before[std::size_t(from_y * columns + from_x)]) return false;
    }
  return true;
}

}  // namespace

TEST_CASE("chapter 1: speed-ups by Amdahl and Gustafson") {
  constexpr double for_ever = std::numeric_limits<double>::infinity();
  CHECK(pmpp::amdahl(0.30, 100) == Approx(1.42).epsilon(0.005));
  CHECK(pmpp::amdahl(0.30, for_ever) == Approx(1.43).epsilon(0.005));
  CHECK(pmpp::amdahl(0.99, 100) == Approx(50.25).epsilon(0.001));
  CHECK(pmpp::gustafson(0.99, 100) == Approx(99.01));
  static_assert(pmpp::amdahl(0, 100) == 1 && pmpp::gustafson(0, 100) == 1 && pmpp::amdahl(1, 8) == 8);
}

TEST_CASE("chapter 2: grids of whole blocks") {
  static_assert(pmpp::blocks_in_grid(1000, 256) == 4 && pmpp::threads_in_grid(1000, 256) == 1024);
  static_assert(pmpp::threads_in_grid(8000, 1024) == 8192);
  static_assert(pmpp::threads_in_grid(2000, 512) == 2048);
}

TEST_CASE("chapter 3: grids and layouts of two and three dimensions") {
  // 76 x 62 pixels in blocks of 16 x 16.
  std::vector<float> picture(76 * 62, 1.0f);
  access_counts counts;
  counted(counts, [&] {
    pmpp::launch(pmpp::emulated, grid{{5, 4}, {16, 16}}, picture_kernel{}, picture.data(), 76, 62);
  });
  const access_count inside = counts.of("inside", access_kind::branch);
  CHECK(5 * 4 * 256 == 80 * 64);
  CHECK(inside.lanes == 76 * 62);
  CHECK(inside.requests == 160);
  CHECK(inside.divergent == 31);  // of the last column of blocks, whose rows have 12 pixels, those with a row inside
  CHECK(std::all_of(picture.begin(), picture.end(), [](float x) { return x == 2; }));
  // Exercise 3: 150 x 300 elements in blocks of 16 x 32.
  static_assert(pmpp::blocks_in_grid(300, 16) * pmpp::blocks_in_grid(150, 32) == 95);
  static_assert(16 * 32 * 95 == 48640 && 150 * 300 == 45000);
  // Exercises 4 and 5: row 20, column 10 of 500 x 400, by rows and by columns; x = 10, y = 20, z = 5 of 400 x 500 x 300.
  int* const base = nullptr;
  CHECK(&pmpp::matrix_view<int>(base, 500, 400)(20, 10) - base == 8010);
  CHECK(&pmpp::matrix_view<int>(base, 500, 400, 1, 500)(20, 10) - base == 5020);
  CHECK(5 * 500 * 400 + 20 * 400 + 10 == 1008010);
}

TEST_CASE("chapter 4: divergence, exercise 1") {
  const std::vector<int> a(1024, 1);
  std::vector<int> b(1024, 0);
  access_counts counts;
  counted(counts, [&] { pmpp::launch(pmpp::emulated, 8, chapter_4_kernel{}, a.data(), b.data()); });
  const access_count ends = counts.of("at the ends", access_kind::branch),
                     line_4 = counts.of("line 4", access_kind::read);
  CHECK(ends.requests == 32);    // warps: 4 a block
  CHECK(line_4.requests == 24);  // that are active: all but the third of each block
  CHECK(ends.divergent == 16);
  CHECK(line_4.lanes == 8 * (32 + 8 + 24));  // of each block's warps 0, 1 and 3: 100 %, 25 %, 75 %
  const access_count even = counts.of("even", access_kind::branch), line_7 = counts.of("line 7", access_kind::read);
  CHECK(even.divergent == 32);
  CHECK(line_7.requests == 32);
  CHECK(line_7.lanes_per_request() / 32 == 0.5);
  const access_count line_9 = counts.of("line 9", access_kind::read);
  CHECK(line_9.requests == 32 * 5);
  CHECK(line_9.divergent == 32 * 2);  // three iterations without divergence, two with
}

TEST_CASE("chapter 4: threads that wait at a barrier, exercise 4") {
  const double microseconds[] = {2.0, 2.3, 3.0, 2.8, 2.4, 1.9, 2.6, 2.9};
  const double longest = *std::max_element(std::begin(microseconds), std::end(microseconds));
  CHECK(1 - std::accumulate(std::begin(microseconds), std::end(microseconds), 0.0) / (8 * longest) ==
        Approx(0.1708).epsilon(1e-3));
}

TEST_CASE("chapter 4: occupancy") {
  // 1536 threads and 4 blocks: of 128, 256, 512 and 1024 threads a block only 512 fill it (exercise 6).
  constexpr sm_limits four_blocks{.threads = 1536, .blocks = 4, .registers = 65536, .shared_bytes = 64 * 1024};
  for (const int threads : {128, 256, 512, 1024})
    CHECK((occupancy_of({threads}, four_blocks).ratio == 1) == (threads == 512));
  // 2048 threads and 64 blocks: blocks and threads a block that are possible, and the share (exercise 7).
  constexpr sm_limits many_blocks{.threads = 2048, .blocks = 64, .registers = 65536, .shared_bytes = 64 * 1024};
  for (const auto& [blocks, threads, share] :
       {std::tuple{8, 128, .5}, {16, 64, .5}, {32, 32, .5}, {64, 32, 1.}, {32, 64, 1.}}) {
    CHECK(occupancy_of({threads}, many_blocks).blocks >= blocks);
    CHECK(blocks * threads / 2048.0 == share);
  }
  // 2048 threads, 32 blocks, 65,536 registers (exercise 8).
  constexpr sm_limits sm{.threads = 2048, .blocks = 32, .registers = 65536, .shared_bytes = 96 * 1024};
  CHECK(occupancy_of({128, 30}, sm).ratio == 1);
  CHECK(occupancy_of({32, 29}, sm).limiter == occupancy_limiter::block_slots);
  CHECK(occupancy_of({32, 29}, sm).ratio == 0.5);
  CHECK(occupancy_of({256, 34}, sm).limiter == occupancy_limiter::registers);
  CHECK(occupancy_of({256, 34}, sm).threads == 1536);  // registers come in units of 8 a thread: printed 1792, 87.5 %
  constexpr sm_limits by_the_thread{
      .threads = 2048, .blocks = 32, .registers = 65536, .shared_bytes = 96 * 1024, .register_unit = 32};
  CHECK(occupancy_of({256, 34}, by_the_thread).threads == 1792);
  // 40 registers a thread: whole blocks of 256, not 1638 threads.
  CHECK(occupancy_of({256, 40}, sm).threads == 1536);
  // 256 threads, 32 registers, 16 KB of 64: four blocks.
  CHECK(occupancy_of({256, 32, 16 * 1024}, many_blocks).blocks == 4);
  // Volta: blocks of 4 x 4, 8 x 8, 30 x 30.
  constexpr sm_limits volta{.threads = 2048, .blocks = 32, .registers = 65536, .shared_bytes = 96 * 1024};
  CHECK(occupancy_of({16}, volta).threads == 512);
  CHECK(occupancy_of({64}, volta).threads == 2048);
  CHECK(occupancy_of({900}, volta).threads == 1800);
  // 300 cycles of latency, 50 between a warp's instructions.
  static_assert(pmpp::warps_to_hide(300, 50) == 7);
}

TEST_CASE("chapter 4: the block size with most warps") {
  const auto none = [](int) { return 0; };
  static_assert(pmpp::best_block_size(
                    32, [](int) { return 0; }, pmpp::sm_90) == 1024);
  CHECK(pmpp::best_block_size(64, none, pmpp::sm_90) == 1024);
  CHECK(pmpp::best_block_size(32, none, pmpp::sm_89) == 768);  // 1536 threads: two blocks
  CHECK(pmpp::best_block_size(40, none, pmpp::sm_90) == 768);
  CHECK(pmpp::best_block_size(
            0, [](int threads) { return 64 * threads; }, pmpp::sm_86) == 768);
  CHECK(pmpp::best_block_size(256, none, pmpp::sm_90) == 0);
  // By hand: no other size has more.
  for (const int registers : {24, 33, 48, 80, 128})
    for (const auto& sm : {pmpp::sm_70, pmpp::sm_75, pmpp::sm_80, pmpp::sm_86, pmpp::sm_100, pmpp::sm_120}) {
      const auto bytes = [](int threads) { return 12 * threads + 500; };
      const int best = pmpp::best_block_size(registers, bytes, sm);
      const int warps = occupancy_of({best, registers, bytes(best)}, sm).warps;
      for (int threads = 1; threads <= 1024; ++threads)
        CHECK(occupancy_of({threads, registers, bytes(threads)}, sm).warps <= warps);
    }
}

TEST_CASE("chapter 5: intensity and rooflines") {
  const pmpp::roofline a100{19.5e12, 1555e9};
  CHECK(a100.ridge_point() == Approx(12.5).epsilon(0.01));
  CHECK(a100.attainable(0.25, 1) == Approx(389e9).epsilon(0.001));
  CHECK(a100.attainable(4, 1) == Approx(6220e9).epsilon(0.001));
  CHECK(a100.attainable(4, 1) / a100.peak_flops == Approx(0.319).epsilon(0.001));
  CHECK(pmpp::roofline{12e12, 1000e9}.ridge_point() * 4 == 48);   // operations an access of 4 bytes
  CHECK(pmpp::roofline{1500e9, 200e9}.attainable(1, 4) == 50e9);  // one operation an access
  CHECK(pmpp::roofline{1500e9, 200e9}.ridge_point() * 4 == 30);   // that reach the peak
  CHECK(pmpp::roofline{1600e9, 600e9}.attainable(1, 4) / 1600e9 == Approx(0.09375));
  CHECK(pmpp::roofline{200e9, 100e9}.bound(36, 7 * 4) == pmpp::bound_by::memory);  // exercise 9
  CHECK(pmpp::roofline{300e9, 250e9}.bound(36, 7 * 4) == pmpp::bound_by::compute);
}

TEST_CASE("chapter 5: tiles") {
  // Exercise 2: 8 x 8 without tiles, in tiles of 2 x 2 and of 4 x 4.
  CHECK(loads_of_product<0>(8) == 1024);
  CHECK(loads_of_product<2>(8) == 512);
  CHECK(loads_of_product<4>(8) == 256);
  // Exercise 8: each element is asked for N times, N / T with tiles of T.
  CHECK(loads_of_product<0>(8) / (2 * 64) == 8);
  CHECK(loads_of_product<4>(8) / (2 * 64) == 8 / 4);
  // Tiles of 16 and 32: loads and operations of a phase, shared memory, blocks of 16 KB.
  for (const auto& [side, loads, operations, bytes, blocks] :
       {std::tuple{16, 512, 8192, 2048, 8}, {32, 2048, 65536, 8192, 2}}) {
    CHECK(2 * side * side == loads);
    CHECK(side * side * 2 * side == operations);
    CHECK(2 * side * side * 4 == bytes);
    CHECK(occupancy_of({side * side, 0, bytes},
                       sm_limits{.threads = 2048, .blocks = 32, .registers = 65536, .shared_bytes = 16384})
              .blocks_by_shared_memory == blocks);
  }
  // 100 x 100 by tiles of 16 x 16: phases of warps in which some threads load and some do not. Of M test/emulator_counters.cpp has
  // the same count.
  const pmpp::device_buffer<float> n(100 * 100, 1.0f);
  pmpp::device_buffer<float> out(100 * 100, 0.0f);
  access_counts counts;
  counted(counts, [&] {
    pmpp::launch(pmpp::emulated, grid{{7, 7}, {16, 16}}, load_tiles_of_n{}, n.data(), out.data(), 100);
  });
  const access_count inside = counts.of("inside N", access_kind::branch);
  CHECK(inside.requests == 7 * 7 * 8 * 7);
  CHECK(inside.requests == 2744);
  CHECK(inside.divergent == 350);
  CHECK(counts.of("N", access_kind::read).requests == 7 * 7 * (6 * 8 + 2));
  CHECK(to_host(out)[0] == 7);
}

TEST_CASE("chapter 5: exercise 10, a transposition by tiles that lacks a barrier") {
  for (int width = 1; width <= 20; ++width) {
    CHECK(turns_tiles<true>(width));
    CHECK(turns_tiles<false>(width) == (width == 1));
  }
}

TEST_CASE("chapter 5: exercises 11 and 12") {
  // 8 blocks of 128 threads; a float x[4] a thread, a float y_s and a float b_s[128] a block.
  CHECK(8 * 128 == 1024);
  CHECK(static_cast<int>(sizeof(float)) * (1 + 128) == 516);
  CHECK(pmpp::arithmetic_intensity(10, 6 * 4) == Approx(0.42).epsilon(0.01));
  constexpr sm_limits sm{.threads = 2048, .blocks = 32, .registers = 65536, .shared_bytes = 96 * 1024};
  CHECK(occupancy_of({64, 27, 4 * 1024}, sm).ratio == 0.75);  // 24 blocks of 4 KB
  CHECK(occupancy_of({64, 27, 4 * 1024}, sm).limiter == occupancy_limiter::shared_memory);
  CHECK(occupancy_of({256, 31, 8 * 1024}, sm).ratio == 1);
}

TEST_CASE("chapter 6: memory") {
  static_assert(pmpp::memory_channel{64, 2e9}.bandwidth() == 16e9);
  CHECK(pmpp::bank_utilisation(1, 20) == Approx(0.048).epsilon(0.01));
  CHECK(pmpp::bank_utilisation(1, 20) * 16e9 == Approx(0.76e9).epsilon(0.01));
  CHECK(pmpp::bank_utilisation(2, 20) == Approx(2.0 / 21));
  static_assert(pmpp::banks_to_saturate(20) == 21 && pmpp::bank_utilisation(21, 20) == 1 &&
                pmpp::bank_utilisation(20, 20) < 1);
  static_assert(pmpp::banks_to_saturate(2.5) == 4 && pmpp::banks_to_saturate(0) == 1);
  CHECK(pmpp::memory_channel{32, 14e9}.bandwidth() == 56e9);
  CHECK(12 * pmpp::memory_channel{32, 14e9}.bandwidth() == 672e9);
  // Four channels of two banks, bursts of two floats: M[0] and M[1] in bank 0 of channel 0, M[2] in channel 1, M[8] in bank 1.
  constexpr pmpp::interleaving memory{4, 2, 8};
  static_assert(memory.place_of(0) == pmpp::interleaving::place{0, 0, 0});
  static_assert(memory.place_of(4) == memory.place_of(0));
  static_assert(memory.place_of(8) == pmpp::interleaving::place{1, 0, 0});
  static_assert(memory.place_of(32) == pmpp::interleaving::place{0, 1, 0});
  static_assert(memory.place_of(64) == pmpp::interleaving::place{0, 0, 1});
  // The tiles of 2 x 2 of a 4 x 4 matrix: phase 0 of the four blocks reads M in channels 0 and 2, phase 1 in 1 and 3.
  for (const int phase : {0, 1})
    for (const int row : {0, 1, 2, 3}) CHECK(memory.place_of(4 * (row * 4 + 2 * phase)).channel == row % 2 * 2 + phase);
}

TEST_CASE("chapters 7 and 8: operations a byte of convolutions and stencils") {
  CHECK(2.0 / (2 * 4) == 0.25);  // a multiplication and an addition for an element and a tap
  CHECK(tiled_convolution(32, 2) == Approx(9.57).epsilon(0.001));
  CHECK(tiled_convolution(32, 4) == Approx(22.8).epsilon(0.001));
  CHECK(25 * 2 / 4.0 == 12.5);
  CHECK(81 * 2 / 4.0 == 40.5);
  // One dimension, 16 elements in 4 blocks of 4, five taps: equal to the definition at all 16.
  std::vector<float> x(16), mask{3, 4, 5, 4, 3}, y(16);
  std::iota(x.begin(), x.end(), 1.0f);
  pmpp::convolve(pmpp::host, x, mask, y);
  for (int i = 0; i < 16; ++i) {
    float sum = 0;
    for (int k = -2; k <= 2; ++k)
      if (i + k >= 0 && i + k < 16) sum += x[static_cast<std::size_t>(i + k)] * mask[static_cast<std::size_t>(k + 2)];
    CHECK(y[static_cast<std::size_t>(i)] == sum);
  }
  CHECK(y[2] == 57);
  // Seven points: 13 operations for 7 loads; with tiles of T for (T - 2)^3 results of T^3 loads.
  CHECK(13.0 / (7 * 4) == Approx(0.46).epsilon(0.01));
  const auto tiled = [](double t) { return 13.0 / 4 * std::pow(1 - 2 / t, 3); };
  CHECK(tiled(8) == Approx(1.37).epsilon(0.001));
  CHECK(tiled(32) == Approx(2.68).epsilon(0.002));
  CHECK(13.0 / 4 == 3.25);
}

TEST_CASE("chapter 9: the letters of a title") {
  const std::string title = "programming massively parallel processors";
  std::vector<int> bins(7);
  std::vector<unsigned char> letters;
  for (const char c : title)
    if (c != ' ') letters.push_back(static_cast<unsigned char>((c - 'a') / 4));
  pmpp::histogram_even(pmpp::host, letters, bins, 0, 7);
  CHECK(bins == std::vector<int>{5, 5, 6, 10, 10, 1, 1});
}

TEST_CASE("chapter 11: scans") {
  CHECK(scanned<int>({3, 1, 7, 0, 4, 1, 6, 3}, false) == std::vector<int>{3, 4, 11, 11, 15, 16, 22, 25});
  CHECK(scanned<int>({3, 1, 7, 0, 4, 1, 6, 3}, true) == std::vector<int>{0, 3, 4, 11, 11, 15, 16, 22});
  CHECK(scanned<int>({4, 6, 7, 1, 2, 8, 5, 2}, false) == std::vector<int>{4, 10, 17, 18, 20, 28, 33, 35});
  static_assert(kogge_stone(1024, 10) == 9217 && brent_kung(1024, 10) == 2036);
  static_assert(kogge_stone(2048, 11) == 20481 && brent_kung(2048, 11) == 4083);  // exercise: 2048 elements
}

TEST_CASE("chapter 12: co-ranks and a merge") {
  const std::vector<int> a{1, 7, 8, 9, 10}, b{7, 10, 10, 12};
  const auto rank = [&](int k) { return pmpp::co_rank(k, a.data(), 5, b.data(), 4, pmpp::less{}); };
  CHECK(rank(0) == 0);
  CHECK(rank(3) == 2);
  CHECK(rank(6) == 5);
  CHECK(rank(9) == 5);
  std::vector<int> c(9);
  pmpp::merge(pmpp::host, a, b, c);
  CHECK(c == std::vector<int>{1, 7, 7, 8, 9, 10, 10, 10, 12});
}

TEST_CASE("chapter 13: a radix sort by one bit, and by two") {
  std::vector<int> keys{12, 3, 6, 9, 15, 8, 5, 10, 9, 6, 11, 13, 4, 10, 7, 0};
  const auto by = [](std::vector<int> v, int shift, int mask) {
    std::stable_sort(v.begin(), v.end(), [=](int x, int y) { return (x >> shift & mask) < (y >> shift & mask); });
    return v;
  };
  // Where a key goes: in front of it are all zeros before it, and for a one all zeros and the ones before it.
  std::vector<int> ones(16), to(16), moved(16);
  for (std::size_t i = 0; i < 16; ++i) ones[i] = keys[i] & 1;
  const std::vector<int> before = scanned(ones, true);
  const int all = before[15] + ones[15];
  for (std::size_t i = 0; i < 16; ++i) to[i] = ones[i] == 0 ? static_cast<int>(i) - before[i] : 16 - all + before[i];
  for (std::size_t i = 0; i < 16; ++i) moved[static_cast<std::size_t>(to[i])] = keys[i];
  CHECK(moved == std::vector<int>{12, 6, 8, 10, 6, 4, 10, 0, 3, 9, 15, 5, 9, 11, 13, 7});
  CHECK(moved == by(keys, 0, 1));
  const std::vector<int> sorted = by(by(keys, 0, 3), 2, 3);
  CHECK(sorted == by(by(by(by(keys, 0, 1), 1, 1), 2, 1), 3, 1));
  CHECK(std::is_sorted(sorted.begin(), sorted.end()));
}

TEST_CASE("chapter 14: formats of a sparse matrix") {
  const std::vector<float> dense{1, 7, 0, 0, 5, 0, 3, 9, 0, 2, 8, 0, 0, 0, 0, 6};
  const auto csr = pmpp::csr_matrix<float>::from_dense({dense.data(), 4, 4});
  CHECK(csr.offsets() == std::vector<int>{0, 2, 5, 7, 8});
  CHECK(csr.columns() == std::vector<int>{0, 1, 0, 2, 3, 1, 2, 3});
  CHECK(csr.values() == std::vector<float>{1, 7, 5, 3, 9, 2, 8, 6});
  const auto coo = pmpp::to_coo(pmpp::host, csr);
  CHECK(coo.row_of == std::vector<int>{0, 0, 1, 1, 1, 2, 2, 3});
  const auto ell = pmpp::to_ell(pmpp::host, csr);  // column after column: 12 places for 8 elements
  CHECK(ell.width == 3);
  CHECK(ell.values == std::vector<float>{1, 5, 2, 6, 7, 3, 8, 0, 0, 9, 0, 0});
  CHECK(ell.columns == std::vector<int>{0, 0, 1, 3, 1, 2, 2, -1, -1, 3, -1, -1});
  const auto jds = pmpp::to_jds(pmpp::host, csr);  // rows by length: 1, 0, 2, 3
  CHECK(jds.order == std::vector<int>{1, 0, 2, 3});
  CHECK(jds.offsets == std::vector<int>{0, 4, 7, 8});
  CHECK(jds.values == std::vector<float>{5, 1, 2, 6, 3, 7, 8, 9});
  // The slides' matrix.
  const std::vector<float> slides{3, 0, 1, 0, 0, 0, 0, 0, 0, 2, 4, 1, 1, 0, 0, 1};
  const auto small = pmpp::csr_matrix<float>::from_dense({slides.data(), 4, 4});
  CHECK(small.values() == std::vector<float>{3, 1, 2, 4, 1, 1, 1});
  CHECK(small.columns() == std::vector<int>{0, 2, 1, 2, 3, 0, 3});
  CHECK(small.offsets() == std::vector<int>{0, 2, 2, 5, 7});
}

TEST_CASE("slides: a product, and the currents in three loops") {
  const std::vector<int> m{2, 3, 1, 4, 5, 7}, n{1, 8, 5, 4, 2, 7, 9, 6, 3};
  std::vector<int> p(6);
  pmpp::gemm(pmpp::host, 1, pmpp::matrix_view<const int>(m.data(), 2, 3), pmpp::matrix_view<const int>(n.data(), 3, 3),
             0, pmpp::matrix_view<int>(p.data(), 2, 3));
  CHECK(p == std::vector<int>{23, 28, 34, 87, 84, 76});

  const std::vector<double> ohms{76, -25, -50, -25, 56, -1, -50, -1, 106}, current{0.244934, 0.111428, 0.116586};
  const auto circuit = pmpp::csr_matrix<double>::from_dense({ohms.data(), 3, 3});
  std::vector<double> volts(3);
  pmpp::spmv(pmpp::host, 1, circuit, current, 0, volts);
  CHECK(volts[0] == Approx(10).epsilon(1e-4));
  CHECK(std::abs(volts[1]) < 1e-4);
  CHECK(std::abs(volts[2]) < 1e-4);
}
