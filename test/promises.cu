// SPDX-License-Identifier: Apache-2.0
//
// The library's promises that only a GPU can show, for every algorithm that exists: right past 2^31 and 2^32 elements;
// nothing hidden (no allocation, no synchronisation, nothing on the default stream, counted at the link); every call
// that only enqueues can be captured into a graph and replayed on changed data and changed lengths; the same bits a
// hundred times while another stream loads the machine; CUDA's own 2-byte types and Thrust's vectors as inputs.
#include <pmpp/histogram.hpp>
#include <pmpp/memory/pinned_buffer.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/select.hpp>
#include <pmpp/simt/memory.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/device_vector.h>

#include "support/data.hpp"
#include "support/monoids.hpp"
#include "support/policies.hpp"

using pmpp::device;

// The linker sends these calls here first (test/CMakeLists.txt: --wrap).
static int hidden_calls = 0;
#define COUNT_CALLS(name, parameters, arguments)    \
  extern "C" cudaError_t __real_##name parameters;  \
  extern "C" cudaError_t __wrap_##name parameters { \
    ++hidden_calls;                                 \
    return __real_##name arguments;                 \
  }
COUNT_CALLS(cudaMalloc, (void** p, size_t n), (p, n))
COUNT_CALLS(cudaFree, (void* p), (p))
COUNT_CALLS(cudaMallocFromPoolAsync, (void** p, size_t n, cudaMemPool_t pool, cudaStream_t s), (p, n, pool, s))
COUNT_CALLS(cudaFreeAsync, (void* p, cudaStream_t s), (p, s))
COUNT_CALLS(cudaHostAlloc, (void** p, size_t n, unsigned f), (p, n, f))
COUNT_CALLS(cudaMallocHost, (void** p, size_t n), (p, n))
COUNT_CALLS(cudaStreamSynchronize, (cudaStream_t s), (s))
COUNT_CALLS(cudaDeviceSynchronize, (), ())
COUNT_CALLS(cudaEventSynchronize, (cudaEvent_t e), (e))
COUNT_CALLS(cudaMemcpy, (void* d, const void* s, size_t n, cudaMemcpyKind k), (d, s, n, k))
COUNT_CALLS(cudaMemset, (void* d, int v, size_t n), (d, v, n))
COUNT_CALLS(cudaMemsetAsync, (void* d, int v, size_t n, cudaStream_t s), (d, v, n, s))

namespace {

struct square {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T x) const {
    return x * x;
  }
};
struct last {  // associative, keeps order: the right operand
  template <class T>
  PMPP_HOST_DEVICE T operator()(T, T b) const {
    return b;
  }
};

struct is_odd {
  PMPP_HOST_DEVICE bool operator()(int x) const { return x % 2 != 0; }
};

/// Keeps the odd numbers, adds them up from left to right, and takes the greatest sum; lengths stay on the device.
struct pipeline {
  pmpp::device_buffer<int> in, kept;
  pmpp::device_buffer<std::int64_t> count, sums, greatest;

  explicit pipeline(std::size_t n) : in(n), kept(n), count(1), sums(n), greatest(1) {}
  template <class P>
  void enqueue(const P& policy) {
    pmpp::copy_if_into(policy, in, kept, count, is_odd{});
    const pmpp::device_count length{count.data(), std::int64_t(in.size())};
    pmpp::inclusive_scan(policy, kept.begin(), length, sums);
    pmpp::reduce_into(policy, sums.begin(), length, greatest, std::int64_t(0), pmpp::maximum{});
  }
  /// Whether the results are those of `v`.
  bool is_right(const std::vector<int>& v) const {
    std::int64_t n = 0, sum = 0, most = 0;
    const auto all = pmpp::to_host(sums);
    for (const int x : v)
      if (x % 2 != 0) {
        sum += x;
        most = std::max(most, sum);
        if (all[static_cast<std::size_t>(n++)] != sum) return false;
      }
    return pmpp::to_host(count)[0] == n && pmpp::to_host(greatest)[0] == most;
  }
};

struct wait_for {  // gives up after some seconds, so that a failing test ends
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, unsigned* flag) const {
    for (int i = 0; i < 4000000 && pmpp::simt::load(flag) == 0; ++i) block.spin();
  }
};
/// Holds a stream until released.
class blocker {
public:
  void hold(cudaStream_t s) { pmpp::launch(device.on(s), pmpp::grid{1, 1}, wait_for{}, flag_.data()); }
  void release() { *static_cast<volatile unsigned*>(flag_.data()) = 1; }

private:
  pmpp::pinned_buffer<unsigned> flag_{1, 0u};
};

