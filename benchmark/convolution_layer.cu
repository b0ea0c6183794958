// SPDX-License-Identifier: Apache-2.0
//
// Convolution layers of common networks. The peer is cuBLAS's product of the same size, m = pixels of the output, n =
// filters, k = taps x channels, of matrices that are there already: what is left if looking up the windows cost nothing.
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include <pmpp/convolution_layer.hpp>

#include <cuda_bf16.h>
#ifdef PMPP_BENCH_HAS_CUBLAS
#include <cublas_v2.h>
#endif

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

/// Between -1 and 1.
template <>
struct bench::random_element<__nv_bfloat16> {
  PMPP_HOST_DEVICE __nv_bfloat16 operator()(std::int64_t i) const {
    return __nv_bfloat16(static_cast<float>(static_cast<std::int64_t>(bench::random_bits(i)) >> 40) * 0x1p-23f);
  }
};

namespace {

using bench::subject;

struct shape {
  std::int64_t images, channels, side, filters, taps, stride = 1, groups = 1;
  bool channels_first = false;

  std::int64_t padding() const { return taps / 2; }
  std::int64_t out_side() const { return (side + 2 * padding() - taps) / stride + 1; }
  std::int64_t pixels() const { return images * out_side() * out_side(); }
  std::int64_t k() const { return taps * taps * channels / groups; }
  std::int64_t in_size() const { return images * side * side * channels; }
  std::string text() const {
    return "N" + std::to_string(images) + " C" + std::to_string(channels) + " H" + std::to_string(side) + " K" +
           std::to_string(filters) + " r" + std::to_string(taps) + (stride > 1 ? " s" + std::to_string(stride) : "") +
           (groups > 1 ? " g" + std::to_string(groups) : "") + (channels_first ? " nchw" : "");
  }
  template <class T>
  pmpp::channels_view<T> view(T* data, std::int64_t n, std::int64_t extent, std::int64_t depth) const {
    return channels_first ? pmpp::nchw(data, n, depth, extent, extent) : pmpp::nhwc(data, n, extent, extent, depth);
  }
};

#ifdef PMPP_BENCH_HAS_CUBLAS
void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

cublasHandle_t handle() {
  static const cublasHandle_t h = [] {
    static const pmpp::device_buffer<char> room(std::int64_t(64) << 20);
    cublasHandle_t made;
    check(cublasCreate(&made));
    check(cublasSetStream(made, bench::here().stream));
    check(cublasSetWorkspace(made, const_cast<char*>(room.data()), std::size_t(room.size())));
    return made;
  }();
  return h;
}

template <class T>
void product(const shape& s, const T* windows, const T* filters, T* out) {
  const float one = 1, zero = 0;
  const cudaDataType type = sizeof(T) == 2 ? CUDA_R_16BF : CUDA_R_32F;
  const int k = int(s.k()), n = int(s.filters);
  check(cublasGemmEx(handle(), CUBLAS_OP_T, CUBLAS_OP_N, n, int(s.pixels()), k, &one, filters, type, k, windows, type,
                     k, &zero, out, type, n, sizeof(T) == 2 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_PEDANTIC,
                     CUBLAS_GEMM_DEFAULT));
}
#endif

/// What one element of the output is.
template <class T>
double exact(const shape& s, std::int64_t image, std::int64_t y, std::int64_t x, std::int64_t filter) {
  const bench::random_element<T> element;
  const std::int64_t channels = s.channels / s.groups, first = filter / (s.filters / s.groups) * channels;
  const auto place = [&](std::int64_t n, std::int64_t row, std::int64_t col, std::int64_t c, std::int64_t extent,
                         std::int64_t depth) {
    return s.channels_first ? ((n * depth + c) * extent + row) * extent + col
                            : ((n * extent + row) * extent + col) * depth + c;
  };
  double sum = 0;
  for (std::int64_t r = 0; r < s.taps; ++r)
    for (std::int64_t t = 0; t < s.taps; ++t) {
      const std::int64_t from_y = y * s.stride + r - s.padding(), from_x = x * s.stride + t - s.padding();
      if (from_y < 0 || from_y >= s.side || from_x < 0 || from_x >= s.side) continue;
      for (std::int64_t c = 0; c < channels; ++c)
        sum += double(float(element(place(image, from_y, from_x, first + c, s.side, s.channels)))) *
               double(float(element(bench::second + place(filter, r, t, c, s.taps, channels))));
    }
  return sum;
}

template <class T>
void add_layer(const std::string& name, const shape& s) {
  const std::int64_t out_size = s.pixels() * s.filters, filter_size = s.filters * s.k();
  bench::add(
      name + " " + s.text(), s.pixels(), double(s.in_size() + filter_size + out_size) * sizeof(T), [=](int windows) {
        const auto in = bench::random_array<T>(windows * s.in_size());
        const auto filters = bench::random_array<T>(filter_size, bench::second);
        const auto out = bench::array<T>(out_size);
        subject x;
        x.contenders = {{"pmpp", [=](int w) {
                           const T* from = in->data() + w * s.in_size();
                           const T* taps = filters->data();
                           pmpp::convolution_layer(bench::device(), s.view(from, s.images, s.side, s.channels),
                                                   s.view(taps, s.filters, s.taps, s.channels / s.groups),
                                                   s.view(out->data(), s.images, s.out_side(), s.filters),
                                                   {.stride_y = s.stride,
                                                    .stride_x = s.stride,
                                                    .padding_y = s.padding(),
                                                    .padding_x = s.padding(),
                                                    .groups = s.groups});
                         }}};
        x.spoil = [=] { bench::spoil(out); };
        x.fault = [=] {
          for (int place = 0; place < 64; ++place) {
            const auto i = static_cast<std::int64_t>(bench::random_bits(place) >> 1) % out_size;
            const std::int64_t area = s.out_side() * s.out_side();
            const std::int64_t pixel = s.channels_first ? i / (area * s.filters) * area + i % area : i / s.filters,
                               filter = s.channels_first ? i / area % s.filters : i % s.filters,
                               line = pixel / s.out_side();
            T got;
            pmpp::copy(bench::here().stream, std::span<const T>(out->data() + i, 1), std::span<T>(&got, 1));
            bench::here().stream.synchronize();
            const double wanted = exact<T>(s, line / s.out_side(), line % s.out_side(), pixel % s.out_side(), filter);
            const double eps = sizeof(T) == 2 ? 0x1p-8 : 0x1p-24 * double(s.k());
            if (!(std::abs(double(float(got)) - wanted) <= eps * (std::abs(wanted) + std::sqrt(double(s.k())))))
              return "element " + std::to_string(i);
          }
          return std::string();
        };
        return x;
      });
#ifdef PMPP_BENCH_HAS_CUBLAS
  if (s.groups > 1 || s.channels_first) return;
  bench::add(name + " cuBLAS's product " + s.text(), s.pixels(),
             double(s.pixels() * s.k() + filter_size + out_size) * sizeof(T), [=](int windows) {
               const auto in = bench::random_array<T>(windows * s.pixels() * s.k());
               const auto filters = bench::random_array<T>(filter_size, bench::second);
               const auto out = bench::array<T>(out_size);
               subject x;
               x.contenders = {{"cublas", [=](int w) {
                                  product(s, in->data() + w * s.pixels() * s.k(), filters->data(), out->data());
                                }}};
               return x;
             });
#endif
}

void add_cases() {
  for (const shape& s : {shape{32, 64, 56, 64, 3},
                         {32, 128, 28, 128, 3},
                         {32, 256, 14, 256, 3},
                         {32, 3, 224, 64, 7, 2},
                         {32, 512, 7, 512, 3},
                         {32, 256, 56, 64, 1},
                         {32, 128, 56, 128, 3, 1, 128},
                         {32, 64, 56, 64, 3, 1, 1, true},
                         {32, 128, 28, 128, 3, 1, 1, true},
                         {32, 256, 14, 256, 3, 1, 1, true},
                         {32, 256, 56, 64, 1, 1, 1, true},
                         {32, 128, 56, 128, 3, 1, 128, true}})
    add_layer<__nv_bfloat16>("bf16", s);
  for (const shape& s :
       {shape{32, 64, 56, 64, 3}, {32, 128, 28, 128, 3}, {32, 256, 14, 256, 3}, {32, 3, 224, 64, 7, 2}})
    add_layer<float>("f32", s);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
