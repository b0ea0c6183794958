// SPDX-License-Identifier: Apache-2.0
//
// What every rung works out: d(i, j), the length of the edge from i to j, becomes that of the shortest path. In place, n x n.
// A path by way of vertex k: d(i, j) = min(d(i, j), d(i, k) + d(k, j)), for all i and j; then the next k.
#pragma once

#include <cstdint>

#include <pmpp/core/math.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/simt/counters.hpp>

namespace ladder {

constexpr int no_edge = 1 << 29;  // two of them are still an int

}  // namespace ladder
