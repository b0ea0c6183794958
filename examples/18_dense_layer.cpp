// SPDX-License-Identifier: Apache-2.0
//
// A small neural network: two dense layers, bias and ReLU fused into the product that they follow. It learns nothing
// here; its weights say whether a point lies in a square, which can be checked by eye.
#include <cmath>
#include <cstdio>
#include <vector>

#include <pmpp/gemm.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

// [epilogue]
struct relu_with_bias {
  const float* bias;  // of each column
  PMPP_HOST_DEVICE float operator()(float sum, std::int64_t, std::int64_t column) const {
    const float value = sum + bias[column];
    return value > 0 ? value : 0;
  }
};
// [end]

int main() {
  // Points (x, y) of a grid in [-2, 2] x [-2, 2]; one a row.
  const int side = 41, points = side * side;
  std::vector<float> grid;
  for (int i = 0; i < points; ++i) {
    grid.push_back(-2 + 0.1f * static_cast<float>(i % side));
    grid.push_back(2 - 0.1f * static_cast<float>(i / side));
  }
  // The first layer measures how far a point is past each of four lines, the second adds that up: 0 past all of them
  // is 1 inside, and falls off outside.
  const std::vector<float> first{1, -1, 0, 0, 0, 0, 1, -1}, first_bias{-1, -1, -1, -1};
  const std::vector<float> second{-1, -1, -1, -1}, second_bias{1};

  const pmpp::device_buffer<float> x{grid}, w1{first}, b1{first_bias}, w2{second}, b2{second_bias};
  pmpp::device_buffer<float> hidden(points * 4), inside(points);
  // [calls]
  using pmpp::device, pmpp::matrix_view;
  pmpp::gemm(device, 1, matrix_view(x.data(), points, 2), matrix_view(w1.data(), 2, 4), 0,
             matrix_view(hidden.data(), points, 4), pmpp::gemm_options{relu_with_bias{b1.data()}});
  pmpp::gemm(device, 1, matrix_view(hidden.data(), points, 4), matrix_view(w2.data(), 4, 1), 0,
             matrix_view(inside.data(), points, 1), pmpp::gemm_options{relu_with_bias{b2.data()}});
  // [end]
  const std::vector<float> shade = pmpp::to_host(inside);
  bool ok = true;
  for (int i = 0; i < points; ++i) {
    const float past_x = std::fmax(0.0f, std::fabs(grid[std::size_t(2 * i)]) - 1);
    const float past_y = std::fmax(0.0f, std::fabs(grid[std::size_t(2 * i + 1)]) - 1);
    const float wanted = std::fmax(0.0f, 1 - past_x - past_y);
    ok = ok && std::fabs(shade[std::size_t(i)] - wanted) < 1e-5f;
  }
  for (int row = 0; row < side; row += 4) {
    for (int column = 0; column < side; column += 2)
      std::putchar(" .:+#"[static_cast<int>(4 * shade[std::size_t(row * side + column)] + 0.5f)]);
    std::putchar('\n');
  }
  return ok ? 0 : 1;
}
