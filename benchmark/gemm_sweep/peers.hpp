// SPDX-License-Identifier: Apache-2.0
//
// What a user of cuBLAS can pick for a product: cublasGemmEx as it is, for floats also with pedantic arithmetic, and what
// cublasLt proposes, eight algorithms with 64 MiB of workspace. cuBLAS is column-major: C' = B' A'.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <functional>
#include <string>
#include <vector>

#include <pmpp/memory/device_buffer.hpp>

#include "gemm_sweep/shapes.hpp"

namespace sweep {

/// What a type is to cuBLAS.
struct peer_types {
  cudaDataType factors, result, scale;
  cublasComputeType_t compute;
  bool pedantic;               ///< there is a pedantic variant too
  bool fast_of_bytes = false;  ///< 8-bit floats are added up by tensor cores alone
};

/// One way to a product; false: cuBLAS cannot do it.
struct peer {
  std::string name;
  std::function<bool(const void* a, const void* b, void* c)> call;
};

class peers {
public:
  static constexpr std::size_t room = std::size_t(64) << 20;

  explicit peers(cudaStream_t stream) : stream_(stream), workspace_(room) {
    cublasCreate(&handle_);
    cublasSetStream(handle_, stream);
    cublasSetWorkspace(handle_, workspace_.data(), room);
    cublasLtCreate(&light_);
  }

  /// `bias`: for each column of C, with relu; then cublasLt alone can do it.
  std::vector<peer> of(const shape& s, const peer_types& t, const void* bias) {
    std::vector<peer> result;
    if (bias == nullptr) {
      result.push_back({"default", plain(s, t, t.compute)});
      if (t.pedantic) result.push_back({"pedantic", plain(s, t, CUBLAS_COMPUTE_32F_PEDANTIC)});
    }
    for (const proposal& found : proposals(s, t, bias))
      result.push_back({"lt" + std::to_string(result.size()), [=, this](const void* a, const void* b, void* c) {
                          scalar one, beta;
                          fill(t, s, one, beta);
                          return cublasLtMatmul(light_, operation_, one.bytes, b, left_, a, right_, beta.bytes, c, out_,
                                                c, out_, reinterpret_cast<const cublasLtMatmulAlgo_t*>(found.algorithm),
                                                workspace_.data(), room, stream_) == CUBLAS_STATUS_SUCCESS;
                        }});
    return result;
  }

private:
  struct scalar {
    alignas(16) unsigned char bytes[16];
  };
  /// The bytes of cublasLt's: nvcc 13.0 fails on a vector of that type.
  struct proposal {
    alignas(8) unsigned char algorithm[sizeof(cublasLtMatmulAlgo_t)];
  };
  static void fill(const peer_types& t, const shape& s, scalar& one, scalar& beta) {
    const auto put = [](scalar& to, auto value) { __builtin_memcpy(to.bytes, &value, sizeof value); };
    const double b = s.beta ? 0.5 : 0;
    if (t.scale == CUDA_R_64F)
      put(one, 1.0), put(beta, b);
    else if (t.scale == CUDA_C_64F)
      put(one, double2{1, 0}), put(beta, double2{b, 0});
    else if (t.scale == CUDA_C_32F)
      put(one, float2{1, 0}), put(beta, float2{float(b), 0});
    else if (t.scale == CUDA_R_32I)
      put(one, std::int32_t(1)), put(beta, std::int32_t(b > 0));
    else
      put(one, 1.0f), put(beta, float(b));
  }

  std::function<bool(const void*, const void*, void*)> plain(const shape& s, const peer_types& t,
                                                             cublasComputeType_t compute) {
    return [=, this](const void* a, const void* b, void* c) {
      scalar one, beta;
      fill(t, s, one, beta);
      const auto op = [](int transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
      const int m = int(s.m), n = int(s.n), k = int(s.k), lda = int(s.lda()), ldb = int(s.ldb()), ldc = int(s.ldc());
      if (s.batch == 1)
        return cublasGemmEx(handle_, op(s.tb), op(s.ta), n, m, k, one.bytes, b, t.factors, ldb, a, t.factors, lda,
                            beta.bytes, c, t.result, ldc, compute, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
      return cublasGemmStridedBatchedEx(handle_, op(s.tb), op(s.ta), n, m, k, one.bytes, b, t.factors, ldb,
                                        s.share_b ? 0 : s.b_size(), a, t.factors, lda, s.a_size(), beta.bytes, c,
                                        t.result, ldc, s.c_size(), int(s.batch), compute,
                                        CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
    };
  }

  std::vector<proposal> proposals(const shape& s, const peer_types& t, const void* bias) {
    clear();
    cublasLtMatmulDescCreate(&operation_, t.compute, t.scale);
    const auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
      cublasLtMatmulDescSetAttribute(operation_, which, &value, sizeof value);
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, s.tb ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, s.ta ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (t.fast_of_bytes) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t(1));
    if (bias != nullptr) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    const auto layout = [&](cublasLtMatrixLayout_t& to, cudaDataType type, std::int64_t rows, std::int64_t cols,
                            std::int64_t ld, std::int64_t step) {
      cublasLtMatrixLayoutCreate(&to, type, std::uint64_t(rows), std::uint64_t(cols), ld);
      const int count = int(s.batch);
      cublasLtMatrixLayoutSetAttribute(to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
      cublasLtMatrixLayoutSetAttribute(to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step);
    };
    layout(left_, t.factors, s.tb ? s.k : s.n, s.tb ? s.n : s.k, s.ldb(), s.share_b ? 0 : s.b_size());
    layout(right_, t.factors, s.ta ? s.m : s.k, s.ta ? s.k : s.m, s.lda(), s.a_size());
    layout(out_, t.result, s.n, s.m, s.ldc(), s.c_size());
    cublasLtMatmulPreference_t wish;
    cublasLtMatmulPreferenceCreate(&wish);
    cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room);
    cublasLtMatmulHeuristicResult_t found[8];
    int count = 0;
    if (cublasLtMatmulAlgoGetHeuristic(light_, operation_, left_, right_, out_, out_, wish, 8, found, &count) !=
        CUBLAS_STATUS_SUCCESS)
      count = 0;
    cublasLtMatmulPreferenceDestroy(wish);
    std::vector<proposal> usable;
    for (int i = 0; i < count; ++i)
      if (found[i].state == CUBLAS_STATUS_SUCCESS && found[i].workspaceSize <= room) {
        usable.emplace_back();
        __builtin_memcpy(usable.back().algorithm, &found[i].algo, sizeof(cublasLtMatmulAlgo_t));
      }
    return usable;
  }

  void clear() {
    if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
    for (cublasLtMatrixLayout_t* y : {&left_, &right_, &out_}) {
      if (*y != nullptr) cublasLtMatrixLayoutDestroy(*y);
      *y = nullptr;
    }
    operation_ = nullptr;
  }

  cudaStream_t stream_;
  pmpp::device_buffer<char> workspace_;
  cublasHandle_t handle_ = nullptr;
  cublasLtHandle_t light_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr, right_ = nullptr, out_ = nullptr;
};

}  // namespace sweep
