// SPDX-License-Identifier: Apache-2.0
//
// Sums of the columns of a matrix of floats beside cuBLAS' product with a vector of ones, on the device's clock; the least and the
// greatest of each of three columns beside a reduction of Thrust's of rows.
//
// Declared bytes: every element read once.
#include <thrust/transform_reduce.h>

#include <pmpp/reduce_columns.hpp>

#include "support/report.hpp"
#include "support/verbs.hpp"

#if defined(PMPP_BENCH_HAS_CUBLAS)
#include "support/cublas.hpp"
#endif

#include <cmath>
#include <string>
#include <vector>

namespace {

using bench::subject;

struct small_number {
  PMPP_HOST_DEVICE float operator()(std::int64_t i) const { return float(bench::random_bits(i) >> 40) * 0x1p-24f; }
};
bench::shared_array<float> numbers(std::int64_t n) {
  auto a = bench::array<float>(n);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(bench::device(), i, i + n, a->data(), small_number{});
  return a;
}

void add_sums(std::int64_t rows, std::int64_t cols) {
  const std::int64_t n = rows * cols;
  bench::add(
      "reduce_columns/f32, " + std::to_string(cols) + " columns", n, double(n) * sizeof(float), [=](int windows) {
        const auto in = numbers(windows * n);
        const auto out = bench::array<float>(cols), ones = bench::array<float>(rows);
        pmpp::fill(bench::device(), *ones, 1.0f);
        subject s;
        s.contenders = {{"pmpp", [=](int w) {
                           pmpp::reduce_columns(bench::device(), pmpp::matrix_view(in->data() + w * n, rows, cols),
                                                out->data());
                         }}};
#if defined(PMPP_BENCH_HAS_CUBLAS)
        s.contenders.push_back({"cublas", [=](int w) {
                                  const float one = 1, zero = 0;
                                  bench::check(cublasSgemv(bench::cublas_handle<CUBLAS_PEDANTIC_MATH>(), CUBLAS_OP_N,
                                                           int(cols), int(rows), &one, in->data() + w * n, int(cols),
                                                           ones->data(), 1, &zero, out->data(), 1));
                                }});
#endif
        s.spoil = [=] { bench::spoil(out); };
        s.fault = [=]() -> std::string {
          for (const float x : bench::on_host(static_cast<const float*>(out->data()), cols))
            if (!(std::abs(x / float(rows) - 0.5f) < 10 / std::sqrt(float(rows))))
              return "a sum of " + std::to_string(x);
          return "";
        };
        return s;
      });
}

struct row {
  float x, y, z;
};
struct box {
  row low, high;
};
struct box_of {
  PMPP_HOST_DEVICE box operator()(const row& r) const { return {r, r}; }
};
struct join_boxes {
  PMPP_HOST_DEVICE box operator()(const box& a, const box& b) const {
    const pmpp::minimum least;
    const pmpp::maximum most;
    return {{least(a.low.x, b.low.x), least(a.low.y, b.low.y), least(a.low.z, b.low.z)},
            {most(a.high.x, b.high.x), most(a.high.y, b.high.y), most(a.high.z, b.high.z)}};
  }
};
void add_extremes(std::int64_t rows) {
  const std::int64_t n = 3 * rows;
  bench::add("minmax_columns/f32, 3 columns", n, double(n) * sizeof(float), [=](int windows) {
    const auto in = numbers(windows * n);
    const auto out = bench::array<pmpp::pair<float, float>>(3);
    const auto found = std::make_shared<std::vector<pmpp::pair<float, float>>>(),
               wanted = std::make_shared<std::vector<pmpp::pair<float, float>>>();
    subject s;
    s.clock = bench::timer::host;
    s.contenders = {
        {"pmpp",
         [=](int w) {
           pmpp::minmax_columns(bench::device(), pmpp::matrix_view(in->data() + w * n, rows, 3), out->data());
           *found = bench::on_host(static_cast<const pmpp::pair<float, float>*>(out->data()), 3);
         }},
        {"thrust", [=](int w) {
           const row* const r = reinterpret_cast<const row*>(in->data() + w * n);
           const box nothing{{2, 2, 2}, {-2, -2, -2}};
           const box b = thrust::transform_reduce(bench::thrust_policy(), r, r + rows, box_of{}, nothing, join_boxes{});
           *found = {{b.low.x, b.high.x}, {b.low.y, b.high.y}, {b.low.z, b.high.z}};
         }}};
    s.spoil = [=] { found->clear(); };
    s.fault = [=]() -> std::string {
      if (wanted->empty()) *wanted = *found;
      return *found == *wanted ? "" : "other extremes";
    };
    return s;
  });
}

void add_cases() {
  for (const std::int64_t n : {std::int64_t(1) << 20, std::int64_t(1) << 27}) {
    for (const std::int64_t cols : {3, 32, 100, 300, 1000, 20000}) add_sums(n / cols, cols);
    add_extremes(n / 3);
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
