// expect: pmpp: device cannot reach the memory of a std::vector
#include <pmpp/reduce.hpp>

#include <ranges>
#include <vector>

int main() {
  const std::vector<int> v(10);
  return pmpp::reduce(pmpp::device, v | std::views::take(3));
}
