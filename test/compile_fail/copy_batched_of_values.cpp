// expect: pmpp::copy_batched: sources and targets must be ranges of pointers
#include <pmpp/segmented_copy.hpp>

#include <vector>

int main() {
  const std::vector<int> from = {1, 2, 3}, bytes = {4, 4, 4};
  std::vector<int> to(3);
  pmpp::copy_batched(pmpp::host, from, to, bytes);
}
