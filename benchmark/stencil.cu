// SPDX-License-Identifier: Apache-2.0
//
// Stencils beside a plain kernel, one thread an element, and beside the copy of the same bytes, which nothing that reads
// and writes as much can beat.
#include <string>
#include <utility>

#include <pmpp/stencil.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

struct extents {
  std::int64_t depth, height, width;
  std::int64_t count() const { return depth * height * width; }
};

/// What a thread of the plain kernel sees: elements, and zeros outside.
template <class T, int Dimensions>
struct plain_neighbours {
  static constexpr int dimensions = Dimensions, radius = 8;
  const T* in;
  extents size;
  std::int64_t z, y, x;

  PMPP_HOST_DEVICE T operator()(int dz, int dy, int dx) const {
    const std::int64_t i = z + dz, j = y + dy, k = x + dx;
    const bool inside = i >= 0 && i < size.depth && j >= 0 && j < size.height && k >= 0 && k < size.width;
    return inside ? in[(i * size.height + j) * size.width + k] : T(0);
  }
  PMPP_HOST_DEVICE T operator()(int dy, int dx) const { return (*this)(0, dy, dx); }
  PMPP_HOST_DEVICE T operator()(int dx) const { return (*this)(0, 0, dx); }
};

template <class T, int Dimensions, class F>
__global__ void plain_stencil(const T* in, T* out, extents size, F f) {
  const std::int64_t x = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t y = std::int64_t(blockIdx.y) * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x < size.width && y < size.height)
    out[(z * size.height + y) * size.width + x] = f(plain_neighbours<T, Dimensions>{in, size, z, y, x});
}

/// The same of the random data, made up on the host.
template <class T, int Dimensions>
struct random_neighbours {
  static constexpr int dimensions = Dimensions, radius = 8;
  extents size;
  std::int64_t z, y, x;

  PMPP_HOST_DEVICE T operator()(int dz, int dy, int dx) const {
    const std::int64_t i = z + dz, j = y + dy, k = x + dx;
    const bool inside = i >= 0 && i < size.depth && j >= 0 && j < size.height && k >= 0 && k < size.width;
    return inside ? bench::random_element<T>{}((i * size.height + j) * size.width + k) : T(0);
  }
  PMPP_HOST_DEVICE T operator()(int dy, int dx) const { return (*this)(0, dy, dx); }
  PMPP_HOST_DEVICE T operator()(int dx) const { return (*this)(0, 0, dx); }
};

template <class T, int Dimensions, int Radius, pmpp::stencil_tuning Tuning = pmpp::stencil_tuning{}, class F>
void add_stencil(const std::string& name, extents size, F f, pmpp::border::rule outside = pmpp::border::zero,
                 bool with_peers = true) {
  const std::int64_t n = size.count();
  bench::add(name, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const auto in = bench::random_array<T>(windows * n);
    const auto out = bench::array<T>(n);
    const auto of = [=](int w) { return in->data() + w * n; };
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       const auto where = bench::device();
                       const T* from = of(w);
                       T* to = out->data();
                       if constexpr (Dimensions == 3)
                         pmpp::stencil<Tuning>(where, pmpp::volume_view(from, size.depth, size.height, size.width),
                                               pmpp::volume_view(to, size.depth, size.height, size.width),
                                               pmpp::radius<Radius>, f, outside);
                       else if constexpr (Dimensions == 2)
                         pmpp::stencil<Tuning>(where, pmpp::matrix_view(from, size.height, size.width),
                                               pmpp::matrix_view(to, size.height, size.width), pmpp::radius<Radius>, f,
                                               outside);
                       else
                         pmpp::stencil<Tuning>(where, std::span(from, std::size_t(n)), std::span(to, std::size_t(n)),
                                               pmpp::radius<Radius>, f, outside);
                     }}};
    if (with_peers)
      s.contenders.push_back(
          {"plain", [=](int w) {
             const dim3 threads(64, size.height == 1 ? 1 : 4);
             const dim3 blocks(unsigned(pmpp::ceil_div(size.width, std::int64_t(threads.x))),
                               unsigned(pmpp::ceil_div(size.height, std::int64_t(threads.y))), unsigned(size.depth));
             plain_stencil<T, Dimensions><<<blocks, threads, 0, bench::here().stream>>>(of(w), out->data(), size, f);
           }});
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      for (std::int64_t place = 0; outside.what == pmpp::border::zero.what && place < 64; ++place) {
        const std::int64_t i = place < 4 ? (n - 1) * (place / 2) : bench::random_bits(place) % std::uint64_t(n);
        const random_neighbours<T, Dimensions> around{size, i / (size.height * size.width),
                                                      i / size.width % size.height, i % size.width};
        const double wanted = double(f(around));
        T got;
        pmpp::copy(bench::here().stream, std::span<const T>(out->data() + i, 1), std::span<T>(&got, 1));
        bench::here().stream.synchronize();
        if (std::abs(double(got) - wanted) > 1e-4)
          return "at " + std::to_string(i) + ": " + std::to_string(got) + " instead of " + std::to_string(wanted);
      }
      return "";
    };
    return s;
  });
}