/// Everything that only enqueues, on one input; results in out[0 .. 5].
template <class P>
void enqueue_all(const P& policy, const pmpp::device_buffer<int>& in, pmpp::device_buffer<int>& changed,
                 pmpp::device_count<int> n, pmpp::device_buffer<std::int64_t>& out) {
  pmpp::reduce_into(policy, in, out, std::int64_t(0));
  pmpp::reduce_into(policy, in.begin(), n, out.begin() + 1, std::int64_t(0));
  pmpp::transform_reduce_into(policy, in, out.begin() + 2, std::int64_t(0), last{}, square{});
  pmpp::min_element_into(policy, in, out.begin() + 3);
  pmpp::transform(policy, in, changed, square{});
  pmpp::reduce_into(policy, changed, out.begin() + 4, std::int64_t(0));
  pmpp::fill(policy, changed.begin(), changed.begin() + 10, 7);
  pmpp::iota(policy, changed.begin() + 10, changed.begin() + 20, 3);
  pmpp::max_element_into(policy, changed, out.begin() + 5);
}
std::vector<std::int64_t> expected_of(const std::vector<int>& v, int n) {
  std::vector<int> changed(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) changed[i] = v[i] * v[i];
  const auto sum = [](auto first, auto end) { return std::accumulate(first, end, std::int64_t(0)); };
  std::vector<std::int64_t> e = {sum(v.begin(), v.end()), sum(v.begin(), v.begin() + n),
                                 std::int64_t(v.back()) * v.back(), std::min_element(v.begin(), v.end()) - v.begin(),
                                 sum(changed.begin(), changed.end())};
  std::fill_n(changed.begin(), 10, 7);
  std::iota(changed.begin() + 10, changed.begin() + 20, 3);
  e.push_back(std::max_element(changed.begin(), changed.end()) - changed.begin());
  return e;
}

}  // namespace

TEST_CASE("past 2^31 and 2^32 elements") {
  for (const std::int64_t n : {(1ll << 31) - 1, (1ll << 31) + 1, (1ll << 32) + 5}) {
    CAPTURE(n);
    const pmpp::counting_iterator<std::int64_t> zero(0);
    const std::int64_t m = n - 1;  // 0 ^ 1 ^ ... ^ m goes m, 1, m + 1, 0 with m modulo 4
    CHECK(pmpp::reduce(device, zero, zero + n, 0ll, pmpp::bit_xor{}) == (m % 4 == 0   ? m
                                                                         : m % 4 == 1 ? 1
                                                                         : m % 4 == 2 ? n
                                                                                      : 0));
    CHECK(pmpp::reduce(device, zero, zero + n, -1ll, last{}) == n - 1);
    pmpp::device_buffer<std::uint8_t> bytes(static_cast<std::size_t>(n));
    pmpp::fill(device, bytes, 3);
    pmpp::fill(device, bytes.begin() + (n - 3), bytes.end(), 250);
    CHECK(pmpp::reduce(device, bytes) == 3ull * static_cast<unsigned long long>(n - 3) + 750);
    CHECK(pmpp::max_element(device, bytes) - bytes.begin() == n - 3);
    pmpp::transform(device, bytes.begin() + 1, bytes.end(), bytes.begin() + 1, square{});  // 9, and 250^2 mod 256 = 36
    CHECK(pmpp::reduce(device, bytes) == 3ull + 9ull * static_cast<unsigned long long>(n - 4) + 3 * 36);
  }
}

