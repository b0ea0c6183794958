// expect: pmpp: the function, when const, cannot be called
//
// Each element is made by itself: tabulate tells its place, fill_random makes numbers.
#include <pmpp/elementwise.hpp>

#include <span>

int main() {
  int numbers[] = {1, 2, 3};
  pmpp::generate(pmpp::device, std::span<int>(numbers), [i = 0]() mutable { return i++; });
}
