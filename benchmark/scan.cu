// SPDX-License-Identifier: Apache-2.0
//
// Scans beside CUB's: pmpp enqueues with a workspace, CUB with storage of its own; device time. Every result of the
// first window is checked at 64 places against a sum of the host's.
//
// CUB counts elements in 32 bits here, its faster way; pmpp counts in 64. pmpp's results are the same bits on every run,
// CUB's sums of floating-point numbers need not be.
#include <string>

#include <cub/device/device_scan.cuh>

#include <pmpp/scan.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

/// The map x -> a x + b modulo 2^32; the operator applies the left one first, and is not commutative.
struct affine {
  std::uint32_t a, b;
};
struct compose {
  PMPP_HOST_DEVICE affine operator()(const affine& f, const affine& g) const { return {g.a * f.a, g.a * f.b + g.b}; }
};
/// Twelve bytes that add up side by side.
struct triple {
  std::int32_t x, y, z;
};
struct add_triples {
  PMPP_HOST_DEVICE triple operator()(const triple& a, const triple& b) const {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
};

}  // namespace

template <>
struct bench::random_element<affine> {
  PMPP_HOST_DEVICE affine operator()(std::int64_t i) const {
    const std::uint64_t bits = bench::random_bits(i);
    return {static_cast<std::uint32_t>(bits) | 1u, static_cast<std::uint32_t>(bits >> 32)};
  }
};
template <>
struct bench::random_element<triple> {
  PMPP_HOST_DEVICE triple operator()(std::int64_t i) const {
    const random_element<std::int32_t> number;
    return {number(3 * i), number(3 * i + 1), number(3 * i + 2)};
  }
};

namespace {

/// The inclusive results at 64 places spread over [0, n), the last one among them.
template <class T, class Op>
std::vector<bench::exact<T>> results_at_places(std::int64_t n, Op op) {
  constexpr std::int64_t places = 64;
  std::vector<bench::exact<T>> results;
  for (std::int64_t p = 0, begin = 0; p < places; ++p) {
    const std::int64_t end = std::max(begin, n * (p + 1) / places);
    const auto part = [=](std::int64_t i) { return bench::random_element<T>{}(begin + i); };
    if (end > begin) {
      const auto first = part(0);
      auto sum = bench::fold(
          end - begin - 1, first, [=](std::int64_t i) { return part(i + 1); }, op);
      results.push_back(results.empty() ? sum : op(results.back(), sum));
    } else {
      results.push_back(results.empty() ? bench::exact<T>{} : results.back());
    }
    begin = end;
  }
  return results;
}

template <class T, class Op, class Peer>
void add_scan(const std::string& name, std::int64_t n, Op op, Peer peer, int shift = 0) {
  bench::add(name, n, 2.0 * double(n) * sizeof(T), [=](int windows) {
    const auto in = bench::random_array<T>(windows * n + shift);
    const auto out = bench::array<T>(n + shift);
    const auto window = [=](int w) { return static_cast<const T*>(in->data()) + w * n + shift; };
    subject s;
    s.contenders = {{"pmpp", [=](int w) {
                       pmpp::inclusive_scan(bench::device(), window(w), window(w) + n, out->data() + shift, op);
                     }}};
    if constexpr (!std::is_null_pointer_v<Peer>)
      s.contenders.push_back({"cub", bench::with_storage([=](void* storage, std::size_t& bytes, int w) {
                                return peer(storage, bytes, window(w), out->data() + shift, int(n),
                                            bench::here().stream);
                              })});
    s.spoil = [=] { bench::spoil(out); };
    if constexpr (std::is_arithmetic_v<T>) {
      if (shift == 0)
        s.fault = [=, wanted = results_at_places<T>(n, op)] {
          for (std::size_t p = 0; p < wanted.size(); ++p) {
            const std::int64_t end = n * std::int64_t(p + 1) / std::int64_t(wanted.size());
            if (end == 0) continue;
            T got;
            pmpp::copy(bench::here().stream, std::span<const T>(out->data() + end - 1, 1), std::span<T>(&got, 1));
            bench::here().stream.synchronize();
            if (auto text = bench::difference<T>(got, static_cast<bench::exact<T>>(wanted[p]), n); !text.empty())
              return "at " + std::to_string(end - 1) + ": " + text;
          }
          return std::string();
        };
    }
    return s;
  });
}

struct cub_sum {
  template <class T>
  cudaError_t operator()(void* storage, std::size_t& bytes, const T* in, T* out, int n, cudaStream_t stream) const {
    return cub::DeviceScan::InclusiveSum(storage, bytes, in, out, n, stream);
  }
};
template <class Op>
struct cub_scan {
  template <class T>
  cudaError_t operator()(void* storage, std::size_t& bytes, const T* in, T* out, int n, cudaStream_t stream) const {
    return cub::DeviceScan::InclusiveScan(storage, bytes, in, out, Op{}, n, stream);
  }
};

void add_cases() {
  const auto sizes = [](int first, int last, int step) {
    std::vector<std::int64_t> result;
    for (int power = first; power <= last; power += step) result.push_back(std::int64_t(1) << power);
    return result;
  };
  for (const std::int64_t n : sizes(10, 28, 2)) add_scan<float>("sum/f32", n, pmpp::plus{}, cub_sum{});
  for (const std::int64_t n : sizes(16, 28, 4)) add_scan<std::uint8_t>("sum/u8", n, pmpp::plus{}, cub_sum{});
  for (const std::int64_t n : sizes(16, 28, 4)) add_scan<std::int32_t>("sum/i32", n, pmpp::plus{}, cub_sum{});
  for (const std::int64_t n : sizes(16, 28, 4)) add_scan<std::int64_t>("sum/i64", n, pmpp::plus{}, cub_sum{});
  for (const std::int64_t n : sizes(16, 28, 4)) add_scan<double>("sum/f64", n, pmpp::plus{}, cub_sum{});
  for (const std::int64_t n : sizes(20, 28, 4))
    add_scan<float>("max/f32", n, pmpp::maximum{}, cub_scan<cuda::maximum<>>{});
  for (const std::int64_t n : sizes(20, 26, 6))
    add_scan<triple>("sum/12 bytes", n, add_triples{}, cub_scan<add_triples>{});
  for (const std::int64_t n : sizes(20, 26, 6)) add_scan<affine>("compose/8 bytes", n, compose{}, cub_scan<compose>{});
  for (const std::int64_t n : sizes(20, 28, 8)) add_scan<float>("sum/f32 misaligned", n, pmpp::plus{}, cub_sum{}, 1);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
