// SPDX-License-Identifier: Apache-2.0
//
// Random numbers beside cuRAND's host interface with Philox (set to this stream; a fixed seed and offset), shuffles beside
// Thrust's. The numbers of cuRAND come in another order and are not compared: each contender's first million is judged by its mean.
//
// Declared bytes: every output written once; shuffles: input read and output written once.
#include <thrust/execution_policy.h>
#include <thrust/random.h>
#include <thrust/shuffle.h>
#if defined(PMPP_BENCH_HAS_CURAND)
#include <curand.h>
#endif

#include <pmpp/random.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace {

using bench::subject;
using u32 = std::uint32_t;

#if defined(PMPP_BENCH_HAS_CURAND)
void require_curand(curandStatus_t status, const char* what) {
  if (status != CURAND_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": " + std::to_string(status));
}
/// cuRAND's generator, made once.
curandGenerator_t generator() {
  static const curandGenerator_t g = [] {
    curandGenerator_t made;
    require_curand(curandCreateGenerator(&made, CURAND_RNG_PSEUDO_PHILOX4_32_10), "curandCreateGenerator");
    require_curand(curandSetPseudoRandomGeneratorSeed(made, 7), "curandSetPseudoRandomGeneratorSeed");
    require_curand(curandSetStream(made, bench::here().stream), "curandSetStream");
    return made;
  }();
  return g;
}
#endif

/// own(out, n) beside peer(out, n); `mean` of the numbers, and how far from it a million of them may be.
template <class T, class Own, class Peer>
void add_fill(const std::string& name, std::int64_t n, double mean, double deviation, Own own,
              [[maybe_unused]] Peer peer) {
  bench::add(name, n, double(n) * sizeof(T), [=](int windows) {
    const auto out = bench::array<T>(windows * n);
    subject s;
    s.contenders = {{"pmpp", [=](int w) { own(out->data() + w * n, n); }}};
#if defined(PMPP_BENCH_HAS_CURAND)
    s.contenders.push_back({"curand", [=](int w) { peer(out->data() + w * n, n); }});
#endif
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      const std::int64_t some = std::min(n, std::int64_t(1) << 20);
      double sum = 0;
      for (const T x : bench::on_host(static_cast<const T*>(out->data()), some)) sum += double(x);
      const double off = std::abs(sum / double(some) - mean) * std::sqrt(double(some)) / deviation;
      return off < 5 ? "" : "a mean of " + std::to_string(sum / double(some));
    };
    return s;
  });
}

void add_shuffle(std::int64_t n) {
  bench::add("shuffle_copy/u32", n, 2.0 * double(n) * sizeof(u32), [=](int windows) {
    const auto in = bench::random_array<u32>(windows * n);
    const auto out = bench::array<u32>(n);
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       const u32* x = in->data() + w * n;
                       pmpp::shuffle_copy(bench::device(), x, x + n, out->data(), 7);
                     }},
                    {"thrust", [=](int w) {
                       const u32* x = in->data() + w * n;
                       thrust::shuffle_copy(thrust::cuda::par_nosync.on(bench::here().stream), x, x + n, out->data(),
                                            thrust::default_random_engine(7));
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=]() -> std::string {
      auto wanted = bench::on_host(static_cast<const u32*>(in->data()), n);
      auto got = bench::on_host(static_cast<const u32*>(out->data()), n);
      const bool moved = got != wanted;
      std::sort(wanted.begin(), wanted.end());
      std::sort(got.begin(), got.end());
      return got == wanted && moved ? "" : "no permutation of the input";
    };
    return s;
  });
}

void add_cases() {
  for (const int power : {16, 20, 26, 28}) {
    const std::int64_t n = std::int64_t(1) << power;
    const auto fill = [](const auto& d) {
      return [d](auto* out, std::int64_t m) { pmpp::fill_random(bench::device(), out, out + m, d, 7); };
    };
#if defined(PMPP_BENCH_HAS_CURAND)
    const auto bits = [](u32* out, std::int64_t m) {
      require_curand(curandGenerate(generator(), out, m), "curandGenerate");
    };
    const auto uniform = [](float* out, std::int64_t m) {
      require_curand(curandGenerateUniform(generator(), out, m), "curandGenerateUniform");
    };
    const auto normal = [](float* out, std::int64_t m) {
      require_curand(curandGenerateNormal(generator(), out, m, 0, 1), "curandGenerateNormal");
    };
    const auto normal_double = [](double* out, std::int64_t m) {
      require_curand(curandGenerateNormalDouble(generator(), out, m, 0, 1), "curandGenerateNormalDouble");
    };
#else
    const auto bits = nullptr, uniform = nullptr, normal = nullptr, normal_double = nullptr;
#endif
    add_fill<u32>("random_bits/u32", n, 2147483648.0, 1239850262.0, fill(pmpp::random_bits<u32>{}), bits);
    add_fill<float>("uniform/f32", n, 0.5, 0.2887, fill(pmpp::uniform<float>{}), uniform);
    add_fill<float>("normal/f32", n, 0, 1, fill(pmpp::normal<float>{}), normal);
    if (power < 28) add_fill<double>("normal/f64", n, 0, 1, fill(pmpp::normal<double>{}), normal_double);
    if (power < 28) add_shuffle(n);
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
