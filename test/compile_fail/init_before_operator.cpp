// expect: the initial value stands where the operator belongs: op, then init
#include <pmpp/scan.hpp>

#include <vector>

int main() {
  const std::vector<int> in = {1, 2, 3};
  std::vector<int> out(3);
  pmpp::inclusive_scan(pmpp::host, in, out, 0, pmpp::plus{});
}
