// expect: pmpp::device needs a CUDA compiler
// cuda
//
// A .cpp of a CUDA program sees the same types as the .cu beside it, but cannot run a kernel.
#include <pmpp/launch.hpp>

struct nothing {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block&) const {}
};

int main() { pmpp::launch(pmpp::device, 1, nothing{}); }
