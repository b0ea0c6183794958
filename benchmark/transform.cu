// SPDX-License-Identifier: Apache-2.0
//
// Elementwise algorithms beside Thrust's and CUDA's own: saxpy, vector addition, fill, iota. What they can reach is the
// copy's rate, in the last column of the table.
#include <string>

#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

/// fma by name, so that the check rounds as the algorithm does wherever the compiler puts it.
template <class T>
struct saxpy {
  T a;
  PMPP_HOST_DEVICE T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fma(a, x, y);
    else
      return static_cast<T>(a * x + y);
  }
};

/// What element i should be, worked out anew from the index.
template <class T>
struct expected_saxpy {
  saxpy<T> f;
  PMPP_HOST_DEVICE T operator()(std::int64_t i) const {
    const bench::random_element<T> element;
    return f(element(i), element(bench::second + i));
  }
};
template <class T>
struct expected_constant {
  T value;
  PMPP_HOST_DEVICE T operator()(std::int64_t) const { return value; }
};
template <class T>
struct expected_index {
  T start;
  PMPP_HOST_DEVICE T operator()(std::int64_t i) const { return static_cast<T>(start + static_cast<T>(i)); }
};

template <class T, class Expected>
__global__ void count_wrong_elements(const T* got, std::int64_t n, Expected expected, unsigned long long* wrong) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads)
    if (!(got[i] == expected(i))) atomicAdd(wrong, 1ull);
}

template <class T, class Expected>
std::string fault_of(const T* got, std::int64_t n, Expected expected) {
  const pmpp::device_buffer<unsigned long long> wrong(1, 0ull);
  const cudaStream_t stream = bench::here().stream;
  count_wrong_elements<<<1024, 256, 0, stream>>>(got, n, expected, const_cast<unsigned long long*>(wrong.data()));
  const unsigned long long count = pmpp::to_host(stream, wrong)[0];
  return count == 0 ? "" : std::to_string(count) + " elements differ";
}

auto thrust_policy() { return thrust::cuda::par_nosync.on(bench::here().stream.handle()); }

template <class T>
constexpr T factor = std::is_integral_v<T> ? T(3) : T(0.75);

/// y = a x + y; x begins `shift` elements after a boundary.
template <class T, pmpp::transform_tuning Tuning = pmpp::transform_tuning{}>
void add_saxpy(const std::string& name, std::int64_t n, int shift = 0, bool beside_default = false) {
  bench::add(name, n, 3.0 * double(n) * sizeof(T), [=](int windows) {
    const auto x = bench::array<T>(windows * n + shift), y = bench::array<T>(windows * n);
    const saxpy<T> f{factor<T>};
    const auto x_of = [=](int w) { return static_cast<const T*>(x->data()) + w * n + shift; };
    const auto y_of = [=](int w) { return y->data() + w * n; };
    bench::fill(x->data() + shift, windows * n, 0);
    const auto with = [=]<pmpp::transform_tuning Any>() {
      return [=](int w) { pmpp::transform<Any>(bench::device(), x_of(w), x_of(w) + n, y_of(w), y_of(w), f); };
    };
    subject s;
    s.contenders = {{"pmpp", with.template operator()<Tuning>()}};
    if (beside_default)
      s.contenders.push_back({"default", with.template operator()<pmpp::transform_tuning{}>()});
    else
      s.contenders.push_back(
          {"thrust", [=](int w) { thrust::transform(thrust_policy(), x_of(w), x_of(w) + n, y_of(w), y_of(w), f); }});
    s.spoil = [=] { bench::fill(y->data(), windows * n, bench::second); };
    s.fault = [=] { return fault_of(y_of(0), n, expected_saxpy<T>{f}); };
    return s;
  });
}

