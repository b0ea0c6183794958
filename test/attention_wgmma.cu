// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of attention/wgmma.hpp: the same as attention.cpp of attention.hpp, where there are rows enough for tiles of
// warpgroups, and that there these are taken: several tiles for each block, tiles that no row sees, keys before the first one, heads of
// a group that do not divide a tile, vectors that fill none.
#include "support/attention.hpp"

#include <cstdint>

#include <pmpp/memory/device_buffer.hpp>

using namespace test::heads;

namespace {

bool available() {
  if (pmpp::detail::wgmma_available()) return true;
  MESSAGE("skipped: not a GPU of sm_90a, or not compiled for it (CMAKE_CUDA_ARCHITECTURES=90a)");
  return false;
}

using where = test::device_place;

}  // namespace

TEST_CASE("attention by warpgroups: bfloat16, vectors of 128") {
  if (!available()) return;
  try_shape<where, bfloat16, 128>({2, 24, 24, 128, 128, 128});
  try_shape<where, bfloat16, 128>({3, 16, 16, 200, 300, 128, true});
  try_shape<where, bfloat16, 128>({70, 1, 1, 300, 129, 128});
  try_shape<where, bfloat16, 128>({4, 28, 4, 60, 500, 128, true, true, true});
  try_shape<where, bfloat16, 128>({12, 15, 5, 50, 70, 104, false, true, true, 8});
  try_shape<where, bfloat16, 128>({50, 40, 1, 1, 260, 72, true, true});
}

TEST_CASE("attention by warpgroups: half, vectors of 64") {
  if (!available()) return;
  try_shape<where, half, 64>({2, 24, 24, 192, 128, 64});
  try_shape<where, half, 64>({3, 16, 16, 400, 300, 64, true});  // the first queries see nothing
  try_shape<where, half, 64>({70, 1, 1, 500, 257, 64, true}, 0.3f);
  try_shape<where, half, 64>({16, 35, 5, 60, 400, 40, true, true, true, 16});
}

TEST_CASE("attention by warpgroups: what takes them") {
  if (!available()) return;
  pmpp::device_buffer<half> memory(1 << 16);
  const half* const p = memory.data();
  half* const out = memory.data() + (1 << 15);
  const auto takes = [&](std::int64_t heads, std::int64_t key_heads, std::int64_t queries, std::int64_t size) {
    return pmpp::detail::attention_by_wgmma<64>(
        pmpp::device, pmpp::detail::attention_problem<half>{
                          pmpp::bhsd(p, 1, heads, queries, size), pmpp::bhsd(p, 1, key_heads, 50, size),
                          pmpp::bhsd(p, 1, key_heads, 50, size), pmpp::bhsd(out, 1, heads, queries, size), nullptr,
                          nullptr, nullptr, 1, false});
  };
  CHECK(takes(4, 4, 64, 64));
  CHECK(takes(6, 2, 33, 40));
  CHECK(!takes(300, 1, 1, 8));  // more heads of a group than a tile has rows
  CHECK(!takes(2, 2, 16, 64));  // few rows
}
