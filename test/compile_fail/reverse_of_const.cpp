// expect: pmpp: the elements to write are const
#include <pmpp/rearrange.hpp>

#include <vector>

int main() {
  const std::vector<int> in = {1, 2, 3};
  pmpp::reverse(pmpp::host, in);
}
