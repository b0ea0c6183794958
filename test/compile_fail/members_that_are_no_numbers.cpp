// expect: the members are integers or floating-point numbers
//
// Text has no digits: a comparator of its own orders it.
#include <vector>

#include <pmpp/sort.hpp>

struct name {
  char text[8];
  int age;
};

int main() {
  std::vector<name> v(3);
  pmpp::sort(pmpp::host, v, pmpp::less{}, pmpp::members<&name::text, &name::age>{});
}
