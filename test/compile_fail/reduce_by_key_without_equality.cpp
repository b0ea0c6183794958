// expect: eq(x, y), when const, cannot be called with two elements; the default needs operator==
#include <pmpp/segmented.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  const std::vector<point> keys(3);
  const std::vector<int> values(3);
  std::vector<point> keys_out(3);
  std::vector<int> sums(3);
  pmpp::reduce_by_key(pmpp::host, keys, values, keys_out, sums);
}
