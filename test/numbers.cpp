// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of numbers, on every policy: same_bits groups as it says, whatever the alignment, the tuning and the machine,
// for sums, dot products and lengths on the device; compensated sums keep what plain ones lose; complex numbers go through
// reductions, scans, transforms, sorts and products of matrices; on a GPU half2
// and bfloat162 too.
#include <pmpp/core/compensated.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/transform.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "support/captured_graph.hpp"
#include "support/data.hpp"
#include "support/policies.hpp"

#if PMPP_CUDA
#include <cuda/std/complex>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
using complex = cuda::std::complex<float>;
#else
#include <complex>
using complex = std::complex<float>;
#endif

using pmpp::compensated, pmpp::device, pmpp::same_bits;

// The same for g++ and for nvcc's two passes: where they disagree, the host launches a kernel that the device does not have.
static_assert(!pmpp::detail::is_stored_as_bytes<complex> && !pmpp::detail::is_stored_as_bytes<compensated<float>>);

namespace {

template <class T>
std::vector<T> awkward(std::int64_t n) {
  std::vector<T> v;
  for (std::int64_t i = 0; i < n; ++i)
    v.push_back(T(std::ldexp(double(test::generator()() % 2001) - 1000, int(test::generator()() % 40) - 20)));
  return v;
}

/// As reduce/same_bits.hpp says it, once more: a list of rows, then a tree.
template <class T>
T by_the_book(std::vector<T> level, int items) {
  const std::size_t columns = std::size_t(32 * items);
  while (true) {
    std::vector<T> next;
    for (std::size_t begin = 0; begin < level.size(); begin += 16 * columns) {
      const std::size_t end = std::min(level.size(), begin + 16 * columns);
      std::vector<T> column(level.begin() + std::ptrdiff_t(begin),
                            level.begin() + std::ptrdiff_t(std::min(end, begin + columns)));
      for (std::size_t i = begin + columns; i < end; ++i) column[(i - begin) % columns] += level[i];
      std::vector<T> lanes;
      for (std::size_t j = 0; j < column.size(); ++j)
        if (j % std::size_t(items) == 0)
          lanes.push_back(column[j]);
        else
          lanes.back() += column[j];
      while (lanes.size() > 1) {
        std::vector<T> half;
        for (std::size_t l = 0; l < lanes.size(); l += 2)
          half.push_back(l + 1 < lanes.size() ? lanes[l] + lanes[l + 1] : lanes[l]);
        lanes = half;
      }
      next.push_back(lanes[0]);
    }
    if (next.size() <= 1) return next.empty() ? T(0) : next[0];
    level = next;
    items = 16 / int(sizeof(T));
  }
}

template <class T>
void check_same_bits(const auto& policy, const auto& x, const std::vector<T>& v) {
  const T wanted = T(3) + by_the_book(v, 16 / int(sizeof(T)));
  CHECK(pmpp::reduce(policy, x, T(3), same_bits{pmpp::plus{}}) == wanted);
}

struct times {
  template <class T>
  PMPP_HOST_DEVICE T operator()(const T& a, const T& b) const {
    return a * b;
  }
};
struct by_real {
  PMPP_HOST_DEVICE bool operator()(const complex& a, const complex& b) const { return a.real() < b.real(); }
};

}  // namespace

TEST_ALL_PLACES("same_bits: the grouping that is written down") {
  const typename where::policy policy{};
  for (const std::int64_t n :
       test::some_of<std::int64_t>({0, 1, 3, 4, 5, 127, 128, 129, 1000, 2047, 2048, 2049, 5000, 70001})) {
    CAPTURE(n);
    const auto v = awkward<float>(n);
    check_same_bits(policy, where::input(v), v);
    auto shifted = v;
    shifted.insert(shifted.begin(), 1.0f);
    const auto y = where::input(shifted);
    CHECK(pmpp::reduce(policy, y.begin() + 1, y.end(), 3.0f, same_bits{pmpp::plus{}}) == 3 + by_the_book(v, 4));
    const auto d = awkward<double>(n);
    check_same_bits(policy, where::input(d), d);
    auto out = where::put(std::vector<double>(1));
    pmpp::reduce_into(policy, where::input(d), out, 3.0, same_bits<>{});
    pmpp::synchronize(policy);
    CHECK(where::get(out)[0] == 3 + by_the_book(d, 2));
  }
}

TEST_ALL_PLACES("same_bits: products are rounded before they are added") {
  const typename where::policy policy{};
  const std::int64_t n = 30001;
  std::vector<float> a, b, products;
  for (std::int64_t i = 0; i < n; ++i) {
    a.push_back(float(test::generator()() % 100003) / 7);
    b.push_back(float(test::generator()() % 100003) / -11);
    products.push_back(a.back() * b.back());
  }
  const float dot = pmpp::transform_reduce(policy, where::input(a), where::input(b), 0.0f, same_bits<>{}, times{});
  CHECK(dot == by_the_book(products, 4));
}

