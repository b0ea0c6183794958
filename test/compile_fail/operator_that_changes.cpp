// expect: pmpp: op(a, b) cannot be called with two values of the accumulator's type when op is const
//
// As in Thrust's examples, whose call operators are not const.
#include <pmpp/reduce.hpp>

#include <span>

struct sum_of_two {
  int operator()(int a, int b) { return a + b; }
};
int main() {
  int numbers[] = {1, 2, 3};
  return pmpp::reduce(pmpp::device, std::span<int>(numbers), 0, sum_of_two{});
}
