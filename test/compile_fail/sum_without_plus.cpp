// expect: op(a, b) cannot be called with two values of the accumulator's type
//
// The default operator is plus.
#include <pmpp/reduce.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  const std::vector<point> v(3);
  return static_cast<int>(pmpp::reduce(pmpp::device, v).x);
}
