// SPDX-License-Identifier: Apache-2.0
//
// Random inputs, and references for results.
//
// An input is a function of the index, so that the host can work out a result without a copy of the data. Numbers fill
// [-1, 1), or half the bits of their type (all of a byte), so that no sum of 2^28 of them overflows.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <pmpp/core/math.hpp>
#include <pmpp/core/operators.hpp>
#include <pmpp/host/parallel_for.hpp>
#include <pmpp/memory/copy.hpp>

#include "support/bench.hpp"

namespace bench {

/// 64 random bits (splitmix64).
PMPP_HOST_DEVICE inline std::uint64_t random_bits(std::int64_t i) {
  std::uint64_t x = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Element i of an input; specialised by benchmarks for types of their own.
template <class T>
struct random_element {
  PMPP_HOST_DEVICE T operator()(std::int64_t i) const {
    const auto bits = static_cast<std::int64_t>(random_bits(i));
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(static_cast<double>(bits >> 11) * 0x1p-52);
    else if constexpr (pmpp::detail::is_two_byte_float<T>)
      return T(random_element<float>{}(i));
    else
      return static_cast<T>(bits >> (sizeof(T) == 1 ? 56 : 64 - 4 * sizeof(T)));
  }
};

/// Where the inputs of one case begin, so that they differ: the y of saxpy starts at `second`.
inline constexpr std::int64_t second = std::int64_t(1) << 40;

#ifdef __CUDACC__
template <class T>
__global__ void fill_with_random_elements(T* out, std::int64_t n, std::int64_t first) {
  const std::int64_t threads = std::int64_t(gridDim.x) * blockDim.x;
  for (std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads)
    out[i] = random_element<T>{}(first + i);
}
#endif

template <class T>
using shared_array = std::shared_ptr<pmpp::device_buffer<T>>;

template <class T>
shared_array<T> array(std::int64_t n) {
  return std::make_shared<pmpp::device_buffer<T>>(n);
}

/// Writes the elements first ... first + n - 1 to out.
template <class T>
void fill(T* out, std::int64_t n, std::int64_t first) {
#ifdef __CUDACC__
  fill_with_random_elements<<<1024, 256, 0, here().stream>>>(out, n, first);
  pmpp::check(cudaGetLastError(), "fill_with_random_elements");
#else
  pmpp::host_loop::parallel_ranges(pmpp::host, n, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = random_element<T>{}(first + i);
  });
#endif
}

/// An array of n elements, from number `first` on.
template <class T>
shared_array<T> random_array(std::int64_t n, std::int64_t first = 0) {
  auto a = array<T>(n);
  fill(a->data(), n, first);
  return a;
}

/// Makes an array wrong.
template <class T>
void spoil(const shared_array<T>& a) {
#if PMPP_CUDA
  pmpp::check(cudaMemsetAsync(a->data(), 0xA5, a->size() * sizeof(T), here().stream), "cudaMemsetAsync");
#else
  std::fill_n(reinterpret_cast<unsigned char*>(a->data()), a->size() * sizeof(T), static_cast<unsigned char>(0xA5));
#endif
}

/// The first element, after all work on the stream.
template <class T>
T first_of(const shared_array<T>& a) {
  T value;
  pmpp::copy(here().stream, std::span(a->data(), 1), std::span(&value, 1));
  here().stream.synchronize();
  return value;
}

/// The type that references add up in.
template <class A>
using exact = std::conditional_t<std::is_floating_point_v<A>, long double, A>;

/// op over init, element(0), ..., element(n - 1), in that order, grouped in pieces for the cores of the host.
template <class A, class Element, class Op>
exact<A> fold(std::int64_t n, A init, Element element, Op op) {
  const std::int64_t piece = 65536;
  std::vector<exact<A>> parts(static_cast<std::size_t>(pmpp::ceil_div(n, piece)));
  pmpp::host_loop::parallel_for(pmpp::host, std::int64_t(parts.size()), [&](std::int64_t p) {
    exact<A> a = static_cast<exact<A>>(static_cast<A>(element(p * piece)));
    for (std::int64_t i = p * piece + 1; i < std::min(n, (p + 1) * piece); ++i)
      a = op(a, static_cast<exact<A>>(static_cast<A>(element(i))));
    parts[static_cast<std::size_t>(p)] = a;
  });
  exact<A> result = static_cast<exact<A>>(init);
  for (const exact<A>& part : parts) result = op(result, part);
  return result;
}

/// What is wrong with a fold of n elements; empty: nothing. A rounding error is a random walk of n steps whose length
/// grows with the number of elements that one thread adds up one after the other.
template <class A>
std::string difference(const A& got, const exact<A>& wanted, std::int64_t n, double one_by_one = 4096) {
  if constexpr (std::is_floating_point_v<A>) {
    const double bound = 2 * double(std::numeric_limits<A>::epsilon()) * std::sqrt(double(n) * one_by_one);
    if (std::abs(double(got - wanted)) <= bound) return "";
  } else if (got == wanted) {
    return "";
  }
  if constexpr (std::is_arithmetic_v<A>) return std::to_string(got) + " instead of " + std::to_string(wanted);
  return "another value";
}

/// The first n elements, on the host. Waits.
template <class T>
std::vector<T> on_host(const T* data, std::int64_t n) {
  std::vector<T> v(static_cast<std::size_t>(n));
  pmpp::copy(here().stream, std::span<const T>(data, v.size()), std::span<T>(v));
  here().stream.synchronize();
  return v;
}

}  // namespace bench
