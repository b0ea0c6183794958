// SPDX-License-Identifier: Apache-2.0
//
// gemm beside the best that cuBLAS offers, for shapes drawn at random (shapes.hpp, peers.hpp). A program for each type:
// GEMM_SWEEP names it (CMakeLists.txt).
//
//   gemm_sweep_float32 --seed 7 --count 300 --seconds 20 --json rows.jsonl     random shapes
//   gemm_sweep_bfloat16 --tokens                                               layers of a language model
//   gemm_sweep_float32 --shape 100,200,300,1,0,0,0,0,0,0,0,0                   one, as a report names it
//   gemm_sweep_float32 --candidates                                            each way of gemm's (candidates.hpp)
//
// Each result is compared with cuBLAS's. A sample is one call, or several that follow each other, between two events that a
// busy kernel holds back until all are enqueued: device time alone. Contenders take turns, each with the next of several
// windows of the operands; the figure is the median of five samples or more. `cpu` is what a call takes of the processor.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <cuda/std/complex>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <pmpp/gemm.hpp>
#include <pmpp/gemm_scaled.hpp>
#include <pmpp/memory/stream.hpp>

#include "gemm_sweep/candidates.hpp"
#include "gemm_sweep/peers.hpp"
#include "gemm_sweep/shapes.hpp"

namespace sweep {

// The types. `granule`: cuBLAS wants multiples of it.
struct float32 {
  using element = float;
  using result = float;
  static constexpr const char* name = "float32";
  static constexpr auto precision = pmpp::gemm_precision::full;
  static constexpr bool relu = false, fast = false;
  static constexpr int granule = 1;
  static constexpr peer_types peer{CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, true};
};
struct float64 : float32 {
  using element = double;
  using result = double;
  static constexpr const char* name = "float64";
  static constexpr peer_types peer{CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, false};
};
struct tf32 : float32 {
  static constexpr const char* name = "tf32";
  static constexpr auto precision = pmpp::gemm_precision::tf32;
  static constexpr peer_types peer{CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, false};
};
struct float16 : float32 {
  using element = __half;
  using result = __half;
  static constexpr const char* name = "float16";
  static constexpr peer_types peer{CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, false};
};
struct bfloat16 : float32 {
  using element = __nv_bfloat16;
  using result = __nv_bfloat16;
  static constexpr const char* name = "bfloat16";
  static constexpr peer_types peer{CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, false};
};
struct bfloat16_relu : bfloat16 {
  static constexpr const char* name = "bfloat16_relu";
  static constexpr bool relu = true;
};
struct int8 : float32 {
  using element = std::int8_t;
  using result = std::int32_t;
  static constexpr const char* name = "int8";
  static constexpr int granule = 4;
  static constexpr peer_types peer{CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, false};
};

struct complex64 : float32 {
  using element = cuda::std::complex<float>;
  using result = element;
  static constexpr const char* name = "complex64";
  static constexpr peer_types peer{CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F, false};
};
struct complex128 : float32 {
  using element = cuda::std::complex<double>;
  using result = element;
  static constexpr const char* name = "complex128";
  static constexpr peer_types peer{CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, false};
};

struct fp8 : float32 {
  using element = __nv_fp8_e4m3;
  using result = __nv_bfloat16;
  static constexpr const char* name = "fp8";
  static constexpr int granule = 16;
  static constexpr peer_types peer{CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, false};
};
struct fp8_fast : fp8 {
  static constexpr const char* name = "fp8_fast";
  static constexpr bool fast = true;
  static constexpr peer_types peer{CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, false, true};
};

}  // namespace sweep

