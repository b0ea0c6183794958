// SPDX-License-Identifier: Apache-2.0
//
// Messages of errors, and how they are thrown. <string>, and <stdexcept> which includes it, take as long to compile as a quarter
// of what a call of reduce takes in all. So messages are put together here, and the standard's exceptions are thrown by
// the functions that libstdc++ has for that; elsewhere <stdexcept> is no more than it says.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#if __has_include(<bits/functexcept.h>)
#include <bits/functexcept.h>
#else
#include <stdexcept>
#endif

#include <pmpp/core/config.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// Characters, put together by +. Without memory for them some are missing: no exception is lost to another.
class text {
public:
  text(const char* characters) : text(characters, std::strlen(characters)) {}
  text(const char* characters, std::size_t count) { append(characters, count); }
  template <class T>
  requires requires(const T& other) {
    { other.c_str() } -> std::same_as<const char*>;
  }
  text(const T& other) : text(other.c_str()) {}
  text(const text& other) noexcept : text(other.c_str(), other.size_) {}
  text& operator=(const text&) = delete;
  ~text() { std::free(characters_); }

  template <class T>
  requires std::is_arithmetic_v<T>
  static text of(T number) {
    char digits[400];  // of a double, the longest
    if constexpr (std::is_floating_point_v<T>)
      std::snprintf(digits, sizeof digits, "%f", static_cast<double>(number));
    else if constexpr (std::is_signed_v<T>)
      std::snprintf(digits, sizeof digits, "%lld", static_cast<long long>(number));
    else
      std::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(number));
    return digits;
  }
  const char* c_str() const noexcept { return characters_ == nullptr ? "" : characters_; }
  friend text operator+(const text& a, const text& b) {
    text both(a);
    both.append(b.c_str(), b.size_);
    return both;
  }
  // To what is a temporary already they add, so that a message makes no further one of each of its parts.
  friend text&& operator+(text&& a, const text& b) { return static_cast<text&&>(a) + b.c_str(); }
  friend text&& operator+(text&& a, const char* b) {
    a.append(b, std::strlen(b));
    return static_cast<text&&>(a);
  }

private:
  void append(const char* characters, std::size_t count) noexcept {
    auto* const longer = static_cast<char*>(std::realloc(characters_, size_ + count + 1));
    if (longer == nullptr) return;
    characters_ = longer;
    std::memcpy(characters_ + size_, characters, count);
    characters_[size_ += count] = 0;
  }

  char* characters_ = nullptr;
  std::size_t size_ = 0;
};

/// What our own exceptions have in common: what() says what was put together.
class exception_with_text : public std::exception {
public:
  const char* what() const noexcept override { return message_.c_str(); }

protected:
  explicit exception_with_text(const text& message) : message_(message) {}

private:
  text message_;
};

#if __has_include(<bits/functexcept.h>)
[[noreturn]] inline void throw_invalid_argument(const text& message) { std::__throw_invalid_argument(message.c_str()); }
[[noreturn]] inline void throw_length_error(const text& message) { std::__throw_length_error(message.c_str()); }
[[noreturn]] inline void throw_out_of_range(const text& message) { std::__throw_out_of_range(message.c_str()); }
[[noreturn]] inline void throw_overflow_error(const text& message) { std::__throw_overflow_error(message.c_str()); }
[[noreturn]] inline void throw_logic_error(const text& message) { std::__throw_logic_error(message.c_str()); }
#else
[[noreturn]] inline void throw_invalid_argument(const text& message) { throw std::invalid_argument(message.c_str()); }
[[noreturn]] inline void throw_length_error(const text& message) { throw std::length_error(message.c_str()); }
[[noreturn]] inline void throw_out_of_range(const text& message) { throw std::out_of_range(message.c_str()); }
[[noreturn]] inline void throw_overflow_error(const text& message) { throw std::overflow_error(message.c_str()); }
[[noreturn]] inline void throw_logic_error(const text& message) { throw std::logic_error(message.c_str()); }
#endif

}  // namespace pmpp::inline PMPP_BACKEND::detail
