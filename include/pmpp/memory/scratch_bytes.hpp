// SPDX-License-Identifier: Apache-2.0
//
// How much scratch a call will need, before it is made.
//
//   const std::size_t bytes = pmpp::scratch_bytes(pmpp::device, [&](const auto& where) { pmpp::sort(where, x); });
//   pmpp::workspace mine{my_allocator(bytes), bytes};            // enough for that call, of memory of the program's
//   pmpp::sort(pmpp::device.on(stream).with(mine), x);
//
// There is no table of sizes beside the algorithms that could be wrong: the call itself is made, with a policy that notes what it
// takes and launches nothing. So the answer holds for these arguments (lengths, types, tunings, alignment) on this machine, and
// for a device_count for its bound. Several calls in the function are measured at once, as one after the other would use the same
// workspace. Calls of the program's own that enqueue (cudaMemcpyAsync, kernels of its own by <<<>>>) are not held back.
#pragma once

#include <cstddef>

#include <pmpp/core/config.hpp>
#include <pmpp/execution.hpp>
#include <pmpp/memory/workspace.hpp>

namespace pmpp::inline PMPP_BACKEND {

/// The scratch that `call(policy)` takes of a workspace, where policy is `where` but for its workspace. Reads and writes none of
/// the data, launches and copies nothing, does not wait and allocates nothing of the device's.
/// A call that returns a value to the host returns a meaningless one, and `call` must not go by it. So functions that make arrays as
/// long as such values say (csr_from_triplets, transposed of a matrix) cannot be measured: measure their twins `_into`.
/// \param call  a function of a policy: a generic lambda. \throws what the call throws of wrong arguments
/// Example: test/doors_scratch.cpp
template <kernel_execution P, class F>
scratch_need needed_scratch(const P& where, const F& call) {
  workspace notes(workspace::kind::measures);
  P policy = where.with(notes);
  policy.measuring = true;
  call(policy);
  return {notes.capacity_, notes.state_};
}

/// The bytes of it: what workspace{pointer, bytes} has to have for `call`. A workspace that grows takes them by
/// `w.reserve(needed_scratch(where, call))`. \throws as needed_scratch
template <kernel_execution P, class F>
std::size_t scratch_bytes(const P& where, const F& call) {
  return pmpp::needed_scratch(where, call).bytes;
}

}  // namespace pmpp::inline PMPP_BACKEND
