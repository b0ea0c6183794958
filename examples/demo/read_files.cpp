// SPDX-License-Identifier: Apache-2.0
#include "read_files.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if DEMO_HAS_ZLIB
#include <memory>
#include <zlib.h>
#endif

namespace demo {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;

[[noreturn]] void fail(const std::string& reason) { throw std::runtime_error(reason); }

std::string unpack([[maybe_unused]] const std::filesystem::path& path) {
#if DEMO_HAS_ZLIB
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) fail("cannot be opened");
  std::string content;
  std::vector<char> piece(1 << 18);
  for (;;) {
    const int got = gzread(file.get(), piece.data(), unsigned(piece.size()));
    if (got < 0) fail("not a valid .gz file");
    content.append(piece.data(), std::size_t(got));
    if (content.size() > most_bytes) fail("more than 1 GB when unpacked");
    if (got < int(piece.size())) break;
  }
  int error = Z_OK;
  gzerror(file.get(), &error);
  if (error != Z_OK) fail("the .gz file is cut off");
  return content;
#else
  fail("compressed, and this program was built without zlib");
#endif
}

/// The words of a text, line by line.
class words {
public:
  explicit words(std::string_view content) : rest_(content) {}

  /// Goes to the next line; false at the end of the text.
  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  /// Goes to the next line that is neither blank nor a comment.
  bool next_data_line() {
    while (next_line()) {
      const std::size_t first = line_.find_first_not_of(" \t\r");
      if (first != std::string_view::npos && line_[first] != '%') return true;
    }
    return false;
  }
  std::string_view word() {
    const std::size_t first = std::min(line_.find_first_not_of(" \t\r"), line_.size());
    line_.remove_prefix(first);
    const std::size_t end = std::min(line_.find_first_of(" \t\r"), line_.size());
    const std::string_view w = line_.substr(0, end);
    line_.remove_prefix(end);
    return w;
  }
  template <class Number>
  Number number(const char* what) {
    std::string_view w = word();
    const std::string shown(w.substr(0, 20));
    if (w.size() > 1 && w[0] == '+') w.remove_prefix(1);
    Number value{};
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
    if (w.empty()) wrong(std::string(what) + " is missing");
    if (error != std::errc{} || end != w.data() + w.size())
      wrong(std::string(what) + " is not a number that fits: '" + shown + "'");
    return value;
  }
  double finite_number(const char* what) {
    const auto value = number<double>(what);
    if (!std::isfinite(value)) wrong(std::string(what) + " is nan or inf, which is not read here");
    return value;
  }
  void end_of_line() {
    if (const std::string_view w = word(); !w.empty())
      wrong("more than expected: '" + std::string(w.substr(0, 20)) + "'");
  }
  [[noreturn]] void wrong(const std::string& reason) const { fail("line " + std::to_string(number_) + ": " + reason); }

private:
  std::string_view rest_, line_;
  std::int64_t number_ = 0;
};

struct entry {
  int row, column;
  double value;
};

std::string lower(std::string_view w) {
  std::string s(w);
  for (char& c : s) c = char(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  if (path.extension() == ".gz") return unpack(path);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) fail("cannot be read");
  if (size > most_bytes) fail("more than 1 GB");
  std::string content(size, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(content.data(), std::streamsize(size))) fail("cannot be read");
  return content;
}

