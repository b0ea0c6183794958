// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of simt/counters.hpp: the numbers that Programming Massively Parallel Processors derives by hand
// come out of kernels that run. Coalescing: 4 sectors for 32 adjacent floats, 32 for a column. Banks: a column of a 32 x 32
// tile is a 32-way conflict, a padded one none; broadcasts and vectors have no conflicts. Divergence: one warp of 32
// for 1,000 elements; 350 warps and phases for tiles of 16 x 16 on 100 x 100. The same in any order of threads and blocks,
// on any number of OS threads. Nothing is counted outside a scoped_counting, and results do not change within.
#include <pmpp/simt/counters.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/launch.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include "support/orders.hpp"

using pmpp::grid;
using pmpp::simt::access_count;
using pmpp::simt::access_counts;
using pmpp::simt::access_kind;
using pmpp::simt::scoped_counting;

namespace {

struct copy_strided {
  static constexpr int threads = 256;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* in, float* out, std::int64_t n,
                                   std::int64_t stride) const {
    const auto x = pmpp::simt::watch(block, in, "in");
    const auto y = pmpp::simt::watch(block, out, "out");
    const std::int64_t i = block.index() * threads + block.thread();
    if (pmpp::simt::branch(block, i < n, "i < n")) y[i] = x[i * stride] + 1;
  }
};

/// A warp writes a tile by rows and reads it by columns.
template <class T, int Rows, int Columns>
struct turn_tile {
  static constexpr int threads = 32;
  struct shared {
    T tile[Rows][Columns];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, T* out) const {
    const auto tile = pmpp::simt::watch(block, memory.tile, "tile");
    const int t = block.thread();
    for (int row = 0; row < Rows; ++row) tile[row][t] = T(row * 32 + t);
    block.sync();
    if (t < Rows)
      for (int column = 0; column < 32; ++column) out[column * 32 + t] = tile[t][column];
  }
};

/// The same of dynamic shared memory, all lanes at words `stride` apart.
template <class T>
struct stride_shared {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, int stride) const {
    const auto words = pmpp::simt::watch(block, reinterpret_cast<T*>(block.dynamic_shared()), "words");
    static_cast<void>(T(words[block.thread() * stride]));
  }
};

/// How a tiled matrix product loads M (PMPP, 4th edition, section 5.5): the sides are no multiples of the tile.
struct load_tiles {
  static constexpr int side = 16;
  struct shared {
    float m[side][side];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const float* m, int width) const {
    const auto in = pmpp::simt::watch(block, m, "M");
    const auto tile = pmpp::simt::watch(block, memory.m, "tile");
    const int tx = int(block.thread_position().x), ty = int(block.thread_position().y);
    const int row = int(block.position().y) * side + ty;
    for (int first = 0; first < width; first += side) {
      float value = 0;
      if (pmpp::simt::branch(block, row < width && first + tx < width, "inside M"))
        value = in[row * width + first + tx];
      tile[ty][tx] = value;
      block.sync();
    }
  }
};

/// Lanes that go round a loop unequally often, twice.
struct uneven_loops {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, float* data) const {
    const auto x = pmpp::simt::watch(block, data, "x");
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < block.thread(); ++i) x[i * 32 + block.thread()] += 1;
      block.sync();
    }
  }
};

struct fails {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* in, bool fail) const {
    const auto x = pmpp::simt::watch(block, in, "in");
    if (x[block.thread()] == 1 && fail && block.thread() == 20) throw std::runtime_error("as planned");
  }
};

access_counts& counted(access_counts& counts, auto&& launch) {
  const scoped_counting on(counts);
  launch();
  return counts;
}

access_count strided(std::int64_t stride) {
  const std::int64_t n = 1024;
  const pmpp::device_buffer<float> in(n * stride + 1, 1.0f);
  pmpp::device_buffer<float> out(n, 0.0f);
  access_counts counts;
  counted(counts, [&] { pmpp::launch(pmpp::emulated, 4, copy_strided{}, in.data(), out.data(), n, stride); });
  for (const float x : out) REQUIRE(x == 2);
  CHECK(counts.of("out", access_kind::write).sectors_per_request() == 4);
  return counts.of("in", access_kind::read);
}

