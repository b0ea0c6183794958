// expect: device cannot reach the memory of a std::vector
// nvcc
#include <vector>

#include <pmpp/sort.hpp>

int main() {
  std::vector<int> v = {3, 1, 2};
  pmpp::sort(pmpp::device, v);
}
