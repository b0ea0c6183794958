// SPDX-License-Identifier: Apache-2.0
//
// What text formats have in common: a text as lines of words, numbers, errors "NAME:LINE: reason". Words of the text stand
// in them cut and escaped, so that they are fit for logs and terminals. <charconv> would do for the numbers, but costs every
// program that includes pmpp 3 % of its compile time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <locale.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// Bytes of a file as error messages show them: at most 40 characters, the last three "..." where there is more; what is
/// not a printable ASCII character becomes \xNN.
inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string out;
  std::size_t fits = 0;  // of `out`, with dots after it
  for (std::size_t i = 0; i < text.size() && out.size() <= most; ++i) {
    if (out.size() + 3 <= most) fits = out.size();
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= ' ' && byte <= '~')
      out += text[i];
    else
      out += {'\\', 'x', "0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
  }
  if (out.size() > most) out.replace(fits, out.npos, "...");
  return out;
}
inline std::string in_quotes(std::string_view text) { return "'" + shown(text) + "'"; }

/// While it lives, std::strtod and std::snprintf of this thread use a decimal point, whatever the program's locale.
class decimal_point {
public:
  decimal_point() : plain_(newlocale(LC_ALL_MASK, "C", locale_t{})), before_(uselocale(plain_)) {}
  ~decimal_point() {
    uselocale(before_);
    if (plain_ != locale_t{}) freelocale(plain_);
  }
  decimal_point(const decimal_point&) = delete;
  decimal_point& operator=(const decimal_point&) = delete;

private:
  locale_t plain_, before_;
};

/// What read_number found at the beginning of a text.
template <class Number>
struct number_found {
  Number value;
  std::size_t length;  ///< characters; 0: there is no number
  bool fits;           ///< within the type; a floating-point number becomes infinite or nearly zero instead
};

/// Decimal digits, after a minus if the type has a sign.
template <std::integral Integer>
number_found<Integer> read_number(std::string_view text) {
  const std::size_t first = std::is_signed_v<Integer> && !text.empty() && text[0] == '-' ? 1 : 0;
  const std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<Integer>::max()) + first;
  std::uint64_t magnitude = 0;
  bool fits = true;
  std::size_t end = first;
  for (; end < text.size() && text[end] >= '0' && text[end] <= '9'; ++end) {
    const auto digit = static_cast<std::uint64_t>(text[end] - '0');
    fits = fits && digit <= most && magnitude <= (most - digit) / 10;
    magnitude = magnitude * 10 + digit;
  }
  return {static_cast<Integer>(first == 1 ? 0 - magnitude : magnitude), end == first ? 0 : end, fits};
}

/// Decimal, an infinity or NaN, rounded to the nearest double. Wants a decimal_point.
template <std::same_as<double> Real>
number_found<Real> read_number(std::string_view text) {
  // strtod reads hexadecimal numbers and a plus too, which no format here has.
  if (text.empty() || text[0] == '+' || text.find_first_of("xX") != text.npos) return {0, 0, true};
  const std::string copy(text);  // which ends with a zero
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  return {value, static_cast<std::size_t>(end - copy.c_str()), true};
}

/// Reads a text word by word and knows the line.
class line_reader {
public:
  /// A line whose first letter is one of `comments` is a comment; words end at one of `blanks`.
  line_reader(std::string_view text, std::string name, const char* comments, const char* blanks = " \t\r\f\v")
      : rest_(text), name_(std::move(name)), comments_(comments), blanks_(blanks) {}

  /// Goes to the next line; false at the end of the text.
  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  /// Goes to the next line that is neither blank nor a comment.
  bool next_data_line() {
    while (next_line()) {
      const std::size_t first = line_.find_first_not_of(blanks_);
      if (first != std::string_view::npos && comments_.find(line_[first]) == std::string_view::npos) return true;
    }
    return false;
  }

  /// The next word of the line; empty at its end.
  std::string_view word() {
    line_.remove_prefix(min(line_.find_first_not_of(blanks_), line_.size()));
    const std::string_view w = line_.substr(0, line_.find_first_of(blanks_));
    line_.remove_prefix(w.size());
    return w;
  }
  std::string lower_word() {
    std::string w(word());
    for (char& c : w)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return w;
  }
  template <class Number>
  Number number(const char* what) {
    const std::string_view w = word();
    if (w.empty()) fail(std::string(what) + " is missing");
    const std::string_view digits = w[0] == '+' && w.size() > 1 && w[1] != '-' ? w.substr(1) : w;
    const number_found<Number> found = read_number<Number>(digits);
    const bool whole = found.length == digits.size();
    if (whole && found.fits) return found.value;
    fail(std::string(what) + " is not " + (std::is_integral_v<Number> ? "an integer" : "a number") +
         (whole ? " that fits" : "") + ": " + in_quotes(w));
  }
  void end_of_line() {
    if (const std::string_view w = word(); !w.empty()) fail(in_quotes(w) + " is more than belongs here");
  }

  /// Bytes that have not been read.
  std::size_t bytes_left() const { return rest_.size(); }
  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(name_ + ":" + std::to_string(number_) + ": " + reason);
  }

private:
  std::string_view rest_, line_;
  std::string name_;
  std::string_view comments_, blanks_;
  std::int64_t number_ = 0;
};

}  // namespace pmpp::inline PMPP_BACKEND::detail
