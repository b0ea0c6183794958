// expect: cannot be called with two elements: comp(x, y); the default needs operator<
#include <pmpp/sort.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  std::vector<point> v(3);
  pmpp::sort(pmpp::host, v);
}
