// SPDX-License-Identifier: Apache-2.0
//
// Transposes of a sweep, beside cuBLAS's geam (elements of 4, 8 and 16 bytes) and the textbook's kernel, a tile of 32 x 32
// elements in shared memory, which also says what the result is.
#ifdef PMPP_BENCH_HAS_CUBLAS
#include <cublas_v2.h>
#endif

#include <pmpp/transpose.hpp>

#include "sweep.hpp"

#include <string>

#include <stdexcept>

namespace {

using namespace sweep;

template <class T>
__global__ void textbook_transpose(const T* a, i64 a_stride, i64 rows, i64 cols, T* b, i64 b_stride) {
  __shared__ T tile[32][33];
  const i64 tiles_x = (cols + 31) / 32, x0 = blockIdx.x % tiles_x * 32, y0 = blockIdx.x / tiles_x * 32;
  for (int k = int(threadIdx.y); k < 32; k += 8)
    if (y0 + k < rows && x0 + threadIdx.x < cols) tile[k][threadIdx.x] = a[(y0 + k) * a_stride + x0 + threadIdx.x];
  __syncthreads();
  for (int k = int(threadIdx.y); k < 32; k += 8)
    if (x0 + k < cols && y0 + threadIdx.x < rows) b[(x0 + k) * b_stride + y0 + threadIdx.x] = tile[threadIdx.x][k];
}

#ifdef PMPP_BENCH_HAS_CUBLAS
cublasHandle_t handle() {
  static const cublasHandle_t made = [] {
    cublasHandle_t h = nullptr;
    if (cublasCreate(&h) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasCreate failed");
    cublasSetStream(h, stream());
    return h;
  }();
  return made;
}
template <class T>
void geam(i64 rows, i64 cols, const T* a, i64 lda, T* b, i64 ldb) {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  if constexpr (sizeof(T) == 4) {
    const float one = 1, zero = 0;
    status =
        cublasSgeam(handle(), CUBLAS_OP_T, CUBLAS_OP_N, int(rows), int(cols), &one, reinterpret_cast<const float*>(a),
                    int(lda), &zero, reinterpret_cast<float*>(b), int(ldb), reinterpret_cast<float*>(b), int(ldb));
  } else {
    const double one = 1, zero = 0;
    status =
        cublasDgeam(handle(), CUBLAS_OP_T, CUBLAS_OP_N, int(rows), int(cols), &one, reinterpret_cast<const double*>(a),
                    int(lda), &zero, reinterpret_cast<double*>(b), int(ldb), reinterpret_cast<double*>(b), int(ldb));
  }
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("geam failed");
}
#endif

/// Any shape of about n elements: square, tall, wide; even, odd.
template <class T>
void any_shape(trial& t) {
  t.draw_size(4 * sizeof(T));
  i64 rows = std::max<i64>(1, i64(std::sqrt(double(t.n))));
  if (t.draw.chance(0.4)) rows = t.draw.log_uniform(1, t.n);
  i64 cols = std::max<i64>(1, t.n / rows);
  if (t.draw.chance(0.4)) {
    rows = pmpp::ceil_div(rows, i64(16)) * 16;
    cols = std::max<i64>(1, t.n / rows / 16) * 16;  // of the rows as they are: a few may have become 16
  }
  const i64 gap = t.draw_gap(0.8, rows, cols);
  const i64 lda = cols + gap, n = rows * cols;
  t.n = n;
  t.add(" " + std::to_string(rows) + " x " + std::to_string(cols) + " gap " + std::to_string(gap));
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const auto in = t.input<T>(rows * lda, pattern::random);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::transpose(device(), pmpp::matrix_view<const T>(in(s), rows, cols, lda),
                             pmpp::matrix_view<T>(a, cols, rows));
           },
           {}};
  t.peers.push_back({"textbook",
                     [=](int s) {
                       const i64 tiles = pmpp::ceil_div(rows, i64(32)) * pmpp::ceil_div(cols, i64(32));
                       textbook_transpose<<<unsigned(tiles), dim3(32, 8), 0, stream()>>>(static_cast<const T*>(in(s)),
                                                                                         lda, rows, cols, b, rows);
                     },
                     {}});
#ifdef PMPP_BENCH_HAS_CUBLAS
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8)
    t.peers.push_back({"cublas", [=](int s) { geam<T>(rows, cols, in(s), lda, b, rows); }, {}});
#endif
  t.fault = [=] { return difference_of(stream(), "transposed", a, b, n); };
}
/// A square matrix in place: twice as many times it is what it was. No peer does it; the textbook's kernel out of place.
template <class T>
void in_place(trial& t) {
  t.draw_size(4 * sizeof(T));
  const i64 size = std::max<i64>(1, i64(std::sqrt(double(t.n)))), n = size * size;
  t.n = n;
  t.add(" " + std::to_string(size) + " x " + std::to_string(size) + " in place");
  t.set_bytes(2.0 * double(n) * sizeof(T));
  const auto in = t.input<T>(n, pattern::random);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {
      "pmpp",
      [=](int) { pmpp::transpose(device(), pmpp::matrix_view<T>(a, size, size), pmpp::matrix_view<T>(a, size, size)); },
      [=](int s) {
        pmpp::check(cudaMemcpyAsync(a, in(s), std::size_t(n) * sizeof(T), cudaMemcpyDeviceToDevice, stream()),
                    "a copy");
      }};
  t.peers.push_back({"textbook, out of place",
                     [=](int s) {
                       const i64 tiles = pmpp::ceil_div(size, i64(32)) * pmpp::ceil_div(size, i64(32));
                       textbook_transpose<<<unsigned(tiles), dim3(32, 8), 0, stream()>>>(static_cast<const T*>(in(s)),
                                                                                         size, size, size, b, size);
                     },
                     {}});
  t.fault = [=] { return difference_of(stream(), "transposed", a, b, n); };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("transpose", argc, argv,
                    {{"u8", any_shape<u8>},
                     {"u16", any_shape<u16>},
                     {"f32", any_shape<float>},
                     {"f32", any_shape<float>},
                     {"f64", any_shape<double>},
                     {"12 bytes", any_shape<words<3>>},
                     {"16 bytes", any_shape<words<4>>},
                     {"f32", in_place<u32>},
                     {"u8", in_place<u8>}});
}
