// SPDX-License-Identifier: Apache-2.0
//
// Machines for tests of what is launched where: the least that kernels have to run on, one multiprocessor whose blocks have
// 48 KB of shared memory, and a common one of 99 KB and 1536 threads a multiprocessor.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <pmpp/core/machine.hpp>
#include <pmpp/launch.hpp>

#pragma GCC visibility push(hidden)  // as what it contains

#if PMPP_WITH_EMULATOR
namespace test {

inline constexpr const char* machines[] = {"small", "rtx4090"};

/// While it lives, the emulator plays a machine, with at most eight multiprocessors.
class played {
public:
  explicit played(std::string_view name) : machine_(limits_of(name)), scope_(options()) {}

private:
  static pmpp::machine limits_of(std::string_view name) {
    for (const pmpp::named_machine& m : pmpp::known_machines)
      if (m.name == name) return m.limits;
    throw std::logic_error("no such machine");
  }
  pmpp::simt::emulator_options options() {
    machine_.multiprocessors = std::min(machine_.multiprocessors, 8);
    pmpp::simt::emulator_options options = pmpp::simt::detail::options_of_this_launch();
    options.plays = &machine_;
    return options;
  }

  pmpp::machine machine_;
  pmpp::simt::scoped_emulator_options scope_;
};

}  // namespace test
#endif

#pragma GCC visibility pop
