// SPDX-License-Identifier: Apache-2.0
//
// What a sweep's arrays hold, made by kernels of its own, and how results are compared on the device.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <type_traits>

#include <pmpp/core/error.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

#include "dice.hpp"
#include "types.hpp"

namespace sweep {

enum class pattern { random, sorted, reversed, few_values, zipf, runs, text };
inline const char* name_of(pattern p) {
  const char* const names[] = {"random", "sorted", "reversed", "few values", "zipf", "runs", "text"};
  return names[static_cast<int>(p)];
}

/// The keys of one array; `element_of` makes elements of them.
struct keys {
  pattern kind = pattern::random;
  i64 n = 1, run = 1;
  u64 seed = 0;

  PMPP_HOST_DEVICE static u64 letter(u64 bits) {
    constexpr char letters[] = "  etaoinshrdlu etaoinshr etaoin etao eta wcumfgpybvkETAOIN,.\n012";
    return static_cast<u64>(letters[bits % 64]);
  }
  PMPP_HOST_DEVICE u64 operator()(i64 i) const {
    const u64 bits = bits_of(seed + u64(i));
    const u64 step = ~u64(0) / u64(n);
    switch (kind) {
      case pattern::random:
        return bits;
      case pattern::sorted:
        return u64(i) * step + bits % step;
      case pattern::reversed:
        return u64(n - 1 - i) * step + bits % step;
      case pattern::few_values:
        return (bits % 8) << 61 | 0x123456789abcdef;  // not at the edges of bins
      case pattern::zipf:
        return u64(exp(double(bits >> 11) * 0x1p-53 * 44.3));
      case pattern::runs:
        return bits_of(seed + u64(i / run));
      case pattern::text: {
        u64 word = 0;
        for (int k = 0; k < 8; ++k) word = word << 8 | letter(bits_of(seed + 8 * u64(i) + u64(k)));
        return word;
      }
    }
    return bits;
  }
};

template <class T>
__global__ void fill_with_keys(T* out, i64 n, keys k) {
  const i64 threads = i64(gridDim.x) * blockDim.x;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads) out[i] = element_of<T>(k(i), i);
}
/// out[i] = f(i).
template <class T, class F>
__global__ void fill_by_index(T* out, i64 n, F f) {
  const i64 threads = i64(gridDim.x) * blockDim.x;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads) out[i] = static_cast<T>(f(i));
}

/// Rising keys, each `same` times, with gaps between them.
template <class T>
struct rising {
  i64 n, same;
  u64 seed;
  PMPP_HOST_DEVICE T operator()(i64 i) const {
    const i64 j = i / same * same;
    const u64 step = ~u64(0) / u64(n);
    return element_of<T>(u64(j) * step + bits_of(seed + u64(j)) % step, i);
  }
};

/// How many elements differ, and the first of them.
struct difference {
  unsigned long long count = 0, first = ~0ull;
};

/// Floating-point numbers may differ by `relative` of the larger one and by `absolute`.
template <class T>
__global__ void count_differences(const T* a, const T* b, i64 n, double relative, double absolute, difference* found) {
  const i64 threads = i64(gridDim.x) * blockDim.x;
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads) {
    const T x = a[i], y = b[i];
    bool same = true;
    if constexpr (is_float<T>) {
      const double p = static_cast<double>(x), q = static_cast<double>(y);
      const double bound = absolute + relative * fmax(fabs(p), fabs(q));
      same = p == q || fabs(p - q) <= bound || (p != p && q != q);
    } else {
      const auto *p = reinterpret_cast<const unsigned char*>(&x), *q = reinterpret_cast<const unsigned char*>(&y);
      for (std::size_t k = 0; k < sizeof(T); ++k) same = same && p[k] == q[k];
    }
    if (!same) {
      atomicAdd(&found->count, 1ull);
      atomicMin(&found->first, static_cast<unsigned long long>(i));
    }
  }
}

/// What differs between two arrays; empty: nothing. Sums of many floating-point numbers: `terms` of them in each.
template <class T>
std::string difference_of(cudaStream_t stream, const char* what, const T* a, const T* b, i64 n, double terms = 1) {
  double epsilon = 0;
  if constexpr (std::is_same_v<T, double>)
    epsilon = 0x1p-52;
  else if constexpr (std::is_same_v<T, float>)
    epsilon = 0x1p-23;
  else if constexpr (is_float<T>)
    epsilon = 0x1p-10;
  // Partial sums are joined one tile after the other: a relative error; the terms of a tile: a random walk. Where sums of
  // rising numbers come back to zero the error is that of the largest sum, once for each tile that is joined: another random walk.
  const double relative = terms > 1 ? epsilon * (16 + terms / 1000) : 0;
  const double absolute = terms > 1 ? epsilon * (4 * std::sqrt(4096 * terms) + terms * std::sqrt(1 + terms / 4096)) : 0;
  pmpp::device_buffer<difference> found(1, difference{});
  if (n > 0) {
    count_differences<<<1024, 256, 0, stream>>>(a, b, n, relative, absolute, found.data());
    pmpp::check(cudaGetLastError(), "count_differences");
  }
  const difference d = pmpp::to_host(stream, found)[0];
  if (d.count == 0) return "";
  return std::string(what) + ": " + std::to_string(d.count) + " of " + std::to_string(n) + " differ, the first at " +
         std::to_string(d.first);
}

/// What differs between two counts; `count` is what both are.
inline std::string difference_of_counts(cudaStream_t stream, const char* what, const i64* a, const i64* b, i64& count) {
  const std::string text = difference_of(stream, what, a, b, 1);
  pmpp::copy(stream, std::span<const i64>(a, 1), std::span<i64>(&count, 1));
  pmpp::synchronize(stream);
  return text;
}

/// What calls return to the host, and how that differs.
struct returned {
  i64 own = -1, peer = -2;
  std::string difference() const {
    return own == peer ? "" : std::to_string(own) + " instead of " + std::to_string(peer);
  }
};

}  // namespace sweep
