// SPDX-License-Identifier: Apache-2.0
//
// What this file proves of network.hpp, on every policy: softmax, its logarithm and losses are those of their definitions in long
// double, for rows of a lane to rows of a block, large elements without overflow, in place; the gradient of the losses is what
// a difference of losses says; pools and their gradients are those of plain loops, for strides, paddings and overlapping windows,
// channels first and last; the gradients of a layer satisfy what defines them, <layer(x), g> = <x, input gradient> = <filters,
// filter gradient>, for every element, by loops over the definition; bad input throws.
#include <pmpp/network.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "support/data.hpp"
#include "support/policies.hpp"

using pmpp::channels_view;
using pmpp::matrix_view;

namespace {

std::int64_t far_off(const std::vector<float>& got, const std::vector<double>& wanted, double tolerance) {
  std::int64_t wrong = got.size() != wanted.size();
  for (std::size_t i = 0; i < got.size() && i < wanted.size(); ++i)
    wrong += !(std::abs(double(got[i]) - wanted[i]) <= tolerance * (1 + std::abs(wanted[i])));
  return wrong;
}

/// -log softmax(row)[j] for all j.
std::vector<double> surprises(const std::vector<float>& in, std::int64_t rows, std::int64_t cols) {
  std::vector<double> all(in.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    long double most = -HUGE_VALL, sum = 0;
    for (std::int64_t j = 0; j < cols; ++j) most = std::max(most, (long double)(in[std::size_t(i * cols + j)]));
    for (std::int64_t j = 0; j < cols; ++j) sum += std::exp((long double)(in[std::size_t(i * cols + j)]) - most);
    for (std::int64_t j = 0; j < cols; ++j)
      all[std::size_t(i * cols + j)] = double(most + std::log(sum) - (long double)(in[std::size_t(i * cols + j)]));
  }
  return all;
}

struct shape {
  std::int64_t n, h, w, c;
  std::int64_t count() const { return n * h * w * c; }
  std::size_t at(std::int64_t i, std::int64_t y, std::int64_t x, std::int64_t k) const {
    return std::size_t(((i * h + y) * w + x) * c + k);
  }
};
/// Values in the order of nhwc as they lie in memory, and back.
std::vector<float> laid_out(const std::vector<float>& v, const shape& s, bool channels_last) {
  if (channels_last) return v;
  std::vector<float> other(v.size());
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t y = 0; y < s.h; ++y)
      for (std::int64_t x = 0; x < s.w; ++x)
        for (std::int64_t k = 0; k < s.c; ++k)
          other[std::size_t(((n * s.c + k) * s.h + y) * s.w + x)] = v[s.at(n, y, x, k)];
  return other;
}
std::vector<float> in_order(const std::vector<float>& v, const shape& s, bool channels_last) {
  if (channels_last) return v;
  std::vector<float> other(v.size());
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t y = 0; y < s.h; ++y)
      for (std::int64_t x = 0; x < s.w; ++x)
        for (std::int64_t k = 0; k < s.c; ++k)
          other[s.at(n, y, x, k)] = v[std::size_t(((n * s.c + k) * s.h + y) * s.w + x)];
  return other;
}
template <class T>
channels_view<T> view(T* data, const shape& s, bool channels_last) {
  return channels_last ? pmpp::nhwc(data, s.n, s.h, s.w, s.c) : pmpp::nchw(data, s.n, s.c, s.h, s.w);
}
std::vector<float> eighths(std::int64_t n) {
  std::vector<float> v;
  for (const int x : test::random_values<int>(n)) v.push_back(float(x) / 8);
  return v;
}

}  // namespace

