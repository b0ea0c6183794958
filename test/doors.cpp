// SPDX-License-Identifier: Apache-2.0
//
// Properties of what other libraries bring along, in shapes that these libraries have (doors_libraries.cu has the libraries):
//   a stream is anything that converts to the handle or gives it by get(): in policies, buffers, copies
//   matrix_view and volume_view come of any mdspan with strides whose accessor does nothing, with the same elements
//   std::ranges views are inputs of algorithms on every policy, those that compute too; host memory is refused through them
//   managed memory may be prefetched and advised: no result changes
#include <pmpp/core/iterator.hpp>
#include <pmpp/core/matrix_view.hpp>
#include <pmpp/core/volume_view.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/managed_buffer.hpp>
#include <pmpp/memory/reachable.hpp>
#include <pmpp/memory/stream.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<mdspan>)
#include <mdspan>
#endif

#include "support/policies.hpp"

using pmpp::matrix_view;
using pmpp::stream_handle;
using pmpp::volume_view;

namespace {

/// As cuda::stream_ref and as rmm::cuda_stream_view.
struct stream_ref {
  stream_handle handle;
  stream_handle get() const { return handle; }
};
struct stream_view {
  stream_handle handle;
  operator stream_handle() const { return handle; }
};
static_assert(pmpp::stream_like<stream_ref> && pmpp::stream_like<const stream_view&>);
static_assert(pmpp::stream_like<std::unique_ptr<std::remove_pointer_t<stream_handle>, void (*)(stream_handle)>>);
static_assert(!pmpp::stream_like<std::unique_ptr<int>> && !pmpp::stream_like<int> &&
              !pmpp::stream_like<std::nullptr_t>);
static_assert(!pmpp::stream_like<pmpp::event> && !pmpp::stream_like<pmpp::device_policy> &&
              !pmpp::stream_like<std::span<int>>);

/// What an mdspan offers; the reference says what its accessor does.
template <class T, std::size_t Rank, class Reference = T&>
struct span_of_ranks {
  using reference = Reference;
  T* p;
  std::array<unsigned, Rank> extents;
  std::array<unsigned, Rank> strides;
  static constexpr std::size_t rank() { return Rank; }
  T* data_handle() const { return p; }
  unsigned extent(std::size_t r) const { return extents[r]; }
  unsigned stride(std::size_t r) const { return strides[r]; }
};
static_assert(std::is_same_v<decltype(matrix_view(span_of_ranks<float, 2>{})), matrix_view<float>>);
static_assert(std::is_same_v<decltype(matrix_view(span_of_ranks<const float, 2>{})), matrix_view<const float>>);
static_assert(std::is_same_v<decltype(volume_view(span_of_ranks<int, 3>{})), volume_view<int>>);
static_assert(std::is_convertible_v<span_of_ranks<int, 3>, volume_view<const int>>);
static_assert(!std::is_convertible_v<span_of_ranks<const int, 3>, volume_view<int>>);
static_assert(!std::is_convertible_v<span_of_ranks<int, 2>, volume_view<int>>);
static_assert(!std::is_convertible_v<span_of_ranks<int, 2>, matrix_view<long>>);
static_assert(!std::is_convertible_v<span_of_ranks<int, 2, int>, matrix_view<const int>>, "its accessor computes");

constexpr bool is_gpu = PMPP_CUDA != 0;
template <class R>
constexpr bool host_only = pmpp::detail::in_host_memory<R>;
using vector_view = std::ranges::ref_view<std::vector<int>>;
static_assert(host_only<vector_view> && host_only<std::ranges::take_view<vector_view>>);
static_assert(!host_only<std::span<int>> && !host_only<std::string_view> &&
              !host_only<std::ranges::take_view<std::span<int>>>);
static_assert(!host_only<std::ranges::iota_view<int, int>>);

struct twice {
  PMPP_HOST_DEVICE int operator()(int x) const { return 2 * x; }
};

}  // namespace

TEST_CASE("streams of other libraries: policies, buffers, copies, waiting") {
  const pmpp::stream own;
  const stream_ref ref{own.handle()};
  const stream_view view{own.handle()};
  const auto nothing = [](stream_handle) {};
  const std::unique_ptr<std::remove_pointer_t<stream_handle>, decltype(nothing)> held(own.handle(), nothing);
  CHECK(pmpp::device.on(ref).stream == own.handle());
  CHECK(pmpp::device.on(view).stream == own.handle());
  CHECK(pmpp::device.on(held).stream == own.handle());
  CHECK(pmpp::device.on(own).stream == own.handle());
  CHECK(pmpp::device.on(nullptr).stream == nullptr);
  const std::vector<int> v{3, 1, 2};
  pmpp::device_buffer<int> a{3, ref}, b{v, view}, c{3, 7, ref};
  const pmpp::device_buffer d{v, ref};
  static_assert(std::is_same_v<decltype(d), const pmpp::device_buffer<int>>);
  pmpp::copy(ref, b, a);
  pmpp::transform(pmpp::device.on(ref), a, a, twice{});
  CHECK(pmpp::to_host(view, a) == std::vector{6, 2, 4});
  CHECK(pmpp::to_host(ref, c) == std::vector(3, 7));
  pmpp::synchronize(ref);
  pmpp::synchronize(view);
}

