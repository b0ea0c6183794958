// SPDX-License-Identifier: Apache-2.0
#include "square.hpp"

#include <pmpp/memory/copy.hpp>
#include <pmpp/transform.hpp>

struct square {
  PMPP_HOST_DEVICE float operator()(float x) const { return x * x; }
};

double sum_of_squares(const pmpp::device_buffer<float>& x) {
  pmpp::device_buffer<float> squares{x.size()};
  pmpp::transform(pmpp::device, x, squares, square{});
  double sum = 0;
  for (float s : pmpp::to_host(squares)) sum += s;
  return sum;
}