template <class T, int Rows, int Columns>
access_count column_of_tile() {
  pmpp::device_buffer<T> out(32 * 32, T(-1));
  access_counts counts;
  counted(counts, [&] { pmpp::launch(pmpp::emulated, 1, turn_tile<T, Rows, Columns>{}, out.data()); });
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < Rows; ++j) REQUIRE(out.data()[i * 32 + j] == T(j * 32 + i));
  const access_count rows = counts.of("tile", access_kind::write);
  CHECK(rows.requests == Rows);
  CHECK(rows.conflict() == 1);
  CHECK(rows.sectors == 0);
  return counts.of("tile", access_kind::read);
}

template <class T>
access_count shared_stride(int stride) {
  access_counts counts;
  counted(counts, [&] { pmpp::launch(pmpp::emulated, grid{1, 32, 32 * 32 * 8}, stride_shared<T>{}, stride); });
  return counts.of("words", access_kind::read);
}

struct four {
  alignas(16) float x[4];
};

}  // namespace

TEST_CASE("coalescing: sectors of 32 bytes a request") {
  const access_count adjacent = strided(1);
  CHECK(adjacent.requests == 32);
  CHECK(adjacent.divergent == 0);
  CHECK(adjacent.lanes == 1024);
  CHECK(adjacent.sectors == 128);  // 4 a request
  CHECK(adjacent.efficiency() == 1);
  CHECK_FALSE(adjacent.shared);
  CHECK(strided(2).sectors_per_request() == 8);
  CHECK(strided(8).sectors_per_request() == 32);
  const access_count column = strided(100);
  CHECK(column.sectors_per_request() == 32);
  CHECK(column.efficiency() == 1.0 / 8);
  CHECK(strided(0).sectors_per_request() == 1);  // all lanes read one word
}

TEST_CASE("shared memory: conflicts of banks") {
  CHECK(column_of_tile<float, 32, 32>().conflict() == 32);
  CHECK(column_of_tile<float, 32, 33>().conflict() == 1);
  CHECK(column_of_tile<float, 32, 34>().conflict() == 2);
  CHECK(column_of_tile<double, 32, 33>().conflict() == 1);
  CHECK(column_of_tile<double, 32, 32>().conflict() == 16);  // by half warps: 16 lanes in one pair of banks
  const access_count half = column_of_tile<float, 16, 32>();
  CHECK(half.shared);
  CHECK(half.divergent == half.requests);  // only 16 lanes read
  CHECK(half.conflict() == 16);

  CHECK(shared_stride<float>(0).conflict() == 1);  // one word for all
  CHECK(shared_stride<float>(1).conflict() == 1);
  CHECK(shared_stride<float>(2).conflict() == 2);
  CHECK(shared_stride<float>(3).conflict() == 1);
  CHECK(shared_stride<float>(4).conflict() == 4);
  CHECK(shared_stride<float>(32).conflict() == 32);
  CHECK(shared_stride<char>(1).conflict() == 1);  // four lanes a word
  const access_count vectors = shared_stride<four>(1);
  CHECK(vectors.ideal_passes == 4);  // 512 bytes
  CHECK(vectors.conflict() == 1);
  CHECK(shared_stride<four>(2).conflict() == 2);
}

TEST_CASE("divergence: 1,000 elements in blocks of 256 threads split one warp of 32") {
  const pmpp::device_buffer<float> in(1000, 1.0f);
  pmpp::device_buffer<float> out(1000, 0.0f);
  access_counts counts;
  counted(counts, [&] {
    pmpp::launch(pmpp::emulated, 4, copy_strided{}, in.data(), out.data(), std::int64_t(1000), std::int64_t(1));
  });
  const access_count condition = counts.of("i < n", access_kind::branch);
  CHECK(condition.requests == 32);
  CHECK(condition.divergent == 1);
  CHECK(condition.lanes == 1000);
  const access_count read = counts.of("in", access_kind::read);
  CHECK(read.requests == 32);
  CHECK(read.divergent == 1);
  CHECK(read.sectors == 125);
}

