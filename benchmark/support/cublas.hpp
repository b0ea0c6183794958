// SPDX-License-Identifier: Apache-2.0
//
// The handle of cuBLAS that peers are called through: on the stream of the benchmark, with 64 MiB of workspace made once.
#pragma once

#include <stdexcept>

#include <cublas_v2.h>

#include <pmpp/memory/device_buffer.hpp>

#include "support/bench.hpp"

namespace bench {

inline void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

template <cublasMath_t Mode = CUBLAS_DEFAULT_MATH>
cublasHandle_t cublas_handle() {
  static const cublasHandle_t h = [] {
    static pmpp::device_buffer<char> room(64 << 20);
    cublasHandle_t made;
    check(cublasCreate(&made));
    check(cublasSetStream(made, here().stream));
    check(cublasSetMathMode(made, Mode));
    check(cublasSetWorkspace(made, room.data(), room.size()));
    return made;
  }();
  return h;
}

}  // namespace bench