TEST_CASE("nothing hidden: with a workspace no call allocates, waits or touches the default stream") {
  const auto v = test::random_values<int>(test::up_to(300000, 30000));
  const pmpp::device_buffer<int> in(v);
  pmpp::device_buffer<int> changed(v.size());
  pmpp::device_buffer<std::int64_t> out(6, -1);
  const pmpp::device_buffer<int> n(1, 12345);
  pmpp::stream s;
  pmpp::workspace scratch(1 << 20);
  const auto policy = device.on(s).with(scratch);
  blocker own, legacy;
  // Once before, so that the kernels are loaded: CUDA loads them at their first launch, and may wait for the device
  // then.
  {
    blocker warm_up;
    warm_up.release();
    warm_up.hold(s);
  }
  enqueue_all(policy, in, changed, {n.data(), in.end() - in.begin()}, out);
  cudaDeviceSynchronize();
  hidden_calls = 0;
  own.hold(s);                    // nothing enqueued on s can run
  legacy.hold(cudaStreamLegacy);  // anything on the default stream would wait for this
  enqueue_all(policy, in, changed, {n.data(), in.end() - in.begin()}, out);
  CHECK(hidden_calls == 0);
  CHECK(cudaStreamQuery(s) == cudaErrorNotReady);  // we got here before it was done: nothing waited
  own.release();
  CHECK(cudaStreamSynchronize(s) == cudaSuccess);
  // It finished while the default stream was blocked; compute-sanitizer, which only runs small cases, lets nothing overlap.
  if (!test::only_small()) CHECK(cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady);
  legacy.release();
  cudaDeviceSynchronize();
  CHECK(pmpp::to_host(out) == expected_of(v, 12345));
}

TEST_CASE("everything that only enqueues captures, and replays on changed data and lengths") {
  const pmpp::device_buffer<int> length(1);
  pmpp::device_buffer<int> in(70001), changed(70001);
  pmpp::device_buffer<std::int64_t> out(6, -1);
  pmpp::stream s;
  pmpp::workspace scratch;
  for (const bool with_workspace : {true, false}) {
    CAPTURE(with_workspace);
    const auto policy = with_workspace ? device.on(s).with(scratch) : device.on(s);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) == cudaSuccess);
    enqueue_all(policy, in, changed, {length.data(), 70001}, out);
    CHECK_THROWS_AS((void)pmpp::reduce(policy, in), std::invalid_argument);  // would have to wait
    REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    for (const int n : {0, 1, 70001, 400, 33333}) {
      const auto v = test::random_values<int>(70001);
      pmpp::copy(v, in);
      pmpp::device_buffer<int> fresh(1, n);
      REQUIRE(cudaMemcpy(const_cast<int*>(length.data()), fresh.data(), sizeof(int), cudaMemcpyDefault) == cudaSuccess);
      for (int i = 0; i < 3; ++i) REQUIRE(cudaGraphLaunch(executable, s) == cudaSuccess);
      // An eager call beside the replays, on another stream with scratch of its own.
      CHECK(pmpp::reduce(device, in, std::int64_t(0)) == expected_of(v, n)[0]);
      s.synchronize();
      CAPTURE(n);
      CHECK(pmpp::to_host(out) == expected_of(v, n));
    }
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
}

