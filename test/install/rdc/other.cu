// SPDX-License-Identifier: Apache-2.0
//
// A second CUDA source that instantiates the same kernel as square.cu.
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/transform.hpp>

struct square {
  PMPP_HOST_DEVICE float operator()(float x) const { return x * x; }
};

void square_in_place(pmpp::device_buffer<float>& x) { pmpp::transform(pmpp::device, x, x, square{}); }
