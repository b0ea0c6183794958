// expect: op(a, b) cannot be called with two values of the accumulator's type
//
// The default operator is plus.
// nvcc
#include <pmpp/segmented.hpp>

struct point {
  float x, y;
};
int main() {
  const point* in = nullptr;
  const int* offsets = nullptr;
  point* out = nullptr;
  pmpp::segmented_inclusive_scan(pmpp::device, in, in + 3, offsets, offsets + 2, out);
}
