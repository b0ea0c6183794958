// SPDX-License-Identifier: Apache-2.0
//
// inclusive_scan_by_key, unique_by_key.
#include <pmpp/by_key.hpp>

#include <cstdint>

#include "primitives.hpp"
#include "run.hpp"

namespace demo {

void show_by_key(const inputs& in, table& out) {
  out.begin("scan_by_key: runs of bytes");
  for (const text& t : in.texts)
    on_each_policy(out, t.name, std::int64_t(t.bytes.size()), [&](const auto& at) {
      const auto bytes = std::vector<std::uint8_t>(t.bytes.begin(), t.bytes.begin() + at.n);
      const auto keys = at.put(bytes);
      auto places = at.template room<int>(at.n);
      const double seconds =
          at.seconds([&] { pmpp::inclusive_scan_by_key(at.where, keys, pmpp::constant_iterator<int>(1), places); });
      const auto got = pmpp::to_host(places);
      bool ok = true;
      for (std::size_t i = 0; i < got.size(); ++i)
        ok = ok && got[i] == (i > 0 && bytes[i] == bytes[i - 1] ? got[i - 1] + 1 : 1);
      return outcome{seconds, 5.0 * double(at.n), ok};
    });
}

}  // namespace demo
