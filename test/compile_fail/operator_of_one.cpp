// expect: op(a, b) cannot be called with two values of the accumulator's type
#include <pmpp/reduce.hpp>

#include <vector>

struct negated {
  int operator()(int x) const { return -x; }
};
int main() {
  const std::vector<int> v = {1, 2, 3};
  return pmpp::reduce(pmpp::host, v, 0, negated{});
}
