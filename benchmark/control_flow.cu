// SPDX-License-Identifier: Apache-2.0
//
// Iterations that end when a number on the device says so, beside the same calls in a loop of the host, by the host's clock, up to
// the end of the last kernel:
//
//   pmpp        captured_graph with repeat_while: one launch
//   one shot    repeat_while alone: captured and instantiated by each call
//   host loop   calls that return the number, as a program without conditional nodes would make them
//
// turns/...            1000 turns of one tiny kernel: what a turn costs
// conjugate_gradient   100 steps for the five-point Laplacian of a grid, doubles; n: unknowns
// pagerank             to a change of 1e-6, floats; n: pages, eight links each
// k_means              8 colours of n pixels, until none moves
//
// The bodies on the device have two steps: what one writes the other reads, where the loop of the host swaps two pointers, and the
// flag is asked for once, so that there may be a step more than needed.
//
// No bytes are declared: the time is that of waiting and launching.
#include <pmpp/control_flow.hpp>
#include <pmpp/core/rgb.hpp>
#include <pmpp/launch.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/csr_matrix.hpp>
#include <pmpp/reduce.hpp>
#include <pmpp/simt/atomic.hpp>
#include <pmpp/spmv.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace {

using bench::subject, bench::timer;
using policy = pmpp::device_policy;
template <class T>
using array = pmpp::device_buffer<T>;

void wait() { bench::here().stream.synchronize(); }

/// An iteration: start(on) makes what it begins with, turn(on) is one step of it without an answer, flag() says on the device
/// whether there is another one, host_loop() is all of it but the start. value() is compared among the contenders.
template <class Problem>
void add_iteration(const std::string& name, std::int64_t n) {
  bench::add(name, n, 0, [=](int) {
    const auto problem = std::make_shared<Problem>(n);
    const auto solve = [p = problem.get()](const policy& on) {
      p->start(on);
      pmpp::repeat_while(on, p->flag(), [p](const policy& in) { p->turn(in); }, {.most_turns = p->most_turns});
    };
    const auto graph =
        std::make_shared<pmpp::captured_graph<policy, std::remove_const_t<decltype(solve)>>>(bench::device(), solve);
    solve(bench::device());
    wait();
    const double wanted = problem->value();
    subject s;
    s.clock = timer::host;
    s.contenders = {{"pmpp",
                     [=](int) {
                       (*graph)();
                       wait();
                     }},
                    {"one shot",
                     [=](int) {
                       problem->start(bench::device());
                       pmpp::repeat_while(bench::device(), problem->flag(),
                                          [=](const policy& in) { problem->turn(in); },
                                          {.most_turns = problem->most_turns});
                       wait();
                     }},
                    {"host loop", [=](int) {
                       problem->start(bench::device());
                       problem->host_loop();
                       wait();
                     }}};
    s.spoil = [=] { problem->spoil(); };
    s.fault = [=] {
      const double got = problem->value();
      return std::abs(got - wanted) <= 1e-3 * std::abs(wanted)
                 ? ""
                 : std::to_string(got) + ", not " + std::to_string(wanted);
    };
    return s;
  });
}

struct less_one {
  PMPP_HOST_DEVICE int operator()(int x) const { return x - 1; }
};
struct tiny_turns {
  static constexpr std::int64_t most_turns = 1 << 30;
  array<int> left{1};
  int turns;
  explicit tiny_turns(std::int64_t n) : turns(int(n)) {}
  void start(const policy& on) { pmpp::fill(on, left, turns); }
  const int* flag() const { return left.data(); }
  void turn(const policy& on) { pmpp::transform(on, left, left, less_one{}); }
  void host_loop() {
    while (pmpp::reduce(bench::device(), left) > 0) turn(bench::device());
  }
  double value() const { return 1 + pmpp::to_host(left)[0]; }
  void spoil() { pmpp::fill(bench::device(), left, 7); }
};

