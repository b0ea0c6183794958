// SPDX-License-Identifier: Apache-2.0
//
// What this file and its neighbours (see support/wgmma.hpp) prove of gemm/wgmma.hpp, on a GPU of sm_90a in a program that was compiled for it: products are those of
// the definition, for every tile, layout and type, for sizes around the tiles and with edges in m, n and k; what lies
// around the elements of C stays; beta = 0 does not read C; epilogues see their element's place; batches; graphs; the
// same bits on every run; what TMA cannot read is copied first. (That gemm takes this way, and all that is not
// peculiar to it: test/gemm_tensor_cores.cpp.)
#include "support/wgmma.hpp"

using pmpp::device;
using namespace test::wgmma;

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

TEST_CASE("wgmma: rows of C that begin anywhere are written whole, and nothing beside them") {
  if (!available()) return;
  for (const std::int64_t gap : {1, 2, 3, 5, 7})
    for (const std::int64_t n : {1, 7, 62, 65, 131, 264, 400}) {
      const float beta = n % 2 == 0 ? 0.5f : 0;
      const shape s{n % 3 == 0 ? 256 : 150, n, 24}, turned{n, 150, 24};
      try_tile<large, false, true, __nv_bfloat16, __nv_bfloat16>(s, 1, beta, false, 2, {}, gap);
      try_tile<small, true, false, __half, __half>(s, 1, beta, false, 2, {}, gap);
      try_tile<small, false, true, __half, double>(s, 1, beta, false, 1, {}, gap);
      try_tile<wide, true, false, float, float>(s, 1, beta, false, 2, {}, gap);
      try_tile<middle, true, false, float, float>(turned, 1, beta, true, 2, {}, gap);
    }
}
