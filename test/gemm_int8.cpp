// SPDX-License-Identifier: Apache-2.0
//
// gemm of integers of one byte. See gemm_tensor_cores.cpp.
#include <pmpp/gemm.hpp>

#include <cstdint>
#include <vector>

#include "support/tensor_products.hpp"

using pmpp::device, pmpp::matrix_view;
using test::check_product, test::made, test::matrix, test::tiles, test::values;
using where = test::device_place;

TEST_CASE("gemm on tensor cores: 8-bit integers") {
  test::try_shapes<std::int8_t, std::int32_t>(test::many);
  for (const std::int64_t n : {31, 64, 100}) {
    const matrix<where, std::uint8_t> a(n, n), b(n, n);
    matrix<where, std::int32_t> c(n, n);
    pmpp::gemm<tiles>(device, 1, a.input(), b.input(), 0, c.view());
    check_product<std::int32_t>(a, b, c, 1, 0, 0);
  }
}

#if PMPP_CUDA
TEST_CASE("gemm on tensor cores: 8-bit integers, at and beside the edges of tiles") {
  test::try_edges<std::int8_t, std::int32_t>();
}
#endif

namespace {
struct place_of {  // tells rows from columns
  PMPP_HOST_DEVICE float operator()(float, std::int64_t i, std::int64_t j) const { return float(1000 * i + j); }
};
}  // namespace

TEST_CASE("gemm on tensor cores: an epilogue sees each element with its place; batches") {
  for (const bool column_major : {false, true}) {
    const auto a = made<std::int8_t>(70, 40, {}, true), b = made<std::int8_t>(40, 33, {}, true);
    auto c = made<float>(70, 33, {column_major}, true);
    pmpp::gemm<tiles>(device, 1, a.input(), b.input(), 0, c.view(), pmpp::gemm_options{place_of{}});
    const auto got = where::get(c.memory);
    const auto z = c.view_of(got.data());
    for (std::int64_t i = 0; i < 70; ++i)
      for (std::int64_t j = 0; j < 33; ++j) CHECK(z(i, j) == float(1000 * i + j));
  }
  for (const std::int64_t n : {40, 9}) {  // the second: on ordinary units
    const std::int64_t batch = 3, stride = n * n + 3;
    const auto a = values<std::int8_t>(batch * stride, true), b = values<std::int8_t>(n * n, true);
    const auto a_there = where::put(a), b_there = where::put(b);
    auto c = where::put(std::vector<float>(static_cast<std::size_t>(batch * stride), 5));
    pmpp::gemm_batched<tiles>(device, 1, matrix_view<const std::int8_t>(a_there.data(), n, n), stride,
                              matrix_view<const std::int8_t>(b_there.data(), n, n), 0, 0,
                              matrix_view<float>(c.data(), n, n), stride, batch);
    const auto got = where::get(c);
    for (std::int64_t t = 0; t < batch; ++t)
      for (std::int64_t i = 0; i < stride; ++i) {
        float sum = i < n * n ? 0 : 5;
        if (i < n * n)
          for (std::int64_t p = 0; p < n; ++p)
            sum += static_cast<float>(a[static_cast<std::size_t>(t * stride + i / n * n + p)]) *
                   static_cast<float>(b[static_cast<std::size_t>(p * n + i % n)]);
        CHECK(got[static_cast<std::size_t>(t * stride + i)] == (t == batch - 1 && i >= n * n ? 5 : sum));
      }
  }
}

TEST_CASE("gemm on tensor cores: copies of operands whose lines begin at multiples of 8, of 4 and of 1") {
  constexpr std::int64_t lines = 37, batch = 2;
  const auto from = values<std::int8_t>(60000, true);
  const auto there = where::put(from);
  for (const std::int64_t length : {8, 300, 312, 301})
    for (const std::int64_t gap : {0, 4, 8, 1})
      for (const std::int64_t offset : {0, 4, 1}) {
        const std::int64_t stride = length + gap, batch_stride = lines * stride + gap;
        pmpp::detail::gemm_operand<std::int8_t> x{there.data() + offset, lines, stride, 1, batch_stride};
        const auto bytes = static_cast<std::size_t>(pmpp::detail::repacked_bytes(x, true, length, batch));
        auto to = where::put(std::vector<std::int8_t>(bytes, 99));
        pmpp::detail::repack(device, x, true, length, batch, to.data());
        const auto got = where::get(to);
        int wrong = 0;
        for (std::int64_t i = 0; i < batch * lines; ++i)
          for (std::int64_t p = 0; p < x.stride; ++p) {
            const auto place = static_cast<std::size_t>(i / lines * batch_stride + i % lines * stride + offset + p);
            wrong += got[static_cast<std::size_t>(i * x.stride + p)] != (p < length ? from[place] : 0);
          }
        CHECK(wrong == 0);
      }
}
