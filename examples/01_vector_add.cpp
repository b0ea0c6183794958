// SPDX-License-Identifier: Apache-2.0
//
// Vector addition four ways, from the most explicit to one call.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/memory/pinned_buffer.hpp>
#include <pmpp/transform.hpp>

// [kernel]
struct vector_add {
  static constexpr int threads = 256;  // of a block

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, const float* a, const float* b, float* c, std::int64_t n) const {
    const std::int64_t i = block.index() * threads + block.thread();
    if (i < n) c[i] = a[i] + b[i];
  }
  static std::int64_t blocks(std::int64_t n) { return pmpp::ceil_div(n, std::int64_t(threads)); }
};
// [end]

int main() {
  const std::int64_t n = 1'000'003;
  std::vector<float> a(n), b(n);
  for (std::int64_t i = 0; i < n; ++i) a[i] = float(i % 1000), b[i] = float(i % 77);
  int wrong_ways = 0;
  const auto check = [&](const char* way, const auto& c) {
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i) right = right && c[i] == a[i] + b[i];
    wrong_ways += !right;
    std::printf("%-40s %s\n", way, right ? "right" : "WRONG");
  };

  {  // 1. Memory of the device, and explicit copies to it and back.
    const pmpp::device_buffer<float> x{a}, y{b};
    pmpp::device_buffer<float> z{n};
    pmpp::launch(pmpp::device, vector_add::blocks(n), vector_add{}, x.data(), y.data(), z.data(), n);
    check("explicit copies and a kernel", pmpp::to_host(z));
  }
  {  // 2. Managed memory: host and device see the same addresses; the host waits before it looks.
    const pmpp::managed_buffer<float> x{a}, y{b};
    pmpp::managed_buffer<float> z{n};
    pmpp::launch(pmpp::device, vector_add::blocks(n), vector_add{}, x.data(), y.data(), z.data(), n);
    pmpp::synchronize(pmpp::device);
    check("managed memory", z);
  }
  {  // 3. Pinned memory and two streams: one chunk is copied while the other is computed.
    const pmpp::pinned_buffer<float> x{a}, y{b};
    pmpp::pinned_buffer<float> z{n};
    const std::int64_t chunk = 1 << 17;
    const pmpp::stream streams[2];
    pmpp::device_buffer<float> dx[2], dy[2], dz[2];
    for (int s = 0; s < 2; ++s) dx[s].resize_discard(chunk), dy[s].resize_discard(chunk), dz[s].resize_discard(chunk);
    for (std::int64_t first = 0, s = 0; first < n; first += chunk, s = 1 - s) {
      const std::int64_t m = std::min(chunk, n - first);
      pmpp::copy(streams[s], x.span().subspan(first, m), dx[s].span().first(m));
      pmpp::copy(streams[s], y.span().subspan(first, m), dy[s].span().first(m));
      pmpp::launch(pmpp::device.on(streams[s]), vector_add::blocks(m), vector_add{}, dx[s].data(), dy[s].data(),
                   dz[s].data(), m);
      pmpp::copy(streams[s], dz[s].span().first(m), z.span().subspan(first, m));
    }
    for (const pmpp::stream& s : streams) s.synchronize();
    check("pinned memory, two streams", z);
  }
  {  // 4. The library's own kernel.
    pmpp::device_buffer<float> x{a}, y{b};
    pmpp::transform(pmpp::device, x, y, x, pmpp::plus{});
    check("transform", pmpp::to_host(x));
  }
  return wrong_ways;
}
// Output: four lines that end in "right".
