// SPDX-License-Identifier: Apache-2.0
//
// A CUDA graph: transform and reduce_into are recorded once, with a length that stays on the device, and replayed on
// data that change. Without CUDA the same two calls run at once, each time.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

struct square {
  PMPP_HOST_DEVICE float operator()(float x) const { return x * x; }
};

int main() {
  const std::int64_t capacity = 100'000;
  pmpp::device_buffer<float> x{capacity};
  pmpp::device_buffer<std::int64_t> count{1};  // how many elements of x there are
  pmpp::device_buffer<double> result{1};
  const pmpp::stream s;
  pmpp::workspace memory;

  // [pipeline]
  const auto where = pmpp::device.on(s).with(memory);
  const auto enqueue = [&] {  // nothing here waits, and no number travels to the host
    const pmpp::device_count n{count.data(), capacity};
    pmpp::transform(where, x.begin(), n, x, square{});
    pmpp::reduce_into(where, x.begin(), n, result, 0.0);
  };
  // [end]
#if PMPP_CUDA
  // [capture]
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  pmpp::check(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  enqueue();
  pmpp::check(cudaStreamEndCapture(s, &graph), "cudaStreamEndCapture");
  pmpp::check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  const auto replay = [&] { pmpp::check(cudaGraphLaunch(executable, s), "cudaGraphLaunch"); };
  // [end]
#else
  const auto replay = enqueue;
#endif

  bool right = true;
  for (const std::int64_t n : {std::int64_t(10), std::int64_t(99'999), std::int64_t(0)}) {
    std::vector<float> data(capacity, -1.0f);
    for (std::int64_t i = 0; i < n; ++i) data[i] = float(i % 100);
    double expected = 0;
    for (std::int64_t i = 0; i < n; ++i) expected += double(data[i]) * data[i];
    pmpp::copy(s, data, x);
    pmpp::copy(s, std::vector<std::int64_t>{n}, count);
    replay();
    const double got = pmpp::to_host(s, result)[0];
    std::printf("%6lld elements: sum of squares %.0f\n", static_cast<long long>(n), got);
    right = right && got == expected;
  }
#if PMPP_CUDA
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
#endif
  return right ? 0 : 1;
}
// Output:
//       10 elements: sum of squares 285
//    99999 elements: sum of squares 328340199
//        0 elements: sum of squares 0
