// SPDX-License-Identifier: Apache-2.0
//
// What readers of text formats have in common: a text as lines of words, errors "NAME:LINE: reason".
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <pmpp/core/config.hpp>
#include <pmpp/core/math.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// Reads a text word by word and knows the line.
class line_reader {
public:
  /// A line whose first letter is one of `comments` is a comment; words end at one of `blanks`.
  line_reader(std::string_view text, std::string name, const char* comments, const char* blanks = " \t\r\f\v")
      : rest_(text), name_(std::move(name)), comments_(comments), blanks_(blanks) {}

  /// Goes to the next line; false at the end of the text.
  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = smaller(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(smaller(end + 1, rest_.size()));
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
    line_.remove_prefix(smaller(line_.find_first_not_of(blanks_), line_.size()));
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
    Number value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (end == digits.data() + digits.size()) {
      if (error == std::errc{}) return value;
      if constexpr (std::is_floating_point_v<Number>)  // too large or too small: infinity or nearly zero
        return static_cast<Number>(std::strtod(std::string(digits).c_str(), nullptr));
    }
    fail(std::string(what) + " is not " + (std::is_integral_v<Number> ? "an integer" : "a number") +
         (error == std::errc::result_out_of_range ? " that fits" : "") + ": '" + std::string(w.substr(0, 40)) + "'");
  }
  void end_of_line() {
    if (const std::string_view w = word(); !w.empty())
      fail("'" + std::string(w.substr(0, 40)) + "' is more than belongs here");
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