namespace {

using pmpp::gemm_precision;
using sweep::shape;

struct relu_with_bias {
  const void* bias;
  template <class S>
  PMPP_HOST_DEVICE S operator()(S sum, std::int64_t, std::int64_t column) const;
};

using type = sweep::GEMM_SWEEP;
using element = type::element;
using result = type::result;
constexpr bool is_fp8 = pmpp::detail::is_fp8<element>, is_complex = pmpp::detail::complex_number<element>;

template <class S>
PMPP_HOST_DEVICE S relu_with_bias::operator()(S sum, std::int64_t, std::int64_t column) const {
  const S value = sum + static_cast<S>(static_cast<const result*>(bias)[column]);
  return value > 0 ? value : S{};
}

/// Element i of an input: from [-1, 1), or a byte. Inputs of different seeds have nothing in common: rows of A' B that met the same
/// numbers shifted by one would be sums of squares, whose last digits are larger than the tolerance.
template <class T>
__device__ T random_element(std::int64_t i, std::uint64_t seed) {
  std::uint64_t x = (std::uint64_t(i) + (seed << 40)) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  const auto bits = std::int64_t(x);
  if constexpr (std::is_integral_v<T>)
    return T(bits >> 56);
  else if constexpr (is_complex)
    return T(float(bits >> 40) * 0x1p-23f, float(bits << 24 >> 40) * 0x1p-23f);
  else
    return T(float(bits >> 40) * 0x1p-23f);
}

template <class T>
__global__ void fill(T* to, std::int64_t n, std::uint64_t seed) {
  const std::int64_t step = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    to[i] = random_element<T>(i, seed);
}

/// Counts elements that differ by more than `share` of a sum of this size, or its last digits.
template <class T>
__global__ void compare(const T* a, const T* b, std::int64_t n, double share, double digits, unsigned* wrong) {
  const std::int64_t step = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const auto differs = [=](double x, double y) { return !(fabs(x - y) <= share + digits * fabs(y)); };
    bool is_wrong = false;
    if constexpr (is_complex)
      is_wrong = differs(a[i].real(), b[i].real()) || differs(a[i].imag(), b[i].imag());
    else
      is_wrong = differs(double(a[i]), double(b[i]));
    if (is_wrong) atomicAdd(wrong, 1u);
  }
}

__global__ void hold(long long clocks) {
  for (const long long start = clock64(); clock64() - start < clocks;) continue;
}

/// How far sums of k products may be from cuBLAS's: `share` plus `digits` of the sum.
std::pair<double, double> tolerance(std::int64_t k) {
  if (std::is_integral_v<element>) return {0, 0};
  const double root = std::sqrt(double(k));
  if (std::is_same_v<type::element, double> || sizeof(element) == 16) return {2e-15 * double(k + 8), 1e-14};
  if (type::precision == gemm_precision::tf32) return {0x1p-10 * (root + 2) * 2, 0x1p-9};
  if (is_fp8) return {root * 0x1p-6, 0x1p-5};
  const double of_float = (is_complex ? 2 : 1) * 0x1p-22 * double(k + 8);
  if (sizeof(result) == 2) return {of_float + root * 0x1p-6 * (std::is_same_v<result, __half> ? 0.125 : 1), 0x1p-6};
  return {of_float, 1e-6};
}

struct options {
  std::uint64_t seed = 1;
  std::int64_t count = 300, first = 0;
  double seconds = 1e9, longest_us = 1e9;
  bool tokens = false, candidates = false;
  std::vector<shape> only;
  std::FILE* json = nullptr;
};

struct contender {
  std::string name;
  std::function<bool(int window)> call;
  double expected = 0;
  std::vector<double> samples{}, cpu{};
  double hold_us = 60, median = 0;
  bool out = false;
};

double middle(std::vector<double> x) {
  if (x.empty()) return 0;
  std::nth_element(x.begin(), x.begin() + std::ptrdiff_t(x.size() / 2), x.end());
  return x[x.size() / 2];
}

struct bench {
  static constexpr std::int64_t pool_bytes = std::int64_t(3) << 30;
  pmpp::stream stream;
  pmpp::workspace scratch;
  pmpp::event start, stop;
  sweep::peers others{stream};
  pmpp::device_buffer<element> a{pool_bytes / sizeof(element)}, b{pool_bytes / sizeof(element)};
  pmpp::device_buffer<result> c{pool_bytes / sizeof(result)}, wanted{pool_bytes / sizeof(result)}, bias{16384 + 64};
  pmpp::device_buffer<unsigned> wrong{1};

  bench() {
    fill<<<2048, 256, 0, stream>>>(a.data(), a.size(), 1);
    fill<<<2048, 256, 0, stream>>>(b.data(), b.size(), 2);
    fill<<<64, 256, 0, stream>>>(bias.data(), bias.size(), 3);
    scratch.reserve(std::size_t(8) << 30);
    stream.synchronize();
  }
  auto where() { return pmpp::device.on(stream).with(scratch); }

  struct window {
    const element *a, *b;
    result* c;
  };
  window at(const shape& s, int w) {
    const auto step = [](std::int64_t size) { return (size + 255) / 256 * 256; };
    return {a.data() + w * step(s.batch * s.a_size()), b.data() + w * step((s.share_b ? 1 : s.batch) * s.b_size()),
            c.data() + w * step(s.batch * s.c_size())};
  }
  /// As many as go past the last cache, and fit.
  static int windows(const shape& s) {
    const double bytes = s.elements() * double(std::max(sizeof(element), sizeof(result)));
    const double largest = double(std::max({s.batch * s.a_size(), s.batch * s.b_size(), s.batch * s.c_size()}) + 256) *
                           double(std::max(sizeof(element), sizeof(result)));
    return int(std::max(1.0, std::min({std::ceil(160e6 / bytes), 16.0, std::floor(double(pool_bytes) / largest)})));
  }

