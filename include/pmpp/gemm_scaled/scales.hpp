// SPDX-License-Identifier: Apache-2.0
//
// Scale factors of the elements of an operand: one of all, one of each row along m (n), or of blocks of 128 numbers of k, and
// perhaps of 128 rows.
#pragma once

#include <cstdint>

#include <pmpp/core/config.hpp>
#include <pmpp/core/matrix_view.hpp>

#pragma GCC visibility push(hidden)  // see launch.hpp

namespace pmpp::inline PMPP_BACKEND::detail {

/// Numbers of k, and rows, of a block with one scale.
inline constexpr int scale_block = 128, scale_block_log2 = 7;

/// As the kernel sees them: of element (i, p) of the operand, i along m or n.
struct operand_scales {
  const float* data = nullptr;
  std::int64_t stride = 0, k_stride = 0;  ///< in elements: to the next row or block of rows, to the next block of k
  int shift = 0;                          ///< 2^shift rows share one

  PMPP_HOST_DEVICE bool by_row() const { return stride != 0 && shift == 0; }
  PMPP_HOST_DEVICE bool along_k() const { return k_stride != 0; }
  PMPP_HOST_DEVICE const float* of_row(std::int64_t i) const { return data + (i >> shift) * stride; }
  PMPP_HOST_DEVICE float at(std::int64_t i, std::int64_t p) const {
    return data == nullptr ? 1.0f : of_row(i)[(p >> scale_block_log2) * k_stride];
  }
};

}  // namespace pmpp::inline PMPP_BACKEND::detail

#pragma GCC visibility pop
