// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrices for tests: structures of every kind made from a seed, and the files of PMPP_TEST_DATA_DIR.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/memory/csr_matrix.hpp>

#include "support/capture.hpp"
#include "support/data.hpp"
#if TEST_HAS_ZLIB
#include <zlib.h>
#endif

namespace test {

/// A matrix with length(i) nonzeros in row i, in random columns, any order, some of them twice. Values are small
/// integers, so that sums of them are exact whatever the order.
template <class T, class I>
pmpp::csr_matrix<T, I> matrix_of(std::int64_t rows, std::int64_t cols,
                                 const std::function<std::int64_t(std::int64_t)>& length) {
  std::vector<I> offsets{0}, columns;
  std::vector<T> values;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t count = cols == 0 ? 0 : length(i);
    for (std::int64_t k = 0; k < count; ++k) {
      columns.push_back(static_cast<I>(generator()() % static_cast<std::uint64_t>(cols)));
      values.push_back(static_cast<T>(static_cast<int>(generator()() % 9) - 4));
    }
    offsets.push_back(static_cast<I>(columns.size()));
  }
  return {rows, cols, std::move(offsets), std::move(columns), std::move(values)};
}

/// The container for a matrix on a policy's machine.
template <class where, class T, class I>
auto put_matrix(const pmpp::csr_matrix<T, I>& matrix) {
  if constexpr (where::on_device)
    return pmpp::device_csr_matrix<T, I>(matrix);
  else
    return matrix;
}

/// Small integers: their products add up exactly.
template <class X>
std::vector<X> integers(std::int64_t n) {
  std::vector<X> x(static_cast<std::size_t>(n));
  for (auto& v : x) v = static_cast<X>(static_cast<int>(generator()() % 7) - 3);
  return x;
}

template <class T, class I>
struct named_matrix {
  std::string name;
  pmpp::csr_matrix<T, I> matrix;
};

/// Every kind of structure, of about n nonzeros.
template <class T, class I = int>
std::vector<named_matrix<T, I>> structures(std::int64_t n) {
  n = up_to(n, 800);
  const auto random = [](std::int64_t bound) {
    return static_cast<std::int64_t>(generator()() % static_cast<std::uint64_t>(bound));
  };
  std::vector<named_matrix<T, I>> all;
  const auto add = [&](const char* name, std::int64_t rows, std::int64_t cols,
                       const std::function<std::int64_t(std::int64_t)>& length) {
    all.push_back({name, matrix_of<T, I>(rows, cols, length)});
  };
  for (const int k : {1, 2, 4, 7, 16, 27, 32, 33, 64, 100, 255, 256, 257, 1000})
    add(("even " + std::to_string(k)).c_str(), n / k + 1, n / 3 + 1, [=](std::int64_t) { return k; });
  add("no nonzeros", n, n, [](std::int64_t) { return 0; });
  add("no columns", n, 0, [](std::int64_t) { return 3; });
  add("one row", 1, n + 1, [=](std::int64_t) { return n; });
  add("one column", n, 1, [](std::int64_t) { return 1; });
  add("one element", 1, 1, [](std::int64_t) { return 1; });
  add("0 to 3", n, n, [=](std::int64_t) { return random(4); });
  add("alternating 0 and 5", n / 2, n, [=](std::int64_t i) { return i % 2 * 5; });
  add("the first row", n, n, [=](std::int64_t i) { return i == 0 ? n : 0; });
  add("the last row", n, n, [=](std::int64_t i) { return i == n - 1 ? n : 0; });
  add("one long among short", n / 4, n, [=](std::int64_t i) { return i == n / 9 ? n : random(5); });
  add("long ones next to each other", 40, n, [=](std::int64_t i) { return i % 20 < 3 ? n / 6 : 0; });
  add("power law", n, n, [=](std::int64_t i) { return n / 8 / (i + 1); });
  add("power law at random", n / 4, n, [=](std::int64_t) { return random(random(random(64) + 1) * 4 + 1); });
  add("arrow", n / 2, n / 2, [=](std::int64_t i) { return i == 0 ? n / 2 : 2; });
  add("wide", 3, n * 50, [=](std::int64_t) { return n / 3; });
  add("any lengths", n / 30 + 1, n, [=](std::int64_t) { return random(1 + random(300)); });
  if (only_small())  // a third of them
    for (std::size_t i = all.size(); i-- > 0;)
      if (i % 3 != 0) all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  return all;
}

/// The folder with real input; empty, with a message, where there is none.
inline std::string data_folder() {
  const char* const folder = std::getenv("PMPP_TEST_DATA_DIR");
  if (folder == nullptr || *folder == '\0') {
    MESSAGE("skipped: PMPP_TEST_DATA_DIR names no folder with real matrices");
    return "";
  }
  return folder;
}

/// The files below folder/part whose names end so, in order.
inline std::vector<std::string> files_in(const std::string& part, const std::string& ending) {
  std::vector<std::string> found;
  const std::string folder = data_folder();
  if (folder.empty()) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/" + part))
    if (entry.path().string().ends_with(ending)) found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

#if TEST_HAS_ZLIB
/// The content of a file, unpacked if it is compressed.
inline std::string text_of(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  std::string text;
  std::vector<char> piece(1 << 18);
  for (int got; (got = gzread(file, piece.data(), unsigned(piece.size()))) > 0;)
    text.append(piece.data(), std::size_t(got));
  gzclose(file);
  return text;
}
#endif

}  // namespace test
