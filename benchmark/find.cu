// SPDX-License-Identifier: Apache-2.0
//
// Questions beside Thrust's.
//
// find/...          a number that lies at the given part of the input, or nowhere; by the host's clock, as the place is returned.
//                   Declared bytes: what lies in front of the place
// count_if          the same clock; the input
// equal             two inputs that are equal
// lower_bound/...   enqueued; values in any order, or sorted ones; places of 4 bytes. Declared bytes: sequence, values, places
#include <thrust/binary_search.h>
#include <thrust/count.h>
#include <thrust/equal.h>
#include <thrust/execution_policy.h>
#include <thrust/find.h>

#include <pmpp/find.hpp>
#include <pmpp/search.hpp>
#include <pmpp/transform.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

#include <string>

namespace {

using bench::subject, bench::timer;
using u32 = std::uint32_t;

constexpr u32 sought = 0x80000007u;  // no element is, but where it is put

struct below_half {
  PMPP_HOST_DEVICE bool operator()(u32 x) const { return x < 0x80000000u; }
};
/// Everything but what is sought.
struct even_number {
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const { return static_cast<u32>(bench::random_bits(i)) & ~1u; }
};
/// n sorted numbers, window after window.
struct rising {
  std::int64_t n;
  PMPP_HOST_DEVICE u32 operator()(std::int64_t i) const {
    const std::uint64_t gap = (std::uint64_t(1) << 32) / static_cast<std::uint64_t>(n);
    return static_cast<u32>(static_cast<std::uint64_t>(i % n) * gap + bench::random_bits(i) % gap);
  }
};
template <class F>
bench::shared_array<u32> values(std::int64_t n, F f) {
  auto a = bench::array<u32>(n);
  const pmpp::counting_iterator<std::int64_t> i(0);
  pmpp::transform(bench::device(), i, i + n, a->data(), f);
  return a;
}
auto thrust_policy() { return thrust::cuda::par_nosync.on(bench::here().stream); }

/// A question whose answer comes back; both contenders leave it here.
void add_question(const std::string& name, std::int64_t n, double bytes, std::int64_t place, auto own, auto peer,
                  std::int64_t wanted) {
  bench::add(name, n, bytes, [=](int windows) {
    // All windows end where they are full; a place near the front leaves most of each unread.
    const auto in = values(windows * n, even_number{});
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
      [=](const u32* x) { return thrust::find(thrust_policy(), x, x + n, sought) - x; }, place < 0 ? n : place);
}

void add_lower_bound(const std::string& name, std::int64_t n, std::int64_t m, bool sorted) {
  bench::add(name, m, double(sizeof(u32)) * double(n + 2 * m), [=](int windows) {
    const auto in = values(windows * n, rising{n});
    const auto v = sorted ? values(windows * m, rising{m}) : values(windows * m, even_number{});
    const auto out = bench::array<u32>(m);
    const auto x = bench::on_host(static_cast<const u32*>(in->data()), n),
               y = bench::on_host(static_cast<const u32*>(v->data()), m);
    std::vector<u32> wanted(std::size_t(pmpp::min(m, std::int64_t(1) << 16)));
    for (std::size_t j = 0; j < wanted.size(); ++j)
      wanted[j] = u32(std::lower_bound(x.begin(), x.end(), y[j]) - x.begin());
    subject s;
    s.contenders = {{"pmpp",
                     [=](int w) {
                       const u32 *a = in->data() + w * n, *b = v->data() + w * m;
                       pmpp::lower_bound(bench::device(), a, a + n, b, b + m, out->data());
                     }},
                    {"thrust", [=](int w) {
                       const u32 *a = in->data() + w * n, *b = v->data() + w * m;
                       thrust::lower_bound(thrust_policy(), a, a + n, b, b + m, out->data());
                     }}};
    s.spoil = [=] { bench::spoil(out); };
    s.fault = [=] {
      return bench::on_host(static_cast<const u32*>(out->data()), std::int64_t(wanted.size())) == wanted
                 ? ""
                 : "other places";
    };
    return s;
  });
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
        [=](const u32* x) { return std::int64_t(thrust::count_if(thrust_policy(), x, x + n, below_half{})); }, -1);
    add_question(
        "equal/u32", n / 2, double(n) * sizeof(u32), -1,
        [=](const u32* x) { return std::int64_t(pmpp::equal(bench::device(), x, x + n / 2, x, x + n / 2)); },
        [=](const u32* x) { return std::int64_t(thrust::equal(thrust_policy(), x, x + n / 2, x)); }, 1);
  }
  for (const int power : {16, 20, 26}) {
    const std::int64_t n = std::int64_t(1) << power;
    add_lower_bound("lower_bound/sorted values", n, n, true);
    add_lower_bound("lower_bound/any values", n, n, false);
  }
  add_lower_bound("lower_bound/sorted values, 2^26 elements", std::int64_t(1) << 26, 1 << 20, true);
  add_lower_bound("lower_bound/any values, 2^20 elements", 1 << 20, std::int64_t(1) << 26, false);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