matrix parse_matrix_market(std::string name, const std::string& content) {
  words in(content);
  if (!in.next_line() || in.word() != "%%MatrixMarket") fail("line 1: does not begin with %%MatrixMarket");
  if (lower(in.word()) != "matrix") in.wrong("not a matrix");
  const std::string format = lower(in.word()), field = lower(in.word()), symmetry = lower(in.word());
  const bool sparse = format == "coordinate", pattern = field == "pattern";
  if (!sparse && format != "array") in.wrong("unknown format '" + format + "'");
  if (field == "complex") in.wrong("complex values are not read here");
  if (field != "real" && field != "integer" && field != "double" && !(pattern && sparse))
    in.wrong("unknown field '" + field + "'");
  const bool mirrored = symmetry == "symmetric", negated = symmetry == "skew-symmetric";
  if (!mirrored && !negated && symmetry != "general") in.wrong("unknown symmetry '" + symmetry + "'");

  if (!in.next_data_line()) fail("there is no size line");
  matrix m;
  m.name = std::move(name);
  m.rows = in.number<std::int64_t>("the number of rows");
  m.cols = in.number<std::int64_t>("the number of columns");
  constexpr std::int64_t most = 100'000'000;
  if (m.rows < 0 || m.cols < 0) in.wrong("a negative size");
  if (m.rows > most || m.cols > most) in.wrong("more than 100 million rows or columns");
  if ((mirrored || negated) && m.rows != m.cols) in.wrong(symmetry + ", but not square");
  std::int64_t count = 0;
  if (sparse)
    count = in.number<std::int64_t>("the number of entries");
  else if (symmetry == "general")
    count = m.rows * m.cols;
  else
    count = m.rows * (m.rows + (mirrored ? 1 : -1)) / 2;
  in.end_of_line();
  if (count < 0) in.wrong("a negative number of entries");
  // A promise that the file cannot keep is refused at once: an entry takes a digit and a separator per number.
  const std::int64_t bytes_per_entry = sparse ? (pattern ? 4 : 6) : 2;
  if (count > std::int64_t(content.size()) / bytes_per_entry + 1)
    in.wrong(std::to_string(count) + " entries do not fit into a file of " + std::to_string(content.size()) + " bytes");

  std::vector<entry> entries;
  for (std::int64_t k = 0, row = negated ? 1 : 0, column = 0; k < count; ++k) {
    if (!in.next_data_line()) fail("ends after " + std::to_string(k) + " of " + std::to_string(count) + " entries");
    std::int64_t i = row, j = column;
    if (sparse) {
      i = in.number<std::int64_t>("the row") - 1;
      j = in.number<std::int64_t>("the column") - 1;
      if (i < 0 || i >= m.rows) in.wrong("row " + std::to_string(i + 1) + " of " + std::to_string(m.rows));
      if (j < 0 || j >= m.cols) in.wrong("column " + std::to_string(j + 1) + " of " + std::to_string(m.cols));
    } else if (++row == m.rows) {  // column by column; half of it where the rest follows by symmetry
      ++column;
      row = symmetry == "general" ? 0 : column + (negated ? 1 : 0);
    }
    const double value = pattern ? 1 : in.finite_number("the value");
    in.end_of_line();
    entries.push_back({int(i), int(j), value});
    if (symmetry != "general" && i != j) entries.push_back({int(j), int(i), negated ? -value : value});
  }
  if (in.next_data_line()) in.wrong("more than the " + std::to_string(count) + " entries announced");

  if (entries.size() > std::size_t(std::numeric_limits<int>::max())) fail("more entries than an int counts");
  m.offsets.assign(std::size_t(m.rows) + 1, 0);
  for (const entry& e : entries) ++m.offsets[std::size_t(e.row) + 1];
  for (std::size_t i = 0; i < std::size_t(m.rows); ++i) m.offsets[i + 1] += m.offsets[i];
  m.columns.resize(entries.size());
  m.values.resize(entries.size());
  std::vector<int> next(m.offsets.begin(), m.offsets.end() - 1);
  for (const entry& e : entries) {
    const auto at = std::size_t(next[std::size_t(e.row)]++);
    m.columns[at] = e.column;
    m.values[at] = e.value;
  }
  return m;
}

picture parse_pnm(std::string name, const std::string& content) {
  picture p;
  p.name = std::move(name);
  if (content.size() < 2 || content[0] != 'P' || (content[1] != '5' && content[1] != '6'))
    fail("does not begin with P5 or P6");
  p.channels = content[1] == '5' ? 1 : 3;
  std::size_t at = 2;
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  const auto number = [&](const char* what) {
    while (at < content.size() && (is_space(content[at]) || content[at] == '#')) {
      if (content[at] == '#')
        while (at < content.size() && content[at] != '\n') ++at;
      else
        ++at;
    }
    int value = 0;
    const auto [end, error] = std::from_chars(content.data() + at, content.data() + content.size(), value);
    if (error != std::errc{} || value < 1) fail(std::string(what) + " is not a positive number");
    at = std::size_t(end - content.data());
    return value;
  };
  p.width = number("the width");
  p.height = number("the height");
  if (number("the greatest sample") > 255) fail("more than 8 bits a sample are not read here");
  if (at >= content.size() || !is_space(content[at])) fail("the header has no end");
  ++at;
  const std::size_t have = content.size() - at;
  const std::int64_t pixels = std::int64_t(p.width) * p.height;  // below 2^62
  if (pixels > std::int64_t(have) / p.channels)
    fail(std::to_string(p.width) + " x " + std::to_string(p.height) + " pixels do not fit into the " +
         std::to_string(have) + " bytes that follow");
  const auto first = content.begin() + std::ptrdiff_t(at);
  p.samples.assign(first, first + std::ptrdiff_t(pixels * p.channels));
  return p;
}

}  // namespace demo
