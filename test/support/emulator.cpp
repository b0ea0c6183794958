// SPDX-License-Identifier: Apache-2.0
//
// The emulator's functions that are no templates, as every CPU test compiles them: each is linked once, and the linker takes the
// first. So this object stands in front, compiled with -O2 where the tests are compiled quickly (test/CMakeLists.txt): half of the
// time that they take is the emulator's.
#include <pmpp/launch.hpp>

namespace test {

namespace {

/// Waits in every way that a kernel can.
struct waits {
  static constexpr int threads = 64;

  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block& block, int* out) const {
    const int lane = block.lane();
    block.sync();
    block.sync_warp();
    int x =
        block.shuffle(lane, 1) + block.shuffle_up(lane, 1) + block.shuffle_down(lane, 1) + block.shuffle_xor(lane, 1);
    x += static_cast<int>(block.ballot(x > 3)) + block.any(x > 3) + block.all(x > 3) + block.warp_add(x);
    x += block.sync_count(x > 3);
    out[block.thread()] = x;
  }
};

}  // namespace

void emulate_waits(int* out) { pmpp::launch(pmpp::device, 1, waits{}, out); }

}  // namespace test
