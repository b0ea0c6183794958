// expect: the elements to write are const
//
// sort works in place.
#include <vector>

#include <pmpp/sort.hpp>

int main() {
  const std::vector<int> v = {3, 1, 2};
  pmpp::sort(pmpp::host, v);
}
