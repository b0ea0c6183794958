// expect: write 0.0f or 0.0, or leave it out
//
// The type of init is that of the accumulator: the sum would be cut off to an integer at each step.
#include <pmpp/reduce.hpp>

#include <vector>

int main() {
  const std::vector<float> v = {0.5f, 0.25f};
  return static_cast<int>(pmpp::reduce(pmpp::host, v, 0));
}
