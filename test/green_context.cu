// SPDX-License-Identifier: Apache-2.0
//
// What this file proves, on a GPU whose driver has green contexts: on a stream that has a few of the GPU's multiprocessors,
// kernels whose blocks wait for each other finish, with right results: fewer blocks are launched, or another way is taken.
#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include <pmpp/bfs.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/sort.hpp>

#include <doctest/doctest.h>

namespace {

template <class F>
F driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  if (cudaGetDriverEntryPointByVersion(name, &found, 12050, cudaEnableDefault, &status) != cudaSuccess) return nullptr;
  return status == cudaDriverEntryPointSuccess ? reinterpret_cast<F>(found) : nullptr;
}
#define DRIVER(name) const auto name = driver<decltype(&::name)>(#name)

/// A green context of at least `least` multiprocessors, current while it lives, and a stream in it.
class green_context {
public:
  explicit green_context(unsigned least) {
    DRIVER(cuDeviceGetDevResource);
    DRIVER(cuDevSmResourceSplitByCount);
    DRIVER(cuDevResourceGenerateDesc);
    DRIVER(cuGreenCtxCreate);
    DRIVER(cuCtxFromGreenCtx);
    DRIVER(cuGreenCtxStreamCreate);
    DRIVER(cuCtxGetCurrent);
    DRIVER(cuCtxSetCurrent);
    if (!cuDeviceGetDevResource || !cuDevSmResourceSplitByCount || !cuDevResourceGenerateDesc || !cuGreenCtxCreate ||
        !cuCtxFromGreenCtx || !cuGreenCtxStreamCreate || !cuCtxGetCurrent || !cuCtxSetCurrent)
      return;
    CUdevResource all{}, part{};
    unsigned groups = 1;
    CUdevResourceDesc description{};
    CUcontext context{};
    REQUIRE(cudaFree(nullptr) == cudaSuccess);
    if (cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) return;
    REQUIRE(cuDevSmResourceSplitByCount(&part, &groups, &all, nullptr, 0, least) == CUDA_SUCCESS);
    REQUIRE(cuDevResourceGenerateDesc(&description, &part, 1) == CUDA_SUCCESS);
    REQUIRE(cuGreenCtxCreate(&green_, description, 0, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS);
    REQUIRE(cuCtxGetCurrent(&before_) == CUDA_SUCCESS);
    REQUIRE(cuCtxFromGreenCtx(&context, green_) == CUDA_SUCCESS);
    REQUIRE(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    REQUIRE(cuGreenCtxStreamCreate(&stream_, green_, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    multiprocessors = part.sm.smCount;
  }
  ~green_context() {
    if (green_ == nullptr) return;
    DRIVER(cuCtxSetCurrent);
    DRIVER(cuGreenCtxDestroy);
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    cuCtxSetCurrent(before_);
    cuGreenCtxDestroy(green_);
  }
  green_context(const green_context&) = delete;
  green_context& operator=(const green_context&) = delete;

  cudaStream_t stream() const { return stream_; }
  unsigned multiprocessors = 0;  ///< 0: this driver has no green contexts

private:
  CUgreenCtx green_ = nullptr;
  CUcontext before_ = nullptr;
  CUstream stream_ = nullptr;
};

struct backwards {
  PMPP_HOST_DEVICE bool operator()(std::uint64_t a, std::uint64_t b) const { return a > b; }
};

template <class T>
std::vector<T> some(std::int64_t n, std::uint64_t below) {
  std::vector<T> v(static_cast<std::size_t>(n));
  std::uint64_t x = 7;
  for (T& e : v) e = static_cast<T>((x = x * 6364136223846793005u + 1442695040888963407u) >> 33 & (below - 1));
  return v;
}

template <class T>
std::vector<T> back(cudaStream_t stream, const pmpp::device_buffer<T>& on_device) {
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  std::vector<T> v(on_device.size());
  pmpp::copy(on_device, v);
  return v;
}

}  // namespace

TEST_CASE("blocks that wait for each other in a green context") {
  const green_context green(8);
  if (green.multiprocessors == 0) {
    MESSAGE("this driver has no green contexts");
    return;
  }
  MESSAGE("multiprocessors: " << green.multiprocessors);
  const auto where = pmpp::device.on(green.stream());

  SUBCASE("sorts of all sizes") {
    for (const std::int64_t n : {1000, 20000, 60000, 300000, 2000000, 20000000}) {
      auto v = some<std::uint32_t>(n, 1u << 31);
      pmpp::device_buffer<std::uint32_t> x(v);
      cudaDeviceSynchronize();
      pmpp::sort(where, x);
      std::sort(v.begin(), v.end());
      CHECK(back(green.stream(), x) == v);
      auto w = some<std::uint64_t>(n, 1u << 20);
      pmpp::device_buffer<std::uint64_t> y(w);
      cudaDeviceSynchronize();
      pmpp::sort(where, y, backwards{});
      std::sort(w.begin(), w.end(), std::greater<>{});
      CHECK(back(green.stream(), y) == w);
    }
  }
  SUBCASE("sorted segments") {
    auto v = some<std::uint32_t>(3000000, 1u << 31);
    std::vector<int> offsets{0};
    for (int step = 1; offsets.back() < 3000000; step = step * 5 % 100003 + 1)
      offsets.push_back(std::min(3000000, offsets.back() + step));
    pmpp::device_buffer<std::uint32_t> x(v);
    pmpp::device_buffer<int> at(offsets);
    cudaDeviceSynchronize();
    pmpp::segmented_sort(where, x, at);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) std::sort(v.begin() + offsets[s], v.begin() + offsets[s + 1]);
    CHECK(back(green.stream(), x) == v);
  }
  SUBCASE("a scan, and a product with a long k") {
    auto v = some<std::int64_t>(5000000, 1u << 20);
    pmpp::device_buffer<std::int64_t> x(v), sums(v.size());
    pmpp::device_buffer<float> a(128 * 20000), b(20000 * 128), c(128 * 128);
    std::vector<float> ones(128 * 20000, 1.0f);
    pmpp::copy(ones, a);
    pmpp::copy(ones, b);
    cudaDeviceSynchronize();
    pmpp::inclusive_scan(where, x, sums);
    std::partial_sum(v.begin(), v.end(), v.begin());
    CHECK(back(green.stream(), sums) == v);
    const pmpp::matrix_view<const float> left(a.data(), 128, 20000), right(b.data(), 20000, 128);
    pmpp::gemm(where, 1, left, right, 0, pmpp::matrix_view<float>(c.data(), 128, 128));
    CHECK(back(green.stream(), c) == std::vector<float>(128 * 128, 20000.0f));
  }
  SUBCASE("distances in a ring with chords") {
    constexpr int n = 200000;
    std::vector<int> offsets(n + 1), columns;
    for (int i = 0; i < n; ++i) {
      offsets[std::size_t(i)] = static_cast<int>(columns.size());
      for (const int to : {(i + 1) % n, (i + n - 1) % n, (i + 1000) % n, (i + n - 1000) % n}) columns.push_back(to);
    }
    offsets[n] = static_cast<int>(columns.size());
    pmpp::device_buffer<int> at(offsets), to(columns), distance(n);
    cudaDeviceSynchronize();
    pmpp::bfs(where, pmpp::csr_view<void, const int>(n, n, at.data(), to.data()), 0, distance);
    std::vector<int> wanted(n, -1), queue{0};
    wanted[0] = 0;
    for (std::size_t k = 0; k < queue.size(); ++k)
      for (int e = offsets[std::size_t(queue[k])]; e < offsets[std::size_t(queue[k]) + 1]; ++e)
        if (int& d = wanted[std::size_t(columns[std::size_t(e)])]; d < 0) {
          d = wanted[std::size_t(queue[k])] + 1;
          queue.push_back(columns[std::size_t(e)]);
        }
    CHECK(back(green.stream(), distance) == wanted);
  }
}
