// expect: cannot be called with two elements: comp(x, y); the default needs operator<
#include <pmpp/reduce.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  std::vector<point> v(3);
  return pmpp::min_element(pmpp::device, v) == v.begin();
}
