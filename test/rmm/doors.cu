// SPDX-License-Identifier: Apache-2.0
//
// Properties of RMM beside pmpp (doors_scratch.cpp has the shapes of resources; here is the library itself, where CMake finds it):
//   its streams go where streams go; device_uvector and device_vector are inputs and outputs; its resources, pools and references to
//   resources serve a workspace, and so do the bytes of a device_buffer
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/resource.hpp>
#include <pmpp/memory/workspace.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <type_traits>
#include <vector>

#include <rmm/cuda_stream.hpp>
#include <rmm/cuda_stream_view.hpp>
#include <rmm/device_buffer.hpp>
#include <rmm/device_uvector.hpp>
#include <rmm/device_vector.hpp>
#include <rmm/mr/arena_memory_resource.hpp>
#include <rmm/mr/cuda_async_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/managed_memory_resource.hpp>
#include <rmm/mr/per_device_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#include <rmm/resource_ref.hpp>

using pmpp::device;
using pmpp::detail::input_of;

static_assert(pmpp::stream_like<rmm::cuda_stream_view> && pmpp::stream_like<const rmm::cuda_stream_view&>);
static_assert(std::is_same_v<decltype(input_of("", std::declval<rmm::device_uvector<int>&>()).first), const int*>);
static_assert(std::is_same_v<decltype(input_of<true>("", std::declval<rmm::device_vector<int>&>()).first), int*>);
static_assert(!pmpp::detail::in_host_memory<rmm::device_uvector<int>>);
static_assert(pmpp::memory_resource<rmm::mr::cuda_memory_resource> &&
              pmpp::memory_resource<rmm::mr::cuda_async_memory_resource> &&
              pmpp::memory_resource<rmm::mr::managed_memory_resource> &&
              pmpp::memory_resource<rmm::device_async_resource_ref> && pmpp::memory_resource<rmm::device_resource_ref>);

namespace {

constexpr int n = 50'000;

/// Sorts and adds up with scratch of a resource, and has the workspace give it back.
template <class R>
void check_resource(R& resource) {
  const rmm::cuda_stream stream;
  rmm::device_uvector<int> x(n, stream.view()), sums(n, stream.view());
  {
    pmpp::workspace memory{pmpp::blocks_from(resource)};
    const auto where = device.on(stream.view()).with(memory);
    pmpp::iota(where, x, 0);
    pmpp::sort(where, x, pmpp::greater{});
    pmpp::inclusive_scan(where, x, sums);
    CHECK(pmpp::to_host(where, x).front() == n - 1);
    CHECK(pmpp::to_host(where, sums)[2] == 3 * (n - 2));
  }
  stream.synchronize();
}

}  // namespace

TEST_CASE("a resource of RMM serves a workspace") {
  rmm::mr::cuda_memory_resource direct;
  rmm::mr::cuda_async_memory_resource ordered;
  rmm::mr::managed_memory_resource managed;
  rmm::mr::pool_memory_resource pool(direct, std::size_t(1) << 24);
  rmm::mr::arena_memory_resource arena(direct, std::size_t(1) << 26);
  rmm::device_async_resource_ref reference(pool);
  auto current = rmm::mr::get_current_device_resource_ref();
  check_resource(direct);
  check_resource(ordered);
  check_resource(managed);
  check_resource(pool);
  check_resource(arena);
  check_resource(reference);
  check_resource(current);
}

TEST_CASE("vectors, streams, pools and bytes of RMM") {
  // [pool]
  rmm::mr::cuda_memory_resource direct;
  rmm::mr::pool_memory_resource pool(direct, std::size_t(1) << 24);
  pmpp::workspace memory{pmpp::blocks_from(pool)};  // gives back what it has taken when it goes, before the pool
  const rmm::cuda_stream stream;
  const auto where = pmpp::device.on(stream.view()).with(memory);

  rmm::device_uvector<int> x(n, stream.view());
  pmpp::fill(where, x, 1);
  const int sum = pmpp::reduce(where, x);
  // [end]
  CHECK(sum == n);
  rmm::device_vector<int> twos(n);
  pmpp::fill(device.on(rmm::cuda_stream_default), twos, 2);
  pmpp::synchronize(device.on(rmm::cuda_stream_default));
  rmm::device_buffer bytes(std::size_t(1) << 20, stream.view());
  pmpp::workspace fixed{bytes.data(), bytes.size()};
  CHECK(pmpp::reduce(device.on(stream.view()).with(fixed), twos) == 2 * n);
}
