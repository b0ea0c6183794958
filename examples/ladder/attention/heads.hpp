// SPDX-License-Identifier: Apache-2.0
//
// What every rung works out: out = softmax(q kT / 8) v, for each head by itself. All four are heads x length x 64.
#pragma once

#include <cmath>
#include <cstdint>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

namespace ladder {

constexpr int size = 64;           // of a vector
constexpr float scale = 1 / 8.0f;  // 1 / sqrt(size)

struct heads {
  const float *q, *k, *v;
  float* out;
  std::int64_t count, length;
};

}  // namespace ladder
