// expect: pmpp: the function, when const, cannot be called with an element of each input
#include <pmpp/transform.hpp>

#include <vector>

int main() {
  const std::vector<int> in = {1, 2, 3};
  std::vector<int> out(3);
  pmpp::transform(pmpp::host, in, out, pmpp::multiplies{});
}
