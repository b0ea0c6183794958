// expect: pmpp: indices must be integers
#include <pmpp/gather.hpp>

#include <vector>

int main() {
  const std::vector<int> in = {1, 2, 3};
  const std::vector<float> index = {1, 2, 0};
  std::vector<int> out(3);
  pmpp::gather(pmpp::host, index, in, out);
}
