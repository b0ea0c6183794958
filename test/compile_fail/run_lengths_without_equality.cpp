// expect: eq(x, y), when const, cannot be called with two elements; the default needs operator==
#include <pmpp/segmented.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  const std::vector<point> in(3);
  std::vector<point> out(3);
  std::vector<int> lengths(3);
  pmpp::run_length_encode(pmpp::host, in, out, lengths);
}
