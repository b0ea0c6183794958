// SPDX-License-Identifier: Apache-2.0
//
// Thrust on the sweep's stream, with scratch memory that is there beforehand.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>

#include <thrust/execution_policy.h>

#include "sweep.hpp"

namespace sweep {

/// Gives Thrust pieces of one block of memory, and forgets them when the next call begins.
class scratch_of_thrust {
public:
  using value_type = char;

  scratch_of_thrust(char* memory, i64 bytes) : memory_(memory), bytes_(bytes) {}
  void clear() { used_ = 0; }
  char* allocate(std::ptrdiff_t bytes) {
    char* const piece = memory_ + used_;
    used_ += (bytes + 255) / 256 * 256;
    if (used_ > bytes_) throw std::runtime_error("Thrust wants more scratch memory than this case has set aside");
    return piece;
  }
  void deallocate(char*, std::size_t) {}

private:
  char* memory_;
  i64 bytes_, used_ = 0;
};

/// A function that gives each call of Thrust its policy.
inline auto thrust_policy(trial& t, i64 bytes) {
  const auto scratch =
      std::make_shared<scratch_of_thrust>(t.array_at<char>(bytes + (1 << 20), 1, 0).first, bytes + (1 << 20));
  return [scratch] {
    scratch->clear();
    return thrust::cuda::par_nosync(*scratch).on(stream());
  };
}

}  // namespace sweep
