// SPDX-License-Identifier: Apache-2.0
//
// gemm_grouped beside cuBLAS's products of groups and beside a call of cuBLAS for each group, both of which want the shapes on the
// host; device time. 64 elements of each result of the first window are checked against sums of the host's. `GB/s` counts A, B
// and C once each; n is the number of rows: 2 * rows * n * k / µs of the name is the rate of operations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_bf16.h>

#include <pmpp/gemm_grouped.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

#ifdef PMPP_BENCH_HAS_CUBLAS
#include "support/cublas.hpp"
#endif

namespace {

using bench::subject;

#ifdef PMPP_BENCH_HAS_CUBLAS
using bench::check;
template <class T>
constexpr cudaDataType type_of = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_16BF;
template <class T>
constexpr cublasMath_t math_of = std::is_same_v<T, float> ? CUBLAS_PEDANTIC_MATH : CUBLAS_DEFAULT_MATH;
template <class T>
constexpr cublasComputeType_t sums_of = std::is_same_v<T, float> ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;

/// The arrays of cublasGemmGroupedBatchedEx: one product a group. cuBLAS is column-major: C' = B' A'.
template <class T>
struct groups_of_cublas {
  std::vector<cublasOperation_t> none;
  std::vector<int> m, n, k, one;
  std::vector<float> alpha, beta;
  pmpp::device_buffer<const void*> a, b;
  pmpp::device_buffer<void*> c;

