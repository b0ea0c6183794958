// SPDX-License-Identifier: Apache-2.0
//
// Transposition beside cuBLAS's geam, where its library is found when the program runs. What a transposition can reach
// is the copy's rate, in the last column of the table.
#if __has_include(<cublas_v2.h>)
#include <string>

#include <cublas_v2.h>
#include <dlfcn.h>
#define BENCH_CUBLAS 1
#endif

#include <pmpp/transpose.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;
using pmpp::matrix_view;

/// An element of this many bytes.
template <int Bytes>
struct bytes {
  std::uint32_t word[Bytes / 4];
};

}  // namespace

template <int Bytes>
struct bench::random_element<bytes<Bytes>> {
  PMPP_HOST_DEVICE bytes<Bytes> operator()(std::int64_t i) const {
    bytes<Bytes> x;
    for (int k = 0; k < Bytes / 4; ++k) x.word[k] = static_cast<std::uint32_t>(bench::random_bits(4 * i + k));
    return x;
  }
};

namespace {

/// Counts the elements of B whose bytes are not those of A's.
template <class T>
__global__ void count_wrong_elements(matrix_view<const T> a, matrix_view<const T> b, unsigned long long* wrong) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x, n = a.rows() * a.cols();
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads) {
    const T x = a(i / a.cols(), i % a.cols()), y = b(i % a.cols(), i / a.cols());
    const auto *p = reinterpret_cast<const unsigned char*>(&x), *q = reinterpret_cast<const unsigned char*>(&y);
    bool same = true;
    for (std::size_t k = 0; k < sizeof(T); ++k) same = same && p[k] == q[k];
    if (!same) atomicAdd(wrong, 1ull);
  }
}

template <class T>
std::string difference(matrix_view<const T> a, matrix_view<const T> b) {
  pmpp::device_buffer<unsigned long long> wrong(1, 0ull);
  count_wrong_elements<T><<<1024, 256, 0, bench::here().stream>>>(a, b, wrong.data());
  const unsigned long long count = pmpp::to_host(bench::here().stream, wrong)[0];
  return count == 0 ? std::string() : std::to_string(count) + " elements differ";
}

#if BENCH_CUBLAS
/// The library's functions for floats, loaded when the program runs: programs that lack it still run.
struct cublas {
  cublasHandle_t handle = nullptr;
  decltype(&cublasSgeam) geam = nullptr;

  cublas() {
    void* library = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    if (library == nullptr) return;
    const auto create = reinterpret_cast<cublasStatus_t (*)(cublasHandle_t*)>(dlsym(library, "cublasCreate_v2"));
    const auto set_stream =
        reinterpret_cast<cublasStatus_t (*)(cublasHandle_t, cudaStream_t)>(dlsym(library, "cublasSetStream_v2"));
    if (create(&handle) != CUBLAS_STATUS_SUCCESS) return;
    set_stream(handle, bench::here().stream);
    geam = reinterpret_cast<decltype(geam)>(dlsym(library, "cublasSgeam"));
  }
  static cublas& here() {
    static cublas library;
    return library;
  }
};
#endif

/// Rows begin `gap` elements after the end of the row before; both views start `shift` elements after a boundary.
template <class T, pmpp::transpose_tuning Tuning = pmpp::transpose_tuning{}>
void add_transpose(const std::string& name, std::int64_t rows, std::int64_t cols, int gap = 0, bool copies = false) {
  const std::int64_t n = rows * cols;
  bench::add(name + " " + std::to_string(rows) + " x " + std::to_string(cols), n, 2.0 * double(n) * sizeof(T),
             [=](int windows) {
               const std::int64_t room = rows * (cols + gap), room_out = cols * (rows + gap);
               const auto in = bench::random_array<T>(windows * room);
               const auto out = bench::array<T>(room_out > room ? room_out : room);
               const auto a = [=](int w) {
                 const matrix_view<const T> v(in->data() + w * room, rows, cols, cols + gap);
                 return v;
               };
               const auto b = [=] {
                 if (copies) return transposed(matrix_view<T>(out->data(), rows, cols, cols + gap));
                 return matrix_view<T>(out->data(), cols, rows, rows + gap);
               };
               subject s;
               s.contenders = {{"pmpp", [=](int w) { pmpp::transpose<Tuning>(bench::device(), a(w), b()); }}};
#if BENCH_CUBLAS
               if constexpr (std::is_same_v<T, float>)
                 if (!copies && cublas::here().geam != nullptr)
                   s.contenders.push_back({"cublas", [=](int w) {
                                             const float one = 1, zero = 0;
                                             cublas::here().geam(cublas::here().handle, CUBLAS_OP_T, CUBLAS_OP_N,
                                                                 int(rows), int(cols), &one, a(w).data(),
                                                                 int(cols + gap), &zero, out->data(), int(rows + gap),
                                                                 out->data(), int(rows + gap));
                                           }});
#endif
               s.spoil = [=] { bench::spoil(out); };
               s.fault = [=] { return difference<T>(a(0), b()); };
               return s;
             });
}

