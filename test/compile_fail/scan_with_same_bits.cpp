// expect: pmpp: op(a, b) cannot be called with two values of the accumulator's type
#include <pmpp/reduce.hpp>
#include <pmpp/scan.hpp>

#include <vector>

int main() {
  std::vector<float> x(3);
  pmpp::inclusive_scan(pmpp::host, x, x, pmpp::same_bits{pmpp::plus{}});
}
