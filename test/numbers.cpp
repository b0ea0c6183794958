// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of numbers, on every policy: same_bits groups as it says, whatever the alignment, the tuning and the machine,
// for sums, dot products and lengths on the device; compensated sums keep what plain ones lose; complex numbers go through
// reductions, scans, transforms, sorts and products of matrices, dense, batched and sparse; on a GPU half2
// and bfloat162 too.
#include <pmpp/core/compensated.hpp>
#include <pmpp/gemm.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>
#include <pmpp/sort.hpp>
#include <pmpp/spmm.hpp>
#include <pmpp/spmv.hpp>
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

namespace {

/// Whole numbers, so that all results are exact.
std::vector<complex> whole_numbers(std::size_t n, int salt) {
  std::vector<complex> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = {float(int(i * 7 + std::size_t(salt)) % 7 - 3), float(int(i) % 5 - 2)};
  return v;
}
/// alpha sum + beta old, for the sum of products a[i] b[i].
constexpr float re_alpha = 0, im_alpha = 2, re_beta = 1, im_beta = -1;
complex result_of(const complex& sum, const complex& old) {
  return complex(re_alpha, im_alpha) * sum + complex(re_beta, im_beta) * old;
}

}  // namespace

TEST_ALL_PLACES("products of complex matrices") {
  const typename where::policy policy{};
  const complex alpha(re_alpha, im_alpha), beta(re_beta, im_beta);
  struct shape {
    int m, n, k, batch;
  };
  for (const shape s : {shape{1, 1, 1, 1}, shape{37, 29, 53, 1}, shape{70, 133, 40, 1}, shape{5, 7, 900, 1},
                        shape{300, 1, 40, 1}, shape{1, 70, 300, 1}, shape{64, 32, 3, 1}, shape{9, 12, 5, 3}}) {
    CAPTURE(s.k);
    const auto size = [](int rows, int cols, int batch = 1) {
      return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * static_cast<std::size_t>(batch);
    };
    const auto a = whole_numbers(size(s.m, s.k, s.batch), 1), b = whole_numbers(size(s.k, s.n, s.batch), 3),
               c = whole_numbers(size(s.m, s.n, s.batch), 5);
    std::vector<complex> wanted(c.size());
    for (int g = 0; g < s.batch; ++g)
      for (int i = 0; i < s.m; ++i)
        for (int j = 0; j < s.n; ++j) {
          const std::size_t at = size(s.m, s.n, g) + size(i, s.n) + std::size_t(j);
          complex sum(0, 0);
          for (int p = 0; p < s.k; ++p)
            sum += a[size(s.m, s.k, g) + size(i, s.k) + std::size_t(p)] *
                   b[size(s.k, s.n, g) + size(p, s.n) + std::size_t(j)];
          wanted[at] = result_of(sum, c[at]);
        }
    const auto x = where::input(a), y = where::input(b);
    auto z = where::put(c);
    const pmpp::matrix_view left(x.data(), s.m, s.k), right(y.data(), s.k, s.n);
    const pmpp::matrix_view to(z.data(), s.m, s.n);
    if (s.batch == 1)
      pmpp::gemm(policy, alpha, left, right, beta, to);
    else
      pmpp::gemm_batched(policy, alpha, left, s.m * s.k, right, s.k * s.n, beta, to, s.m * s.n, s.batch);
    pmpp::synchronize(policy);
    CHECK(where::get(z) == wanted);
  }
}

TEST_ALL_PLACES("products of sparse complex matrices") {
  const typename where::policy policy{};
  const complex alpha(re_alpha, im_alpha), beta(re_beta, im_beta);
  for (const int rows : {1, 40, 700}) {
    const int cols = 90, width = 12;
    CAPTURE(rows);
    std::vector<int> offsets{0}, columns;
    for (int r = 0; r < rows; ++r) {
      const int length = r % 50 == 7 ? 300 : r % 6;
      for (int e = 0; e < length; ++e) columns.push_back((r * 13 + e * 7) % cols);
      offsets.push_back(int(columns.size()));
    }
    const auto values = whole_numbers(columns.size(), 2), b = whole_numbers(std::size_t(cols * width), 3),
               c = whole_numbers(std::size_t(rows * width), 5);
    const auto product = [&](int r, int j, int stride) {
      complex sum(0, 0);
      for (auto e = std::size_t(offsets[std::size_t(r)]); e < std::size_t(offsets[std::size_t(r) + 1]); ++e)
        sum += values[e] * b[std::size_t(columns[e] * stride + j)];
      return result_of(sum, c[std::size_t(r * stride + j)]);
    };
    const auto of_offsets = where::input(offsets), of_columns = where::input(columns);
    const auto of_values = where::input(values), x = where::input(b);
    const pmpp::csr_view<const complex, const int> a{rows, cols, of_offsets.data(), of_columns.data(),
                                                     of_values.data()};
    std::vector<complex> wanted;
    for (int r = 0; r < rows; ++r) wanted.push_back(product(r, 0, 1));
    auto y = where::put(std::vector<complex>(c.begin(), c.begin() + rows));
    pmpp::spmv(policy, alpha, a, x, beta, y);
    pmpp::synchronize(policy);
    CHECK(where::get(y) == wanted);
    wanted.clear();
    for (int r = 0; r < rows; ++r)
      for (int j = 0; j < width; ++j) wanted.push_back(product(r, j, width));
    auto z = where::put(c);
    pmpp::spmm(policy, alpha, a, pmpp::matrix_view(x.data(), cols, width), beta,
               pmpp::matrix_view(z.data(), rows, width));
    pmpp::synchronize(policy);
    CHECK(where::get(z) == wanted);
  }
}
