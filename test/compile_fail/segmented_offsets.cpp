// expect: offsets must be integers
#include <vector>

#include <pmpp/segmented.hpp>

int main() {
  std::vector<float> in(3), sums(1), offsets = {0, 3};
  pmpp::segmented_reduce(pmpp::host, in, offsets, sums);
}
