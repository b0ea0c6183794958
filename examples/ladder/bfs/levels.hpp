// SPDX-License-Identifier: Apache-2.0
//
// What the rungs have in common: a graph, and a loop of the host that runs a kernel for each level until a level finds
// nobody. The host has to see what each kernel has found: a copy and a wait per level.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <pmpp/core/csr_view.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/transform.hpp>

namespace ladder {

inline constexpr int threads = 256;

/// An undirected graph; `from` names the vertex at which each edge starts.
struct graph {
  pmpp::csr_view<void, const int> rows;
  const int* from;
  std::int64_t edges;
};

/// Sets all distances to -1, that of the source to 0.
inline void begin_search(std::span<int> distance, int source) {
  pmpp::fill(pmpp::device, distance, -1);
  pmpp::fill(pmpp::device, distance.subspan(std::size_t(source), 1), 0);
}

/// step(level, found) enqueues a kernel that sets *found if it finds a vertex at distance level + 1.
template <class Step>
void run_levels(std::span<int> distance, int source, Step step) {
  begin_search(distance, source);
  pmpp::device_buffer<int> found(1);
  for (int level = 0; level == 0 || pmpp::to_host(found)[0] != 0; ++level) {
    pmpp::fill(pmpp::device, found, 0);
    step(level, found.data());
  }
}

/// step(level, frontier, count, next, next_count) enqueues a kernel that appends the vertices at distance level + 1.
template <class Step>
void run_frontiers(std::span<int> distance, int source, Step step) {
  begin_search(distance, source);
  pmpp::device_buffer<int> frontier(distance.size()), next(distance.size()), next_count(1);
  pmpp::fill(pmpp::device, frontier, source);
  int count = 1;
  for (int level = 0; count != 0; ++level) {
    pmpp::fill(pmpp::device, next_count, 0);
    step(level, frontier.data(), count, next.data(), next_count.data());
    count = pmpp::to_host(next_count)[0];
    std::swap(frontier, next);
  }
}

}  // namespace ladder
