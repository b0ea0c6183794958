// SPDX-License-Identifier: Apache-2.0
//
// Machines for tests of what is launched where: the least that kernels have to run on, one multiprocessor whose blocks have
// 48 KB of shared memory, and a common one of 99 KB and 1536 threads a multiprocessor.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

#include <doctest/doctest.h>

#include <pmpp/core/machine.hpp>
#include <pmpp/launch.hpp>

#include "support/capture.hpp"

#pragma GCC visibility push(hidden)  // as what it contains

#if PMPP_WITH_EMULATOR
namespace test {

inline constexpr const char* machines[] = {"small", "rtx4090"};

/// While it lives, the emulator plays a machine, with no more multiprocessors than asked for.
class played {
public:
  explicit played(std::string_view name, int most_multiprocessors = 8)
      : machine_(limits_of(name)), scope_(options(most_multiprocessors)) {}

private:
  static pmpp::machine limits_of(std::string_view name) {
    for (const pmpp::named_machine& m : pmpp::known_machines)
      if (m.name == name) return m.limits;
    throw std::logic_error("no such machine");
  }
  pmpp::simt::emulator_options options(int most_multiprocessors) {
    machine_.multiprocessors = std::min(machine_.multiprocessors, most_multiprocessors);
    pmpp::simt::emulator_options options = pmpp::simt::detail::options_of_this_launch();
    options.plays = &machine_;
    return options;
  }

  pmpp::machine machine_;
  pmpp::simt::scoped_emulator_options scope_;
};

/// Calls f on each machine, with as many multiprocessors as each of these allows.
template <class F>
void on_machines(const F& f, std::initializer_list<int> multiprocessors = {8}) {
  for (const char* name : machines)
    for (const int most : multiprocessors) {
      CAPTURE(name);
      CAPTURE(most);
      const played scope(name, most);
      f();
    }
}

}  // namespace test
#endif

#pragma GCC visibility pop
