// expect: op(a, b) cannot be called with two values of the accumulator's type
//
// The default operator is plus.
#include <pmpp/reduce.hpp>

#include <span>

struct point {
  float x, y;
};
int main() {
  const point v[3]{};
  return static_cast<int>(pmpp::reduce(pmpp::device, std::span(v)).x);
}
