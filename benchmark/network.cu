// SPDX-License-Identifier: Apache-2.0
//
// Rows and images of a network: softmax, cross entropy and its gradient, pools, gradients of a layer. The toolkit has no peer (cuDNN is
// not part of it); copying as many bytes takes as long as the last columns say, and n of the gradients of a layer is their number of
// multiplications. 64 elements of each result are checked against sums of doubles where that is affordable.
//
// Declared bytes: every input read once, every output written once.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <cuda_bf16.h>

#include <pmpp/network.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;
using pmpp::matrix_view;

template <class T>
struct rows_of {
  bench::shared_array<T> in, out;
  bench::shared_array<int> labels;
  bench::shared_array<float> losses;
  std::int64_t rows, cols;

  rows_of(std::int64_t r, std::int64_t c, int windows)
      : in(bench::random_array<T>(windows * r * c)),
        out(bench::array<T>(r * c)),
        losses(bench::array<float>(r)),
        rows(r),
        cols(c) {
    std::vector<int> given(static_cast<std::size_t>(r));
    for (std::int64_t i = 0; i < r; ++i) given[std::size_t(i)] = int(bench::random_bits(i) % std::uint64_t(c));
    labels = std::make_shared<pmpp::device_buffer<int>>(given);
  }
  matrix_view<const T> from(int w) const { return {in->data() + w * rows * cols, rows, cols}; }
  matrix_view<T> to() const { return {out->data(), rows, cols}; }
};

/// What is wrong with the softmax of some rows, or with its logarithm.
template <bool Logarithm, class T>
std::string softmax_fault(const rows_of<T>& a) {
  const bench::random_element<T> element;
  for (std::int64_t place = 0; place < 16; ++place) {
    const std::int64_t i = place == 0 ? a.rows - 1 : place * 7919 % a.rows;
    double sum = 0;
    for (std::int64_t j = 0; j < a.cols; ++j) sum += std::exp(double(float(element(i * a.cols + j))));
    const auto got = bench::on_host(static_cast<const T*>(a.out->data()) + i * a.cols, a.cols);
    for (std::int64_t j = 0; j < a.cols; ++j) {
      const double x = double(float(element(i * a.cols + j))),
                   wanted = Logarithm ? x - std::log(sum) : std::exp(x) / sum,
                   bound = std::abs(wanted) * (sizeof(T) == 2 ? 0x1p-7 : 0x1p-18);
      if (!(std::abs(double(float(got[std::size_t(j)])) - wanted) <= bound))
        return "row " + std::to_string(i) + ", column " + std::to_string(j);
    }
  }
  return "";
}

template <class T>
void add_rows(const std::string& type, std::int64_t rows, std::int64_t cols) {
  const std::string shape = type + " " + std::to_string(rows) + "x" + std::to_string(cols);
  const double once = double(rows * cols) * sizeof(T);
  bench::add("softmax/" + shape, rows * cols, 2 * once, [=](int windows) {
    const rows_of<T> a(rows, cols, windows);
    subject s;
    s.contenders = {{"pmpp", [=](int w) { pmpp::softmax(bench::device(), a.from(w), a.to()); }}};
    s.spoil = [=] { bench::spoil(a.out); };
    s.fault = [=] { return softmax_fault<false>(a); };
    return s;
  });
  bench::add("log_softmax/" + shape, rows * cols, 2 * once, [=](int windows) {
    const rows_of<T> a(rows, cols, windows);
    subject s;
    s.contenders = {{"pmpp", [=](int w) { pmpp::log_softmax(bench::device(), a.from(w), a.to()); }}};
    s.spoil = [=] { bench::spoil(a.out); };
    s.fault = [=] { return softmax_fault<true>(a); };
    return s;
  });
  bench::add("cross_entropy/" + shape, rows * cols, once, [=](int windows) {
    const rows_of<T> a(rows, cols, windows);
    subject s;
    s.contenders = {{"pmpp", [=](int w) { pmpp::cross_entropy(bench::device(), a.from(w), *a.labels, *a.losses); }}};
    return s;
  });
  bench::add("cross_entropy_gradient/" + shape, rows * cols, 2 * once, [=](int windows) {
    const rows_of<T> a(rows, cols, windows);
    subject s;
    s.contenders = {
        {"pmpp", [=](int w) { pmpp::cross_entropy_gradient(bench::device(), a.from(w), *a.labels, a.to()); }}};
    return s;
  });
}

