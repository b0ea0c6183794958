// expect: key_bits are for integer keys
//
// The bits of a float are not in the order of its values.
#include <vector>

#include <pmpp/sort.hpp>

int main() {
  std::vector<float> v = {3, 1, 2};
  pmpp::sort(pmpp::host, v, pmpp::less{}, pmpp::key_bits{0, 16});
}
