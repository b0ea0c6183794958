// SPDX-License-Identifier: Apache-2.0
//
// Tables whose cells depend on their neighbours, here those of longest common subsequences: all cells written, or the last one alone.
// n is the number of cells: n / time is their rate. CUB has no peer; what is written is 4 bytes a cell. Alignments of sequences
// and shortest paths have programs of their own.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <pmpp/memory/copy.hpp>
#include <pmpp/wavefront.hpp>

#include "support/bench.hpp"
#include "support/data.hpp"
#include "support/report.hpp"

namespace {

using bench::subject;

struct longest_common {
  const char *a, *b;
  PMPP_HOST_DEVICE char row(std::int64_t i) const { return a[i]; }
  PMPP_HOST_DEVICE char column(std::int64_t j) const { return b[j]; }
  PMPP_HOST_DEVICE int operator()(int left, int up, int diagonal, char x, char y) const {
    return x == y ? diagonal + 1 : left > up ? left : up;
  }
};
struct nothing_yet {
  PMPP_HOST_DEVICE int operator()(std::int64_t, std::int64_t) const { return 0; }
};

void add_tables(std::int64_t n) {
  const auto letters = [=] {
    std::vector<char> v(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) v[std::size_t(i)] = "ACGT"[bench::random_bits(i) >> 62];
    return std::make_shared<pmpp::device_buffer<char>>(v);
  };
  const auto fault = [=](int got) {  // a sequence with itself
    return got == n ? std::string() : std::to_string(got) + " instead of " + std::to_string(n);
  };
  bench::add("whole table", n * n, 4.0 * double(n * n), [=](int) {
    const auto a = letters();
    const auto table = bench::array<int>(n * n);
    subject s;
    s.contenders = {{"pmpp", [=](int) {
                       pmpp::wavefront(bench::device(), pmpp::matrix_view<int>(table->data(), n, n),
                                       longest_common{a->data(), a->data()}, nothing_yet{});
                     }}};
    s.spoil = [=] { bench::spoil(table); };
    s.fault = [=] { return fault(bench::on_host(static_cast<const int*>(table->data()) + n * n - 1, 1)[0]); };
    return s;
  });
  bench::add("last cell", n * n, 0, [=](int) {
    const auto a = letters();
    const auto last = bench::array<int>(1);
    subject s;
    s.contenders = {{"pmpp", [=](int) {
                       pmpp::wavefront_last_into(bench::device(), n, n, longest_common{a->data(), a->data()},
                                                 nothing_yet{}, last->data());
                     }}};
    s.spoil = [=] { bench::spoil(last); };
    s.fault = [=] { return fault(bench::first_of(last)); };
    return s;
  });
}

void add_cases() {
  for (const std::int64_t n : {4096, 32768}) add_tables(n);
}

}  // namespace

int main(int argc, char** argv) { return bench::run(argc, argv, add_cases); }
