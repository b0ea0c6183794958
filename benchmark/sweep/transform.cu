// SPDX-License-Identifier: Apache-2.0
//
// Elementwise calls of a sweep, beside cub::DeviceTransform. benchmark/sweep/sweep.hpp says what a sweep is.
#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>
#include <thrust/iterator/counting_iterator.h>

#include <pmpp/transform.hpp>

#include "sweep.hpp"

namespace {

using namespace sweep;

/// Adds a peer that takes no storage.
template <class F>
void add_call(trial& t, F call) {
  t.peers.push_back({"cub", [=](int s) { pmpp::check(call(s), "cub::DeviceTransform"); }, {}});
}

struct halved {
  template <class T>
  PMPP_HOST_DEVICE T operator()(const T& x) const {
    if constexpr (std::is_same_v<T, __half>)
      return __float2half(__half2float(x) * 0.5f);
    else
      return static_cast<T>(x / 2);
  }
};
struct converted {
  PMPP_HOST_DEVICE double operator()(float x) const { return double(x); }
};
struct mapped_words {
  template <int N>
  PMPP_HOST_DEVICE words<N> operator()(words<N> x) const {
    x.word[0] ^= x.word[N - 1];
    return x;
  }
};
struct a_x_plus_y {
  template <class T>
  PMPP_HOST_DEVICE T operator()(const T& x, const T& y) const {
    return static_cast<T>(T(2) * x + y);
  }
};
struct hashed {
  PMPP_HOST_DEVICE u32 operator()(i64 i) const { return u32(i) * 2654435761u; }
};

template <class T, class Out, class F>
void unary(trial& t) {
  t.draw_size(sizeof(T) + 2 * sizeof(Out));
  const i64 n = t.n;
  t.set_bytes(double(n) * (sizeof(T) + sizeof(Out)));
  const auto in = t.input<T>(n);
  const auto [mine, theirs] = t.outputs<Out>(n);
  Out *const a = mine, *const b = theirs;
  t.own = {
      "pmpp",
      [=](int s) { pmpp::transform(device(), static_cast<const T*>(in(s)), static_cast<const T*>(in(s)) + n, a, F{}); },
      {}};
  add_call(t,
           [=](int s) { return cub::DeviceTransform::Transform(static_cast<const T*>(in(s)), b, n, F{}, stream()); });
  t.fault = [=] { return difference_of(stream(), "results", a, b, n); };
}
template <class T, class F>
void binary(trial& t) {
  t.draw_size(4 * sizeof(T));
  const i64 n = t.n;
  t.set_bytes(3.0 * double(n) * sizeof(T));
  const auto x = t.input<T>(n), y = t.input<T>(n);
  const auto [mine, theirs] = t.outputs<T>(n);
  T *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int s) {
             pmpp::transform(device(), std::span<const T>(x(s), std::size_t(n)),
                             std::span<const T>(y(s), std::size_t(n)), a, F{});
           },
           {}};
  add_call(t, [=](int s) {
    return cub::DeviceTransform::Transform(
        cuda::std::make_tuple(static_cast<const T*>(x(s)), static_cast<const T*>(y(s))), b, n, F{}, stream());
  });
  t.fault = [=] { return difference_of(stream(), "results", a, b, n, 2); };
}
void of_indices(trial& t) {
  t.draw_size(8);
  const i64 n = t.n;
  t.set_bytes(4.0 * double(n));
  const auto [mine, theirs] = t.outputs<u32>(n);
  u32 *const a = mine, *const b = theirs;
  t.own = {"pmpp",
           [=](int) {
             pmpp::transform(device(), pmpp::counting_iterator<i64>(0), pmpp::counting_iterator<i64>(n), a, hashed{});
           },
           {}};
  add_call(t, [=](int) {
    return cub::DeviceTransform::Transform(thrust::make_counting_iterator<i64>(0), b, n, hashed{}, stream());
  });
  t.fault = [=] { return difference_of(stream(), "results", a, b, n); };
}

}  // namespace

int main(int argc, char** argv) {
  return sweep::run("transform", argc, argv,
                    {{"half of u8", unary<u8, u8, halved>},
                     {"half of i16", unary<i16, i16, halved>},
                     {"half of f16", unary<__half, __half, halved>},
                     {"half of f32", unary<float, float, halved>},
                     {"half of u64", unary<u64, u64, halved>},
                     {"f32 to f64", unary<float, double, converted>},
                     {"12 bytes", unary<words<3>, words<3>, mapped_words>},
                     {"16 bytes", unary<words<4>, words<4>, mapped_words>},
                     {"a x + y f32", binary<float, a_x_plus_y>},
                     {"a x + y u8", binary<u8, a_x_plus_y>},
                     {"a x + y f64", binary<double, a_x_plus_y>},
                     {"hashes of indices", of_indices}});
}
