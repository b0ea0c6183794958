// SPDX-License-Identifier: Apache-2.0
//
// The ladder of sparse matrix times vector: formats and kernels of the book, up to the library's one call for all. Every
// result is compared with a plain loop on three kinds of matrices; on a GPU each rung is also timed on large ones.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/spmv.hpp>

#include "../counting.hpp"
#include "../timing.hpp"
#include "1_coo.hpp"
#include "2_csr.hpp"
#include "3_ell.hpp"
#include "4_hybrid.hpp"
#include "5_jds.hpp"
#include "6_csc.hpp"
#include "matrix.hpp"

struct rung {
  const char *name, *lesson;
  std::function<void(const formats& A, const float* x, float* y)> multiply;
};

/// Row i has length(i) nonzeros in columns around its own, or anywhere.
pmpp::csr_matrix<float> make_matrix(int n, bool scattered, const std::function<int(int)>& length) {
  std::vector<int> offsets{0}, columns;
  std::vector<float> values;
  std::uint64_t state = 1;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < length(i); ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      columns.push_back(scattered ? int((state >> 33) % std::uint64_t(n)) : (i + k) % n);
      values.push_back(1 + float(state >> 60));
    }
    offsets.push_back(int(columns.size()));
  }
  return {n, n, offsets, columns, values};
}

/// A band, rows of random length, and a few rows that have as much as all others together.
std::vector<pmpp::csr_matrix<float>> make_matrices(int n) {
  return {make_matrix(n, false, [](int) { return 27; }),
          make_matrix(n, true, [](int i) { return int(unsigned(i) * 2654435761u >> 28); }),
          make_matrix(n, true, [=](int i) { return i % (n / 4) == 7 ? n : 4; })};
}

/// A x by a plain loop, and the sum of magnitudes, to judge what another order of additions may change.
struct reference {
  std::vector<double> sum, magnitude;

  reference(const pmpp::csr_matrix<float>& A, const std::vector<float>& x)
      : sum(std::size_t(A.rows())), magnitude(std::size_t(A.rows())) {
    for (std::size_t row = 0; row < sum.size(); ++row)
      for (int i = A.offsets()[row]; i < A.offsets()[row + 1]; ++i) {
        const double p = double(A.view().values[i]) * double(x[std::size_t(A.columns()[std::size_t(i)])]);
        sum[row] += p;
        magnitude[row] += std::abs(p);
      }
  }
  bool agrees_with(const std::vector<float>& y) const {
    for (std::size_t i = 0; i < y.size(); ++i)
      if (!(std::abs(double(y[i]) - sum[i]) <= 1e-4 * magnitude[i])) return false;
    return true;
  }
};

int main() {
  const pmpp::stream s;
  const auto where = pmpp::device.on(s);
  const rung ladder[] = {
      {"COO", "a thread a nonzero, atomic sums",
       [&](const formats& A, const float* x, float* y) { multiply_coo(where, A, x, y); }},
      {"CSR", "a thread a row: no atomics, accesses far apart",
       [&](const formats& A, const float* x, float* y) { multiply_csr(where, A, x, y); }},
      {"ELL", "rows of one length side by side: adjacent accesses",
       [&](const formats& A, const float* x, float* y) { multiply_ell(where, A, x, y); }},
      {"hybrid", "ELL of the average length, COO of the rest",
       [&](const formats& A, const float* x, float* y) { multiply_hybrid(where, A, x, y); }},
      {"JDS", "rows sorted by length: no padding",
       [&](const formats& A, const float* x, float* y) { multiply_jds(where, A, x, y); }},
      {"CSC", "a thread a column: x read once, atomic sums",
       [&](const formats& A, const float* x, float* y) { multiply_csc(where, A, x, y); }},
      {"pmpp::spmv", "CSR in equal pieces, whatever the rows",
       [&](const formats& A, const float* x, float* y) { pmpp::spmv(where, 1.0f, A.csr, x, 0.0f, y); }},
  };
  const int sizes[] = {1000, 1 << 20};  // the second on a GPU
  const std::size_t rungs = std::size(ladder);
  std::vector<bool> right(rungs, true);
  std::vector<std::vector<double>> times(rungs);
  for (const int n : sizes) {
    if (n == sizes[1] && !PMPP_CUDA) break;
    for (const pmpp::csr_matrix<float>& A : make_matrices(n)) {
      const formats all(where, A);
      std::vector<float> x(std::size_t(n), 1.0f);
      for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -0.5f;
      const reference wanted(A, x);
      const pmpp::device_buffer<float> in(x);
      for (std::size_t r = 0; r < rungs; ++r) {
        if (ladder[r].name == std::string("ELL") && !all.has_ell()) {
          if (n == sizes[1]) times[r].push_back(0);
          continue;
        }
        pmpp::device_buffer<float> y(n, NAN);
        ladder[r].multiply(all, in.data(), y.data());
        s.synchronize();
        right[r] = right[r] && wanted.agrees_with(pmpp::to_host(s, y));
        if (n == sizes[1]) times[r].push_back(microseconds(s, [&] { ladder[r].multiply(all, in.data(), y.data()); }));
      }
    }
  }
  std::printf("%-12s %-52s result", "rung", "what it teaches");
  if (PMPP_CUDA) std::printf("  us: %9s %9s %9s", "27 a row", "0 to 15", "4 of n");
  int wrong = 0;
  for (std::size_t r = 0; r < rungs; ++r) {
    std::printf("\n%-12s %-52s %-6s", ladder[r].name, ladder[r].lesson, right[r] ? "right" : "WRONG");
    wrong += !right[r];
    if (PMPP_CUDA) std::printf("     ");
    for (const double us : times[r]) us > 0 ? std::printf(" %9.1f", us) : std::printf(" %9s", "too large");
  }
  std::printf("\n");
#if !PMPP_CUDA
  std::printf("\n0 to 15 a row, 1,000 rows, counted in the emulator:\n");
  const formats all(where, make_matrices(sizes[0])[1]);
  const pmpp::device_buffer<float> in(sizes[0], 1.0f);
  pmpp::device_buffer<float> y(sizes[0]);
  for (const rung& r : ladder) print_counts(r.name, [&] { r.multiply(all, in.data(), y.data()); });
#endif
  return wrong;
}
