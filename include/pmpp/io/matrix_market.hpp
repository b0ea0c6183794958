// SPDX-License-Identifier: Apache-2.0
//
// Matrix Market files: the text format in which matrix collections come.
//
//   %%MatrixMarket matrix coordinate real symmetric      the banner
//   % comments and blank lines, anywhere
//   3 3 2                                                rows, columns, stored entries
//   1 1 4.0                                              row and column from 1, value
//   3 1 -1.5                                             symmetric: stands for (1, 3) too
//
//   auto A = pmpp::read_matrix_market<double>("A.mtx");            // csr_matrix<double, int>
//   auto B = pmpp::parse_matrix_market<float>(text, "B.mtx");      // text that is in memory, say unpacked
//   pmpp::write_matrix_market("out.mtx", A);
//
// Read: coordinate and array; real, integer and pattern (values 1); general, symmetric and skew-symmetric, whose mirrored
// entries are added; lines ending in CR LF. Not read: complex and hermitian, which say so. Entries in one place are added
// up. Of an array the elements that are not zero are kept.
// What is wrong with a file is a std::runtime_error "NAME:LINE: reason". Memory stays within a small multiple of the
// text's size, whatever numbers it declares. (NIST, The Matrix Market exchange formats, 1996.)
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/io/file.hpp>
#include <pmpp/io/lines.hpp>
#include <pmpp/memory/csr_matrix.hpp>

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// What the banner of a Matrix Market file says.
struct matrix_market_banner {
  bool dense = false, pattern = false, integer = false;
  enum { general, symmetric, skew } symmetry = general;

  explicit matrix_market_banner(line_reader& in) {
    if (!in.next_line() || in.lower_word() != "%%matrixmarket")
      in.fail("a Matrix Market file begins with '%%MatrixMarket matrix'");
    if (const std::string object = in.lower_word(); object != "matrix") in.fail(in_quotes(object) + " is not 'matrix'");
    const std::string format = in.lower_word();
    if (format != "coordinate" && format != "array")
      in.fail("the format is " + in_quotes(format) + ", not coordinate or array");
    dense = format == "array";
    const std::string field = in.lower_word();
    if (field == "complex") in.fail("the values are complex, which is not read");
    if (field != "real" && field != "double" && field != "integer" && field != "pattern")
      in.fail("the values are " + in_quotes(field) + ", not real, integer or pattern");
    pattern = field == "pattern";
    integer = field == "integer";
    if (pattern && dense) in.fail("an array has values: it cannot be a pattern");
    const std::string kind = in.lower_word();
    if (kind == "hermitian") in.fail("the matrix is hermitian, which is for complex values and not read");
    if (kind != "general" && kind != "symmetric" && kind != "skew-symmetric")
      in.fail("the symmetry is " + in_quotes(kind) + ", not general, symmetric or skew-symmetric");
    symmetry = kind == "general" ? general : kind == "symmetric" ? symmetric : skew;
    if (pattern && symmetry == skew) in.fail("a pattern has no signs: it cannot be skew-symmetric");
    in.end_of_line();
  }
};

template <class T, class I>
class matrix_market_parser {
public:
  matrix_market_parser(std::string_view text, std::string name)
      : in_(text, std::move(name), "%"), most_cells_(max<std::int64_t>(1 << 22, 64 * std::int64_t(text.size()))) {}

  csr_matrix<T, I> parse() {
    const matrix_market_banner banner(in_);
    if (std::is_integral_v<T> && !banner.integer && !banner.pattern)
      in_.fail("the values are real, the matrix to be read has integers");
    if (!in_.next_data_line()) in_.fail("the file ends before the line of sizes");
    rows_ = extent("the number of rows");
    cols_ = extent("the number of columns");
    if (rows_ > most_cells_ || cols_ > most_cells_ - rows_)
      in_.fail(std::to_string(rows_) + " rows and " + std::to_string(cols_) +
               " columns are too many for a file this size");
    if (banner.symmetry != matrix_market_banner::general && rows_ != cols_)
      in_.fail("a symmetric matrix is square, this one has " + std::to_string(rows_) + " rows and " +
               std::to_string(cols_) + " columns");
    if (banner.dense)
      read_array(banner);
    else
      read_coordinates(banner);
    if (in_.next_data_line()) in_.fail("there are more entries than declared");
    if (nonzeros_.size() > std::size_t(std::numeric_limits<I>::max()))
      in_.fail(std::to_string(nonzeros_.size()) + " nonzeros do not fit the index type");
    try {
      return csr_matrix<T, I>::from_triplets(rows_, cols_, nonzeros_);
    } catch (const std::overflow_error& e) {
      in_.fail(e.what());
    }
  }

private:
  std::int64_t extent(const char* what) {
    const auto n = in_.template number<std::int64_t>(what);
    if (n < 0) in_.fail(std::string(what) + " is negative: " + std::to_string(n));
    if (n > static_cast<std::int64_t>(std::numeric_limits<I>::max()))
      in_.fail(std::string(what) + " does not fit the index type: " + std::to_string(n));
    return n;
  }
  I index(const char* what, std::int64_t extent) {
    const auto i = in_.template number<std::int64_t>(what);
    if (i < 1 || i > extent)
      in_.fail(std::string(what) + " is " + std::to_string(i) + ", outside of [1, " + std::to_string(extent) + "]");
    return static_cast<I>(i - 1);
  }
  T value(const matrix_market_banner& banner) {
    if (banner.pattern) return T(1);
    if constexpr (std::is_integral_v<T>)
      return in_.template number<T>("the value");
    else if (banner.integer)
      return static_cast<T>(in_.template number<std::int64_t>("the value"));
    else
      return static_cast<T>(in_.template number<double>("the value"));
  }
  /// Notes an entry, and its mirror image.
  void add(const matrix_market_banner& banner, I row, I column, T v) {
    nonzeros_.push_back({row, column, v});
    if (banner.symmetry == matrix_market_banner::general || row == column) return;
    if (banner.symmetry == matrix_market_banner::symmetric) return nonzeros_.push_back({column, row, v});
    if constexpr (std::is_integral_v<T>)
      if (std::is_signed_v<T> ? v == std::numeric_limits<T>::min() : v != 0)
        in_.fail("the negative of " + std::to_string(v) + ", which the mirrored entry has, does not fit the type");
    nonzeros_.push_back({column, row, static_cast<T>(-v)});
  }

