// SPDX-License-Identifier: Apache-2.0
//
// Reductions beside CUB's and Thrust's.
//
// sum, min, argmin, dot ...    pmpp enqueues with a workspace, CUB with storage of its own: device time
// value                        a result for the host: the whole call as a user writes it, by the host's clock
// enqueue                      what the host pays for a call that only enqueues
//
// CUB counts elements in 32 bits here, its faster way; pmpp counts in 64.
#include <functional>
#include <memory>
#include <string>

#include <cub/device/device_reduce.cuh>
#include <cuda_fp16.h>
#include <thrust/execution_policy.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/zip_function.h>

#include <pmpp/reduce.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

/// Twelve bytes that add up side by side.
struct triple {
  std::int32_t x, y, z;
  friend bool operator==(const triple&, const triple&) = default;
};
struct add_triples {
  PMPP_HOST_DEVICE triple operator()(const triple& a, const triple& b) const {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
};

/// The map x -> a x + b modulo 2^32; the operator applies the left one first, and is not commutative.
struct affine {
  std::uint32_t a, b;
  friend bool operator==(const affine&, const affine&) = default;
};
struct compose {
  PMPP_HOST_DEVICE affine operator()(const affine& f, const affine& g) const { return {g.a * f.a, g.a * f.b + g.b}; }
};

/// CUB would add __half and float through an ambiguous conversion.
struct add_floats {
  PMPP_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
};

}  // namespace

template <>
struct bench::random_element<triple> {
  PMPP_HOST_DEVICE triple operator()(std::int64_t i) const {
    const random_element<std::int32_t> number;
    return {number(3 * i), number(3 * i + 1), number(3 * i + 2)};
  }
};
template <>
struct bench::random_element<affine> {
  PMPP_HOST_DEVICE affine operator()(std::int64_t i) const {
    const std::uint64_t bits = bench::random_bits(i);
    return {static_cast<std::uint32_t>(bits) | 1u, static_cast<std::uint32_t>(bits >> 32)};
  }
};
template <>
struct bench::random_element<__half> {
  PMPP_HOST_DEVICE __half operator()(std::int64_t i) const { return __float2half(bench::random_element<float>{}(i)); }
};

namespace {

using bench::contender, bench::subject, bench::timer;

/// Powers of two.
std::vector<std::int64_t> sizes(int first, int last, int step) {
  std::vector<std::int64_t> result;
  for (int power = first; power <= last; power += step) result.push_back(std::int64_t(1) << power);
  return result;
}

/// A fold of T with operator `op` from `init`. peer(storage, bytes, in, out, n, stream) is CUB's call, or nullptr.
/// `shift`: the data begins that many elements after the aligned start of an allocation.
template <class T, class A, class Op, class Peer>
void add_fold(const std::string& name, std::int64_t n, A init, Op op, Peer peer, int shift = 0,
              timer clock = timer::events) {
  const double traffic = clock == timer::events ? double(n) * sizeof(T) : 0;
  bench::add(name, n, traffic, [=](int windows) {
    const auto in = bench::random_array<T>(windows * n + shift);
    const auto out = bench::array<A>(1);
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n + shift; };
    subject s;
    s.contenders = {
        {"pmpp", [=](int w) { pmpp::reduce_into(bench::device(), window(w), window(w) + n, out->data(), init, op); }}};
    if constexpr (!std::is_null_pointer_v<Peer>)
      s.contenders.push_back({"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                                return peer(storage, bytes, window(w), out->data(), int(n), bench::here().stream);
                              })});
    const auto wanted = bench::fold(
        n, init, [=](std::int64_t i) { return bench::random_element<T>{}(i + shift); }, pmpp::detail::plain(op));
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] { return bench::difference(bench::first_of(out), wanted, n); };
    s.clock = clock;
    if (clock == timer::host) s.batch = 32;
    return s;
  });
}

/// CUB's call for pmpp::plus, pmpp::minimum and for operators that CUB does not know.
struct cub_sum {
  template <class T, class A>
  cudaError_t operator()(void* storage, std::size_t& bytes, const T* in, A* out, int n, cudaStream_t stream) const {
    return cub::DeviceReduce::Sum(storage, bytes, in, out, n, stream);
  }
};
struct cub_min {
  template <class T, class A>
  cudaError_t operator()(void* storage, std::size_t& bytes, const T* in, A* out, int n, cudaStream_t stream) const {
    return cub::DeviceReduce::Min(storage, bytes, in, out, n, stream);
  }
};
template <class Op>
struct cub_reduce {
  template <class T, class A>
  cudaError_t operator()(void* storage, std::size_t& bytes, const T* in, A* out, int n, cudaStream_t stream) const {
    return cub::DeviceReduce::Reduce(storage, bytes, in, out, n, Op{}, A{}, stream);
  }
};

