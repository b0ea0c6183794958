// SPDX-License-Identifier: Apache-2.0
//
// The policies that a test runs on, and the memory that goes with each: `device` data lives in a device_buffer, `seq`
// and `host` data in a std::vector. In the CPU build `device` is the emulator, so the same text tests every kernel
// there.
#pragma once

#include <tuple>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <pmpp/execution.hpp>
#include <pmpp/memory/copy.hpp>
#include <pmpp/memory/device_buffer.hpp>

#include "support/capture.hpp"

namespace test {

/// A policy with the container its algorithms read.
template <class Policy>
struct place {
  using policy = Policy;
  static constexpr bool on_device = pmpp::kernel_execution<Policy>;
  template <class T>
  using container = std::conditional_t<on_device, pmpp::device_buffer<T>, std::vector<T>>;

  template <class T>
  static container<T> put(const std::vector<T>& data) {
    if constexpr (on_device)
      return container<T>(data);
    else
      return data;
  }
  /// Data that is read alone. A kernel that reads through pointers to what might change is another one to compile.
  template <class T>
  static const container<T> input(const std::vector<T>& data) {
    return put(data);
  }
  template <class Container>
  static auto get(const Container& data) {
    if constexpr (on_device)
      return pmpp::to_host(data);
    else
      return data;
  }
};

/// The tuning that a place is tested with: kernels with small tiles too; `seq` and `host` have no tiles, so that one
/// instantiation serves all of their tests.
template <class where, class Tuning>
constexpr Tuning tuned(Tuning asked) {
  return where::on_device ? asked : Tuning{};
}

using seq_place = place<pmpp::seq_policy>;
using host_place = place<pmpp::host_policy>;
using device_place = place<pmpp::device_policy>;

}  // namespace test

// nvcc compiles the device place alone: g++ has tested the others, in the same text. So does g++ for ThreadSanitizer, which
// knows neither OpenMP's barriers nor a need for them in `seq`.
#if PMPP_CUDA || defined(__SANITIZE_THREAD__)
#define TEST_ALL_PLACES(name) TEST_CASE_TEMPLATE(name, where, test::device_place)
#else
#define TEST_ALL_PLACES(name) TEST_CASE_TEMPLATE(name, where, test::seq_place, test::host_place, test::device_place)
#endif
