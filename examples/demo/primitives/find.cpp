// SPDX-License-Identifier: Apache-2.0
//
// find_if, count, mismatch.
#include <pmpp/find.hpp>

#include <algorithm>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

namespace {
struct is_byte {
  std::uint8_t byte;
  PMPP_HOST_DEVICE bool operator()(std::uint8_t x) const { return x == byte; }
};
}  // namespace

void show_find(const inputs& in, table& out) {
  out.begin("find_if, count: rarest byte");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      std::int64_t counts[256] = {};
      for (const std::uint8_t b : bytes) ++counts[b];
      std::uint8_t rarest = bytes.empty() ? 0 : bytes[0];
      for (int b = 0; b < 256; ++b)
        if (counts[b] > 0 && counts[b] < counts[rarest]) rarest = std::uint8_t(b);
      const auto x = at.put(bytes);
      std::int64_t place = 0, many = 0;
      const double seconds = at.seconds([&] {
        place = pmpp::find_if(at.where, x, is_byte{rarest}) - x.begin();
        many = pmpp::count(at.where, x, rarest);
      });
      const bool ok = place == std::find(bytes.begin(), bytes.end(), rarest) - bytes.begin() && many == counts[rarest];
      return outcome{seconds, double(at.n), ok};
    });

  out.begin("mismatch: the last byte");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto x = at.put(bytes);
      if (at.n > 0) bytes.back() ^= 1;
      const auto y = at.put(bytes);
      std::int64_t place = 0;
      const double seconds = at.seconds([&] { place = pmpp::mismatch(at.where, x, y).first - x.begin(); });
      return outcome{seconds, 2.0 * double(at.n), place == std::max<std::int64_t>(at.n - 1, 0)};
    });
}

}  // namespace demo
