// SPDX-License-Identifier: Apache-2.0
//
// Trains a convolutional network in the manner of LeNet to read digits of 8 x 8 pixels: two layers of 3 x 3 taps, each with a
// rectifier and a pool, and a third that sees all of what remains and gives ten numbers. Forward, backward and the steps of the
// weights are calls of the library alone. Without a file the program draws the digits itself, shifted, faint and noisy; with one it
// reads lines of 64 pixels from 0 to 16 and the digit, by commas (scikit-learn's digits.csv).
// usage: lenet [digits.csv]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/network.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/transform.hpp>

#if PMPP_CUDA
constexpr auto where = pmpp::device;
#else
constexpr auto where = pmpp::host;  // the emulator would take minutes
#endif
using floats = pmpp::device_buffer<float>;
constexpr int side = 8, classes = 10, batch = 50, first_filters = 8, second_filters = 16;

struct digits {
  std::vector<float> pixels;  // from 0 to 1
  std::vector<int> labels;
  int count() const { return int(labels.size()); }
};

digits drawn(int count, std::mt19937& random) {
  const char* const rows[] = {"69996", "26227", "6924f", "e161e", "99f11", "f8e1e", "68e96", "f1244", "69696", "69716"};
  digits all;
  for (int i = 0; i < count; ++i) {
    const int digit = int(random() % 10), left = int(random() % 5), top = int(random() % 4);
    const float ink = 0.5f + float(random() % 50) / 100;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        const int v = y - top, u = x - left;
        const char c = v >= 0 && v < 5 ? rows[digit][v] : '0';
        const int bits = c >= 'a' ? c - 'a' + 10 : c - '0';
        all.pixels.push_back((u >= 0 && u < 4 && (bits >> (3 - u) & 1) != 0 ? ink : 0) + float(random() % 100) / 400);
      }
    all.labels.push_back(digit);
  }
  return all;
}
digits read(const char* path) {
  digits all;
  std::ifstream file(path);
  for (std::string line, cell; std::getline(file, line);) {
    std::istringstream cells(line);
    std::vector<float> values;
    while (std::getline(cells, cell, ',')) values.push_back(std::stof(cell));
    if (int(values.size()) != side * side + 1)
      throw std::runtime_error(std::string(path) + ": a line has not 65 numbers");
    for (int i = 0; i < side * side; ++i) all.pixels.push_back(values[std::size_t(i)] / 16);
    all.labels.push_back(int(values.back()));
  }
  return all;
}

struct rectifier {
  PMPP_HOST_DEVICE float operator()(float sum) const { return sum > 0 ? sum : 0; }
};
struct rectifier_gradient {
  PMPP_HOST_DEVICE float operator()(float made, float gradient) const { return made > 0 ? gradient : 0; }
};
struct slower {  // momentum
  PMPP_HOST_DEVICE float operator()(float speed, float gradient) const { return 0.9f * speed - 0.02f * gradient; }
};

/// The weights of a layer, how they move, and what they see and make of a batch.
struct layer {
  int in_side, channels, taps, filters, padding;
  floats weights, gradient, speed, made, of_made;
  int out_side() const { return in_side + 2 * padding - taps + 1; }

  layer(int in_side_, int channels_, int taps_, int filters_, int padding_, std::mt19937& random)
      : in_side(in_side_), channels(channels_), taps(taps_), filters(filters_), padding(padding_) {
    std::normal_distribution<float> start(0, std::sqrt(2.0f / float(taps * taps * channels)));
    std::vector<float> w(std::size_t(filters * taps * taps * channels));
    for (float& x : w) x = start(random);
    weights = floats(w);
    gradient = floats(std::int64_t(w.size()));
    speed = floats(std::vector<float>(w.size()));
    made = floats(std::int64_t(batch) * out_side() * out_side() * filters);
    of_made = floats(made.size());
  }
  auto taps_of(floats& w) { return pmpp::nhwc(w.data(), filters, taps, taps, channels); }
  auto result(floats& r) { return pmpp::nhwc(r.data(), batch, out_side(), out_side(), filters); }
  auto input(floats& x) { return pmpp::nhwc(x.data(), batch, in_side, in_side, channels); }

  // [layer]
  template <class Epilogue>
  void forward(floats& x, Epilogue epilogue) {
    const pmpp::layer_options<Epilogue> options{.padding_y = padding, .padding_x = padding, .epilogue = epilogue};
    pmpp::convolution_layer(where, input(x), taps_of(weights), result(made), options);
  }
  /// of_made is given; of_x, if it is wanted, and the weights' next step follow.
  void backward(floats& x, floats* of_x) {
    const pmpp::layer_options<> options{.padding_y = padding, .padding_x = padding};
    pmpp::layer_filter_gradient(where, input(x), result(of_made), taps_of(gradient), options);
    if (of_x != nullptr) pmpp::layer_input_gradient(where, result(of_made), taps_of(weights), input(*of_x), options);
    pmpp::transform(where, speed, gradient, speed, slower{});
    pmpp::transform(where, weights, speed, weights, pmpp::plus{});
  }
  // [end]
};

