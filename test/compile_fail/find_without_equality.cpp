// expect: eq(x, y), when const, cannot be called with two elements
#include <pmpp/find.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  const std::vector<point> in(3);
  return pmpp::adjacent_find(pmpp::host, in) == in.end();
}