TEST_CASE("same_bits: three levels, and a length on the device") {
  const std::int64_t n = test::some_of<std::int64_t>({100000, 2048 * 2048 + 77}).back();
  const auto v = awkward<float>(n);
  const pmpp::device_buffer<float> x(v);
  CHECK(pmpp::reduce(device, x, 0.0f, same_bits{pmpp::plus{}}) == by_the_book(v, 4));
  for (const std::int64_t m : {0, 1, 2048, 2049, 90000}) {
    const pmpp::device_buffer<std::int64_t> count(std::vector<std::int64_t>{m});
    const float sum =
        pmpp::reduce(device, x.begin(), pmpp::device_count{count.data(), n}, 0.0f, same_bits{pmpp::plus{}});
    CHECK(sum == by_the_book(std::vector<float>(v.begin(), v.begin() + m), 4));
  }
#if PMPP_CUDA
  pmpp::stream stream;
  pmpp::workspace memory(1 << 20);
  pmpp::device_buffer<float> out(1);
  const test::captured_graph graph(
      stream, [&] { pmpp::reduce_into(device.on(stream).with(memory), x, out, 0.0f, same_bits<>{}); });
  graph.replay();
  stream.synchronize();
  CHECK(pmpp::to_host(out)[0] == by_the_book(v, 4));
#endif
}

TEST_ALL_PLACES("compensated sums") {
  const typename where::policy policy{};
  // What a plain sum of floats loses altogether: ones beside 2^30, which goes away again.
  std::vector<float> v(20000, 1.0f);
  v[100] = 1073741824.0f;
  v[15000] = -1073741824.0f;
  const auto x = where::input(v);
  CHECK(pmpp::reduce(policy, x, compensated<float>{}).value() == 19998);
  CHECK(pmpp::reduce(policy, x, compensated<float>{}, same_bits{pmpp::plus{}}).value() == 19998);
  CHECK(pmpp::reduce(policy, x, 0.0f) != 19998);
  auto scanned = where::put(std::vector<float>(v.size()));
  pmpp::inclusive_scan(policy, x, scanned, pmpp::plus{}, compensated<float>{});
  pmpp::synchronize(policy);
  CHECK(where::get(scanned).back() == 19998);
}

TEST_ALL_PLACES("complex numbers") {
  const typename where::policy policy{};
  const std::int64_t n = 3000;
  std::vector<complex> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back({float((i * 7919) % n), float(i % 7 - 3)});
  const auto x = where::input(v);
  float real = 0, imaginary = 0;
  for (const complex& z : v) real += z.real(), imaginary += z.imag();
  CHECK(pmpp::reduce(policy, x, complex(0, 0)) == complex(real, imaginary));
  auto out = where::put(v);
  pmpp::inclusive_scan(policy, x, out);
  pmpp::synchronize(policy);
  CHECK(where::get(out).back() == complex(real, imaginary));
  pmpp::transform(policy, x, x, out, times{});
  pmpp::synchronize(policy);
  CHECK(where::get(out)[5] == v[5] * v[5]);
  pmpp::sort(policy, out = where::put(v), by_real{});
  CHECK(where::get(out)[17].real() == 17);
}

TEST_ALL_PLACES("products of complex matrices") {
  const typename where::policy policy{};
  struct shape {
    int m, n, k;
  };
  for (const shape s : {shape{1, 1, 1}, shape{37, 29, 53}, shape{70, 133, 40}, shape{5, 7, 900}}) {
    CAPTURE(s.k);
    const auto size = [](int rows, int cols) {
      return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    };
    std::vector<complex> a(size(s.m, s.k)), b(size(s.k, s.n)), c(size(s.m, s.n)), wanted(c.size());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = {float(i % 7) - 3, float(i % 5) - 2};
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = {float(i % 3) - 1, float(i % 11) - 5};
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = {float(i % 4), 1};
    const complex alpha(0, 2), beta(1, -1);  // all results are whole numbers, and exact
    for (int i = 0; i < s.m; ++i)
      for (int j = 0; j < s.n; ++j) {
        const std::size_t at = size(i, s.n) + std::size_t(j);
        complex sum(0, 0);
        for (int p = 0; p < s.k; ++p) sum += a[size(i, s.k) + std::size_t(p)] * b[size(p, s.n) + std::size_t(j)];
        wanted[at] = alpha * sum + beta * c[at];
      }
    const auto x = where::input(a), y = where::input(b);
    auto z = where::put(c);
    pmpp::gemm(policy, alpha, pmpp::matrix_view(x.data(), s.m, s.k), pmpp::matrix_view(y.data(), s.k, s.n), beta,
               pmpp::matrix_view(z.data(), s.m, s.n));
    pmpp::synchronize(policy);
    CHECK(where::get(z) == wanted);
  }
}
