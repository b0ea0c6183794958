// SPDX-License-Identifier: Apache-2.0
//
// What the emulator's tests ask of a launch that must fail.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include <pmpp/simt/emulated_block.hpp>

namespace test {

/// The message of the fault that a launch ends with; empty when it ends well.
template <class Kernel, class... Args>
std::string fault_of(const pmpp::simt::launch_shape& shape, const Kernel& kernel, const Args&... args) {
  try {
    pmpp::simt::emulate(shape, "the_kernel", kernel, args...);
  } catch (const pmpp::kernel_fault& f) {
    return f.what();
  }
  return {};
}

/// Whether `text` contains `part`; shows both if not.
inline bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("\"", text, "\" lacks \"", part, "\"");
  return found;
}

}  // namespace test
