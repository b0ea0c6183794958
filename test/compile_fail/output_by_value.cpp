// expect: would be lost
//
// A zip_iterator gives its elements by value: nothing can be written through it.
#include <vector>

#include <pmpp/scan.hpp>

int main() {
  std::vector<int> in(3), a(3), b(3);
  pmpp::inclusive_scan(pmpp::host, in, pmpp::zip_iterator(a.begin(), b.begin()));
}