/// f x + y, where the factor f is one number on the device over another.
struct axpy {
  double sign;
  const double *over, *under;
  PMPP_HOST_DEVICE double operator()(double x, double y) const { return sign * (*over / *under) * x + y; }
};
struct axpy_of_host {
  double factor;
  PMPP_HOST_DEVICE double operator()(double x, double y) const { return factor * x + y; }
};
struct is_too_large {
  const double* start;
  PMPP_HOST_DEVICE bool operator()(double x) const { return x > 1e-30 * *start; }
};

pmpp::csr_matrix<double> plate(int n) {
  std::vector<pmpp::triplet<double>> nonzeros;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const int here = i * n + j;
      nonzeros.push_back({here, here, 4});
      if (i > 0) nonzeros.push_back({here, here - n, -1});
      if (i < n - 1) nonzeros.push_back({here, here + n, -1});
      if (j > 0) nonzeros.push_back({here, here - 1, -1});
      if (j < n - 1) nonzeros.push_back({here, here + 1, -1});
    }
  return pmpp::csr_matrix<double>::from_triplets(n * n, n * n, nonzeros);
}
struct conjugate_gradient {
  static constexpr std::int64_t steps = 100, most_turns = steps / 2;
  pmpp::device_csr_matrix<double> A;
  array<double> x, residual, direction, image, first{1}, rr{1}, next_rr{1}, curvature{1};

  explicit conjugate_gradient(std::int64_t n)
      : A(plate(int(std::sqrt(double(n))))), x(A.rows()), residual(A.rows()), direction(A.rows()), image(A.rows()) {}

  static void dot(const policy& on, const array<double>& u, const array<double>& v, array<double>& result) {
    pmpp::transform_reduce_into(on, u, v, result, 0.0, pmpp::plus{}, pmpp::multiplies{});
  }
  static double dot(const policy& on, const array<double>& u, const array<double>& v) {
    return pmpp::transform_reduce(on, u, v, 0.0, pmpp::plus{}, pmpp::multiplies{});
  }
  void start(const policy& on) {
    pmpp::fill(on, x, 0);
    pmpp::fill(on, residual, 1);
    pmpp::fill(on, direction, 1);
    dot(on, residual, residual, first);
    pmpp::copy(on, first, rr);
  }
  auto flag() const { return pmpp::transform_iterator<const double*, is_too_large>{rr.data(), {first.data()}}; }
  void turn(const policy& on) {
    step(on, rr, next_rr);
    step(on, next_rr, rr);
  }
  void step(const policy& on, const array<double>& now, array<double>& next) {
    pmpp::spmv(on, 1, A, direction, 0, image);
    dot(on, direction, image, curvature);
    pmpp::transform(on, direction, x, x, axpy{1, now.data(), curvature.data()});
    pmpp::transform(on, image, residual, residual, axpy{-1, now.data(), curvature.data()});
    dot(on, residual, residual, next);
    pmpp::transform(on, direction, residual, direction, axpy{1, next.data(), now.data()});
  }
  void host_loop() {
    const policy on = bench::device();
    const double begin = dot(on, residual, residual);
    double now = begin;
    for (std::int64_t step = 0; step < steps && now > 1e-30 * begin; ++step) {
      pmpp::spmv(on, 1, A, direction, 0, image);
      const double alpha = now / dot(on, direction, image);
      pmpp::transform(on, direction, x, x, axpy_of_host{alpha});
      pmpp::transform(on, image, residual, residual, axpy_of_host{-alpha});
      const double last = std::exchange(now, dot(on, residual, residual));
      pmpp::transform(on, direction, residual, direction, axpy_of_host{now / last});
    }
  }
  double value() const { return dot(bench::device(), x, x); }
  void spoil() { pmpp::fill(bench::device(), x, -1); }
};