TEST_CASE("copy_if, scan and reduce as one graph, replayed on inputs that keep other numbers of elements") {
  pmpp::stream s;
  pmpp::workspace scratch;
  const auto policy = device.on(s).with(scratch);
  pipeline p(static_cast<std::size_t>(test::up_to(2000003, 30000)));
  pmpp::copy(std::vector<int>(p.in.size(), 1), p.in);
  p.enqueue(policy);  // from now on nothing allocates
  s.synchronize();
  hidden_calls = 0;
  p.enqueue(policy);
  CHECK(hidden_calls == 0);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) == cudaSuccess);
  p.enqueue(policy);
  REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  for (const int keep : {0, 1, 50, 100}) {
    std::vector<int> v(p.in.size());
    for (int& x : v)
      x = static_cast<int>(test::generator()() % 100) < keep ? static_cast<int>(test::generator()() % 100) * 2 - 99 : 2;
    pmpp::copy(v, p.in);
    for (int i = 0; i < 3; ++i) REQUIRE(cudaGraphLaunch(executable, s) == cudaSuccess);
    s.synchronize();
    CAPTURE(keep);
    CHECK(p.is_right(v));
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

namespace {

/// As less and greater, but sorted by merging.
struct precedes {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(T a, T b) const {
    return a < b;
  }
};
struct exceeds {
  template <class T>
  PMPP_HOST_DEVICE bool operator()(T a, T b) const {
    return a > b;
  }
};

/// Sorts the first `length` numbers with their places, by merging and by digits, then merges them with themselves;
/// lengths stay on the device.
struct sort_and_merge {
  pmpp::device_buffer<int> in, keys, places, order, digits, twice;
  pmpp::device_buffer<int> length;

  explicit sort_and_merge(std::size_t n) : in(n), keys(n), places(n), order(n), digits(n), twice(2 * n), length(1) {}
  template <class P>
  void enqueue(const P& policy) {
    const pmpp::device_count count{length.data(), std::int64_t(in.size())};
    pmpp::transform(policy, in, keys, pmpp::identity{});
    pmpp::iota(policy, places, 0);
    pmpp::argsort(policy, keys.begin(), count, order, exceeds{});
    pmpp::argsort(policy, keys.begin(), count, digits, pmpp::greater{});
    pmpp::sort_by_key(policy, keys.begin(), count, places);
    pmpp::merge(policy, keys.begin(), count, keys.begin(), count, twice);
  }
  bool is_right(const std::vector<int>& v, std::size_t n) const {
    std::vector<int> by_value(n), wanted;
    std::iota(by_value.begin(), by_value.end(), 0);
    auto by_greatest = by_value;
    const auto value = [&](int i) { return v[static_cast<std::size_t>(i)]; };
    std::stable_sort(by_value.begin(), by_value.end(), [&](int i, int j) { return value(i) < value(j); });
    std::stable_sort(by_greatest.begin(), by_greatest.end(), [&](int i, int j) { return value(i) > value(j); });
    for (const int i : by_value) wanted.insert(wanted.end(), 2, value(i));
    const auto begins_with = [](const std::vector<int>& all, const std::vector<int>& part) {
      return std::equal(part.begin(), part.end(), all.begin());
    };
    return begins_with(pmpp::to_host(places), by_value) && begins_with(pmpp::to_host(order), by_greatest) &&
           begins_with(pmpp::to_host(digits), by_greatest) && begins_with(pmpp::to_host(twice), wanted);
  }
};

}  // namespace

TEST_CASE("sort and merge as one graph with nothing hidden, replayed on changed data and lengths") {
  for (const std::size_t bound : test::some_of({3000, 300001})) {
    pmpp::stream s;
    pmpp::workspace scratch;
    const auto policy = device.on(s).with(scratch);
    sort_and_merge p(bound);
    pmpp::copy(std::vector<int>(bound, 1), p.in);
    p.enqueue(policy);  // from now on nothing allocates
    s.synchronize();
    hidden_calls = 0;
    p.enqueue(policy);
    CHECK(hidden_calls == 0);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) == cudaSuccess);
    p.enqueue(policy);
    REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    for (const std::size_t n : {std::size_t(0), std::size_t(1), bound / 7, bound - 1, bound}) {
      const auto v = test::random_values<int>(static_cast<std::int64_t>(bound));
      pmpp::copy(v, p.in);
      pmpp::copy(std::vector<int>(1, static_cast<int>(n)), p.length);
      for (int i = 0; i < 3; ++i) REQUIRE(cudaGraphLaunch(executable, s) == cudaSuccess);
      s.synchronize();
      CAPTURE(bound);
      CAPTURE(n);
      CHECK(p.is_right(v, n));
    }
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
}

namespace {
struct scrambled_byte {
  PMPP_HOST_DEVICE std::uint8_t operator()(std::int64_t i) const {
    return static_cast<std::uint8_t>(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15u >> 56);
  }
};
struct scrambled_number {
  PMPP_HOST_DEVICE std::uint32_t operator()(std::int64_t i) const {
    return static_cast<std::uint32_t>(i) * 0x9e3779b1u;
  }
};
}  // namespace

TEST_CASE("sort and merge past 2^31 and 2^32 elements") {
  for (const std::int64_t n : {(1ll << 31) + 1, (1ll << 32) + 5}) {
    CAPTURE(n);
    const pmpp::counting_iterator<std::int64_t> zero(0);
    pmpp::device_buffer<std::uint8_t> bytes(static_cast<std::size_t>(n));
    pmpp::transform(device, zero, zero + n, bytes, scrambled_byte{});
    const auto sum = pmpp::reduce(device, bytes);
    CHECK(!pmpp::is_sorted(device, bytes));
    pmpp::sort(device, bytes);
    CHECK(pmpp::is_sorted(device, bytes));
    CHECK(pmpp::reduce(device, bytes) == sum);
    pmpp::transform(device, zero, zero + n, bytes, scrambled_byte{});
    pmpp::sort(device, bytes, precedes{});
    CHECK(pmpp::is_sorted(device, bytes));
    CHECK(pmpp::reduce(device, bytes) == sum);
    pmpp::device_buffer<std::uint8_t> both(static_cast<std::size_t>(2 * n));
    pmpp::merge(device, bytes, bytes, both);
    CHECK(pmpp::is_sorted(device, both));
    CHECK(pmpp::reduce(device, both) == 2 * sum);
  }
}

