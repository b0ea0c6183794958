// SPDX-License-Identifier: Apache-2.0
//
// The table that the demonstration prints: a block of rows per task, one row per input and policy. The largest input
// of a block has rows of its own; the others share one row per policy, unless something is wrong with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace demo {

struct row {
  std::string input, policy;
  std::int64_t n = 0;      ///< items worked on
  std::int64_t whole = 0;  ///< items of the input
  double seconds = 0;
  double bytes = 0;  ///< read and written
  bool ok = false;
};

class table {
public:
  table();

  /// Begins a block, named "primitive: task"; prints the one before.
  void begin(const std::string& task);
  /// Says on stderr what is going on, if somebody watches.
  void progress(const std::string& input, const std::string& policy);
  void add(row r);
  /// Prints the last block and the sum. Returns the number of rows that are wrong.
  int finish();

private:
  void print(const row& r) const;
  void print_block();

  std::string task_;
  std::vector<row> rows_;
  std::int64_t checks_ = 0;
  int wrong_ = 0;
  bool cut_ = false, watched_ = false;
};

}  // namespace demo