TEST_CASE("views of mdspans have their elements, whatever the layout") {
  std::vector<int> v(24);
  std::iota(v.begin(), v.end(), 0);
  const matrix_view right = span_of_ranks<int, 2>{v.data(), {4, 6}, {6, 1}};
  const matrix_view<const int> left = span_of_ranks<int, 2>{v.data(), {4, 6}, {1, 4}};
  const matrix_view strided = span_of_ranks<int, 2>{v.data(), {2, 3}, {12, 2}};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 6; ++j) CHECK((right(i, j) == 6 * i + j && left(i, j) == i + 4 * j));
  CHECK((right.contiguous() && left.col_major() && !strided.row_major()));
  CHECK(strided(1, 2) == 16);
  const volume_view volume = span_of_ranks<int, 3>{v.data(), {2, 3, 4}, {12, 4, 1}};
  const volume_view<const int> padded = span_of_ranks<int, 3>{v.data(), {2, 3, 2}, {12, 4, 1}};
  CHECK((volume.contiguous() && volume(1, 2, 3) == 23));
  CHECK((!padded.contiguous() && padded(1, 2, 1) == 21));
  const span_of_ranks<int, 3> turned{v.data(), {2, 3, 4}, {1, 2, 6}};
  CHECK_THROWS_WITH_AS(volume_view<int>{turned},
                       "pmpp::volume_view: the elements of a row must lie next to each other, the last stride of the "
                       "mdspan is 6",
                       std::invalid_argument);
  const span_of_ranks<int, 3> thin{v.data(), {2, 3, 1}, {1, 2, 6}};
  CHECK(volume_view<int>{thin}(1, 2, 0) == 5);
}

#if defined(__cpp_lib_mdspan)
TEST_CASE("std::mdspan") {
  std::vector<int> v(24);
  std::iota(v.begin(), v.end(), 0);
  CHECK(matrix_view(std::mdspan(v.data(), 4, 6))(2, 5) == 17);
  CHECK(matrix_view(std::mdspan<int, std::dextents<int, 2>, std::layout_left>(v.data(), 4, 6))(2, 5) == 22);
  CHECK(volume_view(std::mdspan(v.data(), 2, 3, 4))(1, 2, 3) == 23);
}
#endif

// nvcc compiles the place of a GPU alone, which takes no views that compute.
TEST_ALL_PLACES("std::ranges views as inputs") {
  const typename where::policy policy{};
  auto data = where::put(std::vector<int>{5, 4, 3, 2, 1, 0});
  const std::span<int> elements(data.data(), data.size());
  auto out = where::put(std::vector<int>(6));
  // Contiguous ones are pointers everywhere.
  CHECK(pmpp::reduce(policy, std::views::take(elements, 3)) == 12);
  CHECK(pmpp::reduce(policy, elements | std::views::drop(4)) == 1);
  CHECK(pmpp::reduce(policy, std::ranges::subrange(elements.begin(), elements.begin() + 2)) == 9);
  auto rest = elements | std::views::drop(4);
  static_assert(std::is_same_v<decltype(pmpp::detail::input_of("", rest).first), const int*>);
  if constexpr (!is_gpu) {
    pmpp::transform(policy, std::views::iota(10, 16), out, twice{});
    CHECK(where::get(out) == std::vector{20, 22, 24, 26, 28, 30});
    pmpp::transform(policy, std::views::iota(std::int64_t(10), std::int64_t(16)), elements, out, pmpp::plus{});
    CHECK(where::get(out) == std::vector(6, 15));
    CHECK(pmpp::reduce(policy, elements | std::views::transform(twice{})) == 30);
    CHECK(pmpp::reduce(policy, elements | std::views::transform([factor = 3](int x) { return factor * x; })) == 45);
    CHECK(pmpp::reduce(policy, elements | std::views::reverse | std::views::take(2)) == 1);
    CHECK(pmpp::reduce(policy, std::views::iota(7, 7)) == 0);
    CHECK(pmpp::reduce(policy, std::views::iota(0, 5L)) == 10);  // an end of a type of its own
    auto doubled = elements | std::views::transform(twice{});
    CHECK(pmpp::max_element(policy, doubled) - doubled.begin() == 0);
#if defined(__cpp_lib_ranges_stride) && __cpp_lib_ranges_stride >= 202207L
    CHECK(pmpp::reduce(policy, elements | std::views::stride(2)) == 9);
#endif
#if defined(__cpp_lib_ranges_zip) && __cpp_lib_ranges_zip >= 202110L
    pmpp::transform(policy, std::views::zip(elements, std::views::iota(0, 6)), out,
                    [](const auto& two) { return std::get<0>(two) + std::get<1>(two); });
    CHECK(where::get(out) == std::vector(6, 5));
#endif
  }
}

TEST_CASE("managed memory: prefetch and advise change no element") {
  const pmpp::stream stream;
  pmpp::managed_buffer<int> b{100000, 1}, none;
  b.advise(pmpp::advice::read_mostly, pmpp::device);
  b.advise(pmpp::advice::not_read_mostly, pmpp::device);
  b.advise(pmpp::advice::preferred_place, pmpp::host);
  b.advise(pmpp::advice::no_preferred_place, pmpp::host);
  b.advise(pmpp::advice::accessed_by, pmpp::device);
  b.advise(pmpp::advice::not_accessed_by, pmpp::device);
  none.advise(pmpp::advice::read_mostly, pmpp::seq);
  none.prefetch(pmpp::device);
  b.prefetch(pmpp::device.on(stream));
  pmpp::transform(pmpp::device.on(stream), b, b, twice{});
  b.prefetch(pmpp::host, stream);
  b.prefetch(pmpp::host, stream_ref{stream.handle()});
  stream.synchronize();
  CHECK((b[0] == 2 && b[99999] == 2));
  b.prefetch(pmpp::seq);
  pmpp::synchronize(pmpp::device);
}
