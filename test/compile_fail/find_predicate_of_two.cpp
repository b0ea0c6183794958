// expect: pmpp: the predicate, when const, cannot be called with an element
#include <pmpp/find.hpp>

#include <vector>

int main() {
  const std::vector<int> in = {1, 2, 3};
  return pmpp::find_if(pmpp::host, in, pmpp::less{}) == in.end();
}
