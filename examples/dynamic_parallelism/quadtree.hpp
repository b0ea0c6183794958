// SPDX-License-Identifier: Apache-2.0
//
// A quadtree (PMPP, 4th edition, chapter 21): a square with more than a few points is cut into four, and so on. Where the points are
// close together the tree is deep, which is known only when the squares above have been cut. Without dynamic parallelism the squares
// that are still to be cut stand in a queue on the device; a launch cuts all of one level and queues the next, until none is left.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include <pmpp/control_flow.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/transform.hpp>

namespace quadtree {

inline constexpr int most_depth = 6, few = 16;  // a square of depth 6, or with 16 points or fewer, is not cut
inline constexpr int most_nodes = 5461;         // 1 + 4 + ... + 4^6

struct point {
  float x, y;
  int number;
};
/// A square from (x, y) on, and its points, points[first] to points[first + count - 1].
struct node {
  float x, y, side;
  int first, count, depth;

  PMPP_HOST_DEVICE bool is_cut() const { return count > few && depth < most_depth; }
  /// Which quarter a point lies in.
  PMPP_HOST_DEVICE int quarter_of(const point& p) const {
    return (p.x >= x + side / 2 ? 1 : 0) + (p.y >= y + side / 2 ? 2 : 0);
  }
};

/// Quarters of node i are nodes 4 i + 1 to 4 i + 4. Cutting moves points from one array to the other, so those of a node of even depth
/// lie in points[0], of odd depth in points[1].
struct tree {
  point* points[2];
  node* nodes;
};

/// A block cuts node i: counts the points of the quarters, then moves each point to its quarter.
struct cut {
  static constexpr int threads = 128;
  struct shared {
    int count[4], next[4];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const tree& all, int i) const {
    const node n = all.nodes[i];
    const point* const from = all.points[n.depth % 2];
    point* const to = all.points[(n.depth + 1) % 2];
    const int t = block.thread();
    if (t < 4) memory.count[t] = 0;
    block.sync();
    for (int j = n.first + t; j < n.first + n.count; j += threads)
      pmpp::simt::atomic_add(&memory.count[n.quarter_of(from[j])], 1);
    block.sync();
    if (t == 0) {
      int first = n.first;
      for (int q = 0; q < 4; ++q) {
        const float half = n.side / 2;
        all.nodes[4 * i + 1 + q] = {
            n.x + half * float(q % 2), n.y + half * float(q / 2), half, first, memory.count[q], n.depth + 1};
        memory.next[q] = first;
        first += memory.count[q];
      }
    }
    block.sync();
    for (int j = n.first + t; j < n.first + n.count; j += threads)
      to[pmpp::simt::atomic_add(&memory.next[n.quarter_of(from[j])], 1)] = from[j];
    block.sync();
  }
};

/// Nodes to cut in this level and in the next: the queues change their roles from level to level.
struct queues {
  int waiting, coming, level;
  int nodes[2][most_nodes];
};

struct cut_level {
  static constexpr int threads = cut::threads;
  using shared = cut::shared;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, tree all, queues* q) const {
    for (int w = int(block.index()); w < q->waiting; w += int(block.count())) {
      const int i = q->nodes[q->level % 2][w];
      cut{}(block, memory, all, i);
      if (block.thread() < 4 && all.nodes[4 * i + 1 + block.thread()].is_cut())
        q->nodes[(q->level + 1) % 2][pmpp::simt::atomic_add(&q->coming, 1)] = 4 * i + 1 + block.thread();
    }
  }
};
struct next_level {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, queues* q) const {
    if (block.thread() == 0) q->waiting = q->coming, q->coming = 0, ++q->level;
  }
};

/// Cuts nodes[0], and what it is cut into. \pre q->waiting is 1 if it is cut, and 0 if not; the rest of q is zero
template <class Policy>
void build_by_levels(const Policy& where, const tree& all, queues* q, int blocks) {
  pmpp::repeat_while(where, &q->waiting, [&](auto on) {
    pmpp::launch(on, blocks, cut_level{}, all, q);
    pmpp::launch(on, 1, next_level{}, q);
  });
}

/// Points of which half lie close to (0.3, 0.3).
inline std::vector<point> some_points(int n) {
  std::vector<point> points;
  unsigned random = 1;
  const auto next = [&] { return float((random = random * 1664525u + 1013904223u) >> 8) / float(1 << 24); };
  for (int i = 0; i < n; ++i) {
    const float size = i % 2 == 0 ? 1 : 0.1f, corner = i % 2 == 0 ? 0 : 0.3f;
    const float x = next();
    points.push_back({corner + size * x, corner + size * next(), i});
  }
  return points;
}

/// How many mistakes a tree has: squares whose quarters lack points, leaves with points of elsewhere, points in no leaf or in two.
/// `leaf_of`: for each point the leaf it is in.
inline int mistakes(const std::vector<node>& nodes, const std::vector<point> (&points)[2], std::vector<int>& leaf_of) {
  int wrong = 0;
  leaf_of.assign(points[0].size(), -1);
  std::vector<int> open{0};
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    const node n = nodes[std::size_t(i)];
    if (n.is_cut()) {
      int sum = 0;
      for (int c = 4 * i + 1; c <= 4 * i + 4; ++c) open.push_back(c), sum += nodes[std::size_t(c)].count;
      wrong += sum != n.count;
      continue;
    }
    for (int j = n.first; j < n.first + n.count; ++j) {
      const point p = points[n.depth % 2][std::size_t(j)];
      wrong += !(p.x >= n.x && p.x <= n.x + n.side && p.y >= n.y && p.y <= n.y + n.side);
      wrong += leaf_of[std::size_t(p.number)] != -1;
      leaf_of[std::size_t(p.number)] = i;
    }
  }
  for (const int leaf : leaf_of) wrong += leaf == -1;
  return wrong;
}

}  // namespace quadtree
