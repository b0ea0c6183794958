// expect: cannot be called with two elements: comp(x, y); the default needs operator<
#include <pmpp/merge.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  std::vector<point> v(3);
  std::vector<point> out(6);
  pmpp::merge(pmpp::host, v, v, out);
}
