// expect: write 0.0f or 0.0, or leave it out
//
// The products are floats, the accumulator would be an int.
#include <pmpp/reduce.hpp>

#include <vector>

int main() {
  const std::vector<float> x = {0.5f, 0.25f}, y = {1, 2};
  return static_cast<int>(pmpp::transform_reduce(pmpp::host, x, y, 0, pmpp::plus{}, pmpp::multiplies{}));
}