struct difference {
  PMPP_HOST_DEVICE float operator()(float a, float b) const { return a < b ? b - a : a - b; }
};
struct add_rest {
  const double* sum;
  double pages;
  PMPP_HOST_DEVICE float operator()(float x) const { return x + float((1 - *sum) / pages); }
};
struct add_number {
  float rest;
  PMPP_HOST_DEVICE float operator()(float x) const { return x + rest; }
};
struct is_large {
  PMPP_HOST_DEVICE bool operator()(float change) const { return change > 1e-6f; }
};
struct squared {
  PMPP_HOST_DEVICE double operator()(float x) const { return double(x) * x; }
};
struct pagerank {
  static constexpr std::int64_t most_turns = 1000;
  std::int64_t pages;
  pmpp::device_csr_matrix<float> steps;
  array<float> rank, next, change{1};
  array<double> sum{1};

  static pmpp::csr_matrix<float> web(std::int64_t pages) {
    std::vector<pmpp::triplet<float>> steps;
    for (std::int64_t page = 0; page < pages; ++page)
      for (int link = 0; page % 7 != 0 && link < 8; ++link) {
        const double r = double(bench::random_bits(8 * page + link) >> 11) * 0x1p-53;
        steps.push_back({std::int32_t(r * r * r * double(pages)), std::int32_t(page), 0.125f});
      }
    return pmpp::csr_matrix<float>::from_triplets(pages, pages, steps);
  }
  explicit pagerank(std::int64_t n) : pages(n), steps(web(n)), rank(n), next(n) {}

  void start(const policy& on) {
    pmpp::fill(on, rank, 1.0f / float(pages));
    pmpp::fill(on, change, 1);
  }
  auto flag() const { return pmpp::transform_iterator<const float*, is_large>{change.data(), {}}; }
  void turn(const policy& on) {
    step(on, rank, next);
    step(on, next, rank);
    pmpp::transform_reduce_into(on, next, rank, change, 0.0f, pmpp::plus{}, difference{});
  }
  void step(const policy& on, const array<float>& from, array<float>& to) {
    pmpp::spmv(on, 0.85f, steps, from, 0, to);
    pmpp::reduce_into(on, to, sum, 0.0);
    pmpp::transform(on, to, to, add_rest{sum.data(), double(pages)});
  }
  void host_loop() {
    const policy on = bench::device();
    array<float>*from = &rank, *to = &next;
    for (float moved = 1; moved > 1e-6f; std::swap(from, to)) {
      pmpp::spmv(on, 0.85f, steps, *from, 0, *to);
      const double rest = 1 - pmpp::reduce(on, *to, 0.0);
      pmpp::transform(on, *to, *to, add_number{float(rest / double(pages))});
      moved = pmpp::transform_reduce(on, *from, *to, 0.0f, pmpp::plus{}, difference{});
    }
    if (from != &rank) pmpp::copy(on, next, rank);
  }
  double value() const { return pmpp::transform_reduce(bench::device(), rank, 0.0, pmpp::plus{}, squared{}); }
  void spoil() { pmpp::fill(bench::device(), rank, -1); }
};

// The kernels of examples/36_colours_of_a_picture.cpp.
using pixel = pmpp::rgb<std::uint8_t>;
using number = unsigned long long;
constexpr int colours = 8;

