// SPDX-License-Identifier: Apache-2.0
//
// Properties of the libraries of the toolkit beside pmpp (doors.cpp has the shapes; here are the libraries themselves):
//   thrust::device_vector is an input and an output of every family of algorithms, and its pointers and iterators become plain
//   pointers before a kernel sees them, alone and within pmpp's own iterators; Thrust's computing iterators are taken as they are
//   cuda::std::span, cuda::std::mdspan, cuda::stream_ref and resources of cuda::mr go where std's and pmpp's own go
#include <pmpp/core/iterator_adaptors.hpp>
#include <pmpp/elementwise.hpp>
#include <pmpp/find.hpp>
#include <pmpp/gather.hpp>
#include <pmpp/histogram.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/resource.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/search.hpp>
#include <pmpp/select.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>
#include <pmpp/transpose.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <type_traits>
#include <vector>

#include <cuda/std/mdspan>
#include <cuda/std/span>
#include <cuda/stream_ref>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/universal_vector.h>
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE  // what CCCL 3.0 calls it
#include <cuda/memory_resource>

using pmpp::device;
using pmpp::detail::input_of;
using pmpp::detail::unwrapped;
using vector = thrust::device_vector<int>;

// Plain pointers, so that vector loads and stores are used.
static_assert(std::is_same_v<unwrapped<vector::iterator>, int*> &&
              std::is_same_v<unwrapped<vector::const_iterator>, const int*>);
static_assert(std::is_same_v<unwrapped<thrust::device_ptr<int>>, int*>);
static_assert(std::is_same_v<unwrapped<thrust::device_ptr<const int>>, const int*>);
static_assert(std::is_same_v<unwrapped<thrust::universal_vector<int>::iterator>, int*>);
static_assert(std::is_same_v<unwrapped<cuda::std::span<int>::iterator>, int*>);
static_assert(std::is_same_v<decltype(input_of("", std::declval<vector&>()).first), const int*>);
static_assert(std::is_same_v<decltype(input_of<true>("", std::declval<vector&>()).first), int*>);
static_assert(std::is_same_v<decltype(input_of("", std::declval<const cuda::std::span<int>&>()).first), const int*>);
static_assert(std::is_same_v<decltype(pmpp::zip_iterator(vector::iterator{}, thrust::device_ptr<int>{})),
                             pmpp::zip_iterator<int*, int*>>);
static_assert(std::is_same_v<decltype(pmpp::reverse_iterator(vector::iterator{})), pmpp::reverse_iterator<int*>>);
static_assert(std::is_same_v<unwrapped<thrust::counting_iterator<int>>, thrust::counting_iterator<int>>);
static_assert(pmpp::contiguous_data_of<vector, int> && pmpp::contiguous_data_of<const cuda::std::span<const int>, int>);
static_assert(!pmpp::detail::in_host_memory<vector> && pmpp::detail::in_host_memory<thrust::host_vector<int>>);

static_assert(pmpp::stream_like<cuda::stream_ref>);
static_assert(std::is_same_v<decltype(pmpp::matrix_view(std::declval<cuda::std::mdspan<float, cuda::std::dims<2>>>())),
                             pmpp::matrix_view<float>>);
static_assert(
    std::is_same_v<decltype(pmpp::volume_view(std::declval<cuda::std::mdspan<const int, cuda::std::dims<3>>>())),
                   pmpp::volume_view<const int>>);

namespace {

struct is_odd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct negated {
  __host__ __device__ int operator()(int x) const { return -x; }
};
std::vector<int> in_host(const vector& v) { return pmpp::to_host(v); }

}  // namespace