  void read_coordinates(const matrix_market_banner& banner) {
    const auto entries = in_.template number<std::int64_t>("the number of entries");
    if (entries < 0) in_.fail("the number of entries is negative: " + std::to_string(entries));
    in_.end_of_line();
    // No entry has fewer than four bytes: "1 1\n".
    nonzeros_.reserve(min(std::size_t(entries), in_.bytes_left() / 4 + 1));
    for (std::int64_t n = 0; n < entries; ++n) {
      if (!in_.next_data_line())
        in_.fail("the file ends after " + std::to_string(n) + " of " + std::to_string(entries) + " entries");
      const I row = index("the row", rows_), column = index("the column", cols_);
      const T v = value(banner);
      in_.end_of_line();
      if (banner.symmetry == matrix_market_banner::skew && row == column && v != T{})
        in_.fail("a skew-symmetric matrix has zeros on the diagonal");
      add(banner, row, column, v);
    }
  }

  /// One element a line, column by column; of a symmetric matrix from the diagonal on, of a skew one from below it.
  void read_array(const matrix_market_banner& banner) {
    in_.end_of_line();
    for (std::int64_t j = 0; j < cols_; ++j) {
      const std::int64_t first = banner.symmetry == matrix_market_banner::general     ? 0
                                 : banner.symmetry == matrix_market_banner::symmetric ? j
                                                                                      : j + 1;
      for (std::int64_t i = first; i < rows_; ++i) {
        if (!in_.next_data_line())
          in_.fail("the file ends before element (" + std::to_string(i + 1) + ", " + std::to_string(j + 1) + ")");
        const T v = value(banner);
        in_.end_of_line();
        if (!(v == T{})) add(banner, static_cast<I>(i), static_cast<I>(j), v);
      }
    }
  }

  decimal_point point_;
  line_reader in_;
  std::int64_t most_cells_, rows_ = 0, cols_ = 0;
  std::vector<triplet<T, I>> nonzeros_;
};

/// Appends a line with a number that reads as `value` again. Wants a decimal_point.
template <class T>
void append_real(std::string& text, T value) {
  using exact = std::conditional_t<(sizeof(T) > sizeof(float)), double, float>;  // holds a T
  constexpr int enough = std::numeric_limits<exact>::max_digits10, mostly_enough = std::numeric_limits<exact>::digits10;
  const auto number = static_cast<exact>(value);
  char line[40];
  const auto write = [&](int digits) {
    return std::snprintf(line, sizeof line, "%.*g\n", digits, static_cast<double>(number));
  };
  int length = write(mostly_enough);
  if (static_cast<exact>(std::strtod(line, nullptr)) != number) length = write(enough);
  text.append(line, static_cast<std::size_t>(length));
}

}  // namespace detail

/// The matrix that a text in Matrix Market format describes. Real values are rounded to T; an integer T reads integers and
/// patterns only.
///
/// \param text  the content of a file.
/// \param name  what error messages call it.
/// Cost: linear; memory about 40 bytes an entry, and 8 a row and a column. A matrix whose rows and columns outnumber both
/// 2^22 and 64 times the bytes of the text is refused.
/// \throws std::runtime_error "NAME:LINE: reason"; std::bad_alloc
template <class T, std::signed_integral I = int>
csr_matrix<T, I> parse_matrix_market(std::string_view text, const std::string& name = "Matrix Market text") {
  return detail::matrix_market_parser<T, I>(text, name).parse();
}

/// The matrix in a Matrix Market file. \throws as parse_matrix_market; also if the file cannot be read
template <class T, std::signed_integral I = int>
csr_matrix<T, I> read_matrix_market(const std::string& path) {
  return parse_matrix_market<T, I>(detail::file(path, "rb").read(), path);
}

/// A matrix as text: coordinate, general, real or integer. Reading it gives the same matrix back, to the last bit for
/// float, double and integers (but for the bits of a NaN), if no row has a column twice.
template <class T, class I>
std::string to_matrix_market(const csr_matrix<T, I>& matrix) {
  const char* const field = std::is_integral_v<T> ? "integer" : "real";
  std::string text = std::string("%%MatrixMarket matrix coordinate ") + field + " general\n" +
                     std::to_string(matrix.rows()) + " " + std::to_string(matrix.cols()) + " " +
                     std::to_string(matrix.nonzeros()) + "\n";
  const detail::decimal_point point;
  for (const auto& [row, column, value] : matrix.triplets()) {
    text += std::to_string(std::int64_t(row) + 1) + ' ' + std::to_string(std::int64_t(column) + 1) + ' ';
    if constexpr (std::is_integral_v<T>)
      text += std::to_string(value) + '\n';
    else
      detail::append_real(text, value);
  }
  return text;
}

/// Writes a matrix to a file, as to_matrix_market. \throws std::runtime_error if that fails
template <class T, class I>
void write_matrix_market(const std::string& path, const csr_matrix<T, I>& matrix) {
  detail::file out(path, "wb");
  out.write(to_matrix_market(matrix));
  out.close();
}

}  // namespace pmpp::inline PMPP_BACKEND
