// expect: cannot be called with two elements: comp(x, y); the default needs operator<
#include <pmpp/segmented_sort.hpp>

#include <vector>

struct point {
  float x, y;
};
int main() {
  std::vector<point> v(3);
  pmpp::segmented_sort(pmpp::host, v, std::vector<int>{0, 3});
}
