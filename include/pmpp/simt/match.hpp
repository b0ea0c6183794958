// SPDX-License-Identifier: Apache-2.0
//
// Which lanes of a warp have the same byte: as match_any, but by eight ballots, which take the same time whatever the
// values are (match_any takes longer the more values there are).
#pragma once

#include <pmpp/core/config.hpp>
#include <pmpp/simt/block.hpp>

namespace pmpp::inline PMPP_BACKEND::simt {

/// The lanes of the warp whose v has the same lowest byte as this lane's. All lanes call.
template <class Block>
PMPP_HOST_DEVICE unsigned match_byte([[maybe_unused]] Block& block, unsigned v) {
#if defined(__CUDA_ARCH__)
  // The predicate of each vote also says whether to invert it, and three masks join at once: half of the instructions
  // that the compiler needs for eight times __ballot_sync.
  unsigned same = all_lanes, agree[8];
#pragma unroll
  for (int b = 0; b < 8; ++b)
    asm volatile(
        "{ .reg .pred p; .reg .b32 bit;\n\t"
        "and.b32 bit, %1, %2;\n\t"
        "setp.ne.u32 p, bit, 0;\n\t"
        "vote.sync.ballot.b32 %0, p, %3;\n\t"
        "@!p not.b32 %0, %0; }"
        : "=r"(agree[b])
        : "r"(v), "r"(1u << b), "r"(all_lanes));
#pragma unroll
  for (int b = 0; b < 8; b += 2) asm("lop3.b32 %0, %0, %1, %2, 0x80;" : "+r"(same) : "r"(agree[b]), "r"(agree[b + 1]));
  return same;
#else
  return block.match_any(v & 0xff);
#endif
}

}  // namespace pmpp::inline PMPP_BACKEND::simt
