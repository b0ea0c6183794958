// SPDX-License-Identifier: Apache-2.0
//
// for_each, transform, fill, iota.
#include <pmpp/transform.hpp>

#include <cmath>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

struct keep_three_bits {  // fewer colours; a second call changes nothing
  PMPP_HOST_DEVICE void operator()(std::uint8_t& sample) const { sample = std::uint8_t(sample & 0xe0); }
};

struct upper_case {
  PMPP_HOST_DEVICE std::uint8_t operator()(std::uint8_t c) const {
    return c >= 'a' && c <= 'z' ? std::uint8_t(c - 'a' + 'A') : c;
  }
};

struct axpy {
  double a;
  PMPP_HOST_DEVICE double operator()(double x, double y) const { return a * x + y; }
};

}  // namespace

void show_transform(const inputs& in, table& out) {
  out.begin("for_each: keep 3 bits");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) {
      auto x = at.put(p.samples);
      const double seconds = at.seconds([&] { pmpp::for_each(at.where, x, keep_three_bits{}); });
      const auto got = pmpp::to_host(x);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i) ok = ok && got[i] == (p.samples[i] & 0xe0);
      return outcome{seconds, 2.0 * double(at.n), ok};
    });

  out.begin("transform: upper case");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      auto y = at.template room<std::uint8_t>(at.n);
      const double seconds = at.seconds([&] { pmpp::transform(at.where, x, y, upper_case{}); });
      const auto got = pmpp::to_host(y);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::uint8_t c = t.bytes[i];
        ok = ok && got[i] == (c >= 97 && c <= 122 ? c - 32 : c);
      }
      return outcome{seconds, 2.0 * double(at.n), ok};
    });

  out.begin("transform: axpy on the values");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      const auto x = at.put(m.values);
      const auto y = at.put(m.values);
      auto z = at.template room<double>(at.n);
      const double seconds = at.seconds([&] { pmpp::transform(at.where, x, y, z, axpy{0.5}); });
      const auto got = pmpp::to_host(z);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i)
        ok = ok && std::abs(got[i] - 1.5 * m.values[i]) <= 4e-16 * std::abs(1.5 * m.values[i]);
      return outcome{seconds, 3.0 * sizeof(double) * double(at.n), ok};
    });

  out.begin("fill: a grey picture");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) {
      auto x = at.put(p.samples);
      const double seconds = at.seconds([&] { pmpp::fill(at.where, x, 128); });
      bool ok = true;
      for (const std::uint8_t sample : pmpp::to_host(x)) ok = ok && sample == 128;
      return outcome{seconds, double(at.n), ok};
    });

  out.begin("iota: the row numbers");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, m.rows, [&](const auto& at) {
      auto x = at.template room<std::int64_t>(at.n);
      const double seconds = at.seconds([&] { pmpp::iota(at.where, x, 1); });
      const auto got = pmpp::to_host(x);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i) ok = ok && got[i] == std::int64_t(i) + 1;
      return outcome{seconds, sizeof(std::int64_t) * double(at.n), ok};
    });
}

}  // namespace demo
