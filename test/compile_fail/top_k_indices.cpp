// expect: indices_out must take an integer
#include <vector>

#include <pmpp/top_k.hpp>

int main() {
  std::vector<float> in(9), best(3), where(3);
  pmpp::top_k(pmpp::host, in, 3, best, where);
}