TEST_CASE("radix sort past 2^30 numbers: look-back words of 64 bits") {
  const std::int64_t n = (1ll << 30) + 12345;
  const pmpp::counting_iterator<std::int64_t> zero(0);
  pmpp::device_buffer<std::uint32_t> numbers(static_cast<std::size_t>(n));
  pmpp::transform(device, zero, zero + n, numbers, scrambled_number{});  // a permutation of 0 ... 2^32 - 1, cut off
  const auto sum = pmpp::reduce(device, numbers, std::uint64_t(0));
  pmpp::sort(device, numbers, pmpp::greater{});
  CHECK(pmpp::is_sorted(device, numbers, pmpp::greater{}));
  CHECK(pmpp::reduce(device, numbers, std::uint64_t(0)) == sum);
}

TEST_CASE("scan and copy_if past 2^32 elements") {
  const std::int64_t n = (1ll << 32) + 5;
  pmpp::device_buffer<std::uint8_t> ones(static_cast<std::size_t>(n), 1), sums(static_cast<std::size_t>(n));
  pmpp::inclusive_scan(device, ones, sums);
  CHECK(pmpp::to_host(std::span<const std::uint8_t>(sums.data() + n - 2, 2)) == std::vector<std::uint8_t>{4, 5});
  CHECK(pmpp::to_host(std::span<const std::uint8_t>(sums.data() + (1ll << 31) - 1, 1))[0] == 0);
  CHECK(pmpp::reduce(device, sums) == ((1ull << 24) * (255 * 128)) + 15);
  CHECK(pmpp::copy_if(device, ones, sums, is_odd{}) - sums.begin() == n);
}

TEST_CASE("the same bits a hundred times, while another stream loads the machine") {
  const auto v = test::random_values<float>(test::up_to(3000001, 30000));
  const pmpp::device_buffer<float> in(v);
  pmpp::device_buffer<float> noise(static_cast<std::size_t>(test::up_to(1 << 24, 1 << 16)));
  pmpp::stream busy, s;
  const float once = pmpp::reduce(device.on(s), in);
  int different = 0;
  for (int i = 0; i < test::turns(100); ++i) {
    pmpp::fill(device.on(busy), noise, static_cast<float>(i));
    const float again = pmpp::reduce(device.on(s), in);
    different += std::memcmp(&once, &again, sizeof once) != 0;
  }
  CHECK(different == 0);
  pmpp::device_buffer<float> sums(v.size());
  pmpp::inclusive_scan(device.on(s), in, sums);
  const auto first = pmpp::to_host(device.on(s), sums);
  for (int i = 0; i < test::turns(100); ++i) {
    pmpp::fill(device.on(busy), noise, static_cast<float>(i));
    pmpp::inclusive_scan(device.on(s), in, sums);
    different += std::memcmp(pmpp::to_host(device.on(s), sums).data(), first.data(), v.size() * sizeof(float)) != 0;
  }
  CHECK(different == 0);
}

TEST_CASE("half, bfloat16 and thrust::device_vector") {
  std::vector<__half> h(100003);
  std::vector<__nv_bfloat16> b(100003);
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = __float2half(0.25f), b[i] = __float2bfloat16(0.5f);
  static_assert(std::is_same_v<decltype(pmpp::reduce(device, pmpp::device_buffer<__half>{})), float>);
  CHECK(pmpp::reduce(device, pmpp::device_buffer<__half>(h)) == 100003 * 0.25f);
  CHECK(pmpp::reduce(device, pmpp::device_buffer<__nv_bfloat16>(b)) == 100003 * 0.5f);
  pmpp::device_buffer<__half> doubled(h.size());
  pmpp::transform(device, pmpp::device_buffer<__half>(h), pmpp::device_buffer<__half>(h), doubled, pmpp::plus{});
  CHECK(pmpp::reduce(device, doubled) == 100003 * 0.5f);

  thrust::device_vector<int> t(5000, 2);
  CHECK(pmpp::reduce(device, t) == 10000);
  CHECK(pmpp::reduce(device, t.begin(), t.end()) == 10000);
  pmpp::transform(device, t.begin(), t.end(), t.begin(), square{});
  CHECK(pmpp::reduce(device, t) == 20000);
}

