// expect: index_out must take an integer
#include <vector>

#include <pmpp/sort.hpp>

int main() {
  std::vector<float> keys = {3, 1, 2}, order(3);
  pmpp::argsort(pmpp::host, keys, order);
}
