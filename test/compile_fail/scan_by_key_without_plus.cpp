// expect: pmpp: op(a, b) cannot be called with two values of the accumulator's type
#include <pmpp/by_key.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  const std::vector<int> keys(3);
  const std::vector<point> in(3);
  std::vector<point> out(3);
  pmpp::inclusive_scan_by_key(pmpp::host, keys, in, out);
}