TEST_CASE("histograms: nothing hidden; captured, and replayed on changed data and lengths") {
  pmpp::stream s;
  pmpp::workspace scratch;
  const auto policy = device.on(s).with(scratch);
  const std::int64_t n = test::up_to(1000003, 30000);
  pmpp::device_buffer<int> in(n);
  pmpp::device_buffer<std::uint8_t> bytes(n);
  pmpp::device_buffer<std::int64_t> length(1);
  const std::vector<std::size_t> bins = {256, 100000, 1000000};  // through state; by ranges; through the cache
  std::vector<pmpp::device_buffer<unsigned>> counts;
  for (const std::size_t b : bins) counts.emplace_back(b);
  pmpp::device_buffer<unsigned> of_bytes(256);
  pmpp::device_buffer<std::uint64_t> rejected(1);
  const auto enqueue = [&] {
    const pmpp::device_count count{length.data(), n};
    for (std::size_t k = 0; k < bins.size(); ++k)
      pmpp::histogram_even(policy, in.begin(), count, counts[k], 0, static_cast<int>(bins[k]));
    pmpp::histogram_even(policy, bytes.begin(), count, of_bytes, 0, 256, {.rejected = rejected.data()});
  };
  pmpp::copy(std::vector<std::int64_t>{n}, length);
  enqueue();  // from now on nothing allocates
  s.synchronize();
  hidden_calls = 0;
  enqueue();
  CHECK(hidden_calls == 0);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  REQUIRE(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal) == cudaSuccess);
  enqueue();
  REQUIRE(cudaStreamEndCapture(s, &graph) == cudaSuccess);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  for (const std::int64_t used : {std::int64_t(0), std::int64_t(77), n / 2, n}) {
    std::vector<int> v(static_cast<std::size_t>(n));
    std::vector<std::uint8_t> b(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = static_cast<int>(test::generator()() % 1100000) - 50000;
      b[i] = static_cast<std::uint8_t>(v[i] & 255);
    }
    pmpp::copy(v, in);
    pmpp::copy(b, bytes);
    pmpp::copy(std::vector<std::int64_t>{used}, length);
    for (int i = 0; i < 3; ++i) REQUIRE(cudaGraphLaunch(executable, s) == cudaSuccess);
    s.synchronize();
    CAPTURE(used);
    for (std::size_t k = 0; k < bins.size(); ++k) {
      std::vector<unsigned> wanted(bins[k]);
      for (std::int64_t i = 0; i < used; ++i)
        if (const int x = v[static_cast<std::size_t>(i)]; x >= 0 && x < static_cast<int>(bins[k]))
          ++wanted[static_cast<std::size_t>(x)];
      CHECK(pmpp::to_host(counts[k]) == wanted);
    }
    std::vector<unsigned> wanted(256);
    for (std::int64_t i = 0; i < used; ++i) ++wanted[b[static_cast<std::size_t>(i)]];
    CHECK(pmpp::to_host(of_bytes) == wanted);
    CHECK(pmpp::to_host(rejected)[0] == 0);
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

TEST_CASE("histograms past 2^32 samples") {
  const std::int64_t n = (1ll << 32) + 5;
  pmpp::device_buffer<std::uint8_t> ones(static_cast<std::size_t>(n), 1);
  pmpp::device_buffer<std::uint64_t> counts(2), rejected(1);
  pmpp::histogram_even(device, ones, counts, 0, 2);
  CHECK(pmpp::to_host(counts) == std::vector<std::uint64_t>{0, static_cast<std::uint64_t>(n)});
  const pmpp::counting_iterator<std::int64_t> zero(0);
  pmpp::histogram_even(device, zero, zero + 3 * n, counts, n, 3 * n, {.rejected = rejected.data()});
  CHECK(pmpp::to_host(counts) == std::vector<std::uint64_t>(2, static_cast<std::uint64_t>(n)));
  CHECK(pmpp::to_host(rejected)[0] == static_cast<std::uint64_t>(n));
}