TEST_ALL_PLACES("softmax, its logarithm, losses and their gradient") {
  const typename where::policy on{};
  struct size {
    std::int64_t rows, cols;
  };
  for (const size& s :
       test::only_small()
           ? std::vector<size>{{9, 10}, {2, 2100}}
           : std::vector<size>{
                 {1, 1}, {7, 10}, {33, 32}, {5, 1000}, {2, 1024}, {3, 1025}, {2, 5000}, {2, 16384}, {1, 40001}}) {
    auto x = test::random_values<float>(s.rows * s.cols);
    for (float& v : x) v *= 12;
    x[0] = 500;  // exp of it is infinite
    const auto wanted = surprises(x, s.rows, s.cols);
    std::vector<double> shares, logarithms, losses, gradient;
    std::vector<int> labels;
    for (std::int64_t i = 0; i < s.rows; ++i) {
      labels.push_back(i % 4 == 3 ? -1 : int(i * 7 % s.cols));
      losses.push_back(labels.back() < 0 ? 0 : wanted[std::size_t(i * s.cols + labels.back())]);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const int label = labels[i / std::size_t(s.cols)];
      shares.push_back(std::exp(-wanted[i]));
      logarithms.push_back(-wanted[i]);
      gradient.push_back(label < 0 ? 0 : 0.5 * (shares.back() - (std::int64_t(i) % s.cols == label)));
    }
    CAPTURE(s.rows);
    CAPTURE(s.cols);
    const auto in = where::input(x);
    const auto of = where::input(labels);
    auto out = where::put(x);
    auto lost = where::put(std::vector<float>(std::size_t(s.rows), -1.0f));
    const matrix_view<const float> from(in.data(), s.rows, s.cols);
    const matrix_view<float> to(out.data(), s.rows, s.cols);
    pmpp::softmax(on, matrix_view<const float>(to), to);
    CHECK(far_off(where::get(out), shares, 2e-5) == 0);
    pmpp::log_softmax(on, from, to);
    CHECK(far_off(where::get(out), logarithms, 1e-5) == 0);
    pmpp::cross_entropy(on, from, of, lost);
    CHECK(far_off(where::get(lost), losses, 1e-5) == 0);
    pmpp::cross_entropy_gradient(on, from, of, to, 0.5);
    CHECK(far_off(where::get(out), gradient, 2e-5) == 0);
  }
}

TEST_ALL_PLACES("softmax of infinities and NaN") {
  const typename where::policy on{};
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t cols : {3, 40, 1500}) {
    std::vector<float> x(std::size_t(4 * cols), 1.0f);
    for (std::int64_t j = 0; j < cols; ++j) x[std::size_t(j)] = -infinity;  // a row of them alone
    x[std::size_t(cols + 1)] = -infinity;                                   // one
    x[std::size_t(2 * cols + 1)] = infinity;
    x[std::size_t(3 * cols + 1)] = nan;
    auto values = where::put(x);
    const matrix_view<float> rows(values.data(), 4, cols);
    pmpp::softmax(on, rows, rows);
    const std::vector<float> got = where::get(values);
    for (std::int64_t j = 0; j < cols; ++j) {
      CHECK(std::isnan(got[std::size_t(j)]));
      CHECK(std::abs(got[std::size_t(cols + j)] - (j == 1 ? 0 : 1 / float(cols - 1))) < 1e-5f);
      CHECK((j == 1 ? std::isnan(got[std::size_t(2 * cols + j)]) : got[std::size_t(2 * cols + j)] == 0));
      CHECK(std::isnan(got[std::size_t(3 * cols + j)]));
    }
  }
}

TEST_ALL_PLACES("a pool of more elements than there are threads") {
  const typename where::policy on{};
  const shape s{3, 210, 302, test::only_small() ? 1 : 5}, pooled{s.n, s.h - 1, s.w - 1, s.c};
  const pmpp::pool_window w{2, 2, 1, 1};
  const auto x = eighths(s.count());
  for (const bool last : {true, false}) {
    const auto in = where::input(x);
    auto out = where::put(std::vector<float>(std::size_t(pooled.count()), -1.0f));
    std::vector<float> wanted(std::size_t(pooled.count()));
    pmpp::max_pool(on, view(in.data(), s, last), view(out.data(), pooled, last), w);
    pmpp::max_pool(pmpp::seq, view(x.data(), s, last), view(wanted.data(), pooled, last), w);
    CHECK(where::get(out) == wanted);
  }
}

