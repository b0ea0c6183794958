// SPDX-License-Identifier: Apache-2.0
//
// Matrix-vector products of a sweep, beside cuBLAS. Without cuBLAS there is no peer, and nothing to do.
#include <cublas_v2.h>

#include <pmpp/gemm.hpp>

#include "sweep.hpp"

#include <string>

#include <stdexcept>

namespace {

using namespace sweep;

cublasHandle_t handle() {
  static const cublasHandle_t made = [] {
    cublasHandle_t h = nullptr;
    if (cublasCreate(&h) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasCreate failed");
    cublasSetStream(h, stream());
    return h;
  }();
  return made;
}

/// y <- A x. The elements of a row lie next to each other, or those of a column.
template <class T, bool ByRows>
void product(trial& t) {
  t.draw_size(sizeof(T), 400'000'000);
  i64 rows = std::max<i64>(1, i64(std::sqrt(double(t.n))));
  if (t.draw.chance(0.6)) rows = t.draw.log_uniform(1, t.n);
  const i64 cols = std::max<i64>(1, t.n / rows), n = rows * cols;
  const i64 length = ByRows ? cols : rows, stride = length + t.draw_gap(0.7, ByRows ? rows : cols, length);
  t.n = n;
  t.add(" " + std::to_string(rows) + " x " + std::to_string(cols) + " stride " + std::to_string(stride));
  t.set_bytes(double(n + rows + cols) * sizeof(T));
  const auto in = t.input<T>((ByRows ? rows : cols) * stride, pattern::random);
  const auto x = t.input<T>(cols, pattern::random);
  const auto [mine, theirs] = t.outputs<T>(rows);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             const pmpp::matrix_view<const T> A = ByRows
                                                      ? pmpp::matrix_view<const T>(in(s), rows, cols, stride, i64(1))
                                                      : pmpp::matrix_view<const T>(in(s), rows, cols, i64(1), stride);
             pmpp::gemv(device(), T(1), A, static_cast<const T*>(x(s)), T(0), a);
           },
           {}};
  t.peers.push_back({"cublas",
                     [=](int s) {
                       const T one = 1, zero = 0;
                       const auto operation = ByRows ? CUBLAS_OP_T : CUBLAS_OP_N;
                       const int m = int(ByRows ? cols : rows), k = int(ByRows ? rows : cols), lda = int(stride);
                       cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
                       if constexpr (sizeof(T) == 4)
                         status = cublasSgemv(handle(), operation, m, k, &one, in(s), lda, x(s), 1, &zero, b, 1);
                       else
                         status = cublasDgemv(handle(), operation, m, k, &one, in(s), lda, x(s), 1, &zero, b, 1);
                       if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("gemv failed");
                     },
                     {}});
  t.fault = [=] { return difference_of(stream(), "y", a, b, rows, double(cols) + 1); };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("gemv", argc, argv,
                    {{"f32 by rows", product<float, true>},
                     {"f32 by columns", product<float, false>},
                     {"f64 by rows", product<double, true>},
                     {"f64 by columns", product<double, false>}});
}
