// expect: cannot be called with two elements: comp(x, y); the default needs operator<
#include <pmpp/search.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  const std::vector<point> in(3);
  std::vector<int> out(3);
  pmpp::lower_bound(pmpp::host, in, in, out);
}
