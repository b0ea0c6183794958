// expect: cannot be called with two elements: comp(x, y); the default needs operator<
#include <pmpp/sets.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  const std::vector<point> in(3);
  std::vector<point> out(6);
  pmpp::set_union(pmpp::host, in, in, out);
}
