// SPDX-License-Identifier: Apache-2.0
//
// Matrix products beside cuBLAS's, where it is installed: floats with CUBLAS_PEDANTIC_MATH, so that both multiply
// floats, or both in tf32; floats from tensor cores beside cuBLAS's floats, with its default and with pedantic math, and its tf32,
// which is less exact and no peer: errors against sums of doubles are printed; half and bfloat16 with sums of floats and C of their own type; pmpp enqueues with a
// workspace, cuBLAS with 64 MiB of its own; device time. 64 elements of each result of the first window are checked
// against sums of the host's. `GB/s` counts A, B and C once each; 2 m n k / µs is the rate of operations.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <pmpp/gemm.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

#ifdef PMPP_BENCH_HAS_CUBLAS
#include "support/cublas.hpp"
#endif

namespace {

using bench::subject;
using pmpp::gemm_precision;

struct shape {
  std::int64_t m, n, k;
  bool a_transposed = false, b_transposed = false;
  std::int64_t batch = 1;
};

std::string text_of(const shape& s) {
  const auto text = std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
  return text + (s.a_transposed ? " A'" : "") + (s.b_transposed ? " B'" : "") +
         (s.batch > 1 ? " batch " + std::to_string(s.batch) : "");
}

#ifdef PMPP_BENCH_HAS_CUBLAS
using bench::check;
// cuBLAS is column-major: C' = B' A'.
template <gemm_precision Precision, class T, class TC>
void peer(const shape& s, const T* a, const T* b, TC* c) {
  const auto op = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto m = int(s.m), n = int(s.n), k = int(s.k), lda = s.a_transposed ? m : k, ldb = s.b_transposed ? k : n;
  const auto mixed = [&](auto one, cudaDataType of_factors, cudaDataType of_c, cublasComputeType_t way) {
    const decltype(one) zero = 0;
    check(cublasGemmEx(bench::cublas_handle<CUBLAS_DEFAULT_MATH>(), op(s.b_transposed), op(s.a_transposed), n, m, k,
                       &one, b, of_factors, ldb, a, of_factors, lda, &zero, c, of_c, n, way, CUBLAS_GEMM_DEFAULT));
  };
  if constexpr (std::is_same_v<T, __half>) {
    mixed(1.0f, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    mixed(1.0f, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    mixed(std::int32_t(1), CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I);
  } else if constexpr (Precision == gemm_precision::tf32) {
    mixed(1.0f, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
  } else if constexpr (std::is_same_v<T, float>) {
    const float one = 1, zero = 0;
    const auto h = bench::cublas_handle<CUBLAS_PEDANTIC_MATH>();
    if (s.n == 1 && s.batch == 1)
      check(cublasSgemv(h, s.a_transposed ? CUBLAS_OP_N : CUBLAS_OP_T, lda, s.a_transposed ? k : m, &one, a, lda, b, 1,
                        &zero, c, 1));
    else
      check(cublasSgemmStridedBatched(h, op(s.b_transposed), op(s.a_transposed), n, m, k, &one, b, ldb, s.n * s.k, a,
                                      lda, s.m * s.k, &zero, c, n, s.m * s.n, int(s.batch)));
  } else {
    const double one = 1, zero = 0;
    check(cublasDgemm(bench::cublas_handle<CUBLAS_DEFAULT_MATH>(), op(s.b_transposed), op(s.a_transposed), n, m, k,
                      &one, b, ldb, a, lda, &zero, c, n));
  }
}
#endif

/// The last digit of a number of C.
template <class T>
constexpr double epsilon = std::is_same_v<T, __half> ? 0x1p-10
                           : sizeof(T) == 2          ? 0x1p-7
                                                     : double(std::numeric_limits<T>::epsilon());

/// As a user would write it: options only where tf32 is asked for.
template <gemm_precision Precision, class A, class B, class C>
void multiply(const A& a, const B& b, const C& c) {
  if constexpr (Precision == gemm_precision::full)
    pmpp::gemm(bench::device(), 1, a, b, 0, c);
  else
    pmpp::gemm(bench::device(), 1, a, b, 0, c, pmpp::gemm_options{.precision = Precision});
}

template <class T, class TC = T, gemm_precision Precision = gemm_precision::full>
void add_product(const std::string& name, const shape& s) {
  const std::int64_t a_size = s.m * s.k * s.batch, b_size = s.k * s.n * s.batch, c_size = s.m * s.n * s.batch;
  bench::add(
      name + " " + text_of(s), s.m, double(a_size + b_size) * sizeof(T) + double(c_size) * sizeof(TC),
      [=](int windows) {
        const auto a = bench::random_array<T>(windows * a_size),
                   b = bench::random_array<T>(windows * b_size, bench::second);
        const auto c = bench::array<TC>(c_size);
        subject x;
        x.contenders = {{"pmpp", [=](int w) {
                           const T* from = a->data() + w * a_size;
                           const T* other = b->data() + w * b_size;
                           auto left = pmpp::matrix_view<const T>(from, s.m, s.k);
                           auto right = pmpp::matrix_view<const T>(other, s.k, s.n);
                           if (s.a_transposed) left = transposed(pmpp::matrix_view<const T>(from, s.k, s.m));
                           if (s.b_transposed) right = transposed(pmpp::matrix_view<const T>(other, s.n, s.k));
                           const pmpp::matrix_view<TC> result(c->data(), s.m, s.n);
                           if (s.batch > 1)
                             pmpp::gemm_batched(bench::device(), 1, left, s.m * s.k, right, s.k * s.n, 0, result,
                                                s.m * s.n, s.batch);
                           else
                             multiply<Precision>(left, right, result);
                         }}};
#ifdef PMPP_BENCH_HAS_CUBLAS
        const bool has_peer = !std::is_same_v<T, std::int8_t> || (s.m % 4 == 0 && s.n % 4 == 0 && s.k % 4 == 0);
        if (has_peer)
          x.contenders.push_back({"cublas", [=](int w) {
                                    peer<Precision>(s, a->data() + w * a_size, b->data() + w * b_size, c->data());
                                  }});
#endif
        x.spoil = [=] { bench::spoil(c); };
        x.fault = [=] {
          const bench::random_element<T> element;
          const auto as_double = [](auto x) {
            return static_cast<double>(static_cast<std::conditional_t<sizeof(x) == 2, float, decltype(x)>>(x));
          };
          for (int place = 0; place < 64; ++place) {
            const auto bits = static_cast<std::int64_t>(bench::random_bits(place) >> 1);
            const std::int64_t t = bits % s.batch, i = place == 0 ? s.m - 1 : bits / 7 % s.m,
                               j = place == 0 ? s.n - 1 : bits / 1009 % s.n;
            double sum = 0;
            for (std::int64_t p = 0; p < s.k; ++p)
              sum += as_double(element(t * s.m * s.k + (s.a_transposed ? p * s.m + i : i * s.k + p))) *
                     as_double(element(bench::second + t * s.k * s.n + (s.b_transposed ? j * s.k + p : p * s.n + j)));
            TC got;
            pmpp::copy(bench::here().stream, std::span<const TC>(c->data() + t * s.m * s.n + i * s.n + j, 1),
                       std::span<TC>(&got, 1));
            bench::here().stream.synchronize();
            // Factors are below 1, in tf32 wrong by a share of 2^-10 for both; integers must be exact. cuBLAS may round
            // parts of a sum to two bytes, and a part is as large as the root of its length.
            const double share = Precision == gemm_precision::tf32 ? 0x1p-10 : std::numeric_limits<float>::epsilon();
            const double bound =
                std::is_integral_v<T> ? 0
                : std::is_same_v<T, double>
                    ? epsilon<double> * double(s.k + 3) * 0.5
                    : share * double(s.k + 3) * 0.5 +
                          epsilon<TC> * (std::abs(sum) + (sizeof(TC) == 2 ? std::sqrt(double(s.k)) : 0));
            if (!(std::abs(as_double(got) - sum) <= bound)) return "at " + std::to_string(i) + ", " + std::to_string(j);
          }
          return std::string();
        };
        return x;
      });
}

/// Floats from tensor cores. Prints the greatest error of 64 elements, in units of 2^-24 of the sum of |a b|, for each contender.
void add_from_tensor_cores(const shape& s) {
  const std::int64_t a_size = s.m * s.k, b_size = s.k * s.n, c_size = s.m * s.n;
  const std::string name = "f32 from tensor cores " + text_of(s);
  bench::add(name, s.m, double(a_size + b_size + c_size) * sizeof(float), [=](int windows) {
    const auto a = bench::random_array<float>(windows * a_size),
               b = bench::random_array<float>(windows * b_size, bench::second);
    const auto c = bench::array<float>(c_size);
    subject x;
    x.contenders = {{"pmpp", [=](int w) {
                       pmpp::matrix_view<const float> left(a->data() + w * a_size, s.m, s.k),
                           right(b->data() + w * b_size, s.k, s.n);
                       if (s.a_transposed) left = transposed(pmpp::matrix_view<const float>(left.data(), s.k, s.m));
                       if (s.b_transposed) right = transposed(pmpp::matrix_view<const float>(right.data(), s.n, s.k));
                       pmpp::gemm(bench::device(), 1, left, right, 0, pmpp::matrix_view<float>(c->data(), s.m, s.n),
                                  pmpp::gemm_options{.precision = pmpp::float_from_tensor_cores{}});
                     }}};
#ifdef PMPP_BENCH_HAS_CUBLAS
    const auto by_cublas = [=](cublasHandle_t h, cublasComputeType_t way, int w) {
      const auto op = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
      const auto m = int(s.m), n = int(s.n), k = int(s.k);
      const float one = 1, zero = 0;
      check(cublasGemmEx(h, op(s.b_transposed), op(s.a_transposed), n, m, k, &one, b->data() + w * b_size, CUDA_R_32F,
                         s.b_transposed ? k : n, a->data() + w * a_size, CUDA_R_32F, s.a_transposed ? m : k, &zero,
                         c->data(), CUDA_R_32F, n, way, CUBLAS_GEMM_DEFAULT));
    };
    x.contenders.push_back(
        {"cublas", [=](int w) { by_cublas(bench::cublas_handle<CUBLAS_DEFAULT_MATH>(), CUBLAS_COMPUTE_32F, w); }});
    x.contenders.push_back({"cublas pedantic", [=](int w) {
                              by_cublas(bench::cublas_handle<CUBLAS_PEDANTIC_MATH>(), CUBLAS_COMPUTE_32F_PEDANTIC, w);
                            }});
    x.contenders.push_back({"cublas tf32, not comparable", [=](int w) {
                              by_cublas(bench::cublas_handle<CUBLAS_DEFAULT_MATH>(), CUBLAS_COMPUTE_32F_FAST_TF32, w);
                            }});
#endif
    x.spoil = [=] { bench::spoil(c); };
    x.fault = [=] {
      const bench::random_element<float> element;
      double greatest = 0;
      for (int place = 0; place < 64; ++place) {
        const auto bits = static_cast<std::int64_t>(bench::random_bits(place) >> 1);
        const std::int64_t i = place == 0 ? s.m - 1 : bits / 7 % s.m, j = place == 0 ? s.n - 1 : bits / 1009 % s.n;
        double sum = 0, size = 0;
        for (std::int64_t p = 0; p < s.k; ++p) {
          const double y = double(element(s.a_transposed ? p * s.m + i : i * s.k + p)) *
                           double(element(bench::second + (s.b_transposed ? j * s.k + p : p * s.n + j)));
          sum += y, size += std::abs(y);
        }
        float got;
        pmpp::copy(bench::here().stream, std::span<const float>(c->data() + i * s.n + j, 1), std::span<float>(&got, 1));
        bench::here().stream.synchronize();
        greatest = std::max(greatest, std::abs(double(got) - sum) / size);
      }
      std::fprintf(stderr, "%s: greatest error %.2f x 2^-24\n", name.c_str(), greatest * 0x1p24);
      return greatest <= 0x1p-9 ? std::string() : "an error of " + std::to_string(greatest);
    };
    return x;
  });
}

void add_cases() {
  for (const std::int64_t n : {256, 512, 1024, 2048, 4096, 8192}) add_product<float>("f32", {n, n, n});
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      if (a || b) add_product<float>("f32", {4096, 4096, 4096, a, b});
  for (const shape& s :
       {shape{4095, 4097, 4099}, {16, 4096, 4096}, {4096, 16, 4096}, {128, 128, 65536}, {1000, 1000, 1000}})
    add_product<float>("f32", s);
  const shape odd{4095, 4097, 4099};
  for (const shape& s : {shape{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}, odd}) {
    add_product<double>("f64", s);
    add_product<__nv_bfloat16>("bf16", s);
    add_product<__half>("f16", s);
    add_product<float, float, gemm_precision::tf32>("tf32", s);
    add_product<std::int8_t, std::int32_t>("int8", {s.m, s.n, s.k, false, true});
  }
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      if (a || b) {
        const shape s{4096, 4096, 4096, a, b};
        add_product<double>("f64", s);
        add_product<__nv_bfloat16>("bf16", s);
        add_product<float, float, gemm_precision::tf32>("tf32", s);
      }
  for (const shape& s :
       {shape{16, 16, 16, false, false, 20000}, {32, 32, 32, false, false, 10000}, {64, 64, 64, false, false, 2000}})
    add_product<float>("f32", s);
  for (const shape& s : {shape{512, 512, 512},
                         {1024, 1024, 1024},
                         {2048, 2048, 2048},
                         {4096, 4096, 4096},
                         {8192, 8192, 8192},
                         odd,
                         {4096, 4096, 4096, true, true},
                         {8192, 8192, 512},
                         {256, 4096, 4096}})
    add_from_tensor_cores(s);
  for (const shape& s : {shape{16384, 1, 16384},
                         {16384, 1, 16384, true},
                         {1000, 1, 100000},
                         {1000, 1, 100000, true},
                         {1000000, 1, 100},
                         {1000000, 1, 100, true},
                         {1000, 1, 1000},
                         {1023, 1, 16383}})
    add_product<float>("gemv f32", s);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