  template <class F>
  void multiply(const shape& s, const window& w, F f) {
    using pmpp::matrix_view;
    const auto left = s.ta ? transposed(matrix_view<const element>(w.a, s.k, s.m, s.lda(), std::int64_t(1)))
                           : matrix_view<const element>(w.a, s.m, s.k, s.lda(), std::int64_t(1));
    const auto right = s.tb ? transposed(matrix_view<const element>(w.b, s.n, s.k, s.ldb(), std::int64_t(1)))
                            : matrix_view<const element>(w.b, s.k, s.n, s.ldb(), std::int64_t(1));
    f(left, right, matrix_view<result>(w.c, s.m, s.n, s.ldc(), std::int64_t(1)));
  }

  void pmpp_call(const shape& s, const window& w) {
    using scale = std::conditional_t<std::is_same_v<element, double> || is_complex, element,
                                     std::conditional_t<std::is_integral_v<element>, int, float>>;
    const auto beta = scale(s.beta ? std::is_integral_v<element> ? 1 : 0.5 : 0);
    multiply(s, w, [&](const auto& left, const auto& right, const auto& to) {
      const auto call = [&](const auto&... options) {
        if constexpr (!is_fp8)
          if (s.batch > 1)
            return pmpp::gemm_batched(where(), scale(1), left, s.a_size(), right, s.share_b ? 0 : s.b_size(), beta, to,
                                      s.c_size(), s.batch, options...);
        pmpp::gemm(where(), scale(1), left, right, beta, to, options...);
      };
      if constexpr (is_fp8)
        if constexpr (type::fast) return call(pmpp::gemm_options{.precision = pmpp::fast_accumulation{}});
      if constexpr (type::relu)
        call(pmpp::gemm_options{relu_with_bias{bias.data()}});
      else if constexpr (type::precision != gemm_precision::full)
        call(pmpp::gemm_options{.precision = type::precision});
      else
        call();
    });
  }

