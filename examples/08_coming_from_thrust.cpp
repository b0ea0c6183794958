// SPDX-License-Identifier: Apache-2.0
//
// The pmpp side of the table "Coming from Thrust and CUB" in docs/guide.md: every call in it, compiled and run.
#include <cstdio>
#include <vector>

#include <pmpp/core/iterator.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

using namespace pmpp;

struct square {
  PMPP_HOST_DEVICE float operator()(float x) const { return x * x; }
};
struct halve {
  PMPP_HOST_DEVICE void operator()(float& x) const { x /= 2; }
};

int main() {
  const int n = 1000;
  const std::vector<float> host_vector(n, 3.0f);
  const pmpp::stream s;
  workspace w;

  device_buffer<float> x{n};
  device_buffer<float> y{host_vector};
  device_buffer<float> z{n}, out{1};
  device_buffer<int> count{1, n};
  const auto on_s = device.on(s).with(w);

  fill(device, x, 2.0f);
  synchronize(device);
  transform(on_s, x, y, z, plus{});
  for_each(on_s, z, halve{});
  const float sum = reduce(on_s, z);
  const float most = reduce(on_s, z, 0.0f, maximum{});
  reduce_into(on_s, z, out);
  const float dot = transform_reduce(on_s, x, y, 0.0f, plus{}, multiplies{});
  const float norm = transform_reduce(on_s, x, 0.0f, plus{}, square{});
  const auto at = max_element(on_s, z) - z.begin();
  reduce_into(on_s, z.begin(), device_count{count.data(), n}, out);
  iota(on_s, x, 0.0f);
  const auto squares = reduce(on_s, counting_iterator{0}, counting_iterator{n}, 0LL);
  const std::vector<float> back = to_host(s, out);

  const bool right =
      sum == 2500 && most == 2.5f && dot == 6000 && norm == 4000 && at == 0 && squares == 499'500 && back[0] == 2500;
  std::printf("%s\n", right ? "right" : "WRONG");
  return right ? 0 : 1;
}
// Output:
//   right
