// expect: the operator stands where the initial value belongs: init, then op
#include <pmpp/reduce.hpp>

#include <vector>

int main() {
  const std::vector<int> v = {1, 2, 3};
  static_cast<void>(pmpp::reduce(pmpp::host, v, pmpp::plus{}, 0));
}
