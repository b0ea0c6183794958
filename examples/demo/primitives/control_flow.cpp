// SPDX-License-Identifier: Apache-2.0
//
// repeat_while: a loop whose end the device finds, here of eight turns that count the bits of each byte.
#include <pmpp/control_flow.hpp>
#include <pmpp/transform.hpp>

#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

struct add_low_bit {
  PMPP_HOST_DEVICE std::uint8_t operator()(std::uint8_t bits, std::uint8_t count) const {
    return static_cast<std::uint8_t>(count + bits % 2);
  }
};
struct half {
  template <class T>
  PMPP_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(x / 2);
  }
};

}  // namespace

void show_control_flow(const inputs& in, table& out) {
  out.begin("repeat_while: bits of bytes");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto x = at.put(bytes);
      auto left = at.template room<std::uint8_t>(at.n), count = at.template room<std::uint8_t>(at.n);
      auto turn = at.template room<std::uint8_t>(1);
      const double seconds = at.seconds([&] {
        pmpp::fill(at.where, turn, std::uint8_t(128));  // halved eight times
        pmpp::fill(at.where, count, std::uint8_t(0));
        pmpp::transform(at.where, x, left, pmpp::identity{});
        pmpp::repeat_while(at.where, turn.data(), [&](const auto& on) {
          pmpp::transform(on, left, count, count, add_low_bit{});
          pmpp::transform(on, left, left, half{});
          pmpp::transform(on, turn, turn, half{});
        });
      });
      const auto got = pmpp::to_host(count);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i) ok = ok && got[i] == __builtin_popcount(bytes[i]);
      return outcome{seconds, 8.0 * 5.0 * double(at.n), ok};
    });
}

}  // namespace demo
