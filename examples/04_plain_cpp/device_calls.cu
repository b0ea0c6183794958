// SPDX-License-Identifier: Apache-2.0
//
// The calls that run kernels: compiled by nvcc, or as C++ in a program without CUDA.
#include "device_calls.hpp"

#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

namespace {
struct square_of {
  PMPP_HOST_DEVICE float operator()(float x) const { return x * x; }
};
}  // namespace

void square(const pmpp::stream& s, pmpp::device_buffer<float>& x) {
  pmpp::transform(pmpp::device.on(s), x, x, square_of{});
}

double sum(const pmpp::stream& s, const pmpp::device_buffer<float>& x) {
  return pmpp::reduce(pmpp::device.on(s), x, 0.0);
}
