// expect: std::vector<bool> packs its elements
//
// Eight elements share a byte, which two threads would write at the same time.
#include <vector>

#include <pmpp/transform.hpp>

int main() {
  std::vector<bool> out(1000);
  pmpp::fill(pmpp::host, out, true);
}
