// SPDX-License-Identifier: Apache-2.0
//
// Rung 6: what F^H d is for. Where samples lie closely in some parts of k-space and not in others, F^H d is blurred; the image that
// fits the samples best solves (F^H F + lambda) image = F^H d, here by conjugate gradients. Entry (v, u) of F^H F depends on the
// difference of the places of v and u alone, so all of it is one picture of (2 side - 1)^2 numbers, the F^H of ones, made once
// by the same sums; a product is then a convolution. (Chapter 17 weights neighbours where this has lambda; Stone and others,
// Accelerating advanced MRI reconstructions on GPUs, 2008, convolve by FFT.)
#pragma once

#include <span>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#include "scan.hpp"

namespace ladder {

/// spread(r, c), r and c from 1 - side to side - 1: the sum over samples of exp(2 pi i k (c, r) / side).
struct point_spread {
  static constexpr int threads = block_threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const sample* samples, int n, int side, pair* spread) const {
    const int i = int(block.index()) * threads + block.thread(), width = 2 * side - 1;
    if (i >= width * width) return;
    const float x = float(i % width - side + 1) / float(side), y = float(i / width - side + 1) / float(side);
    pair sum{0, 0};
    for (int m = 0; m < n; ++m) {
      const float angle = full_turn * (samples[m].kx * x + samples[m].ky * y);
      add_turned(sum, {1, 0}, cosf(angle), sinf(angle));
    }
    spread[i] = sum;
  }
};

/// to = (F^H F + lambda) from, a voxel a thread.
struct normal_product {
  static constexpr int threads = block_threads;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const pair* spread, float lambda, int side, const pair* from,
                                   pair* to) const {
    const int v = int(block.index()) * threads + block.thread(), width = 2 * side - 1;
    if (v >= side * side) return;
    pair sum{lambda * from[v].re, lambda * from[v].im};
    for (int row = 0; row < side; ++row)
      for (int column = 0; column < side; ++column) {
        const pair s = spread[(v / side - row + side - 1) * width + v % side - column + side - 1];
        add_turned(sum, s, from[row * side + column].re, from[row * side + column].im);
      }
    to[v] = sum;
  }
};

/// Complex vectors as floats: a dot product of floats is the real part of theirs, and where conjugate gradients want one it is real.
struct axpy {
  float a;
  PMPP_HOST_DEVICE float operator()(float x, float y) const { return a * x + y; }
};

/// image = the solution, from F^H d; ends after `steps`, or when the residual is below 1e-5 of what it was.
/// \return how many steps that were
template <class Policy>
int reconstruct(const Policy& where, const sample* samples, int n, voxels space, float lambda, const pair* adjoint,
                int steps, pair* image) {
  using pmpp::ceil_div;
  const int width = 2 * space.side - 1, floats = 2 * space.count();
  pmpp::device_buffer<pair> spread(width * width);
  pmpp::device_buffer<float> x(floats, 0.0f), residual(floats), direction(floats), product(floats);
  const auto as_pairs = [](pmpp::device_buffer<float>& b) { return reinterpret_cast<pair*>(b.data()); };
  const auto square = [&](const auto& a, const auto& b) {
    return pmpp::transform_reduce(where, a, b, 0.0, pmpp::plus{}, pmpp::multiplies{});
  };
  pmpp::synchronize(pmpp::device);  // x is zero
  pmpp::launch(where, ceil_div<std::int64_t>(width * width, block_threads), point_spread{}, samples, n, space.side,
               spread.data());
  pmpp::copy(where, std::span{reinterpret_cast<const float*>(adjoint), std::size_t(floats)}, residual);
  pmpp::copy(where, residual, direction);
  const double start = square(residual, residual);
  double now = start;
  int step = 0;
  for (; step < steps && now > 1e-10 * start; ++step) {
    pmpp::launch(where, ceil_div<std::int64_t>(space.count(), block_threads), normal_product{}, spread.data(), lambda,
                 space.side, as_pairs(direction), as_pairs(product));
    const float length = float(now / square(direction, product));
    pmpp::transform(where, direction, x, x, axpy{length});
    pmpp::transform(where, product, residual, residual, axpy{-length});
    const double before = now;
    now = square(residual, residual);
    pmpp::transform(where, direction, residual, direction, axpy{float(now / before)});
  }
  pmpp::copy(where, x, std::span{reinterpret_cast<float*>(image), std::size_t(floats)});
  pmpp::synchronize(where);
  return step;
}

}  // namespace ladder
