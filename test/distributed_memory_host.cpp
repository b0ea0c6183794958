// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of distributed/rank_memory.hpp: blocks are used again where they fit and are not much too large, memory that is idle
// does not grow beyond twice the most in use, and what devices say of their memory is so. That calls which are repeated allocate nothing
// is proved beside what each of them computes (distributed_algebra.cpp, _sparse, _sort, _graph).
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/devices.hpp>
#include <pmpp/distributed/rank_memory.hpp>

#include "support/distributed.hpp"

namespace {

using pmpp::rank_memory_use;
using memory = pmpp::detail::rank_memory;

rank_memory_use use(std::size_t in_use, std::size_t idle, std::int64_t allocations) {
  return {in_use, idle, 0, allocations};
}

}  // namespace

TEST_CASE("rank_memory: the smallest block that fits, and is not much too large") {
  memory m(memory::on_host, nullptr);
  const auto a = m.take(1000), b = m.take(1100), c = m.take(5000);
  CHECK(m.use() == use(7100, 0, 3));
  for (const auto& block : {c, b, a}) m.give_back(block);
  CHECK(m.use() == use(0, 7100, 3));
  const auto again = m.take(1000);
  CHECK(again.bytes == 1000);
  const auto nearly = m.take(1000);
  CHECK(nearly.bytes == 1100);
  CHECK(m.use() == use(2100, 5000, 3));
  const auto other = m.take(900);  // 5000 is far too many
  CHECK(m.use() == use(3000, 5000, 4));
  CHECK(m.take(0).data == nullptr);
  for (const auto& block : {again, nearly, other}) m.give_back(block);
  m.trim();
  CHECK(m.use() == use(0, 0, 4));
}

TEST_CASE("rank_memory: what is idle has limits, and the oldest leaves first") {
  memory m(memory::on_host, nullptr);
  for (const std::size_t bytes : {1000, 1200, 1400, 1600})
    m.give_back(m.take(bytes));  // one at a time: none fits the next
  CHECK(m.use() == use(0, 3000, 4));
  m.give_back(m.take(1400));
  CHECK(m.use() == use(0, 3000, 4));
  m.give_back(m.take(1000));
  CHECK(m.use().allocations == 5);
}

TEST_CASE("devices: buffers of a size that was there before, and trim") {
  const auto gpus = test::ranks(2);
  const auto bytes = [](std::size_t n) { return n * sizeof(int); };
  const std::int64_t before = gpus.memory(0).allocations;
  {
    pmpp::distributed_buffer<int> x{gpus, 2001};
    CHECK(gpus.memory(0).in_use == bytes(1001));
    CHECK(gpus.memory(1).in_use == bytes(1000));
  }
  CHECK(gpus.memory(0).idle == bytes(1001));
  {
    pmpp::distributed_buffer<int> x{gpus, 2001}, y{gpus, std::vector<int>(2000, 7)};
    CHECK(gpus.memory(0).allocations == before + 2);
    std::vector<int> mine(10);
    const auto theirs = pmpp::distributed_buffer<int>::of_parts(gpus, {std::span<int>(mine), std::span<int>(mine)});
    CHECK(gpus.memory(0).in_use == bytes(2001));
    gpus.trim();
    CHECK(gpus.memory(0).idle == 0);
    CHECK(pmpp::to_host(gpus, y) == std::vector<int>(2000, 7));
  }
  gpus.trim();
  for (int i = 0; i < 2; ++i) {
    CHECK(gpus.memory(i).in_use == 0);
    CHECK(gpus.memory(i).idle == 0);
    CHECK(gpus.memory(i).scratch == 0);
  }
}
