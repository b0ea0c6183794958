// SPDX-License-Identifier: Apache-2.0
//
// gather, scatter, reverse, rotate, replace_copy.
#include <pmpp/elementwise.hpp>
#include <pmpp/gather.hpp>
#include <pmpp/rearrange.hpp>

#include <algorithm>
#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

namespace {
struct from_the_end {
  std::int64_t n;
  PMPP_HOST_DEVICE int operator()(std::int64_t i) const { return static_cast<int>(n - 1 - i); }
};
}  // namespace

void show_moves(const inputs& in, table& out) {
  out.begin("gather, scatter: backwards");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto x = at.put(bytes);
      auto index = at.template room<int>(at.n);
      auto backwards = at.template room<std::uint8_t>(at.n), again = at.template room<std::uint8_t>(at.n);
      const double seconds = at.seconds([&] {
        pmpp::tabulate(at.where, index, from_the_end{at.n});
        pmpp::gather(at.where, index, x, backwards);
        pmpp::scatter(at.where, backwards, index, again);
      });
      const auto got = pmpp::to_host(backwards), back = pmpp::to_host(again);
      const bool ok =
          std::equal(got.begin(), got.end(), bytes.rbegin()) && std::equal(back.begin(), back.end(), bytes.begin());
      return outcome{seconds, 16.0 * double(at.n), ok};
    });

  out.begin("replace_copy: spaces");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto x = at.put(bytes);
      auto y = at.template room<std::uint8_t>(at.n);
      const std::uint8_t space = ' ', line = '\n';
      const double seconds = at.seconds([&] { pmpp::replace_copy(at.where, x, y, space, line); });
      std::replace(bytes.begin(), bytes.end(), space, line);
      const auto got = pmpp::to_host(y);
      return outcome{seconds, 2.0 * double(at.n), std::equal(got.begin(), got.end(), bytes.begin())};
    });

  out.begin("rotate, reverse: in place");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      auto x = at.put(bytes);
      int calls = 0;
      const double seconds = at.seconds([&] {
        ++calls;
        pmpp::rotate(at.where, x, x.begin() + at.n / 3);
        pmpp::reverse(at.where, x);
      });
      for (; calls > 0; --calls) {
        std::rotate(bytes.begin(), bytes.begin() + at.n / 3, bytes.end());
        std::reverse(bytes.begin(), bytes.end());
      }
      const auto got = pmpp::to_host(x);
      return outcome{seconds, 6.0 * double(at.n), std::equal(got.begin(), got.end(), bytes.begin())};
    });
}

}  // namespace demo