/// The index of the first minimum.
void add_argmin(std::int64_t n) {
  bench::add("argmin/f32", n, double(n) * sizeof(float), [=](int windows) {
    const auto in = bench::random_array<float>(windows * n), least = bench::array<float>(1);
    const auto out = bench::array<std::int64_t>(1);
    const auto window = [=](int w) { return static_cast<const float*>(in->data()) + w * n; };
    subject s;
    s.contenders = {
        {"pmpp", [=](int w) { pmpp::min_element_into(bench::device(), window(w), window(w) + n, out->data()); }},
        {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
           return cub::DeviceReduce::ArgMin(storage, bytes, window(w), least->data(), out->data(), n,
                                            bench::here().stream);
         })}};
    const auto wanted = bench::fold(
        n, std::int64_t(0), [](std::int64_t i) { return i; },
        [](std::int64_t a, std::int64_t b) {
          const bench::random_element<float> x;
          return x(b) < x(a) || (x(b) == x(a) && b < a) ? b : a;
        });
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] { return bench::difference(bench::first_of(out), wanted, n); };
    return s;
  });
}

float reference_dot(std::int64_t n) {
  const bench::random_element<float> x;
  return static_cast<float>(bench::fold(
      n, 0.0, [=](std::int64_t i) { return double(x(i)) * double(x(bench::second + i)); }, pmpp::plus{}));
}

/// The dot product; y begins `shift` elements later than x in its vector of 16 bytes.
void add_dot(const std::string& name, std::int64_t n, int shift) {
  bench::add(name, n, 2.0 * double(n) * sizeof(float), [=](int windows) {
    const auto x = bench::random_array<float>(windows * n), y = bench::array<float>(windows * n + shift);
    bench::fill(y->data() + shift, windows * n, bench::second);
    const auto out = bench::array<float>(1);
    const auto x_of = [=](int w) { return static_cast<const float*>(x->data()) + w * n; };
    const auto y_of = [=](int w) { return static_cast<const float*>(y->data()) + w * n + shift; };
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       pmpp::transform_reduce_into(bench::device(), std::span(x_of(w), std::size_t(n)),
                                                   std::span(y_of(w), std::size_t(n)), out->data(), 0.0f, pmpp::plus{},
                                                   pmpp::multiplies{});
                     }},
                    {"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                       return cub::DeviceReduce::TransformReduce(
                           storage, bytes, thrust::make_zip_iterator(x_of(w), y_of(w)), out->data(), int(n),
                           cuda::std::plus<>{}, thrust::make_zip_function(cuda::std::multiplies<>{}), 0.0f,
                           bench::here().stream);
                     })}};
    const float wanted = reference_dot(n);
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] { return bench::difference<float>(bench::first_of(out), wanted, n); };
    return s;
  });
}

/// Results for the host, as their users call them: no stream, no workspace, no storage.
void add_values(std::int64_t n) {
  const auto host_case = [=](const std::string& name, double bytes, auto pmpp_call, auto thrust_call, auto reference) {
    bench::add(name, n, bytes, [=](int windows) {
      const auto x = bench::random_array<float>(windows * n),
                 y = bench::random_array<float>(windows * n, bench::second);
      bench::here().stream.synchronize();  // the calls use the default stream
      const auto got = std::make_shared<float>();
      const float wanted = reference();
      subject s;
      s.contenders = {{"pmpp", [=](int w) { *got = pmpp_call(x->data() + w * n, y->data() + w * n, n); }},
                      {"thrust", [=](int w) { *got = thrust_call(x->data() + w * n, y->data() + w * n, n); }}};
      s.spoil = [=] { *got = 1e30f; };
      s.fault = [=] { return bench::difference<float>(*got, wanted, n); };
      s.clock = timer::host;
      return s;
    });
  };
  host_case(
      "value/sum/f32", double(n) * sizeof(float),
      [](const float* x, const float*, std::int64_t m) { return pmpp::reduce(pmpp::device, x, x + m); },
      [](const float* x, const float*, std::int64_t m) { return thrust::reduce(thrust::device, x, x + m); },
      [=] { return float(bench::fold(n, 0.0f, bench::random_element<float>{}, pmpp::plus{})); });
  host_case(
      "value/dot/f32", 2.0 * double(n) * sizeof(float),
      [](const float* x, const float* y, std::int64_t m) {
        return pmpp::transform_reduce(pmpp::device, x, x + m, y, 0.0f, pmpp::plus{}, pmpp::multiplies{});
      },
      [](const float* x, const float* y, std::int64_t m) {
        return thrust::inner_product(thrust::device, x, x + m, y, 0.0f);
      },
      [=] { return reference_dot(n); });
}

