// SPDX-License-Identifier: Apache-2.0
//
// fill_random and shuffle: what comes out is a function of seed and place, which a plain loop evaluates again.
#include <pmpp/random.hpp>

#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_random(const inputs& in, table& out) {
  const pmpp::philox seed(7);
  out.begin("fill_random: normal numbers");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      auto x = at.template room<float>(at.n);
      const pmpp::normal<float> law(0, 1);
      const double seconds = at.seconds([&] { pmpp::fill_random(at.where, x, law, seed); });
      const auto got = pmpp::to_host(x);
      bool ok = true;
      for (std::int64_t i = 0; i < at.n; i += 1 + at.n / 1000) ok = ok && got[i] == law(seed, std::uint64_t(i));
      return outcome{seconds, 4.0 * double(at.n), ok};
    });

  out.begin("shuffle_copy");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto x = at.put(bytes);
      auto shuffled = at.template room<std::uint8_t>(at.n);
      const double seconds = at.seconds([&] { pmpp::shuffle_copy(at.where, x, shuffled, seed); });
      const auto got = pmpp::to_host(shuffled);
      const pmpp::random_permutation order(at.n, seed);
      bool ok = true;
      for (std::int64_t i = 0; i < at.n; i += 1 + at.n / 1000) ok = ok && got[i] == bytes[order(i)];
      return outcome{seconds, 2.0 * double(at.n), ok};
    });
}

}  // namespace demo