TEST_CASE("Thrust's vectors in and out of the families") {
  const vector in(std::vector<int>{5, 3, 8, 1, 9, 2}), index(std::vector<int>{5, 4, 3, 2, 1, 0});
  vector out(6), more(12);
  const pmpp::stream own;
  const auto where = device.on(cuda::stream_ref(own.handle()));

  pmpp::transform(where, in, out, negated{});
  CHECK(pmpp::to_host(where, out) == std::vector{-5, -3, -8, -1, -9, -2});
  CHECK(pmpp::reduce(where, in) == 28);
  CHECK(pmpp::reduce(where, in.begin(), in.begin() + 2) == 8);
  CHECK(pmpp::max_element(where, in) - in.begin() == 4);
  CHECK(pmpp::find(where, in, 8) - in.begin() == 2);
  pmpp::inclusive_scan(where, in, out.begin());
  CHECK(pmpp::to_host(where, out).back() == 28);
  CHECK(pmpp::copy_if(where, in, out, is_odd{}) - out.begin() == 4);
  pmpp::gather(where, index, in, out);
  CHECK(pmpp::to_host(where, out) == std::vector{2, 9, 1, 8, 3, 5});
  pmpp::sort(where, out);
  CHECK(pmpp::to_host(where, out) == std::vector{1, 2, 3, 5, 8, 9});
  pmpp::merge(where, out.begin(), out.end(), out.data(), out.data() + 6, more.data());
  CHECK(pmpp::to_host(where, more) == std::vector{1, 1, 2, 2, 3, 3, 5, 5, 8, 8, 9, 9});
  vector bounds(6);
  pmpp::lower_bound(where, out, in, bounds);
  CHECK(pmpp::to_host(where, bounds) == std::vector{3, 2, 4, 0, 5, 1});
  pmpp::tabulate(where, bounds, pmpp::identity{});
  CHECK(pmpp::to_host(where, bounds)[5] == 5);
  CHECK(pmpp::reduce(where, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(10)) == 45);
  thrust::universal_vector<int> counts(3);
  pmpp::histogram_even(where, in, counts, 0, 12);
  pmpp::synchronize(where);
  CHECK(pmpp::to_host(counts) == std::vector{3, 1, 2});
}

TEST_CASE("cuda::std's span and mdspan") {
  pmpp::device_buffer<float> x{12}, y{12};
  pmpp::iota(device, x, 0.0f);
  CHECK(pmpp::reduce(device, cuda::std::span<const float>(x.data(), x.size())) == 66);
  const cuda::std::mdspan<const float, cuda::std::dims<2>> a(x.data(), 3, 4);
  const cuda::std::mdspan<float, cuda::std::dims<2>, cuda::std::layout_left> b(y.data(), 4, 3);
  pmpp::transpose(device, pmpp::matrix_view(a), pmpp::matrix_view(b));  // b(j, i) = a(i, j): the same order in memory
  CHECK(pmpp::to_host(y) == pmpp::to_host(x));
  const cuda::std::mdspan<float, cuda::std::extents<int, 2, 3, 2>> c(x.data());
  CHECK(pmpp::volume_view<const float>(c).contiguous());
}

namespace {

/// A resource after cuda::mr of CCCL 3.0. (Later ones have the names that doors_scratch.cpp tests, and other wrappers.)
struct device_resource {
  void* allocate(std::size_t bytes, std::size_t) { return pmpp::detail::allocate_device(bytes); }
  void deallocate(void* p, std::size_t, std::size_t) { pmpp::detail::free_device(p); }
  void* allocate_async(std::size_t bytes, std::size_t, cuda::stream_ref s) {
    return pmpp::detail::allocate_ordered(bytes, s.get());
  }
  void deallocate_async(void* p, std::size_t, std::size_t, cuda::stream_ref s) {
    pmpp::detail::free_ordered(p, s.get());
  }
  [[maybe_unused]] friend bool operator==(const device_resource&, const device_resource&) { return true; }
  [[maybe_unused]] friend void get_property(const device_resource&, cuda::mr::device_accessible) {}
};
#if CCCL_VERSION < 3001000
using resource = cuda::mr::async_resource_ref<cuda::mr::device_accessible>;
#else
using resource = device_resource&;
#endif

}  // namespace

TEST_CASE("a resource of cuda::mr serves a workspace") {
  device_resource mr;
  resource passed = mr;
  pmpp::workspace w{pmpp::blocks_from(passed)};
  vector x(std::vector<int>{3, 1, 2});
  pmpp::sort(device.with(w), x);
  CHECK(in_host(x) == std::vector{1, 2, 3});
}
