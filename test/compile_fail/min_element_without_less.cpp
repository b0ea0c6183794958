// expect: cannot be called with two elements: comp(x, y); the default needs operator<
#include <pmpp/reduce.hpp>

#include <span>

struct point {
  float x, y;
};
int main() {
  point v[3]{};
  const std::span<point> all(v);
  return pmpp::min_element(pmpp::device, all) == all.begin();
}
