// SPDX-License-Identifier: Apache-2.0
//
// Functions for stencil: weighted sums over the usual neighbourhoods.
//
//   star<T, 1>  7 points of a volume (5 of a matrix, 3 of a span)      star<T, 2>  13       star<T, 4>  25
//   box<T>      27 points of a volume (9 of a matrix, 3 of a span)
//
// They are plain aggregates of weights; laplacian<T, Radius>() has those of the second derivative.
#pragma once

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// The elements on the axes, up to Radius away; those at the same distance have the same weight. Sums are T.
template <class T, int Radius>
struct star {
  T weight[Radius + 1];  ///< of the element itself, of those 1, 2, ... away

  template <class N>
  PMPP_HOST_DEVICE T operator()(const N& n) const {
    static_assert(Radius <= N::radius, "the radius given to stencil is less than the star's");
    if constexpr (N::dimensions == 1) {
      T sum = weight[0] * static_cast<T>(n(0));
      for (int k = 1; k <= Radius; ++k) sum += weight[k] * (static_cast<T>(n(-k)) + static_cast<T>(n(k)));
      return sum;
    } else if constexpr (N::dimensions == 2) {
      T sum = weight[0] * static_cast<T>(n(0, 0));
      for (int k = 1; k <= Radius; ++k)
        sum += weight[k] * ((static_cast<T>(n(-k, 0)) + static_cast<T>(n(k, 0))) +
                            (static_cast<T>(n(0, -k)) + static_cast<T>(n(0, k))));
      return sum;
    } else {
      T sum = weight[0] * static_cast<T>(n(0, 0, 0));
      for (int k = 1; k <= Radius; ++k)
        sum += weight[k] * ((static_cast<T>(n(-k, 0, 0)) + static_cast<T>(n(k, 0, 0))) +
                            (static_cast<T>(n(0, -k, 0)) + static_cast<T>(n(0, k, 0))) +
                            (static_cast<T>(n(0, 0, -k)) + static_cast<T>(n(0, 0, k))));
      return sum;
    }
  }
};

/// All elements at most one away along each axis; the weight is that of the number of axes along which they are away.
template <class T>
struct box {
  static constexpr bool corners = true;  ///< see stencil
  T weight[4];                           ///< of the element itself, of those beyond its faces, edges, corners

  template <class N>
  PMPP_HOST_DEVICE T operator()(const N& n) const {
    T sum[4] = {};
    for (int i = -1; i <= 1; ++i) {
      if constexpr (N::dimensions == 1) sum[i * i] += static_cast<T>(n(i));
      if constexpr (N::dimensions > 1)
        for (int j = -1; j <= 1; ++j) {
          if constexpr (N::dimensions == 2) sum[i * i + j * j] += static_cast<T>(n(i, j));
          if constexpr (N::dimensions == 3)
            for (int k = -1; k <= 1; ++k) sum[i * i + j * j + k * k] += static_cast<T>(n(i, j, k));
        }
    }
    T all = weight[0] * sum[0];
    for (int a = 1; a <= N::dimensions; ++a) all += weight[a] * sum[a];
    return all;
  }
};

template <class T>
using stencil_7 = star<T, 1>;
template <class T>
using stencil_13 = star<T, 2>;
template <class T>
using stencil_25 = star<T, 4>;
template <class T>
using stencil_27 = box<T>;

/// The sum of the second derivatives along `dimensions` axes, of elements one apart: central differences of order
/// 2 * Radius, Radius 1 to 4. (Fornberg, Generation of finite difference formulas on arbitrarily spaced grids, 1988.)
template <class T, int Radius>
constexpr star<T, Radius> laplacian(int dimensions = 3) {
  static_assert(Radius >= 1 && Radius <= 4, "weights are known of radius 1 to 4");
  constexpr double weights[4][5] = {{-2, 1},
                                    {-5.0 / 2, 4.0 / 3, -1.0 / 12},
                                    {-49.0 / 18, 3.0 / 2, -3.0 / 20, 1.0 / 90},
                                    {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560}};
  star<T, Radius> s{};
  for (int k = 0; k <= Radius; ++k) s.weight[k] = static_cast<T>((k == 0 ? dimensions : 1) * weights[Radius - 1][k]);
  return s;
}

}  // namespace pmpp::inline PMPP_BACKEND
