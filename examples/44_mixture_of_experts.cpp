// SPDX-License-Identifier: Apache-2.0
//
// A mixture of experts: a router has chosen an expert for each token, and each expert is a dense layer with a matrix of its own. Tokens
// are sorted by expert, and multiplied in one launch. How many each expert has stays on the device: the host asks for nothing.
#include <cmath>
#include <cstdio>
#include <vector>

#include <pmpp/gather.hpp>
#include <pmpp/gemm_grouped.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/search.hpp>
#include <pmpp/sort.hpp>

constexpr int width = 8, experts = 5;  // features of a token

struct token {
  float feature[width];
};

// [epilogue]
struct relu_of_expert {
  const float* bias;  // of each feature of each expert
  PMPP_HOST_DEVICE float operator()(float sum, std::int64_t, std::int64_t column, std::int64_t expert) const {
    const float value = sum + bias[expert * width + column];
    return value > 0 ? value : 0;
  }
};
// [end]

int main() {
  const int tokens = 1000;
  std::vector<token> text(tokens);
  std::vector<int> chosen(tokens), number(tokens);
  for (int t = 0; t < tokens; ++t) {
    for (int f = 0; f < width; ++f) text[std::size_t(t)].feature[f] = float((t * 7 + f * 3) % 11 - 5);
    chosen[std::size_t(t)] = t * t % 7 % experts;  // some experts have many tokens, one has none
    number[std::size_t(t)] = t;
  }
  std::vector<float> weights, biases;
  for (int i = 0; i < experts * width * width; ++i) weights.push_back(float(i * i % 5 - 2) / 4);
  for (int i = 0; i < experts * width; ++i) biases.push_back(float(i % 3) - 1);
  std::vector<int> all_experts;
  for (int e = 0; e <= experts; ++e) all_experts.push_back(e);

  const pmpp::device_buffer<token> in{text};
  const pmpp::device_buffer<float> w{weights}, bias{biases};
  const pmpp::device_buffer<int> names{all_experts};
  pmpp::device_buffer<int> expert{chosen}, order{number}, offsets(experts + 1);
  pmpp::device_buffer<token> sorted(tokens), out(tokens);
  // [calls]
  using pmpp::device, pmpp::matrix_view;
  pmpp::sort_by_key(device, expert, order);
  pmpp::lower_bound(device, expert, names, offsets);  // where each expert's tokens begin
  pmpp::gather(device, order, in, sorted);
  const matrix_view<const float> a(sorted.data()->feature, tokens, width), b(w.data(), width, width);
  pmpp::gemm_grouped(device, 1, a, offsets.data(), experts, b, width * width, 0,
                     matrix_view<float>(out.data()->feature, tokens, width), nullptr,
                     pmpp::gemm_options{relu_of_expert{bias.data()}});
  // [end]

  const std::vector<token> result = pmpp::to_host(out);
  const std::vector<int> places = pmpp::to_host(order), begins = pmpp::to_host(offsets);
  bool ok = true;
  for (int place = 0; place < tokens; ++place) {
    const auto t = std::size_t(places[std::size_t(place)]);
    for (int f = 0; f < width; ++f) {
      float sum = biases[std::size_t(chosen[t] * width + f)];
      for (int p = 0; p < width; ++p)
        sum += text[t].feature[p] * weights[std::size_t((chosen[t] * width + p) * width + f)];
      ok = ok && result[std::size_t(place)].feature[f] == std::fmax(sum, 0.0f);
    }
  }
  for (int e = 0; e < experts; ++e)
    std::printf("expert %d: %d tokens\n", e, begins[std::size_t(e + 1)] - begins[std::size_t(e)]);
  return ok ? 0 : 1;
}