  double sample(contender& x, int calls, int& next, int windows) {
    hold<<<1, 1, 0, stream>>>((long long)(std::min(x.hold_us * calls, 20000.0) * 1900));
    start.record(stream);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) x.call(next++ % windows);
    const std::chrono::duration<double, std::micro> cpu = std::chrono::steady_clock::now() - begin;
    stop.record(stream);
    const double us = 1000 * pmpp::event::elapsed_ms(start, stop) / calls;
    x.hold_us = 1.25 * cpu.count() / calls + 12.0 / calls;
    x.cpu.push_back(cpu.count() / calls);
    return us;
  }

  /// Medians of all contenders; those that are far from the best get one sample.
  void measure(const shape& s, std::vector<contender>& all, int rounds, double margin) {
    const int count = windows(s);
    int next = 0;
    double best = 1e30;
    for (auto& x : all) {
      if (!x.call(0)) x.out = true;
      if (x.out) continue;
      const double us = sample(x, 1, next, count);
      x.samples = {us};
      x.cpu.clear();
      best = std::min(best, us);
    }
    const int calls = s.back_to_back ? int(std::clamp(150.0 / best, 2.0, 12.0)) : 1;
    if (best > 20000) rounds = std::min(rounds, 2);
    for (auto& x : all)
      if (!x.out && x.name != "pmpp" && x.samples[0] > margin * best + 4) x.median = x.samples[0], x.out = true;
    for (int round = -1; round < rounds; ++round)
      for (auto& x : all) {
        if (x.out) continue;
        const double us = sample(x, calls, next, count);
        if (round == 0) x.samples.clear(), x.cpu.clear();
        if (round >= 0) x.samples.push_back(us);
      }
    for (auto& x : all)
      if (!x.out) x.median = middle(x.samples);
  }

  struct row {
    shape s;
    double own = 0, peer = 0, cpu = 0, peer_cpu = 0;
    std::string name{};
    unsigned wrong = 0;
    double ratio() const { return peer / own; }
  };

  void reset(const shape& s) { fill<<<2048, 256, 0, stream>>>(c.data(), s.batch * s.c_size(), 4); }

  std::vector<contender> with_peers(const shape& s) {
    std::vector<contender> all;
    all.push_back({"pmpp", [&, this](int w) { return pmpp_call(s, at(s, w)), true; }});
    for (auto& p : others.of(s, type::peer, type::relu ? bias.data() : nullptr))
      all.push_back({p.name, [this, &s, p](int w) {
                       const window y = at(s, w);
                       return p.call(y.a, y.b, y.c);
                     }});
    return all;
  }

  /// The first peer that works says what is right; false: none does.
  bool keep_what_is_right(const shape& s, std::vector<contender>& all) {
    for (std::size_t i = 1; i < all.size(); ++i) {
      reset(s);
      if (!all[i].call(0)) continue;
      pmpp::check(cudaMemcpyAsync(wanted.data(), c.data(), std::size_t(s.batch * s.c_size()) * sizeof(result),
                                  cudaMemcpyDefault, stream),
                  "cudaMemcpyAsync");
      return true;
    }
    return false;
  }
  unsigned wrong_elements(const shape& s, contender& x) {
    reset(s);
    x.call(0);
    const auto [share, digits] = tolerance(s.k);
    pmpp::check(cudaMemsetAsync(wrong.data(), 0, sizeof(unsigned), stream), "cudaMemsetAsync");
    compare<<<2048, 256, 0, stream>>>(c.data(), wanted.data(), s.batch * s.c_size(), share, digits, wrong.data());
    unsigned count = 0;
    pmpp::check(cudaMemcpyAsync(&count, wrong.data(), sizeof(unsigned), cudaMemcpyDefault, stream), "cudaMemcpyAsync");
    stream.synchronize();
    return count;
  }

  row compare_with_peers(const shape& s) {
    std::vector<contender> all = with_peers(s);
    row y{s};
    if (keep_what_is_right(s, all)) y.wrong = wrong_elements(s, all[0]);
    measure(s, all, 5, 1.25);
    y.own = all[0].median;
    y.cpu = middle(all[0].cpu);
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i].median > 0 && (y.peer == 0 || all[i].median < y.peer))
        y.peer = all[i].median, y.name = all[i].name, y.peer_cpu = middle(all[i].cpu);
    return y;
  }

  void matrix_of_candidates(const shape& s, const options& o) {
    using A = pmpp::detail::gemm_sum<element, element>;
    std::vector<contender> all = with_peers(s);
    const bool is_known = keep_what_is_right(s, all);
    if constexpr ((sizeof(element) > 1 || is_fp8) && !type::relu && !is_complex) {
      // Of each window: candidates know their operands.
      std::vector<std::vector<sweep::candidate>> found(std::size_t(windows(s)));
      const auto policy = where();
      for (std::size_t i = 0; i < found.size(); ++i) {
        const window w = at(s, int(i));
        using own = std::conditional_t<is_fp8, pmpp::fp8_e4m3, element>;
        const pmpp::detail::gemm_problem<own, own, result, A, pmpp::no_epilogue> x{
            {reinterpret_cast<const own*>(w.a), s.m, s.ta ? 1 : s.lda(), s.ta ? s.lda() : 1, s.a_size()},
            {reinterpret_cast<const own*>(w.b), s.n, s.tb ? s.ldb() : 1, s.tb ? 1 : s.ldb(),
             s.share_b ? 0 : s.b_size()},
            {w.c, s.m, s.n, s.ldc(), 1, s.c_size()},
            s.k,
            s.batch,
            {A(1), A(s.beta ? 0.5 : 0), {}, false}};
        const sweep::candidates_of of{policy, x, found[i]};
        if constexpr (is_fp8) {
          of.template scaled<type::fast>();
        } else {
          constexpr pmpp::gemm_tuning tuning = pmpp::gemm_tuning_for<A>();
          of.template directly<A, element>();
          of.template patches<A>();
          of.template outer_products_and_vectors<A>();
          if constexpr (type::precision == gemm_precision::tf32)
            of.template mma<pmpp::simt::mma_type::tf32, tuning, element>();
          else if constexpr (std::is_same_v<element, float>)
            of.template ordinary<tuning, A>();
          else {
            of.template mma<pmpp::detail::mma_type_of<element>, tuning, element>();
            if constexpr (sizeof(element) == 2) of.template wgmma<element>();
          }
        }
      }
      for (std::size_t i = 0; i < found[0].size(); ++i) {
        all.push_back({found[0][i].name, [&found, i](int w) { return found[std::size_t(w)][i].call(), true; }});
        all.back().expected = found[0][i].expected;
        if (const unsigned count = is_known ? wrong_elements(s, all.back()) : 0)
          std::printf("  WRONG %u elements by %s: --shape %s\n", count, found[0][i].name.c_str(), s.text().c_str());
      }
      measure(s, all, 3, 1.5);
    }
    std::string line = "{\"type\":\"" + std::string(type::name) + "\",\"shape\":\"" + s.text() + "\",\"us\":{";
    for (const auto& x : all) {
      char text[128];
      std::snprintf(text, sizeof text, "%s\"%s\":[%.2f,%.2f]", &x == &all[0] ? "" : ",", x.name.c_str(), x.median,
                    x.expected);
      line += text;
    }
    if (o.json != nullptr) std::fprintf(o.json, "%s}}\n", line.c_str());
  }
};

