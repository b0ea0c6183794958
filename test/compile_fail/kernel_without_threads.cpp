// expect: this kernel has no static constexpr int threads: pass blocks, threads
// nvcc
//
// A kernel that does not name its block size has to be launched with one.
#include <pmpp/launch.hpp>

struct nothing {
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block&) const {}
};

int main() { pmpp::launch(pmpp::device, 4, nothing{}); }