/// Adds each pixel to the sums of its nearest colour, {red, green, blue, pixels}: first to those of the block.
struct join_nearest {
  static constexpr int threads = 256, per_block = 1024;
  struct shared {
    unsigned sum[4 * colours];
  };
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, shared& memory, const pixel* in, std::int64_t n, const pixel* colour,
                                   number* sum) const {
    for (int i = block.thread(); i < 4 * colours; i += threads) memory.sum[i] = 0;
    block.sync();
    const std::int64_t first = block.index() * per_block, end = first + per_block < n ? first + per_block : n;
    for (std::int64_t i = first + block.thread(); i < end; i += threads) {
      int nearest = 0, least = 1 << 30;
      for (int c = 0; c < colours; ++c) {
        const int r = in[i].r - colour[c].r, g = in[i].g - colour[c].g, b = in[i].b - colour[c].b;
        const int distance = r * r + g * g + b * b;
        if (distance < least) nearest = c, least = distance;
      }
      const unsigned part[] = {in[i].r, in[i].g, in[i].b, 1};
      for (int k = 0; k < 4; ++k) pmpp::simt::atomic_add(&memory.sum[4 * nearest + k], part[k]);
    }
    block.sync();
    for (int i = block.thread(); i < 4 * colours; i += threads) pmpp::simt::atomic_add(&sum[i], number(memory.sum[i]));
  }
};

/// Moves each colour to the middle of its pixels, empties the sums, and says whether a colour has moved.
struct move_colours {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, number* sum, pixel* colour, int* moved) const {
    bool other = false;
    if (const int c = block.thread(); c < colours) {
      number* const s = sum + 4 * c;
      const auto mean = [&](int k) { return std::uint8_t((s[k] + s[3] / 2) / s[3]); };
      const pixel middle = s[3] == 0 ? colour[c] : pixel{mean(0), mean(1), mean(2)};
      other = !(middle == colour[c]);
      colour[c] = middle;
      for (int k = 0; k < 4; ++k) s[k] = 0;
    }
    other = block.any(other);
    if (block.thread() == 0) *moved = other;
  }
};

struct pixel_near_a_colour {
  PMPP_HOST_DEVICE pixel operator()(std::int64_t i) const {
    const std::uint64_t bits = bench::random_bits(i);
    const auto part = [=](int k) { return std::uint8_t((bits >> k & 1) * 160 + (bits >> (8 + 8 * k) & 63)); };
    return {part(0), part(1), part(2)};
  }
};
struct k_means {
  static constexpr std::int64_t most_turns = 1000;
  array<pixel> in, colour{colours}, begin{colours};
  array<number> sum{4 * colours};
  array<int> moved{1};

  explicit k_means(std::int64_t n) : in(n) {
    const pmpp::counting_iterator<std::int64_t> i(0);
    pmpp::transform(bench::device(), i, i + n, in, pixel_near_a_colour{});
    pmpp::transform(bench::device(), i + 1000, i + 1000 + colours, begin, pixel_near_a_colour{});
  }
  void start(const policy& on) {
    pmpp::copy(on, begin, colour);
    pmpp::fill(on, sum, 0);
    pmpp::fill(on, moved, 1);
  }
  const int* flag() const { return moved.data(); }
  void turn(const policy& on) {
    step(on);
    step(on);
  }
  void step(const policy& on) {
    const auto n = std::int64_t(in.size());
    pmpp::launch(on, pmpp::ceil_div(n, std::int64_t(join_nearest::per_block)), join_nearest{}, std::as_const(in).data(),
                 n, std::as_const(colour).data(), sum.data());
    pmpp::launch(on, 1, move_colours{}, sum.data(), colour.data(), moved.data());
  }
  void host_loop() {
    do step(bench::device());
    while (pmpp::reduce(bench::device(), moved) != 0);
  }
  double value() const {
    double sum_of_parts = 1;
    for (const pixel& p : pmpp::to_host(bench::device(), colour)) sum_of_parts += p.r + 256.0 * p.g + 65536.0 * p.b;
    return sum_of_parts;
  }
  void spoil() { pmpp::fill(bench::device(), colour, pixel{1, 2, 3}); }
};

void add_cases() {
  add_iteration<tiny_turns>("turns/one kernel of one element", 1000);
  for (const std::int64_t n : {10'000, 100'000, 1'000'000}) {
    add_iteration<conjugate_gradient>("conjugate_gradient/f64", n);
    add_iteration<pagerank>("pagerank/f32", n);
    add_iteration<k_means>("k_means/rgb", n);
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