  groups_of_cublas(const std::vector<int>& offsets, int cols, int depth, const T* left, const T* right, T* out)
      : groups_of_cublas(offsets, cols, depth, left, right, out, offsets.size() - 1) {}
  void operator()() const {
    check(cublasGemmGroupedBatchedEx(bench::cublas_handle<math_of<T>>(), none.data(), none.data(), n.data(), m.data(),
                                     k.data(), alpha.data(), b.data(), type_of<T>, n.data(), a.data(), type_of<T>,
                                     k.data(), beta.data(), c.data(), type_of<T>, n.data(), int(m.size()), one.data(),
                                     sums_of<T>));
  }

private:
  template <class P, class F>
  static std::vector<P> pointers(std::size_t count, F f) {
    std::vector<P> result;
    for (std::size_t g = 0; g < count; ++g) result.push_back(f(std::int64_t(g)));
    return result;
  }
  groups_of_cublas(const std::vector<int>& offsets, int cols, int depth, const T* left, const T* right, T* out,
                   std::size_t count)
      : none(count, CUBLAS_OP_N),
        n(count, cols),
        k(count, depth),
        one(count, 1),
        alpha(count, 1.0f),
        beta(count, 0.0f),
        a(pointers<const void*>(count,
                                [&](std::int64_t g) { return left + std::int64_t(offsets[std::size_t(g)]) * depth; })),
        b(pointers<const void*>(count, [&](std::int64_t g) { return right + g * cols * depth; })),
        c(pointers<void*>(count, [&](std::int64_t g) { return out + std::int64_t(offsets[std::size_t(g)]) * cols; })) {
    for (std::size_t g = 0; g < count; ++g) m.push_back(offsets[g + 1] - offsets[g]);
  }
};
#endif

/// The last digit of a number of C.
template <class T>
constexpr double epsilon = sizeof(T) == 2 ? 0x1p-7 : double(std::numeric_limits<T>::epsilon());

/// A mixture of experts: rows of A in groups of different lengths, `mean` on average.
template <class T>
void add_groups(const std::string& name, std::int64_t groups, std::int64_t mean, std::int64_t n, std::int64_t k) {
  std::vector<int> offsets{0};
  for (std::int64_t g = 0; g < groups; ++g)
    offsets.push_back(offsets.back() +
                      static_cast<int>(mean / 2 + mean * (g * 7 % groups) / std::max<std::int64_t>(groups - 1, 1)));
  const std::int64_t rows = offsets.back(), a_size = rows * k, b_size = groups * k * n, c_size = rows * n;
  const std::string text = name + " grouped " + std::to_string(groups) + " of " + std::to_string(mean) + "x" +
                           std::to_string(n) + "x" + std::to_string(k);
  bench::add(text, rows, double(a_size + b_size + c_size) * sizeof(T), [=](int windows) {
    const auto a = bench::random_array<T>(windows * a_size),
               b = bench::random_array<T>(windows * b_size, bench::second);
    const auto c = bench::array<T>(c_size);
    const auto starts = std::make_shared<pmpp::device_buffer<int>>(offsets);
    subject x;
    x.contenders = {{"pmpp", [=](int w) {
                       const pmpp::matrix_view<const T> left(a->data() + w * a_size, rows, k),
                           right(b->data() + w * b_size, k, n);
                       pmpp::gemm_grouped(bench::device(), 1, left, starts->data(), groups, right, k * n, 0,
                                          pmpp::matrix_view<T>(c->data(), rows, n));
                     }}};
#ifdef PMPP_BENCH_HAS_CUBLAS
    auto calls = std::make_shared<std::vector<groups_of_cublas<T>>>();
    for (int w = 0; w < windows; ++w)
      calls->emplace_back(offsets, int(n), int(k), a->data() + w * a_size, b->data() + w * b_size, c->data());
    x.contenders.push_back({"cublas, grouped", [=](int w) { (*calls)[std::size_t(w)](); }});
    x.contenders.push_back({"cublas, a call each", [=](int w) {
                              const float one = 1, zero = 0;
                              for (std::int64_t g = 0; g < groups; ++g) {
                                const int first = offsets[std::size_t(g)], count = offsets[std::size_t(g + 1)] - first;
                                if (count > 0)
                                  check(cublasGemmEx(bench::cublas_handle<math_of<T>>(), CUBLAS_OP_N, CUBLAS_OP_N,
                                                     int(n), count, int(k), &one, b->data() + w * b_size + g * k * n,
                                                     type_of<T>, int(n), a->data() + w * a_size + first * k, type_of<T>,
                                                     int(k), &zero, c->data() + first * n, type_of<T>, int(n),
                                                     sums_of<T>, CUBLAS_GEMM_DEFAULT));
                              }
                            }});
#endif
    x.spoil = [=] { bench::spoil(c); };
    x.fault = [=] {
      const bench::random_element<T> element;
      for (int place = 0; place < 64; ++place) {
        const auto bits = static_cast<std::int64_t>(bench::random_bits(place) >> 1);
        const std::int64_t i = place == 0 ? rows - 1 : bits / 7 % rows, j = place == 0 ? n - 1 : bits / 1009 % n;
        std::int64_t g = 0;
        while (offsets[static_cast<std::size_t>(g + 1)] <= i) ++g;
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += double(float(element(i * k + p))) * double(float(element(bench::second + (g * k + p) * n + j)));
        T got;
        pmpp::copy(bench::here().stream, std::span<const T>(c->data() + i * n + j, 1), std::span<T>(&got, 1));
        bench::here().stream.synchronize();
        const double bound = double(std::numeric_limits<float>::epsilon()) * double(k) * 0.5 +
                             epsilon<T> * (std::abs(sum) + (sizeof(T) == 2 ? std::sqrt(double(k)) : 0));
        if (!(std::abs(double(float(got)) - sum) <= bound)) return "at " + std::to_string(i) + ", " + std::to_string(j);
      }
      return std::string();
    };
    return x;
  });
}

void add_cases() {
  add_groups<__nv_bfloat16>("bf16", 8, 1024, 4096, 4096);
  add_groups<__nv_bfloat16>("bf16", 32, 300, 4096, 2048);
  add_groups<__nv_bfloat16>("bf16", 64, 128, 2048, 2048);
  add_groups<__nv_bfloat16>("bf16", 64, 16, 2048, 2048);
  add_groups<float>("f32", 8, 1024, 2048, 2048);
  add_groups<float>("f32", 64, 64, 1024, 1024);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