void add_pools(std::int64_t images, std::int64_t extent, std::int64_t channels) {
  const std::int64_t half = extent / 2, in_size = images * extent * extent * channels, out_size = in_size / 4;
  const std::string shape = "f32 " + std::to_string(images) + "x" + std::to_string(extent) + "x" +
                            std::to_string(extent) + "x" + std::to_string(channels);
  const pmpp::pool_window window{.size_y = 2, .size_x = 2, .stride_y = 2, .stride_x = 2};
  const auto add = [=](const std::string& name, bool back, auto call) {
    bench::add(name + "/" + shape, in_size, double(in_size + out_size + (back ? in_size : 0)) * 4, [=](int windows) {
      const auto in = bench::random_array<float>(windows * in_size), out = bench::random_array<float>(out_size),
                 of_in = bench::array<float>(in_size);
      subject s;
      s.contenders = {{"pmpp", [=](int w) {
                         call(pmpp::nhwc<const float>(in->data() + w * in_size, images, extent, extent, channels),
                              pmpp::nhwc<float>(out->data(), images, half, half, channels),
                              pmpp::nhwc<float>(of_in->data(), images, extent, extent, channels), window);
                       }}};
      return s;
    });
  };
  add("max_pool", false,
      [](const auto& in, const auto& out, const auto&, const auto& w) { pmpp::max_pool(bench::device(), in, out, w); });
  add("average_pool", false, [](const auto& in, const auto& out, const auto&, const auto& w) {
    pmpp::average_pool(bench::device(), in, out, w);
  });
  add("max_pool_gradient", true, [](const auto& in, const auto& out, const auto& of_in, const auto& w) {
    pmpp::max_pool_gradient(bench::device(), in, out, of_in, w);
  });
  add("average_pool_gradient", true, [](const auto&, const auto& out, const auto& of_in, const auto& w) {
    pmpp::average_pool_gradient(bench::device(), out, of_in, w);
  });
}

void add_gradients(std::int64_t images, std::int64_t extent, std::int64_t channels, std::int64_t filters) {
  const std::int64_t size = images * extent * extent * channels, of_size = images * extent * extent * filters,
                     taps = filters * 9 * channels;
  const std::string shape = "f32 " + std::to_string(images) + "x" + std::to_string(extent) + "x" +
                            std::to_string(extent) + "x" + std::to_string(channels) + ", " + std::to_string(filters) +
                            " of 3x3";
  const pmpp::layer_options<> options{.padding_y = 1, .padding_x = 1};
  const auto add = [=](const std::string& name, auto call) {
    bench::add(name + "/" + shape, of_size * 9 * channels, double(size + of_size + taps) * 4, [=](int) {
      const auto in = bench::random_array<float>(size), of_out = bench::random_array<float>(of_size),
                 weights = bench::random_array<float>(taps);
      subject s;
      s.contenders = {{"pmpp", [=](int) {
                         call(pmpp::nhwc<float>(in->data(), images, extent, extent, channels),
                              pmpp::nhwc<const float>(of_out->data(), images, extent, extent, filters),
                              pmpp::nhwc<float>(weights->data(), filters, 3, 3, channels), options);
                       }}};
      return s;
    });
  };
  add("layer_input_gradient", [](const auto& in, const auto& of_out, const auto& weights, const auto& o) {
    pmpp::layer_input_gradient(bench::device(), of_out, weights, in, o);
  });
  add("layer_filter_gradient", [](const auto& in, const auto& of_out, const auto& weights, const auto& o) {
    pmpp::layer_filter_gradient(bench::device(), in, of_out, weights, o);
  });
}

void add_cases() {
  for (const std::int64_t cols : {128, 1024, 32768}) {
    add_rows<float>("f32", (std::int64_t(1) << 25) / cols, cols);
    add_rows<__nv_bfloat16>("bf16", (std::int64_t(1) << 25) / cols, cols);
  }
  add_pools(64, 112, 64);
  add_gradients(32, 28, 32, 64);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
