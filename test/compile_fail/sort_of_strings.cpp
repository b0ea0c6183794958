// expect: sorted elements must be trivially copyable
//
// Kernels move elements as bytes, the host policies keep to the same rule.
#include <string>
#include <vector>

#include <pmpp/sort.hpp>

int main() {
  std::vector<std::string> names = {"b", "a"};
  pmpp::sort(pmpp::host, names);
}
