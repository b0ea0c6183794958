// SPDX-License-Identifier: Apache-2.0
//
// What is measured (memory/scratch_bytes.hpp) holds for every family: a workspace over exactly that many bytes gives the result
// that pmpp's own memory gives, one with a byte less throws, and measuring changes no output.
#include <pmpp/bfs.hpp>
#include <pmpp/convolution.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/image.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/scratch_bytes.hpp>
#include <pmpp/merge.hpp>
#include <pmpp/rearrange.hpp>
#include <pmpp/segmented.hpp>
#include <pmpp/segmented_sort.hpp>
#include <pmpp/sets.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/spmv.hpp>
#include <pmpp/top_k.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

using pmpp::device;
using pmpp::device_buffer;

namespace {

constexpr int n = 20000;

std::vector<int> random_numbers(int most) {
  std::mt19937 random(7);
  std::vector<int> v(n);
  for (int& x : v) x = static_cast<int>(random() % unsigned(most));
  return v;
}

/// Row i of the matrix has columns i - 1 and i + 1.
struct ring {
  int rows;
  device_buffer<int> offsets, columns;
  device_buffer<float> ones;
  explicit ring(int many) : rows(many), ones(2 * many, 1.0f) {
    std::vector<int> begin{0}, neighbours;
    for (int i = 0; i < rows; ++i) {
      neighbours.push_back((i + rows - 1) % rows);
      neighbours.push_back((i + 1) % rows);
      begin.push_back(2 * i + 2);
    }
    offsets = device_buffer<int>{begin};
    columns = device_buffer<int>{neighbours};
  }
  pmpp::csr_view<const float, const int> view() const {
    return {rows, rows, offsets.data(), columns.data(), ones.data()};
  }
};

/// Puts `start` into x, calls call(policy), and compares x after it.
template <class T, class F>
std::size_t same_in_measured_bytes(const std::vector<T>& start, device_buffer<T>& x, const F& call) {
  const auto result = [&](const auto& policy) {
    pmpp::copy(start, x);
    call(policy);
    pmpp::synchronize(policy);
    return pmpp::to_host(x);
  };
  const std::vector<T> wanted = result(device);
  pmpp::copy(start, x);
  const std::size_t bytes = pmpp::scratch_bytes(device, call);
  CHECK(pmpp::to_host(x) == start);
  device_buffer<unsigned char> memory{bytes, static_cast<unsigned char>(0xAB)};
  pmpp::workspace exact(memory.data(), bytes);
  CHECK(result(device.with(exact)) == wanted);
  if (bytes != 0) {
    pmpp::workspace less(memory.data(), bytes - 1);
    CHECK_THROWS_AS(call(device.with(less)), std::length_error);
  }
  return bytes;
}

}  // namespace

TEST_CASE("arrays of numbers") {
  const std::vector<int> v = random_numbers(1000);
  std::vector<int> ascending = v;
  std::sort(ascending.begin(), ascending.end());
  const device_buffer<int> in{v}, sorted{ascending}, offsets{std::vector<int>{0, 5, 5, 9000, n}};
  device_buffer<int> x{n}, y{n}, z{2 * n};
  device_buffer<std::int64_t> count{1};
  const std::vector<int> two(2 * n, 1);

  same_in_measured_bytes(v, x, [&](const auto& where) { pmpp::argsort(where, in, x); });
  same_in_measured_bytes(v, x, [&](const auto& where) { pmpp::segmented_sort(where, x, offsets); });
  same_in_measured_bytes(v, x, [&](const auto& where) { pmpp::rotate(where, x, x.begin() + 777); });
  same_in_measured_bytes(v, x, [&](const auto& where) { pmpp::reduce_by_key_into(where, sorted, in, y, x, count); });
  same_in_measured_bytes(two, z, [&](const auto& where) { pmpp::merge(where, sorted, sorted, z); });
  same_in_measured_bytes(two, z, [&](const auto& where) { pmpp::set_union_into(where, sorted, sorted, z, count); });
  same_in_measured_bytes(v, x, [&](const auto& where) { pmpp::top_k(where, in, 100, x.begin(), y.begin()); });
}

TEST_CASE("matrices and graphs") {
  const int rows = 100, cols = 200;
  std::vector<float> numbers(n);
  const std::vector<int> random = random_numbers(50);
  std::transform(random.begin(), random.end(), numbers.begin(), [](int i) { return float(i - 20); });
  const device_buffer<float> in{numbers};
  device_buffer<float> x{n};
  const pmpp::matrix_view<const float> a(in.data(), 40, 500), b(in.data(), 500, 40), picture(in.data(), rows, cols);
  const pmpp::matrix_view<float> c(x.data(), 40, 40), out(x.data(), rows, cols);
  same_in_measured_bytes(numbers, x, [&](const auto& where) { pmpp::gemm(where, 1, a, b, 0, c); });
  same_in_measured_bytes(numbers, x, [&](const auto& where) { pmpp::box_blur(where, picture, out, 3); });

  const ring large(n), small(500);  // a search goes around half of it, a level each time
  const pmpp::csr_view<const float, const int> m = large.view(), graph = small.view();
  same_in_measured_bytes(numbers, x, [&](const auto& where) { pmpp::spmv(where, 1, m, in, 0, x); });
  device_buffer<int> distance{500};
  const std::vector<int> before(500, 7);
  same_in_measured_bytes(before, distance,
                         [&](const auto& where) { pmpp::bfs(where, pmpp::undirected(graph.pattern()), 0, distance); });
}
