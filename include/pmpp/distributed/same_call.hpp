// SPDX-License-Identifier: Apache-2.0
//
// require_same_call: processes that call different things, or the same with other sizes, types or operators, find out before data is
// touched. Each tells all others what it calls, in words; where they differ, each throws, with both texts.
//
// This costs a message of 256 bytes to and from each rank. So it is done where the host waits for messages anyway (mpi_communicator), and
// between others in debug mode (PMPP_DEBUG = 1). Where one process drives all ranks there is one call, and nothing to compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <pmpp/core/config.hpp>
#include <pmpp/core/error.hpp>
#include <pmpp/core/math.hpp>
#include <pmpp/distributed/buffer.hpp>
#include <pmpp/distributed/communicator.hpp>
#include <pmpp/distributed/devices.hpp>

namespace pmpp::inline PMPP_BACKEND::detail {

/// What a process calls: as much of the text as fits, and a number made of all of it.
struct described_call {
  char text[248];
  std::uint64_t code;
};

template <class C>
constexpr bool compares_calls() {
  if constexpr (requires { C::ends_after_work; })
    return C::ends_after_work || debug_mode;
  else
    return debug_mode;
}

/// \tparam Ts  types of elements, operators and functions, by the names that the compiler gives them: two lambdas of one function that
///             take the same may be taken for the same.
/// \param sizes  numbers of elements, rows ...
/// \throws std::invalid_argument, on every process, if one differs from rank 0; communication_error, which names the call too, if a rank
/// takes no part
template <class... Ts, class P, class C>
void require_same_call(const devices<P, C>& gpus, const char* function, std::initializer_list<std::int64_t> sizes) {
  if constexpr (compares_calls<C>()) {
    if (gpus.all_here()) return;
    std::string call = function;
    const char* between = " of ";
    for (const std::int64_t size : sizes) {
      call += between + std::to_string(size);
      between = " x ";
    }
    const auto name = [&](const characters& type) { call.append(", ").append(type.first, type.count); };
    (name(detail::type_name<Ts>()), ...);
    described_call mine{{}, 14695981039346656037u};  // FNV-1a
    for (std::size_t k = 0; k < call.size(); ++k) {
      if (k + 1 < sizeof mine.text) mine.text[k] = call[k];
      mine.code = (mine.code ^ static_cast<unsigned char>(call[k])) * 1099511628211u;
    }
    std::vector<described_call> all;
    try {
      all = detail::values_of_all(gpus, std::vector<described_call>(std::size_t(gpus.local_size()), mine));
    } catch (const communication_error& error) {
      throw communication_error(text("pmpp::") + function + ": " + error.what());
    }
    for (std::size_t r = 1; r < all.size(); ++r)
      require(all[r].code == all[0].code, [&] {
        return text("pmpp: processes make different calls: rank 0 ") + static_cast<const char*>(all[0].text) +
               "; rank " + text::of(r) + " " + static_cast<const char*>(all[r].text);
      });
  }
}

}  // namespace pmpp::inline PMPP_BACKEND::detail
