// expect: pmpp: the function, when const, cannot be called with an element of each input
//
// Kernels have copies of it, whose changes would be lost.
#include <pmpp/transform.hpp>

#include <vector>

int main() {
  std::vector<int> v = {1, 2, 3};
  pmpp::transform(pmpp::device, v, v, [sum = 0](int x) mutable { return sum += x; });
}