/// A pool of 2 x 2 of what a layer made.
struct pool {
  layer& of;
  floats made, of_made;
  explicit pool(layer& l) : of(l), made(l.made.size() / 4), of_made(made.size()) {}
  auto half(floats& x) { return pmpp::nhwc(x.data(), batch, of.out_side() / 2, of.out_side() / 2, of.filters); }
  void forward() { pmpp::max_pool(where, of.result(of.made), half(made)); }
  /// Through the pool and the rectifier before it.
  void backward() {
    pmpp::max_pool_gradient(where, of.result(of.made), half(of_made), of.result(of.of_made));
    pmpp::transform(where, of.made, of.of_made, of.of_made, rectifier_gradient{});
  }
};

struct network {
  std::mt19937 random{3};
  layer first{side, 1, 3, first_filters, 1, random}, second{side / 2, first_filters, 3, second_filters, 1, random},
      third{side / 4, second_filters, side / 4, classes, 0, random};
  pool after_first{first}, after_second{second};
  floats picture{std::int64_t(batch) * side * side}, losses{batch};
  pmpp::device_buffer<int> label{batch};

  void show(const digits& d, const std::vector<int>& order, int begin) {
    std::vector<float> pixels;
    std::vector<int> labels;
    for (int i = begin; i < begin + batch; ++i) {
      const auto p = std::size_t(order[std::size_t(i)]);
      pixels.insert(pixels.end(), d.pixels.begin() + std::ptrdiff_t(p * 64),
                    d.pixels.begin() + std::ptrdiff_t(p * 64 + 64));
      labels.push_back(d.labels[p]);
    }
    picture = floats(pixels);
    label = pmpp::device_buffer<int>(labels);
    first.forward(picture, rectifier{});
    after_first.forward();
    second.forward(after_first.made, rectifier{});
    after_second.forward();
    third.forward(after_second.made, pmpp::no_epilogue{});
  }
  auto logits(floats& x) { return pmpp::matrix_view<float>(x.data(), batch, classes); }
  // [step]
  float learn() {
    pmpp::cross_entropy(where, logits(third.made), label, losses);
    pmpp::cross_entropy_gradient(where, logits(third.made), label, logits(third.of_made), 1.0 / batch);
    third.backward(after_second.made, &after_second.of_made);
    after_second.backward();
    second.backward(after_first.made, &after_first.of_made);
    after_first.backward();
    first.backward(picture, nullptr);
    return pmpp::reduce(where, losses) / batch;
  }
  // [end]
  int right() {
    const std::vector<float> all = pmpp::to_host(third.made);
    const std::vector<int> wanted = pmpp::to_host(label);
    int count = 0;
    for (int i = 0; i < batch; ++i) {
      const auto row = all.begin() + i * classes;
      count += std::max_element(row, row + classes) - row == wanted[std::size_t(i)];
    }
    return count;
  }
};

/// How much of a round is done, on the line of the terminal that its result replaces.
void show_progress(int round, int done, int all) {
  static const bool is_seen = isatty(fileno(stderr)) != 0;
  if (!is_seen) return;
  const char bar[] = "##############################";
  std::fprintf(stderr, "\rround %2d [%-30.*s]\r", round, 30 * done / all, bar);
  if (done == all) std::fprintf(stderr, "%42s\r", "");
}

int main(int argc, char** argv) try {
  std::mt19937 random(1);
  const digits all = argc > 1 ? read(argv[1]) : drawn(PMPP_CUDA ? 5000 : 1500, random);
  const int tests = all.count() / 5 / batch * batch, training = all.count() - tests, rounds = argc > 1 ? 30 : 8;
  if (tests == 0) throw std::runtime_error("too few digits");
  std::vector<int> order(std::size_t(all.count()));
  std::iota(order.begin(), order.end(), 0);
  network net;
  double share = 0;
  for (int round = 1; round <= rounds; ++round) {
    std::shuffle(order.begin(), order.begin() + training, random);
    double loss = 0;
    int steps = 0, right = 0;
    for (int i = 0; i + batch <= training; i += batch, ++steps) {
      show_progress(round, i, training);
      net.show(all, order, i);
      loss += double(net.learn());
    }
    show_progress(round, training, training);
    for (int i = training; i + batch <= all.count(); i += batch) net.show(all, order, i), right += net.right();
    share = double(right) / tests;
    std::printf("round %2d: loss %.3f, %.1f %% of %d digits that it has not seen\n", round, loss / steps, 100 * share,
                tests);
  }
  return share > (argc > 1 ? 0.9 : 0.93) ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
