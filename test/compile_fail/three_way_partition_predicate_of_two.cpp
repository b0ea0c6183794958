// expect: pmpp: the predicate, when const, cannot be called with an element
#include <pmpp/three_way_partition.hpp>

#include <vector>

struct of_two {
  bool operator()(int x, int y) const { return x < y; }
};
int main() {
  const std::vector<int> in = {1, 2, 3};
  std::vector<int> a(3), b(3), c(3);
  pmpp::three_way_partition_copy(
      pmpp::host, in, a, b, c, [](int x) { return x > 2; }, of_two{});
}
