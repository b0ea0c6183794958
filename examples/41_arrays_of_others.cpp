// SPDX-License-Identifier: Apache-2.0
//
// Arrays and streams of other libraries: spans, std::ranges views, anything with the members of std::mdspan, streams that give
// their handle by get(), and managed memory that is moved before it is used.
#include <array>
#include <cstdio>
#include <ranges>
#include <span>
#include <vector>

#include <pmpp/core/matrix_view.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transpose.hpp>

/// What pmpp looks for in std::mdspan, cuda::std::mdspan and Kokkos' mdspan.
struct table {
  float* p;
  std::array<int, 2> extents;
  static constexpr std::size_t rank() { return 2; }
  float* data_handle() const { return p; }
  int extent(std::size_t r) const { return extents[r]; }
  int stride(std::size_t r) const { return r == 0 ? extents[1] : 1; }
};
/// As cuda::stream_ref.
struct stream_ref {
  pmpp::stream_handle handle;
  pmpp::stream_handle get() const { return handle; }
};

int main() {
  const pmpp::stream own;
  const stream_ref stream{own.handle()};
  pmpp::device_buffer<float> x{12}, y{12};
  pmpp::iota(pmpp::device.on(stream), x, 0.0f);

  // [views]
  const auto where = pmpp::device.on(stream);  // cuda::stream_ref, rmm::cuda_stream_view, cudaStream_t
  const table a{x.data(), {3, 4}}, b{y.data(), {4, 3}};
  pmpp::transpose(where, pmpp::matrix_view(a), pmpp::matrix_view(b));  // of any mdspan

  const std::span<const float> all(y.data(), y.size());
  const float some = pmpp::reduce(where, all | std::views::drop(1) | std::views::take(3));  // a pointer and a length
  // [end]

  // [ranges]
  const auto squares = std::views::iota(1, 11) | std::views::transform([](int i) { return i * i; });
  const int sum = pmpp::reduce(pmpp::host, squares);  // views that compute: seq, host, emulated
  // [end]

  // [managed]
  pmpp::managed_buffer<int> m{1000, 1};
  m.advise(pmpp::advice::read_mostly, pmpp::device);  // both sides keep copies of its pages
  m.prefetch(where);                                  // pages move in one go, in the order of the stream
  const int ones = pmpp::reduce(where, m);
  // [end]
  std::printf("%g %d %d\n", double(some), sum, ones);
  return some == 4 + 8 + 1 && sum == 385 && ones == 1000 ? 0 : 1;
}
// Output: 13 385 1000