TEST_ALL_PLACES("pools and their gradients") {
  const typename where::policy on{};
  for (const shape& s : {shape{2, 7, 9, 3}, shape{2, 7, 5, 8}})
    for (const pmpp::pool_window& w :
         {pmpp::pool_window{}, pmpp::pool_window{3, 3, 2, 1, 1, 2}, pmpp::pool_window{2, 4, 1, 3, 0, 1}})
      for (const bool last : {true, false}) {
        const shape pooled{s.n, (s.h + 2 * w.padding_y - w.size_y) / w.stride_y + 1,
                           (s.w + 2 * w.padding_x - w.size_x) / w.stride_x + 1, s.c};
        const auto x = eighths(s.count()), g = eighths(pooled.count());
        std::vector<double> largest, mean, of_largest(x.size()), of_mean(x.size());
        for (std::int64_t n = 0; n < s.n; ++n)
          for (std::int64_t y = 0; y < pooled.h; ++y)
            for (std::int64_t u = 0; u < pooled.w; ++u)
              for (std::int64_t k = 0; k < s.c; ++k) {
                std::vector<std::size_t> places;
                for (std::int64_t v = y * w.stride_y - w.padding_y; v < y * w.stride_y - w.padding_y + w.size_y; ++v)
                  for (std::int64_t t = u * w.stride_x - w.padding_x; t < u * w.stride_x - w.padding_x + w.size_x; ++t)
                    if (v >= 0 && v < s.h && t >= 0 && t < s.w) places.push_back(s.at(n, v, t, k));
                std::size_t best = places[0];
                double sum = 0;
                for (const std::size_t p : places) {
                  sum += double(x[p]);
                  if (x[p] > x[best]) best = p;
                }
                largest.push_back(double(x[best]));
                mean.push_back(sum / double(places.size()));
                const double part = double(g[pooled.at(n, y, u, k)]);
                of_largest[best] += part;
                for (const std::size_t p : places) of_mean[p] += part / double(places.size());
              }
        const auto in = where::input(laid_out(x, s, last)), gradient = where::input(laid_out(g, pooled, last));
        auto out = where::put(std::vector<float>(g.size())), of_in = where::put(std::vector<float>(x.size(), -1.0f));
        const auto from = view(in.data(), s, last);
        const auto to = view(out.data(), pooled, last), back = view(of_in.data(), s, last);
        const auto coming = view(gradient.data(), pooled, last);
        CAPTURE(last);
        CAPTURE(w.size_x);
        pmpp::max_pool(on, from, to, w);
        CHECK(far_off(in_order(where::get(out), pooled, last), largest, 0) == 0);
        pmpp::average_pool(on, from, to, w);
        CHECK(far_off(in_order(where::get(out), pooled, last), mean, 1e-5) == 0);
        pmpp::max_pool_gradient(on, from, coming, back, w);
        CHECK(far_off(in_order(where::get(of_in), s, last), of_largest, 1e-5) == 0);
        pmpp::average_pool_gradient(on, coming, back, w);
        CHECK(far_off(in_order(where::get(of_in), s, last), of_mean, 1e-5) == 0);
      }
}

