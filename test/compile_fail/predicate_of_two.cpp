// expect: pmpp: the predicate, when const, cannot be called with an element
#include <pmpp/select.hpp>

#include <vector>

int main() {
  const std::vector<int> in = {1, 2, 3};
  std::vector<int> out(3);
  pmpp::copy_if(pmpp::host, in, out, pmpp::less{});
}
