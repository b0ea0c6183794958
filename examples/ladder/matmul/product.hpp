// SPDX-License-Identifier: Apache-2.0
//
// What every rung works out: C = A B, row-major, without gaps.
#pragma once

#include <cstdint>

struct product {
  const float *a, *b;        // m x k, k x n
  const float* b_by_column;  // the same B, column-major: only for the rung that turns corners
  float* c;                  // m x n
  std::int64_t m, n, k;
};