TEST_ALL_PLACES("gradients of a convolution layer") {
  const typename where::policy on{};
  pmpp::layer_options<> strided{
      .stride_y = 2, .stride_x = 3, .padding_y = 1, .padding_x = 2, .dilation_y = 2, .dilation_x = 1, .groups = 2};
  for (const pmpp::layer_options<>& o : {pmpp::layer_options<>{}, strided})
    for (const bool last : {true, false}) {
      const shape s{3, 9, 8, 10}, taps{6, 3, 2, s.c / o.groups};
      const shape made{s.n, (s.h + 2 * o.padding_y - o.dilation_y * (taps.h - 1) - 1) / o.stride_y + 1,
                       (s.w + 2 * o.padding_x - o.dilation_x * (taps.w - 1) - 1) / o.stride_x + 1, taps.n};
      const auto x = eighths(s.count()), f = eighths(taps.count()), g = eighths(made.count());
      std::vector<double> of_x(x.size()), of_f(f.size());
      for (std::int64_t n = 0; n < made.n; ++n)
        for (std::int64_t y = 0; y < made.h; ++y)
          for (std::int64_t u = 0; u < made.w; ++u)
            for (std::int64_t k = 0; k < taps.n; ++k)
              for (std::int64_t v = 0; v < taps.h; ++v)
                for (std::int64_t t = 0; t < taps.w; ++t)
                  for (std::int64_t c = 0; c < taps.c; ++c) {
                    const std::int64_t row = y * o.stride_y - o.padding_y + v * o.dilation_y;
                    const std::int64_t col = u * o.stride_x - o.padding_x + t * o.dilation_x;
                    if (row < 0 || row >= s.h || col < 0 || col >= s.w) continue;
                    const std::size_t of_in = s.at(n, row, col, k / (taps.n / o.groups) * taps.c + c),
                                      tap = taps.at(k, v, t, c);
                    const double part = double(g[made.at(n, y, u, k)]);
                    of_x[of_in] += part * double(f[tap]);
                    of_f[tap] += part * double(x[of_in]);
                  }
      const auto in = where::input(laid_out(x, s, last)), filters = where::input(laid_out(f, taps, last)),
                 gradient = where::input(laid_out(g, made, last));
      auto to_x = where::put(std::vector<float>(x.size(), -1.0f)),
           to_f = where::put(std::vector<float>(f.size(), -1.0f));
      CAPTURE(last);
      CAPTURE(o.groups);
      pmpp::layer_input_gradient(on, view(gradient.data(), made, last), view(filters.data(), taps, last),
                                 view(to_x.data(), s, last), o);
      CHECK(far_off(in_order(where::get(to_x), s, last), of_x, 1e-5) == 0);
      pmpp::layer_filter_gradient(on, view(in.data(), s, last), view(gradient.data(), made, last),
                                  view(to_f.data(), taps, last), o);
      CHECK(far_off(in_order(where::get(to_f), taps, last), of_f, 1e-5) == 0);
    }
}

TEST_ALL_PLACES("bad input throws") {
  const typename where::policy on{};
  auto data = where::put(std::vector<float>(64)), other = where::put(std::vector<float>(64));
  const auto labels = where::input(std::vector<int>(2));
  float* const a = data.data();
  float* const b = other.data();
  CHECK_THROWS_AS(pmpp::softmax(on, matrix_view<float>(a, 2, 3), matrix_view<float>(b, 2, 4)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::softmax(on, matrix_view<float>(a, 2, 3), matrix_view<float>(a + 1, 2, 3)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::cross_entropy(on, matrix_view<float>(a, 3, 3), labels, other), std::length_error);
  CHECK_THROWS_AS(pmpp::max_pool(on, pmpp::nhwc(a, 1, 4, 4, 1), pmpp::nhwc(b, 1, 3, 2, 1)), std::invalid_argument);
  CHECK_THROWS_AS(pmpp::max_pool(on, pmpp::nhwc(a, 1, 4, 4, 1), pmpp::nhwc(b, 1, 3, 3, 1), {2, 2, 2, 2, 2, 0}),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::average_pool(on, pmpp::nhwc(a, 1, 4, 4, 1), pmpp::nhwc(a + 2, 1, 2, 2, 1)),
                  std::invalid_argument);
  CHECK_THROWS_AS(pmpp::layer_input_gradient(on, pmpp::nhwc(a, 1, 3, 3, 1), pmpp::nhwc(a + 9, 1, 2, 2, 1),
                                             pmpp::nhwc(b, 1, 3, 3, 1)),
                  std::invalid_argument);
}