template <class T, pmpp::transpose_tuning Tuning = pmpp::transpose_tuning{}>
void add_in_place(const std::string& name, std::int64_t n) {
  bench::add(name + " " + std::to_string(n), n * n, 2.0 * double(n * n) * sizeof(T), [=](int windows) {
    const auto data = bench::random_array<T>(windows * n * n);
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       const matrix_view<T> v(data->data() + w * n * n, n, n);
                       pmpp::transpose<Tuning>(bench::device(), v, v);
                     }}};
    s.fault = [=] {
      const auto before = bench::random_array<T>(n * n);
      return difference<T>(matrix_view<const T>(before->data(), n, n), matrix_view<const T>(data->data(), n, n));
    };
    return s;
  });
}

#if PMPP_BENCH_SWEEP
template <class T>
void add_sweep(const std::string& name, std::int64_t rows, std::int64_t cols) {
  add_transpose<T, pmpp::transpose_tuning{.threads = 128, .vectors = 8}>(name + " 128 x 8", rows, cols);
  add_transpose<T, pmpp::transpose_tuning{.threads = 256, .vectors = 4}>(name + " 256 x 4", rows, cols);
  add_transpose<T, pmpp::transpose_tuning{.threads = 256, .vectors = 8}>(name + " 256 x 8", rows, cols);
  add_transpose<T, pmpp::transpose_tuning{.threads = 512, .vectors = 4}>(name + " 512 x 4", rows, cols);
  add_transpose<T, pmpp::transpose_tuning{.threads = 512, .vectors = 8}>(name + " 512 x 8", rows, cols);
}
template <class T>
void add_items(const std::string& name, std::int64_t rows, std::int64_t cols) {
  add_transpose<T, pmpp::transpose_tuning{.threads = 256, .vectors = 8, .items = 4}>(name + " 4", rows, cols);
  add_transpose<T, pmpp::transpose_tuning{.threads = 256, .vectors = 8, .items = 8}>(name + " 8", rows, cols);
  add_transpose<T, pmpp::transpose_tuning{.threads = 256, .vectors = 8, .items = 16}>(name + " 16", rows, cols);
}
#endif

void add_cases() {
  for (const std::int64_t n : {256, 1024, 2048, 4096, 8192, 16384}) add_transpose<float>("f32", n, n);
  add_transpose<float>("f32", 8191, 8193);
  add_transpose<float>("f32", 3001, 3333);
  add_transpose<float>("f32", 333, 200003);
  add_transpose<float>("f32 rows 1 apart", 8192, 8192, 1);
  add_transpose<float>("f32 rows 16 apart", 8000, 8004, 16);
  add_transpose<float>("f32 narrow", std::int64_t(1) << 24, 3);
  add_transpose<float>("f32 low", 3, std::int64_t(1) << 24);
  add_transpose<float>("f32 narrow", std::int64_t(1) << 22, 16);
  add_transpose<float>("f32 low", 16, std::int64_t(1) << 22);
  add_transpose<std::uint8_t>("u8", 1024, 1024);
  add_transpose<std::uint8_t>("u8", 16384, 16384);
  add_transpose<std::uint8_t>("u8", 16383, 16385);
  add_transpose<std::uint16_t>("u16", 16384, 8192);
  add_transpose<std::uint16_t>("u16", 16383, 8193);
  add_transpose<double>("f64", 8192, 4096);
  add_transpose<double>("f64", 8191, 4097);
  add_transpose<bytes<16>>("16 bytes", 4096, 4096);
  add_transpose<bytes<12>>("12 bytes", 4096, 4096);
  add_transpose<float>("f32 copied", 8192, 8192, 16, true);
  add_transpose<float>("f32 copied", 8191, 8193, 6, true);
  add_in_place<float>("f32 in place", 8192);
  add_in_place<float>("f32 in place", 8191);
  add_in_place<std::uint8_t>("u8 in place", 16384);
  add_in_place<std::uint8_t>("u8 in place", 16383);
#if PMPP_BENCH_SWEEP
  add_sweep<float>("sweep f32", 1024, 1024);
  add_sweep<float>("sweep f32", 8192, 8192);
  add_sweep<std::uint8_t>("sweep u8", 16384, 16384);
  add_sweep<std::uint16_t>("sweep u16", 16384, 8192);
  add_items<float>("items f32", 8191, 8193);
  add_items<float>("items f32", std::int64_t(1) << 24, 3);
  add_items<std::uint8_t>("items u8", 16383, 16385);
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
