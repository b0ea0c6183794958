// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

namespace {

struct square {
  PMPP_HOST_DEVICE float operator()(float x) const { return x * x; }
};

}  // namespace

float FUNCTION(const std::vector<float>& x) {
  const pmpp::device_buffer<float> in{x};
  pmpp::device_buffer<float> out{x.size()};
  pmpp::transform(pmpp::device, in, out, square{});
  return pmpp::reduce(pmpp::device, out);
}
