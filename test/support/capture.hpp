// SPDX-License-Identifier: Apache-2.0
//
// CAPTURE(x): what x was, for the report of a check that fails. doctest's own makes a class and a lambda of each place that asks
// for it: 16 ms of compile time in every instantiation of the template around it. This is one class for all, and takes nothing to
// speak of. The value is copied where the statement stands.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <type_traits>
#include <variant>

#include <doctest/doctest.h>

namespace test {

class captured : public doctest::detail::ContextScopeBase {
public:
  template <class T>
  captured(const char* name, const T& x) : name_(name), value_(plain(x)) {}
  ~captured() override { destroy(); }

  void stringify(std::ostream* out) const override {
    std::visit([&](const auto& x) { *out << name_ << " := " << std::boolalpha << x; }, value_);
  }

private:
  using value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

  template <class T>
  static value plain(const T& x) {
    if constexpr (std::is_same_v<T, bool>)
      return x;
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<double>(x);
    else if constexpr (std::is_integral_v<T>)
      return static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(x);
    else if constexpr (std::is_convertible_v<const T&, std::string>)
      return std::string(x);
    else
      return std::string(doctest::toString(x).c_str());
  }

  const char* name_;
  value value_;
};

}  // namespace test

#undef CAPTURE
#define CAPTURE(x) const test::captured DOCTEST_ANONYMOUS(TEST_CAPTURED_)(#x, x)
