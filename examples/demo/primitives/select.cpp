// SPDX-License-Identifier: Apache-2.0
//
// copy_if, copy_if_into, remove_if, copy_flagged, unique_copy, partition_copy.
#include <pmpp/select.hpp>

#include <cstdint>

#include <pmpp/core/iterator.hpp>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {
namespace {

struct is_space {
  PMPP_HOST_DEVICE bool operator()(std::uint8_t c) const { return c == ' ' || (c >= '\t' && c <= '\r'); }
};
struct is_line_end_at {
  const std::uint8_t* text;
  PMPP_HOST_DEVICE bool operator()(std::int64_t i) const { return text[i] == '\n'; }
};
struct is_negative {
  PMPP_HOST_DEVICE bool operator()(double x) const { return x < 0; }
};
struct is_bright {
  PMPP_HOST_DEVICE bool operator()(std::uint8_t sample) const { return sample >= 128; }
};

/// Are the first `count` elements of `got` those of `wanted`, and no more?
template <class Buffer, class T>
bool are(const Buffer& got, std::int64_t count, const std::vector<T>& wanted) {
  auto all = pmpp::to_host(got);
  all.resize(std::size_t(count));
  return all == wanted;
}

}  // namespace

void show_select(const inputs& in, table& out) {
  out.begin("copy_if: the line ends");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      auto y = at.template room<std::int64_t>(at.n);
      const pmpp::counting_iterator<std::int64_t> first{0};
      std::int64_t kept = 0;
      const double seconds = at.seconds(
          [&] { kept = pmpp::copy_if(at.where, first, first + at.n, y, is_line_end_at{x.data()}) - y.begin(); });
      std::vector<std::int64_t> exact;
      for (std::int64_t i = 0; i < at.n; ++i)
        if (t.bytes[std::size_t(i)] == 10) exact.push_back(i);
      return outcome{seconds, double(at.n) + sizeof(std::int64_t) * double(exact.size()), are(y, kept, exact)};
    });

  out.begin("copy_if_into: negative values");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      const auto x = at.put(m.values);
      auto y = at.template room<double>(at.n);
      auto count = at.template room<std::int64_t>(1);
      const double seconds = at.seconds([&] { pmpp::copy_if_into(at.where, x, y, count, is_negative{}); });
      std::vector<double> exact;
      for (std::int64_t i = 0; i < at.n; ++i)
        if (m.values[std::size_t(i)] < 0) exact.push_back(m.values[std::size_t(i)]);
      const bool ok = are(y, pmpp::to_host(count)[0], exact);
      return outcome{seconds, sizeof(double) * double(std::size_t(at.n) + exact.size()), ok};
    });

  out.begin("remove_if: without white space");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto x = at.put(t.bytes);
      auto y = at.template room<std::uint8_t>(at.n);
      std::int64_t kept = 0;
      const double seconds = at.seconds([&] { kept = pmpp::remove_if(at.where, x, y, is_space{}) - y.begin(); });
      std::vector<std::uint8_t> exact;
      for (std::int64_t i = 0; i < at.n; ++i) {
        const std::uint8_t c = t.bytes[std::size_t(i)];
        if (!(c == 32 || (c >= 9 && c <= 13))) exact.push_back(c);
      }
      return outcome{seconds, double(std::size_t(at.n) + exact.size()), are(y, kept, exact)};
    });

  out.begin("copy_flagged: even columns");
  for (const matrix& m : in.matrices)
    on_each_policy(out, m.name, std::int64_t(m.values.size()), [&](const auto& at) {
      std::vector<std::uint8_t> even(m.columns.size());
      for (std::size_t i = 0; i < even.size(); ++i) even[i] = m.columns[i] % 2 == 0;
      const auto x = at.put(m.values);
      const auto flags = at.put(even);
      auto y = at.template room<double>(at.n);
      std::int64_t kept = 0;
      const double seconds = at.seconds([&] { kept = pmpp::copy_flagged(at.where, x, flags, y) - y.begin(); });
      std::vector<double> exact;
      for (std::size_t i = 0; i < std::size_t(at.n); ++i)
        if (m.columns[i] % 2 == 0) exact.push_back(m.values[i]);
      const double bytes = double(at.n) + sizeof(double) * double(std::size_t(at.n) + exact.size());
      return outcome{seconds, bytes, are(y, kept, exact)};
    });

  out.begin("unique_copy: runs of samples");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) {
      const auto x = at.put(p.samples);
      auto y = at.template room<std::uint8_t>(at.n);
      std::int64_t kept = 0;
      const double seconds = at.seconds([&] { kept = pmpp::unique_copy(at.where, x, y) - y.begin(); });
      std::vector<std::uint8_t> exact;
      for (std::int64_t i = 0; i < at.n; ++i)
        if (exact.empty() || exact.back() != p.samples[std::size_t(i)]) exact.push_back(p.samples[std::size_t(i)]);
      return outcome{seconds, double(std::size_t(at.n) + exact.size()), are(y, kept, exact)};
    });

  out.begin("partition_copy: bright, dark");
  for (const picture& p : in.pictures)
    on_each_policy(out, p.name, std::int64_t(p.samples.size()), [&](const auto& at) {
      const auto x = at.put(p.samples);
      auto bright = at.template room<std::uint8_t>(at.n);
      auto dark = at.template room<std::uint8_t>(at.n);
      std::int64_t kept = 0, others = 0;
      const double seconds = at.seconds([&] {
        const auto [bright_end, dark_end] = pmpp::partition_copy(at.where, x, bright, dark, is_bright{});
        kept = bright_end - bright.begin();
        others = dark_end - dark.begin();
      });
      std::vector<std::uint8_t> exact_bright, exact_dark;
      for (std::int64_t i = 0; i < at.n; ++i) {
        const std::uint8_t sample = p.samples[std::size_t(i)];
        (sample >= 128 ? exact_bright : exact_dark).push_back(sample);
      }
      return outcome{seconds, 2.0 * double(at.n), are(bright, kept, exact_bright) && are(dark, others, exact_dark)};
    });
}

}  // namespace demo
