// expect: after the comparator come key_bits, or a projection
//
// A projection belongs to the type of the elements.
#include <vector>

#include <pmpp/sort.hpp>

struct person {
  int age;
};
struct house {
  int rooms;
};

int main() {
  std::vector<person> v(3);
  pmpp::sort(pmpp::host, v, pmpp::less{}, &house::rooms);
}
