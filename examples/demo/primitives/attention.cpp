// SPDX-License-Identifier: Apache-2.0
//
// attention: the letters of a text as vectors, each of which gets the mean of those before it, weighted by how alike they are.
#include <pmpp/attention.hpp>

#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

constexpr std::int64_t size = 64, most_letters = 128;  // operations grow with the square of these

std::vector<float> vectors_of(const text& t, std::int64_t letters) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < letters; ++i)
    for (int c = 1; c <= size; ++c)
      v.push_back(std::sin(float(static_cast<unsigned char>(t.bytes[std::size_t(i)]) * c)));
  return v;
}

/// Whether every 37th vector is the weighted mean of those up to it.
bool are_means(const std::vector<float>& got, const std::vector<float>& v) {
  const auto at = [&](std::int64_t i) { return v.data() + i * size; };
  for (std::int64_t i = 0; i * size < std::int64_t(v.size()); i += 37) {
    double sum = 0, mean[size] = {};
    for (std::int64_t j = 0; j <= i; ++j) {
      double score = 0;
      for (int c = 0; c < size; ++c) score += double(at(i)[c]) * at(j)[c];
      const double weight = std::exp(score / std::sqrt(double(size)));
      sum += weight;
      for (int c = 0; c < size; ++c) mean[c] += weight * at(j)[c];
    }
    for (int c = 0; c < size; ++c)
      if (!(std::abs(got[std::size_t(i * size + c)] - mean[c] / sum) < 1e-4)) return false;
  }
  return true;
}

}  // namespace

void show_attention(const inputs& in, table& out) {
  out.begin("attention: letters to those before them");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::min(most_letters, std::int64_t(t.bytes.size())), [&](const auto& at) {
      const auto vectors = vectors_of(t, at.n);
      const auto letters = place<std::remove_cvref_t<decltype(at.where)>>{at.where, at.n * size};
      const auto x = letters.put(vectors);
      auto means = letters.template room<float>(at.n * size);
      constexpr pmpp::attention_tuning tuning{.head_size = size};  // kernels of this size alone are compiled
      const auto heads = [&](auto* data) { return pmpp::bhsd(data, 1, 1, at.n, size); };
      const double seconds = at.seconds([&] {
        pmpp::attention<tuning>(at.where, heads(x.data()), heads(x.data()), heads(x.data()), heads(means.data()),
                                {.causal = true});
      });
      return outcome{seconds, 4.0 * sizeof(float) * double(at.n * size), are_means(pmpp::to_host(means), vectors)};
    });
}

}  // namespace demo