/// z = x + y.
void add_vector_add(std::int64_t n) {
  bench::add("add/f32", n, 3.0 * double(n) * sizeof(float), [=](int windows) {
    const auto x = bench::random_array<float>(windows * n), y = bench::random_array<float>(windows * n, bench::second),
               z = bench::array<float>(windows * n);
    const auto part = [=](const bench::shared_array<float>& a, int w) { return a->data() + w * n; };
    subject s;
    s.contenders = {
        {"pmpp",
         [=](int w) {
           pmpp::transform(bench::device(), part(x, w), part(x, w) + n, part(y, w), part(z, w), pmpp::plus{});
         }},
        {"thrust", [=](int w) {
           thrust::transform(thrust_policy(), part(x, w), part(x, w) + n, part(y, w), part(z, w), pmpp::plus{});
         }}};
    s.spoil = [=] { bench::spoil(z); };
    s.fault = [=] { return fault_of(z->data(), n, expected_saxpy<float>{{1.0f}}); };
    return s;
  });
}

/// Writers: nothing is read.
template <class T, class Expected, class Own, class Peer>
void add_writer(const std::string& name, std::int64_t n, Expected expected, Own own, const std::string& peer_name,
                Peer peer) {
  bench::add(name, n, double(n) * sizeof(T), [=](int windows) {
    const auto out = bench::array<T>(windows * n);
    subject s;
    s.contenders = {{"pmpp", [=](int w) { own(out->data() + w * n); }},
                    {peer_name, [=](int w) { peer(out->data() + w * n); }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] { return fault_of(out->data(), n, expected); };
    return s;
  });
}

void add_writers(std::int64_t n) {
  const auto fill_with = [=](auto value) {
    return [=](auto* out) { pmpp::fill(bench::device(), out, out + n, value); };
  };
  add_writer<std::uint8_t>("fill/u8", n, expected_constant<std::uint8_t>{0x5C}, fill_with(std::uint8_t(0x5C)), "memset",
                           [=](std::uint8_t* out) {
                             pmpp::check(cudaMemsetAsync(out, 0x5C, std::size_t(n), bench::here().stream),
                                         "cudaMemsetAsync");
                           });
  add_writer<float>("fill/f32", n, expected_constant<float>{1.25f}, fill_with(1.25f), "thrust",
                    [=](float* out) { thrust::fill(thrust_policy(), out, out + n, 1.25f); });
  add_writer<std::int32_t>(
      "iota/i32", n, expected_index<std::int32_t>{7},
      [=](std::int32_t* out) { pmpp::iota(bench::device(), out, out + n, 7); }, "thrust",
      [=](std::int32_t* out) { thrust::sequence(thrust_policy(), out, out + n, 7); });
}

#ifdef PMPP_BENCH_SWEEP
template <int Threads, int Vectors>
void add_tuning(std::int64_t n) {
  add_saxpy<float, pmpp::transform_tuning{.threads = Threads, .vectors_per_thread = Vectors}>(
      "sweep/saxpy/f32/threads:" + std::to_string(Threads) + "/vectors:" + std::to_string(Vectors), n, 0, true);
}
template <int Threads>
void add_tunings_of_threads(std::int64_t n) {
  add_tuning<Threads, 1>(n);
  add_tuning<Threads, 2>(n);
  add_tuning<Threads, 4>(n);
  add_tuning<Threads, 8>(n);
}
#endif

void add_cases() {
  const std::int64_t sizes[] = {1 << 16, 1 << 20, 1 << 24, 1 << 28};
  for (const std::int64_t n : sizes) add_saxpy<float>("saxpy/f32", n);
  for (const std::int64_t n : sizes) add_saxpy<double>("saxpy/f64", n);
  for (const std::int64_t n : sizes) add_saxpy<std::uint8_t>("saxpy/u8", n);
  for (const std::int64_t n : sizes) add_saxpy<float>("saxpy/f32 misaligned", n, 1);
  for (const std::int64_t n : sizes) add_vector_add(n);
  for (const std::int64_t n : sizes) add_writers(n);
#ifdef PMPP_BENCH_SWEEP
  for (const std::int64_t n : sizes) {
    add_tunings_of_threads<128>(n);
    add_tunings_of_threads<256>(n);
    add_tunings_of_threads<512>(n);
  }
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