/// The bound: as many bytes, copied.
void add_copy(extents size) {
  const std::int64_t n = size.count();
  bench::add("copy f32", n, 2.0 * double(n) * sizeof(float), [=](int windows) {
    const auto in = bench::random_array<float>(windows * n);
    const auto out = bench::array<float>(n);
    subject s;
    s.contenders = {{"cudaMemcpyAsync", [=](int w) {
                       pmpp::check(cudaMemcpyAsync(out->data(), in->data() + w * n, std::size_t(n) * sizeof(float),
                                                   cudaMemcpyDeviceToDevice, bench::here().stream),
                                   "cudaMemcpyAsync");
                     }}};
    return s;
  });
}

constexpr extents cube{512, 512, 512}, odd_cube{511, 511, 511}, square{1, 8192, 8192}, line{1, 1, 1 << 26};
constexpr pmpp::stencil_7<float> seven{{0.4f, 0.1f}};
constexpr pmpp::stencil_13<float> thirteen{{0.4f, 0.08f, 0.02f}};
constexpr pmpp::stencil_25<float> twenty_five{{0.4f, 0.06f, 0.02f, 0.01f, 0.01f}};
constexpr pmpp::stencil_27<float> twenty_seven{{0.2f, 0.05f, 0.03f, 0.02f}};

#if PMPP_BENCH_SWEEP
template <pmpp::stencil_tuning Tuning>
void add_tuning() {
  const std::string name =
      std::to_string(Tuning.threads) + " x " + std::to_string(Tuning.blocks) + " ahead " + std::to_string(Tuning.ahead);
  add_stencil<float, 3, 1, Tuning>("7 points, " + name, cube, seven, pmpp::border::zero, false);
  add_stencil<float, 3, 1, Tuning>("27 points, " + name, cube, twenty_seven, pmpp::border::zero, false);
}
#endif

void add_cases() {
  add_copy(cube);
  add_stencil<float, 3, 1>("f32 7 points", cube, seven);
  add_stencil<float, 3, 2>("f32 13 points", cube, thirteen);
  add_stencil<float, 3, 4>("f32 25 points", cube, twenty_five);
  add_stencil<float, 3, 1>("f32 27 points", cube, twenty_seven);
  add_stencil<float, 3, 1>("f32 7 points, wrap", cube, seven, pmpp::border::wrap, false);
  add_stencil<float, 3, 1>("f32 7 points, rows not aligned", odd_cube, seven);
  add_stencil<float, 3, 1>("f32 7 points", {64, 64, 64}, seven);
  add_stencil<double, 3, 1>("f64 7 points", {512, 512, 256}, pmpp::stencil_7<double>{{0.4, 0.1}});
  add_stencil<float, 2, 1>("f32 5 points 2-D", square, seven);
  add_stencil<float, 2, 1>("f32 9 points 2-D", square, twenty_seven);
  add_stencil<float, 1, 2>("f32 5 points 1-D", line, thirteen);
#if PMPP_BENCH_SWEEP
  add_tuning<pmpp::stencil_tuning{.threads = 128, .blocks = 6, .ahead = 1}>();
  add_tuning<pmpp::stencil_tuning{.threads = 128, .blocks = 6, .ahead = 3}>();
  add_tuning<pmpp::stencil_tuning{.threads = 64, .blocks = 12, .ahead = 2}>();
  add_tuning<pmpp::stencil_tuning{.threads = 256, .blocks = 3, .ahead = 2}>();
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
