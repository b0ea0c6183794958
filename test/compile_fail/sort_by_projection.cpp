// expect: the comparator, when const, cannot be called with two elements
//
// A function of one element is a projection, not an order.
#include <vector>

#include <pmpp/sort.hpp>

struct distance_from_ten {
  int operator()(int x) const { return x < 10 ? 10 - x : x - 10; }
};

int main() {
  std::vector<int> v = {3, 1, 2};
  pmpp::sort(pmpp::host, v, distance_from_ten{});
}
