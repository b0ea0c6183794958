// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices of 8-bit floats: a quarter of the memory of floats, and on an H100 thirty times as fast. Eight bits have four significant ones,
// and numbers from 2^-9 to 448. So each 128 numbers of a row of activations, and each 128 x 128 weights, are divided by a scale that
// takes the largest of them to 448; gemm_scaled multiplies by it again.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <pmpp/gemm_scaled.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

using pmpp::fp8_e4m3;

constexpr int tokens = 50, inputs = 300, outputs = 200, block = 128;
constexpr int blocks(int n) { return (n + block - 1) / block; }

// [quantise]
struct eight_bits {
  std::vector<fp8_e4m3> numbers;
  std::vector<float> scales;  // of blocks of `height` x 128 numbers
};

eight_bits quantised(const std::vector<float>& x, int rows, int cols, int height) {
  const int across = blocks(cols), down = (rows + height - 1) / height;
  eight_bits result{std::vector<fp8_e4m3>(x.size()), std::vector<float>(std::size_t(down * across), 1e-30f)};
  const auto scale = [&](int i, int j) -> float& {
    return result.scales[std::size_t(i / height * across + j / block)];
  };
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) scale(i, j) = std::max(scale(i, j), std::abs(x[std::size_t(i * cols + j)]) / 448);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) {
      const auto at = std::size_t(i * cols + j);
      result.numbers[at] = fp8_e4m3(x[at] / scale(i, j));
    }
  return result;
}
// [end]

int main() {
  std::vector<float> activations, weights;  // weights: a row for each output
  for (int i = 0; i < tokens * inputs; ++i)
    activations.push_back(std::sin(float(i) * 0.37f) * (i % inputs == 17 ? 1000.0f : 1.0f));  // one input is large
  for (int i = 0; i < outputs * inputs; ++i) weights.push_back(std::cos(float(i) * 0.91f) / 16);

  const eight_bits a = quantised(activations, tokens, inputs, 1), w = quantised(weights, outputs, inputs, block);
  const pmpp::device_buffer<fp8_e4m3> x{a.numbers}, y{w.numbers};
  const pmpp::device_buffer<float> of_x{a.scales}, of_y{w.scales};
  pmpp::device_buffer<float> product(tokens * outputs);
  // [calls]
  using pmpp::matrix_view;
  pmpp::gemm_scaled(pmpp::device, 1, matrix_view(x.data(), tokens, inputs),
                    matrix_view(of_x.data(), tokens, blocks(inputs)),
                    transposed(matrix_view(y.data(), outputs, inputs)),
                    transposed(matrix_view(of_y.data(), blocks(outputs), blocks(inputs))), 0,
                    matrix_view(product.data(), tokens, outputs));
  // [end]

  const std::vector<float> result = pmpp::to_host(product);
  double error = 0, size = 0;
  for (int t = 0; t < tokens; ++t)
    for (int o = 0; o < outputs; ++o) {
      double sum = 0;
      for (int i = 0; i < inputs; ++i)
        sum += double(activations[std::size_t(t * inputs + i)]) * double(weights[std::size_t(o * inputs + i)]);
      const double wrong = double(result[std::size_t(t * outputs + o)]) - sum;
      error += wrong * wrong;
      size += sum * sum;
    }
  const double share = std::sqrt(error / size);
  std::printf("error of %d x %d x %d: %.2f %% of the product\n", tokens, outputs, inputs, 100 * share);
  return share < 0.05 ? 0 : 1;  // each factor is wrong by 2^-4 of itself at most
}