void report(std::vector<bench::row> rows, const options& o, const char* program) {
  std::vector<bench::row> with_peer;
  double sum = 0, cpu = 0;
  int low = 0, wrong = 0;
  for (const auto& r : rows) {
    wrong += r.wrong > 0;
    cpu += r.cpu;
    if (r.peer == 0) continue;
    with_peer.push_back(r);
    sum += std::log(r.ratio());
    low += r.ratio() < 0.9;
  }
  const auto count = double(std::max<std::size_t>(1, with_peer.size()));
  std::sort(with_peer.begin(), with_peer.end(), [](const auto& x, const auto& y) { return x.ratio() < y.ratio(); });
  std::printf(
      "%s%s: %zu shapes, %zu with a peer, geometric mean of peer / pmpp %.3f, below 0.9 %.1f %%, least %.2f, "
      "processor %.2f us a call, wrong %d\n",
      type::name, o.tokens ? " tokens" : "", rows.size(), with_peer.size(), std::exp(sum / count), 100 * low / count,
      with_peer.empty() ? 0 : with_peer[0].ratio(), cpu / double(rows.size()), wrong);
  for (std::size_t i = 0; i < with_peer.size() && i < 10; ++i)
    std::printf("  %.2f  %9.1f us, %s %9.1f us   %s --shape %s\n", with_peer[i].ratio(), with_peer[i].own,
                with_peer[i].name.c_str(), with_peer[i].peer, program, with_peer[i].s.text().c_str());
  for (const auto& r : rows)
    if (r.wrong > 0) std::printf("  WRONG %u elements: %s --shape %s\n", r.wrong, program, r.s.text().c_str());
}

options parse(int argc, char** argv) {
  options o;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (key == "--seed")
      o.seed = std::strtoull(value(), nullptr, 10);
    else if (key == "--count")
      o.count = std::atoll(value());
    else if (key == "--first")
      o.first = std::atoll(value());
    else if (key == "--seconds")
      o.seconds = std::atof(value());
    else if (key == "--longest")
      o.longest_us = std::atof(value());
    else if (key == "--tokens")
      o.tokens = true;
    else if (key == "--candidates")
      o.candidates = true;
    else if (key == "--json")
      o.json = std::fopen(value(), "w");
    else if (shape s; key == "--shape" && shape::parse(value(), s))
      o.only.push_back(s);
    else {
      std::fprintf(stderr,
                   "usage: %s [--seed n] [--count n] [--first n] [--seconds s] [--longest us] [--tokens] "
                   "[--candidates] [--json file] [--shape m,n,k,...]\n",
                   argv[0]);
      std::exit(2);
    }
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) try {
  const options o = parse(argc, argv);
  bench with;
  std::vector<bench::row> rows;
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = o.first; i < o.first + (o.only.empty() ? o.count : std::int64_t(o.only.size())); ++i) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(o.seconds)) break;
    const double most = double(bench::pool_bytes / std::max(sizeof(element), sizeof(result))) / 2;
    const shape s = !o.only.empty() ? o.only[std::size_t(i - o.first)]
                    : o.tokens      ? sweep::draw_tokens(o.seed, i)
                                    : sweep::draw(o.seed, i, most, type::granule);
    if (s.work() / 40e12 * 1e6 > o.longest_us) continue;
    if (o.candidates) {
      with.matrix_of_candidates(s, o);
      continue;
    }
    const bench::row r = with.compare_with_peers(s);
    rows.push_back(r);
    if (o.json != nullptr)
      std::fprintf(o.json,
                   "{\"type\":\"%s\",\"shape\":\"%s\",\"pmpp\":%.2f,\"peer\":%.2f,\"which\":\"%s\",\"cpu\":%.2f,"
                   "\"peer_cpu\":%.2f,\"wrong\":%u}\n",
                   type::name, s.text().c_str(), r.own, r.peer, r.name.c_str(), r.cpu, r.peer_cpu, r.wrong);
  }
  if (!o.candidates) report(rows, o, argv[0]);
  if (o.json != nullptr) std::fclose(o.json);
  return 0;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
