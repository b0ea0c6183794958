// SPDX-License-Identifier: Apache-2.0
//
// Attention beside what a user has without a library of its own: cuBLAS multiplies queries by keys, a kernel takes the softmax of each row
// of the scores in place, cuBLAS multiplies by the values. n is the number of operations (two for each product and sum that a mask leaves), so
// that n / time is their rate; `GB/s` counts q, k, v and the output once, so that decoding shows its share of a read of the cache.
// Up to 64 elements of the first window are checked against sums of the host's.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <pmpp/attention.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

#ifdef PMPP_BENCH_HAS_CUBLAS
#include "support/cublas.hpp"
#endif

namespace {

using bench::subject;

struct shape {
  std::int64_t batch, heads, key_heads, queries, keys, size;
  bool causal;

  std::int64_t q_size() const { return batch * heads * queries * size; }
  std::int64_t k_size() const { return batch * key_heads * keys * size; }
  std::int64_t pairs() const { return batch * key_heads; }             ///< of a sequence and a head of keys
  std::int64_t rows() const { return queries * (heads / key_heads); }  ///< of a pair
  std::int64_t seen_by(std::int64_t query) const { return causal ? keys - queries + query + 1 : keys; }
  std::int64_t operations() const {
    const std::int64_t seen = causal ? queries * (keys - queries) + queries * (queries + 1) / 2 : queries * keys;
    return 4 * batch * heads * seen * size;
  }
};

std::string text_of(const shape& s) {
  const auto times = [](std::int64_t a, std::int64_t b) { return std::to_string(a) + "x" + std::to_string(b); };
  return times(s.batch, s.heads) + (s.heads == s.key_heads ? "" : "/" + std::to_string(s.key_heads)) + " " +
         times(s.queries, s.keys) + " of " + std::to_string(s.size) + (s.causal ? " causal" : "");
}

#ifdef PMPP_BENCH_HAS_CUBLAS
using bench::check;
/// A block a row, of `keys` scores: of query `row % queries`, which sees the first keys - queries + query + 1 if causal.
template <class T>
__global__ void softmax_of_rows(T* scores, std::int64_t keys, std::int64_t queries, bool causal) {
  __shared__ float parts[32];
  const auto over_block = [&](float x, auto op) {
    for (int d = 16; d > 0; d /= 2) x = op(x, __shfl_xor_sync(~0u, x, d));
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = parts[0];
    for (unsigned w = 1; w < blockDim.x / 32; ++w) x = op(x, parts[w]);
    return x;
  };
  T* const row = scores + blockIdx.x * keys;
  const std::int64_t seen = causal ? keys - queries + blockIdx.x % queries + 1 : keys;
  float most = -INFINITY, sum = 0;
  for (std::int64_t j = threadIdx.x; j < seen; j += blockDim.x) most = fmaxf(most, static_cast<float>(row[j]));
  most = over_block(most, [](float a, float b) { return fmaxf(a, b); });
  for (std::int64_t j = threadIdx.x; j < seen; j += blockDim.x) sum += __expf(static_cast<float>(row[j]) - most);
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (std::int64_t j = threadIdx.x; j < keys; j += blockDim.x)
    row[j] = static_cast<T>(j < seen ? __expf(static_cast<float>(row[j]) - most) / sum : 0.0f);
}

/// Each pair's rows at once. cuBLAS is column-major: scores' = k q', out' = v' scores'.
template <class T>
void unfused(const shape& s, const T* q, const T* k, const T* v, T* scores, T* out) {
  const auto type = std::is_same_v<T, float> ? CUDA_R_32F : std::is_same_v<T, __half> ? CUDA_R_16F : CUDA_R_16BF;
  const auto m = int(s.rows()), n = int(s.keys), d = int(s.size), pairs = int(s.pairs());
  const float scale = 1 / std::sqrt(float(d)), one = 1, zero = 0;
  const long long of_q = s.rows() * d, of_k = s.keys * d, of_scores = s.rows() * s.keys;
  check(cublasGemmStridedBatchedEx(bench::cublas_handle(), CUBLAS_OP_T, CUBLAS_OP_N, n, m, d, &scale, k, type, d, of_k,
                                   q, type, d, of_q, &zero, scores, type, n, of_scores, pairs, CUBLAS_COMPUTE_32F,
                                   CUBLAS_GEMM_DEFAULT));
  softmax_of_rows<<<unsigned(s.pairs() * s.rows()), 256, 0, bench::here().stream>>>(scores, s.keys, s.queries,
                                                                                    s.causal);
  pmpp::check(cudaGetLastError(), "softmax_of_rows");
  check(cublasGemmStridedBatchedEx(bench::cublas_handle(), CUBLAS_OP_N, CUBLAS_OP_N, d, m, n, &one, v, type, d, of_k,
                                   scores, type, n, of_scores, &zero, out, type, d, of_q, pairs, CUBLAS_COMPUTE_32F,
                                   CUBLAS_GEMM_DEFAULT));
}
#endif

template <class T>
void add_attention(const std::string& name, const shape& s) {
  const std::int64_t q_size = s.q_size(), k_size = s.k_size();
  bench::add(name + " " + text_of(s), s.operations(), double(2 * q_size + 2 * k_size) * sizeof(T), [=](int windows) {
    const auto q = bench::random_array<T>(windows * q_size);
    const auto k = bench::random_array<T>(windows * k_size, bench::second);
    const auto v = bench::random_array<T>(windows * k_size, 2 * bench::second);
    const auto out = bench::array<T>(q_size);
    subject x;
    x.contenders = {{"pmpp", [=](int w) {
                       const auto cached = [&](const T* data) {
                         return pmpp::bhsd(data + w * k_size, s.batch, s.key_heads, s.keys, s.size);
                       };
                       const T* const from = q->data() + w * q_size;
                       pmpp::attention(bench::device(), pmpp::bhsd(from, s.batch, s.heads, s.queries, s.size),
                                       cached(k->data()), cached(v->data()),
                                       pmpp::bhsd(out->data(), s.batch, s.heads, s.queries, s.size),
                                       {.causal = s.causal});
                     }}};
#ifdef PMPP_BENCH_HAS_CUBLAS
    const auto scores = bench::array<T>(s.pairs() * s.rows() * s.keys);
    x.contenders.push_back({"cublas and softmax", [=](int w) {
                              unfused(s, q->data() + w * q_size, k->data() + w * k_size, v->data() + w * k_size,
                                      scores->data(), out->data());
                            }});
#endif
    x.spoil = [=] { bench::spoil(out); };
    x.fault = [=] {
      const auto element = [](std::int64_t i) { return double(static_cast<float>(bench::random_element<T>{}(i))); };
      // Of long rows fewer places: each takes a millisecond for 8192 keys.
      const int places = static_cast<int>(std::max<std::int64_t>(4, std::min<std::int64_t>(64, (1 << 17) / s.keys)));
      for (int place = 0; place < places; ++place) {
        const auto bits = static_cast<std::int64_t>(bench::random_bits(place) >> 1);
        const std::int64_t column = bits % s.size, query = place == 0 ? s.queries - 1 : bits / 1009 % s.queries;
        const std::int64_t head = bits / 7 % (s.batch * s.heads), vector = head * s.queries + query;
        const std::int64_t of_keys = bench::second + head / (s.heads / s.key_heads) * s.keys * s.size;
        double sum = 0, mean = 0;  // no score is above 12, so that its exponential needs no shift
        for (std::int64_t j = 0; j < s.seen_by(query); ++j) {
          double score = 0;
          for (std::int64_t i = 0; i < s.size; ++i)
            score += element(vector * s.size + i) * element(of_keys + j * s.size + i);
          const double weight = std::exp(score / std::sqrt(double(s.size)));
          sum += weight;
          mean += weight * element(bench::second + of_keys + j * s.size + column);
        }
        T got;
        pmpp::copy(bench::here().stream, std::span<const T>(out->data() + vector * s.size + column, 1),
                   std::span<T>(&got, 1));
        bench::here().stream.synchronize();
        // Values are below 1. The peer rounds scores and weights to T: each is wrong by a share of its last digit.
        const double digit = std::is_same_v<T, float> ? 0x1p-16 : std::is_same_v<T, __half> ? 0x1p-9 : 0x1p-6;
        if (!(std::abs(double(static_cast<float>(got)) - mean / sum) <= digit))
          return "at " + std::to_string(vector) + ", " + std::to_string(column);
      }
      return std::string();
    };
    return x;
  });
}

void add_cases() {
  for (const std::int64_t size : {64, 128})
    for (const bool causal : {false, true})
      for (const std::int64_t words : {512, 4096, 16384}) {  // 16 K words in all, 2,048 columns
        const shape s{16384 / words, 2048 / size, 2048 / size, words, words, size, causal};
        if (words < 16384) add_attention<__half>("prompt f16", s);  // the peer's scores take 8 and 16 GB there
        add_attention<__nv_bfloat16>("prompt bf16", s);
      }
  add_attention<float>("prompt f32", {4, 16, 16, 4096, 4096, 128, true});
  for (const std::int64_t batch : {1, 16})  // a word of each sequence, of a cache; 8 heads of queries to one of keys
    for (const std::int64_t cached : {4096, 65536})
      add_attention<__nv_bfloat16>("word bf16", {batch, 64, 8, 1, cached, 128, true});
  add_attention<__nv_bfloat16>("word bf16", {16, 32, 32, 1, 8192, 128, true});
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
