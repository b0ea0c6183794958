// SPDX-License-Identifier: Apache-2.0
//
// A causal attention layer, as a transformer that makes text has it: first for a whole prompt, then word by word with a cache of keys and
// values. The last row of the prompt and the same word made alone have to agree.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <pmpp/attention.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>
#include <pmpp/memory/workspace.hpp>

constexpr int words = 48, heads = 4, key_heads = 2, size = 16;  // two heads of queries share one of keys

int main() {
  std::vector<float> queries, keys, values;
  for (int i = 0; i < words * heads * size; ++i) queries.push_back(std::sin(float(i % 97)));
  for (int i = 0; i < words * key_heads * size; ++i) keys.push_back(std::cos(float(i % 89)));
  for (int i = 0; i < words * key_heads * size; ++i) values.push_back(float(i * i % 31) / 31);
  const pmpp::device_buffer<float> q{queries}, k{keys}, v{values};
  pmpp::device_buffer<float> prompt(words * heads * size), word(heads * size);

  pmpp::workspace scratch;
  const auto device = pmpp::device.with(scratch);
  // [calls]
  constexpr pmpp::attention_tuning small_heads{.head_size = size};  // fewer kernels to compile; may be left out
  const auto cached_k = pmpp::bshd(k.data(), 1, words, key_heads, size),
             cached_v = pmpp::bshd(v.data(), 1, words, key_heads, size);
  pmpp::attention<small_heads>(device, pmpp::bshd(q.data(), 1, words, heads, size), cached_k, cached_v,
                               pmpp::bshd(prompt.data(), 1, words, heads, size), {.causal = true});
  const float* last = q.data() + (words - 1) * heads * size;  // the query of the last word alone
  pmpp::attention<small_heads>(device, pmpp::bshd(last, 1, 1, heads, size), cached_k, cached_v,
                               pmpp::bshd(word.data(), 1, 1, heads, size), {.causal = true});
  // [end]

  const std::vector<float> all = pmpp::to_host(prompt), one = pmpp::to_host(word);
  bool ok = true;
  for (int w = 0; w < words; ++w)
    for (int h = 0; h < heads; ++h) {
      const float* query = &queries[std::size_t((w * heads + h) * size)];
      double sum = 0, mean[size] = {};
      for (int j = 0; j <= w; ++j) {
        const std::size_t place = std::size_t((j * key_heads + h / 2) * size);
        double score = 0;
        for (int i = 0; i < size; ++i) score += double(query[i]) * keys[place + std::size_t(i)];
        const double weight = std::exp(score / std::sqrt(double(size)));
        sum += weight;
        for (int i = 0; i < size; ++i) mean[i] += weight * values[place + std::size_t(i)];
      }
      for (int i = 0; i < size; ++i)
        ok = ok && std::fabs(all[std::size_t((w * heads + h) * size + i)] - mean[i] / sum) < 1e-4;
    }
  for (std::size_t i = 0; i < one.size(); ++i)
    ok = ok && std::fabs(one[i] - all[std::size_t((words - 1) * heads * size) + i]) < 1e-5;
  std::printf("%d words, %d heads: %s\n", words, heads, ok ? "as by the definition" : "wrong");
  return ok ? 0 : 1;
}
