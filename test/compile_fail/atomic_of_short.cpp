// expect: pmpp: atomic_add takes 4- and 8-byte integers, float, double, half and bfloat16 and their pairs
// nvcc
//
// There is no such instruction for two bytes; one of four would write the neighbour.
#include <pmpp/launch.hpp>
#include <pmpp/simt/atomic.hpp>

struct count_all {
  static constexpr int threads = 32;
  template <class Block>
  PMPP_HOST_DEVICE void operator()(Block&, short* count) const {
    pmpp::simt::atomic_add(count, short(1));
  }
};

int main() {
  short* const count = nullptr;
  pmpp::launch(pmpp::device, 1, count_all{}, count);
}
