// SPDX-License-Identifier: Apache-2.0
//
// Gaussian elimination, with and without partial pivoting: numerical stability (Programming Massively Parallel Processors, appendix
// A). Each step is a kernel, and takes away one unknown. A small pivot makes large factors, next to which the numbers of the other
// rows are rounded away; the largest of the column as pivot keeps factors at 1 or below. Where both work both agree.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>

/// n equations by rows, n + 1 numbers each: the last is the right-hand side.
struct equations {
  float* rows;
  int n;
  PMPP_HOST_DEVICE float& operator()(int row, int column) const { return rows[std::int64_t(row) * (n + 1) + column]; }
};

// [pivot]
/// One block: finds the largest |a(row, k)| of rows k and on, and swaps its row with row k.
struct bring_up_pivot {
  static constexpr int threads = 128;
  struct shared {
    float size[threads];
    int row[threads];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, equations a, int k) const {
    const int t = block.thread();
    float size = -1;
    int best = k;
    for (int row = k + t; row < a.n; row += threads)
      if (fabsf(a(row, k)) > size) size = fabsf(a(row, k)), best = row;
    memory.size[t] = size, memory.row[t] = best;
    for (int stride = threads / 2; stride > 0; stride /= 2) {
      block.sync();
      if (t < stride && memory.size[t + stride] > memory.size[t])
        memory.size[t] = memory.size[t + stride], memory.row[t] = memory.row[t + stride];
    }
    block.sync();
    best = memory.row[0];
    if (best == k) return;
    for (int column = k + t; column <= a.n; column += threads) {
      const float up = a(best, column);
      a(best, column) = a(k, column), a(k, column) = up;
    }
  }
};
// [end]

/// A block a row below k: takes row k away as often as makes its first number zero.
struct eliminate {
  static constexpr int threads = 128;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, equations a, int k) const {
    const int row = k + 1 + int(block.index());
    const float factor = a(row, k) / a(k, k);  // column k itself is not needed again, and stays as it is
    for (int column = k + 1 + block.thread(); column <= a.n; column += threads) a(row, column) -= factor * a(k, column);
  }
};

/// One block: the unknowns from the last to the first; each that is known is taken to the right-hand side of all rows above.
struct substitute_back {
  static constexpr int threads = 128;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, equations a, float* x) const {
    for (int k = a.n - 1; k >= 0; --k) {
      const float known = a(k, a.n) / a(k, k);
      if (block.thread() == 0) x[k] = known;
      for (int row = block.thread(); row < k; row += threads) a(row, a.n) -= a(row, k) * known;
      block.sync();
    }
  }
};

void solve(const pmpp::stream& s, equations a, bool pivoting, float* x) {
  const auto where = pmpp::device.on(s);
  for (int k = 0; k < a.n; ++k) {
    if (pivoting) pmpp::launch(where, 1, bring_up_pivot{}, a, k);
    pmpp::launch(where, a.n - 1 - k, eliminate{}, a, k);
  }
  pmpp::launch(where, 1, substitute_back{}, a, x);
}

int main() {
  const int n = PMPP_CUDA ? 1000 : 50;
  unsigned random = 1;
  const auto next = [&](int, int) {
    return float((random = random * 1664525u + 1013904223u) >> 8) / float(1 << 23) - 1;
  };
  struct matrix {
    const char* name;
    std::function<float(int, int)> at;
    double without, with;  // largest errors that are expected; infinity: none is
  };
  const matrix matrices[] = {
      {"the diagonal outweighs its row", [&](int i, int j) { return i == j ? float(n) : next(i, j); }, 1e-4, 1e-4},
      {"random", next, INFINITY, 0.1},
      {"random, first pivot 1e-6", [&](int i, int j) { return i + j == 0 ? 1e-6f : next(i, j); }, INFINITY, 0.1},
      {"random, first pivot 0", [&](int i, int j) { return i + j == 0 ? 0.0f : next(i, j); }, INFINITY, 0.1},
  };
  const pmpp::stream s;
  int wrong = 0;
  std::printf("%d equations: largest error of an unknown %20s %14s\n", n, "no pivoting", "pivoting");
  for (const matrix& m : matrices) {
    std::vector<float> rows;
    for (int i = 0; i < n; ++i) {
      double right_side = 0;  // such that each unknown is 1
      for (int j = 0; j < n; ++j) rows.push_back(m.at(i, j)), right_side += double(rows.back());
      rows.push_back(float(right_side));
    }
    const auto error = [&](bool pivoting) {
      pmpp::device_buffer<float> a{rows}, x(n);
      pmpp::synchronize(pmpp::device);
      solve(s, {a.data(), n}, pivoting, x.data());
      double worst = 0;
      for (const float v : pmpp::to_host(s, x))
        worst = std::isfinite(v) ? std::fmax(worst, std::fabs(double(v) - 1)) : INFINITY;
      return worst;
    };
    const double without = error(false), with = error(true);
    std::printf("%-44s %20.2g %14.2g\n", m.name, without, with);
    wrong += !(without <= m.without) + !(with <= m.with) + (m.without == INFINITY && !(without > with));
  }
  return wrong;
}