TEST_CASE("divergence: tiles of 16 x 16 on 100 x 100, in any order") {
  const pmpp::device_buffer<float> m(100 * 100, 1.0f);
  test::for_each_order(3, [&](std::uint64_t) {
    access_counts counts;
    counted(counts, [&] { pmpp::launch(pmpp::emulated, grid{{7, 7}, {16, 16}}, load_tiles{}, m.data(), 100); });
    // 42 blocks of 8 warps with all their rows inside, and 7 of which only 2 warps have rows inside: each of these warps
    // splits in the last of 7 phases. (Further warps do not load at all.)
    const access_count inside = counts.of("inside M", access_kind::branch);
    CHECK(inside.divergent == 42 * 8 + 7 * 2);
    CHECK(inside.divergent == 350);
    CHECK(inside.requests == 49 * 8 * 7);
    const access_count read = counts.of("M", access_kind::read);
    CHECK(read.divergent == 350);
    CHECK(read.requests == (42 * 8 + 7 * 2) * 7);
    CHECK(read.lanes == 7 * 100 * 100);
    CHECK(counts.of("tile", access_kind::write).divergent == 0);
    // Two rows of 16 floats in 64 adjacent bytes each, which fill the banks once.
    CHECK(counts.of("tile", access_kind::write).conflict() == 1);
  });
}

TEST_CASE("a warp with fewer than 32 threads is whole when all of them take part") {
  access_counts counts;
  counted(counts, [&] { pmpp::launch(pmpp::emulated, grid{3, 40, 40 * 4}, stride_shared<float>{}, 1); });
  const access_count read = counts.of("words", access_kind::read);
  CHECK(read.requests == 6);
  CHECK(read.lanes == 120);
  CHECK(read.divergent == 0);
}

TEST_CASE("lanes that leave a loop earlier do not shift those that stay") {
  pmpp::device_buffer<float> data(32 * 32, 0.0f);
  access_counts counts;
  counted(counts, [&] { pmpp::launch(pmpp::emulated, 1, uneven_loops{}, data.data()); });
  const access_count read = counts.of("x", access_kind::read), write = counts.of("x", access_kind::write);
  CHECK(read.requests == 2 * 31);
  CHECK(read.divergent == 2 * 31);
  CHECK(read.lanes == 2 * 31 * 32 / 2);
  CHECK(write.lanes == read.lanes);
  // In round i the lanes above i touch a piece of one row of 128 bytes.
  std::int64_t sectors = 0;
  for (int i = 0; i < 31; ++i) sectors += 2 * (4 - (i + 1) / 8);
  CHECK(read.sectors == sectors);
  CHECK(data.data()[0 * 32 + 5] == 2);
}

TEST_CASE("counts are asked for, and add up") {
  const pmpp::device_buffer<float> in(64, 1.0f);
  pmpp::device_buffer<float> out(64, 0.0f);
  const auto run = [&](std::int64_t n) {
    pmpp::launch(pmpp::emulated, 1, copy_strided{}, in.data(), out.data(), n, std::int64_t(1));
  };
  access_counts counts;
  run(64);
  CHECK(counts.all().empty());
  CHECK_THROWS_AS(counts.of("in", access_kind::read), std::invalid_argument);
  counted(counts, [&] { run(64), run(32); });
  run(64);
  CHECK(counts.of("in", access_kind::read).requests == 3);
  CHECK(counts.of("i < n", access_kind::branch).requests == 16);
  const std::string table = counts.table();
  CHECK(table.find("read  in ") != std::string::npos);
  CHECK(table.find("write out ") != std::string::npos);
  CHECK(table.find("100%") != std::string::npos);
}

TEST_CASE("a kernel that throws leaves no half-counted block behind") {
  const pmpp::device_buffer<float> in(32, 1.0f);
  access_counts counts;
  const auto call = [&](bool fail) {
    counted(counts, [&] { pmpp::launch(pmpp::emulated, 1, fails{}, in.data(), fail); });
  };
  CHECK_THROWS_AS(call(true), std::runtime_error);
  for (const access_count& a : counts.all()) CHECK(a.requests == 0);
  call(false);
  CHECK(counts.of("in", access_kind::read).requests == 1);
}
