// expect: pmpp: normal is there for float, double and types of two bytes like half
#include <pmpp/random.hpp>

#include <vector>

int main() {
  std::vector<int> x(3);
  pmpp::fill_random(pmpp::host, x, pmpp::normal{0, 1}, 7);
}
