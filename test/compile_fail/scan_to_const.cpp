// expect: the elements to write are const
#include <vector>

#include <pmpp/scan.hpp>

int main() {
  const std::vector<int> in = {1, 2, 3}, out(3);
  pmpp::inclusive_scan(pmpp::host, in, out);
}
