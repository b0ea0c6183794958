// SPDX-License-Identifier: Apache-2.0
//
// Questions beside Thrust's.
//
// find/...          a number that lies at the given part of the input, or nowhere; by the host's clock, as the place is returned.
//                   Declared bytes: what lies in front of the place
// count_if          the same clock; the input
// equal             two inputs that are equal
#include <thrust/count.h>
#include <thrust/equal.h>
#include <thrust/find.h>

#include <pmpp/find.hpp>

#include "support/report.hpp"
#include "support/verbs.hpp"

#include <string>

namespace {

using bench::subject, bench::timer, bench::u32;

constexpr u32 sought = 0x80000007u;  // no element is, but where it is put

struct below_half {
  PMPP_HOST_DEVICE bool operator()(u32 x) const { return x < 0x80000000u; }
};
/// Everything but what is sought.
struct even_number {
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const { return static_cast<u32>(bench::random_bits(i)) & ~1u; }
};
/// A question whose answer comes back; both contenders leave it here.
void add_question(const std::string& name, std::int64_t n, double bytes, std::int64_t place, auto own, auto peer,
                  std::int64_t wanted) {
  bench::add(name, n, bytes, [=](int windows) {
    // All windows end where they are full; a place near the front leaves most of each unread.
    const auto in = bench::values(windows * n, even_number{});
    if (place >= 0)
      for (int w = 0; w < windows; ++w)
        pmpp::fill(bench::device(), in->data() + w * n + place, in->data() + w * n + place + 1, sought);
    const auto told = std::make_shared<std::int64_t>();
    subject s;
    s.clock = timer::host;
    s.contenders = {{"pmpp", [=](int w) { *told = own(static_cast<const u32*>(in->data()) + w * n); }},
                    {"thrust", [=](int w) { *told = peer(static_cast<const u32*>(in->data()) + w * n); }}};
    s.spoil = [=] { *told = -1; };
    s.fault = [=] {
      return wanted < 0 || *told == wanted ? "" : std::to_string(*told) + " instead of " + std::to_string(wanted);
    };
    return s;
  });
}

void add_find(const std::string& name, std::int64_t n, std::int64_t place) {
  const std::int64_t read = place < 0 ? n : place + 1;
  add_question(
      name, n, double(read) * sizeof(u32), place,
      [=](const u32* x) { return pmpp::find(bench::device(), x, x + n, sought) - x; },
      [=](const u32* x) { return thrust::find(bench::thrust_policy(), x, x + n, sought) - x; }, place < 0 ? n : place);
}

void add_cases() {
  for (const int power : {16, 20, 24, 28}) add_find("find/u32, nowhere", std::int64_t(1) << power, -1);
  add_find("find/u32, in the first 0.1 %", std::int64_t(1) << 28, (std::int64_t(1) << 28) / 1000);
  add_find("find/u32, in the middle", std::int64_t(1) << 28, std::int64_t(1) << 27);
  for (const int power : {20, 28}) {
    const std::int64_t n = std::int64_t(1) << power;
    add_question(
        "count_if/u32", n, double(n) * sizeof(u32), -1,
        [=](const u32* x) { return pmpp::count_if(bench::device(), x, x + n, below_half{}); },
        [=](const u32* x) { return std::int64_t(thrust::count_if(bench::thrust_policy(), x, x + n, below_half{})); },
        -1);
    add_question(
        "equal/u32", n / 2, double(n) * sizeof(u32), -1,
        [=](const u32* x) { return std::int64_t(pmpp::equal(bench::device(), x, x + n / 2, x, x + n / 2)); },
        [=](const u32* x) { return std::int64_t(thrust::equal(bench::thrust_policy(), x, x + n / 2, x)); }, 1);
  }
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
