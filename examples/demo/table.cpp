// SPDX-License-Identifier: Apache-2.0
#include "table.hpp"

#include <unistd.h>

#include <cstdio>
#include <set>
#include <string>

namespace demo {
namespace {

/// 1234567 -> "1,234,567".
std::string grouped(std::int64_t n) {
  std::string s = std::to_string(n);
  for (std::ptrdiff_t at = std::ptrdiff_t(s.size()) - 3; at > 0; at -= 3) s.insert(std::size_t(at), 1, ',');
  return s;
}

/// The last `length` characters, where there are more: the name of a file is at the end of its path.
std::string shortened(const std::string& s, std::size_t length) {
  return s.size() <= length ? s : "..." + s.substr(s.size() - length + 3);
}

std::string duration(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1e-3 ? "%.1f us" : "%.2f ms", seconds * (seconds < 1e-3 ? 1e6 : 1e3));
  return text;
}

}  // namespace

table::table() : watched_(isatty(STDERR_FILENO) != 0) {
  std::printf("%-30s %-32s %12s  %-8s %11s %8s  %s\n", "primitive: task", "input", "n", "policy", "time", "GB/s", "ok");
}

void table::begin(const std::string& task) {
  print_block();
  task_ = task;
}

void table::progress(const std::string& input, const std::string& policy) {
  if (watched_) std::fprintf(stderr, "\r\033[K%s, %s, %s ...", task_.c_str(), input.c_str(), policy.c_str());
}

void table::add(row r) {
  ++checks_;
  wrong_ += !r.ok;
  cut_ = cut_ || r.n < r.whole;
  rows_.push_back(std::move(r));
}

void table::print(const row& r) const {
  std::printf("%-30s %-32s %12s%c %-8s %11s %8.2f  %s\n", task_.c_str(), shortened(r.input, 32).c_str(),
              grouped(r.n).c_str(), r.n < r.whole ? '*' : ' ', r.policy.c_str(), duration(r.seconds).c_str(),
              r.seconds > 0 ? r.bytes / r.seconds * 1e-9 : 0.0, r.ok ? "ok" : "WRONG");
}

void table::print_block() {
  if (watched_) std::fprintf(stderr, "\r\033[K");
  std::vector<row> sums;  // one per policy, over all inputs but the first
  std::set<std::string> others;
  for (const row& r : rows_) {
    if (r.input == rows_.front().input || !r.ok) {
      print(r);
      continue;
    }
    others.insert(r.input);
    row* sum = nullptr;
    for (row& s : sums)
      if (s.policy == r.policy) sum = &s;
    if (sum == nullptr) sum = &sums.emplace_back(row{"", r.policy, 0, 0, 0, 0, true});
    sum->n += r.n;
    sum->whole += r.whole;
    sum->seconds += r.seconds;
    sum->bytes += r.bytes;
  }
  for (row& s : sums) {
    s.input = others.size() == 1 ? *others.begin() : "and " + std::to_string(others.size()) + " more";
    print(s);
  }
  std::fflush(stdout);
  rows_.clear();
}

int table::finish() {
  print_block();
  std::printf("\n%s results compared with plain loops: %d wrong\n", grouped(checks_).c_str(), wrong_);
  std::printf("time: the best of several calls, from the call to its end; GB/s: bytes read and written in that time\n");
  if (cut_)
    std::printf(
        "*: the first items only; the emulator runs every CUDA thread on the CPU, to find bugs, not for speed\n");
  return wrong_;
}

}  // namespace demo