#ifdef PMPP_BENCH_SWEEP
/// One tuning; the peer is the default one, so that a ratio above 1 would be an improvement.
template <class T, class A, int Threads, int Rows, int Blocks>
void add_tuning(const std::string& type, std::int64_t n) {
  constexpr pmpp::reduce_tuning tuning{.threads = Threads, .rows_in_flight = Rows, .blocks_per_processor = Blocks};
  const std::string name = "sweep/sum/" + type + "/threads:" + std::to_string(Threads) +
                           "/rows:" + std::to_string(Rows) + "/blocks:" + std::to_string(Blocks);
  bench::add(name, n, double(n) * sizeof(T), [=](int windows) {
    const auto in = bench::random_array<T>(windows * n);
    const auto out = bench::array<A>(1);
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n; };
    subject s;
    s.contenders = {
        {"pmpp",
         [=](int w) { pmpp::reduce_into<tuning>(bench::device(), window(w), window(w) + n, out->data(), A{}); }},
        {"default", [=](int w) { pmpp::reduce_into(bench::device(), window(w), window(w) + n, out->data(), A{}); }}};
    const auto wanted = bench::fold(n, A{}, bench::random_element<T>{}, pmpp::plus{});
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] { return bench::difference(bench::first_of(out), wanted, n); };
    return s;
  });
}
template <class T, class A, int Threads, int Rows>
void add_tunings_of_rows(const std::string& type, std::int64_t n) {
  add_tuning<T, A, Threads, Rows, 2>(type, n);
  add_tuning<T, A, Threads, Rows, 4>(type, n);
  add_tuning<T, A, Threads, Rows, 8>(type, n);
  add_tuning<T, A, Threads, Rows, 16>(type, n);
}
template <class T, class A, int Threads>
void add_tunings_of_threads(const std::string& type, std::int64_t n) {
  add_tunings_of_rows<T, A, Threads, 4>(type, n);
  add_tunings_of_rows<T, A, Threads, 8>(type, n);
  add_tunings_of_rows<T, A, Threads, 16>(type, n);
}
template <class T, class A>
void add_tunings(const std::string& type) {
  for (const std::int64_t n : sizes(16, 28, 4)) {
    add_tunings_of_threads<T, A, 128>(type, n);
    add_tunings_of_threads<T, A, 256>(type, n);
    add_tunings_of_threads<T, A, 512>(type, n);
  }
}
#endif

void add_cases() {
  const pmpp::plus plus;
  for (const std::int64_t n : sizes(10, 28, 1)) add_fold<float>("sum/f32", n, 0.0f, plus, cub_sum{});
  for (const std::int64_t n : sizes(10, 28, 6))
    add_fold<float>("sum/f32 same_bits", n, 0.0f, pmpp::same_bits{pmpp::plus{}}, cub_sum{});
  for (const std::int64_t n : sizes(10, 28, 2)) add_fold<std::uint8_t>("sum/u8", n, std::uint32_t(0), plus, cub_sum{});
  for (const std::int64_t n : sizes(10, 28, 2)) add_fold<std::int32_t>("sum/i32", n, 0, plus, cub_sum{});
  for (const std::int64_t n : sizes(10, 28, 2)) add_fold<std::int64_t>("sum/i64", n, std::int64_t(0), plus, cub_sum{});
  for (const std::int64_t n : sizes(10, 28, 2)) add_fold<double>("sum/f64", n, 0.0, plus, cub_sum{});

  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t n : sizes(10, 28, 6)) add_fold<float>("min/f32", n, infinity, pmpp::minimum{}, cub_min{});
  for (const std::int64_t n : sizes(10, 28, 6)) add_argmin(n);
  for (const std::int64_t n : sizes(10, 28, 6)) add_dot("dot/f32", n, 0);
  for (const std::int64_t n : sizes(10, 28, 6))
    add_fold<__half>("sum/f16 to f32", n, 0.0f, plus, cub_reduce<add_floats>{});
  for (const std::int64_t n : sizes(10, 26, 8))
    add_fold<triple>("sum/12 bytes", n, triple{}, add_triples{}, cub_reduce<add_triples>{});
  for (const std::int64_t n : sizes(10, 28, 6))
    add_fold<affine>("compose/8 bytes, ordered", n, affine{1, 0}, compose{}, nullptr);

  // Cliffs: data one element after a boundary; two inputs whose boundaries lie apart.
  for (const std::int64_t n : {1 << 16, 1 << 20, 1 << 24, 1 << 28})
    add_fold<float>("sum/f32 misaligned", n, 0.0f, plus, cub_sum{}, 1);
  for (const std::int64_t n : {1 << 16, 1 << 20, 1 << 24, 1 << 28}) add_dot("dot/f32 misaligned", n, 1);

  for (const std::int64_t n : {1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28}) add_values(n);
  for (const std::int64_t n : {1 << 10, 1 << 20})
    add_fold<float>("enqueue/sum/f32", n, 0.0f, plus, cub_sum{}, 0, timer::host);
#ifdef PMPP_BENCH_SWEEP
  add_tunings<float, float>("f32");
  add_tunings<std::uint8_t, std::uint32_t>("u8");
#endif
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
