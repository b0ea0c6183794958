// SPDX-License-Identifier: Apache-2.0
//
// A small block of a matrix turned in the registers of one thread.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/transpose/problem.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND {
namespace detail {

/// Turns `items` pieces of rows, `Columns` units of `Unit` bytes each, into `Columns` pieces of columns of 16 bytes. Several
/// columns at once only where they fill a word of four bytes.
template <int Unit, int Columns>
struct turner {
  static constexpr int columns = Columns, items = 16 / Unit, word = Unit * Columns;
  static_assert(Columns == 1 || word == 4);

  PMPP_HOST_DEVICE static void turn(const bytes_of<word> (&in)[items], bytes_of<16> (&out)[columns]) {
    for (int g = 0; g < columns; ++g)
      for (int j = 0; j < 4; ++j) {
        if constexpr (Unit >= 4) {
          out[g].part[j] = in[j / (Unit / 4)].part[j % (Unit / 4)];
        } else {
          constexpr int bits = 8 * Unit, units = 4 / Unit;
          std::uint32_t joined = 0;
          for (int k = 0; k < units; ++k)
            joined |= (std::uint32_t(in[j * units + k].part[0]) >> g * bits & ((1u << bits) - 1)) << k * bits;
          out[g].part[j] = joined;
        }
      }
  }
};

}  // namespace detail
}  // namespace pmpp::inline PMPP_BACKEND

#pragma GCC visibility pop
