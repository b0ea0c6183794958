// expect: pmpp: the function, when const, cannot be called with an element of each input
//
// Kernels have copies of it, whose changes would be lost.
#include <pmpp/transform.hpp>

#include <span>

int main() {
  int numbers[] = {1, 2, 3};
  const std::span<int> v(numbers);
  pmpp::transform(pmpp::device, v, v, [sum = 0](int x) mutable { return sum += x; });
}
