// expect: eq(x, y), when const, cannot be called with two elements
#include <pmpp/select.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  const std::vector<point> in(3);
  std::vector<point> out(3);
  pmpp::unique_copy(pmpp::host, in, out);
}
