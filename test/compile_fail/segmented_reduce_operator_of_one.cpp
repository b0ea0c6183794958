// expect: op(a, b) cannot be called with two values of the accumulator's type
#include <pmpp/segmented.hpp>

#include <vector>

struct negated {
  int operator()(int x) const { return -x; }
};
int main() {
  const std::vector<int> in = {1, 2, 3};
  std::vector<int> out(1);
  pmpp::segmented_reduce(pmpp::host, in, std::vector<int>{0, 3}, out, 0, negated{});
}
