// expect: write 0.0f or 0.0, or leave it out
#include <pmpp/segmented.hpp>

#include <vector>

int main() {
  const std::vector<double> in = {1, 2, 3};
  std::vector<double> out(1);
  pmpp::segmented_reduce(pmpp::host, in, std::vector<int>{0, 3}, out, 0);
}
